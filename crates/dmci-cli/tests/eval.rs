//! `eval`: rows that fail, miss something, take too long, or are interrupted; and all of it as JSON.

#![allow(clippy::unwrap_used)]

mod support;

use serde_json::{Value as Json, json};
use std::time::{Duration, Instant};
use support::{Ran, Workspace, command, dmci};

/// Never ends if x is positive.
const ENDLESS: &str = "(let loop ((i 0) (s x)) (if (< s 0) s (loop (+ i 1) (* s 1.0))))";

fn space(name: &str) -> Workspace {
    let space = Workspace::new(name);
    space.write("rows.csv", "x,note\n1.0,\n2.0,b\n-4.0,c\n");
    space.write("zeros.csv", "x\n1\n0\n4\n0\n");
    space.write("gaps.csv", "x,y\n1.0,1\n,2\nNA,3\n4.0,4\n");
    space
}

fn eval(space: &Workspace, program: &str, args: &[&str]) -> Ran {
    dmci(&[&["eval", "-e", program], args].concat(), "", space.path())
}

fn json_of(ran: &Ran) -> Json {
    assert_eq!(ran.stderr, "");
    serde_json::from_str(&ran.stdout).expect("one JSON object")
}

#[test]
#[cfg(unix)]
fn an_interrupt_is_told_once() {
    let space = space("eval-interrupt");
    // Before there is a handler, an interrupt simply ends the process; on a busy machine that takes a while.
    let output = [700, 3_000, 12_000].map(Duration::from_millis).into_iter().find_map(|wait| {
        let child = command(&["eval", "-e", ENDLESS, "--data", "rows.csv"], space.path()).spawn().unwrap();
        std::thread::sleep(wait);
        let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(kill.is_ok_and(|status| status.success()));
        Some(child.wait_with_output().unwrap()).filter(|output| output.status.code().is_some())
    });
    let output = output.expect("a handler in time");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), stderr.matches("E0409").count()), (Some(130), 1), "{stderr}");
    assert!(stderr.contains("the run was cancelled; ") && stderr.contains(" of 3 rows have no value"), "{stderr}");
}

#[test]
fn rows_at_a_limit_give_its_exit_code() {
    let ran = eval(&space("eval-limit"), ENDLESS, &["--data", "rows.csv", "--fuel", "100k"]);
    assert!(ran.code == 3 && ran.stderr.matches("E0401").count() == 2, "{} {}", ran.code, ran.stderr);
    assert_eq!(ran.stdout, "value\nnan\nnan\n-4.0\n");
}

#[test]
fn time_is_for_all_rows_together() {
    let space = space("eval-time");
    space.write("many.csv", format!("x\n{}", "1.5\n".repeat(40)));
    let start = Instant::now();
    let ran = eval(&space, ENDLESS, &["--data", "many.csv", "--time", "0.5", "--fuel", "100G"]);
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("error[E0405]: all rows together took more than 0.5 s"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("E0409"), "{}", ran.stderr);
}

#[test]
fn json_has_values_gradients_outputs_and_failures() {
    let space = space("eval-json");
    let program = "(display x) (* a (/ 1 x))";
    let args = ["--data", "zeros.csv", "--set", "a=2.0", "--grad", "--output", "--json"];
    let ran = eval(&space, program, &args);
    let mut object = json_of(&ran);
    let failures = object["failures"].take();
    let expected = json!({
        "schema": "dmci-eval-1",
        "values": [2.0, null, 0.5, null],
        "gradients": {"a": [1.0, null, 0.25, null]},
        "outputs": ["1", "0", "4", "0"],
        "failures": null,
    });
    assert_eq!((ran.code, object), (1, expected));
    let rows: Vec<&Json> = failures.as_array().unwrap().iter().map(|f| &f["row"]).collect();
    assert_eq!(rows, [2, 4]);
    assert_eq!(failures[0]["error"][0]["code"], "E0501");
    let ran = eval(&space, "(* 2 x)", &["--data", "zeros.csv", "--json", "--out", "out.json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    let written: Json = serde_json::from_slice(&std::fs::read(space.path().join("out.json")).unwrap()).unwrap();
    assert_eq!(written, json!({"schema": "dmci-eval-1", "values": [2.0, 0.0, 8.0, 0.0], "failures": []}));
}

#[test]
fn what_may_be_missing_is_declared_and_gives_nan() {
    let space = space("eval-missing");
    let ran = eval(&space, "(* 2.0 x)", &["--data", "rows.csv"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "the program does not read note");
    let ran = eval(&space, "(* 2.0 x)", &["--data", "gaps.csv"]);
    assert!(ran.code == 1 && ran.stderr.contains("row 2 has nothing in column x"), "{}", ran.stderr);
    let ran = eval(&space, "(* 2.0 x)", &["--data", "gaps.csv", "--missing", "NA,"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "value\n2.0\nnan\nnan\n8.0\n"));
    assert!(ran.stderr.contains("gaps.csv: 2 rows give nan, because something is missing"), "{}", ran.stderr);
    let object = json_of(&eval(&space, "(* 2.0 x)", &["--data", "gaps.csv", "--missing", "NA,", "--json"]));
    assert_eq!(object["values"], json!([2.0, null, null, 8.0]));
    assert_eq!((&object["failures"], &object["warnings"][0]["code"]), (&json!([]), &json!("W0702")));
    let ran = eval(&space, "(* 2.0 x)", &["--data", "gaps.csv", "--missing", "NA,,1.0,4.0"]);
    assert!(ran.code == 1 && ran.stderr.contains("E0708"), "{}", ran.stderr);
}

#[test]
fn fields_and_settings_that_cannot_be_meant_are_named() {
    let space = space("eval-fields");
    space.write("text.csv", "x\n1.5\n2.5\n3.5m\n");
    let ran = eval(&space, "(* 2.0 x)", &["--data", "text.csv"]);
    let expected = "error[E0705]: text.csv: row 3 of column x must be a number, got \"3.5m\"";
    assert!(ran.code == 1 && ran.stderr.starts_with(expected), "{}", ran.stderr);
    let ran = eval(&space, "(* 2.0 x)", &["--data", "rows.csv", "--set", "x=5"]);
    let expected = "error[E0707]: x is a column of rows.csv and given with --set";
    assert!(ran.code == 1 && ran.stderr.starts_with(expected), "{}", ran.stderr);
}

#[test]
fn a_program_that_reads_no_column_gives_the_same_for_every_row() {
    let space = space("eval-constant");
    space.write("two.csv", "x\n1.5\n2.5\n");
    let constant = "(params (mu free 3.0)) mu";
    let ran = eval(&space, constant, &["--data", "two.csv", "--grad"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "value,d/dmu\n3.0,1.0\n3.0,1.0\n"), "{}", ran.stderr);
    let ran = eval(&space, "(* 2.0 y)", &["--data", "two.csv"]);
    assert!(ran.code == 1 && ran.stderr.starts_with("error[E0703]"), "{}", ran.stderr);
}

/// The arm that no row takes was tried all the same; its message was mixed with that of the arm that was taken.
#[test]
fn an_error_in_an_arm_that_no_row_takes_is_not_reported() {
    let program = "(if (< x 0) (error \"mole fraction out of range\" x) (car 5))";
    let ran = eval(&space("eval-arm"), program, &["--data", "zeros.csv"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("error[E0303]: car expected a pair, got 5").count(), 4, "{}", ran.stderr);
    assert_eq!(ran.stdout, "value\nnan\nnan\nnan\nnan\n");
}

#[test]
fn derivatives_by_lists_and_by_columns() {
    let space = space("eval-wrt");
    let args = ["--data", "zeros.csv", "--grad", "--set", "w=(2.0 (3.0 4.0))", "--wrt", "w,x"];
    let ran = eval(&space, "(+ (* (car w) x) (* x x (cadr (cadr w))))", &args);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let expected = "value,d/dw.0,d/dw.1.0,d/dw.1.1,d/dx\n6.0,1.0,0.0,1.0,10.0\n0.0,0.0,0.0,0.0,2.0\n\
                    72.0,4.0,0.0,16.0,34.0\n0.0,0.0,0.0,0.0,2.0\n";
    assert_eq!(ran.stdout, expected);
    space.write("texts.csv", "x,note\n1,a\n2,b\n");
    let ran = eval(&space, "(* x (string-length note))", &["--data", "texts.csv", "--grad", "--wrt", "note"]);
    assert!(ran.code == 1 && ran.stderr.contains("E0705"), "{}", ran.stderr);
    let ran = eval(&space, "(* x a)", &["--data", "rows.csv", "--grad", "--wrt", "a"]);
    assert!(ran.code == 1 && ran.stderr.contains("a has no number to differentiate at"), "{}", ran.stderr);
}

#[test]
fn a_name_may_be_a_keyword_and_is_set_once() {
    let space = space("eval-set");
    let ran = eval(&space, "(* delay x)", &["--data", "zeros.csv", "--set", "delay=2.0"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "value\n2.0\n0.0\n8.0\n0.0\n"), "{}", ran.stderr);
    let ran = eval(&space, "(* a x)", &["--data", "zeros.csv", "--set", "a=2.0", "--set", "a=3.0"]);
    assert!(ran.code == 2 && ran.stderr.contains("a is set twice"), "{}", ran.stderr);
}

#[test]
fn columns_of_a_table_are_no_unbound_names() {
    let space = space("check-columns");
    space.write("m.scm", "(params (a free 1.0))\n(* a time_days time_dayz x)\n");
    space.write("t.csv", "time_days,x\n1,\n2,4\n");
    let ran = dmci(&["check", "m.scm", "--data", "t.csv"], "", space.path());
    assert!(ran.code == 1 && ran.stdout.starts_with("m.scm: 1 problem\n"), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("did you mean time_days?"), "{}", ran.stderr);
    let ran = dmci(&["check", "m.scm"], "", space.path());
    assert!(ran.stdout == "m.scm: 3 problems\n" && !ran.stderr.contains("did you mean"), "{}", ran.stderr);
}

#[test]
fn a_fit_of_several_targets_is_evaluated() {
    let space = space("eval-targets");
    space.write("two.csv", "x,u,v\n0,1,2\n1,3.1,1\n2,5,0\n3,6.9,-1\n");
    let program = "(params (a free 1.0) (b free 0.5)) (list (+ a (* b x)) (- 2.0 (* x a)))";
    let fit = ["fit", "-e", program, "--data", "two.csv", "--target", "u,v", "--quiet", "--out", "f.json"];
    let ran = dmci(&[&fit[..], &["--plot", "f.svg"]].concat(), "", space.path());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let picture = std::fs::read_to_string(space.path().join("f.svg")).unwrap();
    assert!([">u over x<", ">v over x<"].iter().all(|panel| picture.contains(panel)), "{picture}");
    let args = ["eval", "--fit", "f.json", "--data", "two.csv", "--grad"];
    let ran = dmci(&args, "", space.path());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!((lines.len(), lines[0]), (5, "u,v,du/da,du/db,dv/da,dv/db"));
    assert!(lines[4].ends_with(",1.0,3.0,-3.0,0.0"), "{}", ran.stdout);
    let json = json_of(&dmci(&[&args[..], &["--json"]].concat(), "", space.path()));
    assert_eq!(json["values"]["v"].as_array().unwrap().len(), 4);
    assert_eq!(json["gradients"]["u"]["b"], json!([0.0, 1.0, 2.0, 3.0]));
}

/// A name that stands only in data is not bound to a column.
#[test]
fn a_column_that_only_data_mention_is_explained() {
    let program = "(+ x (eval (read (open-input-string \"(* 2 y)\")) (interaction-environment)))";
    let ran = eval(&space("eval-data"), program, &["--data", "gaps.csv", "--missing", "NA,"]);
    assert!(
        ran.code == 1 && ran.stderr.contains("y is a column of gaps.csv, which the program mentions only"),
        "{}",
        ran.stderr
    );
    let program = "(define y-column y) (+ x (eval (read (open-input-string \"(* 2 y)\")) (interaction-environment)))";
    let ran = eval(&space("eval-data-2"), program, &["--data", "gaps.csv", "--missing", "NA,"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "value\n3.0\nnan\nnan\n12.0\n"), "{}", ran.stderr);
}
