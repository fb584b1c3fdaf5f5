//! Groups that share no parameter are problems of their own: each is searched, tested and judged alone, on the
//! recordings that all of them share.

use crate::choice::Choice;
use crate::fit::{FitOptions, Progress, Searched, Snapshot, search};
use crate::layout::Layout;
use crate::member::Member;
use crate::objective::Series;
use crate::optima::Optima;
use crate::optimality::{Examined, examine};
use crate::population::Population;
use crate::problem::{Data, Problem, Rows};
use crate::result::chosen;
use crate::search::{Need, Stop};
use dmci::{Parameter, Reason, Report, Want};
use dmci_limits::{Alarm, within};
use dmci_table::select;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::Instant;

/// One group as a problem of its own.
#[derive(Debug)]
pub(crate) struct Part {
    /// Its number among the groups.
    pub group: usize,
    /// The problem.
    pub problem: Problem,
    /// Where its raw numbers are among those of all groups.
    pub raws: Vec<usize>,
    /// Where its values are among those of all groups.
    pub values: Vec<usize>,
}

impl Part {
    /// The raw numbers of this group in a point of all groups.
    pub fn of(&self, raw: &[f64]) -> Vec<f64> {
        self.raws.iter().map(|&k| raw[k]).collect()
    }
}

/// What a separate search of every group found together.
pub(crate) struct Together {
    pub stages: Vec<Population>,
    pub choice: Choice,
    pub influence: Vec<bool>,
    pub start_loss: f64,
    /// Starts of all groups, and those of them that reached the best optimum of their group.
    pub optima: Optima,
    pub warnings: Report,
}

impl Problem {
    /// The groups as problems of their own, if they share no parameter; groups without rows are left out.
    pub(crate) fn parts(&self) -> Option<&[Part]> {
        let shares = self.layout.groups < 2 || self.layout.blocks.iter().any(|block| !block.per_group);
        if shares {
            return None;
        }
        let parts = self.parts.get_or_init(|| (0..self.layout.groups).filter_map(|g| self.part(g)).collect());
        Some(&parts[..]).filter(|parts| !parts.is_empty())
    }

    /// Whether rows take the same path through the program whatever its parameters are: then nothing that one group
    /// records changes what is known when another one is searched.
    fn has_no_decisions(&self) -> bool {
        let start = self.evaluate(&[self.start().to_vec()], Need::Gradient);
        let is_straight = |paths: Vec<dmci::KnownPath>| paths.iter().all(|path| path.tape.guards.is_empty());
        start.is_ok() && self.model.known_paths(Want::Values).is_ok_and(is_straight)
    }

    fn part(&self, group: usize) -> Option<Part> {
        let own = |rows: &Rows| rows_of(rows, group, self.width());
        let data = match &self.data {
            Data::Rows { training, held_out } => Data::Rows { training: own(training), held_out: own(held_out) },
            Data::Series(series) => Data::Series(Series {
                lanes: own(&series.lanes),
                rows: vec![series.rows[group].clone()],
                fitted: vec![series.fitted[group]],
                scored: vec![series.scored[group]],
                run: series.run.clone(),
                ..Series::default()
            }),
        };
        let raws = self.layout.raws_of_group(group);
        let values = self.layout.values_of_group(group);
        let alone = |p: &Parameter| {
            let mut own = p.clone();
            own.per = None;
            own
        };
        let problem = Problem {
            program: self.program.clone(),
            source: self.source.clone(),
            data,
            targets: self.targets.clone(),
            inputs: self.inputs.clone(),
            matrices: Vec::new(),
            parameters: self.parameters.iter().map(alone).collect(),
            fixed: Vec::new(),
            held: Vec::new(),
            groups: Vec::new(),
            group: None,
            weights: self.weights.clone(),
            sigma: self.sigma.clone(),
            loss: self.loss.clone(),
            warnings: Report::default(),
            layout: Layout::new(self.layout.blocks.iter().map(|b| (b.transform, false)), 1),
            priors: self.priors.clone(),
            data_hash: self.data_hash.clone(),
            outputs: self.outputs,
            residuals: self.residuals.as_ref().map(|residuals| residuals.of_group(group)),
            is_constant: self.is_constant,
            noise: self.noise,
            start: raws.iter().map(|&k| self.start[k]).collect(),
            written_start: values.iter().map(|&k| self.written_start[k]).collect(),
            cancel: self.cancel.clone(),
            time: self.time,
            model: self.model.clone(),
            work: Default::default(),
            remembered: Default::default(),
            seen: self.seen.clone(),
            moved: Default::default(),
            parts: Default::default(),
            axis: None,
        };
        (!problem.training().is_empty()).then_some(Part { group, problem, raws, values })
    }
}

/// The rows of a group.
fn rows_of(rows: &Rows, group: usize, targets: usize) -> Rows {
    let own: Vec<usize> = (0..rows.len()).filter(|&r| rows.group[r] == group).collect();
    let numbers = |list: &[f64]| own.iter().map(|&r| list[r]).collect();
    Rows {
        indices: own.iter().map(|&r| rows.indices[r]).collect(),
        columns: rows.columns.iter().map(|c| select(c, &own)).collect(),
        target: own.iter().flat_map(|&r| rows.target[r * targets..(r + 1) * targets].iter().copied()).collect(),
        weight: numbers(&rows.weight),
        sigma: numbers(&rows.sigma),
        trials: numbers(&rows.trials),
        group: vec![0; own.len()],
    }
}

/// Searches every group for itself and puts what was found together. The budgets are those of the whole fit. Threads of
/// the pool help from the last group on where no group can change what another one finds.
pub(crate) fn search_parts(
    problem: &Problem,
    parts: &[Part],
    options: &FitOptions,
    began: Instant,
    observe: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Together, Report> {
    let resumed = options.resume.as_deref().map(Snapshot::read).transpose()?;
    let is_free = options.evaluations.is_none() && resumed.is_none() && problem.time.is_none();
    let helpers = if is_free && problem.has_no_decisions() { rayon::current_num_threads() - 1 } else { 0 };
    let own = |i: usize, used: usize| FitOptions {
        search_work: Some(options.search_work.unwrap_or(crate::SEARCH_WORK) / parts.len() as f64),
        evaluations: options.evaluations.map(|limit| limit.saturating_sub(used).max(1)),
        resume: match &resumed {
            Some(snapshot) if i < snapshot.before().len() => Some(snapshot.before()[i].clone()),
            Some(snapshot) if i == snapshot.before().len() => options.resume.clone(),
            _ => None,
        },
        ..options.clone()
    };
    let open = Mutex::new(0..parts.len());
    let take = |next: fn(&mut Range<usize>) -> Option<usize>| next(&mut open.lock().unwrap_or_else(|e| e.into_inner()));
    let is_over = AtomicBool::new(false);
    let (send, receive) = mpsc::channel();
    let mut found: Vec<Option<Result<Searched, Report>>> = parts.iter().map(|_| None).collect();
    rayon::in_place_scope(|scope| {
        for send in std::iter::repeat_n(send, helpers.min(parts.len() - 1)) {
            let (own, take, is_over) = (&own, &take, &is_over);
            scope.spawn(move |_| {
                let mut watch = |_: &Progress| match is_over.load(Ordering::Relaxed) {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                };
                let help = || {
                    while let Some(i) = take(Range::next_back).filter(|_| !is_over.load(Ordering::Relaxed)) {
                        // Whoever waits for it is there until the last helper has ended.
                        let _ = send.send((i, search(&parts[i].problem, &own(i, 0), (began, None), &mut watch)));
                    }
                };
                within(&Alarm::of(problem.cancel.clone()), help);
            });
        }
        let (mut before, mut used) = (Vec::new(), 0);
        while let Some(i) = take(Range::next) {
            let mut searched = search(&parts[i].problem, &own(i, used), (began, Some(&before)), observe);
            let ends = match &mut searched {
                Ok(searched) => {
                    used += searched.stages.iter().map(Population::evaluations).sum::<usize>();
                    before.push(std::mem::take(&mut searched.state));
                    searched.ended
                }
                Err(_) => true,
            };
            found[i] = Some(searched);
            if ends {
                is_over.store(true, Ordering::Relaxed);
                break;
            }
        }
    });
    receive.into_iter().for_each(|(i, searched)| found[i] = Some(searched));
    let found = found.into_iter().map(Option::transpose).collect::<Result<Vec<_>, _>>()?;
    // What was found counts, even if somebody has interrupted, which is not forgotten.
    let interrupted = problem.cancel.is_raised(Reason::Person);
    problem.resume();
    let together = together(problem, parts, options, found);
    if interrupted {
        problem.cancel.cancel();
    }
    together
}

/// One search of all groups, made of the best of each.
fn together(
    problem: &Problem,
    parts: &[Part],
    options: &FitOptions,
    found: Vec<Option<Searched>>,
) -> Result<Together, Report> {
    let mut raw = problem.start.clone();
    let mut influence = vec![false; raw.len()];
    let names = problem.raw_names();
    let mut without_derivative = Vec::new();
    let (mut epochs, mut evaluations, mut not_finite, mut path_changes) = (0, 0, 0, 0);
    let mut stops = Vec::new();
    let mut optima = Optima::default();
    let mut warnings = Report::default();
    let mut optimizer = None;
    for (part, searched) in parts.iter().zip(&found).filter_map(|(part, searched)| Some((part, searched.as_ref()?))) {
        let Searched { stages, choice, .. } = searched;
        let (stage, member) = chosen(&part.problem, options, choice, stages);
        let own = member.result(&options.budget).map_or_else(|| part.problem.start().to_vec(), |r| r.0.clone());
        let own_names = part.problem.raw_names();
        for (k, &at) in part.raws.iter().enumerate() {
            raw[at] = own[k];
            influence[at] = searched.influence[k];
            if choice.without_derivative.contains(&own_names[k]) {
                without_derivative.push(names[at].clone());
            }
        }
        let members: Vec<&Member> = stages.iter().flat_map(|s| &s.members).collect();
        epochs = epochs.max(member.epochs);
        evaluations += members.iter().map(|m| m.evaluations).sum::<usize>();
        not_finite += members.iter().map(|m| m.not_finite).sum::<usize>();
        path_changes += member.path_changes;
        stops.push(member.stopped.unwrap_or(Stop::Interrupted));
        let own = Optima::of(&part.problem, &members)?;
        optima.starts += own.starts;
        optima.best += own.best;
        optima.distinct = optima.distinct.max(own.distinct);
        part.problem.warn_moved(&mut warnings);
        optimizer.get_or_insert_with(|| stage.optimizer.clone());
    }
    optima.of_search = vec![Some(0)];
    let losses = problem.evaluate(&[problem.start.clone(), raw.clone()], Need::Loss)?;
    let stopped = match found.iter().any(Option::is_none) {
        true => Stop::Interrupted,
        false => stops.iter().copied().find(|s| !s.is_end()).unwrap_or(Stop::Converged),
    };
    let mut member = Member::at(0, &raw, vec![0.0; raw.len()], options.seed);
    member.epochs = epochs;
    member.evaluations = evaluations;
    member.not_finite = not_finite;
    member.path_changes = path_changes;
    member.best = Some((raw.clone(), losses[1].loss));
    member.last.clone_from(&member.best);
    member.trace = vec![losses[0].loss, losses[1].loss];
    member.stopped = Some(stopped);
    let first = found.into_iter().flatten().next();
    let choice = first.map_or_else(|| Choice::none(problem), |searched| searched.choice);
    let optimizer = optimizer.unwrap_or_else(|| choice.stages[0].optimizer.clone());
    Ok(Together {
        stages: vec![Population::of(optimizer, vec![member])],
        choice: choice.of_groups(parts.len(), without_derivative),
        influence,
        start_loss: losses[0].loss,
        optima,
        warnings,
    })
}

/// Looks at every group for itself: the whole point is an optimum if it is one for each of them.
pub(crate) fn examine_parts(
    problem: &Problem,
    parts: &[Part],
    raw: &[f64],
    evaluations: usize,
    stepwise: &[usize],
) -> Result<Examined, Report> {
    let mut all = Examined { test: "newton", is_checked: true, ..Examined::default() };
    let is_covered = |k: &usize| parts.iter().any(|part| part.raws.contains(k));
    all.flat = (0..raw.len()).filter(|k| !is_covered(k)).collect();
    for part in parts {
        problem.check_cancel()?;
        let own: Vec<usize> = (0..part.raws.len()).filter(|&k| stepwise.contains(&part.raws[k])).collect();
        let found = examine(&part.problem, &part.of(raw), evaluations / parts.len(), &own)?;
        all.decrement = larger(all.decrement, found.decrement);
        all.curvature = larger(all.curvature.map(|c| -c), found.curvature.map(|c| -c)).map(|c| -c);
        if found.test == "none" || found.test == "probes" && all.test == "newton" {
            all.test = found.test;
        }
        if let Some(better) = found.better {
            let point = all.better.get_or_insert_with(|| raw.to_vec());
            part.raws.iter().zip(better).for_each(|(&k, x)| point[k] = x);
        }
        all.is_checked &= found.is_checked;
        all.direction = all.direction.or(found.direction.map(|d| d.of_group(&problem.groups[part.group])));
        all.flat.extend(found.flat.iter().map(|&k| part.raws[k]));
        all.diverging.extend(found.diverging.iter().map(|&k| part.raws[k]));
    }
    Ok(all)
}

fn larger(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}
