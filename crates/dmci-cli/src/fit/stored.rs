//! Fits that were written to files, read back.

use crate::files;
use dmci::ErrorCode;
use dmci::{Datum, Diagnostic, Parameter, Program, Report, Schema};
use dmci_fit::GroupStart;
use serde_json::Value as Json;
use std::path::Path;

/// Reads a fit and checks that it is one.
pub fn read(path: &Path) -> Result<Json, Report> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| files::cannot_read(&name, &error))?;
    let wrong = |message: String| {
        let help = "give a file that dmci fit --out has written";
        Report::from(Diagnostic::error(ErrorCode::E0906, format!("{name}: {message}")).help(help))
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

/// The columns that were predicted.
pub fn targets(fit: &Json) -> Vec<String> {
    let list = fit["data"]["targets"].as_array().into_iter().flatten();
    list.filter_map(|name| name.as_str().map(String::from)).collect()
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

/// The names of the groups that were fitted.
pub fn groups(fit: &Json) -> Vec<&str> {
    fit["data"]["groups"].as_array().into_iter().flatten().filter_map(Json::as_str).collect()
}

/// The fitted values of the parameters that differ by group, for one group.
pub fn values_of(fit: &Json, schema: &Schema, group: &str) -> Vec<(String, Datum)> {
    let own = schema.parameters.iter().filter(|p| p.per.is_some());
    let value = |parameter: &Parameter| {
        // The number k[group] of a parameter, or the numbers w.0[group], w.1[group] of a tensor.
        let numbers = fit["parameters"][&parameter.name]["numbers"].as_array()?;
        let of_name = |name: String| numbers.iter().find(|n| n["name"].as_str() == Some(&format!("{name}[{group}]")));
        let number = |name: String| of_name(name)?["value"].as_f64().map(Datum::Real);
        let mut values = parameter.number_names().into_iter().map(number).collect::<Option<Vec<Datum>>>()?;
        let datum = if values.len() == 1 { values.remove(0) } else { Datum::list(values) };
        Some((parameter.name.clone(), datum))
    };
    own.filter_map(value).collect()
}

/// Where the groups of another fit start: where they ended in this one.
pub fn group_starts(fit: &Json, schema: &Schema) -> Vec<GroupStart> {
    let of_group = |group: &str| {
        let values = values_of(fit, schema, group).into_iter();
        let group = group.to_string();
        values.map(move |(parameter, start)| GroupStart { parameter, group: group.clone(), start })
    };
    groups(fit).into_iter().flat_map(of_group).collect()
}
