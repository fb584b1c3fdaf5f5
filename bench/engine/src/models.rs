//! Times many different models: each is text at first, is recorded, and gives values and gradients of its rows.
//!
//!   models [--models N] [--rows N] [--again N]
//!
//! Models are spread over the threads of a pool, and each runs on the thread that has it. Printed are the microseconds
//! for a model with one thread and with two, and how many times as fast two are: for models that are new, and for
//! those that are evaluated again.

use dmci::{Batch, Column, Model, ModelOptions, Program, Want};
use rayon::prelude::*;
use std::time::Instant;

const PARAMS: [&str; 3] = ["a", "b", "c"];

/// The least of so many rounds counts.
const ROUNDS: usize = 7;

/// A stream of random expressions, always the same.
struct Texts(u64);

impl Texts {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }

    /// An expression with so many nodes, which is finite everywhere.
    fn expression(&mut self, nodes: u64) -> String {
        match nodes {
            0 | 1 => ["a", "b", "c", "x", "x", "0.5"][self.below(6) as usize].to_string(),
            2..4 => self.unary(nodes),
            _ if self.below(3) == 0 => self.unary(nodes),
            _ => {
                let operation = ["+", "-", "*"][self.below(3) as usize];
                let left = 1 + self.below(nodes - 2);
                format!("({operation} {} {})", self.expression(left), self.expression(nodes - 1 - left))
            }
        }
    }

    fn unary(&mut self, nodes: u64) -> String {
        let operation = ["sin", "cos", "tanh", "square"][self.below(4) as usize];
        format!("({operation} {})", self.expression(nodes - 1))
    }
}

/// A model with the memory of its results.
struct Candidate {
    model: Model,
    batch: Batch,
}

impl Candidate {
    fn new(text: &str) -> Candidate {
        let options = ModelOptions { threads: 1, ..ModelOptions::default() };
        Candidate { model: Model::new(Program::new(text), &PARAMS, &["x"], options), batch: Batch::default() }
    }

    /// The sum of the values and gradients at some parameters.
    fn evaluate(&mut self, column: &[Column], shift: f64) -> f64 {
        let params = [0.7 + shift, 0.3, 1.1 - shift];
        match self.model.evaluate_into(&mut self.batch, &params, column, Want::Gradients) {
            Ok(()) => self.batch.values.iter().chain(&self.batch.gradients).sum(),
            Err(_) => f64::NAN,
        }
    }
}

fn main() {
    let number = |name: &str, usual: usize| {
        let given = std::env::args().skip_while(|arg| arg != name).nth(1);
        given.and_then(|n| n.parse().ok()).unwrap_or(usual)
    };
    let (models, again) = (number("--models", 1000), number("--again", 20));
    let mut texts = Texts(1);
    let texts: Vec<String> = (0..models).map(|_| texts.expression(20)).collect();
    let rows: Vec<usize> = match number("--rows", 0) {
        0 => vec![20, 256, 4096],
        rows => vec![rows],
    };
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be made");
    let pools = [pool(1), pool(2)];
    println!("{models} models of 20 nodes, values and gradients; microseconds for a model\n");
    println!("{:>6} {:>10} {:>10} {:>10} {:>7}", "rows", "", "1 thread", "2 threads", "ratio");
    for rows in rows {
        let column = [Column::Reals((0..rows).map(|i| 0.1 + i as f64 / rows as f64).collect())];
        let (mut new, mut later) = ([f64::INFINITY; 2], [f64::INFINITY; 2]);
        let mut sums = [0.0; 2];
        for _ in 0..ROUNDS {
            for (pool, threads) in pools.iter().zip([1, 2]) {
                let (first, second, sum) = pool.install(|| round(&texts, &column, again));
                new[threads - 1] = new[threads - 1].min(first / models as f64);
                later[threads - 1] = later[threads - 1].min(second / models as f64);
                sums[threads - 1] = sum;
            }
        }
        assert_eq!(sums[0].to_bits(), sums[1].to_bits(), "results must not depend on threads");
        for (what, [one, two]) in [("new", new), ("again", later)] {
            println!("{rows:>6} {what:>10} {one:>10.2} {two:>10.2} {:>7.2}", one / two);
        }
    }
}

/// Microseconds for the first evaluation of all models and for later ones, and a sum of all that was found.
fn round(texts: &[String], column: &[Column], again: usize) -> (f64, f64, f64) {
    let start = Instant::now();
    // Most of what a search proposes is evaluated once and given up.
    let found = |text: &String| Candidate::new(text).evaluate(column, 0.0);
    let mut sums: Vec<f64> = texts.par_iter().map(found).collect();
    let new = start.elapsed();
    let mut candidates: Vec<Candidate> = texts.par_iter().map(|text| Candidate::new(text)).collect();
    // Code is made when a model has been used enough.
    let mut evaluate = || {
        candidates.par_iter_mut().zip(&mut sums).for_each(|(c, sum)| {
            *sum += (0..again).map(|i| c.evaluate(column, 1e-3 * i as f64)).sum::<f64>();
        });
    };
    evaluate();
    let start = Instant::now();
    evaluate();
    let later = start.elapsed();
    (new.as_secs_f64() * 1e6, later.as_secs_f64() * 1e6 / again as f64, sums.iter().sum())
}
