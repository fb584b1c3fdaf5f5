//! The stages of a program on its way to the machine, as text, and their sizes.

use crate::compiled::Compiled;
use crate::interpreter::{self, Interpreter, RunOptions};
use crate::program::Program;
use crate::report::Report;
use dmci_compile::{anf, codegen, core};
use dmci_syntax::expand::nesting_depth;
use dmci_syntax::{printer, reader};
use dmci_value::{Diagnostic, Error, Heap, Origin};
use dmci_vm::environment::USER;
use dmci_vm::{Vm, deep, prims};
use std::time::{Duration, Instant};

/// A stage that can be shown.
///
/// ```
/// use dmci::{Interpreter, Program, Stage};
///
/// let compiled = Interpreter::shared().compile(&Program::new("(let ((x 1)) (+ x 2))"))?;
/// assert_eq!(compiled.stage(Stage::Core)?.trim(), "((lambda (x) (+ x 2)) 1)");
/// assert_eq!(Stage::ALL.map(|(name, _)| name), ["core", "anf", "graph", "bytecode"]);
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Core forms: what the expander makes and the evaluator evaluates.
    Core,
    /// A-normal form: every intermediate value has a name.
    Anf,
    /// The ComputeGraph: closure-converted functions of typed nodes.
    Graph,
    /// What the machine runs.
    Bytecode,
}

impl Stage {
    /// All stages, in order, with their names.
    pub const ALL: [(&str, Stage); 4] =
        [("core", Stage::Core), ("anf", Stage::Anf), ("graph", Stage::Graph), ("bytecode", Stage::Bytecode)];
}

/// How large a compiled program is.
///
/// ```
/// use dmci::{Interpreter, Program, Sizes};
///
/// let compiled = Interpreter::shared().compile(&Program::new("(define (f x) x) (f 1)"))?;
/// let sizes: Sizes = compiled.sizes()?;
/// assert_eq!((sizes.forms, sizes.functions), (2, 2));
/// assert_eq!(sizes.bytes, compiled.to_bytes().len());
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Sizes {
    /// Top-level core forms.
    pub forms: usize,
    /// Functions of the graph, the program itself included.
    pub functions: usize,
    /// Nodes of the graph.
    pub nodes: usize,
    /// Constants.
    pub constants: usize,
    /// Bytecode instructions.
    pub instructions: usize,
    /// Bytes of the `.ncg` file.
    pub bytes: usize,
}

impl Compiled {
    /// The text form of a stage.
    pub fn stage(&self, stage: Stage) -> Result<String, Report> {
        match stage {
            Stage::Core => Ok(deep::with_stack_for(reader::DEPTH_LIMIT, || self.core())),
            Stage::Anf => Interpreter::shared().anf(&self.program()),
            Stage::Graph => Ok(self.on_stack(|| self.unit().graph.print())),
            Stage::Bytecode => self.bytecode().map(|code| code.print()).map_err(Report::from),
        }
    }

    /// Its sizes.
    pub fn sizes(&self) -> Result<Sizes, Report> {
        let unit = self.unit();
        let bytecode = self.bytecode().map_err(Report::from)?;
        Ok(Sizes {
            forms: unit.core.len(),
            functions: unit.graph.functions.len(),
            nodes: unit.graph.node_count(),
            constants: unit.graph.constants.len(),
            instructions: bytecode.codes.iter().map(|code| code.instrs.len()).sum(),
            bytes: self.to_bytes().len(),
        })
    }

    fn core(&self) -> String {
        let mut heap = Heap::new();
        let forms = self.unit().core.iter().map(|form| form.to_value(&mut heap, &|place| place)).collect::<Vec<_>>();
        forms.into_iter().map(|form| printer::write(&heap, form) + "\n").collect()
    }

    fn bytecode(&self) -> Result<dmci_compile::bytecode::Bytecode, Error> {
        self.on_stack(|| codegen::generate(&self.unit().graph, prims::set()))
    }

    /// A large graph may be nested deeply.
    fn on_stack<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let nodes = self.unit().graph.node_count();
        deep::with_stack_for(if nodes > 1000 { nodes } else { 0 }, work)
    }
}

impl Interpreter {
    /// Compiles a program and says how long it took, from text to graph.
    pub fn compile_timed(&self, program: &Program) -> Result<(Compiled, Duration), Report> {
        let start = Instant::now();
        let compiled = self.compile(program)?;
        Ok((compiled, start.elapsed()))
    }

    /// A-normal form is not kept in compiled programs, so it is made again.
    fn anf(&self, program: &Program) -> Result<String, Report> {
        let mut vm = self.machine(&RunOptions::default())?;
        let text = anf_text(&mut vm, program);
        let sources = vm.world.heap.sources.clone();
        self.recycle(vm);
        text.map_err(|diagnostics| Report::new(diagnostics, sources))
    }
}

fn anf_text(vm: &mut Vm, program: &Program) -> Result<String, Vec<Diagnostic>> {
    let forms = interpreter::read(vm, program, Origin::User)?;
    let expansion = interpreter::expand_in(vm, forms, USER)?;
    let heap = &mut vm.world.heap;
    let depth = expansion.forms.iter().map(|&f| nesting_depth(heap, f)).max().unwrap_or(0);
    deep::with_stack_for(depth, || {
        let core = core::parse(heap, &expansion.forms)?;
        let anf = anf::normalize(heap, &core);
        Ok(anf::print(heap, &anf))
    })
    .map_err(|e: Error| vec![*e])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_has_a_text() {
        let program = Program::new("(define (twice x) (* 2 x)) (twice (twice 5))");
        let (compiled, _) = Interpreter::shared().compile_timed(&program).unwrap();
        for (name, stage) in Stage::ALL {
            assert!(compiled.stage(stage).unwrap().contains("twice"), "{name}");
        }
        let sizes = compiled.sizes().unwrap();
        assert_eq!((sizes.forms, sizes.functions), (2, 2));
        assert!(sizes.nodes > 4 && sizes.instructions > 4 && sizes.bytes > 100);
    }
}
