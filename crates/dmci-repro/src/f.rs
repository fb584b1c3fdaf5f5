//! Experiment F: the paper's loop for discovery. Somebody proposes structures, a fitter finds their numbers, the
//! residuals go back. How often is the law found, by whom, and what does the fitter contribute?

mod discover;
mod show;

use crate::ask::{Ask, Asked};
use crate::descent::Descent;
use crate::numbers::Real;
use crate::predict::{Engine, options};
use crate::schema;
use crate::task::linspace;
use crate::torch::Torch;
use crate::{Experiment, Host, Settings};
use discover::Fitter;
use dmci::{Cancel, Interpreter, Mode, Program, Report};
use dmci_driver::request::{Begun, SearchRequest, wrong};
use dmci_driver::run::run;
use dmci_fit::Table as Data;
use dmci_ops::real::{exp, sin};
use dmci_search::funnel::{Contract, read};
use dmci_search::search::Settings as Searching;
use dmci_search::worker::Workshop;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// A law with its program: the structure that made the data.
struct Target {
    id: &'static str,
    law: fn(f64) -> f64,
    formula: &'static str,
    program: &'static str,
    /// Seeds of three that converged in the paper: GPT-5.5 with reasoning, by Adam and by the portfolio.
    paper: (u64, u64),
}

const TARGETS: [Target; 4] = [
    Target {
        id: "F1",
        law: |x| 2.5 * exp(-0.8 * x),
        formula: "2.5 exp(-0.8 x)",
        program: "(params (a free 1.0) (b free 1.0)) (* a (exp (- (* b x))))",
        paper: (3, 3),
    },
    Target {
        id: "F2",
        law: |x| 1.5 * sin(4.0 * x) * exp(-0.3 * x),
        formula: "1.5 sin(4 x) exp(-0.3 x)",
        program: "(params (a free 1.0) (b free 1.0) (c free 1.0)) (* a (sin (* b x)) (exp (- (* c x))))",
        paper: (3, 3),
    },
    Target {
        id: "F3",
        law: |x| 2.0 * exp(-0.5 * x) + sin(3.0 * x),
        formula: "2 exp(-0.5 x) + sin(3 x)",
        program: "(params (a free 1.0) (b free 1.0) (c free 1.0) (d free 1.0)) (+ (* a (exp (- (* b x)))) (* c (sin (* d x))))",
        paper: (0, 2),
    },
    Target {
        id: "F4",
        law: |x| 5.0 / (1.0 + exp(-2.0 * (x - 2.5))),
        formula: "5 / (1 + exp(-2 (x - 2.5)))",
        program: "(params (a free 1.0) (b free 1.0) (c free 1.0)) (/ a (+ 1 (exp (- (* b (- x c))))))",
        paper: (3, 3),
    },
];

/// The mean squared error below which a law counts as found. The noise has a variance of 4e-4.
const GOOD: f64 = 1e-3;

/// The operations of the protocol.
const OPERATIONS: &str = "+ - * / expt exp log sin cos sqrt abs";

/// Hypotheses of the arms without a model, in full and in small runs.
const HYPOTHESES: (u64, u64) = (10_000, 1000);

/// Seconds that such an arm may take.
const TIME: f64 = 30.0;

/// One search for one law.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// `model, our fitter`, `model, single-start Adam`, `grammar only`, `best of N`, `random expressions`.
    pub arm: String,
    /// The law.
    pub target: String,
    /// The seed of the noise.
    pub seed: u64,
    /// The best program, with its numbers.
    pub program: String,
    /// Its mean squared error on rows that nobody saw.
    pub sealed: Real,
    /// The same on rows that selected it.
    pub selected: Real,
    /// Rounds of the loop.
    pub rounds: usize,
    /// Programs that were fitted.
    pub fitted: u64,
    /// Programs that the funnel refused.
    pub rejected: usize,
    /// What became of the questions.
    pub asked: Asked,
    /// Why it ended early, if it did.
    pub stopped: Option<String>,
    /// Seconds.
    pub seconds: f64,
}

/// The structure that made the data, fitted in two ways.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// The law.
    pub target: String,
    /// The seed.
    pub seed: u64,
    /// Mean squared errors on rows that nobody saw: single-start Adam, and our fitter.
    pub errors: (Real, Real),
}

/// What experiment F measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct F {
    /// All searches.
    pub runs: Vec<Run>,
    /// Fits of the structures that made the data.
    pub known: Vec<Known>,
    /// Why no model was asked, if none was.
    pub no_model: Option<String>,
}

/// Rows of a law with their noise, as a table.
fn table(target: &Target, seed: u64) -> Result<Data, Report> {
    let xs = linspace(0.0, 5.0, 64, false);
    let noise = Torch::new(seed).normals(64);
    let rows = xs.iter().zip(noise).map(|(&x, n)| format!("{x:?},{:?}\n", (target.law)(x) + 0.02 * n));
    Data::from_csv("f.csv", format!("x,y\n{}", rows.collect::<String>()).as_bytes())
}

fn request(seed: u64, hypotheses: u64) -> SearchRequest {
    SearchRequest {
        target: "y".into(),
        operations: OPERATIONS.into(),
        seed,
        evaluations: Some(hypotheses),
        time_limit: TIME,
        ..SearchRequest::default()
    }
}

impl F {
    /// Runs it.
    pub fn run(settings: &Settings, host: &Host) -> Result<F, Report> {
        let (seeds, hypotheses) = if settings.quick { (1, HYPOTHESES.1) } else { (3, HYPOTHESES.0) };
        let places: Vec<(&'static Target, u64)> =
            TARGETS.iter().flat_map(|t| (0..seeds).map(move |s| (t, s))).collect();
        let (mut runs, mut known) = (Vec::new(), Vec::new());
        // All loops at once: whoever answers may take long.
        let ask = host.ask;
        let answered: Vec<Result<Run, Report>> = std::thread::scope(|scope| {
            let fitters = |seed| [Fitter::Ours, Fitter::Adam(seed)];
            let each = places.iter().flat_map(|&(t, seed)| fitters(seed).map(|fitter| (t, seed, fitter)));
            let all: Vec<_> =
                each.map(|(t, seed, fitter)| scope.spawn(move || discovered(t, seed, fitter, ask))).collect();
            let broken = || Err(wrong("a loop of experiment F panicked".into(), "report this as a bug of dmci"));
            all.into_iter().map(|thread| thread.join().unwrap_or_else(|_| broken())).collect()
        });
        for found in answered {
            runs.push(found?);
        }
        let none = runs.iter().all(|r| r.asked.answers == 0);
        let no_model = runs.iter().find_map(|r| r.stopped.clone()).filter(|_| none);
        if none {
            runs.clear();
        }
        for (target, seed) in places {
            runs.extend(searches(target, seed, hypotheses)?);
            known.push(of_known(target, seed)?);
        }
        Ok(F { runs, known, no_model })
    }
}

/// The loop with a model.
fn discovered(target: &Target, seed: u64, fitter: Fitter, ask: Ask<'_>) -> Result<Run, Report> {
    let workshop = request(seed, HYPOTHESES.0).workshop(&table(target, seed)?)?;
    discover::run(target.id, seed, &workshop, fitter, ask)
}

/// The arms without a model: the search as it is, one that does not evolve, and expressions by chance.
fn searches(target: &Target, seed: u64, hypotheses: u64) -> Result<Vec<Run>, Report> {
    let request = request(seed, hypotheses);
    let cancel = Cancel::default();
    let limits = request.limits(&cancel);
    let began = Instant::now();
    let Begun { workshop, search, pending, .. } = request.begin(&table(target, seed)?, &[], &[])?;
    let done = run(&workshop, search, pending, &limits, &mut |_, _| Ok(()), &mut |_, _| {})?;
    let judged = Begun::judge(&workshop, &done.search, &[], seed)?.best;
    let of = |arm: &str, judged: &dmci_search::judge::Judged, fitted, seconds| Run {
        arm: arm.into(),
        target: target.id.into(),
        seed,
        program: workshop.program(&judged.entry.candidate, &judged.entry.score.values),
        sealed: Real(judged.sealed.unwrap_or(f64::NAN)),
        selected: Real(judged.entry.score.validation.unwrap_or(f64::NAN)),
        rounds: 0,
        fitted,
        rejected: 0,
        asked: Asked::default(),
        stopped: None,
        seconds,
    };
    let mut list = vec![of("grammar only", &judged, done.search.evaluations(), began.elapsed().as_secs_f64())];
    let began = Instant::now();
    for control in dmci_driver::control::controls(&request, &workshop, hypotheses, &limits)? {
        let name = if control.name.starts_with("best") { "best of N" } else { control.name };
        list.push(of(name, &control.best, control.evaluations, began.elapsed().as_secs_f64() / 2.0));
    }
    Ok(list)
}

/// The right structure by both fitters.
fn of_known(target: &Target, seed: u64) -> Result<Known, Report> {
    let workshop = request(seed, HYPOTHESES.0).workshop(&table(target, seed)?)?;
    let contract = Contract { inputs: &workshop.data.inputs, operations: &workshop.operations, size: workshop.size };
    let candidate = read(target.program, &contract).map_err(|r| wrong(r.message, &r.hint))?;
    let mut scorer = workshop.scorer();
    let mut error = |fitter: Fitter| {
        let entry = fitter.fit(&workshop, &mut scorer, &candidate, target.program);
        entry.map_or(f64::INFINITY, |e| discover::sealed(&workshop, &mut scorer, &e))
    };
    let errors = (Real(error(Fitter::Adam(seed))), Real(error(Fitter::Ours)));
    Ok(Known { target: target.id.into(), seed, errors })
}

/// The paper's protocol for one program on the open rows: one start near 1, Adam. The error, and the program with what
/// was found as its starts.
fn adam(workshop: &Workshop, text: &str, seed: u64) -> Result<(f64, String), Report> {
    let program = Program::new(text);
    let parameters = Interpreter::shared().names(&program)?.schema.parameters;
    let names: Vec<&str> = parameters.iter().map(|p| p.name.as_str()).collect();
    let mut torch = Torch::new(seed + 1000);
    let start: Vec<f64> = names.iter().map(|_| 1.0 + 0.5 * torch.normal()).collect();
    let inputs: Vec<&str> = workshop.data.inputs.iter().map(String::as_str).collect();
    let open = &workshop.data.open;
    let mut engine = Engine::new(program, &names, &inputs, &open.columns, options(Mode::Dmci, false));
    let (error, point, _) = Descent::standard(false).run(&mut engine, &open.target, &start)?;
    Ok((error, schema::with_starts(text, &names, &point)))
}

/// What the searches of this experiment are made of, for whoever compares result files.
fn protocol() -> String {
    let laws: Vec<String> = TARGETS.iter().map(|t| format!("{} {} {}", t.id, t.formula, t.program)).collect();
    format!("{}\n{OPERATIONS}\n{} {} {GOOD:?}", laws.join("\n"), HYPOTHESES.0, Searching::default().islands)
}

impl Experiment for F {
    fn tables(&self) -> Vec<crate::table::Table> {
        show::tables(self)
    }

    fn claims(&self) -> Vec<crate::table::Claim> {
        show::claims(self)
    }

    fn figures(&self) -> Vec<dmci_plot::figure::Figure> {
        Vec::new()
    }

    fn hashes() -> Vec<(String, String)> {
        vec![("the laws, their programs and the budget".into(), dmci_table::hash::of_text(&protocol()))]
    }
}
