//! The greatest common divisor of big integers by Lehmer's method: most steps of Euclid's
//! algorithm are done on the leading words, and applied to the whole numbers about 30 bits of
//! progress at a time. Binary or plain Euclid takes seconds at the largest size.

use num_bigint::BigUint;
use num_integer::Integer;
use num_traits::{ToPrimitive, Zero};

/// gcd(a, b), with gcd(0, b) = b.
pub(super) fn gcd(mut a: BigUint, mut b: BigUint) -> BigUint {
    loop {
        if a < b {
            std::mem::swap(&mut a, &mut b);
        }
        if b.is_zero() {
            return a;
        }
        if let (Some(x), Some(y)) = (a.to_u128(), b.to_u128()) {
            return BigUint::from(x.gcd(&y));
        }
        // One full step; afterwards both have about the same size, or b is small.
        (a, b) = (b.clone(), a % b);
        (a, b) = lehmer_steps(a.to_u64_digits(), b.to_u64_digits());
    }
}

/// As many steps as the leading words decide, on words, lowest first; a is at least b.
fn lehmer_steps(mut a: Vec<u64>, mut b: Vec<u64>) -> (BigUint, BigUint) {
    while a.len() > 2 && b.len() == a.len() {
        let top = a.len() - 1;
        // The same 62 bits of both.
        let shift = 2 + 64 - a[top].leading_zeros();
        let leading = |n: &[u64]| ((u128::from(n[top]) << 64 | u128::from(n[top - 1])) >> shift) as i64;
        let matrix = cofactors(leading(&a), leading(&b));
        if matrix[1] == 0 {
            break;
        }
        combine(&mut a, &mut b, matrix);
        for n in [&mut a, &mut b] {
            while n.last() == Some(&0) {
                n.pop();
            }
        }
    }
    (from_words(&a), from_words(&b))
}

fn from_words(words: &[u64]) -> BigUint {
    BigUint::new(words.iter().flat_map(|&w| [w as u32, (w >> 32) as u32]).collect())
}

/// Steps of Euclid's algorithm that are right for all numbers with these leading parts, as the
/// matrix (p q; r s) to apply: Knuth, volume 2, algorithm L of section 4.5.2.
fn cofactors(mut x: i64, mut y: i64) -> [i64; 4] {
    // The entries stay below 2^62: each is at most the leading part divided by what is left of it.
    let (mut p, mut q, mut r, mut s) = (1i64, 0i64, 0i64, 1i64);
    while y + r != 0 && y + s != 0 {
        let quotient = (x + p) / (y + r);
        if quotient != (x + q) / (y + s) {
            break;
        }
        (p, r) = (r, p - quotient * r);
        (q, s) = (s, q - quotient * s);
        (x, y) = (y, x - quotient * y);
    }
    [p, q, r, s]
}

/// a, b = p a + q b, r a + s b, none of which is negative by the choice of the matrix.
fn combine(a: &mut Vec<u64>, b: &mut Vec<u64>, matrix: [i64; 4]) {
    // p and s have one sign, q and r the other.
    let [p, q, r, s] = matrix.map(i64::unsigned_abs);
    if matrix[1] < 0 {
        cross(a, b, [p, q, r, s]);
    } else {
        cross(a, b, [r, s, p, q]);
        std::mem::swap(a, b);
    }
}

/// a, b = p a - q b, s b - r a.
fn cross(a: &mut [u64], b: &mut [u64], [p, q, r, s]: [u64; 4]) {
    let product = |k: u64, n: u64| (u128::from(k) * u128::from(n)) as i128;
    let (mut carry_a, mut carry_b) = (0i128, 0i128);
    for (x, y) in a.iter_mut().zip(b) {
        carry_a += product(p, *x) - product(q, *y);
        carry_b += product(s, *y) - product(r, *x);
        (*x, *y) = (carry_a as u64, carry_b as u64);
        carry_a >>= 64;
        carry_b >>= 64;
    }
}
