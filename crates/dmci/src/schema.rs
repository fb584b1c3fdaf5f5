//! The parameter schema of a program, `(params (name kind start option ...) ...)`, and the names that
//! a program mentions.

use crate::check;
use crate::datum::Datum;
use crate::interpreter::{self, Interpreter, RunOptions, expand_in};
use crate::program::Program;
use crate::report::Report;
use dmci_compile::core::{self, Core, Expr};
use dmci_syntax::expand::nesting_depth;
use dmci_syntax::expand::starts::{self, Structure};
use dmci_value::{Error, Heap, Origin, Shape, Sources, Span, Symbol, Value, num};
use dmci_vm::environment::USER;
use dmci_vm::{Vm, deep};
use rustc_hash::FxHashSet;

/// Which values a parameter may have. A fit searches over an unbounded *raw* number, and the kind
/// says how it becomes the value that the program sees; `c` is the parameter's scale.
///
/// ```
/// use dmci::{Interpreter, ParameterKind, Program};
///
/// let program = Program::new("(params (a positive 1.0) (b (bounded 0 5) 2.0)) (* a b)");
/// let kinds: Vec<_> = Interpreter::shared().names(&program)?.schema.parameters.into_iter().map(|p| p.kind).collect();
/// assert_eq!(kinds, [ParameterKind::Positive, ParameterKind::Bounded(0.0, 5.0)]);
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ParameterKind {
    /// Any real: `c raw`.
    Free,
    /// Above 0: `c softplus(raw)`.
    Positive,
    /// Between 0 and `c`: `c sigmoid(raw)`.
    Unit,
    /// Between `-c` and `c`: `c tanh(raw)`.
    SignedUnit,
    /// Between two numbers: an affine sigmoid, without a scale.
    Bounded(f64, f64),
    /// Between two numbers above 0, on a logarithmic scale: a sigmoid between their logarithms, without a scale.
    Log(f64, f64),
    /// A lower triangular matrix of so many rows, with any numbers in it: `c raw`.
    Lower(usize),
    /// A lower triangular matrix of so many rows with a diagonal above 0, such as a Cholesky factor: `c raw`, with
    /// the signs of a column turned round where its diagonal is below 0. `L L'` does not change by that, so that a
    /// search over covariances meets no boundary.
    Cholesky(usize),
    /// So many numbers above 0 that add up to 1: exponentials of raw numbers, divided by their sum.
    Simplex(usize),
    /// None of these. Programs may run with it; fits refuse it.
    Unknown,
}

impl std::fmt::Display for ParameterKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ParameterKind::Free => f.write_str("free"),
            ParameterKind::Positive => f.write_str("positive"),
            ParameterKind::Unit => f.write_str("unit"),
            ParameterKind::SignedUnit => f.write_str("signed-unit"),
            ParameterKind::Bounded(low, high) => write!(f, "(bounded {low} {high})"),
            ParameterKind::Log(low, high) => write!(f, "(log {low} {high})"),
            ParameterKind::Lower(n) => write!(f, "(lower {n})"),
            ParameterKind::Cholesky(n) => write!(f, "(cholesky {n})"),
            ParameterKind::Simplex(n) => write!(f, "(simplex {n})"),
            ParameterKind::Unknown => f.write_str("unknown"),
        }
    }
}

/// What is known of a parameter before any data: the name of a distribution and its numbers.
///
/// ```
/// use dmci::{Interpreter, Program};
///
/// let program = Program::new("(params (a free 1.0 (prior normal 0 2))) a");
/// let schema = Interpreter::shared().names(&program)?.schema;
/// let prior = schema.parameters[0].prior.as_ref().expect("it has one");
/// assert_eq!((prior.name.as_str(), &prior.numbers[..]), ("normal", &[0.0, 2.0][..]));
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Prior {
    /// `normal`, for example.
    pub name: String,
    /// In the order of the schema.
    pub numbers: Vec<f64>,
}

/// One parameter of a schema.
///
/// ```
/// use dmci::{Interpreter, Parameter, Program};
///
/// let program = Program::new("(params (k positive 2.0 100 fixed)) k");
/// let schema = Interpreter::shared().names(&program)?.schema;
/// let k: &Parameter = &schema.parameters[0];
/// assert_eq!((k.init, k.scale, k.fixed, k.shown_kind().as_str()), (2.0, Some(100.0), true, "positive"));
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name in the program.
    pub name: String,
    /// Which values it may have.
    pub kind: ParameterKind,
    /// The value that a run binds and where a fit starts, in the user's units; of a vector or matrix,
    /// the first number.
    pub init: f64,
    /// All of its numbers, row by row.
    pub starts: Vec<f64>,
    /// Whether it is a number, a vector or a matrix.
    pub shape: Shape,
    /// How large its values are, if the schema says so; 1 otherwise.
    pub scale: Option<f64>,
    /// Whether fits leave it as it is.
    pub fixed: bool,
    /// The column by which it differs, of `(per column)`.
    pub per: Option<String>,
    /// What is known of it before any data, of `(prior normal 0 1)`.
    pub prior: Option<Prior>,
    /// Its unit, of `(unit "kg")`.
    pub unit: Option<String>,
    /// All other options, by their first words.
    pub options: Vec<String>,
    /// Where it is declared, and where its start stands.
    span: Option<(u32, u32)>,
    start_span: Option<(u32, u32)>,
}

impl Parameter {
    /// A parameter without options, declared nowhere.
    pub fn new(name: &str, kind: ParameterKind, init: f64) -> Parameter {
        Parameter {
            name: name.into(),
            kind,
            init,
            starts: vec![init],
            shape: Shape::Scalar,
            scale: None,
            fixed: false,
            per: None,
            prior: None,
            unit: None,
            options: Vec::new(),
            span: None,
            start_span: None,
        }
    }

    /// The value that a run binds: a real, or a tensor.
    pub fn datum(&self) -> Datum {
        match self.shape {
            Shape::Scalar => Datum::Real(self.init),
            shape => Datum::Tensor(shape, self.starts.clone()),
        }
    }

    /// Moves the start to a number, or to as many numbers as it has; whether the datum holds them.
    pub fn set_start(&mut self, datum: &Datum) -> bool {
        let mut numbers = Vec::new();
        let mut todo = vec![datum];
        while let Some(datum) = todo.pop() {
            match datum {
                Datum::List(items, None) | Datum::Vector(items) => todo.extend(items.iter().rev()),
                Datum::Tensor(_, elements) => numbers.extend(elements),
                other => match other.as_f64() {
                    Some(x) => numbers.push(x),
                    None => return false,
                },
            }
        }
        if self.shape == Shape::Scalar && datum.as_f64().is_none() {
            return false;
        }
        if let [one] = numbers[..]
            && !matches!(self.kind, ParameterKind::Lower(_) | ParameterKind::Cholesky(_) | ParameterKind::Simplex(_))
        {
            numbers = vec![one; self.starts.len()];
        }
        let fits = numbers.len() == self.starts.len() && !numbers.is_empty();
        if fits {
            self.init = numbers[0];
            self.starts = numbers;
        }
        fits
    }

    /// Where its start stands in the text of the program, if it is written there.
    pub fn start_span(&self) -> Option<(u32, u32)> {
        self.start_span
    }

    /// The names of its numbers: `w.0`, `F.1.2`, or its own.
    pub fn number_names(&self) -> Vec<String> {
        let name = &self.name;
        match self.shape {
            Shape::Scalar => vec![name.clone()],
            Shape::Vector(n) => (0..n).map(|i| format!("{name}.{i}")).collect(),
            Shape::Matrix(m, n) => (0..m).flat_map(|i| (0..n).map(move |j| format!("{name}.{i}.{j}"))).collect(),
        }
    }

    /// The kind with its shape, as a schema writes it.
    pub fn shown_kind(&self) -> String {
        let of = |kind: &ParameterKind| if *kind == ParameterKind::Free { String::new() } else { format!(" {kind}") };
        use ParameterKind::{Cholesky, Lower, Simplex};
        match (self.kind, self.shape) {
            (Lower(_) | Cholesky(_) | Simplex(_), _) | (_, Shape::Scalar) => self.kind.to_string(),
            (kind, Shape::Vector(n)) => format!("(vector {n}{})", of(&kind)),
            (kind, Shape::Matrix(m, n)) => format!("(matrix {m} {n}{})", of(&kind)),
        }
    }

    /// A report of what is wrong with its declaration, pointing at it.
    pub fn report(&self, program: &Program, error: Error) -> Report {
        let mut sources = Sources::default();
        let source = sources.add(&program.name, &program.text, Origin::User);
        let error = match self.span {
            Some((start, end)) => error.at(Span { source, start, end }),
            None => error,
        };
        Report::new(vec![*error], sources)
    }
}

/// The parameters that a program declares, in order.
///
/// ```
/// use dmci::{Interpreter, Program};
///
/// let program = Program::new("(params (a positive 1.0) (b free 2.0)) (* a b x)");
/// let schema = Interpreter::shared().names(&program)?.schema;
/// assert_eq!(schema.parameters.len(), 2);
/// assert_eq!(schema.find("b").map(|b| b.init), Some(2.0));
/// assert!(schema.find("x").is_none());
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schema {
    /// In the order of the program.
    pub parameters: Vec<Parameter>,
}

impl Schema {
    /// The parameter with this name.
    pub fn find(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|p| p.name == name)
    }

    /// Whether the program declares no parameter.
    pub fn is_empty(&self) -> bool {
        self.parameters.is_empty()
    }

    /// The schema of a program that was read; declarations that the expander will refuse are left out.
    pub(crate) fn of(heap: &Heap, forms: Value) -> Schema {
        let mut schema = Schema::default();
        for form in heap.list_items(forms).unwrap_or_default() {
            let items = heap.list_items(form).unwrap_or_default();
            let Some((head, entries)) = items.split_first() else { continue };
            if head.as_symbol().is_some_and(|s| heap.symbols.name(s) == "params") {
                schema.parameters.extend(entries.iter().filter_map(|&entry| parameter(heap, entry)));
            }
        }
        schema
    }
}

fn parameter(heap: &Heap, entry: Value) -> Option<Parameter> {
    let parts = heap.list_items(entry)?;
    let name = heap.symbols.name(parts.first()?.as_symbol()?);
    let kind_form = *parts.get(1)?;
    let (shape, structure) = starts::shape_of(heap, kind_form)?;
    let start = parts.get(2).copied().filter(|&part| shape == Shape::Scalar || starts::is_start(heap, part));
    let numbers = starts::starts_of(heap, shape, structure, start)?;
    let options = parts.get(if start.is_some() { 3 } else { 2 }..).unwrap_or_default();
    let is_fixed = |v: &Value| v.as_symbol().is_some_and(|s| heap.symbols.name(s) == "fixed");
    let mut parameter = Parameter {
        scale: options.first().and_then(|&v| number(heap, v)),
        fixed: options.iter().any(is_fixed),
        shape,
        span: heap.pair_span(entry).map(|span| span.form),
        ..Parameter::new(name, ParameterKind::Unknown, *numbers.first()?)
    };
    parameter.starts = numbers;
    let start_cell = heap.cdr(entry).and_then(|cell| heap.cdr(cell));
    parameter.start_span = start_cell.filter(|_| start.is_some()).and_then(|c| heap.pair_span(c)).map(|span| span.car);
    let size = match shape {
        Shape::Scalar => 1,
        Shape::Vector(n) | Shape::Matrix(_, n) => n as usize,
    };
    parameter.kind = match structure {
        Structure::Lower => ParameterKind::Lower(size),
        Structure::Cholesky => ParameterKind::Cholesky(size),
        Structure::Simplex => ParameterKind::Simplex(size),
        Structure::Separate(Value::NIL) => ParameterKind::Free,
        Structure::Separate(of_number) => kind(heap, of_number),
    };
    for option in options.iter().filter_map(|&v| heap.list_items(v)) {
        let word = |v: Value| v.as_symbol().map(|s| heap.symbols.name(s).to_string());
        let Some(first) = option.first().and_then(|&v| word(v)) else { continue };
        let second = option.get(1).and_then(|&v| word(v).or_else(|| heap.text(v)));
        match (first.as_str(), second) {
            ("per", Some(column)) if option.len() == 2 => parameter.per = Some(column),
            ("unit", Some(unit)) if option.len() == 2 => parameter.unit = Some(unit),
            ("prior", Some(name)) => {
                let numbers = option[2..].iter().map(|&v| number(heap, v)).collect::<Option<Vec<f64>>>();
                match numbers {
                    Some(numbers) => parameter.prior = Some(Prior { name, numbers }),
                    None => parameter.options.push(first),
                }
            }
            _ => parameter.options.push(first),
        }
    }
    Some(parameter)
}

fn kind(heap: &Heap, v: Value) -> ParameterKind {
    let word = |v: Value| v.as_symbol().map(|s| heap.symbols.name(s));
    match word(v) {
        Some("free") => return ParameterKind::Free,
        Some("positive") => return ParameterKind::Positive,
        Some("unit") => return ParameterKind::Unit,
        Some("signed-unit") => return ParameterKind::SignedUnit,
        _ => {}
    }
    if let Some([head, low, high]) = heap.list_items(v).as_deref()
        && let (Some(low), Some(high)) = (number(heap, *low), number(heap, *high))
    {
        match word(*head) {
            Some("bounded") => return ParameterKind::Bounded(low, high),
            Some("log") => return ParameterKind::Log(low, high),
            _ => {}
        }
    }
    ParameterKind::Unknown
}

fn number(heap: &Heap, v: Value) -> Option<f64> {
    num::Number::of(heap, v).map(|n| n.to_f64())
}

/// What a program says about its own names.
///
/// ```
/// use dmci::{Interpreter, Program};
///
/// let names = Interpreter::shared().names(&Program::new("(params (a free 1.0)) (define b 2) (* a b x)"))?;
/// assert_eq!((names.used, names.defined), (vec!["a".to_string()], vec!["a".to_string(), "b".to_string()]));
/// assert_eq!(names.unbound, Some(vec!["x".to_string()]));
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    /// The parameters that it declares.
    pub schema: Schema,
    /// Which of them it reads, sorted.
    pub used: Vec<String>,
    /// The names that it defines, sorted.
    pub defined: Vec<String>,
    /// Where its last form stands in the text, if that is no single word.
    pub last: Option<(u32, u32)>,
    /// Every name that it uses and does not define, sorted: what data may bind. Procedures of the
    /// system are among them only if they are used other than by a call, so that a column called
    /// `max` leaves a program alone that calls `max`.
    pub mentioned: Vec<String>,
    /// The names that neither it nor the system binds, if that is all that [`Interpreter::check`] may find wrong.
    pub unbound: Option<Vec<String>>,
}

impl Interpreter {
    /// The names that a program declares and mentions.
    pub fn names(&self, program: &Program) -> Result<Names, Report> {
        let mut vm = self.machine(&RunOptions::default())?;
        let forms = match interpreter::read(&mut vm, program, Origin::User) {
            Ok(forms) => forms,
            Err(diagnostics) => {
                let sources = vm.world.heap.sources.clone();
                self.recycle(vm);
                return Err(Report::new(diagnostics, sources));
            }
        };
        let read = vm.world.heap.now();
        let names = {
            let schema = Schema::of(&vm.world.heap, forms);
            let mut names = mentioned(&mut vm, forms);
            names.used.retain(|name| schema.find(name).is_some());
            let heap = &vm.world.heap;
            let last = heap.list_items(forms).and_then(|items| heap.pair_span(*items.last()?));
            Names { schema, last: last.map(|span| span.form), ..names }
        };
        self.recycle_read(program, forms, &read, vm);
        Ok(names)
    }
}

/// The names that a program uses and does not define, all that it uses, all that it defines, and those that are bound
/// nowhere.
fn mentioned(vm: &mut Vm, forms: Value) -> Names {
    let core = expand_in(vm, forms, USER).ok().and_then(|expansion| {
        let heap = &mut vm.world.heap;
        let depth = expansion.forms.iter().map(|&f| nesting_depth(heap, f)).max().unwrap_or(0);
        deep::with_stack_for(depth, || core::parse(heap, &expansion.forms)).ok()
    });
    let heap = &vm.world.heap;
    let mut names = FxHashSet::default();
    let mut defined = FxHashSet::default();
    let mut unbound = None;
    match core {
        Some(core) => {
            unbound = check::unbound(vm, &core);
            let is_system = |name: Symbol| vm.world.environments.system_cell(name).is_some();
            defined = global_names(heap, &core, &is_system, &mut names);
        }
        // A text that is no Scheme, but in a language of which the reader understands the words.
        None => words(heap, forms, &mut names),
    }
    let list = |names: &mut dyn Iterator<Item = &Symbol>| {
        let mut names: Vec<String> = names.map(|&s| heap.symbols.name(s).to_string()).collect();
        names.sort();
        names
    };
    Names {
        mentioned: list(&mut names.iter().filter(|s| !defined.contains(*s))),
        used: list(&mut names.iter()),
        defined: list(&mut defined.iter()),
        unbound,
        ..Names::default()
    }
}

/// Collects global names that are used, and gives those that are defined. Symbols of quoted data count,
/// for programs that build programs.
fn global_names(
    heap: &Heap,
    core: &Core,
    is_system: &dyn Fn(Symbol) -> bool,
    names: &mut FxHashSet<Symbol>,
) -> FxHashSet<Symbol> {
    let called: FxHashSet<usize> = core
        .exprs
        .iter()
        .filter_map(|expr| if let Expr::Call(f, _) = expr { Some(f.0 as usize) } else { None })
        .collect();
    let mut defined = FxHashSet::default();
    for (i, expr) in core.exprs.iter().enumerate() {
        match expr {
            Expr::Global(s) if !(called.contains(&i) && is_system(*s)) => {
                names.insert(*s);
            }
            Expr::Define(s, _) => {
                defined.insert(*s);
            }
            Expr::Const(datum) => words(heap, *datum, names),
            _ => {}
        }
    }
    defined
}

/// All symbols of a datum.
fn words(heap: &Heap, datum: Value, names: &mut FxHashSet<Symbol>) {
    let mut todo = vec![datum];
    while let Some(v) = todo.pop() {
        if let Some(s) = v.as_symbol() {
            names.insert(heap.symbols.base_of(s));
        } else if let Some((car, cdr)) = heap.uncons(v) {
            todo.extend([cdr, car]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dmci_value::Diagnostic;

    fn names(text: &str) -> Names {
        Interpreter::shared().names(&Program::new(text)).expect("it can be read")
    }

    #[test]
    fn a_schema_has_kinds_scales_and_options() {
        let text = "(params (a free 1) (b positive 2.5 10) (c unit .5 fixed) (d (bounded -1 2) 0 (prior normal 0 1)))
                    (params (e signed-unit -0.25 3.0 fixed))";
        let schema = names(text).schema;
        let shown: Vec<_> =
            schema.parameters.iter().map(|p| (p.name.as_str(), p.kind.to_string(), p.init, p.scale, p.fixed)).collect();
        assert_eq!(
            shown,
            [
                ("a", "free".to_string(), 1.0, None, false),
                ("b", "positive".to_string(), 2.5, Some(10.0), false),
                ("c", "unit".to_string(), 0.5, None, true),
                ("d", "(bounded -1 2)".to_string(), 0.0, None, false),
                ("e", "signed-unit".to_string(), -0.25, Some(3.0), true),
            ]
        );
        assert_eq!(schema.find("d").map(|p| p.kind), Some(ParameterKind::Bounded(-1.0, 2.0)));
        let prior = Prior { name: "normal".into(), numbers: vec![0.0, 1.0] };
        assert_eq!(schema.find("d").and_then(|p| p.prior.clone()), Some(prior));
        assert!(names("(define params 1)").schema.is_empty());
    }

    #[test]
    fn parameters_may_be_vectors_and_matrices() {
        let text = "(params (w (vector 3)) (F (matrix 2 2 unit) ((0.1 0.2) (0.3 0.4)) (per site)) (L (cholesky 2) 0.5)
                    (p (simplex 4) fixed) (v (vector 2 positive) (1 2) 10))
                    (+ (ref w 0) (ref F 0 1))";
        let names = names(text);
        let shown: Vec<_> =
            names.schema.parameters.iter().map(|p| (p.shown_kind(), p.starts.clone(), p.fixed, p.scale)).collect();
        assert_eq!(
            shown,
            [
                ("(vector 3)".to_string(), vec![0.0; 3], false, None),
                ("(matrix 2 2 unit)".to_string(), vec![0.1, 0.2, 0.3, 0.4], false, None),
                ("(cholesky 2)".to_string(), vec![0.5, 0.0, 0.0, 0.5], false, None),
                ("(simplex 4)".to_string(), vec![0.25; 4], true, None),
                ("(vector 2 positive)".to_string(), vec![1.0, 2.0], false, Some(10.0)),
            ]
        );
        assert_eq!(names.schema.find("F").and_then(|p| p.per.clone()).as_deref(), Some("site"));
        assert_eq!(names.schema.find("F").unwrap().number_names(), ["F.0.0", "F.0.1", "F.1.0", "F.1.1"]);
        assert_eq!(names.used, ["F", "w"]);
    }

    #[test]
    fn a_parameter_knows_its_place() {
        let program = Program::new("(params (a unit 0.5)\n        (b unit 2.0))");
        let schema = Interpreter::shared().names(&program).unwrap().schema;
        let report =
            schema.parameters[1].report(&program, Diagnostic::error(dmci_value::ErrorCode::E0802, "too large"));
        assert_eq!(report.source_text().map(|s| s.0), Some("(b unit 2.0)"));
    }

    #[test]
    fn names_that_are_used_and_not_defined_are_mentioned() {
        let text = "(params (k free 1.0)) (define (f x) (let ((y (max x time))) (* k y)))
                    (define level 2) (cond (flag (f list)) (else (eval '(+ z level) #f)))";
        let mentioned = names(text).mentioned;
        let has = |name: &str| mentioned.iter().any(|m| m == name);
        for name in ["time", "flag", "list", "z"] {
            assert!(has(name), "{name} in {mentioned:?}");
        }
        for name in ["max", "x", "y", "f", "k", "level"] {
            assert!(!has(name), "{name} in {mentioned:?}");
        }
        assert_eq!(names("let a = b + (c)").mentioned.len(), 6, "words of another language");
    }
}
