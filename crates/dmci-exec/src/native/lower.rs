//! Operations of a tape as vector instructions.
//!
//! A boolean is a mask, all bits or none. What is not a number may have any sign and payload inside of
//! the code; where its bits can be seen, it is made the one that operations give.

use super::ir::{Action, Builder, DOWN, EQUAL, LESS, LESS_EQUAL, TO_ZERO, UNORDERED, UP, Value};
use dmci_ops::arith::{Arith, SIGN};
use dmci_ops::real::kernel;
use dmci_ops::{INT_LIMIT, Op, Type};

/// How a value is represented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A real; a NaN may have any bits.
    Real,
    /// The very bits: an integer, a boolean as 0 or 1, or a real as operations give it.
    Bits,
    /// All bits set, or none.
    Mask,
    /// A real with the other sign, since sums and products take it as well.
    Negated,
}

/// A value and its form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Formed {
    pub value: Value,
    pub form: Form,
    /// It is of single precision, or comes from comparing such numbers, and in the lower half of a vector.
    pub short: bool,
}

impl Formed {
    pub fn new(value: Value, form: Form) -> Formed {
        Formed { value, form, short: false }
    }
}

impl Builder {
    /// The value with the bits that the block interpreter would have.
    pub fn exact_bits(&mut self, x: Formed) -> Value {
        if x.short {
            return self.exact_bits_of_short(x);
        }
        match x.form {
            Form::Bits => x.value,
            Form::Mask => self.shr(x.value, 63),
            Form::Negated => {
                let real = self.upright(x);
                self.exact_bits(real)
            }
            Form::Real => {
                let (unordered, nan) = (self.compare(UNORDERED, x.value, x.value), self.real(f64::NAN));
                self.select(unordered, nan, x.value)
            }
        }
    }

    /// A boolean as a mask.
    pub fn mask(&mut self, x: Formed) -> Value {
        if x.form == Form::Mask {
            return if self.packed { x.value } else { self.lengthened(x).value };
        }
        let zero = self.bits(0);
        let is_zero = self.int_equal(x.value, zero);
        self.not(is_zero)
    }

    /// The value with its own sign.
    pub fn upright(&mut self, x: Formed) -> Formed {
        if x.form != Form::Negated {
            return x;
        }
        let value = self.while_packed(self.packed || x.short, |this| {
            let sign = this.bits(SIGN);
            this.xor(x.value, sign)
        });
        self.opposites.insert(value, x.value);
        Formed { value, form: Form::Real, short: x.short }
    }

    /// An operation that takes operands of either sign: what it is instead, and the form of its result.
    /// No bit changes: products are symmetric, and so is a sum of which one part is taken away.
    fn with_signs(&mut self, op: Op, a: Formed, b: Formed) -> (Value, Form) {
        let negated = |x: Formed| x.form == Form::Negated;
        let form = if negated(a) != negated(b) { Form::Negated } else { Form::Real };
        match op {
            Op::Mul => self.product(a.value, b.value, form),
            Op::Div => (self.divided(a.value, b.value), form),
            Op::Add if negated(a) && !negated(b) => (self.sub(b.value, a.value), Form::Real),
            Op::Add if negated(b) => {
                let a = self.upright(a);
                (self.sub(a.value, b.value), Form::Real)
            }
            Op::Sub if negated(b) => {
                let a = self.upright(a);
                (self.add(a.value, b.value), Form::Real)
            }
            Op::Sub => {
                let a = self.upright(a);
                (self.sub(a.value, b.value), Form::Real)
            }
            _ => (self.add(a.value, b.value), Form::Real),
        }
    }

    /// A product of such a form; what some factors do is done with fewer instructions, or beside other products.
    fn product(&mut self, a: Value, b: Value, form: Form) -> (Value, Form) {
        let (factor, other) = match self.constant(a) {
            Some(x) => (x, b),
            None => (self.constant(b).unwrap_or(f64::NAN), a),
        };
        match factor {
            1.0 => (other, form),
            -1.0 => (other, if form == Form::Negated { Form::Real } else { Form::Negated }),
            2.0 => (self.add(other, other), form),
            _ => (self.mul(a, b), form),
        }
    }

    /// Whether an operation takes operands of either sign.
    pub fn takes_signs(op: Op) -> bool {
        matches!(op, Op::Neg | Op::Add | Op::Sub | Op::Mul | Op::Div)
    }

    /// Whether what a selection selects has the other sign, or is a number that can be given it.
    pub fn selects_opposites(&self, [_, b, c]: [Formed; 3]) -> bool {
        b.form == Form::Negated && (c.form == Form::Negated || self.constant(c.value).is_some())
    }

    fn selected_opposite(&mut self, [a, b, c]: [Formed; 3]) -> Formed {
        let test = self.mask(a);
        let value = match self.constant(c.value).filter(|_| c.form != Form::Negated) {
            Some(x) if (-x).to_bits() == 0 => self.and(test, b.value),
            Some(x) => {
                let opposite = self.real(-x);
                self.select(test, b.value, opposite)
            }
            None => self.select(test, b.value, c.value),
        };
        Formed::new(value, Form::Negated)
    }

    /// An operation. Operands have their own signs, unless it takes either.
    pub fn operation(&mut self, op: Op, args: [Formed; 3]) -> Formed {
        if self.short { self.rounded_operation(op, args) } else { self.operation_on_all(op, args) }
    }

    /// The same on numbers of the precision that they are in now; in double precision, without rounding.
    pub(super) fn operation_on_all(&mut self, op: Op, args: [Formed; 3]) -> Formed {
        let [a, b, c] = args;
        if op == Op::Neg {
            let form = if a.form == Form::Negated { Form::Real } else { Form::Negated };
            return Formed::new(a.value, form);
        }
        if op == Op::Select && self.selects_opposites(args) {
            return self.selected_opposite(args);
        }
        if Builder::takes_signs(op) {
            let (value, form) = self.with_signs(op, a, b);
            return Formed::new(value, form);
        }
        self.merging = op.has_kernel();
        let value = match op.has_kernel() {
            true if self.packed && op.has_single_kernel() => op.single_kernel(self, a.value, b.value),
            true if self.packed => self.kernel_in_halves(op, args),
            _ => self.inline(op, a, b, c),
        };
        self.merging = false;
        let value = match value {
            Some(value) => value,
            None => return self.called(op, args),
        };
        let form = match op.result() {
            Type::Real => Form::Real,
            Type::Int => Form::Bits,
            Type::Bool => Form::Mask,
        };
        Formed::new(value, form)
    }

    fn called(&mut self, op: Op, args: [Formed; 3]) -> Formed {
        let n = op.operands().len();
        let operands: Vec<Value> = args[..n].iter().map(|&x| self.exact_bits(x)).collect();
        let value = self.push(Action::Call(op), &operands);
        Formed::new(value, if op.result() == Type::Real { Form::Real } else { Form::Bits })
    }

    /// Instructions for an operation that takes no signs; none for one whose row says that it is called.
    pub(super) fn inline(&mut self, op: Op, fa: Formed, fb: Formed, fc: Formed) -> Option<Value> {
        let (a, b) = (fa.value, fb.value);
        if let Some(value) = op.kernel(self, a, b) {
            return Some(value);
        }
        Some(match op {
            Op::Same | Op::Stop | Op::Linear => a,
            Op::Abs => self.abs(a),
            Op::Sign => {
                let [zero, one, minus] = [0.0, 1.0, -1.0].map(|x| self.real(x));
                let (above, below) = (self.lt(zero, a), self.lt(a, zero));
                let result = self.select(above, one, a);
                self.select(below, minus, result)
            }
            Op::Sqrt | Op::Root => self.sqrt(a),
            Op::Ratio => {
                let quotient = self.div(a, b);
                self.nothing_if_zero(b, quotient)
            }
            Op::Gate | Op::Weigh => {
                let product = self.mul(a, b);
                self.nothing_if_zero(b, product)
            }
            Op::Counts | Op::Counted => {
                let (zero, infinity, size) = (self.real(0.0), self.real(f64::INFINITY), self.abs(a));
                let (weightless, finite) = (self.eq(b, zero), self.lt(size, infinity));
                let out = self.without(finite, weightless);
                let what = if op == Op::Counts { self.real(1.0) } else { a };
                self.without(out, what)
            }
            Op::PowBase => {
                let one = self.real(1.0);
                let less = self.sub(b, one);
                let power = kernel::pow(self, a, less);
                let product = self.mul(b, power);
                self.nothing_if_zero(b, product)
            }
            Op::PowExponent => {
                let (power, log) = (kernel::pow(self, a, b), kernel::log(self, a));
                let product = self.mul(power, log);
                let zero = self.real(0.0);
                let (at_zero, positive) = (self.eq(a, zero), self.lt(zero, b));
                let nothing = self.and(at_zero, positive);
                self.without(nothing, product)
            }
            Op::Relu => {
                let zero = self.real(0.0);
                let above = self.greater(zero, a);
                self.add(above, zero)
            }
            Op::Min | Op::Max => {
                let least = op == Op::Min;
                let one = if least { self.lesser(a, b) } else { self.greater(a, b) };
                let other = if least { self.lesser(b, a) } else { self.greater(b, a) };
                // They differ only for zeros of different signs, and if one is NaN.
                let result = if least { self.or(one, other) } else { self.and(one, other) };
                self.nan_if_unordered(a, b, result)
            }
            Op::Share => {
                let (less, equal) = (self.lt(a, b), self.eq(a, b));
                let (one, half) = (self.real(1.0), self.real(0.5));
                let (one, half) = (self.and(less, one), self.and(equal, half));
                let result = self.or(one, half);
                self.nan_if_unordered(a, b, result)
            }
            Op::Floor => self.rounded(DOWN, a),
            Op::Ceiling => self.rounded(UP, a),
            Op::Round => self.round(a),
            Op::Truncate => self.rounded(TO_ZERO, a),
            Op::Lt => self.compare(LESS, a, b),
            Op::Le => self.compare(LESS_EQUAL, a, b),
            Op::Gt => self.compare(LESS, b, a),
            Op::Ge => self.compare(LESS_EQUAL, b, a),
            Op::Eq => self.compare(EQUAL, a, b),
            Op::Eqv => {
                let (a, b) = (self.exact_bits(fa), self.exact_bits(fb));
                self.int_equal(a, b)
            }
            Op::IsInteger => self.is_integer_below(a, f64::INFINITY),
            Op::IsInt => self.is_integer_below(a, INT_LIMIT as f64),
            Op::Not => {
                let a = self.mask(fa);
                self.not(a)
            }
            Op::And | Op::Or => {
                let (a, b) = (self.mask(fa), self.mask(fb));
                if op == Op::And { self.and(a, b) } else { self.or(a, b) }
            }
            Op::Select | Op::IntSelect => {
                let test = self.mask(fa);
                self.select(test, b, fc.value)
            }
            Op::BoolSelect => {
                let (test, a, b) = (self.mask(fa), self.mask(fb), self.mask(fc));
                self.select(test, a, b)
            }
            _ => return self.integer(op, a, b),
        })
    }

    fn integer(&mut self, op: Op, a: Value, b: Value) -> Option<Value> {
        Some(match op {
            Op::IntAdd => self.int_add(a, b),
            Op::IntSub => self.int_sub(a, b),
            Op::IntMul => {
                let low = self.half_product(a, b);
                let (a_high, b_high) = (self.shr(a, 32), self.shr(b, 32));
                let (one, other) = (self.half_product(a_high, b), self.half_product(a, b_high));
                let cross = self.int_add(one, other);
                let cross = self.shl(cross, 32);
                self.int_add(low, cross)
            }
            Op::IntMin => {
                let greater = self.int_greater(a, b);
                self.select(greater, b, a)
            }
            Op::IntMax => {
                let greater = self.int_greater(a, b);
                self.select(greater, a, b)
            }
            Op::IntAbs => {
                let zero = self.bits(0);
                let negative = self.int_greater(zero, a);
                let flipped = self.xor(a, negative);
                self.int_sub(flipped, negative)
            }
            Op::IntLt => self.int_greater(b, a),
            Op::IntLe => {
                let greater = self.int_greater(a, b);
                self.not(greater)
            }
            Op::IntEq => self.int_equal(a, b),
            Op::IntFits => {
                let (low, high) = (self.bits(-INT_LIMIT as u64), self.bits(INT_LIMIT as u64));
                let (above, below) = (self.int_greater(a, low), self.int_greater(high, a));
                self.and(above, below)
            }
            Op::ToReal => {
                // Both halves as the lower bits of large numbers, which are then taken away.
                let mask = self.bits(0xFFFF_FFFF);
                let low_base = self.bits(0x4330_0000_0000_0000);
                let low = self.and(a, mask);
                let low = self.or(low, low_base);
                let high = self.shr(a, 32);
                let high_base = self.bits(0x4530_0000_8000_0000);
                let high = self.xor(high, high_base);
                let bases = self.bits(0x4530_0000_8010_0000);
                let high = self.sub(high, bases);
                self.add(high, low)
            }
            _ => return None,
        })
    }

    /// A quotient. Dividing by a power of two gives the bits of multiplying by its inverse.
    fn divided(&mut self, a: Value, b: Value) -> Value {
        match self.constant(b) {
            Some(power) if power.to_bits() << 12 == 0 && self.is_normal(power) && self.is_normal(1.0 / power) => {
                let inverse = self.real(1.0 / power);
                self.mul(a, inverse)
            }
            _ => self.div(a, b),
        }
    }

    /// Whether a number is normal in the precision that values have now.
    fn is_normal(&self, x: f64) -> bool {
        if self.packed { (x as f32).is_normal() } else { x.is_normal() }
    }

    fn nothing_if_zero(&mut self, weight: Value, x: Value) -> Value {
        let zero = self.real(0.0);
        let is_zero = self.eq(weight, zero);
        self.without(is_zero, x)
    }

    fn nan_if_unordered(&mut self, a: Value, b: Value, x: Value) -> Value {
        let (unordered, nan) = (self.compare(UNORDERED, a, b), self.real(f64::NAN));
        self.select(unordered, nan, x)
    }

    fn is_integer_below(&mut self, a: Value, bound: f64) -> Value {
        let truncated = self.rounded(TO_ZERO, a);
        let (whole, size, bound) = (self.eq(truncated, a), self.abs(a), self.real(bound));
        let small = self.lt(size, bound);
        self.and(whole, small)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dmci_ops::Code;

    /// A row that promises instructions has some here, and a row that says that there are none has none.
    #[test]
    fn operations_become_what_their_rows_say() {
        for &op in Op::ALL {
            let mut builder = Builder::default();
            let args = [0, 1, 2].map(|k| {
                let form = if op.operands().get(k) == Some(&Type::Real) { Form::Real } else { Form::Bits };
                Formed::new(builder.row(k as u32), form)
            });
            builder.operation(op, args);
            let called = builder.instructions.iter().any(|i| matches!(i.action, Action::Call(_)));
            assert_eq!(called, op.code() == Code::Call, "{op:?}");
        }
    }
}
