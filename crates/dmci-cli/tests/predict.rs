//! `predict`: new rows from a fit, with intervals.

#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value as Json;
use support::{Ran, Workspace, dmci};

/// Puromycin, treated: reaction rates of an enzyme (Treloar 1974; Bates and Watts 1988, table A1.3).
const PUROMYCIN: &str = "conc,rate\n0.02,76\n0.02,47\n0.06,97\n0.06,107\n0.11,123\n0.11,139\n0.22,159\n0.22,152\n\
                         0.56,191\n0.56,201\n1.10,207\n1.10,200\n";

fn space(name: &str) -> Workspace {
    let space = Workspace::new(name);
    space.write("puromycin.csv", PUROMYCIN);
    space.write("line.csv", "x,y\n0,1\n1,2\n2,4\n3,3\n4,6\n5,8\n");
    space
}

fn run(space: &Workspace, line: &str) -> Ran {
    let words = support::split(line);
    dmci(&words.iter().map(String::as_str).collect::<Vec<_>>(), "", space.path())
}

fn fine(space: &Workspace, line: &str) -> String {
    let ran = run(space, line);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{line}\n{}", ran.stderr);
    ran.stdout
}

/// The fields of a row of a table, as numbers.
fn numbers(table: &str, row: usize) -> Vec<f64> {
    table.lines().nth(row + 1).unwrap().split(',').map(|field| field.parse().unwrap()).collect()
}

fn close(found: &[f64], expected: &[f64], share: f64) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (x, y) in found.iter().zip(expected) {
        assert!((x - y).abs() <= share * y.abs().max(1.0), "{found:?} is not {expected:?}");
    }
}

/// Against the formulas of simple regression: with the mean of x and the sum of its squared deviations, the variance of
/// the line at x is s^2 (1/n + (x - mean)^2 / sum), that of a measurement s^2 more.
#[test]
fn a_line_has_the_intervals_of_regression() {
    let space = space("predict-line");
    fine(&space, "fit --formula 'y ~ a + b*x' --data line.csv --out fit.json --quiet");
    let table = fine(&space, "predict fit.json --at 'x=2.5,5' --level 0.9");
    let head = "x,y,y_error,y_confidence_low,y_confidence_high,y_prediction_low,y_prediction_high";
    assert_eq!(table.lines().next(), Some(head));
    // n = 6, mean of x 2.5, sum of squares of x 17.5, slope 23/17.5, residual sum of squares 3.7714285714, 4 degrees.
    let (slope, mean) = (23.0 / 17.5, 4.0);
    let noise = (3.771_428_571_428_572_f64 / 4.0).sqrt();
    // Student's quantile of 0.95 with 4 degrees of freedom, from tables.
    let quantile = 2.131_846_786_326_649;
    for (row, x) in [2.5, 5.0].into_iter().enumerate() {
        let y = mean + slope * (x - 2.5);
        let error = noise * (1.0 / 6.0 + (x - 2.5) * (x - 2.5) / 17.5_f64).sqrt();
        let wide = (error * error + noise * noise).sqrt();
        let expected =
            [x, y, error, y - quantile * error, y + quantile * error, y - quantile * wide, y + quantile * wide];
        close(&numbers(&table, row), &expected, 1e-6);
    }
}

/// Michaelis-Menten with the published estimates and errors of Bates and Watts: 212.7 (6.947), 0.06412 (0.008281), with
/// the correlation 0.7651 and s = 10.93 on 10 degrees of freedom. The intervals follow from these by hand.
#[test]
fn puromycin_has_the_published_band() {
    let space = space("predict-puromycin");
    fine(
        &space,
        "fit --formula 'rate ~ Vm*conc/(K + conc)' --start 'Vm=200, K=0.1' --data puromycin.csv --out fit.json --quiet",
    );
    let table = fine(&space, "predict fit.json --at conc=0.4");
    let (vm, k, s) = (212.683_7, 0.064_121_2, 10.933_66);
    let (by_vm, by_k): (f64, f64) = (0.4 / (k + 0.4), -vm * 0.4 / ((k + 0.4) * (k + 0.4)));
    let (e1, e2, correlation) = (6.947_15, 0.008_280_93, 0.765_084);
    let variance = by_vm * by_vm * e1 * e1 + by_k * by_k * e2 * e2 + 2.0 * by_vm * by_k * correlation * e1 * e2;
    // Student's quantile of 0.975 with 10 degrees of freedom, from tables.
    let (quantile, y) = (2.228_139, vm * by_vm);
    let (narrow, wide) = (quantile * variance.sqrt(), quantile * (variance + s * s).sqrt());
    close(&numbers(&table, 0), &[0.4, y, variance.sqrt(), y - narrow, y + narrow, y - wide, y + wide], 2e-4);
}

#[test]
fn groups_have_their_own_curves() {
    let space = space("predict-groups");
    let mut rows = String::from("site,x,y\n");
    for (site, slope) in [("north", 2.0), ("south", -1.0)] {
        for i in 0..8 {
            let x = f64::from(i);
            rows += &format!("{site},{x:?},{:?}\n", 1.0 + slope * x + if i % 2 == 0 { 0.1 } else { -0.1 });
        }
    }
    space.write("sites.csv", rows);
    space.write("sites.scm", "(params (a free 0.0) (b free 1.0 (per site))) (+ a (* b x))");
    fine(&space, "fit sites.scm --data sites.csv --target y --out fit.json --quiet");
    let table = fine(&space, "predict fit.json --at x=3 --interval confidence");
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(rows[0], "site,x,y,y_error,y_confidence_low,y_confidence_high");
    assert!(rows[1].starts_with("north,3,6.9") || rows[1].starts_with("north,3,7.0"), "{table}");
    assert!(rows[2].starts_with("south,3,-1.9") || rows[2].starts_with("south,3,-2.0"), "{table}");
    let ran = run(&space, "predict fit.json --at x=3,site=west");
    assert!(ran.code == 1 && ran.stderr.contains("west, which was not fitted"), "{}", ran.stderr);
}

#[test]
fn known_noise_comes_from_its_column() {
    let space = space("predict-sigma");
    space.write("sigma.csv", "x,y,s\n0,1,0.5\n1,2,0.5\n2,4,0.5\n3,3,1\n4,6,1\n5,8,1\n");
    fine(&space, "fit --formula 'y ~ a + b*x' --sigma s --data sigma.csv --out fit.json --quiet");
    space.write("new.csv", "x,s\n2,0.5\n2,3\n");
    let table = fine(&space, "predict fit.json --data new.csv --interval prediction");
    let (small, large) = (numbers(&table, 0), numbers(&table, 1));
    let half = |row: &[f64]| (row[4] - row[3]) / 2.0 / 1.959_963_984_540_054;
    close(&[half(&small), half(&large)], &[small[2].hypot(0.5), large[2].hypot(3.0)], 1e-9);
    let ran = run(&space, "predict fit.json --at x=2 --interval prediction");
    assert!(
        ran.code == 1 && ran.stderr.contains("E0812") && ran.stderr.contains("standard deviations"),
        "{}",
        ran.stderr
    );
    // Without a wish, the interval that can be given is given, and the other one explained.
    let ran = run(&space, "predict fit.json --at x=2");
    assert!(ran.code == 0 && ran.stderr.contains("W0704"), "{}", ran.stderr);
    assert_eq!(ran.stdout.lines().next(), Some("x,y,y_error,y_confidence_low,y_confidence_high"));
}

#[test]
fn rows_beyond_the_data_and_missing_ones_are_told() {
    let space = space("predict-beyond");
    fine(&space, "fit --formula 'y ~ a + b*x' --data line.csv --out fit.json --quiet");
    space.write("new.csv", "x,note\n3,\n7,a\nNA,b\n");
    let ran = run(&space, "predict fit.json --data new.csv --missing NA --json");
    let json: Json = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json["schema"], "dmci-predict-1");
    assert_eq!(json["targets"]["y"]["value"][2], Json::Null);
    assert!(json["targets"]["y"]["prediction"]["high"][1].as_f64().unwrap() > 11.0, "{json}");
    let codes: Vec<&Json> = json["warnings"].as_array().unwrap().iter().map(|w| &w["code"]).collect();
    assert_eq!(codes, ["W0702", "W0703"], "{json}");
    assert!(json["warnings"].to_string().contains("the fit saw x from 0 to 5"), "{json}");
}

#[test]
fn what_cannot_be_predicted_is_refused() {
    let space = space("predict-refused");
    fine(&space, "fit --formula 'y ~ a + b*x' --data line.csv --out fit.json --quiet");
    let text = std::fs::read_to_string(space.path().join("fit.json")).unwrap();
    let mut old: Json = serde_json::from_str(&text).unwrap();
    old["uncertainty"].as_object_mut().unwrap().remove("noise");
    space.write("old.json", old.to_string());
    for (line, code, says) in [
        ("predict old.json --at x=1 --interval confidence", 1, "fit again"),
        ("predict fit.json --at x=1 --interval sure", 2, "confidence, prediction"),
        ("predict fit.json --at x=1 --level 95", 2, "between 0 and 1"),
        ("predict fit.json --at x=1:2", 2, "FROM:TO:COUNT"),
        ("predict fit.json --at z=1", 1, "the fit reads x, which is no column of --at"),
        ("predict fit.json", 2, "--data"),
        ("predict fit.json --at x=1 --set a=2", 2, "fitted value"),
        ("predict line.csv --at x=1", 1, "E0906"),
    ] {
        let ran = run(&space, line);
        assert!(ran.code == code && ran.stderr.contains(says), "{line}: {} {}", ran.code, ran.stderr);
    }
    // An old file still predicts.
    let ran = run(&space, "predict old.json --at x=1");
    assert_eq!((ran.code, ran.stdout.lines().next()), (0, Some("x,y")), "{}", ran.stderr);
    fine(&space, "fit --formula 'y ~ a + b*x' --data line.csv --loss mae --optimizer cma --out mae.json --quiet");
    assert_eq!(fine(&space, "predict mae.json --at x=1").lines().next(), Some("x,y"));
}
