//! The result of a fit as a table.

use super::progress::time;
use dmci::ParameterKind;
use dmci_fit::plot::digits;
use dmci_fit::{Fit, Problem, Score, Stop};

/// Parameters, scores, and why the fit ended.
pub fn table(problem: &Problem, fit: &Fit) -> String {
    let mut rows = vec![["parameter", "kind", "start", "fitted"].map(String::from)];
    for p in &fit.parameters {
        let value = if p.fixed { "fixed".into() } else { digits(p.value, 6) };
        rows.push([p.name.clone(), p.kind.to_string(), digits(p.start, 6), value]);
    }
    let widths: Vec<usize> = (0..4).map(|i| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        text += cells.join("  ").trim_end();
        text.push('\n');
    }
    let at_start = format!("loss {} (at the start {})", digits(fit.score.loss, 5), digits(fit.start_loss, 5));
    text += &format!("\n{at_start}, {}, {} rows\n", scores(&fit.score), problem.training.target.len());
    if let Some(score) = &fit.held_out {
        let rows = problem.held_out.target.len();
        text += &format!("held out: loss {}, {}, {rows} rows\n", digits(score.loss, 5), scores(score));
    }
    text += &ending(fit);
    if fit.best_restart().stopped == Stop::Epochs {
        text += &advice(problem, fit);
    }
    text
}

fn scores(score: &Score) -> String {
    let r2 = score.r2.map_or(String::new(), |r2| format!("R2 {}, ", digits(r2, 6)));
    format!("{r2}RMSE {}", digits(score.rmse, 5))
}

/// What happened, in one line.
fn ending(fit: &Fit) -> String {
    let best = fit.best_restart();
    let mut text = format!("{} epochs, {}", best.epochs, best.stopped.sentence());
    if fit.restarts.len() > 1 {
        let close = fit.restarts.iter().filter(|r| r.loss <= fit.score.loss * 1.01).count();
        text += &format!("; {close} of {} searches came here", fit.restarts.len());
    }
    let step_backs: usize = fit.restarts.iter().map(|r| r.step_backs).sum();
    if step_backs > 0 {
        text += &format!("; {step_backs} steps back from values that are not finite");
    }
    text += &format!("; {}\n", time(fit.time.as_secs_f64()));
    text
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
        true => "it had not converged: more --epochs, or a larger --rate, may help\n".into(),
        false => format!("it had not converged: say how large the values are, {}\n", far.join(" ")),
    }
}

/// About how large a number is: its first digit.
fn rough(x: f64) -> String {
    let size: f64 = format!("{:.0e}", x.abs()).parse().unwrap_or(1.0);
    digits(size, 6)
}
