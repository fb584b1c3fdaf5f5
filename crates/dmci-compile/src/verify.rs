//! Checks that a graph is well formed, so that the code made from it is safe to run.

use crate::constant::Constant;
use crate::graph::{End, Function, Graph, LabelId, Loop, Node, NodeId, Op, Region};
use crate::primitives::PrimitiveSet;
use rustc_hash::FxHashMap;

/// Checks a whole graph; the error says what is wrong.
pub fn verify(graph: &Graph, primitives: &PrimitiveSet) -> Result<(), String> {
    let Some(main) = graph.functions.first() else { return Err("there is no function".into()) };
    if main.params != 0 || main.captures != 0 || main.rest {
        return Err("the program takes parameters".into());
    }
    for name in &graph.prims {
        if !primitives.contains(name) {
            return Err(format!("there is no primitive {name}"));
        }
    }
    for (i, function) in graph.functions.iter().enumerate() {
        check_function(graph, primitives, function).map_err(|why| format!("function {i}: {why}"))?;
    }
    Ok(())
}

fn check_function(graph: &Graph, primitives: &PrimitiveSet, f: &Function) -> Result<(), String> {
    // A node takes a few bytes of the file, so real counts are far below this.
    if f.nodes > 1 << 24 || f.labels > 1 << 24 || f.params > 60_000 || f.captures > 60_000 {
        return Err("it is too large".into());
    }
    if f.rest && f.params == 0 {
        return Err("a rest parameter is missing".into());
    }
    let defined = vec![false; f.nodes as usize];
    let visible = defined.clone();
    let mut checker = Checker {
        graph,
        primitives,
        f,
        defined,
        visible,
        labels: FxHashMap::default(),
        closures: FxHashMap::default(),
    };
    checker.region(&f.body, true)
}

struct Checker<'a> {
    graph: &'a Graph,
    primitives: &'a PrimitiveSet,
    f: &'a Function,
    /// Nodes seen anywhere: ids are unique.
    defined: Vec<bool>,
    /// Nodes that the current region may use.
    visible: Vec<bool>,
    /// Labels that the current region may jump to, with their parameter counts.
    labels: FxHashMap<LabelId, usize>,
    /// Closures with the number of their captures.
    closures: FxHashMap<NodeId, u32>,
}

type Check = Result<(), String>;

impl Checker<'_> {
    fn define(&mut self, id: NodeId) -> Check {
        match self.defined.get_mut(id.0 as usize) {
            Some(seen @ false) => *seen = true,
            Some(true) => return Err(format!("node {} is defined twice", id.0)),
            None => return Err(format!("node {} is out of range", id.0)),
        }
        self.visible[id.0 as usize] = true;
        Ok(())
    }

    fn used(&self, id: NodeId) -> Check {
        match self.visible.get(id.0 as usize) {
            Some(true) => Ok(()),
            _ => Err(format!("node {} is used where it is not defined", id.0)),
        }
    }

    fn all_used(&self, ids: &[NodeId]) -> Check {
        ids.iter().try_for_each(|&id| self.used(id))
    }

    fn region(&mut self, region: &Region, tail: bool) -> Check {
        let mut own = Vec::new();
        for node in &region.nodes {
            self.node(node)?;
            own.push(node.id);
        }
        match &region.end {
            End::Yield(n) => self.used(*n)?,
            End::TailCall { f, args, .. } => {
                if !tail {
                    return Err("a tail call stands where a value is needed".into());
                }
                self.used(*f)?;
                self.all_used(args)?;
            }
            End::If(test, a, b) => {
                self.used(*test)?;
                self.region(a, tail)?;
                self.region(b, tail)?;
            }
            End::Jump(label, args) => {
                self.all_used(args)?;
                if self.labels.get(label) != Some(&args.len()) {
                    return Err(format!("a jump to label {} does not fit", label.0));
                }
            }
            End::Loop(l) => self.labels(l, tail)?,
        }
        for id in own {
            self.visible[id.0 as usize] = false;
        }
        Ok(())
    }

    fn labels(&mut self, l: &Loop, tail: bool) -> Check {
        for label in &l.labels {
            if label.id.0 >= self.f.labels || self.labels.insert(label.id, label.params.len()).is_some() {
                return Err(format!("label {} is out of range or defined twice", label.id.0));
            }
        }
        self.region(&l.body, tail)?;
        for label in &l.labels {
            for &param in &label.params {
                self.define(param)?;
            }
            self.region(&label.region, tail)?;
            for &param in &label.params {
                self.visible[param.0 as usize] = false;
            }
        }
        for label in &l.labels {
            self.labels.remove(&label.id);
        }
        Ok(())
    }

    fn index<T>(&self, list: &[T], i: u32, what: &str) -> Check {
        if (i as usize) < list.len() { Ok(()) } else { Err(format!("{what} {i} is out of range")) }
    }

    fn node(&mut self, node: &Node) -> Check {
        self.all_used(&node.inputs)?;
        let inputs = match &node.op {
            Op::Const(k) => {
                self.index(&self.graph.constants, *k, "constant")?;
                0
            }
            Op::Param(i) => {
                if *i >= self.f.params {
                    return Err(format!("parameter {i} is out of range"));
                }
                0
            }
            Op::Capture(i) => {
                if *i >= self.f.captures {
                    return Err(format!("capture {i} is out of range"));
                }
                0
            }
            Op::SelfClosure => 0,
            Op::Global(g) => {
                self.index(&self.graph.globals, *g, "global")?;
                0
            }
            Op::SetGlobal(g) | Op::DefineGlobal(g) => {
                self.index(&self.graph.globals, *g, "global")?;
                1
            }
            Op::Prim(p) => {
                self.index(&self.graph.prims, *p, "primitive")?;
                if !self.primitives.accepts(&self.graph.prims[*p as usize], node.inputs.len()) {
                    return Err("a primitive has the wrong number of operands".into());
                }
                node.inputs.len()
            }
            Op::Closure(f) => {
                self.index(&self.graph.functions, *f, "function")?;
                let captures = self.graph.functions[*f as usize].captures;
                self.closures.insert(node.id, captures);
                captures as usize
            }
            Op::Patch(i) => {
                let captures = node.inputs.first().and_then(|c| self.closures.get(c));
                if captures.is_none_or(|n| i >= n) {
                    return Err("a patch does not fit its closure".into());
                }
                2
            }
            Op::Cell(k) => {
                self.index(&self.graph.constants, *k, "constant")?;
                if !matches!(self.graph.constants[*k as usize], Constant::Symbol(_)) {
                    return Err("a variable's name is not a symbol".into());
                }
                node.inputs.len().min(1)
            }
            Op::CellRef { .. } => 1,
            Op::CellSet => 2,
            Op::Call => node.inputs.len().max(1),
            Op::If(a, b) => {
                self.region(a, false)?;
                self.region(b, false)?;
                1
            }
            Op::Loop(l) => {
                self.labels(l, false)?;
                0
            }
        };
        if node.inputs.len() != inputs {
            return Err(format!("node {} has the wrong number of operands", node.id.0));
        }
        self.define(node.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Type;
    use dmci_value::SpanId;

    fn node(id: u32, op: Op, inputs: &[u32]) -> Node {
        let inputs = inputs.iter().map(|&i| NodeId(i)).collect();
        Node { id: NodeId(id), op, inputs, ty: Type::Any, place: SpanId(0) }
    }

    /// A program of these nodes whose second function takes one capture.
    fn check(nodes: Vec<Node>) -> Result<(), String> {
        let function = |nodes: Vec<Node>, captures| Function {
            name: None,
            params: 0,
            rest: false,
            captures,
            nodes: nodes.len() as u32,
            labels: 0,
            body: Region { end: End::Yield(nodes[0].id), nodes },
        };
        let functions = vec![function(nodes, 0), function(vec![node(0, Op::Capture(0), &[])], 1)];
        let graph = Graph { functions, constants: vec![Constant::Nil], ..Graph::default() };
        verify(&graph, &PrimitiveSet::default())
    }

    #[test]
    fn a_patch_must_fit_its_closure() {
        let with_patch = |i, target| {
            check(vec![node(0, Op::Const(0), &[]), node(1, Op::Closure(1), &[0]), node(2, Op::Patch(i), &[target, 0])])
        };
        assert_eq!(with_patch(0, 1), Ok(()));
        assert!(with_patch(1, 1).is_err(), "beyond the captures");
        assert!(with_patch(0, 0).is_err(), "not a closure");
    }

    #[test]
    fn nodes_are_defined_before_they_are_used_and_once() {
        assert!(check(vec![node(0, Op::Const(0), &[]), node(1, Op::CellRef { checked: false }, &[2])]).is_err());
        assert!(check(vec![node(0, Op::Const(0), &[]), node(0, Op::Const(0), &[])]).is_err());
        assert!(check(vec![node(0, Op::Const(7), &[])]).is_err());
        assert!(check(vec![node(0, Op::Call, &[])]).is_err());
    }
}
