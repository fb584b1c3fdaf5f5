//! Random numbers from a state of one word (splitmix64): the same seed gives the same numbers.

use super::*;
use num_traits::Signed;

/// The next 64 random bits.
pub fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A real in [0, 1), a multiple of 2^-53.
pub fn random_real(state: &mut u64) -> f64 {
    (next_random(state) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// A number in [0, n): an integer for an exact n, a real for a real one.
pub fn random_below(heap: &mut Heap, state: &mut u64, who: &str, n: Value) -> Result<Value, Error> {
    match Number::of(heap, n) {
        Some(Number::Fix(i)) if i > 0 => {
            // Numbers below 2^64 mod n would be favoured: they are drawn again.
            let n = i as u64;
            let reject_below = n.wrapping_neg() % n;
            loop {
                let bits = next_random(state);
                if bits >= reject_below {
                    return Ok(Value::fixnum((bits % n) as i64));
                }
            }
        }
        Some(Number::Big(n)) if n.is_positive() => {
            let words = n.bits().div_ceil(64);
            spend(heap, words * 4);
            loop {
                let digits: Vec<u32> =
                    (0..words).map(|_| next_random(state)).flat_map(|w| [w as u32, (w >> 32) as u32]).collect();
                let drawn = BigUint::new(digits) >> (words * 64 - n.bits());
                if &drawn < n.magnitude() {
                    return Number::integer(drawn).to_value(heap);
                }
            }
        }
        Some(Number::Real(x)) if x > 0.0 && x.is_finite() => loop {
            // Rounding may reach x itself.
            let drawn = random_real(state) * x;
            if drawn < x {
                return Ok(Value::real(drawn));
            }
        },
        _ => Err(wrong_type(heap, who, "a positive number", n)),
    }
}
