//! The tables and claims of experiment F.

use super::{F, GOOD, Run, TARGETS, TIME};
use crate::ask::Asked;
use crate::numbers::{Rate, Real, mean, seconds, short};
use crate::table::{Claim, Table};

/// The arms, with the row of the paper that each stands beside.
const ARMS: [(&str, &str); 5] = [
    ("model, our fitter", "GPT-5.5, reasoning, portfolio: 11/12"),
    ("model, single-start Adam", "GPT-5.5, reasoning, Adam: 9/12"),
    ("grammar only", "not in the paper"),
    ("best of N", "not in the paper"),
    ("random expressions", "not in the paper"),
];

impl F {
    fn of<'a>(&'a self, arm: &'a str) -> impl Iterator<Item = &'a Run> {
        self.runs.iter().filter(move |r| r.arm == arm)
    }

    fn found<'a>(&'a self, arm: &'a str, target: Option<&'a str>) -> Rate {
        let those = self.of(arm).filter(|r| target.is_none_or(|t| r.target == t));
        Rate::of(those.map(|r| r.sealed.0 < GOOD))
    }

    fn asked(&self, arm: &str) -> Asked {
        let mut all = Asked::default();
        self.of(arm).for_each(|r| all.join(&r.asked));
        all
    }

    fn not_asked(&self) -> String {
        self.no_model.clone().unwrap_or_else(|| "no model was asked".into())
    }
}

fn counted(rate: Rate) -> String {
    if rate.of == 0 { "not run".into() } else { format!("{}/{}", rate.hits, rate.of) }
}

pub fn tables(f: &F) -> Vec<Table> {
    vec![arms(f), known(f), runs(f)]
}

fn arms(f: &F) -> Table {
    let columns =
        ["arm", "F1", "F2", "F3", "F4", "all", "paper", "rounds", "programs fitted", "refused", "longest search"];
    let mut table = Table::new("f-arms", "F. Laws found", &columns);
    for (arm, paper) in ARMS {
        let mut row = vec![arm.to_string()];
        row.extend(TARGETS.iter().map(|t| counted(f.found(arm, Some(t.id)))));
        let some = |text: String| if f.of(arm).next().is_none() { "n/a".to_string() } else { text };
        let is_model = arm.starts_with("model");
        row.extend([
            counted(f.found(arm, None)),
            paper.into(),
            if is_model { some(short(mean(f.of(arm).map(|r| r.rounds as f64)))) } else { "n/a".into() },
            some(short(mean(f.of(arm).map(|r| r.fitted as f64)))),
            if is_model { some(f.of(arm).map(|r| r.rejected).sum::<usize>().to_string()) } else { "n/a".into() },
            if is_model { "n/a".into() } else { some(seconds(longest(f, arm))) },
        ]);
        table.row(row);
    }
    table.note(format!("found: the mean squared error on 16 of the 64 rows, which nobody saw, is less than {} (the noise has a variance of 4e-4). A loop ends when the error that selects is: cross-validated with our fitter, on the fitted rows with Adam, as in the paper.", short(GOOD)));
    table.note("our fitter: least squares with derivatives from 4 starts, 16 where these disagree. Adam: the paper's, from one start near 1. A loop has at most 5 rounds with 5 programs each and two repairs; the paper's asks for one program. Rounds and programs are means; refused programs are counted over all loops.");
    table.note("grammar only: the search without a model. Best of N: as many programs from the same proposers, none made from another. Random expressions: as many by chance.");
    for (arm, _) in &ARMS[..2] {
        let asked = f.asked(arm);
        if asked.answers > 0 {
            table.note(format!("{arm}: {}.", asked.text()));
        }
    }
    match &f.no_model {
        Some(why) => table.note(format!("no model was asked: {why}.")),
        None => table.note("answers of the model are recorded (experiments/f/answers.jsonl) and replayed; whether it reasoned before it answered is not known. Both loops begin with the same answer."),
    }
    let early = f.runs.iter().filter(|r| r.stopped.is_some()).count();
    if early > 0 && f.no_model.is_none() {
        table.note(format!("{early} loops ended before their last round because a question had no answer."));
    }
    table
}

fn longest(f: &F, arm: &str) -> f64 {
    f.of(arm).map(|r| r.seconds).fold(0.0, f64::max)
}

fn known(f: &F) -> Table {
    let columns =
        ["law", "structure", "single-start Adam", "paper's loop with Adam", "our fitter", "with the portfolio"];
    let mut table = Table::new("f-fitters", "F. The right structure, fitted", &columns);
    for target in &TARGETS {
        let of = |pick: fn(&(Real, Real)) -> f64| {
            let list: Vec<f64> = f.known.iter().filter(|k| k.target == target.id).map(|k| pick(&k.errors)).collect();
            let rate = Rate::of(list.iter().map(|e| *e < GOOD));
            format!("{} (mean {})", counted(rate), short(mean(list)))
        };
        table.row([
            target.id.to_string(),
            target.formula.into(),
            of(|e| e.0.0),
            format!("{}/3", target.paper.0),
            of(|e| e.1.0),
            format!("{}/3", target.paper.1),
        ]);
    }
    table.note("seeds with an error below 0.001 on rows that nobody saw; the means are of these errors.");
    table
}

fn runs(f: &F) -> Table {
    let columns = ["law", "seed", "arm", "error, unseen rows", "selected by", "program"];
    let mut table = Table::new("f-runs", "F. All searches", &columns);
    for r in &f.runs {
        let program = r.program.split_whitespace().collect::<Vec<_>>().join(" ");
        table.row([&r.target, &r.seed.to_string(), &r.arm, &short(r.sealed.0), &short(r.selected.0), &program]);
    }
    table
}

pub fn claims(f: &F) -> Vec<Claim> {
    let grammar = f.found("grammar only", None);
    let time = longest(f, "grammar only");
    let mut claims = vec![
        Claim::new("the search without a model finds all laws", grammar.hits == grammar.of, grammar.text()),
        Claim::new(format!("each within {TIME} s"), time < TIME, format!("at most {}", seconds(time))),
    ];
    let ours = Rate::of(f.known.iter().map(|k| k.errors.1.0 < GOOD));
    claims.push(Claim::new("our fitter finds the numbers of every right structure", ours.hits == ours.of, ours.text()));
    let sine = |pick: fn(&(Real, Real)) -> f64| {
        Rate::of(f.known.iter().filter(|k| k.target == "F3").map(|k| pick(&k.errors) < GOOD))
    };
    claims.push(Claim::new(
        "F3: single-start Adam misses the frequency in the right structure, our fitter does not",
        sine(|e| e.0.0).hits == 0 && sine(|e| e.1.0).hits == sine(|e| e.1.0).of,
        format!("Adam {}, ours {}", counted(sine(|e| e.0.0)), counted(sine(|e| e.1.0))),
    ));
    let text = "a recorded model in the loop finds at least as large a share as the paper's 11 of 12";
    let (model, adam) = (f.found("model, our fitter", None), f.found("model, single-start Adam", None));
    if model.of == 0 {
        claims.push(Claim::not_run(text, f.not_asked()));
        return claims;
    }
    claims.push(Claim::new(text, 12 * model.hits >= 11 * model.of, model.text()));
    claims.push(Claim::new(
        "in the loop, our fitter finds at least as many laws as single-start Adam",
        model.hits >= adam.hits,
        format!("{} against {}", counted(model), counted(adam)),
    ));
    claims
}
