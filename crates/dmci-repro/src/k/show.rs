//! The tables, claims and figures of experiment K.

use super::data::{EVERY, LONG, SHORT};
use super::{Forecasts, K};
use crate::Experiment;
use crate::table::{Claim, Table};
use dmci_plot::figure::Figure;

/// What the baselines are known to score: mean root mean square error on validation and test.
const KNOWN: [(&str, &str, f64, f64); 8] = [
    (SHORT.name, "persistence", 0.0078, 0.0070),
    (SHORT.name, "damped persistence", 0.0079, 0.0086),
    (SHORT.name, "climatology", 0.0121, 0.0117),
    (SHORT.name, "AR(3)", 0.0064, 0.0070),
    (SHORT.name, "climatology plus anomaly", 0.0071, 0.0054),
    (LONG.name, "climatology", 0.0102, 0.0081),
    (LONG.name, "climatology plus anomaly", 0.0117, 0.0070),
    (EVERY.name, "climatology", 0.0115, 0.0112),
];

/// How far a baseline may be from what is known.
const NEAR: f64 = 0.0003;

const MISSING: &str = "the data were not found: set DMCI_SHARED to their folder";

/// An error of forecasts, as a share.
fn share(x: f64) -> String {
    if x.is_finite() { format!("{x:.5}") } else { "n/a".into() }
}

fn percent(x: f64) -> String {
    format!("{:.0}%", 100.0 * x)
}

fn cells(f: &Forecasts) -> Vec<String> {
    let mut row = vec![f.grid.clone(), f.method.clone()];
    row.extend([f.validation, f.test, f.pandemic].map(|s| share(s.rmse.0)));
    row.extend([f.validation, f.test].map(|s| share(s.wis.0)));
    row.extend([f.validation, f.test].map(|s| format!("{} / {}", percent(s.half.0), percent(s.wide.0))));
    row
}

const COLUMNS: [&str; 9] = [
    "horizons",
    "method",
    "RMSE validation",
    "RMSE test",
    "RMSE pandemic",
    "WIS validation",
    "WIS test",
    "coverage 50 / 95% validation",
    "coverage test",
];

impl K {
    fn baseline_table(&self) -> Table {
        let mut table = Table::new("k-baselines", "K. Forecasts without mechanism", &COLUMNS);
        self.baselines.iter().for_each(|f| table.row(cells(f)));
        table.note("shares of visits (wILI/100), the nation and ten regions; training seasons 2010 to 2017, validation 2018, 2021 and 2022, test 2023, pandemic 2020. RMSE is the mean over horizons of the root mean square error over seasons, origins and series. Origins run from week 8 on while the longest horizon ends before week 52.");
        table.note("quantiles lie around each forecast as its errors on the training seasons did: by horizon, all series together, as ratios of share + 0.005. WIS is the weighted interval score over FluSight's 23 quantiles.");
        table.note("ILINet is the final issue, not what was known at the time: real forecasts would be worse. The national series is a mean of the others.");
        table
    }

    fn baseline_claims(&self) -> Vec<Claim> {
        let claim = |&(grid, method, validation, test): &(&str, &str, f64, f64)| {
            let text = format!("{method}, {grid}: RMSE {validation:.4} / {test:.4} within {NEAR}");
            let Some(f) = self.baseline(grid, method) else { return Claim::not_run(text, MISSING) };
            let (v, t) = (f.validation.rmse.0, f.test.rmse.0);
            let near = (v - validation).abs() <= NEAR && (t - test).abs() <= NEAR;
            Claim::new(text, near, format!("{} / {}", share(v), share(t)))
        };
        KNOWN.iter().map(claim).collect()
    }
}

impl Experiment for K {
    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.baseline_table()];
        if self.data.is_empty() {
            tables.iter_mut().for_each(|table| table.note(MISSING));
        }
        tables
    }

    fn claims(&self) -> Vec<Claim> {
        self.baseline_claims()
    }

    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }

    fn hashes() -> Vec<(String, String)> {
        Vec::new()
    }
}
