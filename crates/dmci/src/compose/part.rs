//! A program as a part of another one: its parameters, its imports, and its forms as the body of a scope.
//!
//! At the top level a name may be defined twice, and a definition of a name that the system or a
//! parameter has binds it anew only from there on. In a body neither is possible, so such definitions
//! become assignments.

use super::symbol;
use crate::interpreter::{Interpreter, RunOptions};
use crate::program::Program;
use crate::report::Report;
use dmci_syntax::reader;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Heap, Origin, SourceId, Span, Symbol, Value};
use rustc_hash::FxHashSet;
use std::ops::Range;

const NO_VALUE: &str = "the value of a part is that of its last form: add an expression at its end";
const EVAL: &str = "build procedures with lambda instead, or compose before the text is made";

/// One entry of a schema: `(name kind start option ...)`.
#[derive(Debug)]
pub struct Entry {
    /// The parameter.
    pub name: String,
    /// What stands before and behind the name, parentheses included.
    around: (String, String),
}

impl Entry {
    /// The entry with the name that it has now.
    pub fn text(&self) -> String {
        format!("{}{}{}", self.around.0, symbol(&self.name), self.around.1)
    }
}

/// A program taken apart.
#[derive(Debug, Default)]
pub struct Part {
    /// The parameters that it declares.
    pub entries: Vec<Entry>,
    /// Its `import` forms, which stand only at the top level.
    pub imports: Vec<String>,
    /// Everything else, as it was written.
    body: String,
    /// The body is one expression.
    single: bool,
    /// Names from outside that the body assigns: the scope needs variables of its own for them.
    shadowed: Vec<String>,
    /// Names that it may use from outside before it defines them.
    pub redefined: Vec<String>,
}

impl Part {
    /// Reads a program that will stand in a scope with variables for the names `bound`.
    pub fn read(program: &Program, bound: &[&str]) -> Result<Part, Report> {
        let text = &program.text;
        // Directives would reach into what follows: the same data without them.
        if text.contains("#!") && (text.starts_with("#!") || text.to_ascii_lowercase().contains("#!fold-case")) {
            let plain = Program::from_data(&program.data()?)?;
            return Part::read(&Program { name: program.name.clone(), ..plain }, bound);
        }
        let mut heap = Heap::new();
        let source = heap.sources.add(&program.name, text, Origin::User);
        let result = match reader::read_all(&mut heap, source) {
            Ok(read) => Reading { heap: &heap, text, bound, part: Part::default(), edits: Vec::new() }.run(read.forms),
            Err(errors) => Err(errors),
        };
        result.map_err(|diagnostics| Report::new(diagnostics, heap.sources.clone()))
    }

    /// The part as an expression in a scope where names have the values of other expressions.
    pub fn expression(&self, bindings: &[(String, String)]) -> String {
        let own = self.shadowed.iter().map(|name| format!("({name} {name})", name = symbol(name)));
        let bindings: Vec<String> =
            bindings.iter().map(|(name, value)| format!("({name} {value})")).chain(own).collect();
        match (&bindings[..], self.single) {
            ([], true) => self.body.clone(),
            (_, true) => format!("(let ({}) {})", bindings.join(" "), self.body),
            // The body may end with a comment.
            (_, false) => format!("(let ({})\n{}\n)", bindings.join(" "), self.body),
        }
    }
}

/// A definition at the top level.
struct Definition {
    symbol: Symbol,
    keyword: Range<usize>,
    form: Range<usize>,
    /// It has the form `(define (name argument ...) body ...)`.
    is_procedure: bool,
    /// The name occurs in an earlier form, or in what it is defined as.
    early: bool,
}

struct Reading<'a> {
    heap: &'a Heap,
    text: &'a str,
    bound: &'a [&'a str],
    part: Part,
    /// Ranges of the text and what stands there instead.
    edits: Vec<(Range<usize>, String)>,
}

impl Reading<'_> {
    fn run(mut self, forms: Value) -> Result<Part, Vec<Diagnostic>> {
        let mut definitions: Vec<Definition> = Vec::new();
        let mut seen = FxHashSet::default();
        let mut kept: Vec<(Value, Range<usize>)> = Vec::new();
        let mut cell = forms;
        while let Some((form, rest)) = self.heap.uncons(cell) {
            let range = self.car_range(cell);
            match self.head(form) {
                Some("params") => {
                    self.entries(form)?;
                    self.edits.push((range, String::new()));
                }
                Some("import" | "use-modules") => {
                    self.part.imports.push(self.text[range.clone()].to_string());
                    self.edits.push((range, String::new()));
                }
                _ => {
                    definitions.extend(self.definition(form, &range, &seen));
                    collect_symbols(self.heap, form, &mut seen);
                    kept.push((form, range));
                }
            }
            cell = rest;
        }
        let Some((last, last_range)) = kept.last() else {
            return Err(self.refused("it has no expression", NO_VALUE, None));
        };
        if self.head(*last).is_some_and(|head| head == "define") {
            return Err(self.refused("it ends with a definition", NO_VALUE, Some(last_range.clone())));
        }
        let scoped = !self.bound.is_empty() || kept.iter().any(|(form, _)| self.defines(*form));
        if scoped && self.calls_eval(&seen, &definitions) {
            return Err(self.refused("it uses eval, which would not see the names of its scope", EVAL, None));
        }
        let early = definitions.iter().filter(|definition| definition.early);
        self.part.redefined = early.map(|definition| self.heap.symbols.name(definition.symbol).to_string()).collect();
        self.part.single = kept.len() == 1;
        if let ([(_, range)], true) = (&kept[..], self.part.single) {
            self.part.body = self.text[range.clone()].to_string();
            return Ok(self.part);
        }
        self.assignments(&definitions);
        self.part.body = self.edited().trim().to_string();
        Ok(self.part)
    }

    fn head(&self, form: Value) -> Option<&str> {
        Some(self.heap.symbols.name(self.heap.car(form)?.as_symbol()?))
    }

    /// Where the car of a pair stands.
    fn car_range(&self, cell: Value) -> Range<usize> {
        self.heap.pair_span(cell).map_or(0..0, |span| span.car.0 as usize..span.car.1 as usize)
    }

    fn entries(&mut self, form: Value) -> Result<(), Vec<Diagnostic>> {
        let mut cell = self.heap.cdr(form).unwrap_or(Value::NIL);
        while let Some((entry, rest)) = self.heap.uncons(cell) {
            let whole = self.car_range(cell);
            let Some(name) = self.heap.car(entry).and_then(Value::as_symbol) else {
                let got = &self.text[whole.clone()];
                let error = Diagnostic::error(
                    ErrorCode::E0211,
                    format!("a parameter is (name kind start option ...), got {got}"),
                );
                return Err(vec![*error.at(span(whole)).help("for example (params (a positive 1.0) (b unit 0.3))")]);
            };
            let inner = self.car_range(entry);
            let around = (self.text[whole.start..inner.start].into(), self.text[inner.end..whole.end].into());
            self.part.entries.push(Entry { name: self.heap.symbols.name(name).into(), around });
            cell = rest;
        }
        Ok(())
    }

    fn definition(&self, form: Value, range: &Range<usize>, seen: &FxHashSet<Symbol>) -> Option<Definition> {
        if self.head(form)? != "define" {
            return None;
        }
        let rest = self.heap.cdr(form)?;
        let target = self.heap.car(rest)?;
        let is_procedure = target.is_pair();
        let symbol = if is_procedure { self.heap.car(target)? } else { target }.as_symbol()?;
        let mut early = seen.contains(&symbol);
        if !is_procedure && let Some(value) = self.heap.cdr(rest).and_then(|cell| self.heap.car(cell)) {
            let lambda = matches!(self.head(value), Some("lambda" | "case-lambda" | "named-lambda"));
            let mut inside = FxHashSet::default();
            collect_symbols(self.heap, value, &mut inside);
            early |= !lambda && inside.contains(&symbol);
        }
        Some(Definition { symbol, keyword: self.car_range(form), form: range.clone(), is_procedure, early })
    }

    /// Turns definitions that a body cannot have into assignments.
    fn assignments(&mut self, definitions: &[Definition]) {
        for (i, definition) in definitions.iter().enumerate() {
            let name = self.heap.symbols.name(definition.symbol);
            let mut same = definitions.iter().filter(|other| other.symbol == definition.symbol);
            let bound = self.bound.contains(&name);
            let outside = || self.part.entries.iter().any(|entry| entry.name == name) || is_system_name(name);
            let shadows = !bound && same.clone().any(|other| other.early) && outside();
            let again = same.next().is_some_and(|first| first.form != definition.form);
            if !(bound || shadows || again) {
                continue;
            }
            if shadows && !definitions[..i].iter().any(|other| other.symbol == definition.symbol) {
                self.part.shadowed.push(name.to_string());
            }
            if definition.is_procedure {
                let (start, end) = (definition.form.start, definition.form.end);
                self.edits.push((start..start, format!("(set! {} ", symbol(name))));
                self.edits.push((definition.keyword.clone(), "named-lambda".into()));
                self.edits.push((end..end, ")".into()));
            } else {
                self.edits.push((definition.keyword.clone(), "set!".into()));
            }
        }
    }

    fn edited(&mut self) -> String {
        // What is put in at a place comes before what is replaced from there on.
        self.edits.sort_by_key(|(range, _)| (range.start, range.end));
        let mut text = String::with_capacity(self.text.len());
        let mut at = 0;
        for (range, new) in &self.edits {
            text += &self.text[at..range.start];
            text += new;
            at = range.end;
        }
        text + &self.text[at..]
    }

    fn defines(&self, form: Value) -> bool {
        self.head(form).is_some_and(|head| head == "begin" || head == "cond-expand" || head.starts_with("define"))
    }

    /// Whether it may call the system's `eval`, whose names are those of the global environment.
    fn calls_eval(&self, seen: &FxHashSet<Symbol>, definitions: &[Definition]) -> bool {
        let eval = self.heap.symbols.find("eval");
        eval.is_some_and(|s| seen.contains(&s) && !definitions.iter().any(|definition| definition.symbol == s))
    }

    fn refused(&self, why: &str, help: &str, range: Option<Range<usize>>) -> Vec<Diagnostic> {
        let name = self.heap.sources.get(SourceId(0)).map_or("", |source| &source.name);
        let mut error = Diagnostic::error(ErrorCode::E0710, format!("{name} cannot be composed: {why}")).help(help);
        if let Some(range) = range {
            error = error.at(span(range));
        }
        vec![*error]
    }
}

/// A range of the one text that is read.
fn span(range: Range<usize>) -> Span {
    Span::new(SourceId(0), range.start, range.end)
}

fn collect_symbols(heap: &Heap, form: Value, symbols: &mut FxHashSet<Symbol>) {
    let mut todo = vec![form];
    while let Some(v) = todo.pop() {
        if let Some(s) = v.as_symbol() {
            symbols.insert(s);
        } else if let Some((car, cdr)) = heap.uncons(v) {
            todo.extend([car, cdr]);
        }
    }
}

fn is_system_name(name: &str) -> bool {
    let interpreter = Interpreter::shared();
    let Ok(vm) = interpreter.machine(&RunOptions::default()) else { return false };
    let symbol = vm.world.heap.symbols.find(name);
    let found = symbol.is_some_and(|s| vm.world.environments.system_cell(s).is_some());
    interpreter.recycle(vm);
    found
}
