//! Programs written by hand, with their derivatives, over the same data: what the engine is measured by.
//!
//! Lanes are worked on in groups, so that the compiler can use vectors; functions are compiled for AVX2 and FMA.
//! Products and sums are not contracted.

use dmci_ops::arith::{Hard, Scalar};
use dmci_ops::real::kernel;

/// Lanes of a group.
const GROUP: usize = 8;

type Lanes = [f64; GROUP];

/// A value in some lanes, with two derivatives.
#[derive(Clone, Copy)]
struct Dual {
    x: Lanes,
    d: [Lanes; 2],
}

#[inline(always)]
fn map(f: impl Fn(usize) -> f64) -> Lanes {
    let mut out = [0.0; GROUP];
    for (i, x) in out.iter_mut().enumerate() {
        *x = f(i);
    }
    out
}

impl Dual {
    #[inline(always)]
    fn constant(x: Lanes) -> Dual {
        Dual { x, d: [[0.0; GROUP]; 2] }
    }

    #[inline(always)]
    fn variable(x: Lanes, k: usize) -> Dual {
        let mut dual = Dual::constant(x);
        dual.d[k] = [1.0; GROUP];
        dual
    }

    #[inline(always)]
    fn add(self, o: Dual) -> Dual {
        Dual { x: map(|i| self.x[i] + o.x[i]), d: [0, 1].map(|k| map(|i| self.d[k][i] + o.d[k][i])) }
    }

    #[inline(always)]
    fn sub(self, o: Dual) -> Dual {
        Dual { x: map(|i| self.x[i] - o.x[i]), d: [0, 1].map(|k| map(|i| self.d[k][i] - o.d[k][i])) }
    }

    #[inline(always)]
    fn mul(self, o: Dual) -> Dual {
        let d = [0, 1].map(|k| map(|i| self.d[k][i] * o.x[i] + self.x[i] * o.d[k][i]));
        Dual { x: map(|i| self.x[i] * o.x[i]), d }
    }

    /// By the inverse, which several quotients share.
    #[inline(always)]
    fn inverse(self) -> Dual {
        let inverse = map(|i| 1.0 / self.x[i]);
        let square = map(|i| inverse[i] * inverse[i]);
        Dual { x: inverse, d: [0, 1].map(|k| map(|i| -self.d[k][i] * square[i])) }
    }
}

/// A program by hand: from parameters and inputs of so many lanes to values and gradients.
pub type Program = fn(&[f64], &[f64], &mut [f64], &mut [f64]);

/// The program of a model file.
pub fn find(file: &str) -> Option<Program> {
    let name = ["b/m05.scm", "bench/logistic-map.scm", "kalman/kalman-2d-scalar.scm"]
        .iter()
        .position(|n| file.ends_with(n))?;
    let programs: [Program; 3] = [
        // SAFETY: the benchmark needs such a processor.
        |p, x, v, g| unsafe { m05(p, x, v, g) },
        |p, x, v, g| unsafe { logistic(p, x, v, g) },
        |p, x, v, g| unsafe { kalman(p, x, v, g) },
    ];
    Some(programs[name])
}

#[target_feature(enable = "avx2,fma")]
fn m05(params: &[f64], inputs: &[f64], values: &mut [f64], gradients: &mut [f64]) {
    let groups = params.chunks_exact(3 * GROUP).zip(inputs.chunks_exact(GROUP));
    let out = values.chunks_exact_mut(GROUP).zip(gradients.chunks_exact_mut(3 * GROUP));
    for ((p, t), (v, g)) in groups.zip(out) {
        let arith = || Scalar::<Hard, true>::new();
        let e = map(|i| kernel::exp(&mut arith(), -p[3 * i + 1] * t[i]));
        let phase = map(|i| p[3 * i + 2] * t[i]);
        let c = map(|i| kernel::cos(&mut arith(), phase[i]));
        let s = map(|i| kernel::sin(&mut arith(), phase[i]));
        for i in 0..GROUP {
            let by_a = e[i] * c[i];
            v[i] = p[3 * i] * by_a;
            g[3 * i] = by_a;
            g[3 * i + 1] = -t[i] * v[i];
            g[3 * i + 2] = -t[i] * (p[3 * i] * e[i] * s[i]);
        }
    }
}

/// Sixteen rounds.
#[target_feature(enable = "avx2,fma")]
fn logistic(params: &[f64], inputs: &[f64], values: &mut [f64], gradients: &mut [f64]) {
    const WIDE: usize = 16;
    let groups = params.chunks_exact(WIDE).zip(inputs.chunks_exact(WIDE));
    let out = values.chunks_exact_mut(WIDE).zip(gradients.chunks_exact_mut(WIDE));
    for ((r, x0), (v, g)) in groups.zip(out) {
        let (mut x, mut d, mut rate) = ([0.0; WIDE], [0.0; WIDE], [0.0; WIDE]);
        x.copy_from_slice(x0);
        rate.copy_from_slice(r);
        for _ in 0..16 {
            for i in 0..WIDE {
                let rest = 1.0 - x[i];
                let product = x[i] * rest;
                d[i] = product + rate[i] * ((rest - x[i]) * d[i]);
                x[i] = rate[i] * product;
            }
        }
        v.copy_from_slice(&x);
        g.copy_from_slice(&d);
    }
}

/// Eighty observations of two numbers.
#[target_feature(enable = "avx2,fma")]
fn kalman(params: &[f64], inputs: &[f64], values: &mut [f64], gradients: &mut [f64]) {
    const NUMBERS: usize = 160;
    let groups = params.chunks_exact(2 * GROUP).zip(inputs.chunks_exact(NUMBERS * GROUP));
    let out = values.chunks_exact_mut(GROUP).zip(gradients.chunks_exact_mut(2 * GROUP));
    for ((p, obs), (v, g)) in groups.zip(out) {
        let q = Dual::variable(map(|i| p[2 * i]), 0);
        let r = Dual::variable(map(|i| p[2 * i + 1]), 1);
        let (zero, one) = (Dual::constant([0.0; GROUP]), Dual::constant([1.0; GROUP]));
        let (mut x1, mut x2, mut p11, mut p12, mut p22, mut nll) = (zero, zero, one, zero, one, zero);
        for t in 0..NUMBERS / 2 {
            let e1 = Dual::constant(map(|i| obs[i * NUMBERS + 2 * t])).sub(x1);
            let e2 = Dual::constant(map(|i| obs[i * NUMBERS + 2 * t + 1])).sub(x2);
            let (a11, a22) = (p11.add(q), p22.add(q));
            let (s11, s22) = (a11.add(r), a22.add(r));
            let det = s11.mul(s22).sub(p12.mul(p12));
            let inverse = det.inverse();
            let (v11, v12, v22) = (s22.mul(inverse), zero.sub(p12.mul(inverse)), s11.mul(inverse));
            let (k11, k12) = (a11.mul(v11).add(p12.mul(v12)), a11.mul(v12).add(p12.mul(v22)));
            let (k21, k22) = (p12.mul(v11).add(a22.mul(v12)), p12.mul(v12).add(a22.mul(v22)));
            let log = Dual {
                x: map(|i| kernel::log(&mut Scalar::<Hard, true>::new(), det.x[i])),
                d: [0, 1].map(|k| map(|i| det.d[k][i] * inverse.x[i])),
            };
            let (y1, y2) = (v11.mul(e1).add(v12.mul(e2)), v12.mul(e1).add(v22.mul(e2)));
            nll = nll.add(log).add(e1.mul(y1)).add(e2.mul(y2));
            x1 = x1.add(k11.mul(e1)).add(k12.mul(e2));
            x2 = x2.add(k21.mul(e1)).add(k22.mul(e2));
            let old = p12;
            p12 = old.sub(k11.mul(old).add(k12.mul(a22)));
            p11 = a11.sub(k11.mul(a11).add(k12.mul(old)));
            p22 = a22.sub(k21.mul(old).add(k22.mul(a22)));
        }
        for i in 0..GROUP {
            v[i] = nll.x[i];
            g[2 * i] = nll.d[0][i];
            g[2 * i + 1] = nll.d[1][i];
        }
    }
}
