//! The text form of a tape, and its parser.

use crate::tape::{Guard, Leaf, LeafKind, Loop, LoopKind, Node, NodeId, Tape};
use dmci_ops::{Kernel, MAX_ARITY, NONE, Op, Shape, Type};
use std::fmt::Write;
use std::sync::Arc;

impl Tape {
    /// The text form: one line a node, leaf, guard or output.
    pub fn print(&self) -> String {
        let mut out = String::new();
        if self.single {
            out.push_str("single\n");
        }
        let mut guards = self.guards.iter().peekable();
        for i in 0..self.nodes.len() {
            let _ = writeln!(out, "%{i} = {}", self.describe(NodeId(i as u32)));
            if let Some(l) = self.loop_of(NodeId(i as u32)) {
                l.body.print().lines().for_each(|line| {
                    let _ = writeln!(out, "  {line}");
                });
                out.push_str("end\n");
            }
            while let Some(g) = guards.next_if(|g| g.node.0 as usize <= i) {
                let kind = if g.pinned { "pin" } else { "guard" };
                let _ = writeln!(out, "{kind} %{} {}", g.node.0, g.outcome);
            }
        }
        for output in &self.outputs {
            let _ = writeln!(out, "output %{}", output.0);
        }
        out
    }

    /// What a node is, in words of the text form.
    pub fn describe(&self, id: NodeId) -> String {
        let i = id.0 as usize;
        let shape = self.shapes[i];
        let args: String = self.operands(i).iter().map(|a| format!(" %{}", a.0)).collect();
        match &self.nodes[i] {
            Node::Leaf(n) => {
                let leaf = &self.leaves[*n as usize];
                let kind = leaf.kind.name();
                let ty = match (leaf.ty, leaf.shape) {
                    (Type::Int, _) => " int".to_string(),
                    (Type::Bool, _) => " bool".to_string(),
                    (_, Shape::Scalar) => String::new(),
                    (_, shape) => format!(" {shape}"),
                };
                format!("{kind} {:?}{ty}", leaf.name)
            }
            Node::Real(bits) => format!("real {:?}", f64::from_bits(*bits)),
            Node::Int(x) => format!("int {x}"),
            Node::Constant(n) => {
                let items = self.constants[*n as usize].iter().map(|&bits| format!("{:?}", f64::from_bits(bits)));
                format!("tensor {shape} {}", items.collect::<Vec<_>>().join(" "))
            }
            Node::Op(op, _) => format!("{}{args}", op.name()),
            Node::Kernel(kernel, _) => match kernel {
                Kernel::Take(n) | Kernel::Put(n) => {
                    let item = |&e: &u32| if e == NONE { "-".to_string() } else { e.to_string() };
                    let items: Vec<String> = self.maps[*n as usize].iter().map(item).collect();
                    format!("{} {shape}{args} [{}]", kernel.name(), items.join(" "))
                }
                Kernel::MatMul { m, k, n, .. } => format!("{} {shape}{args} [{m} {k} {n}]", kernel.name()),
                _ => format!("{} {shape}{args}", kernel.name()),
            },
            Node::Pack { .. } => format!("pack {shape}{args}"),
            Node::Loop(n) => {
                let l = &self.loops[*n as usize];
                match l.kind {
                    LoopKind::Forward { limit } => format!("loop {}{args} [{limit}]", l.states),
                    LoopKind::Backward => format!("loop-back {}{args}", l.states),
                }
            }
            Node::Out { of, index } => format!("out %{} {index}", of.0),
        }
    }

    /// Parses the text form; the error names the line. The result is verified.
    pub fn parse(text: &str) -> Result<Tape, String> {
        let mut lines = text.lines().enumerate().map(|(i, line)| (i + 1, line));
        let tape = parse_lines(&mut lines, 0)?;
        tape.verify()?;
        Ok(tape)
    }
}

/// Bodies of loops inside of bodies ...
const DEEPEST: usize = 64;

/// Reads lines up to the end of the text, or of a loop's body.
fn parse_lines<'a>(lines: &mut impl Iterator<Item = (usize, &'a str)>, depth: usize) -> Result<Tape, String> {
    let mut tape = Tape::default();
    while let Some((number, line)) = lines.next() {
        if depth > 0 && line.trim() == "end" {
            return Ok(tape);
        }
        let wrong = || format!("line {number}: cannot read `{line}`");
        parse_line(&mut tape, line.trim()).ok_or_else(wrong)?;
        if let Some(Node::Loop(n)) = tape.nodes.last()
            && line.contains(" = loop")
        {
            let n = *n as usize;
            if depth == DEEPEST {
                return Err(wrong());
            }
            tape.loops[n].body = Arc::new(parse_lines(lines, depth + 1)?);
        }
    }
    if depth == 0 { Ok(tape) } else { Err("the body of a loop has no end".into()) }
}

fn node_id(word: &str) -> Option<NodeId> {
    word.strip_prefix('%')?.parse().ok().map(NodeId)
}

fn parse_line(tape: &mut Tape, line: &str) -> Option<()> {
    if line.is_empty() {
        return Some(());
    }
    if line == "single" {
        tape.single = true;
        return Some(());
    }
    for (kind, pinned) in [("guard ", false), ("pin ", true)] {
        if let Some(rest) = line.strip_prefix(kind) {
            let (node, outcome) = rest.split_once(' ')?;
            tape.guards.push(Guard { node: node_id(node)?, outcome: outcome.parse().ok()?, pinned });
            return Some(());
        }
    }
    if let Some(rest) = line.strip_prefix("output ") {
        tape.outputs.push(node_id(rest)?);
        return Some(());
    }
    let (id, rest) = line.split_once(" = ")?;
    if node_id(id)?.0 as usize != tape.nodes.len() {
        return None;
    }
    let (name, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let (node, shape) = parse_node(tape, name, rest)?;
    tape.nodes.push(node);
    tape.shapes.push(shape);
    Some(())
}

fn real_bits(word: &str) -> Option<u64> {
    word.parse::<f64>().ok().map(|x| if x.is_nan() { f64::NAN } else { x }.to_bits())
}

fn parse_node(tape: &mut Tape, name: &str, rest: &str) -> Option<(Node, Shape)> {
    Some(match name {
        "param" | "input" | "setting" | "noise" | "local" => {
            let (kind, _) = *LeafKind::ALL.iter().find(|(_, kind)| *kind == name)?;
            let (name, ty) = rest.strip_prefix('"')?.rsplit_once('"')?;
            let (ty, shape) = match ty.trim() {
                "" => (Type::Real, Shape::Scalar),
                "int" => (Type::Int, Shape::Scalar),
                "bool" => (Type::Bool, Shape::Scalar),
                shape => (Type::Real, Shape::parse(shape)?),
            };
            tape.leaves.push(Leaf { name: name.to_string(), kind, ty, shape });
            (Node::Leaf(tape.leaves.len() as u32 - 1), shape)
        }
        "real" => (Node::Real(real_bits(rest)?), Shape::Scalar),
        "int" => (Node::Int(rest.parse().ok()?), Shape::Scalar),
        "tensor" => {
            let mut words = rest.split_whitespace();
            let shape = Shape::parse(words.next()?)?;
            tape.constants.push(words.map(real_bits).collect::<Option<Vec<_>>>()?.into());
            (Node::Constant(tape.constants.len() as u32 - 1), shape)
        }
        "pack" => {
            let (shape, args, _) = shaped(rest)?;
            let first = tape.packed.len() as u32;
            let count = args.len() as u32;
            tape.packed.extend(args);
            (Node::Pack { first, count }, shape)
        }
        "loop" | "loop-back" => (parse_loop(tape, name, rest)?, Shape::Scalar),
        "out" => {
            let (of, index) = rest.split_once(' ')?;
            let (of, index) = (node_id(of)?, index.parse().ok()?);
            let l = tape.nodes.get(of.0 as usize).and_then(|_| tape.loop_of(of))?;
            let leaf = (index < l.states).then(|| l.body.leaves.get(index as usize));
            let shape = leaf.map_or(Some(Shape::Scalar), |leaf| leaf.map(|leaf| leaf.shape))?;
            (Node::Out { of, index }, shape)
        }
        _ => match Op::parse(name) {
            Some(op) => parse_op(tape, op, rest)?,
            None => parse_kernel(tape, name, rest)?,
        },
    })
}

/// A loop, without its body.
fn parse_loop(tape: &mut Tape, name: &str, rest: &str) -> Option<Node> {
    let (rest, kind) = match rest.split_once(" [") {
        Some((rest, limit)) => (rest, LoopKind::Forward { limit: limit.strip_suffix(']')?.parse().ok()? }),
        None => (rest, LoopKind::Backward),
    };
    if (kind == LoopKind::Backward) != (name == "loop-back") {
        return None;
    }
    let (states, args) = rest.split_once(' ').unwrap_or((rest, ""));
    let args = args.split_whitespace().map(node_id).collect::<Option<Vec<_>>>()?;
    let (first, count) = (tape.packed.len() as u32, args.len() as u32);
    tape.packed.extend(args);
    tape.loops.push(Loop { body: Arc::default(), states: states.parse().ok()?, kind, first, count });
    Some(Node::Loop(tape.loops.len() as u32 - 1))
}

fn parse_op(tape: &Tape, op: Op, rest: &str) -> Option<(Node, Shape)> {
    let mut args = [NodeId(0); MAX_ARITY];
    let words: Vec<&str> = rest.split_whitespace().collect();
    if words.len() != op.operands().len() {
        return None;
    }
    let mut shape = Shape::Scalar;
    for (slot, word) in args.iter_mut().zip(words) {
        *slot = node_id(word)?;
        shape = shape.broadcast(*tape.shapes.get(slot.0 as usize)?)?;
    }
    Some((Node::Op(op, args), shape))
}

/// Shape, operands and the numbers in brackets.
fn shaped(rest: &str) -> Option<(Shape, Vec<NodeId>, Vec<u32>)> {
    let (rest, numbers) = match rest.split_once('[') {
        Some((rest, list)) => (rest, list.strip_suffix(']')?),
        None => (rest, ""),
    };
    let mut words = rest.split_whitespace();
    let shape = Shape::parse(words.next()?)?;
    let args = words.map(node_id).collect::<Option<Vec<_>>>()?;
    let number = |word: &str| if word == "-" { Some(NONE) } else { word.parse().ok() };
    Some((shape, args, numbers.split_whitespace().map(number).collect::<Option<Vec<_>>>()?))
}

fn parse_kernel(tape: &mut Tape, name: &str, rest: &str) -> Option<(Node, Shape)> {
    let (shape, args, numbers) = shaped(rest)?;
    let map = tape.maps.len() as u32;
    let sizes = || <[u32; 3]>::try_from(numbers.as_slice()).ok();
    let kernel = match name {
        "take" => Kernel::Take(map),
        "put" => Kernel::Put(map),
        "matmul" | "matmul-tn" | "matmul-nt" | "matmul-tt" => {
            let [m, k, n] = sizes()?;
            let flag = |c: char, at: usize| name.strip_prefix("matmul-").and_then(|f| f.chars().nth(at)) == Some(c);
            Kernel::MatMul { ta: flag('t', 0), tb: flag('t', 1), m, k, n }
        }
        "index" => Kernel::Index,
        "scatter" => Kernel::Scatter,
        "solve" => Kernel::Solve { transposed: false },
        "solve-t" => Kernel::Solve { transposed: true },
        "sort-by" | "sort-by-descending" => Kernel::SortBy { descending: name.ends_with("descending") },
        "unsort" | "unsort-descending" => Kernel::Unsort { descending: name.ends_with("descending") },
        "inverse" => Kernel::Inverse,
        "det" => Kernel::Det,
        "cofactor" => Kernel::Cofactor,
        "logdet" => Kernel::LogDet,
        "cholesky" => Kernel::Cholesky,
        _ => return None,
    };
    if matches!(kernel, Kernel::Take(_) | Kernel::Put(_)) {
        tape.maps.push(numbers.into());
    }
    if args.len() != kernel.arity() {
        return None;
    }
    Some((Node::Kernel(kernel, [args[0], args.get(1).copied().unwrap_or(NodeId(0))]), shape))
}
