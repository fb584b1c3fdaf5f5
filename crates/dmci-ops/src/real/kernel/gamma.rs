//! The gamma function and its relatives, of positive numbers.

use super::exponential::exp_of_sum;
use super::logarithm::{is_usual, log_as_sum, log_in_two};
use crate::arith::Arith;
use crate::real::gamma as slow;

/// From here on there are series in 1/x.
const FAR: f64 = 2.5;

/// lgamma(x) / ((x - 1) (x - 2)) in powers of x - 1.75, for x from 1 to 2.5 (relative error 2^-56); the first
/// coefficient has a second part.
const BETWEEN: [f64; 25] = [
    0.4501393121092563,
    -0.11948158662524266,
    0.04452044719850939,
    -0.019053957830261464,
    0.008776370425279269,
    -0.0042261941251597645,
    0.0020955338791924442,
    -0.0010605660944419068,
    0.0005448970032715188,
    -0.0002831903526277834,
    0.00014851663417589226,
    -7.84641073806576e-05,
    4.170628993040257e-05,
    -2.2267945613270018e-05,
    1.1945808178617765e-05,
    -6.488690844264921e-06,
    3.5168897850551777e-06,
    -1.7659701356020758e-06,
    9.416962325785567e-07,
    -7.583764283997924e-07,
    4.355086389195066e-07,
    3.556629449317387e-08,
    -3.393469850101544e-08,
    -1.5824895803580118e-07,
    9.128472622094408e-08,
];
const BETWEEN_LOW: f64 = 1.459948342135478e-17;

/// x (lgamma(x) - (x - 1/2) log(x) + x - log(2 pi) / 2) in powers of 1/x^2, for x from 2.5 on (absolute error 2^-58).
const STIRLING: [f64; 13] = [
    0.0833333333333332,
    -0.0027777777776721454,
    0.000793650767960117,
    -0.0005952351594109515,
    0.0008415589678471659,
    -0.0019095182152781712,
    0.006180648413192174,
    -0.024763525484656573,
    0.10282448954570236,
    -0.37258156437825346,
    1.0151348801042899,
    -1.7672033641621567,
    1.4427873426968905,
];

/// The same for x from 2 on (absolute error 2^-57).
const STIRLING_FROM_2: [f64; 15] = [
    0.08333333333333302,
    -0.0027777777775598255,
    0.0007936507478428569,
    -0.0005952335431679963,
    0.0008414895183629418,
    -0.001907808197584198,
    0.006157206032603054,
    -0.02464120662762354,
    0.10418196609544178,
    -0.4038369018876848,
    1.2924363257385392,
    -3.147778729102082,
    5.364939660842912,
    -5.6423336442539345,
    2.7401919165317703,
];

/// log(2 pi) / 2 in two parts, and the same without 1/2.
const LOG_ROOT: [f64; 2] = [0.9189385332046728, -3.8782941580672414e-17];
const LESS_HALF: [f64; 2] = [0.4189385332046727, 1.6728209650585413e-17];

/// x^2 (log(x) - 1/(2 x) - digamma(x)) in powers of 1/x^2, for x from 2.5 on (absolute error 2^-57).
const ASYMPTOTIC: [f64; 13] = [
    0.08333333333332425,
    -0.008333333328487198,
    0.003968253058768823,
    -0.004166579767618019,
    0.0075707747192857765,
    -0.020904159642770124,
    0.07829849423985151,
    -0.343173128551733,
    1.4826792416717758,
    -5.411364707710262,
    14.60037973122993,
    -24.976494742214022,
    19.97888473757444,
];

/// The zero of digamma between 1 and 2, and the part of it that does not fit.
const ROOT: f64 = 1.4616321449683622;
const ROOT_LOW: f64 = 9.549995429965697e-17;

/// x digamma(x) / (x - ROOT) in powers of x - 1.75, for x from 1 to 2.5 (relative error 2^-56). With the zero divided
/// out, the result keeps its relative accuracy next to it. The first coefficient has a second part.
const AROUND_ROOT: [f64; 20] = [
    1.5018206299710242,
    0.28723761835711414,
    -0.05129442950203216,
    0.013120337229472508,
    -0.0038861910633572615,
    0.0012420695958264938,
    -0.0004149226678404332,
    0.00014246583667569193,
    -4.979480038644756e-05,
    1.7612356577088254e-05,
    -6.280404952096944e-06,
    2.2527741334576645e-06,
    -8.104835630981703e-07,
    2.9083342060486425e-07,
    -1.066385848829204e-07,
    4.151083014747648e-08,
    -1.2815552448129504e-08,
    2.090037264561675e-09,
    -2.6867689283080635e-09,
    1.9348627816036522e-09,
];
const AROUND_ROOT_LOW: f64 = -1.0241377343740578e-17;

/// The value of a series whose first coefficient has a second part, in two parts.
#[inline(always)]
fn series<A: Arith>(a: &mut A, t: A::V, c: &[f64], low: f64) -> [A::V; 2] {
    let t2 = a.mul(t, t);
    let rest = a.polynomial(t, t2, &c[1..]);
    let (first, low) = (a.real(c[0]), a.real(low));
    let rest = a.fma(rest, t, low);
    a.ordered_sum(first, rest)
}

/// Logarithm of the absolute value of the gamma function; `+inf` at zero and negative integers.
#[inline(always)]
pub fn lgamma<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let (zero, half, one, two) = (a.real(0.0), a.real(0.5), a.real(1.0), a.real(2.0));
    let [log, log_rest] = log_as_sum(a, x);
    // Below 1 it is that of x + 1 without log(x).
    let is_small = a.lt(x, one);
    let (center, center_small) = (a.real(1.75), a.real(0.75));
    let center = a.select(is_small, center_small, center);
    let t = a.sub(x, center);
    let (by_one, by_two) = (a.sub(x, one), a.sub(x, two));
    let (u, v) = (a.select(is_small, x, by_one), a.select(is_small, by_one, by_two));
    let [w, w_low] = a.product_in_two(u, v);
    let [p, p_low] = series(a, t, &BETWEEN, BETWEEN_LOW);
    let [near, low] = a.product_in_two(w, p);
    let low = a.fma(w, p_low, low);
    let low = a.fma(w_low, p, low);
    let (base, base_low) = (a.select(is_small, log, zero), a.select(is_small, log_rest, zero));
    let minus = a.real(-0.0);
    let base = a.sub(minus, base);
    let [sum, lost] = a.sum_in_two(base, near);
    let low = a.add(low, lost);
    let low = a.sub(low, base_low);
    let near = a.add(sum, low);
    // (x - 1/2) (log(x) - 1) + (log(2 pi) - 1) / 2 + series
    let minus_one = a.real(-1.0);
    let [factor, lost] = a.ordered_sum(log, minus_one);
    let factor_low = a.add(log_rest, lost);
    let less = a.sub(x, half);
    let [first, low] = a.product_in_two(less, factor);
    let low = a.fma(less, factor_low, low);
    let inverse = a.div(one, x);
    let z = a.mul(inverse, inverse);
    let z2 = a.mul(z, z);
    let p = a.polynomial(z, z2, &STIRLING);
    let low = a.fma(inverse, p, low);
    let [constant, constant_low] = LESS_HALF.map(|c| a.real(c));
    let [sum, lost] = a.sum_in_two(first, constant);
    let lost = a.add(lost, constant_low);
    let low = a.add(low, lost);
    let far = a.add(sum, low);
    let bound = a.real(FAR);
    let is_near = a.lt(x, bound);
    let fast = a.select(is_near, near, far);
    let (least, most) = (a.real(f64::MIN_POSITIVE), a.real(1e300));
    let (low, high) = (a.le(least, x), a.le(x, most));
    let usual = a.both(low, high);
    a.usual(usual, fast, x, x, |x, _| slow::lgamma(x))
}

/// The derivative of `lgamma`. `digamma(0.0)` is `-inf`, `digamma(-0.0)` is `+inf`, NaN at negative
/// integers and at `-inf`. Next to its zeros left of 0 only the absolute error is small.
#[inline(always)]
pub fn digamma<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let (half, one) = (a.real(0.5), a.real(1.0));
    // Below 1 it is that of x + 1 without 1/x.
    let is_small = a.lt(x, one);
    let (center, center_small) = (a.real(1.75), a.real(0.75));
    let center = a.select(is_small, center_small, center);
    let t = a.sub(x, center);
    let (root, root_small, minus_low) = (a.real(ROOT), a.real(ROOT - 1.0), a.real(-ROOT_LOW));
    let root = a.select(is_small, root_small, root);
    let distance = a.sub(x, root);
    let [distance, distance_low] = a.ordered_sum(distance, minus_low);
    let [p, p_low] = series(a, t, &AROUND_ROOT, AROUND_ROOT_LOW);
    let [w, w_low] = a.product_in_two(distance, p);
    let w_low = a.fma(distance, p_low, w_low);
    let w_low = a.fma(distance_low, p, w_low);
    // All quotients are one: w / x, (w x - (x + 1)) / (x (x + 1)), or 1 / x for the series.
    let [next, next_low] = a.ordered_sum(one, x);
    let minus = a.real(-0.0);
    let negative = a.sub(minus, next);
    let above = a.fma(w, x, negative);
    let above = a.fma(w_low, x, above);
    let [product, product_low] = a.product_in_two(x, next);
    let product_low = a.fma(x, next_low, product_low);
    let above = a.select(is_small, above, w);
    let below = a.select(is_small, product, x);
    let bound = a.real(FAR);
    let is_near = a.lt(x, bound);
    let (above, below) = (a.select(is_near, above, one), a.select(is_near, below, x));
    let inverse = a.div(one, below);
    let quotient = a.mul(above, inverse);
    // What is left, with what was lost before. (That changes nothing in the series.)
    let rest = a.fnma(quotient, below, above);
    let small_low = a.fma(quotient, product_low, next_low);
    let small_low = a.sub(minus, small_low);
    let lost = a.select(is_small, small_low, w_low);
    let rest = a.add(rest, lost);
    let near = a.fma(rest, inverse, quotient);
    let z = a.mul(inverse, inverse);
    let z2 = a.mul(z, z);
    let p = a.polynomial(z, z2, &ASYMPTOTIC);
    let half_inverse = a.mul(half, inverse);
    let minus_half = a.sub(minus, half_inverse);
    let [log, rest] = log_as_sum(a, x);
    let [sum, lost] = a.ordered_sum(log, minus_half);
    let rest = a.add(rest, lost);
    let rest = a.fnma(z, p, rest);
    let far = a.add(sum, rest);
    let fast = a.select(is_near, near, far);
    let usual = is_usual(a, x);
    a.usual(usual, fast, x, x, |x, _| slow::digamma(x))
}

/// The gamma function; exact factorials up to 22!. `gamma(0.0)` is `+inf`, `gamma(-0.0)` is
/// `-inf`, NaN at negative integers.
#[inline(always)]
pub fn gamma<A: Arith>(a: &mut A, x: A::V) -> A::V {
    let (half, one, two, most) = (a.real(0.5), a.real(1.0), a.real(2.0), a.real(200.0));
    // It is infinite long before.
    let bounded = a.lesser(most, x);
    // Small ones are made larger by 2, in two parts.
    let bound = a.real(FAR);
    let is_small = a.lt(x, bound);
    let zero = a.real(0.0);
    let shift = a.select(is_small, two, zero);
    let [y, y_low] = a.sum_in_two(bounded, shift);
    // (y - 1/2) log(y) - y + log(2 pi) / 2 + series, in two parts
    let [log, log_low] = log_in_two(a, y);
    let less = a.sub(y, half);
    let [first, low] = a.product_in_two(less, log);
    let low = a.fma(less, log_low, low);
    let inverse = a.div(one, y);
    let z = a.mul(inverse, inverse);
    let z2 = a.mul(z, z);
    let p = a.polynomial(z, z2, &STIRLING_FROM_2);
    let low = a.fma(inverse, p, low);
    // The derivative is about log(y) - 1/(2 y).
    let slope = a.fnma(half, inverse, log);
    let low = a.fma(y_low, slope, low);
    let [constant, constant_low] = LOG_ROOT.map(|c| a.real(c));
    let minus = a.real(-0.0);
    let negative = a.sub(minus, y);
    let [sum, lost] = a.sum_in_two(first, negative);
    let low = a.add(low, lost);
    let [sum, lost] = a.sum_in_two(sum, constant);
    let lost = a.add(lost, constant_low);
    let low = a.add(low, lost);
    let large = exp_of_sum(a, sum, low);
    // Over x (x + 1), in two parts
    let [next, next_low] = a.sum_in_two(bounded, one);
    let [product, product_low] = a.product_in_two(bounded, next);
    let product_low = a.fma(bounded, next_low, product_low);
    let inverse = a.div(one, product);
    let quotient = a.mul(large, inverse);
    let rest = a.fnma(quotient, product, large);
    let rest = a.fnma(quotient, product_low, rest);
    let small = a.fma(rest, inverse, quotient);
    let result = a.select(is_small, small, large);
    // Factorials up to 22! have 51 digits: for integers the last two are 0.
    let rounded = a.round(bounded);
    let is_integer = a.eq(rounded, bounded);
    let last = a.real(23.0);
    let is_exact = a.le(bounded, last);
    let is_exact = a.both(is_exact, is_integer);
    let (middle, mask) = (a.bits(2), a.bits(!3));
    let exact = a.int_add(result, middle);
    let exact = a.and(exact, mask);
    let fast = a.select(is_exact, exact, result);
    let least = a.real(1e-290);
    let usual = a.le(least, x);
    a.usual(usual, fast, x, x, |x, _| slow::gamma(x))
}
