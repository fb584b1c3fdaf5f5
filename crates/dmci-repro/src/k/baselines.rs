//! Forecasts without mechanism: what any program has to beat.

use super::data::{Case, REGIONS, Row, Seasons, WEEKS};
use dmci_stats::linear::Factored;

/// The baselines, in the order of the tables.
pub const NAMES: [&str; 5] = ["persistence", "damped persistence", "climatology", "AR(3)", CLIMATOLOGY_AND_ANOMALY];

/// Climatology and the present anomaly, which decays.
pub const CLIMATOLOGY_AND_ANOMALY: &str = "climatology plus anomaly";

/// The share of a value that damped persistence keeps every week.
const DAMPING: f64 = 0.9;

/// The share of an anomaly that is left after a week.
const DECAY: f64 = 0.85;

/// What baselines know of their training seasons.
#[derive(Clone, Debug, PartialEq)]
pub struct Baselines {
    climatology: Vec<Row>,
    /// The intercept, and the coefficients of the last three weeks, for each series.
    autoregression: [[f64; 4]; REGIONS],
}

impl Baselines {
    /// Learns from some seasons.
    pub fn new(data: &Seasons, years: &[u32]) -> Baselines {
        let autoregression = std::array::from_fn(|r| {
            let (mut matrix, mut right) = (Vec::new(), Vec::new());
            for &year in years {
                let weeks = data.season(year);
                for t in 3..WEEKS {
                    matrix.extend([1.0, weeks[t - 1][r], weeks[t - 2][r], weeks[t - 3][r]]);
                    right.push(weeks[t][r]);
                }
            }
            let found = Factored::new(&matrix, &right, 4, &mut Vec::new()).solve(&[0.0; 4]);
            std::array::from_fn(|i| found.x[i])
        });
        Baselines { climatology: data.climatology(years), autoregression }
    }

    /// The forecast of a baseline. Only weeks up to the origin are read.
    pub fn forecast(&self, name: &str, data: &Seasons, case: Case) -> Row {
        let known = &data.season(case.year)[..=case.origin];
        let last = known[case.origin];
        let (now, then) = (&self.climatology[case.origin], &self.climatology[case.origin + case.horizon]);
        let share = |rate: f64| (0..case.horizon).fold(1.0, |share, _| share * rate);
        match name {
            "damped persistence" => last.map(|y| y * share(DAMPING)),
            "climatology" => *then,
            "AR(3)" => std::array::from_fn(|r| self.iterate(r, known, case.horizon)),
            CLIMATOLOGY_AND_ANOMALY => std::array::from_fn(|r| then[r] + share(DECAY) * (last[r] - now[r])),
            _ => last,
        }
    }

    /// All cases.
    pub fn forecasts(&self, name: &str, data: &Seasons, cases: &[Case]) -> Vec<Row> {
        cases.iter().map(|&case| self.forecast(name, data, case)).collect()
    }

    fn iterate(&self, r: usize, known: &[Row], steps: usize) -> f64 {
        let [intercept, a, b, c] = self.autoregression[r];
        let n = known.len();
        let mut last = [known[n - 1][r], known[n - 2][r], known[n - 3][r]];
        for _ in 0..steps {
            let next = intercept + a * last[0] + b * last[1] + c * last[2];
            last = [next.max(0.0), last[0], last[1]];
        }
        last[0]
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::tests::invented;
    use super::super::data::{SHORT, TRAINING};
    use super::*;

    /// What lies after the origin changes no forecast.
    #[test]
    fn baselines_do_not_read_the_future() {
        let data = Seasons::read(&invented()).unwrap();
        let baselines = Baselines::new(&data, &TRAINING);
        let other = Seasons::read(&invented().replace("\n2018-19,2018,30,x,", "\n2018-19,2018,30,x,9")).unwrap();
        for case in SHORT.cases(&[2018]).into_iter().filter(|c| c.origin < 30) {
            for name in NAMES {
                assert_eq!(baselines.forecast(name, &data, case), baselines.forecast(name, &other, case), "{name}");
            }
        }
        let case = Case { year: 2018, origin: 30, horizon: 1 };
        assert!(NAMES.iter().any(|n| baselines.forecast(n, &data, case) != baselines.forecast(n, &other, case)));
    }

    /// A series that follows an autoregression is continued exactly.
    #[test]
    fn autoregressions_are_found() {
        let mut text = invented().lines().next().unwrap().to_string();
        for year in 2010..=2023u32 {
            let mut last = [0.5 + f64::from(year % 4), 1.0, 2.0 + f64::from(year % 3)];
            for week in 0..52 {
                let next = 0.3 + 0.9 * last[0] - 0.5 * last[1] + 0.2 * last[2];
                last = [next, last[0], last[1]];
                text += &format!("\n{year}-xx,{year},{week},x{}", format!(",{next:?}").repeat(REGIONS));
            }
        }
        let data = Seasons::read(&text).unwrap();
        let baselines = Baselines::new(&data, &TRAINING);
        for case in SHORT.cases(&[2023]) {
            let (found, truth) =
                (baselines.forecast("AR(3)", &data, case), data.season(2023)[case.origin + case.horizon]);
            assert!((found[5] - truth[5]).abs() < 1e-9, "{found:?} {truth:?}");
        }
    }
}
