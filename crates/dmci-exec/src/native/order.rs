//! The order of instructions.
//!
//! Operations come in the order in which a program was walked and its adjoints were added up. If an instruction is the
//! last one that needs its operands, it comes as soon as they are there: its result takes their place, and fewer
//! values wait in registers.

use super::ir::{Action, Home, Instruction, NONE, Value};
use rustc_hash::FxHashMap;

/// How far an instruction comes forward at most.
const WINDOW: u32 = 256;

/// A value that was made longer ago than this many instructions is in memory, and leaves no register.
const NEAR: u32 = 48;

/// The instructions in their new order, if it is one.
pub(super) fn ordered(instructions: &[Instruction], homes: &[Home]) -> Option<Vec<Instruction>> {
    let mut line = Line::new(instructions, homes);
    let mut result = Vec::with_capacity(instructions.len());
    let mut next: Vec<u32> = Vec::new();
    let mut moved = false;
    for first in 0..instructions.len() as u32 {
        next.push(first);
        while let Some(i) = next.pop() {
            if line.is_done(i) || i != first && !line.makes_room(i) {
                continue;
            }
            moved |= i as usize != result.len();
            result.push(instructions[i as usize]);
            line.take(i);
            let followers = line.follow(i);
            let ready = followers.rev().map(|k| line.followers[k]).filter(|&f| line.waits[f as usize] == 0);
            next.extend(ready.filter(|&f| f < first + WINDOW));
        }
    }
    moved.then_some(result)
}

/// A straight line of instructions, and what waits for what.
pub(super) struct Line<'a> {
    instructions: &'a [Instruction],
    /// By instruction, how many others must come before it; `DONE` behind it.
    pub waits: Vec<u32>,
    /// Those that wait for an instruction, one instruction after the other, and where those of each begin.
    pub followers: Vec<u32>,
    begins: Vec<u32>,
    /// By value: instructions that still need it, and when it was made.
    pub needed: Vec<u32>,
    made: Vec<u32>,
    now: u32,
}

const DONE: u32 = u32::MAX;

impl<'a> Line<'a> {
    pub fn new(instructions: &'a [Instruction], homes: &[Home]) -> Line<'a> {
        let mut edges: Vec<(u32, u32)> = Vec::with_capacity(2 * instructions.len());
        let (mut producer, mut needed) = (vec![DONE; homes.len()], vec![0; homes.len()]);
        let mut readers: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        let mut effect = None;
        for (i, instruction) in (0u32..).zip(instructions) {
            for v in instruction.distinct_operands() {
                needed[v.0 as usize] += 1;
                match (producer[v.0 as usize], homes[v.0 as usize]) {
                    (DONE, Home::Row(row)) => readers.entry(row).or_default().push(i),
                    (DONE, _) => {}
                    (from, _) => edges.push((from, i)),
                }
            }
            if instruction.result != NONE {
                producer[instruction.result.0 as usize] = i;
            }
            if instruction.result == NONE || matches!(instruction.action, Action::Call(_)) {
                // What can be seen from outside happens in its order, and rows are read before they are written.
                edges.extend(effect.replace(i).map(|before| (before, i)));
                if let Action::Store { row } = instruction.action {
                    edges.extend(readers.remove(&row).into_iter().flatten().filter(|r| *r != i).map(|r| (r, i)));
                }
            }
        }
        let n = instructions.len();
        let (mut waits, mut begins) = (vec![0; n], vec![0u32; n + 1]);
        for &(from, to) in &edges {
            begins[from as usize + 1] += 1;
            waits[to as usize] += 1;
        }
        (0..n).for_each(|i| begins[i + 1] += begins[i]);
        let mut places = begins.clone();
        let mut followers = vec![0; edges.len()];
        for (from, to) in edges {
            followers[places[from as usize] as usize] = to;
            places[from as usize] += 1;
        }
        Line { instructions, waits, followers, begins, needed, made: vec![DONE; homes.len()], now: 0 }
    }

    /// By instruction, the cycles from its start to the end of the longest chain that begins with it.
    pub fn chains(&self) -> Vec<u32> {
        let mut chains = vec![0; self.instructions.len()];
        for (i, instruction) in self.instructions.iter().enumerate().rev() {
            let followers = &self.followers[self.begins[i] as usize..self.begins[i + 1] as usize];
            let behind = followers.iter().map(|&f| chains[f as usize]).max().unwrap_or(0);
            chains[i] = behind + instruction.action.latency();
        }
        chains
    }

    /// Whether a value was made in the line, so far.
    pub fn is_made(&self, v: Value) -> bool {
        self.made[v.0 as usize] != DONE
    }

    pub fn is_done(&self, i: u32) -> bool {
        self.waits[i as usize] == DONE
    }

    /// Whether an instruction frees as many registers as it takes.
    fn makes_room(&self, i: u32) -> bool {
        let instruction = &self.instructions[i as usize];
        let in_register = |v: usize| self.made[v] != DONE && self.now - self.made[v] <= NEAR;
        let last = instruction.distinct_operands().map(|v| v.0 as usize).filter(|&v| self.needed[v] == 1);
        last.filter(|&v| in_register(v)).count() >= (instruction.result != NONE) as usize
    }

    pub fn take(&mut self, i: u32) {
        let instruction = &self.instructions[i as usize];
        self.waits[i as usize] = DONE;
        instruction.distinct_operands().for_each(|v| self.needed[v.0 as usize] -= 1);
        if instruction.result != NONE {
            self.made[instruction.result.0 as usize] = self.now;
        }
        self.now += 1;
    }

    /// The followers of an instruction, of which it was one that they waited for.
    pub fn follow(&mut self, i: u32) -> std::ops::Range<usize> {
        let range = self.begins[i as usize] as usize..self.begins[i as usize + 1] as usize;
        for &follower in &self.followers[range.clone()] {
            self.waits[follower as usize] -= 1;
        }
        range
    }
}
