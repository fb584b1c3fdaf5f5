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

fn space(name: &str) -> Workspace {
    let space = Workspace::new(name);
    // Rows of the two cells in turn, one series longer than the other.
    let cell = |name: char, keep: f64, k: i32| format!("{name},{k},{:?}\n", keep.powi(k) + 0.01 * f64::from(k % 2));
    let rows: String =
        (0..8).map(|k| cell('A', 0.9, k) + &if k < 5 { cell('B', 0.6, k) } else { String::new() }).collect();
    space.write("series.csv", format!("cell,k,y\n{rows}"));
    space.write("series.scm", SERIES);
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
    assert!(yhat.len() == 13 && yhat[2] == keep && yhat[12] == keep.powi(7), "{text}");
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
