//! `dmci fit` as a user runs it.

#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use support::{Ran, Workspace, command, dmci};

const EXAMPLE: [&str; 6] =
    ["fit", "examples/fit/bounce/model.scm", "--data", "examples/fit/bounce/data.csv", "--target", "height"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn example(more: &[&str]) -> Ran {
    let ran = dmci(&[&EXAMPLE, more].concat(), "", &root());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran
}

fn space(name: &str) -> Workspace {
    let space = Workspace::new(name);
    support::fixtures(&space);
    space
}

#[test]
fn a_fit_shows_a_table_and_a_chart() {
    let ran = example(&[]);
    assert_eq!(ran.stderr, "", "progress is for terminals");
    for part in [
        "parameter  kind      start  fitted   error     95% interval",
        "gravity    positive  8      9.8",
        "R2 0.99",
        "AICc -",
        "lm: the loss is a sum of squares with derivatives",
        "@",
        "the loss no longer falls",
    ] {
        assert!(ran.stdout.contains(part), "{part}\n{}", ran.stdout);
    }
}

#[test]
fn json_holds_everything_and_out_writes_the_same() {
    let space = Workspace::new("fit-json");
    let out = space.path().join("fit.json");
    let ran =
        example(&["--json", "--restarts", "3", "--seed", "9", "--holdout", "0.2", "--out", out.to_str().unwrap()]);
    assert_eq!(ran.stdout.lines().count(), 1);
    let json: Json = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json, serde_json::from_str::<Json>(&std::fs::read_to_string(&out).unwrap()).unwrap());
    assert_eq!(json["schema"], "dmci-fit-1");
    assert!((json["parameters"]["gravity"]["value"].as_f64().unwrap() - 9.81).abs() < 0.1);
    assert_eq!(json["parameters"]["keep"]["kind"], "unit");
    assert_eq!(json["parameters"]["keep"]["start"], 0.7);
    assert_eq!((&json["data"]["rows"], &json["data"]["held_out"]), (&Json::from(100), &Json::from(25)));
    assert_eq!(json["data"]["inputs"], serde_json::json!(["t"]));
    assert_eq!(json["restarts"].as_array().unwrap().len(), 3);
    assert_eq!(json["optimizer"]["seed"], 9);
    let best = json["best"].as_u64().unwrap() as usize;
    assert_eq!(json["restarts"][best]["loss"], json["loss"]["value"]);
    for number in ["rmse", "r2", "epochs", "seconds", "paths", "step_backs"] {
        assert!(json[number].is_number(), "{number}: {}", json[number]);
    }
    assert!(json["held_out"]["r2"].as_f64().unwrap() > 0.99);
    assert_eq!(json["stopped"], "converged");
    let mut again: Json =
        serde_json::from_str(&example(&["--json", "--restarts", "3", "--seed", "9", "--holdout", "0.2"]).stdout)
            .unwrap();
    again["seconds"] = json["seconds"].clone();
    assert_eq!(again, json, "the same seed gives the same bits");
}

/// The picture in the example's folder is what the command draws; `DMCI_BLESS=1` draws it anew.
#[test]
fn the_picture_of_the_example_is_what_the_command_draws() {
    let space = Workspace::new("fit-plot");
    let plot = space.path().join("fit.svg");
    let ran = example(&["--quiet", "--plot", plot.to_str().unwrap()]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
    let drawn = std::fs::read_to_string(&plot).unwrap();
    let kept = root().join("examples/fit/bounce/fit.svg");
    if std::env::var_os("DMCI_BLESS").is_some() {
        std::fs::write(&kept, &drawn).unwrap();
    }
    assert!(std::fs::read_to_string(kept).unwrap() == drawn, "the picture has changed");
}

#[test]
fn a_plot_has_data_fit_residuals_axes_and_a_legend() {
    let space = space("fit-elements");
    let run = |args: &[&str]| {
        let ran = dmci(&[args, &["--quiet", "--target", "y", "--plot", "p.svg"]].concat(), "", space.path());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        std::fs::read_to_string(space.path().join("p.svg")).unwrap()
    };
    let one = run(&["fit", "line.scm", "--data", "rows.csv"]);
    assert!(one.starts_with("<svg ") && one.ends_with("</svg>\n"));
    assert_eq!(one.matches("class=\"datum\"").count(), 3);
    assert_eq!(one.matches("class=\"residual\"").count(), 3);
    assert_eq!(one.matches("<path ").count(), 2, "the curve and its key");
    for text in ["y over t", "line.scm fitted to rows.csv", ">data<", ">fit<", ">0.5<", ">2.0<", ">t<", ">y<"] {
        assert!(one.contains(text), "{text}\n{one}");
    }
    // With two inputs that vary there is no curve: predictions are points. Names cannot break the XML.
    space.write("odd.csv", "t,u,\"<y & 'z'>\"\n0.0,1.0,1.0\n1.0,0.0,2.0\n2.0,0.5,3.0\n");
    let args = ["fit", "-e", "(params (a free 1.0) (b free 1.0)) (+ (* a t) (* b u))", "--data", "odd.csv"];
    let ran = dmci(
        &[&args[..], &["--quiet", "--target", "<y & 'z'>", "--x", "u", "--plot", "p.svg"]].concat(),
        "",
        space.path(),
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let two = std::fs::read_to_string(space.path().join("p.svg")).unwrap();
    assert_eq!((two.matches("class=\"prediction\"").count(), two.matches("<path ").count()), (3, 0));
    assert!(two.contains("&lt;y &amp; 'z'&gt; over u"), "{two}");
}

#[test]
fn a_failed_run_overwrites_nothing() {
    let space = space("fit-fails");
    space.write("fit.json", "kept");
    space.write("fit.svg", "kept");
    let files = ["--out", "fit.json", "--plot", "fit.svg", "--target", "y"];
    for args in [
        &["fit", "line.scm", "--data", "typo.csv"][..],
        &["fit", "bad.scm", "--data", "rows.csv"],
        &["fit", "-e", "(params (a free 1.0)) (* a t (car n))", "--data", "rows.csv"],
    ] {
        assert_eq!(dmci(&[args, &files].concat(), "", space.path()).code, 1);
    }
    for name in ["fit.json", "fit.svg"] {
        assert_eq!(std::fs::read_to_string(space.path().join(name)).unwrap(), "kept");
    }
    let before = std::fs::read_dir(space.path()).unwrap().count();
    assert_eq!(
        dmci(&[&["fit", "line.scm", "--data", "rows.csv", "--quiet"], &files[..]].concat(), "", space.path()).code,
        0
    );
    assert!(std::fs::read_to_string(space.path().join("fit.json")).unwrap().contains("dmci-fit-1"));
    assert_eq!(std::fs::read_dir(space.path()).unwrap().count(), before, "no drafts are left");
}

#[test]
fn warnings_go_to_standard_error_or_into_the_json() {
    let space = space("fit-warnings");
    space.write("flat.csv", "t,y\n0.0,2.0\n1.0,2.0\n");
    let args = ["fit", "line.scm", "--data", "flat.csv", "--target", "y"];
    let ran = dmci(&args, "", space.path());
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.starts_with("warning[W0701]: flat.csv: the target y is 2 in every row"), "{}", ran.stderr);
    let ran = dmci(&[&args[..], &["--json"]].concat(), "", space.path());
    let json: Json = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.stderr.as_str(), &json["warnings"][0]["code"]), ("", &Json::from("W0701")));
    assert_eq!(json["r2"], Json::Null);
}

#[test]
fn a_fit_that_needs_a_scale_says_so() {
    let space = space("fit-scale");
    space.write("large.csv", "t,y\n1.0,3000.0\n2.0,6000.0\n3.0,9000.0\n");
    let fit = |program: &str| {
        let args = ["fit", "-e", program, "--data", "large.csv", "--target", "y", "--optimizer", "adam"];
        let ran = dmci(&args, "", space.path());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stdout
    };
    let without = fit("(params (a positive 1000.0)) (* a t)");
    assert!(without.contains("say how large the values are, (a positive 1000 1000)"), "{without}");
    let with = fit("(params (a positive 1000.0 1000)) (* a t)");
    assert!(with.contains("3000") && !with.contains("say how"), "{with}");
}

#[test]
fn data_come_from_standard_input_too() {
    let space = space("fit-stdin");
    let ran =
        dmci(&["fit", "line.scm", "--data", "-", "--target", "y", "--json"], "t,y\n0,1\n1,3\n2,5\n", space.path());
    let json: Json = serde_json::from_str(&ran.stdout).unwrap();
    assert!((json["parameters"]["a"]["value"].as_f64().unwrap() - 2.0).abs() < 1e-3, "{json}");
    assert_eq!(json["data"]["file"], "<stdin>");
}

#[test]
#[cfg(unix)]
fn an_interrupt_prints_and_writes_the_best_so_far() {
    let space = space("fit-interrupt");
    // A walk to a far minimum with tiny steps, which would take hours.
    let program = "(params (a free 1.0)) (let loop ((i 0) (x t)) (if (< i 200) (loop (+ i 1) (+ x (* a 0.001))) x))";
    let args = [
        "fit",
        "-e",
        program,
        "--data",
        "rows.csv",
        "--target",
        "y",
        "--optimizer",
        "adam",
        "--epochs",
        "1G",
        "--rate",
        "1e-12",
        "--patience",
        "1G",
    ];
    let child = command(&[&args[..], &["--out", "fit.json"]].concat(), space.path()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1000));
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.is_ok_and(|status| status.success()));
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(130), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    assert!(stdout.contains("epochs, interrupted;") && stdout.contains("fitted"), "{stdout}");
    let json: Json = serde_json::from_str(&std::fs::read_to_string(space.path().join("fit.json")).unwrap()).unwrap();
    assert_eq!(json["stopped"], "interrupted");
    assert!(json["loss"]["value"].as_f64().unwrap() <= json["loss"]["start"].as_f64().unwrap());
}

/// The program that the README shows is the one that its command fits.
#[test]
fn the_readme_shows_the_program_of_the_example() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let program = read("examples/fit/bounce/model.scm");
    assert!(read("README.md").contains(program.trim_end()));
    assert!(read("README.md").contains("(examples/fit/bounce/fit.svg)"));
}
