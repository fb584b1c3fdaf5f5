//! The arms that compile each program for itself, in Python, on a sample.

use super::first_gradient;
use super::generate::Generated;
use crate::Host;
use crate::numbers::Real;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const SCRIPT: &str = include_str!("../../programs/j/arms.py");

/// One arm on a sample of one family.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// `closed lambdify`, `closed port`, `recursive port`.
    pub name: String,
    /// Programs of the sample.
    pub programs: usize,
    /// Seconds for all of them.
    pub seconds: f64,
    /// The largest relative difference of its gradients from ours.
    pub error: Real,
}

/// All arms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arms {
    /// Versions.
    pub versions: String,
    /// The arms.
    pub arms: Vec<Arm>,
}

/// Runs them.
pub fn run(closed: &[Generated], recursive: &[Generated], host: &Host) -> Result<Arms, String> {
    let x = 1.25;
    let entry = |p: &Generated| json!({"names": p.names(), "expression": super::formula::python(&p.tree), "point": p.truth, "x": x});
    let list = |programs: &[Generated]| programs.iter().map(entry).collect::<Vec<Value>>();
    let input = json!({"closed": list(closed), "recursive": list(recursive)}).to_string();
    let answer = (host.python)(SCRIPT, &input)?;
    let answer: Value = serde_json::from_str(&answer).map_err(|e| e.to_string())?;
    let mut arms = Vec::new();
    for name in ["closed lambdify", "closed port", "recursive port"] {
        let programs = if name.starts_with("closed") { closed } else { recursive };
        let arm = &answer[name];
        let mut error: f64 = 0.0;
        for (program, theirs) in programs.iter().zip(arm["values"].as_array().into_iter().flatten()) {
            let Some((_, gradient)) = first_gradient(program, x) else { continue };
            for (g, t) in gradient.iter().zip(theirs[1].as_array().into_iter().flatten()) {
                let t = t.as_f64().unwrap_or(f64::NAN);
                error = error.max((g - t).abs() / t.abs().max(1.0));
            }
        }
        arms.push(Arm {
            name: name.into(),
            programs: arm["programs"].as_u64().unwrap_or(0) as usize,
            seconds: arm["seconds"].as_f64().unwrap_or(f64::NAN),
            error: Real(error),
        });
    }
    let version = |name: &str| answer[name].as_str().unwrap_or("unknown").to_string();
    Ok(Arms { versions: format!("jax {}, sympy {}", version("jax"), version("sympy")), arms })
}
