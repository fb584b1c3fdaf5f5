//! A fit as JSON: the versioned form that `--json` prints and `--out` writes.

use crate::fit::{Fit, FitOptions};
use crate::loss::Score;
use crate::problem::Problem;
use dmci::Datum;
use serde_json::{Map, Value as Json, json};

/// The name and version of the form. Fields may be added; those there keep their meaning.
pub const SCHEMA: &str = "dmci-fit-1";

/// The result of a fit, with what it was a fit of.
pub fn to_json(problem: &Problem, options: &FitOptions, fit: &Fit) -> Json {
    let parameters: Map<String, Json> = fit
        .parameters
        .iter()
        .map(|p| {
            let entry = json!({
                "kind": p.kind.to_string(),
                "start": number(p.start),
                "value": number(p.value),
                "fixed": p.fixed,
            });
            (p.name.clone(), entry)
        })
        .collect();
    let restarts: Vec<Json> = fit.restarts.iter().map(|r| restart(problem, r)).collect();
    let best = fit.best_restart();
    json!({
        "schema": SCHEMA,
        "engine": env!("CARGO_PKG_VERSION"),
        "program": &*problem.program.name,
        "data": {
            "file": problem.data,
            "target": problem.target,
            "inputs": problem.inputs,
            "rows": problem.training.target.len(),
            "held_out": problem.held_out.target.len(),
        },
        "optimizer": {
            "name": "adam",
            "rate": options.adam.rate,
            "epochs": options.patience.epochs,
            "patience": options.patience.patience,
            "clip": options.adam.clip,
            "restarts": options.more_restarts + 1,
            "seed": seed(options.seed),
        },
        "parameters": parameters,
        "loss": {"name": "mse", "start": number(fit.start_loss), "value": number(fit.score.loss)},
        "rmse": number(fit.score.rmse),
        "r2": fit.score.r2.map(number),
        "held_out": fit.held_out.as_ref().map(score),
        "best": fit.best,
        "epochs": best.epochs,
        "stopped": best.stopped.name(),
        "step_backs": best.step_backs,
        "restarts": restarts,
        "paths": fit.paths,
        "warnings": fit.warnings.to_json(),
        "seconds": fit.time.as_secs_f64(),
    })
}

fn restart(problem: &Problem, restart: &crate::fit::RestartResult) -> Json {
    let values = problem.parameters.iter().zip(&restart.values);
    let values: Map<String, Json> = values.map(|(p, &x)| (p.name.clone(), number(x))).collect();
    json!({
        "loss": number(restart.loss),
        "values": values,
        "epochs": restart.epochs,
        "stopped": restart.stopped.name(),
        "step_backs": restart.step_backs,
    })
}

fn score(score: &Score) -> Json {
    json!({"loss": number(score.loss), "rmse": number(score.rmse), "r2": score.r2.map(number)})
}

/// A number, or the word for one that is not finite.
fn number(x: f64) -> Json {
    Datum::Real(x).to_json()
}

fn seed(seed: u64) -> Json {
    i64::try_from(seed).map_or(Datum::BigInteger(seed.to_string()), Datum::Integer).to_json()
}
