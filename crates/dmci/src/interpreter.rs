//! The interpreter: compiled once, shared by everybody, runs programs that arrive as data.

use crate::datum::Datum;
use crate::mode::Mode;
use crate::program::{Bindings, Program};
use crate::report::Report;
use crate::{suggest, system};
use dmci_compile::graph::Graph;
use dmci_compile::lower::Options;
use dmci_syntax::expand::{self, nesting_depth};
use dmci_syntax::reader;
use dmci_value::ErrorCode;
use dmci_value::heap::Moment;
use dmci_value::{Diagnostic, Error, Kind, Origin, Symbol, Value};
use dmci_vm::environment::{EnvironmentId, USER};
use dmci_vm::prims::evaluation::environment_object;
use dmci_vm::traced::{Choices, SoftChoice};
use dmci_vm::{Cancel, Image, Limits, Numerics, Vm, World, deep};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread::{self, ThreadId};

/// How to run a program.
///
/// ```
/// use dmci::{Mode, Program, RunOptions};
///
/// let options = RunOptions { mode: Mode::Direct, seed: 7, ..RunOptions::default() }.with("a", 2.0);
/// let program = Program::new("(* a (random 1.0))");
/// assert_eq!(program.run(&options)?.value, program.run(&options)?.value, "the same seed");
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The mode.
    pub mode: Mode,
    /// Limits for direct mode; they grow with the mode's levels.
    pub limits: Limits,
    /// Values for names.
    pub bindings: Bindings,
    /// Seed of `random`, and of the noise of `soft-choice`.
    pub seed: u64,
    /// How `soft-choice` chooses.
    pub soft: SoftChoice,
    /// Lets another thread stop the run.
    pub cancel: Cancel,
    /// Precision, and clamps.
    pub numerics: Numerics,
}

impl RunOptions {
    /// The same with a value for a name, as if `(define name value)` stood before the program.
    pub fn with(mut self, name: &str, value: impl Into<Datum>) -> RunOptions {
        self.bindings.push((name.into(), value.into()));
        self
    }
}

/// What a run gave.
///
/// ```
/// use dmci::{Datum, Outcome, Program, RunOptions};
///
/// let outcome: Outcome = Program::new("(display \"hello\") (list 1 'a)").run(&RunOptions::default())?;
/// assert_eq!(outcome.value, Datum::list(vec![Datum::Integer(1), Datum::Symbol("a".into())]));
/// assert_eq!((outcome.text.as_str(), outcome.output.as_str()), ("(1 a)", "hello"));
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The value of the last form.
    pub value: Datum,
    /// The value as `write` prints it; several values on a line each.
    pub text: String,
    /// Whether the text is too long and ends somewhere; the value is whole.
    pub cut: bool,
    /// What the program printed.
    pub output: String,
}

/// The compiled system and idle machines.
///
/// ```
/// use dmci::{Interpreter, Program, RunOptions};
///
/// // Mostly `Program::run` is enough; this one has machines of its own.
/// let interpreter = Interpreter::new();
/// assert_eq!(interpreter.run(&Program::new("(* 6 7)"), &RunOptions::default())?.text, "42");
/// assert!(interpreter.check(&Program::new("(car)"), &RunOptions::default()).has_errors());
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Debug)]
pub struct Interpreter {
    image: Arc<Image>,
    /// Each with the thread that used it last: it has its memory in the cache of a core, and in its part of the heap.
    idle: Mutex<Vec<(ThreadId, Vm)>>,
    /// Whoever asks for the names of a program mostly runs it next.
    read: Mutex<Vec<Read>>,
}

/// A machine at its start, but for a program that was read.
#[derive(Debug)]
struct Read {
    program: Program,
    forms: Value,
    vm: Vm,
}

/// Machines kept for reuse.
const MAX_IDLE: usize = 16;

/// Machines kept with a program that was read.
const MAX_READ: usize = 4;

impl Interpreter {
    /// The one interpreter of the process.
    pub fn shared() -> &'static Interpreter {
        static SHARED: LazyLock<Interpreter> = LazyLock::new(Interpreter::new);
        &SHARED
    }

    /// A new interpreter from the compiled system.
    pub fn new() -> Interpreter {
        let image = system::image().expect("the system was compiled and loaded when the crate was built");
        Interpreter { image: Arc::new(image), idle: Mutex::default(), read: Mutex::default() }
    }

    /// A machine at its start, with the limits and bindings of a run.
    pub(crate) fn machine(&self, options: &RunOptions) -> Result<Vm, Report> {
        let this = thread::current().id();
        let idle = self.idle.lock().ok().and_then(|mut list| {
            let own = list.iter().rposition(|(thread, _)| *thread == this);
            own.map(|at| list.swap_remove(at)).or_else(|| list.pop())
        });
        let mut vm = match idle {
            Some((_, mut vm)) => {
                vm.reset();
                vm
            }
            None => Vm::new(&self.image),
        };
        configure(&mut vm, options)?;
        Ok(vm)
    }

    /// The same with a program that was read: its forms.
    pub(crate) fn machine_for(
        &self,
        program: &Program,
        options: &RunOptions,
    ) -> Result<(Vm, Result<Value, Vec<Diagnostic>>), Report> {
        let read = self.read.lock().ok().and_then(|mut list| {
            let at = list.iter().rposition(|read| read.program == *program)?;
            Some(list.swap_remove(at))
        });
        if let Some(read) = read {
            let Read { forms, mut vm, .. } = read;
            configure(&mut vm, options)?;
            return Ok((vm, Ok(forms)));
        }
        let mut vm = self.machine(options)?;
        let forms = self::read(&mut vm, program, Origin::User);
        Ok((vm, forms))
    }

    /// Takes a machine back which read a program, and has done nothing since but to look at it.
    pub(crate) fn recycle_read(&self, program: &Program, forms: Value, read: &Moment, mut vm: Vm) {
        if *program.text == *system::EVALUATOR {
            // Reading it does more than that.
            return self.recycle(vm);
        }
        vm.reset_to(read);
        let read = Read { program: program.clone(), forms, vm };
        let too_old = self.read.lock().ok().and_then(|mut list| {
            list.push(read);
            (list.len() > MAX_READ).then(|| list.remove(0))
        });
        if let Some(read) = too_old {
            self.recycle(read.vm);
        }
    }

    /// Takes a machine back.
    pub(crate) fn recycle(&self, vm: Vm) {
        if let Ok(mut list) = self.idle.lock()
            && list.len() < MAX_IDLE
        {
            list.push((thread::current().id(), vm));
        }
    }

    /// Runs a program to its value.
    pub fn run(&self, program: &Program, options: &RunOptions) -> Result<Outcome, Report> {
        self.run_with(program, options, |vm| start(vm, program, options))
    }

    /// Runs `work` on a machine; errors are explained in terms of `program`.
    pub(crate) fn run_with(
        &self,
        program: &Program,
        options: &RunOptions,
        work: impl FnOnce(&mut Vm) -> Result<Value, Vec<Diagnostic>>,
    ) -> Result<Outcome, Report> {
        let mut vm = self.machine(options)?;
        let worked = work(&mut vm).and_then(|value| outcome(&vm, vm.world.fit(value)).map_err(|e| vec![*e]));
        let outcome = match worked {
            Ok(outcome) => Ok(outcome),
            Err(mut diagnostics) => {
                suggest::add_help(&vm, program, &mut diagnostics);
                let sources = vm.world.heap.sources.clone();
                let output = vm.world.output.text.clone();
                Err(Report { diagnostics, sources, output })
            }
        };
        self.recycle(vm);
        outcome
    }
}

impl Default for Interpreter {
    fn default() -> Self {
        Interpreter::new()
    }
}

/// Gives a machine the limits and bindings of a run.
fn configure(vm: &mut Vm, options: &RunOptions) -> Result<(), Report> {
    let limits = options.limits.for_levels(options.mode.levels());
    vm.configure(limits, options.cancel.clone(), options.seed);
    vm.world.choices = Choices::new(options.soft, options.seed);
    vm.world.numerics = options.numerics;
    for (name, datum) in &options.bindings {
        let value = datum.to_value(&mut vm.world.heap).ok_or_else(|| {
            Report::from(Diagnostic::error(ErrorCode::E0701, format!("{name} cannot be given this value")))
        })?;
        let value = vm.world.fit_all(value);
        bind(&mut vm.world, name, value);
    }
    Ok(())
}

/// What a run gave; an error if its time is over before its value is printed.
pub(crate) fn outcome(vm: &Vm, value: Value) -> Result<Outcome, Error> {
    let world = &vm.world;
    let show = |v| world.show(v);
    let text = match world.heap.as_kind(value, Kind::Values) {
        Some(r) => world.heap.fields(r).map(|v| world.written(v)).collect::<Vec<_>>().join("\n"),
        None => world.written(value),
    };
    let datum = Datum::from_value(&world.heap, value, &show);
    if world.heap.alarm.rang() {
        return Err(world.stopped());
    }
    let cut = text.len() > dmci_syntax::printer::Style::WRITE.limit;
    Ok(Outcome { value: datum, text, cut, output: world.output.text.clone() })
}

fn start(vm: &mut Vm, program: &Program, options: &RunOptions) -> Result<Value, Vec<Diagnostic>> {
    let forms = read(vm, program, Origin::User)?;
    run_forms(vm, forms, options)
}

/// Runs the forms of a program in the mode of the options.
pub(crate) fn run_forms(vm: &mut Vm, forms: Value, options: &RunOptions) -> Result<Value, Vec<Diagnostic>> {
    let forms = vm.world.fit_all(forms);
    match &options.mode {
        Mode::Direct | Mode::Tower(0) => {
            let given = given_names(vm, options);
            let code = compile_and_load(vm, forms, Origin::User, USER, &given)?;
            vm.run_code(code).map_err(|e| all_errors(vm, *e))
        }
        Mode::Dmci => evaluate(vm, forms, 1),
        Mode::Tower(levels) => evaluate(vm, forms, *levels),
        Mode::Evaluator { name, text } => {
            let evaluator = Program { name: name.clone(), text: text.clone() };
            with_evaluator(vm, &evaluator, forms, options).map_err(|mut errors| {
                errors.truncate(20);
                errors
            })
        }
    }
}

/// Gives a global name of the program a value from outside.
pub(crate) fn bind(world: &mut World, name: &str, value: Value) {
    let symbol = world.heap.symbols.intern(name);
    let cell = world.environments.cell(&mut world.heap, USER, symbol);
    if let Some(r) = cell.as_object() {
        world.heap.store(r, 0, value);
    }
    if let Some(environment) = world.environments.get_mut(USER) {
        environment.syntax.preset(symbol);
    }
}

/// Reads a program into the machine's heap: the list of its forms.
pub(crate) fn read(vm: &mut Vm, program: &Program, origin: Origin) -> Result<Value, Vec<Diagnostic>> {
    // The evaluator itself, shown or compiled like a program, may use the system's own names.
    if *program.text == *system::EVALUATOR
        && let Some(environment) = vm.world.environments.get_mut(USER)
        && origin == Origin::User
    {
        environment.syntax.reserved = None;
    }
    let heap = &mut vm.world.heap;
    let source = heap.sources.add(&program.name, &program.text, origin);
    Ok(reader::read_all(heap, source)?.forms)
}

pub(crate) fn given_names(vm: &mut Vm, options: &RunOptions) -> Vec<Symbol> {
    options.bindings.iter().map(|(name, _)| vm.world.heap.symbols.intern(name)).collect()
}

/// Expands forms in an environment of the machine.
pub(crate) fn expand_in(
    vm: &mut Vm,
    forms: Value,
    environment: EnvironmentId,
) -> Result<expand::Expansion, Vec<Diagnostic>> {
    let world = &mut vm.world;
    let table = &mut world.environments.get_mut(environment).ok_or_else(Vec::new)?.syntax;
    expand::expand_program(&mut world.heap, table, forms)
}

/// Compiles forms to a graph.
pub(crate) fn compile_in(
    vm: &mut Vm,
    expansion: &expand::Expansion,
    given: &[Symbol],
) -> Result<Graph, Vec<Diagnostic>> {
    let heap = &mut vm.world.heap;
    let depth = expansion.forms.iter().map(|&f| nesting_depth(heap, f)).max().unwrap_or(0);
    let options = Options { primitives: dmci_vm::prims::set(), system: false, open: false, given };
    deep::with_stack_for(depth, || dmci_compile::compile(heap, &expansion.forms, options)).map_err(|e| vec![*e])
}

fn compile_and_load(
    vm: &mut Vm,
    forms: Value,
    origin: Origin,
    environment: EnvironmentId,
    given: &[Symbol],
) -> Result<u32, Vec<Diagnostic>> {
    let expansion = expand_in(vm, forms, environment)?;
    let graph = compile_in(vm, &expansion, given)?;
    load(vm, &graph, origin, environment).map_err(|e| vec![*e])
}

/// Loads a graph, on a deep stack if it is large enough to be nested deeply.
pub(crate) fn load(vm: &mut Vm, graph: &Graph, origin: Origin, environment: EnvironmentId) -> Result<u32, Error> {
    let depth = if graph.node_count() > 1000 { graph.node_count() } else { 0 };
    deep::with_stack_for(depth, || vm.load(graph, origin, environment))
}

/// A procedure of the system.
pub(crate) fn system_procedure(vm: &Vm, name: &str) -> Result<Value, Vec<Diagnostic>> {
    let heap = &vm.world.heap;
    let cell = heap.symbols.find(name).and_then(|s| vm.world.environments.system_cell(s));
    cell.and_then(Value::as_object)
        .map(|r| heap.field(r, 0))
        .ok_or_else(|| vec![*Diagnostic::error(ErrorCode::E9901, format!("the system does not define {name}"))])
}

/// Runs forms through `levels` evaluators: the innermost is compiled, the others are data.
pub(crate) fn evaluate(vm: &mut Vm, forms: Value, levels: u32) -> Result<Value, Vec<Diagnostic>> {
    let evaluator = system_procedure(vm, "evaluate-program")?;
    let (forms, environment) = tower(vm, forms, levels)?;
    let environment = environment_object(&mut vm.world, environment);
    vm.call(evaluator, &[forms, environment]).map_err(|e| all_errors(vm, *e))
}

/// The forms that the compiled evaluator gets, and the environment they belong in.
pub(crate) fn tower(vm: &mut Vm, forms: Value, levels: u32) -> Result<(Value, EnvironmentId), Vec<Diagnostic>> {
    let mut forms = forms;
    let mut environment = USER;
    for _ in 1..levels {
        let text = Program::named("eval.scm", system::EVALUATOR);
        let evaluator = read(vm, &text, Origin::System)?;
        let heap = &mut vm.world.heap;
        let name = Value::symbol(heap.symbols.intern("evaluate-program"));
        let quote = Value::symbol(heap.symbols.intern("quote"));
        let quoted = heap.list(&[quote, forms]);
        let inner = heap.alloc(Kind::Environment, &[Value::fixnum(environment.0.into())]);
        let call = heap.list(&[name, quoted, inner]);
        let mut all = heap.list_items(evaluator).unwrap_or_default();
        all.push(call);
        forms = heap.list(&all);
        environment = system_environment(vm);
    }
    Ok((forms, environment))
}

/// A fresh environment whose programs may use the system's own names, as evaluators do.
fn system_environment(vm: &mut Vm) -> EnvironmentId {
    let environment = vm.world.environments.add();
    if let Some(environment) = vm.world.environments.get_mut(environment) {
        environment.syntax.reserved = None;
    }
    environment
}

/// Syntax errors that a run met are reported all at once, as reading and checking do.
fn all_errors(vm: &mut Vm, error: Diagnostic) -> Vec<Diagnostic> {
    let more = std::mem::take(&mut vm.world.syntax_errors);
    if !more.is_empty() && more[0] == error {
        return more;
    }
    vec![error]
}

/// Runs forms through an evaluator that the user wrote.
fn with_evaluator(
    vm: &mut Vm,
    evaluator: &Program,
    forms: Value,
    options: &RunOptions,
) -> Result<Value, Vec<Diagnostic>> {
    let environment = system_environment(vm);
    let text = read(vm, evaluator, Origin::User)?;
    let code = compile_and_load(vm, text, Origin::User, environment, &[])?;
    vm.run_code(code).map_err(|e| vec![*e])?;
    let world = &mut vm.world;
    let procedure = ["evaluate", "scheme-eval-program"].iter().find_map(|name| {
        let name = world.heap.symbols.find(name)?;
        let cell = world.environments.cell(&mut world.heap, environment, name);
        cell.as_object().map(|r| world.heap.field(r, 0)).filter(|&v| v != Value::UNBOUND)
    });
    let Some(procedure) = procedure else {
        let message = format!("{} defines neither evaluate nor scheme-eval-program", evaluator.name);
        return Err(vec![*Diagnostic::error(ErrorCode::E0301, message).help("define (evaluate forms env) in it")]);
    };
    let mut bindings = Vec::new();
    for (name, _) in &options.bindings {
        // What the name was bound to, which may be traced.
        let name = world.heap.symbols.intern(name);
        let cell = world.environments.cell(&mut world.heap, USER, name);
        let value = cell.as_object().map_or(Value::UNSPECIFIED, |r| world.heap.field(r, 0));
        bindings.push(world.heap.cons(Value::symbol(name), value));
    }
    let bindings = world.heap.list(&bindings);
    vm.call(procedure, &[forms, bindings]).map_err(|e| match e.code {
        ErrorCode::E0302 if e.labels.is_empty() => {
            vec![*e.help("it is called with the program's forms and an alist of bindings")]
        }
        _ => vec![*e],
    })
}
