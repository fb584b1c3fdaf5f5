//! Which values are in registers.
//!
//! Each value has a group of as many registers as vectors are interleaved. If none is free, the value
//! whose next use is furthest away goes to memory (Belady's rule); a value that has a home in memory,
//! such as a constant, is only forgotten. Instructions read their last operand from there: it is brought into
//! registers only where it has to be.

use super::emit::{Emitter, NO_GROUP, NO_USE, SPILLS_AT};
use super::ir::{Home, LOCAL_ROWS, NONE, PAST_ROWS, Value, is_past};
use super::vex::{LOAD, Place, R15, RBP, RBX, STORE};

impl Emitter<'_> {
    pub(super) fn forget_if_dead(&mut self, v: Value) {
        if self.next[v.0 as usize] != NO_USE {
            return;
        }
        self.release(v);
        if let Home::Spill(s) = self.homes[v.0 as usize] {
            self.homes[v.0 as usize] = Home::Nowhere;
            self.free_spills.push(s);
        }
    }

    /// The register group of a value is free again.
    pub(super) fn release(&mut self, v: Value) {
        self.masks.release(v);
        self.release_vectors(v);
    }

    fn release_vectors(&mut self, v: Value) {
        let group = std::mem::replace(&mut self.group_of[v.0 as usize], NO_GROUP);
        if group != NO_GROUP {
            self.held[group as usize] = NONE;
            self.free |= 1 << group;
        }
    }

    pub(super) fn is_dying(&self, v: Value) -> bool {
        self.next[v.0 as usize] == NO_USE
    }

    pub(super) fn register(&self, group: u8, copy: usize) -> u8 {
        group * self.interleave as u8 + copy as u8
    }

    pub(super) fn home(&self, home: Home, copy: usize) -> Place {
        let at = |base, bytes: usize| Place::Memory { base, offset: (bytes + copy * self.isa.bytes()) as i32 };
        match home {
            Home::Constant(n) => Place::Constant(n * self.isa.constant_bytes() as u32),
            Home::Pattern(n) => Place::Vector(self.patterns + n * self.isa.bytes() as u32),
            Home::Row(row) if row >= LOCAL_ROWS => self.home(Home::Spill(row - LOCAL_ROWS), copy),
            Home::Row(row) if is_past(row) => at(R15, (row - PAST_ROWS) as usize * self.past_bytes),
            Home::Row(row) => match self.past.iter().find(|past| past.0 == row) {
                Some(past) => at(R15, past.1 * self.past_bytes),
                None => at(RBX, row as usize * self.row_bytes),
            },
            Home::Spill(s) => at(RBP, SPILLS_AT + s as usize * self.isa.bytes() * self.interleave),
            // Every value that is used was made before.
            Home::Nowhere | Home::Remat => at(RBP, 0),
        }
    }

    /// Where a copy of a value is now.
    pub(super) fn place(&self, v: Value, copy: usize) -> Place {
        match self.group_of[v.0 as usize] {
            NO_GROUP => self.home(self.homes[v.0 as usize], copy),
            group => Place::Register(self.register(group, if self.is_uniform(v) { 0 } else { copy })),
        }
    }

    /// Whether a value is the same for all vectors that are worked on together: the first of its registers has it.
    pub(super) fn is_uniform(&self, v: Value) -> bool {
        matches!(self.homes[v.0 as usize], Home::Constant(_) | Home::Pattern(_))
    }

    pub(super) fn spill_slot(&mut self) -> u32 {
        self.free_spills.pop().unwrap_or_else(|| {
            self.spills += 1;
            self.spills - 1
        })
    }

    pub(super) fn spill(&mut self, v: Value) {
        if self.masks.has(v) {
            return self.release_vectors(v);
        }
        if self.homes[v.0 as usize] == Home::Nowhere {
            let home = Home::Spill(self.spill_slot());
            self.homes[v.0 as usize] = home;
            self.remat.note_store();
            let group = self.group_of[v.0 as usize];
            for copy in 0..self.interleave {
                self.code.vector(STORE, self.register(group, copy), 0, self.home(home, copy), None);
            }
        }
        self.release(v);
    }

    /// The held value that is used last, outside of some groups.
    pub(super) fn victim(&self, keep: u32) -> Option<Value> {
        let groups = (0..self.groups()).filter(|g| keep >> g & 1 == 0);
        groups.map(|g| self.held[g]).filter(|v| *v != NONE).max_by_key(|v| self.next[v.0 as usize])
    }

    /// A group for a value; those in `keep` stay as they are.
    pub(super) fn take(&mut self, v: Value, keep: u32) -> u8 {
        if self.free & !keep == 0
            && let Some(victim) = self.victim(keep)
        {
            if self.can_rematerialise(victim) {
                self.drop_to_rematerialise(victim);
            } else {
                self.spill(victim);
            }
        }
        let free = self.free & !keep;
        let wanted = self.wanted.iter().find(|(value, group)| *value == v && free >> group & 1 == 1);
        let group = wanted.map_or(free.trailing_zeros() as u8, |&(_, group)| group);
        self.free &= !(1 << group);
        self.held[group as usize] = v;
        self.group_of[v.0 as usize] = group;
        group
    }

    pub(super) fn mask_of(&self, values: &[Value]) -> u32 {
        let groups = values.iter().filter(|v| **v != NONE).map(|v| self.group_of[v.0 as usize]);
        groups.filter(|g| *g != NO_GROUP).fold(0, |mask, g| mask | 1 << g)
    }

    /// Brings a value into registers; the operands of its instruction stay there.
    pub(super) fn bring(&mut self, v: Value, operands: &[Value]) {
        if self.group_of[v.0 as usize] != NO_GROUP {
            return;
        }
        let home = self.homes[v.0 as usize];
        let group = self.take(v, self.mask_of(operands));
        for copy in 0..if self.is_uniform(v) { 1 } else { self.interleave } {
            self.code.vector(LOAD, self.register(group, copy), 0, self.home(home, copy), None);
        }
    }

    /// A group for the result; operands that die make room, unless one register has them for all vectors.
    pub(super) fn result(&mut self, v: Value, operands: &[Value]) -> u8 {
        for &o in operands.iter().filter(|o| **o != NONE) {
            if self.is_dying(o) && !self.is_uniform(o) {
                self.release(o);
            }
        }
        self.take(v, self.mask_of(operands))
    }
}
