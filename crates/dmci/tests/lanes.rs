//! Lanes with exact integers, tensors, several outputs, second derivatives and threads: always what
//! each lane gives alone, bit for bit.

#![allow(clippy::unwrap_used)]

mod common;

use common::{bits, uniform};
use dmci::{
    Batch, Column, Datum, GradOptions, Interpreter, Mode, Model, ModelOptions, Numerics, Passes, Program, RunOptions,
    Shape, Sums, Want, Wrt,
};

fn integers(list: impl IntoIterator<Item = i64>) -> Column {
    Column::Data(list.into_iter().map(Datum::Integer).collect())
}

/// Value and gradient of a program by `params` at `bindings`, walked alone.
fn alone(program: &Program, params: &[&str], bindings: Vec<(String, Datum)>, numerics: Numerics) -> (f64, Vec<f64>) {
    let options = GradOptions {
        run: RunOptions { mode: Mode::Direct, bindings, numerics, ..RunOptions::default() },
        wrt: Wrt::Names(params.iter().map(|s| s.to_string()).collect()),
        hessian: false,
    };
    let gradient = Interpreter::shared().grad(program, &options).unwrap();
    (gradient.value, gradient.flat)
}

/// Checks a batch of one parameter set over rows of data against its lanes alone.
fn check(text: &str, theta: f64, rows: &[Datum]) -> Model {
    let program = Program::new(text);
    let model = Model::new(program.clone(), &["a"], &["x"], ModelOptions::default());
    let batch = model.evaluate(&[theta], &[Column::Data(rows.to_vec())], Want::Gradients).unwrap();
    assert!(batch.failures.is_empty(), "{text}: {}", batch.failures[0].1);
    for (lane, row) in rows.iter().enumerate() {
        let bindings = vec![("a".to_string(), Datum::Real(theta)), ("x".to_string(), row.clone())];
        let (value, grad) = alone(&program, &["a"], bindings, Numerics::default());
        assert_eq!(batch.values[lane].to_bits(), value.to_bits(), "{text} at {row:?}");
        assert_eq!(batch.gradients[lane].to_bits(), grad[0].to_bits(), "{text} at {row:?}");
    }
    model
}

/// What a run in single precision gives: its value, as it is written, and what it prints.
fn in_single(text: &str, mode: Mode) -> String {
    let numbers = Datum::list(vec![Datum::Real(0.1), Datum::Tensor(Shape::Vector(1), vec![0.1])]);
    let bindings = vec![("a".to_string(), Datum::Real(0.1)), ("l".to_string(), numbers)];
    let numerics = Numerics { single: true, clamps: false };
    let options = RunOptions { mode, numerics, bindings, ..RunOptions::default() };
    let result = Interpreter::shared().run(&Program::new(text), &options);
    result.map_or_else(|failure| failure.diagnostics[0].message.clone(), |outcome| outcome.text)
}

#[test]
fn literals_are_rounded_before_they_are_used_in_single_precision() {
    let table = [
        ("(if (eqv? a 0.1) 1 2)", "1"),
        ("(if (equal? (list a) '(0.1)) 1 2)", "1"),
        ("(if (memv a '(0.3 0.1)) 1 2)", "1"),
        ("(case a ((0.1) 1) (else 2))", "1"),
        ("(if (= a 0.1) 1 2)", "1"),
        ("(list 0.1 1e40)", "(0.10000000149011612 +inf.0)"),
        ("'(0.1 #(0.1 (\"x\" . 0.1)))", "(0.10000000149011612 #(0.10000000149011612 (\"x\" . 0.10000000149011612)))"),
        ("0.1", "0.10000000149011612"),
        ("(define-syntax m (syntax-rules () ((_ 0.1) 1) ((_ x) 2))) (m 0.1)", "1"),
        ("(eval '(eqv? a 0.1))", "#t"),
        ("(eqv? a (read (open-input-string \"0.1\")))", "#t"),
        ("(eqv? a (car (read (open-input-string \"(0.1)\"))))", "#t"),
        ("(eqv? a (string->number \"0.1\"))", "#t"),
        ("(eqv? a (car l))", "#t"),
        ("(eqv? a (ref (cadr l) 0))", "#t"),
        ("(cadr l)", "#[vec 0.10000000149011612]"),
    ];
    for (text, expected) in table {
        for mode in [Mode::Direct, Mode::Dmci, Mode::Tower(2)] {
            assert_eq!(in_single(text, mode.clone()), expected, "{text} [{mode}]");
        }
    }
    let run = RunOptions { numerics: Numerics { single: true, clamps: false }, ..RunOptions::default() };
    let compiled = Interpreter::shared().compile(&Program::new("'(0.1)")).unwrap();
    let outcome = Interpreter::shared().run_compiled(&compiled, &run).unwrap();
    assert_eq!(outcome.text, "(0.10000000149011612)");
    let mut session = dmci::Session::new(Interpreter::shared(), run.clone()).unwrap();
    for _ in 0..2 {
        let outcome = session.evaluate("(list 0.1 (/ 1. 3))").unwrap();
        assert_eq!(outcome.text, "(0.10000000149011612 0.3333333432674408)");
    }
    // Lanes too.
    for mode in [Mode::Direct, Mode::Dmci] {
        let options = ModelOptions { run: RunOptions { mode, ..run.clone() }, ..ModelOptions::default() };
        let model =
            Model::new(Program::new("(if (eqv? x 0.1) 1 (if (memv x '(2 0.3)) 2 3))"), &[] as &[&str], &["x"], options);
        let rows: Vec<Datum> = [0.1, 0.2, 0.3].map(Datum::Real).to_vec();
        let batch: Batch = model.evaluate(&[], &[Column::Data(rows)], Want::Values).unwrap();
        assert_eq!(batch.values, [1.0, 3.0, 2.0]);
    }
}

#[test]
fn a_column_of_integers_is_one_recording() {
    let rows: Vec<Datum> = (-50..50).map(Datum::Integer).collect();
    for text in ["(* a x)", "(+ a (* x x) (- x 3) (abs x) (max x 2))", "(* a (exp (/ x 10.0)))", "(* a (expt 1.01 x))"]
    {
        assert_eq!(check(text, 1.5, &rows).recordings(), 1, "{text}");
    }
}

#[test]
fn decisions_on_integers_are_few() {
    let rows: Vec<Datum> = (1..200).map(Datum::Integer).collect();
    for (text, most) in [
        ("(if (even? x) (* a x) (/ a x))", 2),
        ("(* a (/ x 4))", 2),
        ("(* a (sqrt x))", 2),
        ("(* a (quotient x 7) (modulo x 5) (remainder x 3))", 1),
        ("(if (< x 100) a (* 2 a))", 2),
        ("(* a (vector-ref #(0.5 1.5 2.5 3.5) (modulo x 4)))", 1),
        ("(* a (list-ref (list a 1.5 2.5 (* a 3.5)) (modulo x 4)))", 1),
        ("(* a (ref (vec 0.5 1.5 2.5 3.5) (modulo x 4)))", 1),
        ("(* a (case (modulo x 3) ((0) 1.0) ((1) 2.0) (else 3.0)))", 3),
        ("(* a (if (exact? x) 1.0 2.0) (if (integer? x) 1.0 2.0) (exact->inexact x))", 1),
        ("(* a (exact (floor (* x 0.5))))", 1),
    ] {
        let recordings = check(text, 1.5, &rows).recordings();
        assert!(recordings <= most, "{text}: {recordings} recordings");
    }
}

#[test]
fn integers_that_grow_or_choose_structure_stay_exact() {
    let rows: Vec<Datum> = [3, 1 << 20, 1 << 40, -(1 << 46), 12].map(Datum::Integer).to_vec();
    check("(* a (exact->inexact (* x x x)))", 0.5, &rows);
    check("(* a (+ x x) 1.0)", 0.5, &rows);
    let small: Vec<Datum> = (0..6).map(Datum::Integer).collect();
    check("(* a (length (iota x)))", 0.5, &small);
    check("(* a (vector-length (make-vector x 1)) (string-length (make-string x #\\a)))", 0.5, &small);
    check("(* a (length (list-tail '(1 2 3 4 5 6 7) x)))", 0.5, &small);
    check("(do ((i 0 (+ i 1)) (s 0. (+ s (* a i)))) ((= i x) s))", 0.5, &small);
    check("(+ a (string->number (number->string x)))", 0.5, &small);
}

#[test]
fn an_index_out_of_range_fails_its_own_lane() {
    let program = Program::new("(* a (vector-ref (vector 1. 2. a) x))");
    let model = Model::new(program, &["a"], &["x"], ModelOptions::default());
    let batch = model.evaluate(&[3.0], &[integers([0, 2, 3, 1, -1])], Want::Gradients).unwrap();
    assert_eq!(batch.values[..2], [3.0, 9.0]);
    assert_eq!(batch.gradients[..2], [1.0, 6.0]);
    assert_eq!(batch.values[3], 6.0);
    let failed: Vec<usize> = batch.failures.iter().map(|f| f.0).collect();
    assert_eq!(failed, [2, 4]);
    assert!(batch.values[2].is_nan() && batch.values[4].is_nan());
}

const KALMAN: &str = "
(define F (mat (vec a b) (vec (- b) a)))
(let loop ((k 0) (x (zeros 2)) (P (eye 2)) (L 0.0))
  (if (= k 5)
      L
      (let* ((p (+ (matmul (matmul F P) (transpose F)) (* 0.1 (eye 2))))
             (S (+ p (* r (eye 2))))
             (e (- (ref obs k) (matvec F x)))
             (K (matmul p (inv S))))
        (loop (+ k 1) (+ (matvec F x) (matvec K e)) (matmul (- (eye 2) K) p)
              (+ L (logdet S) (dot e (solve S e)))))))";

#[test]
fn tensors_are_the_same_in_lanes_and_alone() {
    let program = Program::new(KALMAN);
    let rows: Vec<Datum> = (0..40).map(|i| Datum::Tensor(Shape::Matrix(5, 2), uniform(10, i))).collect();
    let theta: Vec<f64> = (0..3).flat_map(|i| [0.9 - 0.1 * i as f64, 0.2, 0.3]).collect();
    for mode in [Mode::Direct, Mode::Dmci] {
        let run = RunOptions { mode, ..RunOptions::default() };
        let model = Model::new(program.clone(), &["a", "b", "r"], &["obs"], ModelOptions { run, ..Default::default() });
        let batch = model.evaluate(&theta, &[Column::Data(rows.clone())], Want::Gradients).unwrap();
        assert_eq!(model.recordings(), 1);
        for (lane, (set, row)) in (0..3).flat_map(|s| (0..40).map(move |r| (s, r))).enumerate() {
            let names = ["a", "b", "r"].iter().zip(&theta[3 * set..]);
            let mut bindings: Vec<(String, Datum)> = names.map(|(n, x)| (n.to_string(), Datum::Real(*x))).collect();
            bindings.push(("obs".into(), rows[row].clone()));
            let (value, grad) = alone(&program, &["a", "b", "r"], bindings, Numerics::default());
            assert_eq!(batch.values[lane].to_bits(), value.to_bits(), "lane {lane}");
            assert_eq!(bits(&batch.gradients[3 * lane..3 * lane + 3]), bits(&grad), "lane {lane}");
        }
    }
}

#[test]
fn parameters_may_be_structures_and_tensors() {
    let program = Program::new("(+ (dot v v) (* (car l) (cadr l) x) (trace (matmul F F)))");
    let params = vec![
        ("v".to_string(), Datum::Tensor(Shape::Vector(2), vec![0.0; 2])),
        ("l".to_string(), Datum::from(vec![0.0, 0.0])),
        ("F".to_string(), Datum::Tensor(Shape::Matrix(2, 2), vec![0.0; 4])),
    ];
    let model = Model::with_params(program, params, &["x"], ModelOptions::default());
    assert_eq!(model.numbers(), 8);
    let theta = [1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0];
    let batch = model.evaluate(&theta, &[Column::Reals(vec![0.5, 2.0])], Want::Hessians).unwrap();
    assert_eq!(batch.values, [5.0 + 6.0 + 29.0, 5.0 + 24.0 + 29.0]);
    assert_eq!(batch.gradients[..8], [2.0, 4.0, 2.0, 1.5, 2.0, 6.0, 4.0, 8.0]);
    let second = &batch.hessians[64..];
    assert_eq!((second[0], second[2 * 8 + 3], second[4 * 8 + 4], second[5 * 8 + 6]), (2.0, 2.0, 2.0, 2.0));
    assert_eq!(second.iter().filter(|x| **x != 0.0).count(), 8);
}

#[test]
fn several_outputs_have_gradients_of_their_own() {
    let program = Program::new("(list (* a x) (vec (* a a) b) (if (< x 1) a (* b x)))");
    let options = ModelOptions { outputs: 4, ..ModelOptions::default() };
    let model = Model::new(program, &["a", "b"], &["x"], options);
    let batch = model.evaluate(&[2.0, 3.0], &[Column::Reals(vec![0.5, 4.0])], Want::Gradients).unwrap();
    assert_eq!(batch.values, [1.0, 4.0, 3.0, 2.0, 8.0, 4.0, 3.0, 12.0]);
    assert_eq!(batch.gradients[..8], [0.5, 0.0, 4.0, 0.0, 0.0, 1.0, 1.0, 0.0]);
    assert_eq!(batch.gradients[8..], [4.0, 0.0, 4.0, 0.0, 0.0, 1.0, 0.0, 4.0]);
}

const PENDULUM: &str = "
(let loop ((i 0) (angle x) (speed 0.0))
  (if (= i 60)
      (if (> angle 0.0) (* w angle) (- angle))
      (let ((force (+ (* g (sin angle)) (* b speed))))
        (loop (+ i 1) (+ angle (* 0.05 speed)) (- speed (* 0.05 force))))))";

fn pendulum(passes: Passes, threads: usize, numerics: Numerics) -> (Model, Batch) {
    let run = RunOptions { numerics, ..RunOptions::default() };
    let options = ModelOptions { run, passes, threads, ..ModelOptions::default() };
    let model = Model::new(Program::new(PENDULUM), &["g", "b", "w"], &["x"], options);
    let theta: Vec<f64> = uniform(3 * 12, 4).iter().map(|u| 0.5 + u).collect();
    let batch = model.evaluate(&theta, &[Column::Reals(uniform(700, 5))], Want::Gradients).unwrap();
    (model, batch)
}

#[test]
fn threads_and_stages_change_no_bit() {
    let (model, one) = pendulum(Passes::default(), 1, Numerics::default());
    let mut sums = Sums::default();
    model.sum(&one, 700, &mut sums);
    for stage in [true, false] {
        let (_, two) = pendulum(Passes { stage, ..Passes::default() }, 2, Numerics::default());
        assert_eq!(bits(&one.values), bits(&two.values));
        assert_eq!(bits(&one.gradients), bits(&two.gradients));
        let mut again = Sums::default();
        model.sum(&two, 700, &mut again);
        assert_eq!(bits(&again.gradients), bits(&sums.gradients));
    }
    assert_eq!(sums.values.len(), 12);
    let plain: f64 = one.values[..700].iter().sum();
    assert!((sums.values[0] - plain).abs() < 1e-10 * plain.abs());
}

#[test]
fn single_precision_is_rounded_at_every_operation() {
    let single = Numerics { single: true, clamps: false };
    let (model, batch) = pendulum(Passes::default(), 2, single);
    assert!(batch.values.iter().chain(&batch.gradients).all(|&x| x as f32 as f64 == x));
    let theta: Vec<f64> = uniform(36, 4).iter().map(|u| 0.5 + u).collect();
    let xs = uniform(700, 5);
    for lane in [0, 1, 777, 8399] {
        let (set, row) = (lane / 700, lane % 700);
        let names = ["g", "b", "w"].iter().zip(&theta[3 * set..]);
        let mut bindings: Vec<(String, Datum)> = names.map(|(n, x)| (n.to_string(), Datum::Real(*x))).collect();
        bindings.push(("x".into(), Datum::Real(xs[row])));
        let (value, grad) = alone(&Program::new(PENDULUM), &["g", "b", "w"], bindings, single);
        assert_eq!(batch.values[lane].to_bits(), value.to_bits());
        assert_eq!(bits(&batch.gradients[3 * lane..3 * lane + 3]), bits(&grad));
    }
    assert!(model.recordings() <= 2);
    let run = RunOptions { numerics: single, ..RunOptions::default() };
    let outcome = Interpreter::shared().run(&Program::new("(+ 0.1 0.2)"), &run).unwrap();
    assert_eq!(outcome.value, Datum::Real((0.1f32 + 0.2f32) as f64));
    // A run and a model agree, also where many numbers are added at once.
    for text in ["(+ x 0.3 0.1 (sin x))", "(* x x 0.1 0.7)", "x", "0.1", "(cube x)", "(- x 0.3 0.1)"] {
        let bindings = vec![("x".to_string(), Datum::Real(1.3))];
        let options = RunOptions { bindings, numerics: single, ..RunOptions::default() };
        let alone = Interpreter::shared().run(&Program::new(text), &options).unwrap().value;
        let run = RunOptions { numerics: single, ..RunOptions::default() };
        let model = Model::new(Program::new(text), &[], &["x"], ModelOptions { run, ..ModelOptions::default() });
        let batch = model.evaluate(&[], &[Column::Reals(vec![1.3])], Want::Values).unwrap();
        assert_eq!(alone, Datum::Real(batch.values[0]), "{text}");
    }
    let outcome = Interpreter::shared().run(&Program::new("(exp 0.1)"), &run).unwrap();
    assert_eq!(outcome.value, Datum::Real(((0.1f32 as f64).exp()) as f32 as f64));
}

/// Columns of all kinds, all rows under all sets, a lane that fails, lanes on several paths.
#[test]
fn columns_of_single_precision_give_the_same_numbers() {
    let text = "(if (< x 0) (vector-ref #(1) 3) (+ (* a (vsum v)) (if (< x 0.5) (exp (* b x)) (sin x)) (length l)))";
    let run = RunOptions { numerics: Numerics { single: true, clamps: false }, ..RunOptions::default() };
    let model =
        Model::new(Program::new(text), &["a", "b"], &["x", "v", "l"], ModelOptions { run, ..Default::default() });
    let rows = 50;
    let short = |seed: u64, n: usize| uniform(n, seed).iter().map(|&x| x as f32).collect::<Vec<f32>>();
    let long = |list: &[f32]| list.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
    let (params, mut xs, vs) = (short(1, 6), short(2, rows), short(3, 3 * rows));
    xs[7] = -1.0;
    let sample = Datum::Tensor(Shape::Vector(3), vec![0.0; 3]);
    let lists: Vec<Datum> = (0..rows).map(|r| Datum::from(vec![0.5; 1 + r % 3])).collect();
    let columns = [Column::Reals(xs.clone()), Column::Shaped(sample.clone(), vs.clone()), Column::Data(lists.clone())];
    let got = model.evaluate(&params, &columns, Want::Hessians).unwrap();
    let columns = [Column::Reals(long(&xs)), Column::Shaped(sample, long(&vs)), Column::Data(lists)];
    let expected = model.evaluate(&long(&params), &columns, Want::Hessians).unwrap();
    assert_eq!(got.failures.iter().map(|f| f.0).collect::<Vec<_>>(), [7, 7 + rows, 7 + 2 * rows]);
    assert!(got.values[7].is_nan() && got.gradients[14].is_nan());
    for (got, expected) in
        [(got.values, expected.values), (got.gradients, expected.gradients), (got.hessians, expected.hessians)]
    {
        assert_eq!(bits(&long(&got)), bits(&expected));
    }
}

#[test]
fn clamps_follow_the_reference_system() {
    let run = RunOptions { numerics: Numerics { single: false, clamps: true }, ..RunOptions::default() };
    let value = |text: &str| Interpreter::shared().run(&Program::new(text), &run).unwrap().value;
    assert_eq!(value("(sqrt 0.0)"), Datum::Real(1e-4));
    assert_eq!(value("(log -3.0)"), Datum::Real(1e-8f64.ln()));
    assert_eq!(value("(sqrt 4.0)"), Datum::Real(2.0));
    let options = GradOptions {
        run: RunOptions { bindings: vec![("a".into(), Datum::Real(-1.0))], ..run.clone() },
        ..GradOptions::default()
    };
    let gradient = Interpreter::shared().grad(&Program::new("(+ (sqrt a) (log a) (* 3 a))"), &options).unwrap();
    assert_eq!(gradient.flat, [3.0]);
}

#[test]
fn sorting_traced_numbers_is_one_operation() {
    let rows: Vec<Datum> = (0..80).map(|i| Datum::from(uniform(9, i))).collect();
    for text in [
        "(let ((s (sort (map (lambda (u) (* a u)) x) <))) (+ (* 3 (car s)) (list-ref s 4) (exp (list-ref s 8))))",
        "(vector-ref (sort (list->vector (map (lambda (u) (* u u a)) x)) >) 2)",
    ] {
        assert_eq!(check(text, 1.5, &rows).recordings(), 1, "{text}");
    }
    // A NaN has no order: such a lane finds a path of its own.
    let odd = vec![Datum::from(vec![2.0, 1.0, 3.0]), Datum::from(vec![2.0, f64::NAN, 1.0])];
    let program = Program::new("(car (sort (map (lambda (u) (* a u)) x) <))");
    let model = Model::new(program.clone(), &["a"], &["x"], ModelOptions::default());
    let batch = model.evaluate(&[1.0], &[Column::Data(odd.clone())], Want::Gradients).unwrap();
    let bindings = vec![("a".to_string(), Datum::Real(1.0)), ("x".to_string(), odd[1].clone())];
    let (value, _) = alone(&program, &["a"], bindings, Numerics::default());
    assert_eq!(bits(&batch.values), bits(&[1.0, value]));
}
/// Numbers that do not fit are errors, in pairs as well as in products.
#[test]
fn lists_that_do_not_fit_are_errors() {
    let model = Model::new(Program::new("(* a b x)"), &["a", "b"], &["x"], ModelOptions::default());
    let column = |n: usize| Column::Reals(vec![1.0; n]);
    let cases: [(&[f64], &[Column], &str); 5] = [
        (&[1.0; 3], &[column(1)], "3 numbers do not fill sets of 2 parameters"),
        (&[1.0; 4], &[column(3)], "3 rows for 2 parameter sets"),
        (&[1.0; 4], &[], "0 columns for 1 inputs"),
        (&[1.0; 4], &[column(2), column(2)], "2 columns for 1 inputs"),
        (&[], &[column(2)], "2 rows for 0 parameter sets"),
    ];
    for (params, columns, expected) in cases {
        let report = model.evaluate_pairs_into(&mut Batch::default(), params, columns, Want::Values).unwrap_err();
        assert_eq!((report.diagnostics[0].code.as_str(), &*report.diagnostics[0].message), ("E0910", expected));
    }
    let without = Model::new(Program::new("(* 2 x)"), &[], &["x"], ModelOptions::default());
    assert!(without.evaluate(&[1.0], &[column(1)], Want::Values).is_err());
    assert_eq!(without.evaluate::<f64>(&[], &[column(2)], Want::Values).unwrap().values, [2.0, 2.0]);
}
