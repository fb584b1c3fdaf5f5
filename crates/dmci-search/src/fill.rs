//! Proposals for seeds with holes: other contents, one hole at a time.

use crate::candidate::Candidate;
use crate::expr::{Expr, Node};
use crate::general::General;
use crate::grammar::Grammar;
use crate::normal::hash;
use crate::operation::Operation;
use crate::search::Proposer;
use crate::template::Hole;
use dmci_stats::random::Stream;
use rustc_hash::FxHashSet;
use std::sync::Mutex;

/// Candidates that a proposal has at most: fits of whole programs take long, and a search ends between proposals.
const BATCH: usize = 16;

/// Contents that are enumerated for each hole.
const MOST_CONTENTS: usize = 5_000;

/// The largest content that is enumerated.
const LARGEST: usize = 7;

/// Makes candidates of seeds.
#[derive(Debug)]
pub struct Filler {
    /// What fits them.
    pub general: General,
    /// All small contents of each hole of each seed, in the order of their sizes, once they were asked for.
    small: Mutex<Vec<(usize, usize, Vec<Expr>)>>,
}

impl Filler {
    /// Proposals for the seeds of a problem.
    pub fn new(general: General) -> Filler {
        Filler { general, small: Mutex::default() }
    }

    /// Candidates by a proposer. The result depends on what is given alone.
    pub fn propose(
        &self,
        proposer: Proposer,
        number: usize,
        parents: &[Candidate],
        stream: &mut Stream,
    ) -> Vec<Candidate> {
        let seeds = self.general.seeds();
        let list: Vec<Candidate> = match (proposer, &self.general.ode) {
            (Proposer::Library, Some(ode)) => ode.propose(&self.general.templates[0], number, parents, BATCH, stream),
            _ => self.others(proposer, number, parents, &seeds, stream),
        };
        let fits = |c: &Candidate| {
            let holes = &self.general.template(c).holes;
            !holes.is_empty() && c.contents().zip(holes).all(|(e, h)| e.complexity() <= h.limits.size)
        };
        list.into_iter().filter(fits).collect()
    }

    /// What needs nothing but seeds.
    fn others(
        &self,
        proposer: Proposer,
        number: usize,
        parents: &[Candidate],
        seeds: &[Candidate],
        stream: &mut Stream,
    ) -> Vec<Candidate> {
        match proposer {
            Proposer::Enumeration => self.enumerated(number),
            Proposer::Random => (0..BATCH).map(|_| self.random(&seeds[stream.below(seeds.len())], stream)).collect(),
            // The contents of a hole have no columns of their own.
            Proposer::Decomposition => Vec::new(),
            Proposer::Grammar | Proposer::Library | Proposer::Model => (0..BATCH)
                .map(|_| {
                    let pool = if parents.is_empty() { seeds } else { parents };
                    let (a, b) = (&pool[stream.below(pool.len())], &pool[stream.below(pool.len())]);
                    self.changed(a, b, stream)
                })
                .collect(),
        }
    }

    fn grammar(hole: &Hole) -> Grammar<'_> {
        Grammar { operations: &hole.limits.operations, inputs: hole.arguments.len(), size: hole.limits.size }
    }

    /// A candidate with another content in one hole, sometimes with a part of that of another candidate.
    fn changed(&self, parent: &Candidate, other: &Candidate, stream: &mut Stream) -> Candidate {
        let template = self.general.template(parent);
        let (mut parts, own) = template.parts(parent);
        if parts.is_empty() || template.holes.is_empty() {
            return parent.clone();
        }
        let at = stream.below(parts.len());
        let hole = &template.holes[at];
        let alone = |(expr, values): &(Expr, Vec<f64>)| Candidate::new(expr, values, &hole.limits.operations);
        let of_other = if other.seed == parent.seed { template.parts(other).0.get(at).map(alone) } else { None };
        let before = alone(&parts[at]);
        let child = Filler::grammar(hole).change(&before, of_other.as_ref().unwrap_or(&before), stream);
        parts[at] = (child.expr, child.values);
        template.filled(parent.seed.into(), &parts, &own)
    }

    /// A seed with contents by chance in some of its holes, one at least.
    fn random(&self, seed: &Candidate, stream: &mut Stream) -> Candidate {
        let template = self.general.template(seed);
        let (mut parts, own) = template.parts(seed);
        let one = stream.below(parts.len().max(1));
        for (at, (part, hole)) in parts.iter_mut().zip(&template.holes).enumerate() {
            if at == one || stream.uniform() < 0.5 {
                let made = Filler::grammar(hole).random(1 + stream.below(hole.limits.size.min(12)), stream);
                *part = (made.expr, made.values);
            }
        }
        template.filled(seed.seed.into(), &parts, &own)
    }

    /// A batch of small contents: holes take turns.
    fn enumerated(&self, number: usize) -> Vec<Candidate> {
        // A panic while it was held left it as it was.
        let mut small = self.small.lock().unwrap_or_else(|e| e.into_inner());
        if small.is_empty() {
            for (seed, candidate) in self.general.seeds().iter().enumerate() {
                for (at, hole) in self.general.template(candidate).holes.iter().enumerate() {
                    small.push((seed, at, contents(hole)));
                }
            }
        }
        let mut list = Vec::new();
        let holes = small.len().max(1);
        let per_hole = BATCH.div_ceil(holes);
        for (seed, at, contents) in small.iter() {
            let template = &self.general.templates[*seed];
            for expr in contents.iter().skip(number * per_hole).take(per_hole) {
                let (mut parts, own) = template.parts(&template.candidate(*seed));
                parts[*at] = (expr.clone(), vec![1.0; expr.parameters()]);
                list.push(template.filled(*seed, &parts, &own));
            }
        }
        list
    }
}

/// All contents of a hole up to a size, each canonical form once, the smallest first.
fn contents(hole: &Hole) -> Vec<Expr> {
    let operations = &hole.limits.operations;
    let mut seen = FxHashSet::default();
    let mut levels: Vec<Vec<Expr>> = vec![Vec::new()];
    let mut all: Vec<Expr> = Vec::new();
    for size in 1..=hole.limits.size.min(LARGEST) {
        let mut level: Vec<Expr> = Vec::new();
        let mut add = |expr: Expr| {
            let values = vec![1.0; expr.parameters()];
            let form = Candidate::new(&expr, &values, operations);
            // Smaller forms were there before, and larger ones come later.
            if form.expr.complexity() == size && seen.insert(hash(&form.expr)) {
                level.push(form.expr);
            }
        };
        if size == 1 {
            (0..hole.arguments.len()).for_each(|v| add(Expr::leaf(Node::Var(v as u16))));
            add(Expr::leaf(Node::Param(0)));
            add(Expr::leaf(Node::Int(1)));
        }
        for operation in &operations.list {
            if operation.arity() == 1 && size > 1 {
                levels[size - 1].iter().for_each(|e| add(Expr::apply(*operation, &[e])));
            }
            if operation.arity() == 2 && size > 2 {
                for left in 1..size - 1 {
                    for a in &levels[left] {
                        for b in &levels[size - 1 - left] {
                            add(joined(*operation, a, b));
                        }
                    }
                }
            }
        }
        all.extend(level.iter().cloned());
        levels.push(level);
        if all.len() > MOST_CONTENTS {
            break;
        }
    }
    all.truncate(MOST_CONTENTS);
    all
}

/// An operation on two expressions with parameters of their own.
fn joined(operation: Operation, a: &Expr, b: &Expr) -> Expr {
    let offset = a.parameters() as u16;
    let shifted = |n: &Node| if let Node::Param(p) = n { Node::Param(p + offset) } else { *n };
    let b = Expr { nodes: b.nodes.iter().map(shifted).collect() };
    Expr::apply(operation, &[a, &b])
}
