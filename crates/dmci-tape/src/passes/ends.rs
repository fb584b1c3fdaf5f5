//! Rounds that run back need not compute what a round ended with: it is what the next one began with, which was looked
//! up one round before.

use crate::passes::remove_dead;
use crate::rebuild::Rebuild;
use crate::tape::{Loop, LoopKind, Node, NodeId, Tape};
use dmci_ops::Op;
use rustc_hash::FxHashMap;

/// No node.
const NONE: NodeId = NodeId(u32::MAX);

/// The end of a round: a state of the loop that is followed, and the node of a round back that computes it again.
#[derive(Clone, Copy)]
struct End {
    state: usize,
    node: NodeId,
}

/// The tape with loops that run back made to carry the ends of rounds that they would compute again. Equal operations
/// of their bodies have been merged.
pub fn carry_ends(tape: &Tape) -> Tape {
    let found: Vec<Vec<End>> = (0..tape.nodes.len()).map(|i| ends(tape, i).unwrap_or_default()).collect();
    if found.iter().all(Vec::is_empty) {
        return tape.clone();
    }
    let mut rebuild = Rebuild::new(tape);
    for (i, node) in tape.nodes.iter().enumerate() {
        match *node {
            Node::Loop(n) if !found[i].is_empty() => {
                let l = &tape.loops[n as usize];
                let operands: Vec<NodeId> = rebuild.operands(i).collect();
                let (first, shared) = operands.split_at(l.states as usize);
                let of = operands[operands.len() - 1];
                let last: Vec<NodeId> = found[i].iter().map(|end| rebuild.out(of, end.state)).collect();
                let body = remove_dead(&with_ends(&l.body, l.states as usize, &found[i]));
                rebuild.change_loop(i, body, &[first, &last, shared].concat());
            }
            // The number of rounds is behind the state.
            Node::Out { of, index } if tape.loop_of(of).is_some_and(|l| l.states == index) => {
                let (more, of) = (found[of.0 as usize].len(), rebuild.id(of));
                let rounds = rebuild.out(of, index as usize + more);
                rebuild.replace(i, rounds);
            }
            _ => {
                rebuild.copy(i);
            }
        }
    }
    rebuild.finish(&tape.guards, &tape.outputs)
}

/// The ends of rounds that a loop which runs back computes again.
fn ends(tape: &Tape, i: usize) -> Option<Vec<End>> {
    let back = tape.loop_of(NodeId(i as u32)).filter(|l| l.kind == LoopKind::Backward)?;
    let of = *tape.operands(i).last()?;
    let forward = tape.loop_of(of)?;
    let again = same_nodes(forward, tape.operands(of.0 as usize), back, tape.operands(i));
    let computed = |state: usize| {
        let node = again[forward.body.outputs[state].0 as usize]?;
        matches!(back.body.nodes[node.0 as usize], Node::Op(..)).then_some(End { state, node })
    };
    let mut ends: Vec<End> = Vec::new();
    for end in (0..forward.states as usize).filter_map(computed) {
        if ends.iter().all(|e| e.node != end.node) {
            ends.push(end);
        }
    }
    Some(ends)
}

/// For each node of a loop, the one that is the same in a loop that follows it back.
fn same_nodes(forward: &Loop, outside: &[NodeId], back: &Loop, outside_back: &[NodeId]) -> Vec<Option<NodeId>> {
    let (states, own) = (forward.states as usize, back.states as usize);
    let mut leaves = vec![NodeId(0); back.body.leaves.len()];
    let mut operations: FxHashMap<(Op, [NodeId; 3]), NodeId> = FxHashMap::default();
    let mut constants: FxHashMap<(bool, u64), NodeId> = FxHashMap::default();
    for (node, id) in back.body.nodes.iter().zip((0..).map(NodeId)) {
        match *node {
            Node::Leaf(n) => leaves[n as usize] = id,
            Node::Op(op, args) => {
                operations.insert((op, used(op, args)), id);
            }
            Node::Real(bits) => {
                constants.insert((true, bits), id);
            }
            Node::Int(x) => {
                constants.insert((false, x as u64), id);
            }
            _ => {}
        }
    }
    // Behind its own state, the one back has the state of the other, then what rounds share.
    let leaf = |n: usize| match n.checked_sub(states) {
        None => Some(leaves[own + n]),
        Some(_) => {
            let shared = outside_back[own..].iter().position(|o| *o == outside[n])?;
            Some(leaves[own + states + shared])
        }
    };
    let mut same: Vec<Option<NodeId>> = Vec::with_capacity(forward.body.nodes.len());
    for node in &forward.body.nodes {
        let found = match *node {
            Node::Leaf(n) => leaf(n as usize),
            Node::Op(op, args) => {
                let args = used(op, args.map(|a| same[a.0 as usize].unwrap_or(NONE)));
                operations.get(&(op, args)).copied()
            }
            Node::Real(bits) => constants.get(&(true, bits)).copied(),
            Node::Int(x) => constants.get(&(false, x as u64)).copied(),
            _ => None,
        };
        same.push(found);
    }
    same
}

/// The operands of an operation, and nothing behind them.
fn used(op: Op, mut args: [NodeId; 3]) -> [NodeId; 3] {
    args[op.operands().len()..].fill(NONE);
    args
}

/// A body with so many states of its own and some ends of rounds beside them.
fn with_ends(body: &Tape, own: usize, ends: &[End]) -> Tape {
    let mut rebuild = Rebuild::new(body);
    let (mut begins, mut known) = (vec![NodeId(0); ends.len()], Vec::new());
    for (i, node) in body.nodes.iter().enumerate() {
        let id = NodeId(i as u32);
        if let Node::Leaf(n) = *node {
            if n as usize == own {
                let same = ends.iter().map(|end| body.leaves[own + end.state].clone()).collect();
                known = rebuild.insert_leaves(own, same);
            }
            let of_leaf = ends.iter().position(|end| own + end.state == n as usize);
            of_leaf.into_iter().for_each(|end| begins[end] = id);
        }
        match ends.iter().position(|end| end.node == id) {
            Some(end) => rebuild.replace(i, known[end]),
            None => drop(rebuild.copy(i)),
        }
    }
    rebuild.finish(&body.guards, &[&body.outputs[..], &begins].concat())
}
