//! Derivatives of loops: a loop that runs back, and a loop whose state has its change beside it.

use crate::forward::tangents;
use crate::loops::NewLoop;
use crate::recorder::Recorder;
use crate::reverse::{Part, sweep_body};
use crate::tape::{LoopKind, NodeId, Tape};
use dmci_ops::{Build, Shape, Type};

/// Whether an adjoint is there at the start of each round that runs back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    Never,
    Always,
    Sometimes,
}

impl Presence {
    fn of<Id>(part: &Option<Part<Id>>) -> Presence {
        match part {
            None => Presence::Never,
            Some(Part { present: None, .. }) => Presence::Always,
            Some(_) => Presence::Sometimes,
        }
    }

    fn or(self, other: Presence) -> Presence {
        if self == other { self } else { Presence::Sometimes }
    }
}

/// The adjoint of a number of the state, or of a value from outside: where it is in the state of the
/// loop that runs back.
struct Carried {
    /// The leaf of the forward body.
    leaf: usize,
    sum: usize,
    present: Option<usize>,
}

/// The body of a loop that runs back.
struct Back {
    body: Tape,
    carried: Vec<Carried>,
    /// What is there after a round, by leaf of the forward body.
    after: Vec<Presence>,
}

impl Recorder {
    /// Adds the loop that runs back through `of`. `parts` are the adjoints of its states at the end, then
    /// those that the values from outside have so far; `depends` tells which operands matter. Gives
    /// the adjoints of all operands.
    pub(crate) fn backward(
        &mut self,
        of: NodeId,
        parts: &[Option<Part<NodeId>>],
        depends: &[bool],
    ) -> Vec<Option<Part<NodeId>>> {
        let Some(l) = self.tape.loop_of(of).cloned() else { return vec![None; parts.len()] };
        let operands = self.tape.operands(of.0 as usize).to_vec();
        if l.kind == LoopKind::Backward {
            // Nothing takes a gradient of a gradient this way; if it did, no number could be trusted.
            let nan = |r: &mut Recorder, shape| {
                let nan = r.real(f64::NAN);
                Some(Part { sum: r.expand(nan, shape), present: None })
            };
            return operands[..parts.len()].iter().map(|&o| nan(self, self.shape(o))).collect();
        }
        let states = l.states as usize;
        let depends = depending_leaves(&l.body, states, depends);
        let relevant = |(part, &depends): (&Option<Part<NodeId>>, &bool)| part.filter(|_| depends);
        let parts: Vec<Option<Part<NodeId>>> = parts.iter().zip(&depends).map(relevant).collect();
        if parts[..states].iter().all(Option::is_none) {
            return parts.iter().enumerate().map(|(i, part)| part.filter(|_| i >= states)).collect();
        }
        let mut presence: Vec<Presence> = parts.iter().map(Presence::of).collect();
        let back = loop {
            let back = self.back_body(&l.body, states, &depends, &presence);
            let joined: Vec<Presence> = presence.iter().zip(&back.after).map(|(a, &b)| a.or(b)).collect();
            if joined == presence {
                break back;
            }
            presence = joined;
        };
        let mut first = Vec::new();
        for carried in &back.carried {
            let shape = l.body.leaves[carried.leaf].shape;
            let part = parts[carried.leaf];
            first.push(part.map_or_else(|| self.zeros(shape), |p| p.sum));
            if carried.present.is_some() {
                let present = part.map(|p| p.present.unwrap_or_else(|| self.boolean(true)));
                first.push(present.unwrap_or_else(|| self.boolean(false)));
            }
        }
        first.extend(&operands[states..]);
        first.push(of);
        let node = self.push_loop(NewLoop { body: back.body, kind: LoopKind::Backward, operands: first }, None);
        let mut adjoints = vec![None; parts.len()];
        for carried in &back.carried {
            let present = carried.present.map(|p| self.out(node, p));
            adjoints[carried.leaf] = Some(Part { sum: self.out(node, carried.sum), present });
        }
        adjoints
    }

    /// The body of the loop that runs back, if adjoints are there as told.
    fn back_body(&self, body: &Tape, states: usize, depends: &[bool], presence: &[Presence]) -> Back {
        let mut r = self.fresh();
        let mut carried = Vec::new();
        let mut parts: Vec<Option<Part<NodeId>>> = vec![None; presence.len()];
        let mut own = 0;
        for (leaf, &presence) in presence.iter().enumerate().filter(|(_, p)| **p != Presence::Never) {
            let sum = r.local(Type::Real, body.leaves[leaf].shape, &[]);
            let flag = (presence == Presence::Sometimes).then(|| r.local(Type::Bool, Shape::Scalar, &[]));
            parts[leaf] = Some(Part { sum, present: flag });
            carried.push(Carried { leaf, sum: own, present: flag.map(|_| own + 1) });
            own += 1 + flag.is_some() as usize;
        }
        let leaves: Vec<NodeId> = body.leaves.iter().map(|leaf| r.local(leaf.ty, leaf.shape, &[])).collect();
        let ids = r.append(body, &leaves);
        let wanted: Vec<NodeId> = (0..leaves.len()).filter(|&i| depends[i]).map(|i| leaves[i]).collect();
        let totals: Vec<_> = (states..leaves.len()).filter_map(|i| Some((leaves[i], parts[i]?))).collect();
        let ends = (0..states).filter_map(|j| Some((ids[body.outputs[j].0 as usize], parts[j]?)));
        let seeds: Vec<_> = ends.collect();
        let mut swept = sweep_body(&mut r, &totals, &seeds, &wanted).into_iter();
        let after: Vec<_> = depends.iter().map(|&d| if d { swept.next().flatten() } else { None }).collect();
        let mut outputs = Vec::new();
        for c in &carried {
            let part = after[c.leaf];
            outputs.push(part.map_or_else(|| r.zeros(body.leaves[c.leaf].shape), |p| p.sum));
            if c.present.is_some() {
                let present = part.map(|p| p.present.unwrap_or_else(|| r.boolean(true)));
                outputs.push(present.unwrap_or_else(|| r.boolean(false)));
            }
        }
        let mut tape = r.tape;
        tape.outputs = outputs;
        tape.guards.clear();
        Back { body: tape, carried, after: after.iter().map(Presence::of).collect() }
    }

    /// Adds the loop that does what `of` does and follows how its state changes. `changes` are those of
    /// its operands, `followed` is the loop that stands for the one that it runs back, if there is
    /// one. Gives the loop and, for each state, where its change is.
    pub(crate) fn changing(
        &mut self,
        of: NodeId,
        changes: &[Option<NodeId>],
        followed: Option<&Changing>,
    ) -> Option<Changing> {
        let l = self.tape.loop_of(of).cloned()?;
        let operands = self.tape.operands(of.0 as usize).to_vec();
        let (states, body) = (l.states as usize, &l.body);
        let shared = operands.len() - states - (l.kind == LoopKind::Backward) as usize;
        let history = body.leaves.len() - states - shared;
        let real = |leaf: usize| body.leaves[leaf].ty == Type::Real;
        // By leaf of the body: whether it changes.
        let mut moves = vec![false; body.leaves.len()];
        (0..states).for_each(|i| moves[i] = changes[i].is_some() && real(i));
        (0..history).for_each(|i| moves[states + i] = followed.is_some_and(|f| f.at[i].is_some()));
        (0..shared).for_each(|i| moves[states + history + i] = changes[states + i].is_some());
        let tape = loop {
            let (tape, next) = self.changing_body(body, (states, history), &moves, followed);
            if (0..states).all(|i| moves[i] || !next[i]) {
                break tape;
            }
            (0..states).for_each(|i| moves[i] |= next[i]);
        };
        let mut first: Vec<NodeId> = operands[..states].to_vec();
        let mut at = vec![None; states];
        for i in (0..states).filter(|&i| moves[i]) {
            at[i] = Some(first.len());
            let change = changes[i].unwrap_or_else(|| self.zeros(body.leaves[i].shape));
            first.push(self.expand(change, body.leaves[i].shape));
        }
        first.extend(&operands[states..states + shared]);
        let changing = changes[states..states + shared].iter().zip(&operands[states..]);
        let changed: Vec<NodeId> =
            changing.filter_map(|(c, &o)| c.map(|c| self.expand(c, self.tape.shape(o)))).collect();
        first.extend(changed);
        first.extend(followed.map(|f| f.node).filter(|_| l.kind == LoopKind::Backward));
        if l.kind == LoopKind::Backward && followed.is_none() {
            first.push(operands[operands.len() - 1]);
        }
        let node = self.push_loop(NewLoop { body: tape, kind: l.kind, operands: first }, None);
        Some(Changing { node, at })
    }

    /// The body of such a loop if these leaves change, and which states then change after a round.
    fn changing_body(
        &self,
        body: &Tape,
        (states, history): (usize, usize),
        moves: &[bool],
        followed: Option<&Changing>,
    ) -> (Tape, Vec<bool>) {
        let mut r = self.fresh();
        let mut change: Vec<Option<NodeId>> = vec![None; body.leaves.len()];
        let mut leaves = Vec::with_capacity(body.leaves.len());
        let local = |r: &mut Recorder, i: usize| r.local(body.leaves[i].ty, body.leaves[i].shape, &[]);
        (0..states).for_each(|i| leaves.push(local(&mut r, i)));
        (0..states).filter(|&i| moves[i]).for_each(|i| change[i] = Some(local(&mut r, i)));
        (states..states + history).for_each(|i| leaves.push(local(&mut r, i)));
        if let Some(f) = followed {
            // The state of the loop that is followed: its own numbers first, then their changes in order.
            (0..history).filter(|&i| f.at[i].is_some()).for_each(|i| {
                change[states + i] = Some(local(&mut r, states + i));
            });
        }
        (states + history..body.leaves.len()).for_each(|i| leaves.push(local(&mut r, i)));
        (states + history..body.leaves.len()).filter(|&i| moves[i]).for_each(|i| change[i] = Some(local(&mut r, i)));
        let ids = r.append(body, &leaves);
        let guards: Vec<_> =
            body.guards.iter().map(|g| crate::tape::Guard { node: ids[g.node.0 as usize], ..*g }).collect();
        let ends: Vec<NodeId> = body.outputs.iter().map(|o| ids[o.0 as usize]).collect();
        let (wanted, directions): (Vec<_>, Vec<_>) =
            leaves.iter().zip(&change).filter_map(|(&leaf, &c)| Some((leaf, c?))).unzip();
        let after = tangents(&mut r, &ends, &wanted, &directions);
        let next: Vec<bool> = (0..states).map(|i| after[i].is_some() && body.leaves[i].ty == Type::Real).collect();
        let mut outputs = ends;
        for i in (0..states).filter(|&i| moves[i]) {
            let shape = body.leaves[i].shape;
            let change = after[i].unwrap_or_else(|| r.zeros(shape));
            outputs.push(r.expand(change, shape));
        }
        let mut tape = r.tape;
        tape.guards = guards;
        tape.outputs = outputs;
        (tape, next)
    }
}

/// A loop that follows changes.
#[derive(Clone, Debug)]
pub(crate) struct Changing {
    pub node: NodeId,
    /// For each state of the loop that it stands for, the state that is its change.
    pub at: Vec<Option<usize>>,
}

/// Which leaves of a body matter if these operands do.
fn depending_leaves(body: &Tape, states: usize, operands: &[bool]) -> Vec<bool> {
    let real = |i: usize| body.leaves[i].ty == Type::Real;
    let mut leaves: Vec<bool> = operands.iter().enumerate().map(|(i, &d)| d && real(i)).collect();
    loop {
        let mut depends = vec![false; body.nodes.len()];
        for (i, node) in body.nodes.iter().enumerate() {
            depends[i] = match node {
                crate::tape::Node::Leaf(n) => leaves[*n as usize],
                _ => body.operands(i).iter().any(|a| depends[a.0 as usize]),
            };
        }
        let before = leaves.clone();
        for j in 0..states {
            leaves[j] |= real(j) && depends[body.outputs[j].0 as usize];
        }
        if leaves == before {
            return leaves;
        }
    }
}
