//! How a fit ended: its outcome in words, the next step to try, and the warning that goes with it.

use crate::choice::Choice;
use crate::optimality::{Examined, Optimality, Outcome, TOLERANCE, examine};
use crate::problem::Problem;
use crate::result::{Fitted, RestartResult};
use crate::score::Score;
use crate::search::Stop;
use crate::uncertainty::{Direction, Errors, Uncertainty};
use dmci::{Diagnostic, ErrorCode, Report};
use dmci_plot::digits;

/// An R2 below this is no better than a constant.
const NOTHING: f64 = 0.01;

/// The test of the result, and what it means.
#[allow(clippy::too_many_arguments)]
pub(crate) fn optimality(
    problem: &Problem,
    (choice, errors): (&Choice, Errors),
    raw: &[f64],
    restarts: &[RestartResult],
    best: usize,
    parameters: &[Fitted],
    uncertainty: Option<&Uncertainty>,
    examined: Option<(Vec<f64>, Examined)>,
) -> Result<Optimality, Report> {
    let stop = restarts[best].stopped;
    let names = problem.raw_names();
    let examined = match examined.filter(|(point, _)| point == raw) {
        Some((_, examined)) => examined,
        // Whoever interrupts wants to see what there is, and not to wait.
        None if matches!(stop, Stop::Interrupted | Stop::Time) => Examined { test: "none", ..Examined::default() },
        None => {
            let stepwise = (0..names.len()).filter(|&j| choice.without_derivative.contains(&names[j]));
            let evaluations = restarts.iter().map(|r| r.evaluations).sum();
            examine(problem, raw, errors.budget(evaluations), &stepwise.collect::<Vec<_>>())?
        }
    };
    let list = |numbers: &[usize]| numbers.iter().map(|&j| names[j].clone()).collect::<Vec<String>>();
    let bound: Vec<String> =
        parameters.iter().flat_map(|p| &p.numbers).filter(|n| n.at_bound).map(|n| n.name.clone()).collect();
    let not_bound = |list: Vec<String>| list.into_iter().filter(|n| !bound.contains(n)).collect::<Vec<String>>();
    let (diverging, flat) = (not_bound(list(&examined.diverging)), not_bound(list(&examined.flat)));
    let direction = uncertainty.and_then(|u| u.directions.iter().find(|d| d.flat));
    let direction = direction.or(examined.direction.as_ref());
    let loss = restarts[best].loss;
    let beaten = restarts.iter().any(|r| r.loss < loss - TOLERANCE * loss.abs());
    let (outcome, about, next) = if !diverging.is_empty() {
        let next = format!(
            "give {} a range, as in ({} (bounded LOW HIGH) START), or a prior, or start elsewhere",
            listed(&diverging),
            diverging[0]
        );
        (Outcome::Diverging, diverging, next)
    } else if examined.better.is_some() || examined.test == "none" {
        (Outcome::Stalled, Vec::new(), unstuck(stop))
    } else if !flat.is_empty() {
        let next = format!("start where {} matters, or give it a range or a scale", listed(&flat));
        (Outcome::Flat, flat, next)
    } else if let Some(direction) = direction {
        let about = direction.moves.iter().map(|(name, _)| name.clone()).collect();
        (Outcome::Flat, about, "fix one of them".to_string())
    } else if !bound.is_empty() {
        let next = format!("widen the bounds of {}, or fix it there", listed(&bound));
        (Outcome::AtBound, bound, next)
    } else if beaten {
        (Outcome::Local, Vec::new(), "take the start with the lowest loss".to_string())
    } else if !examined.is_checked {
        (Outcome::Unchecked, Vec::new(), String::new())
    } else {
        (Outcome::Converged, Vec::new(), String::new())
    };
    Ok(Optimality {
        outcome,
        decrement: examined.decrement,
        curvature: examined.curvature,
        test: examined.test,
        parameters: about,
        next: Some(next).filter(|next| !next.is_empty()),
    })
}

/// Names in a sentence. Of many, as parameters that differ by group have, the first stand for all.
fn listed(names: &[String]) -> String {
    match names.len().checked_sub(MOST_NAMES) {
        None | Some(0..2) => names.join(" and "),
        Some(others) => format!("{} and {others} others", names[..MOST_NAMES].join(", ")),
    }
}

/// Most names in a sentence.
const MOST_NAMES: usize = 4;

/// What helps a search that ended too early.
fn unstuck(stop: Stop) -> String {
    match stop {
        Stop::Epochs => "allow more epochs",
        Stop::Evaluations => "allow more evaluations",
        Stop::Time => "allow more time",
        Stop::Interrupted => "let it run to its end",
        Stop::Stuck => "start elsewhere: every step leads to values that are not finite",
        _ => "start elsewhere, allow more starts, or say how large the parameters are",
    }
    .to_string()
}

/// Warns of everything but an optimum, and of a fit that explains nothing.
pub(crate) fn warn(
    problem: &Problem,
    optimality: &Optimality,
    score: &Score,
    (best, unused): (&RestartResult, &[String]),
    warnings: &mut Report,
) {
    let names = listed(&optimality.parameters);
    let message = match optimality.outcome {
        Outcome::Converged | Outcome::Unchecked => None,
        // Another warning says so of each.
        Outcome::Flat if optimality.parameters.iter().all(|name| unused.contains(name)) => None,
        Outcome::Local => Some("this is a local optimum: another start reached a lower loss".to_string()),
        Outcome::Stalled if best.stopped == Stop::Interrupted => None,
        Outcome::Stalled if best.stopped.is_end() => {
            Some("the search stalled: the loss still falls near the point where it ended".to_string())
        }
        Outcome::Stalled => Some(format!("the search ended before an optimum: {}", best.stopped.sentence())),
        Outcome::Flat if optimality.parameters.len() > 1 => {
            Some(format!("only a combination of {names} is determined"))
        }
        Outcome::Flat => Some(format!("the loss does not change with {names} where the search ended")),
        Outcome::AtBound => Some(format!("{names} ended at its bound")),
        Outcome::Diverging => Some(format!("{names} grows without limit while the loss hardly falls")),
    };
    if let (Some(message), Some(code)) = (message, optimality.outcome.code()) {
        let warning = Diagnostic::warning(code, message);
        let warning = match &optimality.next {
            Some(next) => warning.help(next.clone()),
            None => warning,
        };
        warnings.append(Report::from(warning));
    }
    let explains_nothing = score.r2.is_some_and(|r2| r2 < NOTHING) && !problem.is_constant;
    if explains_nothing && best.stopped.is_end() {
        let r2 = digits(score.r2.unwrap_or(0.0), 2);
        let message = format!("the fitted program is no better than a constant: R2 is {r2}");
        let help = "the optimum may be a wrong one: try more starts or ranges for the parameters, or another program";
        warnings.append(Report::from(Diagnostic::warning(ErrorCode::W0806, message).help(help)));
    }
}

impl Direction {
    /// The same with the name of the group that it was found in.
    pub(crate) fn of_group(self, group: &str) -> Direction {
        let named = |(name, by): (String, f64)| (format!("{name}[{group}]"), by);
        Direction { moves: self.moves.into_iter().map(named).collect(), ..self }
    }

    /// The direction in words.
    pub fn sentence(&self) -> String {
        let moves: Vec<String> = self
            .moves
            .iter()
            .take(6)
            .map(|(name, by)| format!("{name} {}{}%", if *by < 0.0 { "" } else { "+" }, digits(*by, 2)))
            .collect();
        let names: Vec<&str> = self.moves.iter().take(6).map(|m| m.0.as_str()).collect();
        match (&names[..], self.flat) {
            ([one], true) => format!("the data do not determine {one}"),
            ([one], false) => format!("the data hardly determine {one}"),
            (many, flat) => {
                let (last, others) = many.split_last().map_or(("", &[][..]), |(l, o)| (*l, o));
                let (first, rest) =
                    moves.split_first().map_or((String::new(), String::new()), |(f, r)| (f.clone(), r.join(", ")));
                let (only, equally) = if flat { ("only", "equally") } else { ("mostly only", "nearly as") };
                format!(
                    "{only} a combination of {} and {last} is determined ({first} with {rest} fits {equally} well); fix one of them",
                    others.join(", ")
                )
            }
        }
    }
}
