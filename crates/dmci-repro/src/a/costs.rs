//! What interpretation costs: operations on the tape, where time goes, and what each pass brings.

use super::methods::target;
use crate::predict::{ByHand, Engine, Predict, Predictions, options};
use crate::task::{A, Task};
use crate::train::{Protocol, Squares, Trained, train};
use crate::{Settings, timing::least};
use dmci::{Bindings, Datum, GradOptions, Interpreter, JitPolicy, Mode, ModelOptions, Report, RunOptions, Wrt};
use serde::{Deserialize, Serialize};

/// Operations on the tape of one evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Operations {
    /// The program.
    pub task: String,
    /// Run directly.
    pub direct: usize,
    /// Through the evaluator.
    pub dmci: usize,
    /// On the hand-written tape, with its leaves.
    pub hand: usize,
    /// Recordings that training from all seeds needed.
    pub recordings: u64,
}

/// Seconds of one part of an evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Which.
    pub name: String,
    /// Directly.
    pub direct: f64,
    /// Through the evaluator.
    pub dmci: f64,
}

/// Training with something switched off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ablation {
    /// What is off.
    pub off: String,
    /// Seconds for all seeds.
    pub seconds: f64,
    /// Whether every loss of every epoch has the same bits.
    pub same: bool,
}

/// All of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// By program.
    pub operations: Vec<Operations>,
    /// Of P2.
    pub parts: Vec<Part>,
    /// Of P6.
    pub ablations: Vec<Ablation>,
}

/// Measures it.
pub fn run(settings: &Settings) -> Result<Costs, Report> {
    let operations = A.iter().map(operations).collect::<Result<_, _>>()?;
    Ok(Costs { operations, parts: parts(&A[1], settings)?, ablations: ablations(&A[5], settings)? })
}

fn bindings(task: &Task) -> Bindings {
    let parameters = task.parameters.iter().map(|p| (p.0.to_string(), Datum::Real(p.2 + 0.25)));
    parameters.chain([("x".into(), Datum::Real(1.5))]).collect()
}

fn grad_options(task: &Task, mode: Mode) -> GradOptions {
    let run = RunOptions { mode, bindings: bindings(task), ..RunOptions::default() };
    let names = task.names().iter().map(|n| n.to_string()).collect();
    GradOptions { run, wrt: Wrt::Names(names), hessian: false }
}

fn operations(task: &Task) -> Result<Operations, Report> {
    let of = |mode: Mode| {
        let found = Interpreter::shared().grad(&task.program(), &grad_options(task, mode));
        found.map(|g| g.tape.operations())
    };
    let mut hand = ByHand::walk(task, false)?;
    hand.predict(&task.truth(), false, &mut Predictions::default())?;
    let mut engine = Engine::of(task, Mode::Dmci, false);
    let starts: Vec<Vec<f64>> = (0..10).map(|s| task.start(s, false)).collect();
    let target = target(task, false)?;
    train(&mut Squares::new(&mut engine, &target, false), &task.truth(), &starts, Protocol::standard(false))?;
    let recordings = engine.model.recordings();
    Ok(Operations {
        task: task.id.into(),
        direct: of(Mode::Direct)?,
        dmci: of(Mode::Dmci)?,
        hand: hand.operations,
        recordings,
    })
}

fn parts(task: &Task, settings: &Settings) -> Result<Vec<Part>, Report> {
    let interpreter = Interpreter::shared();
    let program = task.program();
    let rounds = if settings.quick { 20 } else { 200 };
    let both = |name: &str, time: &mut dyn FnMut(Mode) -> f64| {
        let (direct, dmci) = (time(Mode::Direct), time(Mode::Dmci));
        Part { name: name.into(), direct, dmci }
    };
    let mut all = Vec::new();
    all.push(both("text to value, no derivative", &mut |mode| {
        let options = grad_options(task, mode).run;
        least(rounds, || drop(interpreter.run(&program, &options)))
    }));
    all.push(both("text to value and gradient, recorded each time", &mut |mode| {
        let options = grad_options(task, mode);
        least(rounds, || drop(interpreter.grad(&program, &options)))
    }));
    let point = task.centres();
    let mut out = Predictions::default();
    all.push(both("a new model: one walk, the plan, 8 rows with derivatives", &mut |mode| {
        least(rounds, || {
            let _ = Engine::of(task, mode.clone(), false).predict(&point, true, &mut out);
        })
    }));
    all.push(both("replay of 8 rows with derivatives", &mut |mode| {
        let mut engine = Engine::of(task, mode, false);
        for _ in 0..200 {
            let _ = engine.predict(&point, true, &mut out);
        }
        least(rounds, || {
            for _ in 0..100 {
                let _ = engine.predict(&point, true, &mut out);
            }
        }) / 100.0
    }));
    Ok(all)
}

fn ablations(task: &Task, settings: &Settings) -> Result<Vec<Ablation>, Report> {
    let target = target(task, false)?;
    let seeds = if settings.quick { 3 } else { 10 };
    let starts: Vec<Vec<f64>> = (0..seeds).map(|s| task.start(s, false)).collect();
    let train_with = |options: ModelOptions| -> Result<(f64, Vec<Trained>), Report> {
        let began = std::time::Instant::now();
        let mut engine = Engine::new(task.program(), &task.names(), task.inputs, &task.columns(false), options);
        let trained =
            train(&mut Squares::new(&mut engine, &target, false), &task.truth(), &starts, Protocol::standard(false))?;
        Ok((began.elapsed().as_secs_f64(), trained))
    };
    let all = || ModelOptions { threads: 1, ..options(Mode::Dmci, false) };
    let mut variants: Vec<(&str, ModelOptions)> = vec![("nothing", all())];
    let mut without = |name: &'static str, change: &dyn Fn(&mut ModelOptions)| {
        let mut options = all();
        change(&mut options);
        variants.push((name, options));
    };
    without("merging of equal operations", &|o| o.passes.merge = false);
    without("removal of dead operations", &|o| o.passes.dead = false);
    without("staging", &|o| o.passes.stage = false);
    without("joins", &|o| o.joins = false);
    without("recording of loops", &|o| o.loops = false);
    without("machine code", &|o| o.code = JitPolicy::Never);
    let reference = train_with(all())?.1;
    let mut found = Vec::new();
    for (off, options) in variants {
        let (seconds, trained) = train_with(options)?;
        found.push(Ablation { off: off.into(), seconds, same: trained == reference });
    }
    Ok(found)
}
