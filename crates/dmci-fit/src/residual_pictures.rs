//! Pictures of what a fit leaves over: observed against predicted values, residuals against predictions and each input,
//! and their quantiles beside those of a normal distribution.

use crate::problem::{Problem, Rows};
use crate::result::Fit;
use dmci_plot::figure::{Figure, Line, sheet};
use dmci_stats::distribution::normal_quantile;
use dmci_stats::residuals::{mean, root_mean_square};
use dmci_table::reals;

/// Inputs that residuals are drawn against.
const MOST_INPUTS: usize = 8;

/// The rows of one target, fitted or held out.
struct Side {
    name: String,
    observed: Vec<f64>,
    predicted: Vec<f64>,
    inputs: Vec<(String, Vec<f64>)>,
}

/// Draws them as SVG.
pub(crate) fn residual_pictures(problem: &Problem, fit: &Fit) -> String {
    let sides = sides(problem, fit);
    let target = problem.targets.join(", ");
    let ends = sides.iter().flat_map(|s| s.observed.iter().chain(&s.predicted)).filter(|x| x.is_finite());
    let (low, high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(*x), b.max(*x)));
    let mut against = Figure::new("against", "Observed against predicted", "predicted", &target, (false, false));
    against.lines.push(Line::new("equal", vec![(low, low), (high, high)]));
    let residual =
        |title: &str, x: &str| Figure::new("residuals", title, x, "observed \u{2212} predicted", (false, false));
    let mut by_prediction = residual("Residuals by prediction", "predicted");
    let mut quantiles =
        Figure::new("qq", "Quantiles of residuals", "normal quantile", "residual / deviation", (false, false));
    let mut names: Vec<String> = Vec::new();
    for (name, _) in sides.iter().flat_map(|s| &s.inputs) {
        if !names.contains(name) && names.len() < MOST_INPUTS {
            names.push(name.clone());
        }
    }
    let mut by_input: Vec<Figure> = names.iter().map(|name| residual(&format!("Residuals by {name}"), name)).collect();
    let pairs = |x: &[f64], y: &[f64]| x.iter().copied().zip(y.iter().copied()).collect::<Vec<(f64, f64)>>();
    for side in &sides {
        let left: Vec<f64> = side.observed.iter().zip(&side.predicted).map(|(y, p)| y - p).collect();
        against.lines.push(Line::new(&side.name, pairs(&side.predicted, &side.observed)).marks());
        by_prediction.lines.push(Line::new(&side.name, pairs(&side.predicted, &left)).marks());
        quantiles.lines.push(Line::new(&side.name, normal_quantiles(&left)).marks());
        for (figure, name) in by_input.iter_mut().zip(&names) {
            let column = side.inputs.iter().find(|(own, _)| own == name);
            figure.lines.extend(column.map(|(_, x)| Line::new(&side.name, pairs(x, &left)).marks()));
        }
    }
    let reach = quantiles.lines.iter().flat_map(|l| &l.points).map(|p| p.0.abs()).fold(1.0, f64::max);
    quantiles.lines.insert(0, Line::new("normal", vec![(-reach, -reach), (reach, reach)]));
    let mut all = vec![against, quantiles, by_prediction];
    all.append(&mut by_input);
    sheet(&all, 2)
}

/// Each residual in units of their deviation, beside the quantile that a normal distribution has at its rank.
fn normal_quantiles(residuals: &[f64]) -> Vec<(f64, f64)> {
    let mut sorted: Vec<f64> = residuals.iter().copied().filter(|r| r.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let centre = mean(&sorted);
    let deviation = root_mean_square(&sorted.iter().map(|r| r - centre).collect::<Vec<f64>>());
    let n = sorted.len() as f64;
    let ranked = sorted.iter().enumerate();
    ranked.map(|(i, r)| (normal_quantile((i as f64 + 0.5) / n), (r - centre) / deviation)).collect()
}

fn sides(problem: &Problem, fit: &Fit) -> Vec<Side> {
    let width = problem.targets.len();
    let named = |target: usize, what: &str| match width {
        1 => what.to_string(),
        _ => format!("{} {what}", problem.targets[target]),
    };
    let mut sides = Vec::new();
    if let Some(series) = problem.series() {
        for (target, (_, measured)) in series.targets.iter().enumerate() {
            for (what, fitted) in [("fitted", true), ("held out", false)] {
                let own = fit.series.iter().skip(target).step_by(series.targets.len().max(1)).filter(|s| s.2 == fitted);
                let (rows, predicted): (Vec<usize>, Vec<f64>) = own.map(|s| (s.0, s.1)).unzip();
                let numbers = problem.inputs.iter().zip(&series.columns);
                let numbers = numbers.filter_map(|(name, c)| Some((name.clone(), reals(c).ok()?)));
                let at = |list: Vec<f64>| rows.iter().map(|&r| list[r]).collect::<Vec<f64>>();
                let inputs = numbers.map(|(name, list)| (name, at(list))).collect();
                sides.push(Side { name: named(target, what), observed: at(measured.clone()), predicted, inputs });
            }
        }
    } else {
        let parts: [(&Rows, &[f64], &str); 2] = [
            (problem.training(), &fit.predictions, "fitted"),
            (problem.held_out(), &fit.held_out_predictions, "held out"),
        ];
        for target in 0..width {
            for (rows, predictions, what) in parts {
                let of_one = |list: &[f64]| list.iter().skip(target).step_by(width).copied().collect::<Vec<f64>>();
                let inputs = problem.inputs.iter().zip(&rows.columns);
                let inputs = inputs.filter_map(|(name, c)| Some((name.clone(), reals(c).ok()?))).collect();
                let (observed, predicted) = (of_one(&rows.target), of_one(predictions));
                sides.push(Side { name: named(target, what), observed, predicted, inputs });
            }
        }
    }
    sides.retain(|side| !side.observed.is_empty());
    sides
}
