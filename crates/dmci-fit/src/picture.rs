//! The picture of a fit: data, the fitted curve and the residuals.

use crate::loss::Loss;
use crate::objective::Series;
use crate::problem::Problem;
use crate::result::Fit;
use dmci::{Column, Datum, Report};
use dmci_plot::{Picture, Point, digits};
use dmci_table::{reals, select};

/// Places at which a fitted curve is computed.
const GRID: usize = 400;

/// Most whole numbers between which a curve over an exact column is drawn.
const MAX_INTEGERS: usize = 4000;

/// The picture of a fit over one of its inputs; without a name, over the first numeric input.
/// The row number replaces an input that is not numeric.
pub fn picture(problem: &Problem, fit: &Fit, x: Option<&str>) -> Result<Picture, Report> {
    if let Some(series) = problem.series() {
        return Ok(series_picture(problem, series, fit, x));
    }
    let is_numeric = |i: &usize| reals(&problem.training().columns[*i]).is_ok();
    let input = match x {
        Some(name) => problem.inputs.iter().position(|n| n == name),
        None => (0..problem.inputs.len()).find(is_numeric),
    };
    let input = input.filter(is_numeric);
    let sides = [(problem.training(), &fit.predictions, false), (problem.held_out(), &fit.held_out_predictions, true)];
    let mut points = Vec::new();
    for (rows, predictions, held_out) in sides {
        let xs = input.and_then(|i| reals(&rows.columns[i]).ok());
        let xs = xs.unwrap_or_else(|| rows.indices.iter().map(|&r| (r + 1) as f64).collect());
        // Of several targets the first is drawn.
        let outputs = problem.targets.len();
        let numbers = rows.target.iter().step_by(outputs).zip(predictions.iter().step_by(outputs));
        let numbers = xs.iter().zip(numbers);
        points.extend(numbers.map(|(&x, (&y, &prediction))| Point { x, y, prediction, held_out }));
    }
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    let x = input.map_or("row".into(), |i| problem.inputs[i].clone());
    let (curve, band) = match input {
        Some(i) => curve(problem, fit, i, &points)?,
        None => Default::default(),
    };
    Ok(Picture {
        title: format!("{} over {x}", problem.targets[0]),
        subtitle: subtitle(problem, fit),
        x,
        y: problem.targets[0].clone(),
        curve,
        band,
        shade: shade(&points),
        points,
    })
}

/// The picture of an objective program: what it predicts, beside the target, if it says so.
fn series_picture(problem: &Problem, series: &Series, fit: &Fit, x: Option<&str>) -> Picture {
    // Of several targets the first is drawn.
    let target = series.targets.first();
    let is_axis = |i: &usize| match x {
        Some(name) => problem.inputs[*i] == name,
        None => target.is_none_or(|t| t.0 != problem.inputs[*i]) && reals(&series.columns[*i]).is_ok(),
    };
    let input = (0..problem.inputs.len()).find(is_axis);
    let places = input.and_then(|i| reals(&series.columns[i]).ok());
    let place = |row: usize| places.as_ref().map_or((row + 1) as f64, |p| p[row]);
    let measured = |row: usize| target.map_or(f64::NAN, |t| t.1[row]);
    let mut points: Vec<Point> = fit
        .series
        .iter()
        .step_by(series.targets.len().max(1))
        .map(|&(row, prediction, fitted)| Point { x: place(row), y: measured(row), prediction, held_out: !fitted })
        .collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    let x = input.map_or("row".into(), |i| problem.inputs[i].clone());
    let y = problem.targets[0].clone();
    // One series is a line; several would be a tangle.
    let one = series.rows.len() == 1;
    let line: Vec<(f64, f64)> = points.iter().map(|p| (p.x, p.prediction)).filter(|p| p.1.is_finite()).collect();
    Picture {
        title: format!("{y} over {x}"),
        subtitle: subtitle(problem, fit),
        x,
        y,
        curve: if one && !line.is_empty() { vec![line] } else { Vec::new() },
        band: Vec::new(),
        shade: shade(&points),
        points,
    }
}

/// The part in which all rows were held out, if they lie together.
fn shade(points: &[Point]) -> Option<(f64, f64)> {
    let held = points.iter().filter(|p| p.held_out).map(|p| p.x);
    let (low, high) = held.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
    let apart = points.iter().filter(|p| !p.held_out).all(|p| p.x <= low || p.x >= high);
    (low < high && apart).then_some((low, high))
}

fn subtitle(problem: &Problem, fit: &Fit) -> String {
    let file = |path: &str| path.rsplit('/').next().unwrap_or(path).to_string();
    let mut text = format!("{} fitted to {}", file(&problem.program.name), file(&problem.source));
    if let Some(r2) = fit.score.r2 {
        text += &format!(": R\u{b2} {}, RMSE {}", digits(r2, 4), digits(fit.score.rmse, 4));
    } else if fit.score.rmse.is_finite() {
        text += &format!(": RMSE {}", digits(fit.score.rmse, 4));
    }
    if let Some(score) = &fit.held_out {
        text += &format!(", held out {}", digits(score.rmse, 4));
    }
    if let [first, _, ..] = problem.targets.as_slice() {
        text += &format!(" (of {} targets only {first} is drawn)", problem.targets.len());
    }
    text
}

/// The pieces of a curve, and the band around it.
type Curve = (Vec<Vec<(f64, f64)>>, Vec<(f64, f64, f64)>);

/// The fitted curve over one input, with its band; empty if another input varies too.
fn curve(problem: &Problem, fit: &Fit, input: usize, points: &[Point]) -> Result<Curve, Report> {
    let training = &problem.training().columns;
    let varies = |column: &Column| match column {
        Column::Reals(list) => list.iter().any(|x| *x != list[0]),
        Column::Data(list) => list.iter().any(|x| *x != list[0]),
        Column::Shaped(..) => (1..column.len()).any(|r| column.row(r) != column.row(0)),
    };
    // Groups have parameters of their own, so there is a curve for each and none for all.
    if problem.layout.groups > 1
        || problem.loss == Loss::Binomial
        || training.iter().enumerate().any(|(i, column)| i != input && varies(column))
    {
        return Ok(Default::default());
    }
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Ok(Default::default()) };
    let grid = match &training[input] {
        Column::Reals(_) => {
            let at = |i: usize| first.x + (last.x - first.x) * (i as f64 / GRID as f64);
            Column::Reals((0..=GRID).map(at).collect())
        }
        Column::Data(_) | Column::Shaped(..) => match (first.x as i64, last.x as i64) {
            (low, high) if low.abs_diff(high) <= MAX_INTEGERS as u64 => {
                Column::Data((low..=high).map(Datum::Integer).collect())
            }
            _ => return Ok(Default::default()),
        },
    };
    let xs = reals(&grid).unwrap_or_default();
    let columns: Vec<Column> = training
        .iter()
        .enumerate()
        .map(|(i, column)| if i == input { grid.clone() } else { select(column, &vec![0; xs.len()]) })
        .collect();
    let covariance = fit.uncertainty.as_ref().map(|u| (&u.covariance[..], u.quantile));
    let spread = problem.predict_with_error(&fit.raw, &columns, covariance.map(|c| c.0))?;
    let quantile = covariance.map_or(f64::NAN, |c| c.1);
    let band = xs.iter().zip(&spread).map(|(&x, &(y, error))| (x, y - quantile * error, y + quantile * error));
    let band: Vec<(f64, f64, f64)> = band.filter(|b| b.1.is_finite() && b.2.is_finite()).collect();
    let places: Vec<(f64, f64)> = xs.into_iter().zip(spread.into_iter().map(|s| s.0)).collect();
    let pieces = places.split(|(_, y)| !y.is_finite()).filter(|piece| !piece.is_empty());
    Ok((pieces.map(<[_]>::to_vec).collect(), band))
}
