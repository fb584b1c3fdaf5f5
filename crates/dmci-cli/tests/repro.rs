//! `dmci repro`: result files, their check, and what is wrong with damaged ones.

mod support;

use support::{Workspace, dmci};

#[test]
fn results_are_written_checked_and_drawn() {
    let space = Workspace::new("repro");
    let ran = dmci(&["repro", "d", "--quick", "--out", "results", "--plot", "figures"], "", space.path());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.contains("holds    both arms follow the same search, bit for bit"), "{}", ran.stdout);
    let checked = dmci(&["repro", "check", "--out", "results"], "", space.path());
    assert_eq!(checked.code, 0, "{}", checked.stdout);
    assert!(checked.stdout.contains("1 files, ") && checked.stdout.contains(" 0 wrong"), "{}", checked.stdout);
    let figure = std::fs::read_to_string(space.path().join("figures/d-cumulative.svg")).expect("a figure");
    assert!(figure.starts_with("<svg"));

    let file = space.path().join("results/d/results/d-f64-quick.json");
    let text = std::fs::read_to_string(&file).expect("a result file");
    std::fs::write(&file, text.replacen("\"yes\"", "\"maybe\"", 1)).expect("it is written");
    let checked = dmci(&["repro", "check", "--out", "results"], "", space.path());
    assert_eq!(checked.code, 1);
    assert!(checked.stdout.contains("maybe, but its measurements give yes"), "{}", checked.stdout);
}

#[test]
fn the_results_of_this_repository_are_right() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let checked = dmci(&["repro", "check"], "", root.as_ref());
    assert_eq!(checked.code, 0, "{}{}", checked.stdout, checked.stderr);
}

#[test]
fn an_unknown_experiment_is_a_usage_error() {
    let space = Workspace::new("repro-unknown");
    let ran = dmci(&["repro", "z"], "", space.path());
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("there is no experiment z"), "{}", ran.stderr);
}
