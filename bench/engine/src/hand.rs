//! Programs written by hand, with their derivatives, over the same data: what the engine is measured by.
//!
//! Lanes are worked on in groups, so that the compiler can use vectors; functions are compiled for AVX2 and FMA. Each
//! is there in double and in single precision, and with products and sums contracted or not.

use crate::filter::{Vector, add_product, kalman};
use crate::real::Real;

/// A program by hand: from parameters and inputs of so many lanes to values and gradients.
pub type Program<T> = fn(&[T], &[T], &mut [T], &mut [T]);

/// The program of a model file, as it is and with contraction, in the precision of a vector; `N` numbers fill two of
/// these.
pub fn find<V: Vector, const N: usize>(file: &str) -> Option<[Program<V::Number>; 2]> {
    let name = ["b/m05.scm", "bench/logistic-map.scm", "kalman/kalman-2d-scalar.scm"]
        .iter()
        .position(|n| file.ends_with(n))?;
    let programs: [[Program<V::Number>; 2]; 3] = [
        // SAFETY: the benchmark needs such a processor.
        [|p, x, v, g| unsafe { m05::<_, N>(p, x, v, g) }, |p, x, v, g| unsafe { m05::<_, N>(p, x, v, g) }],
        [
            // SAFETY: as above.
            |p, x, v, g| unsafe { logistic::<V, false>(p, x, v, g) },
            // SAFETY: as above.
            |p, x, v, g| unsafe { logistic::<V, true>(p, x, v, g) },
        ],
        [
            // SAFETY: as above.
            |p, x, v, g| unsafe { kalman::<V, false>(p, x, v, g) },
            // SAFETY: as above.
            |p, x, v, g| unsafe { kalman::<V, true>(p, x, v, g) },
        ],
    ];
    Some(programs[name])
}

/// No sum of products is here to be contracted but those inside of the functions, which have no choice.
#[target_feature(enable = "avx2,fma")]
fn m05<T: Real, const N: usize>(params: &[T], inputs: &[T], values: &mut [T], gradients: &mut [T]) {
    let groups = params.chunks_exact(3 * N).zip(inputs.chunks_exact(N));
    let out = values.chunks_exact_mut(N).zip(gradients.chunks_exact_mut(3 * N));
    for ((p, t), (v, g)) in groups.zip(out) {
        let zero = [T::real(0.0); N];
        let (mut e, mut c, mut s) = (zero, zero, zero);
        for i in 0..N {
            (e[i], c[i]) = (-p[3 * i + 1] * t[i], p[3 * i + 2] * t[i]);
        }
        for x in &mut e {
            *x = x.exp();
        }
        for (c, s) in c.iter_mut().zip(&mut s) {
            (*c, *s) = (c.cos(), c.sin());
        }
        for i in 0..N {
            let by_a = e[i] * c[i];
            v[i] = p[3 * i] * by_a;
            g[3 * i] = by_a;
            g[3 * i + 1] = -t[i] * v[i];
            g[3 * i + 2] = -t[i] * (p[3 * i] * e[i] * s[i]);
        }
    }
}

/// Vectors that are worked on beside each other, since each round waits for the one before.
const BESIDE: usize = 4;

/// Sixteen rounds.
#[target_feature(enable = "avx2,fma")]
fn logistic<V: Vector, const FUSED: bool>(
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
