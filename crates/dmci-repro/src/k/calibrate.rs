//! Calibration of epidemic programs on seasons, and forecasts after the states at the start are fitted to the weeks that
//! are known.

use super::contract::{Epidemic, lengths, observations};
use super::data::{Grid, REGIONS, Row, Seasons, WEEKS};
use crate::adam::{TorchAdam, clip};
use crate::searches::{Objective, lbfgs};
use dmci::{Batch, Column, Report, Want};
use dmci_ops::real::sqrt;

/// Steps of the paper's search and of its re-scoring.
pub const STEPS: [usize; 2] = [60, 300];

/// The rate of Adam in a calibration, and the largest gradient.
const RATE: f64 = 0.05;
const CLIP: f64 = 10.0;

/// A loss that changes less has converged.
const STILL: f64 = 1e-4;

/// Steps and rate of the fit of the states at the start, before a forecast.
const FILTER: (usize, f64) = (5, 0.08);

/// Most steps of L-BFGS.
const MOST_STEPS: usize = 200;

/// A loss and where it is.
pub type Point = (f64, Vec<f64>);

/// Rows of data, each under one of some sets of parameters.
struct Lanes {
    columns: [Column; 2],
    /// The set of each row.
    sets: Vec<usize>,
    /// How much rows of a set weigh.
    weights: Vec<f64>,
}

/// A program with the data that it is calibrated on.
pub struct Calibration<'a> {
    epidemic: &'a Epidemic,
    data: &'a Seasons,
    /// Whether two made seasons stand for all.
    pub is_paired: bool,
}

/// Two seasons around the mean of some, one deviation above and below. The errors of a likelihood that is a sum of
/// squares, without memory of what was observed, are the same for them as for all on average.
fn pair(data: &Seasons, years: &[u32]) -> [Vec<f64>; 2] {
    let mean = data.climatology(years);
    let mut square = vec![[0.0; REGIONS]; WEEKS];
    for &year in years {
        for (week, row) in data.season(year).iter().enumerate() {
            for (sum, (x, m)) in square[week].iter_mut().zip(row.iter().zip(&mean[week])) {
                *sum += (x - m) * (x - m) / years.len() as f64;
            }
        }
    }
    let side = |sign: f64| {
        let of = |(m, s): (&Row, &Row)| -> Row { std::array::from_fn(|r| m[r] + sign * sqrt(s[r])) };
        mean.iter().zip(&square).flat_map(of).collect()
    };
    [side(1.0), side(-1.0)]
}

impl<'a> Calibration<'a> {
    /// Looks whether two made seasons may stand for all.
    pub fn new(epidemic: &'a Epidemic, data: &'a Seasons, years: &[u32]) -> Result<Calibration<'a>, Report> {
        let mut calibration = Calibration { epidemic, data, is_paired: false };
        let start = [epidemic.raws.start.clone()];
        let of = |c: &Calibration<'_>| -> Result<(f64, Vec<f64>), Report> {
            let lanes = c.lanes(&[years.to_vec()]);
            Ok(c.losses(&lanes, &start, &mut Batch::default())?.swap_remove(0))
        };
        let all = of(&calibration)?;
        calibration.is_paired = true;
        let two = of(&calibration)?;
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-8 * a.abs().max(b.abs()).max(1e-6);
        calibration.is_paired = near(all.0, two.0) && all.1.iter().zip(&two.1).all(|(a, b)| near(*a, *b));
        Ok(calibration)
    }

    /// The rows of sets of seasons.
    fn lanes(&self, sets: &[Vec<u32>]) -> Lanes {
        let (mut numbers, mut owners, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for (set, years) in sets.iter().enumerate() {
            if self.is_paired {
                numbers.extend(pair(self.data, years).concat());
                owners.extend([set; 2]);
                weights.push(years.len() as f64 / 2.0);
            } else {
                years.iter().for_each(|&year| numbers.extend(self.data.season(year).concat()));
                owners.extend(vec![set; years.len()]);
                weights.push(1.0);
            }
        }
        let columns = [observations(numbers), lengths(vec![WEEKS; owners.len()])];
        Lanes { columns, sets: owners, weights }
    }

    /// The loss of each set and its gradient by raw numbers.
    fn losses(&self, lanes: &Lanes, points: &[Vec<f64>], batch: &mut Batch) -> Result<Vec<(f64, Vec<f64>)>, Report> {
        let Epidemic { raws, likelihood, .. } = self.epidemic;
        let values: Vec<Vec<f64>> = points.iter().map(|p| raws.values(p)).collect();
        let numbers: Vec<f64> = lanes.sets.iter().flat_map(|&set| values[set].iter().copied()).collect();
        likelihood.evaluate_pairs_into::<f64>(batch, &numbers, &lanes.columns, Want::Gradients)?;
        let n = likelihood.numbers();
        let mut sums = vec![(0.0, vec![0.0; n]); points.len()];
        for (lane, &set) in lanes.sets.iter().enumerate() {
            let (loss, slope) = &mut sums[set];
            *loss += lanes.weights[set] * batch.values[lane];
            let slopes = &batch.gradients[lane * n..(lane + 1) * n];
            slope.iter_mut().zip(slopes).for_each(|(s, g)| *s += lanes.weights[set] * g);
        }
        let by_raw = |((loss, slope), point): ((f64, Vec<f64>), &Vec<f64>)| {
            let mut gradient = vec![0.0; raws.count()];
            raws.pull_back(point, &slope, &mut gradient);
            (loss, gradient)
        };
        Ok(sums.into_iter().zip(points).map(by_raw).collect())
    }

    /// Adam for every set alone: the best points after so many steps. Only some raw numbers move, if they are named.
    fn descend(
        &self,
        lanes: &Lanes,
        mut points: Vec<Vec<f64>>,
        rate: f64,
        steps: &[usize],
        free: Option<&[usize]>,
    ) -> Result<Vec<Vec<Point>>, Report> {
        let n = self.epidemic.raws.count();
        let mut best: Vec<Point> = points.iter().map(|p| (f64::INFINITY, p.clone())).collect();
        let mut last = vec![f64::INFINITY; points.len()];
        let mut done = vec![false; points.len()];
        let mut adams = vec![TorchAdam::new(n, rate, false); points.len()];
        let (mut batch, mut kept) = (Batch::default(), Vec::new());
        for step in 1..=steps.iter().copied().max().unwrap_or(0) {
            let found = if done.contains(&false) { self.losses(lanes, &points, &mut batch)? } else { Vec::new() };
            for (set, (loss, mut gradient)) in found.into_iter().enumerate() {
                done[set] |= !loss.is_finite() || gradient.iter().any(|g| !g.is_finite());
                if done[set] {
                    continue;
                }
                if loss < best[set].0 {
                    best[set] = (loss, points[set].clone());
                }
                done[set] = (last[set] - loss).abs() < STILL;
                last[set] = loss;
                if let Some(free) = free {
                    gradient.iter_mut().enumerate().filter(|(i, _)| !free.contains(i)).for_each(|(_, g)| *g = 0.0);
                }
                clip(&mut gradient, CLIP);
                adams[set].step(&mut points[set], &gradient);
            }
            if steps.contains(&step) {
                kept.push(best.clone());
            }
        }
        Ok(kept)
    }

    /// Calibrated to each set of seasons, after each of some numbers of steps.
    pub fn after(&self, sets: &[Vec<u32>], steps: &[usize]) -> Result<Vec<Vec<Point>>, Report> {
        let points = vec![self.epidemic.raws.start.clone(); sets.len()];
        self.descend(&self.lanes(sets), points, RATE, steps, None)
    }

    /// Calibrated until nothing falls any more, from a point on.
    pub fn converged(&self, years: &[u32], from: &Point) -> Result<Point, Report> {
        let mut loss = Loss { calibration: self, lanes: self.lanes(&[years.to_vec()]), batch: Batch::default() };
        let found = lbfgs(&mut loss, &from.1, MOST_STEPS)?;
        Ok(if found.loss < from.0 { (found.loss, found.raws) } else { from.clone() })
    }

    /// Forecasts of all cases of a grid in some seasons, in the order of the cases. What is known up to an origin moves the
    /// states at the start; the other parameters of a season are given.
    pub fn forecasts(&self, grid: &Grid, years: &[u32], raws_of: &dyn Fn(u32) -> Vec<f64>) -> Result<Vec<Row>, Report> {
        let Epidemic { raws, initial, rollout, .. } = self.epidemic;
        let origins: Vec<usize> = grid.origins().collect();
        let starts: Vec<(u32, usize)> = years.iter().flat_map(|&y| origins.iter().map(move |&o| (y, o))).collect();
        let mut points: Vec<Vec<f64>> = years.iter().flat_map(|&year| vec![raws_of(year); origins.len()]).collect();
        if !initial.is_empty() {
            let known = starts.iter().flat_map(|s| self.data.season(s.0).concat()).collect();
            let lanes = Lanes {
                columns: [observations(known), lengths(starts.iter().map(|s| s.1 + 1))],
                sets: (0..starts.len()).collect(),
                weights: vec![1.0; starts.len()],
            };
            let mut ends = self.descend(&lanes, points, FILTER.1, &[FILTER.0], Some(initial))?;
            points = ends.pop().unwrap_or_default().into_iter().map(|p| p.1).collect();
        }
        let mut numbers = Vec::new();
        let mut weeks = Vec::new();
        for (point, (_, origin)) in points.iter().zip(&starts) {
            for horizon in grid.horizons {
                raws.values_into(point, &mut numbers);
                weeks.push(origin + horizon + 1);
            }
        }
        let mut batch = Batch::default();
        rollout.evaluate_pairs_into::<f64>(&mut batch, &numbers, &[lengths(weeks)], Want::Values)?;
        let row = |c: &[f64]| -> Row { std::array::from_fn(|r| if c[r] < 0.0 { 0.0 } else { c[r] }) };
        Ok(batch.values.chunks_exact(REGIONS).map(row).collect())
    }
}

struct Loss<'a> {
    calibration: &'a Calibration<'a>,
    lanes: Lanes,
    batch: Batch,
}

impl Objective for Loss<'_> {
    fn gradient(&mut self, raws: &[f64]) -> Result<(f64, Vec<f64>), Report> {
        Ok(self.calibration.losses(&self.lanes, &[raws.to_vec()], &mut self.batch)?.swap_remove(0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::contract::check;
    use super::super::data::tests::invented;
    use super::super::data::{LONG, SHORT, TRAINING};
    use super::*;

    const SEIR: &str = include_str!("../../programs/k/references/seir-regional.scm");

    fn passed(text: &str, data: &Seasons) -> Epidemic {
        check("x", text, data).unwrap_or_else(|fault| panic!("{:?}: {}", fault.stage, fault.message))
    }

    /// Two made seasons give the gradients of all, but not where a program remembers what it saw.
    #[test]
    fn two_seasons_stand_for_all_where_they_may() {
        let data = Seasons::read(&invented()).unwrap();
        let epidemic = passed(SEIR, &data);
        let mut calibration = Calibration::new(&epidemic, &data, &TRAINING).unwrap();
        assert!(calibration.is_paired);
        let two = calibration.after(&[TRAINING.to_vec()], &[40]).unwrap();
        calibration.is_paired = false;
        let all = calibration.after(&[TRAINING.to_vec()], &[40]).unwrap();
        assert!((two[0][0].0 - all[0][0].0).abs() < 1e-6 * all[0][0].0.abs());
        let start = calibration.after(&[TRAINING.to_vec()], &[1]).unwrap();
        assert!(all[0][0].0 < start[0][0].0);
        assert!(calibration.converged(&TRAINING, &all[0][0]).unwrap().0 <= all[0][0].0);
        let remembers =
            SEIR.replace("(+ R heal)", "(+ R heal (* 0.1 (abs (ref obs k))))").replace("(* rho I)", "(* rho (+ I R))");
        let epidemic = passed(&remembers, &data);
        assert!(!Calibration::new(&epidemic, &data, &TRAINING).unwrap().is_paired);
    }

    /// What lies after the origin changes no forecast; what lies before does.
    #[test]
    fn forecasts_do_not_read_the_future() {
        let data = Seasons::read(&invented()).unwrap();
        let other = Seasons::read(&invented().replace("\n2018-19,2018,30,x,", "\n2018-19,2018,30,x,9")).unwrap();
        let epidemic = passed(SEIR, &data);
        for grid in [SHORT, LONG] {
            let of = |data: &Seasons| -> Vec<Row> {
                let calibration = Calibration { epidemic: &epidemic, data, is_paired: true };
                calibration.forecasts(&grid, &[2018], &|_| epidemic.raws.start.clone()).unwrap()
            };
            let (a, b) = (of(&data), of(&other));
            let cases = grid.cases(&[2018]);
            assert_eq!(a.len(), cases.len());
            for ((case, a), b) in cases.iter().zip(&a).zip(&b) {
                assert_eq!(a == b, case.origin < 30, "{case:?}");
            }
        }
    }
}
