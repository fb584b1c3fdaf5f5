//! Candidates by chance: expressions drawn from the allowed operations, and changes of expressions that are there.

use crate::candidate::Candidate;
use crate::expr::{Expr, Node};
use crate::operation::{Operation, Operations};
use dmci_stats::random::Stream;

/// Draws candidates over some inputs.
#[derive(Clone, Copy, Debug)]
pub struct Grammar<'a> {
    /// The allowed operations.
    pub operations: &'a Operations,
    /// How many inputs there are.
    pub inputs: usize,
    /// The largest complexity.
    pub size: usize,
}

/// An expression with the values of its parameters.
#[derive(Clone, Debug)]
struct Draft {
    nodes: Vec<Node>,
    values: Vec<f64>,
}

impl Draft {
    fn parameter(&mut self, stream: &mut Stream) -> Node {
        let size = dmci_ops::real::exp(0.5 * stream.normal());
        self.values.push(if stream.uniform() < 0.5 { size } else { -size });
        Node::Param(self.values.len() as u16 - 1)
    }

    fn expr(&self) -> Expr {
        Expr { nodes: self.nodes.clone() }
    }

    fn replace(&mut self, at: usize, new: Vec<Node>) {
        self.nodes = self.expr().with(at, &new).nodes;
    }
}

/// Nodes of what is put in the place of a subexpression.
const NEW_PART: usize = 7;

impl Grammar<'_> {
    /// A random candidate of up to so many nodes.
    pub fn random(&self, nodes: usize, stream: &mut Stream) -> Candidate {
        let mut draft = Draft { nodes: Vec::new(), values: Vec::new() };
        let part = self.tree(nodes, &mut draft, stream);
        draft.nodes = part;
        self.finish(draft)
    }

    fn finish(&self, draft: Draft) -> Candidate {
        Candidate::new(&Expr { nodes: draft.nodes }, &draft.values, self.operations)
    }

    /// An expression of about so many nodes.
    fn tree(&self, nodes: usize, draft: &mut Draft, stream: &mut Stream) -> Vec<Node> {
        if nodes <= 1 {
            return vec![self.leaf(draft, stream)];
        }
        let arity = if nodes >= 3 && stream.uniform() < 0.65 { 2 } else { 1 };
        let Some(operation) = self.operation(arity, stream).or_else(|| self.operation(3 - arity, stream)) else {
            return vec![self.leaf(draft, stream)];
        };
        let mut out = vec![Node::Op(operation)];
        match operation.arity() {
            1 => out.extend(self.tree(nodes - 1, draft, stream)),
            _ => {
                let left = 1 + stream.below(nodes.saturating_sub(2).max(1));
                out.extend(self.tree(left, draft, stream));
                let right = nodes.saturating_sub(1 + left).max(1);
                // Powers are mostly constant.
                if operation == Operation::Pow && stream.uniform() < 0.8 {
                    out.push(if stream.uniform() < 0.5 { draft.parameter(stream) } else { small(stream) });
                } else {
                    out.extend(self.tree(right, draft, stream));
                }
            }
        }
        out
    }

    fn operation(&self, arity: usize, stream: &mut Stream) -> Option<Operation> {
        // Sums and products make up most of what is known.
        let usual = [Operation::Add, Operation::Mul].map(|o| self.operations.allows(o).then_some(o));
        if arity == 2 && stream.uniform() < 0.4 {
            return usual[stream.below(2)].or(usual[0]).or(usual[1]);
        }
        let list: Vec<Operation> = self.operations.of_arity(arity).collect();
        (!list.is_empty()).then(|| list[stream.below(list.len())])
    }

    fn leaf(&self, draft: &mut Draft, stream: &mut Stream) -> Node {
        let u = stream.uniform();
        if u < 0.6 && self.inputs > 0 {
            Node::Var(stream.below(self.inputs) as u16)
        } else if u < 0.9 {
            draft.parameter(stream)
        } else {
            small(stream)
        }
    }

    /// A candidate with some of the numbers that are nearly whole made exact, and terms that are nearly 0 dropped: if the
    /// score does not fall, an exact number costs no parameter. None if there are no such numbers.
    pub fn snapped(&self, parent: &Candidate, stream: &mut Stream) -> Option<Candidate> {
        let mut draft = Draft { nodes: parent.expr.nodes.clone(), values: parent.values.clone() };
        let all = stream.uniform() < 0.5;
        let mut changed = false;
        for (p, value) in parent.values.iter().enumerate() {
            let whole = value.round();
            let near = (value - whole).abs() < NEARLY_WHOLE * value.abs().max(1.0) && whole.abs() <= 9.0;
            if !near || !(all || stream.uniform() < 0.5) {
                continue;
            }
            let parameter = Node::Param(p as u16);
            if whole != 0.0 {
                let exact = Node::Int(whole as i16);
                draft.nodes.iter_mut().filter(|n| **n == parameter).for_each(|n| *n = exact);
                changed = true;
            } else if let Some((at, kept)) = term_beside(&draft.expr(), parameter) {
                draft.replace(at, kept);
                changed = true;
            }
        }
        // One number that is a small multiple of another one is that.
        let is_allowed = [Operation::Mul, Operation::Neg].iter().all(|o| self.operations.allows(*o));
        if is_allowed
            && (!changed || stream.uniform() < 0.3)
            && let Some((p, q, times)) = multiple(&parent.values, stream)
        {
            let mut new = vec![Node::Param(q)];
            if times.abs() != 1.0 {
                new.splice(0..0, [Node::Op(Operation::Mul), Node::Int(times.abs() as i16)]);
            }
            if times < 0.0 {
                new.insert(0, Node::Op(Operation::Neg));
            }
            while let Some(at) = draft.nodes.iter().position(|n| *n == Node::Param(p)) {
                draft.replace(at, new.clone());
            }
            changed = true;
        }
        changed.then(|| self.finish(draft))
    }

    /// A change of a candidate, with another one to take parts from.
    pub fn change(&self, parent: &Candidate, other: &Candidate, stream: &mut Stream) -> Candidate {
        let mut draft = Draft { nodes: parent.expr.nodes.clone(), values: parent.values.clone() };
        // One change, sometimes several.
        loop {
            self.change_once(&mut draft, other, stream);
            if stream.uniform() < 0.7 {
                break;
            }
        }
        let child = self.finish(draft);
        if child.expr.complexity() <= self.size { child } else { self.random(self.size.min(9), stream) }
    }

    fn change_once(&self, draft: &mut Draft, other: &Candidate, stream: &mut Stream) {
        let count = draft.nodes.len();
        let at = stream.below(count);
        let expr = draft.expr();
        match stream.below(9) {
            // Another subexpression.
            0 => {
                let nodes = 1 + stream.below(NEW_PART);
                let new = self.tree(nodes, draft, stream);
                draft.replace(at, new);
            }
            // Another node of its kind.
            1 => match draft.nodes[at] {
                Node::Op(operation) => {
                    if let Some(new) = self.operation(operation.arity(), stream) {
                        draft.nodes[at] = Node::Op(new);
                    }
                }
                _ => draft.nodes[at] = self.leaf(draft, stream),
            },
            // A subexpression in the place of what it is part of.
            2 => {
                let operands: Vec<usize> = expr.operands(at).collect();
                if !operands.is_empty() {
                    let kept = expr.part(operands[stream.below(operands.len())]).nodes;
                    draft.replace(at, kept);
                }
            }
            // An operation around a subexpression.
            3 => {
                let arity = 1 + stream.below(2);
                if let Some(operation) = self.operation(arity, stream) {
                    let mut new = vec![Node::Op(operation)];
                    let part = expr.part(at).nodes;
                    if arity == 2 && !operation.commutes() && stream.uniform() < 0.3 {
                        new.push(self.leaf(draft, stream));
                        new.extend(part);
                    } else {
                        new.extend(part);
                        if arity == 2 {
                            let nodes = 1 + stream.below(3);
                            new.extend(self.tree(nodes, draft, stream));
                        }
                    }
                    draft.replace(at, new);
                }
            }
            // A term or a factor of the whole.
            4 | 5 => {
                let add = stream.uniform() < 0.6;
                let operation = if add { Operation::Add } else { Operation::Mul };
                if self.operations.allows(operation) && self.operations.allows(Operation::Mul) {
                    let nodes = 1 + stream.below(NEW_PART);
                    let mut new = vec![Node::Op(operation)];
                    new.extend_from_slice(&draft.nodes);
                    if add {
                        new.push(Node::Op(Operation::Mul));
                        new.push(draft.parameter(stream));
                    }
                    new.extend(self.tree(nodes, draft, stream));
                    draft.nodes = new;
                }
            }
            // A part of the other one.
            6 => {
                let from = stream.below(other.expr.nodes.len());
                let offset = draft.values.len() as u16;
                let shifted = |n: &Node| if let Node::Param(p) = n { Node::Param(p + offset) } else { *n };
                let new: Vec<Node> = other.expr.part(from).nodes.iter().map(shifted).collect();
                draft.values.extend_from_slice(&other.values);
                draft.replace(at, new);
            }
            // A parameter becomes a line in something, or a variable gets a shift, a factor or a power.
            _ => {
                let leaves: Vec<usize> = (0..count).filter(|&i| draft.nodes[i].arity() == 0).collect();
                let at = leaves[stream.below(leaves.len())];
                let wrap = [Operation::Add, Operation::Mul, Operation::Pow, Operation::Mul][stream.below(4)];
                if self.operations.allows(wrap) {
                    let extra = match (draft.nodes[at], wrap) {
                        (Node::Param(_) | Node::Int(_), Operation::Pow) => return,
                        (Node::Param(_) | Node::Int(_), _) => {
                            let nodes = 1 + stream.below(3);
                            self.tree(nodes, draft, stream)
                        }
                        _ => vec![draft.parameter(stream)],
                    };
                    let mut new = vec![Node::Op(wrap), draft.nodes[at]];
                    new.extend(extra);
                    draft.replace(at, new);
                }
            }
        }
    }
}

/// How far from a whole number a fitted one may be to be tried as exact, as a share of it.
const NEARLY_WHOLE: f64 = 0.02;

/// A number that is a small multiple of another one, up to rounding: its place, that of the other one, and how often.
fn multiple(values: &[f64], stream: &mut Stream) -> Option<(u16, u16, f64)> {
    let mut list = Vec::new();
    for (p, a) in values.iter().enumerate() {
        for (q, b) in values.iter().enumerate().filter(|(q, b)| *q != p && **b != 0.0) {
            let times = (a / b).round();
            let is_whole = (a / b - times).abs() < SAME_MULTIPLE * times.abs() && (1.0..=4.0).contains(&times.abs());
            if is_whole && (times.abs() > 1.0 || q < p) {
                list.push((p as u16, q as u16, times));
            }
        }
    }
    if list.is_empty() { None } else { Some(list[stream.below(list.len())]) }
}

/// How far from a multiple of another number a fitted one may be, as a share of it.
const SAME_MULTIPLE: f64 = 1e-6;

/// A sum of which this parameter is a term, and its other term.
fn term_beside(expr: &Expr, parameter: Node) -> Option<(usize, Vec<Node>)> {
    (0..expr.nodes.len()).filter(|&at| expr.nodes[at] == Node::Op(Operation::Add)).find_map(|at| {
        let operands: Vec<usize> = expr.operands(at).collect();
        let own = operands.iter().position(|&i| expr.nodes[i] == parameter)?;
        Some((at, expr.part(operands[1 - own]).nodes))
    })
}

fn small(stream: &mut Stream) -> Node {
    Node::Int(1 + stream.below(3) as i16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_nearly_whole_become_exact() {
        let operations = Operations::default();
        let grammar = Grammar { operations: &operations, inputs: 1, size: 20 };
        let parameter = |p| Expr::leaf(Node::Param(p));
        let term = Expr::apply(Operation::Mul, &[&parameter(1), &Expr::leaf(Node::Var(0))]);
        let line = Expr::apply(Operation::Add, &[&parameter(0), &term]);
        let names = ["x".to_string()];
        let forms = |values: &[f64]| -> std::collections::BTreeSet<String> {
            let parent = Candidate { expr: line.clone(), rest: Vec::new(), seed: 0, values: values.to_vec(), hash: 0 };
            let drawn = (0..40).filter_map(|i| grammar.snapped(&parent, &mut Stream::new(1, i)));
            drawn.map(|c| c.formula(&names, &c.values)).collect()
        };
        let both = forms(&[1e-9, 2.999_9]);
        assert!(both.contains("(* 3 x)") && both.contains("(* x 2.9999)"), "{both:?}");
        assert!(forms(&[0.4, 3.4]).is_empty());
        assert!(forms(&[0.4, 1.0001]).iter().all(|f| f == "(+ x 0.4)"));
    }

    #[test]
    fn candidates_keep_to_the_allowed_operations_and_the_size() {
        let operations = Operations::parse("+ * exp").expect("they exist");
        let grammar = Grammar { operations: &operations, inputs: 2, size: 20 };
        let mut stream = Stream::new(1, 2);
        let mut parents: Vec<Candidate> = (0..20).map(|i| grammar.random(2 + i % 9, &mut stream)).collect();
        let mut different = std::collections::BTreeSet::new();
        for round in 0..5000 {
            let (a, b) = (stream.below(parents.len()), stream.below(parents.len()));
            let child = grammar.change(&parents[a], &parents[b], &mut stream);
            assert!(child.expr.forbidden(&operations).is_none(), "{child:?}");
            assert!(child.expr.complexity() <= 30 && child.expr.parameters() == child.values.len(), "{child:?}");
            different.insert(child.hash);
            let at = round % parents.len();
            parents[at] = child;
        }
        assert!(different.len() > 2000, "{}", different.len());
    }
}
