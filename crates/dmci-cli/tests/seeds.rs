//! Seeds with holes in `dmci search`, problems in files, and `dmci same`.

#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value as Json;
use std::fmt::Write;
use support::{Workspace, dmci};

const SEED: &str = "(params (x0 positive 0.1))\n; growth by Euler steps\n\
    (let loop ((i 0) (x x0))\n  (if (>= i n) x\n    (loop (+ i 1) (+ x (* 0.1 (hole growth (x) (* 0.5 x)))))))\n";

/// Growth that saturates, and a seed that grows for ever.
fn workspace(name: &str) -> Workspace {
    let space = Workspace::new(name);
    let mut text = "n,y\n".to_string();
    let mut x: f64 = 0.2;
    for n in 0..50 {
        let _ = writeln!(text, "{n},{x}");
        x += 0.1 * (0.9 * x - 0.3 * x * x);
    }
    std::fs::write(space.path().join("rows.csv"), text).unwrap();
    std::fs::write(space.path().join("seed.scm"), SEED).unwrap();
    let problem = "[fit]\ndata = 'rows.csv'\ntarget = 'y'\n[search]\nseeds = ['seed.scm']\noperations = '+ - *'\nislands = 2\n\
                   [search.holes.growth]\nsize = 9\n[budget]\nevaluations = 400\ntime_limit = 600\n";
    std::fs::write(space.path().join("problem.toml"), problem).unwrap();
    space
}

#[test]
fn a_hole_in_a_loop_is_filled_whatever_says_it() {
    let space = workspace("seed-problem");
    let ran = dmci(&["search", "problem.toml", "--json", "--write", "best.scm"], "", space.path());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let by_file: Json = serde_json::from_str(&ran.stdout).unwrap();
    assert!(by_file["best"]["sealed"].as_f64().unwrap() < 1e-10, "{}", by_file["best"]);
    let written = std::fs::read_to_string(space.path().join("best.scm")).unwrap();
    assert!(written.contains("(hole growth (x) ") && written.contains("; growth by Euler steps"), "{written}");
    // The same by options, on another number of threads.
    let options = ["search", "--data", "rows.csv", "--target", "y", "--seed-program", "seed.scm", "--ops", "+ - *"];
    let more =
        ["--size", "9", "--islands", "2", "--evaluations", "400", "--time-limit", "600", "--threads", "1", "--json"];
    let ran = dmci(&[&options[..], &more].concat(), "", space.path());
    let by_options: Json = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(by_file["front"], by_options["front"]);
    // What was written is fitted already, and scored as it is.
    let line = serde_json::json!({"id": "a", "program": written, "rung": 2}).to_string();
    let scored = dmci(&["score", "--problem", "problem.toml"], &(line + "\n"), space.path());
    let scored: Json = serde_json::from_str(&scored.stdout).unwrap();
    assert_eq!(scored["stage"], "fitted", "{scored}");
    assert!(scored["validation"].as_f64().unwrap() < 1e-10, "{scored}");
}

/// A column of text is no input of a seed with a hole; the one that groups parameters needs no mention.
#[test]
fn groups_are_named_by_a_column_of_text() {
    let space = Workspace::new("seed-groups");
    let mut text = "cell,k,y\n".to_string();
    for (cell, slope) in [("a", 0.5), ("b", 0.8), ("c", 1.1)] {
        for k in 1..=20 {
            let _ = writeln!(text, "{cell},{k},{}", 2.0 - slope * f64::from(k).sqrt());
        }
    }
    std::fs::write(space.path().join("cells.csv"), text).unwrap();
    let seed = "(params (q free 1.0 (per cell)) (b free 0.1 (per cell)))\n(hole fade (k) (- q (* b k)))\n";
    std::fs::write(space.path().join("seed.scm"), seed).unwrap();
    let options =
        ["search", "--data", "cells.csv", "--target", "y", "--seed-program", "seed.scm", "--ops", "+ - * sqrt"];
    let more = ["--size", "7", "--evaluations", "400", "--time-limit", "600", "--json"];
    let ran = dmci(&[&options[..], &more].concat(), "", space.path());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let found: Json = serde_json::from_str(&ran.stdout).unwrap();
    assert!(found["best"]["formula"].as_str().unwrap().contains("(sqrt k)"), "{}", found["best"]);
}

#[test]
fn families_are_compared() {
    let space = workspace("same");
    let write = |name: &str, text: &str| std::fs::write(space.path().join(name), text).unwrap();
    write("root.scm", "(params (q free 1.0) (b free 0.1)) (- q (hole fade (n) (* b (sqrt n))))");
    write("power.scm", "(params (q free 1.0) (b free 0.1) (p free 0.5)) (- q (* b (expt (+ n 1) p)))");
    write("line.scm", "(params (a free 1.0) (c free 1.0)) (+ a (* c n))");
    write("turned.scm", "(params (a free 1.0) (c free 1.0)) (* c (+ n a))");
    let same = |a: &str, b: &str| dmci(&["same", a, b, "--data", "rows.csv"], "", space.path());
    let found = same("line.scm", "turned.scm");
    assert!(found.code == 0 && found.stdout.starts_with("same"), "{}", found.stdout);
    write("logs.scm", "(params (a free 1.0) (p free 0.5)) (* a (exp (* p (log (+ n 1)))))");
    write("powers.scm", "(params (a free 1.0) (p free 0.5)) (* a (expt (+ n 1) p))");
    let found = dmci(&["same", "logs.scm", "powers.scm", "--data", "rows.csv", "--json"], "", space.path());
    let found: Json = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!(found["relation"], "same", "{found}");
    let found = same("line.scm", "power.scm");
    assert_eq!(found.code, 1);
    assert!(found.stdout.starts_with("line.scm within power.scm"), "{}", found.stdout);
    let found = dmci(&["same", "line.scm", "root.scm", "--problem", "problem.toml", "--json"], "", space.path());
    let found: Json = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!((&found["schema"], &found["relation"]), (&Json::from("dmci-same-1"), &Json::from("different")));
    assert!(!found["first_failed"].as_array().unwrap().is_empty());
    let wrong = dmci(&["same", "line.scm", "gone.scm", "--data", "rows.csv"], "", space.path());
    assert_eq!(wrong.code, 2);
}

#[test]
fn slips_in_a_problem_are_named() {
    let space = workspace("slips");
    for (text, expected) in [
        ("[serch]\n", "did you mean [search]?"),
        ("[search]\nsise = 3\n", "did you mean size?"),
        ("[fit]\ntarget = 'y'\nobjctive = true\n", "objective"),
        ("[fit]\ndata = 'rows.csv'\nobjective = true\n", "needs a seed"),
        ("[fit]\ndata = 'rows.csv'\ntarget = 'y'\n[search]\nseeds = ['seed.scm']\noperations = 'plus'\n", "plus"),
        (
            "[fit]\ndata = 'rows.csv'\ntarget = 'y'\n[search]\nseeds = ['seed.scm']\n[search.holes.grow]\nsize = 3\n",
            "growth",
        ),
    ] {
        std::fs::write(space.path().join("slip.toml"), text).unwrap();
        let ran = dmci(&["search", "slip.toml"], "", space.path());
        assert_ne!(ran.code, 0, "{text}");
        assert!(ran.stderr.contains(expected), "{text}: {}", ran.stderr);
    }
}
