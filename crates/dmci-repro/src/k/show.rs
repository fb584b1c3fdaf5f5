//! The tables, claims and figures of experiment K.

use super::data::{EVERY, LONG, SHORT};
use super::grammar::COMPARTMENTS;
use super::units::{Against, CANDIDATES, CHOSEN};
use super::written::{SYSTEM, all_words};
use super::zoo::REFERENCES;
use super::{Forecasts, K};
use crate::Experiment;
use crate::numbers::mean;
use crate::table::{Claim, Table};
use dmci_plot::figure::{Figure, Line};

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

pub const MISSING: &str = "the data were not found: set DMCI_SHARED to their folder";

/// A method beside a baseline, in words.
pub fn found(a: &Against) -> String {
    let [low, high] = a.interval;
    format!("{}: {:+.5} [{:+.5}, {:+.5}], p = {:.4}", a.baseline, a.difference.0, low.0, high.0, a.p.0)
}

/// An error of forecasts, as a share.
pub fn share(x: f64) -> String {
    if x.is_finite() { format!("{x:.5}") } else { "n/a".into() }
}

pub fn percent(x: f64) -> String {
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

impl K {
    fn unit_table(&self) -> Table {
        let columns = ["method", "RMSE", "WIS", "coverage 50%", "coverage 95%", "sealed 2023: RMSE", "WIS"];
        let title = "K. One season left out at a time, 1-4 weeks: means over seasons, and the sealed season";
        let mut table = Table::new("k-units", title, &columns);
        let mut methods: Vec<&str> = Vec::new();
        for l in &self.units.left_out {
            if !methods.contains(&l.method.as_str()) && l.method != CHOSEN {
                methods.push(&l.method);
            }
        }
        methods.push(CHOSEN);
        for method in methods {
            let all = || self.units.left_out.iter().filter(|l| l.method == method).map(|l| l.score);
            let sealed = self.units.sealed.iter().find(|l| l.method == method).map(|l| l.score).unwrap_or_default();
            table.row([
                method.to_string(),
                share(mean(all().map(|s| s.rmse.0))),
                share(mean(all().map(|s| s.wis.0))),
                percent(mean(all().map(|s| s.half.0))),
                percent(mean(all().map(|s| s.wide.0))),
                share(sealed.rmse.0),
                share(sealed.wis.0),
            ]);
        }
        table.note("twelve seasons: 2010 to 2019, 2021 and 2022. Climatologies, autoregressions and the parameters of the programs come from the other eleven; the chosen program has the smallest mean RMSE over these eleven when each of them is left out in turn. For the sealed season everything comes from all twelve.");
        table.note("the programs are small statistical ones that may read a climatology and an autoregression: crates/dmci-repro/programs/k. They were written by hand; no language model and no search proposed them.");
        table
    }

    fn chosen_table(&self) -> Table {
        let mut table =
            Table::new("k-chosen", "K. The program that the other seasons chose", &["season left out", "program"]);
        self.units.chosen.iter().for_each(|(season, name)| table.row([season.to_string(), name.clone()]));
        table
    }

    fn against_table(&self) -> Table {
        let title = "K. The chosen program beside the baselines, with the season as the unit";
        let seasons = self.units.left_out.iter().filter(|l| l.method == CHOSEN).count();
        against_table("k-against", title, &self.units.against, seasons)
    }

    /// The baseline with the smallest mean RMSE over the seasons that were left out.
    pub fn best_baseline(&self) -> Option<&Against> {
        let error = |name: &str| mean(self.units.left_out.iter().filter(|l| l.method == name).map(|l| l.score.rmse.0));
        self.units.against.iter().min_by(|a, b| error(&a.baseline).total_cmp(&error(&b.baseline)))
    }

    /// A claim that only a whole run can decide.
    pub fn claim(&self, text: &str, decide: &dyn Fn() -> Option<(bool, String)>) -> Claim {
        if self.data.is_empty() {
            return Claim::not_run(text, MISSING);
        }
        if self.quick {
            return Claim::not_run(text, "a quick run cannot tell");
        }
        decide().map_or_else(|| Claim::not_run(text, "not measured"), |(holds, found)| Claim::new(text, holds, found))
    }

    fn unit_claims(&self) -> Vec<Claim> {
        let claim = |text: &str, decide: &dyn Fn() -> Option<(bool, String)>| self.claim(text, decide);
        let sealed = |method: &str| Some(self.units.sealed.iter().find(|l| l.method == method)?.score.rmse.0);
        vec![
            claim("the chosen program is significantly better than the best baseline over seasons (p < .05)", &|| {
                let best = self.best_baseline()?;
                Some((best.difference.0 < 0.0 && best.p.0 < 0.05, found(best)))
            }),
            claim("it is significantly better than every baseline over seasons (p < .05)", &|| {
                let worst = self.units.against.iter().max_by(|a, b| a.p.0.total_cmp(&b.p.0))?;
                let all = self.units.against.iter().all(|a| a.difference.0 < 0.0 && a.p.0 < 0.05);
                Some((all, found(worst)))
            }),
            claim("on the sealed season 2023 it is better than the baseline that was best before", &|| {
                let name = &self.best_baseline()?.baseline;
                let (ours, other) = (sealed(CHOSEN)?, sealed(name)?);
                Some((ours < other, format!("{} against {} of {name}", share(ours), share(other))))
            }),
            claim("on the sealed season it is better than every baseline", &|| {
                let (ours, names) = (sealed(CHOSEN)?, self.units.against.iter().map(|a| &a.baseline));
                let mut list: Vec<(f64, &String)> = names.filter_map(|n| Some((sealed(n)?, n))).collect();
                list.sort_by(|a, b| a.0.total_cmp(&b.0));
                let (best, name) = list.first()?;
                Some((ours < *best, format!("{} against {} of {name}", share(ours), share(*best))))
            }),
        ]
    }
}

/// A method beside the baselines.
pub fn against_table(id: &str, title: &str, against: &[Against], seasons: usize) -> Table {
    let columns = ["baseline", "seasons in which the program is better", "difference of RMSE", "interval of 90%", "p"];
    let mut table = Table::new(id, title, &columns);
    for a in against {
        table.row([
            a.baseline.clone(),
            format!("{} of {seasons}", a.better),
            format!("{:+.5}", a.difference.0),
            format!("[{:+.5}, {:+.5}]", a.interval[0].0, a.interval[1].0),
            format!("{:.4}", a.p.0),
        ]);
    }
    table.note(
        "p: the share of all ways to give signs to the seasons' differences whose mean is as far from 0, two-sided.",
    );
    table
}

impl Experiment for K {
    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.baseline_table(), self.unit_table(), self.against_table(), self.chosen_table()];
        tables.extend(self.zoo_tables());
        if self.data.is_empty() {
            tables.iter_mut().for_each(|table| table.note(MISSING));
        }
        tables
    }

    fn claims(&self) -> Vec<Claim> {
        let mut claims = self.baseline_claims();
        claims.extend(self.unit_claims());
        claims.extend(self.zoo_claims());
        claims
    }

    fn figures(&self) -> Vec<Figure> {
        let mut figure = Figure::new("k-seasons", "K: RMSE by season left out", "season", "RMSE", (false, false));
        let of = |method: &str| -> Vec<(f64, f64)> {
            let all = self.units.left_out.iter().chain(&self.units.sealed).filter(|l| l.method == method);
            all.map(|l| (f64::from(l.season), l.score.rmse.0)).collect()
        };
        let names = self.units.against.iter().map(|a| a.baseline.as_str());
        figure.lines.extend(names.chain([CHOSEN]).map(|name| Line::new(name, of(name)).marks()));
        vec![figure, self.fidelity_figure()]
    }

    fn hashes() -> Vec<(String, String)> {
        let hash = |(name, text): &(&str, &str)| (format!("program {name}"), dmci_table::hash::of_text(text));
        let mut all: Vec<_> = CANDIDATES.iter().chain(&REFERENCES).map(hash).collect();
        let compartments = |(name, text): &(&str, &str)| (format!("zoo {name}"), dmci_table::hash::of_text(text));
        all.extend(COMPARTMENTS.iter().map(compartments));
        let prompt = SYSTEM.to_string() + &all_words();
        all.push(("the prompt and the questions".into(), dmci_table::hash::of_text(&prompt)));
        all
    }
}
