//! Small tensors become single numbers.
//!
//! A vector or matrix of up to [`SMALL`] numbers that is only used by operations which can be written out, element by
//! element in the order of their kernel, is held as numbers: machine code then keeps it in registers, as it does with a
//! state that a program writes as several numbers. Tensors beside large ones, or in linear algebra, stay as they are.
//! The pass comes after the last differentiation, since a tensor and its elements collect adjoints in different orders.

mod groups;

use crate::tape::{Guard, Leaf, Loop, Node, NodeId, Tape};
use dmci_ops::{Kernel, MAX_ARITY, NONE, Op, Shape};
use groups::{Groups, Ids, leaf_nodes};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The most numbers that a small tensor has.
pub const SMALL: usize = 16;

/// The tape with small tensors as single numbers, in the bodies of loops too; `None` if there are none.
pub fn split_small(tape: &Tape) -> Option<Tape> {
    if !any_small(tape) {
        return None;
    }
    let mut count = 0;
    let ids = Ids::of(tape, &mut count);
    let mut groups = Groups::new(count);
    groups.look_at(tape, &ids);
    Some(Split::new(tape, &ids, &mut groups).outer())
}

fn any_small(tape: &Tape) -> bool {
    tape.shapes.iter().any(|&shape| is_small(shape)) || tape.loops.iter().any(|l| any_small(&l.body))
}

fn is_small(shape: Shape) -> bool {
    !shape.is_scalar() && (1..=SMALL).contains(&shape.len())
}

fn is_large(shape: Shape) -> bool {
    !shape.is_scalar() && !is_small(shape)
}

/// What became of a value.
#[derive(Clone, Debug)]
enum Parts {
    Whole(NodeId),
    Numbers(Vec<NodeId>),
}

/// A tape that is written again.
struct Split<'a> {
    old: &'a Tape,
    ids: &'a Ids,
    groups: &'a mut Groups,
    new: Tape,
    parts: Vec<Parts>,
    reals: FxHashMap<u64, NodeId>,
    integers: FxHashMap<i64, NodeId>,
    maps: FxHashMap<u32, u32>,
}

impl<'a> Split<'a> {
    fn new(old: &'a Tape, ids: &'a Ids, groups: &'a mut Groups) -> Self {
        let new =
            Tape { maps: old.maps.clone(), constants: old.constants.clone(), single: old.single, ..Tape::default() };
        let (reals, integers, maps) = Default::default();
        Split { old, ids, groups, new, parts: Vec::with_capacity(old.nodes.len()), reals, integers, maps }
    }

    fn splits(&mut self, node: NodeId) -> bool {
        is_small(self.old.shape(node)) && self.groups.splits(self.ids.id(node))
    }

    fn push(&mut self, node: Node, shape: Shape) -> NodeId {
        self.new.nodes.push(node);
        self.new.shapes.push(shape);
        NodeId(self.new.nodes.len() as u32 - 1)
    }

    fn op(&mut self, op: Op, args: &[NodeId]) -> NodeId {
        let mut ids = [NodeId(0); MAX_ARITY];
        ids[..args.len()].copy_from_slice(args);
        self.push(Node::Op(op, ids), Shape::Scalar)
    }

    fn real(&mut self, bits: u64) -> NodeId {
        if let Some(&id) = self.reals.get(&bits) {
            return id;
        }
        let id = self.push(Node::Real(bits), Shape::Scalar);
        self.reals.insert(bits, id);
        id
    }

    fn int(&mut self, x: i64) -> NodeId {
        if let Some(&id) = self.integers.get(&x) {
            return id;
        }
        let id = self.push(Node::Int(x), Shape::Scalar);
        self.integers.insert(x, id);
        id
    }

    /// One element of a tensor that stays.
    fn element(&mut self, tensor: NodeId, e: usize) -> NodeId {
        let next = self.new.maps.len() as u32;
        let map = *self.maps.entry(e as u32).or_insert(next);
        if map == next {
            self.new.maps.push(Arc::new([e as u32]));
        }
        self.push(Node::Kernel(Kernel::Take(map), [tensor, NodeId(0)]), Shape::Scalar)
    }

    fn elements(&mut self, tensor: NodeId, count: usize) -> Parts {
        Parts::Numbers((0..count).map(|e| self.element(tensor, e)).collect())
    }

    /// The numbers of a value that is a number or is held as numbers.
    fn numbers(&self, node: NodeId) -> &[NodeId] {
        match &self.parts[node.0 as usize] {
            Parts::Whole(id) => std::slice::from_ref(id),
            Parts::Numbers(ids) => ids,
        }
    }

    fn whole(&self, node: NodeId) -> NodeId {
        self.numbers(node)[0]
    }

    /// The tape from outside: its leaves and outputs are what they were.
    fn outer(mut self) -> Tape {
        self.new.leaves = self.old.leaves.clone();
        for i in 0..self.old.nodes.len() {
            let id = NodeId(i as u32);
            let shape = self.old.shape(id);
            let parts = match self.old.nodes[i] {
                Node::Leaf(n) => {
                    let leaf = self.push(Node::Leaf(n), shape);
                    if self.splits(id) { self.elements(leaf, shape.len()) } else { Parts::Whole(leaf) }
                }
                _ => self.node(i),
            };
            self.parts.push(parts);
        }
        let outputs = self.old.outputs.clone();
        self.new.outputs = outputs.into_iter().map(|o| self.packed(o)).collect();
        self.finish()
    }

    /// The body of a loop, whose leaves and outputs are numbers where tensors are split.
    fn body(mut self) -> Tape {
        for i in 0..self.old.nodes.len() {
            let id = NodeId(i as u32);
            let parts = match self.old.nodes[i] {
                Node::Leaf(n) => {
                    let leaf = self.old.leaves[n as usize].clone();
                    if self.splits(id) {
                        let one = Leaf { shape: Shape::Scalar, ..leaf };
                        let numbers = (0..self.old.shape(id).len()).map(|_| self.new_leaf(one.clone()));
                        Parts::Numbers(numbers.collect())
                    } else {
                        Parts::Whole(self.new_leaf(leaf))
                    }
                }
                _ => self.node(i),
            };
            self.parts.push(parts);
        }
        self.new.outputs = self.old.outputs.iter().flat_map(|&o| self.numbers(o).iter().copied()).collect();
        self.finish()
    }

    fn new_leaf(&mut self, leaf: Leaf) -> NodeId {
        let shape = leaf.shape;
        self.new.leaves.push(leaf);
        self.push(Node::Leaf(self.new.leaves.len() as u32 - 1), shape)
    }

    fn finish(mut self) -> Tape {
        self.new.guards = self.old.guards.iter().map(|g| Guard { node: self.whole(g.node), ..*g }).collect();
        self.new
    }

    /// A value as one node.
    fn packed(&mut self, node: NodeId) -> NodeId {
        match self.parts[node.0 as usize].clone() {
            Parts::Whole(id) => id,
            Parts::Numbers(ids) => self.pack(&ids, self.old.shape(node)),
        }
    }

    fn pack(&mut self, ids: &[NodeId], shape: Shape) -> NodeId {
        let first = self.new.packed.len() as u32;
        self.new.packed.extend(ids);
        self.push(Node::Pack { first, count: ids.len() as u32 }, shape)
    }

    /// A node that is no leaf.
    fn node(&mut self, i: usize) -> Parts {
        let id = NodeId(i as u32);
        let shape = self.old.shape(id);
        match self.old.nodes[i] {
            Node::Leaf(_) => return Parts::Whole(self.copy(i)),
            Node::Real(bits) => return Parts::Whole(self.real(bits)),
            Node::Int(x) => return Parts::Whole(self.int(x)),
            Node::Loop(n) => return self.repeat(i, n),
            Node::Out { of, index } => return self.out(id, of, index),
            _ => {}
        }
        let small_operand = self.old.operands(i).to_vec().into_iter().any(|a| self.splits(a));
        if !self.splits(id) && !small_operand {
            return Parts::Whole(self.copy(i));
        }
        let numbers = match self.old.nodes[i] {
            Node::Constant(n) => {
                let bits = self.old.constants[n as usize].clone();
                bits.iter().map(|&bits| self.real(bits)).collect()
            }
            Node::Op(op, args) => self.elementwise(op, &args[..op.operands().len()], shape),
            Node::Pack { .. } => {
                let operands = self.old.operands(i);
                operands.iter().flat_map(|&a| self.numbers(a).iter().copied()).collect()
            }
            Node::Kernel(kernel, args) => match self.kernel(kernel, args, shape) {
                Some(numbers) => numbers,
                // The result is taken apart.
                None => {
                    let tensor = self.copy(i);
                    return self.elements(tensor, shape.len());
                }
            },
            _ => Vec::new(),
        };
        if shape.is_scalar() { Parts::Whole(numbers[0]) } else { Parts::Numbers(numbers) }
    }

    /// A node whose operands all stay.
    fn copy(&mut self, i: usize) -> NodeId {
        let node = match self.old.nodes[i] {
            Node::Op(op, args) => {
                let mut new = [NodeId(0); MAX_ARITY];
                for (to, &a) in new.iter_mut().zip(&args[..op.operands().len()]) {
                    *to = self.whole(a);
                }
                Node::Op(op, new)
            }
            Node::Kernel(kernel, args) => {
                let mut new = [NodeId(0); 2];
                for (to, &a) in new.iter_mut().zip(&args[..kernel.arity()]) {
                    *to = self.whole(a);
                }
                Node::Kernel(kernel, new)
            }
            Node::Pack { .. } => {
                let parts: Vec<NodeId> = self.old.operands(i).iter().map(|&a| self.whole(a)).collect();
                return self.pack(&parts, self.old.shapes[i]);
            }
            other => other,
        };
        self.push(node, self.old.shapes[i])
    }

    fn elementwise(&mut self, op: Op, args: &[NodeId], shape: Shape) -> Vec<NodeId> {
        let from: Vec<Vec<usize>> = args.iter().map(|&a| self.old.shape(a).spread(shape).collect()).collect();
        let element = |e: usize| {
            let operands: Vec<NodeId> = args.iter().zip(&from).map(|(&a, from)| self.numbers(a)[from[e]]).collect();
            self.op(op, &operands)
        };
        (0..shape.len()).map(element).collect()
    }

    /// A kernel element by element, in the order in which it computes; `None` if its operand is large.
    fn kernel(&mut self, kernel: Kernel, [a, b]: [NodeId; 2], shape: Shape) -> Option<Vec<NodeId>> {
        if is_large(self.old.shape(a)) {
            let Kernel::Take(map) = kernel else { return None };
            let (map, tensor) = (self.old.maps[map as usize].clone(), self.whole(a));
            let take = |&e: &u32| if e == NONE { self.real(0) } else { self.element(tensor, e as usize) };
            return Some(map.iter().map(take).collect());
        }
        let x = self.numbers(a).to_vec();
        Some(match kernel {
            Kernel::Take(map) => {
                let map = self.old.maps[map as usize].clone();
                map.iter().map(|&e| if e == NONE { self.real(0) } else { x[e as usize] }).collect()
            }
            Kernel::Put(map) => {
                let map = self.old.maps[map as usize].clone();
                let mut sums: Vec<Option<NodeId>> = vec![None; shape.len()];
                for (&x, &to) in x.iter().zip(map.iter()).filter(|(_, to)| **to != NONE) {
                    let sum = sums[to as usize].map_or(x, |sum| self.op(Op::Add, &[sum, x]));
                    sums[to as usize] = Some(sum);
                }
                sums.into_iter().map(|sum| sum.unwrap_or_else(|| self.real(0))).collect()
            }
            Kernel::Index => {
                let (place, rows) = (self.whole(b), x.len() / shape.len());
                let mut found = vec![self.real(0); shape.len()];
                for row in 0..rows {
                    let number = self.int(row as i64);
                    let here = self.op(Op::IntEq, &[place, number]);
                    for (e, found) in found.iter_mut().enumerate() {
                        *found = self.op(Op::Select, &[here, x[row * shape.len() + e], *found]);
                    }
                }
                // What is left of a row at the end.
                for (found, &x) in found.iter_mut().zip(&x[rows * shape.len()..]) {
                    let number = self.int(rows as i64);
                    let here = self.op(Op::IntEq, &[place, number]);
                    *found = self.op(Op::Select, &[here, x, *found]);
                }
                found
            }
            Kernel::Scatter => {
                let (place, zero) = (self.whole(b), self.real(0));
                let element = |e: usize| {
                    let number = self.int((e / x.len()) as i64);
                    let here = self.op(Op::IntEq, &[place, number]);
                    self.op(Op::Select, &[here, x[e % x.len()], zero])
                };
                (0..shape.len()).map(element).collect()
            }
            Kernel::MatMul { ta, tb, m, k, n } => {
                let (m, k, n, y) = (m as usize, k as usize, n as usize, self.numbers(b).to_vec());
                let mut out = Vec::with_capacity(m * n);
                for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                    let mut sum = None;
                    for p in 0..k {
                        let x = x[if ta { p * m + i } else { i * k + p }];
                        let y = y[if tb { j * k + p } else { p * n + j }];
                        let product = self.op(Op::Mul, &[x, y]);
                        sum = Some(sum.map_or(product, |sum| self.op(Op::Add, &[sum, product])));
                    }
                    out.push(sum.unwrap_or_else(|| self.real(0)));
                }
                out
            }
            _ => return None,
        })
    }

    fn repeat(&mut self, i: usize, n: u32) -> Parts {
        let l = &self.old.loops[n as usize];
        let body = Split::new(&l.body, &self.ids.bodies[n as usize], self.groups).body();
        let operands: Vec<NodeId> =
            self.old.operands(i).iter().flat_map(|&o| self.numbers(o).iter().copied()).collect();
        let (first, count) = (self.new.packed.len() as u32, operands.len() as u32);
        self.new.packed.extend(operands);
        let states = body.outputs.len() as u32;
        self.new.loops.push(Loop { body: Arc::new(body), states, kind: l.kind, first, count });
        Parts::Whole(self.push(Node::Loop(self.new.loops.len() as u32 - 1), Shape::Scalar))
    }

    fn out(&mut self, id: NodeId, of: NodeId, index: u32) -> Parts {
        let shape = self.old.shape(id);
        let Some(l) = self.old.loop_of(of) else { return Parts::Whole(NodeId(0)) };
        let Node::Loop(n) = self.old.nodes[of.0 as usize] else { return Parts::Whole(NodeId(0)) };
        let inside = &self.ids.bodies[n as usize];
        // The new places of what stands before it.
        let leaves = leaf_nodes(&l.body);
        let mut place = 0;
        for &leaf in &leaves[..index as usize] {
            let small = is_small(l.body.shape(leaf)) && self.groups.splits(inside.id(leaf));
            place += if small { l.body.shape(leaf).len() } else { 1 };
        }
        let (of, splits) = (self.whole(of), self.splits(id));
        if !splits {
            return Parts::Whole(self.push(Node::Out { of, index: place as u32 }, shape));
        }
        let number = |e: usize| self.push(Node::Out { of, index: (place + e) as u32 }, Shape::Scalar);
        Parts::Numbers((0..shape.len()).map(number).collect())
    }
}
