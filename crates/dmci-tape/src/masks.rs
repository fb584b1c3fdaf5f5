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

    /// The mask of a node: what it contributes counts for nothing where that is 0.
    pub fn own(&self, node: usize) -> Option<Id> {
        self.of[node].flatten().map(|m| self.ids[m])
    }

    /// The mask, by number, of what a node contributes, as a term of this weight if there is one.
    pub fn carried<B: Build<Id = Id>>(&mut self, b: &mut B, from: usize, weight: Option<Id>) -> Option<usize> {
        let own = self.of[from].flatten();
        match (own, weight) {
            (_, None) => own,
            (None, Some(weight)) => self.add(weight),
            (Some(m), Some(weight)) => {
                let both = b.op(Op::Min, &[weight, self.ids[m]]);
                self.add(both)
            }
        }
    }

    /// Notes that a contribution with this mask reaches a node.
    pub fn arrive<B: Build<Id = Id>>(&mut self, b: &mut B, to: usize, mask: Option<usize>) {
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
    }

    fn add(&mut self, id: Id) -> Option<usize> {
        self.ids.push(id);
        Some(self.ids.len() - 1)
    }
}
