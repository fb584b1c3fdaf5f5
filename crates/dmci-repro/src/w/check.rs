//! Whether a written program is what was asked for, and whether its parameters are found from its own data.

use super::tasks::{Task, enso};
use super::{Stage, Written};
use crate::ask::{first_of, words_of};
use crate::j::recovery::{Recovery, Subject};
use crate::schema;
use crate::task::{B, linspace};
use dmci::{Bindings, Datum, GradOptions, Gradient, Interpreter, Program, Report, RunOptions, Wrt};
use std::time::Duration;

type Fault = crate::ask::Fault<Stage>;

fn fault<T>(stage: Stage, message: String) -> Result<T, Fault> {
    Err(Fault { stage, message })
}

/// How far values may be from those that were asked for, as in the paper.
const CLOSE: f64 = 1e-4;

/// Places at which programs of J are run.
const PLACES: usize = 16;

/// The funnel of one program.
pub fn check(task: &Task, text: &str) -> Result<(), Fault> {
    let program = Program::named(&task.name, text);
    match task.set {
        "B" => of_b(task, &program),
        "J" => of_j(&program),
        _ => of_enso(task, &program),
    }
}

/// Whether it is a program whose names are all known.
fn readable(program: &Program, bindings: &Bindings) -> Result<(), Fault> {
    let run = RunOptions { bindings: bindings.clone(), ..RunOptions::default() };
    let report = Interpreter::shared().check(program, &run);
    let error = report.diagnostics.iter().find(|d| d.severity == dmci::Severity::Error);
    error.map_or(Ok(()), |d| fault(Stage::Read, words_of(d)))
}

fn gradient(program: &Program, bindings: &Bindings, wrt: Wrt) -> Result<Gradient, Fault> {
    let run = RunOptions { bindings: bindings.clone(), ..RunOptions::default() };
    let found = Interpreter::shared().grad(program, &GradOptions { run, wrt, hessian: false });
    let found = found.or_else(|report| fault(Stage::Runs, first_of(&report)))?;
    if !found.value.is_finite() {
        return fault(Stage::Runs, format!("its value is {}, expected a finite number", found.value));
    }
    if let Some((name, g)) = found.coordinates.iter().zip(&found.flat).find(|(_, g)| !g.is_finite()) {
        return fault(Stage::Derivative, format!("its derivative by {name} is {g}"));
    }
    Ok(found)
}

fn equal(found: f64, expected: f64, inputs: &str) -> Result<(), Fault> {
    if (found - expected).abs() < CLOSE * (1.0 + expected.abs()) {
        return Ok(());
    }
    fault(Stage::Value, format!("its value is {found}, expected {expected}, {inputs}"))
}

/// A model of B: the same values as ours at all rows of its data, with the parameters that were named.
fn of_b(task: &Task, program: &Program) -> Result<(), Fault> {
    let Some(known) = B.iter().find(|t| t.id == task.name) else {
        return fault(Stage::Value, "there is no such model".into());
    };
    let columns = known.columns(false);
    let mut moved = vec![false; known.parameters.len()];
    for row in 0..columns[0].len() {
        let bindings: Bindings =
            known.inputs.iter().zip(&columns).map(|(n, c)| (n.to_string(), Datum::Real(c[row]))).collect();
        if row == 0 {
            readable(program, &bindings)?;
        }
        let found = gradient(program, &bindings, Wrt::default())?;
        let mut names: Vec<&str> = found.coordinates.iter().map(String::as_str).collect();
        let mut wanted: Vec<&str> = known.parameters.iter().map(|p| p.0).collect();
        names.sort_unstable();
        wanted.sort_unstable();
        if names != wanted {
            let list = |names: &[&str]| names.join(", ");
            return fault(Stage::Read, format!("its parameters are {}, expected {}", list(&names), list(&wanted)));
        }
        let at: Vec<String> = known.inputs.iter().zip(&columns).map(|(n, c)| format!("{n} = {}", c[row])).collect();
        let (names, truth): (Vec<&str>, Vec<f64>) = known.parameters.iter().map(|p| (p.0, p.1)).unzip();
        let text = schema::with_starts(&known.program().text, &names, &truth);
        let expected = gradient(&Program::new(&text), &bindings, Wrt::default())?;
        equal(found.value, expected.value, &format!("at {} with the parameters at their starts", at.join(", ")))?;
        for (moved, g) in moved.iter_mut().zip(&found.flat) {
            *moved |= *g != 0.0;
        }
    }
    if moved.contains(&false) {
        return fault(Stage::Derivative, "it does not depend on every parameter".into());
    }
    Ok(())
}

/// A program of J: finite values and derivatives at 16 places, derivatives that are those of its values, and a
/// dependence on every parameter.
fn of_j(program: &Program) -> Result<(), Fault> {
    let at = |x: f64| -> Bindings { vec![("x".into(), Datum::Real(x))] };
    readable(program, &at(1.0))?;
    let parameters =
        Interpreter::shared().names(program).or_else(|r| fault(Stage::Read, first_of(&r)))?.schema.parameters;
    if parameters.is_empty() {
        return fault(Stage::Read, "it declares no parameters".into());
    }
    let mut moved = vec![false; parameters.len()];
    for x in linspace(0.5, 3.0, PLACES, false) {
        let found = gradient(program, &at(x), Wrt::default())?;
        for (moved, g) in moved.iter_mut().zip(&found.flat) {
            *moved |= *g != 0.0;
        }
    }
    if let Some(i) = moved.iter().position(|m| !m) {
        let name = &parameters[i].name;
        return fault(Stage::Derivative, format!("its derivative by {name} is 0 at all x from 0.5 to 3"));
    }
    Ok(())
}

/// A structure of the ENSO study: the likelihood of our filter with the same F, and a gradient.
fn of_enso(task: &Task, program: &Program) -> Result<(), Fault> {
    let (bindings, names, f) = enso(&task.name);
    readable(program, &bindings)?;
    let found = gradient(program, &bindings, Wrt::Names(names))?;
    let mut own: Bindings = bindings.into_iter().filter(|(n, _)| n == "obs" || n == "q").collect();
    own.push(("F".into(), f));
    let ours = Program::new(include_str!("../../models/kalman/lim.scm"));
    let expected = gradient(&ours, &own, Wrt::Names(vec!["F".into()]))?;
    equal(found.value, expected.value, "for 5 observations of 4 numbers")?;
    let size = found.flat.iter().map(|g| g * g).sum::<f64>();
    if size < 1e-16 {
        return fault(Stage::Derivative, "its value does not depend on the numbers that F is made of".into());
    }
    Ok(())
}

/// Searches the parameters of a program of J from its own data at 16 places, each within a factor of three.
pub fn recovery(written: &Written, number: u64, budget: Duration) -> Result<Option<Recovery>, Report> {
    let program = Program::new(&written.program);
    let declared = Interpreter::shared().names(&program)?.schema.parameters;
    let mut parameters = Vec::new();
    for p in &declared {
        let [truth] = p.starts[..] else { return Ok(None) };
        if truth == 0.0 || !truth.is_finite() {
            return Ok(None);
        }
        let ends = (truth / 3.0, truth * 3.0);
        parameters.push((p.name.clone(), truth, (ends.0.min(ends.1), ends.0.max(ends.1))));
    }
    let rows = linspace(0.5, 3.0, PLACES, false).into_iter().map(|x| vec![format!("{x:?}")]).collect();
    let body = schema::without(&written.program);
    let name = format!("{} {number}", written.name);
    Subject { name, body, parameters, inputs: vec!["x".into()], rows }.recover(budget)
}
