//! The five structures of the transition operator, as programs in front of one likelihood.

use super::matrix::Matrix;
use crate::torch::Torch;
use dmci::{Datum, Program, Shape};
use dmci_ops::real::{exp, log};

/// The likelihood.
pub const LIKELIHOOD: &str = include_str!("../../programs/lim/kalman.scm");

/// What is added to the variance of observations in the paper.
pub const FLOOR: f64 = 0.1;

/// Added to the diagonal of Q.
const RIDGE: f64 = 1e-4;

/// The rank of the coupling in S3.
const RANK: usize = 2;

/// What the transition operator is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Structure {
    /// Its name in the paper.
    pub id: &'static str,
    /// What it is.
    pub title: &'static str,
    /// The program that assembles F.
    pub program: &'static str,
}

/// The structures of the paper.
pub const STRUCTURES: [Structure; 5] = [
    Structure { id: "S0", title: "dense", program: "(define F M)" },
    Structure { id: "S1", title: "diagonal", program: "(define F (diag v))" },
    Structure { id: "S3", title: "low rank + diagonal", program: "(define F (+ (diag v) (matmul U (transpose V))))" },
    Structure { id: "S4", title: "AR(2) companion", program: "(define F (+ (outer e0 (matvec wide a)) sub))" },
    Structure {
        id: "S5",
        title: "symmetric + antisymmetric",
        program: "(define F (+ (scale 0.5 (+ M (transpose M))) (scale 0.5 (- M (transpose M)))))",
    },
];

/// A structure by its name.
pub fn structure(id: &str) -> Option<Structure> {
    STRUCTURES.into_iter().find(|s| s.id == id)
}

/// The operator and the covariances.
#[derive(Clone, Debug, PartialEq)]
pub struct Operators {
    /// The transition operator.
    pub f: Matrix,
    /// The covariance of the noise of the dynamics.
    pub q: Matrix,
    /// The variance of observations.
    pub r: f64,
}

impl Structure {
    /// The tensors that F is made of: their names, rows and columns.
    fn parts(self, d: usize) -> Vec<(&'static str, usize, usize)> {
        match self.id {
            "S1" => vec![("v", d, 1)],
            "S3" => vec![("v", d, 1), ("U", d, RANK), ("V", d, RANK)],
            "S4" => vec![("a", 2, 1)],
            _ => vec![("M", d, d)],
        }
    }

    /// Numbers in F.
    pub fn numbers(self, d: usize) -> usize {
        self.parts(d).iter().map(|p| p.1 * p.2).sum()
    }

    /// All raw numbers: those of F, the lower triangle of the factor of Q row by row, and that of R.
    pub fn raws(self, d: usize) -> usize {
        self.numbers(d) + d * (d + 1) / 2 + 1
    }

    /// The whole program.
    pub fn source(self) -> Program {
        Program::named(&format!("lim {}", self.id), &format!("{}\n{LIKELIHOOD}", self.program))
    }

    /// Parameters of the model, with their shapes.
    pub fn parameters(self, d: usize) -> Vec<(String, Datum)> {
        let tensor = |rows: usize, columns: usize| {
            let zeros = vec![0.0; rows * columns];
            match columns {
                1 => Datum::Tensor(Shape::Vector(rows as u32), zeros),
                _ => Datum::Tensor(Shape::Matrix(rows as u32, columns as u32), zeros),
            }
        };
        let mut list: Vec<(String, Datum)> =
            self.parts(d).into_iter().map(|(name, rows, columns)| (name.into(), tensor(rows, columns))).collect();
        list.push(("Lq".into(), tensor(d, d)));
        list.push(("r".into(), Datum::Real(0.0)));
        list
    }

    /// Constants that only this structure needs.
    pub fn constants(self, d: usize) -> Vec<(String, Datum)> {
        if self.id != "S4" {
            return Vec::new();
        }
        let mut unit = vec![0.0; d];
        unit[0] = 1.0;
        let mut wide = vec![0.0; 2 * d];
        (wide[0], wide[3]) = (1.0, 1.0);
        let mut sub = vec![0.0; d * d];
        (1..d).for_each(|i| sub[i * d + i - 1] = 1.0);
        vec![
            ("e0".into(), Datum::Tensor(Shape::Vector(d as u32), unit)),
            ("wide".into(), Datum::Tensor(Shape::Matrix(d as u32, 2), wide)),
            ("sub".into(), Datum::Tensor(Shape::Matrix(d as u32, d as u32), sub)),
        ]
    }

    /// Where the numbers of a part lie, and those of the triangle: the places in the parameters of the model.
    pub fn places(self, d: usize) -> Vec<usize> {
        let f = self.numbers(d);
        let mut places: Vec<usize> = (0..f).collect();
        (0..d).for_each(|i| places.extend((0..=i).map(|j| f + i * d + j)));
        places.push(f + d * d);
        places
    }

    /// Where each block of raw numbers ends: the parts of F, the triangle, r.
    pub fn blocks(self, d: usize) -> Vec<usize> {
        let mut ends = Vec::new();
        let mut end = 0;
        for (_, rows, columns) in self.parts(d) {
            end += rows * columns;
            ends.push(end);
        }
        ends.extend([end + d * (d + 1) / 2, end + d * (d + 1) / 2 + 1]);
        ends
    }

    /// The paper's start of a seed.
    pub fn start(self, d: usize, seed: u64) -> Vec<f64> {
        let mut torch = Torch::new(seed);
        let mut raws = Vec::new();
        match self.id {
            "S1" => raws.extend(torch.normals(d).iter().map(|z| 0.9 + 0.02 * z)),
            "S3" => {
                torch.normals(d);
                raws.extend(torch.normals(d).iter().map(|z| 0.9 + 0.01 * z));
                raws.extend(torch.normals(2 * d * RANK).iter().map(|z| 0.01 * z));
            }
            "S4" => {
                torch.normals(2);
                raws.extend(torch.normals(2).iter().zip([0.9, 0.0]).map(|(z, a)| a + 0.02 * z));
            }
            _ => {
                raws.extend(torch.normals(d * d).iter().map(|z| 0.02 * z));
                (0..d).for_each(|i| raws[i * d + i] += 0.9);
            }
        }
        let draws = torch.normals(d * (d + 1) / 2);
        let mut draws = draws.iter();
        for i in 0..d {
            for j in 0..=i {
                let z = draws.next().copied().unwrap_or(0.0);
                raws.push(if i == j { 0.1 } else { 0.005 * z });
            }
        }
        raws.push(-4.0);
        raws
    }

    /// F, Q and R of raw numbers, by hand.
    pub fn operators(self, d: usize, raws: &[f64], floor: f64) -> Operators {
        let count = self.numbers(d);
        let (part, rest) = raws.split_at(count);
        let f = match self.id {
            "S1" | "S3" => {
                let mut f = Matrix::zeros(d, d);
                (0..d).for_each(|i| f.values[i * d + i] = part[i]);
                if self.id == "S3" {
                    let (u, v) = part[d..].split_at(d * RANK);
                    let (u, v) = (Matrix::new(d, RANK, u.to_vec()), Matrix::new(d, RANK, v.to_vec()));
                    f = f.plus(&u.times(&v.transpose()), 1.0);
                }
                f
            }
            "S4" => {
                let mut f = Matrix::zeros(d, d);
                f.values[..2].copy_from_slice(part);
                (1..d).for_each(|i| f.values[i * d + i - 1] = 1.0);
                f
            }
            _ => Matrix::new(d, d, part.to_vec()),
        };
        let mut lower = Matrix::zeros(d, d);
        let mut next = rest.iter();
        for i in 0..d {
            (0..=i).for_each(|j| lower.values[i * d + j] = next.next().copied().unwrap_or(0.0));
        }
        let q = lower.times(&lower.transpose()).plus(&Matrix::identity(d, 1.0), RIDGE);
        let raw = rest[rest.len() - 1];
        let softplus = if raw > 30.0 { raw } else { log(1.0 + exp(raw)) };
        Operators { f, q, r: softplus + floor }
    }
}
