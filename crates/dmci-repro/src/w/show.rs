//! The tables and claims of experiment W.

use super::{Stage, W, Written};
use crate::j::recovery::Recovery;
use crate::numbers::{Rate, mean, median, short};
use crate::table::{Claim, Table};

/// The sets: how many programs, what they are, and what the paper says of its own.
const SETS: [(&str, usize, &str, &str); 3] = [
    ("B", 15, "models of experiment B", "15/15, after refinement of the prompt"),
    ("J", 60, "programs from twelve fields", "260, all covered"),
    ("ENSO", 5, "structures of F in a Kalman filter", "5/5 at first"),
];

impl W {
    fn of<'a>(&'a self, set: &'a str) -> impl Iterator<Item = &'a Written> {
        self.programs.iter().filter(move |p| p.set == set)
    }
}

pub fn tables(w: &W) -> Vec<Table> {
    let columns = [
        "set",
        "programs",
        "not found in the answer",
        "not readable",
        "do not run",
        "wrong value",
        "no derivative",
        "right at first",
        "right after repairs",
        "paper",
    ];
    let mut funnel = Table::new("w-funnel", "W. Programs of a language model: where they leave the funnel", &columns);
    for (set, wanted, what, paper) in SETS {
        let at = |stage: Stage| w.of(set).filter(|p| p.first == stage).count().to_string();
        let all = w.of(set).count();
        let shown = |n: String| if all == 0 { "not run".to_string() } else { n };
        let stages = [Stage::Answer, Stage::Read, Stage::Runs, Stage::Value, Stage::Derivative, Stage::Right].map(at);
        let mut row = vec![format!("{set}: {what}"), format!("{all} of {wanted}")];
        row.extend(stages.into_iter().map(shown));
        row.push(shown(Rate::of(w.of(set).map(|p| p.last == Stage::Right)).text()));
        row.push(paper.into());
        funnel.row(row);
    }
    funnel.note("one prompt for all sets, without an example. Values: those of our own programs within 1e-4 (B at all rows of its data, ENSO at 5 observations of 4 numbers); programs of J are free, and must have finite values and derivatives at 16 places and depend on every parameter. Stages are those of the first answer; up to three repairs follow.");
    if w.asked.answers > 0 {
        funnel.note(format!("{}.", w.asked.text()));
    }
    if let Some(why) = w.unanswered.first() {
        funnel.note(format!("{} questions have no answer: {why}.", w.unanswered.len()));
    }
    let mut faults = Table::new(
        "w-faults",
        "W. Programs that were not right at first",
        &["set", "task", "after repairs", "what was wrong"],
    );
    for p in w.programs.iter().filter(|p| p.first != Stage::Right) {
        let last = if p.last == Stage::Right { "right" } else { "not right" };
        faults.row([&p.set, &p.name, &last.to_string(), &p.message.replace('\n', " ")]);
    }
    let mut found = Table::new(
        "w-recovery",
        "W. Parameters of the programs of J, found again from their data",
        &[
            "programs",
            "data refitted, matched search",
            "ours",
            "data decide near the truth",
            "of these found within 0.1%, ours",
            "mean error, matched",
            "ours",
            "median, ours",
        ],
    );
    let list: Vec<&Recovery> = w.programs.iter().filter_map(|p| p.recovery.as_ref()).collect();
    if !list.is_empty() {
        found.row([
            list.len().to_string(),
            Rate::of(list.iter().map(|r| r.misfit.0 < REFITTED)).text(),
            refitted(&list).text(),
            Rate::of(list.iter().map(|r| r.decided)).text(),
            decided(&list).text(),
            short(mean(list.iter().map(|r| r.matched.0))),
            short(mean(list.iter().map(|r| r.ours.0))),
            short(median(list.iter().map(|r| r.ours.0))),
        ]);
    }
    found.note("searches as in experiment J: 16 places, each parameter within a factor of three of its start. Programs with constant data, or with a start of 0, are passed over.");
    vec![funnel, faults, found]
}

/// The error that is left beside the data's deviation.
const REFITTED: f64 = 1e-6;

fn refitted(list: &[&Recovery]) -> Rate {
    Rate::of(list.iter().map(|r| r.our_misfit.0 < REFITTED))
}

fn decided(list: &[&Recovery]) -> Rate {
    Rate::of(list.iter().filter(|r| r.decided).map(|r| r.ours.0 < 1e-3))
}

pub fn claims(w: &W) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (set, wanted, what, _) in SETS {
        let text = format!("{set}: all {wanted} {what}, as recorded, are right after at most three repairs");
        let rate = Rate::of(w.of(set).map(|p| p.last == Stage::Right));
        claims.push(match rate.of {
            0 => Claim::not_run(text, w.unanswered.first().cloned().unwrap_or_default()),
            _ => Claim::new(text, rate.hits == wanted, rate.text()),
        });
    }
    let list: Vec<&Recovery> = w.programs.iter().filter_map(|p| p.recovery.as_ref()).collect();
    let text = "J: our fitter explains the data of all written programs";
    claims.push(match list.len() {
        0 => Claim::not_run(text, "no program was searched"),
        _ => Claim::new(text, refitted(&list).hits == list.len(), refitted(&list).text()),
    });
    claims
}
