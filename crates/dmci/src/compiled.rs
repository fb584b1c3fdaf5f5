//! Compiled programs: `.ncg` files in and out.

use crate::interpreter::{self, Interpreter, Outcome, RunOptions};
use crate::mode::Mode;
use crate::program::Program;
use crate::report::Report;
use dmci_compile::constant::Constant;
use dmci_compile::ncg::{self, Unit};
use dmci_value::{Diagnostic, Heap, Origin, PairSpan, SpanId, Value};
use dmci_vm::environment::USER;
use dmci_vm::{Vm, prims};
use rustc_hash::FxHashMap;

/// A compiled program.
///
/// ```
/// use dmci::{Compiled, Interpreter, Program, RunOptions};
///
/// let interpreter = Interpreter::shared();
/// let bytes = interpreter.compile(&Program::new("(+ 1 2)"))?.to_bytes();
/// let compiled = Compiled::from_bytes(&bytes)?;
/// assert_eq!(interpreter.run_compiled(&compiled, &RunOptions::default())?.text, "3");
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Compiled {
    unit: Unit,
}

impl Compiled {
    /// Whether bytes look like a `.ncg` file.
    pub fn is_compiled(bytes: &[u8]) -> bool {
        ncg::is_ncg(bytes)
    }

    /// Reads the bytes of a `.ncg` file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Compiled, Report> {
        ncg::decode(bytes, prims::set()).map(|unit| Compiled { unit }).map_err(Report::from)
    }

    /// The bytes of a `.ncg` file: the same for the same program.
    pub fn to_bytes(&self) -> Vec<u8> {
        ncg::encode(&self.unit)
    }

    /// The program it was compiled from.
    pub fn program(&self) -> Program {
        Program::named(&self.unit.name, &self.unit.source)
    }

    /// Name, source, core forms and graph.
    pub fn unit(&self) -> &Unit {
        &self.unit
    }
}

impl Interpreter {
    /// Compiles a program.
    pub fn compile(&self, program: &Program) -> Result<Compiled, Report> {
        let mut vm = self.machine(&RunOptions::default())?;
        let unit = compile(&mut vm, program);
        let sources = vm.world.heap.sources.clone();
        self.recycle(vm);
        unit.map(|unit| Compiled { unit }).map_err(|diagnostics| Report::new(diagnostics, sources))
    }

    /// Runs a compiled program: its graph as it is in direct mode, its source as data otherwise.
    /// Names given from outside may change what the graph assumed, so then the source is used too.
    pub fn run_compiled(&self, compiled: &Compiled, options: &RunOptions) -> Result<Outcome, Report> {
        let direct = matches!(options.mode, Mode::Direct | Mode::Tower(0));
        if !direct || !options.bindings.is_empty() {
            return self.run(&compiled.program(), options);
        }
        self.run_with(&compiled.program(), options, |vm| {
            let unit = &compiled.unit;
            let source = vm.world.heap.sources.add(&unit.name, &unit.source, Origin::User);
            let mut graph = unit.graph.clone();
            graph.places.iter_mut().for_each(|place| place.source = source);
            let code = interpreter::load(vm, &graph, Origin::User, USER).map_err(|e| vec![*e])?;
            vm.run_code(code).map_err(|e| vec![*e])
        })
    }
}

fn compile(vm: &mut Vm, program: &Program) -> Result<Unit, Vec<Diagnostic>> {
    let forms = interpreter::read(vm, program, Origin::User)?;
    let expansion = interpreter::expand_in(vm, forms, USER)?;
    let mut graph = interpreter::compile_in(vm, &expansion, &[])?;
    let heap = &vm.world.heap;
    let core = core_with_places(heap, &expansion.forms, &mut graph.places);
    // Sources are numbered by the machine; in a file there is only one.
    graph.places.iter_mut().for_each(|place| place.source = dmci_value::SourceId(0));
    Ok(Unit { name: program.name.to_string(), source: program.text.to_string(), core, graph })
}

/// Core forms as data whose pairs know their places, which are added to those of the graph.
fn core_with_places(heap: &Heap, forms: &[Value], places: &mut Vec<PairSpan>) -> Vec<Constant> {
    let ends = |span: &PairSpan| (span.form, span.car);
    let mut known: FxHashMap<_, SpanId> = FxHashMap::default();
    known.extend(places.iter().zip(1..).map(|(span, id)| (ends(span), SpanId(id))));
    let mut place = |id: SpanId| match heap.spans.get(id) {
        Some(span) => *known.entry(ends(&span)).or_insert_with(|| {
            places.push(span);
            SpanId(places.len() as u32)
        }),
        None => SpanId(0),
    };
    let core = forms.iter().map(|&form| Constant::from_value(heap, form, &mut place)).collect::<Option<_>>();
    core.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every list with the text of its first pair's place.
    fn lists(c: &Constant, unit: &Unit, found: &mut Vec<(String, String)>) {
        if let Constant::List(items, _, places) = c {
            let span = places.first().and_then(|id| unit.graph.places.get((id.0 as usize).wrapping_sub(1)));
            let text = span.map_or("", |s| &unit.source[s.form.0 as usize..s.form.1 as usize]);
            found.push((c.to_string(), text.to_string()));
            items.iter().for_each(|item| lists(item, unit, found));
        }
    }

    #[test]
    fn core_forms_keep_their_places_in_files() {
        let program = Program::new("(define (f x)\n  (let ((y (* x 2.5))) (+ y '(1 2))))\n(f 3)");
        let bytes = Interpreter::shared().compile(&program).expect("it compiles").to_bytes();
        let unit = Compiled::from_bytes(&bytes).expect("it is valid").unit;
        let mut found = Vec::new();
        unit.core.iter().for_each(|form| lists(form, &unit, &mut found));
        let place = |core: &str| found.iter().find(|f| f.0 == core).map(|f| f.1.as_str());
        assert_eq!(place("(* x 2.5)"), Some("(* x 2.5)"));
        assert_eq!(place("(+ y (quote (1 2)))"), Some("(+ y '(1 2))"));
        assert_eq!(place("(f 3)"), Some("(f 3)"));
        assert!(found.iter().any(|f| f.1.starts_with("(let ((y")), "{found:?}");
        assert!(unit.graph.places.iter().all(|place| place.source.0 == 0));
    }
}
