//! `dmci search` and `dmci score`.

#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value as Json;
use std::fmt::Write;
use support::{Workspace, dmci};

/// 60 rows of y = 3 x / (0.5 + x) + z.
fn table(space: &Workspace) {
    let mut text = "x,z,y\n".to_string();
    for i in 0..60 {
        let (x, z) = (0.1 + f64::from(i) * 0.07, f64::from(i * 37 % 11) / 7.0);
        let _ = writeln!(text, "{x},{z},{}", 3.0 * x / (0.5 + x) + z);
    }
    std::fs::write(space.path().join("rows.csv"), text).unwrap();
}

const SEARCH: [&str; 9] = ["search", "--data", "rows.csv", "--target", "y", "--ops", "+ * /", "--evaluations", "2500"];

#[test]
fn a_law_is_found_and_written() {
    let space = Workspace::new("search-law");
    table(&space);
    let more = ["--json", "--write", "best.scm", "--report", "page.html", "--time-limit", "600"];
    let ran = dmci(&[&SEARCH[..], &more].concat(), "", space.path());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let found: Json = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(found["schema"], "dmci-search-1");
    assert_eq!(found["verdict"]["finding"], "found", "{}", found["verdict"]);
    assert!(found["best"]["sealed"].as_f64().unwrap() < 1e-12, "{}", found["best"]);
    assert_eq!(found["rows"]["sealed"], 15);
    // What was written is a program like any other: it is fitted already.
    let fitted = dmci(&["fit", "best.scm", "--data", "rows.csv", "--target", "y", "--json"], "", space.path());
    let fitted: Json = serde_json::from_str(&fitted.stdout).unwrap();
    assert!(fitted["loss"].as_f64().or(fitted["fit"]["loss"].as_f64()).is_none_or(|l| l < 1e-10), "{fitted}");
    let page = std::fs::read_to_string(space.path().join("page.html")).unwrap();
    assert!(page.contains("<math") && page.contains("<svg") && !page.contains("<script"), "{page}");
    assert!(!page.replace("http://www.w3.org", "").contains("http"), "a page needs nothing else");
}

#[test]
fn threads_change_nothing() {
    let space = Workspace::new("search-threads");
    table(&space);
    let run = |threads: &str| {
        let more = ["--json", "--time-limit", "600", "--seed", "3", "--threads", threads];
        let ran = dmci(&[&SEARCH[..], &more].concat(), "", space.path());
        let mut found: Json = serde_json::from_str(&ran.stdout).unwrap();
        found.as_object_mut().unwrap().remove("seconds");
        found
    };
    assert_eq!(run("1"), run("3"));
}

#[test]
fn lines_are_scored_in_order() {
    let space = Workspace::new("score");
    table(&space);
    let lines = r#"{"id": "a", "program": "(params (k free 1.0)) (* k x)", "rung": 2}
{"id": "b", "program": "(+ z (/ (* 2.0 x) (+ x 1.0)))"}
{"id": 3, "program": "(+ x w)"}
{"id": "d", "program": "(+ x"}
not json
"#;
    let args = ["score", "--data", "rows.csv", "--target", "y"];
    let ran = dmci(&args, lines, space.path());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let found: Vec<Json> = ran.stdout.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(found.len(), 5);
    assert_eq!((&found[0]["id"], &found[0]["stage"], &found[0]["rung"]), (&"a".into(), &"fitted".into(), &2.into()));
    assert!(found[1]["loss"].as_f64().unwrap() < 1e-15, "{}", found[1]);
    assert_eq!(found[1]["converged"], true);
    assert_eq!((&found[2]["id"], &found[2]["stage"], &found[2]["code"]), (&3.into(), &"names".into(), &"E0301".into()));
    assert_eq!((&found[3]["stage"], &found[4]["stage"]), (&"read".into(), &"read".into()));
    assert_eq!(dmci(&args, lines, space.path()).stdout, ran.stdout, "the same line gives the same score");
}

#[test]
fn what_is_wrong_is_said() {
    let space = Workspace::new("search-wrong");
    table(&space);
    // A column that is not there is a mistake about the data, all others are about the command line.
    let said = |more: &[&str]| {
        let ran = dmci(&[&["search"], more].concat(), "", space.path());
        assert_eq!(ran.code, if more.contains(&"w") { 1 } else { 2 }, "{more:?}: {}{}", ran.stdout, ran.stderr);
        ran.stderr
    };
    assert!(said(&[]).contains("--data"));
    assert!(said(&["--data", "rows.csv"]).contains("--target"));
    assert!(said(&["--data", "rows.csv", "--target", "w"]).contains("w"));
    assert!(said(&["--data", "rows.csv", "--target", "y", "--ops", "+ frob"]).contains("frob"));
    assert!(said(&["--data", "rows.csv", "--target", "y", "--inputs", "x,y"]).contains("target"));
    assert!(said(&["--data", "rows.csv", "--target", "y", "--proposer", "genius"]).contains("genius"));
    assert!(said(&["--data", "rows.csv", "--target", "y", "--sealed", "some"]).contains("column:NAME"));
}

#[cfg(not(feature = "journal"))]
#[test]
fn without_journals_it_says_so() {
    let space = Workspace::new("search-unkept");
    table(&space);
    let ran = dmci(&[&SEARCH[..], &["--out", "run.dmci"]].concat(), "", space.path());
    assert!(ran.code == 1 && ran.stderr.contains("--features journal"), "{}", ran.stderr);
}

/// A run that is killed at any moment and resumed comes to the same front.
#[cfg(feature = "journal")]
#[test]
fn a_killed_run_goes_on_as_if_nothing_had_happened() {
    let space = Workspace::new("search-killed");
    table(&space);
    let plain = |args: &[&str]| {
        let ran = dmci(args, "", space.path());
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
        let mut found: Json = serde_json::from_str(&ran.stdout).unwrap();
        found.as_object_mut().unwrap().remove("seconds");
        found
    };
    let options = ["--json", "--time-limit", "600", "--seed", "5", "--threads", "2", "--ops", "+ * / exp log"];
    let whole = plain(&[&SEARCH[..5], &["--evaluations", "6000"], &options].concat());
    let begin = [&SEARCH[..5], &["--evaluations", "6000", "--out", "run.dmci"], &options].concat();
    let program = env!("CARGO_BIN_EXE_dmci");
    for round in 0..50u64 {
        let args: Vec<&str> = if round == 0 { begin.clone() } else { vec!["search", "--resume", "run.dmci", "--json"] };
        let mut child = std::process::Command::new(program)
            .args(&args)
            .current_dir(space.path())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(30 + round * 47 % 400));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let resumed = if space.path().join("run.dmci").exists() {
        plain(&["search", "--resume", "run.dmci", "--json", "--time-limit", "600", "--threads", "1"])
    } else {
        plain(&begin)
    };
    assert_eq!(resumed, whole);
    assert_eq!(plain(&["search", "show", "run.dmci", "--json"]), whole);
    let best = dmci(&["search", "export", "run.dmci"], "", space.path());
    assert_eq!(Some(best.stdout.trim()), whole["best"]["program"].as_str());
}
