//! Sine, cosine, tangent.

use crate::arith::Arith;

/// pi/2 in three parts.
const HALF_PI: [f64; 3] = [std::f64::consts::FRAC_PI_2, 6.123233995736766e-17, -1.4973849048591698e-33];

/// Up to here the reduction in three parts loses nothing.
const MOST: f64 = 1e9;

/// (sin(r) - r) / r^3 and (cos(r) - 1 + r^2/2) / r^4 in powers of r^2, for |r| up to pi/4 (errors 2^-58).
const SINE: [f64; 6] = [
    -0.16666666666666632,
    0.00833333333332249,
    -0.0001984126982985795,
    2.7557313707070068e-06,
    -2.5050760253406863e-08,
    1.58969099521155e-10,
];
const COSINE: [f64; 6] = [
    0.0416666666666666,
    -0.001388888888887411,
    2.480158728947673e-05,
    -2.7557314351390663e-07,
    2.087572321298175e-09,
    -1.1359647557788195e-11,
];

/// 1.5 times 2^52: its lowest bits hold an integer that is added to it.
const HOLDER: f64 = 6755399441055744.0;

/// An angle in whole quarters, and sine and cosine of what is left of it.
pub(super) struct Angle<V> {
    /// The lowest two bits say which quarter.
    pub quarter: V,
    pub sine: V,
    pub cosine: V,
}

impl<V: Copy> Angle<V> {
    /// The sine of the angle, where the highest bit of a number has this place.
    #[inline(always)]
    pub fn whole_sine<A: Arith<V = V>>(self, a: &mut A, top: u8) -> V {
        let part = a.select_odd(self.quarter, top, self.cosine, self.sine);
        a.flipped(self.quarter, top, part)
    }

    /// Its cosine; `one` has the lowest bit.
    #[inline(always)]
    pub fn whole_cosine<A: Arith<V = V>>(self, a: &mut A, top: u8, one: V) -> V {
        let part = a.select_odd(self.quarter, top, self.sine, self.cosine);
        let next = a.int_add(self.quarter, one);
        a.flipped(next, top, part)
    }
}

/// A small angle for a tiny one: zeros have signs.
#[inline(always)]
pub(super) fn or_tiny<A: Arith>(a: &mut A, fast: A::V, x: A::V, tiny: f64) -> A::V {
    let (size, tiny) = (a.abs(x), a.real(tiny));
    let is_tiny = a.lt(size, tiny);
    a.select(is_tiny, x, fast)
}

/// Sine and cosine of what is left of x after whole quarters.
#[inline(always)]
fn reduced<A: Arith>(a: &mut A, x: A::V) -> Angle<A::V> {
    let (holder, per_quarter) = (a.real(HOLDER), a.real(std::f64::consts::FRAC_2_PI));
    let quarter = a.fma(x, per_quarter, holder);
    let n = a.sub(quarter, holder);
    let [first, second, third] = HALF_PI.map(|part| a.real(part));
    let exact = a.fnma(n, first, x);
    let r = a.fnma(n, second, exact);
    let low = a.sub(exact, r);
    let low = a.fnma(n, second, low);
    let low = a.fnma(n, third, low);
    let z = a.mul(r, r);
    let z2 = a.mul(z, z);
    let half = a.real(0.5);
    // sin(r + low) = r + (low (1 - z/2) + r z p)
    let p = a.polynomial(z, z2, &SINE);
    let cube = a.mul(r, z);
    let half_z = a.mul(half, z);
    let part = a.fnma(low, half_z, low);
    let part = a.fma(cube, p, part);
    let sine = a.add(r, part);
    // cos(r + low) = 1 - z/2 + (z^2 q - r low), with what 1 - z/2 has lost
    let q = a.polynomial(z, z2, &COSINE);
    let one = a.real(1.0);
    let most = a.sub(one, half_z);
    let lost = a.sub(one, most);
    let lost = a.sub(lost, half_z);
    let part = a.fnma(r, low, lost);
    let part = a.fma(z2, q, part);
    let cosine = a.add(most, part);
    Angle { quarter, sine, cosine }
}

#[inline(always)]
fn is_usual<A: Arith>(a: &mut A, x: A::V) -> A::M {
    let (size, most) = (a.abs(x), a.real(MOST));
    a.le(size, most)
}

/// Sine of an angle in radians.
#[inline(always)]
pub fn sin<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let sine = reduced(a, x).whole_sine(a, 63);
    let fast = or_tiny(a, sine, x, 1e-300);
    let usual = is_usual(a, x);
    a.usual(usual, fast, x, x, |x, _| libm::sin(x))
}

/// Cosine of an angle in radians.
#[inline(always)]
pub fn cos<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let (angle, one) = (reduced(a, x), a.bits(1));
    let fast = angle.whole_cosine(a, 63, one);
    let usual = is_usual(a, x);
    a.usual(usual, fast, x, x, |x, _| libm::cos(x))
}

/// Tangent of an angle in radians.
#[inline(always)]
pub fn tan<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let Angle { quarter, sine, cosine } = reduced(a, x);
    let odd = a.shl(quarter, 63);
    let above = a.select_sign(odd, cosine, sine);
    let below = a.select_sign(odd, sine, cosine);
    let quotient = a.div(above, below);
    let tangent = a.xor(quotient, odd);
    let fast = or_tiny(a, tangent, x, 1e-300);
    let usual = is_usual(a, x);
    a.usual(usual, fast, x, x, |x, _| libm::tan(x))
}
