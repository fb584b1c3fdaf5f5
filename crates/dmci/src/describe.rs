//! What a recording looks like, for people.

use dmci_exec::Plan;
use dmci_tape::Tape;
use dmci_tape::passes::{merge_equal, remove_dead};

/// The tape as text, with counts and what each pass does to it; the plan too, if asked for.
pub fn describe_tape(tape: &Tape, plan: bool) -> String {
    let merged = merge_equal(tape);
    let live = remove_dead(&merged);
    let pinned = tape.guards.iter().filter(|g| g.pinned).count();
    let mut text = tape.print();
    text += &format!(
        "\n{} leaves, {} operations, {} decisions guarded, {} values pinned, hash {:016x}\n",
        tape.leaves.len(),
        tape.operations(),
        tape.guards.len() - pinned,
        pinned,
        tape.stable_hash()
    );
    text += &format!("merging equal operations leaves {}\n", merged.operations());
    text += &format!("removing dead ones leaves {}\n", live.operations());
    let planned = Plan::new(&live);
    text += &format!("the plan keeps {} values at a time\n", planned.slots());
    if plan {
        text += &format!("\n{}", planned.print());
    }
    text
}
