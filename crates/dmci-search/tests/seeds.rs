//! Searches from seeds with holes: right-hand sides, loops, groups, likelihoods and objectives.

use dmci::{Program, RunOptions};
use dmci_fit::Table;
use dmci_search::general::{General, Sources};
use dmci_search::judge::{Finding, Judgement, judge};
use dmci_search::problem::SearchProblem;
use dmci_search::search::{Proposer, Search, Settings};
use dmci_search::worker::Workshop;
use dmci_stats::random::Stream;

fn workshop(problem: &str, csv: &str, seeds: &[&str]) -> Workshop {
    let problem = SearchProblem::from_toml(problem).expect("settings");
    let table = Table::from_csv("rows.csv", csv.as_bytes()).expect("a table");
    let named = |(i, text): (usize, &&str)| Program::named(&format!("seed{}.scm", i + 1), text);
    let seeds = seeds.iter().enumerate().map(named).collect();
    let sources = Sources { table, seeds, baselines: Vec::new(), start_from: None, run: RunOptions::default() };
    let general = General::new(&problem, sources).unwrap_or_else(|report| panic!("{report}"));
    let limits = problem.limits().expect("operations");
    Workshop::of_seeds(general, limits.operations, limits.size)
}

fn refused(problem: &str, seed: &str) -> String {
    let problem = SearchProblem::from_toml(problem).expect("settings");
    let table = Table::from_csv("rows.csv", "x,y\n1,2\n2,3\n3,5\n4,6\n".as_bytes()).expect("a table");
    let sources = Sources {
        table,
        seeds: vec![Program::named("seed.scm", seed)],
        baselines: Vec::new(),
        start_from: None,
        run: RunOptions::default(),
    };
    General::new(&problem, sources).expect_err(seed).to_string()
}

fn run(workshop: &Workshop, seed: u64, evaluations: u64) -> (Search, Judgement) {
    let general = workshop.general().expect("it has seeds");
    let settings = Settings {
        seed,
        islands: 2,
        evaluations: Some(evaluations),
        proposers: vec![(Proposer::Enumeration, 1.0), (Proposer::Grammar, 3.0)],
        exact_at: 1e-14 * workshop.data.variance,
        ..Settings::default()
    };
    let mut search = Search::new(settings, general.seeds());
    let mut scorer = workshop.scorer();
    while let Some(work) = search.ask() {
        assert!(search.tell(workshop.run(&work, &mut scorer)));
    }
    let validated = search.counts().values().map(|c| c.validated).sum();
    let judgement = judge(&mut scorer, search.front(), &[], validated, seed).expect("something was fitted");
    (search, judgement)
}

/// The right-hand side of an ODE inside of a loop: growth that saturates, from a seed that grows for ever.
#[test]
fn a_hole_in_a_right_hand_side_is_filled() {
    let seed = "(params (x0 positive 0.1))\n; growth by Euler steps\n\
                (let loop ((i 0) (x x0))\n  (if (>= i n) x\n    (loop (+ i 1) (+ x (* 0.1 (hole growth (x) (* 0.5 x)))))))";
    let mut csv = String::from("n,y\n");
    let mut x: f64 = 0.2;
    for n in 0..60 {
        csv += &format!("{n},{x}\n");
        x += 0.1 * (0.9 * x - 0.3 * x * x);
    }
    let workshop = workshop("[fit]\ntarget = 'y'\n[search]\noperations = '+ - *'\nsize = 9", &csv, &[seed]);
    let (search, found) = run(&workshop, 1, 400);
    let program = workshop.program(&found.best.entry.candidate, &found.best.entry.score.values);
    assert!(found.best.sealed.is_some_and(|s| s < 1e-12), "{} {program}", found.text);
    assert_eq!(found.finding, Finding::Found, "{}", found.text);
    // What surrounds the hole is as it was written, and the result is a seed again.
    assert!(program.contains("; growth by Euler steps") && program.contains("(hole growth (x) "), "{program}");
    assert!(search.evaluations() <= 400);
}

#[test]
fn parameters_differ_by_group_as_those_of_the_seed_do() {
    let seed = "(params (a free 1.0 (per cell)) (b free 1.0 (per cell))) (- a (hole fade (k) (* b k)))";
    let mut csv = String::from("cell,k,y\n");
    for (cell, (a, b)) in [(1.0, 0.02), (1.1, 0.03), (0.9, 0.015)].iter().enumerate() {
        for k in 0..25 {
            csv += &format!("c{cell},{k},{}\n", a - b * f64::from(k).sqrt());
        }
    }
    let workshop = workshop("[fit]\ntarget = 'y'\n[search]\noperations = '+ * sqrt'\nsize = 6", &csv, &[seed]);
    let (_, found) = run(&workshop, 2, 150);
    let best = &found.best.entry;
    let program = workshop.program(&best.candidate, &best.score.values);
    assert!(program.contains("(per cell))") && program.contains("(sqrt k)"), "{program}");
    assert!(best.score.validation.is_some_and(|v| v < 1e-12), "{}", found.text);
}

#[test]
fn likelihoods_and_objectives_rank_by_their_logarithms() {
    // Counts with a mean that grows.
    let mut csv = String::from("x,y\n");
    let mut stream = Stream::new(5, 5);
    for i in 0..120 {
        let x = f64::from(i) / 40.0;
        let mean = (0.4 + 0.9 * x).exp();
        let mut count = 0;
        let mut left = -stream.uniform().max(1e-12).ln() / mean;
        while left < 1.0 {
            count += 1;
            left += -stream.uniform().max(1e-12).ln() / mean;
        }
        csv += &format!("{x},{count}\n");
    }
    let problem = "[fit]\ntarget = 'y'\nloss = 'poisson'\n[search]\noperations = '+ * '\nsize = 5";
    let seed = "(params (a free 0.5)) (exp (hole rate (x) a))";
    let workshop = workshop(problem, &csv, &[seed]);
    let (_, found) = run(&workshop, 3, 60);
    let formula = workshop.formula(&found.best.entry.candidate, &found.best.entry.score.values);
    assert_eq!(found.finding, Finding::Found, "{}", found.text);
    assert!(formula.contains('x'), "{formula}");
    // The same noise-free decay as an objective over a whole series.
    let rows: Vec<String> = (0..40).map(|t| format!("{t},{}", 2.0 * (-0.1 * f64::from(t)).exp())).collect();
    let csv = format!("t,y\n{}\n", rows.join("\n"));
    let seed = "(params (a free 1.0) (b free 0.01))\n(define n (vlen y))\n\
                (let loop ((i 0) (x a) (s 0.0))\n (if (= i n) s\n  (loop (+ i 1) (- x (hole loss (x) b)) (+ s (square (- (ref y i) x))))))";
    let problem = "[fit]\nobjective = true\n[search]\nobjective = 'squares'\noperations = '+ *'\nsize = 5";
    let workshop = self::workshop(problem, &csv, &[seed]);
    let (_, found) = run(&workshop, 3, 60);
    let formula = workshop.formula(&found.best.entry.candidate, &found.best.entry.score.values);
    assert!(formula.starts_with("(* x 0.095"), "{formula}: {}", found.text);
}

#[test]
fn what_is_wrong_with_a_seed_is_said_with_what_to_do() {
    let problem = "[fit]\ntarget = 'y'";
    let cases = [
        ("(define (f z) z) (f x)", "no hole"),
        ("(let ((z x)) z)", "mark the part that may change"),
        ("(hole a (x) (+ x z))", "z is neither a variable"),
        ("(params (b free 1.0)) (+ b (hole a (x) (* b x)))", "list b among the variables"),
        ("(hole a (x) (hole b (x) x))", "has a hole inside"),
        ("(+ (hole a (x) x) (hole a (x) x))", "two holes"),
        ("(params (b free 1.0)) (* b x (hole a (z) 1.0))", "z is not bound"),
    ];
    for (seed, expected) in cases {
        let report = refused(problem, seed);
        assert!(report.contains(expected), "{seed}: {report}");
    }
    let report = refused("[fit]\ntarget = 'y'\n[search.holes.rat]\nsize = 3", "(hole rate (x) x)");
    assert!(report.contains("did you mean rate?"), "{report}");
    for (text, expected) in
        [("[serch]\n", "did you mean [search]?"), ("[search]\nislands = 'two'", "islands"), ("size = 3", "tables")]
    {
        let report = SearchProblem::from_toml(text).expect_err(text).to_string();
        assert!(report.contains(expected), "{text}: {report}");
    }
}

/// Seeds that are expressions of rows are fitted group by group without the fitter of whole programs, and come to what
/// that one comes to: weights of 1 keep to it.
#[test]
fn expressions_by_group_are_fitted_as_programs_are() {
    let mut csv = "cell,k,y,w,held\n".to_string();
    let mut stream = Stream::new(4, 4);
    for cell in 0..4 {
        let slope = 0.4 + 0.1 * cell as f64;
        for k in 1..=30 {
            let y = (2.0 - slope * f64::from(k).sqrt()).min(1.5 - 0.1 * f64::from(k)) + 0.05 * stream.normal();
            csv += &format!("c{cell},{k},{y},1,{}\n", u8::from(k % 5 == 0));
        }
    }
    let seeds = [
        "(params (q free 1.0 (per cell)) (b free 0.3 (per cell)))\n(hole fade (k) (- q (* b (sqrt k))))",
        "(params (q free 1.0 (per cell)) (b free 0.3 (per cell)))\n(- q (* 2 (hole fade (k) (* b (sqrt (+ k 1))))))",
        "(params (q free 1.0) (b free -0.1))\n(* q (exp (hole rate (k q) (* b k))))",
    ];
    let settings = "[search]\noperations = '+ - * max sqrt'\nsealed = 'column:held'\n";
    for seed in seeds {
        let of = |weights: &str| workshop(&format!("[fit]\ntarget = 'y'\n{weights}{settings}"), &csv, &[seed]);
        let (fast, slow) = (of(""), of("weights = 'w'\n"));
        let scored = |workshop: &Workshop| {
            let candidate = workshop.general().expect("it has a seed").seeds().remove(0);
            let mut scorer = workshop.scorer();
            let score = scorer.converge(&candidate, 4).unwrap_or_else(|r| panic!("{seed}: {r:?}"));
            let validated = scorer.validate(&candidate, &score);
            let (errors, sealed) = scorer.last_errors(&candidate, &score.values);
            (validated, errors.len(), sealed.expect("rows are sealed"))
        };
        let ((a, m, p), (b, n, q)) = (scored(&fast), scored(&slow));
        // Losses agree; parameters, and so other rows, to where fits end.
        let near = |x: f64, y: f64| (x - y).abs() <= 1e-3 * y.abs();
        assert!((a.loss - b.loss).abs() <= 1e-7 * b.loss && near(p, q) && m == n, "{seed}\n{a:?} {p}\n{b:?} {q}");
        let (x, y) = (a.validation.expect("folds"), b.validation.expect("folds"));
        assert!(near(x, y) && a.nodes == b.nodes, "{seed}: {x} and {y}");
        assert!(a.values.iter().zip(&b.values).all(|(x, y)| (x - y).abs() < 1e-3 * y.abs().max(0.1)), "{a:?} {b:?}");
        // Otherwise this compares the slow way with itself.
        assert_ne!(a.work, b.work, "{seed}");
    }
}
