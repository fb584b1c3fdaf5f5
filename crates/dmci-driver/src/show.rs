//! What a search found, as text and as JSON.

use crate::run::Done;
use dmci_search::archive::Entry;
use dmci_search::candidate::short;
use dmci_search::judge::{Judged, Judgement};
use dmci_search::worker::Workshop;
use serde_json::{Value as Json, json};
use std::fmt::Write;

/// The front, the funnel, where the time went, and the verdict.
pub fn text(workshop: &Workshop, done: &Done, judgement: &Judgement) -> String {
    let data = &workshop.data;
    let error = workshop.error_name();
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{} = f({}): {} rows fitted and validated by {} folds, {} sealed",
        data.target,
        data.inputs.join(", "),
        data.open.len(),
        data.folds.len(),
        data.sealed.len()
    );
    let _ = writeln!(out, "\nnodes  {error} fitted  validated   score     program");
    for entry in done.search.front() {
        let score = &entry.score;
        let _ = writeln!(
            out,
            "{:>5}  {:<11} {:<11} {:<9} {}",
            score.nodes,
            short(score.loss.sqrt()),
            short(score.validation.unwrap_or(f64::NAN).sqrt()),
            format!("{:.1}", score.score),
            workshop.formula(&entry.candidate, &score.values)
        );
    }
    let best = &judgement.best;
    let _ = writeln!(out, "\nbest: {}", workshop.formula(&best.entry.candidate, &best.entry.score.values));
    let sealed = |j: &Judged| j.sealed.map_or(String::new(), |s| format!(", {} on sealed rows", short(s.sqrt())));
    for judged in std::iter::once(best).chain(&judgement.baselines) {
        let validated = judged.entry.score.validation.unwrap_or(f64::NAN).sqrt();
        let name = if std::ptr::eq(judged, best) { "best" } else { judged.name.as_str() };
        let _ = writeln!(out, "  {name}: {error} {} validated{}", short(validated), sealed(judged));
    }
    let counts = done.search.counts();
    let all = |f: fn(&dmci_search::search::Counts) -> u64| counts.values().map(f).sum::<u64>();
    let rejected: u64 = counts.values().flat_map(|c| c.rejected.values()).sum();
    let _ = writeln!(
        out,
        "\nfunnel: {} proposed, {} duplicates, {rejected} rejected, {} fitted, {} to convergence, {} cross-validated",
        all(|c| c.proposed),
        all(|c| c.duplicates),
        all(|c| c.screened),
        all(|c| c.converged),
        all(|c| c.validated)
    );
    let _ = writeln!(out, "\n{}", judgement.text);
    if !done.controls.is_empty() {
        let _ = writeln!(out, "{}", crate::control::words(judgement, &done.controls));
    }
    out
}

/// How fast it was and where the time went: what differs between two runs of the same search.
pub fn times(done: &Done) -> String {
    let screened: u64 = done.search.counts().values().map(|c| c.screened).sum();
    let busy: f64 = done.seconds.iter().sum();
    let share = |k: usize| 100.0 * done.seconds[k] / busy.max(1e-9);
    format!(
        "{:.1} s on {} threads, {:.0} new hypotheses/s; proposals {:.0}%, fits {:.0}%, cross-validation {:.0}% of {busy:.1} s",
        done.elapsed.as_secs_f64(),
        done.threads,
        screened as f64 / done.elapsed.as_secs_f64().max(1e-9),
        share(0),
        share(1),
        share(2)
    )
}

/// The same as data.
pub fn json(workshop: &Workshop, done: &Done, judgement: &Judgement) -> Json {
    let entry = |e: &Entry, id: String| {
        json!({
            "id": id,
            "hash": format!("{:016x}", e.candidate.hash),
            "program": workshop.program(&e.candidate, &e.score.values),
            "formula": workshop.formula(&e.candidate, &e.score.values),
            "nodes": e.score.nodes,
            "score": e.score.score,
            "fit": e.score.loss,
            "validation": e.score.validation,
            "hard": e.score.is_hard_to_fit(),
            "optima": {"starts": e.score.starts.0, "best": e.score.starts.1, "distinct": e.score.distinct},
        })
    };
    let judged = |j: &Judged| {
        let mut value = entry(&j.entry, j.name.clone());
        value["sealed"] = json!(j.sealed);
        value
    };
    let front: Vec<Json> =
        done.search.front().iter().enumerate().map(|(i, e)| entry(e, format!("front {}", i + 1))).collect();
    let against: Vec<Json> = judgement
        .against
        .iter()
        .map(|a| json!({"baseline": a.baseline, "difference": a.difference, "interval": [a.interval.0, a.interval.1], "p": a.p}))
        .collect();
    let mut best = judged(&judgement.best);
    let (islands, proposers) = done.search.agreement(judgement.best.entry.candidate.hash);
    best["agreement"] = json!({"islands": islands, "proposers": proposers});
    json!({
        "schema": "dmci-search-1",
        "front": front,
        "best": best,
        "baselines": judgement.baselines.iter().map(judged).collect::<Vec<Json>>(),
        "verdict": {
            "finding": judgement.finding,
            "text": judgement.text,
            "against": against,
            "not_distinguishable": judgement.not_distinguishable,
        },
        "funnel": done.search.counts().iter().map(|(p, c)| (p.name().to_string(), json!(c))).collect::<serde_json::Map<_, _>>(),
        "controls": done.controls.iter().map(|c| {
            let mut value = judged(&c.best);
            value["id"] = json!(c.name);
            value["evaluations"] = json!(c.evaluations);
            value
        }).collect::<Vec<Json>>(),
        "evaluations": done.search.evaluations(),
        "rows": {"fitted": workshop.data.open.len(), "folds": workshop.data.folds.len(), "sealed": workshop.data.sealed.len()},
        "seconds": {"elapsed": done.elapsed.as_secs_f64(), "proposals": done.seconds[0], "fits": done.seconds[1], "validation": done.seconds[2], "threads": done.threads},
    })
}
