//! Integrates candidates as their programs do, with the derivatives by parameters and initial states carried along. A
//! recording of the program has all of its rows one after the other: made anew for every candidate, it would cost a
//! hundred times what the fit costs.

use crate::expr::Expr;
use crate::least_squares::{Fitter, Solution};
use crate::lower;
use dmci_ops::{MAX_ARITY, Op};
use dmci_tape::{Node, Tape};

/// A series of states.
#[derive(Clone, Debug)]
pub struct Series {
    /// The rows of the table.
    pub rows: Vec<usize>,
    /// When they were measured.
    pub times: Vec<f64>,
    /// Each state at these times; NaN where it was not measured.
    pub states: Vec<Vec<f64>>,
}

/// What is integrated, and how errors are measured.
#[derive(Clone, Copy, Debug)]
pub struct Flow<'a> {
    /// All runs.
    pub series: &'a [Series],
    /// Errors of each state count in these.
    pub deviations: &'a [f64],
    /// Steps between two rows.
    pub steps: usize,
    /// Which argument of a right-hand side is which state; the one that is none is the time.
    pub arguments: &'a [Option<usize>],
}

/// A state that is farther off its measurements than so many deviations has run away.
const AWAY: f64 = 1e4;

/// The right-hand sides of a system, ready to be evaluated.
#[derive(Debug)]
pub struct System {
    tape: Tape,
    /// Of which equation, and by which leaf, each derivative is.
    known: Vec<(usize, usize)>,
    equations: usize,
    /// Parameters of all equations.
    pub parameters: usize,
    values: Vec<u64>,
    /// Operations of one evaluation.
    work: u64,
}

impl System {
    /// Prepares the right-hand sides of a candidate.
    pub fn new(exprs: &[Expr], arguments: usize) -> System {
        let (tape, known) = lower::system(exprs, arguments);
        let mut values = vec![0; tape.nodes.len()];
        for (value, node) in values.iter_mut().zip(&tape.nodes) {
            if let Node::Real(bits) = node {
                *value = *bits;
            }
        }
        let work = tape.operations().max(1) as u64;
        let parameters = exprs.iter().map(Expr::parameters).sum();
        System { tape, known, equations: exprs.len(), parameters, values, work }
    }

    /// Evaluates all right-hand sides and their derivatives.
    fn evaluate(&mut self, leaves: &[f64]) {
        let number = |values: &[u64], i: u32| f64::from_bits(values[i as usize]);
        for (i, node) in self.tape.nodes.iter().enumerate() {
            let bits = match node {
                Node::Leaf(leaf) => leaves[*leaf as usize].to_bits(),
                Node::Op(op, [a, b, c]) => {
                    let (x, y) = (number(&self.values, a.0), number(&self.values, b.0));
                    match op {
                        Op::Add => (x + y).to_bits(),
                        Op::Sub => (x - y).to_bits(),
                        Op::Mul => (x * y).to_bits(),
                        Op::Div => (x / y).to_bits(),
                        Op::Neg => (-x).to_bits(),
                        _ => {
                            let args: [u64; MAX_ARITY] = [x.to_bits(), y.to_bits(), self.values[c.0 as usize]];
                            op.eval(args)
                        }
                    }
                }
                _ => continue,
            };
            self.values[i] = bits;
        }
    }

    fn output(&self, number: usize) -> f64 {
        f64::from_bits(self.values[self.tape.outputs[number].0 as usize])
    }
}

/// Memory of an integration: a point of a step with its derivatives by the initial states and the parameters.
#[derive(Debug, Default)]
struct Point {
    states: Vec<f64>,
    /// For each state its derivatives.
    slopes: Vec<f64>,
}

impl Point {
    fn copy_from(&mut self, other: &Point) {
        self.states.clone_from(&other.states);
        self.slopes.clone_from(&other.slopes);
    }

    /// Adds a multiple of another one.
    fn add(&mut self, by: f64, other: &Point) {
        self.states.iter_mut().zip(&other.states).for_each(|(x, y)| *x += by * y);
        self.slopes.iter_mut().zip(&other.slopes).for_each(|(x, y)| *x += by * y);
    }
}

impl Flow<'_> {
    /// Numbers that are fitted: the parameters, and the initial states of every run.
    pub fn numbers(&self, system: &System) -> usize {
        system.parameters + self.series.len() * self.deviations.len()
    }

    /// The slopes of all states at a point, and their derivatives.
    fn rates(&self, system: &mut System, leaves: &mut [f64], time: f64, at: &Point, rates: &mut Point) {
        let (d, p) = (self.deviations.len(), system.parameters);
        let width = d + p;
        for (leaf, argument) in leaves[p..].iter_mut().zip(self.arguments) {
            *leaf = argument.map_or(time, |state| at.states[state]);
        }
        system.evaluate(leaves);
        rates.slopes.fill(0.0);
        for i in 0..d {
            rates.states[i] = system.output(i);
        }
        for (number, &(i, leaf)) in system.known.iter().enumerate() {
            let by = system.output(system.equations + number);
            let row = &mut rates.slopes[i * width..(i + 1) * width];
            match leaf.checked_sub(p) {
                None => row[d + leaf] += by,
                Some(argument) => {
                    let Some(state) = self.arguments[argument] else { continue };
                    let other = &at.slopes[state * width..(state + 1) * width];
                    row.iter_mut().zip(other).for_each(|(x, y)| *x += by * y);
                }
            }
        }
    }

    /// Residuals of wanted rows, which are measurement minus state in deviations, and the derivatives of the states, by
    /// the parameters and then by the initial states of each run. The sum of squares; infinite if a state runs away.
    pub fn residuals(
        &self,
        system: &mut System,
        numbers: &[f64],
        wanted: &dyn Fn(usize, usize) -> bool,
        residuals: &mut Vec<f64>,
        jacobian: &mut Vec<f64>,
    ) -> f64 {
        residuals.clear();
        jacobian.clear();
        let (d, p) = (self.deviations.len(), system.parameters);
        let (width, n) = (d + p, numbers.len());
        let mut leaves = vec![0.0; p + self.arguments.len()];
        leaves[..p].copy_from_slice(&numbers[..p]);
        let empty = || Point { states: vec![0.0; d], slopes: vec![0.0; d * width] };
        let (mut here, mut at, mut slope, mut sum) = (empty(), empty(), empty(), empty());
        let mut squares = 0.0;
        for (r, series) in self.series.iter().enumerate() {
            let first = p + r * d;
            here.states.copy_from_slice(&numbers[first..first + d]);
            here.slopes.fill(0.0);
            (0..d).for_each(|i| here.slopes[i * width + i] = 1.0);
            let rows = series.times.len();
            let Some(last) = (0..rows).rev().find(|&k| wanted(r, k)) else { continue };
            for k in 0..=last {
                if wanted(r, k) {
                    for i in 0..d {
                        let seen = series.states[i][k];
                        if seen.is_nan() {
                            continue;
                        }
                        let unit = 1.0 / self.deviations[i];
                        let off = unit * (seen - here.states[i]);
                        if off.is_nan() || off.abs() > AWAY {
                            return f64::INFINITY;
                        }
                        squares += off * off;
                        residuals.push(off);
                        let from = jacobian.len();
                        jacobian.resize(from + n, 0.0);
                        let own = &here.slopes[i * width..(i + 1) * width];
                        jacobian[from + first..from + first + d].copy_from_slice(&own[..d]);
                        jacobian[from..from + p].copy_from_slice(&own[d..]);
                        jacobian[from..].iter_mut().for_each(|x| *x *= unit);
                    }
                }
                if k == last {
                    break;
                }
                let h = (series.times[k + 1] - series.times[k]) / self.steps as f64;
                let mut time = series.times[k];
                for _ in 0..self.steps {
                    self.rates(system, &mut leaves, time, &here, &mut slope);
                    sum.copy_from(&slope);
                    for (share, weight) in [(0.5, 2.0), (0.5, 2.0), (1.0, 1.0)] {
                        at.copy_from(&here);
                        at.add(share * h, &slope);
                        self.rates(system, &mut leaves, time + share * h, &at, &mut slope);
                        sum.add(weight, &slope);
                    }
                    here.add(h / 6.0, &sum);
                    time += h;
                }
                if here.states.iter().any(|x| !x.is_finite()) {
                    return f64::INFINITY;
                }
            }
        }
        // NaN if any derivative is not finite.
        squares + jacobian.iter().map(|x| x * 0.0).sum::<f64>()
    }

    /// Fits the numbers of a system to wanted rows. A start that is far off is first fitted to the beginnings of runs,
    /// then to more and more of them.
    pub fn fit(
        &self,
        fitter: &mut Fitter,
        system: &mut System,
        start: &[f64],
        wanted: &dyn Fn(usize, usize) -> bool,
        iterations: usize,
    ) -> (Option<Solution>, u64) {
        let count: usize = self.series.iter().map(|s| s.times.len() * self.deviations.len()).sum();
        let floor = super::FLOOR * 0.01 * count as f64;
        let mut evaluations = 0;
        let mut fit = |from: &[f64], share: f64, iterations: usize| {
            let within = |r: usize, k: usize| {
                wanted(r, k) && (share == 1.0 || k as f64 <= share * self.series[r].times.len() as f64)
            };
            let found = fitter.fit_residuals(from, floor, iterations, &mut |residuals, jacobian, numbers| {
                evaluations += 1;
                self.residuals(system, numbers, &within, residuals, jacobian)
            });
            found.filter(|f| f.values.iter().all(|v| v.is_finite()))
        };
        let direct = fit(start, 1.0, iterations);
        let is_good = |found: &Option<Solution>| found.as_ref().is_some_and(|f| f.squares < FAR * count as f64);
        let mut best = direct;
        if !is_good(&best) && !start.is_empty() {
            let mut at = start.to_vec();
            for share in SHARES {
                match fit(&at, share, SHORT) {
                    Some(found) => at = found.values,
                    None => break,
                }
            }
            let grown = fit(&at, 1.0, iterations);
            let squares = |found: &Option<Solution>| found.as_ref().map_or(f64::INFINITY, |f| f.squares);
            if squares(&grown) < squares(&best) {
                best = grown;
            }
        }
        let rows: usize = self.series.iter().map(|s| s.times.len() * self.steps).sum();
        (best, 4 * evaluations * rows as u64 * system.work)
    }
}

/// A mean square, in squared deviations, that a good fit is below.
const FAR: f64 = 0.1;

/// Beginnings of runs to which a bad start is fitted first, and the steps of these fits.
const SHARES: [f64; 4] = [0.06, 0.15, 0.35, 0.65];
const SHORT: usize = 8;
