//! Times models over lanes, on request: a line of JSON in, a line of JSON out.
//!
//! `{"file": F, "params": {NAME: NUMBERS}, "inputs": {NAME: NUMBERS}, "fixed": {NAME: DATUM}, "batch": B,
//! "shared": false, "single": false, "threads": 1, "want": "gradients"}` loads a model and answers with the
//! value and gradient of its first lanes. Lane `i` has parameters and inputs that differ a little from those given, in
//! a way that its peer can repeat. `{"seconds": S}` times calls for so long and answers with nanoseconds a call;
//! with `"hand": "plain"`, `"fused"` or `"reverse"` those of the same program written by hand, if there is one, in the
//! precision of the model, without or with contraction, or in reverse mode.

mod filter;
mod hand;
mod real;

use dmci::{Batch, JitPolicy, Column, Datum, Mode, Model, ModelOptions, Number, Program, Sums, Want};
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

/// What a model is evaluated at, and its results.
struct Data<N> {
    params: Vec<N>,
    columns: Vec<Column<N>>,
    batch: Batch<N>,
}

impl<N: Number> Data<N> {
    fn new(params: &[f64], inputs: &[(Value, Vec<f64>)]) -> Data<N> {
        let rounded = |list: &[f64]| list.iter().map(|&x| N::rounded(x)).collect();
        let column = |(sample, list): &(Value, Vec<f64>)| match sample {
            Value::Array(_) => Column::Shaped(of_reals(sample), rounded(list)),
            _ => Column::Reals(rounded(list)),
        };
        Data { params: rounded(params), columns: inputs.iter().map(column).collect(), batch: Batch::default() }
    }

    fn call(&mut self, model: &Model, shared: bool, want: Want) -> Result<(), Failure> {
        let call = if shared { Model::evaluate_into } else { Model::evaluate_pairs_into };
        let Data { params, columns, batch } = self;
        call(model, batch, params, columns, want).map_err(|report| format!("{:?}", report.diagnostics).into())
    }

    /// The first and last value and gradient; an error if a lane failed.
    fn answer(&self, numbers: usize) -> Result<[Vec<f64>; 3], Failure> {
        let Batch { values, gradients, failures, .. } = &self.batch;
        if let Some((lane, failure)) = failures.first() {
            return Err(format!("lane {lane}: {:?}", failure.diagnostics).into());
        }
        Ok(ends(values, gradients, numbers))
    }

    fn time_by_hand(&self, seconds: f64, program: hand::Program<N>) -> Result<Value, Failure> {
        let (Some(Column::Reals(inputs)) | Some(Column::Shaped(_, inputs))) = self.columns.first() else {
            return Err("no column".into());
        };
        let (mut values, mut gradients) = (self.batch.values.clone(), self.batch.gradients.clone());
        // What is not computed must not look as if it were right.
        values.fill(N::rounded(f64::NAN));
        let mut answer = timed(seconds, || {
            program(&self.params, inputs, &mut values, &mut gradients);
            std::hint::black_box(&mut values);
            Ok(())
        })?;
        let all = values.iter().zip(&self.batch.values).chain(gradients.iter().zip(&self.batch.gradients));
        let difference = all.map(|(&a, &b)| -> f64 {
            let (a, b): (f64, f64) = (a.into(), b.into());
            (a - b).abs() / (1e-3 + b.abs())
        });
        let difference = difference.fold(0.0, |most: f64, x| if x > most || x.is_nan() { x } else { most });
        // JSON has no NaN.
        answer["difference"] = json!(if difference.is_nan() { f64::MAX } else { difference });
        Ok(answer)
    }
}

/// The first and last value, the first gradient and the last.
fn ends<N: Number>(values: &[N], gradients: &[N], numbers: usize) -> [Vec<f64>; 3] {
    let last = values.len() - 1;
    let doubles = |list: &[N]| list.iter().map(|&x| x.into()).collect();
    let gradient = |lane: usize| doubles(gradients.get(lane * numbers..(lane + 1) * numbers).unwrap_or(&[]));
    [doubles(&[values[0], values[last]]), gradient(0), gradient(last)]
}

/// In lists of the precision that the model computes in; sums are of double precision.
enum Kept {
    Double(Data<f64>),
    Single(Data<f32>),
}

struct Loaded {
    model: Model,
    kept: Kept,
    want: Want,
    shared: bool,
    rows: usize,
    sums: Sums,
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
        options.code = if request["code"] == json!(false) { JitPolicy::Never } else { JitPolicy::WhenItPays };
        options.run.bindings = map("fixed").iter().map(|(name, value)| (name.clone(), datum(value))).collect();
        let params = map("params");
        let mut start = Vec::new();
        params.values().for_each(|value| numbers(value, &mut start));
        let sets = if shared { 1 } else { lanes };
        let all: Vec<f64> = (0..sets * start.len()).map(|i| near(start[i % start.len()], i)).collect();
        let inputs = map("inputs");
        let mut columns = Vec::new();
        for value in inputs.values() {
            let mut row = Vec::new();
            numbers(value, &mut row);
            let list: Vec<f64> = (0..lanes * row.len()).map(|i| near(row[i % row.len()], i + 1)).collect();
            columns.push((value.clone(), list));
        }
        let names: Vec<&str> = inputs.keys().map(String::as_str).collect();
        let structure = params.iter().map(|(name, value)| (name.clone(), of_reals(value))).collect();
        let want = if request["want"] == json!("values") { Want::Values } else { Want::Gradients };
        let model = Model::with_params(Program::named(file, &text), structure, &names, options);
        let rows = if columns.is_empty() { 1 } else { lanes };
        let kept = match request["single"].as_bool() {
            Some(true) if !shared => Kept::Single(Data::new(&all, &columns)),
            _ => Kept::Double(Data::new(&all, &columns)),
        };
        Ok(Loaded { model, kept, want, shared, rows, sums: Sums::default(), file: file.to_string() })
    }

    fn call(&mut self) -> Result<(), Failure> {
        let Loaded { model, kept, want, shared, rows, sums, .. } = self;
        match kept {
            Kept::Single(data) => data.call(model, *shared, *want)?,
            Kept::Double(data) => {
                data.call(model, *shared, *want)?;
                if *shared {
                    model.sum(&data.batch, *rows, sums);
                }
            }
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
        let n = self.model.numbers();
        let of_lanes = match &self.kept {
            Kept::Double(data) => data.answer(n)?,
            Kept::Single(data) => data.answer(n)?,
        };
        let [values, first, last] =
            if self.shared { ends(&self.sums.values, &self.sums.gradients, n) } else { of_lanes };
        Ok(json!({
            "values": values,
            "gradients": [first, last],
            "cold": cold.as_nanos() as u64,
            "recordings": self.model.recordings(),
        }))
    }

    fn time(&mut self, seconds: f64, hand: Option<&str>) -> Result<Value, Failure> {
        let Some(form) = hand else { return timed(seconds, || self.call()) };
        let form = hand::Form::parse(form).ok_or(NOT_BY_HAND)?;
        match &self.kept {
            Kept::Double(data) => data.time_by_hand(seconds, hand::double(&self.file, form).ok_or(NOT_BY_HAND)?),
            Kept::Single(data) => data.time_by_hand(seconds, hand::single(&self.file, form).ok_or(NOT_BY_HAND)?),
        }
    }
}

const NOT_BY_HAND: &str = "no program by hand";

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
