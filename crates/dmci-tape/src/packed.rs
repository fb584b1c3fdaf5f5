//! Adjoints of numbers that are always packed together.
//!
//! A matrix that is given as a list of numbers is packed wherever it is used. Each time, every number gets a
//! contribution, and all of them in the same order: so the contributions are added as tensors, and taken apart when
//! one of the numbers is needed alone. Every number gets the same sums as if it had been alone from the start.

use crate::reverse::{Adjoint, Part, Pass, Sweep};
use crate::tape::NodeId;
use dmci_ops::Op;
use rustc_hash::FxHashMap;

/// What some numbers have got so far as a tensor.
struct Group<Id> {
    /// A node that packs them.
    pack: NodeId,
    adjoint: Adjoint<Id>,
}

/// All groups, and the group of each number that is in one.
pub(crate) struct Packed<Id> {
    groups: Vec<Option<Group<Id>>>,
    of: FxHashMap<NodeId, usize>,
}

impl<Id> Default for Packed<Id> {
    fn default() -> Self {
        Packed { groups: Vec::new(), of: FxHashMap::default() }
    }
}

impl<B: Sweep> Pass<'_, B> {
    /// Adds the adjoint of a pack to what its operands have got, without taking it apart. False, and nothing done, if
    /// these do not belong together.
    pub(crate) fn add_packed(&mut self, y: NodeId, g: Adjoint<B::Id>) -> bool {
        let operands = self.b.tape().operands(y.0 as usize).to_vec();
        let members: Vec<NodeId> = operands.iter().copied().filter(|&o| self.depends_on(o)).collect();
        let Some(first) = members.first() else { return true };
        let known = self.packed.of.get(first).copied().filter(|&group| {
            let (tape, pack) = (self.b.tape(), self.packed.groups[group].as_ref().map(|group| group.pack));
            let is_equal = |p: NodeId| tape.operands(p.0 as usize) == operands && tape.shape(p) == tape.shape(y);
            pack.is_some_and(is_equal)
        });
        if known.is_none() && !self.can_be_packed(&members) {
            return false;
        }
        let from = y.0 as usize - self.first;
        let own = self.masks.own(from);
        let sum = own.map_or(g.sum, |own| self.b.op(Op::Counted, &[g.sum, own]));
        let mask = self.masks.carried(self.b, from, None);
        for member in &members {
            self.masks.arrive(self.b, member.0 as usize - self.first, mask);
        }
        let part = Adjoint { mask, ..Part { sum, present: g.present }.into() };
        match known.and_then(|group| Some((group, self.packed.groups[group].take()?))) {
            Some((group, Group { pack, adjoint })) => {
                let adjoint = self.joined(adjoint, part);
                self.packed.groups[group] = Some(Group { pack, adjoint });
            }
            None => {
                let group = self.packed.groups.len();
                self.packed.groups.push(Some(Group { pack: y, adjoint: part }));
                self.packed.of.extend(members.into_iter().map(|member| (member, group)));
            }
        }
        true
    }

    /// Whether some nodes can get adjoints together: different numbers that have none so far.
    fn can_be_packed(&self, members: &[NodeId]) -> bool {
        let mut sorted = members.to_vec();
        sorted.sort_unstable_by_key(|id| id.0);
        sorted.windows(2).all(|pair| pair[0] != pair[1])
            && members.len() > 1
            && members.iter().all(|&id| {
                self.b.tape().shape(id).is_scalar()
                    && self.selection(id).is_none()
                    && self.adjoints[id.0 as usize - self.first].is_none()
                    && !self.packed.of.contains_key(&id)
            })
    }

    /// Gives a number, and all that are packed together with it, what they have got; a tensor what its elements have.
    pub(crate) fn unpack(&mut self, id: NodeId) {
        self.gather_taken(id);
        let Some(group) = self.packed.of.get(&id).copied() else { return };
        let Some(Group { pack, adjoint }) = self.packed.groups[group].take() else { return };
        for (k, member) in self.b.tape().operands(pack.0 as usize).to_vec().into_iter().enumerate() {
            if self.packed.of.remove(&member).is_some()
                && let Some(sum) = self.b.kernel_part(pack, k, adjoint.sum)
            {
                self.adjoints[member.0 as usize - self.first] = Some(Adjoint { sum, ..adjoint });
            }
        }
    }
}
