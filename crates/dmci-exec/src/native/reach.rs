//! How far instructions reach: what they read, write and jump to is at distances of 31 bits.

/// Bytes within reach, with room to spare for what lies in front of rows and behind code.
const REACH: usize = 1 << 30;

/// Lanes that are worked on together, at most.
const MOST_LANES: usize = 64;

/// Whether so many things of so many bytes each can all be reached from the first one.
pub(super) fn reaches(count: usize, bytes: usize) -> bool {
    count.checked_mul(bytes).is_some_and(|all| all <= REACH)
}

/// Whether code can read or write lists in which each lane has so many numbers.
pub(super) fn reaches_lanes(stride: usize) -> bool {
    stride > 0 && reaches(stride, MOST_LANES * size_of::<f64>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::Compiled;
    use crate::plan::Plan;
    use dmci_ops::{Build, Op};
    use dmci_tape::{LeafKind, Recorder};

    #[test]
    fn distances_have_31_bits() {
        assert!(reaches(0, 0) && reaches(1 << 20, 1 << 10) && reaches(1, REACH));
        assert!(!reaches(1, 1 << 31) && !reaches(1 << 31, 1) && !reaches(1 << 16, 1 << 15));
        assert!(!reaches(usize::MAX, 8) && !reaches(1 << 40, 1 << 40));
        assert!(reaches_lanes(1) && reaches_lanes(1 << 20));
        assert!(!reaches_lanes(0) && !reaches_lanes(1 << 23) && !reaches_lanes(usize::MAX));
    }

    #[test]
    fn no_code_is_made_for_rows_out_of_reach() {
        let mut r = Recorder::new();
        let leaves: Vec<_> = (0..200).map(|i| r.leaf(&format!("x{i}"), LeafKind::Input, 1.0)).collect();
        let sum = leaves[1..].iter().fold(leaves[0], |sum, &x| r.op(Op::Add, &[sum, x]));
        let mut tape = r.tape().clone();
        tape.outputs = vec![sum];
        let plan = Plan::new(&tape);
        assert!(Compiled::new(&plan, 256).is_some());
        // Rows of 16 megabytes each: the last ones are more than 2 gigabytes away.
        assert!(Compiled::new(&plan, 1 << 21).is_none());
    }
}
