//! `compare`: criteria, weights, and errors on unseen rows.

#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value as Json;
use support::{Ran, Workspace, dmci};

const X: [f64; 6] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
const Y: [f64; 6] = [1.0, 2.0, 4.0, 3.0, 6.0, 8.0];

fn space(name: &str) -> Workspace {
    let space = Workspace::new(name);
    let rows: Vec<String> = (0..6).map(|i| format!("{},{},{}", X[i], Y[i], ["a", "b", "c"][i / 2])).collect();
    space.write("line.csv", format!("x,y,site\n{}\n", rows.join("\n")));
    space.write("gap.csv", "x,z,y\n0,1,1\n1,NA,2\n2,2,4\n3,1,3\n4,5,6\n5,2,8\n");
    space.write("line.scm", "(params (a free 1.0) (b free 1.0)) (+ a (* b x))");
    space.write("mean.scm", "(params (a free 1.0)) a");
    space
}

fn run(space: &Workspace, line: &str) -> Ran {
    let words = support::split(line);
    dmci(&words.iter().map(String::as_str).collect::<Vec<_>>(), "", space.path())
}

fn json(space: &Workspace, line: &str) -> Json {
    let ran = run(space, &format!("{line} --json"));
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{line}");
    serde_json::from_str(&ran.stdout).unwrap()
}

fn near(found: &Json, expected: f64) {
    let found = found.as_f64().unwrap();
    assert!((found - expected).abs() < 1e-6 * expected.abs().max(1.0), "{found} is not {expected}");
}

/// Squared errors of rows that are left out, by the hat matrix: e / (1 - h). Gives them for a line and for a constant.
fn left_out() -> [Vec<f64>; 2] {
    let mean = |list: &[f64]| list.iter().sum::<f64>() / 6.0;
    let (mx, my) = (mean(&X), mean(&Y));
    let sxx: f64 = X.iter().map(|x| (x - mx) * (x - mx)).sum();
    let slope = X.iter().zip(&Y).map(|(x, y)| (x - mx) * (y - my)).sum::<f64>() / sxx;
    let square = |e: f64, h: f64| (e / (1.0 - h)) * (e / (1.0 - h));
    let line = (0..6).map(|i| {
        let d = X[i] - mx;
        square(Y[i] - my - slope * d, 1.0 / 6.0 + d * d / sxx)
    });
    [line.collect(), (0..6).map(|i| square(Y[i] - my, 1.0 / 6.0)).collect()]
}

#[test]
fn criteria_and_left_out_rows_are_those_of_regression() {
    let found = json(&space("compare-line"), "compare mean.scm line.scm --data line.csv --target y --cv loo");
    assert_eq!(found["schema"], "dmci-compare-1");
    let (line_found, mean_found) = (&found["models"][0], &found["models"][1]);
    assert_eq!((&line_found["name"], &mean_found["name"]), (&"line.scm".into(), &"mean.scm".into()));
    // statsmodels gives the line a log-likelihood of -7.120714374834743; the noise counts as a number here.
    let constant = -3.0 * ((std::f64::consts::TAU * 34.0 / 6.0).ln() + 1.0);
    let (aicc_mean, aicc_line) = (2.0 * 2.0 - 2.0 * constant + 4.0, 2.0 * 3.0 + 2.0 * 7.120714374834743 + 12.0);
    near(&mean_found["criteria"]["aicc"], aicc_mean);
    near(&line_found["criteria"]["aicc"], aicc_line);
    near(&mean_found["criteria"]["weight"], 1.0 / (1.0 + (0.5 * (aicc_mean - aicc_line)).exp()));
    let (bic_mean, bic_line) = (2.0 * 6f64.ln() - 2.0 * constant, 3.0 * 6f64.ln() + 2.0 * 7.120714374834743);
    near(&line_found["criteria"]["bic_weight"], 1.0 / (1.0 + (0.5 * (bic_line - bic_mean)).exp()));
    let [line, flat] = left_out();
    let mean = |list: &[f64]| list.iter().sum::<f64>() / 6.0;
    near(&line_found["unseen"]["rmse"], mean(&line).sqrt());
    near(&mean_found["unseen"]["rmse"], mean(&flat).sqrt());
    let differences: Vec<f64> = flat.iter().zip(&line).map(|(a, b)| a - b).collect();
    let average = mean(&differences);
    let error = (differences.iter().map(|d| (d - average) * (d - average)).sum::<f64>() / 30.0).sqrt();
    near(&mean_found["unseen"]["difference"]["mean"], average);
    near(&mean_found["unseen"]["difference"]["error"], error);
    assert_eq!(line_found["unseen"]["difference"], Json::Null);
    let conclusion = found["conclusion"].as_str().unwrap();
    assert!(conclusion.starts_with("line.scm is best by AICc, 3.19 below mean.scm (weight 0.83"), "{conclusion}");
    assert!(conclusion.contains("line.scm predicts unseen rows best"), "{conclusion}");
}

#[test]
fn formulas_fits_and_parts() {
    let space = space("compare-parts");
    let fitted = run(&space, "fit line.scm --data line.csv --target y --out fit.json --quiet");
    assert_eq!(fitted.code, 0, "{}", fitted.stderr);
    let ran = run(&space, "compare fit.json --formula a --formula 'a + b*x^2' --data line.csv --target y --cv 3");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let head = ran.stdout.lines().next().unwrap();
    let words: Vec<&str> = head.split_whitespace().collect();
    let expected =
        ["model", "numbers", "loss", "R2", "AICc", "above", "weight", "BIC", "weight", "unseen", "RMSE", "p"];
    assert_eq!(words, expected);
    assert!(ran.stdout.contains("\nfit.json ") && ran.stdout.contains("\na + b*x^2 "), "{}", ran.stdout);
    for cv in ["rolling:2", "group:site"] {
        let found = json(&space, &format!("compare mean.scm line.scm --data line.csv --target y --cv {cv}"));
        let counts: Vec<&Json> = found["models"].as_array().unwrap().iter().map(|m| &m["unseen"]["count"]).collect();
        let expected = if cv == "rolling:2" { 4 } else { 6 };
        assert!(counts.iter().all(|count| **count == expected), "{found}");
    }
    // Without --cv, rows that are held out are compared.
    let found = json(&space, "compare mean.scm line.scm --data line.csv --target y --holdout tail:0.4");
    assert_eq!(found["models"][0]["unseen"]["count"], 2);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let space = space("compare-refused");
    space.write("per.scm", "(params (a free 1.0 (per site))) a");
    for (line, code, says) in [
        ("compare mean.scm --formula 'a + b*z' --data gap.csv --target y --missing NA", 1, "is fitted to 5 rows"),
        ("compare --formula 'y ~ a' --formula 'log(y) ~ a' --data line.csv", 1, "on the same scale"),
        ("compare mean.scm per.scm --data line.csv --target y --cv group:site", 1, "parameters for each site"),
        ("compare mean.scm line.scm --data line.csv --target y --cv 1", 2, "rolling:5"),
        ("compare mean.scm line.scm --data line.csv --target y --cv 2 --holdout 0.3", 2, "both say"),
        ("compare --data line.csv --target y", 2, "MODEL"),
    ] {
        let ran = run(&space, line);
        assert!(ran.code == code && ran.stderr.contains(says), "{line}: {} {}", ran.code, ran.stderr);
    }
}
