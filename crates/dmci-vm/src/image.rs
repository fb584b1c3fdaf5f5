//! The image: library and evaluator, loaded once and copied into every machine.

use crate::machine::LoadedCode;
use dmci_compile::bytecode::ClosureSite;
use dmci_syntax::expand::SyntaxTable;
use dmci_value::{HeapImage, Symbol, Value};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A prepared machine.
#[derive(Debug)]
pub struct Image {
    pub(crate) heap: HeapImage,
    pub(crate) system: Arc<FxHashMap<Symbol, Value>>,
    pub(crate) syntax: SyntaxTable,
    pub(crate) codes: Vec<Arc<LoadedCode>>,
    pub(crate) constants: Vec<Value>,
    pub(crate) sites: Vec<ClosureSite>,
    pub(crate) procedure_names: Vec<Option<Arc<str>>>,
    /// Prelude procedure that delivers errors to handlers.
    pub(crate) raise_error: Value,
}
