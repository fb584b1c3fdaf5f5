//! What is switched off contributes nothing to a gradient.
//!
//! A term of weight 0 gets an adjoint of 0. Behind it, 0 times an infinite derivative would be no
//! number, and would spoil the adjoint of whatever the term shares with others. So every node whose
//! adjoint comes only through weighed terms has a mask, a number that is 0 where all these weights are
//! and positive elsewhere; contributions that are not finite count for nothing where it is 0. Finite
//! ones stay, since they are 0 there but may have derivatives: by the weights, for example.

use dmci_ops::{Build, Op};

/// The masks of the nodes that a reverse pass works on.
#[derive(Debug)]
pub(crate) struct Masks<Id> {
    /// By node: nothing as long as it has no adjoint, then its mask, by number, if it has one.
    of: Vec<Option<Option<usize>>>,
    ids: Vec<Id>,
}

impl<Id: Copy> Masks<Id> {
    /// For a pass over so many nodes.
    pub fn new(nodes: usize) -> Self {
        Masks { of: vec![None; nodes], ids: Vec::new() }
    }

    /// Notes that a node contributes to another one, as a term of this weight if there is one.
    /// Returns the mask of the contribution: it counts for nothing where that is 0.
    pub fn pass<B: Build<Id = Id>>(&mut self, b: &mut B, from: usize, to: usize, weight: Option<Id>) -> Option<Id> {
        let own = self.of[from].flatten();
        let mask = match (own, weight) {
            (_, None) => own,
            (None, Some(weight)) => self.add(weight),
            (Some(m), Some(weight)) => {
                let both = b.op(Op::Min, &[weight, self.ids[m]]);
                self.add(both)
            }
        };
        let union = match (self.of[to], mask) {
            (None, mask) => mask,
            (Some(Some(m)), Some(n)) if m == n => mask,
            (Some(Some(m)), Some(n)) => {
                let either = b.op(Op::Max, &[self.ids[m], self.ids[n]]);
                self.add(either)
            }
            _ => None,
        };
        self.of[to] = Some(union);
        own.map(|m| self.ids[m])
    }

    fn add(&mut self, id: Id) -> Option<usize> {
        self.ids.push(id);
        Some(self.ids.len() - 1)
    }
}
