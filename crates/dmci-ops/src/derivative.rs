//! Derivatives of operations, written in operations: in the rows of `table.rs`.

use crate::op::Op;

pub use crate::table::contribution;

/// Whether operand `i` counts for nothing, with everything that it depends on, where the other one is 0.
pub fn is_weighed(op: Op, i: usize) -> bool {
    matches!((op, i), (Op::Weigh | Op::Counted, 0))
}

/// Whether an adjoint of 0 contributes 0 to operand `i`, whatever the operands are.
pub fn passes_zero(op: Op, i: usize) -> bool {
    matches!((op, i), (Op::Same | Op::Add | Op::Sub | Op::Neg | Op::Select, _) | (Op::Linear, 0))
}
