//! Units of measurement: `dmci check --units`, `#units:` lines, and searches that keep to them.

#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value as Json;
use std::fmt::Write;
use support::{Workspace, dmci};

/// Falls with a first speed: a path in m after a time in s.
fn falls(space: &Workspace, units: &str) {
    let mut text = format!("v,t,g,s\n{units}\n");
    for i in 0..60 {
        let (v, t, g) = (1.0 + f64::from(i) * 0.1, 1.0 + f64::from(i * 37 % 11) / 4.0, 2.0 + f64::from(i * 13 % 7));
        let _ = writeln!(text, "{v},{t},{g},{}", v * t + 0.5 * g * t * t);
    }
    std::fs::write(space.path().join("falls.csv"), text).unwrap();
}

const UNITS: &str = "#units: m/s, s, m/s^2, m";

#[test]
fn a_check_says_where_dimensions_disagree() {
    let space = Workspace::new("units-check");
    falls(&space, UNITS);
    space.write(
        "right.scm",
        "(params (k free 0.5) (tau positive 1.0 (unit \"ms\"))) (+ (* v t) (* k g (square (+ t tau))))",
    );
    let check = |program: &str, more: &[&str]| {
        let args = [&["check", program, "--units", "--data", "falls.csv", "--target", "s"], more].concat();
        dmci(&args, "", space.path())
    };
    let ran = check("right.scm", &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("right.scm: units: k 1, tau s, the value m\n"), "{}", ran.stdout);
    space.write("wrong.scm", "(+ (* v t)\n   (* 1/2 g t))");
    let ran = check("wrong.scm", &[]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    for part in ["error[E0830]: the operands of + have the dimensions m and m/s", "wrong.scm:2:4", "(* 1/2 g t)"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    space.write("other.scm", "(* g t)");
    let ran = check("other.scm", &["--json"]);
    let json: Json = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &json["files"][0]["diagnostics"][0]["code"]), (1, &"E0830".into()), "{json}");
    let ran =
        dmci(&["check", "-e", "(params (a free 1.0)) (* a x)", "--set", "x=1", "--units=x=m/s"], "", space.path());
    assert!(
        ran.code == 0 && ran.stdout.contains("units: a any unit, the value any unit"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    let ran = dmci(&["check", "-e", "(params (a free 1.0 (unit \"secs\"))) a", "--units"], "", space.path());
    assert!(ran.code == 1 && ran.stderr.contains("error[E0831]: the unit of a cannot be read"), "{}", ran.stderr);
}

#[test]
fn units_that_cannot_be_used_are_refused() {
    let space = Workspace::new("units-refused");
    for (line, more, says) in [
        ("#units: m/s, s", &[][..], "the line #units: has 2 units for 4 columns"),
        ("#units: m/s, s, m/s^2, metr", &[], "the unit of s cannot be read: metr is not a unit"),
        (UNITS, &["--units", "vv=m"], "vv"),
        (UNITS, &["--units", "v"], "v is not a column with a unit"),
    ] {
        falls(&space, line);
        let args = [&["search", "--data", "falls.csv", "--target", "s", "--evaluations", "10"], more].concat();
        let ran = dmci(&args, "", space.path());
        assert!(ran.code != 0 && ran.stderr.contains(says), "{says}: {}", ran.stderr);
    }
}

#[test]
fn a_search_finds_a_law_within_its_units() {
    let space = Workspace::new("units-search");
    falls(&space, UNITS);
    let args =
        ["search", "--data", "falls.csv", "--target", "s", "--constants", "pure", "--evaluations", "600", "--json"];
    let ran = dmci(&args, "", space.path());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let found: Json = serde_json::from_str(&ran.stdout).unwrap();
    assert!(found["best"]["sealed"].as_f64().unwrap() < 1e-20, "{}", found["best"]);
    let program = found["best"]["program"].as_str().unwrap();
    let checked = dmci(&["check", "-e", program, "--units", "--data", "falls.csv", "--target", "s"], "", space.path());
    assert_eq!(checked.code, 0, "{program}: {}", checked.stderr);
    // A seed that cannot agree is refused with a reason, and so is a program that is to be scored.
    space.write("seed.scm", "(params (a free 1.0)) (* a (+ v t))");
    let ran = dmci(&[&args[..], &["--seed-program", "seed.scm"]].concat(), "", space.path());
    assert!(ran.code == 2 && ran.stdout.contains("its dimensions cannot agree"), "{} {}", ran.code, ran.stdout);
    let line = "{\"id\": \"a\", \"program\": \"(params (a free 1.0)) (* a (+ v t))\"}\n";
    let ran = dmci(&["score", "--data", "falls.csv", "--target", "s"], line, space.path());
    let scored: Json = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(scored["stage"], "units", "{scored}");
}

#[test]
fn problems_have_units_and_whole_programs_keep_to_them() {
    let space = Workspace::new("units-problem");
    falls(&space, "#no units here");
    space.write(
        "seed.scm",
        "(params (k free 0.5)) (let ((far (* v t))) (+ far (hole pull (v t g) (* k g (square t)))))",
    );
    let problem = "[fit]\ndata = 'falls.csv'\ntarget = 's'\n[search]\nseeds = ['seed.scm']\noperations = '+ * square'\nsize = 9\n\
                   [units]\nv = 'm/s'\nt = 's'\ng = 'm/s^2'\ns = 'm'\n";
    space.write("problem.toml", problem);
    let args = ["search", "problem.toml", "--evaluations", "60", "--json", "--quiet"];
    let ran = dmci(&args, "", space.path());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let found: Json = serde_json::from_str(&ran.stdout).unwrap();
    let front = found["front"].as_array().unwrap();
    let units = "--units=v=m/s,t=s,g=m/s^2,s=m";
    for entry in front {
        let program = entry["program"].as_str().unwrap();
        let set = ["--set", "v=1", "--set", "t=1", "--set", "g=1"];
        let ran = dmci(&[&["check", "-e", program, units, "--target", "s"], &set[..]].concat(), "", space.path());
        assert_eq!(ran.code, 0, "{program}: {}", ran.stderr);
    }
    assert!(found["funnel"].to_string().contains("units"), "{}", found["funnel"]);
    space.write("problem.toml", problem.replace("v = 'm/s'", "v = 3"));
    let ran = dmci(&args, "", space.path());
    assert!(ran.stdout.contains("the unit of v in [units] cannot be 3"), "{}", ran.stdout);
}
