//! Objectives that give residuals, several targets of objectives, and matrices of columns.

#![allow(clippy::unwrap_used)]

use dmci::Program;
use dmci_fit::search::Need;
use dmci_fit::{Fit, FitOptions, FitRequest, Loss, Problem, ProblemOptions, Table, fit};
use std::ops::ControlFlow;

fn run(problem: &Problem) -> Fit {
    fit(problem, &FitOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap()
}

fn objective(text: &str, table: &Table, target: &str, options: ProblemOptions) -> Problem {
    let options = ProblemOptions { loss: Loss::Objective, ..options };
    Problem::new(Program::new(text), table, target, options).unwrap()
}

/// A decay with two rates, one for each group.
fn decay() -> Table {
    let mut text = String::from("cell,t,y\n");
    for i in 0..24 {
        let (t, group) = (0.25 * f64::from(i / 2), i % 2);
        let wobble = 0.04 * (f64::from((7 * i + 3) % 11) - 5.0);
        let (a, k) = if group == 0 { (3.0, 0.7) } else { (2.0, 1.6) };
        // The second group has fewer rows.
        if group == 0 || i < 19 {
            text += &format!("{},{t:?},{:?}\n", ["one", "two"][group as usize], a * (-k * t).exp() + wobble);
        }
    }
    Table::from_csv("decay.csv", text.as_bytes()).unwrap()
}

const ROWS: &str = "(params (a positive 1.0) (k positive 0.3)) (* a (exp (- (* k t))))";
const VECTOR: &str = "(params (a positive 1.0) (k positive 0.3))
    (define p (* a (exp (- (* k t))))) (result (residuals (- p y)) (yhat p))";
const LIST: &str = "(params (a positive 1.0) (k positive 0.3))
    (let loop ((i 0) (found '()))
      (if (= i (vlen t))
          (result (residuals (reverse found)))
          (loop (+ i 1) (cons (- (* a (exp (- (* k (ref t i))))) (ref y i)) found))))";

fn close(a: f64, b: f64, share: f64) -> bool {
    (a - b).abs() <= share * a.abs().max(b.abs())
}

#[test]
fn residuals_give_what_the_same_model_by_rows_gives() {
    let table = decay();
    let rows = Problem::new(Program::new(ROWS), &table, "y", ProblemOptions::default()).unwrap();
    let expected = run(&rows);
    for program in [VECTOR, LIST] {
        let problem = objective(program, &table, if program == VECTOR { "y" } else { "" }, ProblemOptions::default());
        assert!(problem.is_least_squares() && problem.measurements() == table.rows);
        let found = run(&problem);
        assert_eq!(found.restarts[0].optimizer, "lm", "{program}");
        // The mean of squares is divided by the rows, and this is half of their sum.
        assert!(close(found.score.loss, 0.5 * table.rows as f64 * expected.score.loss, 1e-9));
        for (own, other) in found.parameters.iter().zip(&expected.parameters) {
            let (own, other) = (&own.numbers[0], &other.numbers[0]);
            assert!(close(own.value, other.value, 1e-6), "{} {}", own.value, other.value);
            let (own, other) = (own.sureness.unwrap(), other.sureness.unwrap());
            assert!(close(own.error.unwrap(), other.error.unwrap(), 1e-5));
            assert!(close(own.interval.unwrap().0, other.interval.unwrap().0, 1e-5));
        }
        let (own, other) = (found.criteria.unwrap(), expected.criteria.unwrap());
        assert!(close(own.aic, other.aic, 1e-8) && close(own.bic, other.bic, 1e-8));
        if program == VECTOR {
            assert!(close(found.score.r2.unwrap(), expected.score.r2.unwrap(), 1e-8));
        }
    }
}

#[test]
fn derivatives_of_residuals_are_those_of_differences() {
    let table = decay();
    let problem = objective(LIST, &table, "", ProblemOptions::default());
    let point = vec![problem.start()[0] + 0.4, problem.start()[1] - 0.2];
    let found = problem.evaluate(&[problem.start().to_vec(), point.clone()], Need::Jacobian).unwrap().remove(1);
    assert_eq!((found.residuals.len(), found.jacobian.len()), (table.rows, 2 * table.rows));
    assert!(close(found.residuals.iter().map(|r| r * r).sum(), found.loss, 1e-12));
    for k in 0..2 {
        let mut beside = [point.clone(), point.clone()];
        beside[0][k] += 1e-6;
        beside[1][k] -= 1e-6;
        let sides = problem.evaluate(&beside, Need::Jacobian).unwrap();
        for i in 0..table.rows {
            let slope = (sides[0].residuals[i] - sides[1].residuals[i]) / 2e-6;
            assert!((slope - found.jacobian[2 * i + k]).abs() < 1e-8, "{i} {k}");
        }
        let by_rows: f64 = (0..table.rows).map(|i| 2.0 * found.residuals[i] * found.jacobian[2 * i + k]).sum();
        assert!(close(by_rows, found.gradient[k], 1e-10));
    }
    // Each point is what it is alone.
    let alone = problem.evaluate(&[point], Need::Jacobian).unwrap().remove(0);
    assert_eq!((alone.loss, alone.residuals, alone.jacobian), (found.loss, found.residuals, found.jacobian));
}

#[test]
fn groups_may_have_different_numbers_of_residuals() {
    let table = decay();
    let own = |text: &str| text.replace("(a positive 1.0)", "(a positive 1.0 (per cell))");
    let rows = Problem::new(Program::new(&own(ROWS)), &table, "y", ProblemOptions::default()).unwrap();
    let grouped = ProblemOptions { group: Some("cell".into()), ..ProblemOptions::default() };
    let problem = objective(&own(LIST), &table, "", grouped.clone());
    assert_eq!(problem.measurements(), table.rows);
    let (found, expected) = (run(&problem), run(&rows));
    assert!(close(found.score.loss, 0.5 * table.rows as f64 * expected.score.loss, 1e-9));
    // Groups that share nothing are fitted one by one.
    let apart = |text: &str| own(text).replace("(k positive 0.3)", "(k positive 0.3 (per cell))");
    let rows = Problem::new(Program::new(&apart(ROWS)), &table, "y", ProblemOptions::default()).unwrap();
    let problem = objective(&apart(LIST), &table, "", grouped);
    let (found, expected) = (run(&problem), run(&rows));
    assert_eq!(problem.value_names(), ["a[one]", "a[two]", "k[one]", "k[two]"]);
    for (own, other) in found.parameters.iter().zip(&expected.parameters) {
        for (own, other) in own.numbers.iter().zip(&other.numbers) {
            assert!(close(own.value, other.value, 1e-6));
            assert!(close(own.sureness.unwrap().error.unwrap(), other.sureness.unwrap().error.unwrap(), 1e-5));
        }
    }
}

#[test]
fn a_loss_counts_more_than_residuals_and_priors_weigh_against_them() {
    let table = decay();
    let both = VECTOR.replace("(result ", "(result (loss (dot (- p y) (- p y))) ");
    let problem = objective(&both, &table, "y", ProblemOptions::default());
    assert!(!problem.is_least_squares());
    let prior = VECTOR.replace("(k positive 0.3)", "(k positive 0.3 (prior normal 0.1 0.001))");
    let problem = objective(&prior, &table, "y", ProblemOptions::default());
    assert!(!problem.is_least_squares());
    let found = run(&problem);
    let k = found.parameters.iter().find(|p| p.name == "k").unwrap();
    assert!((0.099..0.11).contains(&k.value), "{}", k.value);
}

/// A system of which two columns are measured.
fn spiral() -> Table {
    let mut text = String::from("t,u1,u2\n");
    for i in 0..30 {
        let t = 0.2 * f64::from(i);
        let wobble = |k: i32| 0.02 * (f64::from((k * i + 3) % 11) - 5.0);
        let size = (-0.3 * t).exp();
        text += &format!("{t:?},{:?},{:?}\n", size * (1.7 * t).cos() + wobble(7), size * (1.7 * t).sin() + wobble(5));
    }
    Table::from_csv("spiral.csv", text.as_bytes()).unwrap()
}

const SPIRAL: &str = "(params (r positive 0.2) (w positive 1.5))
    (let loop ((i 0) (found '()))
      (if (= i (vlen t))
          (let ((p (mat (reverse found)))) (result (residuals (- p obs)) (yhat p)))
          (let ((s (exp (- (* r (ref t i))))) (x (* w (ref t i))))
            (loop (+ i 1) (cons (vec (* s (cos x)) (* s (sin x))) found)))))";

#[test]
fn several_columns_are_one_matrix_and_several_targets() {
    let request =
        |more: &str| FitRequest::from_toml(&format!("{more}\nobjective = true\ntext = '''{SPIRAL}'''")).unwrap();
    let fitted = |request: &FitRequest| {
        let mut table = spiral();
        let (request, _) = request.with_formula(&mut table)?;
        let inputs = dmci_fit::Inputs {
            program: Program::new(SPIRAL),
            table: &table,
            start_from: None,
            run: request.run.options(None)?,
        };
        request.problem(inputs).map(|problem| (run(&problem), problem))
    };
    let (found, problem) = fitted(&request("matrix = 'obs=u1..u2'\ntarget = ['u1', 'u2']")).unwrap();
    assert_eq!(problem.targets, ["u1", "u2"]);
    assert_eq!((problem.measurements(), found.series.len()), (60, 60));
    assert!((found.parameters[0].value - 0.3).abs() < 0.05 && (found.parameters[1].value - 1.7).abs() < 0.05);
    assert!(found.score.r2.unwrap() > 0.97 && found.score.rmse < 0.1, "{:?}", found.score);
    // The same by rows of two targets.
    let rows = "(params (r positive 0.2) (w positive 1.5)) (define s (exp (- (* r t)))) \
                (list (* s (cos (* w t))) (* s (sin (* w t))))";
    let by_rows = Problem::new(Program::new(rows), &spiral(), "u1,u2", ProblemOptions::default()).unwrap();
    let expected = run(&by_rows);
    for (own, other) in found.parameters.iter().zip(&expected.parameters) {
        assert!(close(own.value, other.value, 1e-6));
    }
    assert!(close(found.score.rmse, expected.score.rmse, 1e-6));
    assert!(close(found.score.r2.unwrap(), expected.score.r2.unwrap(), 1e-6));
    // Names one by one, from a list.
    let (again, _) = fitted(&request("matrix = ['obs=u1,u2']")).unwrap();
    assert_eq!(again.parameters[0].value, found.parameters[0].value);
    for (setting, expected) in [
        ("matrix = 'obs=u1..u3'", "spiral.csv has no column u3"),
        ("matrix = 'obs'", "matrix must name a matrix and its columns, got obs"),
        ("matrix = 't=u1..u2'", "spiral.csv has a column t already"),
        ("matrix = 'obs=u2..u1'", "the columns u2..u1 of matrix do not count from one number to a later one"),
    ] {
        let report = fitted(&request(setting)).err().unwrap();
        assert!(report.to_string().contains(expected), "{setting}: {report}");
    }
    // By rows, the matrix is the vector of a row.
    let text = "(params (a free 0.5)) (* a (ref obs 1))";
    let request = FitRequest::from_toml(&format!("matrix = 'obs=u1..u2'\ntarget = 'u2'\ntext = '{text}'")).unwrap();
    let mut table = spiral();
    request.with_formula(&mut table).unwrap();
    let run_options = request.run.options(None).unwrap();
    let program = Program::new(text);
    let inputs = dmci_fit::Inputs { program, table: &table, start_from: None, run: run_options };
    let found = run(&request.problem(inputs).unwrap());
    assert!(close(found.parameters[0].value, 1.0, 1e-9));
}
