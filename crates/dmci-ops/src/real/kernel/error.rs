//! The error function.

use super::exponential::{exp_inside, times_gaussian};
use crate::arith::Arith;

/// erf(x) / x - 1 in powers of x^2, for |x| up to 1 (error 2^-56).
const NEAR: [f64; 12] = [
    0.12837916709551256,
    -0.3761263890318334,
    0.1128379167093658,
    -0.026866170641883375,
    0.0052239775960208675,
    -0.00085483254479395,
    0.00012055279346064164,
    -1.4924443355854487e-05,
    1.6443879429242785e-06,
    -1.6181979354949994e-07,
    1.3608392044645678e-08,
    -7.593198754668783e-10,
];

/// -log(1 - erf(x)) for x from 1 to 6 (error of erf 2^-56).
const FAR: [f64; 20] = [
    3.357137898282137e-08,
    1.128378845507644,
    0.6366211267230915,
    0.10276947107662165,
    -0.019124873180499137,
    -0.00020778663171597093,
    0.0016821746278915491,
    -0.0005597493640090508,
    -1.601550882850399e-05,
    0.00010690116934502264,
    -6.274249339700633e-05,
    2.3437701023272627e-05,
    -6.502911991386786e-06,
    1.3952730335541833e-06,
    -2.3274365905081733e-07,
    2.976234158833939e-08,
    -2.8250589833504617e-09,
    1.876718161082649e-10,
    -7.787340336337795e-12,
    1.518446143987102e-13,
];

/// (1 + 2 x) e^(x^2) erfc(x) in powers of (x - 4) / (x + 4), for x from 0 to 28 (relative error 2^-56); the
/// first coefficient has a second part.
const TAIL: [f64; 23] = [
    1.2329951186255526,
    -0.1396211168405629,
    0.015379652102619733,
    0.06809705425473689,
    -0.10103906603629918,
    0.09373283499681503,
    -0.06633036581261188,
    0.03716751556196798,
    -0.016197734047831813,
    0.0050319697628363235,
    -0.0007577734090379329,
    -0.00019925555921439727,
    0.00015062248928004302,
    -2.440294108473259e-05,
    -1.1225328581969137e-05,
    5.717276600314246e-06,
    3.020243527095884e-07,
    -8.341898563159317e-07,
    6.233901480471501e-08,
    1.1450277625166435e-07,
    -7.772190915956312e-09,
    -1.3360311870344082e-08,
    -1.7095635065220242e-09,
];
const TAIL_LOW: f64 = -4.5361046126196633e-17;

/// erf(x) for |x| up to 1.
#[inline(always)]
fn near<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let z = a.mul(x, x);
    let z2 = a.mul(z, z);
    let p = a.polynomial(z, z2, &NEAR);
    a.fma(x, p, x)
}

/// Error function.
#[inline(always)]
pub fn erf<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let size = a.abs(x);
    let inside = near(a, size);
    // Beyond 6 it is 1.
    let (one, most) = (a.real(1.0), a.real(6.0));
    let bounded = a.lesser(most, size);
    let square = a.mul(bounded, bounded);
    let power = a.polynomial(bounded, square, &FAR);
    let minus = a.real(-0.0);
    let power = a.sub(minus, power);
    let rest = exp_inside(a, power);
    let outside = a.sub(one, rest);
    let is_near = a.lt(size, one);
    let result = a.select(is_near, inside, outside);
    let sign = a.sign_of(x);
    a.or(result, sign)
}

/// 1 - erf(x) without cancellation.
#[inline(always)]
pub fn erfc<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let (one, two) = (a.real(1.0), a.real(2.0));
    let near = near(a, x);
    let inside = a.sub(one, near);
    // Beyond 28 it is less than any number.
    let (size, most) = (a.abs(x), a.real(28.0));
    let bounded = a.lesser(most, size);
    let four = a.real(4.0);
    let (above, below) = (a.sub(bounded, four), a.add(bounded, four));
    let t = a.div(above, below);
    let t2 = a.mul(t, t);
    let rest = a.polynomial(t, t2, &TAIL[1..]);
    let (first, first_low) = (a.real(TAIL[0]), a.real(TAIL_LOW));
    let rest = a.fma(rest, t, first_low);
    let [p, p_low] = a.ordered_sum(first, rest);
    // That over 1 + 2 x, in two parts; x is not small here.
    let twice = a.add(bounded, bounded);
    let [d, d_low] = a.ordered_sum(twice, one);
    let inverse = a.div(one, d);
    let q = a.mul(p, inverse);
    let rest = a.fnma(q, d, p);
    let rest = a.fnma(q, d_low, rest);
    let rest = a.add(rest, p_low);
    let q_low = a.mul(rest, inverse);
    let right = times_gaussian(a, bounded, [q, q_low]);
    let left = a.sub(two, right);
    let outside = a.select_sign(x, left, right);
    let half = a.real(0.5);
    let is_near = a.lt(size, half);
    a.select(is_near, inside, outside)
}
