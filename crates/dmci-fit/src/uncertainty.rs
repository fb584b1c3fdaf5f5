//! How well data determine parameters: standard errors, intervals, correlations, and which combinations
//! of parameters the data cannot tell apart.
//!
//! Least squares use the Jacobian of the residuals, likelihoods the second derivatives of the loss. Both are taken in raw space, where nothing is bounded; errors are
//! carried over by the slopes of the transforms, intervals by the transforms themselves, so that no
//! interval leaves the bounds of its parameter.

use crate::flat::{DEPENDENT, SADDLE, Spectrum, spectrum};
use crate::problem::Problem;
use crate::result::LATE;
use crate::search::Evaluation;
use crate::separate::Part;
use dmci::Report;
use dmci_limits::Ticks;
use dmci_ops::real::sqrt;
use dmci_stats::distribution::{normal_quantile, student_quantile};
use dmci_stats::linear::{Factored, column_lengths};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How much is done for standard errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Errors {
    /// Nothing: neither errors nor the curvature at the result.
    None,
    /// What costs no more than the search did.
    Fast,
    /// Whatever it costs.
    #[default]
    Full,
}

impl Errors {
    /// Evaluations of the search that the test of an optimum may be measured by.
    pub(crate) fn budget(self, evaluations: usize) -> usize {
        if self == Errors::None { 0 } else { evaluations }
    }

    /// Whether second derivatives by so many numbers are computed after so many evaluations.
    fn affords(self, numbers: usize, evaluations: usize) -> bool {
        self == Errors::Full || self == Errors::Fast && PRODUCT * numbers <= evaluations
    }
}

/// A product of the Hessian with a direction costs about so many gradients.
const PRODUCT: usize = 3;

/// Whether data determine a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// They do.
    Identifiable,
    /// Only together with others: alone it would be known more than a hundred times better.
    Weakly,
    /// They do not: it can move, alone or with others, without any change of the loss.
    Not,
}

impl Verdict {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Identifiable => "identifiable",
            Verdict::Weakly => "weakly",
            Verdict::Not => "not",
        }
    }
}

/// How sure a number is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sureness {
    /// Its standard error, in the user's units; none if data do not determine it.
    pub error: Option<f64>,
    /// Where it lies with a probability of 95%.
    pub interval: Option<(f64, f64)>,
    /// Whether data determine it.
    pub verdict: Verdict,
}

/// A combination of numbers that hardly changes the loss, or not at all.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    /// Whether the loss does not change at all.
    pub flat: bool,
    /// The numbers that move together, largest first: by which share of themselves, or by how much if
    /// they are 0. The first moves by 1.
    pub moves: Vec<(String, f64)>,
}

/// What is known about all numbers together.
#[derive(Clone, Debug, PartialEq)]
pub struct Uncertainty {
    /// Of every number of [`Problem::values`].
    pub numbers: Vec<Sureness>,
    /// Correlations of the same numbers, row by row; NaN where there are none.
    pub correlations: Vec<f64>,
    /// Why numbers have no error although others have, by their numbers.
    pub missing: BTreeMap<usize, String>,
    /// Combinations that are hard to tell apart, worst first.
    pub directions: Vec<Direction>,
    /// Covariances of raw numbers; those that data do not determine have 0.
    pub covariance: Vec<f64>,
    /// `jacobian` or `hessian`.
    pub method: &'static str,
    /// What standard errors are multiplied with for an interval of 95%.
    pub quantile: f64,
    /// Measurements beyond the numbers that they decide, if the noise was estimated from what the fit leaves over.
    pub freedom: Option<usize>,
    /// The noise was estimated from what the fit leaves over, and that is nothing but rounding: errors are 0 or
    /// nearly, and say nothing about noise that other data may have.
    pub exact: bool,
}

/// A parameter alone would be known this much better.
const WEAK: f64 = 1e4;

/// A standard error of a raw number beyond which its sigmoid or softplus can be almost anything.
const VAGUE: f64 = 5.0;

/// What the data say at a point: the curvature of the loss, in units in which a change of the loss by
/// one half is one standard error.
struct Information {
    matrix: Vec<f64>,
    /// The covariance, computed without squaring; none if that is not possible, or if there is none because a
    /// direction is flat.
    covariance: Option<Vec<f64>>,
    method: &'static str,
    quantile: f64,
    freedom: Option<usize>,
    /// What covariances are to be multiplied with at the end: 0 if there is no noise, whose inverse is no number.
    noise: f64,
}

/// A variance below this has an inverse that may be too large for a number.
const NO_NOISE: f64 = 1e-250;

/// How sure the numbers at a point are, or why nobody can say: the loss is no likelihood and no sum of squares, for
/// example, or there are not more rows than numbers that they decide. `searched` numbers have no derivative, but were
/// fitted all the same, in so many `evaluations`.
pub(crate) fn uncertainty(
    problem: &Problem,
    raw: &[f64],
    searched: usize,
    (errors, evaluations): (Errors, usize),
) -> Result<Result<Uncertainty, String>, Report> {
    if errors == Errors::None {
        return Ok(Err("nobody asked for them".to_string()));
    }
    let second = errors.affords(raw.len(), evaluations);
    let found = match problem.parts() {
        Some(parts) => of_parts(problem, parts, raw, searched, second)?,
        None => of_whole(problem, raw, searched, second, None)?,
    };
    // What was stopped on the way has no meaning; whoever interrupts wants to know that he was heard.
    problem.check_cancel()?;
    if dmci_limits::rang() {
        return Ok(Err(LATE.to_string()));
    }
    Ok(found)
}

/// The noise that several groups have together.
#[derive(Clone, Copy)]
struct Pooled {
    /// Its variance, in the units of one group.
    variance: f64,
    /// Measurements of all groups beyond the numbers that they decide.
    freedom: usize,
}

/// The same for parameters that belong together.
fn of_whole(
    problem: &Problem,
    raw: &[f64],
    searched: usize,
    second: bool,
    pooled: Option<Pooled>,
) -> Result<Result<Uncertainty, String>, Report> {
    let information = match information(problem, raw, searched, second, pooled)? {
        Ok(information) => information,
        Err(why) => return Ok(Err(why)),
    };
    if dmci_limits::rings() {
        return Ok(Err(LATE.to_string()));
    }
    let n = raw.len();
    // Squares hide what is left of a column that is nearly one of the others; who has not squared knows better.
    let determined = information.covariance.is_some();
    let spectrum = match determined || problem.is_least_squares() {
        true => Spectrum::of(&information.matrix, n),
        false => spectrum(problem, raw, &information.matrix)?,
    };
    let Some(mut spectrum) = spectrum else { return Ok(Err(NOT_FINITE.to_string())) };
    if dmci_limits::rings() {
        return Ok(Err(LATE.to_string()));
    }
    // A saddle: what is called an error there means nothing.
    if spectrum.values.first().is_some_and(|v| *v < SADDLE * spectrum.largest()) {
        return Ok(Err("the loss curves downwards in a direction here, so that this is no minimum".to_string()));
    }
    if determined {
        spectrum.flat = 0;
    }
    let Spectrum { units, values, vectors, flat } = &spectrum;
    let flat = *flat;
    let diagonal: Vec<f64> = units.iter().map(|u| if *u > 0.0 { 1.0 / (u * u) } else { 0.0 }).collect();
    let mut verdicts = vec![Verdict::Identifiable; n];
    for (i, verdict) in verdicts.iter_mut().enumerate() {
        let hidden = (0..flat).any(|k| vectors[k * n + i].abs() > 1e-3);
        if hidden || units[i] == 0.0 {
            *verdict = Verdict::Not;
        }
    }
    let mut ticks = Ticks::default();
    let covariance = match information.covariance {
        Some(covariance) => covariance,
        None => (0..n * n)
            .map(|k| {
                let (i, j) = (k / n, k % n);
                if ticks.spend(2 * n) || dmci_limits::rang() {
                    return 0.0;
                }
                if verdicts[i] == Verdict::Not || verdicts[j] == Verdict::Not {
                    return 0.0;
                }
                let along = (flat..n).map(|e| vectors[e * n + i] * vectors[e * n + j] / values[e]);
                along.sum::<f64>() * units[i] * units[j]
            })
            .collect(),
    };
    if dmci_limits::rang() {
        return Ok(Err(LATE.to_string()));
    }
    for i in 0..n {
        if verdicts[i] == Verdict::Identifiable && covariance[i * n + i] * diagonal[i] > WEAK {
            verdicts[i] = Verdict::Weakly;
        }
    }
    let noise = information.noise;
    // An interval that reaches far into both ends of a bounded kind says as good as nothing.
    for (block, parameter) in problem.layout.blocks.iter().zip(&problem.parameters) {
        let count = block.transform.raws() * if block.per_group { problem.layout.groups } else { 1 };
        for i in (block.raw..block.raw + count).filter(|_| parameter.kind != dmci::ParameterKind::Free) {
            // A large positive number is its raw number, which has one end only, and that may be far away.
            let far = parameter.kind == dmci::ParameterKind::Positive && raw[i] > 2.0 * sqrt(covariance[i * n + i]);
            if verdicts[i] == Verdict::Identifiable && noise * covariance[i * n + i] > VAGUE * VAGUE && !far {
                verdicts[i] = Verdict::Weakly;
            }
        }
    }
    let weak = (0..n).filter(|&k| k < flat || values[k] < 1.0 / WEAK).take(3);
    let directions = weak.map(|k| spectrum.direction(problem, raw, k)).collect();
    let (mut known, correlations) = numbers(problem, raw, &covariance, &verdicts, information.quantile);
    let mut covariance = covariance;
    if noise != 1.0 {
        covariance.iter_mut().for_each(|x| *x *= noise);
        known = numbers(problem, raw, &covariance, &verdicts, information.quantile).0;
    }
    Ok(Ok(Uncertainty {
        numbers: known,
        correlations,
        missing: BTreeMap::new(),
        directions,
        covariance,
        method: information.method,
        quantile: information.quantile,
        freedom: information.freedom,
        exact: false,
    }))
}

/// Nothing is known yet about so many numbers of so many raw ones.
pub(crate) fn unknown(numbers: usize, raws: usize) -> Uncertainty {
    let number = Sureness { error: None, interval: None, verdict: Verdict::Identifiable };
    Uncertainty {
        numbers: vec![number; numbers],
        correlations: vec![f64::NAN; numbers * numbers],
        missing: BTreeMap::new(),
        directions: Vec::new(),
        covariance: vec![0.0; raws * raws],
        method: "none",
        quantile: f64::NAN,
        freedom: None,
        exact: false,
    }
}

/// More numbers than this have no matrix of covariances.
const MOST: usize = 4000;

/// Groups that share no parameter: each has its own matrix, and all have the same noise, if that is estimated from what
/// the fit leaves over.
fn of_parts(
    problem: &Problem,
    parts: &[Part],
    raw: &[f64],
    searched: usize,
    second: bool,
) -> Result<Result<Uncertainty, String>, Report> {
    let n = raw.len();
    if n > MOST {
        return Ok(Err(format!("a matrix of covariances of {n} numbers takes too much memory")));
    }
    let estimated = problem.is_least_squares() && !problem.loss.is_likelihood();
    let (mut squares, mut rank) = (0.0, searched);
    for part in parts.iter().filter(|_| estimated) {
        let found = &part.problem.known(&part.of(raw))?.evaluation;
        squares += found.loss * part.problem.divisor(part.problem.training());
        rank += even(found, part.raws.len()).0.rank_above(DEPENDENT);
    }
    let freedom = problem.measurements().saturating_sub(rank);
    if estimated && freedom == 0 {
        let (numbers, count) = (n + searched, problem.measurements());
        return Ok(Err(format!("there are {numbers} numbers to fit, and only {count} measurements")));
    }
    let mut all = unknown(problem.layout.all_values(raw).len(), n);
    let count = all.numbers.len();
    let (mut first_failure, mut done) = (None, 0);
    for part in parts {
        problem.check_cancel()?;
        let divisor = part.problem.divisor(part.problem.training());
        let pooled = Pooled { variance: squares / freedom as f64 / divisor, freedom };
        let own = match of_whole(&part.problem, &part.of(raw), 0, second, estimated.then_some(pooled))? {
            Ok(own) => own,
            Err(why) => {
                part.values.iter().for_each(|&k| drop(all.missing.insert(k, why.clone())));
                first_failure.get_or_insert(why);
                continue;
            }
        };
        done += 1;
        for (k, &at) in part.values.iter().enumerate() {
            all.numbers[at] = own.numbers[k];
            let row = part.values.iter().enumerate();
            row.for_each(|(j, &to)| {
                all.correlations[at * count + to] = own.correlations[k * part.values.len() + j];
            });
        }
        for (k, &at) in part.raws.iter().enumerate() {
            let row = part.raws.iter().enumerate();
            row.for_each(|(j, &to)| all.covariance[at * n + to] = own.covariance[k * part.raws.len() + j]);
        }
        let group = &problem.groups[part.group];
        all.directions.extend(own.directions.into_iter().map(|d| d.of_group(group)));
        (all.method, all.quantile, all.freedom) = (own.method, own.quantile, own.freedom);
    }
    all.directions.sort_by_key(|d| !d.flat);
    all.directions.truncate(3);
    let why = || first_failure.unwrap_or_else(|| NOT_FINITE.to_string());
    Ok(if done == 0 { Err(why()) } else { Ok(all) })
}

/// Why there are no errors where a derivative is infinite or not a number.
const NOT_FINITE: &str = "the derivatives of the loss are not finite at the result";

fn information(
    problem: &Problem,
    raw: &[f64],
    searched: usize,
    second: bool,
    pooled: Option<Pooled>,
) -> Result<Result<Information, String>, Report> {
    let n = raw.len();
    let count = problem.measurements();
    if problem.is_least_squares() {
        let found = &problem.known(raw)?.evaluation;
        let known = problem.loss.is_likelihood();
        let (factored, units) = even(found, n);
        let rank = factored.rank_above(DEPENDENT);
        // What the data do not decide takes no degree of freedom.
        let freedom = pooled.map_or(count.saturating_sub(rank + searched), |p| p.freedom);
        if !found.is_finite() {
            return Ok(Err(NOT_FINITE.to_string()));
        }
        if freedom == 0 && !known {
            let numbers = n + searched;
            return Ok(Err(format!("there are {numbers} numbers to fit, and only {count} measurements")));
        }
        // The noise is known, or estimated from what the fit leaves over.
        let variance = match pooled {
            _ if known => 0.5,
            Some(pooled) => pooled.variance,
            None => found.loss / freedom as f64,
        };
        let (variance, noise) = if variance < NO_NOISE { (1.0, 0.0) } else { (variance, 1.0) };
        let covariance = factored.covariance().filter(|_| rank == n);
        let in_units = |k: usize, x: f64| x * units[k / n] * (variance * units[k % n]);
        let covariance = covariance.map(|list| list.into_iter().enumerate().map(|(k, x)| in_units(k, x)).collect());
        let root = sqrt(variance);
        let scaled: Vec<f64> = found.jacobian.iter().map(|x| x / root).collect();
        let mut matrix = vec![0.0; n * n];
        let mut ticks = Ticks::default();
        for row in scaled.chunks(n) {
            if ticks.spend(n * n) {
                break;
            }
            for i in 0..n {
                (0..n).for_each(|j| matrix[i * n + j] += row[i] * row[j]);
            }
        }
        let quantile = if known { normal_quantile(0.975) } else { student_quantile(0.975, freedom as f64) };
        let freedom = (!known).then_some(freedom);
        return Ok(Ok(Information { matrix, covariance, method: "jacobian", quantile, freedom, noise }));
    }
    if !problem.loss.is_likelihood() && !problem.is_objective() {
        let loss = problem.loss.name();
        return Ok(Err(format!("the {loss} loss is no likelihood; ‹bootstrap 200› estimates them with every loss")));
    }
    if !second {
        return Ok(Err("second derivatives would cost more than the search; ‹errors full› computes them".to_string()));
    }
    let Some(matrix) = problem.curvature(raw)? else { return Ok(Err(NOT_FINITE.to_string())) };
    let matrix = matrix.to_vec();
    let quantile = normal_quantile(0.975);
    Ok(Ok(Information { matrix, covariance: None, method: "hessian", quantile, freedom: None, noise: 1.0 }))
}

/// The Jacobian of residuals, factored with columns of length 1, and what its columns were multiplied with for that.
fn even(found: &Evaluation, n: usize) -> (Factored, Vec<f64>) {
    let lengths = column_lengths(&found.jacobian, n);
    let units: Vec<f64> = lengths.iter().map(|l| if *l > 0.0 { 1.0 / l } else { 1.0 }).collect();
    let even: Vec<f64> = found.jacobian.iter().zip(units.iter().cycle()).map(|(x, unit)| x * unit).collect();
    (Factored::new(&even, &found.residuals, n, &mut Vec::new()), units)
}

/// Errors, intervals and correlations in the user's units.
fn numbers(
    problem: &Problem,
    raw: &[f64],
    covariance: &[f64],
    verdicts: &[Verdict],
    quantile: f64,
) -> (Vec<Sureness>, Vec<f64>) {
    let n = raw.len();
    let slopes = problem.layout.slopes(raw);
    let count = slopes.len() / n.max(1);
    let values = problem.values(raw);
    let variance = |a: usize, b: usize| -> f64 {
        let mut sum = 0.0;
        for i in (0..n).filter(|i| slopes[a * n + i] != 0.0) {
            for j in (0..n).filter(|j| slopes[b * n + j] != 0.0) {
                sum += slopes[a * n + i] * covariance[i * n + j] * slopes[b * n + j];
            }
        }
        sum
    };
    let mut numbers = Vec::new();
    for k in 0..count {
        let involved: Vec<usize> = (0..n).filter(|i| slopes[k * n + i] != 0.0).collect();
        let verdict = involved.iter().map(|&i| verdicts[i]).max();
        // A number that no raw number moves is fixed by the structure of its parameter, or its kind is saturated there:
        // a positive number so small that it is 0.
        let Some(verdict) = verdict else {
            let is_saturated = problem.separate(k).is_some();
            let verdict = if is_saturated { Verdict::Not } else { Verdict::Identifiable };
            numbers.push(Sureness { error: None, interval: None, verdict });
            continue;
        };
        let error = (verdict != Verdict::Not).then(|| sqrt(variance(k, k)));
        let interval = error.map(|error| match (&involved[..], problem.separate(k)) {
            (&[i], Some(transform)) => {
                let reach = quantile * sqrt(covariance[i * n + i]);
                let (a, b) = (transform.value(raw[i] - reach), transform.value(raw[i] + reach));
                (a.min(b), a.max(b))
            }
            _ => (values[k] - quantile * error, values[k] + quantile * error),
        });
        numbers.push(Sureness { error, interval, verdict });
    }
    let mut correlations = vec![f64::NAN; count * count];
    let mut ticks = Ticks::default();
    for a in 0..count {
        for b in 0..count {
            if ticks.spend(2 * n) {
                return (numbers, correlations);
            }
            if let (Some(x), Some(y)) = (numbers[a].error, numbers[b].error)
                && x * y > 0.0
            {
                correlations[a * count + b] = if a == b { 1.0 } else { (variance(a, b) / (x * y)).clamp(-1.0, 1.0) };
            }
        }
    }
    (numbers, correlations)
}

/// A step along a vector, each number of which has its unit, in the numbers of the user.
pub(crate) fn direction(problem: &Problem, raw: &[f64], units: &[f64], vector: &[f64], flat: bool) -> Direction {
    let n = raw.len();
    let names = problem.value_names();
    let values = problem.values(raw);
    let slopes = problem.layout.slopes(raw);
    // A number without any influence has no unit; it moves alone.
    let step: Vec<f64> = vector.iter().zip(units).map(|(v, u)| v * if *u > 0.0 { *u } else { 1.0 }).collect();
    let mut moves: Vec<(String, f64)> = names
        .into_iter()
        .enumerate()
        .map(|(k, name)| {
            let change: f64 = (0..n).map(|i| slopes[k * n + i] * step[i]).sum();
            (name, if values[k] == 0.0 { change } else { change / values[k].abs() })
        })
        .collect();
    moves.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    let largest = moves.first().map_or(1.0, |m| m.1);
    moves.retain(|m| m.1.abs() > 0.02 * largest.abs());
    moves.iter_mut().for_each(|m| m.1 /= largest);
    Direction { flat, moves }
}
