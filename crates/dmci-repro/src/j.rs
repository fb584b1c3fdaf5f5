//! Experiment J: many distinct programs, each used once. What does the first value and gradient of each cost, which
//! programs can be taken at all, and are their parameters found again?

mod arms;
mod corpus;
mod formula;
pub mod generate;
pub mod recovery;
mod show;

use crate::numbers::Real;
use crate::{Experiment, Host, Settings};
use dmci::{Datum, GradOptions, Interpreter, Program, Report, RunOptions};
use generate::{Generated, generate};
use recovery::{Recovery, generated};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Programs of one family through dmci.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Family {
    /// Whether its programs are recursive.
    pub recursive: bool,
    /// How many.
    pub programs: usize,
    /// Seconds from all texts to all first values and gradients, on one core.
    pub seconds: f64,
    /// Programs that gave a finite value, which is that of an evaluation without the engine, and a finite gradient.
    pub covered: usize,
    /// The largest relative difference between gradients and central differences, over a sample.
    pub error: Real,
    /// Lines that a port would have.
    pub lines: usize,
}

/// What experiment J measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct J {
    /// Seconds to load the compiled evaluator, once.
    pub load: f64,
    /// The size of the compiled evaluator, in bytes.
    pub artefact: usize,
    /// By family and number of programs.
    pub families: Vec<Family>,
    /// The other arms, or why they were not run.
    pub arms: Result<arms::Arms, String>,
    /// Recovery of closed forms and of recursive programs.
    pub recovery: (Vec<Recovery>, Vec<Recovery>),
    /// The corpus, if it is there.
    pub corpus: Option<corpus::Corpus>,
}

impl J {
    /// Runs it.
    pub fn run(settings: &Settings, host: &Host) -> Result<J, Report> {
        let load = crate::timing::least(3, || drop(Interpreter::new()));
        let artefact = dmci::system::evaluator_ncg().len();
        let sizes: &[usize] = if settings.quick { &[1, 100, 5000] } else { &[1, 100, 5000, 10_000] };
        let most = sizes.iter().copied().max().unwrap_or(0);
        let mut families = Vec::new();
        let mut samples = Vec::new();
        for recursive in [false, true] {
            let programs = generate(most, recursive, 0);
            for &n in sizes {
                families.push(family(&programs[..n], recursive)?);
            }
            samples.push(programs);
        }
        let take = if settings.quick { 3 } else { 20 };
        let arms = arms::run(&samples[0][..take], &samples[1][..take], host);
        let searched = if settings.quick { 3 } else { 100 };
        let budget = Duration::from_secs(if settings.quick { 2 } else { 30 });
        let search = |list: &[Generated]| {
            // Programs with constant data are passed over.
            let each = list.iter().enumerate().filter(|(_, p)| p.uses_input());
            each.filter_map(|(i, p)| generated(p, i as u64).recover(budget).transpose())
                .take(searched)
                .collect::<Result<Vec<_>, Report>>()
        };
        let recovery = (search(&samples[0])?, search(&samples[1])?);
        let few = settings.quick.then_some(2);
        let corpus = host.shared_text("corpus.jsonl").map(|text| corpus::run(&text, few, budget)).transpose()?;
        Ok(J { load, artefact, families, arms, recovery, corpus })
    }
}

fn first_gradient(program: &Generated, x: f64) -> Option<(f64, Vec<f64>)> {
    let text = Program::new(&program.scheme(&program.truth));
    let run = RunOptions { bindings: vec![("x".into(), Datum::Real(x))], ..RunOptions::default() };
    let found = Interpreter::shared().grad(&text, &GradOptions { run, ..GradOptions::default() });
    found.ok().map(|g| (g.value, g.flat))
}

fn family(programs: &[Generated], recursive: bool) -> Result<Family, Report> {
    let x = 1.25;
    let texts: Vec<Program> = programs.iter().map(|p| Program::new(&p.scheme(&p.truth))).collect();
    let run = RunOptions { bindings: vec![("x".into(), Datum::Real(x))], ..RunOptions::default() };
    let options = GradOptions { run, ..GradOptions::default() };
    // Other work on the machine disturbs the least of several rounds least; a few programs at a time are timed.
    let mut found: Vec<Option<(f64, Vec<f64>)>> = vec![None; texts.len()];
    let mut seconds = 0.0;
    for (texts, found) in texts.chunks(5).zip(found.chunks_mut(5)) {
        seconds += crate::timing::least(5, || {
            for (text, found) in texts.iter().zip(found.iter_mut()) {
                *found = Interpreter::shared().grad(text, &options).ok().map(|g| (g.value, g.flat));
            }
        });
    }
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs().max(1.0);
    let mut covered = 0;
    let mut error: f64 = 0.0;
    for (i, (program, found)) in programs.iter().zip(&found).enumerate() {
        let Some((value, gradient)) = found else { continue };
        let fine = close(*value, program.value(x, &program.truth)) && gradient.iter().all(|g| g.is_finite());
        covered += usize::from(fine && gradient.len() == program.truth.len());
        if i % programs.len().div_ceil(50) == 0 {
            error = error.max(difference(program, x, gradient));
        }
    }
    let lines = programs.iter().map(Generated::lines).sum();
    Ok(Family { recursive, programs: programs.len(), seconds, covered, error: Real(error), lines })
}

/// The largest difference between a gradient and central differences, beside its largest entry.
fn difference(program: &Generated, x: f64, gradient: &[f64]) -> f64 {
    let size = gradient.iter().fold(1.0, |m: f64, g| m.max(g.abs()));
    let slope = |i: usize| {
        let at = |by: f64| {
            let mut p = program.truth.clone();
            p[i] += by;
            program.value(x, &p)
        };
        (at(1e-5) - at(-1e-5)) / 2e-5
    };
    gradient.iter().enumerate().map(|(i, g)| (g - slope(i)).abs() / size).fold(0.0, f64::max)
}

impl Experiment for J {
    fn tables(&self) -> Vec<crate::table::Table> {
        show::tables(self)
    }

    fn claims(&self) -> Vec<crate::table::Claim> {
        show::claims(self)
    }

    fn figures(&self) -> Vec<dmci_plot::figure::Figure> {
        show::figures(self)
    }

    fn hashes() -> Vec<(String, String)> {
        let mut hash = dmci_table::hash::Hash::default();
        for recursive in [false, true] {
            generate(100, recursive, 0).iter().for_each(|p| hash.add(p.scheme(&p.truth).as_bytes()));
        }
        vec![("the first 100 programs of both families".into(), hash.digits())]
    }
}
