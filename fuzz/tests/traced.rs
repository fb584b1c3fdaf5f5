//! Generated programs on traced numbers: no program can tell them from plain ones, the tape is the
//! same in every mode, and lanes together are lanes alone.

use dmci::{
    Batch, Column, Datum, GradOptions, Interpreter, Mode, Model, ModelOptions, Numerics, Passes, Program, RunOptions,
    Want, Wrt,
};
use dmci_fuzz::agree::small_limits;
use dmci_fuzz::count;
use dmci_generate::language::{self, Options};
use dmci_generate::sexp::text_of;

const NAMES: [&str; 3] = ["a", "b", "c"];

/// A generated program whose value is the sum of all numbers in its last form's value.
fn program(seed: u64) -> Program {
    let inputs = NAMES.iter().map(|s| s.to_string()).collect();
    let mut forms = language::program(seed, &Options { inputs, ..Options::default() });
    let last = forms.pop().map_or_else(|| "0.".to_string(), |form| text_of(&[form]));
    Program::new(&format!(
        "{}(let total ((x {last}))
  (cond ((number? x) (if (and (exact? x) (> (abs x) 1000000)) 1. x))
        ((pair? x) (+ (total (car x)) (total (cdr x))))
        ((vector? x) (total (vector->list x)))
        (else 0.)))",
        text_of(&forms)
    ))
}

fn point(seed: u64) -> [f64; 3] {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    [0; 3].map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64 * 4.0 - 1.0
    })
}

fn options(mode: Mode, x: &[f64; 3]) -> RunOptions {
    let bindings = NAMES.iter().zip(x).map(|(n, &x)| (n.to_string(), Datum::Real(x))).collect();
    RunOptions { mode, limits: small_limits(), bindings, ..RunOptions::default() }
}

fn traced(mode: Mode, x: &[f64; 3]) -> GradOptions {
    let wrt = Wrt::Names(NAMES.iter().map(|s| s.to_string()).collect());
    GradOptions { run: options(mode, x), wrt, hessian: false }
}

/// Bits of a value, with one NaN.
fn bits(x: f64) -> u64 {
    if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }
}

#[test]
fn programs_cannot_tell_traced_numbers_from_plain_ones() {
    let interpreter = Interpreter::shared();
    let (mut numbers, mut errors) = (0, 0);
    for seed in 0..count(2500) {
        let (program, x) = (program(seed), point(seed));
        let plain = interpreter.run(&program, &options(Mode::Direct, &x));
        let recorded = interpreter.grad(&program, &traced(Mode::Direct, &x));
        let context = || format!("seed {seed} at {x:?}:\n{}", program.text);
        match (plain, recorded) {
            (Ok(plain), Ok(recorded)) => {
                numbers += 1;
                let value = plain.value.as_f64().unwrap_or_else(|| panic!("{}", context()));
                assert_eq!(bits(recorded.value), bits(value), "{}", context());
                assert_eq!(recorded.output, plain.output, "{}", context());
                recorded.tape.verify().unwrap_or_else(|e| panic!("{e}: {}", context()));
            }
            (Ok(plain), Err(failure)) => {
                let code = failure.diagnostics[0].code;
                // Only a number has a gradient.
                assert!(
                    plain.value.as_f64().is_none() && code == "E0303" || code.as_str().starts_with("E04"),
                    "{failure}{}",
                    context()
                );
                assert_eq!(failure.output, plain.output, "{}", context());
            }
            (Err(plain), Err(recorded)) => {
                errors += 1;
                let (p, r) = (&plain.diagnostics[0], &recorded.diagnostics[0]);
                if !p.code.as_str().starts_with("E04") && !r.code.as_str().starts_with("E04") {
                    assert_eq!((p.code, &p.message, p.span()), (r.code, &r.message, r.span()), "{}", context());
                    assert_eq!(plain.output, recorded.output, "{}", context());
                }
            }
            (Err(plain), Ok(_)) => {
                assert!(plain.diagnostics[0].code.as_str().starts_with("E04"), "{plain}{}", context());
            }
        }
    }
    println!("{numbers} programs gave a number, {errors} an error");
    assert!(numbers > 300, "{numbers}");
}

#[test]
fn the_tape_is_the_same_in_every_mode() {
    let interpreter = Interpreter::shared();
    let mut compared = 0;
    for seed in 0..count(2000) {
        let (program, x) = (program(seed), point(seed));
        let Ok(direct) = interpreter.grad(&program, &traced(Mode::Direct, &x)) else { continue };
        let mut modes = vec![Mode::Dmci];
        if seed % 10 == 0 {
            modes.push(Mode::Tower(2));
        }
        for mode in modes {
            match interpreter.grad(&program, &traced(mode.clone(), &x)) {
                Ok(other) => {
                    compared += 1;
                    let context = || format!("seed {seed} in {mode} at {x:?}:\n{}", program.text);
                    assert_eq!(other.tape.print(), direct.tape.print(), "{}", context());
                    let all = |g: &[f64]| g.iter().map(|x| bits(*x)).collect::<Vec<_>>();
                    assert_eq!(all(&other.flat), all(&direct.flat), "{}", context());
                }
                Err(failure) => {
                    assert!(
                        failure.diagnostics[0].code.as_str().starts_with("E04"),
                        "seed {seed} in {mode}: {failure}"
                    );
                }
            }
        }
    }
    println!("{compared} tapes compared");
    assert!(compared > 200, "{compared}");
}

#[test]
fn lanes_together_are_lanes_alone() {
    let interpreter = Interpreter::shared();
    let mut lanes = 0;
    for seed in 0..count(400) {
        let program = program(seed);
        let points: Vec<[f64; 3]> = (0..9).map(|i| point(seed * 100 + i)).collect();
        let column = |k: usize| Column::Reals(points.iter().map(|p| p[k]).collect());
        let run = RunOptions { mode: Mode::Direct, limits: small_limits(), ..RunOptions::default() };
        let model = Model::new(
            program.clone(),
            &["a"],
            &["b", "c"],
            ModelOptions { run, max_paths: 5, ..ModelOptions::default() },
        );
        // The parameter is shared by all lanes.
        let a = points[0][0];
        let batch = model.evaluate(&[a], &[column(1), column(2)], Want::Gradients).expect("the shapes are right");
        for (lane, p) in points.iter().enumerate() {
            let mut alone = traced(Mode::Direct, &[a, p[1], p[2]]);
            alone.wrt = Wrt::Names(vec!["a".into()]);
            let failed = batch.failures.iter().find(|f| f.0 == lane);
            match (interpreter.grad(&program, &alone), failed) {
                (Ok(alone), None) => {
                    lanes += 1;
                    let context = || format!("seed {seed} lane {lane} {p:?}:\n{}", program.text);
                    assert_eq!(bits(batch.values[lane]), bits(alone.value), "{}", context());
                    assert_eq!(bits(batch.gradients[lane]), bits(alone.flat[0]), "{}", context());
                }
                (Err(_), Some(_)) => {}
                (Ok(_), Some((_, failure))) => panic!("seed {seed} lane {lane}: {failure}\n{}", program.text),
                (Err(failure), None) => panic!("seed {seed} lane {lane} alone: {failure}\n{}", program.text),
            }
        }
    }
    println!("{lanes} lanes compared");
    assert!(lanes > 500, "{lanes}");
}

/// The parameter `a` and a row of `b` and `c`: reals, or exact integers in half of the rows.
fn mixed(seed: u64) -> (f64, [Datum; 2]) {
    let [a, b, c] = point(seed);
    let datum = |x: f64, exact: bool| if exact { Datum::Integer((x * 5.0) as i64) } else { Datum::Real(x) };
    (a, [datum(b, seed & 1 == 0), datum(c, seed & 2 == 0)])
}

fn results(batch: &Batch) -> (Vec<u64>, Vec<u64>, Vec<usize>) {
    let all = |list: &[f64]| list.iter().map(|&x| bits(x)).collect();
    (all(&batch.values), all(&batch.gradients), batch.failures.iter().map(|f| f.0).collect())
}

#[test]
fn lanes_of_integers_and_reals_are_lanes_alone_under_every_switch() {
    let interpreter = Interpreter::shared();
    let (mut lanes, mut failed) = (0, 0);
    for seed in 0..count(120) {
        let program = program(seed);
        let rows: Vec<[Datum; 2]> = (0..8).map(|i| mixed(seed * 64 + i).1).collect();
        let sets = [mixed(seed).0, mixed(seed + 1).0];
        let column = |k: usize| Column::Data(rows.iter().map(|row| row[k].clone()).collect());
        let mut first = None;
        for switches in 0..4 {
            let run = RunOptions { mode: Mode::Direct, limits: small_limits(), ..RunOptions::default() };
            let passes = Passes { stage: switches & 1 == 0, ..Passes::default() };
            let options =
                ModelOptions { run, passes, joins: switches & 2 == 0, max_paths: 6, ..ModelOptions::default() };
            let model = Model::new(program.clone(), &["a"], &["b", "c"], options);
            let batch = model.evaluate(&sets, &[column(0), column(1)], Want::Gradients).expect("the shapes are right");
            let got = results(&batch);
            let first = first.get_or_insert_with(|| got.clone());
            assert_eq!(*first, got, "seed {seed} switches {switches}:\n{}", program.text);
        }
        let Some((values, gradients, failures)) = first else { continue };
        for (lane, (a, row)) in sets.iter().flat_map(|&a| rows.iter().map(move |row| (a, row))).enumerate() {
            let mut run = options(Mode::Direct, &[a, 0.0, 0.0]);
            run.bindings[1].1 = row[0].clone();
            run.bindings[2].1 = row[1].clone();
            let alone = GradOptions { run, wrt: Wrt::Names(vec!["a".into()]), hessian: false };
            let context = || format!("seed {seed} lane {lane} at {a} {row:?}:\n{}", program.text);
            match interpreter.grad(&program, &alone) {
                Ok(alone) => {
                    lanes += 1;
                    assert!(!failures.contains(&lane), "{}", context());
                    assert_eq!(values[lane], bits(alone.value), "{}", context());
                    assert_eq!(gradients[lane], bits(alone.flat[0]), "{}", context());
                }
                Err(_) => {
                    failed += 1;
                    assert!(failures.contains(&lane), "{}", context());
                }
            }
        }
    }
    println!("{lanes} lanes compared, {failed} failed alike");
    assert!(lanes > 1000, "{lanes}");
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let mut models = 0;
    for seed in 0..count(40) {
        let program = program(seed);
        let evaluate = |lanes: u64, threads: usize| {
            let points: Vec<[f64; 3]> = (0..lanes).map(|i| point(seed * 1000 + i % 13)).collect();
            let columns = [1, 2].map(|k| Column::Reals(points.iter().map(|p| p[k]).collect()));
            let run = RunOptions { mode: Mode::Direct, limits: small_limits(), ..RunOptions::default() };
            let options = ModelOptions { run, threads, ..ModelOptions::default() };
            let model = Model::new(program.clone(), &["a"], &["b", "c"], options);
            model.evaluate(&[points[0][0]], &columns, Want::Gradients).expect("the shapes are right")
        };
        // A lane that fails is walked alone, so there is nothing for threads to do.
        if !evaluate(13, 1).failures.is_empty() {
            continue;
        }
        // Enough lanes that threads are used.
        let lanes = 1 << 15;
        let one = results(&evaluate(lanes, 1));
        assert_eq!(one, results(&evaluate(lanes, 2)), "seed {seed}:\n{}", program.text);
        // What a lane gives does not depend on where it is in the batch.
        for lane in 13..lanes as usize {
            assert_eq!((one.0[lane], one.1[lane]), (one.0[lane % 13], one.1[lane % 13]), "seed {seed} lane {lane}");
        }
        models += 1;
    }
    println!("{models} models compared");
    assert!(models > 10, "{models}");
}

#[test]
fn single_precision_and_clamps_are_the_same_plain_traced_and_in_lanes() {
    let interpreter = Interpreter::shared();
    let mut compared = 0;
    for seed in 0..count(600) {
        let (program, x) = (program(seed), point(seed));
        let numerics = Numerics { single: seed % 3 != 0, clamps: seed % 3 != 1 };
        let run = RunOptions { numerics, ..options(Mode::Direct, &x) };
        let Ok(plain) = interpreter.run(&program, &run) else { continue };
        let Some(value) = plain.value.as_f64() else { continue };
        let context = || format!("seed {seed} at {x:?} {numerics:?}:\n{}", program.text);
        for mode in [Mode::Direct, Mode::Dmci] {
            let run = RunOptions { mode, ..run.clone() };
            let wrt = Wrt::Names(NAMES.iter().map(|s| s.to_string()).collect());
            let Ok(alone) = interpreter.grad(&program, &GradOptions { run: run.clone(), wrt, hessian: false }) else {
                continue;
            };
            assert_eq!(bits(alone.value), bits(value), "{}", context());
            assert!(!numerics.single || alone.flat.iter().all(|&g| bits(g as f32 as f64) == bits(g)), "{}", context());
            let run = RunOptions { bindings: Vec::new(), ..run };
            let model =
                Model::new(program.clone(), &NAMES[..2], &["c"], ModelOptions { run, ..ModelOptions::default() });
            // Two lanes, so that the second one is replayed.
            let batch = model.evaluate(&x[..2], &[Column::Reals(vec![x[2]; 2])], Want::Gradients).expect("they fit");
            assert!(batch.failures.is_empty(), "{}", context());
            for lane in 0..2 {
                assert_eq!(bits(batch.values[lane]), bits(value), "lane {lane} {}", context());
                assert_eq!(bits(batch.gradients[2 * lane + 1]), bits(alone.flat[1]), "lane {lane} {}", context());
            }
            compared += 1;
        }
    }
    println!("{compared} compared");
    assert!(compared > 300, "{compared}");
}
