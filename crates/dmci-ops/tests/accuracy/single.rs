//! Kernels of their own in single precision, at all kinds of numbers that there are.

use super::Stream;
use dmci_ops::Op;
use dmci_ops::arith::{Single, Soft};

/// The value of an operation in single precision.
pub fn value(op: Op, x: [f32; 2]) -> f32 {
    let [a, b] = x.map(|x| f64::from(x).to_bits());
    f64::from_bits(op.eval_in(true, [a, b, 0])) as f32
}

fn kernels() -> impl Iterator<Item = Op> {
    Op::ALL.iter().copied().filter(|op| op.has_single_kernel())
}

/// The function in double precision, whose error is nothing beside a unit of single precision.
fn double(op: Op, x: [f32; 2]) -> f64 {
    let [a, b] = x.map(f64::from);
    op.eval_reals(&[a, b])
}

/// Units in the last place from a result to what it should be; those of subnormal numbers are all the same.
fn units(got: f32, exact: f64) -> f64 {
    let rounded = exact as f32;
    if got.is_nan() || got.is_infinite() || rounded.is_nan() || rounded == 0.0 && got == 0.0 {
        let same = got.is_nan() && rounded.is_nan() || got.to_bits() == rounded.to_bits();
        // Just below infinity, results may be beyond it.
        let nearly = got.is_infinite() && exact.abs() > f64::from(f32::MAX) * (1.0 - 2e-7) && got * rounded > 0.0;
        return if same || nearly { 0.0 } else { f64::INFINITY };
    }
    let exponent = (exact.abs().to_bits() >> 52) as i32 - 1023;
    (f64::from(got) - exact).abs() / 2f64.powi(exponent.max(-126) - 23)
}

/// Any bits, or sizes that functions have something to say about.
fn argument(stream: &mut Stream) -> f32 {
    if stream.next().is_multiple_of(2) {
        f32::from_bits(stream.next() as u32)
    } else {
        stream.argument(-110.0, 110.0) as f32
    }
}

#[test]
fn all_kinds_of_numbers_are_within_their_bounds() {
    let derivatives = [Op::PowBase, Op::PowExponent];
    for op in kernels().filter(|op| !derivatives.contains(op)) {
        let (mut stream, bound) = (Stream(1), super::single_bound(op.name()));
        for _ in 0..super::samples() * 20 {
            let x = [argument(&mut stream), argument(&mut stream)];
            let e = units(value(op, x), double(op, x));
            assert!(e <= bound, "{} of {x:?}: {e} units, {:?}", op.name(), value(op, x));
        }
    }
}

/// Factors of derivatives are rounded on the way, so these have larger errors, and may be out of range.
#[test]
fn derivatives_of_powers_are_nearly_as_good() {
    let mut stream = Stream(2);
    for _ in 0..super::samples() * 20 {
        let x = [argument(&mut stream).abs(), argument(&mut stream)];
        let inside = |x: f64| (1e-36..1e36).contains(&x.abs());
        let [a, b] = x.map(f64::from);
        for op in [Op::PowBase, Op::PowExponent] {
            let e = units(value(op, x), double(op, x));
            assert!(e <= 3.0 || !inside(a.powf(b)) || !inside(a.powf(b - 1.0)), "{} of {x:?}: {e} units", op.name());
        }
    }
}

#[test]
fn special_values_are_those_of_double_precision() {
    let tiny = f32::from_bits(1);
    let special =
        [0.0, 1.0, 2.0, 3.0, 0.5, 1e-38, tiny, f32::MIN_POSITIVE, f32::MAX, f32::INFINITY, f32::NAN, 1e5, 89.5];
    let both: Vec<f32> = special.into_iter().flat_map(|x| [x, -x]).collect();
    for (op, x, y) in kernels().flat_map(|op| {
        both.iter().flat_map({
            let both = &both;
            move |&x| both.iter().map(move |&y| (op, x, y))
        })
    }) {
        // A product of a large and a small factor may be out of range on the way, in one precision and not in the other.
        let power = double(Op::Pow, [x, if op == Op::PowBase { y - 1.0 } else { y }]);
        let is_product = matches!(op, Op::PowBase | Op::PowExponent);
        let on_the_way = is_product && power.is_finite() && power != 0.0 && !(1e-30..1e30).contains(&power.abs());
        // Bits are seen: zeros have signs.
        let (got, exact) = (value(op, [x, y]), double(op, [x, y]));
        assert!(on_the_way || units(got, exact) <= 2.0, "{} of {x:?} {y:?}: {got:?}, not {exact:?}", op.name());
    }
}

/// Without an instruction for multiply-adds the bits are the same.
#[test]
fn fusing_in_software_changes_nothing_in_single_precision() {
    let (mut stream, mut soft) = (Stream(5), Single::<Soft, false>::new());
    for _ in 0..500 {
        let x = [argument(&mut stream), argument(&mut stream)];
        for op in kernels() {
            let (a, b) = (value(op, x), op.single_kernel(&mut soft, x[0], x[1]).unwrap());
            assert!(a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(), "{} of {x:?}: {a:?} {b:?}", op.name());
        }
    }
}
