//! Programs written by hand, with their derivatives, over the same data: what the engine is measured by.
//!
//! Lanes are worked on in vectors, of 512 bits where the processor has them, as the engine does, else of 256 bits. Each
//! is there in double and in single precision, and with products and sums contracted or not.

use crate::filter::{Body, Kalman, Vector, add_product};
use crate::real::Real;
use std::arch::x86_64::{__m256, __m256d, __m512, __m512d};
use std::mem::MaybeUninit;

/// A program by hand: from parameters and inputs of so many lanes to values and gradients.
pub type Program<T> = fn(&[T], &[T], &mut [T], &mut [T]);

/// Whether the processor has vectors of 512 bits: the same question as the engine asks.
fn is_wide() -> bool {
    let known = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq");
    known && is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl")
}

/// How a program by hand is written: as it is, with contraction, and in reverse mode if another one is faster.
#[derive(Clone, Copy)]
pub enum Form {
    Plain,
    Fused,
    Reverse,
}

impl Form {
    pub fn parse(text: &str) -> Option<Form> {
        match text {
            "plain" => Some(Form::Plain),
            "fused" => Some(Form::Fused),
            "reverse" => Some(Form::Reverse),
            _ => None,
        }
    }
}

/// The program of a model file in double precision.
pub fn double(file: &str, form: Form) -> Option<Program<f64>> {
    if is_wide() { find::<__m512d>(file, form) } else { find::<__m256d>(file, form) }
}

/// The same in single precision.
pub fn single(file: &str, form: Form) -> Option<Program<f32>> {
    if is_wide() { find::<__m512>(file, form) } else { find::<__m256>(file, form) }
}

/// With such vectors, which the processor must have: it has those of 256 bits, or there is nothing to measure.
fn find<V: Vector>(file: &str, form: Form) -> Option<Program<V::Number>> {
    let name = ["b/m05", "bench/logistic-map", "kalman/kalman-2d-scalar"];
    let which = name.iter().position(|name| file.strip_suffix(".scm").is_some_and(|file| file.ends_with(name)))?;
    match (which, form) {
        (0, Form::Plain | Form::Fused) => Some(V::compiled::<M05>()),
        (1, Form::Plain) => Some(V::compiled::<Logistic<false>>()),
        (1, Form::Fused) => Some(V::compiled::<Logistic<true>>()),
        (1, Form::Reverse) => Some(V::compiled::<LogisticBack>()),
        (2, Form::Plain) => Some(V::compiled::<Kalman<false>>()),
        (2, Form::Fused) => Some(V::compiled::<Kalman<true>>()),
        _ => None,
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

/// Sixteen rounds; the derivative goes forward beside them, since there is only one.
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

/// The same in reverse mode, which does not care how many derivatives there are.
struct LogisticBack;

const ROUNDS: usize = 16;

impl<V: Vector> Body<V> for LogisticBack {
    #[inline(always)]
    fn run(r: &[V::Number], x0: &[V::Number], values: &mut [V::Number], gradients: &mut [V::Number]) {
        const BESIDE: usize = 4;
        let lanes = BESIDE * V::LANES;
        let groups = r.chunks_exact(lanes).zip(x0.chunks_exact(lanes));
        let out = values.chunks_exact_mut(lanes).zip(gradients.chunks_exact_mut(lanes));
        let (zero, one) = (V::collect(|_| Real::real(0.0)), V::collect(|_| Real::real(1.0)));
        // Every state is written before it is read; to clear them first would take a fifth of the time.
        let mut states = [MaybeUninit::<[V; BESIDE]>::uninit(); ROUNDS];
        for ((r, x0), (v, g)) in groups.zip(out) {
            let (mut x, mut rate) = ([zero; BESIDE], [zero; BESIDE]);
            for k in 0..BESIDE {
                x[k] = V::collect(|i| x0[k * V::LANES + i]);
                rate[k] = V::collect(|i| r[k * V::LANES + i]);
            }
            for state in &mut states {
                state.write(x);
                for k in 0..BESIDE {
                    x[k] = rate[k].mul(x[k]).mul(one.sub(x[k]));
                }
            }
            for k in 0..BESIDE {
                x[k].numbers(|i, x| v[k * V::LANES + i] = x);
            }
            // Of the state after a round, and of the rate.
            let (mut by_state, mut by_rate) = ([one; BESIDE], [zero; BESIDE]);
            for state in states.iter().rev() {
                // SAFETY: all of them were written above.
                let state = unsafe { state.assume_init_ref() };
                for k in 0..BESIDE {
                    let x = state[k];
                    let by_product = by_state[k].mul(one.sub(x));
                    by_rate[k] = by_rate[k].add(by_product.mul(x));
                    by_state[k] = by_product.mul(rate[k]).sub(by_state[k].mul(rate[k].mul(x)));
                }
            }
            for k in 0..BESIDE {
                by_rate[k].numbers(|i, x| g[k * V::LANES + i] = x);
            }
        }
    }
}
