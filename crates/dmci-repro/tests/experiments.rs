//! Small parts of the experiments: the printed convergence epochs, result files that can be checked, and runs that
//! are the same twice.
#![allow(clippy::unwrap_used)]

use dmci::Mode;
use dmci_repro::ask::{Question, Reply, Source};
use dmci_repro::predict::{ByHand, Engine, Hand, Predict, Predictions};
use dmci_repro::record::{Provenance, Record, VERSION};
use dmci_repro::task::{A, B, C, Task};
use dmci_repro::train::{Protocol, Squares, Trained, train};
use dmci_repro::{Host, Settings, hand, run};

fn target(task: &Task) -> Vec<f64> {
    if let Some(data) = task.data {
        return task.columns(true)[0].iter().map(|&x| data(x) as f32 as f64).collect();
    }
    let mut out = Predictions::default();
    let truth: Vec<f64> = task.truth().iter().map(|x| *x as f32 as f64).collect();
    Engine::of(task, Mode::Direct, true).predict(&truth, false, &mut out).unwrap();
    out.values
}

fn trained(task: &Task, predictor: &mut dyn Predict, seeds: u64) -> Vec<Trained> {
    let starts: Vec<Vec<f64>> = (0..seeds).map(|s| task.start(s, true)).collect();
    let target = target(task);
    train(&mut Squares::new(predictor, &target, true), &task.truth(), &starts, Protocol::standard(true)).unwrap()
}

/// The mean convergence epochs that the paper prints for all rows of A, B and C, in its precision, with its seeds.
#[test]
fn models_converge_at_the_printed_epochs() {
    let a = A.iter().zip([20.0, 124.0, 61.0, 48.0, 247.0, 2017.0]).map(|(t, e)| (t, e, 10));
    let b = [556.0, 66.0, 1753.0, 308.0, 135.0, 388.0, 752.0, 23.0, 165.0, 248.0, 17.0, 0.0, 356.0, 100.0, 2128.0];
    let b = B.iter().zip(b).map(|(t, e)| (t, e, 5));
    let c = [1410.0, 5.0, 32.0, 33.0, 37.0, 1829.0, 49.0, 24.0];
    let c = C.iter().zip(c).map(|(t, e)| (t, e, if ["C01", "C06"].contains(&t.id) { 3 } else { 5 }));
    for (task, printed, seeds) in a.chain(b).chain(c) {
        let runs = trained(task, &mut Engine::of(task, Mode::Dmci, true), seeds);
        let epochs: Vec<f64> = runs.iter().filter_map(|r| r.converged).map(|e| e as f64).collect();
        assert_eq!(epochs.len(), seeds as usize, "{} does not converge", task.id);
        let mean = epochs.iter().sum::<f64>() / seeds as f64;
        let tolerance = match task.id {
            "M11" => 1.5,
            "M15" => 0.01 * printed,
            _ => 0.5,
        };
        assert!((mean - printed).abs() <= tolerance, "{} converges at {mean}, the paper at {printed}", task.id);
    }
}

/// Direct, dmci and by hand have the same bits; the programs of A are walked, those of C are functions.
#[test]
fn three_ways_have_the_same_trajectory() {
    for task in &A[..5] {
        let dmci = trained(task, &mut Engine::of(task, Mode::Dmci, true), 2);
        assert_eq!(dmci, trained(task, &mut Engine::of(task, Mode::Direct, true), 2), "{}", task.id);
        assert_eq!(dmci, trained(task, &mut ByHand::walk(task, true).unwrap(), 2), "{}", task.id);
    }
    for task in [&C[1], &C[3], &C[7], &B[1], &B[13]] {
        let function = hand::models::function(task.id).unwrap();
        let dmci = trained(task, &mut Engine::of(task, Mode::Dmci, true), 1);
        let hand = trained(task, &mut ByHand::new(task, Hand::Function(function), true), 1);
        assert_eq!(dmci[0].converged, hand[0].converged, "{}", task.id);
    }
}

fn record(name: &str) -> Record {
    let settings = Settings { quick: true, ..Settings::default() };
    let outcome = run(name, &settings, &Host::nothing()).unwrap().unwrap();
    let empty = || String::new();
    Record {
        format: VERSION,
        experiment: name.into(),
        settings,
        provenance: Provenance { version: empty(), engine: empty(), machine: empty(), command: empty() },
        hashes: outcome.hashes,
        seconds: 0.0,
        measured: outcome.measured,
        tables: outcome.tables,
        claims: outcome.claims,
    }
}

#[test]
fn a_result_file_is_what_its_measurements_give_and_nothing_else() {
    let text = serde_json::to_string(&record("d")).unwrap();
    let stored: Record = serde_json::from_str(&text).unwrap();
    assert_eq!(stored.check(), Vec::<String>::new());
    assert!(stored.cells() > 10);
    let mut cell = stored.clone();
    cell.tables[0].rows[0][1] = "1 s".into();
    assert_eq!(cell.check().len(), 1);
    let mut program = stored.clone();
    program.hashes[0].1 = "another".into();
    assert!(program.check()[0].contains("has changed"));
    let mut measured = stored.clone();
    measured.measured["searches"][0]["seconds"][0] = 1e3.into();
    assert!(!measured.check().is_empty());
}

#[test]
fn both_arms_of_the_structural_search_are_the_same_search() {
    let measured = record("d").measured;
    let hash = |i: usize| measured["searches"][i]["hash"].as_str().unwrap().to_string();
    assert_eq!(hash(0), hash(1));
    assert_eq!(hash(0), record("d").measured["searches"][0]["hash"].as_str().unwrap());
}

/// A model that knows two laws, makes a mistake in one, and proposes nonsense for the others.
fn scripted(question: &Question) -> Result<Reply, String> {
    let text = &question.messages.last().unwrap().1;
    let program = match question.id.split('/').next() {
        Some("F1") if question.id.contains("repair") => {
            assert!(text.contains("b is neither a column nor a parameter"), "{text}");
            "(params (a free 1.0) (b free 1.0)) (* a (exp (- (* b x))))"
        }
        Some("F1") => "(params (a free 1.0)) (* a (exp (- (* b x))))",
        Some("F3") => {
            "(params (a free 1.0) (b free 1.0) (c free 1.0) (d free 1.0)) (+ (* a (exp (- (* b x)))) (* c (sin (* d x))))"
        }
        _ => "(params (a free 1.0)) (* a (square x))",
    };
    // Rows that nobody may see are not shown, and rounds after the first show what was fitted.
    assert!(text.contains("There are 48 rows") || question.id.contains("repair"), "{text}");
    assert!(!question.id.contains("ours/") || text.contains("(square x)"), "{text}");
    Ok(Reply { text: program.into(), programs: vec![program.into()], same_prompt: true, source: Source::default() })
}

#[test]
fn the_loop_of_experiment_f_finds_what_is_proposed_and_stops() {
    let settings = Settings { quick: true, ..Settings::default() };
    let outcome = run("f", &settings, &Host { ask: &scripted, ..Host::nothing() }).unwrap().unwrap();
    let runs = outcome.measured["runs"].as_array().unwrap();
    let of = |arm: &str, law: &str| runs.iter().find(|r| r["arm"] == arm && r["target"] == law).unwrap();
    let error = |r: &serde_json::Value| r["sealed"].as_f64().unwrap();
    for law in ["F1", "F3"] {
        let found = of("model, our fitter", law);
        assert!(error(found) < 1e-3 && found["rounds"] == 1, "{found}");
    }
    assert_eq!(of("model, our fitter", "F1")["asked"]["repairs"], 1);
    // The right structure with the wrong frequency, and nonsense, go on to the last round.
    for (arm, law) in [("model, single-start Adam", "F3"), ("model, our fitter", "F2"), ("model, our fitter", "F4")] {
        let missed = of(arm, law);
        assert!(error(missed) > 1e-3 && missed["rounds"] == 5, "{missed}");
    }
    assert!(error(of("grammar only", "F1")) < 1e-3);
}

#[test]
fn without_answers_no_claim_is_made_about_a_model() {
    let settings = Settings { quick: true, ..Settings::default() };
    for name in ["f", "w"] {
        let claims = run(name, &settings, &Host::nothing()).unwrap().unwrap().claims;
        let not_run: Vec<_> = claims.iter().filter(|c| c.verdict == dmci_repro::table::Verdict::NotRun).collect();
        assert!(!not_run.is_empty() && not_run.iter().any(|c| c.found.contains("nobody to ask")), "{claims:?}");
        assert!(claims.iter().all(|c| !c.text.contains("recorded") || not_run.contains(&c)), "{claims:?}");
    }
}

/// Our own models pass the funnel of experiment W; what is wrong is found at its stage and mended.
#[test]
fn written_programs_are_judged_by_their_values() {
    let asked = |question: &Question| -> Result<Reply, String> {
        let mut parts = question.id.split('/');
        let (set, name, repair) = (parts.next().unwrap(), parts.next().unwrap(), parts.next());
        let programs: Vec<String> = match (set, name, repair) {
            ("B", "M01", None) => vec!["(params (k free 8.99)) (/ (* k q1 q2) r)".into()],
            ("B", "M01", _) => vec!["(params (k free 8.99)) (/ (* k q1 q2) (* r r))".into()],
            ("B", "M07", None) => vec!["(params (a free 3.0) (b free 0.75)) (* a (expt z b))".into()],
            ("B", "M07", _) => vec!["(params (a free 3.0) (b free 0.75)) (* a (expt x b))".into()],
            ("J", "field 1", _) => {
                let other = |i: u32| format!("(params (a free {i}.5) (b free 0.5)) (* a (exp (* b x)))");
                let mut list: Vec<String> = (1..5).map(other).collect();
                list.insert(1, "(params (a free 1.0) (b free 1.0)) (* a x)".into());
                list
            }
            ("ENSO", "S1 diagonal", _) => {
                let body = include_str!("../models/kalman/lim.scm");
                vec![body.replace("(define I (eye D))", "(define I (eye D))\n(define F (diag v))")]
            }
            _ => return Err("not asked".into()),
        };
        Ok(Reply { text: "x".into(), programs, same_prompt: true, source: Source::default() })
    };
    let settings = Settings { quick: true, ..Settings::default() };
    let outcome = run("w", &settings, &Host { ask: &asked, ..Host::nothing() }).unwrap().unwrap();
    let programs = outcome.measured["programs"].as_array().unwrap();
    let stages = |set: &str| -> Vec<(String, String)> {
        let word = |v: &serde_json::Value| v.as_str().unwrap().to_string();
        programs.iter().filter(|p| p["set"] == set).map(|p| (word(&p["first"]), word(&p["last"]))).collect()
    };
    let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
    assert_eq!(stages("B"), [pair("value", "right"), pair("read", "right")]);
    assert_eq!(stages("ENSO"), [pair("right", "right")], "{programs:?}");
    let j = stages("J");
    assert_eq!(j.iter().filter(|s| s.0 == "right").count(), 4, "{j:?}");
    assert_eq!(j[1].0, "derivative");
    assert!(programs.iter().any(|p| p["recovery"]["our_misfit"].as_f64().is_some_and(|m| m < 1e-6)), "{programs:?}");
}

/// A file of the shared data, or a message that it is not there.
fn shared(path: &str) -> Option<Vec<u8>> {
    let folder =
        std::env::var("DMCI_SHARED").unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared").into());
    let text = std::fs::read(format!("{folder}/{path}")).ok();
    if text.is_none() {
        println!("skipped: {folder}/{path} is not there (set DMCI_SHARED)");
    }
    text
}

/// Baselines of influenza forecasts score what they are known to score.
#[test]
fn influenza_baselines_are_those_that_are_known() {
    if shared(dmci_repro::k::data::PATH).is_none() {
        return;
    }
    let host = Host { shared: &shared, ..Host::nothing() };
    let settings = Settings { quick: true, ..Settings::default() };
    let claims = run("k", &settings, &host).unwrap().unwrap().claims;
    let baselines: Vec<_> = claims.iter().filter(|c| c.text.contains("within 0.0003")).collect();
    assert_eq!(baselines.len(), 8);
    baselines.iter().for_each(|c| assert_eq!(c.verdict, dmci_repro::table::Verdict::Holds, "{}", c.text));
}

/// Without data no claim of experiment K holds or fails.
#[test]
fn without_data_nothing_is_claimed_of_influenza() {
    let claims = run("k", &Settings::default(), &Host::nothing()).unwrap().unwrap().claims;
    assert!(!claims.is_empty());
    assert!(claims.iter().all(|c| c.verdict == dmci_repro::table::Verdict::NotRun));
}

/// The likelihood of the ENSO study is that of a filter by hand, and both gradient searches end stable.
#[test]
fn the_likelihood_of_enso_passes_its_gate() {
    if shared("data/sst_cobe2/sst_2deg_1950_2019.npy").is_none() {
        return;
    }
    let host = Host { shared: &shared, ..Host::nothing() };
    let settings = Settings { quick: true, ..Settings::default() };
    let claims = run("lim", &settings, &host).unwrap().unwrap().claims;
    let count = |verdict| claims.iter().filter(|c| c.verdict == verdict).count();
    let failing: Vec<_> = claims.iter().filter(|c| c.verdict == dmci_repro::table::Verdict::Fails).collect();
    assert!(failing.is_empty(), "{failing:?}");
    assert!(count(dmci_repro::table::Verdict::Holds) >= 12, "{claims:?}");
}

/// Without the field no claim about ENSO holds or fails.
#[test]
fn without_data_nothing_is_claimed_of_enso() {
    let claims = run("lim", &Settings::default(), &Host::nothing()).unwrap().unwrap().claims;
    assert!(claims.len() > 20);
    assert!(claims.iter().all(|c| c.verdict == dmci_repro::table::Verdict::NotRun));
}

/// The naive floors of the paper come out, and the structure that knows the end of the grid is seen.
#[test]
fn the_naive_floors_of_batteries_are_those_of_the_paper() {
    if shared(dmci_repro::l::data::FADE).is_none() {
        return;
    }
    let host = Host { shared: &shared, ..Host::nothing() };
    let settings = Settings { quick: true, ..Settings::default() };
    let claims = run("l", &settings, &host).unwrap().unwrap().claims;
    let holds: Vec<_> =
        claims.iter().filter(|c| c.text.contains("scores as in the paper") || c.text.contains("117")).collect();
    assert_eq!(holds.len(), 3);
    holds.iter().for_each(|c| assert_eq!(c.verdict, dmci_repro::table::Verdict::Holds, "{c:?}"));
}

/// Without the tables no claim about batteries holds or fails.
#[test]
fn without_data_nothing_is_claimed_of_batteries() {
    let claims = run("l", &Settings::default(), &Host::nothing()).unwrap().unwrap().claims;
    assert!(claims.len() > 12);
    assert!(claims.iter().all(|c| c.verdict == dmci_repro::table::Verdict::NotRun));
}
