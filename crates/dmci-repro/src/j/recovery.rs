//! Whether parameters are found again from data: the paper's matched search, and our fitter.

use super::generate::{Generated, data};
use crate::numbers::{Real, mean};
use crate::torch::Torch;
use dmci::{Program, Report};
use dmci_fit::search::LbfgsOptions;
use dmci_fit::{Budget, FitOptions, Member, Optimizer, Population, Problem, ProblemOptions, Table, Verdict, fit};
use dmci_ops::real::{exp, log};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// One program, searched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// Mean relative error of the parameters by L-BFGS over logarithms, 16 starts.
    pub matched: Real,
    /// Its root mean square error, as a share of the data's deviation.
    pub misfit: Real,
    /// The same two by our fitter.
    pub ours: Real,
    /// Likewise.
    pub our_misfit: Real,
    /// Whether the data decide all parameters: otherwise an error says nothing.
    pub identifiable: bool,
    /// Seconds of both searches.
    pub seconds: (f64, f64),
}

fn table(program: &Generated, number: u64) -> Result<Table, Report> {
    let (xs, ys) = data(program, number);
    let rows: Vec<String> = xs.iter().zip(&ys).map(|(x, y)| format!("{x:?},{y:?}")).collect();
    Table::from_csv("j.csv", format!("x,y\n{}\n", rows.join("\n")).as_bytes())
}

fn relative(found: &[f64], truth: &[f64]) -> f64 {
    mean(found.iter().zip(truth).map(|(a, b)| (a - b).abs() / b.abs()))
}

/// Searches one program in both ways.
pub fn recover(program: &Generated, number: u64, budget: Duration) -> Result<Recovery, Report> {
    let data = table(program, number)?;
    let began = Instant::now();
    let n = program.truth.len();
    let text = program.scheme_of_logarithms(&vec![0.0; n]);
    let problem = Problem::new(Program::new(&text), &data, "y", ProblemOptions::default())?;
    let mut torch = Torch::new(0);
    let (low, high) = (log(0.2), log(1.5));
    let mut members = Vec::new();
    for i in 0..16 {
        let start: Vec<f64> = (0..n).map(|_| low + (high - low) * torch.uniform()).collect();
        members.push(Member::at(i, &start, vec![0.0; n], 0));
    }
    let mut population = Population::of(Optimizer::Lbfgs(LbfgsOptions::default()), members);
    let limit = Budget { epochs: Some(200), ..Budget::default() };
    while population.running() > 0 && began.elapsed() < budget {
        population.round(&problem, &limit, &mut |_| ())?;
    }
    let found = population.best().and_then(|m| m.best.clone());
    let (point, loss) = found.unwrap_or((vec![f64::NAN; n], f64::INFINITY));
    let matched = relative(&point.iter().map(|x| exp(*x)).collect::<Vec<_>>(), &program.truth);
    let middle = (began.elapsed().as_secs_f64(), Instant::now());
    let start = vec![0.7; n];
    let problem = Problem::new(Program::new(&program.scheme(&start)), &data, "y", ProblemOptions::default())?;
    let options = FitOptions { more_restarts: 31, time: Some(budget), ..FitOptions::default() };
    let ours = fit(&problem, &options, &mut |_| ControlFlow::Continue(()))?;
    let values: Vec<f64> = ours.parameters.iter().map(|p| p.value).collect();
    let identifiable = ours.uncertainty.as_ref().is_some_and(|u| u.numbers.iter().all(|n| n.verdict != Verdict::Not));
    let target = &problem.training.target;
    let centre = mean(target.iter().copied());
    let spread = mean(target.iter().map(|y| (y - centre) * (y - centre))).max(1e-300);
    let share = |square: f64| dmci_ops::real::sqrt(square / spread);
    let square = mean(ours.predictions.iter().zip(target).map(|(p, y)| (p - y) * (p - y)));
    Ok(Recovery {
        matched: Real(matched),
        misfit: Real(share(loss)),
        ours: Real(relative(&values, &program.truth)),
        our_misfit: Real(share(square)),
        identifiable,
        seconds: (middle.0, middle.1.elapsed().as_secs_f64()),
    })
}
