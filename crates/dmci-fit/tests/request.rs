//! Requests and records: every field is written and read back, defaults are left out, slips are named.

#![allow(clippy::unwrap_used)]

use dmci::{Datum, Program};
use dmci_fit::{
    BootstrapRecord, ChiSquareRecord, CriteriaRecord, DataRecord, DirectionRecord, EngineRecord, Errors, FitOptions,
    FitRecord, FitRequest, FoundRecord, Inputs, Intervals, LossRecord, NamedNumber, NoiseRecord, NumberRecord, Numbers,
    OptimaRecord, OptimalityRecord, OptimizerRecord, OutputSettings, ParameterRecord, Params, ProblemSettings,
    ProgramRecord, Real, RestartRecord, RunSettings, SCHEMA, ScoreRecord, SearchSettings, Table, UncertaintyRecord,
};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

fn some(text: &str) -> Option<String> {
    Some(text.to_string())
}

/// Every setting with a value that is not its default. A setting that is added must be added here, too.
fn every_setting() -> FitRequest {
    FitRequest {
        problem: ProblemSettings {
            program: some("model.scm"),
            text: some("(params (a free 1.0)) a"),
            formula: some("y ~ a*x"),
            starts: some("a=2"),
            ranges: some("a > 0"),
            param: vec!["tme".into()],
            params: Some(Params::Literals),
            data: some("rows.csv"),
            target: vec!["u".into(), "v, w".into()],
            objective: true,
            group: some("cell"),
            matrix: vec!["obs=u,v".into(), "pc=pc1..pc3".into()],
            missing: vec!["NA".into(), String::new()],
            only: Some(vec!["a".into()]),
            start_from: some("before.json"),
            loss: some("huber"),
            huber: Some(2.5),
            df: Some(3.0),
            weights: some("w"),
            sigma: some("s"),
            trials: some("n"),
            holdout: some("column:validate"),
        },
        search: SearchSettings {
            optimizer: "adam".into(),
            restarts: Some(7),
            search_work: Some(1e6),
            no_projection: true,
            epochs: Some(11),
            max_evals: Some(13),
            time_limit: Some(17.5),
            stop_at: Some(-0.25),
            window: 19,
            last: true,
            rate: Some(0.1),
            beta1: Some(0.8),
            beta2: Some(0.99),
            clip: Some(1.5),
            patience: Some(23),
            population: Some(29),
            errors: Errors::Fast,
            intervals: Intervals::Profile,
            bootstrap: Some(31),
            diagnose: true,
        },
        run: RunSettings {
            set: vec![
                ("k".into(), Datum::Real(0.1 + 0.2)),
                ("n".into(), Datum::Integer(3)),
                ("word".into(), Datum::Symbol("north".into())),
            ],
            mode: "tower:2".into(),
            seed: 37,
            temperature: 0.5,
            hard: true,
            gumbel: true,
            f32: true,
            clamps: true,
            fuel: 41,
            heap: 1 << 20,
            depth: 43,
            output_limit: 47,
            time: 0.5,
        },
        outputs: OutputSettings {
            out: some("fit.json"),
            plot: some("fit.svg"),
            x: some("t"),
            log: some("xy"),
            residuals: some("residuals.svg"),
            write: some("new.scm"),
            trace: some("trace.csv"),
            checkpoint: some("state"),
            resume: true,
        },
    }
}

#[test]
fn every_setting_is_written_and_read_back() {
    let request = every_setting();
    let json = request.to_json();
    for name in FitRequest::names() {
        assert!(json.get(name).is_some(), "{name} is not written");
    }
    assert_eq!(FitRequest::from_json(&json.to_string()).unwrap(), request);
    assert_eq!(FitRequest::from_toml(&request.to_toml().unwrap()).unwrap(), request);
    // As a part of something larger, too.
    let nested: BTreeMap<String, FitRequest> = serde_json::from_value(json!({"fit": json})).unwrap();
    assert_eq!(nested["fit"], request);
}

#[test]
fn defaults_are_left_out() {
    assert_eq!(FitRequest::default().to_json(), json!({}));
    assert_eq!(FitRequest::from_json("{}").unwrap(), FitRequest::default());
    let said =
        r#"{"restarts": null, "optimizer": "auto", "mode": "dmci", "rate": null, "target": "y", "holdout": 0.3}"#;
    let request = FitRequest::from_json(said).unwrap();
    assert_eq!(request.to_json(), json!({"target": ["y"], "holdout": "0.3"}));
    let toml = FitRequest::from_toml("data = 'cells.csv'\ntarget = ['soh']\ngroup = 'cell'\nobjective = true").unwrap();
    assert_eq!(toml.problem.data.as_deref(), Some("cells.csv"));
    toml.check().unwrap();
    // Settings stand in the order in which they are documented.
    assert_eq!(
        toml.to_toml().unwrap(),
        "data = \"cells.csv\"\ntarget = [\"soh\"]\nobjective = true\ngroup = \"cell\"\n"
    );
}

#[test]
fn slips_are_named() {
    for (text, message, help) in [
        (r#"{"hodlout": 0.3}"#, "there is no setting hodlout", "did you mean holdout?"),
        (r#"{"restarts": -1}"#, "restarts must be a whole number of at least 0, got -1", ""),
        (r#"{"restarts": "many"}"#, "restarts must be a whole number of at least 0, got \"many\"", ""),
        (r#"{"rate": []}"#, "rate must be a number, got []", ""),
        (r#"{"objective": 1}"#, "objective must be true or false, got 1", ""),
        (r#"{"target": 3}"#, "target must be a text or a list of texts, got 3", ""),
        (r#"{"holdout": true}"#, "holdout must be a text or a number, got true", ""),
        (r#"{"set": {"k": {}}}"#, "set must be a table of names and data, got {\"k\":{}}", ""),
        (r#"{"intervals": "wide"}"#, "intervals must be", ""),
        ("[1]", "the request is no JSON object", ""),
    ] {
        let report = FitRequest::from_json(text).unwrap_err();
        let shown = report.to_string();
        assert!(shown.starts_with(&format!("error[E0910]: {message}")) && shown.contains(help), "{shown}");
    }
    assert!(FitRequest::from_toml("a = ").unwrap_err().to_string().contains("the request is no TOML"));
}

#[test]
fn paths_start_at_the_folder_of_the_request() {
    let mut request = FitRequest::from_json(r#"{"data": "d.csv", "program": "/m.scm", "out": "o.json"}"#).unwrap();
    request.run.mode = "eval:e.scm".into();
    let moved = request.clone().in_folder("runs").to_json();
    let expected = json!({"data": "runs/d.csv", "program": "/m.scm", "out": "runs/o.json", "mode": "eval:runs/e.scm"});
    assert_eq!(moved, expected);
    assert_eq!(request.clone().in_folder(""), request);
    let input = FitRequest::from_json(r#"{"data": "-"}"#).unwrap();
    assert_eq!(input.clone().in_folder("runs"), input);
}

/// The schema is in the repository, where others find it. DMCI_BLESS=1 writes it anew.
#[test]
fn the_schema_is_published() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/fit-request.json");
    let schema = FitRequest::schema();
    let text = format!("{schema:#}\n");
    if std::env::var_os("DMCI_BLESS").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), text, "DMCI_BLESS=1 writes it anew");
    let fields = schema["properties"].as_object().unwrap();
    for name in FitRequest::names() {
        assert!(fields[name]["description"].is_string(), "{name}");
    }
    assert_eq!(fields.len(), FitRequest::names().len());
    assert_eq!(fields["temperature"]["default"], 1.0);
}

fn diagnosis() -> dmci_fit::Diagnosis {
    let rows =
        Table::from_csv("d.csv", (0..20).fold("x,y\n".to_string(), |t, i| t + &format!("{i},{}\n", i * i)).as_bytes());
    let program = Program::new("(params (a free 1.0)) (* a x)");
    let problem = dmci_fit::Problem::new(program, &rows.unwrap(), "y", dmci_fit::ProblemOptions::default()).unwrap();
    let options = FitOptions::default();
    let fit = dmci_fit::fit(&problem, &options, &mut |_| ControlFlow::Continue(())).unwrap();
    dmci_fit::diagnose(&problem, &fit, &options, &|| false).unwrap().unwrap()
}

/// Every field of a record with a value that is not its default. A field that is added must be added here, too.
fn every_field() -> FitRecord {
    let found = FoundRecord {
        error: Some(Real(0.1)),
        interval: Some((Real(f64::NEG_INFINITY), Real(2.5))),
        identifiable: some("weakly"),
        at_bound: true,
    };
    let number = NumberRecord { start: Real(1.0), value: Real(0.1 + 0.2), found: Some(found.clone()) };
    let fixed = NumberRecord { start: Real(5.0), value: Real(5.0), found: None };
    let named = |name: &str| NamedNumber { name: name.into(), number: number.clone() };
    let parameter = |fixed: bool, numbers: Numbers| ParameterRecord { kind: "free".into(), fixed, numbers };
    FitRecord {
        schema: SCHEMA.into(),
        engine: EngineRecord { version: "9".into(), hash: "e".into() },
        program: ProgramRecord { file: "m.scm".into(), hash: "p".into(), text: "(params)".into() },
        data: DataRecord {
            file: "d.csv".into(),
            hash: "d".into(),
            targets: vec!["y".into()],
            inputs: vec!["x".into()],
            matrices: vec!["obs=u,v".into()],
            group: some("g"),
            groups: vec!["A".into()],
            rows: 2,
            held_out: 3,
            ranges: BTreeMap::from([("x".into(), (Real(0.0), Real(2.5)))]),
        },
        optimizer: OptimizerRecord {
            name: "lm".into(),
            why: "it was asked for".into(),
            epochs: Some(4),
            restarts: 5,
            seed: u64::MAX,
        },
        parameters: BTreeMap::from([
            ("a".to_string(), parameter(false, Numbers::One(number.clone()))),
            ("b".to_string(), parameter(true, Numbers::One(fixed))),
            ("w".to_string(), parameter(false, Numbers::Many { numbers: vec![named("w.0"), named("w.1")] })),
        ]),
        loss: LossRecord { name: "mse".into(), start: Real(6.0), value: Real(0.5) },
        rmse: Real(0.7),
        r2: Some(Real(0.9)),
        criteria: Some(CriteriaRecord {
            log_likelihood: Real(-8.0),
            parameters: 9,
            aic: Real(10.0),
            aicc: Some(Real(11.0)),
            bic: Real(12.0),
        }),
        chi_square: Some(ChiSquareRecord { value: Real(40.0), freedom: 41, reduced: Real(42.0) }),
        no_errors: some("nobody asked"),
        uncertainty: Some(UncertaintyRecord {
            method: "jacobian".into(),
            level: 0.95,
            exact: true,
            intervals: "bootstrap".into(),
            bootstrap: Some(BootstrapRecord { samples: 13, failed: 14 }),
            names: vec!["a".into()],
            correlations: vec![vec![Real(1.0), Real(f64::INFINITY)]],
            directions: vec![DirectionRecord { flat: true, moves: BTreeMap::from([("a".into(), Real(1.0))]) }],
            freedom: Some(7),
            noise: Some(NoiseRecord { deviation: Some(Real(0.5)), sigma: some("s"), weights: some("w") }),
        }),
        held_out: Some(ScoreRecord { loss: Real(15.0), rmse: Real(16.0), r2: Some(Real(-17.0)) }),
        original_scale: Some(ScoreRecord { loss: Real(15.5), rmse: Real(16.5), r2: Some(Real(-17.5)) }),
        best: 18,
        epochs: 19,
        evaluations: 20,
        stopped: "converged".into(),
        status: "at a bound".into(),
        optimality: OptimalityRecord {
            outcome: "at a bound".into(),
            decrement: Some(Real(31.0)),
            tolerance: 32.0,
            curvature: Some(Real(-33.0)),
            test: "newton".into(),
            parameters: vec!["a".into()],
            next: some("widen the bounds"),
        },
        eliminated: vec!["c".into()],
        optima: OptimaRecord { starts: 34, best: 35, distinct: 36, unseen: Real(37.5) },
        step_backs: 21,
        restarts: vec![RestartRecord {
            optimizer: "lm".into(),
            loss: Real(22.0),
            values: BTreeMap::from([("a".into(), Real(23.0))]),
            epochs: 24,
            evaluations: 25,
            stopped: "flat".into(),
            step_backs: 26,
            path_changes: 27,
            optimum: Some(38),
        }],
        paths: 28,
        path_changes: 29,
        diagnosis: Some(diagnosis()),
        conclusion: "the model explains it".into(),
        warnings: vec![json!({"code": "W0501"})],
        seconds: 30.5,
    }
}

#[test]
fn every_field_of_a_fit_is_written_and_read_back() {
    let record = every_field();
    let text = record.to_json().to_string();
    assert_eq!(FitRecord::from_json("fit.json", &text).unwrap(), record);
    // The forms that other readers rely on.
    let json = record.to_json();
    assert_eq!(json["parameters"]["a"]["interval"], json!([{"real": "-inf"}, 2.5]));
    assert_eq!(json["parameters"]["b"], json!({"kind": "free", "fixed": true, "start": 5.0, "value": 5.0}));
    assert_eq!(json["parameters"]["w"]["numbers"][1]["name"], "w.1");
    assert_eq!(json["optimizer"]["seed"], json!({"int": u64::MAX.to_string()}));
}

#[test]
fn a_real_fit_survives_its_file_and_an_old_one_is_read() {
    let rows: String = (0..12).map(|i| format!("{i},{},{}\n", i % 2, 3 * i + i % 2 + i % 3)).collect();
    let table = Table::from_csv("rows.csv", format!("x,site,y\n{rows}").as_bytes()).unwrap();
    let text = "(params (a free 1.0 (per site)) (w (vector 2) (1.0 0.0)) (c free 0.0 fixed)) (+ c a (* x (ref w 0)))";
    let request = FitRequest::from_json(r#"{"target": "y", "seed": 3}"#).unwrap();
    let run = request.run.options(None).unwrap();
    let inputs = Inputs { program: Program::named("m.scm", text), table: &table, start_from: None, run };
    let problem = request.problem(inputs).unwrap();
    let options: FitOptions = request.options().unwrap();
    let fit = request.fit(&problem, &options, &mut |_| ControlFlow::Continue(()), &|| false).unwrap();
    let json = FitRecord::new(&problem, &options, &fit).to_json();
    let read = FitRecord::from_json("fit.json", &json.to_string()).unwrap();
    assert_eq!(read.to_json(), json);
    let schema = dmci::Interpreter::shared().names(&read.program()).unwrap().schema;
    assert_eq!(read.values().iter().map(|v| v.0.as_str()).collect::<Vec<_>>(), ["c", "w"]);
    assert_eq!(read.values_of(&schema, "1").len(), 1);
    assert_eq!(read.group_starts(&schema).len(), 2);
    // Earlier versions wrote less.
    let mut old = json.clone();
    for key in ["engine", "criteria", "uncertainty", "paths", "path_changes", "seconds", "warnings", "step_backs"] {
        old.as_object_mut().unwrap().remove(key);
    }
    old["data"].as_object_mut().unwrap().remove("group");
    old["parameters"]["a"]["numbers"][0].as_object_mut().unwrap().remove("at_bound");
    let old = FitRecord::from_json("old.json", &old.to_string()).unwrap();
    assert_eq!(old.values(), read.values());
    for (text, why) in [("{", "no JSON"), ("{}", "no fit"), (r#"{"schema": "dmci-fit-9"}"#, "got dmci-fit-9")] {
        let report = FitRecord::from_json("x.json", text).unwrap_err();
        assert!(report.to_string().contains(why), "{report}");
    }
    let broken: Json = json!({"schema": SCHEMA, "parameters": {"a": {"kind": "free"}}});
    assert!(FitRecord::from_json("x.json", &broken.to_string()).is_err());
}
