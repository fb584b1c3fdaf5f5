//! Lengths that are known when the code is compiled.

/// Cuts `0..$count` into pieces, each as long as the first of the given lengths that still fits; the last is 1.
macro_rules! in_pieces {
    ($count:expr, [$($length:literal),*], |$at:ident, $LENGTH:ident| $body:expr) => {{
        let mut $at = 0;
        $(while $count - $at >= $length {
            const $LENGTH: usize = $length;
            $body;
            $at += $LENGTH;
        })*
    }};
}
