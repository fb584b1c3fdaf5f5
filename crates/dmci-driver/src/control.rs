//! Control arms: the same rows, the same number of hypotheses, without what makes a search a search. A program that they
//! find as well owes nothing to the search.

use crate::request::{Begun, SearchRequest};
use crate::run::{Limits, run};
use dmci::Report;
use dmci_search::judge::{Judged, Judgement, baselines};
use dmci_search::search::{Proposer, Search, Settings};
use dmci_search::worker::Workshop;
use std::collections::VecDeque;
use std::fmt::Write;

/// What a control arm came to.
#[derive(Clone, Debug)]
pub struct Control {
    /// What it does without.
    pub name: &'static str,
    /// Its best program, judged on the same rows.
    pub best: Judged,
    /// Hypotheses that it fitted.
    pub evaluations: u64,
}

/// Runs the control arms with so many hypotheses each.
pub fn controls(
    request: &SearchRequest,
    workshop: &Workshop,
    evaluations: u64,
    limits: &Limits<'_>,
) -> Result<Vec<Control>, Report> {
    let limits = &Limits { consultant: None, ..*limits };
    let usual = Settings { evolve: false, evaluations: Some(evaluations), ..request.settings(workshop) };
    let random = Settings { proposers: vec![(Proposer::Random, 1.0)], ..usual.clone() };
    let mut list = Vec::new();
    for (name, settings) in [("best of N, no evolution", usual), ("random expressions", random)] {
        let first = match workshop.general() {
            Some(general) => general.seeds(),
            None => baselines(workshop.data.inputs.len(), &workshop.operations).into_iter().map(|b| b.1).collect(),
        };
        let search = Search::new(settings, first);
        let done = run(workshop, search, VecDeque::new(), limits, &mut |_, _| Ok(()), &mut |_, _| {})?;
        let judged = limits.judging(&done, || Begun::judge(workshop, &done.search, &[], request.seed))?;
        list.push(Control { name, best: judged.best, evaluations: done.search.evaluations() });
    }
    Ok(list)
}

/// What controls say about a judgement, in words.
pub fn words(judgement: &Judgement, controls: &[Control]) -> String {
    let root = |j: &Judged| j.sealed.or(j.entry.score.validation).unwrap_or(f64::INFINITY).sqrt();
    let mut out = String::new();
    for control in controls {
        let (own, other) = (root(&judgement.best), root(&control.best));
        let same = control.best.entry.candidate.hash == judgement.best.entry.candidate.hash;
        let verdict = if same {
            "found the same program".to_string()
        } else {
            format!("came to an RMSE of {other:.4e}, the search to {own:.4e}")
        };
        let _ = write!(out, "Control, {} ({} hypotheses): {verdict}. ", control.name, control.evaluations);
    }
    out.trim_end().to_string()
}
