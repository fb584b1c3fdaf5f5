//! How long each node of a function is needed, in positions of the order of emission.

use crate::codegen::has_instruction;
use crate::graph::{End, Function, Graph, Loop, Node, NodeId, Op, Region};
use rustc_hash::FxHashMap;

/// The result of the analysis.
pub struct Liveness {
    /// Last position that uses each node (its own, if none does).
    pub end: Vec<u32>,
    /// Number of uses of each node.
    pub uses: Vec<u32>,
    /// Last position of each loop, in order of visit.
    pub loop_ends: Vec<u32>,
    /// For a node whose only use is an operand of a call: that call's position and the operand's index.
    pub operand_of: Vec<Option<(u32, u32)>>,
    /// Calls by their positions.
    pub call_nodes: FxHashMap<u32, NodeId>,
}

struct Walker<'a> {
    graph: &'a Graph,
    position: u32,
    start: Vec<u32>,
    live: Liveness,
    /// Open loops: first position, and nodes from before it that are used inside.
    loops: Vec<(u32, Vec<NodeId>)>,
}

/// Analyses a function.
pub fn analyze(graph: &Graph, f: &Function) -> Liveness {
    let n = f.nodes as usize;
    let mut walker = Walker {
        graph,
        position: 0,
        start: vec![0; n],
        live: Liveness {
            end: vec![0; n],
            uses: vec![0; n],
            loop_ends: Vec::new(),
            operand_of: vec![None; n],
            call_nodes: FxHashMap::default(),
        },
        loops: Vec::new(),
    };
    walker.region(&f.body);
    for (node, uses) in walker.live.uses.iter().enumerate() {
        if *uses != 1 {
            walker.live.operand_of[node] = None;
        }
    }
    walker.live
}

impl Walker<'_> {
    fn tick(&mut self) -> u32 {
        self.position += 1;
        self.position - 1
    }

    fn define(&mut self, id: NodeId, at: u32) {
        self.start[id.0 as usize] = at;
        self.live.end[id.0 as usize] = at;
    }

    fn use_(&mut self, id: NodeId, at: u32) {
        let i = id.0 as usize;
        self.live.end[i] = self.live.end[i].max(at);
        self.live.uses[i] += 1;
        // The outermost open loop that the node is older than keeps it alive to its end.
        if let Some(l) = self.loops.iter_mut().find(|l| self.start[i] < l.0) {
            l.1.push(id);
        }
    }

    fn operands(&mut self, ids: &[NodeId], at: u32, call: bool) {
        for (slot, &id) in ids.iter().enumerate() {
            self.use_(id, at);
            if call {
                self.live.operand_of[id.0 as usize] = Some((at, slot as u32));
            }
        }
    }

    fn node(&mut self, node: &Node) {
        let at = self.tick();
        let call = match &node.op {
            Op::Call => true,
            Op::Prim(p) => {
                let name = self.graph.prims[*p as usize].trim_start_matches('%');
                node.inputs.len() > 1 && !has_instruction(name, node.inputs.len())
            }
            _ => false,
        };
        self.operands(&node.inputs, at, call);
        if matches!(node.op, Op::Call) {
            self.live.call_nodes.insert(at, node.id);
        }
        self.define(node.id, at);
        match &node.op {
            Op::If(a, b) => {
                self.region(a);
                self.region(b);
            }
            Op::Loop(l) => self.labels(l),
            _ => {}
        }
    }

    fn labels(&mut self, l: &Loop) {
        let start = self.tick();
        let index = self.live.loop_ends.len();
        self.live.loop_ends.push(0);
        for label in &l.labels {
            for &param in &label.params {
                self.define(param, start);
            }
        }
        // The way into the loop runs once: what only it uses is free inside.
        self.region(&l.body);
        self.loops.push((self.position, Vec::new()));
        for label in &l.labels {
            self.region(&label.region);
        }
        let end = self.tick();
        self.live.loop_ends[index] = end;
        let (_, older) = self.loops.pop().expect("pushed above");
        for id in older {
            self.live.end[id.0 as usize] = self.live.end[id.0 as usize].max(end);
        }
        for label in &l.labels {
            for &param in &label.params {
                self.live.end[param.0 as usize] = end;
            }
        }
    }

    fn region(&mut self, region: &Region) {
        for node in &region.nodes {
            self.node(node);
        }
        let at = self.tick();
        match &region.end {
            End::Yield(n) => self.use_(*n, at),
            End::TailCall { f, args, .. } => {
                let mut ids = vec![*f];
                ids.extend(args);
                self.operands(&ids, at, true);
            }
            End::If(test, a, b) => {
                self.use_(*test, at);
                self.region(a);
                self.region(b);
            }
            End::Jump(_, args) => {
                for &arg in args {
                    self.use_(arg, at);
                }
            }
            End::Loop(l) => self.labels(l),
        }
    }
}
