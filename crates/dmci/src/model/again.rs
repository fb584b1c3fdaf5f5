//! A call like the one before: of the same model, for as many lanes, with plain columns. Mostly machine code can do all
//! of it, and for few lanes whatever else is done takes longer than that.

use super::path::Path;
use super::source::Lanes;
use super::store::PathId;
use super::tally::Tally;
use super::{Batch, Column, Model, Want};
use dmci_exec::{Number, PreparedCall};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

/// What a call was that ran on one path.
#[derive(Debug)]
pub(super) struct Last {
    pub model: u64,
    /// How often the paths of the model had changed.
    pub changes: u64,
    /// Where its lanes of reals started.
    pub id: PathId,
    /// Only the model keeps it alive.
    pub path: Weak<Path>,
    pub want: Want,
    pub lanes: Lanes,
    /// How long the list of parameters was.
    pub params: usize,
    /// How long the lists of values, first and second derivatives were.
    pub lengths: [usize; 3],
    /// All lanes stayed on the path, and nothing has been done with the batch since.
    pub stayed: bool,
    /// What does such calls, and counts them. To move it would take longer than a short call.
    pub ready: Option<Box<(PreparedCall, Arc<Tally>)>>,
}

impl Last {
    /// Whether a call is like this one.
    #[inline]
    pub fn is_like<N: Number>(
        &self,
        model: &Model,
        params: &[N],
        columns: &[Column<N>],
        paired: bool,
        want: Want,
    ) -> bool {
        let fills = |column: &Column<N>| matches!(column, Column::Reals(list) if list.len() == self.lanes.rows);
        self.model == model.id
            && self.want == want
            && self.params == params.len()
            && self.lanes.paired == paired
            && columns.len() == model.inputs.len()
            && columns.iter().all(fills)
            && self.changes == model.changes.load(Ordering::Acquire)
    }
}

impl Model {
    /// Does a call that is like the last one of the batch, if machine code does everything at once and all lanes stay
    /// on the path. False, and nothing done, if it must be done in another way.
    #[inline]
    pub(super) fn again<N: Number>(
        &self,
        batch: &mut Batch<N>,
        params: &[N],
        columns: &[Column<N>],
        paired: bool,
        want: Want,
    ) -> bool {
        let Batch { values, gradients, hessians, failures, walked, unkept, work, .. } = batch;
        let Some(last) = work.last.as_mut().filter(|last| last.stayed && last.ready.is_some()) else { return false };
        // Anybody may have changed these since.
        let [first, second, third] = last.lengths;
        let as_then = values.len() == first && gradients.len() == second && hessians.len() == third;
        if !as_then || !failures.is_empty() || !last.is_like(self, params, columns, paired, want) {
            return false;
        }
        let Some((ready, tally)) = last.ready.as_deref_mut() else { return false };
        let n = self.numbers;
        let results = [&mut values[..], gradients, hessians];
        let column = |input: usize| match &columns[input] {
            Column::Reals(list) => &list[..],
            _ => &[],
        };
        let done = match ready {
            PreparedCall::Lane(lane) => {
                let inputs = (0..columns.len()).map(|input| column(input)[0]);
                lane.run(params, inputs, results)
            }
            PreparedCall::Lists(lists) => lists.run(|leaf| if leaf < n { params } else { column(leaf - n) }, results),
        };
        if done {
            (*walked, *unkept) = (0, 0);
            if let Some(path) = last.path.upgrade() {
                path.use_in(self.calls.load(Ordering::Relaxed));
            }
            tally.add(last.lanes.count() as u64);
        }
        done
    }
}

#[cfg(all(test, feature = "native", target_arch = "x86_64"))]
mod tests {
    use crate::model::{Batch, Column, Model, ModelOptions, Want};
    use crate::{JitPolicy, Program};

    #[test]
    fn a_batch_keeps_no_path_of_a_model_that_is_gone() {
        let options = ModelOptions { code: JitPolicy::Always, ..ModelOptions::default() };
        let model = Model::new(Program::new("(* a (exp x))"), &["a"], &["x"], options);
        let columns = [Column::Reals((0..64).map(f64::from).collect())];
        let mut batch = Batch::default();
        for _ in 0..4 {
            model.evaluate_into(&mut batch, &[2.0], &columns, Want::Gradients).expect("a call");
        }
        let path = batch.work.last.as_ref().map(|last| last.path.clone()).expect("all lanes stay on one path");
        assert!(path.upgrade().is_some());
        drop(model);
        assert!(path.upgrade().is_none(), "the batch keeps it");
    }
}
