//! `dmci search` and `dmci score`.

#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value as Json;
use std::fmt::Write;
use support::{Workspace, command, dmci};

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

/// The example of `examples/search/kepler`: the period is the axis to the power of 3/2, and nothing else matters.
#[test]
fn keplers_law_is_found() {
    let space = Workspace::new("search-kepler");
    let table = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/search/kepler/orbits.csv");
    let table = table.to_str().unwrap();
    let args = ["search", "--data", table, "--target", "period", "--inputs", "axis,eccentricity,inclination"];
    let more = ["--evaluations", "2000", "--json", "--write", "law.scm", "--time-limit", "600"];
    let ran = dmci(&[&args[..], &more].concat(), "", space.path());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let found: Json = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(found["verdict"]["finding"], "found", "{}", found["verdict"]);
    let law = std::fs::read_to_string(space.path().join("law.scm")).unwrap();
    assert!(law.contains("axis") && !law.contains("eccentricity") && !law.contains("inclination"), "{law}");
    // A body at 100 astronomical units needs 1000 years.
    space.write("far.csv", "axis\n100.0\n");
    let far = dmci(&["eval", "law.scm", "--data", "far.csv"], "", space.path());
    let period = far.stdout.split_whitespace().rev().find_map(|w| w.parse::<f64>().ok()).unwrap();
    assert!((period - 1000.0).abs() < 15.0, "{}", far.stdout);
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
fn controls_have_the_same_budget() {
    let space = Workspace::new("search-controls");
    table(&space);
    let more = ["--json", "--time-limit", "600", "--controls", "--evaluations", "600"];
    let ran = dmci(&[&SEARCH[..7], &more].concat(), "", space.path());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let found: Json = serde_json::from_str(&ran.stdout).unwrap();
    let controls = found["controls"].as_array().unwrap();
    assert_eq!(controls.len(), 2);
    for control in controls {
        assert!(control["evaluations"].as_u64().unwrap() <= 600 && control["sealed"].is_number(), "{control}");
    }
    // Random expressions alone explain no more than the search does.
    assert!(controls[1]["validation"].as_f64() >= found["best"]["validation"].as_f64(), "{found}");
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

/// Programs that loop, grow, nest, overflow or are none at all.
fn hostile() -> Vec<String> {
    let text = |s: &str| s.to_string();
    let mut list: Vec<String> = [
        "(define (f) (f)) (f)",
        "(let loop () (loop))",
        "(define (f n) (+ 1 (f n))) (f 1)",
        "(make-vector 100000000000 0)",
        "(let loop ((l '())) (loop (cons l l)))",
        "(define-syntax f (syntax-rules () ((_ x) (f (x x))))) (f x)",
        "(define-syntax f (syntax-rules () ((_) (f)))) (f)",
        "(exit)",
        "(error \"no\")",
        "(car 1)",
        "(x)",
        "(+ x . z)",
        "(/ x 0)",
        "(sqrt (- x 100))",
        "(log (* -1 x))",
        "(exp (exp (exp (exp (* 9 x)))))",
        "(expt x 1e300)",
        "(* 1e308 1e308 x)",
        "(params (a free 1e308)) (* a x a a)",
        "(params (a free +nan.0)) (* a x)",
        "(params (a free 1.0) (a free 2.0)) (* a x)",
        "(params (a positive -1.0)) (* a x)",
        "(params (x free 1.0)) (* x x)",
        "(params) (params) x",
        "+nan.0",
        "+inf.0",
        "(/ 1 0)",
        "'(quote x)",
        "\"text\"",
        "#(1 2 3",
        "\"unterminated",
        "#|",
        "\u{0}\u{1}\u{2}",
        "(\u{202e}+ x z)",
        "(load \"/etc/passwd\")",
        "(open-input-file \"/etc/passwd\")",
        "(import (scheme file)) x",
        "(set! x 1)",
        "(define x 1) x",
        "(call/cc (lambda (k) (k x)))",
        "(hole h (x) (hole h (x) (loop)))",
        "(* p0 p1 p2 p3 p4 p5 p6 p7 p8 p9 x)",
        "",
        "()",
    ]
    .map(text)
    .to_vec();
    list.push("(".repeat(100_000));
    list.push(format!("{}x{}", "(+ x ".repeat(30_000), ")".repeat(30_000)));
    list.push(format!("(+ x {})", "z ".repeat(200_000)));
    list.push("9".repeat(100_000));
    list.push("a".repeat(1_000_000));
    list.push(format!("(params {}) x", (0..5_000).map(|i| format!("(p{i} free 1.0)")).collect::<String>()));
    list
}

#[test]
fn hostile_programs_change_nothing() {
    let space = Workspace::new("score-hostile");
    table(&space);
    let good: Vec<String> =
        ["(* 2.0 x)", "(+ z (/ (* 2.0 x) (+ x 1.0)))", "(+ 1.0 (* 2.0 x) (* 0.5 z))", "(exp (* 0.1 x))"]
            .iter()
            .cycle()
            .take(56)
            .enumerate()
            .map(|(i, p)| serde_json::json!({"id": format!("good {i}"), "program": p, "rung": i % 3}).to_string())
            .collect();
    let bad: Vec<String> = hostile()
        .iter()
        .enumerate()
        .map(|(i, p)| serde_json::json!({"id": format!("bad {i}"), "program": p, "rung": 2}).to_string())
        .collect();
    assert!(bad.len() >= 50);
    // From a file: answers would fill a pipe before all lines are written.
    let score = |lines: &str| {
        space.write("lines.jsonl", lines);
        let file = std::fs::File::open(space.path().join("lines.jsonl")).unwrap();
        let mut run = command(&["score", "--data", "rows.csv", "--target", "y"], space.path());
        let ended = run.stdin(file).output().unwrap();
        (ended.status.code(), String::from_utf8(ended.stdout).unwrap())
    };
    let alone = score(&(good.join("\n") + "\n"));
    let mut mixed = String::new();
    for (i, line) in good.iter().enumerate() {
        let _ = writeln!(mixed, "{line}");
        bad.get(i).iter().for_each(|line| mixed += &format!("{line}\n"));
    }
    let together = score(&mixed);
    assert_eq!((alone.0, together.0), (Some(0), Some(0)));
    assert_eq!(together.1.lines().count(), good.len() + bad.len(), "each line has its answer");
    let kept: Vec<&str> = together.1.lines().filter(|l| l.contains("\"good ")).collect();
    assert_eq!(kept, alone.1.lines().collect::<Vec<_>>());
    for line in together.1.lines().filter(|l| l.contains("\"bad ")) {
        let answer: Json = serde_json::from_str(line).unwrap();
        let rejected = answer["message"].as_str().is_some_and(|m| !m.is_empty());
        let shown: String = line.chars().take(300).collect();
        assert!(rejected || answer["loss"].as_f64().is_some_and(f64::is_finite), "{shown}");
    }
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
