//! `dmci search --ode`: from a table to equations, the same with every number of threads, and after a kill.

#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value as Json;
use support::{Ran, Workspace, dmci};

fn table() -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/search/outbreak/data.csv");
    path.to_str().unwrap().to_string()
}

/// The result of a search without its times.
fn found(ran: &Ran) -> Json {
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let mut found: Json = serde_json::from_str(&ran.stdout).unwrap();
    found.as_object_mut().unwrap().remove("seconds");
    found
}

/// The example of `examples/search/outbreak`: who is healthy falls ill by meeting who is ill.
#[test]
fn an_outbreak_becomes_its_equations_with_any_number_of_threads() {
    let space = Workspace::new("search-outbreak");
    let table = table();
    let args =
        ["search", "--data", &table, "--missing", "NA,", "--ode", "healthy,ill", "--time", "day", "--group", "town"];
    let options = ["--ops", "+ - *", "--evaluations", "40", "--json", "--time-limit", "600", "--size", "11"];
    let run = |threads: &str| {
        let more = ["--threads", threads, "--write", "outbreak.scm", "--report", "page.html"];
        found(&dmci(&[&args[..], &options, &more].concat(), "", space.path()))
    };
    let whole = run("1");
    assert_eq!(whole, run("2"));
    assert_eq!(whole["verdict"]["finding"], "found", "{}", whole["verdict"]);
    let formula = whole["best"]["formula"].as_str().unwrap();
    assert!(formula.contains("dhealthy/dday: ") && formula.contains("dill/dday: "), "{formula}");
    // Counts are off by 3%, which is less than that of a deviation.
    assert!(whole["best"]["sealed"].as_f64().unwrap() < 0.01, "{}", whole["best"]);
    // What was written is an objective like any other, and it predicts.
    let fit = ["fit", "outbreak.scm", "--data", &table, "--missing", "NA,", "--objective", "--group", "town", "--json"];
    let fitted = dmci(&[&fit[..], &["--search-work", "0"]].concat(), "", space.path());
    assert_eq!(fitted.code, 0, "{}", fitted.stderr);
    let page = std::fs::read_to_string(space.path().join("page.html")).unwrap();
    assert!(page.contains("dill/dday"), "{page}");
}

#[test]
#[cfg(feature = "journal")]
fn a_killed_search_for_equations_goes_on() {
    let space = Workspace::new("search-ode-killed");
    let table = table();
    let args =
        ["search", "--data", &table, "--missing", "NA,", "--ode", "healthy,ill", "--time", "day", "--group", "town"];
    let options = ["--ops", "+ - *", "--evaluations", "40", "--json", "--time-limit", "600", "--size", "11"];
    let whole = found(&dmci(&[&args[..], &options, &["--threads", "1"]].concat(), "", space.path()));
    let begin = [&args[..], &options, &["--threads", "1", "--out", "run.dmci"]].concat();
    let resume = ["search", "--resume", "run.dmci", "--json", "--time-limit", "600", "--threads", "2"];
    for wait in [300, 700, 1500] {
        let begun = space.path().join("run.dmci").exists();
        let mut child = support::command(if begun { &resume } else { &begin }, space.path()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(wait));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let begun = space.path().join("run.dmci").exists();
    assert_eq!(found(&dmci(if begun { &resume } else { &begin }, "", space.path())), whole);
    assert_eq!(found(&dmci(&["search", "show", "run.dmci", "--json"], "", space.path())), whole);
}

#[test]
fn options_of_a_system_that_do_not_go_together_are_refused() {
    let space = Workspace::new("search-ode-options");
    space.write("rows.csv", "t,x\n1,2\n2,3\n3,5\n");
    let refused = |more: &[&str]| {
        let ran = dmci(&[&["search", "--data", "rows.csv"], more].concat(), "", space.path());
        assert_eq!(ran.code, 2, "{}{}", ran.stdout, ran.stderr);
        ran.stderr
    };
    assert!(refused(&["--ode", "x"]).contains("--time"));
    assert!(refused(&["--ode", "x", "--time", "t"]).contains("3 measurements"));
    assert!(refused(&["--ode", "x", "--time", "t", "--loss", "mae"]).contains("loss does not go with --ode"));
    assert!(refused(&["--ode", "x", "--time", "t", "--target", "x"]).contains("--target"));
}
