//! The verdict on planted cases: right structures that are badly fitted, wrong ones that are well fitted, and fits that
//! leave nothing but noise.

#![allow(clippy::unwrap_used)]

use dmci::Program;
use dmci_fit::{Blame, Diagnosis, FitRequest, Inputs, Table};
use dmci_stats::random::Stream;
use serde_json::{Value as Json, json};
use std::ops::ControlFlow;

struct Family {
    name: &'static str,
    truth: fn(f64, f64) -> f64,
    right: &'static str,
    wrong: &'static str,
    /// Settings that leave the right structure badly fitted.
    badly: fn() -> Json,
}

fn one_start() -> Json {
    json!({"search_work": 0.0, "optimizer": "lbfgs"})
}

fn few_steps() -> Json {
    json!({"optimizer": "adam", "epochs": 15, "rate": 0.02})
}

fn families() -> Vec<Family> {
    vec![
        Family {
            name: "decay",
            truth: |x, _| 2.5 * (-0.8 * x).exp(),
            right: "(params (a free 0.2) (b free 3.0)) (* a (exp (- (* b x))))",
            wrong: "(params (a free 1.0) (b free 0.0)) (+ a (* b x))",
            badly: few_steps,
        },
        Family {
            name: "damped wave",
            truth: |x, _| 1.5 * (4.0 * x).sin() * (-0.3 * x).exp(),
            right: "(params (a free 1.0) (w free 1.2) (b free 0.1)) (* a (sin (* w x)) (exp (- (* b x))))",
            wrong: "(params (a free 1.0) (b free 0.1)) (* a (exp (- (* b x))))",
            badly: few_steps,
        },
        Family {
            name: "decay and wave",
            truth: |x, _| 2.0 * (-0.5 * x).exp() + (3.0 * x).sin(),
            right: "(params (a free 1.0) (b free 1.0) (c free 1.0) (w free 8.0)) (+ (* a (exp (- (* b x)))) (* c (sin (* w x))))",
            wrong: "(params (a free 1.0) (b free 1.0) (c free 0.0)) (+ c (* a (exp (- (* b x)))))",
            badly: one_start,
        },
        Family {
            name: "logistic",
            truth: |x, _| 5.0 / (1.0 + (-2.0 * (x - 2.5)).exp()),
            right: "(params (a free 1.0) (b free 1.0) (c free 0.0)) (/ a (+ 1 (exp (- (* b (- x c))))))",
            wrong: "(params (a free 1.0) (b free 0.0) (c free 0.0)) (+ a (* b x) (* c x x))",
            badly: few_steps,
        },
        Family {
            name: "saturation of two inputs",
            truth: |x, z| 3.0 * x / (0.7 + x) + 0.5 * z * z,
            right: "(params (v free 0.1) (k positive 5.0) (c free 0.0)) (+ (/ (* v x) (+ k x)) (* c z z))",
            wrong: "(params (v free 1.0) (k positive 1.0) (c free 0.0)) (+ (/ (* v x) (+ k x)) (* c z))",
            badly: few_steps,
        },
        Family {
            name: "product of two inputs",
            truth: |x, z| 1.2 * x * z + (2.0 * z).cos(),
            right: "(params (a free 0.0) (b free 0.1) (w free 6.0)) (+ (* a x z) (* b (cos (* w z))))",
            wrong: "(params (a free 0.0) (b free 0.0) (c free 0.0)) (+ a (* b x) (* c z))",
            badly: one_start,
        },
    ]
}

fn diagnosis(family: &Family, program: &str, settings: &Json, seed: u64) -> Diagnosis {
    let mut stream = Stream::new(seed, 77);
    let rows: Vec<(f64, f64)> = (0..90).map(|i| (5.0 * f64::from(i) / 89.0, 3.0 * stream.uniform())).collect();
    let clean: Vec<f64> = rows.iter().map(|(x, z)| (family.truth)(*x, *z)).collect();
    let mean = clean.iter().sum::<f64>() / 90.0;
    let deviation = (clean.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / 90.0).sqrt();
    let lines: String = rows
        .iter()
        .zip(&clean)
        .map(|((x, z), y)| format!("{x},{z},{}\n", y + 0.05 * deviation * stream.normal()))
        .collect();
    let table = Table::from_csv("planted.csv", format!("x,z,y\n{lines}").as_bytes()).unwrap();
    let mut all = json!({"target": "y", "diagnose": true, "seed": seed});
    all.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    let request = FitRequest::from_json(&all.to_string()).unwrap();
    let run = request.run.options(None).unwrap();
    let inputs = Inputs { program: Program::new(program), table: &table, start_from: None, run };
    let problem = request.problem(inputs).unwrap();
    let options = request.options().unwrap();
    let fit = request.fit(&problem, &options, &mut |_| ControlFlow::Continue(()), &|| false).unwrap();
    fit.diagnosis.unwrap()
}

#[test]
fn the_verdict_is_right_in_95_percent_of_planted_cases() {
    let (mut right, mut all, mut wrong) = (0, 0, Vec::new());
    for family in families() {
        for seed in 0..10 {
            let cases = [
                (family.right, (family.badly)(), Blame::FitFailure),
                (family.wrong, json!({}), Blame::StructureFailure),
                (family.right, json!({}), Blame::AtTheNoise),
            ];
            for (program, settings, expected) in cases {
                let found = diagnosis(&family, program, &settings, seed);
                all += 1;
                if found.verdict == Some(expected) {
                    right += 1;
                } else {
                    wrong.push(format!("{} {seed}, expected {}:\n{}", family.name, expected.name(), found.text()));
                }
            }
        }
    }
    eprintln!("{right} of {all} verdicts are right");
    assert!(20 * right >= 19 * all, "{right} of {all}:\n{}", wrong.join("\n"));
}
