//! Whether two programs describe the same family of functions: each fits what the other one makes.

use crate::candidate::Candidate;
use crate::least_squares::{Fitter, Rows, linear_parameters};
use crate::lower::Lowered;
use dmci_ops::real::{exp, sqrt};
use dmci_stats::random::Stream;
use serde::Serialize;

/// How two families are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// Each describes what the other one does.
    Same,
    /// The second describes what the first one does, and more.
    FirstWithinSecond,
    /// The first describes what the second one does, and more.
    SecondWithinFirst,
    /// Neither does.
    Different,
}

/// What a comparison found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// How the families are related.
    pub relation: Relation,
    /// Whether they have the same canonical form.
    pub same_form: bool,
    /// Draws that were made of each.
    pub draws: usize,
    /// Parameters of the first that the second cannot describe, and the other way round.
    pub failed: (Vec<Vec<f64>>, Vec<Vec<f64>>),
}

/// Draws of parameters.
const DRAWS: usize = 20;

/// Starts of a fit.
const STARTS: usize = 24;

/// Errors that count as none, beside the deviation of the data.
const TOLERANCE: f64 = 1e-8;

/// Compares two families on some inputs, and on a range twice as wide as far as both are defined there. Parameters are
/// drawn around the candidates' own values: each times a lognormal number, signs kept.
pub fn compare(a: &Candidate, b: &Candidate, columns: &[Vec<f64>], seed: u64) -> Comparison {
    let wide: Vec<Vec<f64>> = columns.iter().map(|c| widened(c)).collect();
    let fails = |from: &Candidate, by: &Candidate, number: u64| -> Vec<Vec<f64>> {
        let mut stream = Stream::new(seed, number);
        let mut failed = Vec::new();
        for draw in 0..DRAWS {
            let values: Vec<f64> =
                from.values.iter().map(|v| if draw == 0 { *v } else { v * exp(0.3 * stream.normal()) }).collect();
            if !describes(from, &values, by, columns, &wide, &mut stream) {
                failed.push(values);
            }
        }
        failed
    };
    let same_form = a.hash == b.hash;
    let failed = if same_form { (Vec::new(), Vec::new()) } else { (fails(a, b, 1), fails(b, a, 2)) };
    let relation = match (failed.0.is_empty(), failed.1.is_empty()) {
        (true, true) => Relation::Same,
        (true, false) => Relation::FirstWithinSecond,
        (false, true) => Relation::SecondWithinFirst,
        (false, false) => Relation::Different,
    };
    Comparison { relation, same_form, draws: DRAWS, failed }
}

/// Values twice as far from the middle of their range; what is not negative stays so.
fn widened(column: &[f64]) -> Vec<f64> {
    let low = column.iter().copied().fold(f64::INFINITY, f64::min);
    let high = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let middle = 0.5 * (low + high);
    let wide = |x: &f64| middle + 2.0 * (x - middle);
    column.iter().map(|x| if low >= 0.0 { f64::max(wide(x), 0.5 * low) } else { wide(x) }).collect()
}

fn deviation(list: &[f64]) -> f64 {
    let n = list.len().max(1) as f64;
    let mean = list.iter().sum::<f64>() / n;
    sqrt(list.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>() / n)
}

/// Whether a family has a member that agrees with what another one makes with some parameters.
fn describes(
    from: &Candidate,
    values: &[f64],
    by: &Candidate,
    columns: &[Vec<f64>],
    wide: &[Vec<f64>],
    stream: &mut Stream,
) -> bool {
    let rows = columns.first().map_or(0, Vec::len);
    let mut fitter = Fitter::default();
    let mut maker = Lowered::new(&from.expr, columns.len());
    let kept = |inside: &[Vec<f64>], made: &[f64]| -> (Vec<Vec<f64>>, Vec<f64>) {
        let finite: Vec<usize> = (0..made.len()).filter(|&r| made[r].is_finite()).collect();
        (
            inside.iter().map(|c| finite.iter().map(|&r| c[r]).collect()).collect(),
            finite.iter().map(|&r| made[r]).collect(),
        )
    };
    let views: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    let made = maker.values(values, &views, rows, &mut fitter.space);
    let (inside, target) = kept(columns, &made);
    if target.len() < 2 * by.values.len() + 2 {
        return false;
    }
    let views: Vec<&[f64]> = inside.iter().map(Vec::as_slice).collect();
    let scale = deviation(&target).max(f64::MIN_POSITIVE);
    let enough = 0.01 * TOLERANCE * TOLERANCE * scale * scale * target.len() as f64;
    let all = Rows { columns: &views, target: &target, root_weights: None, floor: enough };
    let mut model = Lowered::new(&by.expr, columns.len());
    let linear = linear_parameters(&by.expr);
    let mut best: Option<(f64, Vec<f64>)> = None;
    for k in 0..STARTS {
        let start: Vec<f64> = by
            .values
            .iter()
            .map(|v| match k {
                0 => *v,
                k if k % 2 == 1 => v * exp(0.5 * stream.normal()),
                _ => exp(stream.normal()) * if stream.uniform() < 0.5 { 1.0 } else { -1.0 },
            })
            .collect();
        let Some(found) = fitter.fit(&model, &all, &linear, &start, 200) else { continue };
        if best.as_ref().is_none_or(|b| found.squares < b.0) {
            best = Some((found.squares, found.values));
        }
        if best.as_ref().is_some_and(|b| b.0 <= enough) {
            break;
        }
    }
    let Some((squares, fitted)) = best else { return false };
    if sqrt(squares / target.len() as f64) > TOLERANCE * scale {
        return false;
    }
    let views: Vec<&[f64]> = wide.iter().map(Vec::as_slice).collect();
    let expected = maker.values(values, &views, rows, &mut fitter.space);
    let got = model.values(&fitted, &views, rows, &mut fitter.space);
    let pairs: Vec<(f64, f64)> =
        expected.into_iter().zip(got).filter(|(e, g)| e.is_finite() && g.is_finite()).collect();
    let size = deviation(&pairs.iter().map(|p| p.0).collect::<Vec<f64>>()).max(scale);
    // What rounding leaves of fitted numbers grows outside of where they were fitted.
    pairs.iter().all(|(e, g)| (e - g).abs() <= 1e3 * TOLERANCE * size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::funnel::{Contract, read};
    use crate::operation::Operations;

    fn relation(a: &str, b: &str) -> Relation {
        let operations = Operations::parse("+ - * / min sqrt exp log sin cos expt").expect("they exist");
        let inputs = ["k".to_string()];
        let contract = Contract { inputs: &inputs, operations: &operations, size: 60 };
        let column: Vec<f64> = (0..80).map(|i| 1.0 + i as f64).collect();
        let of = |text: &str| read(text, &contract).expect(text);
        compare(&of(a), &of(b), &[column], 1).relation
    }

    #[test]
    fn families_are_compared_by_what_they_describe() {
        // The knee of the battery: the paper's two encodings of one family.
        let generating =
            "(params (q free 1.0) (a free 0.02) (c free 0.004)) (* q (min (- 1 (* a (sqrt k))) (- 1 (* c k))))";
        let found = "(params (q free 1.0) (a free 0.02) (c free 0.004)) (min (- q (* a (sqrt k))) (- q (* c k)))";
        let seed = "(params (q free 1.0) (b free 0.02)) (- q (* b (sqrt k)))";
        assert_eq!(relation(generating, found), Relation::Same);
        assert_eq!(relation(generating, seed), Relation::SecondWithinFirst);
        let power = "(params (a free 2.0) (b free 0.5)) (* a (expt k b))";
        assert_eq!(relation(power, "(params (a free 2.0) (b free 0.5)) (exp (+ a (* b (log k))))"), Relation::Same);
        assert_eq!(relation("(params (a free 2.0)) (* a (sqrt k))", power), Relation::FirstWithinSecond);
        assert_eq!(relation(power, "(params (a free 2.0) (b free 0.5)) (+ a (* b k))"), Relation::Different);
    }
}
