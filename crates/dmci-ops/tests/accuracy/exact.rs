//! Functions that the arithmetic of many digits lacks, from their series.

use astro_float::{BigFloat, Consts, RoundingMode, Sign};

pub const BITS: usize = 256;
pub const ROUND: RoundingMode = RoundingMode::None;

/// A number of double precision, exactly.
pub fn big(x: f64) -> BigFloat {
    BigFloat::from_f64(x, BITS)
}

pub fn add(a: &BigFloat, b: &BigFloat) -> BigFloat {
    a.add(b, BITS, ROUND)
}

pub fn sub(a: &BigFloat, b: &BigFloat) -> BigFloat {
    a.sub(b, BITS, ROUND)
}

pub fn mul(a: &BigFloat, b: &BigFloat) -> BigFloat {
    a.mul(b, BITS, ROUND)
}

pub fn div(a: &BigFloat, b: &BigFloat) -> BigFloat {
    a.div(b, BITS, ROUND)
}

fn log(x: &BigFloat, c: &mut Consts) -> BigFloat {
    x.ln(BITS, ROUND, c)
}

fn is_below(a: &BigFloat, b: f64) -> bool {
    a.cmp(&big(b)).is_some_and(|order| order < 0)
}

/// e^(-x^2) / sqrt(pi).
fn bell(x: &BigFloat, c: &mut Consts) -> BigFloat {
    let root = c.pi(BITS, ROUND).sqrt(BITS, ROUND);
    div(&mul(x, x).neg().exp(BITS, ROUND, c), &root)
}

/// The error function: up to 3 a series of terms of one sign.
pub fn erf(x: &BigFloat, c: &mut Consts) -> BigFloat {
    if !is_below(&x.abs(), 3.0) {
        let rest = erfc(&x.abs(), c);
        let size = sub(&big(1.0), &rest);
        return if x.is_negative() { size.neg() } else { size };
    }
    // 2 x bell(x) (1 + 2 x^2/3 + (2 x^2)^2/(3 5) + ...)
    let twice_square = mul(&mul(x, x), &big(2.0));
    let (mut term, mut total) = (big(1.0), big(1.0));
    for n in 1..200 {
        term = div(&mul(&term, &twice_square), &big(f64::from(2 * n + 1)));
        total = add(&total, &term);
        if is_below(&term, 1e-50) {
            break;
        }
    }
    mul(&mul(&total, &bell(x, c)), &mul(x, &big(2.0)))
}

/// 1 - erf(x): from 3 on a continued fraction.
pub fn erfc(x: &BigFloat, c: &mut Consts) -> BigFloat {
    if is_below(x, 3.0) {
        return sub(&big(1.0), &erf(x, c));
    }
    // 1 / (x + (1/2) / (x + (2/2) / (x + (3/2) / ...)))
    let tail = (1..160).rev().fold(x.clone(), |below, n| add(x, &div(&big(f64::from(n) / 2.0), &below)));
    div(&bell(x, c), &tail)
}

/// B(2), B(4), ... from their recurrence.
pub struct Bernoulli(Vec<BigFloat>);

impl Bernoulli {
    pub fn new() -> Bernoulli {
        // The sum of binomial(m + 1, j) B(j) for j up to m is 0.
        let mut all = vec![big(1.0)];
        for m in 1..=40 {
            let mut binomial = big(1.0);
            let mut sum = big(0.0);
            for (j, b) in all.iter().enumerate() {
                sum = add(&sum, &mul(&binomial, b));
                binomial = div(&mul(&binomial, &big((m + 1 - j) as f64)), &big((j + 1) as f64));
            }
            all.push(div(&sum, &big((m + 1) as f64)).neg());
        }
        Bernoulli(all.into_iter().skip(2).step_by(2).collect())
    }

    /// x + n from 32 on, and the numbers from x up to there.
    fn raised(x: &BigFloat) -> (BigFloat, Vec<BigFloat>) {
        let (mut y, mut below) = (x.clone(), Vec::new());
        while is_below(&y, 32.0) {
            below.push(y.clone());
            y = add(&y, &big(1.0));
        }
        (y, below)
    }

    /// log(gamma(y)) for y from 32 on, with Stirling's series.
    fn stirling(&self, y: &BigFloat, c: &mut Consts) -> BigFloat {
        let two_pi = mul(&c.pi(BITS, ROUND), &big(2.0));
        let mut total = sub(&mul(&sub(y, &big(0.5)), &log(y, c)), y);
        total = add(&total, &div(&log(&two_pi, c), &big(2.0)));
        let (square, mut power) = (mul(y, y), y.clone());
        for (i, b) in self.0.iter().enumerate() {
            let k = (2 * i + 2) as f64;
            total = add(&total, &div(b, &mul(&big(k * (k - 1.0)), &power)));
            power = mul(&power, &square);
        }
        total
    }

    pub fn gamma(&self, x: &BigFloat, c: &mut Consts) -> BigFloat {
        let (y, below) = Self::raised(x);
        let product = below.iter().fold(big(1.0), |product, z| mul(&product, z));
        div(&self.stirling(&y, c).exp(BITS, ROUND, c), &product)
    }

    pub fn lgamma(&self, x: &BigFloat, c: &mut Consts) -> BigFloat {
        let (y, below) = Self::raised(x);
        let mut product = below.iter().fold(big(1.0), |product, z| mul(&product, z));
        product.set_sign(Sign::Pos);
        sub(&self.stirling(&y, c), &log(&product, c))
    }

    pub fn digamma(&self, x: &BigFloat, c: &mut Consts) -> BigFloat {
        let (y, below) = Self::raised(x);
        let mut total = sub(&log(&y, c), &div(&big(0.5), &y));
        let (square, mut power) = (mul(&y, &y), mul(&y, &y));
        for (i, b) in self.0.iter().enumerate() {
            total = sub(&total, &div(b, &mul(&big((2 * i + 2) as f64), &power)));
            power = mul(&power, &square);
        }
        below.iter().fold(total, |total, z| sub(&total, &div(&big(1.0), z)))
    }
}

impl Bernoulli {
    /// The derivative of digamma.
    pub fn trigamma(&self, x: &BigFloat) -> BigFloat {
        let (y, below) = Self::raised(x);
        let square = mul(&y, &y);
        let mut total = add(&div(&big(1.0), &y), &div(&big(0.5), &square));
        let mut power = mul(&square, &y);
        for b in &self.0 {
            total = add(&total, &div(b, &power));
            power = mul(&power, &square);
        }
        below.iter().fold(total, |total, z| add(&total, &div(&big(1.0), &mul(z, z))))
    }
}

/// The angle of the point (x, y) with y > 0.
pub fn angle(y: &BigFloat, x: &BigFloat, c: &mut Consts) -> BigFloat {
    let angle = div(y, x).atan(BITS, ROUND, c);
    if x.is_negative() { add(&angle, &c.pi(BITS, ROUND)) } else { angle }
}
