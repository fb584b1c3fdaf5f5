//! Whether the point where a search ended is an optimum: the Newton decrement relative to the loss, the curvature, and,
//! where derivatives cannot tell, points nearby.

use crate::flat::{of_residuals, spectrum};
use crate::problem::Problem;
use crate::search::{Evaluation, Need};
use crate::separate::examine_parts;
use crate::starts::spread;
use crate::uncertainty::Direction;
use dmci::{ErrorCode, ParameterKind, Report};
use dmci_ops::real::sqrt;
use dmci_stats::linear::{Factored, column_lengths, dot, eigen};

/// What became of a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It ended at an optimum, the lowest that any start found.
    Converged,
    /// It ended where the gradient vanishes and no other start was lower, but nobody has looked at the curvature.
    Unchecked,
    /// It ended at an optimum, and another start found a lower one.
    Local,
    /// It ended before an optimum.
    Stalled,
    /// The loss does not change with a parameter, or with a combination of parameters.
    Flat,
    /// A parameter lies at a bound of its kind.
    AtBound,
    /// The loss falls ever more slowly while a parameter grows without limit.
    Diverging,
}

impl Outcome {
    /// The name used in JSON and reports.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Converged => "converged",
            Outcome::Unchecked => "converged (curvature not checked)",
            Outcome::Local => "converged (local)",
            Outcome::Stalled => "stalled",
            Outcome::Flat => "flat",
            Outcome::AtBound => "at a bound",
            Outcome::Diverging => "diverging",
        }
    }

    /// The warning that goes with it.
    pub fn code(self) -> Option<ErrorCode> {
        match self {
            Outcome::Converged | Outcome::Unchecked => None,
            Outcome::Local => Some(ErrorCode::W0805),
            Outcome::Stalled => Some(ErrorCode::W0801),
            Outcome::Flat => Some(ErrorCode::W0802),
            Outcome::AtBound => Some(ErrorCode::W0803),
            Outcome::Diverging => Some(ErrorCode::W0804),
        }
    }
}

/// The test of an optimum, and what it says.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimality {
    /// What became of the fit.
    pub outcome: Outcome,
    /// By which share of the loss, or of its rounding floor if that is larger, a Newton step would lower it; none if
    /// there is no such step.
    pub decrement: Option<f64>,
    /// The lowest curvature as a share of the largest, each parameter in its own unit; none if it was not computed.
    pub curvature: Option<f64>,
    /// What decided: `newton`, `probes` (points nearby, where derivatives cannot tell), or `none`.
    pub test: &'static str,
    /// The parameters that the outcome is about.
    pub parameters: Vec<String>,
    /// The next step to try, unless the fit converged.
    pub next: Option<String>,
}

/// The decrement above which a point is no optimum.
pub const TOLERANCE: f64 = 1e-8;

/// Above this many raw numbers no curvature is computed.
const MOST_FOR_CURVATURE: usize = 300;

/// The curvature costs at most so many times the evaluations of the search.
const WORTH: usize = 20;

/// A curvature below minus this share of the largest is worth a look along its direction.
const NEGATIVE: f64 = 1e-6;

/// Moving a number by its own size changes the loss by less than this share: then it is flat.
const FLAT: f64 = 1e-14;

/// Where the loss must be the same for a number to be flat, as a share of how far starts spread.
const NEARBY: f64 = 1e-3;

/// A number this many times as large as at its start has gone far.
const FAR: f64 = 10.0;

/// Numbers that can grow by this factor without a rise of the loss have no end.
const OUTWARDS: f64 = 1.5;

/// What was found out about a point.
#[derive(Clone, Debug, Default)]
pub(crate) struct Examined {
    pub decrement: Option<f64>,
    pub curvature: Option<f64>,
    /// Whether the curvature at the point is known, or follows from residuals that are nothing but rounding.
    pub is_checked: bool,
    pub test: &'static str,
    /// A point nearby with a lower loss.
    pub better: Option<Vec<f64>>,
    /// Raw numbers that the loss does not depend on here.
    pub flat: Vec<usize>,
    /// A combination of numbers that the loss does not depend on here.
    pub direction: Option<Direction>,
    /// Raw numbers that run away.
    pub diverging: Vec<usize>,
}

/// A point in the units of its curvature.
struct Local {
    /// A step of one unit changes the loss by about as much as the loss is.
    units: Vec<f64>,
    newton: Vec<f64>,
    /// By how much the Newton step lowers the loss.
    fall: f64,
    lowest: Option<(f64, Vec<f64>)>,
    /// A flat direction, as second derivatives show it.
    direction: Option<Direction>,
}

/// Looks at a point. `evaluations` says how much work the search was, 0 if no
/// curvature is wanted, `stepwise` which raw numbers have no derivative.
pub(crate) fn examine(
    problem: &Problem,
    raw: &[f64],
    evaluations: usize,
    stepwise: &[usize],
) -> Result<Examined, Report> {
    if let Some(parts) = problem.parts() {
        return examine_parts(problem, parts, raw, evaluations, stepwise);
    }
    let known = problem.known(raw)?;
    let found = &known.evaluation;
    if !found.is_finite() || raw.is_empty() {
        return Ok(Examined { test: "none", ..Examined::default() });
    }
    let floor = problem.rounding_floor(found.loss, &known.predictions);
    let scale = found.loss.abs().max(floor).max(f64::MIN_POSITIVE);
    if problem.is_least_squares() && found.loss <= 16.0 * floor {
        // Nothing is left but rounding: no point is better.
        let (decrement, test) = (Some(0.0), "newton");
        return Ok(Examined {
            decrement,
            test,
            is_checked: true,
            flat: flat(problem, raw, found, scale, stepwise)?,
            direction: of_residuals(problem, raw, found),
            ..Examined::default()
        });
    }
    let flat = flat(problem, raw, found, scale, stepwise)?;
    let held = held(problem, raw, &found.gradient);
    let local = if problem.is_least_squares() && raw.len() <= MOST_FOR_CURVATURE {
        of_squares(problem, raw, found, scale, evaluations, (&flat, &held))?
    } else {
        of_curvature(problem, raw, found, scale, evaluations, &held)?
    };
    let decrement = (local.fall / scale).max(0.0);
    let lowest = local.lowest.as_ref().map(|l| l.0);
    // Where a likelihood is saturated, every derivative is 0.
    let doubtful = decrement > TOLERANCE || !problem.is_least_squares();
    let diverging = if doubtful { diverging(problem, raw, found.loss)? } else { Vec::new() };
    let passes = decrement <= TOLERANCE && lowest.is_none_or(|l| l > -NEGATIVE) && stepwise.is_empty();
    let direction = match problem.is_least_squares() {
        true => of_residuals(problem, raw, found),
        false => local.direction.clone(),
    };
    let better = if passes { None } else { lower_nearby(problem, raw, found, scale, &local, stepwise)? };
    Ok(Examined {
        decrement: Some(decrement).filter(|d| d.is_finite()),
        curvature: lowest,
        is_checked: lowest.is_some(),
        test: if passes { "newton" } else { "probes" },
        better,
        flat,
        direction,
        diverging,
    })
}

/// Raw numbers at a bound of their kind that the loss pushes outwards: the point is an optimum if it is one for all
/// others.
pub(crate) fn held(problem: &Problem, raw: &[f64], gradient: &[f64]) -> Vec<usize> {
    let start = problem.start();
    let mut held = Vec::new();
    for (parameter, block) in problem.parameters.iter().zip(&problem.layout.blocks) {
        let transform = block.transform;
        let count = transform.raws() * if block.per_group { problem.layout.groups } else { 1 };
        let is_held = |k: &usize| {
            let at_bound = transform.is_at_bound(transform.value(raw[*k]), transform.value(start[*k]), None);
            let is_low = parameter.kind == ParameterKind::Positive || raw[*k] < 0.0;
            at_bound && if is_low { gradient[*k] >= 0.0 } else { gradient[*k] <= 0.0 }
        };
        held.extend((block.raw..block.raw + count).filter(|_| transform.is_separate()).filter(is_held));
    }
    held
}

/// Leaves the given numbers out of second derivatives: each is its own unit, and none changes with another.
fn without(matrix: &mut [f64], n: usize, held: &[usize], own: impl Fn(usize) -> f64) {
    for &k in held {
        (0..n).for_each(|j| (matrix[k * n + j], matrix[j * n + k]) = (0.0, 0.0));
        matrix[k * n + k] = own(k);
    }
}

/// Raw numbers that are far from where they started, if the loss does not rise when they all go on.
fn diverging(problem: &Problem, raw: &[f64], loss: f64) -> Result<Vec<usize>, Report> {
    let start = problem.start();
    let far: Vec<usize> = (0..raw.len()).filter(|&j| raw[j].abs() > FAR * start[j].abs().max(1.0)).collect();
    if far.is_empty() {
        return Ok(far);
    }
    let mut point = raw.to_vec();
    far.iter().for_each(|&j| point[j] *= OUTWARDS);
    let beyond = problem.evaluate(&[point], Need::Loss)?.pop().map_or(f64::INFINITY, |f| f.rank());
    Ok(if beyond <= loss { far } else { Vec::new() })
}

/// Raw numbers that the loss does not depend on.
fn flat(
    problem: &Problem,
    raw: &[f64],
    found: &Evaluation,
    scale: f64,
    stepwise: &[usize],
) -> Result<Vec<usize>, Report> {
    let n = raw.len();
    let influence: Vec<f64> = match problem.is_least_squares() {
        true => column_lengths(&found.jacobian, n).iter().map(|l| l * l).collect(),
        false => found.gradient.iter().map(|g| g.abs()).collect(),
    };
    let is_flat = |j: &usize| {
        let size = raw[*j].abs().max(problem.start()[*j].abs()).max(1.0);
        match problem.is_least_squares() {
            true => influence[*j] * size * size <= FLAT * scale,
            // At an optimum every gradient is small; only one that is exactly 0 says something.
            false => influence[*j] == 0.0 && found.gradient.iter().any(|g| *g != 0.0),
        }
    };
    let flat: Vec<usize> = (0..n).filter(|j| !stepwise.contains(j)).filter(is_flat).collect();
    if problem.is_least_squares() || flat.is_empty() {
        return Ok(flat);
    }
    // Between two kinks, as absolute residuals have them, a derivative may be exactly 0 beside a steep slope.
    let spread = spread(raw);
    let moved = |j: usize, by: f64| {
        let mut point = raw.to_vec();
        point[j] += by * spread[j];
        point
    };
    let points: Vec<Vec<f64>> = flat.iter().flat_map(|&j| [moved(j, NEARBY), moved(j, -NEARBY)]).collect();
    let losses = problem.evaluate(&points, Need::Loss)?;
    let same = |pair: &[Evaluation]| pair.iter().all(|there| (there.rank() - found.loss).abs() <= FLAT * scale);
    Ok(flat.into_iter().zip(losses.chunks(2)).filter(|(_, pair)| same(pair)).map(|(j, _)| j).collect())
}

/// One over the length of each column of the Jacobian; a number without influence has 0 and no step.
fn inverse_lengths(found: &Evaluation, n: usize, flat: &[usize]) -> Vec<f64> {
    let lengths = column_lengths(&found.jacobian, n);
    let moves = |j: usize| lengths[j] > 0.0 && !flat.contains(&j);
    (0..n).map(|j| if moves(j) { 1.0 / lengths[j] } else { 0.0 }).collect()
}

/// The step of Gauss and Newton, and by how much it lowers the loss.
pub(crate) fn gauss_newton(found: &Evaluation, n: usize, flat: &[usize]) -> (Vec<f64>, f64) {
    let inverse = inverse_lengths(found, n, flat);
    let even: Vec<f64> = found.jacobian.iter().zip(inverse.iter().cycle()).map(|(x, unit)| x * unit).collect();
    let solution = Factored::new(&even, &found.residuals, n, &mut Vec::new()).solve(&vec![0.0; n]);
    let newton: Vec<f64> = solution.x.iter().zip(&inverse).map(|(x, unit)| -x * unit).collect();
    let fall = found.jacobian.chunks(n).map(|row| dot(row, &newton)).map(|x| x * x).sum();
    (newton, fall)
}

/// Least squares: the step of Gauss and Newton, and the curvature of the loss by differences of gradients.
fn of_squares(
    problem: &Problem,
    raw: &[f64],
    found: &Evaluation,
    scale: f64,
    evaluations: usize,
    (flat, held): (&[usize], &[usize]),
) -> Result<Local, Report> {
    let n = raw.len();
    let still = [flat, held].concat();
    let inverse = inverse_lengths(found, n, &still);
    let (newton, fall) = gauss_newton(found, n, &still);
    let spread = spread(raw);
    let unit = |j: usize| if inverse[j] > 0.0 { sqrt(scale) * inverse[j] } else { spread[j] };
    let units: Vec<f64> = (0..n).map(unit).collect();
    let mut lowest = None;
    if 2 * n <= WORTH * evaluations {
        // Steps along which the loss rises by one part in ten thousand.
        let steps: Vec<f64> = units.iter().map(|u| 1e-2 * u).collect();
        let matrix = differences(problem, raw, &steps, &units, scale)?;
        lowest = matrix.map(|mut matrix| {
            without(&mut matrix, n, held, |_| 1.0);
            lowest_direction(&matrix, &units, n)
        });
    }
    Ok(Local { units, newton, fall, lowest, direction: None })
}

/// Any loss: the step of Newton by second derivatives, or the gradient alone where those cost too much.
fn of_curvature(
    problem: &Problem,
    raw: &[f64],
    found: &Evaluation,
    scale: f64,
    evaluations: usize,
    held: &[usize],
) -> Result<Local, Report> {
    let n = raw.len();
    let spread = spread(raw);
    let gradient: Vec<f64> = (0..n).map(|k| if held.contains(&k) { 0.0 } else { found.gradient[k] }).collect();
    let affordable = n <= MOST_FOR_CURVATURE && 20 * n <= WORTH * evaluations;
    let matrix = if affordable { problem.curvature(raw)? } else { None };
    let Some(matrix) = matrix.filter(|m| m.iter().all(|x| x.is_finite())) else {
        let units = spread;
        let size = gradient.iter().zip(&units).map(|(g, u)| g * u * g * u).sum::<f64>();
        let newton = gradient.iter().zip(&units).map(|(g, u)| if size > 0.0 { -g * u * u / sqrt(size) } else { 0.0 });
        // Without a curvature there is no decrement: points along the gradient decide.
        return Ok(Local { newton: newton.collect(), units, fall: f64::INFINITY, lowest: None, direction: None });
    };
    let mut inner = matrix.to_vec();
    without(&mut inner, n, held, |k| 2.0 * scale / (spread[k] * spread[k]));
    let unit = |j: usize| match inner[j * n + j] {
        d if d > 0.0 => sqrt(2.0 * scale / d),
        _ => spread[j],
    };
    let units: Vec<f64> = (0..n).map(unit).collect();
    let even: Vec<f64> = (0..n * n).map(|k| inner[k] * units[k / n] * units[k % n] / (2.0 * scale)).collect();
    let (values, vectors) = eigen(&even, n);
    let slopes: Vec<f64> = gradient.iter().zip(&units).map(|(g, u)| g * u / (2.0 * scale)).collect();
    let largest = values.last().copied().unwrap_or(0.0);
    let (mut step, mut fall) = (vec![0.0; n], 0.0);
    for (value, vector) in values.iter().zip(vectors.chunks(n)).filter(|(value, _)| **value > 1e-13 * largest) {
        let along = dot(&slopes, vector);
        fall += along * along / value;
        step.iter_mut().zip(vector).for_each(|(s, v)| *s -= along / value * v);
    }
    let newton = step.iter().zip(&units).map(|(s, u)| s * u).collect();
    let lowest = values.first().map(|low| {
        let direction = vectors[..n].iter().zip(&units).map(|(v, u)| v * u).collect();
        (low / largest.max(f64::MIN_POSITIVE), direction)
    });
    // A number without curvature is either flat, which `flat` finds by moving it, or the loss is linear in it between
    // kinks, as absolute residuals are: then second derivatives say nothing.
    let is_curved = (0..n).all(|j| matrix[j * n + j] > 0.0);
    let spectrum = if is_curved { spectrum(problem, raw, &matrix)? } else { None };
    let direction = spectrum.filter(|s| s.flat > 0).map(|s| s.direction(problem, raw, 0));
    Ok(Local { units, newton, fall: fall * scale, lowest, direction })
}

/// Second derivatives from central differences of gradients, one step for each number, in the given units; none where
/// gradients are not finite nearby.
fn differences(
    problem: &Problem,
    raw: &[f64],
    steps: &[f64],
    units: &[f64],
    scale: f64,
) -> Result<Option<Vec<f64>>, Report> {
    let n = raw.len();
    let moved = |j: usize, by: f64| {
        let mut point = raw.to_vec();
        point[j] += by * steps[j];
        point
    };
    let points: Vec<Vec<f64>> = (0..n).flat_map(|j| [moved(j, 1.0), moved(j, -1.0)]).collect();
    let found = problem.evaluate(&points, Need::Gradient)?;
    if found.iter().any(|f| !f.is_finite()) {
        return Ok(None);
    }
    let row = |j: usize| {
        let distance = points[2 * j][j] - points[2 * j + 1][j];
        let pairs = found[2 * j].gradient.iter().zip(&found[2 * j + 1].gradient);
        pairs.map(|(a, b)| (a - b) / distance).collect::<Vec<f64>>()
    };
    let rows: Vec<Vec<f64>> = (0..n).map(row).collect();
    let element =
        |k: usize| 0.5 * (rows[k / n][k % n] + rows[k % n][k / n]) * units[k / n] * units[k % n] / (2.0 * scale);
    let matrix: Vec<f64> = (0..n * n).map(element).collect();
    Ok(Some(matrix).filter(|m| m.iter().all(|x| x.is_finite())))
}

/// The lowest eigenvalue of a matrix in the given units as a share of the largest, and its direction.
fn lowest_direction(matrix: &[f64], units: &[f64], n: usize) -> (f64, Vec<f64>) {
    let (values, vectors) = eigen(matrix, n);
    let (low, high) = (values.first().copied().unwrap_or(0.0), values.last().copied().unwrap_or(0.0));
    let direction = vectors[..n].iter().zip(units).map(|(v, u)| v * u).collect();
    (low / high.abs().max(f64::MIN_POSITIVE), direction)
}

/// The lowest of some points nearby, if it is lower by more than the tolerance: along the Newton step, against the
/// gradient, along the direction of the lowest curvature, and along each number.
fn lower_nearby(
    problem: &Problem,
    raw: &[f64],
    found: &Evaluation,
    scale: f64,
    local: &Local,
    stepwise: &[usize],
) -> Result<Option<Vec<f64>>, Report> {
    let n = raw.len();
    let slopes: Vec<f64> = found.gradient.iter().zip(&local.units).map(|(g, u)| g * u).collect();
    let size = sqrt(dot(&slopes, &slopes)).max(f64::MIN_POSITIVE);
    let descent: Vec<f64> = slopes.iter().zip(&local.units).map(|(s, u)| -s / size * u).collect();
    let mut directions = vec![local.newton.clone(), descent];
    if let Some((_, direction)) = &local.lowest {
        directions.push(direction.clone());
        directions.push(direction.iter().map(|x| -x).collect());
    }
    let spread = spread(raw);
    for j in (0..n).filter(|j| n <= MOST_COORDINATES || stepwise.contains(j)) {
        let unit = if stepwise.contains(&j) { spread[j] } else { local.units[j] };
        for sign in [1.0, -1.0] {
            let mut direction = vec![0.0; n];
            direction[j] = sign * unit;
            directions.push(direction);
        }
    }
    let point = |direction: &[f64], by: f64| raw.iter().zip(direction).map(|(x, d)| x + by * d).collect::<Vec<f64>>();
    let points: Vec<Vec<f64>> = directions.iter().flat_map(|d| DISTANCES.map(|by| point(d, by))).collect();
    let losses = problem.evaluate(&points, Need::Loss)?;
    let best = (0..points.len()).min_by(|&a, &b| losses[a].rank().total_cmp(&losses[b].rank()));
    Ok(best.filter(|&k| losses[k].rank() < found.loss - TOLERANCE * scale).map(|k| points[k].clone()))
}

/// Up to this many numbers each is moved alone.
const MOST_COORDINATES: usize = 50;

/// How far points nearby lie, in units.
const DISTANCES: [f64; 6] = [1.0, 0.3, 0.1, 1e-2, 1e-3, 1e-4];

impl Problem {
    /// Losses below this are rounding: of the predictions if the loss is a sum of squares, else of the loss itself.
    pub(crate) fn rounding_floor(&self, loss: f64, predictions: &[f64]) -> f64 {
        let rows = self.training();
        if !self.is_least_squares() || self.is_objective() || predictions.len() != rows.target.len() {
            return 16.0 * f64::EPSILON * loss.abs().max(f64::EPSILON * self.measurements() as f64);
        }
        let divisor = self.divisor(rows);
        let targets = self.width();
        let cell = |(cell, (p, y)): (usize, (&f64, &f64))| {
            let row = cell / targets;
            let error = 2.0 * f64::EPSILON * p.abs().max(y.abs());
            if y.is_nan() { 0.0 } else { rows.weight[row] * self.loss.square_factor(rows.sigma[row]) * error * error }
        };
        predictions.iter().zip(&rows.target).enumerate().map(cell).sum::<f64>() / divisor
    }
}
