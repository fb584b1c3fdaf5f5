use super::*;
use crate::{Code, Op, Type};

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// Distance in representable numbers.
fn ulps(a: f64, b: f64) -> u64 {
    let ordered = |x: f64| {
        let bits = x.to_bits() as i64;
        if bits < 0 { i64::MIN - bits } else { bits }
    };
    ordered(a).abs_diff(ordered(b))
}

/// Same number: NaN is itself, zeros differ.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

#[test]
fn functions_agree_with_correctly_rounded_values() {
    let mut rows = 0;
    for line in include_str!("reference.txt").lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let numbers: Vec<f64> =
            fields[1..].iter().map(|s| f64::from_bits(u64::from_str_radix(s, 16).unwrap())).collect();
        let (got, bound) = match (fields[0], &numbers[..]) {
            ("atan2", &[y, x, _]) => (atan2(y, x), 1),
            ("pow", &[x, y, _]) => (pow(x, y), 1),
            ("hypot", &[x, y, _]) => (hypot(x, y), 1),
            ("sqrt", &[x, _]) => (sqrt(x), 0),
            ("gamma", &[x, _]) if x < 0.0 => (gamma(x), 10),
            ("digamma", &[x, _]) if x < 0.0 => (digamma(x), 8),
            (name, &[x, _]) => (Op::parse(name).unwrap().eval_reals(&[x]), if x < 0.0 { 3 } else { 2 }),
            _ => panic!("malformed row {line}"),
        };
        let expected = *numbers.last().unwrap();
        assert!(ulps(got, expected) <= bound, "{line}: {got} instead of {expected}");
        rows += 1;
    }
    assert!(rows > 150);
}

#[test]
fn special_values_are_those_of_c99() {
    let rows: &[(&str, f64, f64)] = &[
        ("exp", -INF, 0.0),
        ("exp", INF, INF),
        ("exp", 0.0, 1.0),
        ("exp", 1000.0, INF),
        ("log", 0.0, -INF),
        ("log", -0.0, -INF),
        ("log", 1.0, 0.0),
        ("log", -1.0, NAN),
        ("log", INF, INF),
        ("log2", 8.0, 3.0),
        ("log10", 1000.0, 3.0),
        ("log1p", -1.0, -INF),
        ("log1p", -0.0, -0.0),
        ("log1p", -2.0, NAN),
        ("expm1", -INF, -1.0),
        ("expm1", -0.0, -0.0),
        ("sin", INF, NAN),
        ("sin", -0.0, -0.0),
        ("cos", INF, NAN),
        ("cos", 0.0, 1.0),
        ("tan", -0.0, -0.0),
        ("asin", 2.0, NAN),
        ("acos", 1.0, 0.0),
        ("acos", -2.0, NAN),
        ("atan", INF, std::f64::consts::FRAC_PI_2),
        ("sinh", -INF, -INF),
        ("cosh", -INF, INF),
        ("tanh", INF, 1.0),
        ("tanh", -0.0, -0.0),
        ("asinh", -INF, -INF),
        ("acosh", 1.0, 0.0),
        ("acosh", 0.5, NAN),
        ("atanh", 1.0, INF),
        ("atanh", 2.0, NAN),
        ("cbrt", -27.0, -3.0),
        ("cbrt", -0.0, -0.0),
        ("erf", INF, 1.0),
        ("erf", -INF, -1.0),
        ("erfc", INF, 0.0),
        ("erfc", -INF, 2.0),
        ("gamma", 0.0, INF),
        ("gamma", -0.0, -INF),
        ("gamma", -1.0, NAN),
        ("gamma", -INF, NAN),
        ("gamma", 5.0, 24.0),
        ("gamma", 172.0, INF),
        ("lgamma", 1.0, 0.0),
        ("lgamma", 2.0, 0.0),
        ("lgamma", 0.0, INF),
        ("lgamma", -3.0, INF),
        ("lgamma", -INF, INF),
        ("digamma", 0.0, -INF),
        ("digamma", -0.0, INF),
        ("digamma", -2.0, NAN),
        ("digamma", INF, INF),
        ("digamma", -INF, NAN),
        ("log2", 0.0, -INF),
        ("log2", -1.0, NAN),
        ("log2", INF, INF),
        ("log2", 5e-324, -1074.0),
        ("log10", -0.0, -INF),
        ("log10", -1.0, NAN),
        ("log10", INF, INF),
        ("log10", 1.0, 0.0),
        ("asin", -0.0, -0.0),
        ("asin", 1.0, FRAC_PI_2),
        ("asin", -1.0, -FRAC_PI_2),
        ("asin", 1e-310, 1e-310),
        ("asin", INF, NAN),
        ("acos", -1.0, PI),
        ("acos", 0.0, FRAC_PI_2),
        ("acos", INF, NAN),
        ("atan", -INF, -FRAC_PI_2),
        ("atan", -0.0, -0.0),
        ("atan", 1.0, FRAC_PI_4),
        ("atan", 1e-310, 1e-310),
        ("asinh", -0.0, -0.0),
        ("asinh", INF, INF),
        ("asinh", 1e-310, 1e-310),
        ("acosh", INF, INF),
        ("acosh", -3.0, NAN),
        ("acosh", -INF, NAN),
        ("atanh", -1.0, -INF),
        ("atanh", -0.0, -0.0),
        ("atanh", 1e-310, 1e-310),
        ("atanh", -INF, NAN),
        ("cbrt", INF, INF),
        ("cbrt", -INF, -INF),
        ("cbrt", 0.0, 0.0),
        ("cbrt", 1e300, 1e100),
        ("erf", -0.0, -0.0),
        ("erf", 7.0, 1.0),
        ("erf", -1e300, -1.0),
        ("erfc", 0.0, 1.0),
        ("erfc", 1e300, 0.0),
        ("erfc", -1e300, 2.0),
        ("gamma", INF, INF),
        ("gamma", 1.0, 1.0),
        ("gamma", 1e300, INF),
        ("gamma", 5e-324, INF),
        ("gamma", -1e300, NAN),
        ("lgamma", INF, INF),
        ("lgamma", -0.0, INF),
        ("lgamma", 1e308, INF),
        ("digamma", -1.0, NAN),
        ("digamma", 5e-324, -INF),
        ("sigmoid", 0.0, 0.5),
        ("sigmoid", INF, 1.0),
        ("sigmoid", -INF, 0.0),
        ("softplus", INF, INF),
        ("softplus", -INF, 0.0),
        ("softplus", 1e300, 1e300),
    ];
    for &(name, x, expected) in rows {
        let got = Op::parse(name).unwrap().eval_reals(&[x]);
        assert!(same(got, expected), "{name} {x}: {got} instead of {expected}");
    }
    for op in Op::ALL.iter().filter(|op| op.operands() == [Type::Real] && op.code() == Code::Kernel) {
        assert!(op.eval_reals(&[NAN]).is_nan(), "{} of NaN", op.name());
    }
    for f in [sqrt, floor, ceiling, round, truncate, relu, sign] {
        assert!(f(NAN).is_nan());
    }
}

/// Where a result is a number without many digits, it is that number.
#[test]
fn results_are_exact_at_powers_factorials_and_cubes() {
    let mut factorial = 1.0;
    for n in 1..=22 {
        assert_eq!(gamma(n as f64), factorial, "gamma of {n}");
        factorial *= n as f64;
    }
    assert_eq!(gamma(23.0), factorial);
    for n in -1022..1024 {
        assert_eq!(log2(2f64.powi(n)), n as f64);
    }
    for n in -307..=308 {
        assert_eq!(log10(format!("1e{n}").parse().unwrap()), n as f64);
    }
    for n in -1000..1000 {
        let n = n as f64;
        assert!(same(cbrt(n * n * n), n));
    }
    for (x, y, length) in [(3.0, 4.0, 5.0), (-5.0, 12.0, 13.0), (8.0, -15.0, 17.0), (0.0, -7.0, 7.0)] {
        assert_eq!(hypot(x, y), length);
    }
}

/// All combinations that annex F names, against its words.
#[test]
fn angles_and_lengths_of_unusual_points() {
    for (y, x, expected) in [
        (0.0, 0.0, 0.0),
        (0.0, -0.0, PI),
        (0.0, 2.0, 0.0),
        (0.0, -2.0, PI),
        (2.0, 0.0, FRAC_PI_2),
        (2.0, -0.0, FRAC_PI_2),
        (2.0, -INF, PI),
        (2.0, INF, 0.0),
        (INF, 2.0, FRAC_PI_2),
        (INF, -2.0, FRAC_PI_2),
        (INF, INF, FRAC_PI_4),
        (INF, -INF, 3.0 * FRAC_PI_4),
        (1e-310, 1e-310, FRAC_PI_4),
        (1e305, 1e305, FRAC_PI_4),
        (1.0, -1.0, 3.0 * FRAC_PI_4),
    ] {
        assert!(same(atan2(y, x), expected), "{y} {x}");
        assert!(same(atan2(-y, x), -expected), "{} {x}", -y);
    }
    for (y, x) in [(NAN, 1.0), (1.0, NAN), (NAN, INF), (0.0, NAN)] {
        assert!(atan2(y, x).is_nan());
    }
    for (x, y) in [(INF, NAN), (NAN, -INF), (INF, 0.0), (1.0, -INF)] {
        assert!(same(hypot(x, y), INF) && same(hypot(y, x), INF));
    }
    for (x, y) in [(1.0, NAN), (NAN, 0.0), (NAN, NAN)] {
        assert!(hypot(x, y).is_nan() && hypot(y, x).is_nan());
    }
    assert!(same(hypot(-0.0, 0.0), 0.0) && same(hypot(-0.0, -3e-310), 3e-310) && same(hypot(1.7e308, 1.7e308), INF));
}

#[test]
fn functions_of_two_arguments_have_their_special_values() {
    assert_eq!(pow(0.0, 0.0), 1.0);
    assert_eq!(pow(NAN, 0.0), 1.0);
    assert_eq!(pow(1.0, NAN), 1.0);
    assert_eq!(pow(-8.0, 3.0), -512.0);
    assert!(pow(-8.0, 1.0 / 3.0).is_nan());
    assert_eq!(pow(0.0, -1.0), INF);
    assert_eq!(pow(-0.0, -1.0), -INF);
    assert_eq!(pow(10.0, 15.0), 1e15);
    assert!(same(atan2(-0.0, -1.0), -std::f64::consts::PI));
    assert!(same(atan2(0.0, 1.0), 0.0));
    assert_eq!(hypot(3.0, 4.0), 5.0);
    assert!(ulps(hypot(3e200, 4e200), 5e200) <= 1);
    assert_eq!(hypot(INF, NAN), INF);
    assert_eq!(log_base(1000.0, 10.0), 3.0);
    assert_eq!(log_base(8.0, 2.0), 3.0);
    assert!(ulps(log_base(9.0, 3.0), 2.0) <= 2);
}

#[test]
fn huge_powers_are_out_of_range() {
    for y in [1e6, 9.99e8, 1e9, 9.87654321e14, 1e15, 1e300] {
        for x in [5e-324, 1e-300, 7.3e-299, 0.5, 0.99] {
            assert_eq!((pow(x, y).to_bits(), pow(x, -y)), (0, f64::INFINITY), "{x} {y}");
        }
        for x in [1.01, 3.0, 2.9e299] {
            assert_eq!((pow(x, y), pow(x, -y).to_bits()), (f64::INFINITY, 0), "{x} {y}");
        }
    }
}

#[test]
fn max_and_min_propagate_nan_and_order_zeros() {
    for (a, b) in [(0.0, -0.0), (-0.0, 0.0)] {
        assert!(same(max(a, b), 0.0) && same(min(a, b), -0.0));
    }
    for (a, b) in [(NAN, 1.0), (1.0, NAN)] {
        assert!(max(a, b).is_nan() && min(a, b).is_nan());
    }
    assert_eq!((max(1.0, 2.0), min(1.0, 2.0), max(2.0, -INF), min(2.0, -INF)), (2.0, 1.0, 2.0, -INF));
    assert!(same(relu(-0.0), 0.0) && same(relu(-3.0), 0.0) && same(relu(3.0), 3.0));
    assert!(same(sign(-0.0), -0.0) && same(sign(-3.0), -1.0) && same(sign(INF), 1.0));
}

#[test]
fn integer_division_of_reals_matches_integers() {
    for x in -20i64..=20 {
        for y in (-6i64..=6).filter(|&y| y != 0) {
            let (fx, fy) = (x as f64, y as f64);
            assert!(same(quotient(fx, fy), (x / y) as f64));
            assert!(same(remainder(fx, fy), (x % y) as f64));
            assert!(same(floor_quotient(fx, fy), (x as f64 / y as f64).floor() + 0.0));
            assert!(same(modulo(fx, fy), (x - y * (x as f64 / y as f64).floor() as i64) as f64));
        }
    }
    assert_eq!(quotient(9007199254740991.0, 3.0), 3002399751580330.0);
    assert_eq!([0.5, 1.5, 2.5, -0.5].map(round), [0.0, 2.0, 2.0, -0.0]);
}
