//! Searches for the right-hand sides of ODEs: from a table to a report, several runs, gaps, noise, sealed rows.

use dmci::{Program, RunOptions};
use dmci_fit::search::Need;
use dmci_fit::{FitRequest, Inputs, Table};
use dmci_search::general::{General, Sources};
use dmci_search::judge::{Finding, Judgement, judge};
use dmci_search::problem::SearchProblem;
use dmci_search::search::{Proposer, Search, Settings};
use dmci_search::worker::Workshop;
use dmci_stats::random::Stream;

fn sources(csv: &str) -> Sources {
    let missing = vec![String::new()];
    let table = Table::from_bytes("series.csv", csv.as_bytes(), &missing).expect("a table");
    Sources { table, seeds: Vec::new(), baselines: Vec::new(), start_from: None, run: RunOptions::default() }
}

fn workshop(problem: &str, csv: &str) -> Workshop {
    let problem = SearchProblem::from_toml(problem).expect("settings");
    let general = General::new(&problem, sources(csv)).unwrap_or_else(|report| panic!("{report}"));
    let limits = problem.limits().expect("operations");
    Workshop::of_seeds(general, limits.operations, limits.size)
}

fn run(workshop: &Workshop, evaluations: u64) -> (Search, Judgement) {
    let settings = Settings {
        islands: 2,
        evaluations: Some(evaluations),
        proposers: vec![(Proposer::Library, 2.0), (Proposer::Grammar, 1.0)],
        exact_at: workshop.data.exact,
        ..Settings::default()
    };
    let mut search = Search::new(settings, workshop.general().expect("it has seeds").seeds());
    let mut scorer = workshop.scorer();
    while let Some(work) = search.ask() {
        assert!(search.tell(workshop.run(&work, &mut scorer)));
    }
    let validated = search.counts().values().map(|c| c.validated).sum();
    let judgement = judge(&mut scorer, search.front(), &[], validated, 0).expect("something was fitted");
    (search, judgement)
}

/// Steps of Runge and Kutta, small enough to count as exact.
fn solve(rates: impl Fn(f64, &[f64]) -> Vec<f64>, start: &[f64], times: &[f64]) -> Vec<Vec<f64>> {
    let mut y = start.to_vec();
    let mut found = vec![y.clone()];
    for pair in times.windows(2) {
        let h = (pair[1] - pair[0]) / 50.0;
        for i in 0..50 {
            let t = pair[0] + h * f64::from(i);
            let plus = |k: &[f64], by: f64| y.iter().zip(k).map(|(y, k)| y + by * k).collect::<Vec<f64>>();
            let a = rates(t, &y);
            let b = rates(t + 0.5 * h, &plus(&a, 0.5 * h));
            let c = rates(t + 0.5 * h, &plus(&b, 0.5 * h));
            let d = rates(t + h, &plus(&c, h));
            y = (0..y.len()).map(|j| y[j] + h / 6.0 * (a[j] + 2.0 * b[j] + 2.0 * c[j] + d[j])).collect();
        }
        found.push(y.clone());
    }
    found
}

fn logistic() -> String {
    let times: Vec<f64> = (0..80).map(|i| 0.15 * f64::from(i)).collect();
    let rows = solve(|_, y| vec![0.8 * y[0] - 0.2 * y[0] * y[0]], &[0.3], &times);
    let lines = times.iter().zip(rows).map(|(t, y)| format!("{t},{}\n", y[0]));
    std::iter::once("t,n\n".to_string()).chain(lines).collect()
}

#[test]
fn a_logistic_table_becomes_its_equation_and_sealed_rows_confirm_it() {
    let workshop = workshop("[search]\node = ['n']\ntime = 't'\noperations = '+ - * /'", &logistic());
    // A quarter of the rows, the last ones, is sealed.
    assert_eq!((workshop.data.open.len(), workshop.data.sealed.len()), (60, 20));
    let (search, found) = run(&workshop, 60);
    assert_eq!(found.finding, Finding::Found, "{}", found.text);
    assert!(found.best.sealed.is_some_and(|s| s < 1e-7), "{}", found.text);
    let formula = workshop.formula(&found.best.entry.candidate, &found.best.entry.score.values);
    let start = formula.split_once("n.start = ").and_then(|(_, number)| number.parse::<f64>().ok());
    assert!(start.is_some_and(|n| (n - 0.3).abs() < 1e-4), "{formula}");
    assert!(found.best.entry.score.nodes <= 9, "{formula}");
    assert!(search.evaluations() <= 60);
    // The baselines are systems, too.
    let names: Vec<&str> = found.baselines.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["linear rates", "constant rates"]);
}

/// What the search integrates is what its program does.
#[test]
fn a_program_has_the_error_that_the_search_saw() {
    let mut csv = String::from("run,day,x,y\n");
    for (run, start) in [("a", [2.0, 1.0]), ("b", [0.7, 1.5])] {
        let times: Vec<f64> = (0..30).map(|i| 0.2 * f64::from(i) + 0.05 * f64::from(i * 3 % 4)).collect();
        let rows = solve(|t, y| vec![y[0] - y[0] * y[1], y[0] * y[1] - y[1] + 0.1 * t.sin()], &start, &times);
        for (i, (t, y)) in times.iter().zip(rows).enumerate() {
            let x = if i % 5 == 3 { String::new() } else { (y[0] + 0.02 * (i as f64).sin()).to_string() };
            csv += &format!("{run},{t},{x},{}\n", y[1]);
        }
    }
    let problem = "[fit]\ngroup = 'run'\n[search]\node = ['x', 'y']\ntime = 'day'\ninputs = ['x', 'y', 'day']\n\
                   sealed = 'none'\noperations = '+ - * sin'";
    let workshop = workshop(problem, &csv);
    let (search, _) = run(&workshop, 40);
    let general = workshop.general().expect("it is one");
    let best = search.front().last().expect("something was found");
    let fitted = general.fit(&best.candidate, 1, 1).expect("it is fitted");
    let program = Program::new(&workshop.program(&best.candidate, &fitted.values));
    let request = FitRequest::from_toml("objective = true\ngroup = 'run'").expect("settings");
    let table = sources(&csv).table;
    let inputs = Inputs { program, table: &table, start_from: None, run: RunOptions::default() };
    let problem = request.problem(inputs).unwrap_or_else(|report| panic!("{report}"));
    // Raw numbers: those of the schema in order, the offsets of both runs, then what is in the holes.
    let p = fitted.values.len() - 2;
    let first = |column: &str, row: usize| table.column(column).expect("it is there").reals().expect("numbers")[row];
    let offset = |run: usize, i: usize| fitted.fit.raw[p + 2 * run + i] - first(["x", "y"][i], 30 * run);
    let deviations = &general.ode.as_ref().expect("it is one").deviations;
    let mut raw = problem.start().to_vec();
    for (i, deviation) in deviations.iter().enumerate() {
        (0..2).for_each(|run| raw[2 * i + run] = offset(run, i) / deviation);
    }
    raw[4..].copy_from_slice(&fitted.fit.raw[..p]);
    let found = &problem.evaluate(&[raw], Need::Loss).expect("it runs")[0];
    let mean = 2.0 * found.loss / fitted.count as f64;
    assert!((mean - fitted.mean_square).abs() <= 1e-9 * mean, "{mean} {}", fitted.mean_square);
    assert_eq!(fitted.count, 108);
}

#[test]
fn noise_gaps_and_several_runs_leave_predators_and_prey() {
    let mut stream = Stream::new(7, 7);
    let mut csv = String::from("farm,t,hares,foxes\n");
    for (farm, start) in [("north", [3.0, 1.0]), ("south", [0.8, 0.6])] {
        let mut t = 0.0;
        let mut times = Vec::new();
        for _ in 0..110 {
            times.push(t);
            t += 0.05 + 0.2 * stream.uniform();
        }
        let rates = |_: f64, y: &[f64]| vec![1.1 * y[0] - 0.6 * y[0] * y[1], 0.4 * y[0] * y[1] - 0.7 * y[1]];
        for (i, (t, y)) in times.iter().zip(solve(rates, &start, &times)).enumerate() {
            let noisy = [y[0] + 0.05 * stream.normal(), y[1] + 0.04 * stream.normal()];
            let foxes = if i % 9 == 4 { String::new() } else { noisy[1].to_string() };
            csv += &format!("{farm},{t},{},{foxes}\n", noisy[0]);
        }
    }
    let problem =
        "[fit]\ngroup = 'farm'\n[search]\node = ['hares', 'foxes']\ntime = 't'\noperations = '+ - *'\nsize = 15";
    let workshop = workshop(problem, &csv);
    let (_, found) = run(&workshop, 120);
    assert_eq!(found.finding, Finding::Found, "{}", found.text);
    // The noise is 0.05 of deviations of about 1.
    assert!(found.best.sealed.is_some_and(|s| s < 0.02), "{}", found.text);
    let again = self::run(&workshop, 120).1;
    assert_eq!(found, again, "the same search twice");
}

#[test]
fn what_does_not_go_with_a_system_is_said_with_what_to_do() {
    let refused = |problem: &str, csv: &str| {
        let problem = SearchProblem::from_toml(problem).expect("settings");
        General::new(&problem, sources(csv)).expect_err("it is refused").to_string()
    };
    let csv = logistic();
    for (settings, expected) in [
        ("ode = ['n']", "no column of times"),
        ("ode = ['n', 'n']\ntime = 't'", "named twice"),
        ("ode = ['n', 't']\ntime = 't'", "the time and a state"),
        ("ode = ['m']\ntime = 't'", "has no column m"),
        ("ode = ['n']\ntime = 't'\ninputs = ['n', 'k']", "k is neither a state nor the time"),
        ("ode = ['n']\ntime = 't'\nseeds = ['a.scm']", "seeds does not go with"),
    ] {
        let report = refused(&format!("[search]\n{settings}"), &csv);
        assert!(report.contains(expected), "{settings}: {report}");
    }
    let ode = "[search]\node = ['n']\ntime = 't'";
    let report = refused(ode, "t,n\n1,2\n2,3\n2,4\n3,5\n4,1\n5,2\n6,1\n7,2\n8,3\n");
    assert!(report.contains("t does not rise in row 3") && report.contains("with group"), "{report}");
    assert!(refused(ode, "t,n\n1,2\n2,3\n").contains("2 measurements"));
    let report = refused("[fit]\ntarget = 'n'\n[search]\node = ['n']\ntime = 't'", &csv);
    assert!(report.contains("target does not go with"), "{report}");
    assert!(refused("[search]\node = ['step']\ntime = 't'", "t,step\n1,2\n").contains("rename the column"));
}
