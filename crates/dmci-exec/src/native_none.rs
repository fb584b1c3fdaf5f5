//! No machine code for this processor: the block interpreter runs everything.

use crate::block::{Frame, Leaves, Workspace};
use crate::number::Number;
use crate::plan::{JitPolicy, Plan};
use crate::target::Target;
use std::sync::Mutex;

/// Only what was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Native {
    pub when: JitPolicy,
}

/// Nothing.
#[derive(Debug, Default)]
pub(crate) struct NativeSpace;

/// Never made.
pub(crate) enum Compiled {}

impl Compiled {
    pub fn has_rounds(&self) -> bool {
        match *self {}
    }

    pub fn padded(&self, _: usize) -> usize {
        match *self {}
    }

    pub fn run_alone(&self, _: &mut [u64], _: usize, _: &mut [u32], _: &mut NativeSpace, _: usize) -> bool {
        match *self {}
    }

    pub fn runs_until_done(&self) -> Option<usize> {
        match *self {}
    }

    pub fn rounds_at_once(&self, _: usize) -> usize {
        match *self {}
    }

    pub fn round_cost(&self) -> usize {
        match *self {}
    }

    pub fn run_whole_loop(&self, _: &mut [u64], _: usize, _: &mut NativeSpace, _: usize) -> bool {
        match *self {}
    }

    pub fn run_until_done(&self, _: &mut [u64], _: usize, _: &mut [u32], _: &mut NativeSpace, _: usize) {
        match *self {}
    }

    pub fn run_rounds(
        &self,
        _: &mut [u64],
        _: usize,
        _: &mut [u32],
        _: &mut NativeSpace,
        _: (&mut [u64], usize),
        _: usize,
    ) -> usize {
        match *self {}
    }
}

/// Never made.
#[derive(Debug)]
pub enum PreparedCall {
    /// One lane.
    Lane(PreparedLane),
    /// Lanes with their numbers in lists.
    Lists(PreparedLists),
}

/// Never made.
#[derive(Debug)]
pub enum PreparedLane {}

/// Never made.
#[derive(Debug)]
pub enum PreparedLists {}

impl PreparedLane {
    /// Never called.
    pub fn run<N: Number>(&mut self, _: &[N], _: impl ExactSizeIterator<Item = N>, _: [&mut [N]; 3]) -> bool {
        match *self {}
    }
}

impl PreparedLists {
    /// Never called.
    pub fn run<'l, N: Number>(&mut self, _: impl Fn(usize) -> &'l [N], _: [&mut [N]; 3]) -> bool {
        match *self {}
    }
}

impl Plan {
    pub(crate) fn code_for(&self, _: usize) -> Option<&Compiled> {
        None
    }

    pub(crate) fn note_work(&self, _: usize) {}

    pub(crate) fn run_listed(
        &self,
        code: &Compiled,
        _: &mut Workspace,
        _: &[usize],
        _: &impl Leaves,
        _: &mut [u64],
        _: &mut [u32],
    ) {
        match *code {}
    }

    pub(crate) fn run_body(&self, code: &Compiled, _: &mut Frame<'_>, _: &mut [u32], _: &mut NativeSpace) {
        match *code {}
    }

    pub(crate) fn prepared_call<L: Leaves>(
        &self,
        _: usize,
        _: &L,
        _: usize,
        _: &Target<'_, L::Number>,
    ) -> Option<PreparedCall> {
        None
    }

    pub(crate) fn run_all<L: Leaves>(
        &self,
        lanes: usize,
        leaves: &L,
        threads: usize,
        target: &mut Target<'_, L::Number>,
        left: &Mutex<Vec<(u32, usize)>>,
    ) -> bool {
        let short = self.has_f32_rows();
        if short {
            self.run_all_f32(lanes, leaves, threads, target, left);
        }
        short
    }
}
