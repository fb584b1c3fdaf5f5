//! ANF to ComputeGraph: closures get explicit captures, assigned variables get cells, loops become
//! labels, and calls of primitives that nobody redefines become primitive nodes.

use crate::anf::{self, Anf, Atom, Block, Rhs, Stmt};
use crate::constant::Constant;
use crate::contify::{self, Entry, Loops};
use crate::core::{LambdaId, Var};
use crate::graph::{End, Function, GlobalName, Graph, Label, LabelId, Loop, Node, NodeId, Op, Region, Type};
use crate::primitives::PrimitiveSet;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Heap, PairSpan, SpanId, Symbol, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// What the compiler may assume of the names in a program.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The primitives of the machine.
    pub primitives: &'a PrimitiveSet,
    /// The program belongs to the system: all its globals do.
    pub system: bool,
    /// Names can be redefined from outside the program (a REPL).
    pub open: bool,
    /// Names that were defined for the program beforehand (`--set`).
    pub given: &'a [Symbol],
}

/// Procedures through which a program can define names that the compiler does not see.
const EVAL_NAMES: &[&str] = &[
    "eval",
    "interaction-environment",
    "system-global-environment",
    "user-initial-environment",
    "nearest-repl/environment",
];

/// Arguments that a call instruction takes.
const MOST_ARGUMENTS: usize = 200;

/// Lowers a program.
pub fn lower(heap: &Heap, anf: &Anf, options: Options<'_>) -> Result<Graph, Error> {
    let names = Names::collect(heap, anf, options);
    let mut lowerer = Lowerer {
        heap,
        anf,
        options,
        names,
        loops: contify::find(anf),
        graph: Graph::default(),
        constants: FxHashMap::default(),
        globals: FxHashMap::default(),
        prims: FxHashMap::default(),
        places: FxHashMap::default(),
        contexts: vec![Context::new(None, None)],
    };
    lowerer.graph.functions.push(placeholder());
    let body = lowerer.block(&anf.main, true)?;
    let context = lowerer.contexts.pop().expect("the program's own context");
    lowerer.graph.functions[0] = Function {
        name: None,
        params: 0,
        rest: false,
        captures: 0,
        nodes: context.next_node,
        labels: context.next_label,
        body,
    };
    Ok(lowerer.graph)
}

fn placeholder() -> Function {
    let body = Region { nodes: Vec::new(), end: End::Yield(NodeId(0)) };
    Function { name: None, params: 0, rest: false, captures: 0, nodes: 0, labels: 0, body }
}

/// Which globals the program itself defines, and how often.
struct Names {
    defined: FxHashMap<Symbol, usize>,
    assigned: FxHashSet<Symbol>,
    open: bool,
}

impl Names {
    fn collect(heap: &Heap, anf: &Anf, options: Options<'_>) -> Names {
        let mut names = Names { defined: FxHashMap::default(), assigned: FxHashSet::default(), open: options.open };
        names.assigned.extend(options.given);
        let eval: FxHashSet<Symbol> = EVAL_NAMES.iter().filter_map(|n| heap.symbols.find(n)).collect();
        let mut blocks: Vec<&Block> = vec![&anf.main];
        blocks.extend(anf.lambdas.iter().map(|l| &l.body));
        while let Some(block) = blocks.pop() {
            for stmt in &block.stmts {
                let Stmt::Bind { rhs, .. } = stmt else { continue };
                match rhs {
                    Rhs::Define(s, _) => *names.defined.entry(*s).or_default() += 1,
                    Rhs::SetGlobal(s, _) => {
                        names.assigned.insert(*s);
                    }
                    Rhs::Global(s) => names.open |= !options.system && eval.contains(s),
                    Rhs::If(_, a, b) => blocks.extend([&**a, &**b]),
                    _ => {}
                }
            }
            if let anf::End::If(_, a, b) = &block.end {
                blocks.extend([&**a, &**b]);
            }
        }
        names
    }

    /// The program never changes it: it is the system's, if the system has it.
    fn untouched(&self, s: Symbol) -> bool {
        !self.open && !self.defined.contains_key(&s) && !self.assigned.contains(&s)
    }

    /// Defined once and never assigned.
    fn defined_once(&self, s: Symbol) -> bool {
        !self.open && self.defined.get(&s) == Some(&1) && !self.assigned.contains(&s)
    }
}

/// What a variable stands for inside one function.
#[derive(Clone, Copy, Debug)]
enum Bound {
    Node(NodeId),
    Const(Value),
    Label(LabelId),
    /// A procedure of the system that is never redefined.
    System(Symbol),
    SelfClosure,
}

struct Context<'a> {
    bound: FxHashMap<Var, Bound>,
    captures: Vec<Var>,
    /// Capture nodes, to be put at the start of the function.
    entry: Vec<Node>,
    next_node: u32,
    next_label: u32,
    self_global: Option<Symbol>,
    /// Parameters that a call of itself must have to become a jump.
    self_params: Option<usize>,
    self_label: LabelId,
    loops_to_itself: bool,
    /// Groups of labels that wait for the call that enters them.
    waiting: FxHashMap<Var, &'a [(Var, LambdaId)]>,
}

impl Context<'_> {
    fn new(self_global: Option<Symbol>, self_params: Option<usize>) -> Self {
        Context {
            bound: FxHashMap::default(),
            captures: Vec::new(),
            entry: Vec::new(),
            next_node: 0,
            next_label: 1,
            self_global,
            self_params,
            self_label: LabelId(0),
            loops_to_itself: false,
            waiting: FxHashMap::default(),
        }
    }
}

struct Lowerer<'a> {
    heap: &'a Heap,
    anf: &'a Anf,
    options: Options<'a>,
    names: Names,
    loops: Loops,
    graph: Graph,
    constants: FxHashMap<Value, u32>,
    globals: FxHashMap<GlobalName, u32>,
    prims: FxHashMap<Symbol, u32>,
    places: FxHashMap<SpanId, SpanId>,
    contexts: Vec<Context<'a>>,
}

impl<'a> Lowerer<'a> {
    fn context(&mut self) -> &mut Context<'a> {
        self.contexts.last_mut().expect("there is always a current function")
    }

    fn new_node(&mut self) -> NodeId {
        let context = self.context();
        context.next_node += 1;
        NodeId(context.next_node - 1)
    }

    fn new_label(&mut self) -> LabelId {
        let context = self.context();
        context.next_label += 1;
        LabelId(context.next_label - 1)
    }

    fn emit(&mut self, nodes: &mut Vec<Node>, op: Op, inputs: Vec<NodeId>, place: SpanId) -> NodeId {
        let id = self.new_node();
        let ty = self.type_of(&op);
        let place = self.place(place);
        nodes.push(Node { id, op, inputs, ty, place });
        id
    }

    fn type_of(&self, op: &Op) -> Type {
        match op {
            Op::Closure(_) | Op::SelfClosure => Type::Procedure,
            Op::Cell(_) => Type::Cell,
            Op::Const(k) => match &self.graph.constants[*k as usize] {
                Constant::Bool(_) => Type::Boolean,
                Constant::Fixnum(_) | Constant::Real(_) | Constant::Bignum(_) => Type::Number,
                Constant::List(..) => Type::Pair,
                _ => Type::Any,
            },
            Op::Prim(p) => match self.graph.prims[*p as usize].trim_start_matches('%') {
                "+" | "-" | "*" | "/" => Type::Number,
                "cons" => Type::Pair,
                "=" | "<" | ">" | "<=" | ">=" => Type::Boolean,
                name if name.ends_with('?') => Type::Boolean,
                _ => Type::Any,
            },
            _ => Type::Any,
        }
    }

    /// Interns a place of the heap's table into the graph's own.
    fn place(&mut self, place: SpanId) -> SpanId {
        if place == SpanId(0) {
            return place;
        }
        if let Some(&known) = self.places.get(&place) {
            return known;
        }
        let Some(span): Option<PairSpan> = self.heap.spans.get(place) else { return SpanId(0) };
        self.graph.places.push(span);
        let id = SpanId(self.graph.places.len() as u32);
        self.places.insert(place, id);
        id
    }

    fn constant(&mut self, v: Value) -> Result<u32, Error> {
        // Equal atoms have equal words; a list of the source is itself and no other.
        if let Some(&known) = self.constants.get(&v) {
            return Ok(known);
        }
        let heap = self.heap;
        let constant = Constant::from_value(heap, v, &mut |place| self.place(place))
            .ok_or_else(|| Diagnostic::error(ErrorCode::E9901, "a compiled program can only quote data"))?;
        self.graph.constants.push(constant);
        let id = self.graph.constants.len() as u32 - 1;
        self.constants.insert(v, id);
        Ok(id)
    }

    fn name_constant(&mut self, var: Var) -> Result<u32, Error> {
        let name = self.heap.symbols.base_of(self.anf.vars[var.0 as usize].name);
        self.constant(Value::symbol(name))
    }

    fn global(&mut self, s: Symbol) -> u32 {
        let system = self.options.system || self.names.untouched(s);
        self.global_named(GlobalName { name: self.heap.symbols.name(s).into(), system })
    }

    fn global_named(&mut self, global: GlobalName) -> u32 {
        if let Some(&known) = self.globals.get(&global) {
            return known;
        }
        self.graph.globals.push(global.clone());
        let id = self.graph.globals.len() as u32 - 1;
        self.globals.insert(global, id);
        id
    }

    fn prim(&mut self, s: Symbol) -> u32 {
        if let Some(&known) = self.prims.get(&s) {
            return known;
        }
        self.graph.prims.push(self.heap.symbols.name(s).into());
        let id = self.graph.prims.len() as u32 - 1;
        self.prims.insert(s, id);
        id
    }

    // ---- variables

    /// What a variable stands for at function depth `level`; captures it there if needed.
    fn resolve(&mut self, var: Var, level: usize) -> Bound {
        if let Some(&bound) = self.contexts[level].bound.get(&var) {
            return bound;
        }
        let outer = match level {
            0 => Bound::Const(Value::UNSPECIFIED),
            _ => self.resolve(var, level - 1),
        };
        let bound = match outer {
            Bound::Const(_) | Bound::System(_) => outer,
            Bound::Node(_) | Bound::Label(_) | Bound::SelfClosure => {
                let context = &mut self.contexts[level];
                let index = context.captures.len() as u32;
                context.captures.push(var);
                let id = NodeId(context.next_node);
                context.next_node += 1;
                let op = Op::Capture(index);
                context.entry.push(Node { id, op, inputs: Vec::new(), ty: Type::Any, place: SpanId(0) });
                Bound::Node(id)
            }
        };
        self.contexts[level].bound.insert(var, bound);
        bound
    }

    fn bound(&mut self, var: Var) -> Bound {
        self.resolve(var, self.contexts.len() - 1)
    }

    fn materialize(&mut self, bound: Bound, nodes: &mut Vec<Node>) -> Result<NodeId, Error> {
        Ok(match bound {
            Bound::Node(id) => id,
            Bound::Const(v) => {
                let k = self.constant(v)?;
                self.emit(nodes, Op::Const(k), Vec::new(), SpanId(0))
            }
            Bound::System(s) => {
                let g = self.global(s);
                self.emit(nodes, Op::Global(g), Vec::new(), SpanId(0))
            }
            Bound::SelfClosure => self.emit(nodes, Op::SelfClosure, Vec::new(), SpanId(0)),
            Bound::Label(_) => return Err(Diagnostic::error(ErrorCode::E9901, "a loop label was used as a value")),
        })
    }

    fn atom(&mut self, atom: Atom, nodes: &mut Vec<Node>) -> Result<NodeId, Error> {
        let bound = match atom {
            Atom::Var(v) => self.bound(v),
            Atom::Const(v) => Bound::Const(v),
        };
        self.materialize(bound, nodes)
    }

    fn atoms(&mut self, atoms: &[Atom], nodes: &mut Vec<Node>) -> Result<Vec<NodeId>, Error> {
        atoms.iter().map(|&a| self.atom(a, nodes)).collect()
    }

    fn set_bound(&mut self, var: Var, bound: Bound, nodes: &mut Vec<Node>) -> Result<(), Error> {
        let bound = if self.anf.vars[var.0 as usize].in_cell {
            let value = self.materialize(bound, nodes)?;
            let name = self.name_constant(var)?;
            Bound::Node(self.emit(nodes, Op::Cell(name), vec![value], SpanId(0)))
        } else {
            bound
        };
        self.context().bound.insert(var, bound);
        Ok(())
    }

    // ---- blocks

    /// `tail`: the block's calls may be tail calls of the function.
    fn block(&mut self, block: &'a Block, tail: bool) -> Result<Region, Error> {
        let mut nodes = Vec::new();
        let end = self.sequence(&block.stmts, &block.end, tail, &mut nodes)?;
        Ok(Region { nodes, end })
    }

    fn sequence(
        &mut self,
        stmts: &'a [Stmt],
        end: &'a anf::End,
        tail: bool,
        nodes: &mut Vec<Node>,
    ) -> Result<End, Error> {
        for (i, stmt) in stmts.iter().enumerate() {
            match stmt {
                Stmt::Bind { var, rhs, place } => {
                    let bound = self.rhs(*var, rhs, *place, stmts.get(i + 1), nodes)?;
                    self.set_bound(*var, bound, nodes)?;
                }
                Stmt::Declare(vars) => {
                    for &var in vars {
                        let name = self.name_constant(var)?;
                        let cell = self.emit(nodes, Op::Cell(name), Vec::new(), SpanId(0));
                        self.context().bound.insert(var, Bound::Node(cell));
                    }
                }
                Stmt::Init { var, value } => {
                    let cell = self.atom(Atom::Var(*var), nodes)?;
                    let value = self.atom(*value, nodes)?;
                    self.emit(nodes, Op::CellSet, vec![cell, value], SpanId(0));
                }
                Stmt::Fix(group) => match self.loops.get(&group[0].1) {
                    Some(Entry::Tail) => {
                        let labels = self.labels(group, tail)?;
                        let mut inner = Vec::new();
                        let end = self.sequence(&stmts[i + 1..], end, tail, &mut inner)?;
                        let body = Region { nodes: inner, end };
                        return Ok(End::Loop(Box::new(Loop { labels, body })));
                    }
                    Some(Entry::Value) => {
                        for (var, _) in group {
                            self.context().waiting.insert(*var, group);
                        }
                    }
                    None => self.closures(group, nodes)?,
                },
            }
        }
        match end {
            anf::End::Return(a) => Ok(End::Yield(self.atom(*a, nodes)?)),
            anf::End::If(test, a, b) => {
                let (test, negated) = self.test(*test, nodes)?;
                let (a, b) = if negated { (b, a) } else { (a, b) };
                Ok(End::If(test, Box::new(self.block(a, tail)?), Box::new(self.block(b, tail)?)))
            }
            anf::End::TailCall(f, args, place) => self.tail_call(*f, args, *place, tail, nodes),
        }
    }

    fn tail_call(
        &mut self,
        f: Atom,
        args: &'a [Atom],
        place: SpanId,
        tail: bool,
        nodes: &mut Vec<Node>,
    ) -> Result<End, Error> {
        if let Atom::Var(v) = f {
            match self.bound(v) {
                Bound::Label(label) => return Ok(End::Jump(label, self.atoms(args, nodes)?)),
                Bound::SelfClosure if tail && self.context().self_params == Some(args.len()) => {
                    let args = self.atoms(args, nodes)?;
                    let context = self.context();
                    context.loops_to_itself = true;
                    return Ok(End::Jump(context.self_label, args));
                }
                _ => {}
            }
        }
        if let Some(value) = self.prim_call(f, args, place, nodes)? {
            return Ok(End::Yield(value));
        }
        let mut inputs = self.call_inputs(f, args, nodes)?;
        if tail {
            let place = self.place(place);
            let f = inputs.remove(0);
            return Ok(End::TailCall { f, args: inputs, place });
        }
        Ok(End::Yield(self.emit(nodes, Op::Call, inputs, place)))
    }

    // ---- right-hand sides

    fn rhs(
        &mut self,
        var: Var,
        rhs: &'a Rhs,
        place: SpanId,
        next: Option<&'a Stmt>,
        nodes: &mut Vec<Node>,
    ) -> Result<Bound, Error> {
        let unspecified = Bound::Const(Value::UNSPECIFIED);
        Ok(match rhs {
            Rhs::Atom(Atom::Const(v)) => Bound::Const(*v),
            Rhs::Atom(Atom::Var(v)) => self.bound(*v),
            Rhs::Read(v) => {
                let cell = self.atom(Atom::Var(*v), nodes)?;
                let checked = self.anf.vars[v.0 as usize].checked;
                Bound::Node(self.emit(nodes, Op::CellRef { checked }, vec![cell], place))
            }
            Rhs::Global(s) if self.context().self_global == Some(*s) => Bound::SelfClosure,
            Rhs::Global(s) if self.is_system_primitive(*s) => Bound::System(*s),
            Rhs::Global(s) => {
                let g = self.global(*s);
                Bound::Node(self.emit(nodes, Op::Global(g), Vec::new(), place))
            }
            Rhs::Lambda(id) => {
                // `(define (f ...) ...)` of a name that is never redefined: `f` inside is the procedure itself.
                let self_global = match next {
                    Some(Stmt::Bind { rhs: Rhs::Define(s, Atom::Var(v)), .. })
                        if *v == var && self.names.defined_once(*s) =>
                    {
                        Some(*s)
                    }
                    _ => None,
                };
                let (function, captures) = self.function(*id, None, self_global)?;
                let inputs = captures.into_iter().map(|v| self.atom(Atom::Var(v), nodes)).collect::<Result<_, _>>()?;
                Bound::Node(self.emit(nodes, Op::Closure(function), inputs, place))
            }
            Rhs::CaseLambda(clauses) => {
                let clauses = self.atoms(clauses, nodes)?;
                let name = self.heap.symbols.find("%case-lambda");
                let name = name.ok_or_else(|| Diagnostic::error(ErrorCode::E9901, "%case-lambda is missing"))?;
                let prim = self.prim(name);
                Bound::Node(self.emit(nodes, Op::Prim(prim), clauses, place))
            }
            Rhs::Call(f, args) => {
                if let Atom::Var(v) = f
                    && let Some(group) = self.context().waiting.get(v).copied()
                {
                    let labels = self.labels(group, false)?;
                    let mut inner = Vec::new();
                    let args = self.atoms(args, &mut inner)?;
                    let Bound::Label(label) = self.bound(*v) else {
                        return Err(Diagnostic::error(ErrorCode::E9901, "a loop has no label"));
                    };
                    let body = Region { nodes: inner, end: End::Jump(label, args) };
                    let op = Op::Loop(Box::new(Loop { labels, body }));
                    return Ok(Bound::Node(self.emit(nodes, op, Vec::new(), place)));
                }
                if let Some(value) = self.prim_call(*f, args, place, nodes)? {
                    return Ok(Bound::Node(value));
                }
                let inputs = self.call_inputs(*f, args, nodes)?;
                Bound::Node(self.emit(nodes, Op::Call, inputs, place))
            }
            Rhs::If(test, a, b) => {
                let (test, negated) = self.test(*test, nodes)?;
                let (a, b) = if negated { (b, a) } else { (a, b) };
                let op = Op::If(Box::new(self.block(a, false)?), Box::new(self.block(b, false)?));
                Bound::Node(self.emit(nodes, op, vec![test], place))
            }
            Rhs::SetLocal(v, value) => {
                let cell = self.atom(Atom::Var(*v), nodes)?;
                let value = self.atom(*value, nodes)?;
                self.emit(nodes, Op::CellSet, vec![cell, value], place);
                unspecified
            }
            Rhs::SetGlobal(s, value) => {
                let value = self.atom(*value, nodes)?;
                let g = self.global(*s);
                self.emit(nodes, Op::SetGlobal(g), vec![value], place);
                unspecified
            }
            Rhs::Define(s, value) => {
                let value = self.atom(*value, nodes)?;
                let g = self.global(*s);
                self.emit(nodes, Op::DefineGlobal(g), vec![value], place);
                unspecified
            }
        })
    }

    /// The node that a branch tests, and whether the arms change places: `(if (not x) ...)` tests x.
    fn test(&mut self, test: Atom, nodes: &mut Vec<Node>) -> Result<(NodeId, bool), Error> {
        let id = self.atom(test, nodes)?;
        let single_use = matches!(test, Atom::Var(v) if v >= self.anf.first_temporary);
        if let (true, Some(Node { id: last, op: Op::Prim(p), inputs, .. })) = (single_use, nodes.last())
            && *last == id
            && self.graph.prims[*p as usize] == "not"
        {
            let inner = inputs[0];
            nodes.pop();
            return Ok((inner, true));
        }
        Ok((id, false))
    }

    /// Procedure and arguments of a call. One with very many arguments, as programs with their data
    /// in them have, passes a list to `apply`.
    fn call_inputs(&mut self, f: Atom, args: &[Atom], nodes: &mut Vec<Node>) -> Result<Vec<NodeId>, Error> {
        let f = self.atom(f, nodes)?;
        let (Some(apply), Some(cons)) = (self.heap.symbols.find("apply"), self.heap.symbols.find("%cons")) else {
            return Err(Diagnostic::error(ErrorCode::E9901, "apply is missing"));
        };
        if args.len() <= MOST_ARGUMENTS {
            let mut inputs = vec![f];
            inputs.extend(self.atoms(args, nodes)?);
            return Ok(inputs);
        }
        let cons = self.prim(cons);
        let mut list = self.materialize(Bound::Const(Value::NIL), nodes)?;
        for &arg in args.iter().rev() {
            let arg = self.atom(arg, nodes)?;
            list = self.emit(nodes, Op::Prim(cons), vec![arg, list], SpanId(0));
        }
        let name = GlobalName { name: self.heap.symbols.name(apply).into(), system: true };
        let g = self.global_named(name);
        let apply = self.emit(nodes, Op::Global(g), Vec::new(), SpanId(0));
        Ok(vec![apply, f, list])
    }

    fn is_system_primitive(&self, s: Symbol) -> bool {
        self.names.untouched(s) && self.options.primitives.contains(self.heap.symbols.name(s))
    }

    /// A call of a primitive that is never redefined, with a number of arguments it accepts.
    fn prim_call(
        &mut self,
        f: Atom,
        args: &[Atom],
        place: SpanId,
        nodes: &mut Vec<Node>,
    ) -> Result<Option<NodeId>, Error> {
        let Atom::Var(v) = f else { return Ok(None) };
        let Bound::System(s) = self.bound(v) else { return Ok(None) };
        if !self.options.primitives.accepts(self.heap.symbols.name(s), args.len()) {
            return Ok(None);
        }
        let name = self.heap.symbols.name(s);
        let folds = matches!(name, "+" | "*" | "-" | "/") && args.len() > 2;
        let prim = self.prim(s);
        let inputs = self.atoms(args, nodes)?;
        if !folds {
            return Ok(Some(self.emit(nodes, Op::Prim(prim), inputs, place)));
        }
        let mut acc = inputs[0];
        for &next in &inputs[1..] {
            acc = self.emit(nodes, Op::Prim(prim), vec![acc, next], place);
        }
        Ok(Some(acc))
    }

    // ---- functions and labels

    fn function(
        &mut self,
        id: LambdaId,
        self_var: Option<Var>,
        self_global: Option<Symbol>,
    ) -> Result<(u32, Vec<Var>), Error> {
        let lambda = &self.anf.lambdas[id.0 as usize];
        let index = self.graph.functions.len() as u32;
        self.graph.functions.push(placeholder());
        let recursive = (self_var.is_some() || self_global.is_some()) && !lambda.rest;
        self.contexts.push(Context::new(self_global, recursive.then_some(lambda.params.len())));
        if let Some(var) = self_var {
            self.context().bound.insert(var, Bound::SelfClosure);
        }
        let mut nodes = Vec::new();
        let params = self.params(&lambda.params, &mut nodes)?;
        let end = self.sequence(&lambda.body.stmts, &lambda.body.end, true, &mut nodes)?;
        let mut body = Region { nodes, end };
        let name = lambda.name.map(|s| self.heap.symbols.name(s).to_string());
        let mut start: Vec<Node> = Vec::new();
        let mut context = self.contexts.pop().expect("pushed above");
        let param = |id: NodeId, i: usize, start: &mut Vec<Node>| {
            let op = Op::Param(i as u32);
            start.push(Node { id, op, inputs: Vec::new(), ty: Type::Any, place: SpanId(0) });
        };
        if context.loops_to_itself {
            let first = context.next_node;
            context.next_node += params.len() as u32;
            let args: Vec<NodeId> = (0..params.len() as u32).map(|i| NodeId(first + i)).collect();
            for (i, &arg) in args.iter().enumerate() {
                param(arg, i, &mut start);
            }
            start.append(&mut context.entry);
            let label_name = name.clone().unwrap_or_default();
            let label = Label { id: context.self_label, name: label_name, params, region: body };
            let enter = Region { nodes: Vec::new(), end: End::Jump(context.self_label, args) };
            let end = End::Loop(Box::new(Loop { labels: vec![label], body: enter }));
            body = Region { nodes: start, end };
        } else {
            for (i, &id) in params.iter().enumerate() {
                param(id, i, &mut start);
            }
            start.append(&mut context.entry);
            start.append(&mut body.nodes);
            body.nodes = start;
        }
        self.graph.functions[index as usize] = Function {
            name,
            params: lambda.params.len() as u32,
            rest: lambda.rest,
            captures: context.captures.len() as u32,
            nodes: context.next_node,
            labels: context.next_label,
            body,
        };
        Ok((index, context.captures))
    }

    /// Nodes for parameters; those that live in cells get them at the start of the body.
    fn params(&mut self, params: &[Var], nodes: &mut Vec<Node>) -> Result<Vec<NodeId>, Error> {
        let ids: Vec<NodeId> = params.iter().map(|_| self.new_node()).collect();
        for (&var, &id) in params.iter().zip(&ids) {
            self.set_bound(var, Bound::Node(id), nodes)?;
        }
        Ok(ids)
    }

    fn labels(&mut self, group: &'a [(Var, LambdaId)], tail: bool) -> Result<Vec<Label>, Error> {
        let ids: Vec<LabelId> = group.iter().map(|_| self.new_label()).collect();
        for ((var, _), &id) in group.iter().zip(&ids) {
            self.context().bound.insert(*var, Bound::Label(id));
        }
        let mut labels = Vec::new();
        for ((_, lambda), id) in group.iter().zip(ids) {
            let lambda = &self.anf.lambdas[lambda.0 as usize];
            let mut nodes = Vec::new();
            let params = self.params(&lambda.params, &mut nodes)?;
            let end = self.sequence(&lambda.body.stmts, &lambda.body.end, tail, &mut nodes)?;
            let name = lambda.name.map_or_else(String::new, |s| self.heap.symbols.name(s).into());
            labels.push(Label { id, name, params, region: Region { nodes, end } });
        }
        Ok(labels)
    }

    /// Procedures that may refer to each other: captures that do not exist yet are patched in.
    fn closures(&mut self, group: &'a [(Var, LambdaId)], nodes: &mut Vec<Node>) -> Result<(), Error> {
        let ids: Vec<NodeId> = group.iter().map(|_| self.new_node()).collect();
        for ((var, _), &id) in group.iter().zip(&ids) {
            self.context().bound.insert(*var, Bound::Node(id));
        }
        let mut patches = Vec::new();
        for (i, ((var, lambda), &id)) in group.iter().zip(&ids).enumerate() {
            let (function, captures) = self.function(*lambda, Some(*var), None)?;
            let mut inputs = Vec::new();
            for (k, v) in captures.into_iter().enumerate() {
                let node = self.atom(Atom::Var(v), nodes)?;
                if ids[i..].contains(&node) {
                    patches.push((id, k as u32, node));
                    let k = self.constant(Value::UNSPECIFIED)?;
                    inputs.push(self.emit(nodes, Op::Const(k), Vec::new(), SpanId(0)));
                } else {
                    inputs.push(node);
                }
            }
            nodes.push(Node { id, op: Op::Closure(function), inputs, ty: Type::Procedure, place: SpanId(0) });
        }
        for (closure, k, value) in patches {
            self.emit(nodes, Op::Patch(k), vec![closure, value], SpanId(0));
        }
        Ok(())
    }
}
