//! Core forms as a tree: variables resolved, assigned and captured ones known.
//!
//! Nodes live in one vector, so a tree of any depth is dropped without recursion; chains of
//! `let` bodies (a `let*` of thousands of bindings) are parsed in a loop.

use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Heap, SpanId, Symbol, Value};
use rustc_hash::FxHashMap;

/// A local variable, unique in its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Var(pub u32);

/// A node of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExprId(pub u32);

/// A lambda expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LambdaId(pub u32);

/// What is known of a local variable.
#[derive(Clone, Debug)]
pub struct VarInfo {
    /// Its name in the source.
    pub name: Symbol,
    /// It is the target of a `set!`, or needs a cell for another reason.
    pub in_cell: bool,
    /// It may be read before it has a value.
    pub checked: bool,
}

/// One clause of a procedure.
#[derive(Clone, Debug)]
pub struct Lambda {
    /// From `define`, `letrec*`.
    pub name: Option<Symbol>,
    /// Parameters, the rest parameter last.
    pub params: Vec<Var>,
    /// Whether the last parameter takes the rest.
    pub rest: bool,
    /// The body.
    pub body: ExprId,
}

/// A core expression.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Expr {
    Const(Value),
    Local(Var),
    Global(Symbol),
    If(ExprId, ExprId, ExprId),
    Lambda(LambdaId),
    CaseLambda(Vec<LambdaId>),
    SetLocal(Var, ExprId),
    SetGlobal(Symbol, ExprId),
    Define(Symbol, ExprId),
    Begin(Vec<ExprId>),
    Let(Vec<(Var, ExprId)>, ExprId),
    Letrec(Vec<(Var, ExprId)>, ExprId),
    Call(ExprId, Vec<ExprId>),
}

/// A program as a tree.
#[derive(Debug, Default)]
pub struct Core {
    /// Expressions by id.
    pub exprs: Vec<Expr>,
    /// Their places; for variables the pair whose car they are.
    pub places: Vec<SpanId>,
    /// Lambdas by id.
    pub lambdas: Vec<Lambda>,
    /// Variables by id.
    pub vars: Vec<VarInfo>,
    /// The top-level forms.
    pub forms: Vec<ExprId>,
}

struct Keywords {
    quote: Symbol,
    if_: Symbol,
    lambda: Symbol,
    case_lambda: Symbol,
    set: Symbol,
    define: Symbol,
    begin: Symbol,
    letrec: Symbol,
}

struct Parser<'h> {
    heap: &'h Heap,
    keywords: Keywords,
    core: Core,
    /// Innermost binding last.
    scope: FxHashMap<Symbol, Vec<Var>>,
}

/// Parses the core forms of a program.
pub fn parse(heap: &mut Heap, forms: &[Value]) -> Result<Core, Error> {
    let mut intern = |name| heap.symbols.intern(name);
    let keywords = Keywords {
        quote: intern("quote"),
        if_: intern("if"),
        lambda: intern("lambda"),
        case_lambda: intern("case-lambda"),
        set: intern("set!"),
        define: intern("define"),
        begin: intern("begin"),
        letrec: intern("letrec*"),
    };
    let mut parser = Parser { heap, keywords, core: Core::default(), scope: FxHashMap::default() };
    for (i, &form) in forms.iter().enumerate() {
        if i % 256 == 255 {
            parser.heap.look()?;
        }
        let id = parser.expr(form, SpanId(0))?;
        parser.core.forms.push(id);
    }
    Ok(parser.core)
}

impl Parser<'_> {
    fn add(&mut self, expr: Expr, place: SpanId) -> ExprId {
        self.core.exprs.push(expr);
        self.core.places.push(place);
        ExprId(self.core.exprs.len() as u32 - 1)
    }

    fn bind(&mut self, name: Symbol) -> Var {
        let var = Var(self.core.vars.len() as u32);
        self.core.vars.push(VarInfo { name, in_cell: false, checked: false });
        self.scope.entry(name).or_default().push(var);
        var
    }

    fn unbind(&mut self, vars: &[Var]) {
        for var in vars {
            let name = self.core.vars[var.0 as usize].name;
            if let Some(stack) = self.scope.get_mut(&name) {
                stack.retain(|v| v != var);
            }
        }
    }

    fn lookup(&self, name: Symbol) -> Option<Var> {
        self.scope.get(&name).and_then(|stack| stack.last()).copied()
    }

    /// Parses `x`; `place` is the place of the pair whose car it is.
    fn expr(&mut self, mut x: Value, mut place: SpanId) -> Result<ExprId, Error> {
        // `let`s whose body is being parsed, outermost first.
        let mut open: Vec<(Vec<(Var, ExprId)>, SpanId)> = Vec::new();
        let mut result = loop {
            match self.as_let(x)? {
                Some((vars, inits, body)) => {
                    let inits =
                        inits.into_iter().map(|(init, at)| self.expr(init, at)).collect::<Result<Vec<_>, _>>()?;
                    let vars: Vec<Var> = vars.into_iter().map(|name| self.bind(name)).collect();
                    open.push((vars.into_iter().zip(inits).collect(), self.heap.place(x)));
                    place = self.heap.place(body.1);
                    x = body.0;
                }
                None => break self.plain(x, place)?,
            }
        };
        while let Some((bindings, place)) = open.pop() {
            let vars: Vec<Var> = bindings.iter().map(|b| b.0).collect();
            self.unbind(&vars);
            result = self.add(Expr::Let(bindings, result), place);
        }
        Ok(result)
    }

    /// `((lambda (x ...) body) e ...)` with as many operands as parameters: names, operands with
    /// their places, body with its pair.
    #[allow(clippy::type_complexity)]
    fn as_let(&self, x: Value) -> Result<Option<(Vec<Symbol>, Vec<(Value, SpanId)>, (Value, Value))>, Error> {
        let Some((head, operands)) = self.heap.uncons(x) else { return Ok(None) };
        let Some((keyword, rest)) = self.heap.uncons(head) else { return Ok(None) };
        if keyword != Value::symbol(self.keywords.lambda) {
            return Ok(None);
        }
        let (formals, rest) = self.uncons(rest)?;
        let Some(names) = self.heap.list_items(formals) else { return Ok(None) };
        let operands = self.operands(operands)?;
        if names.len() != operands.len() {
            return Ok(None);
        }
        let names = names.into_iter().map(|n| self.symbol(n)).collect::<Result<_, _>>()?;
        let body = self.uncons(rest)?.0;
        Ok(Some((names, operands, (body, rest))))
    }

    fn plain(&mut self, x: Value, place: SpanId) -> Result<ExprId, Error> {
        if let Some(name) = x.as_symbol() {
            let expr = match self.lookup(name) {
                Some(var) => Expr::Local(var),
                None => Expr::Global(self.heap.symbols.base_of(name)),
            };
            return Ok(self.add(expr, place));
        }
        let Some((head, rest)) = self.heap.uncons(x) else { return Ok(self.add(Expr::Const(x), place)) };
        let place = self.heap.place(x);
        if let Some(keyword) = head.as_symbol() {
            if keyword == self.keywords.quote {
                let datum = self.uncons(rest)?.0;
                return Ok(self.add(Expr::Const(datum), place));
            }
            if keyword == self.keywords.if_ {
                let parts = self.expect(rest, 3)?;
                let ids = self.exprs(&parts)?;
                return Ok(self.add(Expr::If(ids[0], ids[1], ids[2]), place));
            }
            if keyword == self.keywords.lambda {
                let lambda = self.lambda(rest, None)?;
                return Ok(self.add(Expr::Lambda(lambda), place));
            }
            if keyword == self.keywords.case_lambda {
                let clauses = self.operands(rest)?;
                let lambdas = clauses.iter().map(|&(clause, _)| self.lambda(clause, None)).collect::<Result<_, _>>()?;
                return Ok(self.add(Expr::CaseLambda(lambdas), place));
            }
            if keyword == self.keywords.begin {
                let parts = self.operands(rest)?;
                let ids = self.exprs(&parts)?;
                return Ok(self.add(Expr::Begin(ids), place));
            }
            if keyword == self.keywords.set || keyword == self.keywords.define {
                return self.assignment(rest, place, keyword == self.keywords.define);
            }
            if keyword == self.keywords.letrec {
                return self.letrec(rest, place);
            }
        }
        let f = self.expr(head, place)?;
        let operands = self.operands(rest)?;
        let args = self.exprs(&operands)?;
        Ok(self.add(Expr::Call(f, args), place))
    }

    fn assignment(&mut self, rest: Value, place: SpanId, define: bool) -> Result<ExprId, Error> {
        let (target, rest) = self.uncons(rest)?;
        let name = self.symbol(target)?;
        let value = self.uncons(rest)?.0;
        let value = self.named(value, self.heap.place(rest), define.then_some(name))?;
        let expr = match self.lookup(name) {
            Some(var) => {
                self.core.vars[var.0 as usize].in_cell = true;
                Expr::SetLocal(var, value)
            }
            None if define => Expr::Define(self.heap.symbols.base_of(name), value),
            None => Expr::SetGlobal(self.heap.symbols.base_of(name), value),
        };
        Ok(self.add(expr, place))
    }

    fn letrec(&mut self, rest: Value, place: SpanId) -> Result<ExprId, Error> {
        let (bindings, rest) = self.uncons(rest)?;
        let mut parts = Vec::new();
        for (binding, _) in self.operands(bindings)? {
            let (name, init) = self.uncons(binding)?;
            parts.push((self.symbol(name)?, self.uncons(init)?.0, self.heap.place(init)));
        }
        let vars: Vec<Var> = parts.iter().map(|p| self.bind(p.0)).collect();
        let mut list = Vec::with_capacity(parts.len());
        for (&var, &(name, init, at)) in vars.iter().zip(&parts) {
            list.push((var, self.named(init, at, Some(name))?));
        }
        let body = self.expr(self.uncons(rest)?.0, self.heap.place(rest))?;
        self.unbind(&vars);
        Ok(self.add(Expr::Letrec(list, body), place))
    }

    /// An expression whose value, if it is a lambda, takes a name.
    fn named(&mut self, x: Value, place: SpanId, name: Option<Symbol>) -> Result<ExprId, Error> {
        let id = self.expr(x, place)?;
        let lambdas: &[LambdaId] = match &self.core.exprs[id.0 as usize] {
            Expr::Lambda(lambda) => &[*lambda],
            Expr::CaseLambda(lambdas) => lambdas,
            _ => &[],
        };
        for lambda in lambdas {
            self.core.lambdas[lambda.0 as usize].name = name.map(|n| self.heap.symbols.base_of(n));
        }
        Ok(id)
    }

    fn lambda(&mut self, clause: Value, name: Option<Symbol>) -> Result<LambdaId, Error> {
        let (mut formals, rest) = self.uncons(clause)?;
        let mut params = Vec::new();
        while let Some((param, next)) = self.heap.uncons(formals) {
            params.push(self.bind(self.symbol(param)?));
            formals = next;
        }
        let has_rest = !formals.is_nil();
        if has_rest {
            params.push(self.bind(self.symbol(formals)?));
        }
        let body = self.expr(self.uncons(rest)?.0, self.heap.place(rest))?;
        self.unbind(&params);
        self.core.lambdas.push(Lambda { name, params, rest: has_rest, body });
        Ok(LambdaId(self.core.lambdas.len() as u32 - 1))
    }

    fn exprs(&mut self, parts: &[(Value, SpanId)]) -> Result<Vec<ExprId>, Error> {
        parts.iter().map(|&(x, place)| self.expr(x, place)).collect()
    }

    fn operands(&self, mut list: Value) -> Result<Vec<(Value, SpanId)>, Error> {
        let mut items = Vec::new();
        while !list.is_nil() {
            let (car, cdr) = self.uncons(list)?;
            items.push((car, self.heap.place(list)));
            list = cdr;
        }
        Ok(items)
    }

    fn expect(&self, list: Value, n: usize) -> Result<Vec<(Value, SpanId)>, Error> {
        let items = self.operands(list)?;
        if items.len() == n { Ok(items) } else { Err(malformed()) }
    }

    fn uncons(&self, v: Value) -> Result<(Value, Value), Error> {
        self.heap.uncons(v).ok_or_else(malformed)
    }

    fn symbol(&self, v: Value) -> Result<Symbol, Error> {
        v.as_symbol().ok_or_else(malformed)
    }
}

fn malformed() -> Error {
    Diagnostic::error(ErrorCode::E9901, "the compiler was given a malformed core form")
}
