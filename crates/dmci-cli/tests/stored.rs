//! Fits that were written to files, read back by other commands.

#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value as Json;
use support::{Ran, Workspace, dmci};

/// Decay from a height that is known: each cell keeps another part of what it has.
const SERIES: &str = "(params (keep unit 0.5 (per cell)))
    (let loop ((k 0) (x 1.0) (L 0.0) (ys '()))
      (if (= k (vlen y)) (result (loss L) (yhat (reverse ys)) (steps k))
          (loop (+ k 1) (* keep x) (+ L (square (- (ref y k) x))) (cons x ys))))";

/// A line for each site, with a slope for all.
const LINES: &str = "(params (height free 0.0 (per site)) (slope free 1.0)) (+ height (* slope t))";

fn space(name: &str) -> Workspace {
    let space = Workspace::new(name);
    // Rows of the two cells in turn, one series longer than the other.
    let cell = |name: char, keep: f64, k: i32| format!("{name},{k},{:?}\n", keep.powi(k) + 0.01 * f64::from(k % 2));
    let rows: String =
        (0..8).map(|k| cell('A', 0.9, k) + &if k < 5 { cell('B', 0.6, k) } else { String::new() }).collect();
    space.write("series.csv", format!("cell,k,y\n{rows}"));
    space.write("series.scm", SERIES);
    space.write("lines.scm", LINES);
    space.write("lines.csv", "site,t,y\nn,0,1\nn,1,3.1\nn,2,5\ns,0,-4\ns,1,-2\ns,2,0.2\n");
    space
}

fn run(space: &Workspace, args: &[&str]) -> Ran {
    let ran = dmci(args, "", space.path());
    assert_eq!(ran.code, 0, "{args:?}\n{}", ran.stderr);
    ran
}

fn stored(space: &Workspace, name: &str) -> Json {
    serde_json::from_str(&std::fs::read_to_string(space.path().join(name)).unwrap()).unwrap()
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs().max(1e-3)
}

#[test]
fn an_objective_with_groups_gives_its_own_loss_again() {
    let space = space("stored-groups");
    let fit = ["fit", "series.scm", "--data", "series.csv", "--objective", "--group", "cell", "--target", "y"];
    run(&space, &[&fit[..], &["--quiet", "--out", "fit.json"]].concat());
    let json = stored(&space, "fit.json");
    assert_eq!(json["data"]["group"], "cell");
    let loss = json["loss"]["value"].as_f64().unwrap();
    let eval = ["eval", "--fit", "fit.json", "--data", "series.csv"];
    let text = run(&space, &eval).stdout;
    let said = text.lines().next().unwrap().strip_prefix("# loss ").unwrap().parse::<f64>().unwrap();
    assert!(near(said, loss), "{said} is not {loss}\n{text}");
    assert!(text.contains("\n# steps[A] 8.0\n# steps[B] 5.0\nyhat\n"), "{text}");
    // Predictions stand at the rows of their group: the third row is the second of A.
    let keep = json["parameters"]["keep"]["numbers"][0]["value"].as_f64().unwrap();
    let yhat: Vec<f64> = text.lines().skip_while(|l| *l != "yhat").skip(1).map(|l| l.parse().unwrap()).collect();
    assert!(yhat.len() == 13 && yhat[2] == keep && near(yhat[12], keep.powi(7)), "{text}");
    let json: Json = serde_json::from_str(&run(&space, &[&eval[..], &["--json"]].concat()).stdout).unwrap();
    assert!(near(json["results"]["loss"].as_f64().unwrap(), loss), "{json}");
    assert_eq!(json["results"]["yhat"].as_array().unwrap().len(), 13);
    assert_eq!((&json["groups"]["A"]["steps"], &json["groups"]["B"]["steps"]), (&Json::from(8), &Json::from(5)));
    // What the command line sets counts for every group.
    let set = run(&space, &[&eval[..], &["--set", "keep=1.0", "--json"]].concat()).stdout;
    let set: Json = serde_json::from_str(&set).unwrap();
    assert_eq!(set["groups"]["B"]["yhat"], serde_json::json!([1.0, 1.0, 1.0, 1.0, 1.0]));
    space.write("other.csv", "cell,k,y\nC,0,1\n");
    let ran = dmci(&["eval", "--fit", "fit.json", "--data", "other.csv"], "", space.path());
    assert!(ran.code == 1 && ran.stderr.contains("group C, which was not fitted"), "{}", ran.stderr);
}

#[test]
fn series_that_share_their_parameters_are_evaluated_one_by_one() {
    let space = space("stored-shared");
    space.write("series.scm", SERIES.replace(" (per cell)", ""));
    let fit = ["fit", "series.scm", "--data", "series.csv", "--objective", "--group", "cell", "--quiet"];
    run(&space, &[&fit[..], &["--out", "fit.json"]].concat());
    let mut json = stored(&space, "fit.json");
    let loss = json["loss"]["value"].as_f64().unwrap();
    let said = |file: &str, data: &str| {
        let text = run(&space, &["eval", "--fit", file, "--data", data, "--json"]).stdout;
        serde_json::from_str::<Json>(&text).unwrap()["results"]["loss"].as_f64().unwrap()
    };
    assert!(near(said("fit.json", "series.csv"), loss));
    // Another series is as good as those that were fitted.
    space.write("other.csv", "cell,k,y\nC,0,1\nC,1,1\n");
    assert!(said("fit.json", "other.csv") > 0.0);
    // A file that does not name the column: the one that has the groups is meant.
    json["data"].as_object_mut().unwrap().remove("group");
    space.write("old.json", json.to_string());
    assert!(near(said("old.json", "series.csv"), loss));
    let ran = dmci(&["eval", "--fit", "old.json", "--data", "other.csv"], "", space.path());
    assert!(ran.code == 1 && ran.stderr.contains("does not name the column"), "{}", ran.stderr);
}

#[test]
fn each_group_starts_where_it_ended() {
    let space = space("stored-starts");
    let fit = ["fit", "lines.scm", "--data", "lines.csv", "--target", "y", "--quiet", "--out"];
    run(&space, &[&fit[..], &["fit.json"]].concat());
    run(&space, &[&fit[..], &["again.json", "--start-from", "fit.json"]].concat());
    let (first, again) = (stored(&space, "fit.json"), stored(&space, "again.json"));
    for i in 0..2 {
        let number = |json: &Json, what: &str| json["parameters"]["height"]["numbers"][i][what].as_f64().unwrap();
        assert_eq!(number(&again, "start"), number(&first, "value"));
    }
    assert!(near(again["loss"]["start"].as_f64().unwrap(), first["loss"]["value"].as_f64().unwrap()), "{again}");
    // What the command line sets counts more, for all groups; a group that is new starts where the program says.
    space.write("more.csv", "site,t,y\nn,0,1\nn,1,3.1\ns,0,-4\ns,1,-2\nw,0,7\nw,1,9\n");
    let more = ["fit", "lines.scm", "--data", "more.csv", "--target", "y", "--start-from", "fit.json", "--json"];
    let starts = |extra: &[&str]| {
        let json: Json = serde_json::from_str(&run(&space, &[&more[..], extra].concat()).stdout).unwrap();
        (0..3).map(|i| json["parameters"]["height"]["numbers"][i]["start"].as_f64().unwrap()).collect::<Vec<f64>>()
    };
    assert_eq!(starts(&[])[2], 0.0);
    assert_eq!(starts(&["--set", "height=2.5"]), [2.5; 3]);
}

#[test]
fn groups_stay_as_they_were_if_only_other_parameters_are_fitted() {
    let space = space("stored-held");
    let fit = ["fit", "lines.scm", "--data", "lines.csv", "--target", "y", "--quiet"];
    run(&space, &[&fit[..], &["--out", "fit.json"]].concat());
    let again = ["--only", "slope", "--start-from", "fit.json", "--out", "again.json"];
    run(&space, &[&fit[..], &again].concat());
    let (first, again) = (stored(&space, "fit.json"), stored(&space, "again.json"));
    assert_eq!(again["parameters"]["height"]["fixed"], true);
    for i in 0..2 {
        let number = |json: &Json| json["parameters"]["height"]["numbers"][i]["value"].as_f64().unwrap();
        assert_eq!(number(&again), number(&first));
    }
    let loss = |json: &Json| json["loss"]["value"].as_f64().unwrap();
    assert!(near(loss(&again), loss(&first)), "{again}");
    // The file of such a fit is as good as any.
    space.write("new.csv", "site,t\ns,10\nn,10\n");
    let text = run(&space, &["eval", "--fit", "again.json", "--data", "new.csv"]).stdout;
    assert_eq!(text, run(&space, &["eval", "--fit", "fit.json", "--data", "new.csv"]).stdout);
    // Without another fit, the groups stay at the start that they share.
    run(&space, &[&fit[..], &["--only", "slope", "--out", "slope.json"]].concat());
    let slope = stored(&space, "slope.json")["parameters"]["slope"]["value"].as_f64().unwrap();
    let text = run(&space, &["eval", "--fit", "slope.json", "--data", "new.csv"]).stdout;
    assert_eq!(text, format!("value\n{:?}\n{:?}\n", 10.0 * slope, 10.0 * slope));
}

#[test]
fn an_objective_keeps_what_its_groups_have() {
    let space = space("stored-series");
    let program = SERIES.replace("(params ", "(params (first free 0.8) ").replace("(x 1.0)", "(x first)");
    space.write("series.scm", program);
    let fit = ["fit", "series.scm", "--data", "series.csv", "--objective", "--group", "cell", "--target", "y", "--out"];
    run(&space, &[&fit[..], &["fit.json", "--quiet"]].concat());
    let again = ["again.json", "--only", "first", "--start-from", "fit.json", "--set", "first=0.5", "--quiet"];
    run(&space, &[&fit[..], &again].concat());
    let (first, again) = (stored(&space, "fit.json"), stored(&space, "again.json"));
    assert!((again["loss"]["value"].as_f64().unwrap() - first["loss"]["value"].as_f64().unwrap()).abs() < 1e-9);
    assert_eq!(again["parameters"]["keep"]["numbers"][1]["name"], "keep[B]");
    assert!(again["rmse"].is_number(), "{again}");
    let text = run(&space, &["eval", "--fit", "again.json", "--data", "series.csv", "--json"]).stdout;
    let json: Json = serde_json::from_str(&text).unwrap();
    assert!(near(json["results"]["loss"].as_f64().unwrap(), again["loss"]["value"].as_f64().unwrap()), "{json}");
}
