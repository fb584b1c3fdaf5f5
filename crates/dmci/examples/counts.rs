//! Fixed work whose instructions `bench/counts.sh` counts: nothing here is timed.
//!
//! Every case is warmed up, so that the system is loaded, plans are made and memory is there, and then done
//! once more between two calls of [`mark`]. Prints the names of the cases, in order.

use dmci::{
    Batch, Column, Datum, GradOptions, Interpreter, JitPolicy, Mode, Model, ModelOptions, Program, RunOptions, Want,
};
use std::hint::black_box;

type Failure = Box<dyn std::error::Error>;
type Work = Box<dyn FnMut() -> Result<(), Failure>>;

/// Where the counter is read: it knows this function by its name.
#[inline(never)]
fn mark(at: &str) {
    black_box(at);
}

/// A closed form of ten operations.
const CLOSED: &str = "(params (a free 1.5) (b free 0.3) (c free 2.0))
(+ (* a (exp (* -1 b x))) (/ (sin (* c x)) (+ 1 (* x x))))";

/// A recursion of thirty steps.
const RECURSION: &str = "(params (a free 0.3) (b free 0.5))
(define (walk n y) (if (= n 0) y (walk (- n 1) (+ (* a x) (* (- 1 b) y)))))
(walk 30 0.0)";

const FIB: &str = "(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (fib n)";

/// The functions that most programs have.
const FUNCTIONS: &str = "(+ (exp (* a x)) (log x) (sin (* b x)) (tanh x) (expt x a) (atan x b) (sqrt x))";

fn of_file(path: &str) -> Result<Program, Failure> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../dmci-repro/models/");
    let text = std::fs::read_to_string(format!("{root}{path}")).map_err(|error| format!("{path}: {error}"))?;
    Ok(Program::named(path, &text))
}

fn options(mode: Mode, bindings: &[(&str, Datum)]) -> RunOptions {
    let bindings = bindings.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    RunOptions { mode, bindings, ..RunOptions::default() }
}

/// Text to value.
fn value(text: &'static str, n: i64, mode: Mode) -> Work {
    let options = options(mode, &[("n", Datum::Integer(n))]);
    Box::new(move || {
        black_box(Interpreter::shared().run(&Program::new(text), &options)?);
        Ok(())
    })
}

/// Text to value and gradient through the evaluator.
fn gradient(text: &'static str) -> Work {
    let options = GradOptions { run: options(Mode::Dmci, &[("x", Datum::Real(1.25))]), ..GradOptions::default() };
    Box::new(move || {
        black_box(Interpreter::shared().grad(&Program::new(text), &options)?);
        Ok(())
    })
}

/// A model with the values of its parameters, the columns of its inputs and what all lanes share.
struct Lanes {
    program: Program,
    params: Vec<(&'static str, f64)>,
    inputs: Vec<(&'static str, Datum)>,
    fixed: Vec<(&'static str, Datum)>,
    lanes: usize,
    calls: usize,
}

impl Lanes {
    fn model(&self, code: JitPolicy) -> Model {
        let run = options(Mode::Dmci, &self.fixed);
        let names: Vec<&str> = self.params.iter().map(|(name, _)| *name).collect();
        let inputs: Vec<&str> = self.inputs.iter().map(|(name, _)| *name).collect();
        Model::new(
            self.program.clone(),
            &names,
            &inputs,
            ModelOptions { run, threads: 1, code, ..ModelOptions::default() },
        )
    }

    /// Parameters and columns, in which lanes differ a little.
    fn data(&self) -> (Vec<f64>, Vec<Column>) {
        let near = |x: f64, lane: usize| x * (1.0 + 0.01 * ((lane as f64 * 0.618).fract() - 0.5));
        let all = (0..self.lanes).flat_map(|lane| self.params.iter().map(move |(_, x)| near(*x, lane))).collect();
        let column = |(_, value): &(&str, Datum)| match value {
            Datum::Real(x) => Column::Reals((0..self.lanes).map(|lane| near(*x, lane + 7)).collect()),
            other => Column::Data(vec![other.clone(); self.lanes]),
        };
        (all, self.inputs.iter().map(column).collect())
    }

    /// The first call: a recording, and whatever is made of it.
    fn first(self) -> Work {
        let (params, columns) = self.data();
        Box::new(move || evaluate(&self.model(JitPolicy::WhenItPays), &mut Batch::default(), &params, &columns))
    }

    /// Later calls, by machine code, whenever that may be made.
    fn again(self) -> Result<Work, Failure> {
        self.again_by(JitPolicy::Always)
    }

    /// Later calls, by the executor without machine code.
    fn again_in_blocks(self) -> Result<Work, Failure> {
        self.again_by(JitPolicy::Never)
    }

    fn again_by(self, code: JitPolicy) -> Result<Work, Failure> {
        let (params, columns) = self.data();
        let (model, mut batch) = (self.model(code), Batch::default());
        for _ in 0..10 {
            evaluate(&model, &mut batch, &params, &columns)?;
        }
        let calls = self.calls;
        Ok(Box::new(move || (0..calls).try_for_each(|_| evaluate(&model, &mut batch, &params, &columns))))
    }
}

fn evaluate(model: &Model, batch: &mut Batch, params: &[f64], columns: &[Column]) -> Result<(), Failure> {
    model.evaluate_pairs_into(batch, params, columns, Want::Gradients).map_err(|r| format!("{:?}", r.diagnostics))?;
    match batch.failures.first() {
        Some((lane, failure)) => Err(format!("lane {lane}: {:?}", failure.diagnostics).into()),
        None => Ok(()),
    }
}

fn oscillator(lanes: usize, calls: usize) -> Result<Lanes, Failure> {
    let params = vec![("A", 2.0), ("b", 0.3), ("omega", 3.1)];
    let inputs = vec![("t", Datum::Real(1.3))];
    Ok(Lanes { program: of_file("b/m05.scm")?, params, inputs, fixed: Vec::new(), lanes, calls })
}

fn functions(lanes: usize) -> Lanes {
    let (params, inputs) = (vec![("a", 0.7), ("b", 1.1)], vec![("x", Datum::Real(1.3))]);
    Lanes { program: Program::new(FUNCTIONS), params, inputs, fixed: Vec::new(), lanes, calls: 10 }
}

fn bucket(lanes: usize) -> Result<Lanes, Failure> {
    let params = vec![("c", 60.0), ("w", 15.0), ("k", 0.15), ("a", 0.3)];
    let inputs = vec![("wetness", Datum::Real(1.0))];
    let fixed = vec![("days", Datum::Integer(200))];
    Ok(Lanes { program: of_file("bench/bucket.scm")?, params, inputs, fixed, lanes, calls: 1 })
}

/// A filter over observations, in scalars or in matrices.
fn filter(file: &str, observations: usize, lanes: usize) -> Result<Lanes, Failure> {
    let pair = |i: usize| [0.7, 1.3].map(|w| Datum::Real((w * i as f64).sin())).to_vec();
    let list = Datum::list((0..observations).map(|i| Datum::list(pair(i))).collect());
    let params = vec![("q", 0.05), ("r", 0.1)];
    Ok(Lanes { program: of_file(file)?, params, inputs: vec![("obs", list)], fixed: Vec::new(), lanes, calls: 1 })
}

fn cases() -> Result<Vec<(&'static str, Work)>, Failure> {
    Ok(vec![
        ("fib-20", value(FIB, 20, Mode::Direct)),
        ("fib-13-dmci", value(FIB, 13, Mode::Dmci)),
        ("text-to-gradient", gradient(CLOSED)),
        ("recursion-30-to-gradient", gradient(RECURSION)),
        ("filter-80-first-call", filter("kalman/kalman-2d-scalar.scm", 80, 4)?.first()),
        ("replay-1-lane-100-times", oscillator(1, 100)?.again()?),
        ("replay-64-lanes-100-times", oscillator(64, 100)?.again()?),
        ("replay-1024-lanes-10-times", oscillator(1024, 10)?.again()?),
        ("functions-1024-lanes-in-blocks", functions(1024).again_in_blocks()?),
        ("filter-80-64-lanes", filter("kalman/kalman-2d-scalar.scm", 80, 64)?.again()?),
        ("matrices-20-8-lanes", filter("kalman/kalman-2d.scm", 20, 8)?.again()?),
        ("loop-first-call", bucket(8)?.first()),
        ("loop-64-lanes", bucket(64)?.again()?),
    ])
}

fn main() -> Result<(), Failure> {
    // What was printed is read only if all went well.
    let mut names = String::new();
    for (name, mut work) in cases()? {
        for _ in 0..2 {
            work()?;
        }
        mark(name);
        work()?;
        mark(name);
        names += &format!("{name}\n");
    }
    print!("{names}");
    Ok(())
}
