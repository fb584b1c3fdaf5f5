//! Vectors of numbers, and the Kalman filter by hand: values with both derivatives, a vector of lanes for each number.

use crate::hand::Program;
use crate::real::Real;
use std::arch::x86_64::*;

/// A vector of numbers of one kind. The processor must have such vectors.
pub trait Vector: Copy {
    /// Its numbers.
    type Number: Real;
    type List: AsRef<[Self::Number]> + AsMut<[Self::Number]>;
    /// How many.
    const LANES: usize;
    fn collect(f: impl Fn(usize) -> Self::Number) -> Self;
    fn list(self) -> Self::List;
    fn add(self, o: Self) -> Self;
    fn sub(self, o: Self) -> Self;
    fn mul(self, o: Self) -> Self;
    fn div(self, o: Self) -> Self;
    /// `self * b + c` with one rounding.
    fn fused(self, b: Self, c: Self) -> Self;
    /// A program, compiled for processors that have such vectors.
    fn compiled<B: Body<Self>>() -> Program<Self::Number>;

    #[inline(always)]
    fn numbers(self, mut put: impl FnMut(usize, Self::Number)) {
        for (i, &x) in self.list().as_ref().iter().enumerate() {
            put(i, x);
        }
    }

    /// A function of each number, in a loop that becomes vectors again.
    #[inline(always)]
    fn each(self, f: impl Fn(Self::Number) -> Self::Number) -> Self {
        let mut list = self.list();
        for x in list.as_mut() {
            *x = f(*x);
        }
        Self::collect(|i| list.as_ref()[i])
    }

    /// Both in one loop, since they share most of their work.
    #[inline(always)]
    fn sin_cos(self) -> [Self; 2] {
        let (mut sin, mut cos) = (self.list(), self.list());
        for (s, c) in sin.as_mut().iter_mut().zip(cos.as_mut()) {
            (*s, *c) = (s.sin(), s.cos());
        }
        [Self::collect(|i| sin.as_ref()[i]), Self::collect(|i| cos.as_ref()[i])]
    }

    /// The first, the second and the third numbers of triples.
    #[inline(always)]
    fn thirds(list: &[Self::Number]) -> [Self; 3] {
        [Self::collect(|i| list[3 * i]), Self::collect(|i| list[3 * i + 1]), Self::collect(|i| list[3 * i + 2])]
    }

    /// Triples of them.
    #[inline(always)]
    fn put_thirds(parts: [Self; 3], list: &mut [Self::Number]) {
        for (k, part) in parts.into_iter().enumerate() {
            part.numbers(|i, x| list[3 * i + k] = x);
        }
    }
}

/// A program over all lanes. It is written into the functions that are compiled for a kind of vectors, and so must be
/// all that it calls.
pub trait Body<V: Vector> {
    fn run(params: &[V::Number], inputs: &[V::Number], values: &mut [V::Number], gradients: &mut [V::Number]);
}

/// Which numbers of two vectors make one where triples are taken apart or put together: for each of three results
/// those of the first two vectors, then those of the outcome and of the third.
macro_rules! indices {
    ($apart:literal, $lanes:literal, $index:ident) => {{
        let mut table = [[[0; $lanes]; 2]; 3];
        let mut n = 0;
        while n < 3 * $lanes {
            let (in_list, in_triples) = ([n / $lanes, n % $lanes], [n % 3, n / 3]);
            let ([part, at], [k, i]) = if $apart { (in_list, in_triples) } else { (in_triples, in_list) };
            table[k][0][i] = if part < 2 { part * $lanes + at } else { 0 } as $index;
            table[k][1][i] = if part < 2 { i } else { $lanes + at } as $index;
            n += 1;
        }
        table
    }};
}

/// Triples by instructions that take any numbers of two vectors.
macro_rules! thirds {
    ($number:ty, $lanes:literal, $index:ident, $permute:ident) => {
        #[inline(always)]
        fn thirds(list: &[$number]) -> [Self; 3] {
            let part = |k: usize| Self::collect(|i| list[k * $lanes + i]);
            rearranged!([part(0), part(1), part(2)], true, $lanes, $index, $permute)
        }

        #[inline(always)]
        fn put_thirds(parts: [Self; 3], list: &mut [$number]) {
            let parts = rearranged!(parts, false, $lanes, $index, $permute);
            for (part, list) in parts.into_iter().zip(list.chunks_exact_mut($lanes)) {
                part.numbers(|i, x| list[i] = x);
            }
        }
    };
}

macro_rules! rearranged {
    ($parts:expr, $apart:literal, $lanes:literal, $index:ident, $permute:ident) => {{
        const TABLE: [[[$index; $lanes]; 2]; 3] = indices!($apart, $lanes, $index);
        let [a, b, c] = $parts;
        let mut out = [a; 3];
        for (out, which) in out.iter_mut().zip(TABLE) {
            // SAFETY: both are the same bytes, and the processor has such vectors.
            *out = unsafe {
                let [first, last] = std::mem::transmute::<[[$index; $lanes]; 2], [__m512i; 2]>(which);
                $permute($permute(a, first, b), last, c)
            };
        }
        out
    }};
}

/// All kinds of vectors have the same instructions under different names.
macro_rules! vector {
    ($vector:ty, $number:ty, $lanes:literal, $features:literal, [$($op:ident),*], { $($more:tt)* }) => {
        vector!(@ $vector, $number, $lanes, $features, $($op,)* $($more)*);
    };
    (@ $vector:ty, $number:ty, $lanes:literal, $features:literal, $add:ident, $sub:ident, $mul:ident, $div:ident,
     $fma:ident, $($more:tt)*) => {
        impl Vector for $vector {
            type Number = $number;
            type List = [$number; $lanes];
            const LANES: usize = $lanes;

            #[inline(always)]
            fn list(self) -> [$number; $lanes] {
                // SAFETY: both are the same bytes.
                unsafe { std::mem::transmute::<Self, [$number; $lanes]>(self) }
            }

            fn compiled<B: Body<Self>>() -> Program<$number> {
                #[target_feature(enable = $features)]
                fn program<B: Body<$vector>>(p: &[$number], x: &[$number], v: &mut [$number], g: &mut [$number]) {
                    B::run(p, x, v, g);
                }
                // SAFETY: the processor has such vectors.
                |p, x, v, g| unsafe { program::<B>(p, x, v, g) }
            }

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
            fn add(self, o: Self) -> Self {
                // SAFETY: the processor has such vectors; so below.
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

            $($more)*
        }
    };
}

vector!(__m256d, f64, 4, "avx2,fma", [_mm256_add_pd, _mm256_sub_pd, _mm256_mul_pd, _mm256_div_pd, _mm256_fmadd_pd], {});
vector!(__m256, f32, 8, "avx2,fma", [_mm256_add_ps, _mm256_sub_ps, _mm256_mul_ps, _mm256_div_ps, _mm256_fmadd_ps], {});
vector!(
    __m512d,
    f64,
    8,
    "avx2,fma,avx512f,avx512dq,avx512vl,avx512bw",
    [_mm512_add_pd, _mm512_sub_pd, _mm512_mul_pd, _mm512_div_pd, _mm512_fmadd_pd],
    {
        thirds!(f64, 8, i64, _mm512_permutex2var_pd);
    }
);
vector!(
    __m512,
    f32,
    16,
    "avx2,fma,avx512f,avx512dq,avx512vl,avx512bw",
    [_mm512_add_ps, _mm512_sub_ps, _mm512_mul_ps, _mm512_div_ps, _mm512_fmadd_ps],
    {
        thirds!(f32, 16, i32, _mm512_permutex2var_ps);
    }
);

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
pub struct Kalman<const FUSED: bool>;

impl<V: Vector, const FUSED: bool> Body<V> for Kalman<FUSED> {
    #[inline(always)]
    fn run(params: &[V::Number], inputs: &[V::Number], values: &mut [V::Number], gradients: &mut [V::Number]) {
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
                let log = Dual { x: det.x.each(Real::log), d: [det.d[0].mul(inverse.x), det.d[1].mul(inverse.x)] };
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
}
