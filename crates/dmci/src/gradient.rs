//! Values with gradients: a program is run once with its parameters traced.

use crate::binding;
use crate::datum::Datum;
use crate::decisions::Decisions;
use crate::interpreter::{self, Interpreter, RunOptions};
use crate::program::Program;
use crate::report::Report;
use crate::schema::Schema;
use dmci_tape::{LeafKind, NodeId, Tape, adjoints, gradient, tangents};
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Kind, Origin, Value};
use dmci_vm::{Vm, World};

/// What to differentiate by.
///
/// ```
/// use dmci::{GradOptions, Program, RunOptions, Wrt};
///
/// let run = RunOptions::default().with("x", 2.0).with("y", 5.0);
/// let by_y = GradOptions { run: run.clone(), wrt: Wrt::Names(vec!["y".into()]), ..GradOptions::default() };
/// let by_literals = GradOptions { run, wrt: Wrt::Literals, ..GradOptions::default() };
/// let program = Program::new("(* 3.0 x y)");
/// assert_eq!(program.grad(&by_y)?.flat, [6.0]);
/// let gradient = program.grad(&by_literals)?;
/// assert_eq!((gradient.coordinates, gradient.flat), (vec!["1:4".to_string()], vec![10.0]));
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Wrt {
    /// The parameters of the program's schema; without one, every binding that is a real or holds reals.
    #[default]
    Default,
    /// These names. Their numbers become reals.
    Names(Vec<String>),
    /// Every real literal of the source, quoted ones too, named by its position (`line:column`).
    Literals,
}

/// How to take a gradient.
///
/// ```
/// use dmci::{GradOptions, Program, RunOptions};
///
/// let run = RunOptions::default().with("x", 2.0);
/// let options = GradOptions { run, hessian: true, ..GradOptions::default() };
/// let gradient = Program::new("(* x x x)").grad(&options)?;
/// assert_eq!(gradient.hessian, Some(vec![vec![12.0]]));
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct GradOptions {
    /// Mode, limits, bindings, seed, cancel flag.
    pub run: RunOptions,
    /// What to differentiate by.
    pub wrt: Wrt,
    /// Second derivatives too.
    pub hessian: bool,
}

/// A value and its derivatives.
///
/// ```
/// use dmci::{Datum, GradOptions, Gradient, Program};
///
/// let program = Program::new("(params (a free 3.0) (w (vector 2) (1.0 2.0))) (* a (sum w))");
/// let gradient: Gradient = program.grad(&GradOptions::default())?;
/// assert_eq!((gradient.value, gradient.flat), (9.0, vec![3.0, 3.0, 3.0]));
/// assert_eq!(gradient.grad[0], ("a".into(), Datum::Real(3.0)));
/// assert_eq!(gradient.coordinates, ["a", "w.0", "w.1"]);
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Debug)]
pub struct Gradient {
    /// The value of the program, a number.
    pub value: f64,
    /// By each parameter, in its shape.
    pub grad: Vec<(String, Datum)>,
    /// The names of the single numbers, in order: rows and columns of the Hessian.
    pub coordinates: Vec<String>,
    /// The derivatives by the single numbers, in order.
    pub flat: Vec<f64>,
    /// Second derivatives, if asked for.
    pub hessian: Option<Vec<Vec<f64>>>,
    /// What the program printed.
    pub output: String,
    /// The recorded path.
    pub tape: Tape,
    /// What is worth knowing about it: numbers that were pinned.
    pub warnings: Report,
}

/// Most operations that are recorded.
pub(crate) const TAPE_LIMIT: usize = 20_000_000;

impl Interpreter {
    /// Runs a program and differentiates its value.
    pub fn grad(&self, program: &Program, options: &GradOptions) -> Result<Gradient, Report> {
        let mut vm = self.machine(&options.run)?;
        let result = differentiate(&mut vm, program, options);
        let output = vm.world.output.text.clone();
        let result =
            result.map(|gradient| Gradient { output: output.clone(), ..gradient }).map_err(|mut diagnostics| {
                crate::suggest::add_help(&vm, program, &mut diagnostics);
                let sources = vm.world.heap.sources.clone();
                Report { diagnostics, sources, output }
            });
        self.recycle(vm);
        result
    }
}

/// A parameter: its name and value, and the leaves of its numbers with their names.
///
/// The traced value itself is not kept: a collection while the program runs moves it.
pub(crate) struct Parameter {
    name: String,
    datum: Datum,
    pub leaves: Vec<NodeId>,
    pub coordinates: Vec<String>,
}

impl Parameter {
    fn new(world: &World, name: &str, datum: Datum, traced: Value) -> Parameter {
        let (mut leaves, mut coordinates) = (Vec::new(), Vec::new());
        binding::leaves(world, traced, name, &mut leaves, &mut coordinates);
        Parameter { name: name.into(), datum, leaves, coordinates }
    }
}

/// The leaves of all parameters in order, and the names of their numbers.
pub(crate) fn leaves(parameters: &[Parameter]) -> (Vec<NodeId>, Vec<String>) {
    let leaves = parameters.iter().flat_map(|p| p.leaves.iter().copied()).collect();
    (leaves, parameters.iter().flat_map(|p| p.coordinates.iter().cloned()).collect())
}

fn differentiate(vm: &mut Vm, program: &Program, options: &GradOptions) -> Result<Gradient, Vec<Diagnostic>> {
    let (value, parameters) = record(vm, program, options)?;
    let warnings =
        vm.world.recording.as_ref().map_or(Report::default(), |recording| {
            Decisions::of(&recording.explanation, &vm.world.heap, false).warnings()
        });
    let gradient = finish(&mut vm.world, value, &parameters, options.hessian)?;
    Ok(Gradient { warnings, ..gradient })
}

/// Runs a program with its parameters traced; its value and the parameters.
pub(crate) fn record(
    vm: &mut Vm,
    program: &Program,
    options: &GradOptions,
) -> Result<(Value, Vec<Parameter>), Vec<Diagnostic>> {
    vm.world.start_recording(TAPE_LIMIT);
    let forms = interpreter::read(vm, program, Origin::User)?;
    let mut run = options.run.clone();
    let parameters = match &options.wrt {
        Wrt::Literals => trace_literals(vm, forms),
        Wrt::Names(names) => trace_names(vm, program, names, forms, &mut run)?,
        Wrt::Default => {
            let schema = Schema::of(&vm.world.heap, forms);
            let names = if schema.is_empty() {
                let real = run.bindings.iter().filter(|(_, datum)| has_real(datum));
                real.map(|(name, _)| name.clone()).collect()
            } else {
                schema.parameters.into_iter().map(|p| p.name).collect::<Vec<_>>()
            };
            trace_names(vm, program, &names, forms, &mut run)?
        }
    };
    let value = interpreter::run_forms(vm, forms, &run)?;
    Ok((value, parameters))
}

fn finish(
    world: &mut World,
    value: Value,
    parameters: &[Parameter],
    hessian: bool,
) -> Result<Gradient, Vec<Diagnostic>> {
    // Models take the only number of a list or tensor for their value too.
    let value = match binding::numbers(world, value).as_deref() {
        Some(&[only]) => only,
        _ => value,
    };
    let plain = world.fit(world.plain(value));
    let Some(number) = dmci_value::num::Number::of(&world.heap, plain) else {
        let shown = world.show(value);
        let message = format!("a gradient needs a program whose value is a number, got {shown}");
        return Err(vec![
            *Diagnostic::error(ErrorCode::E0303, message).help("make a number the value of the last form"),
        ]);
    };
    let (leaves, coordinates) = leaves(parameters);
    let output = world.node_of(value);
    let Some(recording) = &mut world.recording else {
        return Err(vec![*Diagnostic::error(ErrorCode::E9901, "the tape is gone")]);
    };
    let recorder = &mut recording.recorder;
    let flat = match output {
        Some(node) => adjoints(recorder, node, &leaves),
        None => vec![0.0; coordinates.len()],
    };
    let mut tape = recorder.tape().clone();
    tape.outputs = output.into_iter().collect();
    let hessian = hessian.then(|| {
        let rows = match output {
            Some(node) => gradient(recorder, node, &leaves),
            None => vec![None; leaves.len()],
        };
        let mut hessian = vec![Vec::with_capacity(flat.len()); flat.len()];
        let known: Vec<NodeId> = rows.iter().flatten().copied().collect();
        for &leaf in &leaves {
            for e in 0..recorder.shape(leaf).len() {
                let direction = recorder.unit(leaf, e);
                let mut changes = tangents(recorder, &known, &[leaf], &[direction]).into_iter();
                let mut i = 0;
                for (row, &of) in rows.iter().zip(&leaves) {
                    let change = row.and_then(|_| changes.next().flatten());
                    for e in 0..recorder.shape(of).len() {
                        let bits = change.map_or(0, |change| recorder.elements(change)[e]);
                        // There is one zero here.
                        hessian[i].push(f64::from_bits(bits) + 0.0);
                        i += 1;
                    }
                }
            }
        }
        hessian
    });
    let mut left = flat.iter().copied();
    let grad = parameters.iter().map(|p| (p.name.clone(), binding::filled(&p.datum, &mut left))).collect();
    Ok(Gradient {
        value: number.to_f64(),
        grad,
        coordinates,
        flat,
        hessian,
        output: String::new(),
        tape,
        warnings: Report::default(),
    })
}

fn has_real(datum: &Datum) -> bool {
    match datum {
        Datum::Real(_) | Datum::Tensor(..) => true,
        Datum::List(items, _) | Datum::Vector(items) => items.iter().any(has_real),
        _ => false,
    }
}

/// Traces the values of names and binds them.
fn trace_names(
    vm: &mut Vm,
    program: &Program,
    names: &[String],
    forms: Value,
    run: &mut RunOptions,
) -> Result<Vec<Parameter>, Vec<Diagnostic>> {
    let schema = Schema::of(&vm.world.heap, forms);
    let mut parameters = Vec::new();
    for name in names {
        let given = run.bindings.iter().find(|(n, _)| n == name).map(|(_, datum)| datum.clone());
        let datum = given.or_else(|| schema.find(name).map(|p| p.datum()));
        let Some(datum) = datum else {
            let message = format!("{name} has no value to differentiate at in {}", program.name);
            let help = match name.split_once('=') {
                Some((name, value)) => format!("name and value are given apart: ‹wrt {name}› and ‹set {name}={value}›"),
                None => format!("give it one with ‹set {name}=...›, or in the program's (params ...)"),
            };
            return Err(vec![*Diagnostic::error(ErrorCode::E0701, message).help(help)]);
        };
        let Some(traced) = binding::parameter(&mut vm.world, &datum, name) else {
            let message = format!("{name} is not a number, a tensor, nor a list or vector of numbers");
            return Err(vec![*Diagnostic::error(ErrorCode::E0701, message).help("differentiate by numbers")]);
        };
        interpreter::bind(&mut vm.world, name, traced);
        if !run.bindings.iter().any(|(n, _)| n == name) {
            run.bindings.push((name.clone(), datum.clone()));
        }
        parameters.push(Parameter::new(&vm.world, name, datum, traced));
    }
    Ok(parameters)
}

/// Makes every real literal of the forms a parameter.
fn trace_literals(vm: &mut Vm, forms: Value) -> Vec<Parameter> {
    let mut parameters = Vec::new();
    let mut todo = vec![forms];
    while let Some(v) = todo.pop() {
        let world = &mut vm.world;
        if let Some((car, cdr)) = world.heap.uncons(v) {
            if let (Some(x), Some(pair)) = (car.as_real(), v.as_pair()) {
                let name = match world.heap.pair_span(v) {
                    Some(span) => {
                        let at = world.heap.sources.line_col(span.source, span.car.0);
                        format!("{}:{}", at.line, at.column)
                    }
                    None => format!("literal {}", parameters.len() + 1),
                };
                let traced = world.traced_leaf(&name, LeafKind::Param, x);
                world.heap.store(pair, 0, traced);
                parameters.push(Parameter::new(world, &name, Datum::Real(x), traced));
            }
            // The car first: literals are numbered in reading order.
            todo.push(cdr);
            todo.push(car);
        } else if let Some(r) = world.heap.as_kind(v, Kind::Vector) {
            todo.extend(world.heap.fields(r).rev());
        }
    }
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records a program with joins and loops; x is 2 and a parameter, and no environment has the number of `broken`.
    fn recorded(text: &str) -> Result<f64, Vec<Diagnostic>> {
        let program = Program::new(text);
        let options = RunOptions { mode: crate::Mode::Direct, ..RunOptions::default() };
        let mut vm = Interpreter::shared().machine(&options).expect("there is nothing to bind");
        vm.world.start_recording(TAPE_LIMIT);
        (vm.world.joins, vm.world.loops) = (true, true);
        let broken = vm.world.heap.alloc(Kind::Environment, &[Value::fixnum(1_000_000)]);
        interpreter::bind(&mut vm.world, "broken", broken);
        let x = vm.world.traced_leaf("x", LeafKind::Param, 2.0);
        interpreter::bind(&mut vm.world, "x", x);
        let forms = interpreter::read(&mut vm, &program, Origin::User).expect("it can be read");
        let value = interpreter::run_forms(&mut vm, forms, &options)?;
        Ok(vm.world.plain(value).as_real().expect("a real"))
    }

    #[test]
    fn a_bug_in_an_arm_is_reported() {
        // The lane itself takes the other arms.
        let arms = [
            "(if (< x 1.) ARM (* 2. x))",
            "(if (> x 1.) (if (> x 1.5) (* 4. x) ARM) 0.)",
            "(let loop ((y x)) (if (< y 1.) (* 8. y) (loop (if (> y 1e9) ARM (* 0.5 y)))))",
        ];
        for text in arms {
            let errors = recorded(&text.replace("ARM", "(eval 1. broken)")).expect_err(text);
            assert_eq!((errors[0].code, errors[0].fault), (ErrorCode::E9901, dmci_value::Fault::Internal), "{text}");
            // An error of the program belongs to the lanes that take the arm, and so does what no join can do.
            for arm in ["(car x)", "(call/cc (lambda (k) 3.))", "(let again ((n 0)) (if (< n 1e6) (again (+ n 1)) 5.))"]
            {
                assert!(recorded(&text.replace("ARM", arm)).is_ok(), "{text} {arm}");
            }
        }
    }
}
