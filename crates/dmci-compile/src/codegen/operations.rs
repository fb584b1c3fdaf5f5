//! Instructions for the operations of single nodes, and comparisons fused with branches.

use super::{ClosureSite, End, Generator, Instr, Lazy, Node, Op, Region};
use dmci_value::Error;

/// Primitives that have an instruction of their own (names without `%`).
pub(crate) fn has_instruction(name: &str, n: usize) -> bool {
    match n {
        1 => matches!(name, "null?" | "pair?" | "not" | "car" | "cdr" | "note"),
        2 => matches!(name, "+" | "-" | "*" | "/" | "=" | "<" | ">" | "<=" | ">=" | "eq?" | "cons" | "vector-ref"),
        3 => name == "vector-set!",
        _ => false,
    }
}

impl Generator<'_> {
    pub(super) fn operation(&mut self, node: &Node, at: u32) -> Result<(), Error> {
        let inputs = &node.inputs;
        match &node.op {
            Op::Param(_) => {}
            Op::Const(k) => {
                self.lazy.insert(node.id, Lazy::Const(*k));
            }
            Op::SelfClosure => {
                self.lazy.insert(node.id, Lazy::SelfClosure);
            }
            Op::Capture(i) => {
                if self.live.uses[node.id.0 as usize] > 0 {
                    let d = self.allocate(node.id, at + 1, None);
                    self.emit(Instr::Capture { d, i: *i as u16 });
                }
            }
            Op::Global(k) => {
                let d = self.allocate(node.id, at + 1, None);
                self.emit_at(Instr::Global { d, k: *k }, node.place);
            }
            Op::SetGlobal(k) => {
                let s = self.operand(inputs[0], at);
                self.emit_at(Instr::SetGlobal { s, k: *k }, node.place);
            }
            Op::DefineGlobal(k) => {
                let s = self.operand(inputs[0], at);
                self.emit_at(Instr::Define { s, k: *k }, node.place);
            }
            Op::Cell(k) => {
                if let Some(&value) = inputs.first() {
                    let s = self.operand(value, at);
                    let d = self.allocate(node.id, at + 1, None);
                    self.emit(Instr::Cell { d, s });
                } else {
                    let d = self.allocate(node.id, at + 1, None);
                    self.emit(Instr::EmptyCell { d, k: *k });
                }
            }
            Op::CellRef { checked } => {
                let c = self.operand(inputs[0], at);
                let d = self.allocate(node.id, at + 1, None);
                let instr = if *checked { Instr::CellRefChecked { d, c } } else { Instr::CellRef { d, c } };
                self.emit_at(instr, node.place);
            }
            Op::CellSet => {
                let c = self.operand(inputs[0], at);
                let s = self.operand(inputs[1], at);
                self.emit(Instr::CellSet { c, s });
            }
            Op::Closure(function) => {
                let captures = inputs.iter().map(|&id| self.operand(id, at)).collect();
                let d = self.allocate(node.id, at + 1, None);
                self.sites.push(ClosureSite { function: *function, captures });
                self.emit(Instr::Closure { d, site: self.sites.len() as u32 - 1 });
            }
            Op::Patch(i) => {
                let c = self.operand(inputs[0], at);
                let s = self.operand(inputs[1], at);
                self.emit(Instr::Patch { c, i: *i as u16, s });
            }
            Op::Call => {
                // A call of itself with the right number of arguments needs neither check nor closure.
                let own = self.own_params == Some(inputs.len() as u32 - 1);
                let itself = own && matches!(self.lazy.get(&inputs[0]), Some(Lazy::SelfClosure));
                let (a, n) = self.window((!itself).then_some(inputs[0]), &inputs[1..], at)?;
                let instr = if itself { Instr::CallSelf { n, a } } else { Instr::Call { n, a } };
                self.emit_at(instr, node.place);
                let until = self.live.end[node.id.0 as usize] + 1;
                let reg = self.take(a as usize, until);
                self.reg[node.id.0 as usize] = Some(reg);
            }
            Op::Prim(p) => self.primitive(node, *p, at)?,
            Op::If(..) | Op::Loop(_) => unreachable!("handled by the caller"),
        }
        Ok(())
    }

    fn primitive(&mut self, node: &Node, p: u32, at: u32) -> Result<(), Error> {
        if self.inline(node, p, at) {
            return Ok(());
        }
        let inputs = &node.inputs;
        let n = inputs.len() as u8;
        let a = match inputs.as_slice() {
            [] => 0,
            [one] => self.operand(*one, at),
            _ => {
                let lowest = self.top(at + 1);
                // Wanted slots are those of a call, one procedure below the first argument.
                let base = self.windows.remove(&at).map_or(lowest, |b| (b as usize + super::HEADER - 1).max(lowest));
                self.place_operands(inputs, base);
                base.min(u16::MAX as usize) as u16
            }
        };
        let d = self.allocate(node.id, at + 1, None);
        self.emit_at(Instr::Prim { n, d, a, p: self.prims[p as usize] }, node.place);
        Ok(())
    }

    /// Primitives that have an instruction of their own.
    fn inline(&mut self, node: &Node, p: u32, at: u32) -> bool {
        let name = self.graph.prims[p as usize].trim_start_matches('%');
        if !has_instruction(name, node.inputs.len()) {
            return false;
        }
        match *node.inputs.as_slice() {
            [s] => {
                let s = self.operand(s, at);
                if name == "note" {
                    self.emit(Instr::Note { s });
                    self.lazy.insert(node.id, Lazy::Unspecified);
                    return true;
                }
                let d = self.allocate(node.id, at + 1, None);
                let instr = match name {
                    "null?" => Instr::IsNull { d, s },
                    "pair?" => Instr::IsPair { d, s },
                    "not" => Instr::Not { d, s },
                    "car" => Instr::Car { d, s },
                    _ => Instr::Cdr { d, s },
                };
                self.emit_at(instr, node.place);
            }
            [a, b] => {
                if let (Some(i), "+" | "-") = (self.immediate(b), name) {
                    let a = self.operand(a, at);
                    let d = self.allocate(node.id, at + 1, None);
                    let instr = if name == "+" { Instr::AddI { d, a, i } } else { Instr::SubI { d, a, i } };
                    self.emit_at(instr, node.place);
                    return true;
                }
                let a = self.operand(a, at);
                let b = self.operand(b, at);
                let d = self.allocate(node.id, at + 1, None);
                let instr = match name {
                    "+" => Instr::Add { d, a, b },
                    "-" => Instr::Sub { d, a, b },
                    "*" => Instr::Mul { d, a, b },
                    "/" => Instr::Div { d, a, b },
                    "=" => Instr::NumEq { d, a, b },
                    "<" => Instr::Lt { d, a, b },
                    ">" => Instr::Gt { d, a, b },
                    "<=" => Instr::Le { d, a, b },
                    ">=" => Instr::Ge { d, a, b },
                    "eq?" => Instr::Eq { d, a, b },
                    "cons" => Instr::Cons { d, a, b },
                    _ => Instr::VectorRef { d, v: a, i: b },
                };
                self.emit_at(instr, node.place);
            }
            [v, i, s] => {
                let v = self.operand(v, at);
                let i = self.operand(i, at);
                let s = self.operand(s, at);
                self.emit_at(Instr::VectorSet { v, i, s }, node.place);
                // Its value is unspecified, and rarely wanted.
                if self.live.uses[node.id.0 as usize] > 0 {
                    self.lazy.insert(node.id, Lazy::Unspecified);
                }
            }
            _ => return false,
        }
        true
    }

    /// Whether the last node of a region is a test that only its own branch uses, and that a
    /// branch instruction can do.
    pub(super) fn fused_test(&self, region: &Region) -> bool {
        let (Some(node), End::If(test, ..)) = (region.nodes.last(), &region.end) else { return false };
        let Op::Prim(p) = node.op else { return false };
        if !self.fuse || node.id != *test || self.live.uses[test.0 as usize] != 1 {
            return false;
        }
        let name = self.graph.prims[p as usize].as_str();
        match node.inputs.len() {
            1 => matches!(name, "null?" | "pair?"),
            2 => matches!(name, "=" | "<" | ">" | "<=" | ">=" | "eq?"),
            _ => false,
        }
    }

    /// The branch instruction for a fused test; its target is patched later.
    pub(super) fn branch_on(&mut self, node: &Node, at: u32) -> usize {
        let Op::Prim(p) = node.op else { unreachable!("fused tests are primitives") };
        let name = self.graph.prims[p as usize].as_str();
        let instr = match *node.inputs.as_slice() {
            [s] => {
                let s = self.operand(s, at);
                if name == "null?" { Instr::UnlessNull { s, to: 0 } } else { Instr::UnlessPair { s, to: 0 } }
            }
            [a, b] => {
                let immediate = self.immediate(b);
                let a = self.operand(a, at);
                if let (Some(i), false) = (immediate, name == "eq?") {
                    match name {
                        "=" => Instr::UnlessNumEqI { a, i, off: 0 },
                        "<" => Instr::UnlessLtI { a, i, off: 0 },
                        ">" => Instr::UnlessGtI { a, i, off: 0 },
                        "<=" => Instr::UnlessLeI { a, i, off: 0 },
                        _ => Instr::UnlessGeI { a, i, off: 0 },
                    }
                } else {
                    let b = self.operand(b, at);
                    match name {
                        "=" => Instr::UnlessNumEq { a, b, off: 0 },
                        "<" => Instr::UnlessLt { a, b, off: 0 },
                        ">" => Instr::UnlessGt { a, b, off: 0 },
                        "<=" => Instr::UnlessLe { a, b, off: 0 },
                        ">=" => Instr::UnlessGe { a, b, off: 0 },
                        _ => Instr::UnlessEq { a, b, off: 0 },
                    }
                }
            }
            _ => unreachable!("fused tests have one or two operands"),
        };
        self.emit_at(instr, node.place)
    }
}
