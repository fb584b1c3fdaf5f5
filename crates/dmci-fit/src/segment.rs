//! Where thresholds start: exact segmentation of the target over the input that they are compared with, by dynamic
//! programming over sorted values; then each threshold is moved through all places between its neighbours.

use crate::optimality::TOLERANCE;
use crate::points::Points;
use crate::problem::Problem;
use crate::search::Need;
use dmci::{Column, Report};
use dmci_limits::Ticks;

/// Most rows that are segmented: the work grows with their square.
const MOST_ROWS: usize = 3000;

/// Most places that a threshold is tried at.
const MOST_PLACES: usize = 400;

/// Most passes over all thresholds.
const PASSES: usize = 6;

/// Places at which a single threshold starts.
const FEW_PLACES: usize = 16;

/// What a segment is compared with.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Constant,
    Line,
}

impl Problem {
    /// The thresholds among raw numbers, and the places where they could be; none if the numbers without a derivative
    /// are not all thresholds of one input.
    fn thresholds(&self, decided: &[String]) -> Option<Thresholds> {
        let structure = self.structure().filter(|_| self.targets.len() == 1 && self.layout.groups == 1)?;
        let thresholds: Vec<(usize, String)> = structure.thresholds().into_iter().collect();
        let names = self.raw_names();
        let raw_of = |number: usize| (0..self.layout.raws).find(|&k| self.number_of_raw(k) == Some(number));
        let mut raws: Vec<usize> = thresholds.iter().filter_map(|(number, _)| raw_of(*number)).collect();
        let same_input = thresholds.iter().all(|(_, input)| *input == thresholds[0].1);
        let all = decided.iter().all(|name| raws.iter().any(|&k| names[k] == *name));
        let rows = self.training();
        if raws.is_empty() || !same_input || !all || rows.len() > MOST_ROWS {
            return None;
        }
        let column = self.inputs.iter().position(|name| *name == thresholds[0].1).and_then(|i| rows.columns.get(i));
        let Some(Column::Reals(x)) = column else { return None };
        let mut order: Vec<usize> =
            (0..x.len()).filter(|&r| rows.target[r].is_finite() && rows.weight[r] > 0.0).collect();
        order.sort_by(|&a, &b| x[a].total_cmp(&x[b]));
        // In the order in which the program's own starts have them.
        let start = self.start();
        raws.sort_by(|&a, &b| start[a].total_cmp(&start[b]).then(a.cmp(&b)));
        let xs: Vec<f64> = order.iter().map(|&r| x[r]).collect();
        let mut places: Vec<f64> = xs.windows(2).filter(|w| w[0] < w[1]).map(|w| w[0] + 0.5 * (w[1] - w[0])).collect();
        places.dedup();
        Some(Thresholds { raws, places, order, xs })
    }

    /// Points whose thresholds are those of the best segmentations, refined, and others with one threshold here and
    /// there; none if the numbers without a derivative are not all thresholds of one input.
    pub(crate) fn segmented_starts(&self, decided: &[String]) -> Result<Vec<Vec<f64>>, Report> {
        let Some(thresholds) = self.thresholds(decided) else { return Ok(Vec::new()) };
        let Thresholds { raws, places, order, xs } = &thresholds;
        let rows = self.training();
        let ys: Vec<f64> = order.iter().map(|&r| rows.target[r]).collect();
        let ws: Vec<f64> = order.iter().map(|&r| rows.weight[r] * self.loss.square_factor(rows.sigma[r])).collect();
        let at = |cuts: &[f64]| {
            let mut point = self.start().to_vec();
            for (&k, &cut) in raws.iter().zip(cuts) {
                let block = self.layout.blocks.iter().rev().find(|b| b.raw <= k);
                point[k] = block.and_then(|b| b.transform.raw(cut)).unwrap_or(point[k]);
            }
            point
        };
        let mut points = Vec::new();
        for shape in [Shape::Constant, Shape::Line] {
            let Some(cuts) = segmented(xs, &ys, &ws, raws.len(), shape) else { continue };
            points.push(self.moved_thresholds(at(&cuts), raws, places)?.0);
        }
        if raws.len() == 1 {
            // What lies on either side need be neither a level nor a line.
            let few = places.len().min(FEW_PLACES);
            points.extend((0..few).map(|i| at(&[places[(2 * i + 1) * places.len() / (2 * few)]])));
        }
        Ok(points)
    }

    /// A point with a loss below that of another one, with thresholds moved; none if no place is better.
    pub(crate) fn moved_from(&self, point: &[f64], loss: f64, decided: &[String]) -> Result<Option<Vec<f64>>, Report> {
        let Some(thresholds) = self.thresholds(decided) else { return Ok(None) };
        let (moved, lower) = self.moved_thresholds(point.to_vec(), &thresholds.raws, &thresholds.places)?;
        Ok((lower < loss - TOLERANCE * loss.abs()).then_some(moved))
    }

    /// The losses of points whose linear numbers are solved for, with these points.
    fn solved_losses(&self, list: &[Vec<f64>]) -> Result<(Vec<f64>, Vec<Vec<f64>>), Report> {
        let mut points: Points = list.iter().map(Vec::as_slice).collect();
        self.project(&mut points, list.len())?;
        let found = self.evaluate_asked(points.all(), self.training(), Need::Loss)?;
        Ok((found.iter().map(|f| f.rank()).collect(), points.all().iter().map(<[f64]>::to_vec).collect()))
    }

    /// Moves each threshold to the best of all places, again and again until none moves.
    fn moved_thresholds(&self, point: Vec<f64>, raws: &[usize], places: &[f64]) -> Result<(Vec<f64>, f64), Report> {
        let (losses, mut solved) = self.solved_losses(&[point])?;
        let (mut best, mut point) = (losses[0], solved.remove(0));
        for _ in 0..PASSES {
            let before = best;
            for &k in raws {
                let Some(block) = self.layout.blocks.iter().rev().find(|b| b.raw <= k) else { continue };
                let here = block.transform.value(point[k]);
                let mut near: Vec<f64> = places.to_vec();
                near.sort_by(|a, b| (a - here).abs().total_cmp(&(b - here).abs()));
                near.truncate(MOST_PLACES);
                let moved = near.iter().filter_map(|&place| {
                    let mut moved = point.clone();
                    moved[k] = block.transform.raw(place)?;
                    Some(moved)
                });
                let moved: Vec<Vec<f64>> = moved.collect();
                if moved.is_empty() {
                    continue;
                }
                let (losses, solved) = self.solved_losses(&moved)?;
                let lowest = (0..losses.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b])).unwrap_or(0);
                if losses[lowest] < best {
                    (best, point) = (losses[lowest], solved[lowest].clone());
                }
            }
            if best >= before {
                break;
            }
        }
        Ok((point, best))
    }
}

/// Raw numbers that are compared with an input.
struct Thresholds {
    raws: Vec<usize>,
    /// Between neighbouring values of the input.
    places: Vec<f64>,
    /// Rows that count, by the input.
    order: Vec<usize>,
    /// The input of these rows.
    xs: Vec<f64>,
}

/// Sums over the first rows, from which the error of any segment follows.
struct Sums {
    w: Vec<f64>,
    x: Vec<f64>,
    y: Vec<f64>,
    xx: Vec<f64>,
    xy: Vec<f64>,
    yy: Vec<f64>,
}

impl Sums {
    fn of(xs: &[f64], ys: &[f64], ws: &[f64]) -> Sums {
        let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len().max(1) as f64;
        let (mx, my) = (mean(xs), mean(ys));
        let sums = |f: &dyn Fn(f64, f64) -> f64| {
            let mut total = 0.0;
            let rows = xs.iter().zip(ys).zip(ws).map(|((x, y), w)| {
                total += w * f(x - mx, y - my);
                total
            });
            std::iter::once(0.0).chain(rows).collect::<Vec<f64>>()
        };
        Sums {
            w: sums(&|_, _| 1.0),
            x: sums(&|x, _| x),
            y: sums(&|_, y| y),
            xx: sums(&|x, _| x * x),
            xy: sums(&|x, y| x * y),
            yy: sums(&|_, y| y * y),
        }
    }

    /// The error of rows from one up to another.
    fn error(&self, from: usize, to: usize, shape: Shape) -> f64 {
        let part = |list: &[f64]| list[to] - list[from];
        let (w, x, y) = (part(&self.w), part(&self.x), part(&self.y));
        let yy = part(&self.yy) - y * y / w;
        if shape == Shape::Constant {
            return yy.max(0.0);
        }
        let (xx, xy) = (part(&self.xx) - x * x / w, part(&self.xy) - x * y / w);
        if xx > 0.0 { (yy - xy * xy / xx).max(0.0) } else { yy.max(0.0) }
    }
}

/// The places of so many cuts that leave least over, by dynamic programming; none if there are fewer places.
fn segmented(xs: &[f64], ys: &[f64], ws: &[f64], cuts: usize, shape: Shape) -> Option<Vec<f64>> {
    let n = xs.len();
    if n <= cuts {
        return None;
    }
    let sums = Sums::of(xs, ys, ws);
    // Rows between which there may be a cut: those with different inputs.
    let allowed = |row: usize| row == 0 || row == n || xs[row - 1] < xs[row];
    let mut best: Vec<f64> = (0..=n).map(|to| if to == 0 { f64::INFINITY } else { sums.error(0, to, shape) }).collect();
    let mut from: Vec<Vec<usize>> = Vec::new();
    let mut ticks = Ticks::default();
    for _ in 0..cuts {
        let mut next = vec![f64::INFINITY; n + 1];
        let mut places = vec![0; n + 1];
        for to in (1..=n).filter(|&to| allowed(to)) {
            if ticks.spend(8 * to) {
                return None;
            }
            for cut in (1..to).filter(|&cut| allowed(cut) && best[cut].is_finite()) {
                let error = best[cut] + sums.error(cut, to, shape);
                if error < next[to] {
                    (next[to], places[to]) = (error, cut);
                }
            }
        }
        best = next;
        from.push(places);
    }
    if !best[n].is_finite() {
        return None;
    }
    let mut rows = Vec::new();
    let mut to = n;
    for places in from.iter().rev() {
        to = places[to];
        rows.push(to);
    }
    rows.reverse();
    Some(rows.into_iter().map(|row| xs[row - 1] + 0.5 * (xs[row] - xs[row - 1])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_are_where_levels_and_lines_change() {
        let xs: Vec<f64> = (0..60).map(|i| f64::from(i) / 10.0).collect();
        let level = |x: f64| {
            if x < 1.95 {
                1.0
            } else if x < 4.05 {
                3.0
            } else {
                2.0
            }
        };
        let ys: Vec<f64> = xs.iter().map(|&x| level(x)).collect();
        let cuts = segmented(&xs, &ys, &[1.0; 60], 2, Shape::Constant).expect("enough rows");
        assert!((cuts[0] - 1.95).abs() < 1e-9 && (cuts[1] - 4.05).abs() < 1e-9, "{cuts:?}");
        let ys: Vec<f64> = xs.iter().map(|&x| if x < 2.95 { x } else { 8.5 - 2.0 * x }).collect();
        let cuts = segmented(&xs, &ys, &[1.0; 60], 1, Shape::Line).expect("enough rows");
        assert!((cuts[0] - 2.95).abs() < 1e-9, "{cuts:?}");
        // Equal inputs are never cut apart.
        assert_eq!(segmented(&[1.0, 1.0, 1.0], &[0.0, 5.0, 9.0], &[1.0; 3], 1, Shape::Constant), None);
    }
}
