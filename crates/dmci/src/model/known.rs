//! What a model knows: its paths as tapes, for whoever writes them in another language.

use super::store::Origin;
use super::{Model, Want};
use crate::report::Report;
use dmci_tape::Tape;
use dmci_value::Diagnostic;
use dmci_value::ErrorCode;

/// A path that a model has recorded.
///
/// ```
/// use dmci::{Column, KnownPath, Model, Program, Want};
///
/// let model = Model::builder(Program::new("(* a x)")).parameter("a").build()?;
/// model.evaluate(&[2.0], &[Column::Reals(vec![1.0, 2.0])], Want::Values)?;
/// let paths: Vec<KnownPath> = model.known_paths(Want::Gradients)?;
/// assert_eq!((paths.len(), paths[0].tape.outputs.len(), &paths[0].failure), (1, 2, &None));
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Debug)]
pub struct KnownPath {
    /// Its operations; the first leaves are the numbers of the parameters. The outputs are the values and, if wanted, the
    /// derivatives of each by all numbers.
    pub tape: Tape,
    /// Which path lanes take that leave this one at a guard: numbers of the guard and of the path.
    pub next: Vec<(u32, usize)>,
    /// The error that the path ends with, if it does.
    pub failure: Option<String>,
}

impl Model {
    /// Operations that the value of one lane takes: those of the longest path that is kept, in the lane that it was
    /// recorded for, every round of a loop counted. It does not depend on the machine.
    pub fn lane_operations(&self) -> u64 {
        let kept = self.paths.read().unwrap_or_else(|e| e.into_inner()).all();
        kept.iter().map(|(.., path)| path.lane_operations()).max().unwrap_or(1)
    }

    /// The paths that have been recorded and kept; lanes start on the first. Fails if rows had different structures, so
    /// that there are several starts.
    pub fn known_paths(&self, want: Want) -> Result<Vec<KnownPath>, Report> {
        let store = self.paths.read().unwrap_or_else(|e| e.into_inner());
        let mut kept = store.all();
        let starts = kept.iter().filter(|(_, origin, _)| !matches!(origin, Origin::Edge(..))).count();
        if starts > 1 {
            let message = format!("rows had {starts} different structures, expected one");
            let help = "use rows with the same types, and lists and arrays of the same lengths";
            return Err(Report::from(Diagnostic::error(ErrorCode::E0720, message).help(help)));
        }
        kept.sort_by_key(|(id, origin, _)| (matches!(origin, Origin::Edge(..)), *id));
        let number = |id: &u64| kept.iter().position(|(other, ..)| other == id);
        let known = kept.iter().map(|(id, _, path)| {
            let next = kept.iter().filter_map(|(other, origin, _)| match origin {
                Origin::Edge(from, guard) if from == id => Some((*guard, number(other)?)),
                _ => None,
            });
            let failure = path.message();
            // A path that ends with an error has no derivatives.
            let want = if failure.is_some() { Want::Values } else { want };
            KnownPath { tape: path.exported_tape(want), next: next.collect(), failure }
        });
        Ok(known.collect())
    }
}
