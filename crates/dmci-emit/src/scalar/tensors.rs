//! Operations on tensors, number by number.

use super::Code;
use dmci_ops::Op;

impl Code {
    pub(super) fn sum(&mut self, terms: &[usize]) -> usize {
        match terms {
            [] => self.real(0.0),
            [first, rest @ ..] => rest.iter().fold(*first, |sum, &x| self.op(Op::Add, &[sum, x])),
        }
    }

    /// The value at a place that is known only when the program runs; 0 if there is none.
    pub(super) fn at<'a>(&mut self, place: usize, values: impl Iterator<Item = &'a usize>) -> usize {
        let mut found = self.real(0.0);
        for (i, &value) in values.enumerate() {
            let index = self.int(i as i64);
            let here = self.op(Op::IntEq, &[place, index]);
            found = self.op(Op::Select, &[here, value, found]);
        }
        found
    }

    /// Values in the order that sorts their keys, or, the other way, back to where their keys are.
    pub(super) fn sorted(&mut self, values: &[usize], keys: &[usize], descending: bool, back: bool) -> Vec<usize> {
        let (n, mut keys) = (keys.len(), keys.to_vec());
        let mut places: Vec<usize> = (0..n).map(|i| self.int(i as i64)).collect();
        let compare = if descending { Op::Lt } else { Op::Gt };
        for round in 0..n {
            // Neighbours are exchanged only if they are out of order, so equal keys keep theirs.
            for i in (round % 2..n.saturating_sub(1)).step_by(2) {
                let swap = self.op(compare, &[keys[i], keys[i + 1]]);
                let (a, b) = (keys[i], keys[i + 1]);
                (keys[i], keys[i + 1]) = (self.op(Op::Select, &[swap, b, a]), self.op(Op::Select, &[swap, a, b]));
                let (a, b) = (places[i], places[i + 1]);
                (places[i], places[i + 1]) =
                    (self.op(Op::IntSelect, &[swap, b, a]), self.op(Op::IntSelect, &[swap, a, b]));
            }
        }
        if !back {
            return places.into_iter().map(|place| self.at(place, values.iter())).collect();
        }
        (0..n)
            .map(|to| {
                let index = self.int(to as i64);
                let mut found = self.real(0.0);
                for (&place, &value) in places.iter().zip(values) {
                    let here = self.op(Op::IntEq, &[place, index]);
                    found = self.op(Op::Select, &[here, value, found]);
                }
                found
            })
            .collect()
    }

    /// The solution of `a x = b`, the diagonal of the factor, and the sign of the exchanged rows.
    pub(super) fn solved(&mut self, mut a: Vec<usize>, mut b: Vec<usize>, n: usize) -> (Vec<usize>, Vec<usize>, usize) {
        let columns = b.len() / n.max(1);
        let mut sign = self.real(1.0);
        for c in 0..n {
            for r in c + 1..n {
                let (low, high) = (self.op(Op::Abs, &[a[c * n + c]]), self.op(Op::Abs, &[a[r * n + c]]));
                let swap = self.op(Op::Gt, &[high, low]);
                self.exchange(&mut a, swap, c * n, r * n, n);
                self.exchange(&mut b, swap, c * columns, r * columns, columns);
                let other = self.op(Op::Neg, &[sign]);
                sign = self.op(Op::Select, &[swap, other, sign]);
            }
            for r in c + 1..n {
                let factor = self.op(Op::Div, &[a[r * n + c], a[c * n + c]]);
                for j in c + 1..n {
                    a[r * n + j] = self.minus(a[r * n + j], factor, a[c * n + j]);
                }
                for j in 0..columns {
                    b[r * columns + j] = self.minus(b[r * columns + j], factor, b[c * columns + j]);
                }
            }
        }
        for j in 0..columns {
            for i in (0..n).rev() {
                for k in i + 1..n {
                    b[i * columns + j] = self.minus(b[i * columns + j], a[i * n + k], b[k * columns + j]);
                }
                b[i * columns + j] = self.op(Op::Div, &[b[i * columns + j], a[i * n + i]]);
            }
        }
        (b, (0..n).map(|i| a[i * n + i]).collect(), sign)
    }

    fn minus(&mut self, x: usize, factor: usize, y: usize) -> usize {
        let product = self.op(Op::Mul, &[factor, y]);
        self.op(Op::Sub, &[x, product])
    }

    fn exchange(&mut self, list: &mut [usize], swap: usize, first: usize, second: usize, count: usize) {
        for j in 0..count {
            let (a, b) = (list[first + j], list[second + j]);
            list[first + j] = self.op(Op::Select, &[swap, b, a]);
            list[second + j] = self.op(Op::Select, &[swap, a, b]);
        }
    }

    pub(super) fn determinant(&mut self, a: &[usize], n: usize) -> usize {
        let (_, diagonal, sign) = self.solved(a.to_vec(), Vec::new(), n);
        let zero = self.real(0.0);
        diagonal.into_iter().fold(sign, |product, d| {
            // A column without a pivot: the rest of the factorisation divided by zero.
            let (was, is) = (self.op(Op::Eq, &[product, zero]), self.op(Op::Eq, &[d, zero]));
            let gone = self.op(Op::Or, &[was, is]);
            let next = self.op(Op::Mul, &[product, d]);
            self.op(Op::Select, &[gone, zero, next])
        })
    }

    pub(super) fn cholesky(&mut self, a: &[usize], n: usize) -> Vec<usize> {
        let zero = self.real(0.0);
        let half = self.real(0.5);
        let mut out = vec![zero; n * n];
        for i in 0..n {
            for j in 0..=i {
                let both = self.op(Op::Add, &[a[i * n + j], a[j * n + i]]);
                let mut x = self.op(Op::Mul, &[half, both]);
                for k in 0..j {
                    x = self.minus(x, out[i * n + k], out[j * n + k]);
                }
                out[i * n + j] = if i == j { self.op(Op::Sqrt, &[x]) } else { self.op(Op::Div, &[x, out[j * n + j]]) };
            }
        }
        out
    }
}
