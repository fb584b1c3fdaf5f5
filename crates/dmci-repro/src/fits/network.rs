//! The neural network of experiments B and C, a Scheme program of tensors.

use super::Run;
use crate::Settings;
use crate::a::Curve;
use crate::a::methods::{curve, record, target};
use crate::predict::options;
use crate::task::Task;
use crate::torch::Torch;
use crate::train::{Objective, Protocol, train};
use dmci::{Batch, Datum, Mode, Model, Program, Report, Shape, Want};
use dmci_ops::real::sqrt;
use std::time::Instant;

/// The program.
pub const PROGRAM: &str = include_str!("../../programs/b/mlp.scm");

const HIDDEN: usize = 64;

/// The model of one lane: all rows of the data are constants of the program.
struct Network {
    model: Model,
    batch: Batch,
}

impl Objective for Network {
    fn evaluate(&mut self, points: &[f64]) -> Result<Vec<(f64, Vec<f64>)>, Report> {
        self.model.evaluate_into(&mut self.batch, points, &[], Want::Gradients)?;
        let gradients = self.batch.gradients.chunks(self.model.numbers()).map(<[f64]>::to_vec);
        Ok(self.batch.values.iter().copied().zip(gradients).collect())
    }
}

/// The shapes of weights and biases, with the number of inputs of each layer.
fn shapes(inputs: usize) -> [(&'static str, Shape, usize); 6] {
    let matrix = |rows: usize, columns: usize| Shape::Matrix(rows as u32, columns as u32);
    let vector = |n: usize| Shape::Vector(n as u32);
    [
        ("w1", matrix(HIDDEN, inputs), inputs),
        ("b1", vector(HIDDEN), inputs),
        ("w2", matrix(HIDDEN, HIDDEN), HIDDEN),
        ("b2", vector(HIDDEN), HIDDEN),
        ("w3", vector(HIDDEN), HIDDEN),
        ("b3", Shape::Scalar, HIDDEN),
    ]
}

/// Weights as `nn.Linear` draws them after `torch.manual_seed(seed)`.
fn start(inputs: usize, seed: u64) -> Vec<f64> {
    let mut torch = Torch::new(seed);
    let mut all = Vec::new();
    for (_, shape, fan) in shapes(inputs) {
        let bound = 1.0 / sqrt(fan as f64);
        all.extend((0..shape.len()).map(|_| torch.uniform_in(-bound, bound)));
    }
    all
}

/// Trains the network on a task.
pub fn run(task: &Task, seeds: u64, settings: &Settings, began: Instant) -> Result<(Vec<Run>, Curve), Report> {
    let single = settings.single;
    let (columns, target) = (task.columns(single), target(task, single)?);
    let (rows, inputs) = (target.len(), columns.len());
    let by_rows = (0..rows).flat_map(|r| columns.iter().map(move |c| c[r])).collect();
    let mut options = options(Mode::Dmci, single);
    options.run.bindings = vec![
        ("X".into(), Datum::Tensor(Shape::Matrix(rows as u32, inputs as u32), by_rows)),
        ("y".into(), Datum::Tensor(Shape::Vector(rows as u32), target)),
        ("ones".into(), Datum::Tensor(Shape::Vector(rows as u32), vec![1.0; rows])),
    ];
    let datum = |shape: Shape| match shape {
        Shape::Scalar => Datum::Real(0.0),
        shape => Datum::Tensor(shape, vec![0.0; shape.len()]),
    };
    let parameters = shapes(inputs).iter().map(|(name, shape, _)| (name.to_string(), datum(*shape))).collect();
    let model = Model::with_params(Program::named("mlp.scm", PROGRAM), parameters, &[], options);
    let mut network = Network { model, batch: Batch::default() };
    let protocol = Protocol { epochs: if settings.quick { 300 } else { 3000 }, ..Protocol::standard(single) };
    let starts: Vec<Vec<f64>> = (0..seeds).map(|s| start(inputs, s)).collect();
    let trained = train(&mut network, &[], &starts, protocol)?;
    let seconds = began.elapsed().as_secs_f64() / seeds as f64;
    let runs = (0..seeds).zip(&trained).map(|(seed, t)| record(task.id, "network", seed, t, seconds));
    Ok((runs.collect(), curve(&trained)))
}
