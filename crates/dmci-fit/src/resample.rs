//! Intervals that cost fits of their own: by the profile of the likelihood, and by fits to resampled rows.

use crate::member::{Budget, Member};
use crate::points::{Asked, Points};
use crate::problem::{Problem, Rows};
use crate::result::Fit;
use crate::search::{Evaluation, LbfgsOptions, LevenbergOptions, Need, Optimizer};
use crate::uncertainty::Verdict;
use dmci::ErrorCode;
use dmci::{Diagnostic, Reason, Report};
use dmci_ops::real::sqrt;
use dmci_stats::distribution::{normal_quantile, student_quantile};
use dmci_stats::random::Stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the intervals of a fit were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Intervals {
    /// From the curvature at the result.
    #[default]
    Curvature,
    /// From where the loss, with all other numbers fitted anew, has risen too far.
    Profile,
    /// From fits to rows drawn anew.
    Bootstrap,
}

impl Intervals {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Intervals::Curvature => "curvature",
            Intervals::Profile => "profile",
            Intervals::Bootstrap => "bootstrap",
        }
    }
}

/// Steps outwards before an end is called open, and steps towards it after that.
const OUTWARDS: usize = 24;
const INWARDS: usize = 30;

/// Rounds of a fit inside of a profile or a resampled one.
const EPOCHS: usize = 200;

/// Replaces the intervals of a fit by those of the profile likelihood: all values of a number for which the best
/// loss, with the other numbers fitted anew, is not significantly above the lowest. An end that is never
/// reached is the end of the number's range. It needs no curvature, but starts from it. Numbers of several raw numbers keep the intervals they have, and so do all
/// numbers of a program that gives its data exactly.
/// `go_on` is asked now and then; if it says no, what is left keeps its intervals.
pub fn profile(problem: &Problem, fit: &mut Fit, go_on: &dyn Fn() -> bool) -> Result<(), Report> {
    let rise = significant_rise(problem, fit)?;
    let count = problem.value_names().len();
    let uncertainty = fit.uncertainty.get_or_insert_with(|| crate::uncertainty::unknown(count, fit.raw.len()));
    // Where the loss cannot rise by more than rounding, there is no way to walk.
    if uncertainty.exact {
        return Ok(());
    }
    let slopes = problem.layout.slopes(&fit.raw);
    let n = fit.raw.len();
    let lowest = loss_at(problem, &fit.raw)?;
    for (k, number) in uncertainty.numbers.iter_mut().enumerate() {
        let involved: Vec<usize> = (0..n).filter(|i| slopes[k * n + i] != 0.0).collect();
        let (&[i], Some(transform)) = (&involved[..], problem.separate(k)) else { continue };
        let variance = uncertainty.covariance[i * n + i];
        let walk = Walk { problem, fixed: i, lowest, rise };
        let step = match number.verdict == Verdict::Not || variance <= 0.0 {
            true => walk.first_step(&fit.raw)?,
            false => sqrt(variance) * uncertainty.quantile,
        };
        let mut ends = [0.0; 2];
        for (end, side) in ends.iter_mut().zip([-1.0, 1.0]) {
            if !go_on() {
                return Ok(());
            }
            *end = transform.value(walk.end(&fit.raw, side * step)?);
        }
        number.interval = Some((ends[0].min(ends[1]), ends[0].max(ends[1])));
    }
    fit.intervals = Intervals::Profile;
    fit.share_sureness(problem);
    Ok(())
}

fn no_likelihood(problem: &Problem) -> Report {
    let message = format!("the {} loss says nothing about how sure parameters are", problem.loss.name());
    let help = "take mse, sse, a likelihood such as gaussian, or ‹objective›; ‹bootstrap› works with every loss";
    Report::from(Diagnostic::error(ErrorCode::E0812, message).help(help))
}

/// How much a loss must rise to be significant at 5%.
fn significant_rise(problem: &Problem, fit: &Fit) -> Result<f64, Report> {
    if problem.is_least_squares() && !problem.loss.is_likelihood() {
        let Some(freedom) = fit.uncertainty.as_ref().and_then(|u| u.freedom) else {
            let (count, n) = (problem.measurements(), fit.raw.len());
            let message = format!("{count} measurements and {n} numbers to fit leave nothing to tell the noise from");
            let help = "give more rows, fix parameters, or give standard deviations with ‹sigma›";
            return Err(Report::from(Diagnostic::error(ErrorCode::E0812, message).help(help)));
        };
        let quantile = student_quantile(0.975, freedom as f64);
        return Ok(quantile * quantile * loss_at(problem, &fit.raw)? / freedom as f64);
    }
    if !problem.loss.is_likelihood() && !problem.is_objective() {
        return Err(no_likelihood(problem));
    }
    Ok(0.5 * normal_quantile(0.975) * normal_quantile(0.975))
}

fn loss_at(problem: &Problem, raw: &[f64]) -> Result<f64, Report> {
    Ok(problem.evaluate(&[raw.to_vec()], Need::Loss)?.pop().map_or(f64::NAN, |f| f.loss))
}

/// A walk along one raw number, with all others fitted anew at every place.
struct Walk<'a> {
    problem: &'a Problem,
    fixed: usize,
    lowest: f64,
    rise: f64,
}

impl Walk<'_> {
    /// A first step where no curvature says how far: the power of ten at which the loss has risen, with all others as
    /// they are; 1 if it rises nowhere.
    fn first_step(&self, from: &[f64]) -> Result<f64, Report> {
        let sizes: Vec<f64> = (-24..=24).map(|k| 10f64.powi(k)).collect();
        let moved = |size: &f64| {
            let mut point = from.to_vec();
            point[self.fixed] += size;
            point
        };
        let found = self.problem.evaluate(&sizes.iter().map(moved).collect::<Vec<_>>(), Need::Loss)?;
        let has_risen = |f: &Evaluation| self.scaled(f.loss) >= 0.0;
        Ok(found.iter().position(has_risen).map_or(1.0, |k| sizes[k]))
    }

    /// Where the loss has risen significantly, from a point in the direction of a first step; infinite if nowhere.
    fn end(&self, from: &[f64], step: f64) -> Result<f64, Report> {
        let center = from[self.fixed];
        let (mut near, mut near_height) = (center, -1.0);
        let mut point = from.to_vec();
        let mut reach = step;
        for _ in 0..OUTWARDS {
            let (height, best) = self.height(&point, center + reach)?;
            if height >= 0.0 {
                return self.between((near, near_height), (center + reach, height), &point);
            }
            (near, near_height, point) = (center + reach, height, best);
            reach *= 1.5;
        }
        Ok(step.signum() * f64::INFINITY)
    }

    /// The place between a point below the rise and one above where it is reached, by false position: the root
    /// of the rise is almost a line.
    fn between(&self, mut low: (f64, f64), mut high: (f64, f64), start: &[f64]) -> Result<f64, Report> {
        let mut point = start.to_vec();
        for i in 0..INWARDS {
            let (left, whole) = ((high.0 - low.0).abs(), (high.0 - start[self.fixed]).abs());
            if high.1.abs() < 1e-4 || left <= 1e-9 * whole || left <= 4.0 * f64::EPSILON * high.0.abs() {
                break;
            }
            // What is infinite says only on which side it is; and now and then a half makes sure of progress.
            let share = if high.1.is_finite() && i % 4 != 3 { low.1 / (low.1 - high.1) } else { 0.5 };
            let place = low.0 + share.clamp(0.05, 0.95) * (high.0 - low.0);
            let (height, best) = self.height(&point, place)?;
            if height >= 0.0 {
                high = (place, height);
            } else {
                (low, point) = ((place, height), best);
            }
            if low.1.abs() < 1e-4 {
                return Ok(low.0);
            }
        }
        Ok(high.0)
    }

    /// The root of the rise of the best loss at a place, in units of what is significant, minus 1; and the point.
    fn height(&self, start: &[f64], place: f64) -> Result<(f64, Vec<f64>), Report> {
        let mut point = start.to_vec();
        point[self.fixed] = place;
        let others: Vec<f64> = without(&point, self.fixed);
        if others.is_empty() {
            return Ok((self.scaled(loss_at(self.problem, &point)?), point));
        }
        let full = |part: &[f64]| {
            let mut full = part.to_vec();
            full.insert(self.fixed, place);
            full
        };
        let evaluate = |parts: Asked, need: Need| {
            let points: Vec<Vec<f64>> = parts.iter().map(full).collect();
            let found = self.problem.evaluate(&points, need)?;
            Ok(found.into_iter().map(|f| self.of_others(f, point.len())).collect())
        };
        let member = search(self.problem, &others, &evaluate)?;
        let best = member.best.as_ref().map_or(point, |b| full(&b.0));
        Ok((self.scaled(member.loss()), best))
    }

    fn scaled(&self, loss: f64) -> f64 {
        if loss.is_finite() { sqrt(((loss - self.lowest) / self.rise).max(0.0)) - 1.0 } else { f64::INFINITY }
    }

    /// An evaluation without the derivatives by the fixed number.
    fn of_others(&self, mut found: Evaluation, n: usize) -> Evaluation {
        found.gradient = without(&found.gradient, self.fixed);
        found.jacobian = found.jacobian.chunks(n).flat_map(|row| without(row, self.fixed)).collect();
        found
    }
}

fn without(list: &[f64], index: usize) -> Vec<f64> {
    list.iter().enumerate().filter(|(i, _)| *i != index).map(|(_, x)| *x).collect()
}

/// What evaluates points for a search.
pub(crate) type Evaluate<'a> = dyn Fn(Asked, Need) -> Result<Vec<Evaluation>, Report> + 'a;

/// A search from a point by the method that fits the loss.
pub(crate) fn search(problem: &Problem, start: &[f64], evaluate: &Evaluate) -> Result<Member, Report> {
    let optimizer = match problem.is_least_squares() {
        true => Optimizer::Levenberg(LevenbergOptions::default()),
        false => Optimizer::Lbfgs(LbfgsOptions::default()),
    };
    let budget = Budget { epochs: Some(EPOCHS), ..Budget::default() };
    let mut member = Member::at(0, start, vec![0.0; start.len()], 0);
    let mut points = Points::default();
    while member.stopped.is_none() {
        points.clear();
        member.ask(&mut points);
        let mut found = evaluate(points.all(), optimizer.need())?;
        member.tell(points.all(), &mut found, &optimizer, &budget);
    }
    Ok(member)
}

/// Fewer fits to rows drawn anew say nothing about the ends of an interval.
pub const LEAST_SAMPLES: usize = 20;

/// Fits to rows drawn anew.
#[derive(Clone, Debug, PartialEq)]
pub struct Bootstrap {
    /// The numbers of [`Problem::values`] in each of them.
    pub draws: Vec<Vec<f64>>,
    /// Fits that did not come to a finite loss.
    pub failed: usize,
    /// Numbers whose draws have long tails, by name, with the standard deviation of the draws.
    pub tails: Vec<(String, f64)>,
}

/// Draws whose standard deviation is so many times the error have long tails.
const LONG_TAILS: f64 = 2.0;

/// The share of a normal distribution below one standard deviation above the mean.
const ONE_ABOVE: f64 = 0.841_344_746_068_543;

/// Replaces standard errors and intervals of a fit by those of fits to as many rows, drawn with repetition: half
/// the width of the middle 68% of what they find, and the middle 95% of it. Rows of a group are drawn from that group; of an objective,
/// whole series are drawn, and numbers that each series has of its own get none. Each fit starts from the result. `go_on` is asked after each; the draws so far count.
pub fn bootstrap(
    problem: &Problem,
    fit: &mut Fit,
    samples: usize,
    seed: u64,
    go_on: &dyn Fn(usize) -> bool,
) -> Result<(), Report> {
    if samples < LEAST_SAMPLES {
        let message = format!("expected at least {LEAST_SAMPLES} fits to rows drawn anew, got {samples}");
        let help = "errors and intervals are the spread of such fits: 200 are usual";
        return Err(Report::from(Diagnostic::error(ErrorCode::E0812, message).help(help)));
    }
    let units = problem.training().len();
    if units < 2 {
        let message = "there is only one series, so that none can be drawn anew";
        let help = "name groups with ‹group›, or use ‹intervals profile›";
        return Err(Report::from(Diagnostic::error(ErrorCode::E0812, message).help(help)));
    }
    if (0..problem.value_names().len()).all(|k| is_of_one_series(problem, k)) {
        let message = "all parameters differ by group, so that series drawn anew say nothing about them";
        let help = "use ‹intervals profile›, or fit a parameter that all series share";
        return Err(Report::from(Diagnostic::error(ErrorCode::E0812, message).help(help)));
    }
    let mut found = Bootstrap { draws: Vec::new(), failed: 0, tails: Vec::new() };
    let mut is_over = false;
    for sample in 0..samples {
        if !go_on(sample) {
            break;
        }
        let rows = drawn(problem, &mut Stream::new(seed, 0xb007 + ((sample as u64) << 16)));
        let evaluate = |points: Asked, need: Need| problem.evaluate_asked(points, &rows, need);
        let member = match search(problem, &fit.raw, &evaluate) {
            // Those that were done count.
            Err(report) if report.is_cancelled() && problem.cancel.is_raised(Reason::Time) => {
                is_over = true;
                break;
            }
            member => member?,
        };
        match &member.best {
            Some((point, _)) => found.draws.push(problem.values(point)),
            None => found.failed += 1,
        }
    }
    if found.draws.len() >= 2 {
        take(fit, &mut found, problem);
        fit.intervals = Intervals::Bootstrap;
        fit.share_sureness(problem);
    }
    // One draw has no spread.
    if found.draws.len() >= 2 || !is_over {
        fit.bootstrap = Some(found);
    }
    Ok(())
}

/// Whether a number of [`Problem::values`] belongs to one series of an objective: however often that is drawn, it says
/// the same about the number.
fn is_of_one_series(problem: &Problem, number: usize) -> bool {
    problem.is_objective() && problem.block_of(number).is_some_and(|block| block.per_group)
}

/// The rows with other weights: each counts as often as it was drawn.
fn drawn(problem: &Problem, stream: &mut Stream) -> Rows {
    let training = problem.training();
    let mut times = vec![0.0; training.len()];
    for group in 0..problem.layout.groups.max(1) {
        let members: Vec<usize> =
            (0..training.len()).filter(|&r| problem.layout.groups == 1 || training.group[r] == group).collect();
        // Series of an objective have groups of their own: one of each would be no draw at all.
        let pool = if problem.is_objective() { (0..training.len()).collect() } else { members.clone() };
        for _ in 0..members.len() {
            times[pool[stream.below(pool.len())]] += 1.0;
        }
    }
    let mut rows = training.clone();
    rows.weight.iter_mut().zip(times).for_each(|(w, times)| *w *= times);
    rows
}

/// Errors and intervals from draws.
fn take(fit: &mut Fit, found: &mut Bootstrap, problem: &Problem) {
    let names = problem.value_names();
    let count = names.len();
    let n = found.draws.len() as f64;
    let uncertainty = fit.uncertainty.get_or_insert_with(|| crate::uncertainty::unknown(count, fit.raw.len()));
    for (k, number) in uncertainty.numbers.iter_mut().enumerate() {
        if is_of_one_series(problem, k) {
            (number.error, number.interval) = (None, None);
            continue;
        }
        let mut values: Vec<f64> = found.draws.iter().map(|d| d[k]).collect();
        values.sort_by(f64::total_cmp);
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0);
        // A few draws far away say much about the variance and little about where most draws are.
        let error = 0.5 * (quantile(&values, ONE_ABOVE) - quantile(&values, 1.0 - ONE_ABOVE));
        if sqrt(variance) > LONG_TAILS * error {
            found.tails.push((names[k].clone(), sqrt(variance)));
        }
        number.error = Some(error);
        number.interval = Some((quantile(&values, 0.025), quantile(&values, 0.975)));
    }
}

/// A quantile of sorted numbers, between neighbours in proportion.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let low = place as usize;
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] + (place - low as f64) * (sorted[high] - sorted[low])
}
