//! Bytecode: what the VM runs. Registers are slots of a frame; a call's window of header, procedure
//! and arguments is laid out in the caller's frame, so that entering a procedure moves nothing.

use dmci_value::SpanId;
use std::fmt::Write;

/// A register of the current frame.
pub type Reg = u16;

/// Words between a window's first register and its first argument: return address, link, procedure.
pub const HEADER: usize = 3;

/// One instruction, eight bytes. `d` is the destination; `to` an instruction index; `off` is
/// relative to the next instruction. `Unless*` jump if the test does not hold.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Instr {
    Const {
        d: Reg,
        k: u32,
    },
    Int {
        d: Reg,
        i: i32,
    },
    Unspecified {
        d: Reg,
    },
    Move {
        d: Reg,
        s: Reg,
    },
    /// Two moves, one after the other, of registers below 256.
    Move2 {
        d: [u8; 2],
        s: [u8; 2],
    },
    Move3 {
        d: [u8; 3],
        s: [u8; 3],
    },
    Capture {
        d: Reg,
        i: u16,
    },
    SelfClosure {
        d: Reg,
    },
    Global {
        d: Reg,
        k: u32,
    },
    SetGlobal {
        s: Reg,
        k: u32,
    },
    Define {
        s: Reg,
        k: u32,
    },
    Cell {
        d: Reg,
        s: Reg,
    },
    EmptyCell {
        d: Reg,
        k: u32,
    },
    CellRef {
        d: Reg,
        c: Reg,
    },
    CellRefChecked {
        d: Reg,
        c: Reg,
    },
    CellSet {
        c: Reg,
        s: Reg,
    },
    Closure {
        d: Reg,
        site: u32,
    },
    Patch {
        c: Reg,
        i: u16,
        s: Reg,
    },
    /// Arguments in registers from `a` on.
    Prim {
        n: u8,
        d: Reg,
        a: Reg,
        p: u16,
    },
    /// Window from `a` on; the result comes back in `a`.
    Call {
        n: u8,
        a: Reg,
    },
    /// The same for the running procedure, with the right number of arguments.
    CallSelf {
        n: u8,
        a: Reg,
    },
    TailCall {
        n: u8,
        a: Reg,
        place: u32,
    },
    Return {
        s: Reg,
    },
    Jump {
        to: u32,
    },
    /// A jump back: a loop edge, where limits are checked.
    LoopTo {
        to: u32,
    },
    BrFalse {
        s: Reg,
        to: u32,
    },
    Add {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Sub {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Mul {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Div {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    AddI {
        d: Reg,
        a: Reg,
        i: i16,
    },
    SubI {
        d: Reg,
        a: Reg,
        i: i16,
    },
    NumEq {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Lt {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Gt {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Le {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Ge {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    UnlessNumEq {
        a: Reg,
        b: Reg,
        off: i16,
    },
    UnlessLt {
        a: Reg,
        b: Reg,
        off: i16,
    },
    UnlessGt {
        a: Reg,
        b: Reg,
        off: i16,
    },
    UnlessLe {
        a: Reg,
        b: Reg,
        off: i16,
    },
    UnlessGe {
        a: Reg,
        b: Reg,
        off: i16,
    },
    UnlessNumEqI {
        a: Reg,
        i: i16,
        off: i16,
    },
    UnlessLtI {
        a: Reg,
        i: i16,
        off: i16,
    },
    UnlessGtI {
        a: Reg,
        i: i16,
        off: i16,
    },
    UnlessLeI {
        a: Reg,
        i: i16,
        off: i16,
    },
    UnlessGeI {
        a: Reg,
        i: i16,
        off: i16,
    },
    UnlessEq {
        a: Reg,
        b: Reg,
        off: i16,
    },
    UnlessNull {
        s: Reg,
        to: u32,
    },
    UnlessPair {
        s: Reg,
        to: u32,
    },
    IsNull {
        d: Reg,
        s: Reg,
    },
    IsPair {
        d: Reg,
        s: Reg,
    },
    Not {
        d: Reg,
        s: Reg,
    },
    Eq {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Cons {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Car {
        d: Reg,
        s: Reg,
    },
    Cdr {
        d: Reg,
        s: Reg,
    },
    VectorRef {
        d: Reg,
        v: Reg,
        i: Reg,
    },
    VectorSet {
        v: Reg,
        i: Reg,
        s: Reg,
    },
    /// Notes the place of a program datum for the frame: the evaluator's way to say where it is.
    Note {
        s: Reg,
    },
}

/// Where a closure comes from: a function and the registers of its captures.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ClosureSite {
    pub function: u32,
    pub captures: Box<[Reg]>,
}

/// The code of one function.
#[derive(Clone, Debug, PartialEq)]
pub struct Code {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Number of required parameters.
    pub required: u16,
    /// Whether more arguments are collected into a list.
    pub rest: bool,
    /// Number of captured values.
    pub captures: u16,
    /// Registers that the frame needs, windows of calls included.
    pub registers: u32,
    /// The instructions.
    pub instrs: Box<[Instr]>,
    /// Places of instructions, by index; ascending.
    pub places: Box<[(u32, SpanId)]>,
    /// Where the arms of branches meet again, by the index of the branch; ascending.
    pub meetings: Box<[Meeting]>,
    /// Heads of loops and the registers of their parameters.
    pub labels: Box<[(u32, Box<[Reg]>)]>,
}

/// Both arms of a branch go on at the same instruction, with a value in the same register.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Meeting {
    /// The branch.
    pub branch: u32,
    /// Where they go on.
    pub at: u32,
    /// The register of the value.
    pub value: Reg,
}

impl Code {
    /// The place of an instruction.
    pub fn place(&self, pc: usize) -> SpanId {
        match self.places.binary_search_by_key(&(pc as u32), |p| p.0) {
            Ok(i) => self.places[i].1,
            Err(_) => SpanId(0),
        }
    }
}

/// A unit of bytecode: the functions of one graph. Constants, globals and primitives are the graph's.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Bytecode {
    /// Functions, the program's first.
    pub codes: Vec<Code>,
    /// Closure sites.
    pub sites: Vec<ClosureSite>,
}

impl Bytecode {
    /// The text form.
    pub fn print(&self) -> String {
        let mut out = String::new();
        for (i, code) in self.codes.iter().enumerate() {
            let name = code.name.as_deref().unwrap_or(if i == 0 { "<program>" } else { "<lambda>" });
            let rest = if code.rest { " rest" } else { "" };
            let _ = writeln!(
                out,
                "code {i} {name}: {} params{rest}, {} captures, {} registers",
                code.required, code.captures, code.registers
            );
            for (pc, instr) in code.instrs.iter().enumerate() {
                let _ = write!(out, "  {pc:4} {instr:?}");
                if let Instr::Closure { site, .. } = instr {
                    let site = &self.sites[*site as usize];
                    let _ = write!(out, " = code {} {:?}", site.function, site.captures);
                }
                out.push('\n');
            }
        }
        out
    }
}
