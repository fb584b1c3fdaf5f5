//! Adjoints of tensors whose elements are taken one by one, as those of a sorted list are.
//!
//! What each element gives back would be a tensor of zeros with one number in it, so that n elements would take n^2
//! additions. Instead the numbers are added up element by element, and become a tensor when the whole adjoint is needed.
//! Every element gets the sums that it would get from such tensors, zeros included: they tell 0 from -0.

use crate::reverse::{Adjoint, Part, Pass, Sweep};
use crate::tape::{Node, NodeId};
use dmci_ops::{Kernel, NONE, Op};
use rustc_hash::FxHashMap;

/// Elements from which on they are added up one by one: small tensors are split later.
const LARGE: usize = 32;

/// What the elements of a tensor have got so far.
pub(crate) struct Taken<Id> {
    /// By element: the sum, the last contribution to the tensor that was to it, and whether a zero came before that.
    sums: FxHashMap<u32, (Id, usize, bool)>,
    /// Contributions to the tensor.
    turns: usize,
}

impl<B: Sweep> Pass<'_, B> {
    /// Adds the adjoint of an element to what the elements of its tensor have got. False, and nothing done, if it has to
    /// be added as a tensor.
    pub(crate) fn add_taken(&mut self, y: NodeId, g: Adjoint<B::Id>) -> bool {
        let tape = self.b.tape();
        let Node::Kernel(Kernel::Take(map), [x, _]) = tape.nodes[y.0 as usize] else { return false };
        let map = &tape.maps[map as usize];
        if map.len() != 1 || map[0] == NONE || tape.shape(x).len() < LARGE || self.selection(x).is_some() {
            return false;
        }
        let (element, is_plain) = (map[0], g.present.is_none() && self.masks.own(y.0 as usize - self.first).is_none());
        let Some(at) = (x.0 as usize).checked_sub(self.first).filter(|_| is_plain && self.depends_on(x)) else {
            return false;
        };
        if self.adjoints[at].is_some() {
            return false;
        }
        let taken = self.taken.entry(x).or_insert_with(|| Taken { sums: FxHashMap::default(), turns: 0 });
        taken.turns += 1;
        let turn = taken.turns;
        let sum = match taken.sums.get(&element).copied() {
            None => (g.sum, turn, turn > 1),
            Some((sum, last, had_zero)) => {
                // A zero before or between: it matters once.
                let gets_zero = had_zero || last + 1 < turn;
                let sum = if gets_zero { self.with_zero(sum) } else { sum };
                (self.b.op(Op::Add, &[sum, g.sum]), turn, false)
            }
        };
        if let Some(taken) = self.taken.get_mut(&x) {
            taken.sums.insert(element, sum);
        }
        true
    }

    fn with_zero(&mut self, sum: B::Id) -> B::Id {
        let zero = self.b.real(0.0);
        self.b.op(Op::Add, &[sum, zero])
    }

    /// Gives a tensor what its elements have got.
    pub(crate) fn gather_taken(&mut self, x: NodeId) {
        let Some(Taken { sums, .. }) = self.taken.remove(&x) else { return };
        let mut elements: Vec<(u32, B::Id)> = sums.iter().map(|(&element, sum)| (element, sum.0)).collect();
        elements.sort_unstable_by_key(|e| e.0);
        // If there are several, each of them got a zero from another one.
        let has_zeros = elements.len() > 1;
        let Some(mut sum) = self.b.tensor_of(x, &elements) else { return };
        if has_zeros {
            sum = self.with_zero(sum);
        }
        self.accumulate(x, Part { sum, present: None }.into());
    }
}
