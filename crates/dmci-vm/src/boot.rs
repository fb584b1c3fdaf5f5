//! Making an image: primitives first, then the library's units in order.

use crate::environment::{Environments, USER};
use crate::image::Image;
use crate::limits::{Cancel, Limits};
use crate::machine::{LoadedCode, Vm};
use crate::prims;
use dmci_compile::bytecode::{Code, Instr};
use dmci_compile::graph::Graph;
use dmci_compile::lower::Options;
use dmci_compile::ncg::Unit;
use dmci_syntax::expand::{SyntaxTable, expand_program, intern_keywords};
use dmci_syntax::reader;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Heap, Origin, Symbol, Value};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// An image with the primitives and nothing else: what library units are compiled against.
pub fn bare() -> Image {
    let mut heap = Heap::new();
    let syntax = SyntaxTable::new(Arc::new(intern_keywords(&mut heap)));
    let mut system: FxHashMap<Symbol, Value> = FxHashMap::default();
    for (i, p) in prims::table().iter().enumerate() {
        let name = heap.symbols.intern(p.name);
        let cell = heap.cell(Value::primitive(i as u32), name);
        system.insert(name, cell);
    }
    // Code 0 is the shell of `case-lambda` procedures; it is never run.
    let shell = Code {
        name: Some("case-lambda".into()),
        required: 0,
        rest: true,
        captures: 0,
        registers: 1,
        instrs: Box::new([Instr::Return { s: 0 }]),
        places: Box::new([]),
        meetings: Box::new([]),
        labels: Box::new([]),
    };
    Image {
        heap: heap.into_image(),
        system: Arc::new(system),
        syntax,
        codes: vec![Arc::new(LoadedCode { code: shell, user: false })],
        constants: Vec::new(),
        sites: Vec::new(),
        procedure_names: vec![None],
        raise_error: Value::FALSE,
    }
}

/// Compiles one unit of the library.
pub fn compile_unit(name: &str, text: &str) -> Result<Unit, Vec<Diagnostic>> {
    let mut heap = Heap::new();
    let mut table = SyntaxTable::new(Arc::new(intern_keywords(&mut heap)));
    for p in prims::table() {
        heap.symbols.intern(p.name);
    }
    let source = heap.sources.add(name, text, Origin::System);
    let program = reader::read_all(&mut heap, source)?;
    let expansion = expand_program(&mut heap, &mut table, program.forms)?;
    let options = Options { primitives: prims::set(), system: true, open: false, given: &[] };
    let graph = dmci_compile::compile(&mut heap, &expansion.forms, options).map_err(|e| vec![*e])?;
    // The library's own places are never shown.
    let graph = Graph { places: Vec::new(), ..graph };
    Ok(Unit { name: name.into(), graph, ..Unit::default() })
}

/// Runs the library's units on top of the primitives and freezes the result.
pub fn image(units: &[Graph]) -> Result<Image, Error> {
    let bare = Arc::new(bare());
    let mut vm = Vm::new(&bare);
    vm.configure(Limits::default(), Cancel::default(), 0);
    let mut before_evaluator = Vec::new();
    for unit in units {
        before_evaluator = vm.world.environments.user_cells();
        // What earlier units defined belongs to the system for later ones.
        let code = vm.load(unit, Origin::System, USER)?;
        vm.run_code(code)?;
    }
    // The last unit is the evaluator: programs see only its two entry points.
    let mut cells = before_evaluator;
    for (name, cell) in vm.world.environments.user_cells() {
        if EVALUATOR_NAMES.contains(&vm.world.heap.symbols.name(name)) {
            cells.push((name, cell));
        }
    }
    vm.into_image(cells)
}

/// What programs may call of the evaluator.
const EVALUATOR_NAMES: [&str; 2] = ["eval", "evaluate-program"];

impl Vm {
    fn into_image(mut self, cells: Vec<(Symbol, Value)>) -> Result<Image, Error> {
        let mut system = (*self.image().system).clone();
        system.extend(cells);
        let raise = self.world.heap.symbols.find("%raise-error").and_then(|s| system.get(&s).copied());
        let raise_error = raise
            .and_then(Value::as_object)
            .map(|cell| self.world.heap.field(cell, 0))
            .ok_or_else(|| Diagnostic::error(ErrorCode::E9901, "the library does not define %raise-error"))?;
        let mut syntax = self.image().syntax.clone();
        let reserved = system.keys().filter(|&&s| self.world.heap.symbols.name(s).starts_with('%')).copied().collect();
        syntax.reserved = Some(Arc::new(reserved));
        Ok(Image {
            heap: std::mem::take(&mut self.world.heap).into_image(),
            syntax,
            system: Arc::new(system),
            codes: self.codes,
            constants: self.constants,
            sites: self.sites,
            procedure_names: self.world.procedure_names,
            raise_error,
        })
    }
}

impl Environments {
    fn user_cells(&mut self) -> Vec<(Symbol, Value)> {
        self.get_mut(USER).map(|e| e.cells().collect()).unwrap_or_default()
    }
}
