//! What a recording looks like, for people and for programs.

use dmci_exec::Plan;
use dmci_tape::Tape;
use dmci_tape::passes::{Passes, merge_equal, remove_dead, split_small};
use serde_json::{Value as Json, json};

/// A tape, what passes make of it, and its plan.
///
/// ```
/// use dmci::{GradOptions, Passes, Program, TapeReport};
///
/// let gradient = Program::new("(params (a free 3.0)) (* a a)").grad(&GradOptions::default())?;
/// let report = TapeReport::new(&gradient.tape, Passes::default());
/// assert!(report.print(false).starts_with("%0 = param \"a\"\n%1 = mul %0 %0\n"));
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Debug)]
pub struct TapeReport<'a> {
    tape: &'a Tape,
    /// Operations after each pass that ran.
    after: Vec<(&'static str, usize)>,
    plan: Plan,
}

impl<'a> TapeReport<'a> {
    /// Runs the passes that are switched on over a tape and plans the result.
    pub fn new(tape: &'a Tape, passes: Passes) -> Self {
        let mut after = Vec::new();
        let mut last = tape.clone();
        if passes.split
            && let Some(split) = split_small(&last)
        {
            after.push(("writing out small tensors", split.operations()));
            last = split;
        }
        for (on, name, pass) in [
            (passes.merge, "merging equal operations", merge_equal as fn(&Tape) -> Tape),
            (passes.dead, "removing dead ones", remove_dead),
        ] {
            if on {
                last = pass(&last);
                after.push((name, last.operations()));
            }
        }
        TapeReport { tape, after, plan: Plan::new(&last) }
    }

    fn pinned(&self) -> usize {
        self.tape.guards.iter().filter(|g| g.pinned).count()
    }

    /// The tape as text, with counts and what each pass does to it; the plan too, if asked for.
    pub fn print(&self, plan: bool) -> String {
        let tape = self.tape;
        let mut text = tape.print();
        text += &format!(
            "\n{} leaves, {} operations, {} decisions guarded, {} values pinned, hash {:016x}\n",
            tape.leaves.len(),
            tape.operations(),
            tape.guards.len() - self.pinned(),
            self.pinned(),
            tape.stable_hash()
        );
        for (name, operations) in &self.after {
            text += &format!("{name} leaves {operations}\n");
        }
        text += &format!("the plan keeps {} values at a time\n", self.plan.slots());
        if plan {
            text += &format!("\n{}", self.plan.print());
        }
        text
    }

    /// The same as an object.
    pub fn to_json(&self, plan: bool) -> Json {
        let passes: Vec<Json> =
            self.after.iter().map(|(name, operations)| json!({"pass": name, "operations": operations})).collect();
        let mut object = json!({
            "tape": self.tape.print(),
            "leaves": self.tape.leaves.len(),
            "operations": self.tape.operations(),
            "guarded": self.tape.guards.len() - self.pinned(),
            "pinned": self.pinned(),
            "hash": format!("{:016x}", self.tape.stable_hash()),
            "passes": passes,
            "slots": self.plan.slots(),
        });
        if plan {
            object["plan"] = self.plan.print().into();
        }
        object
    }
}
