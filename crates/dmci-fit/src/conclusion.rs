//! One plain sentence at the end of a fit: what was found, how good it is, and what to do next if it is poor.

use crate::loss::Loss;
use crate::optimality::Outcome;
use crate::problem::Problem;
use crate::result::{Fit, Number};
use crate::uncertainty::Verdict;
use dmci_plot::digits;
use dmci_stats::residuals::autocorrelation;
use dmci_table::reals;

/// An R2 below this is that of a constant.
const NOTHING: f64 = 0.01;

/// An R2 below this is poor.
const POOR: f64 = 0.5;

/// A standard error of more than this share of a number is worth a word.
const VAGUE: f64 = 0.5;

/// Standard deviations beyond which the correlation of neighbouring residuals is no chance.
const PATTERN: f64 = 4.0;

/// Rows below which no pattern is looked for.
const LEAST_ROWS: usize = 20;

impl Fit {
    /// What was found, how good it is, and what to do next, in one or two sentences.
    pub fn conclusion(&self, problem: &Problem) -> String {
        let ended = match self.optimality.outcome {
            Outcome::Stalled | Outcome::Diverging => "no optimum was found; so far, ",
            Outcome::Local => "another start found a better optimum; here, ",
            _ => "",
        };
        let mut text = format!("{ended}{}{}", self.quality(problem), self.certainty());
        if let Some(next) = self.next(problem) {
            text += &format!("; {next}");
        }
        text
    }

    /// How good it is.
    fn quality(&self, problem: &Problem) -> String {
        let targets = problem.targets.join(" and ");
        if let Some(chi) = &self.chi_square {
            let reduced = digits(chi.reduced(), 3);
            return match chi.verdict() {
                None => format!(
                    "the model agrees with {targets} within the standard deviations (reduced chi-square {reduced})"
                ),
                Some(_) if chi.reduced() > 1.0 => {
                    format!(
                        "the model misses {targets} by more than the standard deviations allow (reduced chi-square {reduced})"
                    )
                }
                Some(_) => {
                    format!(
                        "the model is closer to {targets} than the standard deviations allow (reduced chi-square {reduced})"
                    )
                }
            };
        }
        match self.score.r2 {
            Some(r2) if r2 < 0.0 => format!("the model predicts {targets} worse than its mean does"),
            Some(r2) if r2 < NOTHING => format!("the model explains nothing of the variance of {targets}"),
            Some(r2) => {
                let only = if r2 < POOR { "only " } else { "" };
                format!("the model explains {only}{} of the variance of {targets}", percent(r2))
            }
            None if problem.loss == Loss::Objective => {
                format!(
                    "the objective is {}, from {} at the start",
                    digits(self.score.loss, 5),
                    digits(self.start_loss, 5)
                )
            }
            None => {
                format!("the loss is {}, from {} at the start", digits(self.score.loss, 5), digits(self.start_loss, 5))
            }
        }
    }

    fn numbers(&self) -> impl Iterator<Item = &Number> {
        self.parameters.iter().filter(|p| !p.fixed).flat_map(|p| &p.numbers)
    }

    /// How well the parameters are known.
    fn certainty(&self) -> String {
        let known: Vec<(&Number, f64)> = self
            .numbers()
            .filter_map(|n| Some((n, n.sureness?.error? / n.value.abs())))
            .filter(|(_, share)| !share.is_nan())
            .collect();
        let undetermined: Vec<&str> = self
            .numbers()
            .filter(|n| n.sureness.is_some_and(|s| s.verdict == Verdict::Not))
            .map(|n| n.name.as_str())
            .collect();
        if !undetermined.is_empty() {
            return match undetermined.len() {
                1 => format!(", and the data do not determine {}", undetermined[0]),
                n if n == self.numbers().count() => ", and the data do not determine its parameters".into(),
                _ => format!(", and the data do not determine {}", listed(&undetermined)),
            };
        }
        // Without noise, errors are those of rounding.
        if self.uncertainty.as_ref().is_some_and(|u| u.exact) {
            return ", up to rounding".into();
        }
        let Some((vaguest, share)) = known.iter().max_by(|a, b| a.1.total_cmp(&b.1)) else { return String::new() };
        let around_zero = |n: &Number| n.sureness.and_then(|s| s.interval).is_some_and(|(a, b)| a < 0.0 && b > 0.0);
        match *share {
            share if share > VAGUE && around_zero(vaguest) => {
                format!(", and {} is not distinguishable from 0", vaguest.name)
            }
            share if share > VAGUE => format!(", and {} is known to {} only", vaguest.name, percent(share)),
            share if known.len() == 1 => format!(", and {} is known to {}", vaguest.name, percent(share)),
            share => format!(", and all {} parameters are known to {} or better", known.len(), percent(share)),
        }
    }

    /// What to do next.
    fn next(&self, problem: &Problem) -> Option<String> {
        if let Some(next) = &self.optimality.next {
            return Some(next.clone());
        }
        let poor = self.score.r2.is_some_and(|r2| r2 < POOR) || self.chi_square.is_some_and(|c| c.verdict().is_some());
        if poor && self.diagnosis.is_none() {
            return Some("‹diagnose› reports what the residuals still contain".into());
        }
        let over = self.pattern(problem)?;
        let message = format!("the residuals follow a pattern over {over}, which a better model would explain");
        Some(if self.diagnosis.is_none() { format!("{message}: try ‹diagnose›") } else { message })
    }

    /// The input over which neighbouring residuals are alike.
    fn pattern(&self, problem: &Problem) -> Option<String> {
        let (rows, width) = (problem.training(), problem.width());
        let exact = self.uncertainty.as_ref().is_some_and(|u| u.exact);
        if problem.is_objective() || width != 1 || rows.len() < LEAST_ROWS || exact || problem.layout.groups > 1 {
            return None;
        }
        let numeric = |i: usize| reals(&rows.columns[i]).ok().map(|numbers| (i, numbers));
        let (input, places) = (0..problem.inputs.len()).find_map(numeric)?;
        let mut order: Vec<usize> = (0..rows.len()).filter(|&r| rows.target[r].is_finite()).collect();
        order.sort_by(|&a, &b| places[a].total_cmp(&places[b]));
        let residuals: Vec<f64> = order.iter().map(|&r| rows.target[r] - self.predictions[r]).collect();
        (autocorrelation(&residuals, 1).z > PATTERN).then(|| problem.inputs[input].clone())
    }
}

/// A share in percent.
fn percent(share: f64) -> String {
    match share {
        s if s > 0.9995 && s < 1.0 => "more than 99.9%".into(),
        s if s < 1e-4 => "less than 0.01%".into(),
        s => format!("{}%", digits(100.0 * s, if s > 0.9 { 3 } else { 2 })),
    }
}

/// Names with commas and `or` between them; of many, the first.
fn listed(names: &[&str]) -> String {
    match names {
        [first, .., last] if names.len() > 5 => format!("{first} to {last}"),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
        [] => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_lists_are_for_people() {
        let shares = [1.0, 0.99996, 0.99693, 0.4567, 0.00314, 1e-6].map(percent);
        assert_eq!(shares, ["100%", "more than 99.9%", "99.7%", "46%", "0.31%", "less than 0.01%"]);
        assert_eq!(listed(&["a", "b"]), "a or b");
        assert_eq!(listed(&["a", "b", "c"]), "a, b or c");
        assert_eq!(listed(&["a", "b", "c", "d", "e", "f"]), "a to f");
    }
}
