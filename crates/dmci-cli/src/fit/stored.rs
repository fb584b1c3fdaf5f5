//! Fits that were written to files, read back.

use crate::files;
use dmci::{Datum, Diagnostic, Program, Report};
use serde_json::Value as Json;
use std::path::Path;

/// Reads a fit and checks that it is one.
pub fn read(path: &Path) -> Result<Json, Report> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| files::cannot_read(&name, &error))?;
    let wrong = |message: String| {
        let help = "give a file that dmci fit --out has written";
        Report::of(*Diagnostic::error("E0906", format!("{name}: {message}")).help(help))
    };
    let json: Json = serde_json::from_str(&text).map_err(|_| wrong("it is no JSON".into()))?;
    match json["schema"].as_str() {
        Some("dmci-fit-1") => Ok(json),
        Some(other) => Err(wrong(format!("expected the schema dmci-fit-1, got {other}"))),
        None => Err(wrong("it is no fit".into())),
    }
}

/// The program that was fitted.
pub fn program(fit: &Json) -> Program {
    let name = fit["program"]["file"].as_str().unwrap_or("<fit>");
    Program::named(name, fit["program"]["text"].as_str().unwrap_or_default())
}

/// The fitted value of every parameter that is the same in all groups, as a datum.
pub fn values(fit: &Json) -> Vec<(String, Datum)> {
    let Some(parameters) = fit["parameters"].as_object() else { return Vec::new() };
    let mut list = Vec::new();
    for (name, entry) in parameters {
        let number = |json: &Json| json.as_f64().map(Datum::Real);
        let datum = match entry["numbers"].as_array() {
            None => number(&entry["value"]),
            // Values by group have names like k[north].
            Some(numbers) if numbers.iter().any(|n| n["name"].as_str().is_some_and(|n| n.ends_with(']'))) => None,
            Some(numbers) => {
                numbers.iter().map(|n| number(&n["value"])).collect::<Option<Vec<Datum>>>().map(Datum::list)
            }
        };
        list.extend(datum.map(|datum| (name.clone(), datum)));
    }
    list
}

/// Starts for another fit.
pub fn starts(path: &Path) -> Result<Vec<(String, Datum)>, Report> {
    Ok(values(&read(path)?))
}
