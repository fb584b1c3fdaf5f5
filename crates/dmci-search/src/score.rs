//! Scores: the fit ladder over the rows of a search, and the description length that ranks candidates.

use crate::candidate::Candidate;
use crate::data::Data;
use crate::expr::{Expr, Node};
use crate::funnel::{Rejection, Stage};
use crate::general::General;
use crate::least_squares::{Fitter, Rows, Solution, linear_parameters};
use crate::lower::Lowered;
use crate::operation::Operations;
use dmci_ops::real::log;
use dmci_stats::random::Stream;
use serde::{Deserialize, Serialize};

/// What is known of a fitted candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// The rung of the ladder: 0 few iterations, 1 converged, 2 cross-validated.
    pub rung: u8,
    /// The fitted parameters.
    pub values: Vec<f64>,
    /// The mean square on the rows that were fitted.
    pub loss: f64,
    /// The mean square on rows that took no part in their fit, from rung 2 on.
    pub validation: Option<f64>,
    /// The description length in nats: less is better.
    pub score: f64,
    /// The complexity.
    pub nodes: usize,
    /// Fits that were made, and how many of them came to the best optimum.
    pub starts: (u32, u32),
    /// Different optima that were found.
    pub distinct: u32,
    /// Whether the best fit converged.
    pub converged: bool,
    /// Directions that the data determine.
    pub rank: usize,
    /// Operations on numbers that it took.
    pub work: u64,
}

impl Score {
    /// Whether starts disagree so much that more of them are worth it.
    pub fn is_hard_to_fit(&self) -> bool {
        !self.converged || self.starts.0 > 1 && self.starts.1 == 1
    }
}

/// Iterations of the lowest rung, and of fits to convergence.
const FEW_ITERATIONS: usize = 8;
const ITERATIONS: usize = 60;

/// Optima whose sums of squares differ by less are one.
const SAME_OPTIMUM: f64 = 1e-5;

/// The share of all starts that must come to one optimum for the rest to be left out.
const AGREED: usize = 4;

/// A start that is so much worse than the best fit after few iterations is given up.
const HOPELESS: f64 = 3.0;

/// A candidate as fits take it.
#[derive(Debug)]
pub struct Prepared {
    model: Lowered,
    /// The parameters in which it is affine.
    linear: Vec<bool>,
}

impl Prepared {
    /// Whether all parameters enter linearly: then one start is enough.
    pub fn is_linear(&self) -> bool {
        self.linear.iter().all(|l| *l)
    }
}

/// Fits candidates to the rows of a search.
#[derive(Debug)]
pub struct Scorer<'d> {
    /// The rows.
    pub data: &'d Data,
    /// The operations that candidates may have.
    pub operations: &'d Operations,
    /// What fits candidates that are no expressions of rows by least squares.
    pub general: Option<&'d General>,
    fitter: Fitter,
}

impl<'d> Scorer<'d> {
    /// A scorer over some rows.
    pub fn new(data: &'d Data, operations: &'d Operations) -> Scorer<'d> {
        Scorer { data, operations, general: None, fitter: Fitter::default() }
    }

    /// A candidate for people, with rounded numbers.
    pub fn formula(&self, candidate: &Candidate, values: &[f64]) -> String {
        match self.general {
            Some(general) => general.template(candidate).formula(candidate, values),
            None => candidate.formula(&self.data.inputs, values),
        }
    }

    /// The nats that one node costs.
    pub fn node_cost(&self) -> f64 {
        log((self.operations.list.len() + self.data.inputs.len()).max(2) as f64)
    }

    fn length(&self, mean_square: f64, rows: usize, parameters: usize, nodes: usize) -> f64 {
        let n = rows as f64;
        let floored = f64::max(mean_square, self.data.exact.max(f64::MIN_POSITIVE));
        0.5 * n * log(floored) + 0.5 * parameters as f64 * log(n.max(2.0)) + nodes as f64 * self.node_cost()
    }

    /// A candidate ready to be fitted on several rungs.
    pub fn prepare(&self, candidate: &Candidate) -> Prepared {
        // Whole programs are prepared by their fitter.
        let nothing = Expr::leaf(Node::Int(1));
        let expr = if self.general.is_some() { &nothing } else { &candidate.expr };
        Prepared { model: Lowered::new(expr, self.data.inputs.len()), linear: linear_parameters(expr) }
    }

    /// The lowest rung: one start, few iterations, up to 256 rows. Parameters that enter linearly are solved for.
    pub fn screen(&mut self, candidate: &Candidate) -> Result<Score, Rejection> {
        self.screen_prepared(&self.prepare(candidate), candidate)
    }

    /// The same for a candidate that is prepared.
    pub fn screen_prepared(&mut self, prepared: &Prepared, candidate: &Candidate) -> Result<Score, Rejection> {
        if let Some(general) = self.general {
            return self.fitted(general, candidate, 0, 1);
        }
        let part = &self.data.few;
        let columns = part.slices();
        let floor = self.data.floor(part.len());
        let rows = part.rows(&columns, floor);
        let mut work = 0;
        let found = self.first_fit(&prepared.model, &rows, &prepared.linear, candidate, FEW_ITERATIONS, &mut work)?;
        Ok(self.scored(candidate, 0, part.len(), found, (1, 1), 1, work))
    }

    /// Fits from the candidate's own start, or from the first of eight draws at which it is finite.
    fn first_fit(
        &mut self,
        model: &Lowered,
        rows: &Rows<'_>,
        linear: &[bool],
        candidate: &Candidate,
        iterations: usize,
        work: &mut u64,
    ) -> Result<Solution, Rejection> {
        let per_evaluation = (rows.target.len() * model.work) as u64;
        let mut stream = Stream::new(candidate.hash, 0xd4a5);
        for attempt in 0..9 {
            let start = if attempt == 0 { candidate.values.clone() } else { draw(candidate.values.len(), &mut stream) };
            *work += per_evaluation;
            if let Some(found) = self.fitter.fit(model, rows, linear, &start, iterations) {
                *work += per_evaluation * found.evaluations as u64;
                return Ok(found);
            }
            if candidate.values.is_empty() {
                break;
            }
        }
        Err(Rejection::new(
            Stage::Runs,
            "the program gives a number that is not finite, at its start and at eight draws of its parameters",
            "keep arguments of log, sqrt and / inside of their domains on all rows",
        ))
    }

    /// Fits to all open rows until nothing is to be gained, from the candidate's start and further draws; starts that
    /// are hopeless after few iterations are given up.
    pub fn converge(&mut self, candidate: &Candidate, starts: usize) -> Result<Score, Rejection> {
        self.converge_prepared(&self.prepare(candidate), candidate, starts, None)
    }

    /// The same for a candidate that is prepared and may have been screened: if that fit converged on all open rows, it
    /// is not made again.
    pub fn converge_prepared(
        &mut self,
        prepared: &Prepared,
        candidate: &Candidate,
        starts: usize,
        screened: Option<&Score>,
    ) -> Result<Score, Rejection> {
        if let Some(general) = self.general {
            return self.fitted(general, candidate, 1, starts);
        }
        let part = &self.data.open;
        let columns = part.slices();
        let floor = self.data.floor(part.len());
        let rows = part.rows(&columns, floor);
        let Prepared { model, linear } = prepared;
        let per_evaluation = (part.len() * model.work) as u64;
        let mut work = 0;
        let known = screened.filter(|s| s.converged && self.data.few.len() == part.len());
        let mut best = match known {
            Some(score) => Solution {
                values: score.values.clone(),
                squares: score.loss * part.len() as f64,
                converged: true,
                evaluations: 0,
                rank: score.rank,
            },
            None => self.first_fit(model, &rows, linear, candidate, ITERATIONS, &mut work)?,
        };
        let starts = if prepared.is_linear() || best.squares <= floor { 1 } else { starts };
        let (mut optima, mut made) = (vec![best.squares], 1);
        let mut stream = Stream::new(candidate.hash, 0x57a7);
        let near = |a: f64, b: f64| (a - b).abs() <= SAME_OPTIMUM * b.abs() + floor;
        // Where several starts have come to one optimum, another start seldom finds a better one.
        let agreed = starts.div_ceil(AGREED).max(2);
        for _ in 1..starts {
            if best.converged && optima.iter().filter(|s| near(**s, best.squares)).count() >= agreed {
                break;
            }
            made += 1;
            let start = draw(candidate.values.len(), &mut stream);
            let Some(mut found) = self.fitter.fit(model, &rows, linear, &start, FEW_ITERATIONS) else { continue };
            work += per_evaluation * found.evaluations as u64;
            if !found.converged && found.squares < HOPELESS * best.squares {
                let so_far = found.values.clone();
                if let Some(rest) = self.fitter.fit(model, &rows, linear, &so_far, ITERATIONS) {
                    work += per_evaluation * rest.evaluations as u64;
                    found = rest;
                }
            }
            optima.push(found.squares);
            if found.squares < best.squares {
                best = found;
            }
        }
        let came = optima.iter().filter(|s| near(**s, best.squares)).count() as u32;
        optima.sort_by(f64::total_cmp);
        optima.dedup_by(|a, b| near(*a, *b));
        let distinct = optima.len() as u32;
        Ok(self.scored(candidate, 1, part.len(), best, (made, came), distinct, work))
    }

    /// A fit by the fitter of whole programs.
    fn fitted(&self, general: &General, candidate: &Candidate, rung: u8, starts: usize) -> Result<Score, Rejection> {
        let found = general.fit(candidate, rung, starts)?;
        let nodes = general.nodes(candidate);
        Ok(Score {
            rung,
            score: self.length(found.mean_square, found.count, found.numbers, nodes),
            rank: found.values.len(),
            values: found.values,
            loss: found.mean_square,
            validation: None,
            nodes,
            starts: (found.fit.starts as u32, found.fit.reached as u32),
            distinct: found.fit.distinct as u32,
            converged: found.fit.converged,
            work: found.fit.work,
        })
    }

    /// Errors by row on the sealed rows or, without any, on rows that took no part in their fit, and the mean square of
    /// the sealed ones. Of likelihoods and objectives they are roots of losses with their signs.
    pub fn last_errors(&mut self, candidate: &Candidate, values: &[f64]) -> (Vec<f64>, Option<f64>) {
        let data = self.data;
        if let Some(general) = self.general {
            let candidate = Candidate { values: values.to_vec(), ..candidate.clone() };
            return match general.sealed_losses(&candidate) {
                Ok(Some(losses)) => (losses.roots(), Some(general.mean_of(&losses))),
                Ok(None) => {
                    let losses = general.validation_losses(&candidate, &mut 0);
                    (losses.map_or(Vec::new(), |losses| losses.roots()), None)
                }
                Err(_) => (Vec::new(), Some(f64::INFINITY)),
            };
        }
        if data.sealed.is_empty() {
            return (self.fold_errors(candidate, values, &mut 0), None);
        }
        let model = Lowered::new(&candidate.expr, data.inputs.len());
        let errors = self.errors(&model, &data.sealed, values);
        let square = errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64;
        (errors, Some(square))
    }

    #[allow(clippy::too_many_arguments)]
    fn scored(
        &self,
        candidate: &Candidate,
        rung: u8,
        rows: usize,
        found: Solution,
        starts: (u32, u32),
        distinct: u32,
        work: u64,
    ) -> Score {
        let loss = found.squares / rows.max(1) as f64;
        let nodes = candidate.expr.complexity();
        Score {
            rung,
            score: self.length(loss, rows, found.values.len(), nodes),
            values: found.values,
            loss,
            validation: None,
            nodes,
            starts,
            distinct,
            converged: found.converged,
            rank: found.rank,
            work,
        }
    }

    /// Adds the errors on rows that took no part in their fit: each fold is predicted by a fit to the others, from the
    /// parameters that all rows gave.
    pub fn validate(&mut self, candidate: &Candidate, score: &Score) -> Score {
        let mut work = score.work;
        if let Some(general) = self.general {
            let candidate = Candidate { values: score.values.clone(), ..candidate.clone() };
            let losses = general.validation_losses(&candidate, &mut work);
            let validation = losses.map_or(f64::INFINITY, |losses| general.mean_of(&losses));
            let length = self.length(validation, self.data.open.len(), 0, score.nodes);
            return Score { rung: 2, validation: Some(validation), score: length, work, ..score.clone() };
        }
        let errors = self.fold_errors(candidate, &score.values, &mut work);
        let squares: f64 = errors.iter().map(|e| e * e).sum();
        let validation = if squares.is_finite() { squares / errors.len().max(1) as f64 } else { f64::INFINITY };
        let length = self.length(validation, self.data.open.len(), 0, score.nodes);
        Score { rung: 2, validation: Some(validation), score: length, work, ..score.clone() }
    }

    /// The error of every row that some fold leaves out, fold by fold; infinite where a fold has no fit.
    pub fn fold_errors(&mut self, candidate: &Candidate, values: &[f64], work: &mut u64) -> Vec<f64> {
        let Prepared { model, linear } = self.prepare(candidate);
        let data = self.data;
        let mut errors = Vec::new();
        // Where all parameters are linear, the first solution is the fit.
        let iterations = if linear.iter().all(|l| *l) { 0 } else { ITERATIONS };
        for (fitted, out) in &data.folds {
            let columns = fitted.slices();
            let rows = fitted.rows(&columns, data.floor(fitted.len()));
            let Some(found) = self.fitter.fit(&model, &rows, &linear, values, iterations) else {
                errors.resize(errors.len() + out.len(), f64::INFINITY);
                continue;
            };
            *work += (fitted.len() * model.work * found.evaluations) as u64;
            errors.extend(self.errors(&model, out, &found.values));
        }
        errors
    }

    /// The parameters of an expression that is linear in all of them, for another target on the rows of the lowest rung.
    pub fn linear_fit(&mut self, expr: &Expr, values: &[f64], target: &[f64]) -> Option<Vec<f64>> {
        let part = &self.data.few;
        let columns = part.slices();
        let rows = Rows { columns: &columns, target, root_weights: None, floor: 0.0 };
        let model = Lowered::new(expr, columns.len());
        self.fitter.fit(&model, &rows, &vec![true; values.len()], values, 0).map(|found| found.values)
    }

    /// Weighted residuals on some rows.
    pub fn errors(&mut self, model: &Lowered, part: &crate::data::Part, values: &[f64]) -> Vec<f64> {
        let columns = part.slices();
        // With derivatives that nobody reads: a second tape without them would cost more than it saves.
        let out = model.evaluate(values, &columns, part.len(), &mut self.fitter.space);
        let predicted = out.chunks_exact(values.len() + 1).map(|row| f64::from_bits(row[0]));
        let weight = |r: usize| part.root_weights.as_ref().map_or(1.0, |w| w[r]);
        predicted.zip(&part.target).enumerate().map(|(r, (p, y))| weight(r) * (y - p)).collect()
    }
}

/// A start: of either sign, mostly between a tenth and ten.
pub(crate) fn draw(count: usize, stream: &mut Stream) -> Vec<f64> {
    let one = |stream: &mut Stream| {
        let size = dmci_ops::real::exp(stream.normal());
        if stream.uniform() < 0.5 { size } else { -size }
    };
    (0..count).map(|_| one(stream)).collect()
}
