//! The space of operators: a op1(x, op2(x, ... inner(x))), its tasks, data, and searches that know no gradient.

use crate::torch::Torch;
use dmci_ops::real::{cos, exp, log, sin};
use std::collections::HashSet;

/// Operators to choose from.
pub const OPERATORS: usize = 8;
const TINY: f64 = 0.001;

fn sign(x: f64) -> f64 {
    if x < 0.0 { -1.0 } else { 1.0 }
}

/// The value of an inner operator and its derivative.
fn inner(op: usize, x: f64) -> (f64, f64) {
    let a = x.abs() + TINY;
    match op {
        0 => (2.0 * x, 2.0),
        1 => (-x, -1.0),
        2 => (x * x, 2.0 * x),
        3 => (1.0 / a, -sign(x) / (a * a)),
        4 => (sin(x), cos(x)),
        5 => (cos(x), -sin(x)),
        6 => (exp(x), exp(x)),
        _ => (log(a), sign(x) / a),
    }
}

/// The value of an outer operator at x and u, and its derivative if u changes by `du`.
fn outer(op: usize, x: f64, (u, du): (f64, f64)) -> (f64, f64) {
    let a = u.abs() + TINY;
    match op {
        0 => (x + u, 1.0 + du),
        1 => (x - u, 1.0 - du),
        2 => (x * u, u + x * du),
        3 => (x / a, 1.0 / a - x * sign(u) * du / (a * a)),
        4 => (sin(u), cos(u) * du),
        5 => (cos(u), -sin(u) * du),
        6 => (exp(u), exp(u) * du),
        _ => (log(a), sign(u) * du / a),
    }
}

/// The value of operators, the outermost first, and its derivative by x; without the factor.
pub fn value(operators: &[usize], x: f64) -> (f64, f64) {
    let Some((last, before)) = operators.split_last() else { return (x, 1.0) };
    before.iter().rev().fold(inner(*last, x), |u, &op| outer(op, x, u))
}

/// Operators and the factor before them.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// The outermost first.
    pub operators: Vec<usize>,
    /// The factor.
    pub factor: f64,
}

/// The twelve tasks of the paper.
pub fn tasks() -> Vec<Task> {
    let list = [
        (2, 0, 0.5),
        (2, 4, 0.5),
        (2, 6, 0.5),
        (0, 2, 0.5),
        (4, 2, 1.0),
        (0, 5, 1.0),
        (1, 4, 1.0),
        (5, 2, 1.0),
        (0, 2, 2.0),
        (5, 0, 2.0),
        (4, 0, 2.0),
        (2, 5, 2.0),
    ];
    list.iter().map(|&(a, b, factor)| Task { operators: vec![a, b], factor }).collect()
}

/// Tasks of a deeper space: drawn, and kept if their values are moderate and no other operators give them.
pub fn deep_tasks(depth: usize, n: usize) -> Vec<Task> {
    let mut torch = Torch::new(depth as u64);
    let mut tasks: Vec<Task> = Vec::new();
    let places: Vec<f64> = (0..29).map(|i| 0.2 + 0.1 * f64::from(i)).flat_map(|x| [x, -x]).collect();
    while tasks.len() < n {
        let operators: Vec<usize> = (0..depth).map(|_| torch.bits() as usize % OPERATORS).collect();
        let factor = [0.5, 1.0, 2.0][tasks.len() % 3];
        let values: Vec<f64> = places.iter().map(|&x| value(&operators, x).0).collect();
        let slopes = places.iter().map(|&x| value(&operators, x).1);
        let size = values.iter().fold(0.0, |m: f64, y| m.max(y.abs()));
        let spread = values.iter().fold(f64::NEG_INFINITY, |m: f64, y| m.max(*y))
            - values.iter().fold(f64::INFINITY, |m: f64, y| m.min(*y));
        let fine = size < 20.0 && spread > 0.5 && slopes.fold(0.0, |m: f64, d| m.max(d.abs())) < 50.0;
        if fine && tasks.iter().all(|t| t.operators != operators) {
            tasks.push(Task { operators, factor });
        }
    }
    tasks
}

/// Samples of a task.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    /// Places.
    pub x: Vec<f64>,
    /// Values with noise.
    pub y: Vec<f64>,
    /// Derivatives without.
    pub slope: Vec<f64>,
}

/// 64 samples, half of them negative, shuffled.
pub fn samples(task: &Task, seed: u64) -> Samples {
    let mut torch = Torch::new(seed);
    let mut x: Vec<f64> = (0..32).map(|_| 0.2 + 2.8 * torch.uniform()).collect();
    x.extend((0..32).map(|_| -3.0 + 2.8 * torch.uniform()));
    let order = torch.permutation(64);
    let x: Vec<f64> = order.iter().map(|&i| x[i]).collect();
    let exact: Vec<(f64, f64)> = x.iter().map(|&x| value(&task.operators, x)).collect();
    let noise = torch.normals(64);
    let y = exact.iter().zip(noise).map(|(e, n)| task.factor * e.0 + 0.01 * n).collect();
    Samples { x, y, slope: exact.iter().map(|e| task.factor * e.1).collect() }
}

/// The best factor of operators on samples, by least squares, and the mean squared error.
pub fn score(operators: &[usize], samples: &Samples) -> (f64, f64) {
    let values: Vec<f64> = samples.x.iter().map(|&x| value(operators, x).0).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let factor = dot(&values, &samples.y) / dot(&values, &values);
    let error = values.iter().zip(&samples.y).map(|(v, y)| (factor * v - y) * (factor * v - y)).sum::<f64>();
    let error = error / samples.y.len() as f64;
    (factor, if error.is_finite() { error } else { f64::INFINITY })
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The operators, the outermost first.
    pub operators: Vec<usize>,
    /// The factor.
    pub factor: f64,
    /// The mean squared error.
    pub error: f64,
    /// How many choices of operators were compared by their errors on the data.
    pub scored: usize,
}

/// The lowest error of some candidates; the first of equal ones.
pub fn best(candidates: impl IntoIterator<Item = Vec<usize>>, samples: &Samples) -> Answer {
    let mut best = Answer { error: f64::INFINITY, ..Answer::default() };
    for operators in candidates {
        let (factor, error) = score(&operators, samples);
        let scored = best.scored + 1;
        if error < best.error || best.operators.is_empty() {
            best = Answer { operators, factor, error, scored };
        }
        best.scored = scored;
    }
    best
}

/// All operators of a depth, in order.
pub fn all(depth: usize) -> impl Iterator<Item = Vec<usize>> {
    let digits = move |i: usize| (0..depth).rev().map(|k| i / OPERATORS.pow(k as u32) % OPERATORS).collect();
    (0..OPERATORS.pow(depth as u32)).map(digits)
}

/// The paper's evolutionary search: 32 members, 100 generations; a factor is a gene, refitted at the end.
pub fn evolve(depth: usize, samples: &Samples, seed: u64) -> Answer {
    let mut torch = Torch::new(seed);
    let mut population: Vec<(Vec<usize>, f64)> = (0..32)
        .map(|_| ((0..depth).map(|_| torch.bits() as usize % OPERATORS).collect(), 1.0 + torch.normal()))
        .collect();
    let mut seen: HashSet<Vec<usize>> = HashSet::new();
    let error = |(operators, factor): &(Vec<usize>, f64)| {
        let pairs = samples.x.iter().zip(&samples.y);
        let sum: f64 =
            pairs.map(|(&x, y)| (factor * value(operators, x).0 - y) * (factor * value(operators, x).0 - y)).sum();
        if sum.is_finite() { sum } else { f64::INFINITY }
    };
    for _ in 0..100 {
        let errors: Vec<f64> = population.iter().map(error).collect();
        seen.extend(population.iter().map(|p| p.0.clone()));
        let elite = (0..32).min_by(|&a, &b| errors[a].total_cmp(&errors[b])).unwrap_or(0);
        let mut next = vec![population[elite].clone()];
        let tournament = |torch: &mut Torch| {
            let picks: Vec<usize> = (0..3).map(|_| torch.bits() as usize % 32).collect();
            picks.into_iter().min_by(|&a, &b| errors[a].total_cmp(&errors[b])).unwrap_or(0)
        };
        while next.len() < 32 {
            let (a, b) = (tournament(&mut torch), tournament(&mut torch));
            let (mut operators, mut factor) = population[a].clone();
            if torch.uniform() < 0.7 {
                for (mine, other) in operators.iter_mut().zip(&population[b].0) {
                    if torch.uniform() < 0.5 {
                        *mine = *other;
                    }
                }
            }
            for op in &mut operators {
                if torch.uniform() < 0.3 {
                    *op = torch.bits() as usize % OPERATORS;
                }
            }
            factor += 0.3 * torch.normal();
            next.push((operators, factor));
        }
        population = next;
    }
    let found = population.iter().min_by(|a, b| error(a).total_cmp(&error(b)));
    Answer { scored: seen.len(), ..best(found.map(|f| f.0.clone()), samples) }
}

/// So many different candidates drawn at random, the best of them.
pub fn draw(depth: usize, n: usize, samples: &Samples, seed: u64) -> Answer {
    let mut torch = Torch::new(seed);
    let mut drawn: Vec<Vec<usize>> = Vec::new();
    while drawn.len() < n.min(OPERATORS.pow(depth as u32)) {
        let operators = (0..depth).map(|_| torch.bits() as usize % OPERATORS).collect();
        if !drawn.contains(&operators) {
            drawn.push(operators);
        }
    }
    best(drawn, samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_are_those_of_central_differences() {
        for operators in all(2).chain(all(3).step_by(7)) {
            for x in [0.7, -1.3] {
                let slope = (value(&operators, x + 1e-6).0 - value(&operators, x - 1e-6).0) / 2e-6;
                let (_, exact) = value(&operators, x);
                assert!((slope - exact).abs() <= 1e-4 * exact.abs().max(1.0), "{operators:?} at {x}: {exact} {slope}");
            }
        }
    }

    #[test]
    fn the_right_operators_have_the_lowest_error() {
        for (i, task) in tasks().iter().enumerate() {
            let samples = samples(task, 1000 * i as u64);
            let Answer { operators, factor, error, .. } = best(all(2), &samples);
            assert_eq!(operators, task.operators, "{i}");
            assert!((factor - task.factor).abs() < 0.01 && error < 2e-4, "{i}: {factor} {error}");
        }
    }
}
