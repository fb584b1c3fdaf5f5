//! Single precision: twice as many numbers to a vector.
//!
//! Sums, products, quotients and roots have instructions for single precision, and the same bits as the results in
//! double precision, rounded, since a number of double precision has more than twice as many digits. Many functions have
//! kernels of their own in single precision. For the others, which are those in double precision, rounded, both halves
//! of a vector are made vectors of double precision for as long as it takes.

use super::fused_loops::{FusedLoops, FusedPart, FusedRounds, Past};
use super::ir::{Action, Builder, Value};
use super::lower::Formed;
use super::vex::{INSERT_UPPER, Opcode, plain};
use crate::plan::{Plan, Slot, Step};
use dmci_ops::{Code, Op, Type};
use std::ops::Range;

/// Numbers of double precision from the lower half of a vector, and back.
pub(super) const WIDEN: Opcode = Opcode { prefix: 0, ..plain(0x5A) };
pub(super) const NARROW: Opcode = plain(0x5A);

/// Outcomes of comparisons in double precision from those in single precision, whose bits are all set, or none. The way
/// back is that of numbers: all bits are those of something that is not a number.
pub(super) const WIDEN_MASK: Opcode = Opcode { map: 2, ..plain(0x25) };

/// Whether an operation has instructions for single precision, or a kernel.
fn packs(op: Op) -> bool {
    is_simple(op) || op.has_kernel()
}

/// Whether it has instructions for single precision.
pub(super) fn is_simple(op: Op) -> bool {
    op.code() == Code::Simple
}

/// Whether a plan can be run with twice the lanes to a vector: everything in it is a real of single precision, or
/// the outcome of a comparison.
pub(super) fn can_be_packed(plan: &Plan, fused: Option<&FusedLoops>) -> bool {
    let mut types = Types(vec![Type::Int; fused.map_or(plan.slots, |fused| fused.slots)]);
    plan.single
        && match fused {
            None => plan.steps.iter().all(|step| types.pack(step)),
            Some(fused) => fused.parts.iter().all(|part| match part {
                FusedPart::Line(steps) => steps.iter().all(|step| types.pack(step)),
                FusedPart::Recall { past, .. } => types.recall(past),
                FusedPart::Keep(kept) => kept.iter().all(|past| past.real),
                FusedPart::Rounds(rounds) => types.pack_rounds(rounds),
            }),
        }
}

/// What is in each slot.
struct Types(Vec<Type>);

impl Types {
    fn set(&mut self, rows: Range<Slot>, ty: Type) -> bool {
        self.0[rows.start as usize..rows.end as usize].fill(ty);
        true
    }

    /// Whether a step can be done on reals of single precision.
    fn pack(&mut self, step: &Step) -> bool {
        let types = &self.0;
        match *step {
            Step::Leaf { real, .. } => self.set(step.writes(), if real { Type::Real } else { Type::Int }),
            Step::Constant { bits, .. } => {
                let x = f64::from_bits(bits);
                let fits = x.is_nan() || f64::from(x as f32).to_bits() == bits;
                self.set(step.writes(), if fits { Type::Real } else { Type::Int })
            }
            Step::Op { op, args, .. } => {
                let fits = op.operands().iter().zip(args).all(|(&ty, s)| types[s as usize] == ty);
                self.set(step.writes(), op.result()) && fits && packs(op)
            }
            Step::Guard { test, .. } => types[test as usize] == Type::Bool,
            Step::Output { .. } => step.reads().all(|s| types[s as usize] == Type::Real),
            Step::Move { s, count: 1, .. } => self.set(step.writes(), types[s as usize]),
            Step::Move { .. } | Step::Tensor(_) | Step::Loop(_) => false,
        }
    }

    /// Whether all that is remembered are reals.
    fn recall(&mut self, past: &[Past]) -> bool {
        past.iter().all(|past| past.real && self.set(past.slot..past.slot + 1, Type::Real))
    }

    /// Whether all states of rounds are reals, and stay so.
    fn pack_rounds(&mut self, rounds: &FusedRounds) -> bool {
        let is_real = |types: &Types, slot: Slot| types.0[slot as usize] == Type::Real;
        rounds.next.iter().all(|next| rounds.reals.contains(&next.1) && is_real(self, next.1))
            && self.recall(&rounds.past)
            && rounds.steps.iter().all(|step| self.pack(step))
            && rounds.next.iter().all(|next| is_real(self, next.0))
    }
}

/// Whether packing makes up for putting leaves into one vector and taking results apart.
pub(super) fn packing_pays(plan: &Plan) -> bool {
    let work = |step: &Step| match step {
        Step::Op { op, .. } if op.has_kernel() => 8,
        Step::Op { .. } => 1,
        _ => 0,
    };
    plan.steps.iter().map(work).sum::<usize>() >= 2 * (plan.leaves + plan.outputs)
}

impl Builder {
    /// Does something while values are of single precision, or are not.
    pub(super) fn while_packed<T>(&mut self, packed: bool, work: impl FnOnce(&mut Builder) -> T) -> T {
        let before = std::mem::replace(&mut self.packed, packed);
        let result = work(self);
        self.packed = before;
        result
    }

    /// Two vectors of double precision as one of single precision.
    pub fn narrowed(&mut self, halves: [Value; 2]) -> Value {
        let [lower, upper] = halves.map(|half| self.push(Action::Unary(NARROW, None), &[half]));
        self.push(Action::WithByte(INSERT_UPPER, 1), &[lower, upper])
    }

    /// Numbers as two vectors of double precision.
    pub(super) fn widened(&mut self, x: Value) -> [Value; 2] {
        let upper = self.push(Action::Upper, &[x]);
        [x, upper].map(|half| self.push(Action::Unary(WIDEN, None), &[half]))
    }

    /// A function that has a kernel, in double precision.
    pub fn kernel_in_halves(&mut self, op: Op, args: [Formed; 3]) -> Option<Value> {
        let n = op.operands().len();
        let mut halves = [args; 2];
        for k in 0..n {
            let both = self.widened(args[k].value);
            halves.iter_mut().zip(both).for_each(|(half, value)| half[k].value = value);
        }
        let values = self.while_packed(false, |this| halves.map(|[a, b, c]| this.inline(op, a, b, c)));
        let [Some(lower), Some(upper)] = values else { return None };
        Some(self.narrowed([lower, upper]))
    }

    /// The bits of a real in double precision, as the block interpreter would have them.
    pub fn exact_halves(&mut self, x: Formed) -> [Value; 2] {
        let x = self.upright(x);
        let bits = self.exact_bits(x);
        self.widened(bits)
    }
}
