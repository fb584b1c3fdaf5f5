//! The system: library and evaluator, compiled from `scheme/` when the crate is built.

use dmci_compile::graph::Graph;
use dmci_compile::lower::Options;
use dmci_data::{Diagnostic, Heap, Origin};
use dmci_syntax::expand::{SyntaxTable, expand_program, intern_keywords};
use dmci_syntax::reader;
use std::sync::Arc;

/// Compiles one unit of the system.
pub fn compile_unit(name: &str, text: &str) -> Result<Graph, Vec<Diagnostic>> {
    let mut heap = Heap::new();
    let mut table = SyntaxTable::new(Arc::new(intern_keywords(&mut heap)));
    for p in dmci_vm::prims::table() {
        heap.symbols.intern(p.name);
    }
    let source = heap.sources.add(name, text, Origin::System);
    let program = reader::read_all(&mut heap, source)?;
    let expansion = expand_program(&mut heap, &mut table, program.forms)?;
    let options = Options { primitives: dmci_vm::prims::set(), system: true, open: false, given: &[] };
    dmci_compile::compile(&mut heap, &expansion.forms, options).map_err(|e| vec![*e])
}
