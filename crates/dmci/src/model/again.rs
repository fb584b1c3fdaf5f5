//! A call like the one before: of the same model, for as many lanes, with plain columns. Mostly machine code can do all
//! of it, and for few lanes whatever else is done takes longer than that.

use super::lanes::{lengths, target};
use super::path::Path;
use super::source::{Lanes, Source};
use super::store::PathId;
use super::{Batch, Column, Model, Want};
use dmci_exec::Number;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What a call was that ran on one path.
#[derive(Debug)]
pub(super) struct Last {
    pub model: u64,
    /// How often the paths of the model had changed.
    pub changes: u64,
    /// Where its lanes of reals started.
    pub id: PathId,
    pub path: Arc<Path>,
    pub want: Want,
    pub lanes: Lanes,
    /// How long the list of parameters was.
    pub params: usize,
    /// All lanes stayed on the path, and nothing has been done with the batch since.
    pub stayed: bool,
}

impl Last {
    /// Whether a call is like this one.
    fn is_like<N: Number>(&self, model: &Model, params: &[N], columns: &[Column<N>], paired: bool, want: Want) -> bool {
        let fills = |column: &Column<N>| matches!(column, Column::Reals(list) if list.len() == self.lanes.rows);
        self.stayed
            && self.model == model.id
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
        let Some(last) = &batch.work.last else { return false };
        last.is_like(self, params, columns, paired, want) && self.do_again(batch, params, columns)
    }

    fn do_again<N: Number>(&self, batch: &mut Batch<N>, params: &[N], columns: &[Column<N>]) -> bool {
        let Batch { values, gradients, hessians, failures, walked, unkept, work, .. } = batch;
        let Some(Last { path, want, lanes, .. }) = &work.last else { return false };
        let (n, count) = (self.numbers, lanes.count());
        // Anybody may have changed these since.
        let [first, second, third] = lengths(self, *lanes, *want);
        let as_then = values.len() == first && gradients.len() == second && hessians.len() == third;
        if !as_then || !failures.is_empty() {
            return false;
        }
        let mut target = target(self, [values, gradients, hessians]);
        let plan = path.plan(*want, lanes);
        let done = if count == 1 {
            let mut numbers =
                (0..n + columns.len()).map(|leaf| match leaf.checked_sub(n).map(|input| &columns[input]) {
                    None => params[leaf].into(),
                    Some(Column::Reals(list)) => list[0].into(),
                    Some(_) => f64::NAN,
                });
            // By reference: to move what was just written costs as much as all the rest.
            plan.run_one(&mut numbers, &mut target)
        } else {
            let places = &work.places;
            let source = Source {
                params,
                numbers: n,
                columns,
                lanes: *lanes,
                places,
                row_bits: &[],
                row_starts: &[],
                model: self,
            };
            plan.run_at_once(count, &source, self.options.threads, &mut target)
        };
        if !done {
            return false;
        }
        (*walked, *unkept) = (0, 0);
        if count == 1 {
            self.singles.fetch_add(1, Ordering::Relaxed);
        } else {
            self.calls.fetch_add(1, Ordering::Relaxed);
            self.hits.fetch_add(count as u64, Ordering::Relaxed);
        }
        let call = self.calls.load(Ordering::Relaxed) + self.singles.load(Ordering::Relaxed);
        path.used.store(call, Ordering::Relaxed);
        true
    }
}
