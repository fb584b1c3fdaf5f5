//! Errors of the kernels in units in the last place, against arithmetic of 256 bits.
//!
//! `DMCI_LONG=1` takes thirty times as many arguments, `DMCI_BLESS=1` writes the table to
//! docs/accuracy.md.
#![allow(clippy::unwrap_used)]

mod exact;
mod single;

use astro_float::{BigFloat, Consts, Radix};
use dmci_ops::arith::{Scalar, Soft};
use dmci_ops::real::{self, Function, kernel};
use dmci_ops::{Op, op};
use exact::{BITS, Bernoulli, ROUND, add, angle, big, div, mul, sub};

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

/// What a function is in arithmetic of many digits.
type Exact = fn(&BigFloat, &mut Tools) -> BigFloat;

/// What the arithmetic needs at hand.
struct Tools {
    consts: Consts,
    bernoulli: Bernoulli,
}

fn tools() -> Tools {
    Tools { consts: Consts::new().unwrap(), bernoulli: Bernoulli::new() }
}

struct Row {
    name: &'static str,
    ours: fn(f64) -> f64,
    exact: Exact,
    range: (f64, f64),
    bound: f64,
    /// Where arguments are taken close by: zeros, and ends of pieces.
    around: &'static [f64],
    /// The unit is that of the result, but not less than that of 1: next to zeros only the absolute error counts.
    from_one: bool,
}

impl Row {
    const fn around(mut self, points: &'static [f64]) -> Row {
        self.around = points;
        self
    }

    const fn absolute(mut self) -> Row {
        self.from_one = true;
        self
    }

    fn argument(&self, stream: &mut Stream) -> f64 {
        let (low, high) = self.range;
        if self.around.is_empty() || !stream.next().is_multiple_of(4) {
            return stream.argument(low, high);
        }
        let point = self.around[stream.next() as usize % self.around.len()];
        let away = 10f64.powf(-16.0 * stream.unit());
        let x = if stream.next().is_multiple_of(2) { point + away } else { point - away };
        x.clamp(low, high)
    }
}

const fn row(name: &'static str, ours: fn(f64) -> f64, exact: Exact, range: (f64, f64), bound: f64) -> Row {
    Row { name, ours, exact, range, bound, around: &[], from_one: false }
}

fn one() -> BigFloat {
    big(1.0)
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    row("exp", real::exp, |x, t| x.exp(BITS, ROUND, &mut t.consts), (-708.0, 709.7), 1.0),
    row("log", real::log, |x, t| x.ln(BITS, ROUND, &mut t.consts), (1e-300, 1e300), 1.0).around(&[1.0]),
    row("expm1", real::expm1, |x, t| sub(&x.exp(BITS, ROUND, &mut t.consts), &one()), (-50.0, 709.7), 2.0),
    row("log1p", real::log1p, |x, t| add(x, &one()).ln(BITS, ROUND, &mut t.consts), (-0.9999999, 1e300), 1.0),
    row("sin", real::sin, |x, t| x.sin(BITS, ROUND, &mut t.consts), (-1e12, 1e12), 1.0),
    row("cos", real::cos, |x, t| x.cos(BITS, ROUND, &mut t.consts), (-1e12, 1e12), 1.0),
    row("tan", real::tan, |x, t| x.tan(BITS, ROUND, &mut t.consts), (-1e12, 1e12), 2.0),
    row("sinh", real::sinh, |x, t| x.sinh(BITS, ROUND, &mut t.consts), (-710.0, 710.0), 2.0),
    row("cosh", real::cosh, |x, t| x.cosh(BITS, ROUND, &mut t.consts), (-710.0, 710.0), 2.0),
    row("tanh", real::tanh, |x, t| x.tanh(BITS, ROUND, &mut t.consts), (-30.0, 30.0), 2.0),
    row("sigmoid", real::sigmoid, |x, t| div(&one(), &add(&one(), &x.neg().exp(BITS, ROUND, &mut t.consts))), (-700.0, 700.0), 2.0),
    row("softplus", real::softplus, softplus, (-700.0, 700.0), 2.0),
    row("log2", real::log2, |x, t| x.log2(BITS, ROUND, &mut t.consts), (1e-300, 1e300), 1.0).around(&[1.0]),
    row("log10", real::log10, |x, t| x.log10(BITS, ROUND, &mut t.consts), (1e-300, 1e300), 1.0).around(&[1.0]),
    row("asin", real::asin, |x, t| x.asin(BITS, ROUND, &mut t.consts), (-1.0, 1.0), 2.0).around(&[-1.0, -0.5, 0.5, 1.0]),
    row("acos", real::acos, |x, t| x.acos(BITS, ROUND, &mut t.consts), (-1.0, 1.0), 2.0).around(&[-1.0, -0.5, 0.5, 1.0]),
    row("atan", real::atan, |x, t| x.atan(BITS, ROUND, &mut t.consts), (-1e10, 1e10), 1.5).around(&[-1.0, 1.0]),
    row("asinh", real::asinh, |x, t| x.asinh(BITS, ROUND, &mut t.consts), (-1e10, 1e10), 2.0),
    row("acosh", real::acosh, |x, t| x.acosh(BITS, ROUND, &mut t.consts), (1.0, 1e10), 2.0).around(&[1.0]),
    row("atanh", real::atanh, |x, t| x.atanh(BITS, ROUND, &mut t.consts), (-0.9999999, 0.9999999), 2.0).around(&[-1.0, 1.0]),
    row("cbrt", real::cbrt, |x, _| x.cbrt(BITS, ROUND), (-1e100, 1e100), 1.0),
    row("sqrt", real::sqrt, |x, _| x.sqrt(BITS, ROUND), (0.0, 1e100), 0.5),
    row("erf", real::erf, |x, t| exact::erf(x, &mut t.consts), (-6.5, 6.5), 2.0).around(&[-1.0, 1.0]),
    row("erfc", real::erfc, |x, t| exact::erfc(x, &mut t.consts), (-6.0, 26.5), 2.0).around(&[0.5]),
    row("gamma", real::gamma, |x, t| t.bernoulli.gamma(x, &mut t.consts), (1e-18, 171.6), 2.0).around(&[1.0, 2.0, 2.5, 3.0]),
    row("gamma", real::gamma, |x, t| t.bernoulli.gamma(x, &mut t.consts), (-30.0, -1e-18), 3.0),
    row("lgamma", real::lgamma, |x, t| t.bernoulli.lgamma(x, &mut t.consts), (1e-18, 1e300), 2.0).around(&[1.0, 2.0, 2.5]),
    row("digamma", real::digamma, |x, t| t.bernoulli.digamma(x, &mut t.consts), (1e-18, 1e300), 2.0).around(&[1.0, 1.4616321449683622, 2.5]),
    row("trigamma", |x| real::polygamma(x, 1.0), |x, t| t.bernoulli.trigamma(x), (1e-18, 1e300), 2.0).around(&[3.0]),
    row("lgamma", real::lgamma, |x, t| t.bernoulli.lgamma(x, &mut t.consts), (-30.0, -1e-18), 4.0).absolute(),
    row("digamma", real::digamma, |x, t| t.bernoulli.digamma(x, &mut t.consts), (-30.0, -1e-18), 8.0).absolute(),
];

fn softplus(x: &BigFloat, t: &mut Tools) -> BigFloat {
    let e = x.exp(BITS + 1100, ROUND, &mut t.consts);
    e.add(&one(), BITS + 1100, ROUND).ln(BITS, ROUND, &mut t.consts)
}

/// A function of two numbers: how to draw them is its own matter.
struct Pair {
    name: &'static str,
    ours: fn(f64, f64) -> f64,
    exact: fn(&BigFloat, &BigFloat, &mut Tools) -> BigFloat,
    draw: fn(&mut Stream) -> (f64, f64),
    range: (f64, f64),
    bound: f64,
}

/// Log-uniform over twenty powers of ten.
fn size(stream: &mut Stream) -> f64 {
    10f64.powf(stream.unit() * 20.0 - 10.0)
}

const PAIRS: &[Pair] = &[
    Pair {
        name: "pow",
        ours: real::pow,
        exact: |x, y, t| x.pow(y, BITS, ROUND, &mut t.consts),
        draw: |stream| {
            let x = size(stream);
            let most = 700.0 / x.ln().abs().max(0.1);
            (x, (stream.unit() * 2.0 - 1.0) * most.min(1000.0))
        },
        range: (1e-10, 1e10),
        bound: 1.0,
    },
    Pair {
        name: "atan2",
        ours: real::atan2,
        exact: |y, x, t| angle(y, x, &mut t.consts),
        draw: |stream| {
            let y = size(stream);
            let x = if stream.next().is_multiple_of(2) { size(stream) } else { y * (0.5 + stream.unit()) };
            (y, if stream.next().is_multiple_of(2) { x } else { -x })
        },
        range: (1e-10, 1e10),
        bound: 1.5,
    },
    Pair {
        name: "hypot",
        ours: real::hypot,
        exact: |x, y, _| add(&mul(x, x), &mul(y, y)).sqrt(BITS, ROUND),
        draw: |stream| {
            let x = size(stream);
            (x, if stream.next().is_multiple_of(4) { size(stream) } else { x * (0.01 + stream.unit()) })
        },
        range: (1e-10, 1e10),
        bound: 1.0,
    },
];

/// The error of a result in units in the last place of it, or of 1 if that is more.
fn error(got: f64, exact: &BigFloat, from_one: bool) -> f64 {
    if got.is_infinite() || got.is_nan() {
        return f64::INFINITY;
    }
    let got_exactly = big(got);
    let difference = sub(&got_exactly, exact);
    if from_one && got.abs() < 1.0 {
        return to_f64(&difference).abs() / f64::EPSILON;
    }
    // At a zero the reference has an error of its own, far below any number that could be given.
    if difference.is_zero() || got == 0.0 && to_f64(&difference).abs() < 1e-40 {
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

/// Largest errors in double and in single precision, each with its argument.
type Worst = [(f64, f64); 2];

fn note(worst: &mut (f64, f64), e: f64, x: f64) {
    if e > worst.0 {
        *worst = (e, x);
    }
}

/// The bound of errors in single precision: of a kernel of its own, or of a result in double precision that is rounded,
/// so that it is half a unit and hardly more.
fn single_bound(name: &str) -> f64 {
    match Op::parse(name) {
        Some(Op::Exp | Op::Log) => 1.0,
        Some(op) if op.has_single_kernel() => 2.0,
        _ => 0.501,
    }
}

/// The error of a result in single precision, if it is a normal number.
fn note_single(worst: &mut (f64, f64), got: f32, exact: &BigFloat, x: f64, from_one: bool) {
    if got.is_normal() && !(from_one && got.abs() < 1.0) {
        // Numbers of single precision have 29 bits less.
        note(worst, error(f64::from(got), exact, false) / 2f64.powi(29), x);
    }
}

fn worst(row: &Row, tools: &mut Tools) -> Worst {
    let (mut stream, mut worst) = (Stream(7), Worst::default());
    for i in 0..samples() {
        let x = row.argument(&mut stream);
        let exact = (row.exact)(&big(x), tools);
        note(&mut worst[0], error((row.ours)(x), &exact, row.from_one), x);
        let single = f64::from(x as f32);
        if i % 4 == 0 && single.is_normal() && (row.range.0..=row.range.1).contains(&single) {
            let exact = (row.exact)(&big(single), tools);
            let got = match Op::parse(row.name).filter(|op| op.has_single_kernel()) {
                Some(op) => single::value(op, [single as f32; 2]),
                None => (row.ours)(single) as f32,
            };
            note_single(&mut worst[1], got, &exact, single, row.from_one);
        }
    }
    worst
}

fn worst_of_pairs(pair: &Pair, tools: &mut Tools) -> Worst {
    let (mut stream, mut worst) = (Stream(11), Worst::default());
    for i in 0..samples() {
        let (x, y) = (pair.draw)(&mut stream);
        let exact = (pair.exact)(&big(x), &big(y), tools);
        note(&mut worst[0], error((pair.ours)(x, y), &exact, false), x);
        if i % 4 == 0 {
            let (x, y) = (f64::from(x as f32), f64::from(y as f32));
            let exact = (pair.exact)(&big(x), &big(y), tools);
            let op = Op::parse(pair.name).unwrap();
            note_single(&mut worst[1], single::value(op, [x as f32, y as f32]), &exact, x, false);
        }
    }
    worst
}

#[test]
fn errors_are_within_their_bounds() {
    let mut tools = tools();
    let mut table = String::from("| function | from | to | double | single |\n|---|---|---|---|---|\n");
    let mut wrong = Vec::new();
    let mut enter = |name: &str, range: (f64, f64), bound: f64, worst: Worst| {
        let [(double, x), (single, y)] = worst;
        table += &format!("| {name} | {:e} | {:e} | {double:.2} | {single:.2} |\n", range.0, range.1);
        for (e, x, bound, what) in [(double, x, bound, "double"), (single, y, single_bound(name), "single")] {
            if e > bound + 1e-9 {
                wrong.push(format!("{name} of {x:?}: {e:.3} units in the last place in {what} precision"));
            }
        }
    };
    for row in ROWS {
        enter(row.name, row.range, row.bound, worst(row, &mut tools));
    }
    for pair in PAIRS {
        enter(pair.name, pair.range, pair.bound, worst_of_pairs(pair, &mut tools));
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

/// Values of mpmath with 45 digits.
#[rustfmt::skip]
const INDEPENDENT: &[(&str, f64, &str)] = &[
    ("erf", 0.5, "5.20499877813046537682746653891964528736451576e-1"),
    ("erf", 2.9, "9.99958902121900541142004123158072279681159462e-1"),
    ("erf", -3.1, "-9.99988351342632800410686541909817119361321029e-1"),
    ("erfc", -1.0, "1.84270079294971486934122063508260925929606700"),
    ("erfc", 2.9, "4.10978780994588579958768419277203188405382771e-5"),
    ("erfc", 4.0, "1.54172579002800188521596734868840485721452536e-8"),
    ("erfc", 20.0, "5.39586561160790092893499916790534560408827267e-176"),
    ("gamma", 0.1, "9.51350769866873128580797989582523250091371611"),
    ("gamma", -2.5, "-9.45308720482941881225689324448610764158693043e-1"),
    ("gamma", 100.25, "2.94846628183876997000984521106960175395388118e+156"),
    ("lgamma", 1.001, "-5.76393598283306151519162417506927980758548502e-4"),
    ("lgamma", -3.3, "-8.24355805017426460151013012512934413680319614e-1"),
    ("lgamma", 10000000000.0, "2.20258509288810581470041923123460126556427276e+11"),
    ("digamma", 1.46, "-1.58056198708345210615090134499540288053979141e-3"),
    ("digamma", -7.7, "-1.77748443718969342044381996358172123206671189e-1"),
    ("digamma", 100000.0, "1.15129204649618950867567072734218170697515396e+1"),
    ("trigamma", 0.3, "1.22453645461077313011666359605205486063308720e+1"),
    ("trigamma", 12.5, "8.32852246015783704435911329395844002175201613e-2"),
];

#[test]
fn the_reference_agrees_with_another_one() {
    let mut tools = tools();
    for &(name, x, digits) in INDEPENDENT {
        let row = ROWS.iter().find(|row| row.name == name).unwrap();
        let got = (row.exact)(&big(x), &mut tools);
        let expected = BigFloat::parse(digits, Radix::Dec, BITS, ROUND, &mut tools.consts);
        let relative = to_f64(&div(&sub(&got, &expected), &expected));
        assert!(relative.abs() < 1e-43, "{name} of {x}: {relative:e}");
    }
}

/// Without an instruction for multiply-adds the bits are the same.
#[test]
fn fusing_in_software_changes_nothing() {
    macro_rules! compared {
        ($($name:ident)*) => {
            [$((stringify!($name), real::$name as Function, |x| kernel::$name(&mut Scalar::<Soft, false>::new(), x)),)*]
        };
    }
    let functions: [(&str, Function, Function); 18] = compared! {
        exp log log2 log10 sin tanh asin acos atan asinh acosh atanh cbrt erf erfc gamma lgamma digamma
    };
    let mut stream = Stream(5);
    for _ in 0..500 {
        let x = stream.argument(-40.0, 40.0);
        for (name, hard, soft) in &functions {
            assert_eq!(op::canonical(hard(x).to_bits()), op::canonical(soft(x).to_bits()), "{name} of {x:?}");
        }
        let (y, mut soft) = (stream.argument(-40.0, 40.0), Scalar::<Soft, false>::new());
        let pairs = [
            (real::pow(x, y), kernel::pow(&mut soft, x, y)),
            (real::atan2(x, y), kernel::atan2(&mut soft, x, y)),
            (real::hypot(x, y), kernel::hypot(&mut soft, x, y)),
            (real::polygamma(x, 1.0), kernel::polygamma(&mut soft, x, 1.0)),
        ];
        for (i, (a, b)) in pairs.into_iter().enumerate() {
            assert_eq!(op::canonical(a.to_bits()), op::canonical(b.to_bits()), "pair {i} of {x:?} {y:?}");
        }
    }
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
    for (&op, single) in Op::ALL.iter().flat_map(|op| [(op, false), (op, true)]) {
        for shift in 0..if op.operands().len() > 1 { 40 } else { 1 } {
            let mut b = a.clone();
            b.rotate_left(shift);
            let mut c = a.clone();
            c.rotate_left(2 * shift + 1);
            op.eval_lanes_in(single, &mut d, [&a, &b, &c]);
            for i in 0..a.len() {
                let alone = op.eval_in(single, [a[i], b[i], c[i]]);
                assert_eq!(d[i], alone, "{} of {:?} {:?}", op.name(), list[i], f64::from_bits(b[i]));
            }
        }
    }
}
