//! `forecast`: a model beside baselines, scored from several origins.

#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value as Json;
use support::{Ran, Workspace, dmci};

fn run(space: &Workspace, line: &str) -> Ran {
    let words = support::split(line);
    dmci(&words.iter().map(String::as_str).collect::<Vec<_>>(), "", space.path())
}

fn json(space: &Workspace, line: &str) -> Json {
    let ran = run(space, &format!("{line} --json"));
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{line}");
    serde_json::from_str(&ran.stdout).unwrap()
}

/// A season of four steps on a rising line, with noise.
fn season(t: usize) -> f64 {
    let t = t as f64;
    let noise = ((t * 7919.0 + 13.0) % 101.0 / 101.0 - 0.5) * 2.0;
    let y = 10.0 + 0.3 * t + 3.0 * (std::f64::consts::TAU * t / 4.0 + 0.4).sin() + noise;
    (y * 1e4).round() / 1e4
}

fn space(name: &str) -> Workspace {
    let space = Workspace::new(name);
    let rows: String = (0..40).map(|t| format!("{t},{}\n", season(t))).collect();
    space.write("season.csv", format!("t,y\n{rows}"));
    space.write("line.scm", "(params (a free 1.0) (b free 1.0)) (+ a (* b t))");
    space
}

const SEASON: &str = "forecast line.scm --data season.csv --target y --time t --origins 20:35:2";

/// The scores of a forecaster: count, RMSE, MAE, WIS and coverages.
fn scores(found: &Json, forecaster: &str, horizon: Option<f64>) -> (u64, Vec<Option<f64>>) {
    let is_meant = |s: &&Json| s["forecaster"] == forecaster && s["horizon"].as_f64() == horizon;
    let own = found["scores"].as_array().unwrap().iter().find(is_meant).unwrap();
    let numbers = ["rmse", "mae", "wis"].map(|name| own[name].as_f64());
    let coverage = own["coverage"].as_array().unwrap().iter().map(Json::as_f64);
    (own["count"].as_u64().unwrap(), numbers.into_iter().chain(coverage).collect())
}

/// Computed by a program in Python that shares nothing with this one: least squares in closed form with Student's
/// quantiles for the line, normal equations for the autoregression, sorted past errors for the intervals.
#[test]
fn scores_are_those_of_another_program() {
    let line = format!(
        "{SEASON} --horizons 1,3 --levels 0.5,0.8 --baselines persistence,damped:0.9,climatology:4,anomaly:0.8:4,ar:2"
    );
    let found = json(&space("forecast-scores"), &line);
    assert_eq!(found["schema"], "dmci-forecast-1");
    assert_eq!(found["origins"], serde_json::json!([20.0, 22.0, 24.0, 26.0, 28.0, 30.0, 32.0, 34.0]));
    for (forecaster, horizon, count, numbers) in EXPECTED {
        let (own, got) = scores(&found, forecaster, horizon);
        assert_eq!(own, count, "{forecaster} {horizon:?}");
        for (got, expected) in got.iter().zip(numbers) {
            let got = got.unwrap();
            assert!((got - expected).abs() < 1e-6, "{forecaster} {horizon:?}: {got} is not {expected}");
        }
    }
}
const EXPECTED: [(&str, Option<f64>, u64, [f64; 5]); 18] = [
    ("line.scm", None, 16, [2.94081031, 2.87994966, 1.72892611, 0.0, 0.5625]),
    ("line.scm", Some(1.0), 8, [3.13606005, 3.08758488, 1.89243814, 0.0, 0.375]),
    ("line.scm", Some(3.0), 8, [2.73164015, 2.67231444, 1.56541408, 0.0, 0.75]),
    ("persistence", None, 16, [3.26451988, 2.88818125, 1.86738075, 0.6875, 0.75]),
    ("persistence", Some(1.0), 8, [2.09992899, 1.844925, 1.300684, 1.0, 1.0]),
    ("persistence", Some(3.0), 8, [4.11150561, 3.9314375, 2.4340775, 0.375, 0.5]),
    ("damped:0.9", None, 16, [5.30196238, 4.10261449, 2.83637106, 0.5625, 0.5625]),
    ("damped:0.9", Some(1.0), 8, [3.02635934, 2.4839425, 1.7169866, 0.625, 0.625]),
    ("damped:0.9", Some(3.0), 8, [6.86023027, 5.72128647, 3.95575552, 0.5, 0.5]),
    ("climatology:4", None, 16, [4.690672, 4.59467603, 2.94314284, 0.0, 0.1875]),
    ("climatology:4", Some(1.0), 8, [4.6137731, 4.51929089, 2.85464592, 0.0, 0.25]),
    ("climatology:4", Some(3.0), 8, [4.7663304, 4.67006117, 3.03163977, 0.0, 0.125]),
    ("anomaly:0.8:4", None, 16, [2.00441209, 1.7304824, 1.1218052, 0.25, 0.5625]),
    ("anomaly:0.8:4", Some(1.0), 8, [1.29505497, 1.09533313, 0.718400252, 0.375, 0.75]),
    ("anomaly:0.8:4", Some(3.0), 8, [2.52154085, 2.36563167, 1.52521016, 0.125, 0.375]),
    ("ar:2", None, 16, [4.59993757, 3.73323475, 2.7170907, 0.375, 0.5625]),
    ("ar:2", Some(1.0), 8, [3.33889809, 2.78598692, 1.93336723, 0.375, 0.625]),
    ("ar:2", Some(3.0), 8, [5.58306465, 4.68048259, 3.50081417, 0.375, 0.5]),
];

/// Six cells decay alike from levels of their own; four are known, two are forecast.
fn cells(name: &str) -> Workspace {
    let space = Workspace::new(name);
    let mut rows = String::from("cell,level,week,test,y\n");
    for (g, cell) in ["a", "b", "c", "d", "e", "f"].iter().enumerate() {
        for week in 0..20 {
            let test = if g < 4 { "no" } else { "yes" };
            rows += &format!("{cell},{},{week},{test},{:?}\n", g + 1, decayed(g, week));
        }
    }
    space.write("cells.csv", rows);
    space.write("row.scm", "(params (k positive 0.5) (x0 positive 1.0 (per cell))) (* x0 (exp (- (* k week))))");
    let series = "(params (k positive 0.5) (x0 positive 1.0 (per cell)))
        (let loop ((i 0) (loss 0.0) (said '()))
          (if (= i (vlen y))
              (result (loss loss) (yhat (reverse said)))
              (let ((f (* x0 (exp (- (* k (ref week i)))))))
                (loop (+ i 1) (+ loss (square (- (ref y i) f))) (cons f said)))))";
    space.write("series.scm", series);
    space
}

fn decayed(cell: usize, week: usize) -> f64 {
    (cell + 1) as f64 * (-0.2 * week as f64).exp()
}

#[test]
fn groups_that_are_known_teach_and_one_parameter_is_fitted_again() {
    let space = cells("forecast-groups");
    let common = "--data cells.csv --target y --time week --group cell --origins week:4:12:4 --horizons 1,2 \
                  --holdout column:test --refit x0 --baselines climatology,anomaly:0.5,persistence";
    for (model, objective) in [("row.scm", ""), ("series.scm", "--objective")] {
        let found = json(&space, &format!("forecast {model} {objective} {common}"));
        // k comes from all cells, x0 from what is known of each: the data have no noise.
        assert!(scores(&found, model, None).1[0].unwrap() < 1e-7, "{model}: {:?}", scores(&found, model, None));
        assert_eq!(scores(&found, model, None).0, 3 * 2 * 2);
        // The mean of the four known cells, and half of the present difference from it a week later.
        let mean = |week: usize| (0..4).map(|g| decayed(g, week)).sum::<f64>() / 4.0;
        let errors = |value: &dyn Fn(usize, usize) -> f64| {
            let places = [4, 5].into_iter().flat_map(|g| [4, 8, 12].map(|o| (g, o)));
            let squares: Vec<f64> = places.map(|(g, o)| (value(g, o) - decayed(g, o + 1)).powi(2)).collect();
            (squares.iter().sum::<f64>() / 6.0).sqrt()
        };
        for (name, expected) in [
            ("climatology", errors(&|_, o| mean(o + 1))),
            ("anomaly:0.5", errors(&|g, o| mean(o + 1) + 0.5 * (decayed(g, o) - mean(o)))),
            ("persistence", errors(&|g, o| decayed(g, o))),
        ] {
            let got = scores(&found, name, Some(1.0)).1[0].unwrap();
            assert!((got - expected).abs() < 1e-12, "{name}: {got} is not {expected}");
        }
    }
}

/// An autoregression as a program: where y is not known yet, it goes on from its own forecast.
#[test]
fn programs_do_not_see_what_they_forecast() {
    let space = space("forecast-blind");
    let loop_of = |next: &str| {
        format!(
            "(params (c free 0.0) (a free 0.5) (b free 0.1))
             (let loop ((k 2) (one (ref y 1)) (two (ref y 0)) (loss 0.0) (said (list (ref y 1) (ref y 0))))
               (if (= k (vlen y))
                   (result (loss loss) (yhat (reverse said)))
                   (let* ((f (+ c (* a one) (* b two))) (now {next}))
                     (loop (+ k 1) now one (+ loss (square (- now f))) (cons f said)))))"
        )
    };
    space.write("ar.scm", loop_of("(if (nan? (ref y k)) f (ref y k))"));
    space.write("peeks.scm", loop_of("(ref y k)"));
    let rest = "--data season.csv --objective --target y --time t --origins 20:35:2 --horizons 3 --baselines ar:2";
    let found = json(&space, &format!("forecast ar.scm {rest}"));
    // The same model as the baseline, fitted by the program's own loss.
    for (own, baseline) in scores(&found, "ar.scm", None).1.iter().zip(scores(&found, "ar:2", None).1).take(2) {
        assert!((own.unwrap() - baseline.unwrap()).abs() < 1e-5, "{own:?} is not {baseline:?}");
    }
    // Three steps ahead, a program that reads on has nothing to say.
    let ran = run(&space, &format!("forecast peeks.scm {rest}"));
    assert!(ran.code == 1 && ran.stderr.contains("a number for every row"), "{} {}", ran.code, ran.stderr);
}

/// Two groups that follow autoregressions of their own, and one that falls to 0 and stays there.
#[test]
fn autoregressions_are_those_of_their_group_and_not_negative_where_the_data_are_not() {
    let space = Workspace::new("forecast-own");
    let (mut fast, mut slow) = (10.0, 1.0);
    let mut rows = String::from("t,g,y\n");
    for t in 0..16 {
        rows += &format!("{t},a,{fast:?}\n{t},b,{slow:?}\n");
        (fast, slow) = (0.5 * fast + 1.0, 0.9 * slow + 0.5);
    }
    space.write("own.csv", &rows);
    let rest = "--time t --origins 8:12:1 --horizons 1,2 --baselines ar:1,ar:1:pooled";
    let found = json(&space, &format!("forecast --formula 'y ~ c' --data own.csv --group g {rest}"));
    let error = |name: &str| scores(&found, name, None).1[0].unwrap();
    assert!(error("ar:1") < 1e-9 && error("ar:1:pooled") > 0.05, "{} {}", error("ar:1"), error("ar:1:pooled"));
    // A line that ends at its lowest value: the autoregression goes on to -2, or to -7 where numbers below 0 are known.
    for (shift, expected) in [(0.0, 0.0), (-5.0, 2.0)] {
        let row = |t: i32| format!("{t},{:?}\n", (10.0 - f64::from(t)).max(0.0) + shift);
        space.write("falling.csv", format!("t,y\n{}", (0..16).map(row).collect::<String>()));
        let rest = "--time t --origins 9:9:1 --horizons 3 --baselines ar:1";
        let found = json(&space, &format!("forecast --formula 'y ~ c' --data falling.csv {rest}"));
        let error = scores(&found, "ar:1", None).1[1].unwrap();
        assert!((error - expected).abs() < 1e-9, "{shift} {error}");
    }
}

#[test]
fn forecasts_are_written_and_drawn() {
    let space = space("forecast-files");
    let ran = run(&space, &format!("{SEASON} --horizons 1,2 --out all.csv --plot errors.svg"));
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.contains("line.scm") && ran.stdout.contains("ratio of RMSE"), "{}", ran.stdout);
    let rows = std::fs::read_to_string(space.path().join("all.csv")).unwrap();
    assert_eq!(rows.lines().count(), 1 + 8 * 2 * 2);
    let first = rows.lines().nth(2).unwrap();
    assert!(first.starts_with(&format!("persistence,,20.0,1.0,21.0,{:?},{:?},", season(21), season(20))), "{first}");
    let drawn = std::fs::read_to_string(space.path().join("errors.svg")).unwrap();
    assert!(drawn.starts_with("<svg") && drawn.contains("persistence") && drawn.contains("horizon"));
}

#[test]
fn what_cannot_be_forecast_is_refused() {
    let space = cells("forecast-refused");
    space.write("line.csv", "t,y\n0,1\n2,2\n4,3\n6,5\n8,4\n10,6\n");
    let line = "forecast --formula 'y ~ a + b*t' --data line.csv --time t";
    let cells = "forecast row.scm --data cells.csv --target y --time week";
    for (line, code, says) in [
        (format!("{line} --origins 4"), 2, "COLUMN:FROM:TO:STEP"),
        (format!("{line} --origins 5:7:2"), 1, "no row is an origin of 5:7:2"),
        (format!("{line} --origins 4:8:2 --horizons 1"), 1, "usual step is 2"),
        (format!("{line} --origins 4:8:2 --horizons 2 --baselines naive"), 2, "there is no baseline naive"),
        (format!("{line} --origins 4:8:2 --horizons 2 --baselines climatology"), 2, "climatology:12"),
        (format!("{line} --origins 4:8:2 --horizons 0"), 2, "above 0"),
        (format!("{line} --origins 4:8:2 --horizons 2 --levels 95"), 2, "between 0 and 1"),
        (format!("{cells} --origins 4:8:2"), 2, "two rows have the time 0"),
        (format!("{cells} --group cel --origins 4:8:2"), 1, "cell"),
        (format!("{cells} --group cell --origins 4:8:2 --holdout 0.3"), 2, "which groups are forecast"),
    ] {
        let ran = run(&space, &line);
        assert!(ran.code == code && ran.stderr.contains(says), "{line}: {} {}", ran.code, ran.stderr);
    }
}

#[test]
fn the_limit_of_time_has_a_name_of_its_own() {
    let space = space("forecast-limit");
    space.write("endless.scm", "(params (a free 1.0)) (let loop ((i 0)) (if (= i 0.5) (* a t) (loop (+ i 1))))");
    let ran = run(&space, &format!("{} --timeout 0.2", SEASON.replace("line.scm", "endless.scm")));
    assert!(ran.code != 0 && ran.stderr.contains("raise the limit with --timeout"), "{} {}", ran.code, ran.stderr);
}
