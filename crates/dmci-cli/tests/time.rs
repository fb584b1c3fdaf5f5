//! Limits of time of fits. A row of these programs takes long because it is walked: nothing is recorded that others
//! could use.

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
