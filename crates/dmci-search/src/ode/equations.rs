//! Each equation alone: slopes of the smoothed states are a target like any other, so that a search over expressions of
//! rows finds right-hand sides without an integrator. Their fronts are the parts of whole systems.

use super::Run;
use super::weak::Weak;
use crate::candidate::Candidate;
use crate::data::{Data, Part};
use crate::expr::{Expr, Node};
use crate::judge::baselines;
use crate::operation::Operations;
use crate::problem::SearchProblem;
use crate::score::Scorer;
use crate::search::{Search, Settings};
use crate::template::Limits;
use crate::worker::Workshop;
use dmci::Report;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Rows of an equation: smoothed neighbours say the same.
const ROWS: usize = 256;

/// Blocks of time that validate an equation alone.
const BLOCKS: usize = 5;

/// Hypotheses of each stage of the search for one equation. Stage 0 is the sparse library alone; each stage begins with
/// what the one before found.
const STAGES: [u64; 7] = [0, 1_500, 3_000, 4_000, 5_000, 5_000, 5_000];

/// A mean square of slopes that leaves nothing to explain, beside their variance.
const EXACT: f64 = 1e-9;

type Fronts = BTreeMap<(usize, usize), Arc<Vec<Candidate>>>;

/// The equations of a system.
#[derive(Clone, Debug)]
pub struct Equations {
    data: Vec<Data>,
    /// Sparse sums for each equation.
    sums: Vec<Vec<Candidate>>,
    operations: Operations,
    size: usize,
    seed: u64,
    /// Fronts by equation and stage, once they were asked for.
    fronts: Arc<Mutex<Fronts>>,
}

impl Equations {
    /// The rows of each equation, and its sparse sums.
    pub fn new(
        problem: &SearchProblem,
        runs: &[Run],
        states: &[String],
        arguments: &[String],
    ) -> Result<Equations, Report> {
        let Limits { operations, size } = problem.limits()?;
        let inputs = |run: &Run| -> Vec<Vec<f64>> {
            let of = |name: &String| match states.iter().position(|s| s == name) {
                Some(i) => run.smooth[i].values.clone(),
                None => run.times.clone(),
            };
            arguments.iter().map(of).collect()
        };
        let total: usize = runs.iter().map(|r| r.times.len()).sum();
        let every = total.div_ceil(ROWS).max(1);
        let data = (0..states.len()).map(|i| {
            let mut part = Part { columns: vec![Vec::new(); arguments.len()], ..Part::default() };
            let (mut weights, mut off) = (Vec::new(), 0.0);
            for run in runs {
                let columns = inputs(run);
                let least = run.smooth[i].errors.iter().copied().fold(f64::INFINITY, f64::min);
                for k in (every / 2..run.times.len()).step_by(every) {
                    columns.iter().zip(&mut part.columns).for_each(|(from, to)| to.push(from[k]));
                    part.target.push(run.smooth[i].slopes[k]);
                    weights.push(least / run.smooth[i].errors[k]);
                    off += run.smooth[i].noise * run.smooth[i].noise * least * least;
                }
            }
            part.root_weights = Some(weights);
            let n = part.len();
            let block = |b: usize| {
                let inside = n * b / BLOCKS..n * (b + 1) / BLOCKS;
                let (out, fit): (Vec<usize>, Vec<usize>) = (0..n).partition(|k| inside.contains(k));
                (part.select(&fit), part.select(&out))
            };
            let mean = part.target.iter().sum::<f64>() / n.max(1) as f64;
            let variance = part.target.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>() / n.max(1) as f64;
            Data {
                inputs: arguments.to_vec(),
                target: states[i].clone(),
                few: part.clone(),
                folds: (0..BLOCKS.min(n)).map(block).collect(),
                sealed: Part::default(),
                variance: variance.max(f64::MIN_POSITIVE),
                // What smoothing leaves open is nothing to explain.
                exact: EXACT * variance + off / n.max(1) as f64,
                open: part,
            }
        });
        let weak = Weak::new(runs, arguments.len(), &inputs, &operations);
        let within = |c: &Candidate| c.complexity() <= size;
        let sums = (0..states.len()).map(|i| weak.sums(i, &operations).into_iter().filter(within).collect());
        let (data, sums) = (data.collect(), sums.collect());
        Ok(Equations { data, sums, operations, size, seed: problem.search.seed, fronts: Arc::default() })
    }

    /// The line that fits the slopes of a state.
    pub fn linear(&self, state: usize) -> Candidate {
        let data = &self.data[state];
        let mut line = baselines(data.inputs.len(), &self.operations);
        self.fitted(state, line.pop().map_or_else(|| Candidate::new(&one(), &[0.0], &self.operations), |(_, c)| c))
    }

    /// The number that is nearest to the slopes of a state.
    pub fn constant(&self, state: usize) -> Candidate {
        self.fitted(state, Candidate::new(&one(), &[0.0], &self.operations))
    }

    fn fitted(&self, state: usize, candidate: Candidate) -> Candidate {
        let mut scorer = Scorer::new(&self.data[state], &self.operations);
        match scorer.screen(&candidate) {
            Ok(score) if score.values.iter().all(|v| v.is_finite()) => Candidate { values: score.values, ..candidate },
            _ => candidate,
        }
    }

    /// The equation that a proposal knows more about than the one before. Equations take turns, so that no proposal
    /// takes long.
    pub fn turn(&self, number: usize) -> Option<usize> {
        let d = self.data.len();
        number.checked_sub(1).filter(|n| n / d + 1 < STAGES.len()).map(|n| n % d)
    }

    /// The stage of an equation at a proposal.
    fn stage(&self, state: usize, number: usize) -> usize {
        let d = self.data.len();
        ((number + d - 1 - state) / d).min(STAGES.len() - 1)
    }

    /// What each equation may be at a proposal of this number, the best first, within the limits of its hole.
    pub fn pool(&self, number: usize, limits: &[&Limits]) -> Vec<Vec<Candidate>> {
        let fits = |c: &&Candidate, limits: &Limits| {
            let allowed = |node: &Node| !matches!(node, Node::Op(o) if !limits.operations.allows(*o));
            c.complexity() <= limits.size && c.expr.nodes.iter().all(allowed)
        };
        let one = |(i, limits): (usize, &&Limits)| {
            self.front(i, self.stage(i, number)).iter().filter(|c| fits(c, limits)).cloned().collect::<Vec<_>>()
        };
        limits.iter().enumerate().map(one).collect()
    }

    /// The front of one equation, the best first. It depends on equation and stage alone.
    fn front(&self, state: usize, stage: usize) -> Arc<Vec<Candidate>> {
        if let Some(found) = self.fronts.lock().unwrap_or_else(|e| e.into_inner()).get(&(state, stage)) {
            return found.clone();
        }
        let found = Arc::new(self.searched(state, stage));
        self.fronts.lock().unwrap_or_else(|e| e.into_inner()).insert((state, stage), found.clone());
        found
    }

    fn searched(&self, state: usize, stage: usize) -> Vec<Candidate> {
        let data = &self.data[state];
        let workshop = Workshop::new(data.clone(), self.operations.clone(), self.size);
        let mut first: Vec<Candidate> =
            baselines(data.inputs.len(), &self.operations).into_iter().map(|(_, c)| c).collect();
        first.extend(self.sums[state].iter().cloned());
        if let Some(before) = stage.checked_sub(1) {
            first.extend(self.front(state, before).iter().cloned());
        }
        let settings = Settings {
            seed: self.seed ^ (state as u64) << 32 ^ (stage as u64) << 40,
            islands: 2,
            evaluations: Some(STAGES[stage].max(first.len() as u64)),
            exact_at: data.exact,
            ..Settings::default()
        };
        let mut search = Search::new(settings, first);
        let mut scorer = workshop.scorer();
        while let Some(work) = search.ask() {
            if !search.tell(workshop.run(&work, &mut scorer)) {
                break;
            }
        }
        let mut list: Vec<_> = search.front().to_vec();
        list.sort_by(|a, b| a.score.score.total_cmp(&b.score.score));
        list.into_iter().map(|e| Candidate { values: e.score.values.clone(), ..e.candidate }).collect()
    }
}

fn one() -> Expr {
    Expr::leaf(Node::Param(0))
}
