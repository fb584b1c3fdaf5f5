//! An order in which few instructions wait.
//!
//! A processor looks ahead a few dozen instructions on vectors, not hundreds: where one kernel comes behind the other,
//! the chain of one is all that there is to do. Here instructions come as they would be issued: of those whose
//! operands are there by then, the one with the longest chain behind it, as long as there are registers for results.

use super::ir::{Action, COMPARE, Home, Instruction, NONE, Value, compares_bits};
use super::order::Line;
use super::vex::Isa;
use std::cmp::Reverse;

/// Registers that stay free for constants and for what is on its way to memory.
const SPARE: usize = 2;

/// Mask registers that can be used.
const MASKS: usize = 7;

/// The instructions in an order for so many vectors beside each other.
pub(super) fn scheduled(instructions: &[Instruction], homes: &[Home], isa: Isa, interleave: usize) -> Vec<Instruction> {
    let is_mask = masks(instructions, homes.len(), isa);
    let mut line = Line::new(instructions, homes);
    let chains = line.chains();
    // Of vectors and of masks.
    let room = [(isa.registers() / interleave).saturating_sub(SPARE), (MASKS / interleave).max(1)];
    let mut held = [0; 2];
    // Times are in halves of cycles, since two instructions are begun in each.
    let mut there = vec![0u32; homes.len()];
    let mut ready: Vec<u32> = (0..instructions.len() as u32).filter(|&i| line.waits[i as usize] == 0).collect();
    let mut order = Vec::with_capacity(instructions.len());
    let mut now = 0u32;
    loop {
        let kind = |v: Value| is_mask[v.0 as usize] as usize;
        let start = |i: u32| {
            let operands = instructions[i as usize].distinct_operands();
            operands.map(|v| there[v.0 as usize]).max().unwrap_or(0)
        };
        let dying = |i: u32| {
            let operands = instructions[i as usize].distinct_operands();
            operands.filter(|&v| line.is_made(v) && line.needed[v.0 as usize] == 1)
        };
        let fits = |i: u32| match instructions[i as usize].result {
            NONE => true,
            result => held[kind(result)] < room[kind(result)] || dying(i).any(|v| kind(v) == kind(result)),
        };
        // What there is room for, what need not wait, what most depends on; of equals the first one.
        let rank = |&i: &u32| (fits(i), Reverse(start(i).saturating_sub(now)), chains[i as usize], Reverse(i));
        let Some(best) = (0..ready.len()).max_by_key(|&k| rank(&ready[k])) else { return order };
        let i = ready.swap_remove(best);
        // What waited for an instruction in two ways was found ready twice.
        if line.is_done(i) {
            continue;
        }
        let Instruction { action, result, .. } = instructions[i as usize];
        dying(i).for_each(|v| held[kind(v)] -= 1);
        let begins = start(i).max(now);
        line.take(i);
        if result != NONE {
            there[result.0 as usize] = begins + 2 * action.latency();
            held[kind(result)] += (line.needed[result.0 as usize] > 0) as usize;
        }
        now += interleave as u32;
        let followers = line.follow(i);
        ready.extend(line.followers[followers].iter().filter(|&&f| line.waits[f as usize] == 0));
        order.push(instructions[i as usize]);
    }
}

/// By value, whether it is in mask registers, which only vectors of 512 bits have.
fn masks(instructions: &[Instruction], values: usize, isa: Isa) -> Vec<bool> {
    let mut is_mask = vec![false; values];
    if isa == Isa::Avx2 {
        return is_mask;
    }
    for Instruction { action, result, operands } in instructions.iter().filter(|i| i.result != NONE) {
        let of_masks = || operands.iter().all(|v| *v == NONE || is_mask[v.0 as usize]);
        is_mask[result.0 as usize] = match action {
            Action::WithByte(op, _) => op.code == COMPARE.code,
            Action::Binary(op, _) => compares_bits(*op) || of_masks(),
            _ => false,
        };
    }
    is_mask
}
