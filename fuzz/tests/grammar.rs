//! What a grammar makes is a program: it is accepted, runs to a number of its type, and can be differentiated.

#![allow(clippy::unwrap_used)]

use dmci::{Datum, GradOptions, Interpreter, Program, RunOptions};
use dmci_generate::grammar::{Parameters, known};
use dmci_generate::grow::{Uniform, grow};
use dmci_generate::mutate::{self, Mutation};
use dmci_generate::random::Random;
use dmci_generate::sexp::{Sexp, parse};
use dmci_generate::{Grammar, Type, parameters};

fn bound(names: &[&str]) -> RunOptions {
    let bindings = names.iter().enumerate().map(|(i, n)| (n.to_string(), Datum::Real(0.3 + i as f64))).collect();
    RunOptions { bindings, ..RunOptions::default() }
}

#[test]
fn known_operations_take_and_give_what_the_table_says() {
    for operation in known() {
        let literal = |ty: &Type| match ty {
            Type::Real => "0.5",
            Type::Int => "3",
            _ => "#t",
        };
        let operands: Vec<&str> = operation.operands.iter().map(literal).collect();
        let text = format!("({} {})", operation.name, operands.join(" "));
        let value = Interpreter::shared().run(&Program::new(&text), &RunOptions::default()).unwrap().value;
        let fits = match operation.result {
            Type::Real => matches!(value, Datum::Real(_)),
            Type::Int => matches!(value, Datum::Integer(_)),
            _ => matches!(value, Datum::Bool(_)),
        };
        assert!(fits, "{text} gives {value:?}");
    }
}

/// Programs of a population under mutation and crossover run, and so do their gradients.
#[test]
fn what_mutation_makes_runs() {
    let names = ["+", "-", "*", "/", "exp", "sin", "tanh", "if", "<", "and", "min"];
    let mut grammar = Grammar::arithmetic(&names, &["x", "y"]).unwrap();
    grammar.parameters = Some(Parameters { most: 4, share: 0.3 });
    let mut random = Random::new(11);
    let seeds = [
        "(let loop ((n 0) (s 1.0)) (if (= n 9) s (loop (+ n 1) (+ s (* 0.1 (- p0 (* p1 s)))))))",
        "(let ((u (* x y))) (+ u (exp (- u))))",
    ];
    let mut population: Vec<Sexp> = seeds.iter().map(|text| parse(text).remove(0)).collect();
    while population.len() < 20 {
        population.push(grow(&grammar, &Type::Real, 4, &mut Uniform::new(&grammar, &mut random)).unwrap());
    }
    let (mut ran, mut differentiated) = (0, 0);
    for _ in 0..dmci_fuzz::count(1500) {
        let [i, j] = [0; 2].map(|_| random.below(population.len()));
        let new = match random.one_in(3) {
            true => mutate::crossover(&grammar, &population[i], &population[j], &Type::Real, &mut random),
            false => random.pick(&Mutation::ALL).apply(&grammar, &population[i], &Type::Real, 2, &mut random),
        };
        let Some(new) = new.filter(|new| new.size() < 80) else { continue };
        let new = parameters::renumbered(&new);
        let starts = vec![0.5; parameters::names(&new).len()];
        let program = Program::new(&parameters::program(&new, &starts));
        let run = RunOptions { limits: dmci::Limits { fuel: 1_000_000, ..Default::default() }, ..bound(&["x", "y"]) };
        match Interpreter::shared().run(&program, &run) {
            Ok(outcome) => assert!(matches!(outcome.value, Datum::Real(_) | Datum::Integer(_)), "{}", program.text),
            // A loop whose test has changed may never end.
            Err(failure) => assert!(failure.exit_code() == 3, "{}\n{failure:?}", program.text),
        }
        ran += 1;
        if !starts.is_empty() {
            let found = Interpreter::shared().grad(&program, &GradOptions { run, ..GradOptions::default() });
            differentiated += usize::from(found.is_ok());
        }
        population[i] = new;
    }
    assert!(ran > 1000 && differentiated > 300, "{ran} ran, {differentiated} have a gradient");
}
