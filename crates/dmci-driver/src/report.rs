//! The report of a run: one HTML file that needs nothing else.

use crate::run::Done;
use dmci_plot::figure::{Figure, Line};
use dmci_search::archive::Entry;
use dmci_search::candidate::{parameter_names, short};
use dmci_search::data::Part;
use dmci_search::judge::Judgement;
use dmci_search::lower::{Lowered, Space};
use dmci_search::mathml::mathml;
use dmci_search::worker::Workshop;
use std::fmt::Write;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#1f2933}\
table{border-collapse:collapse;margin:1em 0}td,th{padding:.25em .8em;text-align:right;border-bottom:1px solid #d9e2ec}\
td:last-child,th:last-child{text-align:left}code,pre{font:14px/1.4 ui-monospace,monospace;background:#f0f4f8;padding:.1em .3em}\
pre{padding:1em;overflow-x:auto}.verdict{background:#e6f0fa;border-left:4px solid #2f6db3;padding:1em;margin:1em 0}\
svg{max-width:100%;height:auto}math{font-size:120%;margin:1em 0}";

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The page.
pub fn html(workshop: &Workshop, done: &Done, judgement: &Judgement) -> String {
    let data = &workshop.data;
    let best = &judgement.best.entry;
    let inputs = &data.inputs;
    let title = format!("{} = f({})", escaped(&data.target), escaped(&inputs.join(", ")));
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>dmci search: {title}</title>\
         <style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n"
    );
    let _ = writeln!(
        out,
        "<p>{} rows fitted and validated by {} folds, {} sealed; {} hypotheses fitted.</p>\n<p class=\"verdict\">{}</p>",
        data.open.len(),
        data.folds.len(),
        data.sealed.len(),
        done.search.evaluations(),
        escaped(&judgement.text)
    );
    let shown: Vec<String> = best.score.values.iter().map(|v| short(*v)).collect();
    let program = best.candidate.program(inputs, &best.score.values);
    let _ = writeln!(
        out,
        "<h2>The best program</h2>\n{}\n<pre>{}</pre>",
        mathml(&best.candidate.expr, inputs, &shown),
        escaped(&program)
    );
    out += "<table><tr><th>parameter</th><th>value</th></tr>\n";
    for (name, value) in parameter_names(shown.len(), inputs).iter().zip(&best.score.values) {
        let _ = writeln!(out, "<tr><td>{name}</td><td>{value}</td></tr>");
    }
    out += "</table>\n";
    out += &pictures(workshop, done, best);
    out += "<h2>Front</h2>\n<table><tr><th>nodes</th><th>RMSE fitted</th><th>validated</th><th>score</th><th>program</th></tr>\n";
    for entry in done.search.front() {
        let score = &entry.score;
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{:.1}</td><td><code>{}</code></td></tr>",
            score.nodes,
            short(score.loss.sqrt()),
            short(score.validation.unwrap_or(f64::NAN).sqrt()),
            score.score,
            escaped(&entry.candidate.formula(inputs, &score.values))
        );
    }
    out += "</table>\n<h2>Against baselines</h2>\n<table><tr><th>baseline</th><th>mean square above the best</th><th>99% interval</th><th>p (Holm)</th></tr>\n";
    for a in &judgement.against {
        let (low, high) = a.interval;
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{} to {}</td><td>{:.4}</td></tr>",
            escaped(&a.baseline),
            short(a.difference),
            short(low),
            short(high),
            a.p
        );
    }
    out += "</table>\n<h2>Funnel</h2>\n<table><tr><th>proposer</th><th>proposed</th><th>duplicates</th><th>rejected</th><th>fitted</th><th>converged</th><th>validated</th><th>kept</th></tr>\n";
    for (proposer, c) in done.search.counts() {
        let rejected: u64 = c.rejected.values().sum();
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{rejected}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            proposer.name(),
            c.proposed,
            c.duplicates,
            c.screened,
            c.converged,
            c.validated,
            c.kept
        );
    }
    out += "</table>\n";
    if !done.controls.is_empty() {
        let words = crate::control::words(judgement, &done.controls);
        let _ = writeln!(out, "<h2>Controls</h2>\n<p>{}</p>", escaped(&words));
    }
    out + "</body></html>\n"
}

/// The front, predictions against measurements, and residuals.
fn pictures(workshop: &Workshop, done: &Done, best: &Entry) -> String {
    let data = &workshop.data;
    let front = |error: fn(&Entry) -> f64| -> Vec<(f64, f64)> {
        done.search.front().iter().map(|e| (e.score.nodes as f64, error(e))).collect()
    };
    let mut errors = Figure::new("front", "Error by complexity", "nodes", "RMSE", (false, true));
    errors.lines.push(Line::new("validated", front(|e| e.score.validation.unwrap_or(f64::NAN).sqrt())));
    errors.lines.push(Line::new("fitted", front(|e| e.score.loss.sqrt())).marks());
    let mut against = Figure::new("fit", "Predicted and measured", "predicted", data.target.as_str(), (false, false));
    let mut residuals = Figure::new("residuals", "Residuals", "predicted", "residual", (false, false));
    for (name, part) in [("fitted", &data.open), ("sealed", &data.sealed)] {
        let predicted = predictions(workshop, best, part);
        let pairs = |f: fn(f64, f64) -> f64| -> Vec<(f64, f64)> {
            predicted.iter().zip(&part.target).map(|(p, y)| (*p, f(*p, *y))).collect()
        };
        if !part.is_empty() {
            against.lines.push(Line::new(name, pairs(|_, y| y)).marks());
            residuals.lines.push(Line::new(name, pairs(|p, y| y - p)).marks());
        }
    }
    format!("<h2>Pictures</h2>\n{}\n{}\n{}\n", errors.svg(), against.svg(), residuals.svg())
}

fn predictions(workshop: &Workshop, entry: &Entry, part: &Part) -> Vec<f64> {
    let mut model = Lowered::new(&entry.candidate.expr, workshop.data.inputs.len());
    model.values(&entry.score.values, &part.slices(), part.len(), &mut Space::default())
}
