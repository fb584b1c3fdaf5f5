//! The report of a run: one HTML file that needs nothing else.

use crate::control;
use crate::run::Done;
use dmci_plot::figure::{Figure, Line};
use dmci_search::archive::Entry;
use dmci_search::candidate::short;
use dmci_search::data::Part;
use dmci_search::funnel::Stage;
use dmci_search::judge::Judgement;
use dmci_search::lower::{Lowered, Space};
use dmci_search::mathml::mathml;
use dmci_search::search::Counts;
use dmci_search::uncertainty::standard_errors;
use dmci_search::worker::Workshop;
use std::collections::BTreeMap;
use std::fmt::Write;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:62em;margin:2em auto;padding:0 1em;color:#1f2933}\
table{border-collapse:collapse;margin:1em 0}td,th{padding:.25em .8em;text-align:right;border-bottom:1px solid #d9e2ec}\
td.text,th.text{text-align:left}code,pre{font:14px/1.4 ui-monospace,monospace;background:#f0f4f8;padding:.1em .3em}\
pre{padding:1em;overflow-x:auto}.verdict{background:#e6f0fa;border-left:4px solid #2f6db3;padding:1em;margin:1em 0}\
tr.best td{background:#e6f0fa}.none{color:#9aa5b1}svg{max-width:100%;height:auto;display:block;margin:1em 0}\
math{font-size:130%;margin:1em 0}.wide{overflow-x:auto}";

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn root(square: Option<f64>) -> String {
    square.map_or(String::new(), |s| short(s.sqrt()))
}

/// A table with texts in some of its columns and numbers in the others; cells are HTML already.
fn table(heads: &[&str], texts: &[usize], rows: impl Iterator<Item = (bool, Vec<String>)>) -> String {
    let class = |i: usize| if texts.contains(&i) { " class=\"text\"" } else { "" };
    let mut out = "<div class=\"wide\"><table><tr>".to_string();
    heads.iter().enumerate().for_each(|(i, head)| out += &format!("<th{}>{head}</th>", class(i)));
    out += "</tr>\n";
    for (is_best, cells) in rows {
        out += if is_best { "<tr class=\"best\">" } else { "<tr>" };
        cells.iter().enumerate().for_each(|(i, cell)| out += &format!("<td{}>{cell}</td>", class(i)));
        out += "</tr>\n";
    }
    out + "</table></div>\n"
}

/// The page.
pub fn html(workshop: &Workshop, done: &Done, judgement: &Judgement) -> String {
    let data = &workshop.data;
    let title = format!("{} = f({})", escaped(&data.target), escaped(&data.inputs.join(", ")));
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>dmci search: {title}</title>\
         <style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n"
    );
    let _ = writeln!(
        out,
        "<p>{} rows were fitted and validated by {} folds, {} were sealed. {} hypotheses were fitted.</p>\n\
         <p class=\"verdict\">{}</p>",
        data.open.len(),
        data.folds.len(),
        data.sealed.len(),
        done.search.evaluations(),
        escaped(&judgement.text)
    );
    out += &best(workshop, judgement);
    out += &front(workshop, done, judgement);
    out += &pictures(workshop, done, &judgement.best.entry);
    out += &comparisons(judgement);
    if !done.controls.is_empty() {
        let words = control::words(judgement, &done.controls);
        let _ = writeln!(out, "<h2>Control arms</h2>\n<p>{}</p>", escaped(&words));
    }
    out += &archive(workshop, done);
    out += &funnel(done);
    out + "</body></html>\n"
}

fn best(workshop: &Workshop, judgement: &Judgement) -> String {
    let inputs = &workshop.data.inputs;
    let best = &judgement.best.entry;
    let values = &best.score.values;
    let shown: Vec<String> = values.iter().map(|v| short(*v)).collect();
    // Fits of whole programs in a search make no errors: dmci fit gives those of the exported program.
    let is_row = workshop.general().is_none();
    let errors = if is_row { standard_errors(&best.candidate.expr, values, &workshop.data.open) } else { None };
    let unknown = if is_row { "not determined" } else { "see dmci fit" };
    let names = workshop.parameter_names(&best.candidate);
    let formula = match is_row {
        true => mathml(&best.candidate.expr, inputs, &shown),
        false => format!("<p><code>{}</code></p>", escaped(&workshop.formula(&best.candidate, values))),
    };
    let mut out = format!(
        "<h2>The best program</h2>\n{}\n<pre>{}</pre>\n",
        formula,
        escaped(&workshop.program(&best.candidate, values))
    );
    if !names.is_empty() {
        let rows = names.into_iter().enumerate().map(|(i, name)| {
            let error = errors.as_ref().map_or(unknown.to_string(), |e| short(e[i]));
            (false, vec![name, short(values[i]), error])
        });
        out += &table(&["parameter", "value", "standard error"], &[0], rows);
    }
    out
}

fn front(workshop: &Workshop, done: &Done, judgement: &Judgement) -> String {
    let rows = done.search.front().iter().map(|entry| {
        let score = &entry.score;
        let hard = if score.is_hard_to_fit() { " <em>(hard to fit)</em>" } else { "" };
        let formula = format!("<code>{}</code>{hard}", escaped(&workshop.formula(&entry.candidate, &score.values)));
        let cells = vec![
            score.nodes.to_string(),
            score.values.len().to_string(),
            root(Some(score.loss)),
            root(score.validation),
            format!("{:.1}", score.score),
            formula,
        ];
        (entry.candidate.hash == judgement.best.entry.candidate.hash, cells)
    });
    let heads = ["nodes", "parameters", "RMSE fitted", "validated", "score", "program"];
    format!(
        "<h2>Front</h2>\n<p>The best program of every complexity; the score is a description length in nats, less is \
         better. Programs of about the same error are alternatives, not findings.</p>\n{}",
        table(&heads, &[5], rows)
    )
}

fn comparisons(judgement: &Judgement) -> String {
    let others =
        std::iter::once(("best", &judgement.best)).chain(judgement.baselines.iter().map(|b| (b.name.as_str(), b)));
    let errors = others.map(|(name, judged)| {
        let score = &judged.entry.score;
        (name == "best", vec![escaped(name), score.nodes.to_string(), root(score.validation), root(judged.sealed)])
    });
    let against = judgement.against.iter().map(|a| {
        let interval = format!("{} to {}", short(a.interval.0), short(a.interval.1));
        (false, vec![escaped(&a.baseline), short(a.difference), interval, format!("{:.4}", a.p)])
    });
    let mut out = format!(
        "<h2>Against baselines</h2>\n{}{}",
        table(&["program", "nodes", "RMSE validated", "RMSE sealed"], &[0], errors),
        table(&["baseline", "mean square above the best", "99% interval", "p (Holm)"], &[0], against)
    );
    if !judgement.not_distinguishable.is_empty() {
        out += "<p>Simpler programs from which the best is not distinguishable at 1%:</p>\n<ul>\n";
        for formula in &judgement.not_distinguishable {
            let _ = writeln!(out, "<li><code>{}</code></li>", escaped(formula));
        }
        out += "</ul>\n";
    }
    out
}

/// The best of every kind on all islands: complexity by number of parameters.
fn archive(workshop: &Workshop, done: &Done) -> String {
    let mut cells: BTreeMap<(usize, usize), (&Entry, usize)> = BTreeMap::new();
    for entry in done.search.elites() {
        let key = (entry.score.nodes, entry.score.values.len());
        let held = cells.entry(key).or_insert((entry, 0));
        held.1 += 1;
        if entry.score.score < held.0.score.score {
            held.0 = entry;
        }
    }
    let widest = cells.keys().map(|k| k.1).max().unwrap_or(0);
    let sizes: std::collections::BTreeSet<usize> = cells.keys().map(|k| k.0).collect();
    let columns: Vec<String> = (0..=widest).map(|p| p.to_string()).collect();
    let mut heads = vec!["nodes"];
    heads.extend(columns.iter().map(String::as_str));
    let rows = sizes.into_iter().map(|nodes| {
        let mut row = vec![nodes.to_string()];
        for parameters in 0..=widest {
            row.push(match cells.get(&(nodes, parameters)) {
                None => "<span class=\"none\">&#183;</span>".into(),
                Some((entry, islands)) => {
                    let formula = escaped(&workshop.formula(&entry.candidate, &entry.score.values));
                    format!("<span title=\"{formula}, on {islands} islands\">{}</span>", root(entry.score.validation))
                }
            });
        }
        (false, row)
    });
    format!(
        "<h2>Archive</h2>\n<p>Validated RMSE of the best of every kind on all islands, by nodes and number of parameters; \
         point at a number for its program.</p>\n{}",
        table(&heads, &[], rows)
    )
}

fn funnel(done: &Done) -> String {
    let counts = done.search.counts();
    let stages: std::collections::BTreeSet<Stage> = counts.values().flat_map(|c| c.rejected.keys().copied()).collect();
    let mut heads = vec!["proposer".to_string(), "proposed".into(), "tried before".into()];
    heads.extend(stages.iter().map(|s| format!("rejected: {}", s.name())));
    heads.extend(["fitted", "converged", "validated", "entered an archive"].map(String::from));
    let row = |name: &str, c: &Counts| {
        let mut cells = vec![name.to_string(), c.proposed.to_string(), c.duplicates.to_string()];
        cells.extend(stages.iter().map(|s| c.rejected.get(s).copied().unwrap_or(0).to_string()));
        cells.extend([c.screened, c.converged, c.validated, c.kept].map(|n| n.to_string()));
        (false, cells)
    };
    let rows = counts.iter().map(|(proposer, c)| row(proposer.name(), c));
    format!("<h2>What was tried</h2>\n{}", table(&heads.iter().map(String::as_str).collect::<Vec<_>>(), &[0], rows))
}

/// The error of the best program of every complexity.
pub fn error_by_complexity(workshop: &Workshop, done: &Done) -> Figure {
    let points = |error: fn(&Entry) -> f64| -> Vec<(f64, f64)> {
        done.search.front().iter().map(|e| (e.score.nodes as f64, error(e))).collect()
    };
    let mut errors = Figure::new("front", "Error by complexity", "nodes", workshop.error_name(), (false, true));
    errors.lines.push(Line::new("validated", points(|e| e.score.validation.unwrap_or(f64::NAN).sqrt())));
    errors.lines.push(Line::new("fitted", points(|e| e.score.loss.sqrt())).marks());
    errors
}

/// The front, predictions against measurements, and residuals, by prediction and by each input.
fn pictures(workshop: &Workshop, done: &Done, best: &Entry) -> String {
    let data = &workshop.data;
    let errors = error_by_complexity(workshop, done);
    if workshop.general().is_some() {
        return format!("<h2>Pictures</h2>\n{}\n", errors.svg());
    }
    let mut against = Figure::new("fit", "Predicted and measured", "predicted", data.target.as_str(), (false, false));
    let mut residuals = vec![Figure::new("residuals", "Residuals", "predicted", "residual", (false, false))];
    for name in data.inputs.iter().take(INPUTS_SHOWN) {
        residuals.push(Figure::new(name, &format!("Residuals by {name}"), name, "residual", (false, false)));
    }
    for (name, part) in [("fitted", &data.open), ("sealed", &data.sealed)].into_iter().filter(|p| !p.1.is_empty()) {
        let predicted = predictions(workshop, best, part);
        let left: Vec<f64> = predicted.iter().zip(&part.target).map(|(p, y)| y - p).collect();
        let pairs = |x: &[f64], y: &[f64]| x.iter().copied().zip(y.iter().copied()).collect::<Vec<(f64, f64)>>();
        against.lines.push(Line::new(name, pairs(&predicted, &part.target)).marks());
        for (figure, x) in residuals.iter_mut().zip(std::iter::once(&predicted).chain(&part.columns)) {
            figure.lines.push(Line::new(name, pairs(x, &left)).marks());
        }
    }
    let residuals: String = residuals.iter().map(Figure::svg).collect();
    format!("{}\n<h2>Fit and residuals</h2>\n{}\n{residuals}\n", errors.svg(), against.svg())
}

/// Inputs whose residuals are drawn.
const INPUTS_SHOWN: usize = 6;

fn predictions(workshop: &Workshop, entry: &Entry, part: &Part) -> Vec<f64> {
    let mut model = Lowered::new(&entry.candidate.expr, workshop.data.inputs.len());
    model.values(&entry.score.values, &part.slices(), part.len(), &mut Space::default())
}
