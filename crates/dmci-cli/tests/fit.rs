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
        "@",
        "Levenberg-Marquardt converged in 12 iterations",
        "optimality: Newton decrement",
    ] {
        assert!(ran.stdout.contains(part), "{part}\n{}", ran.stdout);
    }
}

#[test]
fn a_fit_without_noise_says_why_its_errors_are_zero() {
    let space = Workspace::new("fit-exact");
    std::fs::write(space.path().join("line.scm"), "(params (a free 1.0) (b free 0.5)) (+ a (* b x))").unwrap();
    std::fs::write(space.path().join("line.csv"), "x,y\n0,1\n1,3\n2,5\n3,7\n4,9\n").unwrap();
    let arguments = ["fit", "line.scm", "--data", "line.csv", "--target", "y", "--out", "fit.json"];
    let ran = dmci(&arguments, "", space.path());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let said = "the program gives the data up to rounding: there is no noise to estimate errors from";
    assert!(ran.stdout.contains(said) && ran.stdout.contains("2       0      2 to 2"), "{}", ran.stdout);
    let json: Json = serde_json::from_str(&std::fs::read_to_string(space.path().join("fit.json")).unwrap()).unwrap();
    assert_eq!(json["uncertainty"]["exact"], true);
    assert_eq!(json["parameters"]["b"]["error"], 0.0);
    assert_eq!(json["parameters"]["b"]["interval"], serde_json::json!([2.0, 2.0]));
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
    assert_eq!(one.matches("<path ").count(), 6, "the curve, two bands and their keys");
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
    assert!(with.contains("3000") && !with.contains("say how large the values are"), "{with}");
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
    // Before there is a handler, an interrupt simply ends the process; on a busy machine that takes a while.
    let output = [1_000, 4_000, 15_000].into_iter().find_map(|wait| {
        let child = command(&[&args[..], &["--out", "fit.json"]].concat(), space.path()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(wait));
        let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(kill.is_ok_and(|status| status.success()));
        Some(child.wait_with_output().unwrap()).filter(|output| output.status.code().is_some())
    });
    let output = output.expect("a handler in time");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(130), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    assert!(stdout.contains(": interrupted;") && stdout.contains("fitted"), "{stdout}");
    let json: Json = serde_json::from_str(&std::fs::read_to_string(space.path().join("fit.json")).unwrap()).unwrap();
    assert_eq!(json["stopped"], "interrupted");
    assert!(json["loss"]["value"].as_f64().unwrap() <= json["loss"]["start"].as_f64().unwrap());
}

/// Whenever it comes: the exit code says that it was interrupted, and the file is a whole fit, at worst of the
/// start.
#[test]
#[cfg(unix)]
fn an_interrupt_leaves_a_readable_result_at_any_moment() {
    let space = space("fit-any-moment");
    let program = "(params (a free 1.0) (b positive 2.0))
        (let loop ((i 0) (x t)) (if (< i 300) (loop (+ i 1) (if (< x b) (+ x (* a 0.001)) (* x 0.999))) x))";
    let args = ["fit", "-e", program, "--data", "rows.csv", "--target", "y", "--optimizer", "adam", "--restarts", "3"];
    let more = ["--epochs", "1G", "--rate", "1e-12", "--patience", "1G", "--quiet", "--out", "fit.json"];
    let limit = ["--time-limit", "60"];
    // How long a process takes until its search begins, roughly, on this machine as it is now.
    let began = std::time::Instant::now();
    let short = dmci(&[&args[..], &["--epochs", "1", "--quiet"]].concat(), "", space.path());
    assert_eq!(short.code, 0, "{}", short.stderr);
    let beginning = began.elapsed();
    let mut stream = dmci_stats::random::Stream::new(3, 5);
    let interrupts = if std::env::var_os("DMCI_LONG").is_some() { 50 } else { 6 };
    let mut interrupted = 0;
    for _ in 0..interrupts {
        let _ = std::fs::remove_file(space.path().join("fit.json"));
        let child = command(&[&args[..], &more, &limit].concat(), space.path()).spawn().unwrap();
        std::thread::sleep(beginning.mul_f64(0.2 + 0.004 * stream.below(1000) as f64));
        let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(kill.is_ok_and(|status| status.success()));
        let output = child.wait_with_output().unwrap();
        // In the very first moments, before there is a handler, an interrupt ends the process, or nothing at all
        // if whoever runs this test ignores interrupts.
        let Some(code) = output.status.code().filter(|code| *code != 0) else { continue };
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(code, 130, "{stderr}");
        let text = std::fs::read_to_string(space.path().join("fit.json")).unwrap();
        let json: Json = serde_json::from_str(&text).unwrap();
        assert_eq!((&json["schema"], &json["stopped"]), (&Json::from("dmci-fit-1"), &Json::from("interrupted")));
        assert!(json["loss"]["value"].as_f64().unwrap() <= json["loss"]["start"].as_f64().unwrap(), "{json}");
        let ran = dmci(&["eval", "--fit", "fit.json", "--data", "rows.csv"], "", space.path());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        interrupted += 1;
    }
    assert!(interrupted >= interrupts / 3, "only {interrupted} of {interrupts} had begun");
}

/// Restarts that all start alike would find the same minimum again and again; and what a process draws for
/// itself could never be repeated.
#[test]
fn restarts_start_at_different_places_that_the_seed_alone_decides() {
    let space = space("fit-starts");
    let run = |seed: &str, name: &str| {
        let args = ["fit", "line.scm", "--data", "rows.csv", "--target", "y", "--quiet", "--restarts", "12"];
        let more = ["--optimizer", "adam", "--epochs", "5", "--trace", "trace.csv", "--seed", seed, "--out", name];
        let ran = dmci(&[&args[..], &more].concat(), "", space.path());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let trace = std::fs::read_to_string(space.path().join("trace.csv")).unwrap();
        let first = trace.lines().filter(|l| l.split(',').nth(2) == Some("0"));
        let starts: Vec<String> = first.map(|l| l.rsplit(',').next().unwrap().to_string()).collect();
        (starts, trace)
    };
    let (starts, trace) = run("1", "a.json");
    assert_eq!(starts.len(), 12);
    let different: std::collections::BTreeSet<&String> = starts.iter().collect();
    assert_eq!(different.len(), 12, "{starts:?}");
    assert_eq!(run("1", "b.json").1, trace, "another process has drawn something else");
    let (others, _) = run("2", "c.json");
    assert_eq!(starts[0], others[0], "the first starts where the program says");
    assert!(starts[1..].iter().all(|s| !others[1..].contains(s)), "{starts:?} {others:?}");
}

#[test]
fn numbers_that_are_pinned_are_reported_and_changes_of_paths_counted() {
    let space = space("fit-pins");
    let args = ["fit", "-e", "(params (a free 1.0)) (* a t (string->number (number->string a)))", "--data", "rows.csv"];
    let ran = dmci(&[&args[..], &["--target", "y", "--epochs", "3"]].concat(), "", space.path());
    assert!(ran.code == 0 && ran.stderr.contains("W0504"), "{}{}", ran.stdout, ran.stderr);
    // A continuation cannot be captured in one arm of a join, so the arms are two paths; the best a for either
    // lies on the other.
    space.write("path.csv", "t,y\n1.0,1.5\n2.0,3.0\n");
    let text = "(params (a positive 1.0)) (if (> a 1.3) (call/cc (lambda (k) (k (* a t 2)))) (* a t))";
    let args = ["fit", "-e", text, "--data", "path.csv", "--target", "y", "--json", "--optimizer", "adam"];
    let ran = dmci(&[&args[..], &["--rate", "0.3", "--epochs", "40"]].concat(), "", space.path());
    let json: Json = serde_json::from_str(&ran.stdout).unwrap();
    assert!(json["path_changes"].as_u64().unwrap() > 1 && json["paths"].as_u64().unwrap() > 1, "{json}");
    assert_eq!(json["path_changes"], json["restarts"][0]["path_changes"]);
}

/// The pieces of a drawn curve, as their places.
fn drawn_curves(svg: &str) -> Vec<Vec<(f64, f64)>> {
    let paths = svg.lines().filter(|l| l.starts_with("<path d=") && l.contains("fill=\"none\""));
    let place = |word: &str| word.split_once(' ').map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()));
    let path = |line: &str| line.split('"').nth(1).unwrap().split(['M', 'L']).filter_map(place).collect();
    paths.map(path).collect()
}

#[test]
fn curves_bend_where_the_program_does() {
    let space = space("fit-bend");
    let rows: String =
        (0..60).map(|i| format!("{:?},{:?}\n", 0.5 * f64::from(i), (40.0 * f64::from(i)).sin())).collect();
    space.write("waves.csv", format!("t,y\n{rows}"));
    space.write("waves.scm", "(params (a free 0.9)) (* a (sin (* 80.0 t)))");
    let args = ["fit", "waves.scm", "--data", "waves.csv", "--target", "y", "--quiet", "--plot", "p.svg"];
    assert_eq!(dmci(&args, "", space.path()).code, 0);
    let svg = std::fs::read_to_string(space.path().join("p.svg")).unwrap();
    let curves = drawn_curves(&svg);
    let longest = curves.iter().max_by_key(|c| c.len()).unwrap();
    // 376 waves have 751 turning points, and each of them comes near 1.
    let turns: Vec<f64> =
        longest.windows(3).filter(|w| (w[1].1 - w[0].1) * (w[2].1 - w[1].1) < 0.0).map(|w| w[1].1).collect();
    assert!((740..=765).contains(&turns.len()), "{}", turns.len());
    let (top, bottom) = (turns.iter().copied().fold(f64::MAX, f64::min), turns.iter().copied().fold(0.0, f64::max));
    let near = turns.iter().filter(|y| (**y - top).min(bottom - **y) < 0.05 * (bottom - top)).count();
    assert!(near as f64 > 0.95 * turns.len() as f64, "{near} of {}", turns.len());
}

#[test]
fn groups_have_colours_and_targets_panels() {
    let space = space("fit-panels");
    let row =
        |g: &str, t: u32, a: f64| format!("{g},{t}.0,{:?},{:?},{}\n", a * f64::from(t), 1.0 - a * f64::from(t), 9 - t);
    let rows: String =
        [("north", 1.0), ("south", 2.5)].iter().flat_map(|(g, a)| (0..5).map(|t| row(g, t, *a))).collect();
    space.write("sites.csv", format!("site,t,u,v,count\n{rows}"));
    space.write("two.scm", "(params (a free 0.5 (per site))) (list (* a t) (- 1.0 (* a t)))");
    let args = ["fit", "two.scm", "--data", "sites.csv", "--target", "u,v", "--quiet", "--plot", "p.svg"];
    assert_eq!(dmci(&args, "", space.path()).code, 0);
    let svg = std::fs::read_to_string(space.path().join("p.svg")).unwrap();
    for text in ["u over t", "v over t", ">north<", ">south<"] {
        assert_eq!(svg.matches(text).count(), if text.contains("u over") { 2 } else { 1 }, "{text}");
    }
    assert_eq!(svg.matches("class=\"datum\"").count(), 20);
    // A curve for each group and target, and a key for each panel.
    assert_eq!(drawn_curves(&svg).len(), 6);
    let colors = |color: &str| svg.lines().filter(|l| l.contains("class=\"datum\"") && l.contains(color)).count();
    assert_eq!((colors("#2f6db3"), colors("#d64545")), (10, 10));
    // Any column of numbers may be the horizontal axis, also one that the program does not read.
    assert_eq!(dmci(&[&args[..], &["--x", "count"]].concat(), "", space.path()).code, 0);
    let svg = std::fs::read_to_string(space.path().join("p.svg")).unwrap();
    assert!(svg.contains("u over count") && svg.matches("class=\"prediction\"").count() == 20, "{svg}");
}

#[test]
fn the_chart_is_left_out_and_correlations_are_printed() {
    let space = space("fit-words");
    let args = ["fit", "line.scm", "--data", "rows.csv", "--target", "y", "--no-chart", "--correlations"];
    let ran = dmci(&args, "", space.path());
    assert!(ran.code == 0 && !ran.stdout.contains("o data"), "{}", ran.stdout);
    assert!(ran.stdout.contains("\ncorrelations  "), "{}", ran.stdout);
}

#[test]
fn a_plot_can_be_made_of_pixels() {
    let space = space("fit-png");
    let args = ["fit", "line.scm", "--data", "rows.csv", "--target", "y", "--quiet", "--plot", "p.png"];
    assert_eq!(dmci(&args, "", space.path()).code, 0);
    let bytes = std::fs::read(space.path().join("p.png")).unwrap();
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n") && bytes.ends_with(b"IEND\xaeB`\x82"));
    assert_eq!(bytes[16..24], [0, 0, 5, 240, 0, 0, 4, 16], "1520 times 1040 pixels");
}

#[test]
fn intervals_come_from_profiles_and_from_resampled_rows() {
    let space = space("fit-intervals");
    let run = |more: &[&str]| {
        let args = ["examples/fit/decay/model.scm", "--data", "examples/fit/decay/data.csv", "--json"];
        let commands = std::fs::read_to_string(root().join("examples/fit/commands.txt")).unwrap();
        let line = commands.lines().find(|l| l.starts_with("decay ")).unwrap();
        let own: Vec<&str> = line.split(' ').skip(1).filter(|w| !w.is_empty()).collect();
        let ran = dmci(&[&["fit"], &args[..], &own, more].concat(), "", &root());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        serde_json::from_str::<Json>(&ran.stdout).unwrap()
    };
    let (plain, profile, resampled) = (run(&[]), run(&["--intervals", "profile"]), run(&["--bootstrap", "60"]));
    assert_eq!(plain["uncertainty"]["intervals"], "curvature");
    assert_eq!(profile["uncertainty"]["intervals"], "profile");
    assert_eq!(resampled["uncertainty"]["bootstrap"]["samples"], 60);
    for (name, parameter) in plain["parameters"].as_object().unwrap() {
        let ends = |fit: &Json| {
            let interval = &fit["parameters"][name]["interval"];
            (interval[0].as_f64().unwrap(), interval[1].as_f64().unwrap())
        };
        let (low, high) = ends(&plain);
        let value = parameter["value"].as_f64().unwrap();
        for (fit, slack) in [(&profile, 0.3), (&resampled, 0.8)] {
            let (a, b) = ends(fit);
            assert!(a < value && value < b, "{name}: {a} {value} {b}");
            // The model is nearly linear over an interval, so all ways agree roughly.
            assert!(
                (a - low).abs() < slack * (high - low) && (b - high).abs() < slack * (high - low),
                "{name}: {a} {b}"
            );
        }
    }
    let no = ["fit", "line.scm", "--data", "rows.csv", "--target", "y", "--loss", "mae", "--intervals", "profile"];
    let ran = dmci(&no, "", space.path());
    assert!(ran.code == 1 && ran.stderr.contains("E0812"), "{}", ran.stderr);
}

/// The program that the README shows is the one that its command fits.
#[test]
fn the_readme_shows_the_program_of_the_example() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let program = read("examples/fit/bounce/model.scm");
    assert!(read("README.md").contains(program.trim_end()));
    assert!(read("README.md").contains("(examples/fit/bounce/fit.svg)"));
}

#[test]
fn a_fit_is_read_back_by_eval() {
    let space = space("fit-eval");
    let fit = ["fit", "line.scm", "--data", "rows.csv", "--target", "y", "--quiet", "--out", "fit.json"];
    assert_eq!(dmci(&fit, "", space.path()).code, 0);
    let ran = dmci(&["eval", "--fit", "fit.json", "--data", "rows.csv"], "", space.path());
    let json: Json = serde_json::from_str(&std::fs::read_to_string(space.path().join("fit.json")).unwrap()).unwrap();
    let value = |name: &str| json["parameters"][name]["value"].as_f64().unwrap();
    let predicted: Vec<f64> = ran.stdout.lines().skip(1).map(|l| l.parse().unwrap()).collect();
    for (t, y) in predicted.iter().enumerate() {
        assert_eq!(*y, value("b") + value("a") * t as f64, "{}", ran.stderr);
    }
    for key in ["engine", "program", "data"] {
        assert_eq!(json[key]["hash"].as_str().unwrap().len(), 32, "{key}");
    }
    // Groups, tensors, and a table that was not fitted.
    space.write("groups.csv", "site,t,y\nn,0,1\nn,1,2\nn,2,3\ns,0,2\ns,1,5\ns,2,8\n");
    let program = "(params (w (vector 2) (0 1) (per site))) (+ (ref w 0) (* t (ref w 1)))";
    let fit = ["fit", "-e", program, "--data", "groups.csv", "--target", "y", "--quiet", "--out", "g.json"];
    let ran = dmci(&fit, "", space.path());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    space.write("new.csv", "site,t\ns,10\nn,10\n");
    let ran = dmci(&["eval", "--fit", "g.json", "--data", "new.csv"], "", space.path());
    let predicted: Vec<f64> = ran.stdout.lines().skip(1).map(|l| l.parse().unwrap()).collect();
    assert!((predicted[0] - 32.0).abs() < 1e-6 && (predicted[1] - 11.0).abs() < 1e-6, "{}{}", ran.stdout, ran.stderr);
    let scalar = program.replace("(w (vector 2) (0 1) (per site))", "(a free 0.0 (per site)) (b free 1.0 (per site))");
    let scalar = scalar.replace("(ref w 0)", "a").replace("(ref w 1)", "b");
    let fit = ["fit", "-e", &scalar, "--data", "groups.csv", "--target", "y", "--quiet", "--out", "g.json"];
    assert_eq!(dmci(&fit, "", space.path()).code, 0);
    space.write("new.csv", "site,t\ns,10\nn,10\n");
    let ran = dmci(&["eval", "--fit", "g.json", "--data", "new.csv"], "", space.path());
    let predicted: Vec<f64> = ran.stdout.lines().skip(1).map(|l| l.parse().unwrap()).collect();
    assert!((predicted[0] - 32.0).abs() < 1e-6 && (predicted[1] - 11.0).abs() < 1e-6, "{}", ran.stdout);
    space.write("other.csv", "site,t\nx,10\n");
    let ran = dmci(&["eval", "--fit", "g.json", "--data", "other.csv"], "", space.path());
    assert!(ran.code == 1 && ran.stderr.contains("group x, which was not fitted"), "{}", ran.stderr);
}

#[test]
fn an_objective_is_evaluated_beyond_its_data() {
    let space = space("fit-objective");
    let rows: Vec<String> = (0..20).map(|i| format!("{i},{:?}", 5.0 * 0.8f64.powi(i))).collect();
    space.write("series.csv", format!("t,y\n{}\n", rows[..12].join("\n")));
    space.write("longer.csv", format!("t,y\n{}\n", rows.join("\n")));
    let program = "(params (a positive 3.0) (keep unit 0.5))
        (let loop ((k 0) (x a) (L 0.0) (ys '()))
          (if (= k (vlen y)) (result (loss L) (yhat (reverse ys)) (steps k))
              (loop (+ k 1) (* keep x) (+ L (square (- (ref y k) x))) (cons x ys))))";
    space.write("series.scm", program);
    let args = ["fit", "series.scm", "--data", "series.csv", "--objective", "--target", "y", "--out", "o.json"];
    let ran = dmci(&[&args[..], &["--holdout", "tail:0.25", "--plot", "o.svg"]].concat(), "", space.path());
    assert!(
        ran.code == 0 && ran.stdout.contains("9 rows") && ran.stdout.contains("held out"),
        "{}",
        ran.stdout + &ran.stderr
    );
    assert!(std::fs::read_to_string(space.path().join("o.svg")).unwrap().contains("class=\"shade\""));
    let ran = dmci(&["eval", "--fit", "o.json", "--data", "longer.csv"], "", space.path());
    assert!(
        ran.stdout.starts_with("# loss ") && ran.stdout.contains("# steps 20.0\nyhat\n"),
        "{}",
        ran.stdout + &ran.stderr
    );
    assert_eq!(ran.stdout.lines().count(), 23);
    // Only the first value is fitted again, from where the other fit ended.
    let again = ["--only", "a", "--start-from", "o.json", "--json"];
    let ran = dmci(&[&args[..], &again].concat(), "", space.path());
    let json: Json = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json["parameters"]["keep"]["fixed"], true);
    assert!((json["parameters"]["keep"]["value"].as_f64().unwrap() - 0.8).abs() < 1e-3, "{json}");
}

#[test]
fn literals_are_fitted_and_written_back() {
    let space = space("fit-literals");
    space.write("literal.scm", "; a line, 9.5\n(define slope 2.0)\n(+ (* slope t) -1.0)\n");
    space.write("line.csv", "t,y\n0,1\n1,4\n2,7\n");
    let args =
        ["fit", "literal.scm", "--params", "literals", "--data", "line.csv", "--target", "y", "--write", "new.scm"];
    let ran = dmci(&args, "", space.path());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let text = std::fs::read_to_string(space.path().join("new.scm")).unwrap();
    assert!(
        text.starts_with("; a line, 9.5\n(define slope 3.0") || text.starts_with("; a line, 9.5\n(define slope 2.99"),
        "{text}"
    );
    let ran = dmci(&["eval", "new.scm", "--data", "line.csv"], "", space.path());
    let last: f64 = ran.stdout.lines().last().unwrap().parse().unwrap();
    assert!((last - 7.0).abs() < 1e-9, "{}", ran.stdout);
    // A schema gets new starts.
    let args = ["fit", "line.scm", "--data", "line.csv", "--target", "y", "--quiet", "--write", "fitted.scm"];
    assert_eq!(dmci(&args, "", space.path()).code, 0);
    let text = std::fs::read_to_string(space.path().join("fitted.scm")).unwrap();
    assert!(text.starts_with("(params (a free 3.0") || text.starts_with("(params (a free 2.99"), "{text}");
}

#[test]
fn a_literal_that_is_not_fitted_stays_where_it_was_written() {
    let space = space("fit-some-literals");
    space.write("line.csv", "t,y\n0,1\n1,4\n2,7\n");
    let args = ["fit", "-e", "(+ 1.0 (* 2.5 t))", "--params", "literals", "--data", "line.csv", "--target", "y"];
    let ran = dmci(&[&args[..], &["--only", "c2", "--quiet", "--write", "new.scm"]].concat(), "", space.path());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let text = std::fs::read_to_string(space.path().join("new.scm")).unwrap();
    assert!(text.starts_with("(+ 1.0 (* 3.0") || text.starts_with("(+ 1.0 (* 2.99"), "{text}");
}

#[test]
fn a_target_may_have_a_comma_in_its_name() {
    let space = space("fit-comma");
    space.write("comma.csv", "t,\"y, cm\",\"z, cm\"\n0,1,2\n1,4,3\n2,7,4\n");
    let args = ["fit", "line.scm", "--data", "comma.csv", "--target", "y, cm", "--json"];
    let ran = dmci(&args, "", space.path());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let json: Json = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json["data"]["targets"], serde_json::json!(["y, cm"]));
    assert!((json["parameters"]["a"]["value"].as_f64().unwrap() - 3.0).abs() < 1e-6, "{json}");
}

/// A fit that is killed again and again, wherever it is, and goes on each time from its checkpoint. The model
/// branches on its parameters, so that other paths are recorded after each restart.
#[test]
#[cfg(unix)]
fn a_fit_that_is_killed_goes_on_to_the_same_bits() {
    let space = space("fit-kill");
    let program = "(params (a free 3.0) (b positive 2.0) (c free 0.4))
        (define (walk n x) (if (= n 0) x (walk (- n 1) (if (< x c) (+ x (* a 0.01)) (- x (* b 0.02 x))))))
        (+ (walk 60 t) (* b c))";
    space.write("branch.scm", program);
    let lines: Vec<String> =
        (0..40).map(|i| format!("{:?},{:?}", f64::from(i) * 0.1, (f64::from(i) * 0.3).sin())).collect();
    space.write("branch.csv", format!("t,y\n{}\n", lines.join("\n")));
    let epochs = if std::env::var_os("DMCI_LONG").is_some() { "60000" } else { "6000" };
    let kills = if std::env::var_os("DMCI_LONG").is_some() { 50 } else { 6 };
    let base =
        ["fit", "branch.scm", "--data", "branch.csv", "--target", "y", "--restarts", "5", "--seed", "4", "--epochs"];
    let more = [epochs, "--patience", "1M", "--optimizer", "adam", "--quiet"];
    let result = |json: &str| {
        let mut json: Json = serde_json::from_str(&std::fs::read_to_string(space.path().join(json)).unwrap()).unwrap();
        // Time and recorded paths are those of the last process.
        let object = json.as_object_mut().unwrap();
        object.remove("seconds");
        object.remove("paths");
        json
    };
    let start = std::time::Instant::now();
    let whole = dmci(&[&base[..], &more, &["--out", "whole.json"]].concat(), "", space.path());
    assert_eq!(whole.code, 0, "{}", whole.stderr);
    let time = start.elapsed();
    let resume = ["--checkpoint", "state", "--resume", "--out", "resumed.json"];
    let mut killed = 0;
    let mut stream = dmci_stats::random::Stream::new(7, 7);
    for _ in 0..kills {
        let mut child = command(&[&base[..], &more, &resume].concat(), space.path()).spawn().unwrap();
        // Somewhere in what is left, so that most are still running.
        std::thread::sleep(time.mul_f64((0.2 + 0.001 * stream.below(1000) as f64) / kills as f64));
        killed += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(killed >= kills / 2, "only {killed} of {kills} were still running");
    let last = dmci(&[&base[..], &more, &resume].concat(), "", space.path());
    assert_eq!(last.code, 0, "{}", last.stderr);
    assert_eq!(result("resumed.json"), result("whole.json"));
    // Another fit cannot go on from there.
    let other = dmci(&[&base[..], &["77", "--optimizer", "lm", "--quiet"], &resume].concat(), "", space.path());
    assert!(other.code == 1 && other.stderr.contains("E0905"), "{}", other.stderr);
}

#[test]
fn a_trace_has_a_line_for_every_epoch_of_every_search() {
    let space = space("fit-trace");
    let args = [
        "fit",
        "line.scm",
        "--data",
        "rows.csv",
        "--target",
        "y",
        "--quiet",
        "--restarts",
        "3",
        "--trace",
        "trace.csv",
    ];
    assert_eq!(dmci(&[&args[..], &["--optimizer", "adam", "--epochs", "10"]].concat(), "", space.path()).code, 0);
    let text = std::fs::read_to_string(space.path().join("trace.csv")).unwrap();
    assert_eq!(text.lines().count(), 1 + 3 * 11);
    assert!(text.starts_with("restart,optimizer,epoch,loss\n0,adam,0,"));
}

#[test]
#[cfg(not(feature = "sample"))]
fn without_a_sampler_there_is_a_clear_error() {
    let space = space("no-sampler");
    let ran = dmci(&["sample", "line.scm", "--data", "rows.csv", "--target", "y"], "", space.path());
    assert!(
        ran.code == 1 && ran.stderr.contains("E0811") && ran.stderr.contains("--features sample"),
        "{}",
        ran.stderr
    );
}

#[test]
#[cfg(feature = "sample")]
fn a_posterior_is_sampled() {
    let space = space("sample");
    let program = "(params (m free 0.0 (prior normal 0 10)) (sigma positive 1.0 (prior half-normal 5))) (+ m (* 0 t))";
    let args = ["sample", "-e", program, "--data", "rows.csv", "--target", "y", "--loss", "gaussian", "--draws", "300"];
    let more = ["--tune", "300", "--out", "draws.csv", "--json"];
    let ran = dmci(&[&args[..], &more].concat(), "", space.path());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let json: Json = serde_json::from_str(&ran.stdout).unwrap();
    let mean = json["parameters"]["m"]["mean"].as_f64().unwrap();
    assert!((mean - 2.17).abs() < 0.8, "{json}");
    let draws = std::fs::read_to_string(space.path().join("draws.csv")).unwrap();
    assert!(draws.starts_with("chain,draw,m,sigma\n0,0,") && draws.lines().count() == 1201);
    let archive = ["--tune", "300", "--out", "draws.npz", "--quiet"];
    assert_eq!(dmci(&[&args[..], &archive].concat(), "", space.path()).code, 0);
    let bytes = std::fs::read(space.path().join("draws.npz")).unwrap();
    let table = dmci_fit::Table::from_bytes("draws.npz", &bytes, &[]).unwrap();
    assert_eq!((table.rows, table.columns.len()), (4, 600), "a row for each chain, 300 draws of two numbers");
    let first = draws.lines().nth(1).unwrap().split(',').nth(2).unwrap().parse::<f64>().unwrap();
    assert_eq!(table.column("m0").unwrap().reals().unwrap()[0], first, "the same seed gives the same draws");
    let ran = dmci(&args, "", space.path());
    assert!(
        ran.stdout.starts_with("parameter  mean") && ran.stdout.contains("1200 draws of 4 chains"),
        "{}",
        ran.stdout
    );
    let ran = dmci(&["sample", "line.scm", "--data", "rows.csv", "--target", "y"], "", space.path());
    assert!(ran.code == 1 && ran.stderr.contains("E0809"), "{}", ran.stderr);
}

#[test]
fn standard_input_is_read_once_and_serves_one_purpose() {
    let space = Workspace::new("fit-stdin");
    let program = "(params (a free 1.0) (b free 0.5)) (+ a (* b t))";
    space.write("line.scm", program);
    let rows = "t,y\n0,1\n1,3.1\n2,5\n3,6.9\n";
    space.write("rows.csv", rows);
    let piped = ["fit", "line.scm", "--data", "-", "--target", "y", "--x", "t", "--quiet", "--plot", "a.svg"];
    let ran = dmci(&piped, rows, space.path());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    // The program is needed again where it is written back.
    let literals = ["fit", "-", "--data", "rows.csv", "--target", "y", "--params", "literals", "--write", "new.scm"];
    let ran = dmci(&literals, "(+ 1.5 (* 0.5 t))", space.path());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(std::fs::read_to_string(space.path().join("new.scm")).unwrap().ends_with(" t))"));
    for command in ["fit", "eval"] {
        let target: &[&str] = if command == "fit" { &["--target", "y"] } else { &[] };
        let ran = dmci(&[&[command, "-", "--data", "-"], target].concat(), program, space.path());
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains("standard input is the program already"), "{}", ran.stderr);
    }
}

#[test]
fn unused_columns_may_hold_anything_and_any_delimiter_will_do() {
    let space = Workspace::new("fit-data");
    space.write("rows.csv", "x;note;y\n0,5;;2,0\n1,5;a;4,0\n2,5;;6,1\n3,5;\"b; c\";8,0\n");
    space.write("line.scm", "(params (a free 1.0) (b free 1.0)) (+ a (* b x))");
    for program in [&["line.scm", "--target", "y"][..], &["--formula", "y ~ a + b*x"]] {
        let ran = dmci(&[&["fit"], program, &["--data", "rows.csv", "--json"]].concat(), "", space.path());
        let json: Json = serde_json::from_str(&ran.stdout).unwrap();
        // By hand: slope 10.05 / 5 and the mean of y, 5.025, at the mean of x, 2.
        let (a, b) = (&json["parameters"]["a"]["value"], &json["parameters"]["b"]["value"]);
        assert!((b.as_f64().unwrap() - 2.01).abs() < 1e-6 && (a.as_f64().unwrap() - 1.005).abs() < 1e-6, "{json}");
    }
    let ran = dmci(&["fit", "--formula", "y ~ a + b*note", "--data", "rows.csv"], "", space.path());
    assert!(ran.code == 1 && ran.stderr.contains("row 1 has nothing in column note"), "{}", ran.stderr);
}

#[test]
fn residuals_are_drawn_and_axes_may_be_logarithmic() {
    let space = space("fit-residuals");
    let rows: String = (0..13).map(|i| format!("{0:?},{0:?}\n", 10f64.powf(0.25 * f64::from(i)))).collect();
    space.write("decades.csv", format!("dose,y\n{rows}"));
    let fit = |more: &[&str]| {
        let args = ["fit", "--formula", "y ~ a + b*dose", "--data", "decades.csv", "--no-chart"];
        dmci(&[&args[..], more].concat(), "", space.path())
    };
    let ran = fit(&["--plot", "auto.svg", "--residuals", "left.svg"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.contains("\nconclusion: the model explains 100% of the variance of y"), "{}", ran.stdout);
    let read = |name: &str| std::fs::read_to_string(space.path().join(name)).unwrap();
    // Three decades, most numbers in the lower ones: the axes are logarithmic by themselves.
    assert!(read("auto.svg").contains(">10</text>") && read("auto.svg").contains(">1000</text>"));
    let left = read("left.svg");
    for title in
        ["Observed against predicted", "Quantiles of residuals", "Residuals by prediction", "Residuals by dose"]
    {
        assert!(left.contains(title), "{title}");
    }
    assert_eq!(fit(&["--plot", "plain.svg", "--log", "none"]).code, 0);
    assert!(!read("plain.svg").contains(">10</text>"));
    let ran = fit(&["--plot", "plain.svg", "--log", "z"]);
    assert!(ran.code == 2 && ran.stderr.contains("--log must be x, y, xy or none, got z"), "{}", ran.stderr);
}
