//! Windows of calls: where operands must be when a call begins.

use super::{Generator, HEADER, Instr, NodeId, Reg};
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error};

impl Generator<'_> {
    /// The register in which a node would already be in place for the call that uses it.
    pub(super) fn wanted_slot(&mut self, id: NodeId, at: u32) -> Option<usize> {
        let (call, slot) = self.live.operand_of[id.0 as usize]?;
        let base = match self.windows.get(&call) {
            Some(&base) => base as usize,
            None => {
                // Best where the call's own result is wanted in turn.
                let top = self.top(at);
                let result = self.live.call_nodes.get(&call).copied();
                let base = result.and_then(|r| self.wanted_slot(r, at)).filter(|&slot| slot >= top).unwrap_or(top);
                self.windows.insert(call, base.min(u16::MAX as usize) as Reg);
                base
            }
        };
        Some(base + HEADER - 1 + slot as usize)
    }

    /// Puts procedure and arguments in place for a call at position `at`; returns the window's
    /// first register and the number of arguments.
    /// Without `f` the procedure's slot is left to the call.
    pub(super) fn window(&mut self, f: Option<NodeId>, args: &[NodeId], at: u32) -> Result<(Reg, u8), Error> {
        let n = u8::try_from(args.len()).map_err(|_| {
            Diagnostic::error(ErrorCode::E0408, format!("a call with {} arguments is too large", args.len()))
                .help("pass a list, or use apply")
        })?;
        let lowest = self.top(at + 1);
        let base = self.windows.remove(&at).map_or(lowest, |b| (b as usize).max(lowest));
        match f {
            Some(f) => {
                let operands: Vec<NodeId> = std::iter::once(f).chain(args.iter().copied()).collect();
                self.place_operands(&operands, base + HEADER - 1);
            }
            None => self.place_operands(args, base + HEADER),
        }
        Ok((base.min(u16::MAX as usize) as Reg, n))
    }

    /// Puts operands into consecutive registers from `first` on.
    pub(super) fn place_operands(&mut self, operands: &[NodeId], first: usize) {
        let slot = |i: usize| (first + i).min(u16::MAX as usize) as Reg;
        self.registers = self.registers.max((first + operands.len()) as u32);
        let moves: Vec<(Reg, Reg)> = operands
            .iter()
            .enumerate()
            .filter_map(|(i, id)| self.reg[id.0 as usize].map(|s| (slot(i), s)))
            .filter(|(d, s)| d != s)
            .collect();
        self.parallel_moves_above(moves, first + operands.len());
        for (i, &id) in operands.iter().enumerate() {
            if self.reg[id.0 as usize].is_none() {
                self.load_into(id, slot(i));
            }
        }
    }

    /// Moves that happen at once: no source is overwritten before it is read.
    pub(super) fn parallel_moves(&mut self, moves: Vec<(Reg, Reg)>, at: u32) {
        let scratch = self.top(at);
        self.parallel_moves_above(moves, scratch);
    }

    fn parallel_moves_above(&mut self, mut moves: Vec<(Reg, Reg)>, scratch: usize) {
        let mut order = Vec::new();
        while !moves.is_empty() {
            match moves.iter().position(|(d, _)| moves.iter().all(|(_, s)| s != d)) {
                Some(i) => order.push(moves.swap_remove(i)),
                None => {
                    // Only cycles are left: break one with the scratch register.
                    let d = scratch.min(u16::MAX as usize) as Reg;
                    self.registers = self.registers.max(scratch as u32 + 1);
                    let s = moves[0].1;
                    order.push((d, s));
                    for m in &mut moves {
                        if m.1 == s {
                            m.1 = d;
                        }
                    }
                }
            }
        }
        self.sequence(&order);
    }

    /// Moves in order, as few instructions.
    fn sequence(&mut self, mut moves: &[(Reg, Reg)]) {
        let short = |m: &(Reg, Reg)| Some((u8::try_from(m.0).ok()?, u8::try_from(m.1).ok()?));
        while let [(d, s), rest @ ..] = moves {
            let near: Vec<(u8, u8)> = moves.iter().take(3).map_while(short).collect();
            let (instr, left) = match near[..] {
                [a, b, c] => (Instr::Move3 { d: [a.0, b.0, c.0], s: [a.1, b.1, c.1] }, &moves[3..]),
                [a, b] => (Instr::Move2 { d: [a.0, b.0], s: [a.1, b.1] }, &moves[2..]),
                _ => (Instr::Move { d: *d, s: *s }, rest),
            };
            self.emit(instr);
            moves = left;
        }
    }
}
