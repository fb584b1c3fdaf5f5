//! No machine code for this processor: the block interpreter runs everything.

use crate::block::Leaves;
use crate::loops::LoopSpace;
use crate::plan::{Code, Plan};
use dmci_ops::linalg::Scratch;

/// Only what was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Native {
    pub when: Code,
}

/// Nothing.
#[derive(Debug, Default)]
pub(crate) struct NativeSpace;

/// Never made.
pub(crate) enum Compiled {}

impl Plan {
    pub(crate) fn code_for(&self, _: usize) -> Option<&Compiled> {
        None
    }

    pub(crate) fn run_code(
        &self,
        code: &Compiled,
        _: &mut NativeSpace,
        _: (&mut Vec<LoopSpace>, &mut Scratch),
        _: (&[usize], &impl Leaves),
        _: &mut [u64],
        _: &mut [u32],
    ) {
        match *code {}
    }
}
