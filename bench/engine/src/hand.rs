//! Programs written by hand, with their derivatives, over the same data: what the engine is measured by.
//!
//! Lanes are worked on in vectors, of 512 bits where the processor has them, as the engine does, else of 256 bits. Each
//! is there in double and in single precision, and with products and sums contracted or not.

use crate::filter::{Body, Kalman, Vector, add_product};
use crate::real::Real;
use std::arch::x86_64::{__m256, __m256d, __m512, __m512d};

/// A program by hand: from parameters and inputs of so many lanes to values and gradients.
pub type Program<T> = fn(&[T], &[T], &mut [T], &mut [T]);

/// Whether the processor has vectors of 512 bits: the same question as the engine asks.
fn is_wide() -> bool {
    let known = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq");
    known && is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl")
}

/// The program of a model file in double precision, as it is and with contraction.
pub fn double(file: &str) -> Option<[Program<f64>; 2]> {
    if is_wide() { find::<__m512d>(file) } else { find::<__m256d>(file) }
}

/// The same in single precision.
pub fn single(file: &str) -> Option<[Program<f32>; 2]> {
    if is_wide() { find::<__m512>(file) } else { find::<__m256>(file) }
}

/// With such vectors, which the processor must have: it has those of 256 bits, or there is nothing to measure.
fn find<V: Vector>(file: &str) -> Option<[Program<V::Number>; 2]> {
    if file.ends_with("b/m05.scm") {
        Some([V::compiled::<M05>(), V::compiled::<M05>()])
    } else if file.ends_with("bench/logistic-map.scm") {
        Some([V::compiled::<Logistic<false>>(), V::compiled::<Logistic<true>>()])
    } else if file.ends_with("kalman/kalman-2d-scalar.scm") {
        Some([V::compiled::<Kalman<false>>(), V::compiled::<Kalman<true>>()])
    } else {
        None
    }
}

/// No sum of products is here to be contracted but those inside of the functions, which have no choice.
struct M05;

impl<V: Vector> Body<V> for M05 {
    #[inline(always)]
    fn run(params: &[V::Number], inputs: &[V::Number], values: &mut [V::Number], gradients: &mut [V::Number]) {
        let groups = params.chunks_exact(3 * V::LANES).zip(inputs.chunks_exact(V::LANES));
        let out = values.chunks_exact_mut(V::LANES).zip(gradients.chunks_exact_mut(3 * V::LANES));
        let zero = V::collect(|_| Real::real(0.0));
        for ((p, t), (v, g)) in groups.zip(out) {
            let ([a, b, omega], t) = (V::thirds(p), V::collect(|i| t[i]));
            let minus_t = zero.sub(t);
            let (e, [sin, cos]) = (b.mul(minus_t).each(Real::exp), omega.mul(t).sin_cos());
            let by_a = e.mul(cos);
            let value = a.mul(by_a);
            value.numbers(|i, x| v[i] = x);
            V::put_thirds([by_a, minus_t.mul(value), minus_t.mul(a.mul(e).mul(sin))], g);
        }
    }
}

/// Sixteen rounds.
struct Logistic<const FUSED: bool>;

impl<V: Vector, const FUSED: bool> Body<V> for Logistic<FUSED> {
    #[inline(always)]
    fn run(r: &[V::Number], x0: &[V::Number], values: &mut [V::Number], gradients: &mut [V::Number]) {
        rounds::<V, FUSED, 8>(r, x0, values, gradients);
        let done = r.len() - r.len() % (8 * V::LANES);
        rounds::<V, FUSED, 4>(&r[done..], &x0[done..], &mut values[done..], &mut gradients[done..]);
    }
}

/// So many vectors are worked on beside each other, since each round waits for the one before.
#[inline(always)]
fn rounds<V: Vector, const FUSED: bool, const BESIDE: usize>(
    params: &[V::Number],
    inputs: &[V::Number],
    values: &mut [V::Number],
    gradients: &mut [V::Number],
) {
    let lanes = BESIDE * V::LANES;
    let groups = params.chunks_exact(lanes).zip(inputs.chunks_exact(lanes));
    let out = values.chunks_exact_mut(lanes).zip(gradients.chunks_exact_mut(lanes));
    let (zero, one) = (V::collect(|_| Real::real(0.0)), V::collect(|_| Real::real(1.0)));
    for ((r, x0), (v, g)) in groups.zip(out) {
        let (mut x, mut d, mut rate) = ([zero; BESIDE], [zero; BESIDE], [zero; BESIDE]);
        for k in 0..BESIDE {
            x[k] = V::collect(|i| x0[k * V::LANES + i]);
            rate[k] = V::collect(|i| r[k * V::LANES + i]);
        }
        for _ in 0..16 {
            for k in 0..BESIDE {
                let rest = one.sub(x[k]);
                let product = x[k].mul(rest);
                d[k] = add_product::<V, FUSED>(product, rate[k], rest.sub(x[k]).mul(d[k]));
                x[k] = rate[k].mul(product);
            }
        }
        for k in 0..BESIDE {
            x[k].numbers(|i, x| v[k * V::LANES + i] = x);
            d[k].numbers(|i, x| g[k * V::LANES + i] = x);
        }
    }
}
