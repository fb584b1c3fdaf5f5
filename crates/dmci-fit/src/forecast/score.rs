//! Scores of forecasts, with intervals by resampling.

use super::{Cast, ForecastSettings};
use dmci_ops::real::sqrt;
use dmci_stats::random::Stream;

/// The ends of an interval.
pub type Interval = (f64, f64);

/// How good the forecasts of one forecaster are, at one horizon or at all.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores {
    /// The number of the forecaster, 0 for the model.
    pub forecaster: usize,
    /// The number of the horizon; none for all together.
    pub horizon: Option<usize>,
    /// How many forecasts were scored.
    pub count: usize,
    /// The root of the mean squared error.
    pub rmse: f64,
    /// Where it lies with a probability of 95%; none with too few origins or series to say.
    pub rmse_interval: Option<Interval>,
    /// The mean absolute error.
    pub mae: f64,
    /// The mean weighted interval score, over the forecasts for which everybody has all intervals.
    pub wis: Option<f64>,
    /// How many those are.
    pub with_intervals: usize,
    /// The share of measurements within the interval of each level, over the same forecasts.
    pub coverage: Vec<f64>,
}

/// The error of the model beside that of the best baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratio {
    /// The number of the baseline with the lowest error over all horizons.
    pub baseline: usize,
    /// The model's RMSE divided by that of the baseline.
    pub ratio: f64,
    /// Where it lies with a probability of 95%.
    pub interval: Option<Interval>,
}

/// Samples drawn for an interval.
const SAMPLES: usize = 2000;

/// The fewest independent units that are resampled.
const LEAST_UNITS: usize = 5;

/// The weighted interval score (Bracher et al. 2021): the absolute error and, for each level, the width of the interval
/// and what it costs to miss it, weighed so that many levels approach the continuous ranked probability score.
pub fn weighted_interval_score(truth: f64, value: f64, intervals: &[Interval], levels: &[f64]) -> f64 {
    let mut sum = 0.5 * (truth - value).abs();
    for ((low, high), level) in intervals.iter().zip(levels) {
        let alpha = 1.0 - level;
        let missed = (low - truth).max(0.0) + (truth - high).max(0.0);
        sum += 0.5 * alpha * (high - low) + missed;
    }
    sum / (intervals.len() as f64 + 0.5)
}

fn has_intervals(cast: &Cast) -> bool {
    cast.intervals.iter().flatten().all(|(low, high)| low.is_finite() && high.is_finite())
}

/// Scores every forecaster at all horizons together and at each of them.
pub fn scores(casts: &[Cast], settings: &ForecastSettings, seed: u64) -> (Vec<Scores>, Option<Ratio>) {
    let forecasters = casts.first().map_or(0, |c| c.values.len());
    let horizons = settings.horizons.len();
    // Sums of squares and counts of each unit that is resampled, for all horizons and each.
    let units = units(casts);
    let cell = |forecaster: usize, horizon: Option<usize>| forecaster * (horizons + 1) + horizon.map_or(0, |h| h + 1);
    let mut sums: Vec<Vec<(f64, f64)>> = Vec::new();
    for unit in &units {
        let mut own = vec![(0.0, 0.0); forecasters * (horizons + 1)];
        for cast in unit.iter().map(|&i| &casts[i]) {
            for (f, value) in cast.values.iter().enumerate() {
                for place in [cell(f, None), cell(f, Some(cast.horizon))] {
                    own[place].0 += (value - cast.truth) * (value - cast.truth);
                    own[place].1 += 1.0;
                }
            }
        }
        sums.push(own);
    }
    let samples = samples(&sums, block(casts, settings), seed);
    let mut list = Vec::new();
    for forecaster in 0..forecasters {
        for horizon in std::iter::once(None).chain((0..horizons).map(Some)) {
            let own: Vec<&Cast> = casts.iter().filter(|c| horizon.is_none_or(|h| c.horizon == h)).collect();
            if own.is_empty() {
                continue;
            }
            let n = own.len() as f64;
            let error = |c: &&Cast| c.values[forecaster] - c.truth;
            let bands: Vec<&Cast> = own.iter().copied().filter(|c| has_intervals(c)).collect();
            let m = bands.len() as f64;
            let score = |c: &&Cast| {
                weighted_interval_score(c.truth, c.values[forecaster], &c.intervals[forecaster], &settings.levels)
            };
            let inside = |level: usize| {
                let is_in = |c: &&&Cast| {
                    let (low, high) = c.intervals[forecaster][level];
                    (low..=high).contains(&c.truth)
                };
                bands.iter().filter(is_in).count() as f64 / m
            };
            list.push(Scores {
                forecaster,
                horizon,
                count: own.len(),
                rmse: sqrt(own.iter().map(|c| error(c) * error(c)).sum::<f64>() / n),
                rmse_interval: middle(samples.iter().map(|s| rmse(s[cell(forecaster, horizon)])).collect()),
                mae: own.iter().map(|c| error(c).abs()).sum::<f64>() / n,
                wis: (!bands.is_empty()).then(|| bands.iter().map(score).sum::<f64>() / m),
                with_intervals: bands.len(),
                coverage: (0..settings.levels.len()).filter(|_| !bands.is_empty()).map(inside).collect(),
            });
        }
    }
    let all = |forecaster: usize| list.iter().find(|s| s.forecaster == forecaster && s.horizon.is_none());
    let error = |forecaster: usize| all(forecaster).map_or(f64::NAN, |s| s.rmse);
    let best = (1..forecasters).min_by(|&a, &b| error(a).total_cmp(&error(b)));
    let ratio = best.map(|baseline| Ratio {
        baseline,
        ratio: error(0) / error(baseline),
        interval: middle(samples.iter().map(|s| rmse(s[cell(0, None)]) / rmse(s[cell(baseline, None)])).collect()),
    });
    (list, ratio)
}

fn rmse((sum, count): (f64, f64)) -> f64 {
    sqrt(sum / count)
}

/// The middle 95% of a list.
fn middle(mut list: Vec<f64>) -> Option<Interval> {
    list.retain(|x| x.is_finite());
    list.sort_by(f64::total_cmp);
    let n = list.len();
    (n >= SAMPLES / 2).then(|| (list[n / 40], list[n - 1 - n / 40]))
}

/// Whether series are resampled: with fewer, it is origins.
fn by_series(casts: &[Cast]) -> bool {
    let mut series: Vec<usize> = casts.iter().map(|c| c.series).collect();
    series.sort_unstable();
    series.dedup();
    series.len() >= LEAST_UNITS
}

/// The forecasts of each unit that is resampled: a series, or an origin.
fn units(casts: &[Cast]) -> Vec<Vec<usize>> {
    let by_series = by_series(casts);
    let key = |c: &Cast| if by_series { c.series as f64 } else { c.origin };
    let mut order: Vec<usize> = (0..casts.len()).collect();
    order.sort_by(|&a, &b| key(&casts[a]).total_cmp(&key(&casts[b])).then(a.cmp(&b)));
    order.chunk_by(|&a, &b| key(&casts[a]) == key(&casts[b])).map(<[usize]>::to_vec).collect()
}

/// How many origins one after the other are drawn together: forecasts overlap as far as the longest horizon.
fn block(casts: &[Cast], settings: &ForecastSettings) -> usize {
    if by_series(casts) {
        return 1;
    }
    let mut origins: Vec<f64> = casts.iter().map(|c| c.origin).collect();
    origins.sort_by(f64::total_cmp);
    origins.dedup();
    let between = origins.windows(2).map(|w| w[1] - w[0]).fold(f64::INFINITY, f64::min);
    let longest = settings.horizons.last().copied().unwrap_or(1.0);
    (dmci_ops::real::ceiling(longest / between - 1e-9).max(1.0) as usize).min(origins.len())
}

/// Sums over units that are drawn with repetition, in circular blocks; none with too few of them.
fn samples(sums: &[Vec<(f64, f64)>], block: usize, seed: u64) -> Vec<Vec<(f64, f64)>> {
    let n = sums.len();
    if n < LEAST_UNITS || n / block < 3 {
        return Vec::new();
    }
    let mut stream = Stream::new(seed, 0xf0c457);
    let one = |_| {
        let mut sum = vec![(0.0, 0.0); sums[0].len()];
        let mut drawn = 0;
        while drawn < n {
            let start = stream.below(n);
            for k in (0..block).take(n - drawn) {
                sum.iter_mut().zip(&sums[(start + k) % n]).for_each(|(s, x)| *s = (s.0 + x.0, s.1 + x.1));
            }
            drawn += block;
        }
        sum
    };
    (0..SAMPLES).map(one).collect()
}
