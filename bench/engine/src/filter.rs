//! The Kalman filter by hand: values with both derivatives, one vector of lanes for each number.

use crate::real::Real;
use std::arch::x86_64::*;

/// A vector of numbers of one kind.
pub trait Vector: Copy {
    /// Its numbers.
    type Number: Real;
    /// How many.
    const LANES: usize;
    fn collect(f: impl Fn(usize) -> Self::Number) -> Self;
    fn numbers(self, put: impl FnMut(usize, Self::Number));
    fn add(self, o: Self) -> Self;
    fn sub(self, o: Self) -> Self;
    fn mul(self, o: Self) -> Self;
    fn div(self, o: Self) -> Self;
    /// `self * b + c` with one rounding.
    fn fused(self, b: Self, c: Self) -> Self;
    fn log(self) -> Self;
}

/// Both kinds of vectors have the same instructions under different names.
macro_rules! vector {
    ($vector:ty, $number:ty, $lanes:literal, $add:ident, $sub:ident, $mul:ident, $div:ident, $fma:ident) => {
        impl Vector for $vector {
            type Number = $number;
            const LANES: usize = $lanes;

            #[inline(always)]
            fn collect(f: impl Fn(usize) -> $number) -> Self {
                let mut out = [0.0; $lanes];
                for (i, x) in out.iter_mut().enumerate() {
                    *x = f(i);
                }
                // SAFETY: both are the same bytes.
                unsafe { std::mem::transmute::<[$number; $lanes], Self>(out) }
            }

            #[inline(always)]
            fn numbers(self, mut put: impl FnMut(usize, $number)) {
                // SAFETY: both are the same bytes.
                let list = unsafe { std::mem::transmute::<Self, [$number; $lanes]>(self) };
                for (i, x) in list.into_iter().enumerate() {
                    put(i, x);
                }
            }

            #[inline(always)]
            fn add(self, o: Self) -> Self {
                // SAFETY: the benchmark needs such a processor; so below.
                unsafe { $add(self, o) }
            }

            #[inline(always)]
            fn sub(self, o: Self) -> Self {
                // SAFETY: as above.
                unsafe { $sub(self, o) }
            }

            #[inline(always)]
            fn mul(self, o: Self) -> Self {
                // SAFETY: as above.
                unsafe { $mul(self, o) }
            }

            #[inline(always)]
            fn div(self, o: Self) -> Self {
                // SAFETY: as above.
                unsafe { $div(self, o) }
            }

            #[inline(always)]
            fn fused(self, b: Self, c: Self) -> Self {
                // SAFETY: as above.
                unsafe { $fma(self, b, c) }
            }

            #[inline(always)]
            fn log(self) -> Self {
                let mut list = [0.0; $lanes];
                self.numbers(|i, x| list[i] = x);
                for x in &mut list {
                    *x = Real::log(*x);
                }
                Self::collect(|i| list[i])
            }
        }
    };
}

vector!(__m256d, f64, 4, _mm256_add_pd, _mm256_sub_pd, _mm256_mul_pd, _mm256_div_pd, _mm256_fmadd_pd);
vector!(__m256, f32, 8, _mm256_add_ps, _mm256_sub_ps, _mm256_mul_ps, _mm256_div_ps, _mm256_fmadd_ps);

/// A value with two derivatives.
#[derive(Clone, Copy)]
struct Dual<V, const FUSED: bool> {
    x: V,
    d: [V; 2],
}

impl<V: Vector, const FUSED: bool> Dual<V, FUSED> {
    #[inline(always)]
    fn constant(x: V) -> Self {
        let zero = V::collect(|_| Real::real(0.0));
        Dual { x, d: [zero; 2] }
    }

    #[inline(always)]
    fn variable(x: V, k: usize) -> Self {
        let mut dual = Dual::constant(x);
        dual.d[k] = V::collect(|_| Real::real(1.0));
        dual
    }

    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Dual { x: self.x.add(o.x), d: [self.d[0].add(o.d[0]), self.d[1].add(o.d[1])] }
    }

    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Dual { x: self.x.sub(o.x), d: [self.d[0].sub(o.d[0]), self.d[1].sub(o.d[1])] }
    }

    #[inline(always)]
    fn neg(self) -> Self {
        Dual::constant(V::collect(|_| Real::real(0.0))).sub(self)
    }

    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        let by = |k: usize| add_product::<V, FUSED>(self.d[k].mul(o.x), self.x, o.d[k]);
        Dual { x: self.x.mul(o.x), d: [by(0), by(1)] }
    }

    /// Itself and the product of two others.
    #[inline(always)]
    fn add_product(self, a: Self, b: Self) -> Self {
        if !FUSED {
            return self.add(a.mul(b));
        }
        let by = |k: usize| {
            let first = add_product::<V, FUSED>(self.d[k], a.d[k], b.x);
            add_product::<V, FUSED>(first, a.x, b.d[k])
        };
        Dual { x: add_product::<V, FUSED>(self.x, a.x, b.x), d: [by(0), by(1)] }
    }
}

/// `a * b + c`, with one rounding or with two.
#[inline(always)]
pub fn add_product<V: Vector, const FUSED: bool>(c: V, a: V, b: V) -> V {
    if FUSED { a.fused(b, c) } else { c.add(a.mul(b)) }
}

/// Numbers of a lane: eighty observations of two numbers.
const NUMBERS: usize = 160;

/// The filter over all lanes.
#[target_feature(enable = "avx2,fma")]
pub fn kalman<V: Vector, const FUSED: bool>(
    params: &[V::Number],
    inputs: &[V::Number],
    values: &mut [V::Number],
    gradients: &mut [V::Number],
) {
    let groups = params.chunks_exact(2 * V::LANES).zip(inputs.chunks_exact(NUMBERS * V::LANES));
    let out = values.chunks_exact_mut(V::LANES).zip(gradients.chunks_exact_mut(2 * V::LANES));
    for ((p, obs), (v, g)) in groups.zip(out) {
        let q = Dual::<V, FUSED>::variable(V::collect(|i| p[2 * i]), 0);
        let r = Dual::variable(V::collect(|i| p[2 * i + 1]), 1);
        let constant = |x: f64| Dual::constant(V::collect(|_| Real::real(x)));
        let (zero, one) = (constant(0.0), constant(1.0));
        let (mut x1, mut x2, mut p11, mut p12, mut p22, mut nll) = (zero, zero, one, zero, one, zero);
        for t in 0..NUMBERS / 2 {
            let e1 = Dual::constant(V::collect(|i| obs[i * NUMBERS + 2 * t])).sub(x1);
            let e2 = Dual::constant(V::collect(|i| obs[i * NUMBERS + 2 * t + 1])).sub(x2);
            let (a11, a22) = (p11.add(q), p22.add(q));
            let (s11, s22) = (a11.add(r), a22.add(r));
            let det = s11.mul(s22).add_product(p12.neg(), p12);
            // The inverse, which all quotients share.
            let inverse = one.x.div(det.x);
            let slope = zero.x.sub(inverse.mul(inverse));
            let inverse = Dual { x: inverse, d: [det.d[0].mul(slope), det.d[1].mul(slope)] };
            let (v11, v12, v22) = (s22.mul(inverse), p12.mul(inverse).neg(), s11.mul(inverse));
            let (k11, k12) = (a11.mul(v11).add_product(p12, v12), a11.mul(v12).add_product(p12, v22));
            let (k21, k22) = (p12.mul(v11).add_product(a22, v12), p12.mul(v12).add_product(a22, v22));
            let log = Dual { x: det.x.log(), d: [det.d[0].mul(inverse.x), det.d[1].mul(inverse.x)] };
            let (y1, y2) = (v11.mul(e1).add_product(v12, e2), v12.mul(e1).add_product(v22, e2));
            nll = nll.add(log).add_product(e1, y1).add_product(e2, y2);
            x1 = x1.add_product(k11, e1).add_product(k12, e2);
            x2 = x2.add_product(k21, e1).add_product(k22, e2);
            let old = p12;
            p12 = old.sub(k11.mul(old).add_product(k12, a22));
            p11 = a11.sub(k11.mul(a11).add_product(k12, old));
            p22 = a22.sub(k21.mul(old).add_product(k22, a22));
        }
        nll.x.numbers(|i, x| v[i] = x);
        nll.d[0].numbers(|i, x| g[2 * i] = x);
        nll.d[1].numbers(|i, x| g[2 * i + 1] = x);
    }
}
