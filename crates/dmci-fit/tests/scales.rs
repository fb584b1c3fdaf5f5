//! The units of a column are the user's choice: the same data in other units give the same fit in other units.

#![allow(clippy::unwrap_used)]

use dmci::Program;
use dmci_fit::{Fit, FitOptions, Loss, Problem, ProblemOptions, Stop, Table, Verdict, fit};
use std::ops::ControlFlow;

fn run(program: &str, data: &str, target: &str, options: ProblemOptions) -> Fit {
    let table = Table::from_csv("data.csv", data.as_bytes()).unwrap();
    let problem = Problem::new(Program::new(program), &table, target, options).unwrap_or_else(|r| panic!("{r}"));
    fit(&problem, &FitOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap_or_else(|r| panic!("{r}"))
}

/// The value of a parameter and its standard error.
fn number(fit: &Fit, name: &str) -> (f64, f64) {
    let number = &fit.parameters.iter().find(|p| p.name == name).unwrap().numbers[0];
    let sureness = number.sureness.unwrap();
    assert_ne!(sureness.verdict, Verdict::Not, "{name}");
    (number.value, sureness.error.unwrap())
}

fn near(got: f64, expected: f64, share: f64, what: &str) {
    assert!((got / expected - 1.0).abs() < share, "{what}: {got} instead of {expected}");
}

/// Places, and measurements along a line over them.
fn line(place: impl Fn(f64) -> f64) -> (Vec<f64>, Vec<f64>) {
    (0..30).map(f64::from).map(|i| (place(i), 3.0 + 0.2 * i + 0.1 * (17.0 * i).sin())).unzip()
}

fn rows(x: &[f64], y: &[f64]) -> String {
    let lines: Vec<String> = x.iter().zip(y).map(|(x, y)| format!("{x:?},{y:?}")).collect();
    format!("x,y\n{}\n", lines.join("\n"))
}

/// Intercept, slope and their standard errors, as textbooks have them.
fn textbook(x: &[f64], y: &[f64]) -> [f64; 4] {
    let n = x.len() as f64;
    let mean = |list: &[f64]| list.iter().sum::<f64>() / n;
    let (at, level) = (mean(x), mean(y));
    let spread: f64 = x.iter().map(|x| (x - at).powi(2)).sum();
    let slope = x.iter().zip(y).map(|(x, y)| (x - at) * (y - level)).sum::<f64>() / spread;
    let left: f64 = x.iter().zip(y).map(|(x, y)| (y - level - slope * (x - at)).powi(2)).sum();
    let variance = left / (n - 2.0);
    [level - slope * at, slope, (variance * (1.0 / n + at * at / spread)).sqrt(), (variance / spread).sqrt()]
}

const LINE: &str = "(params (a free 1.0) (b free 0.0)) (+ a (* b x))";

#[test]
fn a_line_is_found_whatever_the_unit_of_its_column() {
    for unit in [1e-18, 1.0, 1e9, 1e14, 1e16, 1e18] {
        let (x, y) = line(|i| unit * (1.0 + i / 8.0));
        let fit = run(LINE, &rows(&x, &y), "y", Default::default());
        let [a, b, of_a, of_b] = textbook(&x, &y);
        let what = format!("unit {unit}");
        for (name, value, error) in [("a", a, of_a), ("b", b, of_b)] {
            let got = number(&fit, name);
            near(got.0, value, 1e-9, &what);
            near(got.1, error, 1e-6, &what);
        }
    }
}

/// A measurement a minute, over seconds since 1970 and over nanoseconds: intercept and slope are nearly the same
/// column, but not quite.
#[test]
fn a_line_over_seconds_since_1970_is_found() {
    for (unit, minute) in [(1.0, 60.0), (1e9, 60.0), (1.0, 3600.0), (1.0, 20.0)] {
        let (x, y) = line(|i| unit * (1.6e9 + minute * i));
        let fit = run(LINE, &rows(&x, &y), "y", Default::default());
        let [a, b, of_a, of_b] = textbook(&x, &y);
        for (name, value, error) in [("a", a, of_a), ("b", b, of_b)] {
            let got = number(&fit, name);
            near(got.0, value, 1e-6, name);
            near(got.1, error, 1e-4, name);
        }
    }
}

/// Carriers in a semiconductor, in numbers of 1e19: against `curve_fit` of SciPy with N in units of 1e19.
#[test]
fn a_parameter_of_1e19_is_fitted_with_one_of_a_tenth() {
    let data = "T,n
300.0,2.435008479089575
342.8571428571429,4.298825692387754
371.42857142857144,5.96312534689017
400.0,7.80551907076408
428.57142857142856,9.75292959133596
457.1428571428571,11.755961081783932
500.0,15.339788478094366
";
    for kind in ["free", "positive"] {
        let program =
            format!("(params (N {kind} 1e19) (E positive 0.1)) (* (/ N 1e17) (exp (- (/ E (* 8.617e-5 T)))))");
        let fit = run(&program, data, "n", Default::default());
        assert_eq!(fit.best_restart().stopped, Stop::Converged);
        for (name, value, error) in [("N", SEMI[0], SEMI[1]), ("E", SEMI[2], SEMI[3])] {
            let got = number(&fit, name);
            near(got.0, value, 1e-6, name);
            near(got.1, error, 1e-4, name);
        }
    }
}

/// Values and standard errors of N and E.
const SEMI: [f64; 4] = [2.3729868714398224e19, 5.759295679010317e17, 0.11805072176137782, 0.0009298358000104592];

/// The errors of a logistic regression are known: the information is the sum of p (1 - p) (1, x) (1, x)'.
#[test]
fn a_likelihood_has_the_same_errors_in_every_unit() {
    for unit in [1e-9, 1e-3, 1.0, 100.0, 1000.0, 1e6, 1e12] {
        let dose = |i: usize| unit * (i / 6) as f64 * 50.0;
        let died = |i: usize| u8::from((i * 7 + 3) % 11 < 2 + i / 9);
        let lines: Vec<String> = (0..60).map(|i| format!("{:?},{}", dose(i), died(i))).collect();
        let data = format!("dose,dead\n{}\n", lines.join("\n"));
        let program = "(params (a free 0.0) (b free 0.0)) (sigmoid (+ a (* b dose)))";
        let options = ProblemOptions { loss: Loss::Binomial, ..Default::default() };
        let fit = run(program, &data, "dead", options);
        let ((a, of_a), (b, of_b)) = (number(&fit, "a"), number(&fit, "b"));
        let mut sums = [0.0; 3];
        for x in (0..60).map(dose) {
            let p = 1.0 / (1.0 + (-a - b * x).exp());
            (0..3).for_each(|k| sums[k] += p * (1.0 - p) * x.powi(k as i32));
        }
        let determinant = sums[0] * sums[2] - sums[1] * sums[1];
        near(of_a, (sums[2] / determinant).sqrt(), 1e-6, &format!("unit {unit}"));
        near(of_b, (sums[0] / determinant).sqrt(), 1e-6, &format!("unit {unit}"));
    }
}

/// A line of width 0.1 at 1550: where zero lies on the axis changes no error.
#[test]
fn a_narrow_line_far_from_zero_has_the_errors_of_one_at_zero() {
    let place = |i: i32| 1550.0 - 0.5 + f64::from(i) / 64.0;
    let noise = |i: i32| 0.2 * f64::from((37 * i + 11) % 23 - 11) / 7.0;
    let height = |x: f64| 10.0 * (-0.5 * ((x - 1550.05) / 0.1).powi(2)).exp();
    let lines = |zero: f64| -> String {
        let row = |i: i32| format!("{:?},{:?}\n", place(i) - zero, height(place(i)) + noise(i));
        format!("x,y\n{}", (0..64).map(row).collect::<String>())
    };
    let found = |zero: f64| {
        let program = format!(
            "(params (A positive 8.0) (m free {:?}) (s positive 0.15) (sigma positive 1.0))
             (* A (exp (* -0.5 (square (/ (- x m) s)))))",
            1550.0 - zero
        );
        let fit = run(&program, &lines(zero), "y", ProblemOptions { loss: Loss::Gaussian, ..Default::default() });
        ["A", "m", "s", "sigma"].map(|name| number(&fit, name).1)
    };
    let (far, zero) = (found(0.0), found(1550.0));
    for (far, zero) in far.iter().zip(zero) {
        near(*far, zero, 1e-5, "error");
    }
    // Nearly what the squares of slopes give.
    assert!((6e-4..9e-4).contains(&far[1]), "{far:?}");
}
