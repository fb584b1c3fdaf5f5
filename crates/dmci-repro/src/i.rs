//! Experiment I: calibration of a composite ecosystem with 6 to 126 parameters, under equal budgets of time.

mod show;

use crate::adam::{TorchAdam, clip};
use crate::numbers::{Real, mean};
use crate::predict::{Engine, Predict, Predictions, options};
use crate::torch::{Python, Torch};
use crate::train::squares;
use crate::{Host, Settings};
use dmci::{Mode, Program, Report};
use dmci_fit::search::{CmaOptions, DifferentialOptions, LbfgsOptions, LevenbergOptions};
use dmci_fit::{
    Budget, FitOptions, Member, Method, Need, Optimizer, Population, Problem, ProblemOptions, Table as Data, fit,
};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Bounds of alpha, A, To, w, s and psi50.
const BOUNDS: [(f64, f64); 6] = [(0.001, 0.5), (1.0, 40.0), (5.0, 40.0), (1.0, 30.0), (0.1, 20.0), (-4.0, 0.0)];
const NAMES: [&str; 6] = ["alpha", "A", "To", "w", "s", "psi"];

const TARGETS: [[f64; 6]; 5] = [
    [0.06, 18.0, 24.0, 8.0, 2.5, -1.2],
    [0.04, 12.0, 30.0, 6.0, 3.5, -0.8],
    [0.08, 22.0, 21.0, 10.0, 1.8, -1.6],
    [0.03, 9.0, 33.0, 5.0, 4.5, -0.5],
    [0.05, 15.0, 27.0, 7.0, 3.0, -1.0],
];

/// Methods that start anywhere in the box, and Adam from near the truth. The mean of fits belongs to the search
/// before it: what the best of its fits predict, on average.
const METHODS: [&str; 9] = [
    "adam",
    "adam, mean of fits",
    "l-bfgs",
    "l-bfgs, mean of fits",
    "levenberg-marquardt",
    "portfolio",
    "cma-es",
    "differential evolution",
    "adam, near the truth",
];

/// So many fits are averaged, if their errors on the data are below that at which the paper's Adam stops.
const AVERAGED: (usize, f64) = (16, 1e-3);

/// One method on one problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Parameters.
    pub d: usize,
    /// The method.
    pub method: String,
    /// The seed.
    pub seed: u64,
    /// Mean squared error on the data.
    pub error: Real,
    /// Mean squared error on other data of the same truth.
    pub held_out: Real,
    /// The held-out error of the best point at some shares of the budget, in seconds.
    pub curve: Vec<(f64, Real)>,
}

/// What experiment I measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct I {
    /// Seconds of every method.
    pub budget: f64,
    /// All cells.
    pub cells: Vec<Cell>,
}

/// True parameters of so many types.
fn truth(types: usize) -> Vec<f64> {
    let of = |k: usize| -> [f64; 6] {
        if let Some(known) = TARGETS.get(k) {
            return *known;
        }
        let mut python = Python::new(1000 + k as u32);
        BOUNDS.map(|(low, high)| {
            let x = low + (0.1 + 0.8 * python.uniform()) * (high - low);
            (x * 1e4).round() / 1e4
        })
    };
    (0..types).flat_map(of).collect()
}

fn covers(types: usize) -> Vec<f64> {
    if types == 2 { vec![0.6, 0.4] } else { vec![(1e4 / types as f64).round() / 1e4; types] }
}

/// The program of so many types. Parameters are bounded unless they are free.
fn program(types: usize, at: &[f64], free: bool) -> String {
    let mut declared = Vec::new();
    let mut terms = Vec::new();
    for (k, cover) in covers(types).iter().enumerate() {
        for (j, name) in NAMES.iter().enumerate() {
            let (low, high) = BOUNDS[j];
            let kind = if free { "free".to_string() } else { format!("(bounded {low:?} {high:?})") };
            declared.push(format!("({name}{k} {kind} {:?})", at[6 * k + j]));
        }
        let names: Vec<String> = NAMES.iter().map(|n| format!("{n}{k}")).collect();
        terms.push(format!("  (* {cover:?} (gpp {}))", names.join(" ")));
    }
    format!(
        "(params {})\n(define (gpp alpha A To w s psi50)\n  (* (/ (* alpha Q A) (+ (* alpha Q) A))\n     \
         (exp (- (/ (square (- T To)) (* 2.0 (square w)))))\n     (/ 1.0 (+ 1.0 (exp (- (* s (- psi psi50))))))))\n(+\n{})\n",
        declared.join("\n        "),
        terms.join("\n")
    )
}

/// The middle of the box.
fn middle(types: usize) -> Vec<f64> {
    (0..types).flat_map(|_| BOUNDS.map(|(low, high)| (low + high) / 2.0)).collect()
}

/// 24 points, one in each bin of each driver, bins in their own order.
fn drivers(seed: u64) -> Vec<Vec<f64>> {
    let mut torch = Torch::new(seed);
    let ranges = [(50.0, 2000.0), (5.0, 38.0), (-3.0, -0.1)];
    let column = |&(low, high): &(f64, f64), torch: &mut Torch| {
        let draws: Vec<f64> = (0..24).map(|_| torch.uniform()).collect();
        let order = torch.permutation(24);
        order.iter().map(|&bin| low + (high - low) * (bin as f64 + draws[bin]) / 24.0).collect()
    };
    ranges.iter().map(|range| column(range, &mut torch)).collect()
}

/// Data, other data, and ways to score.
struct Case {
    types: usize,
    seed: u64,
    columns: [Vec<Vec<f64>>; 2],
    targets: [Vec<f64>; 2],
    engines: [Engine; 2],
}

impl Case {
    fn new(types: usize, seed: u64) -> Result<Case, Report> {
        let text = Program::new(&program(types, &truth(types), true));
        let names: Vec<String> = (0..types).flat_map(|k| NAMES.map(|n| format!("{n}{k}"))).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let columns = [drivers(seed), drivers(seed + 10_000)];
        let mut engines = columns
            .clone()
            .map(|c| Engine::new(text.clone(), &names, &["Q", "T", "psi"], &c, options(Mode::Dmci, false)));
        let mut targets = [Vec::new(), Vec::new()];
        for (engine, target) in engines.iter_mut().zip(&mut targets) {
            let mut out = Predictions::default();
            engine.predict(&truth(types), false, &mut out)?;
            *target = out.values;
        }
        Ok(Case { types, seed, columns, targets, engines })
    }

    /// The mean squared error of what some fits predict on average.
    fn error(&mut self, which: usize, fits: &[Vec<f64>]) -> f64 {
        let mut out = Predictions::default();
        if self.engines[which].predict(&fits.concat(), false, &mut out).is_err() {
            return f64::INFINITY;
        }
        let rows = self.targets[which].len();
        let average = |row: usize| mean(out.values.iter().skip(row).step_by(rows).copied());
        let values: Vec<f64> = (0..rows).map(average).collect();
        squares(&values, &[], &self.targets[which], false).0 / rows as f64
    }

    fn problem(&self, at: &[f64]) -> Result<Problem, Report> {
        let [q, t, psi] = [0, 1, 2].map(|i| &self.columns[0][i]);
        let rows = (0..24).map(|r| format!("{:?},{:?},{:?},{:?}", q[r], t[r], psi[r], self.targets[0][r]));
        let text = format!("Q,T,psi,y\n{}\n", rows.collect::<Vec<_>>().join("\n"));
        let data = Data::from_csv("gpp.csv", text.as_bytes())?;
        Problem::new(Program::new(&program(self.types, at, false)), &data, "y", ProblemOptions::default())
    }

    /// The cells of a method: its best fit, and the mean of fits if it is one of many searches.
    fn cells(&mut self, method: &str, budget: f64) -> Result<Vec<Cell>, Report> {
        let mut curve: Vec<(f64, Real)> = Vec::new();
        let fits = match method {
            "adam, near the truth" => vec![self.near(budget)?],
            "portfolio" => vec![self.portfolio(budget)?],
            _ => self.search(method, budget, &mut curve)?,
        };
        let mut cells = vec![self.cell(method, &fits[..1], curve)];
        let averaged = format!("{method}, mean of fits");
        if METHODS.contains(&averaged.as_str()) {
            cells.push(self.cell(&averaged, &fits, Vec::new()));
        }
        Ok(cells)
    }

    fn cell(&mut self, method: &str, fits: &[Vec<f64>], curve: Vec<(f64, Real)>) -> Cell {
        let (error, held_out) = (self.error(0, fits), self.error(1, fits));
        let d = 6 * self.types;
        Cell { d, method: method.into(), seed: self.seed, error: Real(error), held_out: Real(held_out), curve }
    }

    /// Our portfolio of methods, from the middle of the box and around it.
    fn portfolio(&mut self, budget: f64) -> Result<Vec<f64>, Report> {
        let problem = self.problem(&middle(self.types))?;
        let time = Some(Duration::from_secs_f64(budget));
        let options =
            FitOptions { method: Method::Portfolio, more_restarts: 15, seed: self.seed, time, ..FitOptions::default() };
        let found = fit(&problem, &options, &mut |_| ControlFlow::Continue(()))?;
        Ok(problem.values(&found.raw))
    }

    /// The paper's Adam: one start near the truth, with bounds that do not hold.
    fn near(&mut self, budget: f64) -> Result<Vec<f64>, Report> {
        let began = Instant::now();
        let mut torch = Torch::new(self.seed);
        let mut point: Vec<f64> =
            truth(self.types).iter().map(|t| t + 0.3 * t.abs().max(0.1) * torch.normal()).collect();
        let mut adam = TorchAdam::new(point.len(), 0.02, false);
        let mut best = (f64::INFINITY, point.clone());
        let mut stale = 0;
        let mut out = Predictions::default();
        for _ in 0..2000 {
            self.engines[0].predict(&point, true, &mut out)?;
            let (loss, mut gradient) = squares(&out.values, &out.jacobian, &self.targets[0], false);
            stale += 1;
            if loss / 24.0 < best.0 {
                best = (loss / 24.0, point.clone());
                stale = 0;
            }
            if best.0 < 1e-3 || stale >= 200 || began.elapsed().as_secs_f64() > budget {
                break;
            }
            if gradient.iter().all(|g| g.is_finite()) {
                clip(&mut gradient, 10.0);
                adam.step(&mut point, &gradient);
            }
        }
        Ok(best.1)
    }

    /// Searches from all over the box until the time is used: populations one after the other. Gives the best fits,
    /// each of its own start, the best one first.
    fn search(&mut self, method: &str, budget: f64, curve: &mut Vec<(f64, Real)>) -> Result<Vec<Vec<f64>>, Report> {
        let optimizer = match method {
            "adam" => Optimizer::Adam(dmci_fit::AdamOptions { patience: 100, ..Default::default() }),
            "l-bfgs" => Optimizer::Lbfgs(LbfgsOptions::default()),
            "levenberg-marquardt" => Optimizer::Levenberg(LevenbergOptions::default()),
            "cma-es" => Optimizer::Cma(CmaOptions::default()),
            _ => Optimizer::Differential(DifferentialOptions::default()),
        };
        let members = match optimizer.need() {
            Need::Loss => 1,
            _ => 16,
        };
        let problem = self.problem(&middle(self.types))?;
        let base = problem.start().to_vec();
        let mut torch = Torch::new(self.seed);
        let limit = Budget { target: Some(1e-20), ..Budget::default() };
        let began = Instant::now();
        let budget = Duration::from_secs_f64(budget);
        let mut best = (f64::INFINITY, base.clone());
        let mut fits: Vec<(f64, Vec<f64>)> = Vec::new();
        let mut number = 0;
        let mut next = 0.05;
        while began.elapsed() < budget && best.0 > 1e-20 {
            let mut list = Vec::new();
            for _ in 0..members {
                // Uniform in the box: what a sigmoid makes of a logistic draw.
                let offset = base.iter().map(|_| {
                    let u = torch.uniform().clamp(1e-6, 1.0 - 1e-6);
                    dmci_ops::real::log(u / (1.0 - u))
                });
                list.push(Member::at(number, &vec![0.0; base.len()], offset.collect(), self.seed));
                number += 1;
            }
            let mut population = Population::of(optimizer.clone(), list);
            while population.running() > 0 && began.elapsed() < budget {
                population.round(&problem, &limit, &mut |_| ())?;
                if let Some((point, loss)) = population.best().and_then(|m| m.best.clone())
                    && loss < best.0
                {
                    best = (loss, point);
                }
                let now = began.elapsed().as_secs_f64();
                if now >= next {
                    let values = problem.values(&best.1);
                    curve.push(((now * 100.0).round() / 100.0, Real(self.error(1, &[values]))));
                    next *= 2.0;
                }
                if best.0 <= 1e-20 {
                    break;
                }
            }
            fits.extend(population.members.iter().filter_map(|m| m.best.clone()).map(|(point, loss)| (loss, point)));
            fits.sort_by(|a, b| a.0.total_cmp(&b.0));
            fits.truncate(AVERAGED.0);
        }
        let good = fits.iter().filter(|f| f.0 < AVERAGED.1).count();
        fits.truncate(good.max(1));
        if fits.is_empty() {
            fits.push(best);
        }
        Ok(fits.iter().map(|f| problem.values(&f.1)).collect())
    }
}

impl I {
    /// Runs it.
    pub fn run(settings: &Settings, _: &Host) -> Result<I, Report> {
        let (budget, seeds, types): (f64, u64, &[usize]) =
            if settings.quick { (0.1, 1, &[1, 3]) } else { (2.0, 3, &[1, 2, 3, 4, 6, 8, 11, 16, 21]) };
        let mut cells = Vec::new();
        for &types in types {
            for seed in 0..seeds {
                let mut case = Case::new(types, seed)?;
                for method in METHODS.iter().filter(|m| !m.ends_with("mean of fits")) {
                    cells.extend(case.cells(method, budget)?);
                }
            }
        }
        Ok(I { budget, cells })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_have_one_point_in_each_bin() {
        for column in drivers(3) {
            assert_eq!(column.len(), 24);
        }
        let mut light = drivers(3)[0].clone();
        light.sort_by(f64::total_cmp);
        for (i, q) in light.iter().enumerate() {
            let bin = (q - 50.0) / 1950.0 * 24.0;
            assert_eq!(bin as usize, i, "{q}");
        }
    }

    #[test]
    fn truths_lie_in_their_bounds() {
        for (i, x) in truth(21).iter().enumerate() {
            let (low, high) = BOUNDS[i % 6];
            assert!(low < *x && *x < high, "{i}: {x}");
        }
        assert_eq!(covers(3), [0.3333; 3]);
    }
}
