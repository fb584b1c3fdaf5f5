//! Cube roots and lengths.

use super::logarithm::{is_usual, split};
use crate::arith::Arith;

/// The cube root of numbers between sqrt(1/2) and sqrt(2) (relative error 2^-22).
const GUESS: [f64; 7] = [
    0.398353198149831,
    1.1970766047955133,
    -1.1870590737231759,
    0.9711403083562541,
    -0.5148969066401264,
    0.15577054481239785,
    -0.020384799484829273,
];

/// The first terms of ((1 + d)^(1/3) - 1) / d.
const AFTER_ONE: [f64; 4] = [1.0 / 3.0, -1.0 / 9.0, 5.0 / 81.0, -10.0 / 243.0];

/// Cube root, of negative numbers too.
#[inline(always)]
pub fn cbrt<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let size = a.abs(x);
    // 2^k m = 8^q (2^r m) with r = -1, 0 or 1
    let [k, m] = split(a, size);
    let (third, three) = (a.real(1.0 / 3.0), a.real(3.0));
    let q = a.mul(k, third);
    let q = a.round(q);
    let r = a.fnma(three, q, k);
    // Their exponents as lowest bits of large numbers.
    let holder = a.real(6755399441055744.0 + 1023.0);
    let [q, power] = [q, r].map(|n| {
        let held = a.add(n, holder);
        a.shl(held, 52)
    });
    let reduced = a.mul(m, power);
    let m2 = a.mul(m, m);
    let guess = a.polynomial(m, m2, &GUESS);
    let (zero, one) = (a.real(0.0), a.real(1.0));
    let (up, down) = (a.real(1.2599210498948732), a.real(0.7937005259840998));
    let (is_up, is_down) = (a.lt(zero, r), a.lt(r, zero));
    let factor = a.select(is_up, up, one);
    let factor = a.select(is_down, down, factor);
    let guess = a.mul(guess, factor);
    // With 17 digits its cube is exact.
    let mask = a.bits(!0 << 36);
    let y = a.and(guess, mask);
    let y2 = a.mul(y, y);
    let y3 = a.mul(y2, y);
    let rest = a.sub(reduced, y3);
    let d = a.div(rest, y3);
    let p = a.horner(d, &AFTER_ONE);
    let step = a.mul(y, d);
    let root = a.fma(step, p, y);
    let result = a.mul(root, q);
    let is_zero = a.eq(size, zero);
    let result = a.select(is_zero, zero, result);
    let sign = a.sign_of(x);
    let fast = a.or(result, sign);
    let normal = is_usual(a, size);
    let usual = a.either(normal, is_zero);
    a.usual(usual, fast, x, x, |x, _| libm::cbrt(x))
}

/// Square root of x^2 + y^2 without overflow on the way.
#[inline(always)]
pub fn hypot<A: Arith>(a: &mut A, x: A::V, y: A::V) -> A::V {
    let (x_size, y_size) = (a.abs(x), a.abs(y));
    let larger = a.greater(x_size, y_size);
    let smaller = a.lesser(y_size, x_size);
    let square = a.mul(smaller, smaller);
    let sum = a.fma(larger, larger, square);
    let fast = a.sqrt(sum);
    let (zero, least, most) = (a.real(0.0), a.real(1e-140), a.real(1e150));
    let (low, high) = (a.le(least, larger), a.le(larger, most));
    let inside = a.both(low, high);
    let nothing = a.eq(larger, zero);
    let usual = a.either(inside, nothing);
    // Both are numbers: else neither comparison holds.
    let known = a.le(smaller, larger);
    let usual = a.both(usual, known);
    a.usual(usual, fast, x, y, libm::hypot)
}
