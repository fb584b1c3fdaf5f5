//! The two large models over lanes, and the convergence study on the first of them.

use crate::Settings;
use crate::adam::{TorchAdam, clip};
use crate::numbers::Real;
use crate::predict::options;
use crate::task::linspace;
use crate::timing::least;
use crate::torch::Torch;
use crate::train::squares;
use dmci::{Batch, Column, Datum, Interpreter, Mode, Model, ModelOptions, Program, Report, Want};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// DiffESM-S.
pub const EARTH: &str = include_str!("../../models/earth/diffesm-s.scm");
/// DiffSoc-S.
pub const SOCIETY: &str = include_str!("../../models/society/diffsoc-s.scm");

/// One measurement of a large model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// `DiffESM-S` or `DiffSoc-S`.
    pub model: String,
    /// Time steps.
    pub steps: i64,
    /// Lanes.
    pub batch: usize,
    /// Seconds of an evaluation: values, and with all derivatives.
    pub seconds: (f64, f64),
    /// The output of the first lane without noise.
    pub value: Real,
    /// Whether the lanes have the bits that they have alone; looked at for some sizes.
    pub same: Option<bool>,
}

/// A model with its constants and the input that differs by lane.
fn large(name: &str, steps: i64, threads: usize, only: Option<&[&str]>) -> Result<(Model, Vec<f64>), Report> {
    let (text, input, constants): (&str, &str, &[(&str, f64)]) = match name {
        "DiffESM-S" => (EARTH, "E_CO2", &[("E_CH4", 100.0), ("E_N2O", 4.0), ("E_SO2", 50.0)]),
        _ => {
            let drivers = &[("policy_rate", 0.05), ("investment", 1.0), ("housing_supply", 1.0), ("immigration", 0.01)];
            (SOCIETY, "growth", drivers)
        }
    };
    let program = Program::named(name, text);
    let schema = Interpreter::shared().names(&program)?.schema.parameters;
    let kept = |name: &str| only.is_none_or(|list| list.contains(&name));
    let parameters: Vec<(String, Datum)> =
        schema.iter().filter(|p| kept(&p.name)).map(|p| (p.name.clone(), p.datum())).collect();
    let values = parameters.iter().filter_map(|p| p.1.as_f64()).collect();
    let mut options = ModelOptions { threads, ..options(Mode::Dmci, false) };
    options.run.bindings = constants.iter().map(|(n, v)| (n.to_string(), Datum::Real(*v))).collect();
    options.run.bindings.push(("steps".into(), Datum::Integer(steps)));
    options.run.bindings.extend(schema.iter().filter(|p| !kept(&p.name)).map(|p| (p.name.clone(), p.datum())));
    Ok((Model::with_params(program, parameters, &[input], options), values))
}

/// Measures both models.
pub fn run(settings: &Settings) -> Result<Vec<Point>, Report> {
    let steps: &[i64] = if settings.quick { &[10] } else { &[10, 50, 100] };
    let batches: &[usize] = if settings.quick { &[1, 64] } else { &[1, 4, 16, 64, 256, 1024, 4096] };
    let rounds = if settings.quick { 2 } else { 5 };
    let mut all = Vec::new();
    for name in ["DiffESM-S", "DiffSoc-S"] {
        let (low, high) = if name == "DiffESM-S" { (5.0, 15.0) } else { (0.0, 0.05) };
        for &steps in steps {
            let (model, values) = large(name, steps, 1, None)?;
            for &n in batches {
                let mut torch = Torch::new(n as u64);
                let points: Vec<f64> =
                    (0..n).flat_map(|_| values.clone()).map(|v| v * (1.0 + 0.01 * torch.normal())).collect();
                let column = [Column::Reals(if n == 1 { vec![low] } else { linspace(low, high, n, false) })];
                let mut batch = Batch::default();
                let time = |batch: &mut Batch, want: Want| {
                    // Until it has become machine code, as far as that pays.
                    let began = Instant::now();
                    for round in 0..40 {
                        model.evaluate_pairs_into(batch, &points, &column, want)?;
                        if round > 1 && began.elapsed().as_secs_f64() > 0.3 {
                            break;
                        }
                    }
                    let evaluate = || drop(model.evaluate_pairs_into(batch, &points, &column, want));
                    Ok::<f64, Report>(least(rounds, evaluate) / n as f64)
                };
                let forward = time(&mut batch, Want::Values)?;
                let both = time(&mut batch, Want::Gradients)?;
                let same = if n == 64 { Some(same(&model, &points, &column, &batch)?) } else { None };
                let middle = if name == "DiffESM-S" { 10.0 } else { 0.02 };
                let value = model.evaluate(&values, &[Column::Reals(vec![middle])], Want::Values)?.values[0];
                all.push(Point {
                    model: name.into(),
                    steps,
                    batch: n,
                    seconds: (forward, both),
                    value: Real(value),
                    same,
                });
            }
        }
    }
    Ok(all)
}

/// Whether some lanes of a batch have the bits that they have alone.
fn same(model: &Model, points: &[f64], column: &[Column], batch: &Batch) -> Result<bool, Report> {
    let n = model.numbers();
    let bits = |list: &[f64]| list.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let mut same = true;
    for lane in [0, 13, 63] {
        let alone = model.evaluate(&points[lane * n..][..n], &[column[0].select(&[lane])], Want::Gradients)?;
        same &= bits(&alone.values) == bits(&batch.values[lane..=lane]);
        same &= bits(&alone.gradients) == bits(&batch.gradients[lane * n..][..n]);
    }
    Ok(same)
}

/// 300 epochs on DiffESM-S under one condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Convergence {
    /// `sequential`, `batched` or `population`.
    pub condition: String,
    /// Members of the population.
    pub members: usize,
    /// Seconds.
    pub seconds: f64,
    /// The largest loss of a member at the end.
    pub loss: Real,
    /// The least.
    pub least: Real,
    /// Members with a loss below 1e-3.
    pub reached: usize,
    /// The first losses, to compare conditions.
    pub first: Vec<Real>,
}

const LEARNED: [&str; 15] = [
    "p_lam",
    "p_kht",
    "p_Cm",
    "p_Cd",
    "p_rf_co2",
    "p_rf_ch4",
    "p_rf_n2o",
    "p_rf_sulf",
    "p_rf_bc",
    "p_npp",
    "p_cf",
    "p_ao",
    "p_md",
    "p_tr",
    "p_pts",
];

/// The convergence study.
pub fn convergence(settings: &Settings) -> Result<Vec<Convergence>, Report> {
    let (model, truth) = large("DiffESM-S", 20, ModelOptions::default().threads, Some(&LEARNED))?;
    let places = linspace(5.0, 20.0, 32, false);
    let target = model.evaluate(&truth, &[Column::Reals(places.clone())], Want::Values)?.values;
    let epochs = if settings.quick { 30 } else { 300 };
    let sizes: &[usize] = if settings.quick { &[1, 10] } else { &[1, 10, 50, 200] };
    let start = |seed: u64, members: usize| {
        let mut torch = Torch::new(seed);
        let moved = |torch: &mut Torch, t: f64| t + 0.15 * t.abs() * torch.normal();
        (0..members).map(|_| truth.iter().map(|&t| moved(&mut torch, t)).collect()).collect::<Vec<Vec<f64>>>()
    };
    let study = Study { model: &model, places: &places, target: &target, epochs };
    let mut all = vec![study.run("sequential", start(142, 1))?, study.run("batched", start(142, 1))?];
    for &m in sizes {
        all.push(study.run("population", start(1042 + m as u64, m))?);
    }
    Ok(all)
}

struct Study<'a> {
    model: &'a Model,
    places: &'a [f64],
    target: &'a [f64],
    epochs: usize,
}

impl Study<'_> {
    fn run(&self, condition: &str, mut points: Vec<Vec<f64>>) -> Result<Convergence, Report> {
        let (rows, n) = (self.target.len(), self.model.numbers());
        let column = [Column::Reals(self.places.to_vec())];
        let single: Vec<[Column; 1]> = self.places.iter().map(|x| [Column::Reals(vec![*x])]).collect();
        let mut adams = vec![TorchAdam::new(n, 0.003, false); points.len()];
        let mut batch = Batch::default();
        let mut losses = vec![f64::NAN; points.len()];
        let mut first = Vec::new();
        let began = Instant::now();
        for epoch in 0..self.epochs {
            let flat: Vec<f64> = points.iter().flatten().copied().collect();
            let (mut values, mut jacobian) = (Vec::new(), Vec::new());
            if condition == "sequential" {
                for column in &single {
                    self.model.evaluate_into(&mut batch, &flat, column, Want::Gradients)?;
                    values.extend(&batch.values);
                    jacobian.extend(&batch.gradients);
                }
            } else {
                self.model.evaluate_into(&mut batch, &flat, &column, Want::Gradients)?;
                values.clone_from(&batch.values);
                jacobian.clone_from(&batch.gradients);
            }
            for (i, point) in points.iter_mut().enumerate() {
                let (y, d) = (&values[i * rows..][..rows], &jacobian[i * rows * n..][..rows * n]);
                let (loss, mut gradient) = squares(y, d, self.target, false);
                losses[i] = loss / rows as f64;
                gradient.iter_mut().for_each(|g| *g /= rows as f64);
                clip(&mut gradient, 1.0);
                adams[i].step(point, &gradient);
            }
            if epoch < 5 {
                first.push(Real(losses[0]));
            }
        }
        Ok(Convergence {
            condition: condition.into(),
            members: points.len(),
            seconds: began.elapsed().as_secs_f64(),
            loss: Real(losses.iter().copied().fold(0.0, f64::max)),
            least: Real(losses.iter().copied().fold(f64::INFINITY, f64::min)),
            reached: losses.iter().filter(|l| **l < 1e-3).count(),
            first,
        })
    }
}
