//! The result of a fit as a table.

use super::progress::time;
use dmci::ParameterKind;
use dmci_fit::{Fit, FitRecord, FormulaNames, Intervals, Loss, Optimizer, Outcome, Problem, Score, Stop, Verdict};
use dmci_plot::{aligned, digits};

/// Numbers of a table beyond which it is cut.
const MOST_NUMBERS: usize = 40;

/// Parameters, scores, and why the fit ended.
pub fn table(problem: &Problem, fit: &Fit) -> String {
    let mut text = parameters(fit);
    let name = match &problem.loss {
        Loss::Mse => "loss".to_string(),
        Loss::Objective => "objective".to_string(),
        other => format!("{} loss", other.name()),
    };
    let at_start = format!("{name} {} (at the start {})", digits(fit.score.loss, 5), digits(fit.start_loss, 5));
    let (fitted, held) = problem.row_counts();
    text += &format!("\n{at_start}{}, {}\n", scores(&fit.score), rows(fitted));
    match &fit.held_out {
        Some(score) => {
            text += &format!("held out: loss {}{}, {}\n", digits(score.loss, 5), scores(score), rows(held));
        }
        None if held > 0 && problem.is_objective() => {
            text += &format!("held out: {}; --target and a result yhat would score them\n", rows(held));
        }
        None => {}
    }
    if let Some(c) = &fit.criteria {
        let aicc = c.aicc.map_or(String::new(), |aicc| format!(", AICc {}", digits(aicc, 6)));
        text += &format!("AIC {}{aicc}, BIC {}\n", digits(c.aic, 6), digits(c.bic, 6));
    }
    if let Some(chi) = &fit.chi_square {
        let verdict = chi.verdict().map_or(String::new(), |word| format!(", {word}"));
        let (reduced, freedom) = (digits(chi.reduced(), 4), chi.freedom);
        text += &format!("reduced chi-square {reduced} ({freedom} degrees of freedom){verdict}\n");
    }
    if let Some(why) = fit.no_errors.as_ref().filter(|_| fit.uncertainty.is_none()) {
        text += &format!("no errors: {}\n", dmci::Spelling::Flag.spell(why));
    }
    if fit.uncertainty.as_ref().is_some_and(|u| u.exact) {
        text += "the program gives the data up to rounding: there is no noise to estimate errors from\n";
    }
    for direction in fit.uncertainty.iter().flat_map(|u| &u.directions) {
        text += &format!("{}\n", direction.sentence());
    }
    for (name, deviation) in fit.bootstrap.iter().flat_map(|b| &b.tails) {
        let deviation = digits(*deviation, 3);
        text += &format!("the resampled fits of {name} have long tails: their standard deviation is {deviation}\n");
    }
    match (&fit.bootstrap, fit.intervals) {
        (Some(b), _) if b.failed > 0 => {
            text += &format!(
                "errors and intervals by {} fits to resampled rows; {} more failed\n",
                b.draws.len(),
                b.failed
            );
        }
        (Some(b), _) => text += &format!("errors and intervals by {} fits to resampled rows\n", b.draws.len()),
        (None, Intervals::Profile) => text += "intervals by the profile of the likelihood\n",
        _ => {}
    }
    if fit.optimizer.0 != "lm" && fit.optimizer.0 != "lbfgs" {
        text += &format!("{}: {}\n", Optimizer::title(fit.optimizer.0), fit.optimizer.1);
    }
    if !fit.eliminated.is_empty() {
        text += &format!("{} eliminated by variable projection\n", fit.eliminated.join(", "));
    }
    text += &ending(fit);
    text += &optimality(fit);
    if fit.best_restart().stopped == Stop::Epochs && fit.optimality.outcome == Outcome::Stalled {
        text += &advice(problem, fit);
    }
    text + &format!("conclusion: {}\n", dmci::Spelling::Flag.spell(&fit.conclusion(problem)))
}

/// Numbers beyond which a table of correlations cannot be read.
const MOST_CORRELATED: usize = 12;

/// How the errors of the parameters go together, as a table.
pub fn correlations(record: &FitRecord) -> String {
    let Some(known) = record.uncertainty.as_ref().filter(|known| !known.correlations.is_empty()) else {
        return "\nno correlations: the fit gives no errors\n".into();
    };
    let names = &known.names[..known.names.len().min(MOST_CORRELATED)];
    let mut rows = vec![vec!["correlations".to_string()]];
    rows[0].extend(names.iter().cloned());
    for (i, name) in names.iter().enumerate() {
        let cell = |j: usize| known.correlations[i].get(j).map_or(f64::NAN, |c| c.0);
        let shown = |c: f64| if c.is_nan() { String::new() } else { format!("{c:.3}") };
        rows.push([vec![name.clone()], (0..=i).map(|j| shown(cell(j))).collect()].concat());
    }
    let mut text = format!("\n{}", aligned(&rows));
    if known.names.len() > MOST_CORRELATED {
        text += &format!("... and {} more numbers: --json shows all\n", known.names.len() - MOST_CORRELATED);
    }
    text
}

/// What the names of a formula were taken for.
pub fn names(formula: &FormulaNames) -> String {
    let list = |names: &[String]| if names.is_empty() { "none".to_string() } else { names.join(", ") };
    format!("columns: {}; parameters: {}\n\n", list(&formula.columns), list(&formula.parameters))
}

/// The score on the scale that a transformed target was measured on.
pub fn original_scale(name: &str, score: &Score) -> String {
    format!("on the scale of {name}{}\n", scores(score).replacen(',', ":", 1))
}

fn rows(count: usize) -> String {
    format!("{count} {}", if count == 1 { "row" } else { "rows" })
}

fn parameters(fit: &Fit) -> String {
    let mut rows = vec![["parameter", "kind", "start", "fitted", "error", "95% interval", ""].map(String::from)];
    let numbers: Vec<_> = fit.parameters.iter().flat_map(|p| p.numbers.iter().map(move |n| (p, n))).collect();
    for (p, n) in numbers.iter().take(MOST_NUMBERS) {
        let value = if p.fixed { "fixed".into() } else { digits(n.value, 6) };
        let sureness = n.sureness;
        let error = sureness.and_then(|s| s.error).map_or(String::new(), |e| digits(e, 3));
        let interval = sureness.and_then(|s| s.interval);
        let interval = interval.map_or(String::new(), |(a, b)| format!("{} to {}", digits(a, 5), digits(b, 5)));
        let verdict = match sureness.map(|s| s.verdict) {
            _ if n.at_bound && interval.is_empty() && sureness.is_some() => "at its bound, error not determined".into(),
            _ if n.at_bound => "at its bound".into(),
            Some(Verdict::Weakly) => "weakly identifiable".into(),
            Some(Verdict::Not) => "not identifiable".into(),
            _ => n.missing.clone().unwrap_or_default(),
        };
        rows.push([n.name.clone(), p.kind.clone(), digits(n.start, 6), value, error, interval, verdict]);
    }
    let used: Vec<usize> = (0..7).filter(|&i| i < 4 || rows[1..].iter().any(|row| !row[i].is_empty())).collect();
    let shown: Vec<Vec<String>> = rows.iter().map(|row| used.iter().map(|&i| row[i].clone()).collect()).collect();
    let mut text = aligned(&shown);
    if numbers.len() > MOST_NUMBERS {
        text += &format!("... and {} more numbers: --json shows all\n", numbers.len() - MOST_NUMBERS);
    }
    text
}

fn scores(score: &Score) -> String {
    let r2 = score.r2.map_or(String::new(), |r2| format!(", R2 {}", digits(r2, 6)));
    let rmse = if score.rmse.is_nan() { String::new() } else { format!(", RMSE {}", digits(score.rmse, 5)) };
    format!("{r2}{rmse}")
}

/// What happened, in one line.
fn ending(fit: &Fit) -> String {
    let best = fit.best_restart();
    let iterations = if best.epochs == 1 { "iteration" } else { "iterations" };
    let (title, epochs) = (Optimizer::title(fit.optimizer.0), best.epochs);
    let mut text = match fit.optimality.outcome {
        Outcome::Converged => format!("{title} converged in {epochs} {iterations}"),
        Outcome::Unchecked => format!("{title} converged (curvature not checked) in {epochs} {iterations}"),
        Outcome::Local => format!("{title} converged (local) in {epochs} {iterations}"),
        Outcome::Stalled if !best.stopped.is_end() => {
            format!("{title} stopped after {epochs} {iterations}: {}", best.stopped.sentence())
        }
        Outcome::Stalled => format!("{title} stalled after {epochs} {iterations}"),
        Outcome::Flat => format!("{title} ended where the loss is flat, after {epochs} {iterations}"),
        Outcome::AtBound => format!("{title} ended at a bound after {epochs} {iterations}"),
        Outcome::Diverging => format!("{title} diverges, stopped after {epochs} {iterations}"),
    };
    if fit.restarts.len() > 1 {
        let same = fit.restarts.iter().filter(|r| r.optimum.is_some() && r.optimum == best.optimum).count();
        text += &format!("; {same} of {} starts reached this optimum", fit.restarts.len());
    }
    let step_backs: usize = fit.restarts.iter().map(|r| r.step_backs).sum();
    if step_backs > 0 {
        text += &format!("; {step_backs} steps back from values that are not finite");
    }
    text += &format!("; {}\n", time(fit.time.as_secs_f64()));
    text
}

/// A share of the largest curvature below this may come from the gradient that is left at the end of a search: no
/// positive curvature is claimed for it.
const LEAST_CURVATURE: f64 = 1e-8;

/// What the test of an optimum says.
fn optimality(fit: &Fit) -> String {
    let tested = &fit.optimality;
    let share = tested.decrement.map(|d| format!("Newton decrement {} of the loss", digits(d, 2)));
    let curvature = tested.curvature.map(|c| match c > LEAST_CURVATURE {
        _ if tested.outcome == Outcome::Flat => "no curvature along a flat direction".to_string(),
        true => "curvature positive".to_string(),
        false => format!("lowest curvature {} of the largest", digits(c, 2)),
    });
    let probes = (tested.test == "probes").then(|| match tested.outcome {
        Outcome::Stalled => "a point nearby is lower".to_string(),
        _ => "no point nearby is lower".to_string(),
    });
    let parts: Vec<String> = [share, curvature, probes].into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!("optimality: {}\n", parts.join(", ")) }
}

/// Raw numbers beyond this are many steps away from each other.
const FAR: f64 = 20.0;

/// What may help a fit that had not ended.
fn advice(problem: &Problem, fit: &Fit) -> String {
    let fitted = problem.parameters.iter().zip(&fit.parameters);
    let far = fitted.filter(|(p, f)| p.scale.is_none() && f.value.abs().max(f.start.abs()) > FAR);
    let far: Vec<String> = far
        .filter(|(p, _)| matches!(p.kind, ParameterKind::Free | ParameterKind::Positive))
        .map(|(p, f)| format!("({} {} {} {})", p.name, p.kind, digits(p.init, 6), rough(f.value)))
        .collect();
    match far.is_empty() {
        true => "it had not converged: more --epochs may help\n".into(),
        false => format!("it had not converged: say how large the values are, {}\n", far.join(" ")),
    }
}

/// About how large a number is: its first digit.
fn rough(x: f64) -> String {
    let size: f64 = format!("{:.0e}", x.abs()).parse().unwrap_or(1.0);
    digits(size, 6)
}
