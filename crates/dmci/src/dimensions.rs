//! The dimensions of the numbers of a program, found without running it: what its parameters and the names from outside
//! have is known or solved for, and where dimensions disagree is an error.
//!
//! Procedures are followed at every call, so one may be used for several dimensions; a call of a procedure that is being
//! followed (a loop) has the dimensions of the first call. What is in lists, vectors, tensors and records takes whatever
//! fits, and so does what procedures of the library give whose rule is not known.

use crate::interpreter::{self, Interpreter, RunOptions};
use crate::program::Program;
use crate::report::Report;
use crate::schema::Schema;
use dmci_compile::core::{self, Core, Expr, ExprId, LambdaId, Var};
use dmci_syntax::expand::nesting_depth;
use dmci_units::{Dimension, Equations, Quantity, Rule, apply, parse, rule};
use dmci_value::{Diagnostic, Error, ErrorCode, Heap, Origin, Place, Span, Symbol, Value, num};
use dmci_vm::environment::USER;
use dmci_vm::{Vm, deep};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;
use std::rc::Rc;

/// What is known of the dimensions of a program's names.
///
/// ```
/// use dmci::UnitOptions;
///
/// let metre = dmci_units::parse("m").expect("a unit");
/// let options = UnitOptions { names: vec![("x".into(), metre)], result: Some(metre.power(2.0)) };
/// assert_eq!(options.result.map(|d| d.to_string()), Some("m^2".into()));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnitOptions {
    /// Names from outside, such as columns, with their dimensions. Names that are not listed take whatever fits.
    pub names: Vec<(String, Dimension)>,
    /// What the program gives.
    pub result: Option<Dimension>,
}

/// The dimensions of a program.
///
/// ```
/// use dmci::{Interpreter, Program, RunOptions, UnitOptions, UnitReport};
///
/// let program = Program::new("(params (t positive 1.0 (unit \"s\"))) (* 2 t t)");
/// let interpreter = Interpreter::shared();
/// let found: UnitReport = interpreter.check_units(&program, &UnitOptions::default(), &RunOptions::default())?;
/// assert_eq!(found.result.map(|d| d.to_string()), Some("s^2".into()));
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Debug)]
pub struct UnitReport {
    /// Where dimensions disagree, and units that cannot be read.
    pub report: Report,
    /// The parameters, with their dimensions where these follow from the program.
    pub parameters: Vec<(String, Option<Dimension>)>,
    /// What the program gives, if that is known.
    pub result: Option<Dimension>,
}

impl Interpreter {
    /// Finds the dimensions of a program.
    ///
    /// ```
    /// use dmci::{Interpreter, Program, RunOptions, UnitOptions};
    ///
    /// let metre = dmci_units::parse("m").expect("a unit");
    /// let options = UnitOptions { names: vec![("x".into(), metre)], result: None };
    /// let program = Program::new("(params (k free 1.0) (t positive 1.0 (unit \"s\"))) (+ x (* k t))");
    /// let found = Interpreter::shared().check_units(&program, &options, &RunOptions::default())?;
    /// assert!(found.report.diagnostics.is_empty());
    /// assert_eq!(found.parameters[0].1.map(|d| d.to_string()), Some("m/s".into()));
    ///
    /// let program = Program::new("(params (t positive 1.0 (unit \"s\"))) (+ x t)");
    /// let found = Interpreter::shared().check_units(&program, &options, &RunOptions::default())?;
    /// assert_eq!(found.report.diagnostics[0].code, "E0830");
    /// # Ok::<(), dmci::Report>(())
    /// ```
    pub fn check_units(
        &self,
        program: &Program,
        options: &UnitOptions,
        run: &RunOptions,
    ) -> Result<UnitReport, Report> {
        let mut vm = self.machine(run)?;
        let found = follow(&mut vm, program, options);
        let sources = vm.world.heap.sources.clone();
        self.recycle(vm);
        match found {
            Ok((diagnostics, parameters, result)) => {
                Ok(UnitReport { report: Report::new(diagnostics, sources), parameters, result })
            }
            Err(diagnostics) => Err(Report::new(diagnostics, sources)),
        }
    }
}

type Followed = (Vec<Diagnostic>, Vec<(String, Option<Dimension>)>, Option<Dimension>);

fn follow(vm: &mut Vm, program: &Program, options: &UnitOptions) -> Result<Followed, Vec<Diagnostic>> {
    let forms = interpreter::read(vm, program, Origin::User)?;
    let schema = Schema::of(&vm.world.heap, forms);
    let expansion = interpreter::expand_in(vm, forms, USER)?;
    let heap = &mut vm.world.heap;
    let depth = expansion.forms.iter().map(|&f| nesting_depth(heap, f)).max().unwrap_or(0);
    let core = deep::with_stack_for(depth, || core::parse(heap, &expansion.forms)).map_err(|e| vec![*e])?;
    Ok(deep::with_stack_for(depth * (1 + ACTIVE), || {
        Following::new(heap, &core, &schema, options).all(&schema, options)
    }))
}

/// Calls that are followed within each other; what a deeper one gives is not known.
const ACTIVE: usize = 24;

/// Expressions that are followed at most.
const MOST: usize = 200_000;

/// What is known of a value.
#[derive(Clone, Debug)]
enum Kind {
    Number(Quantity),
    Procedure(Rc<Closure>),
    Unknown,
}

#[derive(Debug)]
struct Closure {
    clauses: Vec<LambdaId>,
    frame: Option<Rc<Frame>>,
}

/// Local variables, those of the procedure around them behind them.
#[derive(Debug)]
struct Frame {
    vars: RefCell<FxHashMap<Var, Kind>>,
    parent: Option<Rc<Frame>>,
}

struct Following<'a> {
    heap: &'a Heap,
    core: &'a Core,
    equations: Equations,
    globals: FxHashMap<Symbol, Kind>,
    /// The schema's parameters by name.
    parameters: FxHashMap<String, Quantity>,
    /// Procedures that are being followed, with their operands and what they give.
    active: Vec<(LambdaId, Vec<Kind>, Quantity)>,
    followed: usize,
    errors: Vec<Diagnostic>,
    places: FxHashSet<Option<Span>>,
}

impl<'a> Following<'a> {
    fn new(heap: &'a Heap, core: &'a Core, schema: &Schema, options: &UnitOptions) -> Self {
        let mut made = Following {
            heap,
            core,
            equations: Equations::default(),
            globals: FxHashMap::default(),
            parameters: FxHashMap::default(),
            active: Vec::new(),
            followed: 0,
            errors: Vec::new(),
            places: FxHashSet::default(),
        };
        for parameter in &schema.parameters {
            let quantity = match parameter.unit.as_deref().map(parse) {
                None => made.equations.fresh(),
                Some(Ok(dimension)) => Quantity::known(dimension),
                Some(Err(message)) => {
                    let message = format!("the unit of {} cannot be read: {message}", parameter.name);
                    let error = Diagnostic::error(ErrorCode::E0831, message);
                    made.errors.push(*error.help("write SI units, as in (unit \"kg m/s^2\")"));
                    made.equations.fresh()
                }
            };
            made.parameters.insert(parameter.name.clone(), quantity);
        }
        for expr in &core.exprs {
            let Expr::Global(symbol) = expr else { continue };
            let name = heap.symbols.name(*symbol);
            if let Some((_, dimension)) = options.names.iter().find(|(given, _)| given == name) {
                made.globals.insert(*symbol, Kind::Number(Quantity::known(*dimension)));
            }
        }
        made
    }

    fn all(mut self, schema: &Schema, options: &UnitOptions) -> Followed {
        let mut last = Kind::Unknown;
        for &form in &self.core.forms {
            last = self.infer(form, &None);
        }
        if let (Kind::Number(found), Some(wanted), Some(&form)) = (&last, &options.result, self.core.forms.last())
            && let Err((found, wanted)) = self.equations.equate(found, &Quantity::known(*wanted))
        {
            let message = format!("the program gives {found}, the target has {wanted}");
            self.disagree(form, message, "multiply by what is missing, or correct a unit");
        }
        let parameters = schema.parameters.iter().map(|p| {
            let quantity = self.parameters.get(&p.name).map(|q| self.equations.resolve(q));
            (p.name.clone(), quantity.and_then(|q| q.dimension()))
        });
        let parameters = parameters.collect();
        let result = match last {
            Kind::Number(quantity) => self.equations.resolve(&quantity).dimension(),
            _ => None,
        };
        self.errors.sort_by_key(|d| d.span());
        (self.errors, parameters, result)
    }

    fn span(&self, expr: ExprId) -> Option<Span> {
        let place = self.core.places[expr.0 as usize];
        let place = match self.core.exprs[expr.0 as usize] {
            Expr::Local(_) | Expr::Global(_) | Expr::Const(_) => Place::car(place),
            _ => Place::form(place),
        };
        self.heap.span_of(place)
    }

    fn disagree(&mut self, expr: ExprId, message: String, help: &str) {
        let span = self.span(expr);
        // A procedure that is followed twice is wrong once.
        if self.places.insert(span) {
            let error: Error = Diagnostic::error(ErrorCode::E0830, message).help(help);
            self.errors.push(match span {
                Some(span) => *error.at(span),
                None => *error,
            });
        }
    }

    fn lookup(frame: &Option<Rc<Frame>>, var: Var) -> Kind {
        let mut next = frame.as_ref();
        while let Some(frame) = next {
            if let Some(kind) = frame.vars.borrow().get(&var) {
                return kind.clone();
            }
            next = frame.parent.as_ref();
        }
        Kind::Unknown
    }

    fn inner(parent: &Option<Rc<Frame>>, vars: impl IntoIterator<Item = (Var, Kind)>) -> Option<Rc<Frame>> {
        let vars = RefCell::new(vars.into_iter().collect());
        Some(Rc::new(Frame { vars, parent: parent.clone() }))
    }

    fn infer(&mut self, expr: ExprId, frame: &Option<Rc<Frame>>) -> Kind {
        self.followed += 1;
        if self.followed > MOST {
            return Kind::Unknown;
        }
        let core = self.core;
        match &core.exprs[expr.0 as usize] {
            Expr::Const(value) => self.constant_kind(*value),
            Expr::Local(var) => Self::lookup(frame, *var),
            Expr::Global(symbol) => self.globals.get(symbol).cloned().unwrap_or(Kind::Unknown),
            Expr::If(test, yes, no) => {
                self.infer(*test, frame);
                let (yes, other) = (self.infer(*yes, frame), self.infer(*no, frame));
                self.join(expr, yes, other, "the branches of if")
            }
            Expr::Lambda(lambda) => Kind::Procedure(Rc::new(Closure { clauses: vec![*lambda], frame: frame.clone() })),
            Expr::CaseLambda(lambdas) => {
                Kind::Procedure(Rc::new(Closure { clauses: lambdas.clone(), frame: frame.clone() }))
            }
            Expr::SetLocal(var, value) => {
                let (before, new) = (Self::lookup(frame, *var), self.infer(*value, frame));
                self.join(*value, before, new, "a variable and what it is set to");
                Kind::Unknown
            }
            Expr::SetGlobal(symbol, value) => {
                let before = self.globals.get(symbol).cloned().unwrap_or(Kind::Unknown);
                let new = self.infer(*value, frame);
                self.join(*value, before, new, "a variable and what it is set to");
                Kind::Unknown
            }
            Expr::Define(symbol, value) => {
                let name = self.heap.symbols.name(*symbol);
                let is_number =
                    matches!(core.exprs[value.0 as usize], Expr::Const(v) if num::Number::of(self.heap, v).is_some());
                let kind = match self.parameters.get(name) {
                    Some(quantity) if is_number => Kind::Number(quantity.clone()),
                    // The numbers of a vector or matrix take whatever fits.
                    Some(_) => Kind::Unknown,
                    None => self.infer(*value, frame),
                };
                self.globals.insert(*symbol, kind);
                Kind::Unknown
            }
            Expr::Begin(parts) => parts.iter().fold(Kind::Unknown, |_, part| self.infer(*part, frame)),
            Expr::Let(bindings, body) => {
                let vars: Vec<(Var, Kind)> = bindings.iter().map(|(v, init)| (*v, self.infer(*init, frame))).collect();
                let inner = Self::inner(frame, vars);
                self.infer(*body, &inner)
            }
            Expr::Letrec(bindings, body) => {
                let inner = Self::inner(frame, []);
                for (var, init) in bindings {
                    let kind = self.infer(*init, &inner);
                    if let Some(frame) = &inner {
                        frame.vars.borrow_mut().insert(*var, kind);
                    }
                }
                self.infer(*body, &inner)
            }
            Expr::Call(f, operands) => {
                let kinds: Vec<Kind> = operands.iter().map(|operand| self.infer(*operand, frame)).collect();
                match self.infer(*f, frame) {
                    Kind::Procedure(closure) => self.call(&closure, operands, kinds),
                    Kind::Number(_) => Kind::Unknown,
                    Kind::Unknown => match core.exprs[f.0 as usize] {
                        Expr::Global(symbol) if !self.globals.contains_key(&symbol) => {
                            self.primitive(symbol, operands, &kinds)
                        }
                        _ => Kind::Unknown,
                    },
                }
            }
        }
    }

    /// 0, infinity and NaN are of every dimension; other numbers have none.
    fn constant_kind(&mut self, value: Value) -> Kind {
        match num::Number::of(self.heap, value).map(|n| n.to_f64()) {
            Some(x) if x == 0.0 || !x.is_finite() => Kind::Number(self.equations.fresh()),
            Some(_) => Kind::Number(Quantity::number()),
            None => Kind::Unknown,
        }
    }

    fn join(&mut self, at: ExprId, a: Kind, b: Kind, what: &str) -> Kind {
        match (a, b) {
            (Kind::Number(a), Kind::Number(b)) => {
                if let Err((a, b)) = self.equations.equate(&a, &b) {
                    self.disagree(at, format!("{what} have the dimensions {a} and {b}"), EQUAL);
                }
                Kind::Number(a)
            }
            (Kind::Number(q), Kind::Unknown) | (Kind::Unknown, Kind::Number(q)) => Kind::Number(q),
            (Kind::Procedure(p), _) | (_, Kind::Procedure(p)) => Kind::Procedure(p),
            (Kind::Unknown, Kind::Unknown) => Kind::Unknown,
        }
    }

    fn call(&mut self, closure: &Rc<Closure>, operands: &[ExprId], kinds: Vec<Kind>) -> Kind {
        let core = self.core;
        let takes = |id: &&LambdaId| {
            let lambda = &core.lambdas[id.0 as usize];
            lambda.params.len() == operands.len() && !lambda.rest
        };
        let Some(&id) = closure.clauses.iter().find(takes) else { return Kind::Unknown };
        if let Some(at) = self.active.iter().rposition(|a| a.0 == id) {
            let (first, given) = (self.active[at].1.clone(), self.active[at].2.clone());
            for ((first, kind), operand) in first.into_iter().zip(kinds).zip(operands) {
                self.join(*operand, first, kind, "a variable of a loop and its next value");
            }
            return Kind::Number(given);
        }
        if self.active.len() >= ACTIVE {
            return Kind::Unknown;
        }
        let lambda = &core.lambdas[id.0 as usize];
        let given = self.equations.fresh();
        let frame = Self::inner(&closure.frame, lambda.params.iter().copied().zip(kinds.iter().cloned()));
        self.active.push((id, kinds, given.clone()));
        let found = self.infer(lambda.body, &frame);
        self.active.pop();
        match found {
            Kind::Number(_) => self.join(lambda.body, found, Kind::Number(given), "what a procedure gives"),
            other => other,
        }
    }

    fn primitive(&mut self, symbol: Symbol, operands: &[ExprId], kinds: &[Kind]) -> Kind {
        let heap = self.heap;
        let name = heap.symbols.name(symbol);
        let Some(rule) = rule(name, operands.len()) else { return Kind::Unknown };
        let mut quantities = Vec::new();
        for kind in kinds {
            quantities.push(match kind {
                Kind::Number(quantity) => quantity.clone(),
                _ => self.equations.fresh(),
            });
        }
        let exponent = operands.get(1).and_then(|e| self.constant(*e));
        match apply(rule, &mut self.equations, &quantities, exponent) {
            Ok(_) if kinds.iter().all(|k| matches!(k, Kind::Unknown)) && rule != Rule::Number => Kind::Unknown,
            Ok(quantity) => Kind::Number(quantity),
            Err(wrong) => {
                let (expected, found) = (wrong.expected, wrong.found);
                let (message, help) = match rule {
                    Rule::Same | Rule::Compare => {
                        (format!("the operands of {name} have the dimensions {expected} and {found}"), EQUAL)
                    }
                    Rule::Expt => {
                        (format!("the exponent of {name} has the dimension {found}, expected a number"), SCALE)
                    }
                    _ => (format!("the operand of {name} has the dimension {found}, expected a number"), SCALE),
                };
                self.disagree(operands[wrong.operand], message, help);
                Kind::Unknown
            }
        }
    }

    /// A number that is written as such: a literal, its negative, or a quotient of two.
    fn constant(&self, expr: ExprId) -> Option<f64> {
        match &self.core.exprs[expr.0 as usize] {
            Expr::Const(value) => num::Number::of(self.heap, *value).map(|n| n.to_f64()),
            Expr::Call(f, operands) => {
                let Expr::Global(symbol) = self.core.exprs[f.0 as usize] else { return None };
                let name = self.heap.symbols.name(symbol);
                match (name, &operands[..]) {
                    ("-", [a]) => Some(-self.constant(*a)?),
                    ("/", [a, b]) => Some(self.constant(*a)? / self.constant(*b)?),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

const EQUAL: &str = "multiply one of them by what the other one has more, or correct a unit";
const SCALE: &str = "divide it by a parameter of that unit, or correct a unit";

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages about a program, or the dimensions of its parameters and of what it gives.
    fn found(text: &str, names: &[(&str, &str)], result: Option<&str>) -> Result<String, String> {
        let unit = |text: &str| parse(text).expect("a unit");
        let options = UnitOptions {
            names: names.iter().map(|(name, text)| (name.to_string(), unit(text))).collect(),
            result: result.map(unit),
        };
        let found = Interpreter::shared().check_units(&Program::new(text), &options, &RunOptions::default());
        let found = found.map_err(|report| report.to_string())?;
        if found.report.diagnostics.is_empty() {
            let shown = |d: &Option<Dimension>| d.map_or("?".to_string(), |d| d.to_string());
            let mut list: Vec<String> =
                found.parameters.iter().map(|(name, d)| format!("{name} {}", shown(d))).collect();
            list.push(shown(&found.result));
            return Ok(list.join(", "));
        }
        let at = |d: &Diagnostic| d.span().map_or("", |s| &text[s.start as usize..s.end as usize]).to_string();
        let list: Vec<String> = found.report.diagnostics.iter().map(|d| format!("{} [{}]", d.message, at(d))).collect();
        Err(list.join("; "))
    }

    const COLUMNS: &[(&str, &str)] = &[("x", "m"), ("t", "s"), ("v", "m/s")];

    #[test]
    fn sums_of_different_dimensions_are_found_where_they_stand() {
        let wrong = |text: &str| found(text, COLUMNS, None).expect_err(text);
        assert_eq!(wrong("(+ x (* 2 t))"), "the operands of + have the dimensions m and s [(* 2 t)]");
        assert_eq!(wrong("(exp t)"), "the operand of exp has the dimension s, expected a number [t]");
        assert_eq!(wrong("(if (< x t) 1 2)"), "the operands of < have the dimensions m and s [t]");
        assert_eq!(wrong("(if (< x 0) x v)"), "the branches of if have the dimensions m and m/s [(if (< x 0) x v)]");
        assert_eq!(wrong("(expt 2.0 x)"), "the exponent of expt has the dimension m, expected a number [x]");
        assert_eq!(wrong("(+ x 1)"), "the operands of + have the dimensions m and 1 [1]");
        let text = "(define (f a) (+ a x)) (* (f x) (f t) (f t))";
        assert_eq!(wrong(text), "the operands of + have the dimensions s and m [x]");
        assert_eq!(found("(* 2 x)", COLUMNS, Some("s")), Err("the program gives m, the target has s [(* 2 x)]".into()));
        let text = "(params (k free 1.0 (unit \"Newtons\"))) (* k x)";
        assert!(wrong(text).starts_with("the unit of k cannot be read: Newtons is not a unit"), "{}", wrong(text));
    }

    #[test]
    fn what_parameters_are_follows() {
        let right = |text: &str, result| found(text, COLUMNS, result).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(right("(params (k free 1.0)) (+ x (* k t))", None), "k m/s, m");
        assert_eq!(
            right("(params (a free 1.0) (b free 1.0)) (* a (exp (- (/ t b))))", Some("V")),
            "a m^2 kg/s^3/A, b s, m^2 kg/s^3/A"
        );
        assert_eq!(right("(params (g free 9.8 (unit \"m/s^2\"))) (+ (* v t) (* 1/2 g t t))", Some("m")), "g m/s^2, m");
        assert_eq!(right("(params (c free 1.0) (p free 2.0)) (* c (expt x p))", Some("s")), "c ?, p 1, s");
        assert_eq!(right("(define (twice a) (* 2 a)) (/ (twice x) (twice t))", None), "m/s");
        assert_eq!(right("(sqrt (* x x))", None), "m");
        assert_eq!(right("(expt x 3/2)", None), "m^(3/2)");
    }

    #[test]
    fn loops_are_followed_round_by_round() {
        let fall = |step: &str| {
            format!(
                "(params (g free 9.8) (dt free 0.1 (unit \"s\")))
                 (let loop ((i 0) (h x) (speed 0.0))
                   (if (>= i 10) h (loop (+ i 1) (+ h (* speed dt)) (- speed {step}))))"
            )
        };
        assert_eq!(found(&fall("(* g dt)"), COLUMNS, None), Ok("g m/s^2, dt s, m".into()));
        let wrong = found(&fall("x"), COLUMNS, None).expect_err("a length is no speed");
        assert!(wrong.contains("dimensions"), "{wrong}");
        assert_eq!(found("(vector-ref (vector x t) 1)", COLUMNS, None), Ok("?".into()));
        assert_eq!(found("(let f ((n 5)) (if (= n 0) 1 (* n (f (- n 1)))))", COLUMNS, None), Ok("1".into()));
    }
}
