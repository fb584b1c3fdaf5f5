//! The operations of a tape: one row each, with everything that any part of dmci knows about one.
//!
//! A row is `Variant "name on tapes" ["procedures of Scheme"] (operand types) -> result type`, and then
//!
//! - `value`: its value on bits; `K` has the functions that have kernels.
//! - `code`: how machine code computes it ([`Code`]), whether it needs a slow function for some arguments ([`Speed`]),
//!   and its kernel in `real/kernel`, if it is one; `single`: its own kernel for single precision in
//!   `real/kernel/single`, if there is one.
//! - `derivative`: what an adjoint `g` of the result `y` contributes to each of the operands `a`, `b`, `c`, in
//!   operations, or `none`. It is linear in `g`.
//! - `c`, `python` (NumPy, JAX and PyTorch), `sympy` and `latex`: how other languages write it ([`Spelling`]).
//!
//! CONTRIBUTING.md says how to add one.

use crate::arith::Arith;
#[cfg(all(feature = "native", target_arch = "x86_64"))]
use crate::arith::{Hard, Scalar, Single};
use crate::op::{Binding, Build, Code, INT_LIMIT, MAX_ARITY, Speed, Spelling, Type};
use crate::op::{divided, each_lane, fits, floor_quotient, i, modulo, pow_base, pow_exponent, r, real, share};
use crate::real::{self, kernel};
use crate::wide::Plain;
#[cfg(all(feature = "native", target_arch = "x86_64"))]
use crate::{wide::Wide, word::Word};
use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LN_10};

operations! {
    /// The same value under a new name: where a derivative was asked for inside a program.
    Same "same" [] (Real) -> Real {
        value |[a, ..]| a;
        code Simple Fast;
        derivative [g];
        c "#1"; python "#1"; sympy "#1"; latex Operand "#1";
    }
    /// The same value, without a derivative.
    Stop "stop" [] (Real) -> Real {
        value |[a, ..]| a;
        code Simple Fast;
        derivative [none];
        c "#1"; python "#1"; sympy "#1"; latex Operand "#1";
    }
    /// The first operand, as it is, but its derivative by the third is the second. The first may be
    /// such a value too: so a function of several numbers gets all its derivatives.
    Linear "linear" [] (Real Real Real) -> Real {
        value |[v, ..]| v;
        code Simple Fast;
        derivative [g none (Mul g b)];
        c "#1"; python "#1"; sympy "#1"; latex Operand "#1";
    }
    Add "add" ["+"] (Real Real) -> Real {
        value |[a, b, _]| real(r(a) + r(b));
        code Simple Fast;
        derivative [g g];
        c "#1 + #2"; python "#1 + #2"; sympy "#1 + #2"; latex Sum "#1 + #+2";
    }
    Sub "sub" ["-"] (Real Real) -> Real {
        value |[a, b, _]| real(r(a) - r(b));
        code Simple Fast;
        derivative [g (Neg g)];
        c "#1 - #2"; python "#1 - #2"; sympy "#1 - #2"; latex Sum "#1 - #*2";
    }
    Mul "mul" ["*"] (Real Real) -> Real {
        value |[a, b, _]| real(r(a) * r(b));
        code Simple Fast;
        derivative [(Mul g b) (Mul g a)];
        c "#1 * #2"; python "#1 * #2"; sympy "#1 * #2"; latex Product r"#-1 \cdot #*2";
    }
    Div "div" ["/"] (Real Real) -> Real {
        value |[a, b, _]| real(r(a) / r(b));
        code Simple Fast;
        derivative [(Div g b) (Neg (Mul g (Div y b)))];
        c "#1 / #2"; python "#1 / #2"; sympy "#1 / #2"; latex Atom r"\frac{#1}{#2}";
    }
    Neg "neg" ["-"] (Real) -> Real {
        value |[a, ..]| real(-r(a));
        code Simple Fast;
        derivative [(Neg g)];
        c "-#1"; python "-#1"; sympy "-#1"; latex Sum "-#*1";
    }
    Abs "abs" ["abs", "magnitude"] (Real) -> Real {
        value |[a, ..]| real(r(a).abs());
        code Simple Fast;
        derivative [(Mul g (Sign a))];
        c "fabs(#1)"; python "M.abs(#1)"; sympy "sympy.Abs(#1)"; latex Atom r"\left|#1\right|";
    }
    Sign "sign" ["sign"] (Real) -> Real {
        value |[a, ..]| real(real::sign(r(a)));
        code Simple Fast;
        derivative [none];
        c "d_sign(#1)"; python "M.sign(#1)"; sympy "sympy.sign(#1)"; latex Atom r"\operatorname{sign}\left(#1\right)";
    }
    Sqrt "sqrt" ["sqrt"] (Real) -> Real {
        value |[a, ..]| real(real::sqrt(r(a)));
        code Simple Fast;
        derivative [(Div g (Add y y))];
        c "sqrt(#1)"; python "M.sqrt(#1)"; sympy "sympy.sqrt(#1)"; latex Atom r"\sqrt{#1}";
    }
    /// A square root whose derivative at 0 is 0: the norm of nothing does not move.
    Root "root" [] (Real) -> Real {
        value |[a, ..]| real(real::sqrt(r(a)));
        code Simple Fast;
        derivative [(Ratio g (Add y y))];
        c "sqrt(#1)"; python "M.sqrt(#1)"; sympy "sympy.sqrt(#1)"; latex Atom r"\sqrt{#1}";
    }
    /// The first operand over the second, but 0 if the second is 0.
    Ratio "ratio" [] (Real Real) -> Real {
        value |[a, b, _]| if r(b) == 0.0 { 0 } else { real(r(a) / r(b)) };
        code Simple Fast;
        derivative [(Ratio g b) (Neg (Mul g (Ratio y b)))];
        c "#2 == 0.0 ? 0.0 : #1 / #2"; python "_ratio(#1, #2)"; sympy "#1 / #2"; latex Atom r"\frac{#1}{#2}";
    }
    /// Cube root, of negative numbers too.
    Cbrt "cbrt" ["cbrt"] (Real) -> Real {
        value |[a, ..]| real(K::cbrt(r(a)));
        code Kernel Slow cbrt(x);
        derivative [{ (Div g (Mul [3.0] square)) where square = (Mul y y) }];
        c "cbrt(#1)"; python "_cbrt(#1)"; sympy "sympy.sign(#1) * sympy.Abs(#1) ** sympy.Rational(1, 3)";
        latex Atom r"\sqrt[3]{#1}";
    }
    /// e to the power x.
    Exp "exp" ["exp"] (Real) -> Real {
        value |[a, ..]| real(K::exp(r(a)));
        code Kernel Slow exp(x); single exp(x);
        derivative [(Mul g y)];
        c "exp(#1)"; python "M.exp(#1)"; sympy "sympy.exp(#1)"; latex Atom "e^{#1}";
    }
    /// exp(x) - 1 without cancellation near zero.
    Expm1 "expm1" ["expm1"] (Real) -> Real {
        value |[a, ..]| real(K::expm1(r(a)));
        code Kernel Fast expm1(x); single expm1(x);
        derivative [(Mul g (Exp a))];
        c "expm1(#1)"; python "M.expm1(#1)"; sympy "sympy.exp(#1) - 1"; latex Sum "e^{#1} - 1";
    }
    /// Natural logarithm; `-inf` at zero, NaN below.
    Log "log" ["log"] (Real) -> Real {
        value |[a, ..]| real(K::log(r(a)));
        code Kernel Slow log(x); single log(x);
        derivative [(Div g a)];
        c "log(#1)"; python "M.log(#1)"; sympy "sympy.log(#1)"; latex Atom r"\ln\left(#1\right)";
    }
    /// Logarithm to base 2; exact at powers of 2.
    Log2 "log2" ["log2"] (Real) -> Real {
        value |[a, ..]| real(K::log2(r(a)));
        code Kernel Slow log2(x);
        derivative [(Div g (Mul a [LN_2]))];
        c "log2(#1)"; python "M.log2(#1)"; sympy "sympy.log(#1, 2)"; latex Atom r"\log_2\left(#1\right)";
    }
    /// Logarithm to base 10; exact at powers of 10.
    Log10 "log10" ["log10"] (Real) -> Real {
        value |[a, ..]| real(K::log10(r(a)));
        code Kernel Slow log10(x);
        derivative [(Div g (Mul a [LN_10]))];
        c "log10(#1)"; python "M.log10(#1)"; sympy "sympy.log(#1, 10)"; latex Atom r"\log_{10}\left(#1\right)";
    }
    /// log(1 + x) without cancellation near zero.
    Log1p "log1p" ["log1p"] (Real) -> Real {
        value |[a, ..]| real(K::log1p(r(a)));
        code Kernel Slow log1p(x); single log1p(x);
        derivative [(Div g (Add a [1.0]))];
        c "log1p(#1)"; python "M.log1p(#1)"; sympy "sympy.log(1 + #1)"; latex Atom r"\ln\left(1 + #1\right)";
    }
    /// Sine of an angle in radians.
    Sin "sin" ["sin"] (Real) -> Real {
        value |[a, ..]| real(K::sin(r(a)));
        code Kernel Slow sin(x); single sin(x);
        derivative [(Mul g (Cos a))];
        c "sin(#1)"; python "M.sin(#1)"; sympy "sympy.sin(#1)"; latex Atom r"\sin\left(#1\right)";
    }
    /// Cosine of an angle in radians.
    Cos "cos" ["cos"] (Real) -> Real {
        value |[a, ..]| real(K::cos(r(a)));
        code Kernel Slow cos(x); single cos(x);
        derivative [(Neg (Mul g (Sin a)))];
        c "cos(#1)"; python "M.cos(#1)"; sympy "sympy.cos(#1)"; latex Atom r"\cos\left(#1\right)";
    }
    /// Tangent of an angle in radians.
    Tan "tan" ["tan"] (Real) -> Real {
        value |[a, ..]| real(K::tan(r(a)));
        code Kernel Slow tan(x);
        derivative [(Mul g (Add (Mul y y) [1.0]))];
        c "tan(#1)"; python "M.tan(#1)"; sympy "sympy.tan(#1)"; latex Atom r"\tan\left(#1\right)";
    }
    /// Inverse sine, in [-pi/2, pi/2].
    Asin "asin" ["asin"] (Real) -> Real {
        value |[a, ..]| real(K::asin(r(a)));
        code Kernel Fast asin(x);
        // 1 - a^2 as (1 - a)(1 + a), which keeps its digits where a is near 1 or -1.
        derivative [(Div g (Sqrt (Mul (Sub [1.0] a) (Add a [1.0]))))];
        c "asin(#1)"; python "M.arcsin(#1)"; sympy "sympy.asin(#1)"; latex Atom r"\arcsin\left(#1\right)";
    }
    /// Inverse cosine, in [0, pi].
    Acos "acos" ["acos"] (Real) -> Real {
        value |[a, ..]| real(K::acos(r(a)));
        code Kernel Fast acos(x);
        derivative [(Neg (Div g (Sqrt (Mul (Sub [1.0] a) (Add a [1.0])))))];
        c "acos(#1)"; python "M.arccos(#1)"; sympy "sympy.acos(#1)"; latex Atom r"\arccos\left(#1\right)";
    }
    /// Inverse tangent, in [-pi/2, pi/2].
    Atan "atan" ["atan"] (Real) -> Real {
        value |[a, ..]| real(K::atan(r(a)));
        code Kernel Fast atan(x);
        derivative [(Div g (Add (Mul a a) [1.0]))];
        c "atan(#1)"; python "M.arctan(#1)"; sympy "sympy.atan(#1)"; latex Atom r"\arctan\left(#1\right)";
    }
    /// The angle of the point (x, y), in [-pi, pi]; the signs of zeros choose the quadrant.
    Atan2 "atan2" ["atan2", "atan"] (Real Real) -> Real {
        value |[a, b, _]| real(K::atan2(r(a), r(b)));
        code Kernel Slow atan2(y, x);
        derivative [(Mul g (Div b (Add (Mul a a) (Mul b b)))) (Neg (Mul g (Div a (Add (Mul a a) (Mul b b)))))];
        c "atan2(#1, #2)"; python "M.arctan2(#1, #2)"; sympy "sympy.atan2(#1, #2)";
        latex Atom r"\operatorname{atan2}\left(#1, #2\right)";
    }
    /// Hyperbolic sine.
    Sinh "sinh" ["sinh"] (Real) -> Real {
        value |[a, ..]| real(K::sinh(r(a)));
        code Kernel Slow sinh(x); single sinh(x);
        derivative [(Mul g (Cosh a))];
        c "sinh(#1)"; python "M.sinh(#1)"; sympy "sympy.sinh(#1)"; latex Atom r"\sinh\left(#1\right)";
    }
    /// Hyperbolic cosine.
    Cosh "cosh" ["cosh"] (Real) -> Real {
        value |[a, ..]| real(K::cosh(r(a)));
        code Kernel Fast cosh(x); single cosh(x);
        derivative [(Mul g (Sinh a))];
        c "cosh(#1)"; python "M.cosh(#1)"; sympy "sympy.cosh(#1)"; latex Atom r"\cosh\left(#1\right)";
    }
    /// Hyperbolic tangent.
    Tanh "tanh" ["tanh"] (Real) -> Real {
        value |[a, ..]| real(K::tanh(r(a)));
        code Kernel Fast tanh(x); single tanh(x);
        derivative [{ (Mul g (Sub [1.0] square)) where square = (Mul y y) }];
        c "tanh(#1)"; python "M.tanh(#1)"; sympy "sympy.tanh(#1)"; latex Atom r"\tanh\left(#1\right)";
    }
    /// Inverse hyperbolic sine.
    Asinh "asinh" ["asinh"] (Real) -> Real {
        value |[a, ..]| real(K::asinh(r(a)));
        code Kernel Slow asinh(x);
        derivative [(Div g (Sqrt (Add (Mul a a) [1.0])))];
        c "asinh(#1)"; python "M.arcsinh(#1)"; sympy "sympy.asinh(#1)";
        latex Atom r"\operatorname{asinh}\left(#1\right)";
    }
    /// Inverse hyperbolic cosine, from 1 on.
    Acosh "acosh" ["acosh"] (Real) -> Real {
        value |[a, ..]| real(K::acosh(r(a)));
        code Kernel Slow acosh(x);
        derivative [(Div g (Sqrt (Mul (Add a [-1.0]) (Add a [1.0]))))];
        c "acosh(#1)"; python "M.arccosh(#1)"; sympy "sympy.acosh(#1)";
        latex Atom r"\operatorname{acosh}\left(#1\right)";
    }
    /// Inverse hyperbolic tangent, between -1 and 1.
    Atanh "atanh" ["atanh"] (Real) -> Real {
        value |[a, ..]| real(K::atanh(r(a)));
        code Kernel Slow atanh(x);
        derivative [(Div g (Mul (Sub [1.0] a) (Add a [1.0])))];
        c "atanh(#1)"; python "M.arctanh(#1)"; sympy "sympy.atanh(#1)";
        latex Atom r"\operatorname{atanh}\left(#1\right)";
    }
    /// Square root of x² + y² without overflow on the way.
    Hypot "hypot" ["hypot"] (Real Real) -> Real {
        value |[a, b, _]| real(K::hypot(r(a), r(b)));
        code Kernel Slow hypot(x, y);
        derivative [(Mul g (Div a y)) (Mul g (Div b y))];
        c "hypot(#1, #2)"; python "M.hypot(#1, #2)"; sympy "sympy.sqrt(#1 ** 2 + #2 ** 2)";
        latex Atom r"\sqrt{{#^1}^2 + {#^2}^2}";
    }
    /// x to the power y. `pow(x, 0)` and `pow(1, y)` are 1 even for NaN; a negative base with an
    /// exponent that is not an integer gives NaN.
    Pow "pow" ["expt", "pow"] (Real Real) -> Real {
        value |[a, b, _]| real(K::pow(r(a), r(b)));
        code Kernel Slow pow(x, y); single pow(x, y);
        derivative [(Mul g (PowBase a b)) (Mul g (PowExponent a b))];
        c "pow(#1, #2)"; python "_pow(#1, #2)"; sympy "#1 ** #2"; latex Atom "{#^1}^{#2}";
    }
    /// Derivative of `pow` by its base: 0 for exponent 0, also at base 0.
    PowBase "pow-base" [] (Real Real) -> Real {
        value |[a, b, _]| real(pow_base::<K>(r(a), r(b)));
        code Inline Slow; single pow_base(x, y);
        // b (b - 1) a^(b - 2) is b times the same derivative one power down.
        derivative [
            (Mul g (Mul b (PowBase a (Add b [-1.0]))))
            { (Mul g (Add (Pow a less) (Mul b (PowExponent a less)))) where less = (Add b [-1.0]) }
        ];
        c "#2 == 0.0 ? 0.0 : #2 * pow(#1, #2 - 1.0)"; python "_pow_base(#1, #2)"; sympy "#2 * #1 ** (#2 - 1)";
        latex Atom r"\operatorname{pow-base}\left(#1, #2\right)";
    }
    /// Derivative of `pow` by its exponent: 0 at base 0 for positive exponents.
    PowExponent "pow-exponent" [] (Real Real) -> Real {
        value |[a, b, _]| real(pow_exponent::<K>(r(a), r(b)));
        code Inline Slow; single pow_exponent(x, y);
        derivative [
            { (Mul g (Add (Pow a less) (Mul b (PowExponent a less)))) where less = (Add b [-1.0]) }
            (Mul g (Mul y (Log a)))
        ];
        c "#1 == 0.0 && #2 > 0.0 ? 0.0 : pow(#1, #2) * log(#1)"; python "_pow_exponent(#1, #2)";
        sympy "#1 ** #2 * sympy.log(#1)"; latex Atom r"\operatorname{pow-exponent}\left(#1, #2\right)";
    }
    /// Error function.
    Erf "erf" ["erf"] (Real) -> Real {
        value |[a, ..]| real(K::erf(r(a)));
        code Kernel Fast erf(x);
        derivative [{ (Mul g (Mul [FRAC_2_SQRT_PI] e)) where e = (Exp (Neg (Mul a a))) }];
        c "erf(#1)"; python "_erf(#1)"; sympy "sympy.erf(#1)"; latex Atom r"\operatorname{erf}\left(#1\right)";
    }
    /// 1 - erf(x) without cancellation.
    Erfc "erfc" ["erfc"] (Real) -> Real {
        value |[a, ..]| real(K::erfc(r(a)));
        code Kernel Fast erfc(x);
        derivative [{ (Mul g (Mul [-FRAC_2_SQRT_PI] e)) where e = (Exp (Neg (Mul a a))) }];
        c "erfc(#1)"; python "_erfc(#1)"; sympy "sympy.erfc(#1)"; latex Atom r"\operatorname{erfc}\left(#1\right)";
    }
    /// The gamma function; exact factorials up to 22!. `gamma(0.0)` is `+inf`, `gamma(-0.0)` is
    /// `-inf`, NaN at negative integers.
    Gamma "gamma" ["gamma"] (Real) -> Real {
        value |[a, ..]| real(K::gamma(r(a)));
        code Kernel Slow gamma(x);
        derivative [(Mul g (Mul y (Digamma a)))];
        c "tgamma(#1)"; python "_gamma(#1)"; sympy "sympy.gamma(#1)"; latex Atom r"\Gamma\left(#1\right)";
    }
    /// Logarithm of the absolute value of the gamma function; `+inf` at zero and negative integers.
    Lgamma "lgamma" ["lgamma", "log-gamma"] (Real) -> Real {
        value |[a, ..]| real(K::lgamma(r(a)));
        code Kernel Slow lgamma(x);
        derivative [(Mul g (Digamma a))];
        c "lgamma(#1)"; python "_lgamma(#1)"; sympy "sympy.loggamma(#1)"; latex Atom r"\ln\Gamma\left(#1\right)";
    }
    /// The derivative of `lgamma`. `digamma(0.0)` is `-inf`, `digamma(-0.0)` is `+inf`, NaN at negative
    /// integers and at `-inf`. Next to its zeros left of 0 only the absolute error is small.
    Digamma "digamma" ["digamma"] (Real) -> Real {
        value |[a, ..]| real(K::digamma(r(a)));
        code Kernel Slow digamma(x);
        derivative [(Mul g (Polygamma a [1.0]))];
        c "d_polygamma(#1, 0.0)"; python "_digamma(#1)"; sympy "sympy.digamma(#1)"; latex Atom r"\psi\left(#1\right)";
    }
    /// The derivative of order `n` of digamma at `x`: n = 0 is digamma itself. Left of 0 only n up to 2
    /// is given, by reflection; NaN otherwise.
    Polygamma "polygamma" [] (Real Real) -> Real {
        value |[a, n, _]| real(K::polygamma(r(a), r(n)));
        code Kernel Slow polygamma(x, n);
        derivative [(Mul g (Polygamma a (Add b [1.0]))) none];
        c "d_polygamma(#1, #2)"; python "_polygamma(#1, #2)"; sympy "sympy.polygamma(#2, #1)";
        latex Atom r"\operatorname{polygamma}\left(#1, #2\right)";
    }
    /// 1 / (1 + exp(-x)), without overflow and with full relative accuracy in both tails.
    Sigmoid "sigmoid" ["sigmoid", "logistic"] (Real) -> Real {
        value |[a, ..]| real(K::sigmoid(r(a)));
        code Kernel Slow sigmoid(x); single sigmoid(x);
        derivative [(Mul g (Mul y (Sub [1.0] y)))];
        c "d_sigmoid(#1)"; python "_sigmoid(#1)"; sympy "1 / (1 + sympy.exp(-#1))"; latex Atom r"\sigma\left(#1\right)";
    }
    /// log(1 + exp(x)), without overflow and with full relative accuracy in both tails.
    Softplus "softplus" ["softplus"] (Real) -> Real {
        value |[a, ..]| real(K::softplus(r(a)));
        code Kernel Slow softplus(x); single softplus(x);
        derivative [(Mul g (Sigmoid a))];
        c "d_softplus(#1)"; python "_softplus(#1)"; sympy "sympy.log(1 + sympy.exp(#1))";
        latex Atom r"\operatorname{softplus}\left(#1\right)";
    }
    Relu "relu" ["relu"] (Real) -> Real {
        value |[a, ..]| real(real::relu(r(a)));
        code Simple Fast;
        derivative [(Gate g (Sign y))];
        c "#1 <= 0.0 ? 0.0 : #1"; python "_relu(#1)"; sympy "_choose((sympy.Integer(0), #1 < 0), (#1, sympy.true))";
        latex Atom r"\max\left(0, #1\right)";
    }
    Min "min" ["min"] (Real Real) -> Real {
        value |[a, b, _]| real(real::min(r(a), r(b)));
        code Simple Fast;
        derivative [(Gate g (Share a b)) (Gate g (Share b a))];
        c "d_min(#1, #2)"; python "M.minimum(#1, #2)"; sympy "_choose((#1, #1 <= #2), (#2, sympy.true))";
        latex Atom r"\min\left(#1, #2\right)";
    }
    Max "max" ["max"] (Real Real) -> Real {
        value |[a, b, _]| real(real::max(r(a), r(b)));
        code Simple Fast;
        derivative [(Gate g (Share b a)) (Gate g (Share a b))];
        c "d_max(#1, #2)"; python "M.maximum(#1, #2)"; sympy "_choose((#1, #1 >= #2), (#2, sympy.true))";
        latex Atom r"\max\left(#1, #2\right)";
    }
    /// 1 if a < b, 0 if a > b, and 1/2 at a tie: the share of the smaller one.
    Share "share" [] (Real Real) -> Real {
        value |[a, b, _]| real(share(r(a), r(b)));
        code Simple Fast;
        derivative [none none];
        c "#1 < #2 ? 1.0 : #1 > #2 ? 0.0 : #1 == #2 ? 0.5 : NAN"; python "_share(#1, #2)";
        sympy "_choose((1, #1 < #2), (0, #1 > #2), (sympy.Rational(1, 2), sympy.true))";
        latex Atom r"\operatorname{share}\left(#1, #2\right)";
    }
    /// The first operand times the second, but 0 if the second is 0: a share of nothing is nothing.
    Gate "gate" [] (Real Real) -> Real {
        value |[g, w, _]| if r(w) == 0.0 { 0 } else { real(r(g) * r(w)) };
        code Simple Fast;
        derivative [(Gate g b) (Mul g a)];
        c "#2 == 0.0 ? 0.0 : #1 * #2"; python "_gate(#1, #2)"; sympy "#1 * #2"; latex Product r"#-1 \cdot #*2";
    }
    /// The first operand times the second, its weight. What has weight 0 counts for nothing, not even
    /// if it is infinite, nor does its derivative.
    Weigh "weigh" [] (Real Real) -> Real {
        value |[a, w, _]| if r(w) == 0.0 { 0 } else { real(r(a) * r(w)) };
        code Simple Fast;
        derivative [(Weigh g b) (Mul g (Counted a b))];
        c "#2 == 0.0 ? 0.0 : #1 * #2"; python "_gate(#1, #2)"; sympy "#1 * #2"; latex Product r"#-1 \cdot #*2";
    }
    /// 0 for a number that is not finite and has weight 0, else 1: whether it counts.
    Counts "counts" [] (Real Real) -> Real {
        value |[a, w, _]| real((r(w) != 0.0 || r(a).is_finite()) as u8 as f64);
        code Simple Fast;
        derivative [none none];
        c "#2 != 0.0 || isfinite(#1) ? 1.0 : 0.0"; python "_counts(#1, #2)"; sympy "sympy.Integer(1)";
        latex Atom r"\operatorname{counts}\left(#1, #2\right)";
    }
    /// The first operand if it counts, else 0.
    Counted "counted" [] (Real Real) -> Real {
        value |[a, w, _]| if r(w) != 0.0 || r(a).is_finite() { a } else { 0 };
        code Simple Fast;
        derivative [(Weigh g (Counts a b)) none];
        c "#2 != 0.0 || isfinite(#1) ? #1 : 0.0"; python "_counted(#1, #2)"; sympy "#1"; latex Operand "#1";
    }
    Floor "floor" ["floor"] (Real) -> Real {
        value |[a, ..]| real(real::floor(r(a)));
        code Simple Fast;
        derivative [none];
        c "floor(#1)"; python "M.floor(#1)"; sympy "sympy.floor(#1)"; latex Atom r"\left\lfloor #1 \right\rfloor";
    }
    Ceiling "ceiling" ["ceiling"] (Real) -> Real {
        value |[a, ..]| real(real::ceiling(r(a)));
        code Simple Fast;
        derivative [none];
        c "ceil(#1)"; python "M.ceil(#1)"; sympy "sympy.ceiling(#1)"; latex Atom r"\left\lceil #1 \right\rceil";
    }
    Round "round" ["round"] (Real) -> Real {
        value |[a, ..]| real(real::round(r(a)));
        code Simple Fast;
        derivative [none];
        c "rint(#1)"; python "M.round(#1)";
        sympy "_choose((2 * sympy.floor(#1 / 2 + sympy.Rational(1, 4)), sympy.Eq(sympy.Mod(#1, 1), sympy.Rational(1, 2))), (sympy.floor(#1 + sympy.Rational(1, 2)), sympy.true))";
        latex Atom r"\operatorname{round}\left(#1\right)";
    }
    Truncate "truncate" ["truncate"] (Real) -> Real {
        value |[a, ..]| real(real::truncate(r(a)));
        code Simple Fast;
        derivative [none];
        c "trunc(#1)"; python "M.trunc(#1)"; sympy "sympy.sign(#1) * sympy.floor(sympy.Abs(#1))";
        latex Atom r"\operatorname{truncate}\left(#1\right)";
    }
    Quotient "quotient" ["quotient", "truncate-quotient"] (Real Real) -> Real {
        value |[a, b, _]| real(real::quotient(r(a), r(b)));
        code Call Fast;
        derivative [none none];
        c "rint((#1 - fmod(#1, #2)) / #2) + 0.0"; python "_quotient(#1, #2)";
        sympy "sympy.sign(#1 / #2) * sympy.floor(sympy.Abs(#1 / #2))";
        latex Atom r"\operatorname{quotient}\left(#1, #2\right)";
    }
    FloorQuotient "floor-quotient" ["floor-quotient"] (Real Real) -> Real {
        value |[a, b, _]| real(real::floor_quotient(r(a), r(b)));
        code Call Fast;
        derivative [none none];
        c "d_floor_quotient(#1, #2)"; python "_floor_quotient(#1, #2)"; sympy "sympy.floor(#1 / #2)";
        latex Atom r"\operatorname{floor-quotient}\left(#1, #2\right)";
    }
    Remainder "remainder" ["remainder", "truncate-remainder"] (Real Real) -> Real {
        value |[a, b, _]| real(real::remainder(r(a), r(b)));
        code Call Fast;
        derivative [g (Neg (Mul g (Quotient a b)))];
        c "fmod(#1, #2) + 0.0"; python "_remainder(#1, #2)";
        sympy "#1 - #2 * sympy.sign(#1 / #2) * sympy.floor(sympy.Abs(#1 / #2))";
        latex Atom r"\operatorname{remainder}\left(#1, #2\right)";
    }
    Modulo "modulo" ["modulo", "floor-remainder"] (Real Real) -> Real {
        value |[a, b, _]| real(real::modulo(r(a), r(b)));
        code Call Fast;
        derivative [g (Neg (Mul g (FloorQuotient a b)))];
        c "d_modulo(#1, #2)"; python "_modulo(#1, #2)"; sympy "sympy.Mod(#1, #2)";
        latex Atom r"\operatorname{modulo}\left(#1, #2\right)";
    }
    Lt "lt" ["<"] (Real Real) -> Bool {
        value |[a, b, _]| (r(a) < r(b)) as u64;
        code Simple Fast;
        derivative [none none];
        c "#1 < #2"; python "#1 < #2"; sympy "sympy.Lt(#1, #2)"; latex Atom "#1 < #2";
    }
    Le "le" ["<="] (Real Real) -> Bool {
        value |[a, b, _]| (r(a) <= r(b)) as u64;
        code Simple Fast;
        derivative [none none];
        c "#1 <= #2"; python "#1 <= #2"; sympy "sympy.Le(#1, #2)"; latex Atom r"#1 \le #2";
    }
    Gt "gt" [">"] (Real Real) -> Bool {
        value |[a, b, _]| (r(a) > r(b)) as u64;
        code Simple Fast;
        derivative [none none];
        c "#1 > #2"; python "#1 > #2"; sympy "sympy.Gt(#1, #2)"; latex Atom "#1 > #2";
    }
    Ge "ge" [">="] (Real Real) -> Bool {
        value |[a, b, _]| (r(a) >= r(b)) as u64;
        code Simple Fast;
        derivative [none none];
        c "#1 >= #2"; python "#1 >= #2"; sympy "sympy.Ge(#1, #2)"; latex Atom r"#1 \ge #2";
    }
    Eq "eq" ["="] (Real Real) -> Bool {
        value |[a, b, _]| (r(a) == r(b)) as u64;
        code Simple Fast;
        derivative [none none];
        c "#1 == #2"; python "#1 == #2"; sympy "sympy.Eq(#1, #2)"; latex Atom "#1 = #2";
    }
    /// The same bits (all NaNs are the same).
    Eqv "eqv" [] (Real Real) -> Bool {
        value |[a, b, _]| (a == b) as u64;
        code Inline Fast;
        derivative [none none];
        c "(#1 == #2 && !signbit(#1) == !signbit(#2)) || (isnan(#1) && isnan(#2))"; python "_eqv(#1, #2)";
        sympy "sympy.Eq(#1, #2)"; latex Atom "#1 = #2";
    }
    IsInteger "is-integer" ["integer?"] (Real) -> Bool {
        value |[a, ..]| (r(a).is_finite() && real::truncate(r(a)) == r(a)) as u64;
        code Inline Fast;
        derivative [none];
        c "isfinite(#1) && trunc(#1) == #1"; python "_is_integer(#1)"; sympy "sympy.Eq(sympy.floor(#1), #1)";
        latex Atom r"\operatorname{is-integer}\left(#1\right)";
    }
    IntAdd "int-add" [] (Int Int) -> Int {
        value |[a, b, _]| i(a).wrapping_add(i(b)) as u64;
        code Inline Fast;
        derivative [none none];
        c "#1 + #2"; python "#1 + #2"; sympy "#1 + #2"; latex Sum "#1 + #+2";
    }
    IntSub "int-sub" [] (Int Int) -> Int {
        value |[a, b, _]| i(a).wrapping_sub(i(b)) as u64;
        code Inline Fast;
        derivative [none none];
        c "#1 - #2"; python "#1 - #2"; sympy "#1 - #2"; latex Sum "#1 - #*2";
    }
    IntMul "int-mul" [] (Int Int) -> Int {
        value |[a, b, _]| i(a).wrapping_mul(i(b)) as u64;
        code Inline Fast;
        derivative [none none];
        c "#1 * #2"; python "#1 * #2"; sympy "#1 * #2"; latex Product r"#-1 \cdot #*2";
    }
    IntMin "int-min" [] (Int Int) -> Int {
        value |[a, b, _]| i(a).min(i(b)) as u64;
        code Inline Fast;
        derivative [none none];
        c "#1 < #2 ? #1 : #2"; python "M.minimum(#1, #2)"; sympy "_choose((#1, #1 <= #2), (#2, sympy.true))";
        latex Atom r"\min\left(#1, #2\right)";
    }
    IntMax "int-max" [] (Int Int) -> Int {
        value |[a, b, _]| i(a).max(i(b)) as u64;
        code Inline Fast;
        derivative [none none];
        c "#1 > #2 ? #1 : #2"; python "M.maximum(#1, #2)"; sympy "_choose((#1, #1 >= #2), (#2, sympy.true))";
        latex Atom r"\max\left(#1, #2\right)";
    }
    IntAbs "int-abs" [] (Int) -> Int {
        value |[a, ..]| i(a).wrapping_abs() as u64;
        code Inline Fast;
        derivative [none];
        c "#1 < 0 ? -#1 : #1"; python "M.abs(#1)"; sympy "sympy.Abs(#1)"; latex Atom r"\left|#1\right|";
    }
    /// Rounds towards zero; 0 for a divisor of 0, as in all divisions of integers.
    IntQuotient "int-quotient" [] (Int Int) -> Int {
        value |[a, b, _]| divided(i(a), i(b), i64::wrapping_div);
        code Call Fast;
        derivative [none none];
        c "#2 == 0 ? 0 : #1 / #2"; python "_int_quotient(#1, #2)";
        sympy "sympy.sign(#1 / #2) * sympy.floor(sympy.Abs(#1 / #2))";
        latex Atom r"\operatorname{int-quotient}\left(#1, #2\right)";
    }
    IntRemainder "int-remainder" [] (Int Int) -> Int {
        value |[a, b, _]| divided(i(a), i(b), i64::wrapping_rem);
        code Call Fast;
        derivative [none none];
        c "#2 == 0 ? 0 : #1 % #2"; python "_int_remainder(#1, #2)";
        sympy "#1 - #2 * sympy.sign(#1 / #2) * sympy.floor(sympy.Abs(#1 / #2))";
        latex Atom r"\operatorname{int-remainder}\left(#1, #2\right)";
    }
    IntFloorQuotient "int-floor-quotient" [] (Int Int) -> Int {
        value |[a, b, _]| divided(i(a), i(b), floor_quotient);
        code Call Fast;
        derivative [none none];
        c "#2 == 0 ? 0 : #1 / #2 - (#1 % #2 != 0 && (#1 < 0) != (#2 < 0))"; python "_int_floor_quotient(#1, #2)";
        sympy "sympy.floor(#1 / #2)"; latex Atom r"\operatorname{int-floor-quotient}\left(#1, #2\right)";
    }
    IntModulo "int-modulo" [] (Int Int) -> Int {
        value |[a, b, _]| divided(i(a), i(b), modulo);
        code Call Fast;
        derivative [none none];
        c "#2 == 0 ? 0 : #1 % #2 + (#1 % #2 != 0 && (#1 % #2 < 0) != (#2 < 0) ? #2 : 0)"; python "_int_modulo(#1, #2)";
        sympy "sympy.Mod(#1, #2)"; latex Atom r"\operatorname{int-modulo}\left(#1, #2\right)";
    }
    IntLt "int-lt" [] (Int Int) -> Bool {
        value |[a, b, _]| (i(a) < i(b)) as u64;
        code Inline Fast;
        derivative [none none];
        c "#1 < #2"; python "#1 < #2"; sympy "sympy.Lt(#1, #2)"; latex Atom "#1 < #2";
    }
    IntLe "int-le" [] (Int Int) -> Bool {
        value |[a, b, _]| (i(a) <= i(b)) as u64;
        code Inline Fast;
        derivative [none none];
        c "#1 <= #2"; python "#1 <= #2"; sympy "sympy.Le(#1, #2)"; latex Atom r"#1 \le #2";
    }
    IntEq "int-eq" [] (Int Int) -> Bool {
        value |[a, b, _]| (a == b) as u64;
        code Inline Fast;
        derivative [none none];
        c "#1 == #2"; python "#1 == #2"; sympy "sympy.Eq(#1, #2)"; latex Atom "#1 = #2";
    }
    /// Whether an integer is small enough to be a tape value.
    IntFits "int-fits" [] (Int) -> Bool {
        value |[a, ..]| fits(i(a).into()) as u64;
        code Inline Fast;
        derivative [none];
        c "#1 < 140737488355328 && #1 > -140737488355328"; python "M.abs(#1) < 140737488355328"; sympy "sympy.true";
        latex Atom r"\operatorname{int-fits}\left(#1\right)";
    }
    /// Whether a product is.
    IntMulFits "int-mul-fits" [] (Int Int) -> Bool {
        value |[a, b, _]| fits(i(a) as i128 * i(b) as i128) as u64;
        code Call Fast;
        derivative [none none];
        c "fabs((double)#1 * (double)#2) < 140737488355328.0"; python "M.abs(REAL(#1) * #2) < 140737488355328";
        sympy "sympy.true"; latex Atom r"\operatorname{int-mul-fits}\left(#1, #2\right)";
    }
    /// Whether the first is a multiple of the second.
    IntDivides "int-divides" [] (Int Int) -> Bool {
        value |[a, b, _]| (b != 0 && i(a).wrapping_rem(i(b)) == 0) as u64;
        code Call Fast;
        derivative [none none];
        c "#2 != 0 && #1 % #2 == 0"; python "_int_divides(#1, #2)"; sympy "sympy.Eq(sympy.Mod(#1, #2), 0)";
        latex Atom r"\operatorname{int-divides}\left(#1, #2\right)";
    }
    ToReal "to-real" [] (Int) -> Real {
        value |[a, ..]| real(i(a) as f64);
        code Inline Fast;
        derivative [none];
        c "(double)#1"; python "REAL(#1)"; sympy "#1"; latex Operand "#1";
    }
    /// The integer that a real is; anything for other reals.
    ToInt "to-int" [] (Real) -> Int {
        value |[a, ..]| (r(a) as i64) as u64;
        code Call Fast;
        derivative [none];
        c "fabs(#1) < 9.0e18 ? (int64_t)#1 : 0"; python "_to_int(#1)"; sympy "#1"; latex Operand "#1";
    }
    /// Whether a real is an integer that is small enough to be a tape value.
    IsInt "is-int" [] (Real) -> Bool {
        value |[a, ..]| (real::truncate(r(a)) == r(a) && r(a).abs() < INT_LIMIT as f64) as u64;
        code Inline Fast;
        derivative [none];
        c "trunc(#1) == #1 && fabs(#1) < 140737488355328.0"; python "_is_int(#1)";
        sympy "sympy.Eq(sympy.floor(#1), #1)"; latex Atom r"\operatorname{is-int}\left(#1\right)";
    }
    Not "not" ["not"] (Bool) -> Bool {
        value |[a, ..]| (a == 0) as u64;
        code Simple Fast;
        derivative [none];
        c "!#1"; python "M.logical_not(#1)"; sympy "sympy.Not(#1)"; latex Atom r"\neg\left(#1\right)";
    }
    And "and" [] (Bool Bool) -> Bool {
        value |[a, b, _]| (a != 0 && b != 0) as u64;
        code Simple Fast;
        derivative [none none];
        c "#1 && #2"; python "M.logical_and(#1, #2)"; sympy "sympy.And(#1, #2)"; latex Atom r"#1 \wedge #2";
    }
    Or "or" [] (Bool Bool) -> Bool {
        value |[a, b, _]| (a != 0 || b != 0) as u64;
        code Simple Fast;
        derivative [none none];
        c "#1 || #2"; python "M.logical_or(#1, #2)"; sympy "sympy.Or(#1, #2)"; latex Atom r"\left(#1 \vee #2\right)";
    }
    /// The second operand if the first is true, else the third.
    Select "select" [] (Bool Real Real) -> Real {
        value |[t, a, b]| if t != 0 { a } else { b };
        code Simple Fast;
        derivative [none (Select a g [0.0]) (Select a [0.0] g)];
        c "#1 ? #2 : #3"; python "M.where(#1, #2, #3)"; sympy "_choose((#2, #1), (#3, sympy.true))";
        latex Atom r"\begin{cases} #2 & \text{if } #1 \\ #3 & \text{otherwise} \end{cases}";
    }
    IntSelect "int-select" [] (Bool Int Int) -> Int {
        value |[t, a, b]| if t != 0 { a } else { b };
        code Inline Fast;
        derivative [none none none];
        c "#1 ? #2 : #3"; python "M.where(#1, #2, #3)"; sympy "_choose((#2, #1), (#3, sympy.true))";
        latex Atom r"\begin{cases} #2 & \text{if } #1 \\ #3 & \text{otherwise} \end{cases}";
    }
    BoolSelect "bool-select" [] (Bool Bool Bool) -> Bool {
        value |[t, a, b]| if t != 0 { a } else { b };
        code Simple Fast;
        derivative [none none none];
        c "#1 ? #2 : #3"; python "M.where(#1, #2, #3)"; sympy "sympy.ITE(#1, #2, #3)";
        latex Atom r"\begin{cases} #2 & \text{if } #1 \\ #3 & \text{otherwise} \end{cases}";
    }
}
