//! States of a loop between registers and rows.

use super::emit::Emitter;
use super::evex::{CHOOSE, Masked};
use super::ir::{BLEND, COMPARE, Home, UNORDERED};
use super::vex::*;
use crate::plan::Slot;

impl Emitter<'_> {
    /// A register that holds nothing between rounds.
    pub(super) fn spare(&self) -> u8 {
        self.isa.registers() as u8 - 1
    }

    /// Puts a state into its row behind the last round, with the bits that operations give.
    pub(super) fn give_state(&mut self, row: Slot, group: Option<u8>, real: bool) {
        let spare = self.spare();
        for copy in 0..self.interleave {
            let place = self.home(Home::Row(row), copy);
            let from = group.map(|group| self.register(group, copy));
            if from.is_none() && !real {
                continue;
            }
            let from = from.unwrap_or_else(|| {
                self.code.vector(LOAD, spare, 0, place, None);
                spare
            });
            if real {
                self.make_exact(from);
            }
            self.code.vector(STORE, from, 0, place, None);
        }
    }

    /// Gives what is not a number in a register the bits that operations give.
    fn make_exact(&mut self, register: u8) {
        let (nan, same) = (self.not_a_number(), Place::Register(register));
        match self.isa {
            Isa::Avx2 => {
                let mask = self.spare() - 1;
                self.code.vector(COMPARE, mask, register, same, Some(UNORDERED));
                self.code.vector(BLEND, register, register, nan, Some(mask << 4));
            }
            Isa::Avx512 => {
                self.code.vector(COMPARE, 1, register, same, Some(UNORDERED));
                self.code.evex(CHOOSE, Masked { by: 1, zero: false }, (register, register), nan, None);
            }
        }
    }

    fn not_a_number(&self) -> Place {
        let bits = f64::NAN.to_bits();
        let at = self.builder.constants.iter().position(|c| *c == bits).unwrap_or(0);
        self.home(Home::Constant(at as u32), 0)
    }

    pub(super) fn store_group(&mut self, group: u8, (base, offset): (u8, usize)) {
        for copy in 0..self.interleave {
            let to = Place::Memory { base, offset: (offset + copy * self.isa.bytes()) as i32 };
            self.code.vector(STORE, self.register(group, copy), 0, to, None);
        }
    }

    /// Copies a group of lanes from one place to another.
    pub(super) fn copy(&mut self, to: (u8, usize), (base, offset): (u8, usize)) {
        let bytes = self.isa.bytes();
        self.copy_from(to, |_, copy| Place::Memory { base, offset: (offset + copy * bytes) as i32 });
    }

    /// The same from a row.
    pub(super) fn copy_row(&mut self, row: Slot, to: (u8, usize)) {
        self.copy_from(to, |this, copy| this.home(Home::Row(row), copy));
    }

    fn copy_from(&mut self, (base, offset): (u8, usize), from: impl Fn(&Self, usize) -> Place) {
        let spare = self.spare();
        for copy in 0..self.interleave {
            let to = Place::Memory { base, offset: (offset + copy * self.isa.bytes()) as i32 };
            self.code.vector(LOAD, spare, 0, from(self, copy), None);
            self.code.vector(STORE, spare, 0, to, None);
        }
    }
}
