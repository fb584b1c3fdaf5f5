//! Derivatives of tensor operations, in tensor operations: how an adjoint of the result reaches an
//! operand, and how a change of an operand changes the result.

use crate::recorder::Recorder;
use crate::tape::{Node, NodeId};
use dmci_ops::{Build, Kernel, NONE, Op, Shape};

fn square(shape: Shape) -> u32 {
    match shape {
        Shape::Matrix(n, _) => n,
        _ => 1,
    }
}

/// Where each element of a value went that was put in another order; none if one of them was left out or taken twice.
fn inverted(map: &[u32], count: usize) -> Option<Vec<u32>> {
    let mut places = vec![NONE; count];
    for (place, &from) in map.iter().enumerate().filter(|_| map.len() == count) {
        *places.get_mut(from as usize).filter(|place| **place == NONE)? = place as u32;
    }
    Some(places).filter(|places| !places.contains(&NONE))
}

fn columns(shape: Shape) -> u32 {
    match shape {
        Shape::Matrix(_, n) => n,
        _ => 1,
    }
}

impl Recorder {
    fn matmul(&mut self, a: NodeId, b: NodeId, (ta, tb): (bool, bool), [m, k, n]: [u32; 3], shape: Shape) -> NodeId {
        self.kernel(Kernel::MatMul { ta, tb, m, k, n }, &[a, b], shape)
    }

    /// A product of square matrices, each transposed or not.
    fn product(&mut self, a: NodeId, ta: bool, b: NodeId, tb: bool) -> NodeId {
        let shape = self.shape(a);
        let n = square(shape);
        self.matmul(a, b, (ta, tb), [n, n, n], shape)
    }

    /// The sum of all elements.
    pub fn sum(&mut self, x: NodeId) -> NodeId {
        let map = self.map(vec![0; self.shape(x).len()]);
        self.kernel(Kernel::Put(map), &[x], Shape::Scalar)
    }

    /// Elements of a value by their indices.
    pub fn take(&mut self, x: NodeId, indices: Vec<u32>, shape: Shape) -> NodeId {
        let map = self.map(indices);
        self.kernel(Kernel::Take(map), &[x], shape)
    }

    /// The transpose of a matrix.
    pub fn transpose(&mut self, x: NodeId) -> NodeId {
        let Shape::Matrix(m, n) = self.shape(x) else { return x };
        let indices = (0..n).flat_map(|j| (0..m).map(move |i| i * n + j)).collect();
        self.take(x, indices, Shape::Matrix(n, m))
    }

    /// A value summed over what was spread, so that it has a smaller shape.
    pub(crate) fn reduce(&mut self, x: NodeId, shape: Shape) -> NodeId {
        let from = self.shape(x);
        if from == shape {
            return x;
        }
        let map = self.map(shape.spread(from).map(|i| i as u32).collect::<Vec<_>>());
        self.kernel(Kernel::Put(map), &[x], shape)
    }

    /// A value spread to a larger shape.
    pub fn expand(&mut self, x: NodeId, shape: Shape) -> NodeId {
        let from = self.shape(x);
        if from == shape {
            return x;
        }
        self.take(x, from.spread(shape).map(|i| i as u32).collect(), shape)
    }

    /// Zeros.
    pub(crate) fn zeros(&mut self, shape: Shape) -> NodeId {
        match shape {
            Shape::Scalar => self.real(0.0),
            _ => self.constant(shape, std::iter::repeat_n(0.0, shape.len())),
        }
    }

    /// The transposed inverse of a matrix.
    fn inverse_transposed(&mut self, a: NodeId) -> NodeId {
        let inverse = self.kernel(Kernel::Inverse, &[a], self.shape(a));
        self.transpose(inverse)
    }

    /// The lower triangle with half of the diagonal.
    fn lower_half(&mut self, x: NodeId) -> NodeId {
        let n = square(self.shape(x));
        let weight = |(i, j): (u32, u32)| match i.cmp(&j) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Greater => 1.0,
        };
        let weights: Vec<f64> = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).map(weight).collect();
        let mask = self.constant(Shape::Matrix(n, n), weights);
        // Not a product: what the triangle leaves out may be anything.
        self.op(Op::Gate, &[x, mask])
    }

    /// The change of the cofactors of `a` under `change`, transposed if it is an adjoint.
    fn cofactor_change(&mut self, a: NodeId, change: NodeId) -> NodeId {
        let t = self.inverse_transposed(a);
        let parts = self.op(Op::Mul, &[change, t]);
        let trace = self.sum(parts);
        let first = self.op(Op::Mul, &[trace, t]);
        let inner = self.product(t, false, change, true);
        let second = self.product(inner, false, t, false);
        let difference = self.op(Op::Sub, &[first, second]);
        let det = self.kernel(Kernel::Det, &[a], Shape::Scalar);
        self.op(Op::Mul, &[det, difference])
    }

    fn negated(&mut self, x: NodeId) -> NodeId {
        self.op(Op::Neg, &[x])
    }

    /// What an adjoint `g` of the kernel or pack `y` contributes to its operand `i`.
    pub(crate) fn kernel_part(&mut self, y: NodeId, i: usize, g: NodeId) -> Option<NodeId> {
        let x = self.tape().operands(y.0 as usize)[i];
        let shape = self.shape(x);
        let Node::Kernel(kernel, args) = self.tape().nodes[y.0 as usize] else {
            return Some(self.pack_part(y, i, g));
        };
        Some(match (kernel, i) {
            (Kernel::Take(map), _) => match inverted(&self.tape().maps[map as usize], shape.len()) {
                Some(indices) => self.take(g, indices, shape),
                None => self.kernel(Kernel::Put(map), &[g], shape),
            },
            (Kernel::Put(map), _) => self.kernel(Kernel::Take(map), &[g], shape),
            (Kernel::Index, 0) => self.kernel(Kernel::Scatter, &[g, args[1]], shape),
            (Kernel::Scatter, 0) => self.kernel(Kernel::Index, &[g, args[1]], shape),
            (Kernel::MatMul { ta: false, tb, m, k, n }, 0) => self.matmul(g, args[1], (false, !tb), [m, n, k], shape),
            (Kernel::MatMul { ta: true, tb, m, k, n }, 0) => self.matmul(args[1], g, (tb, true), [k, n, m], shape),
            (Kernel::MatMul { ta, tb: false, m, k, n }, _) => self.matmul(args[0], g, (!ta, false), [k, m, n], shape),
            (Kernel::MatMul { ta, tb: true, m, k, n }, _) => self.matmul(g, args[0], (true, ta), [n, m, k], shape),
            (Kernel::Solve { transposed }, _) => {
                let right = self.kernel(Kernel::Solve { transposed: !transposed }, &[args[0], g], self.shape(g));
                if i == 1 {
                    return Some(right);
                }
                let (n, c) = (square(shape), columns(self.shape(g)));
                let (left, other) = if transposed { (y, right) } else { (right, y) };
                let outer = self.matmul(left, other, (false, true), [n, c, n], shape);
                self.negated(outer)
            }
            (Kernel::SortBy { descending }, 0) => self.kernel(Kernel::Unsort { descending }, &[g, args[1]], shape),
            (Kernel::Unsort { descending }, 0) => self.kernel(Kernel::SortBy { descending }, &[g, args[1]], shape),
            (Kernel::Inverse, _) => {
                let left = self.product(y, true, g, false);
                let both = self.product(left, false, y, true);
                self.negated(both)
            }
            (Kernel::Det, _) => {
                let cofactor = self.kernel(Kernel::Cofactor, &[x], shape);
                self.op(Op::Mul, &[g, cofactor])
            }
            (Kernel::Cofactor, _) => self.cofactor_change(x, g),
            (Kernel::LogDet, _) => {
                let inverse = self.inverse_transposed(x);
                self.op(Op::Mul, &[g, inverse])
            }
            (Kernel::Cholesky, _) => {
                let inner = self.product(y, true, g, false);
                let inner = self.lower_half(inner);
                let left = self.kernel(Kernel::Solve { transposed: true }, &[y, inner], shape);
                let left = self.transpose(left);
                let both = self.kernel(Kernel::Solve { transposed: true }, &[y, left], shape);
                self.symmetric(both)
            }
            (Kernel::Index | Kernel::Scatter | Kernel::SortBy { .. } | Kernel::Unsort { .. }, _) => return None,
        })
    }

    /// Half of the sum of a matrix and its transpose.
    fn symmetric(&mut self, x: NodeId) -> NodeId {
        let other = self.transpose(x);
        let sum = self.op(Op::Add, &[x, other]);
        let half = self.real(0.5);
        self.op(Op::Mul, &[half, sum])
    }

    fn pack_part(&mut self, y: NodeId, i: usize, g: NodeId) -> NodeId {
        let operands = self.tape().operands(y.0 as usize);
        let first: usize = operands[..i].iter().map(|&p| self.shape(p).len()).sum();
        let shape = self.shape(operands[i]);
        self.take(g, (0..shape.len()).map(|e| (first + e) as u32).collect(), shape)
    }

    /// The change of the kernel or pack `y` when its operands change; `None` stands for no change.
    pub(crate) fn kernel_change(&mut self, y: NodeId, changes: &[Option<NodeId>]) -> Option<NodeId> {
        let shape = self.shape(y);
        let Node::Kernel(kernel, args) = self.tape().nodes[y.0 as usize] else {
            return Some(self.pack_change(y, changes));
        };
        let [a, b] = args;
        if let (Kernel::MatMul { .. }, [first, second]) = (kernel, changes) {
            let first = first.map(|t| self.kernel(kernel, &[t, b], shape));
            let second = second.map(|t| self.kernel(kernel, &[a, t], shape));
            return match (first, second) {
                (Some(p), Some(q)) => Some(self.op(Op::Add, &[p, q])),
                (p, q) => p.or(q),
            };
        }
        if let (Kernel::Solve { transposed }, [first, second]) = (kernel, changes) {
            let (n, c) = (square(self.shape(a)), columns(shape));
            let moved = first.map(|t| {
                let moved = self.matmul(t, y, (transposed, false), [n, n, c], shape);
                self.negated(moved)
            });
            let right = match (*second, moved) {
                (Some(p), Some(q)) => Some(self.op(Op::Add, &[p, q])),
                (p, q) => p.or(q),
            }?;
            return Some(self.kernel(kernel, &[a, right], shape));
        }
        let t = changes[0]?;
        Some(match kernel {
            Kernel::Take(_) | Kernel::Put(_) => self.kernel(kernel, &[t], shape),
            Kernel::Index | Kernel::Scatter | Kernel::SortBy { .. } | Kernel::Unsort { .. } => {
                self.kernel(kernel, &[t, b], shape)
            }
            Kernel::Inverse => {
                let left = self.product(y, false, t, false);
                let both = self.product(left, false, y, false);
                self.negated(both)
            }
            Kernel::Det | Kernel::LogDet => {
                let weights = match kernel {
                    Kernel::Det => self.kernel(Kernel::Cofactor, &[a], self.shape(a)),
                    _ => self.inverse_transposed(a),
                };
                let parts = self.op(Op::Mul, &[weights, t]);
                self.sum(parts)
            }
            Kernel::Cofactor => self.cofactor_change(a, t),
            Kernel::Cholesky => {
                let t = self.symmetric(t);
                let left = self.kernel(Kernel::Solve { transposed: false }, &[y, t], shape);
                let left = self.transpose(left);
                let both = self.kernel(Kernel::Solve { transposed: false }, &[y, left], shape);
                let both = self.transpose(both);
                let half = self.lower_half(both);
                self.product(y, false, half, false)
            }
            Kernel::MatMul { .. } | Kernel::Solve { .. } => return None,
        })
    }

    fn pack_change(&mut self, y: NodeId, changes: &[Option<NodeId>]) -> NodeId {
        let operands = self.tape().operands(y.0 as usize).to_vec();
        let mut parts = Vec::with_capacity(operands.len());
        for (&x, change) in operands.iter().zip(changes) {
            let shape = self.shape(x);
            parts.push(change.unwrap_or_else(|| self.zeros(shape)));
        }
        self.pack(&parts, self.shape(y))
    }

    /// One element of a value, as a number.
    pub fn element(&mut self, x: NodeId, e: usize) -> NodeId {
        if self.shape(x).is_scalar() {
            return x;
        }
        debug_assert!((e as u32) < NONE);
        self.take(x, vec![e as u32], Shape::Scalar)
    }
}
