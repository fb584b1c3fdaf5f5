//! Fits problems that come as lines of JSON, in one process, and says how long each took: what
//! `bench/scipy` compares with SciPy. A line has `text`, `columns` (names with numbers), `target` and
//! `optimizer`; the answer has `loss` (the mean squared error), `values`, `seconds` and `evaluations`.

use dmci::Program;
use dmci_fit::{FitOptions, Method, Optimizer, Problem, ProblemOptions, Table, fit};
use serde_json::{Value as Json, json};
use std::io::{BufRead, BufWriter, Write};
use std::ops::ControlFlow;
use std::time::Instant;

fn solve(line: &Json) -> Option<Json> {
    let columns = line["columns"].as_object()?;
    let names: Vec<&str> = columns.keys().map(String::as_str).collect();
    let rows = columns.values().next()?.as_array()?.len();
    let mut csv = names.join(",") + "\n";
    for r in 0..rows {
        let cells: Option<Vec<String>> = columns.values().map(|c| c[r].as_f64().map(|x| format!("{x:?}"))).collect();
        csv += &(cells?.join(",") + "\n");
    }
    let table = Table::from_csv("batch", csv.as_bytes()).ok()?;
    let text = line["text"].as_str()?;
    let method = Optimizer::named(line["optimizer"].as_str()?).map_or(Method::Auto, Method::One);
    let began = Instant::now();
    let problem = Problem::new(Program::new(text), &table, line["target"].as_str()?, ProblemOptions::default());
    let result = problem.and_then(|problem| {
        fit(&problem, &FitOptions { method, ..FitOptions::default() }, &mut |_| ControlFlow::Continue(()))
    });
    let seconds = began.elapsed().as_secs_f64();
    Some(match result {
        Ok(fit) => json!({
            "loss": fit.score.loss,
            "values": fit.parameters.iter().map(|p| p.value).collect::<Vec<f64>>(),
            "seconds": seconds,
            "evaluations": fit.evaluations(),
        }),
        Err(report) => json!({"error": report.to_string(), "seconds": seconds}),
    })
}

fn main() -> std::io::Result<()> {
    // Whoever reads the answers must not wake up, on one of the cores, while something is timed.
    let mut answers = BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let answer = serde_json::from_str(&line).ok().and_then(|line| solve(&line));
        writeln!(answers, "{}", answer.unwrap_or_else(|| json!({"error": "malformed line"})))?;
    }
    answers.flush()
}
