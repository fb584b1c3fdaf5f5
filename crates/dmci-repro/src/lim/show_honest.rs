//! The tables, claims and figures of the honest protocol.

use super::Lim;
use super::forecast::{LEADS, Skill};
use super::honest::{BLOCKS, Difference, EXTENDED, GREEN, Honest, LIKELIHOOD, LIKELIHOOD_LOW};
use super::show::{MISSING, two};
use crate::numbers::mean;
use crate::table::{Claim, Table};
use dmci_plot::figure::{Figure, Line};

/// ACC of the Green function with 15 components, mean over the four decades, as it is known.
const KNOWN: [f64; 4] = [0.854, 0.608, 0.418, 0.281];

fn three(x: f64) -> String {
    if x.is_finite() { format!("{x:.3}") } else { "n/a".into() }
}

impl Honest {
    /// The methods, in order.
    fn methods(&self) -> Vec<&str> {
        let mut list: Vec<&str> = Vec::new();
        for s in &self.scored {
            if !list.contains(&s.method.as_str()) {
                list.push(&s.method);
            }
        }
        list
    }

    /// Means over decades of ACC and of RMSE at a lead.
    fn means(&self, method: &str, k: usize, trailing: bool) -> (f64, f64) {
        let of = |pick: fn(&Skill, usize) -> f64| {
            let scored = self.scored.iter().filter(|s| s.method == method);
            mean(scored.map(|s| pick(if trailing { &s.trailing } else { &s.monthly }, k)))
        };
        (of(|s, k| s.acc[k].0), of(|s, k| s.rmse[k].0))
    }

    fn row(&self, method: &str) -> [f64; 4] {
        std::array::from_fn(|k| self.means(method, k, false).0)
    }

    /// The same against means over three months.
    fn smooth_row(&self, method: &str) -> [f64; 4] {
        std::array::from_fn(|k| self.means(method, k, true).0)
    }

    fn difference(&self, method: &str, block: usize, lead: usize) -> Option<&Difference> {
        self.differences.iter().find(|d| d.method == method && d.block == block && d.lead == lead)
    }

    fn window(&self) -> &'static str {
        if self.refitted { "up to the test decade" } else { "up to the validation decade" }
    }
}

fn scores(lim: &Lim) -> Table {
    let mut columns = vec!["training".to_string(), "method".into()];
    for what in ["ACC, month", "ACC, 3 months", "RMSE, month"] {
        columns.extend(LEADS.iter().map(|lead| format!("{what}, {lead}")));
    }
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    let title = "Honest forecasts of the observed Nino-3.4 index, means over the decades from 1980";
    let mut table = Table::new("lim-honest", title, &names);
    for honest in &lim.honest {
        for method in honest.methods() {
            let mut row = vec![honest.window().to_string(), method.to_string()];
            row.extend((0..4).map(|k| three(honest.means(method, k, false).0)));
            row.extend((0..4).map(|k| three(honest.means(method, k, true).0)));
            row.extend((0..4).map(|k| two(honest.means(method, k, false).1)));
            table.row(row);
        }
    }
    table.note("climatology, trend and patterns come from training months, means over three months are trailing, the truth is the Nino-3.4 mean of the field less the training climatology: of the month, or its mean over three months. Green function: 15 components. Likelihoods: 10 components, 300 steps of Adam, seed 0, forecasts from the filter's analysis.");
    table.note("these decades were looked at when the recipe of the extended LIM was found, so its scores are exploratory: the confirmation is another product.");
    table
}

fn decades(lim: &Lim) -> Table {
    let mut columns = vec!["training".to_string(), "decade".into(), "method".into()];
    columns.extend(LEADS.iter().map(|lead| format!("ACC {lead}")));
    columns.extend(LEADS.iter().map(|lead| format!("RMSE {lead}")));
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = Table::new("lim-decades", "The same by decade, against the index of the month", &names);
    for honest in &lim.honest {
        for s in &honest.scored {
            let mut row = vec![honest.window().to_string(), format!("{}s", s.decade), s.method.clone()];
            row.extend(s.monthly.acc.iter().map(|a| two(a.0)));
            row.extend(s.monthly.rmse.iter().map(|a| two(a.0)));
            table.row(row);
        }
    }
    table
}

fn choices(lim: &Lim) -> Table {
    let columns = ["test decade", "components", "tau", "lambda", "mean ACC of validation", "Green function there"];
    let mut table = Table::new("lim-chosen", "The extended LIM that the decade before chose", &columns);
    let Some(honest) = lim.honest.first() else { return table };
    for c in &honest.chosen {
        table.row([
            format!("{}s", c.decade),
            c.choice.d.to_string(),
            c.choice.tau.to_string(),
            c.choice.lambda.to_string(),
            three(c.validation.0),
            three(c.green.0),
        ]);
    }
    table.note("F minimises its own squared errors at 3, 6, 9 and 12 months, each relative to the errors of the Green function, with a normal prior of standard deviation tau around the Green function; lambda is the weight of the index beside the components. Tried: 10, 15 and 20 components, tau 0 (the Green function itself) and 0.0025 to 0.16, lambda 0, 1 and 5; the choice is the highest mean ACC over the leads in the decade before the test, with patterns and operators of the months before that decade.");
    table
}

fn interval(d: &Difference) -> String {
    format!("{:+.3} [{:+.3}, {:+.3}]", d.mean.0, d.low.0, d.high.0)
}

fn differences(lim: &Lim) -> Table {
    let mut columns = vec!["training".to_string(), "method".into(), "block".into()];
    columns.extend(LEADS.iter().map(|lead| format!("{lead} months")));
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    let title = "Differences of ACC to the Green function, with intervals of 90%";
    let mut table = Table::new("lim-differences", title, &names);
    for honest in &lim.honest {
        for method in honest.methods().into_iter().filter(|m| *m != GREEN) {
            for block in BLOCKS {
                let mut row = vec![honest.window().to_string(), method.to_string(), format!("{block} months")];
                let cell = |lead| honest.difference(method, block, lead).map_or("n/a".into(), interval);
                row.extend(LEADS.map(cell));
                table.row(row);
            }
        }
    }
    table.note("paired moving blocks of origins within each decade, 5,000 draws, means over the decades.");
    table
}

/// The tables.
pub fn tables(lim: &Lim) -> Vec<Table> {
    vec![scores(lim), decades(lim), choices(lim), differences(lim)]
}

fn list(row: &[f64; 4]) -> String {
    row.iter().map(|x| three(*x)).collect::<Vec<_>>().join("/")
}

const QUICK: &str = "a quick run cannot tell";

/// A claim about the Green function in one of the windows.
fn claim(lim: &Lim, text: &str, decide: impl Fn() -> Option<(bool, String)>) -> Claim {
    if lim.data.is_empty() {
        return Claim::not_run(text, MISSING);
    }
    if lim.quick {
        return Claim::not_run(text, QUICK);
    }
    decide().map_or_else(|| Claim::not_run(text, "not measured"), |(holds, found)| Claim::new(text, holds, found))
}

/// The claims.
pub fn claims(lim: &Lim) -> Vec<Claim> {
    let refitted = || lim.honest.iter().find(|h| h.refitted);
    let mut claims = vec![
        claim(
            lim,
            "honest: against three-month means the Green function scores .854/.608/.418/.281 within .03",
            || {
                let found = refitted()?.smooth_row(GREEN);
                let near = found.iter().zip(KNOWN).all(|(a, b)| (a - b).abs() <= 0.03);
                Some((near, list(&found)))
            },
        ),
        claim(lim, "honest: the paper's likelihood does not beat the Green function at 3 and 6 months", || {
            let (ours, green) = (refitted()?.row(LIKELIHOOD), refitted()?.row(GREEN));
            Some((ours[0] < green[0] && ours[1] < green[1], format!("{} against {}", list(&ours), list(&green))))
        }),
        claim(lim, "honest: the paper's likelihood beats persistence at 3 months", || {
            let (ours, other) = (refitted()?.row(LIKELIHOOD), refitted()?.row("persistence"));
            Some((ours[0] > other[0], format!("{:.3} against {:.3}", ours[0], other[0])))
        }),
        claim(lim, "honest: the cause is the floor of 0.1: with 1e-4 the likelihood is better at 3 months", || {
            let (low, ours) = (refitted()?.row(LIKELIHOOD_LOW), refitted()?.row(LIKELIHOOD));
            Some((low[0] > ours[0], format!("{} against {}", list(&low), list(&ours))))
        }),
    ];
    for honest in &lim.honest {
        let window = honest.window();
        let text =
            format!("honest, trained {window}: the extended LIM is at least the Green function - .01 at 3 months");
        claims.push(claim(lim, &text, || {
            let d = honest.difference(EXTENDED, BLOCKS[0], LEADS[0])?;
            Some((d.mean.0 >= -0.01, interval(d)))
        }));
        let text =
            format!("honest, trained {window}: it is above the Green function at 9 and 12 months, intervals without 0");
        claims.push(claim(lim, &text, || {
            let both = [LEADS[2], LEADS[3]].map(|lead| honest.difference(EXTENDED, BLOCKS[0], lead));
            let [Some(nine), Some(twelve)] = both else { return None };
            let holds = nine.low.0 > 0.0 && twelve.low.0 > 0.0;
            Some((holds, format!("{}; {}", interval(nine), interval(twelve))))
        }));
    }
    claims
}

/// ACC by lead.
pub fn figures(lim: &Lim) -> Vec<Figure> {
    let title = "Honest forecasts, mean over decades";
    let mut figure = Figure::new("lim-honest", title, "months ahead", "ACC", (false, false));
    if let Some(honest) = lim.honest.iter().find(|h| h.refitted) {
        for method in honest.methods() {
            let points = LEADS.iter().zip(honest.row(method)).map(|(&lead, acc)| (lead as f64, acc)).collect();
            figure.lines.push(Line::new(method, points));
        }
    }
    vec![figure]
}
