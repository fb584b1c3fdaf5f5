//! Formulas from the command line.

#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value as Json;
use support::{Ran, Workspace, dmci};

/// Biochemical oxygen demand (Bates and Watts, 1988), with a column that nobody reads.
const BOD: &str = "time_days,demand,note\n1,8.3,a\n2,10.3,b\n3,19.0,c\n4,16.0,d\n5,15.6,e\n7,19.8,f\n";

fn bod(name: &str, more: &[&str]) -> (Workspace, Ran) {
    let space = Workspace::new(name);
    std::fs::write(space.path().join("bod.csv"), BOD).unwrap();
    let ran = dmci(&[&["fit", "--data", "bod.csv"], more].concat(), "", space.path());
    (space, ran)
}

#[test]
fn a_formula_is_fitted() {
    let formula = "A*(1 - exp(-k*time_days))";
    let arguments =
        ["--formula", formula, "--target", "demand", "--where", "k > 0", "--start", "A=20, k=0.5", "--write", "m.scm"];
    let (space, ran) = bod("formula-fit", &arguments);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.starts_with("columns: time_days; parameters: A, k\n\n"), "{}", ran.stdout);
    // R's documentation of the data set: 19.143 and 0.5311.
    assert!(ran.stdout.contains("A          free      20     19.1426"), "{}", ran.stdout);
    assert!(ran.stdout.contains("k          positive  0.5    0.531091"), "{}", ran.stdout);
    let program = std::fs::read_to_string(space.path().join("m.scm")).unwrap();
    assert!(program.contains("(* A (- 1 (exp (* (- k) time_days))))"), "{program}");
    let infix = dmci(&["emit", "m.scm", "--to", "infix"], "", space.path());
    assert_eq!(infix.stdout, "A*(1 - exp(-k*time_days))\n");
}

#[test]
fn a_formula_names_its_target_and_may_transform_it() {
    let (_, ran) = bod("formula-target", &["--formula", "demand ~ A*(1 - exp(-k*time_days))", "--json"]);
    let plain: Json = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(plain["data"]["targets"], serde_json::json!(["demand"]));
    let (_, ran) = bod("formula-log", &["--formula", "log(demand) ~ a + b*log(time_days)"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.contains("on the scale of demand: R2 0.7"), "{}", ran.stdout);
    let (_, ran) = bod("formula-log-json", &["--formula", "log(demand) ~ a + b*log(time_days)", "--json"]);
    let json: Json = serde_json::from_str(&ran.stdout).unwrap();
    // The closed form of a line through the logarithms, computed by hand.
    assert!((json["parameters"]["b"]["value"].as_f64().unwrap() - 0.4464375).abs() < 1e-6, "{}", json["parameters"]);
    assert!((json["original_scale"]["rmse"].as_f64().unwrap() - 2.28544).abs() < 1e-3, "{}", json["original_scale"]);
}

#[test]
fn mistakes_are_named() {
    for (arguments, code, said) in [
        (
            &["--formula", "A*(1 - exp(-k*time_dayz))", "--target", "demand"][..],
            1,
            "time_dayz is neither a column nor, it seems, a parameter: did you mean time_days?",
        ),
        (&["--formula", "A*(1 - exp(-k t))", "--target", "demand"], 1, "t follows k without an operator"),
        (&["--formula", "A*x", "--target", "demand", "--where", "B > 0"], 2, "--where names B, which is no parameter"),
        (&["--formula", "A*x", "--target", "demand", "--where", "A > 3"], 2, "bounds A on one side only"),
        (&["--formula", "y ~ A*time_days"], 1, "y, left of ~, is not a column"),
        (&["--formula", "demand ~ A*time_days", "--target", "demand"], 2, "name it once"),
        (&["--formula", "A*time_days", "-e", "(* 2 x)", "--target", "demand"], 2, "--formula does not go with"),
        (&["-e", "(* 2.0 time_days)", "--start", "A=1", "--target", "demand"], 2, "--starts needs --formula"),
        (&["-e", "A*(1-exp(-k*time_days))", "--target", "demand"], 1, "written in infix notation"),
        (&["--formula", "A*time_days"], 2, "a fit needs --target"),
    ] {
        let (_, ran) = bod("formula-mistakes", arguments);
        assert_eq!(ran.code, code, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
    }
    let (_, ran) = bod(
        "formula-param",
        &["--formula", "A*(1 - exp(-time_dayz*time_days))", "--target", "demand", "--param", "time_dayz"],
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

#[test]
fn a_program_that_is_no_formula_is_refused() {
    let space = Workspace::new("formula-emit");
    let ran =
        dmci(&["emit", "-e", "(let loop ((i 0)) (if (< i 3) (loop (+ i 1)) i))", "--to", "infix"], "", space.path());
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("cannot be written as one formula"), "{}", ran.stderr);
}
