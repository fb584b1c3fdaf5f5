//! The ComputeGraph: the compiled form of a program. Closure-converted functions of typed nodes;
//! loops and their exits are labels inside a function.

use crate::constant::Constant;
use dmci_value::{PairSpan, SpanId};
use std::fmt::Write;

/// A node, unique in its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// A label, unique in its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LabelId(pub u32);

/// What is known of a node's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Type {
    Any,
    Number,
    Boolean,
    Procedure,
    Pair,
    Cell,
}

/// What a node does; operands are its inputs.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Op {
    Const(u32),
    Param(u32),
    Capture(u32),
    /// The procedure that is running.
    SelfClosure,
    Global(u32),
    SetGlobal(u32),
    DefineGlobal(u32),
    /// A primitive of the system, by index into the graph's names.
    Prim(u32),
    /// A procedure made of a function and captured values (the inputs).
    Closure(u32),
    /// Stores a captured value that did not exist yet: inputs closure, value.
    Patch(u32),
    /// A cell with a name for messages; without input it has no value yet.
    Cell(u32),
    CellRef {
        checked: bool,
    },
    CellSet,
    /// Inputs: procedure, arguments.
    Call,
    /// Input: test. The arms yield the value.
    If(Box<Region>, Box<Region>),
    /// A loop whose exits yield the value.
    Loop(Box<Loop>),
}

/// A node.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Node {
    pub id: NodeId,
    pub op: Op,
    pub inputs: Vec<NodeId>,
    pub ty: Type,
    pub place: SpanId,
}

/// Nodes in order of evaluation, and an end.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Region {
    pub nodes: Vec<Node>,
    pub end: End,
}

/// How a region ends.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum End {
    /// The value of the region; at the end of a function, its result.
    Yield(NodeId),
    TailCall {
        f: NodeId,
        args: Vec<NodeId>,
        place: SpanId,
    },
    If(NodeId, Box<Region>, Box<Region>),
    Jump(LabelId, Vec<NodeId>),
    Loop(Box<Loop>),
}

/// Labels that the body and each other's regions may jump to.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Loop {
    pub labels: Vec<Label>,
    pub body: Region,
}

/// A region with parameters.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Label {
    pub id: LabelId,
    pub name: String,
    pub params: Vec<NodeId>,
    pub region: Region,
}

/// A function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Number of parameters, the rest parameter included.
    pub params: u32,
    /// Whether the last parameter takes the rest.
    pub rest: bool,
    /// Number of captured values.
    pub captures: u32,
    /// Number of nodes.
    pub nodes: u32,
    /// Number of labels.
    pub labels: u32,
    /// The body.
    pub body: Region,
}

/// A global variable that the program refers to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GlobalName {
    /// Its name.
    pub name: String,
    /// The system's, whatever the user defines.
    pub system: bool,
}

/// A compiled program; function 0 runs its top-level forms.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Graph {
    /// Functions; the first one is the program.
    pub functions: Vec<Function>,
    /// Constants.
    pub constants: Vec<Constant>,
    /// Globals.
    pub globals: Vec<GlobalName>,
    /// Names of primitives.
    pub prims: Vec<String>,
    /// Places that nodes refer to, by [`SpanId`] (1 is the first).
    pub places: Vec<PairSpan>,
}

impl Graph {
    /// Number of nodes in all functions.
    pub fn node_count(&self) -> usize {
        self.functions.iter().map(|f| f.nodes as usize).sum()
    }

    /// The text form.
    pub fn print(&self) -> String {
        let mut out = String::new();
        for (i, f) in self.functions.iter().enumerate() {
            let name = f.name.as_deref().unwrap_or(if i == 0 { "<program>" } else { "<lambda>" });
            let rest = if f.rest { " rest" } else { "" };
            let _ = writeln!(out, "function {i} {name}: {} params{rest}, {} captures", f.params, f.captures);
            self.region(&f.body, 2, &mut out);
        }
        out
    }

    fn region(&self, region: &Region, indent: usize, out: &mut String) {
        for node in &region.nodes {
            let ty = match node.ty {
                Type::Any => "",
                Type::Number => ": number",
                Type::Boolean => ": boolean",
                Type::Procedure => ": procedure",
                Type::Pair => ": pair",
                Type::Cell => ": cell",
            };
            let _ = write!(out, "{:indent$}%{}{ty} = ", "", node.id.0);
            let _ = match &node.op {
                Op::Const(k) => write!(out, "const {}", self.constants[*k as usize]),
                Op::Param(i) => write!(out, "param {i}"),
                Op::Capture(i) => write!(out, "capture {i}"),
                Op::SelfClosure => write!(out, "self"),
                Op::Global(g) => write!(out, "global {}", self.global(*g)),
                Op::SetGlobal(g) => write!(out, "set-global {}", self.global(*g)),
                Op::DefineGlobal(g) => write!(out, "define {}", self.global(*g)),
                Op::Prim(p) => write!(out, "{}", self.prims[*p as usize]),
                Op::Closure(f) => write!(out, "closure {f}"),
                Op::Patch(i) => write!(out, "patch {i}"),
                Op::Cell(k) => write!(out, "cell {}", self.constants[*k as usize]),
                Op::CellRef { checked } => write!(out, "cell-ref{}", if *checked { " checked" } else { "" }),
                Op::CellSet => write!(out, "cell-set"),
                Op::Call => write!(out, "call"),
                Op::If(..) => write!(out, "if"),
                Op::Loop(_) => write!(out, "loop"),
            };
            list(&node.inputs, out);
            out.push('\n');
            match &node.op {
                Op::If(a, b) => self.arms(a, b, indent, out),
                Op::Loop(l) => self.labels(l, indent, out),
                _ => {}
            }
        }
        let _ = write!(out, "{:indent$}", "");
        match &region.end {
            End::Yield(n) => {
                let _ = writeln!(out, "yield %{}", n.0);
            }
            End::TailCall { f, args, .. } => {
                let _ = write!(out, "tail-call %{}", f.0);
                list(args, out);
                out.push('\n');
            }
            End::If(test, a, b) => {
                let _ = writeln!(out, "if %{}", test.0);
                self.arms(a, b, indent, out);
            }
            End::Jump(label, args) => {
                let _ = write!(out, "jump @{}", label.0);
                list(args, out);
                out.push('\n');
            }
            End::Loop(l) => {
                out.push_str("loop\n");
                self.labels(l, indent, out);
            }
        }
    }

    fn arms(&self, a: &Region, b: &Region, indent: usize, out: &mut String) {
        self.region(a, indent + 2, out);
        let _ = writeln!(out, "{:indent$}else", "");
        self.region(b, indent + 2, out);
    }

    fn labels(&self, l: &Loop, indent: usize, out: &mut String) {
        for label in &l.labels {
            let _ = write!(out, "{:indent$}@{} {}", "", label.id.0, label.name);
            list(&label.params, out);
            out.push('\n');
            self.region(&label.region, indent + 2, out);
        }
        let _ = writeln!(out, "{:indent$}enter", "");
        self.region(&l.body, indent + 2, out);
    }

    fn global(&self, g: u32) -> String {
        let global = &self.globals[g as usize];
        format!("{}{}", if global.system { "system " } else { "" }, global.name)
    }
}

fn list(nodes: &[NodeId], out: &mut String) {
    for n in nodes {
        let _ = write!(out, " %{}", n.0);
    }
}
