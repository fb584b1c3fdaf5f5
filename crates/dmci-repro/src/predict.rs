//! Ways to compute what a program predicts, with derivatives: through the engine in its modes, or by hand.

use crate::hand::interpreter::{self, Tree};
use crate::hand::models::Function;
use crate::hand::tape::{Number, Tape};
use crate::task::Task;
use crate::timing::least_each;
use dmci::ErrorCode;
use dmci::{Batch, Column, Diagnostic, Mode, Model, ModelOptions, Numerics, Program, Report, RunOptions, Want};

/// Predictions of all rows for some points, and their derivatives by the parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Predictions {
    /// All rows of the first point, then of the second, ...
    pub values: Vec<f64>,
    /// The derivatives of each value.
    pub jacobian: Vec<f64>,
}

/// Something that predicts.
pub trait Predict {
    /// All rows at some points, which lie one after the other.
    fn predict(&mut self, points: &[f64], derivatives: bool, out: &mut Predictions) -> Result<(), Report>;
}

/// The engine.
#[derive(Debug)]
pub struct Engine {
    /// The model, for its statistics.
    pub model: Model,
    columns: Vec<Column>,
    batch: Batch,
}

/// Options of a model in a mode and a precision.
pub fn options(mode: Mode, single: bool) -> ModelOptions {
    let run = RunOptions { mode, numerics: Numerics { single, clamps: false }, ..RunOptions::default() };
    ModelOptions { run, output: false, ..ModelOptions::default() }
}

impl Engine {
    /// A program over columns.
    pub fn new(
        program: Program,
        names: &[&str],
        inputs: &[&str],
        columns: &[Vec<f64>],
        options: ModelOptions,
    ) -> Engine {
        let columns = columns.iter().cloned().map(Column::Reals).collect();
        Engine { model: Model::new(program, names, inputs, options), columns, batch: Batch::default() }
    }

    /// A task in a mode.
    pub fn of(task: &Task, mode: Mode, single: bool) -> Engine {
        Engine::new(task.program(), &task.names(), task.inputs, &task.columns(single), options(mode, single))
    }
}

impl Engine {
    /// The least time of a forward pass, and its values. Nothing is copied.
    pub fn forward(&mut self, rounds: usize, point: &[f64]) -> Result<(f64, Vec<f64>), Report> {
        let Engine { model, columns, batch } = self;
        model.evaluate_into(batch, point, columns, Want::Values)?;
        let time = least_each(rounds, || drop(model.evaluate_into(batch, point, columns, Want::Values)));
        Ok((time, batch.values.clone()))
    }

    /// The least time of a step of training, value and gradient of the mean squared error, and the gradient.
    pub fn step(&mut self, rounds: usize, point: &[f64], target: &[f64]) -> Result<(f64, Vec<f64>), Report> {
        let Engine { model, columns, batch } = self;
        model.evaluate_into(batch, point, columns, Want::Gradients)?;
        let n = point.len();
        let mut gradient = vec![0.0; n];
        let mut loss = 0.0;
        let time = least_each(rounds, || {
            let _ = model.evaluate_into(batch, point, columns, Want::Gradients);
            loss = 0.0;
            gradient.fill(0.0);
            for ((y, t), d) in batch.values.iter().zip(target).zip(batch.gradients.chunks_exact(n)) {
                let error = y - t;
                loss += error * error;
                gradient.iter_mut().zip(d).for_each(|(g, d)| *g += 2.0 * error * d);
            }
            gradient.iter_mut().for_each(|g| *g /= target.len() as f64);
        });
        Ok((time, gradient))
    }
}

impl Predict for Engine {
    fn predict(&mut self, points: &[f64], derivatives: bool, out: &mut Predictions) -> Result<(), Report> {
        let want = if derivatives { Want::Gradients } else { Want::Values };
        self.model.evaluate_into(&mut self.batch, points, &self.columns, want)?;
        out.values.clone_from(&self.batch.values);
        out.jacobian.clone_from(&self.batch.gradients);
        Ok(())
    }
}

/// How a hand-written thing computes.
#[derive(Debug)]
pub enum Hand {
    /// By walking the tree of a program.
    Walk(Vec<Tree>),
    /// By a function.
    Function(Function),
}

/// Numbers on a tape by hand, row by row.
#[derive(Debug)]
pub struct ByHand {
    hand: Hand,
    names: Vec<&'static str>,
    inputs: &'static [&'static str],
    columns: Vec<Vec<f64>>,
    single: bool,
    /// Operations of the last row.
    pub operations: usize,
}

impl ByHand {
    /// A task by hand.
    pub fn new(task: &Task, hand: Hand, single: bool) -> ByHand {
        let columns = task.columns(single);
        ByHand { hand, names: task.names(), inputs: task.inputs, columns, single, operations: 0 }
    }

    /// A task by the interpreter that walks its tree.
    pub fn walk(task: &Task, single: bool) -> Result<ByHand, Report> {
        let forms = interpreter::parse(task.source).map_err(broken)?;
        Ok(ByHand::new(task, Hand::Walk(forms), single))
    }
}

fn broken(why: String) -> Report {
    Report::from(Diagnostic::error(
        ErrorCode::E9901,
        format!("the hand-written interpreter does not know the program: {why}"),
    ))
}

impl Predict for ByHand {
    fn predict(&mut self, points: &[f64], derivatives: bool, out: &mut Predictions) -> Result<(), Report> {
        out.values.clear();
        out.jacobian.clear();
        let rows = self.columns.first().map_or(1, Vec::len);
        for point in points.chunks(self.names.len()) {
            for row in 0..rows {
                let tape = Tape::new(self.single);
                let parameters: Vec<Number> = point.iter().map(|&x| tape.leaf(x)).collect();
                let inputs: Vec<Number> = self.columns.iter().map(|c| tape.constant(c[row])).collect();
                let value = match &self.hand {
                    Hand::Function(function) => function(&parameters, &inputs),
                    Hand::Walk(forms) => {
                        let names = self.names.iter().chain(self.inputs).copied();
                        let given: Vec<(&str, Number)> = names.zip(parameters.iter().chain(&inputs).copied()).collect();
                        interpreter::evaluate(&tape, forms, &given).map_err(broken)?
                    }
                };
                out.values.push(value.value);
                if derivatives {
                    out.jacobian.extend(tape.gradient(value, &parameters));
                }
                self.operations = tape.len();
            }
        }
        Ok(())
    }
}
