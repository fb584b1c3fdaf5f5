//! Structures of capacity fade as programs, each fitted to every cell alone, as in the paper.

use crate::adam::{TorchAdam, clip};
use crate::raws::Raws;
use crate::searches::{Objective, evolution, lbfgs, options};
use crate::torch::Torch;
use dmci::{Batch, Column, Mode, Model, Program, Report, Want};
use dmci_ops::real::{exp, log};
use rayon::prelude::*;
use std::time::Instant;

/// A structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Structure {
    /// Its name.
    pub name: &'static str,
    /// Whether it can bend down late.
    pub knee: bool,
    /// Its program, of the place k on the grid.
    pub source: &'static str,
}

macro_rules! structures {
    ($($name:literal $knee:literal),*) => {
        [$(Structure { name: $name, knee: $knee, source: include_str!(concat!("../../programs/l/", $name, ".scm")) }),*]
    };
}

/// The reference structures of the paper, and the one that knows the future.
pub const STRUCTURES: [Structure; 6] = structures!(
    "sqrt" false, "power" false, "stretched" true, "two-reservoir" true, "sigmoidal" true, "pinned" true
);

/// The structure that knows where the grid ends.
pub const PINNED: &str = "pinned";

/// The scale of the variance of noise, and where it starts.
const NOISE: (f64, f64) = (1e-3, 1e-4);

/// Added to the variance.
const LEAST: f64 = 1e-6;

/// A structure over a grid.
#[derive(Debug)]
pub struct Curves {
    model: Model,
    raws: Raws,
    /// The raw numbers of the program and that of the noise.
    start: Vec<f64>,
    places: Vec<f64>,
}

/// How far a fit went, and what it cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// Raw numbers, cell by cell.
    pub raws: Vec<Vec<f64>>,
    /// Seconds.
    pub seconds: f64,
}

fn softplus(x: f64) -> f64 {
    if x > 30.0 { x } else { log(1.0 + exp(x)) }
}

fn inverse_softplus(x: f64) -> f64 {
    log(exp(x) - 1.0)
}

impl Curves {
    /// A structure over a grid of so many points.
    pub fn new(structure: &Structure, points: usize) -> Result<Curves, Report> {
        let places = (0..points).map(|k| k as f64).collect();
        Curves::of(Program::named(structure.name, structure.source), places)
    }

    /// A program of the place k over some places.
    pub fn of(program: Program, places: Vec<f64>) -> Result<Curves, Report> {
        let raws = Raws::of(&program)?;
        let names: Vec<&str> = raws.names.iter().map(String::as_str).collect();
        let mut start = raws.start.clone();
        start.push(inverse_softplus(NOISE.1 / NOISE.0));
        let model = Model::new(program, &names, &["k"], options(Mode::Dmci, false, Vec::new()));
        Ok(Curves { model, raws, start, places })
    }

    /// Raw numbers of a cell.
    pub fn width(&self) -> usize {
        self.start.len()
    }

    /// The curve of each cell over the first points.
    pub fn curves(&self, raws: &[Vec<f64>], points: usize) -> Result<Vec<Vec<f64>>, Report> {
        let numbers: Vec<f64> = raws.iter().flat_map(|r| self.raws.values(r)).collect();
        let columns = [Column::Reals(self.places[..points].to_vec())];
        let batch = self.model.evaluate::<f64>(&numbers, &columns, Want::Values)?;
        Ok(batch.values.chunks_exact(points).map(<[f64]>::to_vec).collect())
    }

    /// The negative log-likelihood of each cell, and its gradient by raw numbers.
    fn losses(
        &self,
        batch: &mut Batch,
        raws: &[Vec<f64>],
        targets: &[&[f64]],
        want: Want,
    ) -> Result<Vec<(f64, Vec<f64>)>, Report> {
        let points = targets[0].len();
        let numbers: Vec<f64> = raws.iter().flat_map(|r| self.raws.values(r)).collect();
        let columns = [Column::Reals(self.places[..points].to_vec())];
        self.model.evaluate_into::<f64>(batch, &numbers, &columns, want)?;
        let n = self.raws.count();
        let one = |(cell, (raw, target)): (usize, (&Vec<f64>, &&[f64]))| {
            let variance = NOISE.0 * softplus(raw[n]) + LEAST;
            let (mut loss, mut by_variance, mut by_value) = (0.0, 0.0, vec![0.0; n]);
            for (k, y) in target.iter().enumerate() {
                let lane = cell * points + k;
                let error = batch.values[lane] - y;
                loss += error * error / (2.0 * variance) + 0.5 * log(variance);
                by_variance += 0.5 / variance - error * error / (2.0 * variance * variance);
                if want == Want::Gradients {
                    let slopes = &batch.gradients[lane * n..(lane + 1) * n];
                    by_value.iter_mut().zip(slopes).for_each(|(g, d)| *g += error / variance * d);
                }
            }
            let mut gradient = vec![0.0; n + 1];
            self.raws.pull_back(raw, &by_value, &mut gradient);
            gradient[n] = by_variance * NOISE.0 / (1.0 + exp(-raw[n]));
            (loss, gradient)
        };
        Ok(raws.iter().zip(targets).enumerate().map(one).collect())
    }

    /// Every cell at the start of the program.
    pub fn unfitted(&self, cells: usize) -> Vec<Vec<f64>> {
        vec![self.start.clone(); cells]
    }

    /// The start of a seed: a little noise on raw numbers.
    fn around(&self, cells: usize, seed: u64) -> Vec<Vec<f64>> {
        let draws = Torch::new(seed).normals(cells * self.width());
        draws
            .chunks_exact(self.width())
            .map(|z| self.start.iter().zip(z).map(|(x, z)| x + 0.02 * z).collect())
            .collect()
    }

    /// Adam over all cells together, with one clip: the paper's fit.
    pub fn adam(&self, targets: &[&[f64]], steps: usize, seed: u64) -> Result<Fitted, Report> {
        let began = Instant::now();
        let mut raws = self.around(targets.len(), seed);
        let width = self.width();
        let mut adam = TorchAdam::new(width * targets.len(), 0.1, false);
        let mut best = (f64::INFINITY, raws.clone());
        let mut last = f64::INFINITY;
        let mut batch = Batch::default();
        for _ in 0..steps {
            let found = self.losses(&mut batch, &raws, targets, Want::Gradients)?;
            let loss: f64 = found.iter().map(|f| f.0).sum();
            let mut gradient: Vec<f64> = found.into_iter().flat_map(|f| f.1).collect();
            if !loss.is_finite() || gradient.iter().any(|g| !g.is_finite()) {
                break;
            }
            if loss < best.0 {
                best = (loss, raws.clone());
            }
            if (last - loss).abs() < 1e-4 {
                break;
            }
            last = loss;
            clip(&mut gradient, 10.0);
            let mut point: Vec<f64> = raws.concat();
            adam.step(&mut point, &gradient);
            raws = point.chunks_exact(width).map(<[f64]>::to_vec).collect();
        }
        Ok(Fitted { raws: best.1, seconds: began.elapsed().as_secs_f64() })
    }

    /// Every cell alone until it has converged, from where another fit ended and from the start; the better end.
    pub fn converged(&self, targets: &[&[f64]], from: &[Vec<f64>]) -> Result<Fitted, Report> {
        let began = Instant::now();
        let one = |(target, raws): (&&[f64], &Vec<f64>)| -> Result<Vec<f64>, Report> {
            let mut cell = OneCell { curves: self, target, batch: Batch::default() };
            let ends = [lbfgs(&mut cell, raws, 400)?, lbfgs(&mut cell, &self.start, 400)?];
            let [a, b] = ends;
            Ok(if b.loss < a.loss { b.raws } else { a.raws })
        };
        let raws = targets.par_iter().zip(from).map(one).collect::<Result<_, _>>()?;
        Ok(Fitted { raws, seconds: began.elapsed().as_secs_f64() })
    }

    /// One cell with normal priors on its raw numbers, from their middles on.
    pub fn with_prior(&self, target: &[f64], middles: &[f64], widths: &[f64]) -> Result<Vec<f64>, Report> {
        let cell = OneCell { curves: self, target, batch: Batch::default() };
        Ok(lbfgs(&mut WithPrior { cell, middles, widths }, middles, 400)?.raws)
    }

    /// Differential evolution over the numbers of all cells together, for so long.
    pub fn evolve(&self, targets: &[&[f64]], seed: u64, seconds: f64) -> Result<Fitted, Report> {
        let began = Instant::now();
        let width = self.width();
        let start = self.around(targets.len(), seed).concat();
        let mut batch = Batch::default();
        let mut losses = |points: &[Vec<f64>]| -> Result<Vec<f64>, Report> {
            let mut list = Vec::new();
            for point in points {
                let raws: Vec<Vec<f64>> = point.chunks_exact(width).map(<[f64]>::to_vec).collect();
                list.push(self.losses(&mut batch, &raws, targets, Want::Values)?.iter().map(|f| f.0).sum());
            }
            Ok(list)
        };
        let found = evolution(&mut losses, &start, seed, 1, seconds)?;
        let raws = found.raws.chunks_exact(width).map(<[f64]>::to_vec).collect();
        Ok(Fitted { raws, seconds: began.elapsed().as_secs_f64() })
    }
}

struct OneCell<'a> {
    curves: &'a Curves,
    target: &'a [f64],
    batch: Batch,
}

impl Objective for OneCell<'_> {
    fn gradient(&mut self, raws: &[f64]) -> Result<(f64, Vec<f64>), Report> {
        let found = self.curves.losses(&mut self.batch, &[raws.to_vec()], &[self.target], Want::Gradients)?;
        Ok(found.into_iter().next().unwrap_or((f64::NAN, Vec::new())))
    }
}

struct WithPrior<'a> {
    cell: OneCell<'a>,
    middles: &'a [f64],
    widths: &'a [f64],
}

impl Objective for WithPrior<'_> {
    fn gradient(&mut self, raws: &[f64]) -> Result<(f64, Vec<f64>), Report> {
        let (mut loss, mut gradient) = self.cell.gradient(raws)?;
        for (i, g) in gradient.iter_mut().enumerate() {
            let apart = (raws[i] - self.middles[i]) / self.widths[i];
            loss += 0.5 * apart * apart;
            *g += apart / self.widths[i];
        }
        Ok((loss, gradient))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The gradient of the likelihood is that of differences, and a fit finds the curve that made the data.
    #[test]
    fn a_structure_fits_its_own_data() {
        let curves = Curves::new(&STRUCTURES[4], 100).unwrap();
        let mut raws = curves.unfitted(2);
        raws[1][3] += 0.3;
        let made = curves.curves(&raws, 100).unwrap();
        let targets: Vec<&[f64]> = made.iter().map(|c| &c[..]).collect();
        let mut cell = OneCell { curves: &curves, target: targets[1], batch: Batch::default() };
        let (_, gradient) = cell.gradient(&curves.start).unwrap();
        for i in 0..curves.width() {
            let mut at = |by: f64| {
                let mut point = curves.start.clone();
                point[i] += by;
                cell.gradient(&point).unwrap().0
            };
            let numeric = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((gradient[i] - numeric).abs() < 1e-4 * numeric.abs().max(1.0), "{i}: {} {numeric}", gradient[i]);
        }
        let from = curves.adam(&targets, 50, 0).unwrap();
        let end = curves.converged(&targets, &from.raws).unwrap();
        let found = curves.curves(&end.raws, 100).unwrap();
        let worst = found.iter().zip(&made).flat_map(|(a, b)| a.iter().zip(b).map(|(x, y)| (x - y).abs()));
        assert!(worst.fold(0.0, f64::max) < 2e-3);
    }
}
