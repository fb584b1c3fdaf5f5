//! Traced numbers: numbers that depend on a parameter or an input. Arithmetic on them is recorded;
//! everything else treats them as the numbers they are.
//!
//! A traced number is a heap cell of a tape node and its value in the lane being walked. Every
//! operation first computes the plain result on plain values, so errors and exactness are those of
//! an ordinary run; then it is recorded. Where a program needs to know a traced boolean, the
//! outcome becomes a guard; where it needs the very bits of a traced number, so does their equality
//! to what they are here (the number is *pinned*).

mod derive;
pub(crate) mod explain;
mod integers;
mod rules;
pub mod soft;
mod tensors;
mod texts;

pub use derive::PRIMITIVES;
pub use explain::{Decided, Explanation};
pub(crate) use rules::call;
pub use soft::{Choices, SoftChoice};
pub use tensors::procedure_name;
pub(crate) use tensors::{Operand, shape_name};
pub use texts::{Ending, LaneText, Piece};

use crate::loops::HeadState;
use crate::world::World;
use dmci_ops::{Build, Op, Type};
use dmci_tape::{LeafKind, NodeId, Recorder};
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Heap, Kind, SpanId, Value, num};
use explain::Note;
use rustc_hash::{FxHashMap, FxHashSet};

/// What an evaluation records into.
#[derive(Debug, Default)]
pub struct Recording {
    /// The tape so far.
    pub recorder: Recorder,
    /// Traced numbers of another epoch are plain numbers by now: their part of the tape is gone.
    epoch: u32,
    /// Derivatives that are being taken by the program itself.
    depth: u32,
    /// The caller wants the tape; otherwise it only serves derivatives inside the program.
    wanted: bool,
    /// Most nodes.
    pub limit: usize,
    /// What became of decisions, and which numbers were pinned where.
    pub explanation: Explanation,
    /// The error that the run has ended with.
    pub ending: Ending,
    /// How often arms did not meet, by decision.
    pub(crate) parted: FxHashMap<u64, u32>,
    /// Decisions whose arms met because of what was chosen in the one that the recorded lane does not take.
    pub(crate) chosen: FxHashSet<u64>,
    /// Decisions whose arms are being tried.
    pub(crate) trying: Vec<u64>,
    /// A loop was found behind many of its rounds.
    pub late_loop: bool,
    /// Steps spent on rounds that turned out to be no loop.
    pub(crate) wasted: u64,
    /// Steps spent on arms that did not meet.
    pub(crate) wasted_on_arms: u64,
    /// Decisions whose arms have met.
    pub(crate) met: FxHashSet<u64>,
    /// Heads of loops.
    pub(crate) heads: FxHashMap<u64, HeadState>,
    time: u64,
}

impl Recording {
    /// Counts events.
    pub(crate) fn next_time(&mut self) -> u64 {
        self.time += 1;
        self.time
    }

    /// Whether the tape is the caller's, and no derivative inside the program is being taken.
    pub(crate) fn is_outermost(&self) -> bool {
        self.wanted && self.depth == 0
    }

    /// Gives the nodes that have none yet a place.
    pub(crate) fn place_nodes(&mut self, place: SpanId) {
        self.recorder.place_new(place.0);
    }
}

/// Plain arithmetic on two values.
type Plain = fn(&mut Heap, Value, Value) -> Result<Value, Error>;

/// Words that a node of a tape takes, with the room that its lists keep for more.
const WORDS_OF_NODE: usize = 8;

/// Nodes that most programs need, at least.
const USUAL_NODES: usize = 64;

impl World {
    /// Events of the recording so far.
    pub(crate) fn time(&self) -> u64 {
        self.recording.as_ref().map_or(0, |r| r.time)
    }

    /// Operations that a tape may have: so many, and no more than the memory of the run holds.
    pub(crate) fn longest_tape(&self, limit: usize) -> usize {
        limit.min(2 * (self.heap.max_words() / WORDS_OF_NODE))
    }

    /// Starts recording; the tape is kept to the end of the run.
    pub fn start_recording(&mut self, limit: usize) {
        let limit = self.longest_tape(limit);
        let mut recorder = if self.numerics.single { Recorder::single() } else { Recorder::new() };
        recorder.reserve(USUAL_NODES);
        self.recording = Some(Box::new(Recording { wanted: true, limit, recorder, ..Recording::default() }));
    }

    /// Whether a value is more than a plain number or structure: a traced one, or a tensor.
    #[inline]
    pub(crate) fn needs_rule(&self, v: Value) -> bool {
        v.is_traced() || self.is_tensor(v)
    }

    /// A plain value in the precision of the evaluation.
    #[inline]
    pub fn fit(&self, v: Value) -> Value {
        match v.as_real() {
            Some(x) if self.numerics.single => Value::real_result(x as f32 as f64),
            _ => v,
        }
    }

    /// Data from outside, such as the literals of a program, in the precision of the evaluation. Nobody has seen them
    /// yet, so pairs and vectors, which are trees, are changed where they are.
    pub fn fit_all(&mut self, v: Value) -> Value {
        if !self.numerics.single {
            return v;
        }
        let root = self.fit_datum(v);
        let mut todo = vec![root];
        while let Some(v) = todo.pop() {
            let Some(r) = v.as_ref().filter(|r| matches!(self.heap.kind(*r), Kind::Pair | Kind::Vector)) else {
                continue;
            };
            for (i, item) in self.heap.fields(r).enumerate().collect::<Vec<_>>() {
                let fitted = self.fit_datum(item);
                if fitted != item {
                    self.heap.store(r, i, fitted);
                }
                todo.push(fitted);
            }
        }
        root
    }

    /// A number or tensor in the precision of the evaluation.
    fn fit_datum(&mut self, v: Value) -> Value {
        match self.heap.as_tensor(v) {
            Some((shape, bits)) => {
                let bits: Vec<u64> = bits.iter().map(|&bits| dmci_ops::op::single(bits)).collect();
                self.heap.tensor(shape, &bits)
            }
            None => self.fit(v),
        }
    }

    /// The plain result of a function in the precision of the evaluation: some have kernels of their own in single
    /// precision. Integers beyond the reals are left to the ordinary form.
    fn fit_result(&self, op: Op, operands: &[Value], result: Value) -> Value {
        if !self.numerics.single || !op.has_single_kernel() || !result.is_real() {
            return self.fit(result);
        }
        let mut bits = [0; dmci_ops::MAX_ARITY];
        for (bits, &v) in bits.iter_mut().zip(operands) {
            match num::Number::of(&self.heap, v) {
                None | Some(num::Number::Big(_)) => return self.fit(result),
                Some(number) => *bits = number.to_f64().to_bits(),
            }
        }
        Value::real_result(f64::from_bits(op.eval_in(true, bits)))
    }

    /// A traced number for a new parameter or input.
    pub fn traced_leaf(&mut self, name: &str, kind: LeafKind, value: f64) -> Value {
        let plain = self.fit(Value::real(value));
        let Some(recording) = &mut self.recording else { return plain };
        let node = recording.recorder.leaf(name, kind, value);
        self.traced_value(node, plain)
    }

    /// A traced exact integer for a new input.
    pub fn traced_integer(&mut self, name: &str, kind: LeafKind, value: i64) -> Value {
        let plain = Value::fixnum(value);
        let Some(recording) = &mut self.recording else { return plain };
        let node = recording.recorder.int_leaf(name, kind, value);
        self.traced_value(node, plain)
    }

    pub(crate) fn traced_value(&mut self, node: NodeId, value: Value) -> Value {
        let epoch = self.recording.as_ref().map_or(0, |r| r.epoch) as u64;
        self.heap.alloc(Kind::Traced, &[Value::packed((epoch & 0xFFFF) << 32 | node.0 as u64), value])
    }

    /// The tape node of a value that is still traced.
    pub fn node_of(&self, v: Value) -> Option<NodeId> {
        let r = self.heap.as_kind(v, Kind::Traced)?;
        let recording = self.recording.as_ref()?;
        let bits = self.heap.field(r, 0).packed_bits();
        (bits >> 32 == (recording.epoch & 0xFFFF) as u64).then_some(NodeId(bits as u32))
    }

    /// The plain value of a value.
    pub fn plain(&self, v: Value) -> Value {
        match self.heap.as_kind(v, Kind::Traced) {
            Some(r) => self.heap.field(r, 1),
            None => v,
        }
    }

    fn recorder(&mut self) -> Result<&mut Recorder, Error> {
        let Some(recording) = &mut self.recording else {
            return Err(Diagnostic::error(ErrorCode::E9901, "there is no tape"));
        };
        if recording.recorder.len() + recording.recorder.element_count() / 8 > recording.limit {
            let limit = recording.limit;
            return Err(Diagnostic::error(
                ErrorCode::E0410,
                format!("the recorded path has more than {limit} operations"),
            )
            .help("record a shorter run, or raise the limit with ‹heap›"));
        }
        Ok(&mut recording.recorder)
    }

    /// The node of a real operand: its own, or a constant. `v` is known to be a number.
    fn real_node(&mut self, v: Value) -> Result<NodeId, Error> {
        if let Some(node) = self.node_of(v) {
            let recorder = self.recorder()?;
            let exact = recorder.tape().type_of(node) == Type::Int;
            return Ok(if exact { recorder.op(Op::ToReal, &[node]) } else { node });
        }
        let plain = self.plain(v);
        let x = num::Number::of(&self.heap, plain).map_or(f64::NAN, |n| n.to_f64());
        Ok(self.recorder()?.real(x))
    }

    /// Records an operation whose plain result is known.
    fn record(&mut self, op: Op, args: &[Value], plain: Value) -> Result<Value, Error> {
        let mut nodes = [NodeId(0); dmci_ops::MAX_ARITY];
        for (slot, &arg) in nodes.iter_mut().zip(args) {
            *slot = self.real_node(arg)?;
        }
        let plain = self.fit(plain);
        let recorder = self.recorder()?;
        let node = recorder.op(op, &nodes[..args.len()]);
        debug_assert!(
            plain.as_real().is_none_or(|x| x.to_bits() == recorder.bits(node) || x.is_nan())
                && (!plain.is_boolean() || plain.is_true() == (recorder.bits(node) != 0)),
            "{op:?} recorded {} for {plain:?}",
            recorder.value(node)
        );
        Ok(self.traced_value(node, plain))
    }

    /// Whether any of the values is on the tape.
    fn any_traced(&self, args: &[Value]) -> bool {
        args.iter().any(|&v| self.node_of(v).is_some())
    }

    /// The plain values of two operands. In single precision, an exact one beside a real is rounded
    /// before it is used, as it is on the tape.
    fn operands(&self, a: Value, b: Value) -> (Value, Value) {
        let (x, y) = (self.fit(self.plain(a)), self.fit(self.plain(b)));
        if x.is_real() == y.is_real() { (x, y) } else { (self.rounded(x), self.rounded(y)) }
    }

    /// The plain value of an operand of a real function: in single precision, an exact one is rounded as on the tape.
    fn rounded(&self, v: Value) -> Value {
        let plain = self.fit(self.plain(v));
        if !self.numerics.single {
            return plain;
        }
        match num::Number::of(&self.heap, plain).map(|n| n.to_f64()) {
            Some(x) if x as f32 as f64 != x => Value::real(x as f32 as f64),
            _ => plain,
        }
    }

    /// Whether an exact integer lies between two reals, so that comparing a real with it is not
    /// comparing two reals.
    fn between_reals(&mut self, v: Value) -> Result<bool, Error> {
        if self.heap.as_kind(v, Kind::Bignum).is_none() {
            return Ok(false);
        }
        let real = num::Number::of(&self.heap, v).map_or(f64::NAN, |n| n.to_f64());
        Ok(!num::equal(&mut self.heap, v, Value::real(real))?.is_true())
    }

    /// A binary operation: plain first, then on the tape if an operand is traced.
    fn binary(&mut self, op: Op, plain: Plain, a: Value, b: Value) -> Result<Value, Error> {
        let (x, y) = self.operands(a, b);
        if self.is_tensor(x) || self.is_tensor(y) {
            return self.elementwise(op, &[a, b]);
        }
        let result = plain(&mut self.heap, x, y);
        let mut result = self.noting(&[a, b], result)?;
        let exact = !x.is_real() && !y.is_real();
        if self.numerics.single && exact && op == Op::Div && result.is_real() {
            // A quotient that is no integer is that of two reals.
            let (x, y) = (self.rounded(x), self.rounded(y));
            result = plain(&mut self.heap, x, y)?;
        }
        let result = if exact { self.fit(result) } else { self.fit_result(op, &[x, y], result) };
        if !self.any_traced(&[a, b]) {
            return Ok(result);
        }
        if exact {
            return self.exact_binary(op, a, b, result);
        }
        if !result.is_real() {
            return self.pin_all(&[a, b], result);
        }
        match op {
            // A real that is zero is no error.
            Op::Div if !self.plain(b).is_real() => self.check_divisor(b)?,
            Op::Pow if self.between_reals(y)? && num::is_odd(&self.heap, y)? => return self.odd_power(a, b, result),
            _ => {}
        }
        self.record(op, &[a, b], result)
    }

    /// A comparison: a traced boolean if an operand is traced.
    fn comparison(&mut self, op: Op, plain: Plain, a: Value, b: Value) -> Result<Value, Error> {
        let (x, y) = self.operands(a, b);
        let result = plain(&mut self.heap, x, y);
        let result = self.noting(&[a, b], result)?;
        if !self.any_traced(&[a, b]) {
            return Ok(result);
        }
        if !x.is_real() && !y.is_real() {
            return self.exact_comparison(op, a, b, result);
        }
        if self.between_reals(x)? || self.between_reals(y)? {
            return self.pin_all(&[a, b], result);
        }
        self.record(op, &[a, b], result)
    }

    /// A result that is only right for these very operands.
    fn pin_all(&mut self, args: &[Value], result: Value) -> Result<Value, Error> {
        for &arg in args {
            self.pin(arg)?;
        }
        Ok(result)
    }

    /// Whether a value counts as true; a traced boolean is decided here, and the tape notes it.
    pub fn is_true(&mut self, v: Value) -> bool {
        if !v.is_traced() {
            return v.is_true();
        }
        let plain = self.plain(v);
        if plain.is_boolean()
            && let Some(node) = self.node_of(v)
            && let Some(recording) = &mut self.recording
        {
            recording.recorder.guard(node);
            self.note_guard(node, Note::Guarded);
        }
        plain.is_true()
    }

    /// Notes that lanes which come here have this outcome of a boolean node, whatever it is in the recorded lane.
    pub(crate) fn guard_as(&mut self, node: NodeId, outcome: bool) {
        if let Some(recording) = &mut self.recording {
            recording.recorder.guard_as(node, outcome);
            self.note_guard(node, Note::Guarded);
        }
    }

    /// The plain number, with a guard that it is this one.
    pub fn pin(&mut self, v: Value) -> Result<Value, Error> {
        let plain = self.plain(v);
        if self.node_of(v).is_none() {
            return Ok(plain);
        }
        if plain.is_boolean() {
            self.is_true(v);
            return Ok(plain);
        }
        if self.is_tensor(plain) {
            return self.pin_tensor(v);
        }
        let same = if plain.is_real() {
            self.record(Op::Eqv, &[v, plain], Value::TRUE)?
        } else {
            self.exact_comparison(Op::Eq, v, plain, Value::TRUE)?
        };
        self.pin_comparison(same);
        Ok(plain)
    }

    /// Notes that the path depends on what a traced number was compared with.
    fn pin_comparison(&mut self, same: Value) {
        if let (Some(node), Some(recording)) = (self.node_of(same), &mut self.recording) {
            recording.recorder.pin(node);
            self.note_pin("");
        }
    }

    /// Whether two numbers, at least one of them traced, are the same to `eqv?`: a traced boolean,
    /// or false if their exactness differs.
    fn same_number(&mut self, a: Value, b: Value) -> Result<Value, Error> {
        let (x, y) = (self.plain(a), self.plain(b));
        if x.is_boolean() || y.is_boolean() {
            let (x, y) = (self.pin(a)?, self.pin(b)?);
            return Ok(Value::boolean(x == y));
        }
        let result = Value::boolean(num::eqv(&self.heap, x, y));
        if num::is_exact_integer(&self.heap, x) && num::is_exact_integer(&self.heap, y) {
            return self.exact_comparison(Op::Eq, a, b, result);
        }
        // Tensors are the same only as the same object, like other structures.
        if !x.is_real() || !y.is_real() {
            return Ok(Value::boolean(x == y));
        }
        self.record(Op::Eqv, &[a, b], result)
    }

    /// `not` of any value.
    pub fn not(&mut self, v: Value) -> Result<Value, Error> {
        let plain = self.plain(v);
        let result = Value::boolean(plain == Value::FALSE);
        match self.node_of(v) {
            // The same decision, read the other way round: a test of it guards the node's own outcome.
            // So a branch on `(not x)` may test x instead.
            Some(node) if plain.is_boolean() => Ok(self.traced_value(node, result)),
            _ => Ok(result),
        }
    }

    /// `eq?` of any values.
    pub fn eq(&mut self, a: Value, b: Value) -> Result<Value, Error> {
        if a.is_traced() || b.is_traced() {
            return self.same_number(a, b);
        }
        Ok(Value::boolean(a == b || num::eqv(&self.heap, a, b)))
    }
}

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident $kind:ident $op:ident $plain:path;)*) => {
        $($(#[$doc])*
        pub(crate) fn $name(world: &mut World, a: Value, b: Value) -> Result<Value, Error> {
            if world.needs_rule(a) || world.needs_rule(b) || world.numerics.single {
                return world.$kind(Op::$op, $plain, a, b);
            }
            $plain(&mut world.heap, a, b)
        })*
    };
}

operations! {
    /// a + b
    add binary Add num::add;
    /// a - b
    sub binary Sub num::sub;
    /// a b
    mul binary Mul num::mul;
    /// a / b
    div binary Div num::div;
    /// The larger.
    max binary Max num::max;
    /// The smaller.
    min binary Min num::min;
    /// a = b
    equal comparison Eq num::equal;
    /// a < b
    less comparison Lt num::less;
    /// a > b
    greater comparison Gt num::greater;
    /// a <= b
    less_equal comparison Le num::less_equal;
    /// a >= b
    greater_equal comparison Ge num::greater_equal;
}
