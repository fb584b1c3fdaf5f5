//! Simple forecasts that a model has to beat.

use super::history::{History, Series};
use super::wrong;
use dmci::Report;
use dmci_ops::real::{exp, floor, log};
use dmci_stats::linear::Factored;
use std::collections::HashMap;

/// A simple forecast.
#[derive(Clone, Debug, PartialEq)]
pub enum Baseline {
    /// The last value.
    Persistence,
    /// The last value, of which this share is left after each unit of time.
    Damped(f64),
    /// The mean of the same time in other groups or, with a period, of the same phase.
    Climatology(Option<f64>),
    /// Climatology, and the present difference from it, of which this share is left after each unit of time.
    Anomaly(f64, Option<f64>),
    /// Linear in so many values before, with a constant: of each group by itself, or one for all groups.
    Ar {
        /// So many values.
        order: usize,
        /// One for all groups.
        pooled: bool,
    },
}

impl Baseline {
    /// Reads `persistence`, `damped:0.9`, `climatology`, `climatology:12`, `anomaly:0.9`, `anomaly:0.9:12`, `ar:3`
    /// or `ar:3:pooled`.
    pub fn parse(text: &str) -> Result<Baseline, Report> {
        let parts: Vec<&str> = text.split(':').collect();
        let share = |text: &str| text.parse().ok().filter(|x: &f64| *x > 0.0 && *x <= 1.0);
        let period = |text: &str| text.parse().ok().filter(|x: &f64| *x > 0.0 && x.is_finite());
        let order = |text: &str| text.parse().ok().filter(|n| (1..=100).contains(n));
        let found = match parts[..] {
            ["persistence"] => Some(Baseline::Persistence),
            ["damped", by] => share(by).map(Baseline::Damped),
            ["climatology"] => Some(Baseline::Climatology(None)),
            ["climatology", p] => period(p).map(|p| Baseline::Climatology(Some(p))),
            ["anomaly", by] => share(by).map(|by| Baseline::Anomaly(by, None)),
            ["anomaly", by, p] => share(by).zip(period(p)).map(|(by, p)| Baseline::Anomaly(by, Some(p))),
            ["ar", p] => order(p).map(|order| Baseline::Ar { order, pooled: false }),
            ["ar", p, "pooled"] => order(p).map(|order| Baseline::Ar { order, pooled: true }),
            _ => None,
        };
        match found {
            Some(baseline) => Ok(baseline),
            None => wrong(
                format!("there is no baseline {text}"),
                "the baselines are persistence, damped:0.9, climatology, climatology:PERIOD, anomaly:0.9, \
                 anomaly:0.9:PERIOD, ar:3 and ar:3:pooled",
            ),
        }
    }

    /// Refuses a baseline that cannot forecast these series.
    pub fn check(&self, history: &History, horizons: &[f64]) -> Result<(), Report> {
        match self {
            Baseline::Climatology(None) | Baseline::Anomaly(_, None) if !history.series.iter().any(|s| s.training) => {
                wrong(
                    "climatology is the mean of groups that are known, and all groups are forecast".into(),
                    "name the groups to forecast with ‹holdout column:NAME›, or write the period: climatology:12",
                )
            }
            Baseline::Ar { .. } => {
                match horizons.iter().find(|h| (*h / history.step - whole(*h / history.step)).abs() > 0.1) {
                    Some(h) => wrong(
                        format!("ar forecasts whole steps of {}, and the horizon {h} is none", history.step),
                        "choose ‹horizons› that are multiples of the step, or leave ar out",
                    ),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn period(&self) -> Option<f64> {
        match self {
            Baseline::Climatology(period) | Baseline::Anomaly(_, period) => *period,
            _ => None,
        }
    }
}

fn whole(x: f64) -> f64 {
    floor(x + 0.5)
}

/// What is left of a value after some time.
fn left(value: f64, share: f64, time: f64) -> f64 {
    value * exp(time * log(share))
}

/// A baseline with what was known at an origin.
pub struct Known<'a> {
    baseline: &'a Baseline,
    history: &'a History,
    origin: f64,
    /// Sum and count of what was measured at each phase.
    phases: HashMap<i64, (f64, f64)>,
    /// The autoregression of each series: its constant, then its coefficients from the last value backwards; empty
    /// where too little is known.
    coefficients: Vec<Vec<f64>>,
    /// No measurement that was known is negative, so no forecast of an autoregression may be.
    not_negative: bool,
}

impl<'a> Known<'a> {
    /// Learns from what was known at an origin.
    pub fn new(baseline: &'a Baseline, history: &'a History, origin: f64) -> Known<'a> {
        let (phases, coefficients) = (HashMap::new(), Vec::new());
        let mut known = Known { baseline, history, origin, phases, coefficients, not_negative: false };
        match baseline {
            Baseline::Climatology(_) | Baseline::Anomaly(..) => {
                // Without a period, the mean is that of other groups: of those that are known as a whole.
                let counts = |series: &Series| series.training || baseline.period().is_some();
                for (series, i) in known.measured().into_iter().filter(|(series, _)| counts(series)) {
                    let entry = known.phases.entry(known.phase(series.times[i])).or_default();
                    *entry = (entry.0 + series.values[i], entry.1 + 1.0);
                }
            }
            Baseline::Ar { order, pooled } => {
                let measured = known.measured();
                known.not_negative = measured.iter().all(|&(series, i)| series.values[i] >= 0.0);
                let of = |rows: &[(&'a Series, usize)]| known.regress(*order, rows).unwrap_or_default();
                let own = |series: &Series| {
                    let rows: Vec<_> = measured.iter().copied().filter(|(s, _)| std::ptr::eq(*s, series)).collect();
                    of(&rows)
                };
                known.coefficients = match pooled {
                    true => vec![of(&measured); history.series.len()],
                    false => history.series.iter().map(own).collect(),
                };
            }
            _ => {}
        }
        known
    }

    /// All measurements that were known.
    fn measured(&self) -> Vec<(&'a Series, usize)> {
        let history = self.history;
        let of = |series: &'a Series| {
            (0..series.times.len()).filter(|&i| history.is_known(series, i, self.origin)).map(move |i| (series, i))
        };
        history.series.iter().flat_map(of).collect()
    }

    fn phase(&self, time: f64) -> i64 {
        match self.baseline.period() {
            None => whole(time / self.history.step) as i64,
            Some(period) => {
                let phases = whole(period / self.history.step).max(1.0);
                let phase = whole((time / period - floor(time / period)) * phases);
                (if phase >= phases { 0.0 } else { phase }) as i64
            }
        }
    }

    /// The mean of a phase, without what the series itself has at that time.
    fn climatology(&self, series: &Series, time: f64) -> Option<f64> {
        let (mut sum, mut count) = *self.phases.get(&self.phase(time))?;
        if let Some(own) = self.history.at(series, time).filter(|&i| self.history.is_known(series, i, self.origin))
            && (series.training || self.baseline.period().is_some())
        {
            (sum, count) = (sum - series.values[own], count - 1.0);
        }
        (count > 0.0).then(|| sum / count)
    }

    /// The values of a series at a time and before it, the last one first; none if one is missing.
    fn lags(&self, series: &Series, time: f64, count: usize) -> Option<Vec<f64>> {
        let value = |k: usize| {
            let index = self.history.at(series, time - k as f64 * self.history.step)?;
            Some(series.values[index]).filter(|_| self.history.is_known(series, index, self.origin))
        };
        (0..count).map(value).collect()
    }

    /// Least squares over measurements.
    fn regress(&self, order: usize, measured: &[(&'a Series, usize)]) -> Option<Vec<f64>> {
        let (mut matrix, mut right) = (Vec::new(), Vec::new());
        for &(series, i) in measured {
            let Some(lags) = self.lags(series, series.times[i] - self.history.step, order) else { continue };
            matrix.push(1.0);
            matrix.extend(lags);
            right.push(series.values[i]);
        }
        let n = order + 1;
        let factored = Factored::new(&matrix, &right, n, &mut Vec::new());
        (right.len() > n && factored.rank() == n).then(|| factored.solve(&vec![0.0; n]).x.to_vec())
    }

    /// What a series is at a horizon, given what it was up to a time.
    pub fn forecast(&self, number: usize, from: f64, horizon: f64) -> Option<f64> {
        let series = &self.history.series[number];
        let last = || series.last(from);
        match self.baseline {
            Baseline::Persistence => last().map(|i| series.values[i]),
            Baseline::Damped(share) => last().map(|i| left(series.values[i], *share, from + horizon - series.times[i])),
            Baseline::Climatology(_) => self.climatology(series, from + horizon),
            Baseline::Anomaly(share, _) => {
                let (i, then) = (last()?, self.climatology(series, from + horizon)?);
                let now = series.times[i];
                Some(then + left(series.values[i] - self.climatology(series, now)?, *share, from + horizon - now))
            }
            Baseline::Ar { order, .. } => {
                let [constant, weights @ ..] = &self.coefficients.get(number)?[..] else { return None };
                let least = if self.not_negative { 0.0 } else { f64::NEG_INFINITY };
                let mut lags = self.lags(series, from, *order)?;
                for _ in 0..whole(horizon / self.history.step) as usize {
                    let next = constant + weights.iter().zip(&lags).map(|(w, y)| w * y).sum::<f64>();
                    lags.rotate_right(1);
                    lags[0] = next.max(least);
                }
                Some(lags[0])
            }
        }
    }

    /// How far it was off at a horizon in what was known.
    pub fn past_errors(&self, horizon: f64) -> Vec<f64> {
        let mut errors = Vec::new();
        for (number, series) in self.history.series.iter().enumerate() {
            for &from in &series.times {
                let Some(i) = self.history.at(series, from + horizon).filter(|&i| series.times[i] > from) else {
                    continue;
                };
                if self.history.is_known(series, i, self.origin)
                    && let Some(value) = self.forecast(number, from, horizon)
                {
                    errors.push(series.values[i] - value);
                }
            }
        }
        errors
    }
}
