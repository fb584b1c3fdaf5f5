//! Operators that are fitted to their own forecasts, with a prior around the Green function.

use super::forecast::LEADS;
use super::matrix::Matrix;
use super::operator::green;
use crate::searches::{Objective, lbfgs, options};
use dmci::{Batch, Datum, Mode, Model, Program, Report, Shape, Want};
use serde::{Deserialize, Serialize};

/// The objective.
pub const EXTENDED: &str = include_str!("../../programs/lim/extended.scm");

/// What is chosen by validation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// Components.
    pub d: usize,
    /// The standard deviation of the prior of each entry around the Green function; 0 is the Green function itself.
    pub tau: f64,
    /// How much more the index weighs than the components.
    pub lambda: f64,
}

/// Mean products of states and of states some months later.
struct Moments {
    now: Matrix,
    ahead: Matrix,
    months: f64,
    /// Mean squares of what comes later: of all components, and of the index.
    squares: f64,
    index_squares: f64,
}

fn moments(states: &[f64], d: usize, lead: usize, w: &[f64]) -> Moments {
    let months = states.len() / d - lead;
    let (mut now, mut ahead) = (Matrix::zeros(d, d), Matrix::zeros(d, d));
    let (mut squares, mut index_squares) = (0.0, 0.0);
    let share = 1.0 / months as f64;
    for t in 0..months {
        let (x, y) = (&states[t * d..(t + 1) * d], &states[(t + lead) * d..(t + lead + 1) * d]);
        for i in 0..d {
            for j in 0..d {
                now.values[i * d + j] += share * x[i] * x[j];
                ahead.values[i * d + j] += share * y[i] * x[j];
            }
        }
        squares += share * y.iter().map(|v| v * v).sum::<f64>();
        let index: f64 = y.iter().zip(w).map(|(v, w)| v * w).sum();
        index_squares += share * index * index;
    }
    Moments { now, ahead, months: months as f64, squares, index_squares }
}

impl Moments {
    /// The mean squared errors of an operator at this lead: of all components, and of the index.
    fn errors(&self, a: &Matrix, w: &[f64]) -> (f64, f64) {
        let inner = |x: &Matrix, y: &Matrix| x.values.iter().zip(&y.values).map(|(a, b)| a * b).sum::<f64>();
        let all = inner(&a.times(&self.now), a) - 2.0 * inner(a, &self.ahead) + self.squares;
        let v = a.transpose().apply(w);
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(a, b)| a * b).sum::<f64>();
        let index = dot(&v, &self.now.apply(&v)) - 2.0 * dot(&v, &self.ahead.transpose().apply(w)) + self.index_squares;
        (all, index)
    }
}

struct Errors {
    model: Model,
    batch: Batch,
}

impl Objective for Errors {
    fn gradient(&mut self, raws: &[f64]) -> Result<(f64, Vec<f64>), Report> {
        self.model.evaluate_into::<f64>(&mut self.batch, raws, &[], Want::Gradients)?;
        Ok((self.batch.values[0], self.batch.gradients.clone()))
    }
}

fn matrix(m: &Matrix) -> Datum {
    Datum::Tensor(Shape::Matrix(m.rows as u32, m.columns as u32), m.values.clone())
}

fn vector(list: Vec<f64>) -> Datum {
    Datum::Tensor(Shape::Vector(list.len() as u32), list)
}

/// The operator of some training states for a choice; `None` if their covariance is singular.
pub fn operator(states: &[f64], w: &[f64], choice: Choice) -> Result<Option<Matrix>, Report> {
    let d = choice.d;
    let Some(g) = green(states, d, 1) else { return Ok(None) };
    if choice.tau == 0.0 {
        return Ok(Some(g));
    }
    let (mut weights, mut index_weights, mut bindings) = (Vec::new(), Vec::new(), Vec::new());
    for lead in LEADS {
        let m = moments(states, d, lead, w);
        let (all, index) = m.errors(&g.power(lead), w);
        weights.push(m.months * d as f64 / (2.0 * all));
        index_weights.push(m.months * d as f64 / (2.0 * index));
        bindings.push((format!("now{lead}"), matrix(&m.now)));
        bindings.push((format!("ahead{lead}"), matrix(&m.ahead)));
    }
    bindings.push(("G".into(), matrix(&g)));
    bindings.push(("w".into(), vector(w.to_vec())));
    bindings.push(("weights".into(), vector(weights)));
    bindings.push(("index-weights".into(), vector(index_weights)));
    bindings.push(("tau".into(), Datum::Real(choice.tau)));
    bindings.push(("lambda".into(), Datum::Real(choice.lambda)));
    let program = Program::named("extended", EXTENDED);
    let parameters = vec![("F".to_string(), matrix(&Matrix::zeros(d, d)))];
    let model = Model::with_params(program, parameters, &[], options(Mode::Direct, false, bindings));
    let found = lbfgs(&mut Errors { model, batch: Batch::default() }, &g.values, 300)?;
    Ok(Some(Matrix::new(d, d, found.raws)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dmci_stats::random::Stream;

    /// The program's error is that of the moments, a narrow prior gives the Green function, and a wide one forecasts
    /// the training months better.
    #[test]
    fn operators_go_from_the_green_function_to_the_best_forecasts() {
        let (d, w) = (3, [0.5, -0.2, 0.1]);
        let mut stream = Stream::new(5, 0);
        let f = Matrix::new(3, 3, vec![0.9, -0.2, 0.0, 0.2, 0.85, 0.1, 0.0, 0.0, 0.7]);
        let mut states = vec![1.0, 0.0, 0.0];
        for t in 0..300 {
            let next = f.apply(&states[t * d..(t + 1) * d]);
            states.extend(next.into_iter().map(|x| x + 0.3 * stream.normal()));
        }
        let fitted = |tau: f64| operator(&states, &w, Choice { d, tau, lambda: 1.0 }).unwrap().unwrap();
        let g = green(&states, d, 1).unwrap();
        assert_eq!(fitted(0.0), g);
        assert!(fitted(1e-4).plus(&g, -1.0).length() < 1e-3);
        let error = |a: &Matrix| {
            let lead = |l: usize| {
                let m = moments(&states, d, l, &w);
                let ((all, index), (of_green, index_of_green)) = (m.errors(&a.power(l), &w), m.errors(&g.power(l), &w));
                m.months * (all / of_green + index / index_of_green)
            };
            LEADS.into_iter().map(lead).sum::<f64>()
        };
        assert!(error(&fitted(1.0)) < error(&fitted(0.02)) && error(&fitted(0.02)) < error(&g));
        let m = moments(&states, d, 6, &w);
        let mut sum = 0.0;
        for t in 0..states.len() / d - 6 {
            let ahead = g.power(6).apply(&states[t * d..(t + 1) * d]);
            sum += ahead.iter().zip(&states[(t + 6) * d..]).map(|(a, y)| (a - y) * (a - y)).sum::<f64>();
        }
        assert!((m.errors(&g.power(6), &w).0 - sum / m.months).abs() < 1e-9);
    }
}
