//! The funnel: from a text to a candidate, with a reason where it is none.

use crate::candidate::Candidate;
use crate::expr::Expr;
use crate::operation::{Operation, Operations};
use dmci::{Datum, Interpreter, ParameterKind, Program, Report, RunOptions};
use serde::{Deserialize, Serialize};

/// Where a candidate left the funnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Stage {
    Read,
    Schema,
    Names,
    Size,
    Operations,
    Units,
    Runs,
    Derivative,
    Fitted,
}

impl Stage {
    /// Its name in files and messages.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Read => "read",
            Stage::Schema => "schema",
            Stage::Names => "names",
            Stage::Size => "size",
            Stage::Operations => "operations",
            Stage::Units => "units",
            Stage::Runs => "runs",
            Stage::Derivative => "derivative",
            Stage::Fitted => "fitted",
        }
    }
}

/// Why a candidate is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejection {
    /// Where it left the funnel.
    pub stage: Stage,
    /// The code of the error, if the language has one for it.
    pub code: Option<String>,
    /// First and last line and column.
    pub place: Option<[u32; 4]>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl Rejection {
    /// One without a place.
    pub fn new(stage: Stage, message: &str, hint: &str) -> Rejection {
        Rejection { stage, code: None, place: None, message: message.into(), hint: hint.into() }
    }

    /// From the first error of a report.
    pub fn of(stage: Stage, report: &Report) -> Rejection {
        let first = report.diagnostics.first();
        Rejection {
            stage,
            code: first.map(|d| d.code.to_string()),
            place: None,
            message: first.map_or(String::new(), |d| d.message.clone()),
            hint: first.and_then(|d| d.help.clone()).unwrap_or_default(),
        }
    }
}

/// What a candidate may be.
#[derive(Clone, Copy, Debug)]
pub struct Contract<'a> {
    /// The names of the inputs.
    pub inputs: &'a [String],
    /// The operations that it may have.
    pub operations: &'a Operations,
    /// The largest complexity.
    pub size: usize,
}

/// Reads a program whose body is one expression of operations on reals.
pub fn read(text: &str, contract: &Contract<'_>) -> Result<Candidate, Rejection> {
    let program = Program::new(text);
    let data = program.data().map_err(|report| Rejection::of(Stage::Read, &report))?;
    let names = Interpreter::shared().names(&program).map_err(|report| Rejection::of(Stage::Schema, &report))?;
    let bindings = contract.inputs.iter().map(|name| (name.clone(), Datum::Real(1.0))).collect();
    let mut report = Interpreter::shared().check(&program, &RunOptions { bindings, ..RunOptions::default() });
    // Names have a message of their own below.
    report.diagnostics.retain(|d| d.code != "E0301");
    if !report.diagnostics.is_empty() {
        return Err(Rejection::of(Stage::Schema, &report));
    }
    let bodies: Vec<&Datum> = data.iter().filter(|d| !is_schema(d)).collect();
    let [body] = bodies[..] else {
        let message = format!("a candidate has one expression besides its parameters, got {}", bodies.len());
        return Err(Rejection::new(Stage::Read, &message, "write (params ...) and one expression"));
    };
    let parameters = &names.schema.parameters;
    if let Some(p) = parameters.iter().find(|p| p.kind != ParameterKind::Free || p.starts.len() != 1 || p.fixed) {
        let message = format!("{} is {}, expected a free number", p.name, p.kind);
        let hint = format!("write ({} free {})", p.name, p.init);
        return Err(Rejection::new(Stage::Schema, &message, &hint));
    }
    let known: Vec<String> = parameters.iter().map(|p| p.name.clone()).collect();
    if let Some(name) = unknown_name(body, contract.inputs, &known) {
        let message = format!("{name} is neither a column nor a parameter nor an operation of a search");
        let hint =
            format!("columns are {}; declare parameters with (params ({name} free 1.0))", contract.inputs.join(", "));
        let mut rejection = Rejection::new(Stage::Names, &message, &hint);
        rejection.code = Some("E0301".into());
        return Err(rejection);
    }
    let Some((expr, lifted)) = Expr::read_lifting(body, contract.inputs, &known) else {
        let message = "the body is not an expression of operations on reals";
        return Err(Rejection::new(
            Stage::Operations,
            message,
            "use columns, parameters, numbers other than 0 and operations",
        ));
    };
    if expr.complexity() > contract.size {
        let message = format!("the program has {} nodes, at most {} are allowed", expr.complexity(), contract.size);
        return Err(Rejection::new(Stage::Size, &message, "drop the terms that matter least"));
    }
    if let Some(operation) = expr.forbidden(contract.operations) {
        let message = format!("{} is not among the allowed operations", operation.name());
        let allowed: Vec<&str> = contract.operations.list.iter().map(|o| o.name()).collect();
        return Err(Rejection::new(Stage::Operations, &message, &format!("allowed are {}", allowed.join(" "))));
    }
    let values: Vec<f64> = parameters.iter().map(|p| p.init).chain(lifted).collect();
    Ok(Candidate::new(&expr, &values, contract.operations))
}

fn is_schema(datum: &Datum) -> bool {
    matches!(datum, Datum::List(items, None) if matches!(items.first(), Some(Datum::Symbol(s)) if s == "params"))
}

/// The first name that means nothing.
fn unknown_name(datum: &Datum, inputs: &[String], parameters: &[String]) -> Option<String> {
    match datum {
        Datum::Symbol(name) => (!inputs.contains(name) && !parameters.contains(name)).then(|| name.clone()),
        Datum::List(items, _) => {
            let head = items.first().and_then(|head| match head {
                Datum::Symbol(name) => (1..3).all(|n| Operation::find(name, n).is_none()).then(|| name.clone()),
                other => unknown_name(other, inputs, parameters),
            });
            head.or_else(|| items.iter().skip(1).find_map(|item| unknown_name(item, inputs, parameters)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rejection_names_its_stage() {
        let inputs = ["x".to_string(), "y".to_string()];
        let operations = Operations::parse("+ * exp").expect("they exist");
        let contract = Contract { inputs: &inputs, operations: &operations, size: 9 };
        let cases = [
            ("(+ x", Stage::Read),
            ("", Stage::Read),
            ("x y", Stage::Read),
            ("(params (a free)) (* a x)", Stage::Schema),
            ("(params (a positive 1.0)) (* a x)", Stage::Schema),
            ("(* b x)", Stage::Names),
            ("(f x)", Stage::Names),
            ("(* x 0)", Stage::Operations),
            ("(sin x)", Stage::Operations),
            ("(+ x (+ x (+ x (+ x (+ x y)))))", Stage::Size),
        ];
        for (text, stage) in cases {
            let found = read(text, &contract).expect_err(text);
            assert_eq!(found.stage, stage, "{text}: {found:?}");
            assert!(!found.message.is_empty(), "{text}");
        }
    }

    #[test]
    fn real_numbers_become_parameters() {
        let inputs = ["x".to_string()];
        let operations = Operations::default();
        let contract = Contract { inputs: &inputs, operations: &operations, size: 40 };
        let found = read("(params (k free 3.0)) (+ (* k (exp (* -0.5 x))) 2)", &contract).expect("it is a candidate");
        assert_eq!(found.expr.parameters(), 2);
        let same = read("(+ 2 (* (exp (* x 7.5)) 1.5))", &contract).expect("it is a candidate");
        assert_eq!(found.hash, same.hash);
        assert_eq!(found.formula(&inputs, &found.values), "(+ 2 (* 3 (exp (* x -0.5))))");
    }
}
