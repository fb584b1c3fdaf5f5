//! What the options of `dmci fit` mean together.

#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value as Json;
use support::{Ran, Workspace, dmci};

/// A decay with standard deviations, counts, trials and successes out of them.
fn space(name: &str) -> Workspace {
    let space = Workspace::new(name);
    let row = |i: i32| {
        let t = f64::from(i) * 0.25;
        let y = 0.5 + 2.0 * (-0.8 * t).exp() + 0.05 * f64::from((7 * i + 3) % 11 - 5);
        format!("{t:?},{y:?},{:?},{},{}", 0.02 + 0.02 * f64::from(i % 5), 12 + i, 1 + i / 2)
    };
    space.write("rows.csv", format!("t,y,s,n,k\n{}\n", (0..24).map(row).collect::<Vec<_>>().join("\n")));
    space
        .write("decay.scm", "(params (a positive 1.0) (b positive 0.1) (c free 0.0))\n(+ c (* a (exp (- (* b t)))))\n");
    space.write("share.scm", "(params (a free 0.0) (b free 0.1))\n(sigmoid (+ a (* b t)))\n");
    space
}

fn fit(space: &Workspace, program: &str, target: &str, more: &[&str]) -> Ran {
    dmci(&[&["fit", program, "--data", "rows.csv", "--target", target], more].concat(), "", space.path())
}

fn json(space: &Workspace, program: &str, target: &str, more: &[&str]) -> Json {
    let ran = fit(space, program, target, &[more, &["--json"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn a_column_of_standard_deviations_or_trials_says_which_loss_is_meant() {
    let space = space("settings-loss");
    let parameters = |json: &Json| json["parameters"].clone();
    let meant = json(&space, "decay.scm", "y", &["--sigma", "s"]);
    assert_eq!(meant["loss"]["name"], "gaussian");
    assert_eq!(
        parameters(&meant),
        parameters(&json(&space, "decay.scm", "y", &["--sigma", "s", "--loss", "gaussian"]))
    );
    assert_ne!(parameters(&meant), parameters(&json(&space, "decay.scm", "y", &[])));
    assert!(fit(&space, "decay.scm", "y", &["--sigma", "s"]).stdout.contains("\ngaussian loss "));
    let meant = json(&space, "share.scm", "k", &["--trials", "n"]);
    assert_eq!(meant["loss"]["name"], "binomial");
    for refused in [&["--sigma", "s", "--loss", "mse"][..], &["--sigma", "s", "--trials", "n"]] {
        let ran = fit(&space, "decay.scm", "y", refused);
        assert!(ran.code == 2 && ran.stderr.contains("E0910"), "{}", ran.stderr);
    }
}

#[test]
fn a_loss_that_is_not_finite_is_no_interruption() {
    let space = space("settings-finite");
    space.write("rows.csv", "x,y\n1,1e200\n2,2e200\n3,2.5e200\n");
    space.write("line.scm", "(params (a free 1.0)) (* a x)");
    let ran = fit(&space, "line.scm", "y", &[]);
    assert!(ran.code == 1 && ran.stderr.contains("E0805") && ran.stderr.contains("rows 1, 2, 3"), "{}", ran.stderr);
}

#[test]
fn an_objective_without_a_target_has_no_chart() {
    let space = space("settings-chart");
    space.write("own.scm", "(params (a free 1.0)) (square (- a (ref y 0)))");
    let args = ["fit", "own.scm", "--data", "rows.csv", "--objective"];
    let ran = dmci(&args, "", space.path());
    assert!(ran.code == 0 && !ran.stdout.contains("o data"), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("\nobjective ") && ran.stdout.contains("\noptimality: "), "{}", ran.stdout);
    let ran = dmci(&[&args[..], &["--plot", "own.svg"]].concat(), "", space.path());
    assert!(ran.code == 2 && ran.stderr.contains("E0910"), "{}", ran.stderr);
}

#[test]
fn a_number_at_its_bound_is_said_to_be() {
    let space = space("settings-bound");
    let program = "(params (a positive 1.0) (b (bounded 0 0.3) 0.1) (c free 0.0)) (+ c (* a (exp (- (* b t)))))";
    space.write("bounded.scm", program);
    let ran = fit(&space, "bounded.scm", "y", &[]);
    let line = ran.stdout.lines().find(|l| l.starts_with("b ")).unwrap();
    assert!(line.ends_with("  at its bound, error not determined"), "{}", ran.stdout);
    let json = json(&space, "bounded.scm", "y", &[]);
    assert_eq!([&json["parameters"]["a"]["at_bound"], &json["parameters"]["b"]["at_bound"]], [false, true]);
    assert!(json["parameters"]["a"]["error"].is_number() && json["parameters"]["b"]["error"].is_null());
    // An interval that refits all others is one at a bound, too.
    let ran = fit(&space, "bounded.scm", "y", &["--intervals", "profile"]);
    let line = ran.stdout.lines().find(|l| l.starts_with("b ")).unwrap();
    assert!(line.contains(" to 0.3 ") && line.ends_with("  at its bound"), "{}", ran.stdout);
}
