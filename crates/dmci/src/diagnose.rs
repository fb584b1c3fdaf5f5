//! Why a value or a derivative is not finite, and why a derivative is zero.
//!
//! The program is walked once more, and this time every operation is given its place in the text.

use crate::gradient::{self, GradOptions};
use crate::interpreter::Interpreter;
use crate::program::Program;
use crate::report::Report;
use dmci_ops::{Shape, Type};
use dmci_tape::{Node, NodeId, Recorder};
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Heap, Span, SpanId};
use dmci_vm::Vm;
use dmci_vm::traced::procedure_name;

impl Interpreter {
    /// Warnings about a program that runs: the first value and the first derivative that are not
    /// finite, with the operation that made them, and parameters whose derivative is zero, with the
    /// reason.
    pub fn diagnose(&self, program: &Program, options: &GradOptions) -> Result<Report, Report> {
        let mut vm = self.machine(&options.run)?;
        vm.world.explain();
        let diagnostics = examine(&mut vm, program, options);
        let sources = vm.world.heap.sources.clone();
        self.recycle(vm);
        match diagnostics {
            Ok(diagnostics) => Ok(Report::new(diagnostics, sources)),
            Err(diagnostics) => Err(Report::new(diagnostics, sources)),
        }
    }
}

fn examine(vm: &mut Vm, program: &Program, options: &GradOptions) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let (value, parameters) = gradient::record(vm, program, options)?;
    let (leaves, names) = gradient::leaves(&parameters);
    let output = vm.world.node_of(value);
    let Some(recording) = &mut vm.world.recording else { return Ok(Vec::new()) };
    let recorder = &mut recording.recorder;
    let forward = recorder.len();
    let mut warnings = Vec::new();
    let flat = output.map_or(vec![0.0; names.len()], |output| dmci_tape::adjoints(recorder, output, &leaves));
    let mut number = 0;
    for &leaf in &leaves {
        let elements = number..number + recorder.shape(leaf).len();
        number = elements.end;
        // A tensor is one leaf: its elements have the same reason.
        if let Some(first) = elements.into_iter().find(|&i| flat[i] == 0.0) {
            warnings.push(*zero(&vm.world.heap, recorder, leaf, output, &names[first]));
        }
    }
    if let Some(output) = output {
        dmci_tape::gradient(recorder, output, &leaves);
    }
    let value = first_non_finite(recorder, 0..forward);
    // Where a value is lost, derivatives are lost too, and it says nothing new.
    let adjoint = if value.is_none() { first_non_finite(recorder, forward..recorder.len()) } else { None };
    let heap = &vm.world.heap;
    warnings.extend(value.map(|node| *non_finite(heap, recorder, node, ErrorCode::W0501, "gives")));
    warnings.extend(adjoint.map(|node| *non_finite(heap, recorder, node, ErrorCode::W0502, "in the derivative gives")));
    Ok(warnings)
}

/// The place of a node in the text.
fn place(heap: &Heap, recorder: &Recorder, node: NodeId) -> Option<Span> {
    heap.spans.get(SpanId(recorder.place_of(node))).map(|span| span.form())
}

fn at(error: Error, span: Option<Span>, text: &str) -> Error {
    match span {
        Some(span) => error.at_with(span, text),
        None => error,
    }
}

fn reals(recorder: &Recorder, node: NodeId) -> impl Iterator<Item = f64> {
    let real = recorder.tape().type_of(node) == Type::Real;
    recorder.elements(node).iter().filter(move |_| real).map(|&bits| f64::from_bits(bits))
}

/// The first operation whose result is not finite although its operands are.
fn first_non_finite(recorder: &Recorder, range: std::ops::Range<usize>) -> Option<NodeId> {
    range.map(|i| NodeId(i as u32)).find(|&node| {
        let operands = recorder.tape().operands(node.0 as usize);
        !operands.is_empty()
            && reals(recorder, node).any(|x| !x.is_finite())
            && operands.iter().all(|&a| reals(recorder, a).all(f64::is_finite))
    })
}

fn non_finite(heap: &Heap, recorder: &Recorder, node: NodeId, code: ErrorCode, gives: &str) -> Error {
    let tape = recorder.tape();
    let text = tape.describe(node);
    let name = match tape.nodes[node.0 as usize] {
        Node::Op(op, _) => procedure_name(op),
        _ => text.split(' ').next().unwrap_or("operation"),
    };
    let shown = |id: NodeId| match recorder.shape(id) {
        Shape::Scalar => format!("{}", recorder.value(id)),
        shape => format!("a tensor of {shape}"),
    };
    let operands: Vec<String> = tape.operands(node.0 as usize).iter().map(|&a| shown(a)).collect();
    let message = format!("{name} of {} {gives} {}", operands.join(" and "), shown(node));
    let help = "keep the operands inside of the domain, for example with max, or by another parametrisation";
    at(Diagnostic::warning(code, message), place(heap, recorder, node), "here").help(help)
}

/// Why the derivative by a leaf is zero.
fn zero(heap: &Heap, recorder: &Recorder, leaf: NodeId, output: Option<NodeId>, name: &str) -> Error {
    let tape = recorder.tape();
    let mut depends = vec![false; tape.nodes.len()];
    depends[leaf.0 as usize] = true;
    for i in leaf.0 as usize + 1..tape.nodes.len() {
        depends[i] = tape.operands(i).iter().any(|a| depends[a.0 as usize]);
    }
    let warning =
        |text: String| Diagnostic::warning(ErrorCode::W0503, format!("the derivative by {name} is zero: {text}"));
    if output.is_some_and(|output| depends[output.0 as usize]) {
        return warning("at this point the result does not change with it".into())
            .help("look at another point; rounding, a saturated function or a product with zero can do this");
    }
    let user = (leaf.0 as usize + 1..tape.nodes.len()).find(|&i| depends[i]);
    let Some(user) = user else {
        return warning("the program never computes with it".into()).help("remove it, or use it");
    };
    if let Some(guard) = tape.guards.iter().find(|g| depends[g.node.0 as usize]) {
        let span = place(heap, recorder, guard.node);
        let line =
            span.map_or(String::new(), |s| format!(" at line {}", heap.sources.line_col(s.source, s.start).line));
        let why = if guard.pinned { "it only chooses what happens" } else { "it occurs only in the test" };
        let warning = at(warning(format!("{why}{line}")), span, "decided here");
        return warning
            .help("a decision has no derivative: smooth it, for example with sigmoid, or fit without derivatives");
    }
    let span = place(heap, recorder, NodeId(user as u32));
    at(warning("nothing that it changes reaches the result".into()), span, "used here")
        .help("what is computed here is not part of the result")
}
