//! The parameter schema of a program, `(params (name kind start option ...) ...)`, and the names that
//! a program mentions.

use crate::interpreter::{self, Interpreter, RunOptions, expand_in};
use crate::program::Program;
use crate::report::Report;
use dmci_compile::core::{self, Core, Expr};
use dmci_data::{Error, Heap, Origin, Sources, Span, Symbol, Value, num};
use dmci_syntax::expand::nesting_depth;
use dmci_vm::environment::USER;
use dmci_vm::{Vm, deep};
use rustc_hash::FxHashSet;

/// Which values a parameter may have. A fit searches over an unbounded *raw* number, and the kind
/// says how it becomes the value that the program sees; `c` is the parameter's scale.
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
            ParameterKind::Unknown => f.write_str("unknown"),
        }
    }
}

/// One parameter of a schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name in the program.
    pub name: String,
    /// Which values it may have.
    pub kind: ParameterKind,
    /// The value that a run binds and where a fit starts, in the user's units.
    pub init: f64,
    /// How large its values are, if the schema says so; 1 otherwise.
    pub scale: Option<f64>,
    /// Whether fits leave it as it is.
    pub fixed: bool,
    /// The other options, by their first words: `prior` for `(prior normal 0 1)`.
    pub options: Vec<String>,
    /// Where it is declared.
    span: Option<(u32, u32)>,
}

impl Parameter {
    /// A parameter without options, declared nowhere.
    pub fn new(name: &str, kind: ParameterKind, init: f64) -> Parameter {
        Parameter { name: name.into(), kind, init, scale: None, fixed: false, options: Vec::new(), span: None }
    }

    /// A report of what is wrong with its declaration, pointing at it.
    pub fn report(&self, program: &Program, error: Error) -> Report {
        let mut sources = Sources::default();
        let source = sources.add(&program.name, &program.text, Origin::User);
        let error = match self.span {
            Some((start, end)) => error.at(Span { source, start, end }),
            None => error,
        };
        Report { diagnostics: vec![*error], sources }
    }
}

/// The parameters that a program declares, in order.
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
    let options = parts.get(3..).unwrap_or_default();
    let is_fixed = |v: &Value| v.as_symbol().is_some_and(|s| heap.symbols.name(s) == "fixed");
    Some(Parameter {
        scale: options.first().and_then(|&v| number(heap, v)),
        fixed: options.iter().any(is_fixed),
        options: options
            .iter()
            .filter_map(|&v| heap.car(v)?.as_symbol())
            .map(|s| heap.symbols.name(s).into())
            .collect(),
        span: heap.pair_span(entry).map(|span| span.form),
        ..Parameter::new(name, kind(heap, *parts.get(1)?), number(heap, *parts.get(2)?)?)
    })
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
        && word(*head) == Some("bounded")
        && let (Some(low), Some(high)) = (number(heap, *low), number(heap, *high))
    {
        return ParameterKind::Bounded(low, high);
    }
    ParameterKind::Unknown
}

fn number(heap: &Heap, v: Value) -> Option<f64> {
    num::Number::of(heap, v).map(|n| n.to_f64())
}

/// What a program says about its own names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    /// The parameters that it declares.
    pub schema: Schema,
    /// Every name that it uses and does not define, sorted: what data may bind. Procedures of the
    /// system are among them only if they are used other than by a call, so that a column called
    /// `max` leaves a program alone that calls `max`.
    pub mentioned: Vec<String>,
}

impl Interpreter {
    /// The names that a program declares and mentions.
    pub fn names(&self, program: &Program) -> Result<Names, Report> {
        let mut vm = self.machine(&RunOptions::default())?;
        let names = interpreter::read(&mut vm, program, Origin::User).map(|forms| {
            let schema = Schema::of(&vm.world.heap, forms);
            Names { schema, mentioned: mentioned(&mut vm, forms) }
        });
        let sources = vm.world.heap.sources.clone();
        self.recycle(vm);
        names.map_err(|diagnostics| Report { diagnostics, sources })
    }
}

fn mentioned(vm: &mut Vm, forms: Value) -> Vec<String> {
    let core = expand_in(vm, forms, USER).ok().and_then(|expansion| {
        let heap = &mut vm.world.heap;
        let depth = expansion.forms.iter().map(|&f| nesting_depth(heap, f)).max().unwrap_or(0);
        deep::with_stack_for(depth, || core::parse(heap, &expansion.forms)).ok()
    });
    let heap = &vm.world.heap;
    let mut names = FxHashSet::default();
    match core {
        Some(core) => {
            let system: FxHashSet<Symbol> = vm.world.environments.system_names().into_iter().collect();
            free_names(heap, &core, &system, &mut names);
        }
        // A text that is no Scheme, but in a language of which the reader understands the words.
        None => words(heap, forms, &mut names),
    }
    let mut names: Vec<String> = names.into_iter().map(|s| heap.symbols.name(s).to_string()).collect();
    names.sort();
    names
}

/// Global names that are used and not defined. Symbols of quoted data count, for programs that build
/// programs.
fn free_names(heap: &Heap, core: &Core, system: &FxHashSet<Symbol>, names: &mut FxHashSet<Symbol>) {
    let called: FxHashSet<usize> = core
        .exprs
        .iter()
        .filter_map(|expr| if let Expr::Call(f, _) = expr { Some(f.0 as usize) } else { None })
        .collect();
    let mut defined = FxHashSet::default();
    for (i, expr) in core.exprs.iter().enumerate() {
        match expr {
            Expr::Global(s) if !(system.contains(s) && called.contains(&i)) => {
                names.insert(*s);
            }
            Expr::Define(s, _) => {
                defined.insert(*s);
            }
            Expr::Const(datum) => words(heap, *datum, names),
            _ => {}
        }
    }
    names.retain(|s| !defined.contains(s));
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
    use dmci_data::Diagnostic;

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
        assert_eq!(schema.find("d").map(|p| p.options.clone()), Some(vec!["prior".to_string()]));
        assert!(names("(define params 1)").schema.is_empty());
    }

    #[test]
    fn a_parameter_knows_its_place() {
        let program = Program::new("(params (a unit 0.5)\n        (b unit 2.0))");
        let schema = Interpreter::shared().names(&program).unwrap().schema;
        let report = schema.parameters[1].report(&program, Diagnostic::error("E0802", "too large"));
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
