//! The nonlinear regression problems of NIST's Statistical Reference Datasets: certified parameters and
//! standard errors, from both starting points, with the optimiser that is chosen for them.

#![allow(clippy::unwrap_used)]

use dmci::Program;
use dmci_fit::{FitOptions, Problem, ProblemOptions, Table, fit};
use serde_json::Value as Json;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

fn shared(file: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let folder = std::env::var_os("DMCI_SHARED").map_or_else(|| root.join("shared"), PathBuf::from);
    let path = folder.join("data").join(file);
    if !path.is_file() {
        eprintln!("skipped: {} is not there (DMCI_SHARED names the folder)", path.display());
        return None;
    }
    Some(path)
}

fn numbers(list: &Json) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|x| x.as_str().unwrap().parse().unwrap()).collect()
}

/// Digits in which a number agrees with a certified one, at most the 11 that are certified.
fn digits(got: f64, certified: f64) -> f64 {
    let error = ((got - certified) / certified).abs();
    if error == 0.0 { 11.0 } else { (-error.log10()).clamp(0.0, 11.0) }
}

fn problem(nist: &Json, start: &str) -> Problem {
    let names: Vec<&str> = nist["parameters"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
    let starts = nist[start].as_array().unwrap().iter().map(|s| s.as_str().unwrap());
    let schema: Vec<String> = names.iter().zip(starts).map(|(name, start)| format!("({name} free {start})")).collect();
    let text = format!(
        "(params {})\n(define pi 3.141592653589793)\n{}",
        schema.join(" "),
        nist["model_sexpr"].as_str().unwrap()
    );
    let columns: Vec<&str> = nist["columns"].as_array().unwrap().iter().map(|c| c.as_str().unwrap()).collect();
    let mut csv = format!("{}\n", columns.join(","));
    // The response of Nelson's problem is the logarithm of its column.
    let logarithm = nist["response"] == "log(y)";
    for row in nist["data"].as_array().unwrap() {
        let cells = row.as_array().unwrap().iter().zip(&columns).map(|(x, name)| {
            let x = x.as_f64().unwrap();
            format!("{:?}", if logarithm && *name == "y" { x.ln() } else { x })
        });
        csv += &cells.collect::<Vec<_>>().join(",");
        csv.push('\n');
    }
    let table = Table::from_csv("nist.csv", csv.as_bytes()).unwrap();
    Problem::new(Program::new(&text), &table, "y", ProblemOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn certified_parameters_and_errors_are_found_from_both_starts() {
    let Some(path) = shared("nist_strd/nist_strd.json") else { return };
    let problems: Vec<Json> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut table = format!(
        "{:10} {:8} {:>5} {:>10} {:>10} {:>6} {:>6}  {}\n",
        "problem", "level", "start", "parameters", "errors", "epochs", "calls", "result"
    );
    let mut failures = Vec::new();
    for nist in &problems {
        let name = nist["name"].as_str().unwrap();
        for start in ["start1", "start2"] {
            let problem = problem(nist, start);
            let options = FitOptions::default();
            let fit =
                fit(&problem, &options, &mut |_| ControlFlow::Continue(())).unwrap_or_else(|e| panic!("{name}: {e}"));
            let worst = |got: &[f64], certified: &[f64]| {
                got.iter().zip(certified).map(|(g, c)| digits(*g, *c)).fold(f64::INFINITY, f64::min)
            };
            let values: Vec<f64> = fit.parameters.iter().map(|p| p.value).collect();
            let error = |p: &dmci_fit::Fitted| p.numbers[0].sureness.and_then(|s| s.error).unwrap_or(f64::NAN);
            let errors: Vec<f64> = fit.parameters.iter().map(error).collect();
            let (p, e) =
                (worst(&values, &numbers(&nist["certified"])), worst(&errors, &numbers(&nist["certified_sd"])));
            let best = fit.best_restart();
            let _ = writeln!(
                table,
                "{name:10} {:8} {:>5} {p:>10.1} {e:>10.1} {:>6} {:>6}  {}, {}",
                nist["difficulty"].as_str().unwrap(),
                &start[5..],
                best.epochs,
                fit.evaluations(),
                fit.optimizer.0,
                best.stopped.name()
            );
            // The residuals of Lanczos1 are rounding errors of f64, and so are its standard errors.
            let needed = if name == "Lanczos1" { 2.0 } else { 4.0 };
            if !(p >= 6.0 && e >= needed) {
                failures.push(format!("{name} from {start}: {values:?} {errors:?}"));
            }
        }
    }
    println!("{table}");
    assert!(failures.is_empty(), "{table}\n{}", failures.join("\n"));
}
