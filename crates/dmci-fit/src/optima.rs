//! Which searches reached the same optimum, how many different ones were found, and how many were probably not.

use crate::member::Member;
use crate::problem::Problem;
use dmci::Report;

/// The optima that the starts of a fit reached.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Optima {
    /// Starts whose search came to an end.
    pub starts: usize,
    /// Starts among them that reached the lowest optimum.
    pub best: usize,
    /// Different optima.
    pub distinct: usize,
    /// The optimum of every search, 0 the lowest; none if the search did not come to an end.
    pub of_search: Vec<Option<usize>>,
}

/// Losses that differ by less than this share may be of the same optimum.
const SAME_LOSS: f64 = 1e-6;

/// Predictions of the same optimum differ by less than this share of the residuals, as a mean of squares.
const SAME_PREDICTIONS: f64 = 1e-3;

/// Predictions are compared if there are at most so many of them.
const MOST_PREDICTIONS: usize = 1 << 20;

impl Optima {
    /// The optima of some searches. Two are the same if losses and predictions agree: so they are whatever labels
    /// exponentials or levels have, and numbers that the data do not determine may differ.
    pub(crate) fn of(problem: &Problem, members: &[&Member]) -> Result<Optima, Report> {
        let ended = |m: &Member| m.stopped.is_some_and(|s| s.is_end()) && m.loss().is_finite();
        let mut order: Vec<usize> = (0..members.len()).filter(|&i| ended(members[i])).collect();
        order.sort_by(|&a, &b| members[a].loss().total_cmp(&members[b].loss()));
        let compared = members.len() * problem.training().target.len() <= MOST_PREDICTIONS && !problem.is_objective();
        let lowest = order.first().map_or(0.0, |&i| members[i].loss());
        let predictions = |i: usize| -> Result<Vec<f64>, Report> {
            match &members[i].best {
                Some((point, _)) if compared => problem.predictions(point, problem.training()),
                _ => Ok(Vec::new()),
            }
        };
        // A representative of each optimum: its loss and predictions.
        let mut found: Vec<(f64, Vec<f64>)> = Vec::new();
        let mut of_search = vec![None; members.len()];
        let target = &problem.training().target;
        let variation = square_distance(target, &vec![mean(target); target.len()]);
        for &i in &order {
            let loss = members[i].loss();
            let near = |other: f64| (loss - other).abs() <= SAME_LOSS * other.abs().max(1e-12 * lowest.abs());
            let candidates: Vec<usize> = (0..found.len()).filter(|&k| near(found[k].0)).collect();
            let own = if candidates.is_empty() && !compared { Vec::new() } else { predictions(i)? };
            let rest = square_distance(&own, target).max(1e-20 * variation);
            let same = candidates
                .into_iter()
                .find(|&k| own.is_empty() || square_distance(&own, &found[k].1) <= SAME_PREDICTIONS * rest);
            of_search[i] = Some(same.unwrap_or(found.len()));
            if same.is_none() {
                found.push((loss, own));
            }
        }
        let best = of_search.iter().filter(|o| **o == Some(0)).count();
        Ok(Optima { starts: order.len(), best, distinct: found.len(), of_search })
    }

    /// The expected number of optima that no start has reached yet (Boender and Rinnooy Kan 1987).
    pub fn unseen(&self) -> f64 {
        let (starts, distinct) = (self.starts as f64, self.distinct as f64);
        if starts <= distinct + 2.0 { f64::INFINITY } else { distinct * (distinct + 1.0) / (starts - distinct - 2.0) }
    }
}

fn mean(list: &[f64]) -> f64 {
    let present = list.iter().filter(|y| !y.is_nan());
    present.clone().sum::<f64>() / present.count().max(1) as f64
}

/// The square of the distance over what was measured.
fn square_distance(a: &[f64], b: &[f64]) -> f64 {
    let pairs = a.iter().zip(b).filter(|(x, y)| !x.is_nan() && !y.is_nan());
    pairs.map(|(x, y)| (x - y) * (x - y)).sum()
}
