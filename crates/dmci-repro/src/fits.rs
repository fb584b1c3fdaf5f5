//! Experiments B and C: programs as a language model writes them, and recursive models, fitted directly, through
//! the evaluator, by hand, and beside a neural network that is a program too.

mod network;
mod paper;
mod show;

use crate::a::methods::{curve, record, target};
use crate::a::{Curve, Run};
use crate::hand::models::function;
use crate::predict::{ByHand, Engine, Hand, Predict, options};
use crate::task::{self, Task};
use crate::train::{Protocol, Squares, train};
use crate::{Experiment, Host, Settings};
use dmci::ErrorCode;
use dmci::{Diagnostic, Mode, Program, Report};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// What experiments B and C measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fits {
    /// Numbers are single ones.
    pub single: bool,
    /// Runs of models, methods and seeds.
    pub runs: Vec<Run>,
    /// The same models written in another style, through the evaluator.
    pub styles: Vec<Run>,
    /// Runs through the evaluator that did not converge, once more with many epochs.
    #[serde(default)]
    pub longer: Vec<Run>,
    /// Mean curves of some models.
    pub curves: Vec<(String, String, Curve)>,
}

/// Experiment B.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct B(pub Fits);

/// Experiment C.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct C(pub Fits);

const METHODS: [&str; 4] = ["dmci", "direct", "hand-written", "network"];

impl B {
    /// Runs it.
    pub fn run(settings: &Settings, _: &Host) -> Result<B, Report> {
        let seeds = if settings.quick { 2 } else { 5 };
        let mut fits = fits(&task::B, settings, &|_| seeds, &[])?;
        for (task, (id, text)) in task::B.iter().zip(STYLES) {
            let began = Instant::now();
            let program = Program::named(&format!("styles/{id}.scm"), text);
            let options = options(Mode::Dmci, settings.single);
            let mut engine = Engine::new(program, &task.names(), task.inputs, &task.columns(settings.single), options);
            fits.styles.extend(one(task, "dmci", &mut engine, seeds, settings.single, began)?.0);
        }
        Ok(B(fits))
    }
}

impl C {
    /// Runs it.
    pub fn run(settings: &Settings, _: &Host) -> Result<C, Report> {
        let seeds = |task: &Task| match (settings.quick, settings.paper_seeds && ["C01", "C06"].contains(&task.id)) {
            (true, _) => 2,
            (false, true) => 3,
            (false, false) => 5,
        };
        Ok(C(fits(&task::C, settings, &seeds, &["C08"])?))
    }
}

fn fits(tasks: &[Task], settings: &Settings, seeds: &dyn Fn(&Task) -> u64, drawn: &[&str]) -> Result<Fits, Report> {
    let single = settings.single;
    let mut fits = Fits { single, runs: Vec::new(), styles: Vec::new(), longer: Vec::new(), curves: Vec::new() };
    for task in tasks {
        for method in METHODS {
            // The network takes most of the time: a few models stand for it when time is short.
            let shown = ["M01", "M02", "M14", "C02", "C08"].contains(&task.id);
            if method == "network" && settings.quick && !shown {
                continue;
            }
            let began = Instant::now();
            let (runs, curve) = match method {
                "network" => network::run(task, seeds(task), settings, began)?,
                "hand-written" => {
                    let function = function(task.id).ok_or_else(|| missing(task.id))?;
                    let mut hand = ByHand::new(task, Hand::Function(function), single);
                    one(task, method, &mut hand, seeds(task), single, began)?
                }
                _ => {
                    let mode = if method == "direct" { Mode::Direct } else { Mode::Dmci };
                    let mut engine = Engine::of(task, mode, single);
                    one(task, method, &mut engine, seeds(task), single, began)?
                }
            };
            if method == "dmci" {
                let late = runs.iter().filter(|r| r.converged.is_none());
                let seeds: Vec<u64> = late.map(|r| r.seed).collect();
                fits.longer.extend(longer(task, &seeds, single)?);
            }
            fits.runs.extend(runs);
            if drawn.contains(&task.id) {
                fits.curves.push((task.id.into(), method.into(), curve));
            }
        }
    }
    Ok(fits)
}

/// Runs of some seeds with so many epochs that they converge.
fn longer(task: &Task, seeds: &[u64], single: bool) -> Result<Vec<Run>, Report> {
    if seeds.is_empty() {
        return Ok(Vec::new());
    }
    let began = Instant::now();
    let target = target(task, single)?;
    let starts: Vec<Vec<f64>> = seeds.iter().map(|&s| task.start(s, single)).collect();
    let mut engine = Engine::of(task, Mode::Dmci, single);
    let protocol = Protocol { epochs: 20_000, ..Protocol::standard(single) };
    let trained = train(&mut Squares::new(&mut engine, &target, single), &task.truth(), &starts, protocol)?;
    let seconds = began.elapsed().as_secs_f64() / seeds.len() as f64;
    Ok(seeds.iter().zip(&trained).map(|(&seed, t)| record(task.id, "dmci", seed, t, seconds)).collect())
}

fn missing(id: &str) -> Report {
    Report::from(Diagnostic::error(ErrorCode::E9901, format!("no function by hand for {id}")))
}

fn one(
    task: &Task,
    method: &str,
    predictor: &mut dyn Predict,
    seeds: u64,
    single: bool,
    began: Instant,
) -> Result<(Vec<Run>, Curve), Report> {
    let target = target(task, single)?;
    let starts: Vec<Vec<f64>> = (0..seeds).map(|s| task.start(s, single)).collect();
    let mut objective = Squares::new(predictor, &target, single);
    let trained = train(&mut objective, &task.truth(), &starts, Protocol::standard(single))?;
    let seconds = began.elapsed().as_secs_f64() / seeds as f64;
    let runs = (0..seeds).zip(&trained).map(|(seed, t)| record(task.id, method, seed, t, seconds));
    Ok((runs.collect(), curve(&trained)))
}

macro_rules! styles {
    ($($id:literal)*) => { [$(($id, include_str!(concat!("../programs/b/styles/", $id, ".scm")))),*] };
}

/// Experiment B in another style: binary operators, `letrec`, numbers with a point.
const STYLES: [(&str, &str); 15] =
    styles!("m01" "m02" "m03" "m04" "m05" "m06" "m07" "m08" "m09" "m10" "m11" "m12" "m13" "m14" "m15");

impl Experiment for B {
    fn tables(&self) -> Vec<crate::table::Table> {
        vec![show::results_b(&self.0), show::methods(&self.0, "b", &task::B), show::styles(&self.0)]
    }

    fn claims(&self) -> Vec<crate::table::Claim> {
        show::claims(&self.0, "B", &task::B, &paper::B)
    }

    fn figures(&self) -> Vec<dmci_plot::figure::Figure> {
        vec![show::losses(&self.0, "b", &task::B)]
    }

    fn hashes() -> Vec<(String, String)> {
        let mut all = crate::a::hashes(task::B.iter());
        let style = |(id, text): &(&str, &str)| (format!("style {id}"), dmci_table::hash::of_text(text));
        all.extend(STYLES.iter().map(style));
        all.push(("network".into(), dmci_table::hash::of_text(network::PROGRAM)));
        all
    }
}

impl Experiment for C {
    fn tables(&self) -> Vec<crate::table::Table> {
        vec![show::results_c(&self.0), show::methods(&self.0, "c", &task::C)]
    }

    fn claims(&self) -> Vec<crate::table::Claim> {
        show::claims(&self.0, "C", &task::C, &paper::C)
    }

    fn figures(&self) -> Vec<dmci_plot::figure::Figure> {
        let mut all = vec![show::losses(&self.0, "c", &task::C)];
        all.extend(show::curves(&self.0));
        all
    }

    fn hashes() -> Vec<(String, String)> {
        let mut all = crate::a::hashes(task::C.iter());
        all.push(("network".into(), dmci_table::hash::of_text(network::PROGRAM)));
        all
    }
}
