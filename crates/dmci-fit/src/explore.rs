//! Further starts after the first optimum: where they lie, how many there are, and when there have been enough.
//!
//! Draws are scrambled Sobol points over declared ranges, log-uniform where a parameter has none; the best of them are
//! searched from as one population. It goes on until the expected number of optima that nobody has seen is below one
//! half, or the work is spent. Work is counted in operations of lanes, so that results do not depend on the machine.

use crate::choice::Choice;
use crate::fit::FitOptions;
use crate::flat::rank;
use crate::member::Member;
use crate::optima::Optima;
use crate::optimality::held;
use crate::points::Points;
use crate::population::Population;
use crate::problem::Problem;
use crate::search::{Need, Optimizer};
use crate::starts::{offset, spread};
use dmci::{Column, Diagnostic, ErrorCode, ParameterKind, Report};
use dmci_ops::real::{log10, pow};
use dmci_plot::digits;
use dmci_stats::sobol::sobol;

/// Operations of lanes that a fit may spend on all of its searches before it stops looking for other optima: about two
/// seconds on one core.
pub const SEARCH_WORK: f64 = 2e9;

/// So many times as much may be spent until a fit has made [`FEW_SEARCHES`]: where each costs much, two seconds are too
/// few to find the lowest optimum of several.
const MORE_WORK: f64 = 5.0;

/// Searches that a fit makes if [`MORE_WORK`] is enough for them.
const FEW_SEARCHES: usize = 100;

/// Expected optima that nobody has seen below which a fit stops looking.
const FEW: f64 = 0.5;

/// Starts of the first batch; each further one has twice as many.
const FIRST_BATCH: usize = 7;

/// Most starts of a batch.
const LARGEST_BATCH: usize = 64;

/// Points that are drawn for each start.
const DRAWS: usize = 4;

/// A gradient costs about so many values.
const GRADIENT: f64 = 4.0;

/// What a step of a search costs besides its evaluation, in operations.
const STEP: f64 = 2e4;

/// Starts that must have reached the best optimum before a fit stops without having seen all the others.
const ENOUGH: usize = 5;

/// Most starts.
const MOST_STARTS: usize = 1000;

/// What a fit knows about its further starts.
#[derive(Debug)]
pub(crate) struct Explorer {
    /// Sizes that parameters may have: of inputs and targets, and their inverses.
    sizes: Vec<f64>,
    /// Operations of one evaluation of all rows with derivatives.
    each: f64,
    /// Work that may be spent.
    most: f64,
    /// Work that may be spent on the first searches.
    most_on_few: f64,
}

impl Explorer {
    /// Prepares further starts of a problem that has been evaluated.
    pub fn new(problem: &Problem, options: &FitOptions) -> Explorer {
        let (rows, n) = (problem.training().len() as f64, problem.layout.raws as f64);
        let operations = problem.model.lane_operations() as f64;
        let each = STEP + rows * (GRADIENT * operations + n * n);
        let most = options.search_work.unwrap_or(SEARCH_WORK);
        let most_on_few = options.search_work.unwrap_or(MORE_WORK * SEARCH_WORK);
        Explorer { sizes: sizes(problem), each, most, most_on_few }
    }

    /// Work that evaluations have cost.
    pub fn work(&self, evaluations: usize) -> f64 {
        self.each * evaluations as f64
    }

    /// For how many further searches the work is enough if they are like those that were done.
    fn affordable(&self, spent: f64, done: usize) -> usize {
        let enough_for = |most: f64| ((most - spent) * done as f64 / spent.max(1.0)) as usize;
        let of_few = enough_for(self.most_on_few).min(FEW_SEARCHES.saturating_sub(done));
        enough_for(self.most).max(of_few).min(MOST_STARTS.saturating_sub(done))
    }

    /// The next batch of starts, if there is need of one.
    pub fn next(
        &self,
        problem: &Problem,
        options: &FitOptions,
        choice: &Choice,
        stages: &[Population],
    ) -> Result<Option<Population>, Report> {
        let Some(optimizer) = choice.explores.clone() else { return Ok(None) };
        let members: Vec<&Member> = stages.iter().flat_map(|s| &s.members).collect();
        let evaluations: usize = members.iter().map(|m| m.evaluations).sum();
        let optima = Optima::of(problem, &members)?;
        let has_seen_enough = optima.unseen() < FEW || optima.is_settled();
        if has_seen_enough && !self.is_far_out(problem, options.seed, &members)? || is_exact(problem, &members)? {
            return Ok(None);
        }
        let batch = stages.len() - choice.stages.len().min(stages.len());
        let size = |batch: usize| (FIRST_BATCH << batch.min(8)).min(LARGEST_BATCH);
        let count = size(batch).min(self.affordable(self.work(evaluations), members.len()));
        if count == 0 {
            return Ok(None);
        }
        let first = DRAWS * (0..batch).map(size).sum::<usize>();
        let mut starts = self.starts(problem, (options.seed, options.projects()), first, count)?;
        if batch == 0 && problem.is_least_squares() {
            starts.extend(problem.spectral_starts(problem.start())?);
        }
        if starts.is_empty() {
            return Ok(None);
        }
        let index = members.len();
        let zero = vec![0.0; problem.layout.raws];
        let members = starts.into_iter().enumerate();
        let members = members.map(|(i, point)| Member::at(index + i, &point, zero.clone(), options.seed)).collect();
        Ok(Some(Population::of(optimizer, members)))
    }

    /// Whether the best search ended where numbers cannot be told apart that can be elsewhere: beyond all data a kink is
    /// a line, and what many starts lead to is no optimum.
    fn is_far_out(&self, problem: &Problem, seed: u64, members: &[&Member]) -> Result<bool, Report> {
        let best = members.iter().filter_map(|m| m.best.as_ref()).min_by(|a, b| a.1.total_cmp(&b.1));
        let n = problem.layout.raws;
        let Some((point, _)) = best.filter(|_| problem.is_least_squares() && n <= MOST_NUMBERS) else {
            return Ok(false);
        };
        // On either side, in case that a search ended right at a kink.
        let spread = spread(point);
        let aside = |by: f64| point.iter().zip(&spread).map(|(x, s)| x + by * s).collect::<Vec<f64>>();
        let found = problem.evaluate(&[aside(ASIDE), aside(-ASIDE)], Need::Jacobian)?;
        let held = held(problem, point, &found[0].gradient);
        let numbers: Vec<usize> = (0..n).filter(|k| !held.contains(k)).collect();
        let ranks = found.iter().filter(|f| f.is_finite()).map(|f| rank(f, n, &numbers));
        let Some(here) = ranks.min().filter(|rank| *rank < numbers.len()) else { return Ok(false) };
        let points: Vec<Vec<f64>> = (0..COMPARED).map(|i| self.draw(problem, i, seed)).collect();
        let found = problem.evaluate(&points, Need::Jacobian)?;
        Ok(found.iter().filter(|f| f.is_finite()).any(|f| rank(f, n, &numbers) > here))
    }

    /// Starts among four times as many points: the lowest half, and as many as they come.
    pub fn starts(
        &self,
        problem: &Problem,
        (seed, projects): (u64, bool),
        first: usize,
        count: usize,
    ) -> Result<Vec<Vec<f64>>, Report> {
        let points: Vec<Vec<f64>> = (first..first + DRAWS * count).map(|i| self.draw(problem, i, seed)).collect();
        let mut points: Points = points.iter().map(Vec::as_slice).collect();
        if projects {
            problem.project(&mut points, DRAWS * count)?;
        }
        let points: Vec<Vec<f64>> = points.all().iter().map(<[f64]>::to_vec).collect();
        let found = problem.evaluate(&points, Need::Loss)?;
        let mut order: Vec<usize> = (0..points.len()).filter(|&i| found[i].is_finite()).collect();
        let mut chosen: Vec<usize> = order.iter().copied().take(count - count / 2).collect();
        order.sort_by(|&a, &b| found[a].loss.total_cmp(&found[b].loss));
        for i in order {
            if chosen.len() < count && !chosen.contains(&i) {
                chosen.push(i);
            }
        }
        Ok(chosen.into_iter().map(|i| points[i].clone()).collect())
    }

    /// A point of a number: every second one around the start, the others far and wide.
    fn draw(&self, problem: &Problem, number: usize, seed: u64) -> Vec<f64> {
        let start = problem.start();
        let uniform = sobol(u32::try_from(number / 2).unwrap_or(u32::MAX), start.len(), seed);
        if number.is_multiple_of(2) {
            // The streams of restarts around the start have numbers of their own.
            return start.iter().zip(offset(start, NEAR + number, seed)).map(|(x, o)| x + o).collect();
        }
        let mut point = start.to_vec();
        for (parameter, block) in problem.parameters.iter().zip(&problem.layout.blocks) {
            let raws = block.transform.raws() * if block.per_group { problem.layout.groups } else { 1 };
            for k in block.raw..block.raw + raws {
                let u = uniform[k];
                let transform = block.transform;
                let near = start[k] + 4.0 * (u - 0.5);
                point[k] = match parameter.kind {
                    _ if !transform.is_separate() => near,
                    ParameterKind::Log(low, high) => {
                        transform.raw(low * pow(high / low, 0.005 + 0.99 * u)).unwrap_or(near)
                    }
                    _ if transform.inside(0.0).is_some() => {
                        let (low, high) = (transform.value(f64::NEG_INFINITY), transform.value(f64::INFINITY));
                        transform.raw(low + (high - low) * (0.005 + 0.99 * u)).unwrap_or(near)
                    }
                    ParameterKind::Positive => {
                        let size = self.size(transform.value(start[k]), number / 2 + k);
                        transform.raw(size * pow(10.0, DECADES * (2.0 * u - 1.0))).unwrap_or(near)
                    }
                    _ => {
                        let usual = transform.value(start[k]);
                        let size = self.size(usual, number / 2 + k);
                        // The sign of the start is more likely than the other one.
                        let same = if usual == 0.0 { 0.5 } else { 0.7 };
                        let (sign, part) = if u < same { (1.0, u / same) } else { (-1.0, (u - same) / (1.0 - same)) };
                        let sign = if usual < 0.0 { -sign } else { sign };
                        transform.raw(sign * size * pow(10.0, DECADES * (2.0 * part - 1.0))).unwrap_or(near)
                    }
                };
            }
        }
        point
    }

    /// The size of a draw: mostly that of the start, sometimes one that the data suggest.
    fn size(&self, start: f64, number: usize) -> f64 {
        let own = if start == 0.0 { 1.0 } else { start.abs() };
        let others: Vec<f64> = self.sizes.iter().copied().filter(|s| log10(s / own).abs() > 1.0).collect();
        let choice = number % (2 * others.len().max(1));
        if others.is_empty() || choice >= others.len() { own } else { others[choice] }
    }
}

/// Points that are tried for a start at which the loss is finite.
const TRIES: usize = 256;

impl Problem {
    /// Whether a search can start. Where the loss is not finite at the start, searches start at the lowest of some points
    /// at which it is.
    pub(crate) fn find_start(&self) -> Result<(), Report> {
        let report = match self.check_start() {
            Err(report) if report.diagnostics.iter().all(|d| d.code == ErrorCode::E0805) => report,
            checked => return checked,
        };
        let explorer = Explorer { sizes: sizes(self), each: 0.0, most: 0.0, most_on_few: 0.0 };
        // Whatever the seed of a fit is, so that all fits of a problem start at the same point.
        let points: Vec<Vec<f64>> = (0..TRIES).map(|i| explorer.draw(self, i, 0)).collect();
        let losses = self.evaluate(&points, Need::Gradient)?;
        let lowest = (0..TRIES).min_by(|&a, &b| losses[a].rank().total_cmp(&losses[b].rank()));
        match lowest.filter(|&i| losses[i].is_finite()) {
            Some(i) => {
                let _ = self.moved.set((points[i].clone(), report));
                Ok(())
            }
            None => Err(report),
        }
    }

    /// Says that searches started elsewhere.
    pub(crate) fn warn_moved(&self, warnings: &mut Report) {
        let Some((point, report)) = self.moved.get() else { return };
        let why = report.diagnostics.first().map_or(String::new(), |d| d.message.clone());
        let names = self.value_names().into_iter().zip(self.values(point));
        let place: Vec<String> = names.take(8).map(|(name, x)| format!("{name} = {}", digits(x, 3))).collect();
        let message = format!("{why}; the search started at {} instead", place.join(", "));
        let help = "start where the prediction is finite: change the starts in (params ...)";
        warnings.append(Report::from(Diagnostic::warning(ErrorCode::W0501, message).help(help)));
    }
}

/// Decades on either side of a size.
const DECADES: f64 = 3.0;

/// Numbers of draws around the start begin here.
const NEAR: usize = 1 << 20;

/// Sizes that numbers of the problem have: of each input, of the target, and their inverses.
fn sizes(problem: &Problem) -> Vec<f64> {
    let largest = |list: &[f64]| list.iter().filter(|x| x.is_finite()).fold(0.0, |m: f64, x| m.max(x.abs()));
    let mut sizes: Vec<f64> = Vec::new();
    let mut add = |size: f64| {
        let is_new = sizes.iter().all(|s| log10(s / size).abs() > 1.0);
        if size.is_normal() && is_new {
            sizes.push(size);
        }
    };
    let y = largest(&problem.training().target);
    for column in &problem.training().columns {
        if let Column::Reals(list) = column {
            let x = largest(list);
            [1.0 / x, x, y / x].into_iter().for_each(&mut add);
        }
    }
    add(y);
    sizes
}

impl Optima {
    /// Whether the best optimum was reached often enough, and early enough among all starts, to think that it is the
    /// lowest.
    fn is_settled(&self) -> bool {
        let first = self.of_search.iter().position(|o| *o == Some(0)).unwrap_or(usize::MAX);
        self.best >= ENOUGH && self.starts / 4 >= first.saturating_add(FIRST_BATCH)
    }
}

/// Above this many numbers nobody looks whether they can be told apart.
const MOST_NUMBERS: usize = 100;

/// How far beside the end of a search it is looked at, as a share of how far starts spread.
const ASIDE: f64 = 1e-4;

/// Points that the end of the best search is compared with.
const COMPARED: usize = 32;

/// Whether nothing is left over but rounding, so that there is no better optimum.
fn is_exact(problem: &Problem, members: &[&Member]) -> Result<bool, Report> {
    let best = members.iter().filter_map(|m| m.best.as_ref()).min_by(|a, b| a.1.total_cmp(&b.1));
    let Some((point, loss)) = best else { return Ok(false) };
    if !problem.is_least_squares() {
        // A likelihood of data that are predicted without an error has no lower value.
        return Ok(!problem.is_objective() && loss.abs() <= f64::EPSILON * problem.measurements() as f64);
    }
    Ok(*loss <= 100.0 * problem.rounding_floor(*loss, &problem.known(point)?.predictions))
}

impl Choice {
    /// The optimiser of a stage, those of further starts included.
    pub(crate) fn optimizer_of(&self, stage: usize) -> Option<Optimizer> {
        self.stages.get(stage).map(|s| s.optimizer.clone()).or_else(|| self.explores.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_that_cost_much_get_more_work() {
        let of = |most: f64, most_on_few: f64| Explorer { sizes: Vec::new(), each: 1.0, most, most_on_few };
        // A cheap search: the work is enough for more than the few, and there is no more.
        assert_eq!(of(1000.0, 5000.0).affordable(200.0, 200), 800);
        assert_eq!(of(1000.0, 5000.0).affordable(1000.0, 200), 0);
        // A costly one: as many as the few, if five times as much is enough for them.
        assert_eq!(of(1000.0, 5000.0).affordable(100.0, 5), 95);
        assert_eq!(of(1000.0, 5000.0).affordable(1000.0, 5), 20);
        assert_eq!(of(1000.0, 5000.0).affordable(6000.0, 5), 0);
        // Whoever says how much gets that.
        assert_eq!(of(1000.0, 1000.0).affordable(1000.0, 5), 0);
    }
}
