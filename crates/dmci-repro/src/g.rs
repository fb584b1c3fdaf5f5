//! Experiment G: programs composed of programs at run time. Which composition made the data? How long until a new
//! composite runs?

use crate::descent::Descent;
use crate::numbers::{Real, mean, seconds, short};
use crate::predict::{Engine, options};
use crate::table::{Claim, Table};
use crate::task::linspace;
use crate::timing::least;
use crate::torch::Torch;
use crate::{Experiment, Host, Settings};
use dmci::{Bindings, Datum, GradOptions, Interpreter, Mode, Program, Report, RunOptions};
use dmci_fit::{FitOptions, Method, Problem, ProblemOptions, Table as Data, fit};
use dmci_ops::real::{exp, sin};
use dmci_plot::figure::{Figure, Line};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

macro_rules! modules {
    ($($name:literal)*) => { [$(($name, include_str!(concat!("../programs/g/", $name, ".scm")))),*] };
}

const MODULES: [(&str, &str); 6] = modules!("decay" "oscillation" "quadratic" "sigmoid" "power" "gaussian");

/// What takes the place of a module when it is swapped.
const SWAPS: [(&str, &str); 6] = [
    ("decay", "gaussian"),
    ("oscillation", "quadratic"),
    ("quadratic", "power"),
    ("sigmoid", "gaussian"),
    ("power", "decay"),
    ("gaussian", "sigmoid"),
];

/// A problem: its name, the truth, the right composition with its modules, where x ends, and what the paper prints.
struct Target {
    id: &'static str,
    truth: fn(f64) -> f64,
    right: (&'static str, &'static str, &'static str),
    end: f64,
    paper: (&'static str, &'static str, f64),
}

const TARGETS: [Target; 3] = [
    Target {
        id: "G1",
        truth: |x| 2.0 * exp(-0.5 * x) + 1.5 * sin(3.0 * x),
        right: ("sum", "decay", "oscillation"),
        end: 5.0,
        paper: ("0.942", "0.772 (chain)", 20.0e-3),
    },
    Target {
        id: "G2",
        truth: |x| 3.0 * sin(2.0 * x) * exp(-0.3 * x),
        right: ("product", "oscillation", "decay"),
        end: 5.0,
        paper: ("0.0004", "0.108 (sum)", 35.2e-3),
    },
    Target {
        id: "G3",
        truth: |x| 5.0 / (1.0 + exp((-2.0 * (x * x + 0.5 * x - 2.5)).clamp(-500.0, 500.0))),
        right: ("chain", "sigmoid", "quadratic"),
        end: 3.0,
        paper: ("0.0004", "0.0007 (sum)", 27.2e-3),
    },
];

/// One program fitted to one problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// The problem.
    pub problem: String,
    /// `right`, `wrong`, `single` or `swapped`.
    pub role: String,
    /// The program.
    pub program: String,
    /// Mean squared errors of the seeds under the paper's protocol.
    pub errors: Vec<Real>,
    /// The same by our fitter: least squares from several starts.
    pub ours: Vec<Real>,
}

/// Times from programs to the first value and gradient of their composite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Swap {
    /// The problem.
    pub problem: String,
    /// The original, the swapped one, and the original again, in seconds.
    pub seconds: [f64; 3],
}

/// What experiment G measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct G {
    /// All fits.
    pub fits: Vec<Fit>,
    /// Times of composition.
    pub swaps: Vec<Swap>,
}

fn module(name: &str, prefix: &str) -> Result<Program, Report> {
    let text = MODULES.iter().find(|m| m.0 == name).map_or("", |m| m.1);
    Program::named(name, text).apart(prefix)
}

fn composed(how: &str, first: &str, second: &str) -> Result<Program, Report> {
    let (one, two) = (module(first, "m1")?, module(second, "m2")?);
    match how {
        "sum" => one.sum(&two),
        "product" => one.product(&two),
        "chain" => one.chain(&two, "x"),
        _ => Ok(one),
    }
}

impl G {
    /// Runs it.
    pub fn run(settings: &Settings, _: &Host) -> Result<G, Report> {
        let seeds = if settings.quick { 1 } else { 5 };
        let mut fits = Vec::new();
        let mut swaps = Vec::new();
        for target in &TARGETS {
            let (how, first, second) = target.right;
            let other = SWAPS.iter().find(|s| s.0 == second).map_or(second, |s| s.1);
            let mut programs = vec![
                ("right", how, first, second),
                ("single", "one", first, first),
                ("single", "one", second, second),
                ("swapped", how, first, other),
            ];
            programs.extend(match how {
                "sum" => [("wrong", "product", first, second), ("wrong", "chain", first, second)],
                "product" => [("wrong", "sum", first, second), ("wrong", "chain", first, second)],
                _ => [("wrong", "sum", first, second), ("wrong", "chain", second, first)],
            });
            for (role, how, first, second) in programs {
                let program = composed(how, first, second)?;
                let name = if how == "one" { first.to_string() } else { format!("{how}({first}, {second})") };
                let (mut errors, mut ours) = (Vec::new(), Vec::new());
                for seed in 0..seeds {
                    errors.push(Real(protocol(&program, target, seed, settings.single)?));
                    ours.push(Real(fitter(&program, target, seed)?));
                }
                fits.push(Fit { problem: target.id.into(), role: role.into(), program: name, errors, ours });
            }
            let rounds = if settings.quick { 3 } else { 20 };
            let time = |second: &str| least(rounds, || drop(first_gradient(how, first, second)));
            swaps.push(Swap { problem: target.id.into(), seconds: [time(second), time(other), time(second)] });
        }
        Ok(G { fits, swaps })
    }
}

/// Data of a problem with their noise.
fn data(target: &Target, seed: u64, single: bool) -> (Vec<f64>, Vec<f64>) {
    let xs = linspace(0.0, target.end, 64, single);
    let noise = Torch::new(seed).normals(64);
    let ys = xs.iter().zip(noise).map(|(&x, n)| (target.truth)(x) + 0.02 * n).collect();
    (xs, ys)
}

fn names(program: &Program) -> Result<Vec<String>, Report> {
    Ok(Interpreter::shared().names(program)?.schema.parameters.iter().map(|p| p.name.clone()).collect())
}

/// The paper's protocol: one start near 1, Adam with a small rate.
fn protocol(program: &Program, target: &Target, seed: u64, single: bool) -> Result<f64, Report> {
    let (xs, ys) = data(target, seed, single);
    let names = names(program)?;
    let mut torch = Torch::new(seed + 2000);
    let start: Vec<f64> = names.iter().map(|_| 1.0 + 0.5 * torch.normal()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut engine = Engine::new(program.clone(), &names, &["x"], &[xs], options(Mode::Dmci, single));
    Ok(Descent::standard(single).run(&mut engine, &ys, &start)?.0)
}

/// Our fitter on the same data: several starts, least squares.
fn fitter(program: &Program, target: &Target, seed: u64) -> Result<f64, Report> {
    let (xs, ys) = data(target, seed, false);
    let rows: Vec<String> = xs.iter().zip(&ys).map(|(x, y)| format!("{x:?},{y:?}")).collect();
    let table = Data::from_csv("g.csv", format!("x,y\n{}\n", rows.join("\n")).as_bytes())?;
    let problem = Problem::new(program.clone(), &table, "y", ProblemOptions::default())?;
    let options = FitOptions { method: Method::Auto, more_restarts: 31, seed, ..FitOptions::default() };
    let found = fit(&problem, &options, &mut |_| ControlFlow::Continue(()))?;
    let errors = found.predictions.iter().zip(&problem.training().target).map(|(p, y)| (p - y) * (p - y));
    Ok(mean(errors))
}

/// From module names to the value and gradient of their composite.
fn first_gradient(how: &str, first: &str, second: &str) -> Result<f64, Report> {
    let program = composed(how, first, second)?;
    let bindings: Bindings = vec![("x".into(), Datum::Real(1.5))];
    let run = RunOptions { bindings, ..RunOptions::default() };
    let found = Interpreter::shared().grad(&program, &GradOptions { run, ..GradOptions::default() });
    found.map(|g| g.value)
}

impl G {
    fn of<'a>(&'a self, problem: &str, role: &str) -> Vec<&'a Fit> {
        self.fits.iter().filter(|f| f.problem == problem && f.role == role).collect()
    }
}

fn average(list: &[Real]) -> f64 {
    mean(list.iter().map(|e| e.0))
}

/// The wrong composition with the lowest error.
fn best_wrong<'a>(wrong: &[&'a Fit], of: fn(&Fit) -> f64) -> Option<&'a Fit> {
    wrong.iter().min_by(|a, b| of(a).total_cmp(&of(b))).copied()
}

impl Experiment for G {
    fn tables(&self) -> Vec<Table> {
        let columns =
            ["problem", "right MSE", "paper", "best wrong MSE", "paper", "right, our fitter", "best wrong, our fitter"];
        let mut table = Table::new("g-composition", "G. Which composition made the data", &columns);
        for target in &TARGETS {
            let (right, wrong) = (self.of(target.id, "right"), self.of(target.id, "wrong"));
            let paper_error = |f: &Fit| average(&f.errors);
            let our_error = |f: &Fit| average(&f.ours);
            let shown = |fit: Option<&Fit>, of: fn(&Fit) -> f64| {
                fit.map_or("n/a".into(), |f| format!("{} ({})", short(of(f)), f.program))
            };
            table.row([
                format!("{} {}", target.id, target.right.0),
                right.first().map_or("n/a".into(), |f| short(paper_error(f))),
                target.paper.0.into(),
                shown(best_wrong(&wrong, paper_error), paper_error),
                target.paper.1.into(),
                right.first().map_or("n/a".into(), |f| short(our_error(f))),
                shown(best_wrong(&wrong, our_error), our_error),
            ]);
        }
        table.note("first columns: the paper's protocol (one start, Adam 0.01, at most 2000 epochs). Our fitter: 32 starts, least squares with derivatives. The noise has a variance of 4e-4.");
        let mut all = Table::new(
            "g-fits",
            "G. All programs",
            &["problem", "role", "program", "MSE, paper's protocol", "MSE, our fitter"],
        );
        for f in &self.fits {
            all.row([&f.problem, &f.role, &f.program, &short(average(&f.errors)), &short(average(&f.ours))]);
        }
        let columns = ["problem", "original", "swapped", "original again", "paper, hot swap"];
        let mut swaps =
            Table::new("g-swaps", "G. From modules to the first value and gradient of a composite", &columns);
        for (s, target) in self.swaps.iter().zip(&TARGETS) {
            let [a, b, c] = s.seconds.map(seconds);
            swaps.row([s.problem.clone(), a, b, c, seconds(target.paper.2)]);
        }
        vec![table, all, swaps]
    }

    fn claims(&self) -> Vec<Claim> {
        let mut claims = Vec::new();
        for target in &TARGETS {
            let (right, wrong) = (self.of(target.id, "right"), self.of(target.id, "wrong"));
            let wins = |of: fn(&Fit) -> f64| match (right.first(), best_wrong(&wrong, of)) {
                (Some(right), Some(wrong)) => {
                    (of(right) < of(wrong), format!("{} against {}", short(of(right)), short(of(wrong))))
                }
                _ => (false, "not fitted".into()),
            };
            let (holds, found) = wins(|f| average(&f.errors));
            let expected = target.id != "G1";
            let text = format!(
                "{}: under the paper's protocol the right composition {}",
                target.id,
                if expected { "wins" } else { "does not win" }
            );
            claims.push(Claim::new(text, holds == expected, found));
            let (holds, found) = wins(|f| average(&f.ours));
            claims.push(Claim::new(format!("{}: with our fitter the right composition wins", target.id), holds, found));
        }
        let slowest = self.swaps.iter().flat_map(|s| s.seconds).fold(0.0, f64::max);
        claims.push(Claim::new(
            "a composite runs sooner than in the paper (20 to 35 ms)",
            slowest < 20e-3,
            seconds(slowest),
        ));
        claims
    }

    fn figures(&self) -> Vec<Figure> {
        let mut figure = Figure::new("g-errors", "G: mean squared error by program", "program", "MSE", (false, true));
        for target in &TARGETS {
            let fits = self.fits.iter().filter(|f| f.problem == target.id).enumerate();
            let points = fits.map(|(i, f)| (i as f64 + 1.0, average(&f.errors))).collect();
            figure.lines.push(Line::new(target.id, points).marks());
        }
        vec![figure]
    }

    fn hashes() -> Vec<(String, String)> {
        MODULES.iter().map(|(name, text)| (format!("module {name}"), dmci_table::hash::of_text(text))).collect()
    }
}
