//! The text form of a tape, and its parser.

use crate::tape::{Guard, Leaf, LeafKind, Node, NodeId, Tape};
use dmci_ops::{MAX_ARITY, Op};
use std::fmt::Write;

impl Tape {
    /// The text form: one line a node, leaf, guard or output.
    pub fn print(&self) -> String {
        let mut out = String::new();
        let mut guards = self.guards.iter().peekable();
        for (i, node) in self.nodes.iter().enumerate() {
            let _ = match node {
                Node::Leaf(n) => {
                    let leaf = &self.leaves[*n as usize];
                    let kind = if leaf.kind == LeafKind::Param { "param" } else { "input" };
                    writeln!(out, "%{i} = {kind} {:?}", leaf.name)
                }
                Node::Real(bits) => writeln!(out, "%{i} = real {:?}", f64::from_bits(*bits)),
                Node::Op(op, _) => {
                    let args: String = node.operands().iter().map(|a| format!(" %{}", a.0)).collect();
                    writeln!(out, "%{i} = {}{args}", op.name())
                }
            };
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

    /// Parses the text form; the error names the line. The result is verified.
    pub fn parse(text: &str) -> Result<Tape, String> {
        let mut tape = Tape::default();
        for (i, line) in text.lines().enumerate() {
            parse_line(&mut tape, line.trim()).ok_or_else(|| format!("line {}: cannot read `{line}`", i + 1))?;
        }
        tape.verify()?;
        Ok(tape)
    }
}

fn node_id(word: &str) -> Option<NodeId> {
    word.strip_prefix('%')?.parse().ok().map(NodeId)
}

fn parse_line(tape: &mut Tape, line: &str) -> Option<()> {
    if line.is_empty() {
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
    let node = match name {
        "param" | "input" => {
            let kind = if name == "param" { LeafKind::Param } else { LeafKind::Input };
            let name = rest.strip_prefix('"')?.strip_suffix('"')?.to_string();
            tape.leaves.push(Leaf { name, kind });
            Node::Leaf(tape.leaves.len() as u32 - 1)
        }
        "real" => Node::Real(rest.parse::<f64>().ok().map(|x| if x.is_nan() { f64::NAN } else { x })?.to_bits()),
        _ => {
            let op = Op::parse(name)?;
            let mut args = [NodeId(0); MAX_ARITY];
            let words: Vec<&str> = rest.split_whitespace().collect();
            if words.len() != op.operands().len() {
                return None;
            }
            for (slot, word) in args.iter_mut().zip(words) {
                *slot = node_id(word)?;
            }
            Node::Op(op, args)
        }
    };
    tape.nodes.push(node);
    Some(())
}
