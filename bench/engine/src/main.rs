//! Times models over lanes, on request: a line of JSON in, a line of JSON out.
//!
//! `{"file": F, "params": {NAME: NUMBERS}, "inputs": {NAME: NUMBERS}, "fixed": {NAME: DATUM}, "batch": B,
//! "shared": false, "single": false, "threads": 1, "want": "gradients"}` loads a model and answers with the
//! value and gradient of its first lanes. Lane `i` has parameters and inputs that differ a little from those given, in
//! a way that its peer can repeat. `{"seconds": S}` times calls for so long and answers with nanoseconds a call;
//! with `"hand": "plain"` or `"fused"` those of the same program written by hand, if there is one, in the precision of
//! the model, without or with contraction.

mod filter;
mod hand;
mod real;

use dmci::{Batch, Code, Column, Datum, Mode, Model, ModelOptions, Program, Sums, Want};
use serde_json::{Value, json};
use std::io::BufRead;
use std::time::{Duration, Instant};

type Failure = Box<dyn std::error::Error>;

/// A number near x, by its index: what the peer computes with the same formula.
fn near(x: f64, index: usize) -> f64 {
    let fraction = (index as f64 * 0.618_033_988_749_894_9).fract();
    x * (1.0 + 0.01 * (fraction - 0.5))
}

fn datum(value: &Value) -> Datum {
    match value {
        Value::Array(items) => Datum::list(items.iter().map(datum).collect()),
        Value::Number(n) => n.as_i64().map_or_else(|| Datum::Real(n.as_f64().unwrap_or(f64::NAN)), Datum::Integer),
        _ => Datum::Unspecified,
    }
}

/// The same structure with reals for all numbers.
fn of_reals(value: &Value) -> Datum {
    match value {
        Value::Array(items) => Datum::list(items.iter().map(of_reals).collect()),
        _ => Datum::Real(value.as_f64().unwrap_or(f64::NAN)),
    }
}

fn numbers(value: &Value, into: &mut Vec<f64>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| numbers(item, into)),
        _ => into.push(value.as_f64().unwrap_or(f64::NAN)),
    }
}

struct Loaded {
    model: Model,
    params: Vec<f64>,
    columns: Vec<Column>,
    want: Want,
    shared: bool,
    rows: usize,
    batch: Batch,
    sums: Sums,
    single: bool,
    file: String,
}

impl Loaded {
    fn new(request: &Value) -> Result<Loaded, Failure> {
        let file = request["file"].as_str().ok_or("no file")?;
        let text = std::fs::read_to_string(file)?;
        let lanes = request["batch"].as_u64().unwrap_or(1) as usize;
        let shared = request["shared"].as_bool().unwrap_or(false);
        let empty = serde_json::Map::new();
        let map = |name: &str| request[name].as_object().unwrap_or(&empty).clone();
        let mut options =
            ModelOptions { threads: request["threads"].as_u64().unwrap_or(1) as usize, ..Default::default() };
        options.run.numerics.single = request["single"].as_bool().unwrap_or(false);
        options.run.mode = request["mode"].as_str().and_then(|m| Mode::parse(m).ok()).unwrap_or_default();
        options.code = if request["code"] == json!(false) { Code::Never } else { Code::WhenItPays };
        options.run.bindings = map("fixed").iter().map(|(name, value)| (name.clone(), datum(value))).collect();
        let params = map("params");
        let mut start = Vec::new();
        params.values().for_each(|value| numbers(value, &mut start));
        let sets = if shared { 1 } else { lanes };
        let all = (0..sets * start.len()).map(|i| near(start[i % start.len()], i)).collect();
        let inputs = map("inputs");
        let mut columns = Vec::new();
        for value in inputs.values() {
            let mut row = Vec::new();
            numbers(value, &mut row);
            let list: Vec<f64> = (0..lanes * row.len()).map(|i| near(row[i % row.len()], i + 1)).collect();
            columns.push(match value {
                Value::Array(_) => Column::Shaped(of_reals(value), list),
                _ => Column::Reals(list),
            });
        }
        let names: Vec<&str> = inputs.keys().map(String::as_str).collect();
        let structure = params.iter().map(|(name, value)| (name.clone(), of_reals(value))).collect();
        let want = if request["want"] == json!("values") { Want::Values } else { Want::Gradients };
        let model = Model::with_params(Program::named(file, &text), structure, &names, options);
        let (batch, sums) = (Batch::default(), Sums::default());
        let rows = if columns.is_empty() { 1 } else { lanes };
        let (single, file) = (request["single"].as_bool().unwrap_or(false), file.to_string());
        Ok(Loaded { model, params: all, columns, want, shared, rows, batch, sums, single, file })
    }

    fn call(&mut self) -> Result<(), Failure> {
        let call = if self.shared { Model::evaluate_into } else { Model::evaluate_pairs_into };
        call(&self.model, &mut self.batch, &self.params, &self.columns, self.want)
            .map_err(|report| format!("{:?}", report.diagnostics))?;
        if self.shared {
            self.model.sum(&self.batch, self.rows, &mut self.sums);
        }
        Ok(())
    }

    fn answer(&mut self) -> Result<Value, Failure> {
        let start = Instant::now();
        self.call()?;
        let cold = start.elapsed();
        for _ in 0..3 {
            self.call()?;
        }
        if let Some((lane, failure)) = self.batch.failures.first() {
            return Err(format!("lane {lane}: {:?}", failure.report.diagnostics).into());
        }
        let n = self.model.numbers();
        let (values, gradients) = if self.shared {
            (&self.sums.values, &self.sums.gradients)
        } else {
            (&self.batch.values, &self.batch.gradients)
        };
        let last = values.len() - 1;
        let gradient = |lane: usize| gradients.get(lane * n..(lane + 1) * n).unwrap_or(&[]).to_vec();
        Ok(json!({
            "values": [values[0], values[last]],
            "gradients": [gradient(0), gradient(last)],
            "cold": cold.as_nanos() as u64,
            "recordings": self.model.recordings(),
        }))
    }

    fn time(&mut self, seconds: f64, hand: Option<&str>) -> Result<Value, Failure> {
        let Some(form) = hand else { return timed(seconds, || self.call()) };
        let form = usize::from(form == "fused");
        if self.single {
            let program = hand::single(&self.file).ok_or("no program by hand")?[form];
            self.time_by_hand(seconds, program, |x| x as f32, f64::from)
        } else {
            let program = hand::double(&self.file).ok_or("no program by hand")?[form];
            self.time_by_hand(seconds, program, |x| x, |x| x)
        }
    }

    fn time_by_hand<T: real::Real>(
        &self,
        seconds: f64,
        program: hand::Program<T>,
        down: impl Fn(f64) -> T + Copy,
        up: impl Fn(T) -> f64 + Copy,
    ) -> Result<Value, Failure> {
        let (Some(Column::Reals(inputs)) | Some(Column::Shaped(_, inputs))) = self.columns.first() else {
            return Err("no column".into());
        };
        let list = |numbers: &[f64]| numbers.iter().map(|&x| down(x)).collect::<Vec<T>>();
        let (params, inputs) = (list(&self.params), list(inputs));
        let (mut values, mut gradients) = (list(&self.batch.values), list(&self.batch.gradients));
        // What is not computed must not look as if it were right.
        values.fill(down(f64::NAN));
        let mut answer = timed(seconds, || {
            program(&params, &inputs, &mut values, &mut gradients);
            std::hint::black_box(&mut values);
            Ok(())
        })?;
        let all = values.iter().zip(&self.batch.values).chain(gradients.iter().zip(&self.batch.gradients));
        let difference = all.map(|(a, b)| (up(*a) - b).abs() / (1e-3 + b.abs()));
        let difference = difference.fold(0.0, |most: f64, x| if x > most || x.is_nan() { x } else { most });
        // JSON has no NaN.
        answer["difference"] = json!(if difference.is_nan() { f64::MAX } else { difference });
        Ok(answer)
    }
}

/// Nanoseconds a call, the least and the median of parts of the time.
fn timed(seconds: f64, mut call: impl FnMut() -> Result<(), Failure>) -> Result<Value, Failure> {
    {
        let mut calls = 1;
        let mut times = Vec::new();
        let end = Instant::now() + Duration::from_secs_f64(seconds);
        while times.is_empty() || Instant::now() < end {
            let start = Instant::now();
            for _ in 0..calls {
                call()?;
            }
            let each = start.elapsed().as_nanos() as f64 / calls as f64;
            times.push(each);
            calls = ((seconds * 1e8 / each) as usize).clamp(1, 1_000_000);
        }
        times.sort_by(f64::total_cmp);
        Ok(json!({ "least": times[0], "median": times[times.len() / 2] }))
    }
}

fn main() {
    let mut loaded: Option<Loaded> = None;
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let mut answer = || -> Result<Value, Failure> {
            let request: Value = serde_json::from_str(&line)?;
            if let Some(seconds) = request["seconds"].as_f64() {
                return loaded.as_mut().ok_or("nothing is loaded")?.time(seconds, request["hand"].as_str());
            }
            loaded.insert(Loaded::new(&request)?).answer()
        };
        println!("{}", answer().unwrap_or_else(|error| json!({ "error": error.to_string() })));
    }
}
