//! A-normal form: every operand is a variable or a constant, evaluation order is the order of
//! statements, and tail calls are the ends of blocks.

use crate::core::{Core, Expr, ExprId, LambdaId, Var, VarInfo};
use dmci_value::{Heap, SpanId, Symbol, Value};
use std::fmt::Write;

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Atom {
    Var(Var),
    Const(Value),
}

/// What a statement computes.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum Rhs {
    Atom(Atom),
    /// The present content of a variable that lives in a cell.
    Read(Var),
    Global(Symbol),
    Lambda(LambdaId),
    CaseLambda(Vec<Atom>),
    Call(Atom, Vec<Atom>),
    If(Atom, Box<Block>, Box<Block>),
    SetLocal(Var, Atom),
    SetGlobal(Symbol, Atom),
    Define(Symbol, Atom),
}

/// A statement.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum Stmt {
    /// Binds a variable to a value.
    Bind { var: Var, rhs: Rhs, place: SpanId },
    /// Binds variables to procedures that may refer to each other.
    Fix(Vec<(Var, LambdaId)>),
    /// Gives variables of a `letrec*` their empty cells.
    Declare(Vec<Var>),
    /// Gives a declared variable its value.
    Init { var: Var, value: Atom },
}

/// How a block ends. In a block that computes a value for the enclosing one, `Return` yields it.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum End {
    Return(Atom),
    TailCall(Atom, Vec<Atom>, SpanId),
    If(Atom, Box<Block>, Box<Block>),
}

/// Statements and an end.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Block {
    pub stmts: Vec<Stmt>,
    pub end: End,
}

/// A lambda in A-normal form.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct AnfLambda {
    pub name: Option<Symbol>,
    pub params: Vec<Var>,
    pub rest: bool,
    pub body: Block,
}

/// A program in A-normal form.
#[derive(Debug)]
pub struct Anf {
    /// The top-level forms, in order.
    pub main: Block,
    /// Lambdas by [`LambdaId`].
    pub lambdas: Vec<AnfLambda>,
    /// Variables by [`Var`], temporaries included.
    pub vars: Vec<VarInfo>,
    /// The first temporary; each is used once.
    pub first_temporary: Var,
}

struct Normalizer<'a> {
    core: &'a Core,
    vars: Vec<VarInfo>,
    lambdas: Vec<Option<AnfLambda>>,
    temporary: Symbol,
}

/// Normalises a program.
pub fn normalize(heap: &mut Heap, core: &Core) -> Anf {
    let temporary = heap.symbols.intern("t");
    let lambdas = core.lambdas.iter().map(|_| None).collect();
    let mut normalizer = Normalizer { core, vars: core.vars.clone(), lambdas, temporary };
    normalizer.mark_letrec_cells();
    let mut stmts = Vec::new();
    let end = match core.forms.split_last() {
        Some((&last, init)) => {
            for &form in init {
                normalizer.effect(form, &mut stmts);
            }
            normalizer.tail(last, &mut stmts)
        }
        None => End::Return(Atom::Const(Value::UNSPECIFIED)),
    };
    let lambdas = normalizer.lambdas.into_iter().map(|l| l.expect("every lambda is reached from a form")).collect();
    Anf { main: Block { stmts, end }, lambdas, vars: normalizer.vars, first_temporary: Var(core.vars.len() as u32) }
}

impl Normalizer<'_> {
    /// Variables of a `letrec*` that an initialiser up to their own refers to (outside a run of
    /// lambdas that contains both) may be read too early: they live in checked cells.
    fn mark_letrec_cells(&mut self) {
        for expr in &self.core.exprs {
            let Expr::Letrec(bindings, _) = expr else { continue };
            let is_lambda: Vec<bool> = bindings
                .iter()
                .map(|(v, e)| {
                    let assigned = self.vars[v.0 as usize].in_cell;
                    !assigned && matches!(self.core.exprs[e.0 as usize], Expr::Lambda(_))
                })
                .collect();
            // The run of lambdas that binding i belongs to ends before `run_end[i]`.
            let mut run_end = vec![0; bindings.len()];
            for i in (0..bindings.len()).rev() {
                run_end[i] =
                    if is_lambda[i] && i + 1 < bindings.len() && is_lambda[i + 1] { run_end[i + 1] } else { i + 1 };
            }
            if bindings.is_empty() || is_lambda[0] && run_end[0] == bindings.len() {
                continue;
            }
            let position: rustc_hash::FxHashMap<Var, usize> =
                bindings.iter().enumerate().map(|(i, b)| (b.0, i)).collect();
            for (i, (_, init)) in bindings.iter().enumerate() {
                let too_early = if is_lambda[i] { run_end[i] } else { i };
                let vars = &mut self.vars;
                walk(self.core, *init, &mut |var| {
                    if position.get(&var).is_some_and(|&p| p >= too_early) {
                        vars[var.0 as usize].in_cell = true;
                        vars[var.0 as usize].checked = true;
                    }
                });
            }
        }
    }

    fn fresh(&mut self) -> Var {
        self.vars.push(VarInfo { name: self.temporary, in_cell: false, checked: false });
        Var(self.vars.len() as u32 - 1)
    }

    fn bind(&mut self, rhs: Rhs, place: SpanId, stmts: &mut Vec<Stmt>) -> Atom {
        let var = self.fresh();
        stmts.push(Stmt::Bind { var, rhs, place });
        Atom::Var(var)
    }

    fn lambda(&mut self, id: LambdaId) -> LambdaId {
        let lambda = &self.core.lambdas[id.0 as usize];
        let mut stmts = Vec::new();
        let end = self.tail(lambda.body, &mut stmts);
        self.lambdas[id.0 as usize] = Some(AnfLambda {
            name: lambda.name,
            params: lambda.params.clone(),
            rest: lambda.rest,
            body: Block { stmts, end },
        });
        id
    }

    fn block(&mut self, e: ExprId, tail: bool) -> Box<Block> {
        let mut stmts = Vec::new();
        let end = if tail { self.tail(e, &mut stmts) } else { End::Return(self.value(e, &mut stmts)) };
        Box::new(Block { stmts, end })
    }

    fn effect(&mut self, e: ExprId, stmts: &mut Vec<Stmt>) {
        match &self.core.exprs[e.0 as usize] {
            Expr::Begin(parts) => parts.iter().for_each(|&p| self.effect(p, stmts)),
            _ => {
                self.value(e, stmts);
            }
        }
    }

    fn tail(&mut self, mut e: ExprId, stmts: &mut Vec<Stmt>) -> End {
        loop {
            match &self.core.exprs[e.0 as usize] {
                Expr::Let(bindings, body) => {
                    self.let_bindings(bindings, stmts);
                    e = *body;
                }
                Expr::Letrec(bindings, body) => {
                    self.letrec_bindings(bindings, stmts);
                    e = *body;
                }
                Expr::Begin(parts) => {
                    let (&last, init) = parts.split_last().expect("begin is not empty");
                    init.iter().for_each(|&p| self.effect(p, stmts));
                    e = last;
                }
                Expr::If(test, then, other) => {
                    let test = self.value(*test, stmts);
                    return End::If(test, self.block(*then, true), self.block(*other, true));
                }
                Expr::Call(f, args) => {
                    let f = self.value(*f, stmts);
                    let args = args.iter().map(|&a| self.value(a, stmts)).collect();
                    return End::TailCall(f, args, self.core.places[e.0 as usize]);
                }
                _ => return End::Return(self.value(e, stmts)),
            }
        }
    }

    fn value(&mut self, mut e: ExprId, stmts: &mut Vec<Stmt>) -> Atom {
        loop {
            let place = self.core.places[e.0 as usize];
            match &self.core.exprs[e.0 as usize] {
                Expr::Const(v) => return Atom::Const(*v),
                Expr::Local(var) if self.vars[var.0 as usize].in_cell => {
                    return self.bind(Rhs::Read(*var), place, stmts);
                }
                Expr::Local(var) => return Atom::Var(*var),
                Expr::Global(name) => return self.bind(Rhs::Global(*name), place, stmts),
                Expr::Lambda(id) => {
                    let id = self.lambda(*id);
                    return self.bind(Rhs::Lambda(id), place, stmts);
                }
                Expr::CaseLambda(ids) => {
                    let clauses = ids
                        .iter()
                        .map(|&id| {
                            let id = self.lambda(id);
                            self.bind(Rhs::Lambda(id), place, stmts)
                        })
                        .collect();
                    return self.bind(Rhs::CaseLambda(clauses), place, stmts);
                }
                Expr::Let(bindings, body) => {
                    self.let_bindings(bindings, stmts);
                    e = *body;
                }
                Expr::Letrec(bindings, body) => {
                    self.letrec_bindings(bindings, stmts);
                    e = *body;
                }
                Expr::Begin(parts) => {
                    let (&last, init) = parts.split_last().expect("begin is not empty");
                    init.iter().for_each(|&p| self.effect(p, stmts));
                    e = last;
                }
                Expr::If(test, then, other) => {
                    let test = self.value(*test, stmts);
                    let rhs = Rhs::If(test, self.block(*then, false), self.block(*other, false));
                    return self.bind(rhs, place, stmts);
                }
                Expr::Call(f, args) => {
                    let f = self.value(*f, stmts);
                    let args = args.iter().map(|&a| self.value(a, stmts)).collect();
                    return self.bind(Rhs::Call(f, args), place, stmts);
                }
                Expr::SetLocal(var, value) => {
                    let value = self.value(*value, stmts);
                    self.bind(Rhs::SetLocal(*var, value), place, stmts);
                    return Atom::Const(Value::UNSPECIFIED);
                }
                Expr::SetGlobal(name, value) => {
                    let value = self.value(*value, stmts);
                    self.bind(Rhs::SetGlobal(*name, value), place, stmts);
                    return Atom::Const(Value::UNSPECIFIED);
                }
                Expr::Define(name, value) => {
                    let value = self.value(*value, stmts);
                    self.bind(Rhs::Define(*name, value), place, stmts);
                    return Atom::Const(Value::UNSPECIFIED);
                }
            }
        }
    }

    fn let_bindings(&mut self, bindings: &[(Var, ExprId)], stmts: &mut Vec<Stmt>) {
        let values: Vec<Atom> = bindings.iter().map(|b| self.value(b.1, stmts)).collect();
        for (&(var, _), value) in bindings.iter().zip(values) {
            stmts.push(Stmt::Bind { var, rhs: Rhs::Atom(value), place: SpanId(0) });
        }
    }

    fn letrec_bindings(&mut self, bindings: &[(Var, ExprId)], stmts: &mut Vec<Stmt>) {
        let declared: Vec<Var> = bindings.iter().map(|b| b.0).filter(|v| self.vars[v.0 as usize].checked).collect();
        if !declared.is_empty() {
            stmts.push(Stmt::Declare(declared));
        }
        let mut run: Vec<(Var, LambdaId)> = Vec::new();
        for &(var, init) in bindings {
            let in_cell = self.vars[var.0 as usize].in_cell;
            if let (Expr::Lambda(id), false) = (&self.core.exprs[init.0 as usize], in_cell) {
                run.push((var, *id));
                continue;
            }
            self.finish_run(&mut run, stmts);
            let value = self.value(init, stmts);
            stmts.push(if self.vars[var.0 as usize].checked {
                Stmt::Init { var, value }
            } else {
                Stmt::Bind { var, rhs: Rhs::Atom(value), place: SpanId(0) }
            });
        }
        self.finish_run(&mut run, stmts);
    }

    fn finish_run(&mut self, run: &mut Vec<(Var, LambdaId)>, stmts: &mut Vec<Stmt>) {
        if run.is_empty() {
            return;
        }
        let run: Vec<_> = run.drain(..).map(|(var, id)| (var, self.lambda(id))).collect();
        stmts.push(Stmt::Fix(run));
    }
}

/// Visits every local variable that an expression refers to.
fn walk(core: &Core, e: ExprId, visit: &mut impl FnMut(Var)) {
    let mut stack = vec![e];
    while let Some(e) = stack.pop() {
        match &core.exprs[e.0 as usize] {
            Expr::Const(_) | Expr::Global(_) => {}
            Expr::Local(var) => visit(*var),
            Expr::If(a, b, c) => stack.extend([*a, *b, *c]),
            Expr::Lambda(id) => stack.push(core.lambdas[id.0 as usize].body),
            Expr::CaseLambda(ids) => stack.extend(ids.iter().map(|id| core.lambdas[id.0 as usize].body)),
            Expr::SetLocal(var, value) => {
                visit(*var);
                stack.push(*value);
            }
            Expr::SetGlobal(_, value) | Expr::Define(_, value) => stack.push(*value),
            Expr::Begin(parts) => stack.extend(parts),
            Expr::Let(bindings, body) | Expr::Letrec(bindings, body) => {
                stack.extend(bindings.iter().map(|b| b.1));
                stack.push(*body);
            }
            Expr::Call(f, args) => {
                stack.push(*f);
                stack.extend(args);
            }
        }
    }
}

/// The text form.
pub fn print(heap: &Heap, anf: &Anf) -> String {
    let mut printer = AnfPrinter { heap, anf, out: String::new() };
    printer.block(&anf.main, 0);
    printer.out
}

struct AnfPrinter<'a> {
    heap: &'a Heap,
    anf: &'a Anf,
    out: String,
}

impl AnfPrinter<'_> {
    fn var(&self, v: Var) -> String {
        let symbols = &self.heap.symbols;
        format!("{}.{}", symbols.name(symbols.base_of(self.anf.vars[v.0 as usize].name)), v.0)
    }

    fn atom(&self, a: Atom) -> String {
        match a {
            Atom::Var(v) => self.var(v),
            Atom::Const(v) => dmci_syntax::printer::write(self.heap, v),
        }
    }

    fn atoms(&self, list: &[Atom]) -> String {
        list.iter().map(|&a| format!(" {}", self.atom(a))).collect()
    }

    fn line(&mut self, indent: usize, text: &str) {
        let _ = writeln!(self.out, "{:indent$}{text}", "");
    }

    fn block(&mut self, block: &Block, indent: usize) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Bind { var, rhs, .. } => {
                    let name = self.var(*var);
                    self.rhs(&name, rhs, indent);
                }
                Stmt::Fix(list) => {
                    for (var, id) in list {
                        let name = self.var(*var);
                        self.lambda(&format!("fix {name} ="), *id, indent);
                    }
                }
                Stmt::Declare(vars) => {
                    let names: String = vars.iter().map(|&v| format!(" {}", self.var(v))).collect();
                    self.line(indent, &format!("declare{names}"));
                }
                Stmt::Init { var, value } => {
                    let text = format!("init {} = {}", self.var(*var), self.atom(*value));
                    self.line(indent, &text);
                }
            }
        }
        match &block.end {
            End::Return(a) => {
                let text = format!("return {}", self.atom(*a));
                self.line(indent, &text);
            }
            End::TailCall(f, args, _) => {
                let text = format!("tail-call {}{}", self.atom(*f), self.atoms(args));
                self.line(indent, &text);
            }
            End::If(test, a, b) => {
                let text = format!("if {}", self.atom(*test));
                self.line(indent, &text);
                self.block(a, indent + 2);
                self.line(indent, "else");
                self.block(b, indent + 2);
            }
        }
    }

    fn lambda(&mut self, prefix: &str, id: LambdaId, indent: usize) {
        let lambda = &self.anf.lambdas[id.0 as usize];
        let params: Vec<String> = lambda.params.iter().map(|&p| self.var(p)).collect();
        let rest = if lambda.rest { " rest" } else { "" };
        self.line(indent, &format!("{prefix} lambda{rest} ({})", params.join(" ")));
        self.block(&lambda.body, indent + 2);
    }

    fn rhs(&mut self, name: &str, rhs: &Rhs, indent: usize) {
        let symbol = |s: Symbol| self.heap.symbols.name(s).to_string();
        let text = match rhs {
            Rhs::Atom(a) => self.atom(*a),
            Rhs::Read(v) => format!("read {}", self.var(*v)),
            Rhs::Global(s) => format!("global {}", symbol(*s)),
            Rhs::Lambda(id) => return self.lambda(&format!("{name} ="), *id, indent),
            Rhs::CaseLambda(clauses) => format!("case-lambda{}", self.atoms(clauses)),
            Rhs::Call(f, args) => format!("call {}{}", self.atom(*f), self.atoms(args)),
            Rhs::SetLocal(v, a) => format!("set {} {}", self.var(*v), self.atom(*a)),
            Rhs::SetGlobal(s, a) => format!("set-global {} {}", symbol(*s), self.atom(*a)),
            Rhs::Define(s, a) => format!("define {} {}", symbol(*s), self.atom(*a)),
            Rhs::If(test, a, b) => {
                let head = format!("{name} = if {}", self.atom(*test));
                self.line(indent, &head);
                self.block(a, indent + 2);
                self.line(indent, "else");
                return self.block(b, indent + 2);
            }
        };
        self.line(indent, &format!("{name} = {text}"));
    }
}
