//! The virtual machine: a resumable value with its own heap and its own stack.

use crate::environment::{EnvironmentId, Environments};
use crate::image::Image;
use crate::join::Arms;
use crate::limits::{Cancel, Limits, Numerics};
use crate::prims;
use crate::traced::Choices;
use crate::world::{Output, World};
use dmci_compile::bytecode::{ClosureSite, Code, Instr};
use dmci_compile::graph::Graph;
use dmci_value::ErrorCode;
use dmci_value::heap::Moment;
use dmci_value::{Alarm, Diagnostic, Error, Heap, Kind, Origin, Place, SpanId, Value};
use std::sync::Arc;

/// Calls and loop edges between two looks at clock, cancel flag and heap.
const SLICE: i64 = 4096;

/// Code that has been given its place in a machine.
#[derive(Debug)]
pub struct LoadedCode {
    /// The code, with constants, sites and places of the machine.
    pub code: Code,
    /// Its procedures are reported as places in the user's text.
    pub user: bool,
}

/// A virtual machine.
#[derive(Debug)]
pub struct Vm {
    /// What primitives see.
    pub world: World,
    pub(crate) stack: Vec<Value>,
    /// First register of the current frame.
    pub(crate) fp: usize,
    pub(crate) pc: usize,
    pub(crate) code: u32,
    pub(crate) codes: Vec<Arc<LoadedCode>>,
    /// Constants and cells of globals.
    pub(crate) constants: Vec<Value>,
    pub(crate) sites: Vec<ClosureSite>,
    /// Frames below the stack's own: a continuation object and how much of it is left.
    pub(crate) below: Value,
    pub(crate) below_len: usize,
    /// Arms of decisions that are being tried.
    pub(crate) arms: Arms,
    image: Arc<Image>,
    limits: Limits,
    max_slots: usize,
    fuel_left: u64,
    slice: i64,
}

impl Vm {
    /// A machine that starts from the image.
    pub fn new(image: &Arc<Image>) -> Vm {
        let world = World {
            heap: Heap::from_image(&image.heap),
            output: Output::default(),
            environments: Environments::new(image.system.clone(), image.syntax.clone()),
            random: 0,
            choices: Choices::default(),
            handlers: Value::NIL,
            winders: Value::NIL,
            error_place: None,
            syntax_errors: Vec::new(),
            shown: Default::default(),
            numerics: Numerics::default(),
            placing: false,
            explaining: false,
            why_parted: None,
            joins: false,
            loops: false,
            early_loops: false,
            recording: None,
            cancel: Cancel::default(),
            procedure_names: image.procedure_names.clone(),
        };
        Vm {
            world,
            stack: Vec::new(),
            fp: 0,
            pc: 0,
            code: 0,
            codes: image.codes.clone(),
            constants: image.constants.clone(),
            sites: image.sites.clone(),
            below: Value::FALSE,
            below_len: 0,
            arms: Arms::default(),
            image: image.clone(),
            limits: Limits::default(),
            max_slots: 0,
            fuel_left: 0,
            slice: 0,
        }
    }

    /// Back to the image, ready for another program.
    pub fn reset(&mut self) {
        let start = self.world.heap.start();
        self.reset_to(&start);
    }

    /// The same, but with what the heap had at a moment; there was no collection since.
    pub fn reset_to(&mut self, moment: &Moment) {
        let image = &self.image;
        self.world.heap.reset_to(&image.heap, moment);
        self.world.environments.reset();
        self.world.output.truncate(0);
        self.world.shown.get_mut().clear();
        self.world.procedure_names.truncate(image.procedure_names.len());
        self.world.handlers = Value::NIL;
        self.world.winders = Value::NIL;
        self.world.error_place = None;
        self.world.syntax_errors.clear();
        self.world.recording = None;
        self.world.placing = false;
        self.world.explaining = false;
        self.world.joins = false;
        self.world.loops = false;
        self.arms = Arms::default();
        self.codes.truncate(image.codes.len());
        self.constants.truncate(image.constants.len());
        self.sites.truncate(image.sites.len());
        self.below = Value::FALSE;
        // Stale slots would be roots of the next collection, with references into the old heap.
        self.stack.clear();
        if self.stack.capacity() > 1 << 20 {
            self.stack.shrink_to(1 << 16);
        }
    }

    /// Sets limits, cancel flag and seed for the runs that follow.
    pub fn configure(&mut self, limits: Limits, cancel: Cancel, seed: u64) {
        self.limits = limits;
        self.world.numerics = Numerics::default();
        self.max_slots = limits.depth.saturating_mul(16).max(1024);
        self.world.cancel = cancel;
        self.fuel_left = limits.fuel;
        self.world.heap.set_limit(limits.heap);
        let alarm = Alarm::new(self.world.cancel.clone(), limits.time);
        match Arc::get_mut(&mut self.world.heap.alarm) {
            Some(own) => *own = alarm,
            None => self.world.heap.alarm = Arc::new(alarm),
        }
        self.world.output.limit = limits.output;
        self.world.random = seed;
    }

    // ---- loading

    /// Gives a graph its place in the machine; returns the number of its first code.
    pub fn load(&mut self, graph: &Graph, origin: Origin, environment: EnvironmentId) -> Result<u32, Error> {
        let bytecode = dmci_compile::codegen::generate(graph, prims::set())?;
        let heap = &mut self.world.heap;
        let first_place = heap.spans.len() as u32;
        let user = origin == Origin::User;
        if user {
            for &place in &graph.places {
                heap.spans.add(place);
            }
        }
        let last_place = heap.spans.len() as u32;
        // Places of the code follow those that the heap had; a file may name some that do not exist.
        let place = |id: SpanId| match id.0 {
            0 => id,
            n if user && n <= last_place - first_place => SpanId(first_place + n),
            _ => SpanId(0),
        };
        let first_constant = self.constants.len() as u32;
        for constant in &graph.constants {
            let value = constant.to_value(heap, &place);
            self.constants.push(value);
        }
        let first_global = self.constants.len() as u32;
        for global in &graph.globals {
            let name = heap.symbols.intern(&global.name);
            let system = if global.system { self.world.environments.system_cell(name) } else { None };
            let cell = system.unwrap_or_else(|| self.world.environments.cell(heap, environment, name));
            self.constants.push(cell);
        }
        // A file may have been compiled for any precision.
        for i in first_constant..first_global {
            self.constants[i as usize] = self.world.fit_all(self.constants[i as usize]);
        }
        let first_site = self.sites.len() as u32;
        let first_code = self.codes.len() as u32;
        if first_code as usize + bytecode.codes.len() >= 1 << 24 {
            return Err(Diagnostic::error(ErrorCode::E0408, "too many procedures were loaded"));
        }
        for mut site in bytecode.sites {
            site.function += first_code;
            self.sites.push(site);
        }
        for mut code in bytecode.codes {
            for instr in &mut code.instrs {
                match instr {
                    Instr::Const { k, .. } | Instr::EmptyCell { k, .. } => *k += first_constant,
                    Instr::Global { k, .. } | Instr::SetGlobal { k, .. } | Instr::Define { k, .. } => {
                        *k += first_global
                    }
                    Instr::Closure { site, .. } => *site += first_site,
                    Instr::TailCall { place: p, .. } => *p = if user { place(SpanId(*p)).0 } else { 0 },
                    _ => {}
                }
            }
            if user {
                code.places.iter_mut().for_each(|p| p.1 = place(p.1));
            } else {
                code.places = Box::new([]);
            }
            self.world.procedure_names.push(code.name.as_deref().map(Arc::from));
            self.codes.push(Arc::new(LoadedCode { code, user }));
        }
        Ok(first_code)
    }

    pub(crate) fn image(&self) -> &Arc<Image> {
        &self.image
    }

    pub(crate) fn raise_error(&self) -> Value {
        self.image.raise_error
    }

    /// Runs a loaded code without arguments.
    pub fn run_code(&mut self, code: u32) -> Result<Value, Error> {
        let closure = self.world.heap.alloc(Kind::Closure, &[Value::packed(code.into())]);
        self.call(closure, &[])
    }

    /// Calls a procedure with arguments from outside.
    pub fn call(&mut self, f: Value, args: &[Value]) -> Result<Value, Error> {
        self.stack.clear();
        self.stack.resize(1024.max(args.len() + 64), Value::UNSPECIFIED);
        self.below = Value::FALSE;
        self.below_len = 0;
        self.fp = 3;
        self.stack[0] = Value::packed(0);
        self.stack[1] = Value::packed(0);
        self.stack[2] = f;
        self.stack[3..3 + args.len()].copy_from_slice(args);
        self.start_slice();
        self.interpret(args.len())
    }

    // ---- limits

    fn start_slice(&mut self) {
        self.slice = SLICE.min(self.fuel_left.min(i64::MAX as u64) as i64);
        self.world.heap.poll = self.slice;
        self.world.heap.poll_taken = 0;
    }

    /// Looks at fuel, flag, clock and heap; `top` is the end of the live stack.
    #[cold]
    pub(crate) fn poll(&mut self, top: usize) -> Result<(), Error> {
        if self.arms.running() {
            return Err(self.leave_arm("an arm takes too many steps or too much memory"));
        }
        self.account()?;
        if self.world.heap.wants_collection() {
            let live = self.collect(top);
            // Close to the limit every collection would free next to nothing.
            let most = self.world.heap.max_words();
            if live.is_none_or(|live| live > most - most / 8) {
                return Err(self.world.heap.out_of_memory());
            }
        }
        self.world.heap.ensure(0)?;
        self.start_slice();
        Ok(())
    }

    /// Steps that are left.
    pub(crate) fn fuel_left(&self) -> u64 {
        self.fuel_left
    }

    /// Steps that the run has taken; inside of arms, only their difference means something.
    pub(crate) fn steps(&self) -> u64 {
        let heap = &self.world.heap;
        (self.limits.fuel - self.fuel_left).saturating_add((self.slice - heap.poll - heap.poll_taken).max(0) as u64)
    }

    /// Looks at flag, clock and memory.
    pub(crate) fn check_time(&self) -> Result<(), Error> {
        self.world.heap.look()
    }

    /// Looks at fuel, flag and clock, and starts a new slice of steps.
    pub(crate) fn account(&mut self) -> Result<(), Error> {
        let heap = &self.world.heap;
        let used = (self.slice - heap.poll - heap.poll_taken).max(0) as u64;
        if used > self.fuel_left {
            self.fuel_left = 0;
            return Err(Diagnostic::error(
                ErrorCode::E0401,
                format!("the program took more than {} steps", self.limits.fuel),
            )
            .help("look for a loop that does not end, or raise the limit with ‹fuel›"));
        }
        self.fuel_left -= used;
        self.check_time()?;
        self.start_slice();
        Ok(())
    }

    /// Collects garbage; every live value is below `top` on the stack or in a root. Returns the
    /// words that are left.
    fn collect(&mut self, top: usize) -> Option<usize> {
        let top = top.min(self.stack.len());
        let first_local = self.image.constants.len();
        let World { heap, environments, handlers, winders, shown, .. } = &mut self.world;
        shown.get_mut().clear();
        let stack = &mut self.stack;
        let constants = &mut self.constants[first_local..];
        let below = &mut self.below;
        let live = heap.collect(|visit| {
            stack[..top].iter_mut().for_each(&mut *visit);
            constants.iter_mut().for_each(&mut *visit);
            environments.roots(visit);
            visit(handlers);
            visit(winders);
            visit(below);
        });
        // Slots above the top are read before they are written only as dead values, but the next
        // collection must not find references into the space that is gone.
        self.stack[top..].fill(Value::UNSPECIFIED);
        live
    }

    /// Makes room for `slots` stack slots.
    #[cold]
    pub(crate) fn grow_stack(&mut self, slots: usize) -> Result<(), Error> {
        if slots > self.max_slots {
            return Err(Diagnostic::error(
                ErrorCode::E0403,
                format!("calls are nested more than {} deep", self.limits.depth),
            )
            .help("make the recursion a tail call, or raise the limit with ‹depth›"));
        }
        // The stack counts towards the memory of the program.
        let left = (self.limits.heap / 8).saturating_sub(2 * self.world.heap.live_words());
        let len = (self.stack.len() * 2).min(self.max_slots).min(left).max(slots);
        if slots > left || self.stack.try_reserve_exact(len - self.stack.len()).is_err() {
            return Err(self.world.heap.out_of_memory());
        }
        self.stack.resize(len, Value::UNSPECIFIED);
        Ok(())
    }

    // ---- places

    /// The application in the user's text that is being evaluated: the innermost one whose frame
    /// is in the user's code, or from which a library procedure or an interpreted one was entered.
    pub(crate) fn place(&self, pc: usize) -> SpanId {
        let (mut fp, mut code, mut pc) = (self.fp, self.code as usize, pc);
        loop {
            if self.codes[code].user {
                let place = self.codes[code].code.place(pc);
                if place != SpanId(0) {
                    return place;
                }
            }
            if fp < 3 {
                return SpanId(0);
            }
            let h0 = self.stack[fp - 3].packed_bits();
            let h1 = self.stack[fp - 2].packed_bits();
            if h0 & 0xFF_FFFF != 0 {
                return SpanId((h0 & 0xFF_FFFF) as u32);
            }
            let delta = (h1 >> 24) as usize;
            if delta == 0 {
                return self.place_below(self.below, self.below_len);
            }
            code = (h1 & 0xFF_FFFF) as usize;
            pc = ((h0 >> 24) as usize).saturating_sub(1);
            fp -= delta;
        }
    }

    /// The same for frames that a continuation object holds.
    fn place_below(&self, mut below: Value, mut len: usize) -> SpanId {
        let heap = &self.world.heap;
        while let Some(k) = heap.as_kind(below, Kind::Continuation) {
            let word = |i: usize| heap.field(k, crate::calls::SAVED + i).packed_bits();
            while len >= 2 {
                let (h0, h1) = (word(len - 2), word(len - 1));
                if h0 & 0xFF_FFFF != 0 {
                    return SpanId((h0 & 0xFF_FFFF) as u32);
                }
                let delta = (h1 >> 24) as usize;
                if delta == 0 {
                    break;
                }
                let code = &self.codes[(h1 & 0xFF_FFFF) as usize];
                if code.user {
                    let place = code.code.place(((h0 >> 24) as usize).saturating_sub(1));
                    if place != SpanId(0) {
                        return place;
                    }
                }
                len -= delta;
            }
            (below, len) = crate::calls::below_of(heap, k);
        }
        SpanId(0)
    }

    /// Gives the place of the instruction at `pc` to what it recorded.
    #[cold]
    pub(crate) fn place_nodes(&mut self, pc: usize) {
        let place = self.place(pc);
        if let Some(recording) = &mut self.world.recording {
            if self.world.explaining {
                recording.place_nodes(place);
            }
            recording.explanation.settle(place);
        }
        self.world.placing = self.world.explaining;
    }

    /// The diagnostic for an object that was raised and not caught.
    pub(crate) fn uncaught(&mut self, object: Value) -> Error {
        let text = self.world.uncaught_text(object);
        match self.world.heap.as_condition(object) {
            Some(r) => self.world.heap.condition_diagnostic(r, text),
            None => Diagnostic::error(ErrorCode::E0308, text)
                .help("raise a condition made by (error message irritant ...), or catch it with guard"),
        }
    }

    /// The place to report for an error at instruction `pc`.
    pub(crate) fn error_place(&mut self, pc: usize) -> Place {
        self.world.error_place.take().unwrap_or_else(|| {
            // An unbound or unset variable is shown itself, everything else by its form.
            let code = &self.codes[self.code as usize];
            let variable =
                matches!(code.code.instrs.get(pc), Some(Instr::Global { .. } | Instr::CellRefChecked { .. }));
            Place { id: self.place(pc), car: variable && code.user }
        })
    }
}
