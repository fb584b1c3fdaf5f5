//! Twelve small models over lanes, three programs through the evaluator, and `jax.vmap` beside them.

use crate::adam::TorchAdam;
use crate::numbers::Real;
use crate::predict::{Engine, Predict, Predictions, options};
use crate::task::{B, C, Task, linspace};
use crate::timing::least_each;
use crate::torch::Torch;
use crate::train::squares;
use crate::{Host, Settings};
use dmci::{Bindings, Datum, Interpreter, Mode, ModelOptions, Program, Report, RunOptions};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Instant;

const SCRIPT: &str = include_str!("../../programs/h/vmap.py");

/// The composite of experiment I with two types.
pub const GPP: &str = include_str!("../../programs/h/gpp.scm");

/// Points that models are trained on.
const ROWS: usize = 64;

/// The models: all of experiment B that the paper's batched path can take.
pub fn tasks() -> Vec<Task> {
    B.iter().filter(|t| !["M09", "M13", "M15"].contains(&t.id)).copied().collect()
}

/// One small model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Small {
    /// The model.
    pub task: String,
    /// Seconds of one walk of the program: what an interpreter without recordings does for each evaluation.
    pub walk: f64,
    /// Batch sizes with seconds of an evaluation.
    pub forward: Vec<(usize, f64)>,
    /// Seconds of 500 epochs over 64 points, one point after the other, and all together.
    pub training: (f64, f64),
    /// Whether both trainings have every bit of every loss in common.
    pub same_training: bool,
    /// Whether values and derivatives of a batch are those of its lanes alone, bit for bit.
    pub same: bool,
    /// The loss at the truth.
    pub loss: Real,
    /// Population sizes with seconds of one evaluation of everything, with derivatives.
    pub populations: Vec<(usize, f64)>,
}

/// A task over so many rows, each input along the same line.
fn engine(task: &Task, rows: usize, options: ModelOptions) -> Engine {
    let line = linspace(task.range.0, task.range.1, rows, false);
    let columns: Vec<Vec<f64>> = task.inputs.iter().map(|_| line.clone()).collect();
    Engine::new(task.program(), &task.names(), task.inputs, &columns, options)
}

fn alone() -> ModelOptions {
    ModelOptions { threads: 1, ..options(Mode::Dmci, false) }
}

/// Measures the twelve models.
pub fn run(settings: &Settings) -> Result<Vec<Small>, Report> {
    let batches: &[usize] = if settings.quick { &[1, 64, 512] } else { &[1, 8, 32, 64, 128, 512, 1024, 4096] };
    let sizes: &[usize] = if settings.quick { &[1, 10] } else { &[1, 10, 100, 1000] };
    let rounds = if settings.quick { 3 } else { 20 };
    let mut all = Vec::new();
    for task in tasks() {
        let mut out = Predictions::default();
        let point = task.centres();
        let mut forward = Vec::new();
        for &n in batches {
            let mut engine = engine(&task, n, alone());
            warm(&mut engine, &point)?;
            forward.push((n, least_each(rounds, || drop(engine.predict(&point, false, &mut out))) / n as f64));
        }
        let walk = walk(&task, rounds);
        let (training, same_training) = training(&task, if settings.quick { 50 } else { 500 })?;
        let mut populations = Vec::new();
        for &m in sizes {
            let mut engine = engine(&task, ROWS, alone());
            let mut torch = Torch::new(m as u64);
            let points: Vec<f64> = (0..m).flat_map(|_| task.truth()).map(|t| t + 0.5 * torch.normal()).collect();
            warm(&mut engine, &points)?;
            populations.push((m, least_each(rounds, || drop(engine.predict(&points, true, &mut out)))));
        }
        let (same, loss) = correctness(&task)?;
        all.push(Small {
            task: task.id.into(),
            walk,
            forward,
            training,
            same_training,
            same,
            loss: Real(loss),
            populations,
        });
    }
    Ok(all)
}

/// Uses a model until it has become machine code.
fn warm(engine: &mut Engine, points: &[f64]) -> Result<(), Report> {
    let mut out = Predictions::default();
    for _ in 0..100 {
        engine.predict(points, true, &mut out)?;
        engine.predict(points, false, &mut out)?;
    }
    Ok(())
}

fn walk(task: &Task, rounds: usize) -> f64 {
    let names = task.parameters.iter().map(|p| (p.0, p.2)).chain(task.inputs.iter().map(|i| (*i, 1.5)));
    let bindings: Bindings = names.map(|(name, value)| (name.to_string(), Datum::Real(value))).collect();
    let (program, run) = (task.program(), RunOptions { bindings, ..RunOptions::default() });
    least_each(rounds, || drop(Interpreter::shared().run(&program, &run)))
}

/// 500 epochs of Adam at 0.01 on the mean squared error, one point after the other, and all points at once.
fn training(task: &Task, epochs: usize) -> Result<((f64, f64), bool), Report> {
    let mut whole = engine(task, ROWS, alone());
    let line = linspace(task.range.0, task.range.1, ROWS, false);
    let single = |x: &f64| {
        let columns: Vec<Vec<f64>> = task.inputs.iter().map(|_| vec![*x]).collect();
        Engine::new(task.program(), &task.names(), task.inputs, &columns, alone())
    };
    let mut singles: Vec<Engine> = line.iter().map(single).collect();
    let mut out = Predictions::default();
    whole.predict(&task.truth(), false, &mut out)?;
    let target = out.values.clone();
    let mut one = Predictions::default();
    let mut run = |batched: bool| -> Result<(f64, Vec<f64>), Report> {
        let mut point = task.centres();
        let mut adam = TorchAdam::new(point.len(), 0.01, false);
        let mut losses = Vec::with_capacity(epochs);
        let began = Instant::now();
        for _ in 0..epochs {
            if batched {
                whole.predict(&point, true, &mut out)?;
            } else {
                out.values.clear();
                out.jacobian.clear();
                for engine in &mut singles {
                    engine.predict(&point, true, &mut one)?;
                    out.values.extend(&one.values);
                    out.jacobian.extend(&one.jacobian);
                }
            }
            let (loss, mut gradient) = squares(&out.values, &out.jacobian, &target, false);
            losses.push(loss / ROWS as f64);
            gradient.iter_mut().for_each(|g| *g /= ROWS as f64);
            adam.step(&mut point, &gradient);
        }
        Ok((began.elapsed().as_secs_f64(), losses))
    };
    let (sequential, batched) = (run(false)?, run(true)?);
    Ok(((sequential.0, batched.0), sequential.1 == batched.1))
}

fn correctness(task: &Task) -> Result<(bool, f64), Report> {
    let mut whole = engine(task, ROWS, options(Mode::Dmci, false));
    let mut all = Predictions::default();
    whole.predict(&task.truth(), true, &mut all)?;
    let mut same = all.jacobian.iter().all(|d| d.is_finite());
    let line = linspace(task.range.0, task.range.1, ROWS, false);
    let n = task.parameters.len();
    let mut one = Predictions::default();
    for (row, x) in line.iter().enumerate() {
        let columns: Vec<Vec<f64>> = task.inputs.iter().map(|_| vec![*x]).collect();
        let mut single = Engine::new(task.program(), &task.names(), task.inputs, &columns, alone());
        single.predict(&task.truth(), true, &mut one)?;
        let bits = |list: &[f64]| list.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        same &= bits(&one.values) == bits(&all.values[row..row + 1]);
        same &= bits(&one.jacobian) == bits(&all.jacobian[row * n..(row + 1) * n]);
    }
    let exact: Vec<f64> = match task.data {
        Some(data) => line.iter().map(|&x| data(x)).collect(),
        None => all.values.clone(),
    };
    Ok((same, squares(&all.values, &[], &exact, false).0 / ROWS as f64))
}

/// A program run through the evaluator, over lanes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Through {
    /// Which.
    pub name: String,
    /// Parameters.
    pub parameters: usize,
    /// Seconds of a walk, of an evaluation among 64, and among 256.
    pub seconds: [f64; 3],
    /// Seconds of an epoch of training over 64 points: by walks with derivatives, and batched.
    pub training: [f64; 2],
    /// The largest difference between walks and lanes.
    pub difference: Real,
}

/// Inputs with their ranges.
type Inputs = Vec<(&'static str, f64, f64)>;

/// Measures the three programs.
pub fn through(settings: &Settings) -> Result<Vec<Through>, Report> {
    let rounds = if settings.quick { 3 } else { 20 };
    let decay = "(params (a free 2.5) (b free 0.8)) (* a (exp (- (* b x))))";
    let list: [(&str, &str, Inputs); 3] = [
        ("a e^(-b x) (arithmetic)", decay, vec![("x", 0.1, 5.0)]),
        ("decay chain (recursive)", C[2].source, vec![("A0", 1.0, 10.0)]),
        ("GPP (composite)", GPP, vec![("Q", 50.0, 2000.0), ("T", 5.0, 38.0), ("psi", -3.0, -0.1)]),
    ];
    list.iter().map(|(name, text, inputs)| one_through(name, text, inputs, rounds)).collect()
}

fn one_through(name: &str, text: &str, inputs: &[(&str, f64, f64)], rounds: usize) -> Result<Through, Report> {
    let interpreter = Interpreter::shared();
    let program = Program::new(text);
    let schema = interpreter.names(&program)?.schema.parameters;
    let names: Vec<&str> = schema.iter().map(|p| p.name.as_str()).collect();
    let point: Vec<f64> = schema.iter().filter_map(|p| p.datum().as_f64()).collect();
    let mut torch = Torch::new(0);
    let columns: Vec<Vec<f64>> =
        inputs.iter().map(|&(_, low, high)| (0..256).map(|_| low + (high - low) * torch.uniform()).collect()).collect();
    let input_names: Vec<&str> = inputs.iter().map(|i| i.0).collect();
    let run_of = |row: usize| {
        let values = inputs.iter().zip(&columns).map(|(i, c)| (i.0.to_string(), Datum::Real(c[row])));
        RunOptions { bindings: values.collect(), ..RunOptions::default() }
    };
    let first = run_of(0);
    let mut seconds = [least_each(rounds, || drop(interpreter.run(&program, &first))), 0.0, 0.0];
    let grad = dmci::GradOptions { run: first, ..Default::default() };
    let mut training = [64.0 * least_each(rounds, || drop(interpreter.grad(&program, &grad))), 0.0];
    let mut difference: f64 = 0.0;
    for (k, n) in [(1, 64), (2, 256)] {
        let some: Vec<Vec<f64>> = columns.iter().map(|c| c[..n].to_vec()).collect();
        let mut engine = Engine::new(program.clone(), &names, &input_names, &some, alone());
        warm(&mut engine, &point)?;
        let mut out = Predictions::default();
        seconds[k] = least_each(rounds, || drop(engine.predict(&point, false, &mut out))) / n as f64;
        if n == 64 {
            training[1] = least_each(rounds, || drop(engine.predict(&point, true, &mut out)));
        }
        for (row, value) in out.values.iter().enumerate() {
            let walked = interpreter.run(&program, &run_of(row))?;
            difference = difference.max((walked.value.as_f64().unwrap_or(f64::NAN) - value).abs());
        }
    }
    Ok(Through { name: name.into(), parameters: names.len(), seconds, training, difference: Real(difference) })
}

/// One model beside `jax.vmap`: seconds of a forward pass and of a step of training, ours and theirs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// The model.
    pub task: String,
    /// Forward, ours and theirs.
    pub forward: (f64, f64),
    /// A step, ours and theirs.
    pub train: (f64, f64),
    /// The largest relative difference of values and gradients.
    pub difference: Real,
}

/// All of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Vmap {
    /// The version of JAX.
    pub version: String,
    /// By model.
    pub models: Vec<Beside>,
}

/// Times all models here, then there.
pub fn vmap(host: &Host) -> Result<Result<Vmap, String>, Report> {
    let entry =
        |t: &Task| json!({"id": t.id, "point": t.centres(), "truth": t.truth(), "low": t.range.0, "high": t.range.1});
    let models: Vec<Value> = tasks().iter().map(entry).collect();
    let answer = (host.python)(SCRIPT, &json!({"models": models, "rows": ROWS}).to_string());
    let answer = answer.and_then(|text| serde_json::from_str::<Value>(&text).map_err(|e| e.to_string()));
    let answer = match answer {
        Ok(answer) => answer,
        Err(why) => return Ok(Err(why)),
    };
    let mut all = Vec::new();
    for task in tasks() {
        let mut engine = engine(&task, ROWS, alone());
        let mut out = Predictions::default();
        engine.predict(&task.truth(), false, &mut out)?;
        let target = out.values.clone();
        let point = task.centres();
        warm(&mut engine, &point)?;
        let (forward, values) = engine.forward(30, &point)?;
        let (train, gradient) = engine.step(30, &point, &target)?;
        let theirs = &answer[task.id];
        let list =
            |name: &str| theirs[name].as_array().into_iter().flatten().filter_map(Value::as_f64).collect::<Vec<_>>();
        let apart =
            |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs() / b.abs().max(1.0)).fold(0.0, f64::max);
        let mut difference = apart(&values, &list("values")).max(apart(&gradient, &list("gradient")));
        if list("values").len() != values.len() {
            difference = f64::NAN;
        }
        let time = |name: &str| theirs[name].as_f64().unwrap_or(f64::NAN);
        all.push(Beside {
            task: task.id.into(),
            forward: (forward, time("forward")),
            train: (train, time("train")),
            difference: Real(difference),
        });
    }
    let version = answer["jax"].as_str().unwrap_or("unknown").to_string();
    Ok(Ok(Vmap { version, models: all }))
}
