use super::*;
use num_traits::FromPrimitive;
use std::cmp::Ordering;

mod text;

const INF: f64 = f64::INFINITY;

/// The value that `text` denotes.
fn value(heap: &mut Heap, text: &str) -> Value {
    let number = parse(text, 10).unwrap().unwrap_or_else(|| panic!("{text} is not a number"));
    number.to_value(heap).unwrap()
}

fn shown(heap: &Heap, v: Value) -> String {
    format_number(&Number::of(heap, v).unwrap(), 10)
}

type Binary = fn(&mut Heap, Value, Value) -> Result<Value, Error>;
type Unary = fn(&mut Heap, Value) -> Result<Value, Error>;

/// The result as text, or the code of the error.
fn apply2(f: Binary, a: &str, b: &str) -> String {
    let heap = &mut Heap::new();
    let (a, b) = (value(heap, a), value(heap, b));
    match f(heap, a, b) {
        Ok(v) if v.is_boolean() => v.is_true().to_string(),
        Ok(v) => shown(heap, v),
        Err(e) => e.code.to_string(),
    }
}

fn apply1(f: Unary, a: &str) -> String {
    let heap = &mut Heap::new();
    let a = value(heap, a);
    f(heap, a).map_or_else(|e| e.code.to_string(), |v| shown(heap, v))
}

/// Integers around every boundary of the representations, and random ones of all sizes.
fn integers(seed: u64, count: usize) -> Vec<BigInt> {
    let mut state = seed;
    let mut all: Vec<BigInt> = Vec::new();
    for edge in [0u32, 1, 31, 46, 47, 48, 52, 53, 62, 63, 64, 95, 127] {
        for delta in -2i64..=2 {
            let n = (BigInt::from(1) << edge) + delta;
            all.extend([n.clone(), -n]);
        }
    }
    for _ in 0..count {
        let words = next_random(&mut state) % 4 + 1;
        let digits = (0..2 * words).map(|_| next_random(&mut state) as u32).collect();
        let n = BigInt::from(BigUint::new(digits)) >> (next_random(&mut state) % 64);
        all.push(if next_random(&mut state).is_multiple_of(2) { n } else { -n });
    }
    all
}

/// Any bit pattern that is a finite real.
fn random_finite(state: &mut u64) -> f64 {
    loop {
        let x = f64::from_bits(next_random(state));
        if x.is_finite() {
            return x;
        }
    }
}

#[test]
fn integer_arithmetic_is_exact_and_normal() {
    let heap = &mut Heap::new();
    let all = integers(1, 60);
    let value_of = |heap: &mut Heap, n: &BigInt| Number::integer(n.clone()).to_value(heap).unwrap();
    for a in &all {
        for b in &all {
            let (va, vb) = (value_of(heap, a), value_of(heap, b));
            let mut check = |f: Binary, expected: BigInt| {
                let expected = value_of(heap, &expected);
                let got = f(heap, va, vb).unwrap();
                assert!(eqv(heap, got, expected), "{a} {b}: {}", shown(heap, got));
            };
            check(add, a + b);
            check(sub, a - b);
            check(mul, a * b);
            check(gcd, num_integer::gcd(a.clone(), b.clone()));
            if *b != BigInt::ZERO {
                check(quotient, a / b);
                check(remainder, a % b);
                check(modulo, ((a % b) + b) % b);
                check(floor_quotient, num_integer::div_floor(a.clone(), b.clone()));
                check(floor_remainder, num_integer::mod_floor(a.clone(), b.clone()));
            }
            assert_eq!(compare(heap, "<", va, vb).unwrap(), Some(a.cmp(b)));
            assert_eq!(eqv(heap, va, vb), a == b);
        }
    }
}

#[test]
fn bitwise_operations_are_twos_complement() {
    let heap = &mut Heap::new();
    let all = integers(2, 30);
    for a in &all {
        for b in &all {
            let (va, vb) = (Number::integer(a.clone()), Number::integer(b.clone()));
            let (va, vb) = (va.to_value(heap).unwrap(), vb.to_value(heap).unwrap());
            for (got, expected) in [
                (and(heap, "bitwise-and", va, vb).unwrap(), a & b),
                (or(heap, "bitwise-or", va, vb).unwrap(), a | b),
                (xor(heap, "bitwise-xor", va, vb).unwrap(), a ^ b),
                (not(heap, "bitwise-not", va).unwrap(), -a - 1),
            ] {
                assert_eq!(Number::of(heap, got), Some(Number::integer(expected)));
            }
        }
    }
    assert_eq!(apply2(shift_left, "1", "100"), "1267650600228229401496703205376");
    assert_eq!(apply2(shift_left, "1", "600000"), "E0406");
    assert_eq!(apply2(shift_left, "0", "100000000000000000000"), "0");
    assert_eq!(apply2(shift_right, "-1", "100000000000000000000"), "-1");
    assert_eq!(apply2(shift_right, "-5", "1"), "-3");
    assert_eq!(apply2(shift_right, "1267650600228229401496703205376", "100"), "1");
    assert_eq!(apply2(shift_left, "1.0", "1"), "E0303");
}

#[test]
fn division_is_exact_or_correctly_rounded() {
    assert_eq!(apply2(div, "6", "3"), "2");
    assert_eq!(apply2(div, "1", "3"), "0.3333333333333333");
    assert_eq!(apply2(div, "0", "5"), "0");
    assert_eq!(apply2(div, "5", "0"), "E0501");
    assert_eq!(apply2(div, "5.0", "0"), "E0501");
    assert_eq!(apply2(div, "1", "0.0"), "+inf.0");
    assert_eq!(apply2(div, "0.0", "0.0"), "+nan.0");
    let (big, third) = (format!("1{}", "0".repeat(400)), format!("3{}", "0".repeat(400)));
    assert_eq!(apply2(div, &big, &third), "0.3333333333333333");
    assert_eq!(apply2(div, &third, &big), "3");
    assert_eq!(apply2(div, "1", &big), "0.0");
    assert_eq!(apply2(div, &format!("-{big}"), "3"), "-inf.0");
    // Half of the smallest real rounds to even, anything more rounds up.
    let (two_1074, two_1075) = (BigInt::from(1) << 1074, BigInt::from(1) << 1075);
    assert_eq!(arithmetic::ratio(&1.into(), &two_1074), 5e-324);
    assert_eq!(arithmetic::ratio(&1.into(), &two_1075), 0.0);
    assert_eq!(arithmetic::ratio(&3.into(), &(two_1075 * 2)), 5e-324);
    // Every real is the ratio of its parts, and decimal texts are ratios too.
    let mut state = 3;
    for _ in 0..2000 {
        let x = random_finite(&mut state);
        let text = format!("{:e}", x.abs());
        let (mantissa, exponent) = text.split_once('e').unwrap();
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let exponent = exponent.parse::<i64>().unwrap() - fraction.len() as i64;
        let digits: BigInt = format!("{whole}{fraction}").parse().unwrap();
        let power = BigInt::from(10).pow(exponent.unsigned_abs() as u32);
        let (n, d) = if exponent < 0 { (digits, power) } else { (digits * power, 1.into()) };
        assert_eq!(arithmetic::ratio(&n, &d), x.abs(), "{text}");
    }
}

#[test]
fn integer_division_takes_reals_without_a_fraction() {
    assert_eq!(apply2(quotient, "7.0", "2"), "3.0");
    assert_eq!(apply2(modulo, "-7", "2.0"), "1.0");
    assert_eq!(apply2(modulo, "-4.0", "2.0"), "0.0");
    assert_eq!(apply2(remainder, "-7.0", "2.0"), "-1.0");
    assert_eq!(apply2(modulo, "5.5", "2"), "E0303");
    assert_eq!(apply2(modulo, "+inf.0", "2"), "E0303");
    assert_eq!(apply2(modulo, "7", "0"), "E0501");
    assert_eq!(apply2(modulo, "7.0", "0.0"), "E0501");
    assert_eq!(apply2(gcd, "4.0", "6"), "2.0");
    assert_eq!(apply2(lcm, "32.0", "-36"), "288.0");
    assert_eq!(apply2(lcm, "32", "-36"), "288");
    assert_eq!(apply2(lcm, "0", "5"), "0");
    assert_eq!(apply2(quotient, "-140737488355328", "-1"), "140737488355328");
}

#[test]
fn gcd_of_large_integers() {
    let mut state = 5;
    let mut random = |words: usize| {
        let digits = (0..2 * words).map(|_| next_random(&mut state) as u32).collect();
        BigUint::new(digits)
    };
    for words in [2, 3, 5, 20, 60] {
        for _ in 0..20 {
            let (a, b, c) = (random(words), random(words / 2 + 1), random(2));
            let (a, b) = (a * &c, b * c);
            assert_eq!(super::gcd::gcd(a.clone(), b.clone()), num_integer::gcd(a, b));
        }
    }
    // Fibonacci numbers take the most steps.
    let (mut a, mut b) = (BigUint::from(0u8), BigUint::from(1u8));
    for _ in 0..3000 {
        (a, b) = (b.clone(), a + b);
    }
    assert_eq!(super::gcd::gcd(a, b), BigUint::from(1u8));
}

#[test]
fn expt_is_exact_where_it_can_be() {
    assert_eq!(apply2(expt, "2", "100"), "1267650600228229401496703205376");
    assert_eq!(apply2(expt, "0", "0"), "1");
    assert_eq!(apply2(expt, "0.0", "0"), "1.0");
    assert_eq!(apply2(expt, "2.0", "3"), "8.0");
    assert_eq!(apply2(expt, "2", "0.5"), "1.4142135623730951");
    assert_eq!(apply2(expt, "10", "-3"), "0.001");
    assert_eq!(apply2(expt, "2", "-1074"), "5e-324");
    assert_eq!(apply2(expt, "-3", "-100000000000000000001"), "-0.0");
    assert_eq!(apply2(expt, "-1", "-100000000000000000001"), "-1");
    assert_eq!(apply2(expt, "-1", "100000000000000000000"), "1");
    assert_eq!(apply2(expt, "-1.0", "100000000000000000001"), "-1.0");
    assert_eq!(apply2(expt, "0", "-1"), "E0501");
    assert_eq!(apply2(expt, "2", "524287").len(), 157827);
    assert_eq!(apply2(expt, "2", "524288"), "E0406");
    assert_eq!(apply2(expt, "3", "100000000000000000000"), "E0406");
    assert_eq!(apply2(expt, "-8", "0.3"), "+nan.0");
    assert_eq!(apply2(mul, &apply2(expt, "2", "300000"), &apply2(expt, "2", "300000")), "E0406");
}

#[test]
fn roots_are_exact_where_they_can_be() {
    assert_eq!(apply1(sqrt, "16"), "4");
    assert_eq!(apply1(sqrt, "16.0"), "4.0");
    assert_eq!(apply1(sqrt, "15"), "3.872983346207417");
    assert_eq!(apply1(sqrt, "-4"), "+nan.0");
    assert_eq!(apply1(sqrt, &format!("1{}", "0".repeat(400))), format!("1{}", "0".repeat(200)));
    assert_eq!(apply1(sqrt, &format!("1{}1", "0".repeat(399))), "1e200");
    assert_eq!(apply1(sqrt, &format!("1{}1", "0".repeat(699))), "+inf.0");
    let heap = &mut Heap::new();
    for n in integers(6, 300) {
        let v = Number::integer(n.clone()).to_value(heap).unwrap();
        match exact_integer_sqrt(heap, v) {
            Ok((root, rest)) => {
                let root = exact_operand(heap, "", root).unwrap();
                let rest = exact_operand(heap, "", rest).unwrap();
                assert_eq!(&root * &root + &rest, n);
                assert!(rest >= BigInt::ZERO && rest <= root * 2);
            }
            Err(e) => assert!(e.code == "E0303" && n < BigInt::ZERO),
        }
        let n: BigUint = n.magnitude() << 700u32;
        let v = Number::integer(n.clone()).to_value(heap).unwrap();
        let (root, _) = exact_integer_sqrt(heap, v).unwrap();
        assert_eq!(exact_operand(heap, "", root).unwrap(), n.sqrt().into());
    }
}

#[test]
fn logarithms_reach_beyond_the_reals() {
    let big = format!("1{}", "0".repeat(400));
    assert_eq!(apply1(log, "0"), "-inf.0");
    assert_eq!(apply1(log10, &big), "400.0");
    assert!(apply1(log, &big).starts_with("921.034037197618"));
    assert_eq!(apply2(log_base, &big, "10"), "400.0");
    assert_eq!(apply2(log_base, "8", "2"), "3.0");
    assert_eq!(apply1(log, &format!("-{big}")), "+nan.0");
}

#[test]
fn comparison_does_not_round() {
    assert_eq!(apply2(equal, "9007199254740993", "9007199254740992.0"), "false");
    assert_eq!(apply2(greater, "9007199254740993", "9007199254740992.0"), "true");
    assert_eq!(apply2(less, "140737488355328", "140737488355328.5"), "true");
    assert_eq!(apply2(less, "-140737488355328", "-140737488355328.5"), "false");
    assert_eq!(apply2(less, &format!("1{}", "0".repeat(400)), "+inf.0"), "true");
    assert_eq!(apply2(greater_equal, "1", "+nan.0"), "false");
    assert_eq!(apply2(less_equal, "1", "1.0"), "true");
    let heap = &mut Heap::new();
    let mut state = 7;
    for n in integers(8, 200) {
        let x = f64::from_i64(next_random(&mut state) as i64).unwrap()
            * 2f64.powi((next_random(&mut state) % 90) as i32 - 30);
        for x in [x, big_to_f64(&n)] {
            // Scaled by 2^60 both sides are integers.
            let left: BigInt = n.clone() << 60;
            let right = BigInt::from_f64(x * 2f64.powi(60)).unwrap();
            let v = Number::integer(n.clone()).to_value(heap).unwrap();
            assert_eq!(compare(heap, "<", v, Value::real(x)).unwrap(), Some(left.cmp(&right)), "{n} {x}");
            assert_eq!(compare(heap, "<", Value::real(x), v).unwrap(), Some(right.cmp(&left)));
        }
    }
    assert_eq!(compare(heap, "<", Value::real(INF), Value::fixnum(1)).unwrap(), Some(Ordering::Greater));
}

#[test]
fn eqv_distinguishes_exactness_and_zeros() {
    let heap = &mut Heap::new();
    let (one, real_one) = (Value::fixnum(1), Value::real(1.0));
    assert!(!eqv(heap, one, real_one) && number_equal(heap, one, real_one));
    assert!(!eqv(heap, Value::real(0.0), Value::real(-0.0)));
    assert!(eqv(heap, Value::real(f64::NAN), Value::real_result(-f64::NAN)));
    assert!(!eqv(heap, Value::NIL, Value::NIL));
    assert!(!number_equal(heap, Value::NIL, one));
    let (a, b) = (value(heap, "123456789012345678901"), value(heap, "123456789012345678901"));
    assert!(a != b && eqv(heap, a, b));
}

#[test]
fn max_and_min_are_contagious() {
    assert_eq!(apply2(max, "1", "2.0"), "2.0");
    assert_eq!(apply2(max, "3", "2.0"), "3.0");
    assert_eq!(apply2(min, "3", "2"), "2");
    assert_eq!(apply2(max, "1", "+nan.0"), "+nan.0");
    assert_eq!(apply2(min, "+nan.0", "1"), "+nan.0");
    assert_eq!(apply2(max, "100000000000000000000", "1"), "100000000000000000000");
}

#[test]
fn exact_and_rounding() {
    assert_eq!(apply1(exact, "1e18"), "1000000000000000000");
    assert_eq!(apply1(exact, "2.5"), "E0502");
    assert_eq!(apply1(exact, "+inf.0"), "E0502");
    assert_eq!(apply1(exact, "-0.0"), "0");
    assert_eq!(apply1(inexact, "12345678901234567890"), "12345678901234567000.0");
    assert_eq!(apply1(round, "2.5"), "2.0");
    assert_eq!(apply1(round, "-3.5"), "-4.0");
    assert_eq!(apply1(round, "7"), "7");
    assert_eq!(apply1(floor_to_exact, "-2.5"), "-3");
    assert_eq!(apply1(numerator, "0.75"), "3.0");
    assert_eq!(apply1(denominator, "0.75"), "4.0");
    assert_eq!(apply1(denominator, "0.0"), "1.0");
    assert_eq!(apply1(denominator, "12"), "1");
    assert_eq!(apply1(numerator, "+nan.0"), "E0303");
    assert_eq!(apply2(rationalize, "0.3", "0.1"), "0.3333333333333333");
    assert_eq!(apply2(rationalize, "-0.3", "1/10"), "-0.3333333333333333");
    assert_eq!(apply2(rationalize, "3", "1"), "2");
    assert_eq!(apply2(rationalize, "-3", "1"), "-2");
    assert_eq!(apply2(rationalize, "3", "7"), "0");
    assert_eq!(apply2(rationalize, "3.14159", "0.001"), "3.140625");
    assert_eq!(apply2(rationalize, "1e300", "+inf.0"), "0.0");
    assert_eq!(apply2(rationalize, "0.1", "0.0"), "0.1");
    assert_eq!(apply1(abs, "-140737488355328"), "140737488355328");
    assert_eq!(apply1(negate, "140737488355328"), "-140737488355328");
    assert_eq!(apply1(reciprocal, "4"), "0.25");
    assert_eq!(apply1(sign, "-3"), "-1");
    assert_eq!(apply1(relu, "-3"), "0");
}

#[test]
fn wrong_types_are_named() {
    let heap = &mut Heap::new();
    let text = heap.string("abc");
    let error = add(heap, Value::fixnum(1), text).unwrap_err();
    assert_eq!((error.code.as_str(), error.message.as_str()), ("E0303", "+ expected a number, got \"abc\""));
    let symbol = Value::symbol(heap.symbols.intern("x"));
    assert_eq!(less(heap, symbol, text).unwrap_err().message, "< expected a number, got the symbol x");
    assert_eq!(is_even(heap, Value::real(2.5)).unwrap_err().message, "even? expected an integer, got 2.5");
    assert_eq!(describe(heap, Value::FALSE), "#f");
    assert!(is_exact(heap, Value::NIL).is_err() && !is_integer(heap, Value::NIL) && is_integer(heap, Value::real(2.0)));
}

#[test]
fn random_numbers_stay_in_range() {
    let heap = &mut Heap::new();
    let mut state = 12;
    let big = value(heap, "1267650600228229401496703205377");
    let mut counts = [0; 6];
    for _ in 0..6000 {
        let die = random_below(heap, &mut state, "random", Value::fixnum(6)).unwrap();
        counts[die.as_fixnum().unwrap() as usize] += 1;
        let n = random_below(heap, &mut state, "random", big).unwrap();
        assert!(is_exact_nonnegative_integer(heap, n) && less(heap, n, big).unwrap().is_true());
        let x = random_below(heap, &mut state, "random", Value::real(5e-324)).unwrap();
        assert_eq!(x.as_real(), Some(0.0));
    }
    // 1000 expected with standard deviation 29; the seed is fixed.
    assert!(counts.iter().all(|c| (850..1150).contains(c)), "{counts:?}");
    for bad in [Value::fixnum(0), Value::real(-1.0), Value::real(INF), Value::NIL] {
        assert_eq!(random_below(heap, &mut state, "random", bad).unwrap_err().code, "E0303");
    }
}
