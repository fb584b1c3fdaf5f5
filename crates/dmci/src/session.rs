//! Sessions: one machine that keeps what was defined from entry to entry, as a REPL needs it.

use crate::interpreter::{self, Interpreter, Outcome, RunOptions};
use crate::mode::Mode;
use crate::program::Program;
use crate::report::Report;
use crate::suggest;
use dmci_compile::lower::Options;
use dmci_syntax::expand::nesting_depth;
use dmci_syntax::reader;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Origin, Symbol, Value};
use dmci_vm::environment::USER;
use dmci_vm::{Reason, Vm, deep, prims};

/// A machine that keeps its definitions.
///
/// ```
/// use dmci::{Interpreter, RunOptions, Session};
///
/// let mut session = Session::new(Interpreter::shared(), RunOptions::default()).expect("it starts");
/// session.evaluate("(define x 20)").expect("a definition");
/// assert!(session.evaluate("(car x)").is_err());
/// assert_eq!(session.evaluate("(+ x 1)").expect("x is still there").text, "21");
/// ```
#[derive(Debug)]
pub struct Session {
    vm: Vm,
    options: RunOptions,
    entries: usize,
}

impl Session {
    /// A session with its own machine; every entry gets the limits anew.
    pub fn new(interpreter: &Interpreter, options: RunOptions) -> Result<Session, Report> {
        keeps_definitions(&options.mode)?;
        let vm = interpreter.machine(&options)?;
        Ok(Session { vm, options, entries: 0 })
    }

    /// The mode in which the next entry is evaluated.
    pub fn mode(&self) -> &Mode {
        &self.options.mode
    }

    /// Changes the mode for the entries that follow; definitions stay.
    pub fn set_mode(&mut self, mode: Mode) -> Result<(), Report> {
        keeps_definitions(&mode)?;
        self.options.mode = mode;
        Ok(())
    }

    /// Whether more text could complete an entry: something is open at its end.
    pub fn is_incomplete(text: &str) -> bool {
        reader::is_incomplete(text)
    }

    /// Names that an entry may use: variables with a value, and keywords.
    pub fn names(&mut self) -> Vec<String> {
        let world = &mut self.vm.world;
        let symbols = &world.heap.symbols;
        let mut names: Vec<String> =
            world.environments.bound_names(&world.heap).iter().map(|&s| symbols.name(s).to_string()).collect();
        if let Some(user) = world.environments.get_mut(USER) {
            let syntax = (0..symbols.len() as u32).map(Symbol).filter(|&s| user.syntax.is_syntax(s));
            names.extend(syntax.map(|s| symbols.name(s).to_string()));
        }
        names.retain(|name| !name.starts_with('%'));
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Evaluates one entry: any number of forms. Whatever goes wrong, the session can go on.
    pub fn evaluate(&mut self, text: &str) -> Result<Outcome, Report> {
        self.entries += 1;
        let program = Program::named(&format!("<entry {}>", self.entries), text);
        self.make_ready();
        let value = self.start(&program);
        match value.and_then(|value| interpreter::outcome(&self.vm, value).map_err(|e| vec![*e])) {
            Ok(outcome) => Ok(outcome),
            Err(mut diagnostics) => {
                suggest::add_help(&self.vm, &program, &mut diagnostics);
                let world = &self.vm.world;
                let output = world.output.text.clone();
                Err(Report { diagnostics, sources: world.heap.sources.clone(), output })
            }
        }
    }

    /// Fresh limits, and nothing left over from an entry that failed half-way.
    fn make_ready(&mut self) {
        let limits = self.options.limits.for_levels(self.options.mode.levels());
        let random = self.vm.world.random;
        // What an entry before held has been given back.
        self.options.cancel.lower(Reason::Memory);
        self.vm.configure(limits, self.options.cancel.clone(), random);
        let world = &mut self.vm.world;
        world.numerics = self.options.numerics;
        world.output.text.clear();
        world.handlers = Value::NIL;
        world.winders = Value::NIL;
        world.error_place = None;
        world.syntax_errors.clear();
    }

    fn start(&mut self, program: &Program) -> Result<Value, Vec<Diagnostic>> {
        let vm = &mut self.vm;
        let forms = interpreter::read(vm, program, Origin::User)?;
        let forms = vm.world.fit_all(forms);
        match &self.options.mode {
            Mode::Direct | Mode::Tower(0) => direct(vm, forms),
            Mode::Dmci => interpreter::evaluate(vm, forms, 1),
            Mode::Tower(levels) => interpreter::evaluate(vm, forms, *levels),
            Mode::Evaluator { .. } => Err(keeps_definitions(&self.options.mode).err().unwrap_or_default().diagnostics),
        }
    }
}

/// An evaluator of the user's gets a whole program at once.
fn keeps_definitions(mode: &Mode) -> Result<(), Report> {
    match mode {
        Mode::Evaluator { .. } => {
            let message = format!("the mode {mode} keeps no definitions, so a session cannot use it");
            Err(Report::from(Diagnostic::error(ErrorCode::E0910, message).help("use direct, dmci or tower:2")))
        }
        _ => Ok(()),
    }
}

/// Compiles and runs forms whose names later entries may redefine.
fn direct(vm: &mut Vm, forms: Value) -> Result<Value, Vec<Diagnostic>> {
    let expansion = interpreter::expand_in(vm, forms, USER)?;
    let heap = &mut vm.world.heap;
    let depth = expansion.forms.iter().map(|&f| nesting_depth(heap, f)).max().unwrap_or(0);
    let options = Options { primitives: prims::set(), system: false, open: true, given: &[] };
    let graph =
        deep::with_stack_for(depth, || dmci_compile::compile(heap, &expansion.forms, options)).map_err(|e| vec![*e])?;
    let code = interpreter::load(vm, &graph, Origin::User, USER).map_err(|e| vec![*e])?;
    vm.run_code(code).map_err(|e| vec![*e])
}

#[cfg(test)]
mod tests {
    use super::*;
    use dmci_vm::{Cancel, Limits};

    fn session(mode: Mode) -> Session {
        let limits = Limits { fuel: 3_000_000, heap: 32 << 20, depth: 2000, ..Limits::default() };
        Session::new(Interpreter::shared(), RunOptions { mode, limits, ..RunOptions::default() }).unwrap()
    }

    fn text(session: &mut Session, entry: &str) -> String {
        session.evaluate(entry).map_or_else(|f| f.diagnostics[0].code.to_string(), |o| o.text)
    }

    #[test]
    fn definitions_macros_and_redefinitions_persist_in_every_mode() {
        for mode in [Mode::Direct, Mode::Dmci, Mode::Tower(2)] {
            let mut s = session(mode);
            text(&mut s, "(define (f x) (* 2 (g x)))");
            assert_eq!(text(&mut s, "(f 1)"), "E0301");
            text(&mut s, "(define (g x) (+ x 1))");
            assert_eq!(text(&mut s, "(f 1)"), "4");
            text(&mut s, "(define (g x) (+ x 10))");
            assert_eq!(text(&mut s, "(f 1)"), "22");
            text(&mut s, "(define-syntax twice (syntax-rules () ((_ e) (begin e e))))");
            assert_eq!(s.evaluate("(twice (display 7))").unwrap().output, "77");
            text(&mut s, "(define (car x) 'mine)");
            assert_eq!(text(&mut s, "(car '(1))"), "mine");
            text(&mut s, "(define k #f) (define n 0)");
            assert_eq!(text(&mut s, "(+ 1 (call/cc (lambda (c) (set! k c) 1)))"), "2");
            assert_eq!(text(&mut s, "(set! n (+ n 1)) n"), "1");
        }
    }

    #[test]
    fn a_limit_or_a_cancel_leaves_the_session_usable() {
        let cancel = Cancel::default();
        let mut s = session(Mode::Dmci);
        s.options.cancel = cancel.clone();
        text(&mut s, "(define x 5) (define (deep n) (+ 1 (deep n)))");
        assert_eq!(text(&mut s, "(let loop () (loop))"), "E0401");
        assert_eq!(text(&mut s, "(deep 0)"), "E0403");
        assert_eq!(text(&mut s, "(let grow ((l '())) (grow (cons (make-vector 1000 l) l)))"), "E0402");
        assert_eq!(text(&mut s, "(vector-length (make-vector 1000000 x))"), "1000000");
        cancel.cancel();
        assert_eq!(text(&mut s, "(let loop ((i 0)) (if (< i 500000) (loop (+ i 1)) i))"), "E0409");
        cancel.reset();
        assert_eq!(text(&mut s, "(dynamic-wind (lambda () 0) (lambda () (car x)) (lambda () 0))"), "E0303");
        assert_eq!(text(&mut s, "(guard (e (#t 'caught)) (raise 'oops))"), "caught");
        assert_eq!(text(&mut s, "x"), "5");
    }

    #[test]
    fn names_for_completion_are_variables_and_keywords() {
        let mut s = session(Mode::Dmci);
        text(&mut s, "(define velocity 3)");
        let names = s.names();
        for name in ["velocity", "vector-ref", "define-record-type", "let*"] {
            assert!(names.iter().any(|n| n == name), "{name}");
        }
        assert!(names.iter().all(|n| !n.starts_with('%')));
    }
}
