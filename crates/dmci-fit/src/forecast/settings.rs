//! What is forecast, from where and how far.

use super::wrong;
use crate::request::settings_from_map;
use dmci::Report;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value as Json};

/// What is forecast, from where and how far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ForecastSettings {
    /// Column of times
    pub time: String,
    /// The last times that are known: COLUMN:FROM:TO:STEP, or FROM:TO:STEP of the column of times
    pub origins: String,
    /// How far ahead, in units of the column of times
    #[serde(deserialize_with = "numbers")]
    pub horizons: Vec<f64>,
    /// Column of groups, each a series of its own
    pub group: Option<String>,
    /// The parameters that are fitted again at each origin; the others are fitted once
    #[serde(deserialize_with = "words")]
    pub refit: Vec<String>,
    /// persistence, damped:0.9, climatology, climatology:PERIOD, anomaly:0.9, ar:3, ar:3:pooled
    #[serde(deserialize_with = "words")]
    pub baselines: Vec<String>,
    /// Probabilities of the intervals
    #[serde(deserialize_with = "numbers")]
    pub levels: Vec<f64>,
}

impl Default for ForecastSettings {
    fn default() -> Self {
        ForecastSettings {
            time: String::new(),
            origins: String::new(),
            horizons: vec![1.0],
            group: None,
            refit: Vec::new(),
            baselines: vec!["persistence".into()],
            levels: vec![0.5, 0.8, 0.95],
        }
    }
}

/// A list of numbers, one number, or a text with commas between them.
fn numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    let wrong = || serde::de::Error::custom("expected numbers with commas between them");
    let list = match Json::deserialize(deserializer)? {
        Json::String(text) => text.split(',').map(|word| word.trim().parse().ok()).collect(),
        Json::Array(list) => list.iter().map(Json::as_f64).collect(),
        one => one.as_f64().map(|x| vec![x]),
    };
    list.ok_or_else(wrong)
}

/// A list of texts; a text is a list with commas. `none` is an empty one.
fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let wrong = || serde::de::Error::custom("expected words with commas between them");
    let list: Option<Vec<String>> = match Json::deserialize(deserializer)? {
        Json::String(text) => Some(text.split(',').map(|word| word.trim().to_string()).collect()),
        Json::Array(list) => list.iter().map(|word| word.as_str().map(str::to_string)).collect(),
        _ => None,
    };
    let list = list.ok_or_else(wrong)?;
    Ok(if list == ["none"] { Vec::new() } else { list })
}

impl ForecastSettings {
    /// The settings that have a value by default, with that value as text.
    pub fn defaults() -> [(String, String); 3] {
        let usual = ForecastSettings::default();
        let list = |numbers: &[f64]| numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
        [("horizons", list(&usual.horizons)), ("baselines", usual.baselines.join(",")), ("levels", list(&usual.levels))]
            .map(|(name, value)| (name.to_string(), value))
    }

    /// The names of all settings.
    pub fn names() -> [String; 7] {
        ["time", "origins", "horizons", "group", "refit", "baselines", "levels"].map(String::from)
    }

    /// The settings of a table. A setting that is null has its default.
    pub fn from_map(settings: Map<String, Json>) -> Result<ForecastSettings, Report> {
        let mut read: ForecastSettings = settings_from_map(settings, &ForecastSettings::names(), |map| {
            ForecastSettings::deserialize(Json::Object(map))
        })?;
        for (name, value) in [("time", &read.time), ("origins", &read.origins)] {
            if value.is_empty() {
                return wrong(
                    format!("a forecast needs ‹{name}›"),
                    "write ‹time t› and ‹origins t:8:40:3›, for example",
                );
            }
        }
        if let Some(h) = read.horizons.iter().find(|h| !(**h > 0.0 && h.is_finite())) {
            return wrong(format!("‹horizons› must be above 0, got {h}"), "write ‹horizons 1,2,3,4›, for example");
        }
        if let Some(level) = read.levels.iter().find(|level| !(**level > 0.0 && **level < 1.0)) {
            return wrong(
                format!("‹levels› must lie between 0 and 1, got {level}"),
                "write ‹levels 0.5,0.95›, for example",
            );
        }
        for list in [&mut read.horizons, &mut read.levels] {
            list.sort_by(f64::total_cmp);
            list.dedup();
        }
        Origins::parse(&read.origins)?;
        Ok(read)
    }

    /// The columns that matter besides those of the program.
    pub fn columns(&self) -> Vec<String> {
        let origins = Origins::parse(&self.origins).ok().and_then(|o| o.column);
        [Some(self.time.clone()), self.group.clone(), origins].into_iter().flatten().collect()
    }
}

/// The last times that are known: those of rows in which a column has one of some values.
#[derive(Clone, Debug, PartialEq)]
pub struct Origins {
    /// The column, if it is not that of times.
    pub column: Option<String>,
    /// The first value.
    pub from: f64,
    /// The last value, if a step meets it.
    pub to: f64,
    /// From one value to the next.
    pub step: f64,
}

impl Origins {
    /// Reads `week:8:40:3`, `8:40:3` or `8:40`.
    pub fn parse(text: &str) -> Result<Origins, Report> {
        let parts: Vec<&str> = text.split(':').collect();
        let numbers: Vec<f64> = parts.iter().rev().map_while(|part| part.trim().parse().ok()).take(3).collect();
        let column = parts[..parts.len() - numbers.len()].join(":");
        let found = match numbers[..] {
            [step, to, from] => Some((from, to, step)),
            [to, from] => Some((from, to, 1.0)),
            _ => None,
        };
        match found.filter(|(from, to, step)| from <= to && *step > 0.0 && to.is_finite() && from.is_finite()) {
            Some((from, to, step)) => Ok(Origins { column: Some(column).filter(|c| !c.is_empty()), from, to, step }),
            None => wrong(
                format!("‹origins› must say from where to where forecasts start, got {text}"),
                "write COLUMN:FROM:TO:STEP, such as week:8:40:3, or FROM:TO:STEP in units of ‹time›",
            ),
        }
    }

    /// Whether a value is one of them, up to a twentieth of a step: times as decimals are not even.
    pub fn has(&self, value: f64) -> bool {
        let steps = (value - self.from) / self.step;
        let whole = dmci_ops::real::floor(steps + 0.5);
        let near = 0.05;
        (steps - whole).abs() < near && whole >= 0.0 && value <= self.to + near * self.step
    }
}
