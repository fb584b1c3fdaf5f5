//! What an epidemic program must be: a schema, and a weekly loop that adds up a likelihood and carries its forecast. The
//! funnel says where a text leaves it.

use super::data::{REGIONS, Seasons, TRAINING, WEEKS};
use crate::ask::{Fault, first_of};
use crate::raws::Raws;
use crate::searches::options;
use dmci::{
    Batch, Bindings, Column, Datum, Interpreter, Mode, Model, Program, Report, RunOptions, Severity, Shape, Want,
};
use dmci_generate::sexp::{Sexp, parse};
use dmci_stats::random::Stream;
use serde::{Deserialize, Serialize};

/// Where a text left the funnel, or that it did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// No program was found in the answer.
    Answer,
    /// It is not a program of the required form, or has too many parameters.
    Form,
    /// It names something that is not there.
    Names,
    /// Its likelihood at the start is no finite number.
    Runs,
    /// A derivative is not finite, or all are 0.
    Derivative,
    /// Around the start its likelihood is not always finite.
    Draws,
    /// It does not forecast eleven finite numbers.
    Forecast,
    /// It passed.
    Right,
}

/// All stages, in the order of the funnel.
pub const STAGES: [Stage; 8] = [
    Stage::Answer,
    Stage::Form,
    Stage::Names,
    Stage::Runs,
    Stage::Derivative,
    Stage::Draws,
    Stage::Forecast,
    Stage::Right,
];

/// Most numbers in the parameters of a program.
const MOST_NUMBERS: usize = 50;

/// Weeks of the probe, draws around the start and how far they go, the week of the forecast.
const PROBE: (usize, u64, f64, usize) = (12, 4, 0.5, 6);

/// Names of parameters that begin like this are states at the start, and are fitted again before each forecast.
const INITIAL: [&str; 8] = ["i0", "e0", "a0", "h0", "init", "i_0", "e_0", "seed"];

/// A program that passed.
#[derive(Debug)]
pub struct Epidemic {
    /// Its parameters.
    pub raws: Raws,
    /// Which raw numbers are states at the start.
    pub initial: Vec<usize>,
    /// The likelihood of some weeks of a season.
    pub likelihood: Model,
    /// The forecast of a week, for all series.
    pub rollout: Model,
}

fn fault<T>(stage: Stage, message: impl Into<String>) -> Result<T, Fault<Stage>> {
    Err(Fault { stage, message: message.into() })
}

fn of_report(stage: Stage, report: &Report) -> Fault<Stage> {
    Fault { stage, message: first_of(report) }
}

/// Weeks of observations as a matrix.
fn weeks(numbers: Vec<f64>) -> Datum {
    Datum::Tensor(Shape::Matrix(WEEKS as u32, REGIONS as u32), numbers)
}

/// The column of observations with these numbers for each row.
pub fn observations(numbers: Vec<f64>) -> Column {
    Column::Shaped(weeks(vec![0.0; WEEKS * REGIONS]), numbers)
}

/// The column of how many weeks a row has.
pub fn lengths(list: impl IntoIterator<Item = usize>) -> Column {
    Column::Data(list.into_iter().map(|n| Datum::Integer(n as i64)).collect())
}

/// The text with the forecast in place of the likelihood at the end of the loop.
fn forecasting(text: &str) -> Option<String> {
    let mut forms = parse(text);
    let has_forecast = format!("{}", Sexp::List(forms.clone())).contains("(yhat ");
    let replaced = forms.iter_mut().map(replace).filter(|found| *found).count();
    (has_forecast && replaced == 1).then(|| dmci_generate::sexp::text_of(&forms))
}

fn replace(form: &mut Sexp) -> bool {
    if let Sexp::List(items) = form
        && let [head, test, end, _] = &mut items[..]
        && *head == Sexp::atom("if")
        && test.children().first() == Some(&Sexp::atom("="))
        && test.children().contains(&Sexp::atom("NWEEKS"))
    {
        *end = dmci_generate::sexp::form("(vector->list (+ (zeros 11) yhat))", []);
        return true;
    }
    form.children_mut().iter_mut().any(replace)
}

/// What two programs share that differ in names and numbers only: the text of the body with names in the order in
/// which they come, and every number the same.
pub fn shape_of(text: &str) -> String {
    let forms = parse(text);
    let is_schema = |f: &&Sexp| f.children().first() == Some(&Sexp::atom("params"));
    let mut names: Vec<String> = Vec::new();
    for entry in forms.iter().filter(is_schema).flat_map(|s| s.children().iter().skip(1)) {
        names.extend(entry.children().first().map(ToString::to_string));
    }
    let mut body: Vec<Sexp> = forms.iter().filter(|f| !is_schema(f)).map(without_holes).collect();
    body.iter().for_each(|form| bound(form, &mut names));
    let mut seen: Vec<String> = Vec::new();
    body.iter_mut().for_each(|form| rename(form, &names, &mut seen));
    dmci_table::hash::of_text(&dmci_generate::sexp::text_of(&body))[..16].to_string()
}

/// A form with the contents of its holes.
pub fn without_holes(form: &Sexp) -> Sexp {
    match form.children() {
        [head, .., content] if *head == Sexp::atom("hole") => without_holes(content),
        _ => {
            let mut form = form.clone();
            form.children_mut().iter_mut().for_each(|child| *child = without_holes(child));
            form
        }
    }
}

/// The names that `let`, loops and definitions bind.
fn bound(form: &Sexp, names: &mut Vec<String>) {
    let items = form.children();
    let head = items.first().map(ToString::to_string).unwrap_or_default();
    match head.as_str() {
        "define" | "lambda" => names.extend(items.get(1).into_iter().flat_map(|target| match target {
            Sexp::Atom(name) => vec![name.clone()],
            list => list.children().iter().map(ToString::to_string).collect(),
        })),
        "let" | "let*" | "letrec" | "loop" => {
            names.extend(items.iter().skip(1).take(1).filter_map(|i| match i {
                Sexp::Atom(name) => Some(name.clone()),
                _ => None,
            }));
            let list = items.iter().skip(1).find(|i| matches!(i, Sexp::List(_)));
            let entries = list.map_or(&[][..], Sexp::children);
            names.extend(entries.iter().filter_map(|e| e.children().first().map(ToString::to_string)));
        }
        _ => {}
    }
    items.iter().for_each(|item| bound(item, names));
}

fn rename(form: &mut Sexp, names: &[String], seen: &mut Vec<String>) {
    if let Sexp::Atom(text) = form {
        if text.parse::<f64>().is_ok() {
            *text = "0".into();
        } else if names.contains(text) {
            let place = seen.iter().position(|s| s == text).unwrap_or_else(|| {
                seen.push(text.clone());
                seen.len() - 1
            });
            *text = format!("v{place}");
        }
    }
    form.children_mut().iter_mut().for_each(|child| rename(child, names, seen));
}

/// The funnel of one text.
pub fn check(name: &str, text: &str, data: &Seasons) -> Result<Epidemic, Fault<Stage>> {
    let program = Program::named(name, text);
    let raws = Raws::of(&program).map_err(|report| of_report(Stage::Form, &report))?;
    if raws.count() == 0 || raws.count() > MOST_NUMBERS {
        return fault(Stage::Form, format!("it has {} numbers to fit, expected 1 to {MOST_NUMBERS}", raws.count()));
    }
    let Some(forecast) = forecasting(text) else {
        let message = "its loop does not end with (if (= k NWEEKS) L ...) or has no state yhat";
        return fault(Stage::Form, message);
    };
    let bindings: Bindings = [
        ("obs".to_string(), weeks(vec![0.0; WEEKS * REGIONS])),
        ("NWEEKS".to_string(), Datum::Integer(PROBE.0 as i64)),
    ]
    .into_iter()
    .collect();
    let report = Interpreter::shared().check(&program, &RunOptions { bindings, ..RunOptions::default() });
    if report.diagnostics.iter().any(|d| d.severity == Severity::Error) {
        return Err(of_report(Stage::Names, &report));
    }
    let schema = Interpreter::shared().names(&program).map_err(|report| of_report(Stage::Form, &report))?.schema;
    let parameters: Vec<(String, Datum)> = schema.parameters.iter().map(|p| (p.name.clone(), p.datum())).collect();
    let likelihood = options(Mode::Dmci, false, Vec::new());
    let likelihood = Model::with_params(program, parameters.clone(), &["obs", "NWEEKS"], likelihood);
    let mut rollout = options(Mode::Dmci, false, vec![("obs".into(), weeks(vec![0.0; WEEKS * REGIONS]))]);
    rollout.outputs = REGIONS;
    let rollout = Model::with_params(Program::named(name, &forecast), parameters, &["NWEEKS"], rollout);
    let starts = |n: &str| INITIAL.iter().any(|i| n.to_lowercase().starts_with(i));
    let initial = raws.places().filter(|(n, _)| starts(n)).flat_map(|(_, place)| place).collect();
    let epidemic = Epidemic { raws, initial, likelihood, rollout };
    probe(&epidemic, data)?;
    Ok(epidemic)
}

/// The stages that run the program.
fn probe(epidemic: &Epidemic, data: &Seasons) -> Result<(), Fault<Stage>> {
    let Epidemic { raws, likelihood, rollout, .. } = epidemic;
    let (weeks, draws, far, week) = PROBE;
    let columns = [observations(data.season(TRAINING[0]).concat()), lengths([weeks])];
    let mut batch = Batch::default();
    let mut at = |point: &[f64], stage: Stage| -> Result<(f64, Vec<f64>), Fault<Stage>> {
        let found = likelihood.evaluate_into::<f64>(&mut batch, &raws.values(point), &columns, Want::Gradients);
        found.map_err(|report| of_report(stage, &report))?;
        if let Some((_, report)) = batch.failures.first() {
            return Err(of_report(stage, report));
        }
        if !batch.values[0].is_finite() {
            return fault(stage, format!("its likelihood is {}, expected a finite number", batch.values[0]));
        }
        Ok((batch.values[0], batch.gradients.clone()))
    };
    let (_, gradient) = at(&raws.start, Stage::Runs)?;
    let mut by_raw = vec![0.0; raws.count()];
    raws.pull_back(&raws.start, &gradient, &mut by_raw);
    let length: f64 = by_raw.iter().map(|g| g * g).sum();
    if !length.is_finite() {
        return fault(Stage::Derivative, "a derivative of its likelihood is not finite");
    }
    if length < 1e-16 {
        return fault(Stage::Derivative, "all derivatives of its likelihood are 0");
    }
    for number in 0..draws {
        let mut stream = Stream::new(41, number);
        let point: Vec<f64> = raws.start.iter().map(|x| x + far * stream.normal()).collect();
        at(&point, Stage::Draws)?;
    }
    let found = rollout.evaluate::<f64>(&raws.values(&raws.start), &[lengths([week + 1])], Want::Values);
    let found = found.map_err(|report| of_report(Stage::Forecast, &report))?;
    if let Some((_, report)) = found.failures.first() {
        return Err(of_report(Stage::Forecast, report));
    }
    if found.values.len() != REGIONS || found.values.iter().any(|y| !y.is_finite()) {
        return fault(Stage::Forecast, format!("yhat holds {:?}, expected {REGIONS} finite numbers", found.values));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::data::tests::invented;
    use super::*;

    const SEIR: &str = include_str!("../../programs/k/references/seir-regional.scm");

    /// Each fault is found at its own stage.
    #[test]
    fn texts_leave_the_funnel_where_they_are_wrong() {
        let data = Seasons::read(&invented()).unwrap();
        let stage = |text: &str| check("x", text, &data).err().map_or(Stage::Right, |f| f.stage);
        assert_eq!(stage(SEIR), Stage::Right);
        assert_eq!(stage(&SEIR.replace("(recur", "(recur (")), Stage::Form);
        assert_eq!(stage(&SEIR.replace("(= k NWEEKS)", "(= k 52)")), Stage::Form);
        assert_eq!(stage(&SEIR.replace("yhat", "shown")), Stage::Form);
        assert_eq!(stage(&SEIR.replace("(* gamma I)", "(* gama I)")), Stage::Names);
        assert_eq!(stage(&SEIR.replace("(log v)", "(log (- v))")), Stage::Runs);
        assert_eq!(stage(&SEIR.replace("(+ L nll)", "1.0")), Stage::Derivative);
        // Finite at the start of s2, and nowhere around it.
        let pinned = SEIR.replace("(log v)", "(log (- 1e-14 (square (- s2 4e-6))))");
        assert_eq!(stage(&pinned), Stage::Draws);
        let unseen = SEIR.replace("ypred\n               (+ L", "(/ (zeros 11) 0.0)\n               (+ L");
        assert_eq!(stage(&unseen), Stage::Forecast);
    }

    #[test]
    fn shapes_are_those_of_bodies_without_names_and_numbers() {
        let other = SEIR.replace("ypred", "seen").replace("gamma", "rate").replace("1e-6", "1e-5");
        assert_eq!(shape_of(SEIR), shape_of(&other));
        assert_eq!(shape_of(SEIR), shape_of(&SEIR.replace("(* rho I)", "(hole observe (I) (* rho I))")));
        assert_ne!(shape_of(SEIR), shape_of(&SEIR.replace("(* rho I)", "(* rho E)")));
    }
}
