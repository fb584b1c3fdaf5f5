//! Whether parameters are found again from data: the paper's matched search, and our fitter.

use super::generate::{Generated, data};
use crate::numbers::{Real, mean};
use crate::torch::Torch;
use dmci::{Program, Report};
use dmci_fit::search::LbfgsOptions;
use dmci_fit::{Budget, FitOptions, Member, Need, Optimizer, Population, Problem, ProblemOptions, Table, fit};
use dmci_ops::real::{exp, log, sqrt};
use dmci_stats::linear::eigen;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// A program whose parameters are searched in a box.
pub struct Subject {
    /// Its name, if it has one.
    pub name: String,
    /// The text without its parameters.
    pub body: String,
    /// Names, true values and bounds of the parameters, of one sign each.
    pub parameters: Vec<(String, f64, (f64, f64))>,
    /// Names of the inputs.
    pub inputs: Vec<String>,
    /// Values of the inputs, row by row, as a table writes them.
    pub rows: Vec<Vec<String>>,
}

/// One program, searched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// The program's name; generated ones have none.
    pub name: String,
    /// Mean relative error of the parameters by L-BFGS over logarithms, 16 starts.
    pub matched: Real,
    /// Its root mean square error, as a share of the data's deviation.
    pub misfit: Real,
    /// The same two by our fitter.
    pub ours: Real,
    /// Likewise.
    pub our_misfit: Real,
    /// Whether the data decide all parameters near the truth: the derivatives of the predictions there are
    /// independent of each other.
    pub decided: bool,
    /// Seconds of both searches.
    pub seconds: (f64, f64),
}

/// A generated program with its data.
pub fn generated(program: &Generated, number: u64) -> Subject {
    let parameters = program.names().into_iter().zip(&program.truth).map(|(n, t)| (n, *t, (0.2, 1.5))).collect();
    let rows = data(program, number).0.iter().map(|x| vec![format!("{x:?}")]).collect();
    let body = program.with_head("");
    Subject { name: String::new(), body, parameters, inputs: vec!["x".into()], rows }
}

impl Subject {
    /// Parameters within their bounds, at these values.
    fn bounded(&self, at: &dyn Fn(usize) -> f64) -> Program {
        let one = |(i, (name, _, (low, high))): (usize, &(String, f64, (f64, f64)))| {
            format!("({name} (bounded {low:?} {high:?}) {:?})", at(i))
        };
        let declared: Vec<String> = self.parameters.iter().enumerate().map(one).collect();
        Program::new(&format!("(params {})\n{}", declared.join("\n        "), self.body))
    }

    /// The same over logarithms, as the reference searches.
    fn logarithms(&self) -> Program {
        let declared: Vec<String> = self.parameters.iter().map(|p| format!("(log-{} free 0.0)", p.0)).collect();
        let sign = |truth: f64| if truth < 0.0 { "-" } else { "" };
        let one = |p: &(String, f64, (f64, f64))| format!("(define {} (* {}1.0 (exp log-{})))", p.0, sign(p.1), p.0);
        let defined: Vec<String> = self.parameters.iter().map(one).collect();
        Program::new(&format!("(params {})\n{}\n{}", declared.join(" "), defined.join("\n"), self.body))
    }

    fn table(&self, target: &[f64]) -> Result<Table, Report> {
        let mut text = format!("{},target-y\n", self.inputs.join(","));
        for (row, y) in self.rows.iter().zip(target) {
            text += &format!("{},{y:?}\n", row.join(","));
        }
        Table::from_csv("j.csv", text.as_bytes())
    }

    fn problem(&self, program: Program, target: &[f64]) -> Result<Problem, Report> {
        Problem::new(program, &self.table(target)?, "target-y", ProblemOptions::default())
    }

    fn error(&self, found: &[f64]) -> f64 {
        mean(found.iter().zip(&self.parameters).map(|(a, (_, b, _))| (a - b).abs() / b.abs()))
    }

    /// Searches in both ways; nothing if the data are constant, or if the program gives no numbers.
    pub fn recover(&self, budget: Duration) -> Result<Option<Recovery>, Report> {
        let truth = self.problem(self.bounded(&|i| self.parameters[i].1), &vec![0.0; self.rows.len()])?;
        let target = truth.predictions(truth.start(), truth.training())?;
        let centre = mean(target.iter().copied());
        let spread = sqrt(mean(target.iter().map(|y| (y - centre) * (y - centre))));
        // What rounding leaves over is no data.
        if !spread.is_finite() || spread <= 1e-9 * centre.abs() {
            return Ok(None);
        }
        let decided = self.decided(&target, spread)?;
        let began = Instant::now();
        let (point, loss) = self.matched(&target, budget)?;
        let matched = began.elapsed().as_secs_f64();
        let problem = self.problem(self.bounded(&|i| middle(self.parameters[i].2)), &target)?;
        let options = FitOptions { more_restarts: 31, time: Some(budget), ..FitOptions::default() };
        let began = Instant::now();
        let ours = fit(&problem, &options, &mut |_| ControlFlow::Continue(()))?;
        let values: Vec<f64> = ours.parameters.iter().map(|p| p.value).collect();
        let square = mean(ours.predictions.iter().zip(&target).map(|(p, y)| (p - y) * (p - y)));
        Ok(Some(Recovery {
            name: self.name.clone(),
            matched: Real(self.error(&point)),
            misfit: Real(sqrt(loss) / spread),
            ours: Real(self.error(&values)),
            our_misfit: Real(sqrt(square) / spread),
            decided,
            seconds: (matched, began.elapsed().as_secs_f64()),
        }))
    }

    /// Whether no parameter can move from the truth, alone or with others, without a change of the predictions.
    fn decided(&self, target: &[f64], spread: f64) -> Result<bool, Report> {
        let problem = self.problem(self.bounded(&|i| self.parameters[i].1), target)?;
        let n = self.parameters.len();
        let Some(found) = problem.evaluate(&[problem.start().to_vec()], Need::Jacobian)?.pop() else {
            return Ok(false);
        };
        let column = |i: usize| found.jacobian.iter().skip(i).step_by(n);
        let units: Vec<f64> = (0..n).map(|i| sqrt(column(i).map(|x| x * x).sum())).collect();
        if units.iter().any(|u| !u.is_finite() || *u <= 1e-9 * spread) {
            return Ok(false);
        }
        let product = |i: usize, j: usize| column(i).zip(column(j)).map(|(a, b)| a * b).sum::<f64>();
        let gram: Vec<f64> = (0..n * n).map(|k| product(k / n, k % n) / (units[k / n] * units[k % n])).collect();
        Ok(eigen(&gram, n).0[0] > 1e-12)
    }

    /// The paper's search: the best point of 16 starts, and its mean squared error.
    fn matched(&self, target: &[f64], budget: Duration) -> Result<(Vec<f64>, f64), Report> {
        let began = Instant::now();
        let n = self.parameters.len();
        let problem = self.problem(self.logarithms(), target)?;
        let mut torch = Torch::new(0);
        let mut members = Vec::new();
        for i in 0..16 {
            let start = self.parameters.iter().map(|(_, _, (low, high))| {
                let (low, high) = (log(low.abs().min(high.abs())), log(low.abs().max(high.abs())));
                low + (high - low) * torch.uniform()
            });
            members.push(Member::at(i, &start.collect::<Vec<f64>>(), vec![0.0; n], 0));
        }
        let mut population = Population::of(Optimizer::Lbfgs(LbfgsOptions::default()), members);
        let limit = Budget { epochs: Some(200), ..Budget::default() };
        while population.running() > 0 && began.elapsed() < budget {
            population.round(&problem, &limit, &mut |_| ())?;
        }
        let found = population.best().and_then(|m| m.best.clone());
        let (point, loss) = found.unwrap_or((vec![f64::NAN; n], f64::INFINITY));
        let signs = self.parameters.iter().map(|p| p.1.signum());
        Ok((point.iter().zip(signs).map(|(x, sign)| sign * exp(*x)).collect(), loss))
    }
}

fn middle((low, high): (f64, f64)) -> f64 {
    (low + high) / 2.0
}
