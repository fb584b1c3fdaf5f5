//! One batch for many calls: whatever it was used for before, and whatever was done to it, a call gives what it gives
//! with a new one.

#![allow(clippy::unwrap_used)]

mod common;

use common::uniform;
use dmci::{Batch, Column, Datum, JitPolicy, Model, ModelOptions, Number, Program, Want};

fn model(text: &str, params: &[&str], inputs: &[&str]) -> Model {
    let options = ModelOptions { code: JitPolicy::Always, ..ModelOptions::default() };
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

/// Calls without lanes between others. JitPolicy does whole groups of lanes, so it must not be entered for none.
fn calls_without_lanes<N: Number>(text: &str, inputs: &[&str], want: Want, paired: bool) {
    let model = model(text, &["a", "b"], inputs);
    let columns = |rows: usize| vec![Column::Reals(vec![N::rounded(0.5); rows]); inputs.len()];
    let mut batch = Batch::default();
    let mut evaluate = |sets: usize, rows: usize, paired: bool| {
        let params = vec![N::rounded(0.25); 2 * sets];
        match paired {
            true => model.evaluate_pairs_into(&mut batch, &params, &columns(rows), want).unwrap(),
            false => model.evaluate_into(&mut batch, &params, &columns(rows), want).unwrap(),
        }
        (batch.values.len(), batch.gradients.len(), batch.hessians.len())
    };
    let rows = |lanes: usize| if inputs.is_empty() { 1 } else { lanes };
    // JitPolicy for few lanes is made, then code for many.
    for _ in 0..2 {
        evaluate(4, rows(1), false);
    }
    for _ in 0..3 {
        evaluate(64, 64, true);
        evaluate(if inputs.is_empty() { 64 } else { 1 }, 64, false);
    }
    for _ in 0..3 {
        for (sets, rows) in [(0, 0), (0, 3), (1, 0), (3, 0)] {
            let are_pairs = !paired || sets == rows;
            let none = inputs.is_empty() && sets > 0;
            for _ in 0..if are_pairs && !none { 3 } else { 0 } {
                assert_eq!(evaluate(sets, rows, paired), (0, 0, 0));
            }
        }
        assert_eq!(evaluate(64, 64, true).0, 64);
    }
}

#[test]
fn calls_without_lanes_do_nothing() {
    for want in [Want::Values, Want::Gradients, Want::Hessians] {
        for paired in [true, false] {
            for (text, inputs) in [("(* a (exp (- (* b x))))", &["x"][..]), ("(* a (exp b))", &[])] {
                calls_without_lanes::<f64>(text, inputs, want, paired);
                calls_without_lanes::<f32>(text, inputs, want, paired);
            }
        }
    }
}

#[test]
fn parameters_may_be_the_list_of_a_column() {
    let model = model("(- a (* 2. x))", &["a"], &["x"]);
    let column = uniform(64, 1);
    let columns = [Column::Reals(column.clone())];
    let Column::Reals(same) = &columns[0] else { unreachable!() };
    let mut batch = Batch::default();
    for params in [same, same, same, &uniform(64, 2), &uniform(64, 3), &uniform(64, 4), same] {
        model.evaluate_pairs_into(&mut batch, params, &columns, Want::Gradients).unwrap();
        let expected: Vec<f64> = params.iter().zip(&column).map(|(a, x)| a - 2.0 * x).collect();
        assert_eq!(batch.values, expected);
    }
}

/// Lanes whose results are more than what caches hold, and are written past them, have the bits of lanes in small calls.
fn many_results<N: Number>(lanes: usize) {
    let options = ModelOptions { code: JitPolicy::Always, threads: 2, ..ModelOptions::default() };
    let model = Model::new(Program::new("(+ a (* b (* x x)))"), &["a", "b"], &["x"], options);
    let number = |i: usize| N::rounded((i % 1013) as f64 / 7.0 - 60.0);
    let params: Vec<N> = (0..2 * lanes).map(number).collect();
    let column = |lanes: std::ops::Range<usize>| [Column::Reals(lanes.map(|i| number(3 * i + 1)).collect())];
    let (mut all, mut few) = (Batch::default(), Batch::default());
    // The first call records, and goes another way.
    for _ in 0..2 {
        all.values.fill(N::default());
        all.gradients.fill(N::default());
        model.evaluate_pairs_into(&mut all, &params, &column(0..lanes), Want::Gradients).unwrap();
    }
    let each = 64 * 16;
    for first in (0..lanes).step_by(each) {
        let end = (first + each).min(lanes);
        let params = &params[2 * first..2 * end];
        model.evaluate_pairs_into(&mut few, params, &column(first..end), Want::Gradients).unwrap();
        assert_eq!(all.values[first..end], few.values, "from lane {first}");
        assert_eq!(all.gradients[2 * first..2 * end], few.gradients, "from lane {first}");
    }
}

#[test]
fn results_that_no_cache_holds_are_those_of_small_calls() {
    many_results::<f64>((1 << 20) + 37);
    many_results::<f32>((1 << 21) + 5);
}

#[test]
fn every_call_is_counted_whoever_makes_it() {
    let model = model("(* a (exp (- (* b x))))", &["a", "b"], &["x"]);
    let calls = 500;
    let work = &|lanes: usize| {
        let mut batch = Batch::default();
        let columns = [Column::Reals(vec![0.5; lanes])];
        for _ in 0..calls {
            model.evaluate_pairs_into(&mut batch, &vec![0.5; 2 * lanes], &columns, Want::Gradients).unwrap();
        }
    };
    std::thread::scope(|scope| {
        for lanes in [1, 64, 65] {
            scope.spawn(move || work(lanes));
        }
    });
    // Batches that are gone count, too, when others are opened.
    work(64);
    let statistics = model.statistics();
    assert_eq!(statistics.calls, 4 * calls);
    assert_eq!(statistics.hits, calls * (1 + 64 + 65 + 64) - statistics.recordings);
}
