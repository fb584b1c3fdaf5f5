//! What was predicted, as a table of text and as JSON.

use super::spread::Spread;
use super::{Band, TargetPrediction};
use crate::fitted_groups::FittedGroup;
use crate::record::FitRecord;
use dmci::{Batch, Column, Datum, Diagnostic, ErrorCode, Names, Report};
use dmci_table::{Table, TableColumn, reals};
use serde_json::{Map, Value as Json, json};
use std::fmt::Write;

/// The name and version of the JSON form.
const SCHEMA: &str = "dmci-predict-1";

/// What was predicted for the rows of a table.
#[derive(Clone, Debug, Default)]
pub struct Prediction {
    /// The columns that were read, as they were given.
    pub inputs: Vec<TableColumn>,
    /// The predictions of every target.
    pub targets: Vec<TargetPrediction>,
    /// The probability of the intervals.
    pub level: f64,
    /// Rows without a prediction because something is missing.
    pub missing: Vec<usize>,
    /// Rows in which the program failed.
    pub failures: Vec<(usize, Report)>,
    /// Rows without a prediction because the run was stopped; one of them is among the failures.
    pub cut: Vec<usize>,
    /// What is worth knowing.
    pub warnings: Report,
    /// What the program warns of.
    pub(super) program_warnings: Report,
    rows: usize,
}

impl Prediction {
    /// Nothing yet.
    pub(super) fn new(fit: &FitRecord, names: &Names, table: &Table, level: f64, missing: Vec<usize>) -> Prediction {
        let is_read = |c: &&TableColumn| names.mentioned.contains(&c.name) || fit.data.group.as_ref() == Some(&c.name);
        let target = |name: &String| TargetPrediction { name: name.clone(), ..TargetPrediction::default() };
        Prediction {
            inputs: table.columns.iter().filter(is_read).cloned().collect(),
            targets: fit.data.targets.iter().map(target).collect(),
            level,
            missing,
            rows: table.rows,
            ..Prediction::default()
        }
    }

    /// Makes room for all rows.
    pub(super) fn begin(&mut self, spread: &Option<Spread>) {
        for target in &mut self.targets {
            target.values = vec![f64::NAN; self.rows];
            let Some(spread) = spread else { continue };
            target.errors = vec![f64::NAN; self.rows];
            target.bands = spread.bands.iter().map(|band| (*band, vec![(f64::NAN, f64::NAN); self.rows])).collect();
        }
    }

    /// Takes what a model gave for the rows of a group.
    pub(super) fn add(&mut self, batch: &Batch, group: &FittedGroup, numbers: &[String], spread: &Option<Spread>) {
        let (m, n) = (self.targets.len(), numbers.len());
        let places = spread.as_ref().map(|spread| spread.places(numbers, &group.name));
        for (i, &row) in group.rows.iter().enumerate() {
            for (k, target) in self.targets.iter_mut().enumerate() {
                let value = batch.values[i * m + k];
                target.values[row] = value;
                let (Some(spread), Some(places)) = (spread, &places) else { continue };
                let error = match batch.gradients.get((i * m + k) * n..(i * m + k + 1) * n) {
                    Some(gradient) if value.is_finite() => spread.error(gradient, places),
                    _ => f64::NAN,
                };
                target.errors[row] = error;
                for (band, list) in &mut target.bands {
                    list[row] = spread.interval(*band, value, error, row, &group.name);
                }
            }
        }
        self.failures.extend(batch.failures.iter().map(|(i, failure)| (group.rows[*i], failure.clone())));
        self.cut.extend(batch.cut.iter().map(|&i| group.rows[i]));
    }

    /// Says what is worth knowing about all rows.
    pub(super) fn finish(&mut self, fit: &FitRecord, table: &Table, spread: &Option<Spread>) {
        self.failures.sort_by_key(|f| f.0);
        let mut warn = |code, message: String| self.warnings.append(Report::from(Diagnostic::warning(code, message)));
        if !self.missing.is_empty() {
            let message = format!("{}: {}, because something is missing", table.name, rows_have(self.missing.len()));
            warn(ErrorCode::W0702, message);
        }
        for column in &self.inputs {
            let (Some((low, high)), Ok(numbers)) = (fit.data.ranges.get(&column.name), reals(&column.values)) else {
                continue;
            };
            let beyond = numbers.iter().filter(|x| **x < low.0 || **x > high.0).count();
            if beyond > 0 {
                let (name, rows) = (&column.name, if self.rows == 1 { "row lies" } else { "rows lie" });
                let fitted = format!("the fit saw {name} from {} to {}", low.0, high.0);
                warn(ErrorCode::W0703, format!("{beyond} of {} {rows} beyond the data: {fitted}", self.rows));
            }
        }
        let Some(spread) = spread else { return };
        let unknown = spread.undetermined();
        let is_open = |t: &TargetPrediction| t.errors.iter().zip(&t.values).any(|(e, y)| e.is_nan() && y.is_finite());
        if !unknown.is_empty() && self.targets.iter().any(is_open) {
            let names = unknown.join(", ");
            warn(
                ErrorCode::W0704,
                format!("rows that depend on {names} have no interval: the data do not determine it"),
            );
        }
        if let Some(why) = &spread.left_out {
            warn(ErrorCode::W0704, why.clone());
        }
        self.warnings.append(std::mem::take(&mut self.program_warnings));
    }

    /// The predictions as a table of text: the columns that were read, then every target with its intervals.
    pub fn to_csv(&self) -> String {
        let mut heads: Vec<String> = self.inputs.iter().map(|c| escaped(&c.name)).collect();
        for target in &self.targets {
            let part = |word: &str| escaped(&format!("{}_{word}", target.name));
            heads.push(escaped(&target.name));
            heads.extend((!target.errors.is_empty()).then(|| part("error")));
            for (band, _) in &target.bands {
                heads.extend(["low", "high"].map(|end| part(&format!("{}_{end}", band.name()))));
            }
        }
        let mut text = heads.join(",") + "\n";
        for row in 0..self.rows {
            let mut fields: Vec<String> = self.inputs.iter().map(|column| field_of(column, row)).collect();
            for target in &self.targets {
                fields.push(number(target.values[row]));
                fields.extend(target.errors.get(row).copied().map(number));
                fields.extend(target.bands.iter().flat_map(|(_, list)| [list[row].0, list[row].1].map(number)));
            }
            let _ = writeln!(text, "{}", fields.join(","));
        }
        text
    }

    /// The predictions as one object; a row without a prediction has null. Failures and warnings are written by
    /// `report`, as the front end spells settings.
    pub fn to_json(&self, report: impl Fn(&Report) -> Json) -> Json {
        let real = |x: &f64| if x.is_nan() { Json::Null } else { Datum::Real(*x).to_json() };
        let list = |numbers: &[f64]| Json::Array(numbers.iter().map(real).collect());
        let input = |column: &TableColumn| match &column.values {
            Column::Reals(numbers) => list(numbers),
            Column::Data(data) => data.iter().map(Datum::to_json).collect(),
            Column::Shaped(..) => Json::Null,
        };
        let mut targets = Map::new();
        for target in &self.targets {
            let mut own = Map::from_iter([("value".to_string(), list(&target.values))]);
            if !target.errors.is_empty() {
                own.insert("error".into(), list(&target.errors));
            }
            for (band, ends) in &target.bands {
                let (low, high): (Vec<f64>, Vec<f64>) = ends.iter().copied().unzip();
                own.insert(band.name().into(), json!({"low": list(&low), "high": list(&high)}));
            }
            targets.insert(target.name.clone(), Json::Object(own));
        }
        let failure = |(row, why): &(usize, Report)| json!({"row": row + 1, "error": report(why)});
        json!({
            "schema": SCHEMA,
            "level": self.level,
            "inputs": self.inputs.iter().map(|c| (c.name.clone(), input(c))).collect::<Map<String, Json>>(),
            "targets": targets,
            "failures": self.failures.iter().map(failure).collect::<Vec<Json>>(),
            "warnings": report(&self.warnings),
        })
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// An interval of a target.
    pub fn band(&self, target: usize, band: Band) -> Option<&[(f64, f64)]> {
        let bands = &self.targets.get(target)?.bands;
        bands.iter().find(|(own, _)| *own == band).map(|(_, list)| &list[..])
    }
}

fn rows_have(count: usize) -> String {
    if count == 1 { "1 row has no prediction".into() } else { format!("{count} rows have no prediction") }
}

/// A number as a field of a table.
fn number(x: f64) -> String {
    if x.is_nan() { "nan".into() } else { format!("{x:?}") }
}

/// A field as it was given.
fn field_of(column: &TableColumn, row: usize) -> String {
    match &column.values {
        _ if column.missing.binary_search(&row).is_ok() => String::new(),
        Column::Reals(list) => number(list[row]),
        Column::Data(list) => match &list[row] {
            Datum::String(text) => escaped(text),
            _ => column.shown(row),
        },
        Column::Shaped(..) => String::new(),
    }
}

/// A text as a field of a table.
fn escaped(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_string(),
    }
}
