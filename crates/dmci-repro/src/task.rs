//! What experiments A, B and C fit: programs, inputs, true parameters and the centres of their starts.

// The paper's frequency is 3.14.
#![allow(clippy::approx_constant)]

use crate::adam::fit;
use crate::torch::Torch;
use dmci::Program;
use dmci_ops::real::{exp, sqrt};

/// A parameter: its name, its true value, and where starts lie around.
pub type Parameter = (&'static str, f64, f64);

/// A model with its protocol.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// `P1`, `M01`, `C01`.
    pub id: &'static str,
    /// For people.
    pub title: &'static str,
    /// The program.
    pub source: &'static str,
    /// Its inputs.
    pub inputs: &'static [&'static str],
    /// The range of all inputs.
    pub range: (f64, f64),
    /// Places along each input.
    pub points: usize,
    /// The parameters.
    pub parameters: &'static [Parameter],
    /// Data that are not the program's own.
    pub data: Option<fn(f64) -> f64>,
}

macro_rules! task {
    ($id:literal, $title:literal, $file:literal, [$($input:literal),*], $low:literal .. $high:literal, $points:literal,
     [$($name:literal $true:literal $centre:literal),*] $(, $data:expr)?) => {
        Task {
            id: $id,
            title: $title,
            source: include_str!(concat!("../models/", $file, ".scm")),
            inputs: &[$($input),*],
            range: ($low, $high),
            points: $points,
            parameters: &[$(($name, $true, $centre)),*],
            data: {
                let own: [fn(f64) -> f64; 0 $(+ { let _: fn(f64) -> f64 = $data; 1 })?] = [$($data)?];
                own.first().copied()
            },
        }
    };
}

/// Experiment A.
pub const A: [Task; 6] = [
    task!("P1", "single const", "a/p1", ["x"], 0.5..3.0, 8, ["alpha" 0.5 1.0]),
    task!("P2", "multi const", "a/p2", ["x"], 0.5..3.0, 8, ["a" 3.0 0.0, "b" 0.5 1.0]),
    task!("P3", "recursive", "a/p3", ["x"], 0.5..3.0, 8, ["alpha" 2.0 1.0]),
    task!("P4", "higher-order", "a/p4", ["x"], 0.5..3.0, 8, ["alpha" 1.5 0.0]),
    task!("P5", "multi-function", "a/p5", ["x"], 0.5..3.0, 8, ["a" 2.0 1.0, "b" 1.5 0.0]),
    task!("P6", "composed", "a/p6", ["x"], 0.5..3.0, 8, ["a" 2.0 1.0, "b" 0.5 0.0, "c" 1.0 0.0]),
];

/// The branch study of experiment A.
pub const S3: Task =
    task!("S3", "branch", "a/s3", ["x"], 0.1..3.0, 20, ["alpha" 1.0 0.0, "beta" 2.0 1.0, "gamma" 0.5 1.0]);

/// Experiment B.
pub const B: [Task; 15] = [
    task!("M01", "Coulomb", "b/m01", ["r", "q1", "q2"], 0.5..3.0, 3, ["k" 8.99 1.0]),
    task!("M02", "Beer-Lambert", "b/m02", ["c", "l"], 0.1..5.0, 4, ["epsilon" 0.45 1.0]),
    task!("M03", "Michaelis-Menten", "b/m03", ["S"], 0.1..10.0, 20, ["Vmax" 10.0 1.0, "Km" 2.5 1.0]),
    task!("M04", "Arrhenius", "b/m04", ["T"], 0.5..5.0, 20, ["A" 5.0 1.0, "Ea" 0.3 0.1]),
    task!("M05", "damped oscillator", "b/m05", ["t"], 0.0..6.0, 20, ["A" 2.0 1.0, "b" 0.3 0.1, "omega" 3.14 1.0]),
    task!("M06", "logistic growth", "b/m06", ["t"], 0.1..10.0, 20, ["K" 10.0 5.0, "r" 0.5 0.1]),
    task!("M07", "power law", "b/m07", ["x"], 0.5..10.0, 20, ["a" 3.0 1.0, "b" 0.75 0.5]),
    task!("M08", "Euler ODE", "b/m08", ["x"], 0.5..3.0, 20, ["k" 0.5 0.1]),
    task!("M09", "Taylor exp", "b/m09", ["x"], 0.1..3.0, 20, ["a" 0.5 1.0], |x| exp(0.5 * x)),
    task!("M10", "SiLU", "b/m10", ["x"], -3.0..3.0, 20, ["a" 1.0 0.5, "b" 2.0 0.5]),
    task!("M11", "recursive filter", "b/m11", ["x"], 0.5..3.0, 20, ["alpha" 0.3 0.8]),
    task!("M12", "Newton sqrt", "b/m12", ["x"], 0.5..10.0, 20, ["a" 0.5 1.0], sqrt),
    task!("M13", "composed transforms", "b/m13", ["x"], 0.5..5.0, 20, ["a" 2.5 1.0, "b" 1.0 0.0]),
    task!("M14", "anomaly scorer", "b/m14", ["f1", "f2", "f3"], 0.0..5.0, 3, ["w1" 0.5 1.0, "w2" 0.3 1.0, "w3" 0.2 1.0]),
    task!("M15", "Horner polynomial", "b/m15", ["x"], 0.5..3.0, 20, ["a0" 1.0 0.0, "a1" -0.5 0.0, "a2" 0.3 0.0, "a3" -0.1 0.0]),
];

/// Experiment C.
pub const C: [Task; 8] = [
    task!("C01", "Lotka-Volterra", "c/c01", ["x0"], 2.0..15.0, 20, ["a" 1.0 0.5, "b" 0.1 0.5]),
    task!("C02", "SIR epidemic", "c/c02", ["S0"], 0.5..0.99, 20, ["beta" 0.5 0.2, "gamma" 0.1 0.5]),
    task!("C03", "decay chain", "c/c03", ["A0"], 1.0..10.0, 20, ["lambda1" 0.3 0.1, "lambda2" 0.1 0.5]),
    task!("C04", "logistic map", "c/c04", ["x0"], 0.1..0.9, 20, ["r" 2.5 1.5]),
    task!("C05", "continued fraction", "c/c05", ["x"], 0.5..5.0, 20, ["a" 0.5 1.5]),
    task!("C06", "damped pendulum", "c/c06", ["theta0"], 0.1..1.5, 20, ["G" 5.0 2.0, "b" 0.3 0.1]),
    task!("C07", "IIR filter", "c/c07", ["x"], 0.5..5.0, 20, ["a1" 0.5 0.1, "a2" -0.3 0.0, "b0" 1.0 0.5]),
    task!("C08", "cascaded EMA", "c/c08", ["x"], 0.5..5.0, 20, ["alpha" 0.3 0.8, "beta" 0.5 0.8]),
];

impl Task {
    /// The program under its name.
    pub fn program(&self) -> Program {
        Program::named(&format!("{}.scm", self.id.to_lowercase()), self.source)
    }

    /// The names of the parameters.
    pub fn names(&self) -> Vec<&'static str> {
        self.parameters.iter().map(|p| p.0).collect()
    }

    /// The true values.
    pub fn truth(&self) -> Vec<f64> {
        self.parameters.iter().map(|p| p.1).collect()
    }

    /// The centres of the starts.
    pub fn centres(&self) -> Vec<f64> {
        self.parameters.iter().map(|p| p.2).collect()
    }

    /// The columns of the inputs: the product of a grid for each, the first one changing slowest.
    pub fn columns(&self, single: bool) -> Vec<Vec<f64>> {
        let grid = linspace(self.range.0, self.range.1, self.points, single);
        let inputs = self.inputs.len() as u32;
        let rows = self.points.pow(inputs);
        let column = |i: u32| (0..rows).map(|r| grid[r / self.points.pow(inputs - 1 - i) % self.points]).collect();
        (0..inputs).map(column).collect()
    }

    /// The start of a seed: each centre moved by 0.3 of its size times a draw of torch's generator.
    pub fn start(&self, seed: u64, single: bool) -> Vec<f64> {
        let mut torch = Torch::new(seed);
        let moved = |c: f64, torch: &mut Torch| fit(c + 0.3 * c.abs().max(0.1) * torch.normal(), single);
        self.parameters.iter().map(|p| moved(p.2, &mut torch)).collect()
    }
}

/// Equally spaced numbers, ends included, as torch makes them: from both ends to the middle.
pub fn linspace(low: f64, high: f64, n: usize, single: bool) -> Vec<f64> {
    let r = |x: f64| fit(x, single);
    let (low, high) = (r(low), r(high));
    let step = r(r(high - low) / (n.max(2) - 1) as f64);
    let at = |i: usize| if i < n / 2 { r(low + r(step * i as f64)) } else { r(high - r(step * (n - 1 - i) as f64)) };
    (0..n).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_have_the_sizes_of_the_protocol() {
        let rows: Vec<usize> = B.iter().map(|t| t.columns(false)[0].len()).collect();
        assert_eq!(rows, [27, 16, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 27, 20]);
        let columns = B[0].columns(false);
        assert_eq!(columns[0][..4], [0.5, 0.5, 0.5, 0.5]);
        assert_eq!(columns[2][..4], [0.5, 1.75, 3.0, 0.5]);
        assert_eq!(A[0].columns(true)[0][7], 3.0);
    }

    /// The truths of the table are those that the programs declare.
    #[test]
    fn parameters_are_those_of_the_programs() {
        for task in A.iter().chain(&B).chain(&C).chain([&S3]) {
            let names = dmci::Interpreter::shared().names(&task.program()).unwrap();
            let declared: Vec<(String, f64)> =
                names.schema.parameters.iter().map(|p| (p.name.clone(), p.datum().as_f64().unwrap())).collect();
            let ours: Vec<(String, f64)> = task.parameters.iter().map(|p| (p.0.to_string(), p.1)).collect();
            assert_eq!(declared, ours, "{}", task.id);
        }
    }
}
