//! Graphs as bytes.

use super::codec::{Reader, Writer};
use super::malformed;
use crate::graph::{End, Function, GlobalName, Graph, Label, LabelId, Loop, Node, NodeId, Op, Region, Type};
use dmci_value::{Error, PairSpan, SourceId, SpanId};

/// Regions nest at most this deep.
const MAX_NESTING: usize = 10_000;

impl Writer {
    pub fn graph(&mut self, g: &Graph) {
        self.list(&g.functions, |w, f| w.function(f));
        self.list(&g.constants, |w, c| w.constant(c));
        self.list(&g.globals, |w, global| {
            w.string(&global.name);
            w.byte(global.system as u8);
        });
        self.list(&g.prims, |w, name| w.string(name));
        self.list(&g.places, |w, place| {
            for n in [place.source.0, place.form.0, place.form.1, place.car.0, place.car.1] {
                w.int(n.into());
            }
        });
    }

    fn function(&mut self, f: &Function) {
        self.byte(f.name.is_some() as u8);
        if let Some(name) = &f.name {
            self.string(name);
        }
        self.byte(f.rest as u8);
        for n in [f.params, f.captures, f.nodes, f.labels] {
            self.int(n.into());
        }
        self.region(&f.body);
    }

    fn nodes(&mut self, list: &[NodeId]) {
        self.list(list, |w, n| w.int(n.0.into()));
    }

    fn region(&mut self, region: &Region) {
        self.list(&region.nodes, |w, node| {
            w.int(node.id.0.into());
            w.byte(node.ty as u8);
            w.int(node.place.0.into());
            w.nodes(&node.inputs);
            w.op(&node.op);
        });
        match &region.end {
            End::Yield(n) => {
                self.byte(0);
                self.int(n.0.into());
            }
            End::TailCall { f, args, place } => {
                self.byte(1);
                self.int(f.0.into());
                self.nodes(args);
                self.int(place.0.into());
            }
            End::If(test, a, b) => {
                self.byte(2);
                self.int(test.0.into());
                self.region(a);
                self.region(b);
            }
            End::Jump(label, args) => {
                self.byte(3);
                self.int(label.0.into());
                self.nodes(args);
            }
            End::Loop(l) => {
                self.byte(4);
                self.labels(l);
            }
        }
    }

    fn op(&mut self, op: &Op) {
        let (tag, index) = match op {
            Op::Const(k) => (0, Some(*k)),
            Op::Param(i) => (1, Some(*i)),
            Op::Capture(i) => (2, Some(*i)),
            Op::SelfClosure => (3, None),
            Op::Global(g) => (4, Some(*g)),
            Op::SetGlobal(g) => (5, Some(*g)),
            Op::DefineGlobal(g) => (6, Some(*g)),
            Op::Prim(p) => (7, Some(*p)),
            Op::Closure(f) => (8, Some(*f)),
            Op::Patch(i) => (9, Some(*i)),
            Op::Cell(k) => (10, Some(*k)),
            Op::CellRef { checked } => (11, Some(*checked as u32)),
            Op::CellSet => (12, None),
            Op::Call => (13, None),
            Op::If(..) => (14, None),
            Op::Loop(_) => (15, None),
        };
        self.byte(tag);
        if let Some(index) = index {
            self.int(index.into());
        }
        match op {
            Op::If(a, b) => {
                self.region(a);
                self.region(b);
            }
            Op::Loop(l) => self.labels(l),
            _ => {}
        }
    }

    fn labels(&mut self, l: &Loop) {
        self.list(&l.labels, |w, label| {
            w.int(label.id.0.into());
            w.string(&label.name);
            w.nodes(&label.params);
            w.region(&label.region);
        });
        self.region(&l.body);
    }
}

impl Reader<'_> {
    pub fn graph(&mut self) -> Result<Graph, Error> {
        Ok(Graph {
            functions: self.list(|r| r.function())?,
            constants: self.list(|r| r.constant(0))?,
            globals: self.list(|r| Ok(GlobalName { name: r.string()?, system: r.flag()? }))?,
            prims: self.list(|r| r.string())?,
            places: self.list(|r| {
                Ok(PairSpan {
                    source: SourceId(r.int32()?),
                    form: (r.int32()?, r.int32()?),
                    car: (r.int32()?, r.int32()?),
                })
            })?,
        })
    }

    fn flag(&mut self) -> Result<bool, Error> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(malformed("a flag is neither 0 nor 1")),
        }
    }

    fn function(&mut self) -> Result<Function, Error> {
        let name = if self.flag()? { Some(self.string()?) } else { None };
        Ok(Function {
            name,
            rest: self.flag()?,
            params: self.int32()?,
            captures: self.int32()?,
            nodes: self.int32()?,
            labels: self.int32()?,
            body: self.region(0)?,
        })
    }

    fn node_id(&mut self) -> Result<NodeId, Error> {
        Ok(NodeId(self.int32()?))
    }

    fn nodes(&mut self) -> Result<Vec<NodeId>, Error> {
        self.list(|r| r.node_id())
    }

    fn region(&mut self, depth: usize) -> Result<Region, Error> {
        if depth > MAX_NESTING {
            return Err(malformed("it is nested too deeply"));
        }
        let nodes = self.list(|r| {
            let id = r.node_id()?;
            let ty = match r.byte()? {
                0 => Type::Any,
                1 => Type::Number,
                2 => Type::Boolean,
                3 => Type::Procedure,
                4 => Type::Pair,
                5 => Type::Cell,
                _ => return Err(malformed("a node has an unknown type")),
            };
            let place = SpanId(r.int32()?);
            let inputs = r.nodes()?;
            Ok(Node { id, op: r.op(depth)?, inputs, ty, place })
        })?;
        let end = match self.byte()? {
            0 => End::Yield(self.node_id()?),
            1 => End::TailCall { f: self.node_id()?, args: self.nodes()?, place: SpanId(self.int32()?) },
            2 => {
                let test = self.node_id()?;
                End::If(test, Box::new(self.region(depth + 1)?), Box::new(self.region(depth + 1)?))
            }
            3 => End::Jump(LabelId(self.int32()?), self.nodes()?),
            4 => End::Loop(Box::new(self.labels(depth)?)),
            _ => return Err(malformed("a region has an unknown end")),
        };
        Ok(Region { nodes, end })
    }

    fn op(&mut self, depth: usize) -> Result<Op, Error> {
        Ok(match self.byte()? {
            0 => Op::Const(self.int32()?),
            1 => Op::Param(self.int32()?),
            2 => Op::Capture(self.int32()?),
            3 => Op::SelfClosure,
            4 => Op::Global(self.int32()?),
            5 => Op::SetGlobal(self.int32()?),
            6 => Op::DefineGlobal(self.int32()?),
            7 => Op::Prim(self.int32()?),
            8 => Op::Closure(self.int32()?),
            9 => Op::Patch(self.int32()?),
            10 => Op::Cell(self.int32()?),
            11 => Op::CellRef { checked: self.int()? == 1 },
            12 => Op::CellSet,
            13 => Op::Call,
            14 => Op::If(Box::new(self.region(depth + 1)?), Box::new(self.region(depth + 1)?)),
            15 => Op::Loop(Box::new(self.labels(depth)?)),
            _ => return Err(malformed("a node has an unknown operation")),
        })
    }

    fn labels(&mut self, depth: usize) -> Result<Loop, Error> {
        let labels = self.list(|r| {
            let id = LabelId(r.int32()?);
            Ok(Label { id, name: r.string()?, params: r.nodes()?, region: r.region(depth + 1)? })
        })?;
        Ok(Loop { labels, body: self.region(depth + 1)? })
    }
}
