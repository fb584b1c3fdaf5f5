//! Twelve tasks on real data, from the command line, in at most three commands each, against published values or
//! against values that other programs computed.

#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value as Json;
use std::path::PathBuf;
use support::{Ran, Workspace, dmci};

/// A folder with a table of the shared data; none, with a message, if that is not there.
fn task(name: &str, table: &str) -> Option<Workspace> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let shared = std::env::var_os("DMCI_SHARED").map_or_else(|| PathBuf::from(root).join("../shared"), PathBuf::from);
    let Ok(text) = std::fs::read(shared.join("data").join(table)) else {
        eprintln!("skipped: {table} is not in {}", shared.display());
        return None;
    };
    let space = Workspace::new(name);
    space.write("data.csv", text);
    Some(space)
}

fn run(space: &Workspace, line: &str) -> Ran {
    let words = support::split(line);
    dmci(&words.iter().map(String::as_str).collect::<Vec<_>>(), "", space.path())
}

fn json(space: &Workspace, line: &str) -> Json {
    let ran = run(space, &format!("{line} --json"));
    assert_eq!(ran.code, 0, "{line}: {}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

/// A parameter, or its value in a group.
fn value<'a>(fit: &'a Json, name: &str) -> &'a Json {
    let parameter = &fit["parameters"][name.split('[').next().unwrap()];
    let many = parameter["numbers"].as_array().into_iter().flatten();
    many.chain([parameter]).find(|n| n["name"] == name || !name.contains('[')).unwrap()
}

/// The share of an expected value by which a found one may differ.
#[track_caller]
fn near(found: &Json, expected: f64, share: f64) {
    let found = found.as_f64().unwrap();
    assert!((found - expected).abs() <= share * expected.abs(), "{found} is not {expected}");
}

/// R, ?SSfol: subject 1 has lKe -2.9196, lKa 0.5752, lCl -3.9159.
#[test]
fn theophylline_by_subject() {
    let Some(space) = task("task-theophylline", "theophylline/theoph.csv") else { return };
    space.write(
        "absorption.scm",
        "(params (lke free -2.5 (per subject)) (lka free 0.5 (per subject)) (lcl free -3.0 (per subject)))
         (define ke (exp lke))
         (define ka (exp lka))
         (/ (* dose_mg_per_kg (exp (- (+ lke lka) lcl)) (- (exp (- (* ke time_h))) (exp (- (* ka time_h))))) (- ka ke))",
    );
    let fit = json(&space, "fit absorption.scm --data data.csv --target conc_mg_per_l --out fit.json");
    for (name, published) in [("lke[1]", -2.9196), ("lka[1]", 0.5752), ("lcl[1]", -3.9159)] {
        near(&value(&fit, name)["value"], published, 1e-4);
    }
    let ran = run(&space, "predict fit.json --at 'subject=1,2,time_h=0:24:5,dose_mg_per_kg=4'");
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 11), "{}", ran.stderr);
}

/// Bates and Watts (1988): 212.7 and 0.06412, 160.3 and 0.04771; sums of squares by SciPy: 1195.449 and 859.604.
#[test]
fn puromycin_by_state() {
    let Some(space) = task("task-puromycin", "puromycin/puromycin.csv") else { return };
    space.write(
        "michaelis.scm",
        "(params (vmax positive 200.0 100 (per state)) (km positive 0.1 0.1 (per state)))
         (/ (* vmax substrate_ppm) (+ km substrate_ppm))",
    );
    let fit = json(&space, "fit michaelis.scm --data data.csv --target rate_counts_per_min2 --loss sse");
    for (name, published) in [
        ("vmax[treated]", 212.68358),
        ("km[treated]", 0.064121),
        ("vmax[untreated]", 160.28),
        ("km[untreated]", 0.0477085),
    ] {
        near(&value(&fit, name)["value"], published, 1e-4);
    }
    near(&fit["loss"]["value"], 1195.44881 + 859.60429, 1e-6);
}

/// Least squares by SciPy with the same equations: beta 1.788106, gamma 0.455701, I(0) 2.09343, RSS 3589.851.
#[test]
fn influenza_in_a_school() {
    let Some(space) = task("task-school", "boarding_school_flu_1978/in_bed.csv") else { return };
    space.write(
        "sir.scm",
        "(params (beta positive 1.5) (gamma positive 0.4) (first positive 1.0))
         (define people 763.0)
         (define h 0.05)
         (define (slope u)
           (let ((new (/ (* beta (ref u 0) (ref u 1)) people))) (vec (- new) (- new (* gamma (ref u 1))))))
         (define (rk4 u)
           (let* ((a (slope u)) (b (slope (+ u (* (* 0.5 h) a)))) (c (slope (+ u (* (* 0.5 h) b))))
                  (d (slope (+ u (* h c)))))
             (+ u (* (/ h 6.0) (+ a (* 2.0 b) (* 2.0 c) d)))))
         (let step ((k (* 20 (- day 1))) (u (vec (- people first) first)))
           (if (= k 0) (ref u 1) (step (- k 1) (rk4 u))))",
    );
    let fit = json(&space, "fit sir.scm --data data.csv --target in_bed --loss sse");
    for (name, computed) in [("beta", 1.788106), ("gamma", 0.455701), ("first", 2.09343)] {
        near(&value(&fit, name)["value"], computed, 1e-4);
    }
    near(&fit["loss"]["value"], 3589.851, 1e-5);
}

/// Least squares on logarithms by SciPy, Runge-Kutta to 1e-10: RSS 2.018661.
#[test]
fn lynxes_and_hares() {
    let Some(space) = task("task-lynx", "lynx_hare/lynx_hare.csv") else { return };
    space.write(
        "lotka.scm",
        "(params (alpha positive 0.6) (beta positive 0.03 0.03) (gamma positive 0.8) (delta positive 0.025 0.03)
                 (hare0 positive 30.0 10) (lynx0 positive 5.0))
         (define dt 0.05)
         (define (f u)
           (let ((x (ref u 0)) (y (ref u 1))) (vec (* x (- alpha (* beta y))) (* y (- (* delta x) gamma)))))
         (define (step u)
           (let* ((a (f u)) (b (f (+ u (* (* 0.5 dt) a)))) (c (f (+ u (* (* 0.5 dt) b)))) (d (f (+ u (* dt c)))))
             (+ u (* (/ dt 6.0) (+ a (* 2.0 b) (* 2.0 c) d)))))
         (define (next u) (let loop ((k 20) (u u)) (if (= k 0) u (loop (- k 1) (step u)))))
         (let loop ((k 0) (u (vec hare0 lynx0)) (loss 0.0))
           (if (= k (vlen year))
               loss
               (loop (+ k 1) (next u)
                     (+ loss
                        (square (- (log (ref hare_thousand k)) (log (ref u 0))))
                        (square (- (log (ref lynx_thousand k)) (log (ref u 1))))))))",
    );
    let fit = json(&space, "fit lotka.scm --data data.csv --objective");
    near(&fit["loss"]["value"], 2.018661, 1e-5);
    for (name, computed) in [
        ("alpha", 0.540158),
        ("beta", 0.0271653),
        ("gamma", 0.796386),
        ("delta", 0.0236946),
        ("hare0", 34.6025),
        ("lynx0", 5.84451),
    ] {
        near(&value(&fit, name)["value"], computed, 1e-3);
    }
}

/// R, ?Loblolly: seed 329 has Asym 94.1282, R0 -8.2508, lrc -3.2176.
#[test]
fn growth_of_pines() {
    let Some(space) = task("task-pines", "loblolly/loblolly.csv") else { return };
    space.write(
        "asymptote.scm",
        "(params (asym free 90.0 (per seed)) (r0 free -8.0 (per seed)) (lrc free -3.0 (per seed)))
         (+ asym (* (- r0 asym) (exp (- (* (exp lrc) age_years)))))",
    );
    let fit = json(&space, "fit asymptote.scm --data data.csv --target height_ft");
    for (name, published) in [("asym[329]", 94.1282), ("r0[329]", -8.2508), ("lrc[329]", -3.2176)] {
        near(&value(&fit, name)["value"], published, 1e-5);
    }
}

/// A quadratic trend with two harmonics is linear: normal equations, solved by a program in Python.
#[test]
fn carbon_dioxide() {
    let Some(space) = task("task-co2", "mauna_loa_co2/co2_monthly.csv") else { return };
    let formula = "co2_ppm ~ a + b*(decimal_date - 1990) + c*(decimal_date - 1990)^2 + s1*sin(2*pi*(decimal_date - 1990)) \
                   + c1*cos(2*pi*(decimal_date - 1990)) + s2*sin(4*pi*(decimal_date - 1990)) \
                   + c2*cos(4*pi*(decimal_date - 1990))";
    let fit = json(&space, &format!("fit --formula '{formula}' --data data.csv --plot fit.svg"));
    for (name, computed) in [
        ("a", 352.11860097942906),
        ("b", 1.6047816112221704),
        ("c", 0.01348688997362895),
        ("s1", 2.6616289212016153),
        ("c1", -0.9844628262811418),
        ("s2", -0.4536969698159013),
        ("c2", 0.6624045690005215),
    ] {
        near(&value(&fit, name)["value"], computed, 1e-7);
    }
    near(&fit["rmse"], 0.8135388971594061, 1e-9);
}

/// The period by least squares for each of many periods in Python; Hathaway (2015) gives a mean cycle of 11.0 years.
#[test]
fn the_cycle_of_sunspots() {
    let Some(space) = task("task-sunspots", "sunspots/sunspot_monthly.csv") else { return };
    let formula = "sunspot_number ~ mean + size*sin(2*pi*decimal_year/period + phase)";
    let fit = json(&space, &format!("fit --formula '{formula}' --start 'period=10, mean=50, size=10' --data data.csv"));
    near(&value(&fit, "period")["value"], 11.002840163266033, 1e-6);
    near(&value(&fit, "mean")["value"], 81.87547008996732, 1e-6);
}

/// R, nls on BOD: 19.1426 and exp(-0.6328); the profile by golden sections and bisection in Python.
#[test]
fn oxygen_demand_with_profile_intervals() {
    let Some(space) = task("task-bod", "bod/bod.csv") else { return };
    let fit = json(
        &space,
        "fit --formula 'bod_mg_per_l ~ A*(1 - exp(-k*time_days))' --where 'A > 0, k > 0' --data data.csv --intervals profile",
    );
    for (name, estimate, low, high) in [
        ("A", 19.142575233946594, 14.049364162826183, 38.456197968068494),
        ("k", 0.5310913817997513, 0.13139774670241178, 1.8081695947344603),
    ] {
        let found = value(&fit, name);
        near(&found["value"], estimate, 1e-6);
        near(&found["interval"][0], low, 1e-3);
        near(&found["interval"][1], high, 1e-3);
    }
}

/// The efficiency of light use is a ratio of sums, computed in Python over the 1,810 days that have everything.
#[test]
fn photosynthesis_and_light() {
    let Some(space) = task("task-fluxnet", "fluxnet_frpue_gpp/frpue_daily.csv") else { return };
    let fit = json(
        &space,
        "fit --formula 'gpp_gc_m2_d ~ efficiency*ppfd_mol_m2_s*fapar' --data data.csv --missing 'NA,' --diagnose",
    );
    near(&value(&fit, "efficiency")["value"], 13965.947524421104, 1e-8);
    assert_eq!(fit["data"]["rows"], 1810);
    assert_eq!(fit["diagnosis"]["verdict"], "structure-failure");
}

/// AICc from sums of squares 25.99027 (nls) and 38.06929 (a line, in closed form): 43.82304 and 46.11315.
#[test]
fn two_models_of_oxygen_demand() {
    let Some(space) = task("task-compare", "bod/bod.csv") else { return };
    let found = json(
        &space,
        "compare --formula 'A*(1 - exp(-k*time_days))' --formula 'a + b*time_days' --data data.csv --target bod_mg_per_l",
    );
    assert_eq!(found["models"][0]["name"], "A*(1 - exp(-k*time_days))");
    near(&found["models"][0]["criteria"]["aicc"], 43.82303837887123, 1e-7);
    near(&found["models"][1]["criteria"]["aicc"], 46.11315242981742, 1e-7);
}

/// The errors of persistence and of the same month a year ago follow from the table alone.
#[test]
fn forecasts_of_carbon_dioxide() {
    let Some(space) = task("task-forecast", "mauna_loa_co2/co2_monthly.csv") else { return };
    let formula = "co2_ppm ~ a + b*(decimal_date - 1990) + c*(decimal_date - 1990)^2 + s1*sin(2*pi*decimal_date) \
                   + c1*cos(2*pi*decimal_date) + s2*sin(4*pi*decimal_date) + c2*cos(4*pi*decimal_date)";
    let line = format!(
        "forecast --formula '{formula}' --data data.csv --time decimal_date --origins 1990.0417:2020.0417:1 \
         --horizons 0.25,1 --baselines persistence,ar:3 --plot errors.svg"
    );
    let found = json(&space, &line);
    let text = std::fs::read_to_string(space.path().join("data.csv")).unwrap();
    let field = |line: &str, i: usize| line.split(',').nth(i).unwrap().parse::<f64>().unwrap();
    let series: Vec<(f64, f64)> = text.lines().skip(1).map(|l| (field(l, 1), field(l, 2))).collect();
    let january = |year: usize| series.iter().position(|(t, _)| (t - year as f64 - 1.0 / 24.0).abs() < 0.02).unwrap();
    for (horizon, months) in [(0.25, 3), (1.0, 12)] {
        let squares = (1990..=2020).map(|year| {
            let now = january(year);
            (series[now + months].1 - series[now].1).powi(2)
        });
        let expected = (squares.sum::<f64>() / 31.0).sqrt();
        let score = |name: &str| {
            let all = found["scores"].as_array().unwrap();
            all.iter().find(|s| s["forecaster"] == name && s["horizon"] == horizon).unwrap().clone()
        };
        near(&score("persistence")["rmse"], expected, 1e-9);
        assert_eq!(score("persistence")["count"], 31);
        let model = found["scores"][0]["forecaster"].as_str().unwrap().to_string();
        assert!(score(&model)["wis"].as_f64() < score("persistence")["wis"].as_f64(), "{:?}", score(&model));
    }
    assert!(found["ratio"]["interval"][1].as_f64().unwrap() < 1.0, "{}", found["conclusion"]);
}

/// A mean with known noise and a normal prior: the posterior is known exactly.
#[test]
fn posterior_of_a_mean() {
    let space = Workspace::new("task-posterior");
    space.write("data.csv", "s,y\n1.0,1.2\n1.0,0.7\n1.0,1.9\n1.0,1.4\n1.0,0.8\n1.0,1.6\n");
    space.write("mean.scm", "(params (mu free 0.0 (prior normal 0 2))) mu");
    let ran = run(&space, "sample mean.scm --data data.csv --target y --sigma s --json");
    if ran.stdout.contains("E0811") || ran.stderr.contains("E0811") {
        eprintln!("skipped: the sampler is not built in");
        return;
    }
    let found: Json = serde_json::from_str(&ran.stdout).unwrap();
    // Precisions add up: 6 measurements and a prior of a quarter.
    let (mean, sd) = (7.6 / 6.25, 1.0 / 6.25f64.sqrt());
    let mu = &found["parameters"]["mu"];
    assert!((mu["mean"].as_f64().unwrap() - mean).abs() < 0.05 * sd, "{mu}");
    near(&mu["sd"], sd, 0.05);
    assert!(mu["r_hat"].as_f64().unwrap() < 1.01 && mu["effective"].as_f64().unwrap() > 400.0, "{mu}");
}
