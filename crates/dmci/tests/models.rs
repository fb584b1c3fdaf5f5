//! The program files of `crates/dmci-repro/models`: each one runs, its modes agree, and its value is what is known of it.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Complaints, FAST, bits, datum, root, shared};
use dmci::{
    Bindings, Datum, GradOptions, Gradient, Interpreter, JitPolicy, Mode, Model, ModelOptions, Program, RunOptions,
    Want, Wrt,
};
use std::collections::BTreeSet;
use std::path::Path;

const EMISSIONS: &str = "E_CO2=10.0 E_CH4=100.0 E_N2O=4.0 E_SO2=50.0";
const CITY: &str = "growth=0.02 policy_rate=0.05 investment=1.0 housing_supply=1.0 immigration=0.01";

/// Files that make data or programs for the others.
const GENERATORS: [&str; 2] = ["kalman/normals", "bench/synthetic"];

/// A model at its default parameters: file, settings of its inputs, the value if there is another way to
/// know it, and how close to that it must be.
struct Case {
    file: &'static str,
    inputs: Bindings,
    value: Option<f64>,
    tolerance: f64,
    /// What to differentiate by, if not by the schema.
    wrt: Vec<String>,
}

impl Case {
    fn new(file: &'static str, inputs: &str, value: impl Into<Option<f64>>) -> Case {
        let inputs = inputs.split_whitespace().map(|text| Datum::parse_setting(text).unwrap()).collect();
        Case { file, inputs, value: value.into(), tolerance: 1e-14, wrt: Vec::new() }
    }

    /// With a value that is known to so many digits only.
    fn within(self, tolerance: f64) -> Case {
        Case { tolerance, ..self }
    }

    fn with(mut self, name: &str, datum: Datum) -> Case {
        self.inputs.push((name.into(), datum));
        self
    }

    fn program(&self) -> Program {
        program(self.file)
    }

    /// Parameters with their values: those of the schema.
    fn starts(&self, program: &Program, names: &[String]) -> Vec<(String, f64)> {
        let program = Program::new(&format!("{} (list {})", program.text, names.join(" ")));
        let run = RunOptions { bindings: self.inputs.clone(), ..RunOptions::default() };
        let values = Interpreter::shared().run(&program, &run).unwrap().value.to_json();
        names.iter().cloned().zip(values.as_array().unwrap().iter().map(|x| x.as_f64().unwrap())).collect()
    }

    fn gradient(&self, program: &Program, mode: &Mode) -> Gradient {
        let run = RunOptions { mode: mode.clone(), bindings: self.inputs.clone(), ..RunOptions::default() };
        let wrt = if self.wrt.is_empty() { Wrt::Default } else { Wrt::Names(self.wrt.clone()) };
        let options = GradOptions { run, wrt, ..GradOptions::default() };
        Interpreter::shared().grad(program, &options).unwrap_or_else(|failure| panic!("{}: {failure}", self.file))
    }
}

fn program(file: &str) -> Program {
    let path = root().join("crates/dmci-repro/models").join(file).with_extension("scm");
    Program::named(file, &std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
}

/// Experiments A and B, by their closed forms.
fn closed_forms() -> Vec<Case> {
    let exponential = |z: f64| (0..9).map(|i| z.powi(i) / (1..=i).map(f64::from).product::<f64>()).sum::<f64>();
    vec![
        Case::new("a/p1", "x=1.5", 0.5 * 1.5 * 1.5),
        Case::new("a/p2", "x=1.5", 3.0 + 0.5 * 1.5 * 1.5),
        Case::new("a/p3", "x=1.5", 3.0 * 2.0 * 1.5),
        Case::new("a/p4", "x=1.25", 1.25 + 2.0 * 1.5),
        Case::new("a/p5", "x=1.5", 2.0 * 1.5 + 1.5 + 1.5 * 1.5),
        Case::new("a/p6", "x=1.5", 2.0 * 2.0 * 2.0 + 1.0),
        Case::new("a/s3", "x=0.75", 2.0 * 0.75),
        Case::new("a/s3", "x=1.0", 0.5),
        Case::new("b/m01", "r=2.0 q1=1.5 q2=0.5", 8.99 * 1.5 * 0.5 / 4.0),
        Case::new("b/m02", "c=2.0 l=3.0", 0.45 * 6.0),
        Case::new("b/m03", "S=1.5", 10.0 * 1.5 / 4.0),
        Case::new("b/m04", "T=2.0", 5.0 * (-0.6f64).exp()),
        Case::new("b/m05", "t=1.5", 2.0 * (-0.45f64).exp() * 4.71f64.cos()).within(1e-12),
        Case::new("b/m06", "t=2.0", 10.0 / (1.0 + 9.0 * (-1.0f64).exp())),
        Case::new("b/m07", "x=2.0", 3.0 * 2.0f64.powf(0.75)),
        Case::new("b/m08", "x=1.5", 1.5 * 0.95f64.powi(10)),
        Case::new("b/m09", "x=1.5", exponential(0.75)),
        Case::new("b/m10", "x=-1.5", -1.5 / (1.0 + 3.0f64.exp())),
        Case::new("b/m11", "x=1.5", 1.5 * (1.0 - 0.7f64.powi(8))),
        Case::new("b/m12", "x=2.0", 2.0f64.sqrt()),
        Case::new("b/m13", "x=1.5", 2.5 * 1.5 + 1.0),
        Case::new("b/m14", "f1=1.0 f2=2.0 f3=3.0", 0.5 + 0.6 + 0.6),
        Case::new("b/m15", "x=1.5", 1.0 - 0.5 * 1.5 + 0.3 * 2.25 - 0.1 * 3.375).within(1e-13),
    ]
}

/// Experiment C and the benchmark programs, where a number is known by other means or not at all.
fn simulations() -> Vec<Case> {
    let mut linear = vec![0.0, 0.0];
    for _ in 0..12 {
        let n = linear.len();
        linear.push(0.5 * linear[n - 1] - 0.3 * linear[n - 2] + 1.5);
    }
    // The chain of two decays is linear: after n steps, B is A0 h l1 (r1^n - r2^n) / (r1 - r2).
    let chain = 4.0 * 0.03 * (0.97f64.powi(25) - 0.99f64.powi(25)) / (0.97 - 0.99);
    vec![
        Case::new("c/c01", "x0=8.0", None),
        Case::new("c/c02", "S0=0.9", None),
        Case::new("c/c03", "A0=4.0", chain).within(1e-12),
        // r = 2.5 has the fixed point 1 - 1/r.
        Case::new("c/c04", "x0=0.6", 0.6),
        // f = 1 / (1 + f) eight times from 0, for a x = 1: a ratio of Fibonacci numbers.
        Case::new("c/c05", "x=2.0", 21.0 / 34.0),
        Case::new("c/c06", "theta0=0.5", None),
        Case::new("c/c07", "x=1.5", linear[13]),
        Case::new("c/c08", "x=1.5", None),
        Case::new("bench/bucket", "days=200 wetness=1.0", None),
        Case::new("bench/bucket-minmax", "days=200 wetness=1.0", None),
        Case::new("bench/newton", "x=2.0 tol=1e-10", 2.0f64.sqrt()).within(1e-10),
        Case::new("bench/newton-damped", "x=2.0 tol=1e-10 eta=0.1", 2.0f64.sqrt()).within(1e-10),
        // The map of period two at r = 3.2: its points are (r + 1 +- sqrt((r - 3)(r + 1))) / 2r.
        Case::new("bench/logistic-map", "steps=50 x0=0.4", (4.2 - 0.84f64.sqrt()) / 6.4).within(1e-6),
    ]
}

/// The large models, with the check values of their authors and of independent codings.
fn systems() -> Vec<Case> {
    let earth = |steps: u32, value: f64| {
        Case::new("earth/diffesm-s", &format!("steps={steps} {EMISSIONS}"), value).within(1e-6)
    };
    let city = |steps: u32, value: Option<f64>| {
        Case::new("society/diffsoc-s", &format!("steps={steps} {CITY}"), value).within(1e-7)
    };
    vec![
        earth(1, -0.0248715),
        earth(10, -0.631172),
        earth(50, -0.716005),
        earth(100, -0.26).within(1e-2),
        city(1, Some(58.85064)),
        city(10, Some(62.21899)),
        city(30, Some(57.32558)),
        // Long enough for collections of the heap while it is recorded.
        city(100, None),
    ]
}

/// The filters, with observations that are shared, or else of our own.
fn filters() -> Vec<Case> {
    let plane = shared("data/torch_draws/draws.json").map(|text| {
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        datum(&json["kalman_obs"])
    });
    let value = plane.as_ref().map(|_| 831.2209);
    let plane = plane.unwrap_or_else(|| normals(80, 2, 0));
    // The value is JAX's, for bench/jax/bench.py with these observations.
    let lim = Case::new("kalman/lim", "", 1678.0004687200933)
        .within(1e-12)
        .with("obs", normals(40, 10, 2))
        .with("F", dynamics())
        .with("q", Datum::list(vec![Datum::Real(0.05); 10]));
    vec![
        Case::new("kalman/kalman-2d-scalar", "", value).with("obs", plane.clone()).within(1e-7),
        Case::new("kalman/kalman-2d", "", value).with("obs", plane).within(1e-7),
        Case { wrt: ["F", "q", "r"].map(String::from).to_vec(), ..lim },
    ]
}

/// Standard normal numbers of the language's own generator.
fn normals(rows: i64, columns: i64, seed: u64) -> Datum {
    let bindings = vec![("rows".into(), Datum::Integer(rows)), ("columns".into(), Datum::Integer(columns))];
    let options = RunOptions { bindings, seed, ..RunOptions::default() };
    Interpreter::shared().run(&program("kalman/normals"), &options).unwrap().value
}

/// The dynamics 0.9 I + 0.02 A of the linear inverse model, A of standard normal numbers.
fn dynamics() -> Datum {
    let json = normals(10, 10, 1).to_json();
    let row = |i: usize| {
        let item = |j: usize| Datum::Real(0.02 * json[i][j].as_f64().unwrap() + if i == j { 0.9 } else { 0.0 });
        Datum::list((0..10).map(item).collect())
    };
    Datum::list((0..10).map(row).collect())
}

fn all() -> Vec<Case> {
    [closed_forms(), simulations(), systems(), filters()].into_iter().flatten().collect()
}

#[test]
fn every_file_is_covered() {
    fn walk(folder: &Path, files: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, files);
            } else if path.extension().is_some_and(|e| e == "scm") {
                let name = path.strip_prefix(root().join("crates/dmci-repro/models")).unwrap().with_extension("");
                files.insert(name.to_str().unwrap().replace('\\', "/"));
            }
        }
    }
    let mut files = BTreeSet::new();
    walk(&root().join("crates/dmci-repro/models"), &mut files);
    let covered: BTreeSet<String> = all().iter().map(|case| case.file).chain(GENERATORS).map(String::from).collect();
    assert_eq!(files, covered);
}

#[test]
fn values_are_right_and_modes_agree() {
    let mut complaints = Complaints::default();
    for case in all() {
        let program = case.program();
        let [direct, dmci] = FAST.map(|mode| case.gradient(&program, &mode));
        let name = format!("{} {:?}", case.file, case.inputs.first());
        if bits(&[direct.value]) != bits(&[dmci.value]) || bits(&direct.flat) != bits(&dmci.flat) {
            complaints.add(format!("{name}: the modes differ"));
        }
        if !direct.value.is_finite() || direct.flat.is_empty() || direct.flat.iter().any(|g| !g.is_finite()) {
            complaints.add(format!("{name}: {} {:?}", direct.value, direct.flat));
        }
        if let Some(value) = case.value
            && (direct.value - value).abs() > case.tolerance * value.abs()
        {
            complaints.add(format!("{name}: {} instead of {value}", direct.value));
        }
    }
    complaints.none();
}

/// Lanes around the defaults, through machine code and through the block interpreter, with joins and loops and
/// without; each alone too.
#[test]
fn every_switch_gives_the_same_bits() {
    let mut complaints = Complaints::default();
    for case in all().into_iter().filter(|case| case.wrt.is_empty()) {
        let program = case.program();
        let names = case.gradient(&program, &Mode::Direct).coordinates;
        let starts = case.starts(&program, &names);
        let lanes = if starts.len() > 20 { 5 } else { 21 };
        let near = |(i, (_, x)): (usize, &(String, f64))| x * (1.0 + 0.02 * ((i as f64 * 0.618).fract() - 0.5));
        let params: Vec<f64> = starts.iter().cycle().take(lanes * starts.len()).enumerate().map(near).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        // In single precision a loop to a small tolerance would not end.
        let precisions: &[bool] = if case.file.contains("newton") { &[false] } else { &[false, true] };
        for &single in precisions {
            let switches = [
                (JitPolicy::Never, true),
                (JitPolicy::Always, true),
                (JitPolicy::AlwaysNarrow, true),
                (JitPolicy::Never, false),
                (JitPolicy::Always, false),
            ];
            let [expected, code, narrow, flat, flat_code] = switches.map(|(code, on)| {
                let mut options = ModelOptions { code, joins: on, loops: on, ..ModelOptions::default() };
                options.run.mode = Mode::Direct;
                options.run.bindings = case.inputs.clone();
                options.run.numerics.single = single;
                let model = Model::new(program.clone(), &names, &[], options);
                // Twice, since the first call records, and then in pairs and alone.
                let mut batch = model.evaluate(&params, &[], Want::Gradients).unwrap();
                model.evaluate_pairs_into(&mut batch, &params, &[], Want::Gradients).unwrap();
                let alone = model.evaluate(&params[..starts.len()], &[], Want::Gradients).unwrap();
                [batch.values, batch.gradients, alone.values, alone.gradients].map(|list| bits(&list))
            });
            let others = [
                (code, "machine code"),
                (narrow, "machine code with 256 bits"),
                (flat, "neither joins nor loops"),
                (flat_code, "both"),
            ];
            for (got, how) in others {
                if got != expected {
                    complaints.add(format!("{} {:?}, single {single}: {how}", case.file, case.inputs.first()));
                }
            }
        }
    }
    complaints.none();
}

/// The same numbers in lists of single precision: what comes out differs by its rounding alone, if at all.
#[test]
fn lists_of_single_precision_give_the_same_numbers() {
    let mut complaints = Complaints::default();
    for case in all().into_iter().filter(|case| case.wrt.is_empty()) {
        let program = case.program();
        let names = case.gradient(&program, &Mode::Direct).coordinates;
        let starts = case.starts(&program, &names);
        let lanes = if starts.len() > 20 { 5 } else { 37 };
        let near = |(i, (_, x)): (usize, &(String, f64))| (x * (1.0 + 0.02 * (i as f64 * 0.618).fract())) as f32;
        let params: Vec<f32> = starts.iter().cycle().take(lanes * starts.len()).enumerate().map(near).collect();
        let wide: Vec<f64> = params.iter().map(|&x| x.into()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for (code, single) in [
            (JitPolicy::Never, true),
            (JitPolicy::Always, true),
            (JitPolicy::AlwaysNarrow, true),
            (JitPolicy::Always, false),
        ] {
            if single && case.file.contains("newton") {
                continue;
            }
            let mut options = ModelOptions { code, ..ModelOptions::default() };
            options.run.mode = Mode::Direct;
            options.run.bindings = case.inputs.clone();
            options.run.numerics.single = single;
            let model = Model::new(program.clone(), &names, &[], options);
            // Many lanes and one, each twice: the first call records.
            for (short, long) in [(&params[..], &wide[..]), (&params[..starts.len()], &wide[..starts.len()])] {
                let (mut got, mut expected) = (dmci::Batch::default(), dmci::Batch::default());
                for _ in 0..2 {
                    model.evaluate_pairs_into(&mut got, short, &[], Want::Gradients).unwrap();
                    model.evaluate_pairs_into(&mut expected, long, &[], Want::Gradients).unwrap();
                }
                let rounded = |list: &[f64]| list.iter().map(|&x| (x as f32).to_bits()).collect::<Vec<u32>>();
                let found = |list: &[f32]| list.iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
                if [&got.values, &got.gradients].map(|list| found(list))
                    != [&expected.values, &expected.gradients].map(|list| rounded(list))
                {
                    complaints.add(format!("{} {:?}, {code:?}, single {single}", case.file, case.inputs.first()));
                }
            }
        }
    }
    complaints.none();
}

#[test]
fn gradients_are_those_of_central_differences() {
    let mut complaints = Complaints::default();
    for mut case in closed_forms().into_iter().chain(simulations()) {
        let program = case.program();
        let gradient = case.gradient(&program, &Mode::Direct);
        let inputs = case.inputs.clone();
        for ((name, start), got) in case.starts(&program, &gradient.coordinates).into_iter().zip(gradient.flat) {
            let h = 1e-5 * start.abs().max(0.1);
            let [above, below] = [start + h, start - h].map(|x| {
                case.inputs = inputs.clone();
                case.inputs.push((name.clone(), Datum::Real(x)));
                case.gradient(&program, &Mode::Direct).value
            });
            let want = (above - below) / (2.0 * h);
            // A parameter that is only tested has no derivative, however far the value jumps.
            let want = if case.file == "a/s3" && name == "alpha" { 0.0 } else { want };
            if (got - want).abs() > 1e-6 * want.abs().max(1e-2) {
                complaints.add(format!("{} d/d{name}: {got} instead of {want}", case.file));
            }
        }
    }
    complaints.none();
}

#[test]
fn what_feeds_nothing_has_no_gradient() {
    for case in systems() {
        let gradient = case.gradient(&case.program(), &Mode::Direct);
        let named = gradient.coordinates.iter().zip(&gradient.flat);
        let zero: BTreeSet<&str> = named.filter(|(_, g)| **g == 0.0).map(|(name, _)| name.as_str()).collect();
        match (case.file, case.inputs[0].1.as_f64().unwrap()) {
            ("earth/diffesm-s", steps) => {
                assert_eq!(gradient.flat.len(), 70);
                assert!(zero.is_empty() || steps < 10.0, "{zero:?}");
            }
            (_, steps) => {
                assert_eq!(gradient.flat.len(), 87);
                let unused = ["p_crd_adj", "p_crd_rsk", "p_crd_def", "p_mac_ineq", "p_pol_cred"];
                assert!(unused.iter().all(|name| zero.contains(name)), "{zero:?}");
                assert!(zero.len() == 5 || steps < 10.0, "{zero:?}");
            }
        }
    }
}

#[test]
fn the_two_buckets_are_one_model() {
    let buckets = simulations().into_iter().filter(|case| case.file.starts_with("bench/bucket"));
    let results: Vec<Gradient> = buckets.map(|case| case.gradient(&case.program(), &Mode::Direct)).collect();
    assert_eq!(results.len(), 2);
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b.abs();
    assert!(close(results[0].value, results[1].value));
    assert!(results[0].flat.iter().zip(&results[1].flat).all(|(&a, &b)| close(a, b)), "{results:?}");
}

#[test]
fn a_generated_program_has_the_operations_that_were_asked_for() {
    let options = |seed| {
        let bindings = vec![("operations".into(), Datum::Integer(500))];
        RunOptions { bindings, seed, ..RunOptions::default() }
    };
    let generate = |seed| Interpreter::shared().run(&program("bench/synthetic"), &options(seed)).unwrap().output;
    let text = generate(7);
    assert_eq!(text, generate(7));
    assert_ne!(text, generate(8));
    let case = Case::new("bench/synthetic", "", None);
    let [direct, dmci] = FAST.map(|mode| case.gradient(&Program::new(&text), &mode));
    assert_eq!(direct.flat.len(), 16);
    assert_eq!(bits(&direct.flat), bits(&dmci.flat));
    assert!(direct.value.is_finite() && direct.flat.iter().any(|g| *g != 0.0));
    // The mean of the last 50 takes 50 more; the last operation of all may be a group of up to five.
    let operations = direct.tape.operations();
    assert!((550..=554).contains(&operations), "{operations}");
}
