//! Compiled programs: `.ncg` files in and out.

use crate::interpreter::{self, Failure, Interpreter, Outcome, RunOptions};
use crate::mode::Mode;
use crate::program::Program;
use crate::report::Report;
use dmci_compile::constant::Constant;
use dmci_compile::ncg::{self, Unit};
use dmci_data::{Diagnostic, Origin, SpanId};
use dmci_vm::environment::USER;
use dmci_vm::{Vm, prims};

/// A compiled program.
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
        ncg::decode(bytes, prims::set()).map(|unit| Compiled { unit }).map_err(|e| Report::of(*e))
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
        unit.map(|unit| Compiled { unit }).map_err(|diagnostics| Report { diagnostics, sources })
    }

    /// Runs a compiled program: its graph as it is in direct mode, its source as data otherwise.
    /// Names given from outside may change what the graph assumed, so then the source is used too.
    pub fn run_compiled(&self, compiled: &Compiled, options: &RunOptions) -> Result<Outcome, Box<Failure>> {
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
    // Sources are numbered by the machine; in a file there is only one.
    graph.places.iter_mut().for_each(|place| place.source = dmci_data::SourceId(0));
    let heap = &vm.world.heap;
    let core =
        expansion.forms.iter().map(|&form| Constant::from_value(heap, form, &mut |_| SpanId(0))).collect::<Option<_>>();
    Ok(Unit { name: program.name.to_string(), source: program.text.to_string(), core: core.unwrap_or_default(), graph })
}
