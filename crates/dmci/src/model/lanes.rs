//! One call of a model: lanes are grouped by signature, and each finds its path.

use super::again::Last;
use super::path::{Path, Walk};
use super::source::{Lanes, Place, Source};
use super::store::{Budget, Origin, PathId};
use super::{Batch, Column, Model, Want};
use crate::binding;
use crate::datum::Datum;
use crate::report::Report;
use dmci_exec::{CUT, Number, Results, STAYED, StageResults, Staged, Target};
use dmci_limits::{Reason, within};
use dmci_value::ErrorCode;
use dmci_value::{Alarm, Diagnostic};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Memory of a call, kept for the next one.
#[derive(Debug, Default)]
pub(super) struct Work {
    results: Results,
    stages: StageResults,
    /// Lanes that wait, one group after the other; the last group is the next one.
    waiting: Vec<usize>,
    /// For each group, how it reaches its next path, and where it begins.
    queue: Vec<(Origin, usize)>,
    /// The lanes of the path that runs.
    lanes: Vec<usize>,
    /// Lanes that left the path that ran last, with the guard.
    left: Vec<(u32, usize)>,
    /// Numbers of each row, if the columns are not all plain, and where each row begins.
    pub row_bits: Vec<u64>,
    pub row_starts: Vec<usize>,
    groups: Groups,
    /// Where the numbers of plain columns are.
    pub places: Vec<Place>,
    /// The last call, if it ran on one path.
    pub last: Option<Last>,
}

/// Rows by signature.
#[derive(Debug, Default)]
struct Groups {
    number: FxHashMap<Arc<str>, usize>,
    /// Signature and rows of each group.
    groups: Vec<(Arc<str>, Vec<usize>)>,
    /// The groups of this call in the order of their first rows.
    order: Vec<usize>,
    /// The signature of a row.
    text: String,
}

/// More signatures than that are not remembered from call to call.
const MOST_SIGNATURES: usize = 4096;

impl Groups {
    fn clear(&mut self) {
        if self.groups.len() > MOST_SIGNATURES {
            *self = Groups::default();
        }
        self.groups.iter_mut().for_each(|g| g.1.clear());
        self.order.clear();
    }

    /// Puts a row into the group of `self.text`.
    fn add(&mut self, row: usize) {
        let number = match self.number.get(self.text.as_str()) {
            Some(&number) => number,
            None => {
                let text: Arc<str> = self.text.as_str().into();
                self.number.insert(text.clone(), self.groups.len());
                self.groups.push((text, Vec::new()));
                self.groups.len() - 1
            }
        };
        let rows = &mut self.groups[number].1;
        if rows.is_empty() {
            self.order.push(number);
        }
        rows.push(row);
    }
}

/// One call of [`Model::evaluate_into`].
pub(super) struct Call<'a, N> {
    model: &'a Model,
    params: &'a [N],
    columns: &'a [Column<N>],
    lanes: Lanes,
    want: Want,
    /// The number of the call.
    call: u64,
    batch: &'a mut Batch<N>,
}

/// Numbers that the results of lanes hold at once.
const MOST_RESULTS: usize = 8 << 20;

/// A path that lanes run through.
struct Found {
    id: PathId,
    path: Arc<Path>,
    /// It was recorded just now, for the first of the lanes.
    recorded: bool,
}

/// Every lane is given its results, or NaN if it fails.
fn refill<N: Number>(list: &mut Vec<N>, len: usize) {
    list.resize(len, N::rounded(f64::NAN));
}

/// How many values, first and second derivatives lanes have.
#[inline]
fn lengths(model: &Model, lanes: Lanes, want: Want) -> [usize; 3] {
    let values = lanes.count() * model.options.outputs;
    let first = if want >= Want::Gradients { values * model.numbers } else { 0 };
    let second = if want == Want::Hessians { first * model.numbers } else { 0 };
    [values, first, second]
}

/// Where results go; lists of what is not wanted are empty.
#[inline]
fn target<'t, N: Number>(model: &Model, [values, gradients, hessians]: [&'t mut Vec<N>; 3]) -> Target<'t, N> {
    let (outputs, n) = (model.options.outputs, model.numbers);
    let width = |list: &Vec<N>, width: usize| if list.is_empty() { 0 } else { width };
    let (first, second) = (width(gradients, outputs * n), width(hessians, outputs * n * n));
    Target::new([(values, outputs), (gradients, first), (hessians, second)])
}

impl<'a, N: Number> Call<'a, N> {
    pub fn new(
        model: &'a Model,
        batch: &'a mut Batch<N>,
        params: &'a [N],
        columns: &'a [Column<N>],
        lanes: Lanes,
        want: Want,
    ) -> Self {
        let [values, first, second] = lengths(model, lanes, want);
        refill(&mut batch.values, values);
        refill(&mut batch.gradients, first);
        refill(&mut batch.hessians, second);
        batch.failures.clear();
        batch.paths.clear();
        batch.walked = 0;
        batch.unkept = 0;
        batch.cut.clear();
        batch.printed.clear();
        if let Some(last) = &mut batch.work.last {
            last.stayed = false;
        }
        Call { model, params, columns, lanes, want, call: 0, batch }
    }

    /// Runs all lanes. If the run is cancelled meanwhile, lanes that were not done have no value, and the first of them
    /// has failed.
    pub fn run(self) {
        let alarm = Alarm::of(self.model.options.run.cancel.clone());
        within(&alarm, || self.run_lanes());
    }

    fn run_lanes(mut self) {
        let model = self.model;
        self.call = model.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let work = &mut self.batch.work;
        work.places.clear();
        work.row_starts.clear();
        if self.columns.iter().all(|c| matches!(c, Column::Reals(_))) {
            let places = (0..self.columns.len()).map(|c| Place { column: c as u32, at: 0, width: 1 });
            work.places.extend(places);
            self.run_from(Origin::Reals);
        } else if !self.columns.iter().any(|c| matches!(c, Column::Data(_))) {
            let origin = self.shaped();
            self.run_from(origin);
        } else {
            let groups = self.groups();
            for (signature, rows) in groups.order.iter().map(|&g| &groups.groups[g]) {
                let Lanes { sets, rows: per_set, paired } = self.lanes;
                let sets = if paired { 1 } else { sets };
                let origin = Origin::Signature(signature.clone());
                self.run_group(origin, (0..sets).flat_map(|s| rows.iter().map(move |r| s * per_set + r)));
            }
            self.batch.work.groups = groups;
        }
        self.batch.failures.sort_by_key(|f| f.0);
    }

    /// The signature of columns that have the same structure in all rows; places of their numbers.
    fn shaped(&mut self) -> Origin {
        let work = &mut self.batch.work;
        work.groups.text.clear();
        for (c, column) in self.columns.iter().enumerate() {
            let width = match column {
                Column::Shaped(sample, _) => {
                    work.row_bits.clear();
                    binding::signature(sample, &mut work.row_bits, &mut work.groups.text);
                    work.row_bits.len()
                }
                _ => {
                    work.groups.text.push('r');
                    1
                }
            };
            let places = (0..width).map(|at| Place { column: c as u32, at: at as u32, width: width as u32 });
            work.places.extend(places);
        }
        Origin::Signature(work.groups.text.as_str().into())
    }

    /// Rows by signature, and the numbers of all rows.
    fn groups(&mut self) -> Groups {
        let work = &mut self.batch.work;
        let mut groups = std::mem::take(&mut work.groups);
        groups.clear();
        work.row_bits.clear();
        work.row_starts.clear();
        for r in 0..self.lanes.rows {
            work.row_starts.push(work.row_bits.len());
            groups.text.clear();
            for column in self.columns {
                match column {
                    Column::Reals(list) => {
                        work.row_bits.push(list[r].bits());
                        groups.text.push('r');
                    }
                    Column::Data(list) => binding::signature(&list[r], &mut work.row_bits, &mut groups.text),
                    Column::Shaped(sample, list) => {
                        let start = work.row_bits.len();
                        binding::signature(sample, &mut work.row_bits, &mut groups.text);
                        let numbers = &mut work.row_bits[start..];
                        let width = numbers.len();
                        numbers.iter_mut().zip(&list[r * width..]).for_each(|(x, y)| *x = y.bits());
                    }
                }
            }
            groups.add(r);
        }
        groups
    }

    fn row(&self, r: usize) -> Vec<Datum> {
        self.columns.iter().map(|column| column.row(r)).collect()
    }

    fn run_from(&mut self, origin: Origin) {
        if !self.run_all(&origin) {
            self.run_group(origin, 0..self.lanes.count());
        }
    }

    /// All lanes at once through the path that the first one takes, if it has machine code and gives
    /// numbers and nothing else. Lanes that leave it go on as always.
    fn run_all(&mut self, origin: &Origin) -> bool {
        let (model, lanes) = (self.model, self.lanes);
        let changes = model.changes.load(Ordering::Acquire);
        let last = self.batch.work.last.take().filter(|_| *origin == Origin::Reals);
        let is_like = |last: &Last| last.is_like(model, self.params, self.columns, lanes.paired, self.want);
        let was_like = last.as_ref().is_some_and(is_like);
        // Lanes mostly start where those of the last call did.
        let known = last.filter(|last| (last.model, last.changes) == (model.id, changes));
        let known = known.and_then(|last| Some((last.id, last.path.upgrade()?, last.ready)));
        let (id, path, ready) = match known {
            Some(known) => known,
            None => match model.paths.read().unwrap_or_else(|e| e.into_inner()).find(origin, self.call) {
                Some((id, path)) => (id, path, None),
                None => return false,
            },
        };
        if path.fails() || path.text_width() > 0 || model.options.output && !path.printed.text.is_empty() {
            return false;
        }
        let Some(plan) = path.plan(self.want, &lanes) else { return false };
        let Batch { values, gradients, hessians, paths, work, .. } = &mut *self.batch;
        let mut target = target(model, [values, gradients, hessians]);
        let source = Source {
            params: self.params,
            numbers: model.numbers,
            columns: self.columns,
            lanes,
            places: &work.places,
            row_bits: &work.row_bits,
            row_starts: &work.row_starts,
            model,
        };
        work.left.clear();
        let count = lanes.count();
        let threads = model.options.threads;
        if !plan.run_all(count, lanes.rows, &source, threads, &mut work.stages, &mut target, &mut work.left) {
            return false;
        }
        path.used.store(self.call, Ordering::Relaxed);
        paths.resize(if work.left.is_empty() { 1 } else { count }, path.fingerprint);
        model.hits.fetch_add((count - work.left.len()) as u64, Ordering::Relaxed);
        if *origin == Origin::Reals {
            let (want, params, stayed) = (self.want, self.params.len(), work.left.is_empty());
            let mut ready = ready.filter(|_| was_like);
            // The second call of its kind will not be the last one.
            if was_like && ready.is_none() && stayed && path.has_one_plan(want, &lanes) {
                let made = plan.prepared_call(count, &source, threads, &target);
                ready = made.map(|ready| Box::new((ready, model.tallies.open())));
            }
            let (model, lengths) = (model.id, lengths(model, lanes, want));
            let path = Arc::downgrade(&path);
            work.last = Some(Last { model, changes, id, path, want, lanes, params, lengths, stayed, ready });
        }
        if work.left.is_empty() {
            return true;
        }
        work.left.sort_unstable();
        self.cut_left();
        let work = &mut self.batch.work;
        work.waiting.clear();
        for group in work.left.chunk_by(|a, b| a.0 == b.0) {
            work.queue.push((Origin::Edge(id, group[0].0), work.waiting.len()));
            work.waiting.extend(group.iter().map(|g| g.1));
        }
        self.run_queue();
        true
    }

    fn run_group(&mut self, start: Origin, group: impl Iterator<Item = usize>) {
        let work = &mut self.batch.work;
        work.waiting.clear();
        work.waiting.extend(group);
        work.queue.push((start, 0));
        self.run_queue();
    }

    fn run_queue(&mut self) {
        self.batch.paths.resize(self.lanes.count(), u32::MAX);
        let mut lanes = std::mem::take(&mut self.batch.work.lanes);
        while let Some((from, start)) = self.batch.work.queue.pop() {
            lanes.clear();
            lanes.extend(self.batch.work.waiting.drain(start..));
            if dmci_limits::rings() {
                self.cut(&lanes);
                continue;
            }
            let Some(Found { id, path, recorded }) = self.find_path(&from, &mut lanes) else { continue };
            if recorded && lanes.len() == 1 {
                self.run_recorded(&path, lanes[0]);
            } else {
                self.run_path(&path, &lanes);
            }
            let mut left = std::mem::take(&mut self.batch.work.left);
            lanes.iter().for_each(|&lane| self.batch.paths[lane] = path.fingerprint);
            left.iter().for_each(|&(_, lane)| self.batch.paths[lane] = u32::MAX);
            let stayed = lanes.len() - left.len();
            if stayed > 0 {
                path.used.store(self.call, Ordering::Relaxed);
                self.model.hits.fetch_add((stayed - recorded as usize) as u64, Ordering::Relaxed);
            }
            if recorded {
                self.fail_if_left(lanes[0], &mut left);
            }
            left.sort_unstable();
            self.batch.work.left = left;
            self.cut_left();
            let work = &mut self.batch.work;
            let left = std::mem::take(&mut work.left);
            for group in left.chunk_by(|a, b| a.0 == b.0) {
                work.queue.push((Origin::Edge(id, group[0].0), work.waiting.len()));
                work.waiting.extend(group.iter().map(|g| g.1));
            }
            work.left = left;
        }
        self.batch.work.lanes = lanes;
    }

    /// Runs lanes through a path; those that leave it are noted.
    fn run_path(&mut self, path: &Arc<Path>, lanes: &[usize]) {
        self.batch.work.left.clear();
        // A path that ends with an error has no derivatives.
        let want = if path.fails() { Want::Values } else { self.want };
        let Some(plan) = path.plan(want, &self.lanes) else { return self.cut(lanes) };
        for lanes in lanes.chunks((MOST_RESULTS / plan.outputs().max(1)).max(1)) {
            self.run_plan(path, plan, lanes);
        }
    }

    fn run_plan(&mut self, path: &Arc<Path>, plan: &Staged, lanes: &[usize]) {
        let work = &mut self.batch.work;
        let source = Source {
            params: self.params,
            numbers: self.model.numbers,
            columns: self.columns,
            lanes: self.lanes,
            places: &work.places,
            row_bits: &work.row_bits,
            row_starts: &work.row_starts,
            model: self.model,
        };
        plan.run(lanes, self.lanes.rows, &source, self.model.options.threads, &mut work.stages, &mut work.results);
        let width = plan.outputs();
        let texts = width - path.text_width();
        let results = std::mem::take(&mut work.results);
        let plain = !path.fails() && (!self.model.options.output || path.printed.text.is_empty());
        for (i, &lane) in lanes.iter().enumerate() {
            if plain && results.failed[i] == STAYED {
                self.store(lane, &results.outputs[i * width..(i + 1) * width]);
                continue;
            }
            if results.failed[i] != STAYED {
                self.batch.work.left.push((results.failed[i], lane));
                continue;
            }
            let (values, texts) = results.outputs[i * width..(i + 1) * width].split_at(texts);
            if let Some(failure) = path.failure(texts) {
                self.fail(lane, failure);
                continue;
            }
            self.store(lane, values);
            self.keep_output(path, lane, texts);
        }
        self.batch.work.results = results;
    }

    /// Takes what a lane printed, if it did and if that is wanted.
    fn keep_output(&mut self, path: &Arc<Path>, lane: usize, numbers: &[u64]) {
        let wanted = self.model.options.output && !path.printed.text.is_empty();
        if wanted && !self.batch.printed.store(path, lane, self.lanes.count(), numbers) {
            self.batch.unkept += 1;
        }
    }

    /// The results of the lane that a path was just recorded for.
    fn run_recorded(&mut self, path: &Arc<Path>, lane: usize) {
        self.batch.work.left.clear();
        match path.recorded_lane(self.want) {
            Some(results) => {
                self.fill(lane, |at, list| list.iter_mut().zip(&results[at..]).for_each(|(x, &y)| *x = N::rounded(y)));
                self.keep_output(path, lane, &path.recorded_output());
            }
            None => self.run_path(path, &[lane]),
        }
    }

    /// Takes the results of a lane, in bits.
    #[inline]
    fn store(&mut self, lane: usize, results: &[u64]) {
        self.fill(lane, |at, list| {
            list.iter_mut().zip(&results[at..]).for_each(|(x, &bits)| *x = N::of_bits(bits));
        });
    }

    /// Has the results of a lane filled in: values, first and second derivatives, each from so many of them on.
    #[inline]
    fn fill(&mut self, lane: usize, fill: impl Fn(usize, &mut [N])) {
        let (outputs, numbers) = (self.model.options.outputs, self.model.numbers);
        let Batch { values, gradients, hessians, .. } = &mut *self.batch;
        let mut at = 0;
        for (list, n) in [(values, 1), (gradients, numbers), (hessians, numbers * numbers)] {
            if !list.is_empty() {
                fill(at, &mut list[lane * outputs * n..(lane + 1) * outputs * n]);
                at += outputs * n;
            }
        }
    }

    /// Lanes that were not done because the run was cancelled have no value. One report says so for all of them.
    fn cut(&mut self, lanes: &[usize]) {
        let Some(&first) = lanes.iter().min() else { return };
        lanes.iter().for_each(|&lane| self.fill(lane, |_, list| list.fill(N::rounded(f64::NAN))));
        if self.batch.cut.is_empty() {
            let error = match self.model.options.run.cancel.is_raised(Reason::Memory) {
                true => self.model.options.run.limits.out_of_memory(),
                false => Diagnostic::error(ErrorCode::E0409, "the run was cancelled"),
            };
            self.batch.failures.push((first, error.into()));
        }
        self.batch.cut.extend_from_slice(lanes);
    }

    /// The same for those that are among the lanes that left, at the end.
    fn cut_left(&mut self) {
        let left = &mut self.batch.work.left;
        let from = left.partition_point(|l| l.0 < CUT);
        if from < left.len() {
            let lanes: Vec<usize> = left.drain(from..).map(|l| l.1).collect();
            self.cut(&lanes);
        }
    }

    fn fail(&mut self, lane: usize, failure: Report) {
        self.fill(lane, |_, list| list.fill(N::rounded(f64::NAN)));
        self.batch.failures.push((lane, failure));
    }

    /// Fails the lane that a path was recorded for if it is among those that have left this path: no other path is its own.
    fn fail_if_left(&mut self, lane: usize, left: &mut Vec<(u32, usize)>) {
        let Some(i) = left.iter().position(|l| l.1 == lane && l.0 != CUT) else { return };
        let error = Diagnostic::error(ErrorCode::E9901, "a lane does not stay on the path that was recorded for it");
        self.fail(lane, error.into());
        left.swap_remove(i);
    }

    /// The path behind an origin, recorded from the first lane if it is new; lanes that are done are
    /// taken out: those that fail, and those that were walked because there are too many paths. `None`
    /// if none is left.
    fn find_path(&mut self, from: &Origin, lanes: &mut Vec<usize>) -> Option<Found> {
        let (model, call) = (self.model, self.call);
        let known = || model.paths.read().unwrap_or_else(|e| e.into_inner()).find(from, call);
        let budget = Budget { paths: model.options.max_paths, bytes: model.options.max_path_bytes };
        // From the back, so that taking out a lane is cheap; the first lane is still the first one.
        lanes.reverse();
        loop {
            let lane = *lanes.last()?;
            if dmci_limits::rings() {
                self.cut(lanes);
                return None;
            }
            if let Some((id, path)) = known() {
                lanes.reverse();
                return Some(Found { id, path, recorded: false });
            }
            let ((set, row_number), n) = (self.lanes.of(lane), model.numbers);
            let row = self.row(row_number);
            let choices = model.choices().at(set as u64, row_number as u64);
            let params: Vec<f64> = self.params[set * n..(set + 1) * n].iter().map(|&x| x.into()).collect();
            let (path, failure) = match model.record(&params, &row, choices) {
                Walk::Done(path) => (Some(Arc::new(path)), None),
                Walk::Failed(failure, path) => (path.map(Arc::new), Some(failure)),
            };
            let mut store = model.paths.write().unwrap_or_else(|e| e.into_inner());
            let given_up = store.evicted();
            let kept = path.as_ref().and_then(|path| store.keep(from, path, call, budget));
            // Others start where they did unless there is another path, or one less.
            if kept.is_some() || store.evicted() != given_up {
                model.changes.fetch_add(1, Ordering::Release);
            }
            drop(store);
            let failed = failure.is_some();
            if let Some(failure) = failure {
                self.fail(lane, failure);
                lanes.pop();
            }
            match (path, kept) {
                (Some(path), Some(id)) => {
                    lanes.reverse();
                    return Some(Found { id, path, recorded: !failed }).filter(|_| !lanes.is_empty());
                }
                (Some(path), None) => {
                    self.batch.walked += 1;
                    if !failed {
                        self.run_recorded(&path, lane);
                        let mut left = std::mem::take(&mut self.batch.work.left);
                        self.fail_if_left(lane, &mut left);
                        self.batch.work.left = left;
                        self.cut_left();
                        lanes.pop();
                    }
                }
                (None, _) => {}
            }
        }
    }
}
