//! Errors of the kernels in units in the last place, against arithmetic of 256 bits.
//!
//! `DMCI_LONG=1` takes thirty times as many arguments, `DMCI_BLESS=1` writes the table to
//! docs/accuracy.md.
#![allow(clippy::unwrap_used)]

use astro_float::{BigFloat, Consts, RoundingMode};
use dmci_ops::Op;
use dmci_ops::real;

const BITS: usize = 256;
const ROUND: RoundingMode = RoundingMode::None;

/// A reproducible stream of 64-bit numbers.
struct Stream(u64);

impl Stream {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform between bounds, or in its logarithm, of either sign where that is inside.
    fn argument(&mut self, low: f64, high: f64) -> f64 {
        match self.next() % 3 {
            0 => low + (high - low) * self.unit(),
            1 => (low.max(-8.0)) + (high.min(8.0) - low.max(-8.0)) * self.unit(),
            _ => {
                let size = 10f64.powf(-18.0 + (18.0 + high.max(-low).log10()) * self.unit());
                let x = if self.next().is_multiple_of(2) { size } else { -size };
                if (low..=high).contains(&x) { x } else { size.clamp(low, high) }
            }
        }
    }
}

type Exact = fn(&BigFloat, &mut Consts) -> BigFloat;

struct Row {
    name: &'static str,
    ours: fn(f64) -> f64,
    exact: Exact,
    range: (f64, f64),
    bound: f64,
}

fn one() -> BigFloat {
    BigFloat::from_f64(1.0, BITS)
}

fn sum(a: &BigFloat, b: &BigFloat) -> BigFloat {
    a.add(b, BITS, ROUND)
}

const ROWS: &[Row] = &[
    Row { name: "exp", ours: real::exp, exact: |x, c| x.exp(BITS, ROUND, c), range: (-708.0, 709.7), bound: 1.0 },
    Row { name: "log", ours: real::log, exact: |x, c| x.ln(BITS, ROUND, c), range: (1e-300, 1e300), bound: 1.0 },
    Row {
        name: "expm1",
        ours: real::expm1,
        exact: |x, c| x.exp(BITS, ROUND, c).sub(&one(), BITS, ROUND),
        range: (-50.0, 709.7),
        bound: 2.0,
    },
    Row {
        name: "log1p",
        ours: real::log1p,
        exact: |x, c| sum(x, &one()).ln(BITS, ROUND, c),
        range: (-0.9999999, 1e300),
        bound: 1.0,
    },
    Row { name: "sin", ours: real::sin, exact: |x, c| x.sin(BITS, ROUND, c), range: (-1e12, 1e12), bound: 1.0 },
    Row { name: "cos", ours: real::cos, exact: |x, c| x.cos(BITS, ROUND, c), range: (-1e12, 1e12), bound: 1.0 },
    Row { name: "tan", ours: real::tan, exact: |x, c| x.tan(BITS, ROUND, c), range: (-1e12, 1e12), bound: 2.0 },
    Row { name: "sinh", ours: real::sinh, exact: |x, c| x.sinh(BITS, ROUND, c), range: (-710.0, 710.0), bound: 2.0 },
    Row { name: "cosh", ours: real::cosh, exact: |x, c| x.cosh(BITS, ROUND, c), range: (-710.0, 710.0), bound: 2.0 },
    Row { name: "tanh", ours: real::tanh, exact: |x, c| x.tanh(BITS, ROUND, c), range: (-30.0, 30.0), bound: 2.0 },
    Row {
        name: "sigmoid",
        ours: real::sigmoid,
        exact: |x, c| one().div(&sum(&one(), &x.neg().exp(BITS, ROUND, c)), BITS, ROUND),
        range: (-700.0, 700.0),
        bound: 2.0,
    },
    Row {
        name: "softplus",
        ours: real::softplus,
        exact: |x, c| {
            let e = x.exp(BITS + 1100, ROUND, c);
            e.add(&one(), BITS + 1100, ROUND).ln(BITS, ROUND, c)
        },
        range: (-700.0, 700.0),
        bound: 2.0,
    },
    Row { name: "log2", ours: real::log2, exact: |x, c| x.log2(BITS, ROUND, c), range: (1e-300, 1e300), bound: 1.0 },
    Row { name: "log10", ours: real::log10, exact: |x, c| x.log10(BITS, ROUND, c), range: (1e-300, 1e300), bound: 1.0 },
    Row { name: "asin", ours: real::asin, exact: |x, c| x.asin(BITS, ROUND, c), range: (-1.0, 1.0), bound: 1.0 },
    Row { name: "acos", ours: real::acos, exact: |x, c| x.acos(BITS, ROUND, c), range: (-1.0, 1.0), bound: 1.0 },
    Row { name: "atan", ours: real::atan, exact: |x, c| x.atan(BITS, ROUND, c), range: (-1e10, 1e10), bound: 1.0 },
    Row { name: "asinh", ours: real::asinh, exact: |x, c| x.asinh(BITS, ROUND, c), range: (-1e10, 1e10), bound: 2.0 },
    Row { name: "acosh", ours: real::acosh, exact: |x, c| x.acosh(BITS, ROUND, c), range: (1.0, 1e10), bound: 2.0 },
    Row { name: "atanh", ours: real::atanh, exact: |x, c| x.atanh(BITS, ROUND, c), range: (-0.999, 0.999), bound: 2.0 },
    Row { name: "cbrt", ours: real::cbrt, exact: |x, _| x.cbrt(BITS, ROUND), range: (-1e100, 1e100), bound: 1.0 },
    Row { name: "sqrt", ours: real::sqrt, exact: |x, _| x.sqrt(BITS, ROUND), range: (0.0, 1e100), bound: 0.5 },
];

/// The error of a result in units in the last place of it.
fn error(got: f64, exact: &BigFloat) -> f64 {
    if got.is_infinite() || got.is_nan() {
        return f64::INFINITY;
    }
    let got_exactly = BigFloat::from_f64(got, BITS);
    let difference = got_exactly.sub(exact, BITS, ROUND);
    if difference.is_zero() {
        return 0.0;
    }
    // A normal number has 53 bits: so many units in the last place.
    let units = (got.to_bits() & ((1 << 52) - 1) | 1 << 52) as f64;
    to_f64(&difference.div(&got_exactly, 64, ROUND)).abs() * units
}

/// Near enough for a table.
fn to_f64(x: &BigFloat) -> f64 {
    if x.is_zero() {
        return 0.0;
    }
    let (words, _, _, exponent, _) = x.as_raw_parts().unwrap();
    *words.last().unwrap() as f64 / 2f64.powi(64) * 2f64.powi(exponent)
}

fn samples() -> usize {
    if std::env::var_os("DMCI_LONG").is_some() { 30_000 } else { 1_000 }
}

fn worst(row: &Row, consts: &mut Consts) -> (f64, f64) {
    let mut stream = Stream(7);
    (0..samples())
        .map(|_| stream.argument(row.range.0, row.range.1))
        .map(|x| (error((row.ours)(x), &(row.exact)(&BigFloat::from_f64(x, BITS), consts)), x))
        .fold((0.0, 0.0), |worst, now| if now.0 > worst.0 { now } else { worst })
}

fn worst_power(consts: &mut Consts) -> (f64, f64) {
    let mut stream = Stream(11);
    let mut worst = (0.0, 0.0);
    for _ in 0..samples() {
        let x = 10f64.powf(stream.unit() * 20.0 - 10.0);
        let most = 700.0 / x.ln().abs().max(0.1);
        let y = (stream.unit() * 2.0 - 1.0) * most.min(1000.0);
        let exact = BigFloat::from_f64(x, BITS).pow(&BigFloat::from_f64(y, BITS), BITS, ROUND, consts);
        let e = error(real::pow(x, y), &exact);
        if e > worst.0 {
            worst = (e, x);
        }
    }
    worst
}

#[test]
fn errors_are_within_their_bounds() {
    let mut consts = Consts::new().unwrap();
    let mut table = String::from("| function | from | to | largest error |\n|---|---|---|---|\n");
    let mut wrong = Vec::new();
    for row in ROWS {
        let (e, x) = worst(row, &mut consts);
        table += &format!("| {} | {:e} | {:e} | {e:.2} |\n", row.name, row.range.0, row.range.1);
        if e > row.bound + 1e-9 {
            wrong.push(format!("{} of {x:?}: {e:.3} units in the last place", row.name));
        }
    }
    let (e, x) = worst_power(&mut consts);
    table += &format!("| pow | 1e-10 | 1e10 | {e:.2} |\n");
    if e > 1.0 {
        wrong.push(format!("pow of {x:?}: {e:.3} units in the last place"));
    }
    println!("{table}");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/accuracy.md");
    if std::env::var_os("DMCI_BLESS").is_some() {
        let text = std::fs::read_to_string(path).unwrap();
        let (head, rest) = text.split_once("<!-- table -->\n").unwrap();
        let (_, tail) = rest.split_once("<!-- end -->").unwrap();
        std::fs::write(path, format!("{head}<!-- table -->\n{table}<!-- end -->{tail}")).unwrap();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Wide loops give the same bits as single numbers, also where a slow function is needed.
#[test]
fn lanes_are_the_same_as_single_numbers() {
    let special = [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324, -5e-324, 1e-310];
    let more = [1e300, -1e300, 1e10, -1e10, 709.0, 710.2, -745.2, -744.0, 0.5, -0.5, 2.0, 3.0, -3.0, 1e-17];
    let mut stream = Stream(3);
    let mut list: Vec<f64> = special.into_iter().chain(more).collect();
    list.extend((0..200).map(|_| stream.argument(-1e3, 1e3)));
    list.extend((0..200).map(|_| f64::from_bits(stream.next())));
    let a: Vec<u64> = list.iter().map(|x| x.to_bits()).collect();
    let mut d = vec![0; a.len()];
    for &op in Op::ALL {
        for shift in 0..if op.operands().len() > 1 { 40 } else { 1 } {
            let mut b = a.clone();
            b.rotate_left(shift);
            let mut c = a.clone();
            c.rotate_left(2 * shift + 1);
            op.eval_lanes(&mut d, [&a, &b, &c]);
            for i in 0..a.len() {
                let alone = op.eval([a[i], b[i], c[i]]);
                assert_eq!(d[i], alone, "{} of {:?} {:?}", op.name(), list[i], f64::from_bits(b[i]));
            }
        }
    }
}
