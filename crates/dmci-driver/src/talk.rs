//! What somebody who is asked for programs is told: the problem, what a search knows, and the residual report.

use dmci_search::archive::Entry;
use dmci_search::lower::Lowered;
use dmci_search::prompt::{Briefing, Context, Known};
use dmci_search::search::Knowledge;
use dmci_search::worker::Workshop;
use dmci_stats::diagnosis::{Question, Searched, diagnose};
use dmci_stats::residuals::Rows;

/// Programs that are wanted in an answer.
pub const COUNT: usize = 5;

/// What a search knows, as a prompt shows it. `names` are those of the inputs.
pub fn context(workshop: &Workshop, known: &Knowledge, names: &[String]) -> Context {
    let shown = |entry: &Entry| Known {
        program: entry.candidate.program(names, &entry.score.values),
        score: entry.score.score,
        error: entry.score.validation.unwrap_or(entry.score.loss).sqrt(),
        nodes: entry.score.nodes,
    };
    Context {
        parents: known.parents.iter().map(shown).collect(),
        residuals: known.parents.first().map(|best| residuals(workshop, best, names)),
        tried: known.tried.iter().map(shown).collect(),
        rejects: known.rejects.clone(),
    }
}

/// The problem: the user's words about it, or nothing but `x1`, `x2`, ... and `y`.
pub fn briefing(about: Option<&str>, anonymous: bool, workshop: &Workshop) -> Briefing {
    let data = &workshop.data;
    let range = |(name, column): (&String, &Vec<f64>)| {
        let low = column.iter().copied().fold(f64::INFINITY, f64::min);
        (name.clone(), low, column.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    };
    let words =
        about.map_or_else(|| format!("Find a law that predicts {} from the inputs.", data.target), str::to_string);
    let found = Briefing {
        words,
        target: data.target.clone(),
        inputs: data.inputs.iter().zip(&data.open.columns).map(range).collect(),
        rows: data.open.len(),
        operations: workshop.operations.clone(),
        size: workshop.size,
        count: COUNT,
    };
    if anonymous { found.anonymous() } else { found }
}

/// The residual report of a fitted program over the open rows.
pub fn residuals(workshop: &Workshop, entry: &Entry, names: &[String]) -> String {
    let (data, score) = (&workshop.data, &entry.score);
    let model = Lowered::new(&entry.candidate.expr, data.inputs.len());
    let residuals = workshop.scorer().errors(&model, &data.open, &score.values);
    let weight = |r: usize| data.open.root_weights.as_ref().map_or(1.0, |w| w[r]);
    let pairs = residuals.iter().zip(&data.open.target).enumerate();
    let predictions = pairs.map(|(r, (e, y))| y - e / weight(r)).collect();
    let inputs = names.iter().cloned().zip(data.open.columns.iter().cloned()).collect();
    let searched = Searched {
        converged: score.converged,
        starts: score.starts.0 as usize,
        reached: score.starts.1 as usize,
        ..Searched::default()
    };
    let rows = Rows { residuals, predictions, inputs };
    let deviation = data.variance.sqrt();
    let question = Question {
        rows: &rows,
        groups: None,
        deviation,
        known_noise: false,
        parameters: score.values.len(),
        searched: &searched,
    };
    diagnose(&question).text()
}
