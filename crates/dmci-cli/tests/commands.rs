//! What the commands do when all is well, and how runs are stopped.

#![allow(clippy::unwrap_used)]

mod support;

use serde_json::{Value as Json, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use support::{Workspace, command, dmci};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Standard output of a command that succeeds silently, run at the root of the workspace.
fn fine(args: &[&str]) -> String {
    let ran = dmci(args, "", &root());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{args:?}\n{}", ran.stdout);
    ran.stdout
}

fn json_of(args: &[&str]) -> Json {
    serde_json::from_str(&fine(args)).expect("one JSON object")
}

const MODES: [&str; 4] = ["direct", "dmci", "tower:0", "tower:2"];

#[test]
fn run_prints_output_and_then_the_value() {
    for mode in MODES {
        assert_eq!(fine(&["run", "--mode", mode, "-e", "(+ 1 2)"]), "3\n");
        assert_eq!(fine(&["run", "--mode", mode, "-e", "(display \"a\") (newline) \"b\""]), "a\n\"b\"\n");
        assert_eq!(fine(&["run", "--mode", mode, "-e", "(display 'a) 'b"]), "a\nb\n");
        assert_eq!(fine(&["run", "--mode", mode, "-e", "(if #f #f)"]), "");
        assert_eq!(fine(&["run", "--mode", mode, "-e", "(values 1 \"two\")"]), "1\n\"two\"\n");
    }
    assert_eq!(fine(&["run", "-e", "-5"]), "-5\n");
    assert_eq!(fine(&["run", "-e", ""]), "");
    assert_eq!(dmci(&["run", "-"], "(* 6 7)", &root()).stdout, "42\n");
}

#[test]
fn json_has_value_and_output() {
    let program = "(display \"hi\") (list 1 2.5 'a \"s\" #t (vector 1) (/ 0. 0.) (expt 2 60))";
    let expected = json!({"output": "hi", "schema": "dmci-run-1", "value": [
        1, 2.5, {"symbol": "a"}, "s", true, {"vector": [1]}, {"real": "nan"}, {"int": "1152921504606846976"}
    ]});
    for mode in MODES {
        assert_eq!(json_of(&["run", "--json", "--mode", mode, "-e", program]), expected);
    }
}

#[test]
fn set_values_are_data() {
    let args = ["run", "--set", "x=2", "--set", "l=(1 2 3)", "--set", "s=abc", "--set", "q='(a b)", "-e"];
    for mode in MODES {
        let args: Vec<&str> = args.iter().copied().chain(["(list x (apply + l) s q)", "--mode", mode]).collect();
        assert_eq!(fine(&args), "(2 6 abc (a b))\n");
    }
    assert_eq!(fine(&["run", "--set", "car=5", "-e", "(+ car 1)"]), "6\n");
    assert_eq!(fine(&["run", "--set", "a=3.0", "-e", "(params (a positive 1.0)) (* 2 a)"]), "6.0\n");
}

#[test]
fn a_seed_decides_random_numbers() {
    let run = |seed| fine(&["run", "--seed", seed, "-e", "(list (random 1000000) (random 1.0))"]);
    assert_eq!(run("1"), run("1"));
    assert_ne!(run("1"), run("2"));
}

#[test]
fn compiled_programs_run_like_their_source() {
    let space = Workspace::new("compiled");
    let example = root().join("examples/predator-prey.scm");
    let example = example.to_str().unwrap();
    let run = |args: &[&str]| {
        let ran = dmci(args, "", space.path());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{args:?}");
        ran.stdout
    };
    run(&["compile", example, "-o", "a.ncg"]);
    run(&["compile", example, "-o", "b.ncg"]);
    run(&["compile", "a.ncg", "-o", "c.ncg"]);
    let bytes = |name: &str| std::fs::read(space.path().join(name)).unwrap();
    assert!(bytes("a.ncg") == bytes("b.ncg") && bytes("a.ncg") == bytes("c.ncg"));
    let expected = run(&["run", example]);
    for mode in MODES {
        assert_eq!(run(&["run", "a.ncg", "--mode", mode]), expected);
        assert_eq!(run(&["run", "a.ncg", "--mode", mode, "--set", "birth=1.0"]), expected);
    }
    assert_eq!(run(&["check", "a.ncg"]), "a.ncg: ok\n");
    for stage in ["core", "anf", "graph", "bytecode"] {
        assert_eq!(run(&["info", "a.ncg", "--stage", stage]), run(&["info", example, "--stage", stage]));
    }
    assert!(run(&["info", "a.ncg"]).contains("functions"));
    run(&["compile", "--evaluator", "-o", "eval.ncg"]);
    assert!(run(&["info", "eval.ncg"]).contains("functions"));
}

#[test]
fn info_shows_sizes_and_stages() {
    let text = fine(&["info", "--evaluator"]);
    assert!(text.contains("(paper: 0.02 s)") && text.contains("(paper: 283 KB)"), "{text}");
    let sizes = json_of(&["info", "--json", "-e", "(define (f x) (* x x)) (f 3)"]);
    assert_eq!((&sizes["forms"], &sizes["functions"]), (&json!(2), &json!(2)));
    let core = fine(&["info", "--stage", "core", "-e", "(define (twice x) (* 2 x)) (when (twice 3) 1)"]);
    assert!(core.starts_with("(define twice (lambda (x) ") && core.contains("\n(if (twice 3) 1 "), "{core}");
}

#[test]
fn explain_knows_every_code() {
    let list = fine(&["explain", "--list"]);
    assert!(list.lines().count() > 50);
    for line in list.lines() {
        let (code, title) = line.split_once("  ").unwrap();
        assert!(fine(&["explain", code]).starts_with(&format!("{code}: {title}\n\n")));
    }
    assert_eq!(fine(&["explain", "e301"]), fine(&["explain", "E0301"]));
}

#[test]
fn help_teaches_with_examples() {
    for command in
        ["run", "grad", "eval", "fit", "sample", "emit", "tape", "repl", "check", "compile", "info", "explain"]
    {
        let help = fine(&[command, "--help"]);
        assert!(help.contains("Examples:\n") && help.contains(&format!("dmci {command}")), "{command}");
    }
    assert!(fine(&["--help"]).contains("Exit codes"));
    assert!(fine(&["--version"]).starts_with("dmci "));
}

/// The examples print what their comments promise, in every mode.
#[test]
fn examples_run() {
    for mode in MODES {
        let text = fine(&["run", "examples/predator-prey.scm", "--mode", mode]);
        assert!(text.contains(" 8.0 |..........*.............................o\n"), "{text}");
        assert!(text.ends_with("\n(19.16365337429327 3.0984919707784235)\n"), "{text}");
    }
    let calc = |args: &[&str]| fine(&[&["run", "--mode", "eval:examples/languages/calc.scm"], args].concat());
    assert_eq!(calc(&["examples/languages/primes.calc"]), "4\n25\n25\n");
    let planets = calc(&["examples/languages/planets.calc", "--set", "mass=1"]);
    let years: Vec<f64> = planets.lines().map(|line| line.parse().unwrap()).collect();
    assert!((years[0] - 0.2408).abs() < 1e-3 && years[1] == 1.0 && (years[2] - 11.87).abs() < 1e-2);
    // Kepler's equation: E - e sin E = M.
    assert!((years[3] - 0.2056 * years[3].sin() - 1.0).abs() < 1e-3);
    let expression = calc(&["-e", "let a = 2 + 3 * 4 ^ 2 show (a - 1) / 7 show - a + 1 show 2 ^ 3 ^ 2"]);
    assert_eq!(expression, "7\n-49\n512\n512\n");
}

#[test]
fn repl_keeps_definitions_and_survives_errors() {
    let input = "(define x 20)\n(define (twice n)\n  (* 2 n))\n(car x)\n(twice (+ x\n 1))\n:mode\n:mode direct\n:mode\n\
                 (define (twice n) (* 20 n))\n(twice 1)\n(display \"out\")\n)\n'done\n:quit\n(never)\n";
    let ran = dmci(&["repl", "--no-history"], input, &root());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "42\ndmci\ndirect\n20\nout\ndone\n"));
    assert_eq!(ran.stderr.matches("error[").count(), 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("E0303") && ran.stderr.contains("E0102"), "{}", ran.stderr);
}

#[test]
fn repl_goes_on_after_a_limit() {
    let input = "(define x 1)\n(let loop () (loop))\n(+ x 1)\n";
    let ran = dmci(&["repl", "--fuel", "100k"], input, &root());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "2\n"));
    assert!(ran.stderr.contains("E0401"), "{}", ran.stderr);
}

#[test]
#[cfg(unix)]
fn an_interrupt_stops_the_run() {
    for args in [
        &["run", "-e", "(display 'begun) (let loop () (loop))"][..],
        &["run", "--mode", "direct", "-e", "(let loop () (loop))"],
    ] {
        // Before there is a handler, an interrupt simply ends the process; on a busy machine that takes a while.
        let output = [700, 3_000, 12_000].map(Duration::from_millis).into_iter().find_map(|wait| {
            let child = command(args, &root()).spawn().unwrap();
            std::thread::sleep(wait);
            let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
            assert!(kill.is_ok_and(|status| status.success()));
            Some(child.wait_with_output().unwrap()).filter(|output| output.status.code().is_some())
        });
        let output = output.expect("a handler in time");
        assert_eq!(output.status.code(), Some(130), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("E0409"));
    }
}

#[test]
fn a_reader_that_goes_away_is_no_crash() {
    let program = "(let loop ((i 0)) (when (< i 100000) (display i) (newline) (loop (+ i 1))))";
    let mut child = command(&["run", "-e", program], &root()).spawn().unwrap();
    drop(child.stdout.take());
    child.stdin.take().unwrap().flush().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
#[cfg(target_os = "linux")]
fn output_that_cannot_be_written_is_an_error() {
    let eval = ["eval", "-e", "(* 2.0 x)", "--data", "rows.csv"];
    let fit = ["fit", "-e", "(params (a free 1.0)) (* a x)", "--data", "rows.csv", "--target", "y", "--json"];
    let space = Workspace::new("full");
    space.write("rows.csv", "x,y\n1.0,2.0\n2.0,4.5\n3.0,5.5\n");
    for args in [&["run", "-e", "(+ 1 2)"][..], &["run", "--json", "-e", "(+ 1 2)"], &eval, &fit, &["--help"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command(args, space.path()).stdout(full).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(stderr.contains("error[E0901]: cannot write to standard output: No space left"), "{args:?}: {stderr}");
    }
}

/// What the system says, and before anything is computed.
#[test]
#[cfg(target_os = "linux")]
fn a_file_that_cannot_be_made_is_noticed_at_once() {
    let space = Workspace::new("unwritable");
    space.write("rows.csv", "x\n1.0\n");
    let endless = "(let loop ((s x)) (if (< s 0) s (loop (* s 1.0))))";
    for command in [&["eval"][..], &["emit", "--to", "c"]] {
        let args = [command, &["-e", endless, "--data", "rows.csv", "--out", "/proc/x", "--time", "100"]].concat();
        let ran = dmci(&args, "", space.path());
        let expected = "error[E0901]: cannot write /proc/x: No such file or directory";
        assert!(ran.code == 1 && ran.stderr.starts_with(expected), "{} {}", ran.code, ran.stderr);
    }
}

/// The first program of each explanation causes the error that it explains.
#[test]
fn explanations_show_programs_that_cause_their_error() {
    let limits = ["--fuel", "20M", "--depth", "100k", "--heap", "256M", "--time", "20"];
    for code in dmci::ErrorCode::ALL {
        let Some(program) = code.example() else { continue };
        for mode in ["direct", "dmci"] {
            let args = [&["run", "--json", "--mode", mode, "-e", program], &limits[..]].concat();
            let ran = dmci(&args, "", &root());
            let got: Json = serde_json::from_str(&ran.stdout).unwrap();
            assert_eq!(got["error"][0]["code"], code.as_str(), "{mode}: {program}\n{}", ran.stdout);
        }
    }
}

#[test]
fn hostile_texts_are_refused_or_run() {
    let deep = format!("{}1{}", "(".repeat(1_000_000), ")".repeat(1_000_000));
    for (program, code) in [
        (deep.as_str(), 1),
        (&deep[..1_000_000], 1),
        ("\0\u{1b}[2J(", 1),
        ("(let loop ((i 0) (l '())) (if (< i 1000000) (loop (+ i 1) (list l)) l))", 0),
        ("(define l (list 1 2)) (set-cdr! (cdr l) l) l", 0),
        ("(display (make-string 100000 #\\a)) (iota 100000)", 0),
    ] {
        let ran = dmci(&["run", "-"], program, &root());
        let shown: String = ran.stderr.chars().take(300).collect();
        assert_eq!(ran.code, code, "{shown}");
        assert!(!ran.stderr.contains('\u{1b}') && !ran.stderr.contains("E9901"), "{shown}");
        assert_eq!(dmci(&["run", "-", "--json"], program, &root()).code, code);
    }
}

#[test]
fn columns_are_checked_without_running() {
    let space = Workspace::new("check-data");
    space.write("rows.csv", "t,u,k,site,note,y\n1,1,3,north,,2\n2,2,3,south,b,3\n");
    space
        .write("m.scm", "(params (a free 1.0) (b free 0.0 (per site))) (+ (if (eq? site 'north) (* a t u) (* k b)) 1)");
    let ran = dmci(&["check", "m.scm", "--data", "rows.csv"], "", space.path());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for says in [
        "rows.csv: u is the same as t in every row",
        "rows.csv: k is 3 in every row",
        "(eq? site 'north) is never true: site holds texts, and 'north is a symbol",
        "write (string=? site \"north\")",
    ] {
        assert!(ran.stderr.contains(says), "{says}: {}", ran.stderr);
    }
    assert_eq!(ran.stdout, "m.scm: 3 problems\nrows.csv: columns read: t, u, k, site; not read: note, y\n");
    let ran = dmci(&["check", "-e", "(* 2 t)", "--data", "rows.csv", "--json"], "", space.path());
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&json["ok"], &json["files"][0]["reads"]), (&true.into(), &serde_json::json!(["t"])));
    let program = "(params (a free 1.0)) (* a time_dayz)";
    space.write("days.csv", "time_days,y\n1,2\n2,3\n");
    let ran = dmci(&["fit", "-e", program, "--data", "days.csv", "--target", "y"], "", space.path());
    assert!(ran.code == 1 && ran.stderr.contains("did you mean the column time_days?"), "{}", ran.stderr);
}

#[test]
fn shells_and_manuals_know_the_command_line() {
    for shell in ["bash", "zsh", "fish"] {
        let ran = dmci(&["completions", shell], "", &root());
        assert!(ran.code == 0 && ran.stdout.contains("predict") && ran.stdout.contains("holdout"), "{}", ran.stderr);
    }
    let ran = dmci(&["man", "fit"], "", &root());
    assert!(ran.code == 0 && ran.stdout.contains(".TH") && ran.stdout.contains("holdout"), "{}", ran.stdout);
    let ran = dmci(&["man", "prdict"], "", &root());
    assert!(ran.code == 2 && ran.stderr.contains("did you mean predict?"), "{}", ran.stderr);
}

#[test]
fn the_repl_loads_documents_and_differentiates() {
    let space = Workspace::new("repl-commands");
    space.write("square.scm", "(define (cube x) (* x x x))\n");
    let input =
        ":load square.scm\n(cube 3)\n:grad cube 2.0\n:grad (lambda (x y) (* x y)) 2.0 3.0\n:doc grad\nexit\n(+ 40 2)\n";
    let ran = dmci(&["repl", "--no-history"], input, space.path());
    assert!(ran.stdout.starts_with("27\n12.0\n(3.0 2.0)\n(grad f)\n  a procedure"), "{}{}", ran.stdout, ran.stderr);
    assert!(!ran.stdout.contains("42") && ran.stderr.is_empty(), "{}{}", ran.stdout, ran.stderr);
}
