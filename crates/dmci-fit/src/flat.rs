//! Directions along which a loss does not change. Second derivatives show them, but not where a search ended a little
//! beside the optimum: a curved valley has a curvature there that shrinks with the gradient. Newton steps across the
//! valley lead to its floor, and what still curves there is real.

use crate::hessian::bends;
use crate::problem::Problem;
use crate::search::{Evaluation, Need};
use crate::uncertainty::{Direction, direction};
use dmci::Report;
use dmci_ops::real::sqrt;
use dmci_stats::linear::{Factored, column_lengths, dot, eigen};

/// Shares of the largest eigenvalue below which a direction is flat.
const FLAT: f64 = 1e-14;

/// The same for second derivatives on the floor of a valley, which round more than once.
const FLAT_ON_FLOOR: f64 = 1e-12;

/// A share of the largest eigenvalue below this may come from the gradient.
const DOUBTFUL: f64 = 1e-6;

/// An eigenvalue that shrinks to this share of itself while the gradient vanishes was never there.
const SHRUNK: f64 = 1e-2;

/// A share of the largest eigenvalue below minus this is a saddle, and no valley.
pub(crate) const SADDLE: f64 = -1e-6;

/// A column of the Jacobian of which others leave no more than this share depends on them: loops round more than once.
pub(crate) const DEPENDENT: f64 = 1e-11;

/// Most Newton steps to the floor.
const STEPS: usize = 3;

/// Second derivatives by more numbers than this are not computed a second time.
const MOST: usize = 300;

/// The eigenvalues of second derivatives, each number in a unit of its own.
pub(crate) struct Spectrum {
    /// What numbers are divided by; 0 without curvature.
    pub units: Vec<f64>,
    /// In rising order.
    pub values: Vec<f64>,
    /// One after the other, in these units.
    pub vectors: Vec<f64>,
    /// How many directions, from the first, are flat.
    pub flat: usize,
}

impl Spectrum {
    /// Of a symmetric matrix; none if a number is not finite.
    pub(crate) fn of(matrix: &[f64], n: usize) -> Option<Spectrum> {
        let unit = |i: usize| match matrix[i * n + i] {
            d if d > 0.0 => 1.0 / sqrt(d),
            _ => 0.0,
        };
        let units: Vec<f64> = (0..n).map(unit).collect();
        let scaled: Vec<f64> = (0..n * n).map(|k| matrix[k] * units[k / n] * units[k % n]).collect();
        if scaled.iter().any(|x| !x.is_finite()) {
            return None;
        }
        let (values, vectors) = eigen(&scaled, n);
        let mut spectrum = Spectrum { units, values, vectors, flat: 0 };
        spectrum.flat = spectrum.below(FLAT * n as f64);
        Some(spectrum)
    }

    /// The largest eigenvalue.
    pub(crate) fn largest(&self) -> f64 {
        self.values.last().copied().unwrap_or(0.0).max(1e-300)
    }

    /// How many eigenvalues are at most this share of the largest.
    fn below(&self, share: f64) -> usize {
        self.values.iter().filter(|v| **v <= share * self.largest()).count()
    }

    /// Whether the lowest eigenvalues are so low that a gradient may explain them, and none says that this is a saddle.
    fn is_doubtful(&self) -> bool {
        let lowest = self.values.first().copied().unwrap_or(0.0) / self.largest();
        self.flat < self.below(DOUBTFUL) && lowest > SADDLE
    }

    /// The step to where the gradient vanishes, along the directions that certainly curve.
    fn step(&self, gradient: &[f64]) -> Vec<f64> {
        let n = self.units.len();
        let slopes: Vec<f64> = gradient.iter().zip(&self.units).map(|(g, u)| g * u).collect();
        let mut step = vec![0.0; n];
        for k in self.below(DOUBTFUL)..n {
            let vector = &self.vectors[k * n..(k + 1) * n];
            let by = dot(&slopes, vector) / self.values[k];
            step.iter_mut().zip(vector).for_each(|(s, v)| *s -= by * v);
        }
        step.iter().zip(&self.units).map(|(s, u)| s * u).collect()
    }

    /// A direction in the units of the user.
    pub(crate) fn direction(&self, problem: &Problem, raw: &[f64], k: usize) -> Direction {
        let n = self.units.len();
        direction(problem, raw, &self.units, &self.vectors[k * n..(k + 1) * n], k < self.flat)
    }
}

/// The eigenvalues of second derivatives at a point, taken on the floor of the valley where flat directions are not told
/// apart from weak ones otherwise; none if a number is not finite.
pub(crate) fn spectrum(problem: &Problem, raw: &[f64], matrix: &[f64]) -> Result<Option<Spectrum>, Report> {
    let n = raw.len();
    let Some(here) = Spectrum::of(matrix, n) else { return Ok(None) };
    if !here.is_doubtful() || n > MOST {
        return Ok(Some(here));
    }
    let Some(mut floor) = on_floor(problem, raw, &here)? else { return Ok(Some(here)) };
    let (was, is) = (here.largest(), floor.largest());
    let doubtful = here.below(DOUBTFUL);
    let is_flat = |k: &usize| {
        let (before, after) = (here.values[*k] / was, floor.values[*k] / is);
        after <= FLAT_ON_FLOOR || after.abs() <= SHRUNK * before.abs()
    };
    floor.flat = (0..doubtful).take_while(is_flat).count();
    Ok(Some(floor))
}

/// The eigenvalues on the floor of the valley; none if the steps there do not come nearer to it.
fn on_floor(problem: &Problem, raw: &[f64], here: &Spectrum) -> Result<Option<Spectrum>, Report> {
    let slope = |found: &Evaluation| {
        let steepest = found.gradient.iter().zip(&here.units).map(|(g, u)| (g * u).abs());
        steepest.fold(0.0, f64::max)
    };
    let gradient = |point: &[f64]| -> Result<Evaluation, Report> {
        Ok(problem.evaluate(&[point.to_vec()], Need::Gradient)?.swap_remove(0))
    };
    let (mut point, mut found) = (raw.to_vec(), gradient(raw)?);
    for _ in 0..STEPS {
        problem.check_cancel()?;
        let next: Vec<f64> = point.iter().zip(here.step(&found.gradient)).map(|(x, by)| x + by).collect();
        let there = gradient(&next)?;
        if !there.is_finite() || slope(&there) >= slope(&found) {
            break;
        }
        (point, found) = (next, there);
    }
    if point == raw {
        return Ok(None);
    }
    Ok(bends(problem, &point)?.and_then(|matrix| Spectrum::of(&matrix, raw.len())))
}

/// Columns of the Jacobian, each of length 1.
fn even(found: &Evaluation, n: usize, numbers: &[usize], lengths: &[f64]) -> Vec<f64> {
    found.jacobian.chunks(n).flat_map(|row| numbers.iter().map(|&j| row[j] / lengths[j])).collect()
}

/// How many of some numbers change residuals, each in another way than the others together.
pub(crate) fn rank(found: &Evaluation, n: usize, numbers: &[usize]) -> usize {
    let lengths = column_lengths(&found.jacobian, n);
    let used: Vec<usize> = numbers.iter().copied().filter(|&j| lengths[j] > 0.0).collect();
    if used.is_empty() {
        return 0;
    }
    let even = even(found, n, &used, &lengths);
    Factored::new(&even, &found.residuals, used.len(), &mut Vec::new()).rank_above(DEPENDENT)
}

/// A combination of numbers that does not change any residual, numbers without any influence left aside; none if there
/// is no such combination, or if there are too many numbers to look for one.
pub(crate) fn of_residuals(problem: &Problem, raw: &[f64], found: &Evaluation) -> Option<Direction> {
    let n = raw.len();
    if n == 0 || n > MOST || !found.is_finite() {
        return None;
    }
    let lengths = column_lengths(&found.jacobian, n);
    let used: Vec<usize> = (0..n).filter(|&j| lengths[j] > 0.0).collect();
    let m = used.len();
    if m == 0 || rank(found, n, &used) == m {
        return None;
    }
    let even = even(found, n, &used, &lengths);
    let mut products = vec![0.0; m * m];
    for row in even.chunks(m) {
        for (i, x) in row.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            products[i * m..(i + 1) * m].iter_mut().zip(row).for_each(|(sum, y)| *sum += x * y);
        }
    }
    let (_, vectors) = eigen(&products, m);
    let (mut units, mut vector) = (vec![1.0; n], vec![0.0; n]);
    for (&j, v) in used.iter().zip(&vectors[..m]) {
        (units[j], vector[j]) = (1.0 / lengths[j], *v);
    }
    Some(direction(problem, raw, &units, &vector, true))
}
