//! How far predictions may be off: what a fit says about its parameters and about noise.

use super::{Band, PredictSettings};
use crate::binding::find_column;
use crate::record::{FitRecord, FoundRecord, NumberRecord, Numbers, UncertaintyRecord};
use dmci::{Diagnostic, ErrorCode, Names, Report};
use dmci_ops::real::sqrt;
use dmci_stats::distribution::{normal_quantile, student_quantile};
use dmci_table::Table;
use std::collections::BTreeMap;

/// How far predictions may be off.
pub struct Spread {
    /// The intervals that are given.
    pub bands: Vec<Band>,
    /// Which numbers of the fit have which place in the covariance.
    index: BTreeMap<String, usize>,
    /// Covariances of these numbers, row by row; a number that the data do not determine has NaN for its variance.
    covariance: Vec<f64>,
    /// What a standard deviation is multiplied with for an interval.
    quantile: f64,
    /// The standard deviation of each row of the table; empty without a band of prediction.
    noise: Vec<f64>,
    /// The parameter that it is multiplied with.
    sigma: Option<BTreeMap<String, f64>>,
    /// Why an interval that nobody asked for by name is left out.
    pub left_out: Option<String>,
}

fn refused(message: impl Into<String>, help: &str) -> Report {
    Report::from(Diagnostic::error(ErrorCode::E0812, message).help(help))
}

impl Spread {
    /// What a fit says about the rows of a table. An interval that was asked for and cannot be given is refused; without
    /// a wish, the intervals are those that can be given.
    pub fn new(
        fit: &FitRecord,
        names: &Names,
        table: &Table,
        settings: &PredictSettings,
    ) -> Result<Option<Spread>, Report> {
        let wanted = settings.interval.clone().unwrap_or(vec![Band::Confidence, Band::Prediction]);
        if wanted.is_empty() {
            return Ok(None);
        }
        let known = match confidence(fit) {
            Ok(known) => known,
            Err(report) if settings.interval.is_some() => return Err(report),
            Err(_) => return Ok(None),
        };
        let covariance = covariance(fit, known);
        let index = known.names.iter().cloned().enumerate().map(|(i, name)| (name, i)).collect();
        let p = 0.5 + 0.5 * settings.level;
        let quantile = known.freedom.map_or_else(|| normal_quantile(p), |f| student_quantile(p, f as f64));
        let mut spread =
            Spread { bands: wanted, index, covariance, quantile, noise: Vec::new(), sigma: None, left_out: None };
        if spread.bands.contains(&Band::Prediction) {
            match noise(fit, known, table) {
                Ok(noise) => spread.noise = noise,
                Err(report) if settings.interval.is_some() => return Err(report),
                Err(report) => {
                    spread.left_out = report.diagnostics.first().map(|d| d.message.clone());
                    spread.bands.retain(|band| *band != Band::Prediction);
                }
            }
            let is_noise = fit.loss.name == "gaussian" && !names.used.iter().any(|name| name == "sigma");
            spread.sigma = fit.parameters.get("sigma").filter(|_| is_noise).map(|p| match &p.numbers {
                Numbers::One(one) => BTreeMap::from([("sigma".to_string(), one.value.0)]),
                Numbers::Many { numbers } => numbers.iter().map(|n| (n.name.clone(), n.number.value.0)).collect(),
            });
        }
        Ok(Some(spread))
    }

    /// The places of the numbers of a group's parameters; none for a number that was not fitted.
    pub fn places(&self, numbers: &[String], group: &str) -> Vec<Option<usize>> {
        let place = |name: &String| self.index.get(name).or_else(|| self.index.get(&format!("{name}[{group}]")));
        numbers.iter().map(|name| place(name).copied()).collect()
    }

    /// The standard error of a prediction with these derivatives; NaN if it depends on a number that the data do not
    /// determine.
    pub fn error(&self, gradient: &[f64], places: &[Option<usize>]) -> f64 {
        let n = self.index.len();
        let moved =
            || places.iter().zip(gradient).filter_map(|(place, g)| Some(((*place)?, *g))).filter(|m| m.1 != 0.0);
        let mut variance = 0.0;
        for (i, a) in moved() {
            variance += moved().map(|(j, b)| a * self.covariance[i * n + j] * b).sum::<f64>();
        }
        // Rounding may leave a little less than nothing.
        sqrt(if variance < 0.0 { 0.0 } else { variance })
    }

    /// An interval around a prediction in a row of a group.
    pub fn interval(&self, band: Band, value: f64, error: f64, row: usize, group: &str) -> (f64, f64) {
        let deviation = match band {
            Band::Confidence => error,
            Band::Prediction => {
                let factor = self.sigma.as_ref().map_or(1.0, |all| {
                    let own = all.get("sigma").or_else(|| all.get(&format!("sigma[{group}]")));
                    own.copied().unwrap_or(f64::NAN)
                });
                let noise = factor * self.noise.get(row).copied().unwrap_or(f64::NAN);
                sqrt(error * error + noise * noise)
            }
        };
        (value - self.quantile * deviation, value + self.quantile * deviation)
    }

    /// The numbers of the fit that the data do not determine.
    pub fn undetermined(&self) -> Vec<&str> {
        let n = self.index.len();
        self.index
            .iter()
            .filter(|(_, i)| self.covariance[*i * (n + 1)].is_nan())
            .map(|(name, _)| name.as_str())
            .collect()
    }
}

const FIT_AGAIN: &str = "fit again with this version, and use the new file";

/// What a fit knows about its parameters together.
fn confidence(fit: &FitRecord) -> Result<&UncertaintyRecord, Report> {
    let Some(known) = &fit.uncertainty else {
        let why = fit.no_errors.as_deref().unwrap_or("its file has no errors of the parameters");
        return Err(refused(format!("the fit gives no intervals: {why}"), "predict with ‹interval none›"));
    };
    if known.noise.is_none() {
        let message = "the fit is of an earlier version, which did not keep what intervals of predictions need";
        return Err(refused(message, FIT_AGAIN));
    }
    Ok(known)
}

/// Covariances of all numbers of a fit.
fn covariance(fit: &FitRecord, known: &UncertaintyRecord) -> Vec<f64> {
    let error = |number: &NumberRecord| number.found.as_ref().and_then(|found: &FoundRecord| found.error).map(|e| e.0);
    let mut errors: BTreeMap<&str, Option<f64>> = BTreeMap::new();
    for (name, parameter) in &fit.parameters {
        match &parameter.numbers {
            Numbers::One(one) => drop(errors.insert(name, error(one))),
            Numbers::Many { numbers } => errors.extend(numbers.iter().map(|n| (n.name.as_str(), error(&n.number)))),
        }
    }
    let errors: Vec<Option<f64>> =
        known.names.iter().map(|name| errors.get(name.as_str()).copied().flatten()).collect();
    let n = errors.len();
    let entry = |k: usize| match (k / n, k % n, errors[k / n], errors[k % n]) {
        (i, j, None, _) | (i, j, _, None) => {
            if i == j {
                f64::NAN
            } else {
                0.0
            }
        }
        (i, j, Some(a), Some(_)) if i == j => a * a,
        (i, j, Some(a), Some(b)) => {
            let correlation = known.correlations.get(i).and_then(|row| row.get(j)).map_or(f64::NAN, |c| c.0);
            // A number without an error has no correlation.
            if correlation.is_nan() { 0.0 } else { correlation * a * b }
        }
    };
    (0..n * n).map(entry).collect()
}

/// The standard deviation of every row of a table, before it is multiplied with a parameter.
fn noise(fit: &FitRecord, known: &UncertaintyRecord, table: &Table) -> Result<Vec<f64>, Report> {
    let noise = known.noise.clone().unwrap_or_default();
    let Some(deviation) = noise.deviation else {
        let message = format!("the {} loss has no normal noise, so there is no interval of prediction", fit.loss.name);
        return Err(refused(message, "predict with ‹interval confidence›"));
    };
    let mut list = vec![deviation.0; table.rows];
    for (column, is_weight) in [(&noise.sigma, false), (&noise.weights, true)] {
        let Some(name) = column else { continue };
        if table.column(name).is_none() {
            let what = if is_weight { "weights" } else { "standard deviations" };
            let message = format!("{}: {name}, the column of {what} of the fit, is not there", table.name);
            let help = "an interval of prediction needs it: add the column, or predict with ‹interval confidence›";
            return Err(refused(message, help));
        }
        let numbers = find_column(table, name)?.reals().map_err(|row| {
            let message = format!("{}: row {} of column {name} must be a number", table.name, row + 1);
            Report::from(Diagnostic::error(ErrorCode::E0705, message).help("correct the field"))
        })?;
        let factor = |x: f64| if is_weight { 1.0 / sqrt(x) } else { x };
        list.iter_mut().zip(numbers).for_each(|(deviation, x)| *deviation *= factor(x));
    }
    Ok(list)
}
