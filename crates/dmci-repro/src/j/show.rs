//! The tables, claims and figures of experiment J.

use super::recovery::Recovery;
use super::{Family, J};
use crate::numbers::{Rate, mean, median, seconds, short};
use crate::table::{Claim, Table};
use dmci_plot::figure::{Figure, Line};

fn name(recursive: bool) -> &'static str {
    if recursive { "recursive" } else { "closed form" }
}

impl J {
    fn arm(&self, name: &str) -> Option<(f64, usize)> {
        let arms = self.arms.as_ref().ok()?;
        arms.arms.iter().find(|a| a.name == name).map(|a| (a.seconds, a.programs))
    }

    /// Seconds that an arm would need for so many programs.
    fn scaled(&self, arm: &str, n: usize) -> Option<f64> {
        self.arm(arm).map(|(seconds, sample)| seconds / sample as f64 * n as f64)
    }

    fn largest(&self, recursive: bool) -> Option<&Family> {
        self.families.iter().filter(|f| f.recursive == recursive).max_by_key(|f| f.programs)
    }
}

pub fn tables(j: &J) -> Vec<Table> {
    vec![costs(j), recovery(j), others(j)]
}

fn costs(j: &J) -> Table {
    let columns = [
        "family",
        "programs",
        "dmci, first value and gradient",
        "each",
        "coverage",
        "paper dmci, compile",
        "lambdify-to-JAX",
        "paper (N=10^4)",
        "port to JAX",
        "paper (N=10^4)",
        "lines to port",
        "paper (N=10^4)",
    ];
    let mut table = Table::new("j-costs", "J. Distinct programs, each used once", &columns);
    for f in &j.families {
        let (port, printed) = if f.recursive {
            ("recursive port", ["n/a", "1287.1 s", "78005"])
        } else {
            ("closed port", ["591.6 s", "617.7 s", "56361"])
        };
        let lambdify = if f.recursive { "cannot take them".into() } else { scaled(j, "closed lambdify", f.programs) };
        table.row([
            name(f.recursive).to_string(),
            f.programs.to_string(),
            seconds(f.seconds),
            seconds(f.seconds / f.programs as f64),
            Rate { hits: f.covered, of: f.programs }.text(),
            "0.02 s, once".into(),
            lambdify,
            printed[0].into(),
            scaled(j, port, f.programs),
            printed[1].into(),
            f.lines.to_string(),
            printed[2].into(),
        ]);
    }
    table.note(format!("the compiled evaluator is loaded once, in {}; it has {} bytes (paper: 0.02 s, 283 KB). Ours is the whole way from text to value and gradient on one core; the paper's dmci column is the compilation of the evaluator alone. Times are the least of five rounds for every five programs; nothing is kept between rounds.", seconds(j.load), j.artefact));
    match &j.arms {
        Ok(arms) => {
            let sample = arms.arms.first().map_or(0, |a| a.programs);
            table.note(format!(
                "the other arms are measured on {sample} programs in the same run ({}) and scaled.",
                arms.versions
            ));
        }
        Err(why) => table.note(format!("the other arms were not run: {why}.")),
    }
    table
}

fn scaled(j: &J, arm: &str, n: usize) -> String {
    j.scaled(arm, n).map_or("not run".into(), seconds)
}

/// The families that are searched, with what the paper prints as their mean error.
fn searched(j: &J) -> Vec<(&'static str, &'static str, &[Recovery])> {
    let mut all: Vec<(&str, &str, &[Recovery])> =
        vec![("closed form", "0.44-0.47", &j.recovery.0), ("recursive", "0.36-0.38", &j.recovery.1)];
    if let Some(corpus) = &j.corpus {
        all.push((MODEL, "effectively infinite", &corpus.recovery));
    }
    all
}

const MODEL: &str = "loops and recursions of a language model";

/// Refitted data: the error that is left beside the data's deviation.
const REFITTED: f64 = 1e-6;

/// Among programs whose data decide the parameters: those that are found within 0.1%.
fn decided(list: &[Recovery]) -> Rate {
    Rate::of(list.iter().filter(|r| r.decided).map(|r| r.ours.0 < 1e-3))
}

fn recovery(j: &J) -> Table {
    let columns = [
        "programs",
        "how many",
        "matched search, mean error",
        "paper",
        "median",
        "ours, mean error",
        "median",
        "data refitted, matched",
        "ours",
        "data decide near the truth",
        "of these found within 0.1%, ours",
    ];
    let mut table = Table::new("j-recovery", "J. Are parameters found again?", &columns);
    for (family, printed, list) in searched(j) {
        table.row([
            family.to_string(),
            list.len().to_string(),
            short(mean(list.iter().map(|r| r.matched.0))),
            printed.into(),
            short(median(list.iter().map(|r| r.matched.0))),
            short(mean(list.iter().map(|r| r.ours.0))),
            short(median(list.iter().map(|r| r.ours.0))),
            Rate::of(list.iter().map(|r| r.misfit.0 < REFITTED)).text(),
            Rate::of(list.iter().map(|r| r.our_misfit.0 < REFITTED)).text(),
            Rate::of(list.iter().map(|r| r.decided)).text(),
            decided(list).text(),
        ]);
    }
    table.note("matched search: L-BFGS over logarithms of parameters from 16 starts, at most 200 iterations, as in the paper. Ours: least squares with derivatives from 32 starts, within the range that true values are drawn from (0.2 to 1.5), or within a factor of three of the truth (language model).");
    table.note("refitted: what is left is less than 1e-6 of the data's deviation. Programs with constant data are passed over.");
    table.note("data decide near the truth: the derivatives of the 16 predictions by the parameters are linearly independent there. Where they are not (p0 + p1, p0 p1), no search can find the parameters, and the mean error says nothing about the search.");
    table
}

fn others(j: &J) -> Table {
    let mut table = Table::new(
        "j-corpus",
        "J. Programs of a language model",
        &["programs", "right values and gradients", "time for all"],
    );
    match &j.corpus {
        Some(c) => {
            table.row([c.programs.to_string(), Rate { hits: c.covered, of: c.programs }.text(), seconds(c.seconds)])
        }
        None => table.note("the corpus was not found: set DMCI_SHARED to its folder."),
    }
    table
}

pub fn claims(j: &J) -> Vec<Claim> {
    let mut claims = Vec::new();
    for recursive in [false, true] {
        if let Some(f) = j.families.iter().find(|f| f.recursive == recursive && f.programs == 5000) {
            let text =
                format!("5000 {} programs to first value and gradient in less than 1 s on one core", name(recursive));
            claims.push(Claim::new(text, f.seconds < 1.0, seconds(f.seconds)));
        }
    }
    let covered =
        Rate { hits: j.families.iter().map(|f| f.covered).sum(), of: j.families.iter().map(|f| f.programs).sum() };
    claims.push(Claim::new("coverage is 100% in both families", covered.hits == covered.of, covered.text()));
    let error = j.families.iter().map(|f| f.error.0).fold(0.0, f64::max);
    claims.push(Claim::new("gradients are those of central differences", error < 1e-6, short(error)));
    match (&j.arms, j.largest(false)) {
        (Ok(arms), Some(f)) => {
            let error = arms.arms.iter().map(|a| a.error.0).fold(0.0, f64::max);
            claims.push(Claim::new("gradients are those of JAX", error < 1e-9, short(error)));
            let ratio = j.scaled("closed lambdify", f.programs).unwrap_or(f64::NAN) / f.seconds;
            claims.push(Claim::new(
                "one evaluator is cheaper than a compilation of each program",
                ratio > 1.0,
                format!("{}x against lambdify-to-JAX", short(ratio)),
            ));
        }
        (Err(why), _) => claims.push(Claim::not_run("gradients are those of JAX", why.clone())),
        _ => {}
    }
    for (family, _, list) in searched(j) {
        let ours = Rate::of(list.iter().map(|r| r.our_misfit.0 < REFITTED));
        let text = format!("our fitter explains the data of all programs, {family}");
        claims.push(Claim::new(text, ours.hits == ours.of, ours.text()));
        let found = decided(list);
        claims.push(Claim::new(
            format!("{family}: where the data decide the parameters near the truth, they are found within 0.1%"),
            found.hits == found.of && found.of > 0,
            found.text(),
        ));
    }
    if let Some(c) = &j.corpus {
        claims.push(Claim::new(
            "the corpus is covered",
            c.covered == c.programs,
            Rate { hits: c.covered, of: c.programs }.text(),
        ));
    }
    claims
}

pub fn figures(j: &J) -> Vec<Figure> {
    let mut figure = Figure::new(
        "j-costs",
        "J: time to the first value and gradient of all programs (closed form)",
        "programs",
        "seconds",
        (true, true),
    );
    let closed: Vec<&Family> = j.families.iter().filter(|f| !f.recursive).collect();
    figure.lines.push(Line::new("dmci", closed.iter().map(|f| (f.programs as f64, f.seconds)).collect()));
    for (arm, label) in [("closed lambdify", "lambdify-to-JAX (scaled)"), ("closed port", "port to JAX (scaled)")] {
        let points: Vec<(f64, f64)> =
            closed.iter().filter_map(|f| Some((f.programs as f64, j.scaled(arm, f.programs)?))).collect();
        if !points.is_empty() {
            figure.lines.push(Line::new(label, points));
        }
    }
    vec![figure]
}
