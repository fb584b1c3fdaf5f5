//! Forecasts from several origins: at each origin a model is fitted to what was known then, forecasts what came later,
//! and is scored beside simple baselines that knew the same.

mod baseline;
mod history;
mod model;
mod output;
mod score;
mod settings;

pub use baseline::Baseline;
pub use output::Forecast;
pub use score::{Interval, Ratio, Scores};
pub use settings::{ForecastSettings, Origins};

use crate::compare::Entrant;
use crate::fit::Progress;
use crate::request::refusal;
use baseline::Known;
use dmci::{Diagnostic, ErrorCode, Report, RunOptions};
use history::History;
use model::Forecaster;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// One measurement, with what everybody forecast for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Cast {
    /// The last time that was known.
    pub origin: f64,
    /// The number of its series.
    pub series: usize,
    /// The number of its horizon.
    pub horizon: usize,
    /// The time of the measurement.
    pub time: f64,
    /// What was measured.
    pub truth: f64,
    /// What each forecaster says, the model first.
    pub values: Vec<f64>,
    /// The ends of the intervals of each forecaster, one for each level; NaN where it has none.
    pub intervals: Vec<Vec<(f64, f64)>>,
}

/// Fits a model at every origin and scores its forecasts beside those of the baselines. `watch` is told how each fit
/// goes, and says when to stop.
pub fn forecast(
    entrant: &Entrant,
    settings: &ForecastSettings,
    run: &RunOptions,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Forecast, Report> {
    let origins = Origins::parse(&settings.origins)?;
    let baselines = settings.baselines.iter().map(|text| Baseline::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let history = History::new(entrant, settings, &origins)?;
    baselines.iter().try_for_each(|b| b.check(&history, &settings.horizons))?;
    let times = history.origins(&origins);
    check(&history, settings, &times, &entrant.table.name)?;
    let mut forecaster = Forecaster::new(entrant, settings, &history, run);
    let mut casts = Vec::new();
    for (number, &origin) in times.iter().enumerate() {
        let wanted = history.targets(origin, &settings.horizons);
        if wanted.is_empty() {
            continue;
        }
        forecaster.left = times.len() - number;
        let own = forecaster.at(origin, &wanted, watch)?;
        let known: Vec<Known> = baselines.iter().map(|b| Known::new(b, &history, origin)).collect();
        // How far each baseline was off at each horizon in what was known at this origin.
        let past: Vec<Vec<Vec<f64>>> =
            known.iter().map(|k| settings.horizons.iter().map(|&h| k.past_errors(h)).collect()).collect();
        for (target, own) in wanted.iter().zip(own) {
            let series = &history.series[target.series];
            let mut cast = Cast {
                origin,
                series: target.series,
                horizon: target.horizon,
                time: series.times[target.index],
                truth: series.values[target.index],
                values: vec![own.value],
                intervals: vec![own.intervals],
            };
            for (k, past) in known.iter().zip(&past) {
                let value = k.forecast(target.series, origin, settings.horizons[target.horizon]).unwrap_or(f64::NAN);
                cast.values.push(value);
                cast.intervals.push(around(value, &past[target.horizon], &settings.levels));
            }
            casts.push(cast);
        }
    }
    if !forecaster.has_intervals {
        from_earlier_errors(&mut casts, settings);
    }
    let left_out = casts.len();
    casts.retain(|cast| cast.values.iter().all(|v| v.is_finite()));
    let left_out = left_out - casts.len();
    if casts.is_empty() {
        let help = "choose later ‹origins›, with enough rows before them for the program and for every baseline";
        return Err(none_left("no measurement has a forecast of every forecaster", help, &entrant.table.name));
    }
    let names = std::iter::once(entrant.name.clone()).chain(settings.baselines.iter().cloned()).collect();
    let series = history.series.iter().map(|s| s.name.clone()).collect();
    Ok(Forecast::new(names, series, history.target, settings.clone(), casts, left_out, run.seed))
}

/// Refuses origins that no row has, and horizons at which nothing was measured.
fn check(history: &History, settings: &ForecastSettings, origins: &[f64], table: &str) -> Result<(), Report> {
    if origins.is_empty() {
        let message = format!("no row is an origin of {}", settings.origins);
        return Err(none_left(
            &message,
            "‹origins› name values that the column has: FROM, FROM+STEP, ... up to TO",
            table,
        ));
    }
    let found: Vec<usize> =
        origins.iter().flat_map(|&o| history.targets(o, &settings.horizons)).map(|target| target.horizon).collect();
    let Some(none) = (0..settings.horizons.len()).find(|h| !found.contains(h)) else { return Ok(()) };
    let message = format!("nothing was measured {} after any origin", settings.horizons[none]);
    let help = format!(
        "‹horizons› count in units of {}, whose usual step is {}",
        settings.time,
        dmci_plot::digits(history.step, 6)
    );
    Err(none_left(&message, &help, table))
}

/// Fails because nothing can be scored.
fn none_left(what: &str, help: &str, table: &str) -> Report {
    Report::from(Diagnostic::error(ErrorCode::E0708, format!("{table}: {what}")).help(help))
}

/// Intervals around a forecast: the k-th smallest size of past errors for each level, so that one more error of the
/// same kind lies within it with that probability (split conformal prediction).
fn around(value: f64, errors: &[f64], levels: &[f64]) -> Vec<(f64, f64)> {
    let mut sizes: Vec<f64> = errors.iter().map(|e| e.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let radius = |level: &f64| {
        // Rounding must not ask for one more.
        let k = dmci_ops::real::ceiling((sizes.len() as f64 + 1.0) * level - 1e-9) as usize;
        k.checked_sub(1).and_then(|k| sizes.get(k)).copied().unwrap_or(f64::NAN)
    };
    levels.iter().map(radius).map(|r| (value - r, value + r)).collect()
}

/// Gives a model without intervals of its own those of its errors at earlier origins, as far as they were known.
fn from_earlier_errors(casts: &mut [Cast], settings: &ForecastSettings) {
    let mut errors: BTreeMap<usize, Vec<(f64, f64)>> = BTreeMap::new();
    for cast in casts.iter().filter(|c| c.values[0].is_finite()) {
        errors.entry(cast.horizon).or_default().push((cast.time, cast.truth - cast.values[0]));
    }
    for cast in casts {
        let known = errors.get(&cast.horizon).into_iter().flatten().filter(|(time, _)| *time <= cast.origin);
        let known: Vec<f64> = known.map(|e| e.1).collect();
        cast.intervals[0] = around(cast.values[0], &known, &settings.levels);
    }
}

/// Fails because somebody has interrupted.
fn cancelled() -> Report {
    Report::from(Diagnostic::error(ErrorCode::E0409, "the forecast was cancelled"))
}

/// Refuses a setting.
fn wrong<T>(message: String, help: &str) -> Result<T, Report> {
    Err(refusal(message, help))
}
