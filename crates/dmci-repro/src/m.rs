//! Beyond the paper: misspecification. Models of B and C are fitted to noisy data of their neighbours. Does a fit show
//! that its model is wrong, and does a criterion choose the right one?

use crate::numbers::{Rate, Real, mean, short};
use crate::predict::{Engine, Predict, Predictions, options};
use crate::table::{Claim, Table};
use crate::task::{self, Task, linspace};
use crate::torch::Torch;
use crate::{Experiment, Host, Settings};
use dmci::{Mode, Program, Report};
use dmci_fit::{FitOptions, Problem, ProblemOptions, Table as Data, fit};
use dmci_ops::real::sqrt;
use dmci_plot::figure::Figure;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// One model fitted to the data of one model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// The model that made the data.
    pub truth: String,
    /// The model that was fitted.
    pub fitted: String,
    /// The seed of the noise.
    pub seed: u64,
    /// The root mean square of what is left, as a multiple of the noise.
    pub left: Real,
    /// Akaike's criterion for small samples.
    pub criterion: Real,
}

/// What the study measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct M {
    /// All pairs.
    pub pairs: Vec<Pair>,
}

/// Models of one input that make sense on [0.5, 5] and are not the same curves under other names.
const CHOSEN: [&str; 10] = ["M03", "M04", "M05", "M06", "M07", "M10", "M13", "M15", "C05", "C06"];

/// The noise beside the data's deviation.
const NOISE: f64 = 0.05;
const ROWS: usize = 40;

/// What is left beside the noise, from which on a fit is seen to be wrong: 40 rows of pure noise seldom leave more.
const SEEN: f64 = 1.4;

fn chosen() -> Vec<&'static Task> {
    let all = || task::B.iter().chain(&task::C);
    CHOSEN.iter().filter_map(|id| all().find(|t| t.id == *id)).collect()
}

impl M {
    /// Runs it.
    pub fn run(settings: &Settings, _: &Host) -> Result<M, Report> {
        let seeds = if settings.quick { 1 } else { 10 };
        let models = chosen();
        let truths = if settings.quick { &models[..3] } else { &models[..] };
        let mut pairs = Vec::new();
        for truth in truths {
            for seed in 0..seeds {
                let (values, noise) = data(truth, seed)?;
                for model in &models {
                    pairs.push(pair(truth, model, seed, &values, noise)?);
                }
            }
        }
        Ok(M { pairs })
    }

    fn of<'a>(&'a self, truth: &'a str, seed: u64) -> impl Iterator<Item = &'a Pair> {
        self.pairs.iter().filter(move |p| p.truth == truth && p.seed == seed)
    }

    /// Truths and seeds.
    fn cases(&self) -> Vec<(&str, u64)> {
        self.pairs.iter().filter(|p| p.truth == p.fitted).map(|p| (p.truth.as_str(), p.seed)).collect()
    }

    /// Whether the right model has the lowest criterion.
    fn chosen_right(&self, truth: &str, seed: u64) -> bool {
        let best = self.of(truth, seed).min_by(|a, b| a.criterion.0.total_cmp(&b.criterion.0));
        best.is_some_and(|p| p.fitted == truth)
    }

    /// The wrong model that leaves least, with what it leaves on average.
    fn neighbour(&self, truth: &str) -> (&str, f64) {
        let left =
            |model: &str| mean(self.pairs.iter().filter(|p| p.truth == truth && p.fitted == model).map(|p| p.left.0));
        let wrong = CHOSEN.iter().filter(|m| **m != truth).map(|m| (*m, left(m)));
        wrong.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(("none", f64::NAN))
    }
}

/// Noisy values of a model, and the deviation of the noise.
fn data(task: &Task, seed: u64) -> Result<(Vec<f64>, f64), Report> {
    let columns = [linspace(0.5, 5.0, ROWS, false)];
    let options = options(Mode::Dmci, false);
    let mut engine = Engine::new(task.program(), &task.names(), task.inputs, &columns, options);
    let mut out = Predictions::default();
    engine.predict(&task.truth(), false, &mut out)?;
    let centre = mean(out.values.iter().copied());
    let noise = NOISE * sqrt(mean(out.values.iter().map(|y| (y - centre) * (y - centre))));
    let mut torch = Torch::new(seed);
    Ok((out.values.iter().map(|y| y + noise * torch.normal()).collect(), noise))
}

fn pair(truth: &Task, model: &Task, seed: u64, values: &[f64], noise: f64) -> Result<Pair, Report> {
    let rows = linspace(0.5, 5.0, ROWS, false);
    let lines: Vec<String> = rows.iter().zip(values).map(|(x, y)| format!("{x:?},{y:?}")).collect();
    let text = format!("{},observed\n{}\n", model.inputs[0], lines.join("\n"));
    let table = Data::from_csv("observed.csv", text.as_bytes())?;
    let program = Program::named(&format!("{}.scm", model.id), model.source);
    let problem = Problem::new(program, &table, "observed", ProblemOptions::default())?;
    let options = FitOptions { more_restarts: 15, ..FitOptions::default() };
    let found = fit(&problem, &options, &mut |_| ControlFlow::Continue(()))?;
    let square = mean(found.predictions.iter().zip(values).map(|(p, y)| (p - y) * (p - y)));
    let criterion = found.criteria.map_or(f64::INFINITY, |c| c.aicc.unwrap_or(c.aic));
    Ok(Pair {
        truth: truth.id.into(),
        fitted: model.id.into(),
        seed,
        left: Real(sqrt(square) / noise),
        criterion: Real(criterion),
    })
}

impl Experiment for M {
    fn tables(&self) -> Vec<Table> {
        let columns = [
            "data of",
            "right model by the criterion",
            "left by the right model",
            "nearest wrong model",
            "left by it",
            "wrong fits that are seen",
        ];
        let title = "M. Models fitted to data of their neighbours (not in the paper)";
        let mut table = Table::new("m-models", title, &columns);
        for truth in CHOSEN {
            let seeds: Vec<u64> = self.cases().iter().filter(|c| c.0 == truth).map(|c| c.1).collect();
            if seeds.is_empty() {
                continue;
            }
            let right = self.pairs.iter().filter(|p| p.truth == truth && p.fitted == truth);
            let wrong = self.pairs.iter().filter(|p| p.truth == truth && p.fitted != truth);
            let (neighbour, left) = self.neighbour(truth);
            table.row([
                truth.to_string(),
                Rate::of(seeds.iter().map(|&s| self.chosen_right(truth, s))).text(),
                short(mean(right.map(|p| p.left.0))),
                neighbour.to_string(),
                short(left),
                Rate::of(wrong.map(|p| p.left.0 > SEEN)).text(),
            ]);
        }
        table.note(format!(
            "{ROWS} points of [0.5, 5], noise of {NOISE} of the data's deviation; all models are fitted from 16 starts. What is left is the root mean square of the residuals, as a multiple of the noise; a wrong fit is seen if it leaves more than {SEEN} times the noise. The criterion is AICc."
        ));
        table.note("a model that contains the right one as a special case, or comes as near as noise allows, cannot be seen from its residuals; only the criterion tells them apart, by the number of parameters.");
        vec![table]
    }

    fn claims(&self) -> Vec<Claim> {
        let right = Rate::of(self.cases().iter().map(|c| self.chosen_right(c.0, c.1)));
        let calm = self.pairs.iter().filter(|p| p.truth == p.fitted);
        let calm = Rate::of(calm.map(|p| p.left.0 <= SEEN));
        vec![
            Claim::new(
                "the criterion chooses the right model on more than half of all data",
                2 * right.hits > right.of,
                right.text(),
            ),
            Claim::new("the right model leaves noise and no more", calm.hits == calm.of, calm.text()),
        ]
    }

    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }

    fn hashes() -> Vec<(String, String)> {
        crate::a::hashes(chosen().into_iter())
    }
}
