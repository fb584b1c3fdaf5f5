//! The compiler: core forms to ANF to ComputeGraph to bytecode, and the `.ncg` file format.
//!
//! **Invariant:** the compiler never runs code and knows no value of a variable; everything it
//! assumes about names comes in through [`lower::Options`].

pub mod anf;
pub mod bytecode;
pub mod codegen;
pub mod constant;
pub mod contify;
pub mod core;
pub mod graph;
mod liveness;
pub mod lower;
pub mod ncg;
pub mod primitives;
pub mod verify;

use dmci_value::{Error, Heap, Value};
use graph::Graph;

/// Compiles the core forms of a program.
pub fn compile(heap: &mut Heap, forms: &[Value], options: lower::Options<'_>) -> Result<Graph, Error> {
    let core = core::parse(heap, forms)?;
    let anf = anf::normalize(heap, &core);
    heap.look()?;
    let graph = lower::lower(heap, &anf, options)?;
    heap.look()?;
    Ok(graph)
}
