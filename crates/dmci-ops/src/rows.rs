//! What a row of the table of operations means: from it come the operation, its value for one number and for many lanes,
//! its kernel, its derivative and its spellings. A row without one of these does not compile.

/// Makes operations of rows; `table.rs` says what is in one.
macro_rules! operations {
    ($(
        $(#[$doc:meta])*
        $variant:ident $name:literal $scheme:tt ($($arg:ident)*) -> $result:ident {
            value $value:expr;
            code $code:ident $speed:ident $($kernel:ident($($x:ident),*))?;
            $(single $single:ident($($s:ident),*);)?
            derivative [$($derivative:tt)*];
            c $c:literal;
            python $python:literal;
            sympy $sympy:literal;
            latex $bind:ident $latex:literal;
        }
    )*) => {
        /// An operation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        #[allow(missing_docs)]
        pub enum Op {
            $($(#[$doc])* $variant,)*
        }

        impl Op {
            /// All operations.
            pub const ALL: &'static [Op] = &[$(Op::$variant,)*];

            /// The name in text forms.
            pub fn name(self) -> &'static str {
                match self { $(Op::$variant => $name,)* }
            }

            /// The procedures of Scheme that are this operation when they have as many arguments as it has operands.
            pub fn scheme(self) -> &'static [&'static str] {
                match self { $(Op::$variant => &$scheme,)* }
            }

            /// Types of the operands.
            pub fn operands(self) -> &'static [Type] {
                match self { $(Op::$variant => &[$(Type::$arg),*],)* }
            }

            /// Type of the result.
            pub fn result(self) -> Type {
                match self { $(Op::$variant => Type::$result,)* }
            }

            /// How machine code computes it.
            pub fn code(self) -> Code {
                match self { $(Op::$variant => Code::$code,)* }
            }

            /// Whether wide loops and machine code need a slow function for some arguments.
            pub fn has_slow_arguments(self) -> bool {
                match self { $(Op::$variant => matches!(Speed::$speed, Speed::Slow),)* }
            }

            /// How other languages write it.
            pub fn spelling(self) -> Spelling {
                match self {
                    $(Op::$variant => Spelling {
                        c: $c,
                        python: $python,
                        sympy: $sympy,
                        latex: $latex,
                        binding: Binding::$bind,
                    },)*
                }
            }

            /// The value, in bits.
            #[inline]
            pub fn eval(self, args: [u64; MAX_ARITY]) -> u64 {
                type K = Plain;
                match self { $(Op::$variant => { let f: fn([u64; MAX_ARITY]) -> u64 = $value; f(args) })* }
            }

            #[inline(always)]
            pub(crate) fn lanes_with<K: Functions>(self, d: &mut [u64], args: [&[u64]; MAX_ARITY]) {
                match self { $(Op::$variant => each_lane(d, args, $value),)* }
            }

            /// What its kernel makes of one or two numbers, if it is a single kernel.
            pub fn kernel<A: Arith>(self, a: &mut A, x: A::V, y: A::V) -> Option<A::V> {
                Some(match self {
                    $($(Op::$variant => of_one_or_two!(kernel::$kernel, a, x, y, $($x)*),)?)*
                    _ => return None,
                })
            }

            /// Whether the operation has a kernel of its own in single precision.
            pub fn has_single_kernel(self) -> bool {
                match self {
                    $($(Op::$variant => is_there!($single),)?)*
                    _ => false,
                }
            }

            /// What its kernel in single precision makes of one or two numbers.
            #[inline(always)]
            pub fn single_kernel<A: Arith>(self, a: &mut A, x: A::V, y: A::V) -> Option<A::V> {
                Some(match self {
                    $($(Op::$variant => of_one_or_two!(kernel::single::$single, a, x, y, $($s)*),)?)*
                    _ => return None,
                })
            }

            /// The same for many lanes: what needs a slow function comes out as NaN.
            #[cfg(all(feature = "native", target_arch = "x86_64"))]
            #[target_feature(enable = "avx2,fma")]
            pub(crate) fn single_wide<W: Word>(self, d: &mut [W], a: &[W], b: &[W]) {
                let mut wide = Single::<Hard, true>::new();
                match self {
                    $($(Op::$variant => crate::single::each_lane(d, a, b, |x, _y| {
                        of_one_or_two!(kernel::single::$single, &mut wide, x, _y, $($s)*)
                    }),)?)*
                    _ => {}
                }
            }
        }

        // As many derivatives as operands.
        const _: () = {
            $(assert!([$(stringify!($arg)),*].len() == [$(stringify!($derivative)),*].len());)*
        };

        /// What an adjoint `g` of the result `y` of `op` on `x` contributes to operand `i`; `None` where
        /// the derivative is zero almost everywhere. Linear in `g`.
        ///
        /// Conventions where a derivative does not exist: `min`, `max` split a tie evenly, `abs` and
        /// `relu` have 0 at 0, rounding has 0. `sqrt` has infinity at 0, `root` (norms) has 0. `pow` has 0 by its base
        /// for exponent 0 and 0 by its exponent at base 0 for positive exponents.
        pub fn contribution<B: Build>(b: &mut B, op: Op, x: &[B::Id], y: B::Id, i: usize, g: B::Id) -> Option<B::Id> {
            match op { $(Op::$variant => by_operand!(b, x, y, g, i; $($derivative)*),)* }
        }

        /// The functions that have kernels, for use outside or inside of wide loops.
        #[allow(missing_docs)]
        pub(crate) trait Functions {
            $($(fn $kernel($($x: f64),*) -> f64;)?)*
        }

        impl Functions for Plain {
            $($(#[inline] fn $kernel($($x: f64),*) -> f64 { functions::$kernel($($x),*) })?)*
        }

        #[cfg(all(feature = "native", target_arch = "x86_64"))]
        impl Functions for Wide {
            $($(#[inline(always)] fn $kernel($($x: f64),*) -> f64 {
                kernel::$kernel(&mut Scalar::<Hard, true>::new(), $($x),*)
            })?)*
        }

        /// Functions whose kernels are used as the processor allows; the bits are the same. They are long, and so
        /// compiled here and nowhere else: inlined, each crate that evaluates operations would compile all of them again.
        pub(crate) mod functions {
            use crate::arith::Scalar;
            use crate::real::kernel;
            $(function! { [$(#[$doc])*] $($kernel($($x),*))? })*
        }
    };
}

/// A function of numbers, for a row with a kernel.
macro_rules! function {
    ([$(#[$doc:meta])*]) => {};
    ([$(#[$doc:meta])*] $kernel:ident($($x:ident),*)) => {
        $(#[$doc])*
        pub fn $kernel($($x: f64),*) -> f64 {
            #[cfg(all(feature = "native", target_arch = "x86_64"))]
            {
                #[target_feature(enable = "avx2,fma")]
                fn hard($($x: f64),*) -> f64 {
                    kernel::$kernel(&mut Scalar::<crate::arith::Hard, false>::new(), $($x),*)
                }
                if crate::real::has_wide_fma() {
                    // SAFETY: the processor has what the function was compiled for.
                    return unsafe { hard($($x),*) };
                }
            }
            #[cfg(target_arch = "aarch64")]
            return kernel::$kernel(&mut Scalar::<crate::arith::Hard, false>::new(), $($x),*);
            #[cfg(not(target_arch = "aarch64"))]
            kernel::$kernel(&mut Scalar::<crate::arith::Soft, false>::new(), $($x),*)
        }
    };
}

/// Whether an optional part of a row is there: where this is reached, it is.
macro_rules! is_there {
    ($part:ident) => {
        true
    };
}

/// A kernel of one number, or of two.
macro_rules! of_one_or_two {
    ($kernel:path, $a:expr, $x:expr, $y:expr, $one:ident) => {
        $kernel($a, $x)
    };
    ($kernel:path, $a:expr, $x:expr, $y:expr, $one:ident $two:ident) => {
        $kernel($a, $x, $y)
    };
}

/// The contribution to operand `i`, from the derivatives by all operands.
macro_rules! by_operand {
    ($b:ident, $x:ident, $y:ident, $g:ident, $i:ident; $first:tt) => {
        if $i == 0 { derivative!($b, $x, $y, $g, $first) } else { None }
    };
    ($b:ident, $x:ident, $y:ident, $g:ident, $i:ident; $first:tt $second:tt) => {
        match $i {
            0 => derivative!($b, $x, $y, $g, $first),
            _ => derivative!($b, $x, $y, $g, $second),
        }
    };
    ($b:ident, $x:ident, $y:ident, $g:ident, $i:ident; $first:tt $second:tt $third:tt) => {
        match $i {
            0 => derivative!($b, $x, $y, $g, $first),
            1 => derivative!($b, $x, $y, $g, $second),
            _ => derivative!($b, $x, $y, $g, $third),
        }
    };
}

/// A contribution as it is written in rows: `none`, or a formula, of which a part may be named and computed first, as in
/// `{ (Div g s) where s = (Mul y y) }`. All else is computed in the order in which it is written.
macro_rules! derivative {
    ($b:ident, $x:ident, $y:ident, $g:ident, none) => {
        None
    };
    ($b:ident, $x:ident, $y:ident, $g:ident, { $result:tt where $part:ident = $formula:tt }) => {{
        let $part = formula!($b, $x, $y, $g, $formula);
        Some(formula!($b, $x, $y, $g, $result))
    }};
    ($b:ident, $x:ident, $y:ident, $g:ident, $formula:tt) => {
        Some(formula!($b, $x, $y, $g, $formula))
    };
}

/// Operands are `a`, `b` and `c`, the result `y`, its adjoint `g`; constants are in brackets.
macro_rules! formula {
    ($b:ident, $x:ident, $y:ident, $g:ident, a) => {
        $x[0]
    };
    ($b:ident, $x:ident, $y:ident, $g:ident, b) => {
        $x[1]
    };
    ($b:ident, $x:ident, $y:ident, $g:ident, c) => {
        $x[2]
    };
    ($b:ident, $x:ident, $y:ident, $g:ident, y) => {
        $y
    };
    ($b:ident, $x:ident, $y:ident, $g:ident, g) => {
        $g
    };
    ($b:ident, $x:ident, $y:ident, $g:ident, $part:ident) => {
        $part
    };
    ($b:ident, $x:ident, $y:ident, $g:ident, [$constant:expr]) => {
        $b.real($constant)
    };
    ($b:ident, $x:ident, $y:ident, $g:ident, ($op:ident $($operand:tt)*)) => {{
        let operands = [$(formula!($b, $x, $y, $g, $operand)),*];
        $b.op(Op::$op, &operands)
    }};
}
