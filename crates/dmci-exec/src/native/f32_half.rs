//! Single precision at half the vector length, for plans that cannot be packed (long loops, tensors or integers) or are
//! too short for it.
//!
//! Numbers of single precision are in the lower halves of vectors, which have as many lanes as for double precision.
//! Instructions on these are at least as fast, and nothing has to be rounded. Rows are in double precision.

use super::ir::{Action, Builder, Value};
use super::lower::{Form, Formed};
use super::packed::{NARROW, WIDEN, WIDEN_MASK, is_simple};
use dmci_ops::arith::Arith;
use dmci_ops::{Op, Type};

impl Builder {
    /// An operation that is rounded to single precision.
    pub(super) fn rounded_operation(&mut self, op: Op, args: [Formed; 3]) -> Formed {
        let types = op.operands();
        let fits = |x: &Formed| {
            let exact = |c: f64| c.is_nan() || f64::from(c as f32).to_bits() == c.to_bits();
            x.short || self.constant(x.value).is_none_or(exact)
        };
        let takes_short = match types.iter().all(|ty| *ty == Type::Bool) {
            true => args.iter().any(|x| x.short),
            // What is not a number of single precision would be rounded before it is used.
            false => is_simple(op) && args[..types.len()].iter().all(fits),
        };
        if takes_short || op.has_single_kernel() {
            let mut short = args;
            short.iter_mut().zip(types).for_each(|(x, ty)| *x = self.shortened(*x, *ty));
            let result = self.while_packed(true, |this| this.operation_on_all(op, short));
            return Formed { short: true, ..result };
        }
        let long = args.map(|x| self.lengthened(x));
        let result = self.operation_on_all(op, long);
        if op.result() == Type::Real { self.rounded_number(result) } else { result }
    }

    /// A real in single precision.
    pub(super) fn rounded_number(&mut self, x: Formed) -> Formed {
        let form = if x.form == Form::Negated { Form::Negated } else { Form::Real };
        let value = match self.constant(x.value) {
            Some(c) => self.while_packed(true, |this| this.real(c)),
            None => self.push(Action::Unary(NARROW, None), &[x.value]),
        };
        Formed { value, form, short: true }
    }

    /// A real or a boolean in the lower half of a vector.
    fn shortened(&mut self, x: Formed, ty: Type) -> Formed {
        if x.short {
            return x;
        }
        let form = match (ty, x.form) {
            (Type::Bool, _) => Form::Mask,
            (_, Form::Negated) => Form::Negated,
            _ => Form::Real,
        };
        if let Some(&value) = self.shortened.get(&x.value) {
            return Formed { value, form, short: true };
        }
        let short = match ty {
            Type::Bool => Formed { value: self.mask(x), form, short: false },
            _ => x,
        };
        let value = self.rounded_number(short).value;
        self.shortened.insert(x.value, value);
        Formed { value, form, short: true }
    }

    /// The same in a whole vector.
    pub(super) fn lengthened(&mut self, x: Formed) -> Formed {
        if !x.short {
            return x;
        }
        let value = match self.lengthened.get(&x.value) {
            Some(&value) => value,
            None => {
                let op = if x.form == Form::Mask { WIDEN_MASK } else { WIDEN };
                let value = self.push(Action::Unary(op, None), &[x.value]);
                self.lengthened.insert(x.value, value);
                value
            }
        };
        Formed::new(value, x.form)
    }

    /// The same with its own sign.
    pub(super) fn upright_on_all(&mut self, x: Formed) -> Formed {
        let x = self.upright(x);
        self.lengthened(x)
    }

    /// The bits that the block interpreter would have.
    pub(super) fn exact_bits_of_short(&mut self, x: Formed) -> Value {
        if x.form == Form::Mask {
            let mask = self.lengthened(x);
            return self.exact_bits(mask);
        }
        let x = self.upright(x);
        let value = self.while_packed(true, |this| this.exact_bits(Formed::new(x.value, x.form)));
        self.lengthened(Formed { value, ..x }).value
    }
}
