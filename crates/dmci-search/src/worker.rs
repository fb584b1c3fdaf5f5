//! The worker: does what a search asks for. It knows the rows; a search does not.

use crate::candidate::Candidate;
use crate::data::Data;
use crate::decomposition::Decomposition;
use crate::enumeration::Enumeration;
use crate::expr::{Expr, Node};
use crate::fill::Filler;
use crate::funnel::{Rejection, Stage};
use crate::general::General;
use crate::grammar::Grammar;
use crate::operation::{Operation, Operations};
use crate::score::{Prepared, Score, Scorer};
use crate::search::{Proposer, Told, Work};
use crate::separable::separable;
use crate::units::Units;
use dmci_stats::random::Stream;
use dmci_units::Dimension;
use std::sync::{Mutex, OnceLock};

/// What all workers of a search share.
#[derive(Debug)]
pub struct Workshop {
    /// The rows.
    pub data: Data,
    /// The allowed operations.
    pub operations: Operations,
    /// The largest complexity.
    pub size: usize,
    /// The dimensions of the columns, if there are any: what cannot agree with them is never fitted.
    pub units: Option<Units>,
    /// What may be switched off.
    pub switches: Switches,
    enumeration: Mutex<Enumeration>,
    decomposition: OnceLock<Decomposition>,
    filler: Option<Filler>,
}

/// Parts of the work that can be switched off, to measure what each of them is worth.
#[derive(Clone, Copy, Debug)]
pub struct Switches {
    /// Numbers that are nearly whole are tried as exact.
    pub snapping: bool,
    /// A short fit decides which candidates are fitted to convergence.
    pub screening: bool,
}

impl Default for Switches {
    fn default() -> Self {
        Switches { snapping: true, screening: true }
    }
}

/// Candidates that a proposal has at most.
pub const BATCH: usize = 160;

/// Candidates that are made until the dimensions of one can agree.
const TRIES: usize = 12;

fn disagreement() -> Rejection {
    Rejection::new(
        Stage::Units,
        "its dimensions cannot agree with each other, or not with that of the target",
        "add only what has the same unit, and give exp, log, sin and powers that are fitted numbers without one",
    )
}

/// Terms of a sparse sum.
const LONGEST_SUM: usize = 8;

/// Starts of a fit to convergence, and of one that is hard.
const STARTS: usize = 4;
const MORE_STARTS: usize = 16;

impl Workshop {
    /// A workshop over some rows.
    pub fn new(data: Data, operations: Operations, size: usize) -> Workshop {
        let enumeration = Mutex::new(Enumeration::new(&data.few, &operations, None));
        let decomposition = OnceLock::new();
        Workshop {
            data,
            operations,
            size,
            units: None,
            switches: Switches::default(),
            enumeration,
            decomposition,
            filler: None,
        }
    }

    /// The same with the dimensions of its columns.
    pub fn with_units(self, units: Option<Units>) -> Workshop {
        let enumeration = Mutex::new(Enumeration::new(&self.data.few, &self.operations, units.as_ref()));
        Workshop { units, enumeration, ..self }
    }

    /// A candidate that somebody else made, unless its dimensions cannot agree.
    pub fn admit(&self, candidate: Candidate) -> Result<Candidate, Rejection> {
        match &self.units {
            Some(units) if self.filler.is_none() && !units.agree(&candidate.expr) => Err(disagreement()),
            _ => Ok(candidate),
        }
    }

    /// A workshop whose candidates are seeds with other contents of their holes.
    pub fn of_seeds(general: General, operations: Operations, size: usize) -> Workshop {
        let workshop = Workshop::new(general.data.clone(), operations, size);
        Workshop { filler: Some(Filler::new(general)), ..workshop }
    }

    /// What fits whole programs, if candidates are seeds with contents.
    pub fn general(&self) -> Option<&General> {
        self.filler.as_ref().map(|filler| &filler.general)
    }

    /// The program of a candidate, with these values as starts.
    pub fn program(&self, candidate: &Candidate, values: &[f64]) -> String {
        match self.general() {
            Some(general) => general.program(candidate, values).text.to_string(),
            None => candidate.program(&self.data.inputs, values),
        }
    }

    /// A candidate for people, with rounded numbers.
    pub fn formula(&self, candidate: &Candidate, values: &[f64]) -> String {
        self.scorer().formula(candidate, values)
    }

    /// The names of the parameters of a candidate, in the order of its values.
    pub fn parameter_names(&self, candidate: &Candidate) -> Vec<String> {
        match self.general() {
            Some(general) => {
                let template = general.template(candidate);
                template.new_names(candidate).into_iter().chain(template.own_names().cloned()).collect()
            }
            None => crate::candidate::parameter_names(candidate.values.len(), &self.data.inputs),
        }
    }

    /// What errors are called: the root of a mean square, or what stands in its place.
    pub fn error_name(&self) -> &'static str {
        self.general().map_or("RMSE", General::error_name)
    }

    /// A hash of the data and its units.
    pub fn hash(&self) -> String {
        let hash = self.general().map_or_else(|| self.data.hash(), General::hash);
        match &self.units {
            Some(units) => dmci_table::hash::of_text(&format!("{hash} {units:?}")),
            None => hash,
        }
    }

    /// A scorer, one for each thread.
    pub fn scorer(&self) -> Scorer<'_> {
        let mut scorer = Scorer::new(&self.data, &self.operations);
        scorer.general = self.general();
        scorer
    }

    /// Does a piece of work. The result depends on the work alone.
    pub fn run(&self, work: &Work, scorer: &mut Scorer<'_>) -> Told {
        match work {
            Work::Propose { proposer, number, parents, random, .. } => {
                let mut stream = Stream::new(random.0, random.1);
                Told::Proposed(self.propose(*proposer, *number, parents, &mut stream, scorer))
            }
            // A workshop knows nobody to ask.
            Work::Consult { .. } => Told::Consulted(Vec::new(), Vec::new()),
            Work::Score { candidates, .. } => {
                let found = self.score(candidates, scorer).into_iter();
                Told::Scored(found.map(|result| result.map_err(|rejection| rejection.stage)).collect())
            }
            Work::Validate { entries, .. } => {
                Told::Validated(entries.iter().map(|(c, s)| self.validate(c, s, scorer)).collect())
            }
        }
    }

    fn validate(&self, candidate: &Candidate, score: &Score, scorer: &mut Scorer<'_>) -> Score {
        let mut score = score.clone();
        if score.is_hard_to_fit()
            && let Ok(again) = scorer.converge(candidate, MORE_STARTS)
            && again.score < score.score
        {
            score = Score { work: score.work + again.work, ..again };
        }
        scorer.validate(candidate, &score)
    }

    /// Every candidate on the lowest rung; the better half, and whatever is linear, fitted to convergence.
    fn score(&self, candidates: &[Candidate], scorer: &mut Scorer<'_>) -> Vec<Result<Score, Rejection>> {
        let prepared: Vec<Prepared> = candidates.iter().map(|c| scorer.prepare(c)).collect();
        let mut found: Vec<Result<Score, Rejection>> =
            candidates.iter().zip(&prepared).map(|(c, p)| scorer.screen_prepared(p, c)).collect();
        let all_rows = self.data.few.len() == self.data.open.len();
        if !all_rows {
            // What converged on a part of the rows has not converged on all of them.
            found.iter_mut().flatten().for_each(|score| score.converged = false);
        }
        let mut order: Vec<usize> = (0..found.len()).filter(|&i| found[i].is_ok()).collect();
        let of = |i: usize| found[i].as_ref().map_or(f64::INFINITY, |s| s.score);
        order.sort_by(|&i, &j| of(i).total_cmp(&of(j)).then(i.cmp(&j)));
        // The rest goes on only where that costs nothing: linear fits that have converged on all rows.
        let half = if self.switches.screening { order.len().div_ceil(2) } else { order.len() };
        let is_free = |i: usize| prepared[i].is_linear() && found[i].as_ref().is_ok_and(|s| s.converged);
        let order: Vec<usize> =
            order.iter().enumerate().filter(|(rank, i)| *rank < half || is_free(**i)).map(|(_, i)| *i).collect();
        for i in order {
            if let Ok(screened) = &found[i] {
                let from = Candidate { values: screened.values.clone(), ..candidates[i].clone() };
                let converged = scorer.converge_prepared(&prepared[i], &from, STARTS, Some(screened));
                let before = screened.work;
                found[i] = converged.map(|s| Score { work: s.work + before, ..s });
            }
        }
        for (result, candidate) in found.iter_mut().zip(candidates) {
            if let Ok(score) = result
                && score.rank < candidate.values.len()
                && score.rung > 0
            {
                *result = Err(Rejection::new(
                    Stage::Derivative,
                    "only a combination of the parameters is determined",
                    "drop a parameter that does the work of another",
                ));
            }
        }
        found
    }

    fn propose(
        &self,
        proposer: Proposer,
        number: usize,
        parents: &[Candidate],
        stream: &mut Stream,
        scorer: &mut Scorer<'_>,
    ) -> Vec<Candidate> {
        if let Some(filler) = &self.filler {
            return filler.propose(proposer, number, parents, stream);
        }
        let grammar = Grammar { operations: &self.operations, inputs: self.data.inputs.len(), size: self.size };
        let mut list = match proposer {
            Proposer::Enumeration => self.enumeration().batch(number).unwrap_or_default(),
            Proposer::Decomposition => {
                let made = || Decomposition::new(&self.data.few, &self.operations, self.units.as_ref());
                let mut list = if number == 1 { separable(&self.data.open, &self.operations) } else { Vec::new() };
                list.extend(self.decomposition.get_or_init(made).batch(number));
                list
            }
            Proposer::Library => self.library(parents, stream, scorer),
            Proposer::Random => {
                let random = |_| self.agreeing(&mut || grammar.random(2 + stream.below(self.size.min(16)), stream));
                (0..BATCH).filter_map(random).collect()
            }
            Proposer::Grammar | Proposer::Model => {
                let change = |i: usize| match parents.len() {
                    0 => self.agreeing(&mut || grammar.random(2 + stream.below(9), stream)),
                    n => {
                        let mut first = Some((stream.below(n), stream.below(n)));
                        // Once for each parent: what can be snapped soon has been tried.
                        let snapped = parents
                            .get(i)
                            .filter(|_| self.switches.snapping)
                            .and_then(|parent| grammar.snapped(parent, stream));
                        snapped.filter(|c| self.is_agreeing(c)).or_else(|| {
                            self.agreeing(&mut || {
                                let (a, b) = first.take().unwrap_or_else(|| (stream.below(n), stream.below(n)));
                                grammar.change(&parents[a], &parents[b], stream)
                            })
                        })
                    }
                };
                (0..BATCH).filter_map(change).collect()
            }
        };
        let inputs = !self.data.inputs.is_empty();
        list.retain(|c| c.expr.complexity() <= self.size && (c.expr.mentions_variables() || !inputs));
        list.retain(|c| self.is_agreeing(c));
        list
    }

    fn is_agreeing(&self, candidate: &Candidate) -> bool {
        self.units.as_ref().is_none_or(|units| units.agree(&candidate.expr))
    }

    /// The first of some candidates whose dimensions can agree.
    fn agreeing(&self, make: &mut dyn FnMut() -> Candidate) -> Option<Candidate> {
        let tries = if self.units.is_some() { TRIES } else { 1 };
        (0..tries).map(|_| make()).find(|candidate| self.is_agreeing(candidate))
    }

    fn enumeration(&self) -> std::sync::MutexGuard<'_, Enumeration> {
        // A panic while it was held left it as it was before a batch.
        self.enumeration.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Whether an enumeration has a batch of this number.
    pub fn has_batch(&self, number: usize) -> bool {
        self.enumeration().batch(number).is_some()
    }

    /// Sparse sums of terms for the target, or for what a parent leaves of it.
    fn library(&self, parents: &[Candidate], stream: &mut Stream, scorer: &mut Scorer<'_>) -> Vec<Candidate> {
        let mut list = Vec::new();
        let parameter = |p: usize| Expr::leaf(Node::Param(p as u16));
        if !self.operations.allows(Operation::Add) || !self.operations.allows(Operation::Mul) {
            return list;
        }
        let few = &self.data.few;
        let (dictionary, outers) = {
            let mut enumeration = self.enumeration();
            (enumeration.dictionary(), enumeration.outers())
        };
        // A term for each of these behind what is there; if nothing is there, behind a constant, unless that has no unit
        // and the sum has one.
        let sum = |base: Option<(Expr, Vec<f64>)>, terms: &[Expr], wanted: Option<&Dimension>| {
            let has_constant = wanted.is_none_or(|d| d.is_none());
            let base = base.or_else(|| has_constant.then(|| (parameter(0), vec![0.0])));
            let (mut expr, mut values) = base.map_or((None, Vec::new()), |(expr, values)| (Some(expr), values));
            for term in terms {
                let scaled = Expr::apply(Operation::Mul, &[&parameter(values.len()), term]);
                expr = Some(expr.map_or(scaled.clone(), |expr| Expr::apply(Operation::Add, &[&expr, &scaled])));
                values.push(0.1);
            }
            expr.map(|expr| (expr, values))
        };
        let target = self.units.as_ref().filter(|u| u.is_pure()).and_then(|u| u.target);
        let mut bases: Vec<Option<&Candidate>> = vec![None];
        bases.extend((0..2).filter(|_| !parents.is_empty()).map(|_| Some(&parents[stream.below(parents.len())])));
        for base in bases {
            let residual = match base {
                None => few.target.clone(),
                Some(parent) => {
                    let model = crate::lower::Lowered::new(&parent.expr, self.data.inputs.len());
                    let plain = crate::data::Part { root_weights: None, ..few.clone() };
                    scorer.errors(&model, &plain, &parent.values)
                }
            };
            if !residual.iter().all(|r| r.is_finite()) {
                continue;
            }
            for terms in dictionary.sparse(&residual, LONGEST_SUM, target.as_ref(), stream) {
                let base = base.map(|parent| (parent.expr.clone(), parent.values.clone()));
                let made = sum(base, &terms, target.as_ref());
                list.extend(made.map(|(expr, values)| Candidate::new(&expr, &values, &self.operations)));
            }
        }
        // A sum inside of an outer function: it must be what the inverse makes of the target.
        if !outers.is_empty() {
            let outer = outers[stream.below(outers.len())];
            let wanted = outer.inverse(&few.target).unwrap_or_default();
            let inside = target.map(|d| outer.inside(&d));
            for terms in dictionary.sparse(&wanted, LONGEST_SUM, inside.as_ref(), stream) {
                let Some((inner, values)) = sum(None, &terms, inside.as_ref()) else { continue };
                let starts = scorer.linear_fit(&inner, &values, &wanted).unwrap_or(values);
                list.push(Candidate::new(&outer.around(&inner), &starts, &self.operations));
            }
        }
        list
    }
}
