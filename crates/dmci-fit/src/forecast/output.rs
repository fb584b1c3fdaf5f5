//! Forecasts as a table with a conclusion, as rows of text, as JSON and as a figure.

use super::score::{Interval, Ratio, Scores, scores};
use super::{Cast, ForecastSettings};
use dmci::Datum;
use dmci_plot::figure::{Figure, Line};
use dmci_plot::{aligned, digits};
use serde_json::{Value as Json, json};
use std::fmt::Write;

/// The name and version of the JSON form.
const SCHEMA: &str = "dmci-forecast-1";

/// Forecasts, scored.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// The names of the forecasters: the model, then the baselines.
    pub names: Vec<String>,
    /// The names of the series; one without a name if there are no groups.
    pub series: Vec<String>,
    /// The column that was forecast.
    pub target: String,
    /// What was asked for.
    pub settings: ForecastSettings,
    /// The forecasts, in the order of origins.
    pub casts: Vec<Cast>,
    /// How many forecasts were left out because one of the forecasters has none.
    pub left_out: usize,
    /// The scores of every forecaster, over all horizons and at each.
    pub scores: Vec<Scores>,
    /// The model beside the best baseline; none without baselines.
    pub ratio: Option<Ratio>,
}

/// A share in percent.
fn percent(share: f64) -> String {
    format!("{}%", digits(100.0 * share, 3))
}

impl Forecast {
    /// Scores forecasts.
    pub(super) fn new(
        names: Vec<String>,
        series: Vec<String>,
        target: String,
        settings: ForecastSettings,
        casts: Vec<Cast>,
        left_out: usize,
        seed: u64,
    ) -> Forecast {
        let (scores, ratio) = scores(&casts, &settings, seed);
        Forecast { names, series, target, settings, casts, left_out, scores, ratio }
    }

    /// The table and its conclusion.
    pub fn text(&self) -> String {
        let has_bands = self.scores.iter().any(|s| s.wis.is_some());
        let resampled = self.scores.iter().any(|s| s.rmse_interval.is_some());
        let mut head: Vec<String> = ["forecaster", "horizon", "forecasts", "RMSE"].map(String::from).to_vec();
        if resampled {
            head.push("95% interval".into());
        }
        head.push("MAE".into());
        if has_bands {
            head.push("WIS".into());
            head.extend(self.settings.levels.iter().map(|level| format!("in {}", percent(*level))));
        }
        let mut rows = vec![head];
        for s in &self.scores {
            // One horizon is all of them.
            if s.horizon.is_some() && self.settings.horizons.len() == 1 {
                continue;
            }
            let name = if s.horizon.is_none() { self.names[s.forecaster].clone() } else { String::new() };
            let horizon = s.horizon.map_or("all".to_string(), |h| self.settings.horizons[h].to_string());
            let mut row = vec![name, horizon, s.count.to_string(), digits(s.rmse, 4)];
            if resampled {
                let shown = |(low, high): Interval| format!("{} to {}", digits(low, 3), digits(high, 3));
                row.push(s.rmse_interval.map_or(String::new(), shown));
            }
            row.push(digits(s.mae, 4));
            if has_bands {
                row.push(s.wis.map_or(String::new(), |wis| digits(wis, 4)));
                row.extend(s.coverage.iter().map(|share| percent(*share)));
            }
            rows.push(row);
        }
        format!("{}\n{}\n", aligned(&rows), self.conclusion())
    }

    /// The origins of the forecasts that were scored.
    pub fn origins(&self) -> Vec<f64> {
        let mut origins: Vec<f64> = self.casts.iter().map(|c| c.origin).collect();
        origins.sort_by(f64::total_cmp);
        origins.dedup();
        origins
    }

    /// What the scores say, in a sentence or two.
    pub fn conclusion(&self) -> String {
        let model = &self.names[0];
        let all = |f: usize| self.scores.iter().find(|s| s.forecaster == f && s.horizon.is_none());
        let mut text = match &self.ratio {
            None => format!("{model} has an RMSE of {}.", all(0).map_or(String::new(), |s| digits(s.rmse, 4))),
            Some(Ratio { baseline, ratio, interval }) => {
                let other = &self.names[*baseline];
                let between = interval.map_or(String::new(), |(low, high)| {
                    format!("; 95% interval {} to {}", digits(low, 3), digits(high, 3))
                });
                let by_chance = interval.is_none_or(|(low, high)| low <= 1.0 && high >= 1.0);
                let verdict = match (by_chance, *ratio < 1.0, interval.is_some()) {
                    (true, _, true) => format!("{model} and {other}, the best baseline, may be as good as each other"),
                    (_, true, _) => format!("{model} forecasts better than {other}, the best baseline"),
                    _ => format!("{other} forecasts better than {model}"),
                };
                let few = match interval {
                    None => " There are too few origins for an interval of that ratio.",
                    Some(_) => "",
                };
                format!("{verdict} (ratio of RMSE {}{between}).{few}", digits(*ratio, 3))
            }
        };
        if let (Some(scores), Some(level)) = (all(0), self.settings.levels.last())
            && let Some(share) = scores.coverage.last()
        {
            text += &format!(
                " The {} intervals of {model} hold {} of {} measurements.",
                percent(*level),
                percent(*share),
                scores.with_intervals
            );
        }
        if self.left_out > 0 {
            let each = if self.left_out == 1 { "measurement was" } else { "measurements were" };
            text += &format!(" {} {each} left out because one of the forecasters has no forecast.", self.left_out);
        }
        text
    }

    /// All forecasts as a table of text, a row for each measurement and forecaster.
    pub fn to_csv(&self) -> String {
        let mut heads = ["forecaster", "group", "origin", "horizon", "time", "truth", "forecast"].join(",");
        for level in &self.settings.levels {
            let _ = write!(heads, ",low_{0},high_{0}", digits(100.0 * level, 6));
        }
        let number = |x: f64| if x.is_nan() { "nan".to_string() } else { format!("{x:?}") };
        let escaped = |text: &str| match text.contains([',', '"', '\n', '\r']) {
            true => format!("\"{}\"", text.replace('"', "\"\"")),
            false => text.to_string(),
        };
        let mut text = heads + "\n";
        for cast in &self.casts {
            for (f, name) in self.names.iter().enumerate() {
                let horizon = self.settings.horizons[cast.horizon];
                let mut fields = vec![escaped(name), escaped(&self.series[cast.series])];
                fields.extend([cast.origin, horizon, cast.time, cast.truth, cast.values[f]].map(number));
                fields.extend(cast.intervals[f].iter().flat_map(|&(low, high)| [number(low), number(high)]));
                let _ = writeln!(text, "{}", fields.join(","));
            }
        }
        text
    }

    /// Scores and forecasts as one object.
    pub fn to_json(&self) -> Json {
        let real = |x: f64| if x.is_nan() { Json::Null } else { Datum::Real(x).to_json() };
        let interval = |i: Option<Interval>| i.map_or(Json::Null, |(low, high)| json!([real(low), real(high)]));
        let score = |s: &Scores| {
            json!({
                "forecaster": self.names[s.forecaster],
                "horizon": s.horizon.map(|h| self.settings.horizons[h]),
                "count": s.count,
                "rmse": real(s.rmse),
                "rmse_interval": interval(s.rmse_interval),
                "mae": real(s.mae),
                "wis": s.wis.map(real),
                "with_intervals": s.with_intervals,
                "coverage": s.coverage.iter().map(|share| real(*share)).collect::<Vec<Json>>(),
            })
        };
        let cast = |c: &Cast| {
            let own = |f: usize| {
                let ends: Vec<Json> =
                    c.intervals[f].iter().map(|&(low, high)| json!([real(low), real(high)])).collect();
                json!({"value": real(c.values[f]), "intervals": ends})
            };
            let all: serde_json::Map<String, Json> =
                self.names.iter().enumerate().map(|(f, name)| (name.clone(), own(f))).collect();
            json!({
                "origin": c.origin,
                "group": self.series[c.series],
                "horizon": self.settings.horizons[c.horizon],
                "time": c.time,
                "truth": real(c.truth),
                "forecasts": all,
            })
        };
        let ratio = self.ratio.as_ref().map(
            |r| json!({"baseline": self.names[r.baseline], "ratio": real(r.ratio), "interval": interval(r.interval)}),
        );
        json!({
            "schema": SCHEMA,
            "target": self.target,
            "time": self.settings.time,
            "horizons": self.settings.horizons,
            "levels": self.settings.levels,
            "refit": self.settings.refit,
            "origins": self.origins(),
            "scores": self.scores.iter().map(score).collect::<Vec<Json>>(),
            "ratio": ratio,
            "forecasts": self.casts.iter().map(cast).collect::<Vec<Json>>(),
            "left_out": self.left_out,
            "conclusion": self.conclusion(),
        })
    }

    /// The error of every forecaster over the horizon; with one horizon, measurements and forecasts over time.
    pub fn figure(&self) -> Figure {
        let time = &self.settings.time;
        if self.settings.horizons.len() == 1 {
            let h = self.settings.horizons[0];
            let title = format!("{} forecast {h} ahead, over {time}", self.target);
            let mut figure = Figure::new("forecast", &title, time, &self.target, (false, false));
            let points = |value: &dyn Fn(&Cast) -> f64| self.casts.iter().map(|c| (c.time, value(c))).collect();
            figure.lines.push(Line::new("measured", points(&|c| c.truth)).marks());
            for (f, name) in self.names.iter().enumerate() {
                figure.lines.push(Line::new(name, points(&|c| c.values[f])).marks());
            }
            return figure;
        }
        let title = format!("error of forecasts of {} over the horizon", self.target);
        let x = format!("horizon, in units of {time}");
        let mut figure = Figure::new("forecast", &title, &x, "RMSE", (false, false));
        for (f, name) in self.names.iter().enumerate() {
            let own = self.scores.iter().filter(|s| s.forecaster == f);
            let points = own.filter_map(|s| Some((self.settings.horizons[s.horizon?], s.rmse)));
            figure.lines.push(Line::new(name, points.collect()));
        }
        figure
    }
}
