//! What a language model is asked to write: the models of B, programs like those of J, and the structures of the ENSO
//! study.

use crate::task;
use dmci::{Datum, Shape};
use dmci_stats::random::Stream;

/// The first message: the language and the contract.
pub const SYSTEM: &str = include_str!("../../prompts/written.md");

/// The version of the prompt.
pub const VERSION: &str = "dmci-written-1";

/// A question.
pub struct Task {
    /// `B`, `J` or `ENSO`.
    pub set: &'static str,
    /// Its name.
    pub name: String,
    /// The question.
    pub words: String,
    /// Programs that are wanted.
    pub count: usize,
    /// The inputs that programs may read.
    pub inputs: Vec<String>,
}

/// What the 15 models of B compute.
const B: [(&str, &str); 15] = [
    ("M01", "Coulomb's law: the force F = k q1 q2 / r^2."),
    ("M02", "The Beer-Lambert law: the absorbance A = epsilon c l."),
    ("M03", "Michaelis-Menten kinetics: V = Vmax S / (Km + S)."),
    ("M04", "The Arrhenius equation in scaled units: k = A exp(-Ea T), where the input T is an inverse temperature."),
    ("M05", "A damped oscillator: x = A exp(-b t) cos(omega t)."),
    ("M06", "Logistic growth from 1: P = K / (1 + (K - 1) exp(-r t))."),
    ("M07", "A power law: y = a x^b."),
    ("M08", "The explicit Euler method for y' = -k y from y = x with 10 steps of 0.1; the value is the last y."),
    ("M09", "The Taylor series of exp(a x) up to the term of order 8 (nine terms), with a recursive factorial."),
    ("M10", "An activation function: y = a x s(b x) with the logistic function s(u) = 1 / (1 + exp(-u))."),
    (
        "M11",
        "A recursive filter: from y = 0, 8 steps of y <- alpha x + (1 - alpha) y, where x stays the same; the value is y.",
    ),
    ("M12", "Newton's method for the square root of x: from g = a x, 5 steps of g <- (g + x / g) / 2; the value is g."),
    (
        "M13",
        "Composed transforms: a closure that scales by a, a closure that shifts by b, and a procedure that composes them: the value is a x + b.",
    ),
    ("M14", "A score of anomalies: w1 f1 + w2 f2 + w3 f3."),
    ("M15", "Horner's method over a list of coefficients (a0, a1, a2, a3): a0 + x (a1 + x (a2 + x a3)), recursively."),
];

/// Fields of science for programs like those of J.
const J: [&str; 12] = [
    "population dynamics, stepped in a loop (explicit Euler or a map)",
    "epidemiology with compartments, stepped in a loop",
    "chemical kinetics with two or more species, stepped in a loop",
    "pharmacokinetics, in closed form or stepped",
    "mechanics: oscillators and pendulums, stepped in a loop",
    "heat, diffusion or cooling on a few grid cells, stepped in a loop",
    "climate: energy balance and carbon boxes, stepped in a loop",
    "ecology or hydrology with thresholds (if, min, max)",
    "signal processing: recursive filters and smoothers over several steps",
    "non-tail recursion: continued fractions, series, recursive sums",
    "economics: growth, savings and adjustment, stepped year by year",
    "optics, electricity or astronomy in closed form",
];

/// All questions.
pub fn all() -> Vec<Task> {
    let mut list = Vec::new();
    for ((id, words), task) in B.iter().zip(task::B) {
        let parameters: Vec<String> = task.parameters.iter().map(|p| format!("{} with start {:?}", p.0, p.1)).collect();
        list.push(Task {
            set: "B",
            name: (*id).into(),
            words: format!(
                "Write this model as one program. {words}\n\nThe inputs are {}; the parameters are {}.\n",
                task.inputs.join(", "),
                parameters.join(", ")
            ),
            count: 1,
            inputs: task.inputs.iter().map(|i| i.to_string()).collect(),
        });
    }
    for (number, field) in J.iter().enumerate() {
        list.push(Task {
            set: "J",
            name: format!("field {}", number + 1),
            words: format!(
                "Write 5 different models from this field: {field}.\n\nEach has one input, x, a real number between 0.5 and 3 \
                 (say what it stands for), and 1 to 4 parameters of kind free with plausible starts that are not 0. The value \
                 must be finite and depend on every parameter.\n"
            ),
            count: 5,
            inputs: vec!["x".into()],
        });
    }
    let body = include_str!("../../models/kalman/lim.scm");
    let body: Vec<&str> = body.lines().filter(|l| !l.starts_with(";;")).collect();
    for s in &STRUCTURES {
        list.push(Task {
            set: "ENSO",
            name: s.name.into(),
            words: format!(
                "This program computes the negative log-likelihood of a linear inverse model by a Kalman filter. obs is a list \
                 of observations, each a list of D numbers; q is a list of D numbers; F is a matrix.\n\n```scheme\n{}\n```\n\n\
                 Write the whole program again for another structure of F: {} F is no input any more; it is assembled once, \
                 before the filter starts. The inputs are obs, q{}.\n",
                body.join("\n").trim(),
                s.words,
                s.inputs
            ),
            count: 1,
            inputs: vec!["obs".into(), "q".into()],
        });
    }
    list
}

/// A structure of F.
pub struct Structure {
    /// As the paper calls it.
    pub name: &'static str,
    words: &'static str,
    inputs: &'static str,
}

/// The five structures.
pub const STRUCTURES: [Structure; 5] = [
    Structure { name: "S0 dense", words: "dense, equal to the matrix M, an input.", inputs: ", and M, a D x D matrix" },
    Structure {
        name: "S1 diagonal",
        words: "diagonal, with the numbers of v.",
        inputs: ", and v, a vector of D numbers",
    },
    Structure {
        name: "S3 low rank",
        words: "diagonal plus low rank, diag(v) + U V^T.",
        inputs: ", v, a vector of D numbers, and U and V, D x 2 matrices",
    },
    Structure {
        name: "S4 companion",
        words: "the companion matrix of an autoregression of order 2: the first row is (a1, a2, 0, ..., 0), and there are ones on the first subdiagonal.",
        inputs: ", and the numbers a1 and a2",
    },
    Structure {
        name: "S5 symmetric and antisymmetric",
        words: "the sum of the symmetric part (M + M^T)/2 and the antisymmetric part (M - M^T)/2, each assembled separately.",
        inputs: ", and M, a D x D matrix",
    },
];

/// The size of the ENSO problem at the gate, and its rows.
const D: usize = 4;
const T: usize = 5;

/// The inputs of a structure at the gate, those of them by which it is differentiated, and its F.
pub fn enso(structure: &str) -> (Vec<(String, Datum)>, Vec<String>, Datum) {
    let mut stream = Stream::new(1, 31);
    let mut draw = |n: usize, scale: f64| -> Vec<f64> { (0..n).map(|_| scale * stream.normal()).collect() };
    let reals = |list: &[f64]| Datum::list(list.iter().map(|x| Datum::Real(*x)).collect());
    let obs = Datum::list((0..T).map(|_| reals(&draw(D, 1.0))).collect());
    let q = reals(&[0.05; D]);
    let square = |list: Vec<f64>| Datum::Tensor(Shape::Matrix(D as u32, D as u32), list);
    let at = |i: usize, j: usize| i * D + j;
    let noise = draw(D * D, 0.05);
    let dense: Vec<f64> = (0..D * D).map(|k| noise[k] + if k / D == k % D { 0.9 } else { 0.0 }).collect();
    let v: Vec<f64> = draw(D, 0.05).iter().map(|x| 0.9 + x).collect();
    let (left, right) = (draw(2 * D, 0.1), draw(2 * D, 0.1));
    let mut list = vec![("obs".to_string(), obs), ("q".to_string(), q)];
    let vector = |list: &[f64]| Datum::Tensor(Shape::Vector(D as u32), list.to_vec());
    let mut f = vec![0.0; D * D];
    let factors: Vec<(String, Datum)> = match structure.split(' ').next() {
        Some("S1") => {
            (0..D).for_each(|i| f[at(i, i)] = v[i]);
            vec![("v".into(), vector(&v))]
        }
        Some("S3") => {
            for i in 0..D {
                for j in 0..D {
                    let product = left[2 * i] * right[2 * j] + left[2 * i + 1] * right[2 * j + 1];
                    f[at(i, j)] = product + if i == j { v[i] } else { 0.0 };
                }
            }
            let thin = |list: &[f64]| Datum::Tensor(Shape::Matrix(D as u32, 2), list.to_vec());
            vec![("v".into(), vector(&v)), ("U".into(), thin(&left)), ("V".into(), thin(&right))]
        }
        Some("S4") => {
            (f[0], f[1]) = (0.9, -0.1);
            (1..D).for_each(|i| f[at(i, i - 1)] = 1.0);
            vec![("a1".into(), Datum::Real(0.9)), ("a2".into(), Datum::Real(-0.1))]
        }
        _ => {
            f.clone_from(&dense);
            vec![("M".into(), square(dense))]
        }
    };
    let names = factors.iter().map(|(name, _)| name.clone()).collect();
    list.extend(factors);
    (list, names, square(f))
}
