//! Exact integers on the tape. They stay small: a result that does not fit is pinned, with a guard
//! at the place where other lanes may fit. Whether a division comes out even is decided here.

use super::explain::Note;
use crate::world::World;
use dmci_ops::{Build, INT_LIMIT, Op};
use dmci_tape::NodeId;
use dmci_value::{Error, Value};

fn small(v: Value) -> Option<i64> {
    v.as_fixnum().filter(|i| i.abs() < INT_LIMIT)
}

impl World {
    /// The node of an exact operand that is small enough for the tape.
    pub(crate) fn int_node(&mut self, v: Value) -> Result<Option<NodeId>, Error> {
        if let Some(node) = self.node_of(v) {
            return Ok(Some(node));
        }
        let plain = self.plain(v);
        match small(plain) {
            Some(i) => Ok(Some(self.recorder()?.int(i))),
            None => Ok(None),
        }
    }

    /// Records a decision on exact operands that is taken right here.
    fn decide(&mut self, op: Op, nodes: &[NodeId]) -> Result<bool, Error> {
        let recorder = self.recorder()?;
        let test = recorder.op(op, nodes);
        let outcome = recorder.guard(test);
        self.note_guard(test, Note::Checked);
        Ok(outcome)
    }

    fn int_value(&mut self, op: Op, nodes: &[NodeId]) -> Result<Value, Error> {
        let recorder = self.recorder()?;
        let node = recorder.op(op, nodes);
        let plain = Value::fixnum(recorder.bits(node) as i64);
        Ok(self.traced_value(node, plain))
    }

    /// An operation on two exact integers whose plain result is known.
    pub(super) fn exact_binary(&mut self, op: Op, a: Value, b: Value, result: Value) -> Result<Value, Error> {
        let int = match op {
            Op::Add => Op::IntAdd,
            Op::Sub => Op::IntSub,
            Op::Mul => Op::IntMul,
            Op::Min => Op::IntMin,
            Op::Max => Op::IntMax,
            Op::Div | Op::Quotient => Op::IntQuotient,
            Op::FloorQuotient => Op::IntFloorQuotient,
            Op::Remainder => Op::IntRemainder,
            Op::Modulo => Op::IntModulo,
            _ => return self.pin_all(&[a, b], result),
        };
        let (Some(x), Some(y)) = (self.int_node(a)?, self.int_node(b)?) else {
            return self.pin_all(&[a, b], result);
        };
        match op {
            Op::Mul if !self.decide(Op::IntMulFits, &[x, y])? => return self.pin_all(&[a, b], result),
            Op::Div | Op::Quotient | Op::FloorQuotient | Op::Remainder | Op::Modulo => {
                self.check_divisor(b)?;
                if op == Op::Div && !self.decide(Op::IntDivides, &[x, y])? {
                    return self.record(Op::Div, &[a, b], result);
                }
            }
            _ => {}
        }
        let node = self.recorder()?.op(int, &[x, y]);
        if matches!(op, Op::Add | Op::Sub) && !self.decide(Op::IntFits, &[node])? {
            return self.pin_all(&[a, b], result);
        }
        Ok(self.traced_value(node, result))
    }

    /// Another lane may divide by zero: there it is an error.
    pub(super) fn check_divisor(&mut self, b: Value) -> Result<(), Error> {
        let Some(node) = self.node_of(b) else { return Ok(()) };
        let exact = !self.plain(b).is_real();
        let recorder = self.recorder()?;
        let (op, zero) = if exact { (Op::IntEq, recorder.int(0)) } else { (Op::Eq, recorder.real(0.0)) };
        self.decide(op, &[node, zero])?;
        Ok(())
    }

    /// Operands of an integer division, of which at least one is a real: it has no fraction here, but in another lane
    /// it may have one.
    pub(super) fn check_division(&mut self, a: Value, b: Value) -> Result<(), Error> {
        for v in [a, b] {
            if let Some(node) = self.node_of(v).filter(|_| self.plain(v).is_real()) {
                self.decide(Op::IsInteger, &[node])?;
            }
        }
        self.check_divisor(b)
    }

    /// Decides that a traced number is none of these here, for which there are functions of their own.
    pub(super) fn differs_from(&mut self, v: Value, numbers: &[f64]) -> Result<(), Error> {
        if self.node_of(v).is_none() {
            return Ok(());
        }
        let node = self.real_node(v)?;
        for &number in numbers {
            let number = self.recorder()?.real(number);
            self.decide(Op::Eq, &[node, number])?;
        }
        Ok(())
    }

    /// A power whose exponent is an odd integer that rounds to an even real: below zero, its sign is not that of the
    /// operation.
    pub(super) fn odd_power(&mut self, base: Value, exponent: Value, result: Value) -> Result<Value, Error> {
        let node = self.real_node(base)?;
        let zero = self.recorder()?.real(0.0);
        if self.decide(Op::Gt, &[node, zero])? {
            return self.record(Op::Pow, &[base, exponent], result);
        }
        self.pin_all(&[base], result)
    }

    /// A comparison of two exact integers whose plain result is known.
    pub(super) fn exact_comparison(&mut self, op: Op, a: Value, b: Value, result: Value) -> Result<Value, Error> {
        let (Some(x), Some(y)) = (self.int_node(a)?, self.int_node(b)?) else {
            return self.pin_all(&[a, b], result);
        };
        let (op, nodes) = match op {
            Op::Lt => (Op::IntLt, [x, y]),
            Op::Le => (Op::IntLe, [x, y]),
            Op::Gt => (Op::IntLt, [y, x]),
            Op::Ge => (Op::IntLe, [y, x]),
            _ => (Op::IntEq, [x, y]),
        };
        let node = self.recorder()?.op(op, &nodes);
        Ok(self.traced_value(node, result))
    }

    /// A function of one exact integer whose plain result is known.
    pub(super) fn exact_unary(&mut self, op: Op, arg: Value, result: Value) -> Result<Value, Error> {
        let Some(x) = self.int_node(arg)? else { return self.pin_all(&[arg], result) };
        match op {
            Op::Abs => self.int_value(Op::IntAbs, &[x]),
            Op::Neg => {
                let zero = self.recorder()?.int(0);
                self.int_value(Op::IntSub, &[zero, x])
            }
            Op::Floor | Op::Ceiling | Op::Round | Op::Truncate => Ok(arg),
            Op::Sqrt => self.exact_sqrt(x, result),
            _ if result.is_real() => self.record(op, &[arg], result),
            _ => self.pin_all(&[arg], result),
        }
    }

    /// The square root is exact if the square of its whole part is the number.
    fn exact_sqrt(&mut self, x: NodeId, result: Value) -> Result<Value, Error> {
        let recorder = self.recorder()?;
        let real = recorder.op(Op::ToReal, &[x]);
        let root = recorder.op(Op::Sqrt, &[real]);
        let whole = recorder.op(Op::Floor, &[root]);
        let whole = recorder.op(Op::ToInt, &[whole]);
        let square = recorder.op(Op::IntMul, &[whole, whole]);
        let exact = self.decide(Op::IntEq, &[square, x])?;
        Ok(self.traced_value(if exact { whole } else { root }, result))
    }

    /// The exact integer that a traced real is known to be here.
    pub(super) fn exact_of_real(&mut self, real: Value, result: Value) -> Result<Value, Error> {
        let x = self.real_node(real)?;
        if !self.decide(Op::IsInt, &[x])? {
            return self.pin_all(&[real], result);
        }
        self.int_value(Op::ToInt, &[x])
    }

    /// Whether an exact integer is even.
    pub(super) fn exact_even(&mut self, arg: Value, result: Value, even: bool) -> Result<Value, Error> {
        let Some(x) = self.int_node(arg)? else { return self.pin_all(&[arg], result) };
        let recorder = self.recorder()?;
        let (two, rest) = (recorder.int(2), recorder.int(if even { 0 } else { 1 }));
        let modulo = recorder.op(Op::IntModulo, &[x, two]);
        let node = recorder.op(Op::IntEq, &[modulo, rest]);
        Ok(self.traced_value(node, result))
    }

    /// The traced index as a node, with guards that it is inside of `0..n`; it is known to be.
    pub(super) fn index_node(&mut self, index: Value, n: usize) -> Result<NodeId, Error> {
        let Some(i) = self.int_node(index)? else {
            return Ok(self.recorder()?.int(0));
        };
        let recorder = self.recorder()?;
        let (zero, n) = (recorder.int(0), recorder.int(n as i64));
        self.decide(Op::IntLe, &[zero, i])?;
        self.decide(Op::IntLt, &[i, n])?;
        Ok(i)
    }
}

/// Selections between the values of two arms.
impl World {
    /// The node that is true where a traced boolean is.
    pub(crate) fn boolean_node(&mut self, v: Value) -> Result<Option<NodeId>, Error> {
        let plain = self.plain(v);
        let Some(node) = self.node_of(v).filter(|_| plain.is_boolean()) else { return Ok(None) };
        let recorder = self.recorder()?;
        // A boolean may be the negation of its node.
        let same = (recorder.bits(node) != 0) == plain.is_true();
        Ok(Some(if same { node } else { recorder.op(Op::Not, &[node]) }))
    }

    /// The same for any boolean.
    pub(crate) fn boolean_or_constant(&mut self, v: Value) -> Result<NodeId, Error> {
        if let Some(node) = self.boolean_node(v)? {
            return Ok(node);
        }
        let truth = self.plain(v).is_true();
        let recorder = self.recorder()?;
        let (zero, other) = (recorder.int(0), recorder.int(if truth { 0 } else { 1 }));
        Ok(recorder.op(Op::IntEq, &[zero, other]))
    }

    /// The first of two numbers or tensors where `test` holds, else the second; `None` if one cannot
    /// be a tape value.
    pub(crate) fn selected(&mut self, op: Op, test: NodeId, a: Value, b: Value) -> Result<Option<Value>, Error> {
        if op == Op::IntSelect {
            let (Some(x), Some(y)) = (self.int_node(a)?, self.int_node(b)?) else { return Ok(None) };
            return self.int_value(op, &[test, x, y]).map(Some);
        }
        let (x, y) = (self.value_node(a)?, self.value_node(b)?);
        let recorder = self.recorder()?;
        let node = recorder.op(op, &[test, x, y]);
        let (shape, elements) = (recorder.shape(node), recorder.elements(node).to_vec());
        let plain = self.plain_value(shape, &elements)?;
        Ok(Some(self.traced_value(node, plain)))
    }
}
