//! Adam against optax (`scripts/adam-reference.py`): the same points, step by step.

#![allow(clippy::unwrap_used)]

use dmci_fit::search::{Adam, AdamOptions};

fn gradient(function: &str, p: &[f64]) -> Vec<f64> {
    match function {
        "rosenbrock" => {
            let valley = p[1] - p[0] * p[0];
            vec![-2.0 * (1.0 - p[0]) - 400.0 * p[0] * valley, 200.0 * valley]
        }
        "uneven" => vec![2000.0 * p[0], 2.0 * p[1].sin() * p[1].cos(), 0.004 * (p[2] - 1.0).powi(3)],
        other => panic!("{other} is unknown"),
    }
}

#[test]
fn adam_visits_the_points_that_optax_visits() {
    let mut count = 0;
    for line in include_str!("adam.txt").lines() {
        let (function, numbers) = line.split_once(' ').unwrap();
        let numbers: Vec<f64> = numbers.split(' ').map(|n| n.parse().unwrap()).collect();
        let (rate, clip, steps, expected) = (numbers[0], numbers[1], numbers[2] as usize, &numbers[3..]);
        let options = AdamOptions { rate, clip: (clip > 0.0).then_some(clip), ..AdamOptions::default() };
        let mut point = if function == "rosenbrock" { vec![-1.2, 1.0] } else { vec![2.0, 1.0, -3.0] };
        let mut adam = Adam::new(point.len());
        for _ in 0..steps {
            let step = adam.step(&gradient(function, &point), rate, &options);
            point.iter_mut().zip(step).for_each(|(x, s)| *x -= s);
        }
        for (x, y) in point.iter().zip(expected) {
            assert!((x - y).abs() <= 1e-11 * y.abs().max(1.0), "{line}\n{point:?}");
        }
        count += 1;
    }
    assert_eq!(count, 36);
}
