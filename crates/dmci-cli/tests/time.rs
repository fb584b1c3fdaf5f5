//! Limits of time of fits, and cells that fits do not need. A row of these programs takes long because it is walked:
//! nothing is recorded that others could use.

#![allow(clippy::unwrap_used)]

mod support;

use std::time::{Duration, Instant};
use support::{Ran, Workspace, dmci};

fn space(name: &str) -> Workspace {
    let space = Workspace::new(name);
    let rows: String = (0..20).map(|i| format!("{i}.5,{i}\n")).collect();
    space.write("rows.csv", format!("t,y\n{rows}"));
    // Half a second for a row, and one of them after the other: each has a path of its own.
    space.write(
        "slow.scm",
        "(params (a free 1.0))
         (let loop ((k 0)) (if (< k 1000000) (loop (+ k 1)) (* a (string->number (number->string t)))))",
    );
    space
}

fn timed(space: &Workspace, more: &[&str]) -> (Ran, Duration) {
    let args = ["fit", "slow.scm", "--data", "rows.csv", "--target", "y", "--quiet"];
    let began = Instant::now();
    let ran = dmci(&[&args[..], more].concat(), "", space.path());
    (ran, began.elapsed())
}

#[test]
fn the_time_of_a_run_is_for_all_rows_of_an_evaluation() {
    let space = space("time-rows");
    let (ran, took) = timed(&space, &["--time", "0.4"]);
    assert!(ran.code == 3 && ran.stderr.contains("E0405"), "{} {}", ran.code, ran.stderr);
    // One row is tried first, then all that are left: not 0.4 s for each of the 20.
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn the_limit_of_a_fit_ends_a_long_evaluation() {
    let space = space("time-limit");
    let (ran, took) = timed(&space, &["--time-limit", "0.5"]);
    assert!(ran.code == 3 && ran.stderr.contains("--time-limit"), "{} {}", ran.code, ran.stderr);
    assert!(took < Duration::from_secs(8), "{took:?}");
}

#[test]
fn empty_cells_in_columns_that_nobody_reads_do_not_stop_a_fit() {
    let space = Workspace::new("fit-empty-cells");
    space.write("rows.csv", "t,y,n,note\n0,1.0,,\n1,3.0,,a\n2,5.0,7,\n3,7.0,,\n");
    let program = "(params (a free 0.5) (b free 0.5)) (+ a (* b t))";
    let fit = |more: &[&str]| {
        let args = ["fit", "-e", program, "--data", "rows.csv", "--target", "y", "--quiet"];
        dmci(&[&args[..], more].concat(), "", space.path())
    };
    let ran = fit(&[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    // One that is read does matter.
    let ran = fit(&["--weights", "n"]);
    assert!(ran.code == 1 && ran.stderr.contains("n"), "{} {}", ran.code, ran.stderr);
}
