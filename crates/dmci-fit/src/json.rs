//! A fit as JSON: the versioned form that `--json` prints and `--out` writes.

use crate::fit::FitOptions;
use crate::optimality::{Optimality, TOLERANCE};
use crate::problem::Problem;
use crate::result::{Fit, Fitted, Number, RestartResult};
use crate::score::Score;
use crate::uncertainty::Uncertainty;
use dmci::Datum;
use serde_json::{Map, Value as Json, json};

/// The name and version of the form. Fields may be added; those there keep their meaning.
pub const SCHEMA: &str = "dmci-fit-1";

/// The result of a fit, with what it was a fit of.
pub fn to_json(problem: &Problem, options: &FitOptions, fit: &Fit) -> Json {
    let parameters: Map<String, Json> = fit.parameters.iter().map(|p| (p.name.clone(), parameter(p))).collect();
    let restarts: Vec<Json> = fit.restarts.iter().map(|r| restart(problem, r)).collect();
    let best = fit.best_restart();
    let (fitted, held_out) = problem.row_counts();
    json!({
        "schema": SCHEMA,
        "engine": {"version": env!("CARGO_PKG_VERSION"), "hash": engine_hash()},
        "program": {
            "file": &*problem.program.name,
            "hash": dmci_table::hash::of_text(&problem.program.text),
            "text": &*problem.program.text,
        },
        "data": {
            "file": problem.data,
            "hash": problem.fingerprint(),
            "targets": problem.targets,
            "inputs": if problem.is_constant { &[] } else { &problem.inputs[..] },
            "group": problem.group,
            "groups": problem.groups,
            "rows": fitted,
            "held_out": held_out,
        },
        "optimizer": {
            "name": fit.optimizer.0,
            "why": fit.optimizer.1,
            "epochs": options.budget.epochs,
            "restarts": options.more_restarts + 1,
            "seed": seed(options.seed),
        },
        "parameters": parameters,
        "loss": {"name": problem.loss.name(), "start": number(fit.start_loss), "value": number(fit.score.loss)},
        "rmse": number(fit.score.rmse),
        "r2": fit.score.r2.map(number),
        "criteria": fit.criteria.map(|c| json!({
            "log_likelihood": number(c.log_likelihood),
            "parameters": c.parameters,
            "aic": number(c.aic),
            "aicc": c.aicc.map(number),
            "bic": number(c.bic),
        })),
        "uncertainty": fit.uncertainty.as_ref().map(|u| uncertainty(problem, fit, u)),
        "held_out": fit.held_out.as_ref().map(score),
        "best": fit.best,
        "epochs": best.epochs,
        "evaluations": fit.evaluations(),
        "stopped": best.stopped.name(),
        "status": fit.optimality.outcome.name(),
        "optimality": optimality(&fit.optimality),
        "eliminated": fit.eliminated,
        "optima": {
            "starts": fit.optima.starts,
            "best": fit.optima.best,
            "distinct": fit.optima.distinct,
            "unseen": number(fit.optima.unseen()),
        },
        "step_backs": best.step_backs,
        "restarts": restarts,
        "paths": fit.paths,
        "path_changes": fit.restarts.iter().map(|r| r.path_changes).sum::<usize>(),
        "warnings": fit.warnings.to_json(),
        "seconds": fit.time.as_secs_f64(),
    })
}

/// A hash of the evaluator and the library that ran the program.
fn engine_hash() -> String {
    let mut hash = dmci_table::hash::Hash::default();
    hash.add(env!("CARGO_PKG_VERSION").as_bytes());
    hash.add(dmci::system::evaluator_ncg());
    hash.digits()
}

/// One number as an object of its own; the numbers of vectors, matrices and groups as a list of such.
fn parameter(p: &Fitted) -> Json {
    let mut entry = Map::new();
    entry.insert("kind".into(), json!(p.kind));
    entry.insert("fixed".into(), json!(p.fixed));
    match &p.numbers[..] {
        [one] => fields(one, p.fixed, &mut entry),
        many => {
            let list = many.iter().map(|n| {
                let mut entry = Map::new();
                entry.insert("name".into(), json!(n.name));
                fields(n, p.fixed, &mut entry);
                Json::Object(entry)
            });
            entry.insert("numbers".into(), Json::Array(list.collect()));
        }
    }
    Json::Object(entry)
}

fn fields(n: &Number, fixed: bool, entry: &mut Map<String, Json>) {
    entry.insert("start".into(), number(n.start));
    entry.insert("value".into(), number(n.value));
    if fixed {
        return;
    }
    entry.insert("error".into(), json!(n.sureness.and_then(|s| s.error).map(number)));
    let interval = n.sureness.and_then(|s| s.interval).map(|(low, high)| json!([number(low), number(high)]));
    entry.insert("interval".into(), json!(interval));
    entry.insert("identifiable".into(), json!(n.sureness.map(|s| s.verdict.name())));
    entry.insert("at_bound".into(), json!(n.at_bound));
}

fn uncertainty(problem: &Problem, fit: &Fit, u: &Uncertainty) -> Json {
    let count = u.numbers.len();
    let rows: Vec<Vec<Json>> =
        u.correlations.chunks(count.max(1)).map(|row| row.iter().map(|x| number(*x)).collect()).collect();
    let directions: Vec<Json> = u
        .directions
        .iter()
        .map(|d| {
            let moves: Map<String, Json> = d.moves.iter().map(|(name, by)| (name.clone(), number(*by))).collect();
            json!({"flat": d.flat, "moves": moves})
        })
        .collect();
    json!({
        "method": u.method,
        "level": 0.95,
        "exact": u.exact,
        "intervals": fit.intervals.name(),
        "bootstrap": fit.bootstrap.as_ref().map(|b| json!({"samples": b.draws.len(), "failed": b.failed})),
        "names": problem.value_names(),
        "correlations": rows,
        "directions": directions,
    })
}

fn restart(problem: &Problem, restart: &RestartResult) -> Json {
    let values = problem.value_names().into_iter().zip(&restart.values);
    let values: Map<String, Json> = values.map(|(name, &x)| (name, number(x))).collect();
    json!({
        "optimizer": restart.optimizer,
        "loss": number(restart.loss),
        "values": values,
        "epochs": restart.epochs,
        "evaluations": restart.evaluations,
        "stopped": restart.stopped.name(),
        "step_backs": restart.step_backs,
        "path_changes": restart.path_changes,
        "optimum": restart.optimum,
    })
}

fn optimality(o: &Optimality) -> Json {
    json!({
        "outcome": o.outcome.name(),
        "decrement": o.decrement.map(number),
        "tolerance": TOLERANCE,
        "curvature": o.curvature.map(number),
        "test": o.test,
        "parameters": o.parameters,
        "next": o.next,
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
