//! New rows from a fit that was written to a file, with intervals: the errors of the parameters are carried over to
//! predictions by the derivatives of the program (the delta method).

mod grid;
mod output;
mod spread;

pub use grid::Grid;
pub use output::Prediction;

use crate::fitted_groups::{FittedGroup, fitted_groups};
use crate::prepared::{Prepared, check_settings, number_names, present, rows_without};
use crate::record::FitRecord;
use crate::request::{columns_of, refusal, settings_from_map, with_matrices};
use dmci::{Batch, Diagnostic, ErrorCode, Interpreter, Model, ModelOptions, Names, Report, RunOptions, Want, nearest};
use dmci_table::Table;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use spread::Spread;

/// An interval around a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Band {
    /// Where the fitted curve lies.
    Confidence,
    /// Where a new measurement lies.
    Prediction,
}

impl Band {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Band::Confidence => "confidence",
            Band::Prediction => "prediction",
        }
    }
}

/// How new rows are predicted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PredictSettings {
    /// Intervals: confidence, prediction; by default those that the fit has
    #[serde(deserialize_with = "bands")]
    pub interval: Option<Vec<Band>>,
    /// Probability of the intervals
    pub level: f64,
    /// Where to predict instead of in the rows of a table: x=0:10:101, with other columns behind commas
    pub at: Option<String>,
}

impl Default for PredictSettings {
    fn default() -> Self {
        PredictSettings { interval: None, level: 0.95, at: None }
    }
}

/// A list of intervals, or a text with commas between them.
fn bands<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Band>>, D::Error> {
    let words = match Option::<Json>::deserialize(deserializer)? {
        None | Some(Json::Null) => return Ok(None),
        Some(Json::String(text)) => text.split(',').map(|word| Json::String(word.trim().to_string())).collect(),
        Some(list) => list,
    };
    if words == Json::Array(vec![Json::String("none".into())]) {
        return Ok(Some(Vec::new()));
    }
    let wrong =
        |_| serde::de::Error::custom("expected confidence, prediction, both with a comma between them, or none");
    serde_json::from_value(words).map(Some).map_err(wrong)
}

impl PredictSettings {
    /// The settings that have a value by default, with that value as text.
    pub fn defaults() -> [(String, String); 1] {
        [("level".to_string(), PredictSettings::default().level.to_string())]
    }

    /// The settings of a table. A setting that is null has its default.
    pub fn from_map(settings: Map<String, Json>) -> Result<PredictSettings, Report> {
        let names = ["interval", "level", "at"].map(String::from);
        let read: PredictSettings =
            settings_from_map(settings, &names, |map| PredictSettings::deserialize(Json::Object(map)))?;
        if !(read.level > 0.0 && read.level < 1.0) {
            let message = format!("‹level› must be a number between 0 and 1, got {}", read.level);
            return Err(refusal(message, "write ‹level 0.95›, for example"));
        }
        Ok(read)
    }
}

/// The prediction of one target, row by row; NaN where there is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetPrediction {
    /// The column that was fitted.
    pub name: String,
    /// Predictions.
    pub values: Vec<f64>,
    /// Their standard errors; empty without intervals.
    pub errors: Vec<f64>,
    /// Lower and upper ends of each interval that was asked for.
    pub bands: Vec<(Band, Vec<(f64, f64)>)>,
}

/// The names of a program, after refusing a fit that rows cannot be predicted from.
fn names_of(fit: &FitRecord) -> Result<Names, Report> {
    if fit.is_objective() {
        let message = "the fit is of an objective, which sees whole columns and predicts no single row";
        let help = "dmci eval --fit runs it over other data";
        return Err(Report::from(Diagnostic::error(ErrorCode::E0812, message).help(help)));
    }
    Interpreter::shared().names(&fit.program())
}

/// The columns that are read to predict rows from a fit; others may hold anything.
pub fn columns_to_predict(fit: &FitRecord) -> Result<Vec<String>, Report> {
    let names = names_of(fit)?;
    let per = names.schema.parameters.iter().filter_map(|p| p.per.clone());
    let noise = fit.uncertainty.iter().filter_map(|u| u.noise.as_ref()).flat_map(|n| [&n.sigma, &n.weights]);
    let others = noise.flatten().cloned().chain(columns_of(&fit.data.matrices));
    Ok(names.mentioned.iter().cloned().chain(per).chain(others).collect())
}

/// Predicts the rows of a table. Values in `run` are for names that the program leaves open; its parameters have their
/// fitted values.
pub fn predict(
    fit: &FitRecord,
    table: &Table,
    settings: &PredictSettings,
    mut run: RunOptions,
) -> Result<Prediction, Report> {
    let program = fit.program();
    let names = names_of(fit)?;
    let table = &*with_matrices(table, &fit.data.matrices)?;
    if let Some((name, _)) = run.bindings.iter().find(|(name, _)| fit.parameters.contains_key(name)) {
        let message = format!("{name} is a parameter of the fit: predictions take its fitted value");
        return Err(refusal(message, format!("leave out ‹set {name}=...›; dmci eval --fit takes other values")));
    }
    let given = |name: &String| table.column(name).is_some() || run.bindings.iter().any(|(set, _)| set == name);
    if let Some(name) = fit.data.inputs.iter().find(|name| !given(name)) {
        let message = format!("the fit reads {name}, which is no column of {}", table.name);
        let help = match nearest(name, table.columns.iter().map(|c| c.name.as_str())) {
            Some(near) => format!("rename {near} to {name}, if that is it"),
            None => format!("add it; the columns are {}", table.column_names()),
        };
        return Err(Report::from(Diagnostic::error(ErrorCode::E0703, message).help(help)));
    }
    check_settings(&names, table, &run)?;
    run.bindings.extend(fit.values());
    let per = names.schema.parameters.iter().filter_map(|p| p.per.clone());
    let read: Vec<String> = names.mentioned.iter().cloned().chain(per).collect();
    let missing = rows_without(table, &read)?;
    let rows = present(table, &missing);
    let mut groups = fitted_groups(fit, &names, table, &rows)?;
    if groups.is_empty() {
        groups.push(FittedGroup { name: String::new(), rows, values: Vec::new() });
    }
    let mut result = Prediction::new(fit, &names, table, settings.level, missing);
    let spread = Spread::new(fit, &names, table, settings)?;
    result.begin(&spread);
    for group in groups {
        let mut run = run.clone();
        run.bindings.extend(group.values.iter().cloned());
        let Prepared { run, params, inputs, columns, point } = Prepared::new(&names, table, run, None, &group.rows)?;
        let numbers: Vec<String> = params.iter().flat_map(|(name, datum)| number_names(name, datum)).collect();
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let outputs = result.targets.len();
        let model = Model::with_params(
            program.clone(),
            params,
            &inputs,
            ModelOptions { run, outputs, output: false, ..ModelOptions::default() },
        );
        let mut batch = Batch::default();
        let want = if spread.is_some() { Want::Gradients } else { Want::Values };
        point.evaluate(&model, &columns, want, &mut batch)?;
        result.add(&batch, &group, &numbers, &spread);
        result.program_warnings = model.warnings();
    }
    result.finish(fit, table, &spread);
    Ok(result)
}
