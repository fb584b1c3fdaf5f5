//! Genetic programming over expressions, with constants fitted for each candidate.

use super::Search;
use crate::adam::TorchAdam;
use crate::numbers::{Real, median};
use crate::predict::{Engine, Predict, Predictions, options};
use crate::task::linspace;
use crate::torch::Torch;
use dmci::{Mode, Program, Report};
use dmci_generate::expression::{self, at, at_mut, depth};
use dmci_generate::grow::{Decide, grow};
use dmci_generate::sexp::Sexp;
use dmci_generate::{Grammar, Operation, Type};
use dmci_ops::real::sin;
use dmci_stats::random::Stream;
use dmci_table::hash::Hash;
use std::time::Instant;

const POPULATION: usize = 50;
const DEPTH: usize = 5;

const FUNCTIONS: [(&str, usize); 6] = [("+", 2), ("-", 2), ("*", 2), ("/", 2), ("sin", 1), ("cos", 1)];

/// What stands for a constant until the whole tree is there.
const CONSTANT: &str = "c";

/// The protocol's decisions: half of the leaves are the input, and trees end above their depth unless they are full.
struct Protocol<'a> {
    stream: &'a mut Stream,
    full: bool,
}

impl Decide for Protocol<'_> {
    fn ends(&mut self, depth: usize) -> bool {
        depth <= 1 || (!self.full && self.stream.uniform() >= 0.7)
    }

    fn operation(&mut self, choices: &[&Operation]) -> usize {
        self.stream.below(choices.len())
    }

    fn leaf(&mut self, _: &Type) -> Option<Sexp> {
        Some(Sexp::atom(if self.stream.uniform() < 0.5 { "x" } else { CONSTANT }))
    }
}

fn grammar() -> Grammar {
    let operations = FUNCTIONS.iter().map(|(name, operands)| Operation::real(name, *operands)).collect();
    Grammar { operations, ..Grammar::default() }
}

fn new_tree(stream: &mut Stream, depth: usize, full: bool) -> Sexp {
    grow(&grammar(), &Type::Real, depth, &mut Protocol { stream, full }).expect("every leaf of the protocol is there")
}

/// The text, and the number of constants, which are numbered from left to right.
fn scheme(tree: &Sexp, constants: &mut usize) -> String {
    fn numbered(tree: &Sexp, constants: &mut usize) -> Sexp {
        match tree {
            Sexp::Atom(text) if text == CONSTANT => {
                *constants += 1;
                Sexp::atom(format!("c{}", *constants - 1))
            }
            Sexp::List(items) => Sexp::List(items.iter().map(|item| numbered(item, constants)).collect()),
            other => other.clone(),
        }
    }
    numbered(tree, constants).to_string()
}

fn first_population(stream: &mut Stream) -> Vec<Sexp> {
    (0..POPULATION).map(|i| new_tree(stream, 2 + i % 4, i % 2 == 0)).collect()
}

fn offspring(population: &[Sexp], fitness: &[f64], stream: &mut Stream) -> Sexp {
    let tournament = |stream: &mut Stream| {
        let picks: Vec<usize> = (0..3).map(|_| stream.below(POPULATION)).collect();
        picks.into_iter().min_by(|&a, &b| fitness[a].total_cmp(&fitness[b])).unwrap_or(0)
    };
    let mut child = population[tournament(stream)].clone();
    let size = expression::size(&child);
    let place = if size > 1 { 1 + stream.below(size - 1) } else { 0 };
    let new = if stream.uniform() < 0.8 {
        let other = &population[tournament(stream)];
        let number = stream.below(expression::size(other));
        at(other, number).cloned().unwrap_or(Sexp::atom("x"))
    } else {
        new_tree(stream, 2.max(DEPTH.saturating_sub(depth(&child))), false)
    };
    if let Some(spot) = at_mut(&mut child, place) {
        *spot = new;
    }
    if depth(&child) > DEPTH { new_tree(stream, DEPTH, false) } else { child }
}

/// One search.
pub fn search(arm: &str, mode: Mode, seed: u64, generations: usize, single: bool) -> Result<Search, Report> {
    let xs = linspace(0.5, 3.0, 20, single);
    let target: Vec<f64> = xs.iter().map(|x| 2.0 * sin(3.0 * x) + 0.5 * x * x).collect();
    let mut stream = Stream::new(seed, 0);
    let mut population = first_population(&mut stream);
    let mut best = (String::new(), f64::INFINITY);
    let mut hash = Hash::default();
    let (mut firsts, mut rests, mut total) = (Vec::new(), Vec::new(), 0.0);
    let mut cumulative = Vec::new();
    let mut candidates = 0;
    for _ in 0..generations {
        let mut fitness = Vec::with_capacity(POPULATION);
        for tree in &population {
            let mut constants = 0;
            let text = scheme(tree, &mut constants);
            let began = Instant::now();
            let (loss, first) = fitted(&text, constants, &xs, &target, mode.clone(), seed + candidates as u64, single);
            let all = began.elapsed().as_secs_f64();
            firsts.push(first);
            rests.push(all - first);
            total += all;
            candidates += 1;
            hash.add(text.as_bytes());
            hash.add_number(loss);
            if loss < best.1 {
                best = (text, loss);
            }
            fitness.push(loss);
        }
        cumulative.push((candidates, total));
        let elite = (0..POPULATION).min_by(|&a, &b| fitness[a].total_cmp(&fitness[b])).unwrap_or(0);
        let mut next = vec![population[elite].clone()];
        while next.len() < POPULATION {
            next.push(offspring(&population, &fitness, &mut stream));
        }
        population = next;
    }
    let (best, loss) = (best.0, Real(best.1));
    let seconds = (median(firsts), median(rests));
    Ok(Search { arm: arm.into(), seed, candidates, seconds, cumulative, best, loss, hash: hash.digits() })
}

/// What a point without a value costs, and a program that cannot be run.
const PENALTY: (f64, f64) = (1e6, 1e10);

/// The loss after 20 epochs, and the seconds to the first gradient.
fn fitted(text: &str, constants: usize, xs: &[f64], target: &[f64], mode: Mode, seed: u64, single: bool) -> (f64, f64) {
    let began = Instant::now();
    let names: Vec<String> = (0..constants).map(|i| format!("c{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut torch = Torch::new(seed);
    let mut point: Vec<f64> = (0..constants).map(|_| 1.0 + 0.5 * torch.normal()).collect();
    let mut engine = Engine::new(Program::new(text), &names, &["x"], &[xs.to_vec()], options(mode, single));
    let mut adam = TorchAdam::new(constants, 0.05, single);
    let mut out = Predictions::default();
    let mut loss = PENALTY.1;
    let mut first = 0.0;
    // Without constants there is nothing to descend along: one evaluation is all.
    for epoch in 0..if constants == 0 { 1 } else { 20 } {
        if engine.predict(&point, constants > 0, &mut out).is_err() {
            return (PENALTY.1, began.elapsed().as_secs_f64());
        }
        if epoch == 0 {
            first = began.elapsed().as_secs_f64();
        }
        let mut gradient = vec![0.0; constants];
        loss = 0.0;
        for (row, (y, t)) in out.values.iter().zip(target).enumerate() {
            let error = y - t;
            let slopes = &out.jacobian[row * constants..][..constants];
            if !(error * error).is_finite() || slopes.iter().any(|d| !d.is_finite()) {
                loss += PENALTY.0;
                continue;
            }
            loss += error * error;
            gradient.iter_mut().zip(slopes).for_each(|(g, d)| *g += 2.0 * error * d);
        }
        if gradient.iter().all(|g| g.is_finite()) {
            adam.step(&mut point, &gradient);
        }
    }
    (if loss.is_nan() { PENALTY.1 } else { loss }, first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_those_of_the_published_results() {
        let mut stream = Stream::new(3, 0);
        let mut population = first_population(&mut stream);
        let mut hash = Hash::default();
        for _ in 0..30 {
            let texts: Vec<String> = population.iter().map(|tree| scheme(tree, &mut 0)).collect();
            texts.iter().for_each(|text| hash.add(text.as_bytes()));
            // Any fitness will do here.
            let fitness: Vec<f64> = texts.iter().map(|text| (text.len() * 37 % 101) as f64).collect();
            population = (0..POPULATION).map(|_| offspring(&population, &fitness, &mut stream)).collect();
        }
        assert_eq!(hash.digits(), "8cda1167402eed7a2066b8a9d6a59c04");
    }
}
