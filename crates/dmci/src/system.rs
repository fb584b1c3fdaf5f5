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

/// The evaluator's text: what a tower runs as data.
pub const EVALUATOR: &str = include_str!("../../../scheme/eval.scm");

/// The units of the system, in order of loading.
pub const UNITS: &[(&str, &str)] = &[
    ("core.scm", include_str!("../../../scheme/lib/core.scm")),
    ("lists.scm", include_str!("../../../scheme/lib/lists.scm")),
    ("control.scm", include_str!("../../../scheme/lib/control.scm")),
    ("vectors.scm", include_str!("../../../scheme/lib/vectors.scm")),
    ("sort.scm", include_str!("../../../scheme/lib/sort.scm")),
    ("hash-tables.scm", include_str!("../../../scheme/lib/hash-tables.scm")),
    ("io.scm", include_str!("../../../scheme/lib/io.scm")),
    ("streams.scm", include_str!("../../../scheme/lib/streams.scm")),
    ("eval.scm", EVALUATOR),
];

/// Loads the system.
pub fn image() -> Result<dmci_vm::Image, Vec<Diagnostic>> {
    let units = UNITS.iter().map(|(name, text)| compile_unit(name, text)).collect::<Result<Vec<_>, _>>()?;
    dmci_vm::boot::image(&units).map_err(|e| vec![*e])
}
