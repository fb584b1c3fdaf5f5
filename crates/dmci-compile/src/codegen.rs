//! ComputeGraph to bytecode: one walk over each function that chooses registers as it emits.
//!
//! A node keeps its register until its last use. The window of a call starts above everything that
//! lives across the call; operands that are used only there are computed in place when they can be.
//! Constants are loaded where they are used, or folded into the instruction.

use crate::bytecode::{Bytecode, ClosureSite, Code, HEADER, Instr, Meeting, Reg};
use crate::constant::Constant;
use crate::graph::{End, Function, Graph, LabelId, Loop, Node, NodeId, Op, Region};
use crate::liveness::{Liveness, analyze};
use crate::primitives::PrimitiveSet;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, SpanId};
use rustc_hash::FxHashMap;

mod operations;
mod windows;

pub(crate) use operations::has_instruction;

/// Generates the code of a graph.
pub fn generate(graph: &Graph, primitives: &PrimitiveSet) -> Result<Bytecode, Error> {
    let mut bytecode = Bytecode::default();
    let prims = graph
        .prims
        .iter()
        .map(|name| {
            primitives
                .number(name)
                .ok_or_else(|| Diagnostic::error(ErrorCode::E0902, format!("unknown primitive {name}")))
        })
        .collect::<Result<Vec<_>, _>>()?;
    for function in &graph.functions {
        let sites = bytecode.sites.len();
        let mut code = Generator::new(graph, &prims, function, &mut bytecode.sites, true).run(function)?;
        if code.is_none() {
            // A branch was too far for a fused test.
            bytecode.sites.truncate(sites);
            code = Generator::new(graph, &prims, function, &mut bytecode.sites, false).run(function)?;
        }
        bytecode
            .codes
            .push(code.ok_or_else(|| Diagnostic::error(ErrorCode::E9901, "unfused branches reach everywhere"))?);
    }
    Ok(bytecode)
}

/// Where the value of a region goes.
#[derive(Clone, Copy)]
enum Dest {
    Return,
    Reg(Reg),
}

struct LabelState {
    params: Vec<Reg>,
    /// Set once its code is emitted.
    at: Option<u32>,
    /// Jumps to it that were emitted before.
    waiting: Vec<usize>,
}

struct Generator<'a> {
    graph: &'a Graph,
    prims: &'a [u16],
    sites: &'a mut Vec<ClosureSite>,
    live: Liveness,
    instrs: Vec<Instr>,
    places: Vec<(u32, SpanId)>,
    meetings: Vec<Meeting>,
    heads: Vec<(u32, Box<[Reg]>)>,
    position: u32,
    loops_seen: usize,
    /// Register of each node that has one.
    reg: Vec<Option<Reg>>,
    /// Constants and the like, computed where they are used.
    lazy: FxHashMap<NodeId, Lazy>,
    /// Position up to which each register is taken.
    busy: Vec<u32>,
    /// So many of the first registers are all taken, up to this position.
    full: (usize, u32),
    /// First register of the window of a call, by the call's position.
    windows: FxHashMap<u32, Reg>,
    labels: FxHashMap<LabelId, LabelState>,
    registers: u32,
    /// Fixed parameters of the function itself.
    own_params: Option<u32>,
    /// Whether tests may be done by the branch that follows.
    fuse: bool,
    too_far: bool,
}

#[derive(Clone, Copy)]
enum Lazy {
    Const(u32),
    SelfClosure,
    Unspecified,
}

/// Positions after which a register counts as taken for long.
const SOON: u32 = 16;

impl<'a> Generator<'a> {
    fn new(graph: &'a Graph, prims: &'a [u16], f: &Function, sites: &'a mut Vec<ClosureSite>, fuse: bool) -> Self {
        Generator {
            graph,
            prims,
            sites,
            live: analyze(graph, f),
            instrs: Vec::new(),
            places: Vec::new(),
            meetings: Vec::new(),
            heads: Vec::new(),
            position: 0,
            loops_seen: 0,
            reg: vec![None; f.nodes as usize],
            lazy: FxHashMap::default(),
            busy: Vec::new(),
            full: (0, u32::MAX),
            windows: FxHashMap::default(),
            labels: FxHashMap::default(),
            registers: f.params,
            own_params: (!f.rest).then_some(f.params),
            fuse,
            too_far: false,
        }
    }

    fn run(mut self, f: &Function) -> Result<Option<Code>, Error> {
        // Parameters come first in the body and sit in the first registers.
        let params = f.body.nodes.iter().filter(|n| matches!(n.op, Op::Param(_)));
        self.busy = vec![0; f.params as usize];
        for node in params {
            if let Op::Param(i) = node.op {
                self.reg[node.id.0 as usize] = Some(i as Reg);
                self.busy[i as usize] = self.live.end[node.id.0 as usize] + 1;
            }
        }
        self.region(&f.body, Dest::Return, None)?;
        let too_large = |what: &str| {
            Diagnostic::error(ErrorCode::E0408, format!("a procedure needs more {what} than the machine has"))
                .help("split the procedure into smaller ones")
        };
        if self.registers > u16::MAX as u32 - 300 {
            return Err(too_large("registers"));
        }
        if self.instrs.len() >= 1 << 24 {
            return Err(too_large("instructions"));
        }
        if self.too_far {
            return Ok(None);
        }
        self.meetings.sort_by_key(|m| m.branch);
        Ok(Some(Code {
            name: f.name.clone(),
            required: (f.params - f.rest as u32) as u16,
            rest: f.rest,
            captures: f.captures as u16,
            registers: self.registers + 1,
            instrs: self.instrs.into(),
            places: self.places.into(),
            meetings: self.meetings.into(),
            labels: self.heads.into(),
        }))
    }

    fn tick(&mut self) -> u32 {
        self.position += 1;
        self.position - 1
    }

    fn emit(&mut self, instr: Instr) -> usize {
        self.instrs.push(instr);
        self.instrs.len() - 1
    }

    fn emit_at(&mut self, instr: Instr, place: SpanId) -> usize {
        if place != SpanId(0) {
            self.places.push((self.instrs.len() as u32, place));
        }
        self.emit(instr)
    }

    // ---- registers

    fn is_free(&self, r: usize, at: u32) -> bool {
        self.busy.get(r).is_none_or(|&until| until <= at)
    }

    /// The first register that is free at a position, found without a look at all of those before it every time.
    fn first_free(&mut self, at: u32) -> usize {
        if at >= self.full.1 {
            self.full = (0, u32::MAX);
        }
        let mut r = self.full.0;
        while let Some(&busy) = self.busy.get(r).filter(|&&busy| busy > at) {
            // One that is soon free again would make all others be looked at again.
            if r == self.full.0 && busy > at + SOON {
                self.full = (r + 1, self.full.1.min(busy));
            }
            r += 1;
        }
        r
    }

    fn take(&mut self, r: usize, until: u32) -> Reg {
        if r >= self.busy.len() {
            self.busy.resize(r + 1, 0);
        }
        self.busy[r] = self.busy[r].max(until);
        self.registers = self.registers.max(r as u32 + 1);
        r.min(u16::MAX as usize) as Reg
    }

    /// The lowest register above everything that is taken at `at`.
    fn top(&self, at: u32) -> usize {
        self.busy.iter().rposition(|&until| until > at).map_or(0, |r| r + 1)
    }

    /// A register for a node, free at `at`: the wanted one if it is. With `at` one past the node's own
    /// position it may be that of an operand that is not used again.
    fn allocate(&mut self, id: NodeId, at: u32, wanted: Option<usize>) -> Reg {
        let until = self.live.end[id.0 as usize] + 1;
        let wanted = wanted.or_else(|| self.wanted_slot(id, at)).filter(|&r| self.is_free(r, at));
        let r = wanted.unwrap_or_else(|| self.first_free(at));
        let reg = self.take(r, until);
        self.reg[id.0 as usize] = Some(reg);
        reg
    }

    /// The register of an operand, loading it into a scratch register if it is lazy.
    fn operand(&mut self, id: NodeId, at: u32) -> Reg {
        if let Some(reg) = self.reg[id.0 as usize] {
            return reg;
        }
        let r = self.first_free(at);
        let reg = self.take(r, at + 1);
        self.load_into(id, reg);
        reg
    }

    fn load_into(&mut self, id: NodeId, d: Reg) {
        match self.lazy.get(&id) {
            Some(Lazy::Const(k)) => {
                let k = *k;
                let instr = match &self.graph.constants[k as usize] {
                    Constant::Fixnum(i) if i32::try_from(*i).is_ok() => Instr::Int { d, i: *i as i32 },
                    _ => Instr::Const { d, k },
                };
                self.emit(instr);
            }
            Some(Lazy::SelfClosure) => {
                self.emit(Instr::SelfClosure { d });
            }
            Some(Lazy::Unspecified) => {
                self.emit(Instr::Unspecified { d });
            }
            None => {
                if let Some(s) = self.reg[id.0 as usize]
                    && s != d
                {
                    self.emit(Instr::Move { d, s });
                }
            }
        }
    }

    /// A small integer constant.
    fn immediate(&self, id: NodeId) -> Option<i16> {
        match self.lazy.get(&id) {
            Some(Lazy::Const(k)) => match self.graph.constants[*k as usize] {
                Constant::Fixnum(i) => i16::try_from(i).ok(),
                _ => None,
            },
            _ => None,
        }
    }

    // ---- regions

    fn region(&mut self, region: &Region, dest: Dest, next: Option<LabelId>) -> Result<(), Error> {
        let fused = self.fused_test(region);
        for (i, node) in region.nodes.iter().enumerate() {
            if fused && i + 1 == region.nodes.len() {
                let at = self.tick();
                let End::If(_, a, b) = &region.end else { unreachable!("a fused test ends in a branch") };
                let branch = self.branch_on(node, at);
                self.tick();
                return self.arms(branch, a, b, dest, next);
            }
            self.node(node)?;
        }
        let at = self.tick();
        match &region.end {
            End::Yield(n) => self.finish(*n, dest, at),
            End::TailCall { f, args, place } => {
                let (a, n) = self.window(Some(*f), args, at)?;
                self.emit_at(Instr::TailCall { n, a, place: place.0 }, *place);
            }
            End::If(test, a, b) => {
                let s = self.operand(*test, at);
                let branch = self.emit(Instr::BrFalse { s, to: 0 });
                self.arms(branch, a, b, dest, next)?;
            }
            End::Jump(label, args) => self.jump(*label, args, at, next),
            End::Loop(l) => self.labels(l, dest)?,
        }
        Ok(())
    }

    fn finish(&mut self, n: NodeId, dest: Dest, at: u32) {
        match dest {
            Dest::Return => {
                let s = self.operand(n, at);
                self.emit(Instr::Return { s });
            }
            Dest::Reg(d) => self.load_into(n, d),
        }
    }

    /// Both arms after a branch instruction that jumps to the second one.
    fn arms(&mut self, branch: usize, a: &Region, b: &Region, dest: Dest, next: Option<LabelId>) -> Result<(), Error> {
        self.region(a, dest, None)?;
        let out = match dest {
            Dest::Reg(_) if self.falls_through(a) => Some(self.emit(Instr::Jump { to: 0 })),
            _ => None,
        };
        self.patch(branch);
        self.region(b, dest, next)?;
        if let Some(out) = out {
            self.patch(out);
        }
        if let Dest::Reg(value) = dest {
            let at = self.instrs.len() as u32;
            self.meetings.push(Meeting { branch: branch as u32, at, value });
        }
        Ok(())
    }

    /// Whether control can reach the instruction after the region.
    fn falls_through(&self, region: &Region) -> bool {
        match &region.end {
            End::Yield(_) | End::If(..) | End::Loop(_) => true,
            End::TailCall { .. } | End::Jump(..) => false,
        }
    }

    /// Makes the jump at `i` go to the next instruction to be emitted.
    fn patch(&mut self, i: usize) {
        let target = self.instrs.len() as u32;
        self.patch_to(i, target);
    }

    fn patch_to(&mut self, i: usize, target: u32) {
        let relative = target as i64 - i as i64 - 1;
        let fits = i16::try_from(relative).ok();
        match &mut self.instrs[i] {
            Instr::Jump { to }
            | Instr::LoopTo { to }
            | Instr::BrFalse { to, .. }
            | Instr::UnlessNull { to, .. }
            | Instr::UnlessPair { to, .. } => *to = target,
            Instr::UnlessNumEq { off, .. }
            | Instr::UnlessLt { off, .. }
            | Instr::UnlessGt { off, .. }
            | Instr::UnlessLe { off, .. }
            | Instr::UnlessGe { off, .. }
            | Instr::UnlessNumEqI { off, .. }
            | Instr::UnlessLtI { off, .. }
            | Instr::UnlessGtI { off, .. }
            | Instr::UnlessLeI { off, .. }
            | Instr::UnlessGeI { off, .. }
            | Instr::UnlessEq { off, .. } => match fits {
                Some(relative) => *off = relative,
                None => self.too_far = true,
            },
            _ => {}
        }
    }

    fn jump(&mut self, label: LabelId, args: &[NodeId], at: u32, next: Option<LabelId>) {
        let params = self.labels[&label].params.clone();
        let moves: Vec<(Reg, Reg)> = params
            .iter()
            .zip(args)
            .filter_map(|(&d, &arg)| self.reg[arg.0 as usize].map(|s| (d, s)))
            .filter(|(d, s)| d != s)
            .collect();
        self.parallel_moves(moves, at);
        for (&d, &arg) in params.iter().zip(args) {
            if self.reg[arg.0 as usize].is_none() {
                self.load_into(arg, d);
            }
        }
        let state = self.labels.get_mut(&label).expect("labels are declared before their jumps");
        match state.at {
            Some(to) => {
                self.emit(Instr::LoopTo { to });
            }
            None if next == Some(label) => {}
            None => {
                let i = self.instrs.len();
                state.waiting.push(i);
                self.emit(Instr::Jump { to: 0 });
            }
        }
    }

    fn labels(&mut self, l: &Loop, dest: Dest) -> Result<(), Error> {
        let start = self.tick();
        let end = self.live.loop_ends[self.loops_seen];
        self.loops_seen += 1;
        for label in &l.labels {
            let mut params = Vec::new();
            for (i, &param) in label.params.iter().enumerate() {
                let r = self.entry_register(l, label.id, i, start);
                let r = r.unwrap_or_else(|| self.first_free(start));
                let reg = self.take(r, end + 1);
                self.reg[param.0 as usize] = Some(reg);
                params.push(reg);
            }
            self.labels.insert(label.id, LabelState { params, at: None, waiting: Vec::new() });
        }
        // Exits of a loop that yields a value jump behind its last region.
        let mut exits = Vec::new();
        // A jump to the next label is left out only if no exit stands between the two.
        let exits_body = matches!(dest, Dest::Reg(_)) && self.falls_through(&l.body);
        let first = l.labels.first().map(|label| label.id).filter(|_| !exits_body);
        self.region(&l.body, dest, first)?;
        if exits_body {
            exits.push(self.emit(Instr::Jump { to: 0 }));
        }
        for (i, label) in l.labels.iter().enumerate() {
            let here = self.instrs.len() as u32;
            let state = self.labels.get_mut(&label.id).expect("declared above");
            state.at = Some(here);
            self.heads.push((here, state.params.clone().into()));
            for jump in std::mem::take(&mut state.waiting) {
                self.patch_to(jump, here);
            }
            let last = i + 1 == l.labels.len();
            let exits_here = matches!(dest, Dest::Reg(_)) && self.falls_through(&label.region) && !last;
            let next = l.labels.get(i + 1).map(|label| label.id).filter(|_| !exits_here);
            self.region(&label.region, dest, next)?;
            if exits_here {
                exits.push(self.emit(Instr::Jump { to: 0 }));
            }
        }
        for exit in exits {
            self.patch(exit);
        }
        self.tick();
        Ok(())
    }

    /// The register of the value that a label's parameter has at first, if a loop that is entered
    /// at once is its only use: then the parameter may stay there.
    fn entry_register(&self, l: &Loop, label: LabelId, param: usize, start: u32) -> Option<usize> {
        let End::Jump(to, args) = &l.body.end else { return None };
        if *to != label || !l.body.nodes.is_empty() {
            return None;
        }
        let arg = args[param].0 as usize;
        let last_use = self.live.uses[arg] == 1 && self.live.end[arg] <= start + 1;
        self.reg[arg].filter(|_| last_use).map(usize::from)
    }

    fn node(&mut self, node: &Node) -> Result<(), Error> {
        let at = self.tick();
        match &node.op {
            Op::If(a, b) => {
                let s = self.operand(node.inputs[0], at);
                let branch = self.emit(Instr::BrFalse { s, to: 0 });
                let d = self.allocate(node.id, at + 1, None);
                self.arms(branch, a, b, Dest::Reg(d), None)
            }
            Op::Loop(l) => {
                let d = self.allocate(node.id, at + 1, None);
                self.labels(l, Dest::Reg(d))
            }
            _ => self.operation(node, at),
        }
    }
}
