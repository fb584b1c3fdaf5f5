//! `grad`, `tape` and `eval` as a user runs them.

#![allow(clippy::unwrap_used)]

use serde_json::Value as Json;
use std::process::{Command, Output};

fn dmci(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dmci")).args(args).output().expect("the command runs")
}

fn stdout(args: &[&str]) -> String {
    let output = dmci(args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

const DECAY: &str = "(* a (exp (- (* b t))))";

#[test]
fn grad_prints_value_and_derivatives() {
    let set = ["--set", "a=2.5", "--set", "b=0.8", "--set", "t=1"];
    let args = [&["grad", "-e", DECAY, "--json"], &set[..]].concat();
    let json: Json = serde_json::from_str(&stdout(&args)).unwrap();
    let e = (-0.8f64).exp();
    let close = |a: &Json, b: f64| assert!((a.as_f64().unwrap() - b).abs() < 1e-15, "{a} {b}");
    close(&json["value"], 2.5 * e);
    close(&json["grad"]["a"], e);
    close(&json["grad"]["b"], -2.5 * e);
    assert!(json["grad"].get("t").is_none(), "an exact input is not a parameter by default");
    for mode in ["direct", "tower:2"] {
        let other = stdout(&[&args[..], &["--mode", mode]].concat());
        assert_eq!(serde_json::from_str::<Json>(&other).unwrap(), json);
    }
}

#[test]
fn names_of_parameters_may_stand_between_bars() {
    let args = ["grad", "-e", "(* 3 |a b|)", "--set", "|a b|=1.0", "--wrt", "|a b|"];
    assert_eq!(stdout(&args), "value   3.0\nd/da b  3.0\n");
}

#[test]
fn grad_says_what_to_write_if_there_is_nothing_to_differentiate_by() {
    let output = dmci(&["grad", "-e", "(* a 2)", "--set", "a=1"]);
    let expected = "help: nothing to differentiate by: a is exact; write --set a=1.0, or --wrt a\n";
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), expected));
}

#[test]
fn grad_by_literals_shows_them_in_the_text() {
    let text = stdout(&["grad", "-e", "(* 2.5 (+ 0.5 3))", "--wrt", "literals"]);
    assert_eq!(text, "(* 2.5{3.500000e0} (+ 0.5{2.500000e0} 3))\nvalue  8.75\n");
}

#[test]
fn grad_gives_second_derivatives() {
    let args = ["grad", "-e", "(* x x y)", "--set", "x=3.", "--set", "y=2.", "--hessian", "--json"];
    let json: Json = serde_json::from_str(&stdout(&args)).unwrap();
    assert_eq!(json["hessian"]["rows"], serde_json::json!([[4.0, 6.0], [6.0, 0.0]]));
}

#[test]
fn tape_shows_decisions() {
    let text = stdout(&["tape", "-e", "(if (< x 1.) (* x x) x)", "--set", "x=0.5", "--plan", "--no-joins"]);
    assert!(text.contains("guard %2 true") && text.contains("= mul %0 %0") && text.contains("plan:"), "{text}");
}

#[test]
fn tape_explains_decisions_in_json() {
    let program = "(define (f u) (if (< u 1.) (list u u) (list u)))\n(* (if (> x 0) x 1.) (length (f x)))";
    let text = stdout(&["tape", "-e", program, "--set", "x=0.5", "--json", "--no-dead"]);
    let json: Json = serde_json::from_str(&text).unwrap();
    let why = "the arms give (0.5) and (), which differ in more than numbers and booleans";
    let help = "let both arms give the same structure: lists of the same length that differ in numbers only";
    let expected = serde_json::json!([
        {"line": 2, "column": 8, "start": 56, "end": 63, "text": "(> x 0)",
         "joined": 1, "looped": 0, "rounds": 0, "guarded": 0, "checked": 0, "pinned": 0, "why": [], "help": []},
        {"line": 1, "column": 19, "start": 18, "end": 26, "text": "(< u 1.)",
         "joined": 0, "looped": 0, "rounds": 0, "guarded": 1, "checked": 0, "pinned": 0, "why": [why], "help": [help]},
    ]);
    assert_eq!(json["decisions"], expected, "{text}");
    assert_eq!(json["passes"].as_array().unwrap().len(), 1);
    assert_eq!((&json["guarded"], &json["pinned"]), (&1.into(), &0.into()));
}

#[test]
fn tape_counts_recordings_of_a_table() {
    let data = std::env::temp_dir().join(format!("dmci-tape-{}.csv", std::process::id()));
    std::fs::write(&data, "x\n0.5\n1.5\n0.7\n-2.5\n").unwrap();
    let program = "(* a (if (< x 1.) x 2.) (length (if (< x 0) '(1) '(1 2))))";
    let args = ["tape", "-e", program, "--set", "a=1.5", "--data", data.to_str().unwrap()];
    let text = stdout(&args);
    let json: Json = serde_json::from_str(&stdout(&[&args[..], &["--json"]].concat())).unwrap();
    let flat = stdout(&[&args[..], &["--no-joins"]].concat());
    std::fs::remove_file(&data).unwrap();
    let expected = "4 rows: 2 recordings, 2 paths kept, 2 rows on a path of another one
once more: 0 recordings, 4 rows on known paths, 0 walked, 0 failed
decisions
  1:10 (< x 1.): joined 2 times
  1:37 (< x 0): guarded 2 times
      the arms give (1) and (1 2), which differ in more than numbers and booleans
      help: let both arms give the same structure: lists of the same length that differ in numbers only
";
    assert_eq!(text, expected);
    assert_eq!((&json["recordings"], &json["again"], &json["paths"]), (&2.into(), &0.into(), &2.into()));
    assert!(flat.starts_with("4 rows: 3 recordings"), "{flat}");
}

#[test]
fn pinned_numbers_are_warned_of() {
    let program = "(+ a (string->number (number->string a)))";
    let output = dmci(&["grad", "-e", program, "--set", "a=1.5"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "value  3.0\nd/da   1.0\n");
    let warning = String::from_utf8_lossy(&output.stderr);
    assert!(warning.starts_with("warning[W0504]: number->string needs the very value"), "{warning}");
    assert!(warning.contains("1:22") && warning.matches("W0504").count() == 1, "{warning}");
    let json: Json = serde_json::from_str(&stdout(&["grad", "-e", program, "--set", "a=1.5", "--json"])).unwrap();
    assert_eq!(json["warnings"][0]["code"], "W0504");
    let data = std::env::temp_dir().join(format!("dmci-pin-{}.csv", std::process::id()));
    std::fs::write(&data, "x\n0.5\n1.5\n0.7\n").unwrap();
    let program = "(string-length (number->string x))";
    let output = dmci(&["eval", "-e", program, "--data", data.to_str().unwrap()]);
    std::fs::remove_file(&data).unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr).matches("W0504").count(), 1);
}

#[test]
fn eval_reports_rows_that_fail_and_keeps_the_others() {
    let data = std::env::temp_dir().join(format!("dmci-eval-{}.csv", std::process::id()));
    std::fs::write(&data, "x,n\n1.5,0\n2.5,1\n3.5,2\n").unwrap();
    let program = "(params (a positive 2.0)) (* a x (vector-ref (vector 1. 10.) n))";
    let output = dmci(&["eval", "-e", program, "--data", data.to_str().unwrap(), "--grad"]);
    std::fs::remove_file(&data).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "value,d/da\n3.0,1.5\n50.0,25.0\nnan,nan\n");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.starts_with("row 3:\nerror[E0306]"), "{errors}");
}

#[test]
fn eval_shows_what_each_row_prints_and_says() {
    let data = std::env::temp_dir().join(format!("dmci-output-{}.csv", std::process::id()));
    std::fs::write(&data, "x\n1.5\n2.5\n-3.5\n4.5\n").unwrap();
    let program = "(write (list \"x\" x)) (if (< x 0) (error \"negative:\" x)) (* 2 x)";
    let output = dmci(&["eval", "-e", program, "--data", data.to_str().unwrap(), "--output"]);
    std::fs::remove_file(&data).unwrap();
    let rows = ["value,output", "3.0,", "5.0,", "nan,", "9.0,"];
    let printed = ["", "1.5", "2.5", "-3.5", "4.5"];
    let line = |(row, x): (&str, &str)| if x.is_empty() { row.into() } else { format!("{row}\"(\"\"x\"\" {x})\"") };
    let expected: Vec<String> = rows.into_iter().zip(printed).map(line).collect();
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected.join("\n") + "\n");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.starts_with("row 3:\nerror[E0307]: negative: -3.5"), "{errors}");
}

#[test]
fn without_a_schema_reals_that_are_set_are_parameters() {
    let data = std::env::temp_dir().join(format!("dmci-set-{}.csv", std::process::id()));
    std::fs::write(&data, "x\n2\n3\n").unwrap();
    let set = ["--set", "a=1.5", "--set", "n=2"];
    let file = data.to_str().unwrap().to_string();
    let args = [&["eval", "-e", "(* a (expt x n))", "--grad", "--data", &file], &set[..]].concat();
    let output = dmci(&args);
    std::fs::remove_file(&data).unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "value,d/da\n6.0,4.0\n13.5,9.0\n");
}

#[test]
fn wrong_tables_are_explained() {
    let data = std::env::temp_dir().join(format!("dmci-bad-{}.csv", std::process::id()));
    for (text, code) in [("x\n", "E0702"), ("x,y\n1\n", "E0702"), ("x,y\n,1\n", "E0702"), ("z\n1\n", "E0703")] {
        std::fs::write(&data, text).unwrap();
        let output = dmci(&["eval", "-e", "x", "--data", data.to_str().unwrap()]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(code) && output.status.code() == Some(1), "{text:?}: {errors}");
    }
    std::fs::remove_file(&data).unwrap();
    let output = dmci(&["eval", "-e", "x", "--data", "/nowhere.csv"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("E0901"));
}
