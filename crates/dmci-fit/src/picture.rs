//! The picture of a fit: data, fitted curves and residuals, a part of it for each target.

use crate::loss::Loss;
use crate::objective::Series;
use crate::problem::{Problem, Rows};
use crate::record::NoiseRecord;
use crate::result::Fit;
use dmci::{Column, Datum, Report};
use dmci_ops::real::{exp, log, sqrt};
use dmci_plot::{Picture, Piece, Point, digits};
use dmci_table::{reals, select};

/// Even places at which a fitted curve is computed, besides those of the data.
const GRID: usize = 400;

/// Most whole numbers between which a curve over an exact column is drawn.
const MAX_INTEGERS: usize = 4000;

/// Most places at which a curve is computed.
const MAX_PLACES: usize = 8000;

/// A curve is computed between places where it bends by more than this share of its range.
const BEND: f64 = 0.002;

/// Most groups with colours of their own.
const MOST_GROUPS: usize = 12;

/// Which axes of a picture are logarithmic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogAxes {
    /// Those whose numbers are above 0 and span decades, most of them in the lower ones.
    #[default]
    Auto,
    /// These.
    Given {
        /// The horizontal axis.
        x: bool,
        /// The vertical axis.
        y: bool,
    },
}

/// The largest of numbers is so many times the smallest on an axis that is logarithmic by itself, and so many times the
/// median.
const DECADES: (f64, f64) = (1000.0, 10.0);

impl LogAxes {
    /// Reads `x`, `y`, `xy` or `none`.
    pub fn parse(text: &str) -> Option<LogAxes> {
        match text {
            "auto" => Some(LogAxes::Auto),
            "none" => Some(LogAxes::Given { x: false, y: false }),
            "x" => Some(LogAxes::Given { x: true, y: false }),
            "y" => Some(LogAxes::Given { x: false, y: true }),
            "xy" | "yx" => Some(LogAxes::Given { x: true, y: true }),
            _ => None,
        }
    }

    /// Which axes are logarithmic for these points.
    fn of(self, points: &[Point]) -> (bool, bool) {
        match self {
            LogAxes::Given { x, y } => (x, y),
            LogAxes::Auto => {
                let is_fine = |y: f64| y.is_nan() || y > 0.0;
                let all_above = points.iter().all(|p| is_fine(p.prediction));
                (spans(points.iter().map(|p| p.x)), all_above && spans(points.iter().map(|p| p.y)))
            }
        }
    }
}

/// Whether numbers span decades.
fn spans(numbers: impl Iterator<Item = f64>) -> bool {
    let mut list: Vec<f64> = numbers.filter(|x| !x.is_nan()).collect();
    list.sort_by(f64::total_cmp);
    let (Some(&low), Some(&high)) = (list.first(), list.last()) else { return false };
    low > 0.0 && high.is_finite() && high >= DECADES.0 * low && high >= DECADES.1 * list[list.len() / 2]
}

/// The picture of a fit over any column of numbers, if the problem was made for one, or over one of its inputs; without
/// a name, over the first numeric input. The row number replaces an input that is not numeric.
pub fn picture(problem: &Problem, fit: &Fit, x: Option<&str>, log: LogAxes) -> Result<Picture, Report> {
    if let Some(series) = problem.series() {
        let mut picture = series_picture(problem, series, fit, x);
        picture.logarithmic = log.of(&picture.points);
        return Ok(picture);
    }
    let is_numeric = |i: &usize| reals(&problem.training().columns[*i]).is_ok();
    let named = problem.axis.as_ref().map(|axis| axis.0.as_str()).or(x);
    let input = match named {
        Some(name) => problem.inputs.iter().position(|n| n == name),
        None => (0..problem.inputs.len()).find(is_numeric),
    };
    let input = input.filter(is_numeric);
    let mut all = (0..problem.targets.len()).map(|target| of_target(problem, fit, input, target, log));
    let Some(first) = all.next() else { return Ok(Picture::default()) };
    let mut picture = first?;
    picture.further = all.collect::<Result<Vec<_>, Report>>()?;
    picture.subtitle = subtitle(problem, fit);
    if colored(problem) {
        picture.groups = problem.groups.clone();
        // The names stand once, below all.
        picture.further.iter_mut().for_each(|p| p.groups = problem.groups.clone());
    }
    Ok(picture)
}

/// Whether groups have colours: there are several, and not too many to tell apart.
fn colored(problem: &Problem) -> bool {
    problem.layout.groups > 1 && problem.groups.len() <= MOST_GROUPS
}

/// The picture of one target.
fn of_target(
    problem: &Problem,
    fit: &Fit,
    input: Option<usize>,
    target: usize,
    log: LogAxes,
) -> Result<Picture, Report> {
    let sides = [(problem.training(), &fit.predictions, false), (problem.held_out(), &fit.held_out_predictions, true)];
    let mut points = Vec::new();
    for (rows, predictions, held_out) in sides {
        let xs = places(problem, rows, input);
        let outputs = problem.targets.len();
        let of_one = |list: &[f64]| list.iter().skip(target).step_by(outputs).copied().collect::<Vec<f64>>();
        let numbers = of_one(&rows.target).into_iter().zip(of_one(predictions)).enumerate();
        points.extend(numbers.map(|(i, (y, prediction))| Point {
            x: xs[i],
            y,
            prediction,
            held_out,
            group: rows.group.get(i).copied().unwrap_or(0),
        }));
    }
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    let x = match (&problem.axis, input) {
        (Some((name, _)), _) => name.clone(),
        (None, Some(i)) => problem.inputs[i].clone(),
        (None, None) => "row".into(),
    };
    let logarithmic = log.of(&points);
    let Curves { curve, band, prediction } = match input {
        Some(i) => curves(problem, fit, i, target, (&points, logarithmic.0))?,
        None => Curves::default(),
    };
    Ok(Picture {
        title: format!("{} over {x}", problem.targets[target]),
        x,
        y: problem.targets[target].clone(),
        curve,
        band,
        prediction,
        shade: shade(&points),
        points,
        logarithmic,
        ..Picture::default()
    })
}

/// The places of rows on the horizontal axis.
fn places(problem: &Problem, rows: &Rows, input: Option<usize>) -> Vec<f64> {
    if let Some((_, numbers)) = &problem.axis {
        return rows.indices.iter().map(|&r| numbers.get(r).copied().unwrap_or(f64::NAN)).collect();
    }
    let own = input.and_then(|i| reals(&rows.columns[i]).ok());
    own.unwrap_or_else(|| rows.indices.iter().map(|&r| (r + 1) as f64).collect())
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
    let places = match &problem.axis {
        Some((_, numbers)) => Some(numbers.clone()),
        None => input.and_then(|i| reals(&series.columns[i]).ok()),
    };
    let place = |row: usize| places.as_ref().map_or((row + 1) as f64, |p| p[row]);
    let measured = |row: usize| target.map_or(f64::NAN, |t| t.1[row]);
    let mut group = vec![0; fit.series.iter().map(|s| s.0 + 1).max().unwrap_or(0)];
    for (number, rows) in series.rows.iter().enumerate() {
        for &row in rows {
            if let Some(own) = group.get_mut(row) {
                *own = number;
            }
        }
    }
    let point = |&(row, prediction, fitted): &(usize, f64, bool)| {
        let (x, y) = (place(row), measured(row));
        Point { x, y, prediction, held_out: !fitted, group: group[row] }
    };
    let every = series.targets.len().max(1);
    let mut points: Vec<Point> = fit.series.iter().step_by(every).map(point).collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    let x = match (&problem.axis, input) {
        (Some((name, _)), _) => name.clone(),
        (None, input) => input.map_or("row".into(), |i| problem.inputs[i].clone()),
    };
    let y = problem.targets[0].clone();
    // Each series is a line, as long as colours tell them apart.
    let count = series.rows.len();
    let few = count <= MOST_GROUPS;
    let line = |number: usize| {
        let own = points.iter().filter(|p| p.group == number && p.prediction.is_finite());
        Piece { group: number, places: own.map(|p| (p.x, p.prediction)).collect() }
    };
    let lines = (0..if few { count } else { 0 }).map(line);
    Picture {
        title: format!("{y} over {x}"),
        subtitle: subtitle(problem, fit),
        x,
        y,
        curve: lines.filter(|piece| !piece.places.is_empty()).collect(),
        shade: shade(&points),
        groups: if few && count > 1 { problem.groups.clone() } else { Vec::new() },
        points,
        ..Picture::default()
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
    text
}

/// What is drawn between the data.
#[derive(Default)]
struct Curves {
    curve: Vec<Piece>,
    band: Vec<(f64, f64, f64)>,
    prediction: Vec<(f64, f64, f64)>,
}

/// The fitted curve of every group over one input, and with one group the bands around it; nothing where another input
/// varies too.
fn curves(
    problem: &Problem,
    fit: &Fit,
    input: usize,
    target: usize,
    (points, logarithmic): (&[Point], bool),
) -> Result<Curves, Report> {
    let mut found = Curves::default();
    let other_axis = problem.axis.as_ref().is_some_and(|axis| axis.0 != problem.inputs[input]);
    let groups = problem.layout.groups;
    if other_axis || problem.loss == Loss::Binomial || groups > MOST_GROUPS {
        return Ok(found);
    }
    let training = problem.training();
    for group in 0..groups {
        let rows: Vec<usize> = (0..training.len()).filter(|&r| groups == 1 || training.group[r] == group).collect();
        let own = points.iter().filter(|p| groups == 1 || p.group == group);
        let (Some(&row), false) = (rows.first(), others_vary(&training.columns, input, &rows)) else {
            return Ok(Curves::default());
        };
        let at = |column: &Column| {
            let count = column.len();
            let all = training.columns.iter().enumerate();
            all.map(|(i, c)| if i == input { column.clone() } else { select(c, &vec![row; count]) }).collect()
        };
        let covariance = fit.uncertainty.as_ref().filter(|_| groups == 1);
        let value = |column: Column| {
            let columns: Vec<Column> = at(&column);
            problem.predict_with_error(&fit.raw, (group, target), &columns, covariance.map(|u| &u.covariance[..]))
        };
        let data: Vec<f64> = own.map(|p| p.x).filter(|x| x.is_finite()).collect();
        let Some(curve) = sampled(&training.columns[input], data, logarithmic, &value)? else {
            return Ok(Curves::default());
        };
        let piece = |places: &[(f64, f64, f64)]| Piece { group, places: places.iter().map(|p| (p.0, p.1)).collect() };
        let pieces = curve.split(|p| !p.1.is_finite()).filter(|piece| !piece.is_empty());
        found.curve.extend(pieces.map(piece));
        let Some(known) = covariance else { continue };
        let noise = NoiseRecord::new(problem, fit, known);
        let noise = noise.deviation.filter(|_| {
            let even = noise.sigma.is_none() && noise.weights.is_none();
            even && matches!(problem.loss, Loss::Mse | Loss::Sse)
        });
        let around = |deviation: &dyn Fn(f64) -> f64| {
            let ends = curve.iter().map(|&(x, y, error)| {
                let width = known.quantile * deviation(error);
                (x, y - width, y + width)
            });
            ends.filter(|b| b.1.is_finite() && b.2.is_finite()).collect::<Vec<_>>()
        };
        found.band = around(&|error| error);
        if let Some(noise) = noise.filter(|_| !known.exact) {
            found.prediction = around(&|error| sqrt(error * error + noise.0 * noise.0));
        }
    }
    Ok(found)
}

/// Whether an input besides one differs between rows.
fn others_vary(columns: &[Column], input: usize, rows: &[usize]) -> bool {
    let varies = |column: &Column| match column {
        Column::Reals(list) => rows.iter().any(|&r| list[r] != list[rows[0]]),
        Column::Data(list) => rows.iter().any(|&r| list[r] != list[rows[0]]),
        Column::Shaped(..) => rows.iter().any(|&r| column.row(r) != column.row(rows[0])),
    };
    columns.iter().enumerate().any(|(i, column)| i != input && varies(column))
}

/// A place of a curve, its value there, and the standard error of that.
type Place = (f64, f64, f64);

/// Gives the values of a curve at places, with their standard errors.
type Value<'a> = dyn Fn(Column) -> Result<Vec<(f64, f64)>, Report> + 'a;

/// A curve with its standard errors at even places, at the data, and wherever it bends; whole numbers alone over an
/// exact column, and none over too many of them.
fn sampled(
    column: &Column,
    data: Vec<f64>,
    logarithmic: bool,
    value: &Value<'_>,
) -> Result<Option<Vec<Place>>, Report> {
    let ends = data.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(*x), b.max(*x)));
    let (low, high) = ends;
    if low > high {
        return Ok(None);
    }
    let joined = |xs: &[f64], values: Vec<(f64, f64)>| xs.iter().zip(values).map(|(x, v)| (*x, v.0, v.1)).collect();
    if !matches!(column, Column::Reals(_)) {
        let (low, high) = (low as i64, high as i64);
        if low.abs_diff(high) > MAX_INTEGERS as u64 {
            return Ok(None);
        }
        let xs: Vec<f64> = (low..=high).map(|x| x as f64).collect();
        let values = value(Column::Data((low..=high).map(Datum::Integer).collect()))?;
        return Ok(Some(joined(&xs, values)));
    }
    let every = data.len().div_ceil(MAX_PLACES / 4).max(1);
    let even = (0..=GRID).map(|i| match (i as f64 / GRID as f64, logarithmic && low > 0.0) {
        (share, true) => low * exp(share * log(high / low)),
        (share, false) => low + (high - low) * share,
    });
    let mut xs: Vec<f64> = even.chain(data.iter().copied().step_by(every)).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let mut curve: Vec<Place> = joined(&xs, value(Column::Reals(xs.clone()))?);
    loop {
        let heights = curve.iter().map(|c| c.1).filter(|y| y.is_finite());
        let (least, most) = heights.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), y| (a.min(y), b.max(y)));
        let mut between: Vec<f64> = Vec::new();
        for three in curve.windows(3) {
            let [a, b, c] = [three[0], three[1], three[2]];
            let chord = a.1 + (c.1 - a.1) * (b.0 - a.0) / (c.0 - a.0);
            // Nearer than a tenth of the even places nothing is seen.
            let seen = c.0 - a.0 > (high - low) / (10 * GRID) as f64;
            if seen && (b.1 - chord).abs() > BEND * (most - least) {
                between.extend([0.5 * (a.0 + b.0), 0.5 * (b.0 + c.0)]);
            }
        }
        between.dedup();
        if between.is_empty() || curve.len() + between.len() > MAX_PLACES {
            return Ok(Some(curve));
        }
        let more: Vec<Place> = joined(&between, value(Column::Reals(between.clone()))?);
        curve.extend(more);
        curve.sort_by(|a, b| a.0.total_cmp(&b.0));
        curve.dedup_by(|a, b| a.0 == b.0);
    }
}
