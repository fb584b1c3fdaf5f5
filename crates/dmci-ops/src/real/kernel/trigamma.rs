//! The derivatives of digamma, of which the first is by far the most wanted.

use crate::arith::Arith;
use crate::real::polygamma as slow;

/// x^3 (trigamma(x) - 1/x - 1/(2 x^2)) in powers of 1/x^2, for x from 3 on (relative error of trigamma 2^-58).
const ASYMPTOTIC: [f64; 13] = [
    0.16666666666665889,
    -0.033333333327334,
    0.023809522189426963,
    -0.0333331114759505,
    0.07573942960362476,
    -0.25214005291222236,
    1.130209277827279,
    -6.091555752539362,
    33.86128026450669,
    -165.47124006637904,
    614.0387535438421,
    -1468.5461323550471,
    1658.5587883855442,
];

/// The derivative of order n of digamma at x; n = 0 is digamma itself.
#[inline(always)]
pub fn polygamma<A: Arith>(a: &mut A, x: A::V, n: A::V) -> A::V {
    let (zero, half, one, three) = (a.real(0.0), a.real(0.5), a.real(1.0), a.real(3.0));
    // Small ones are made larger by 3: trigamma(x) = 1/x^2 + 1/(x + 1)^2 + 1/(x + 2)^2 + trigamma(x + 3)
    let is_small = a.lt(x, three);
    let next = a.add(x, one);
    let last = a.add(next, one);
    let [first, second, third] = [x, next, last].map(|y| {
        let square = a.mul(y, y);
        a.div(one, square)
    });
    let shift = a.select(is_small, three, zero);
    let y = a.add(x, shift);
    let inverse = a.div(one, y);
    let z = a.mul(inverse, inverse);
    let z2 = a.mul(z, z);
    let p = a.polynomial(z, z2, &ASYMPTOTIC);
    let cube = a.mul(inverse, z);
    let rest = a.mul(cube, p);
    let rest = a.fma(half, z, rest);
    let [sum, lost] = a.sum_in_two(first, inverse);
    let others = a.add(rest, third);
    let others = a.add(others, second);
    let others = a.add(others, lost);
    let small = a.add(sum, others);
    let large = a.add(inverse, rest);
    let fast = a.select(is_small, small, large);
    // Nothing is out of range on the way, and the order is the first.
    let (least, most) = (a.real(1e-150), a.real(1e300));
    let (low, high) = (a.le(least, x), a.le(x, most));
    let inside = a.both(low, high);
    let is_first = a.eq(n, one);
    let usual = a.both(inside, is_first);
    a.usual(usual, fast, x, n, slow::polygamma)
}
