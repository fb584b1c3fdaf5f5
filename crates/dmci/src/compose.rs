//! Operations on programs as data: sum, product, chain, substitution, and parameters renamed apart.
//!
//! A composed program is a program like any other: one `(params ...)` with the parameters of all parts,
//! and one expression in which every part has a scope of its own:
//!
//! ```text
//! (params (m1.a positive 2.0) (m2.a free 1.5))
//! (+
//!  (let ((a m1.a)) (* a (exp (- x))))
//!  (let ((a m2.a)) (define (wave t) (sin (* 3 t))) (* a (wave x))))
//! ```
//!
//! So no definition of one part is seen by another, and a renamed parameter cannot be captured by a
//! variable of the same name inside. The text of the parts stays as it was written, and errors show it.
//! What parts share are the names that none of them defines: inputs, and parameters that only one of
//! them declares.
//!
//! In a scope of its own a program differs from a whole one in two ways. Its names are not in the global
//! environment, where `eval` would look for them: a program that uses `eval` and has such names is
//! refused. And what a macro defines under a name that only the macro mentions is not seen outside of it.

mod part;

use crate::datum::Datum;
use crate::interpreter::{self, Interpreter, RunOptions};
use crate::program::Program;
use crate::report::Report;
use dmci_compile::core::{self, Expr};
use dmci_syntax::expand::nesting_depth;
use dmci_syntax::{printer, reader};
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Heap, Origin, Value};
use dmci_vm::deep;
use dmci_vm::environment::USER;
use part::{Entry, Part};
use std::collections::BTreeSet;

/// Deepest nesting of a program that becomes data outside of a heap, where dropping it recurses.
const MAX_DEPTH: usize = 1000;

/// Longest name of a composed program.
const LONGEST_NAME: usize = 60;

impl Program {
    /// The program as data: its forms.
    pub fn data(&self) -> Result<Vec<Datum>, Report> {
        let mut heap = Heap::new();
        let source = heap.sources.add(&self.name, &self.text, Origin::User);
        let program = reader::read_all(&mut heap, source)
            .map_err(|diagnostics| Report::new(diagnostics, heap.sources.clone()))?;
        if program.depth > MAX_DEPTH {
            let message = format!("{} is nested {} deep, expected at most {MAX_DEPTH}", self.name, program.depth);
            return Err(Report::from(Diagnostic::error(ErrorCode::E0407, message).help("define parts of it by names")));
        }
        let forms = heap.list_items(program.forms).unwrap_or_default();
        let show = |v| printer::write(&heap, v);
        Ok(forms.into_iter().map(|form| Datum::deep_from_value(&heap, form, MAX_DEPTH, &show)).collect())
    }

    /// A program from its forms, one a line.
    ///
    /// ```
    /// use dmci::{Datum, Program};
    ///
    /// let x = Datum::Symbol("x".into());
    /// let program = Program::from_data(&[Datum::list(vec![Datum::Symbol("square".into()), x])]).expect("it is data");
    /// assert_eq!(&*program.text, "(square x)");
    /// ```
    pub fn from_data(data: &[Datum]) -> Result<Program, Report> {
        let mut heap = Heap::new();
        let mut lines = Vec::with_capacity(data.len());
        for datum in data {
            let value = datum.to_value(&mut heap).filter(|_| !datum.is_opaque());
            let value = value.ok_or_else(|| {
                let error = Diagnostic::error(ErrorCode::E0710, format!("a program is made of data, got {datum:?}"));
                Report::from(error.help("use numbers, symbols, strings, characters, booleans, lists and vectors"))
            })?;
            lines.push(printer::write(&heap, value));
        }
        Ok(Program::new(&lines.join("\n")))
    }

    /// The names that the program needs from outside: it mentions them and neither defines nor
    /// declares them, nor does the system.
    pub fn free_names(&self) -> Result<Vec<String>, Report> {
        Ok(globals(self)?.into_iter().filter(|global| !global.system).map(|global| global.name).collect())
    }

    /// The program whose value is the sum of the values of both.
    ///
    /// ```
    /// use dmci::{GradOptions, Interpreter, Program};
    ///
    /// let decay = Program::named("decay", "(params (a positive 2.0) (b positive 0.5)) (* a (exp (- (* b x))))");
    /// let wave = Program::named("wave", "(params (a free 1.5) (b free 3.0)) (* a (sin (* b x)))");
    /// let both = decay.apart("m1")?.sum(&wave.apart("m2")?)?;
    /// assert_eq!(Interpreter::shared().names(&both)?.schema.find("m2.a").map(|p| p.init), Some(1.5));
    /// assert_eq!(both.free_names()?, ["x"]);
    /// # Ok::<(), dmci::Report>(())
    /// ```
    pub fn sum(&self, other: &Program) -> Result<Program, Report> {
        self.folded(other, "sum", "+")
    }

    /// The program whose value is the product of the values of both.
    pub fn product(&self, other: &Program) -> Result<Program, Report> {
        self.folded(other, "product", "*")
    }

    /// The program in which the value of `inner` takes the place of the input `input` of this one.
    pub fn chain(&self, inner: &Program, input: &str) -> Result<Program, Report> {
        self.with(input, inner, composed_name("chain", &[&self.name, &inner.name]))
    }

    /// The program in which the value of another one takes the place of a name: a parameter, which
    /// is then no longer one, or an input. It is computed once, however often the name occurs, and sees
    /// nothing of what this program defines. For a datum, give `Program::from_data(&[datum])`.
    pub fn substitute(&self, name: &str, value: &Program) -> Result<Program, Report> {
        self.with(name, value, self.name.to_string())
    }

    /// The program with another name for a parameter or an input.
    pub fn rename(&self, name: &str, new: &str) -> Result<Program, Report> {
        self.check_name(name)?;
        self.renamed(&[(name.to_string(), new.to_string())])
    }

    /// The program with a prefix for all parameters that it declares: `a` becomes `prefix.a`. So two
    /// programs with the same parameter names can be composed.
    pub fn apart(&self, prefix: &str) -> Result<Program, Report> {
        let names = Part::read(self, &[])?.entries.into_iter().map(|entry| entry.name);
        let pairs: Vec<(String, String)> = names.map(|name| (name.clone(), format!("{prefix}.{name}"))).collect();
        self.renamed(&pairs)
    }

    fn folded(&self, other: &Program, what: &str, operator: &str) -> Result<Program, Report> {
        let (first, second) = (Part::read(self, &[])?, Part::read(other, &[])?);
        let expression = format!("({operator}\n {}\n {})", first.expression(&[]), second.expression(&[]));
        assemble(&composed_name(what, &[&self.name, &other.name]), &[first, second], &expression)
    }

    fn with(&self, name: &str, value: &Program, title: String) -> Result<Program, Report> {
        self.check_name(name)?;
        let mut outer = Part::read(self, &[name])?;
        outer.entries.retain(|entry| entry.name != name);
        let inner = Part::read(value, &[])?;
        let expression = outer.expression(&[(symbol(name), inner.expression(&[]))]);
        assemble(&title, &[outer, inner], &expression)
    }

    fn renamed(&self, pairs: &[(String, String)]) -> Result<Program, Report> {
        let names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
        let mut part = Part::read(self, &names)?;
        for entry in &mut part.entries {
            if let Some((_, new)) = pairs.iter().find(|(name, _)| *name == entry.name) {
                entry.name = new.clone();
            }
        }
        let bindings: Vec<(String, String)> = pairs.iter().map(|(name, new)| (symbol(name), symbol(new))).collect();
        let expression = part.expression(&bindings);
        assemble(&self.name, &[part], &expression)
    }

    /// An error unless the name is a parameter or stands for something outside of the program.
    fn check_name(&self, name: &str) -> Result<(), Report> {
        let part = Part::read(self, &[])?;
        if part.redefined.iter().chain(part.entries.iter().map(|entry| &entry.name)).any(|known| known == name) {
            return Ok(());
        }
        let globals = globals(self)?;
        if globals.iter().any(|global| global.name == name) {
            return Ok(());
        }
        let known = part.entries.into_iter().map(|entry| entry.name);
        let known: Vec<String> =
            known.chain(globals.into_iter().filter(|global| !global.system).map(|global| global.name)).collect();
        let help = match known[..] {
            [] => "it has no parameters, and all its names are its own".to_string(),
            _ => format!("its parameters and inputs are {}", known.join(", ")),
        };
        let message = format!("{} has no parameter or input {name}", self.name);
        Err(Report::from(Diagnostic::error(ErrorCode::E0710, message).help(help)))
    }
}

/// A name that a program refers to and does not define.
struct Global {
    name: String,
    /// The system defines it.
    system: bool,
}

/// The global names that a program refers to and does not define, in alphabetical order.
fn globals(program: &Program) -> Result<Vec<Global>, Report> {
    let interpreter = Interpreter::shared();
    let mut vm = interpreter.machine(&RunOptions::default())?;
    let mut find = || -> Result<Vec<Global>, Vec<Diagnostic>> {
        let forms = interpreter::read(&mut vm, program, Origin::User)?;
        let expansion = interpreter::expand_in(&mut vm, forms, USER)?;
        let heap = &mut vm.world.heap;
        let depth = expansion.forms.iter().map(|&form| nesting_depth(heap, form)).max().unwrap_or(0);
        let core = deep::with_stack_for(depth, || core::parse(heap, &expansion.forms)).map_err(|e| vec![*e])?;
        let mut names = BTreeSet::new();
        for expr in &core.exprs {
            if let Expr::Global(s) | Expr::SetGlobal(s, _) = expr
                && !expansion.defined.contains(s)
            {
                names.insert((heap.symbols.name(*s).to_string(), *s));
            }
        }
        let environments = &vm.world.environments;
        let global = |(name, s)| Global { name, system: environments.system_cell(s).is_some() };
        Ok(names.into_iter().map(global).collect())
    };
    let result = find();
    let sources = vm.world.heap.sources.clone();
    interpreter.recycle(vm);
    result.map_err(|diagnostics| Report::new(diagnostics, sources))
}

/// The program of an expression with the imports and parameters of the parts.
fn assemble(name: &str, parts: &[Part], expression: &str) -> Result<Program, Report> {
    let mut entries: Vec<&Entry> = Vec::new();
    for entry in parts.iter().flat_map(|part| &part.entries) {
        if entries.iter().any(|other| other.name == entry.name) {
            let message = format!("{name} would have two parameters {}", entry.name);
            let help = format!(
                "rename them apart, with Program::apart or Program::rename; to share one, substitute the name {} for \
                 the parameter of one part",
                entry.name
            );
            return Err(Report::from(Diagnostic::error(ErrorCode::E0710, message).help(help)));
        }
        entries.push(entry);
    }
    let mut text = String::new();
    for import in parts.iter().flat_map(|part| &part.imports) {
        text += import;
        text.push('\n');
    }
    if !entries.is_empty() {
        let entries: Vec<String> = entries.into_iter().map(Entry::text).collect();
        text += &format!("(params {})\n", entries.join(" "));
    }
    Ok(Program::named(name, &(text + expression + "\n")))
}

fn composed_name(what: &str, parts: &[&str]) -> String {
    let name = format!("{what}({})", parts.join(", "));
    if name.chars().count() <= LONGEST_NAME {
        return name;
    }
    name.chars().take(LONGEST_NAME).chain("...".chars()).collect()
}

/// A name as the reader reads it.
fn symbol(name: &str) -> String {
    let mut heap = Heap::new();
    let symbol = Value::symbol(heap.symbols.intern(name));
    printer::write(&heap, symbol)
}
