//! Checks that a tape is well formed.

use crate::tape::{Leaf, Loop, LoopKind, Node, NodeId, Tape};
use dmci_ops::{Kernel, NONE, Shape, Type};

impl Tape {
    /// Operands come before their uses and have the right types and shapes; indices are in range.
    pub fn verify(&self) -> Result<(), String> {
        if self.nodes.len() != self.shapes.len() {
            return Err("a shape is missing".into());
        }
        for i in 0..self.nodes.len() {
            self.verify_node(i).map_err(|why| format!("%{i}: {why}"))?;
        }
        for guard in &self.guards {
            self.expect(guard.node, Type::Bool)?;
        }
        match self.outputs.iter().find(|n| n.0 as usize >= self.nodes.len()) {
            Some(n) => Err(format!("output %{} does not exist", n.0)),
            None => Ok(()),
        }
    }

    fn verify_node(&self, i: usize) -> Result<(), String> {
        if let Node::Pack { first, count } = self.nodes[i]
            && first as usize + count as usize > self.packed.len()
        {
            return Err("operands are missing".into());
        }
        if let Node::Loop(n) = self.nodes[i] {
            let Some(l) = self.loops.get(n as usize) else { return Err(format!("no loop {n}")) };
            if l.first as usize + l.count as usize > self.packed.len() {
                return Err("operands are missing".into());
            }
        }
        if let Some(arg) = self.operands(i).iter().find(|a| a.0 as usize >= i) {
            return Err(format!("uses %{}, which is not before it", arg.0));
        }
        let shape = self.shapes[i];
        let fits = match self.nodes[i] {
            Node::Leaf(n) => match self.leaves.get(n as usize) {
                Some(leaf) => leaf.shape == shape,
                None => return Err(format!("no leaf {n}")),
            },
            Node::Real(_) | Node::Int(_) => shape.is_scalar(),
            Node::Constant(n) => self.constants.get(n as usize).is_some_and(|c| c.len() == shape.len()),
            Node::Op(op, args) => {
                for (arg, ty) in args.iter().zip(op.operands()) {
                    self.expect(*arg, *ty)?;
                }
                let mut shapes = args[..op.operands().len()].iter().map(|&a| self.shape(a));
                shapes.try_fold(Shape::Scalar, Shape::broadcast) == Some(shape)
            }
            Node::Kernel(kernel, [a, b]) => {
                self.expect(a, Type::Real)?;
                if kernel.arity() == 2 {
                    let index = matches!(kernel, Kernel::Index | Kernel::Scatter);
                    self.expect(b, if index { Type::Int } else { Type::Real })?;
                }
                self.kernel_fits(kernel, self.shape(a), self.shape(b), shape)
            }
            Node::Pack { .. } => {
                for &a in self.operands(i) {
                    self.expect(a, Type::Real)?;
                }
                self.operands(i).iter().map(|&a| self.shape(a).len()).sum::<usize>() == shape.len()
            }
            Node::Loop(n) => {
                self.verify_loop(&self.loops[n as usize])?;
                shape.is_scalar()
            }
            Node::Out { of, index } => match self.loop_of(of) {
                Some(l) if index < l.states => l.body.leaves[index as usize].shape == shape,
                Some(l) => index == l.states && shape.is_scalar(),
                None => return Err(format!("%{} is no loop", of.0)),
            },
        };
        if fits { Ok(()) } else { Err(format!("its shape cannot be {shape}")) }
    }

    fn verify_loop(&self, l: &Loop) -> Result<(), String> {
        l.body.verify().map_err(|why| format!("in the body of the loop: {why}"))?;
        let operands = &self.packed[l.first as usize..][..l.count as usize];
        let (states, leaves) = (l.states as usize, &l.body.leaves);
        let followed: &[Leaf] = match l.kind {
            LoopKind::Forward { .. } => &[],
            LoopKind::Backward => match operands.last().and_then(|&of| self.loop_of(of)) {
                Some(of) => &of.body.leaves[..of.states as usize],
                None => return Err("there is no loop to follow back".into()),
            },
        };
        let values = &operands[..operands.len() - (l.kind == LoopKind::Backward) as usize];
        if l.body.outputs.len() != states || leaves.len() != values.len() + followed.len() || values.len() < states {
            return Err("state, operands and body do not fit".into());
        }
        let is = |leaf: &Leaf| (leaf.ty, leaf.shape);
        let given = values[..states].iter().chain(&values[states..]).map(|&v| (self.type_of(v), self.shape(v)));
        let (own, rest) = leaves.split_at(states);
        let (history, shared) = rest.split_at(followed.len());
        let next = l.body.outputs.iter().map(|&o| (l.body.type_of(o), l.body.shape(o)));
        let fits = own.iter().chain(shared).map(is).eq(given)
            && history.iter().map(is).eq(followed.iter().map(is))
            && own.iter().map(is).eq(next);
        if fits { Ok(()) } else { Err("types or shapes of state, operands and body differ".into()) }
    }

    fn kernel_fits(&self, kernel: Kernel, a: Shape, b: Shape, shape: Shape) -> bool {
        let square = matches!(a, Shape::Matrix(m, n) if m == n);
        let map = |n: u32, from: usize, to: usize| {
            let map = self.maps.get(n as usize);
            map.is_some_and(|map| map.len() == to && map.iter().all(|&e| e == NONE || (e as usize) < from))
        };
        match kernel {
            Kernel::Take(n) => map(n, a.len(), shape.len()),
            Kernel::Put(n) => map(n, shape.len(), a.len()),
            Kernel::Index | Kernel::Scatter => b.is_scalar(),
            Kernel::SortBy { .. } | Kernel::Unsort { .. } => a == b && shape == a,
            Kernel::MatMul { m, k, n, .. } => {
                let product = |x: u32, y: u32| x as usize * y as usize;
                a.len() == product(m, k) && b.len() == product(k, n) && shape.len() == product(m, n)
            }
            Kernel::Solve { .. } => {
                let rows = match b {
                    Shape::Matrix(m, _) | Shape::Vector(m) => m,
                    Shape::Scalar => return false,
                };
                square && shape == b && matches!(a, Shape::Matrix(m, _) if m == rows)
            }
            Kernel::Inverse | Kernel::Cofactor | Kernel::Cholesky => square && shape == a,
            Kernel::Det | Kernel::LogDet => square && shape.is_scalar(),
        }
    }

    fn expect(&self, id: NodeId, ty: Type) -> Result<(), String> {
        if id.0 as usize >= self.nodes.len() {
            return Err(format!("%{} does not exist", id.0));
        }
        let is = self.type_of(id);
        if is == ty { Ok(()) } else { Err(format!("%{} is {is:?}, not {ty:?}", id.0)) }
    }
}
