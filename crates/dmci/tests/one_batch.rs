//! One batch for many calls: whatever it was used for before, and whatever was done to it, a call gives what it gives
//! with a new one.

#![allow(clippy::unwrap_used)]

mod common;

use common::uniform;
use dmci::{Batch, Code, Column, Datum, Model, ModelOptions, Number, Program, Want};

fn model(text: &str, params: &[&str], inputs: &[&str]) -> Model {
    let options = ModelOptions { code: Code::Always, ..ModelOptions::default() };
    Model::new(Program::new(text), params, inputs, options)
}

/// Everything that can be seen of a batch.
fn seen<N: Number>(batch: &Batch<N>, lanes: usize) -> impl PartialEq + std::fmt::Debug {
    let bits = |list: &[N]| list.iter().map(|x| x.bits()).collect::<Vec<u64>>();
    let failures: Vec<(usize, String)> = batch.failures.iter().map(|f| (f.0, f.1.to_string())).collect();
    let lanes: Vec<(u32, String)> = (0..lanes).map(|lane| (batch.path(lane), batch.output(lane))).collect();
    let lists = [bits(&batch.values), bits(&batch.gradients), bits(&batch.hessians)];
    (lists, failures, lanes, batch.walked, batch.unkept)
}

fn random_calls<N: Number>(seed: u64) {
    let models = [
        model("(* a (exp (- (* b x))))", &["a", "b"], &["x"]),
        model("(+ (* a x) (sqrt b) y)", &["a", "b"], &["x", "y"]),
        model("(if (< x 0) (begin (display x) (* a x)) (if (< x 0.9) (* b x) (error \"far\" x)))", &["a", "b"], &["x"]),
        model("(* a b)", &["a", "b"], &[]),
    ];
    let mut numbers = uniform(200_000, seed).into_iter();
    let mut below = |n: usize| (numbers.next().unwrap() * n as f64) as usize;
    let mut batch: Batch<N> = Batch::default();
    let mut last = (0, 1, false, Want::Values);
    for call in 0..400 {
        // Mostly the same again.
        if call == 0 || below(3) == 0 {
            let want = [Want::Values, Want::Gradients, Want::Hessians][below(3).min(below(3))];
            last = (below(models.len()), [1, 1, 2, 8, 64, 65][below(6)], below(2) == 0, want);
        }
        let (which, lanes, paired, want) = last;
        let inputs = [1, 2, 1, 0][which];
        let sets = if paired || inputs == 0 { lanes } else { 1 + below(3) };
        let mut number = || N::rounded(below(1000) as f64 / 500.0 - 0.9);
        let params: Vec<N> = (0..2 * sets).map(|_| number()).collect();
        let mut columns: Vec<Column<N>> =
            (0..inputs).map(|_| Column::Reals((0..lanes).map(|_| number()).collect())).collect();
        if below(8) == 0
            && let Some(Column::Reals(list)) = columns.first().cloned()
        {
            columns[0] = Column::Data(list.iter().map(|&x| Datum::Real(x.into())).collect());
        }
        match below(12) {
            0 => batch.values.clear(),
            1 => batch.gradients.push(N::rounded(1.0)),
            2 => batch.hessians = vec![N::rounded(2.0); 7],
            3 => (batch.walked, batch.unkept) = (5, 6),
            4 => drop(std::mem::take(&mut batch.values)),
            5 => batch = Batch::default(),
            _ => {}
        }
        let evaluate = |batch: &mut Batch<N>| {
            let model = &models[which];
            match paired {
                true => model.evaluate_pairs_into(batch, &params, &columns, want),
                false => model.evaluate_into(batch, &params, &columns, want),
            }
        };
        let mut new = Batch::default();
        // A lane that is the first one on a path is known to have been walked.
        evaluate(&mut Batch::default()).unwrap();
        evaluate(&mut new).unwrap();
        evaluate(&mut batch).unwrap();
        let count = if paired || inputs == 0 { lanes } else { sets * lanes };
        assert!(seen(&batch, count) == seen(&new, count), "call {call} of seed {seed}: {last:?}");
    }
}

#[test]
fn a_batch_that_was_used_before_gives_what_a_new_one_gives() {
    for seed in 0..20 {
        random_calls::<f64>(seed);
        random_calls::<f32>(seed);
    }
}

#[test]
fn what_another_call_left_behind_is_gone() {
    let model = model("(if (< x 0) (begin (display x) (* a x)) (* 2 a x))", &["a"], &["x"]);
    let mut batch = Batch::default();
    let mut evaluate = |column| {
        model.evaluate_into(&mut batch, &[0.5], &[column], Want::Gradients).unwrap();
        (batch.values[0], batch.output(0))
    };
    for _ in 0..3 {
        for _ in 0..3 {
            assert_eq!(evaluate(Column::Reals(vec![1.0])), (1.0, String::new()));
        }
        assert_eq!(evaluate(Column::Data(vec![Datum::Real(-1.0)])), (-0.5, "-1.0".into()));
    }
}

#[test]
fn a_call_of_another_shape_is_refused_as_by_a_new_batch() {
    let model = model("(* a (exp (- (* b x))))", &["a", "b"], &["x"]);
    let mut batch = Batch::default();
    let columns = [Column::Reals(vec![1.0; 8])];
    for _ in 0..3 {
        model.evaluate_pairs_into(&mut batch, &[0.5; 16], &columns, Want::Gradients).unwrap();
    }
    let short = [Column::Reals(vec![1.0; 7])];
    for (params, columns) in [(16, &short[..]), (15, &columns[..]), (16, &[]), (18, &columns[..])] {
        let refused = model.evaluate_pairs_into(&mut batch, &vec![0.5; params], columns, Want::Gradients);
        assert_eq!(refused.unwrap_err().diagnostics[0].code, "E0910");
    }
}
