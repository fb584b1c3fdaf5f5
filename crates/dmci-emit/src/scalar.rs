//! Tapes in scalars: every number of a tensor is a value of its own, so that a language needs to know nothing but
//! numbers, loops and decisions.

mod tensors;

use dmci::ErrorCode;
use dmci::{Diagnostic, Report};
use dmci_ops::{Kernel, NONE, Op, Shape, Type};
use dmci_tape::{LeafKind, LoopKind, Node, NodeId, Tape};

/// One value; operands are the numbers of earlier values.
#[derive(Clone, Debug)]
pub enum Scalar {
    /// A number from outside, by its place among all of them.
    Leaf(usize),
    /// A constant.
    Real(f64),
    /// An exact constant.
    Int(i64),
    /// An operation.
    Op(Op, Vec<usize>),
    /// A loop. As a value, whether it ended before its limit.
    Loop(Box<Repeat>),
    /// A number of the state of a loop at its end; behind the last, the number of rounds.
    Out(usize, usize),
}

/// A loop.
#[derive(Clone, Debug)]
pub struct Repeat {
    /// One round: its first leaves are the state; its outputs are the next state.
    pub body: Code,
    /// Numbers of the state.
    pub states: usize,
    /// What ends it.
    pub kind: Kind,
    /// The first state, and the shared values.
    pub operands: Vec<usize>,
    /// A later loop runs its rounds back.
    pub followed: bool,
}

/// What ends a loop.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Rounds go on while all guards hold, so many at most.
    Forward(u64),
    /// The rounds of an earlier loop, from the last to the first. Behind its own state, the body has the state of that
    /// loop as leaves.
    Backward(usize),
}

/// Values in order, with decisions and results.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// The values.
    pub nodes: Vec<Scalar>,
    /// Their types.
    pub types: Vec<Type>,
    /// Booleans with the outcomes that they must have, in order, each with the number of values after which all
    /// booleans up to it are known.
    pub guards: Vec<(usize, bool, usize)>,
    /// The results.
    pub outputs: Vec<usize>,
    /// The types of the leaves.
    pub leaves: Vec<Type>,
}

/// More values than this make no readable source.
const MOST: usize = 200_000;

fn refused(message: String, help: &str) -> Report {
    Report::from(Diagnostic::error(ErrorCode::E0720, message).help(help))
}

impl Code {
    /// The scalars of a tape.
    pub fn of(tape: &Tape) -> Result<Code, Report> {
        Lowering::new(tape).run()
    }

    /// Whether there is a loop in it.
    pub fn has_loops(&self) -> bool {
        self.nodes.iter().any(|n| matches!(n, Scalar::Loop(_)))
    }

    /// How often each value is used.
    pub fn uses(&self) -> Vec<usize> {
        let mut uses = vec![0; self.nodes.len()];
        for node in &self.nodes {
            match node {
                Scalar::Op(_, args) => args.iter().for_each(|&a| uses[a] += 1),
                Scalar::Loop(l) => l.operands.iter().for_each(|&a| uses[a] += 1),
                _ => {}
            }
        }
        self.outputs.iter().for_each(|&o| uses[o] += 1);
        self.guards.iter().for_each(|g| uses[g.0] += 1);
        uses
    }

    /// Which values decide something, or are needed for results, or for loops.
    pub fn live(&self) -> Vec<bool> {
        let mut live = vec![false; self.nodes.len()];
        self.outputs.iter().chain(self.guards.iter().map(|g| &g.0)).for_each(|&o| live[o] = true);
        for (i, node) in self.nodes.iter().enumerate().rev() {
            match node {
                // These are their first operand.
                Scalar::Op(Op::Same | Op::Stop | Op::Linear, args) if live[i] => live[args[0]] = true,
                Scalar::Op(_, args) if live[i] => args.iter().for_each(|&a| live[a] = true),
                Scalar::Loop(repeat) => {
                    live[i] = true;
                    repeat.operands.iter().for_each(|&a| live[a] = true);
                }
                _ => {}
            }
        }
        live
    }

    fn push(&mut self, node: Scalar, ty: Type) -> usize {
        self.nodes.push(node);
        self.types.push(ty);
        self.nodes.len() - 1
    }

    fn op(&mut self, op: Op, args: &[usize]) -> usize {
        self.push(Scalar::Op(op, args.to_vec()), op.result())
    }

    fn real(&mut self, x: f64) -> usize {
        self.push(Scalar::Real(x), Type::Real)
    }

    fn int(&mut self, i: i64) -> usize {
        self.push(Scalar::Int(i), Type::Int)
    }
}

struct Lowering<'a> {
    tape: &'a Tape,
    code: Code,
    /// The scalars of each node of the tape.
    of: Vec<Vec<usize>>,
}

impl<'a> Lowering<'a> {
    fn new(tape: &'a Tape) -> Self {
        let leaves = tape.leaves.iter().flat_map(|l| std::iter::repeat_n(l.ty, l.shape.len())).collect();
        Lowering { tape, code: Code { leaves, ..Code::default() }, of: Vec::with_capacity(tape.nodes.len()) }
    }

    fn run(mut self) -> Result<Code, Report> {
        let (offsets, _) = self.tape.leaf_offsets();
        for i in 0..self.tape.nodes.len() {
            let scalars = self.node(i, &offsets)?;
            if self.code.nodes.len() > MOST {
                let message = format!("the program takes more than {MOST} operations on single numbers");
                return Err(refused(message, "export a smaller program, or shorter vectors and loops"));
            }
            self.of.push(scalars);
        }
        let mut at = 0;
        for guard in &self.tape.guards {
            let node = self.of[guard.node.0 as usize][0];
            at = at.max(node + 1);
            self.code.guards.push((node, guard.outcome, at));
        }
        self.code.outputs = self.tape.outputs.iter().flat_map(|o| self.of[o.0 as usize].clone()).collect();
        Ok(self.code)
    }

    fn args(&self, i: usize) -> Vec<Vec<usize>> {
        self.tape.operands(i).iter().map(|a| self.of[a.0 as usize].clone()).collect()
    }

    fn node(&mut self, i: usize, offsets: &[usize]) -> Result<Vec<usize>, Report> {
        let shape = self.tape.shapes[i];
        let code = &mut self.code;
        Ok(match self.tape.nodes[i] {
            Node::Leaf(n) => {
                let leaf = &self.tape.leaves[n as usize];
                if matches!(leaf.kind, LeafKind::Setting | LeafKind::Noise) {
                    let message = "the program makes soft choices, whose noise has no place in an export".into();
                    return Err(refused(message, "export a program without soft-choice"));
                }
                let first = offsets[n as usize];
                (0..shape.len()).map(|e| code.push(Scalar::Leaf(first + e), leaf.ty)).collect()
            }
            Node::Real(bits) => vec![code.real(f64::from_bits(bits))],
            Node::Int(x) => vec![code.int(x)],
            Node::Constant(n) => {
                self.tape.constants[n as usize].iter().map(|&bits| code.real(f64::from_bits(bits))).collect()
            }
            Node::Op(op, _) => {
                let args = self.args(i);
                let shapes: Vec<Shape> = self.tape.operands(i).iter().map(|a| self.tape.shape(*a)).collect();
                let mut spread: Vec<_> = shapes.iter().map(|s| s.spread(shape)).collect();
                let mut out = Vec::with_capacity(shape.len());
                for _ in 0..shape.len() {
                    let pick = spread.iter_mut().zip(&args).map(|(index, a)| a[index.next().unwrap_or(0)]);
                    let operands: Vec<usize> = pick.collect();
                    out.push(self.code.op(op, &operands));
                }
                out
            }
            Node::Pack { .. } => self.args(i).concat(),
            Node::Kernel(kernel, _) => {
                let args = self.args(i);
                self.kernel(kernel, &args, i)?
            }
            Node::Loop(n) => vec![self.repeat(i, n as usize)?],
            Node::Out { of, index } => {
                let l = &self.tape.loops[self.loop_number(of)];
                let sizes: Vec<usize> = l.body.leaves[..l.states as usize].iter().map(|l| l.shape.len()).collect();
                let first: usize = sizes.iter().take(index as usize).sum();
                let count = sizes.get(index as usize).copied().unwrap_or(1);
                let ty = self.tape.type_of(NodeId(i as u32));
                let of = self.of[of.0 as usize][0];
                (0..count).map(|e| self.code.push(Scalar::Out(of, first + e), ty)).collect()
            }
        })
    }

    fn loop_number(&self, id: NodeId) -> usize {
        match self.tape.nodes[id.0 as usize] {
            Node::Loop(n) => n as usize,
            _ => 0,
        }
    }

    fn repeat(&mut self, i: usize, n: usize) -> Result<usize, Report> {
        let l = &self.tape.loops[n];
        let body = Code::of(&l.body)?;
        let states = l.body.leaves[..l.states as usize].iter().map(|leaf| leaf.shape.len()).sum();
        let mut operands = self.args(i);
        let kind = match l.kind {
            LoopKind::Forward { limit } => Kind::Forward(limit),
            LoopKind::Backward => {
                let of = operands.pop().and_then(|of| of.first().copied()).unwrap_or(0);
                if let Scalar::Loop(followed) = &mut self.code.nodes[of] {
                    followed.followed = true;
                }
                Kind::Backward(of)
            }
        };
        let repeat = Repeat { body, states, kind, operands: operands.concat(), followed: false };
        Ok(self.code.push(Scalar::Loop(Box::new(repeat)), Type::Bool))
    }

    fn kernel(&mut self, kernel: Kernel, args: &[Vec<usize>], i: usize) -> Result<Vec<usize>, Report> {
        let shape = self.tape.shapes[i];
        let a = args[0].as_slice();
        let b = args.get(1).map_or(&[] as &[usize], Vec::as_slice);
        let code = &mut self.code;
        let rows = match self.tape.shape(self.tape.operands(i)[0]) {
            Shape::Matrix(n, _) => n as usize,
            _ => 1,
        };
        Ok(match kernel {
            Kernel::Take(map) => {
                let zero = code.real(0.0);
                let map = &self.tape.maps[map as usize];
                map.iter().map(|&from| if from == NONE { zero } else { a[from as usize] }).collect()
            }
            Kernel::Put(map) => {
                let mut out: Vec<Option<usize>> = vec![None; shape.len()];
                for (e, &to) in self.tape.maps[map as usize].iter().enumerate().filter(|(_, to)| **to != NONE) {
                    let slot = &mut out[to as usize];
                    *slot = Some(slot.map_or(a[e], |sum| code.op(Op::Add, &[sum, a[e]])));
                }
                let zero = code.real(0.0);
                out.into_iter().map(|slot| slot.unwrap_or(zero)).collect()
            }
            Kernel::Index => {
                let count = shape.len();
                (0..count).map(|e| code.at(b[0], a.iter().skip(e).step_by(count.max(1)))).collect()
            }
            Kernel::Scatter => {
                let (count, zero) = (a.len(), code.real(0.0));
                let spot = |code: &mut Code, e: usize| {
                    let place = code.int((e / count.max(1)) as i64);
                    let here = code.op(Op::IntEq, &[b[0], place]);
                    code.op(Op::Select, &[here, a[e % count.max(1)], zero])
                };
                (0..shape.len()).map(|e| spot(code, e)).collect()
            }
            Kernel::MatMul { ta, tb, m, k, n } => {
                let [m, k, n] = [m, k, n].map(|x| x as usize);
                let at = |i: usize, p: usize| a[if ta { p * m + i } else { i * k + p }];
                let bt = |p: usize, j: usize| b[if tb { j * k + p } else { p * n + j }];
                let mut out = Vec::with_capacity(m * n);
                for cell in 0..m * n {
                    let products: Vec<usize> =
                        (0..k).map(|p| code.op(Op::Mul, &[at(cell / n, p), bt(p, cell % n)])).collect();
                    out.push(code.sum(&products));
                }
                out
            }
            Kernel::SortBy { descending } => code.sorted(a, b, descending, false),
            Kernel::Unsort { descending } => code.sorted(a, b, descending, true),
            Kernel::Solve { transposed } => {
                let matrix = if transposed { transpose(a, rows) } else { a.to_vec() };
                code.solved(matrix, b.to_vec(), rows).0
            }
            Kernel::Inverse => {
                let unit = (0..rows * rows).map(|e| code.real(if e / rows == e % rows { 1.0 } else { 0.0 })).collect();
                code.solved(a.to_vec(), unit, rows).0
            }
            Kernel::Det => vec![code.determinant(a, rows)],
            Kernel::LogDet => {
                let (_, diagonal, _) = code.solved(a.to_vec(), Vec::new(), rows);
                let logs: Vec<usize> = diagonal
                    .into_iter()
                    .map(|d| {
                        let size = code.op(Op::Abs, &[d]);
                        code.op(Op::Log, &[size])
                    })
                    .collect();
                vec![code.sum(&logs)]
            }
            Kernel::Cofactor => {
                let mut out = Vec::with_capacity(rows * rows);
                for cell in 0..rows * rows {
                    let (i, j) = (cell / rows, cell % rows);
                    let kept = (0..rows * rows).filter(|e| e / rows != i && e % rows != j).map(|e| a[e]);
                    let minor: Vec<usize> = kept.collect();
                    let d = code.determinant(&minor, rows - 1);
                    out.push(if (i + j) % 2 == 0 { d } else { code.op(Op::Neg, &[d]) });
                }
                out
            }
            Kernel::Cholesky => code.cholesky(a, rows),
        })
    }
}

fn transpose(a: &[usize], n: usize) -> Vec<usize> {
    (0..n * n).map(|e| a[(e % n) * n + e / n]).collect()
}
