use super::*;

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
            ("gamma", &[x, _]) => (gamma(x), 10),
            ("digamma", &[x, _]) => (digamma(x), 8),
            (name, &[x, _]) => (unary(name).unwrap()(x), 3),
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
        ("sigmoid", 0.0, 0.5),
        ("sigmoid", INF, 1.0),
        ("sigmoid", -INF, 0.0),
        ("softplus", INF, INF),
        ("softplus", -INF, 0.0),
        ("softplus", 1e300, 1e300),
    ];
    for &(name, x, expected) in rows {
        let got = unary(name).unwrap()(x);
        assert!(same(got, expected), "{name} {x}: {got} instead of {expected}");
    }
    for &(name, f) in UNARY {
        assert!(f(NAN).is_nan(), "{name} of NaN");
    }
    for f in [sqrt, floor, ceiling, round, truncate, relu, sign] {
        assert!(f(NAN).is_nan());
    }
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
