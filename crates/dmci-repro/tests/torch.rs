//! Our streams beside draws that torch itself made.
#![allow(clippy::unwrap_used)]

use dmci_repro::torch::Torch;
use serde_json::Value;

fn draws() -> Option<Value> {
    let root =
        std::env::var("DMCI_SHARED").unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared").into());
    let path = format!("{root}/data/torch_draws/draws.json");
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(serde_json::from_str(&text).unwrap()),
        Err(error) => {
            eprintln!("skipped: {path}: {error}");
            None
        }
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    fn each(value: &Value, out: &mut Vec<f64>) {
        match value {
            Value::Array(list) => list.iter().for_each(|v| each(v, out)),
            other => out.push(other.as_f64().unwrap()),
        }
    }
    let mut out = Vec::new();
    each(value, &mut out);
    out
}

#[test]
fn draws_in_single_precision_are_torchs_bit_for_bit() {
    let Some(draws) = draws() else { return };
    let seeds = draws["seeds"].as_object().unwrap();
    assert!(seeds.len() >= 5);
    for (seed, draws) in seeds {
        let torch = || Torch::new(seed.parse().unwrap());
        let same = |name: &str, draw: &mut dyn FnMut() -> f64| {
            let expected = numbers(&draws[name]);
            assert!(!expected.is_empty());
            for (i, expected) in expected.into_iter().enumerate() {
                assert_eq!(draw(), expected, "{name} {i} of seed {seed}");
            }
        };
        let mut g = torch();
        same("scalar_randn", &mut || g.normal());
        let mut g = torch();
        same("scalar_rand", &mut || g.uniform());
        // In double precision the last bit is that of the sine and the logarithm of torch's platform.
        let mut g = torch();
        for (i, expected) in numbers(&draws["randn_f64_4"]).into_iter().enumerate() {
            let ours = g.normal64();
            assert!(
                (ours - expected).abs() <= 4e-16 * expected.abs(),
                "randn_f64_4 {i} of seed {seed}: {ours} {expected}"
            );
        }
        let mut permutation = torch().permutation(10).into_iter();
        same("randperm_10", &mut || permutation.next().unwrap() as f64);
    }
}

#[test]
fn draws_of_many_numbers_are_torchs_but_for_the_last_bits() {
    let Some(draws) = draws() else { return };
    let close = |name: &str, ours: Vec<f64>, expected: &Value| {
        let expected = numbers(expected);
        assert_eq!(ours.len(), expected.len());
        for (i, (a, b)) in ours.iter().zip(expected).enumerate() {
            assert!((a - b).abs() <= 2e-6 * b.abs().max(1.0), "{name} {i}: {a}, torch {b}");
        }
    };
    for (seed, list) in draws["seeds"].as_object().unwrap() {
        let torch = || Torch::new(seed.parse().unwrap());
        close("randn_16", torch().normals(16), &list["randn_16"]);
        close("randn_64", torch().normals(64), &list["randn_64"]);
    }
    if let Some(observations) = draws.get("kalman_obs") {
        close("kalman_obs", Torch::new(0).normals(160), observations);
    }
}
