//! Whole searches: laws that are found again, noise that is left alone, and the same moves on any number of threads.

use dmci_limits::{Alarm, within};
use dmci_search::archive::Entry;
use dmci_search::data::{Data, FLOOR, Folds, Part};
use dmci_search::funnel::{Contract, read};
use dmci_search::judge::{Finding, Judgement, baselines, judge};
use dmci_search::operation::Operations;
use dmci_search::search::{Counts, Search, Settings, Told, Work};
use dmci_search::worker::Workshop;
use dmci_stats::random::Stream;

fn part(rows: usize, inputs: usize, range: (f64, f64), seed: u64, law: impl Fn(&[f64], &mut Stream) -> f64) -> Part {
    let mut stream = Stream::new(seed, 99);
    let mut columns = vec![Vec::new(); inputs];
    let mut target = Vec::new();
    for _ in 0..rows {
        let x: Vec<f64> = (0..inputs).map(|_| range.0 + (range.1 - range.0) * stream.uniform()).collect();
        target.push(law(&x, &mut stream));
        columns.iter_mut().zip(&x).for_each(|(c, v)| c.push(*v));
    }
    Part { columns, target, root_weights: None }
}

fn workshop(part: Part, seed: u64) -> Workshop {
    let names: Vec<String> = (0..part.columns.len()).map(|i| format!("x{}", i + 1)).collect();
    let data = Data::new(names, "y", part, None, Folds::Random(5), seed);
    Workshop::new(data, Operations::default(), 30)
}

fn settings(workshop: &Workshop, seed: u64, evaluations: u64) -> Settings {
    let exact_at = FLOOR * workshop.data.variance;
    Settings { seed, evaluations: Some(evaluations), exact_at, ..Settings::default() }
}

fn begin(workshop: &Workshop, settings: Settings) -> Search {
    let seeds = baselines(workshop.data.inputs.len(), &workshop.operations).into_iter().map(|b| b.1).collect();
    Search::new(settings, seeds)
}

/// Runs a search with so many pieces of work under way at once, done in any order and told in the right one.
fn run(workshop: &Workshop, settings: Settings, at_once: usize) -> Search {
    let mut search = begin(workshop, settings);
    let mut scorer = workshop.scorer();
    while !search.is_done() {
        let mut under_way: Vec<Work> = Vec::new();
        while under_way.len() < at_once
            && let Some(work) = search.ask()
        {
            under_way.push(work);
        }
        // The last one first: who is when ready must not matter.
        let mut told: Vec<Told> = under_way.iter().rev().map(|work| workshop.run(work, &mut scorer)).collect();
        while let Some(result) = told.pop() {
            assert!(search.tell(result));
        }
    }
    search
}

fn judged(workshop: &Workshop, search: &Search, seed: u64) -> Judgement {
    let validated = search.counts().values().map(|c| c.validated).sum();
    judge(&mut workshop.scorer(), search.front(), &[], validated, seed).expect("there is a judgement")
}

/// Whoever ends a search gets the verdict that its time would have given.
#[test]
fn a_verdict_in_no_time_is_the_verdict() {
    let workshop = workshop(part(40, 1, (0.1, 10.0), 3, |x, s| 3.0 * x[0] / (2.0 + x[0]) + 0.03 * s.normal()), 1);
    let search = run(&workshop, settings(&workshop, 1, 400), 1);
    let calm = judged(&workshop, &search, 1);
    assert_eq!(calm.finding, Finding::Found, "{}", calm.text);
    let over = Alarm::new(dmci::Cancel::default(), std::time::Duration::ZERO);
    let hurried = within(&over, || judged(&workshop, &search, 1));
    assert_eq!(hurried.finding, Finding::Found, "{}", hurried.text);
    for baseline in &hurried.baselines {
        assert!(baseline.entry.score.validation.is_some_and(f64::is_finite), "{}", baseline.name);
    }
}

#[test]
fn laws_are_found_again() {
    type Law = fn(&[f64]) -> f64;
    let laws: [(&str, usize, (f64, f64), Law); 5] = [
        ("Nguyen-4", 1, (-1.0, 1.0), |x| (1..=6).map(|k| x[0].powi(k)).sum()),
        ("Nguyen-5", 1, (-1.0, 1.0), |x| (x[0] * x[0]).sin() * x[0].cos() - 1.0),
        ("Nguyen-7", 1, (0.0, 2.0), |x| (x[0] + 1.0).ln() + (x[0] * x[0] + 1.0).ln()),
        ("Nguyen-12", 2, (0.0, 1.0), |x| x[0].powi(4) - x[0].powi(3) + 0.5 * x[1] * x[1] - x[1]),
        ("saturation", 2, (0.2, 4.0), |x| 3.5 * x[0] / (0.8 + x[0]) * (-0.3 * x[1]).exp()),
    ];
    for (name, inputs, range, law) in laws {
        let workshop = workshop(part(60, inputs, range, 1, |x, _| law(x)), 1);
        let search = run(&workshop, settings(&workshop, 1, 40_000), 4);
        let found = judged(&workshop, &search, 1);
        println!("{name}: {} hypotheses: {}", search.evaluations(), found.text);
        assert_eq!(found.finding, Finding::Found, "{name}");
        let sealed = found.best.sealed.expect("rows were sealed");
        assert!(sealed <= 1e-12 * workshop.data.variance, "{name}: {sealed:e} left by {}", found.text);
    }
}

/// `bench noise` and `bench lines` of `bench/search` count over a hundred tables of many shapes.
#[test]
fn noise_has_no_structure_and_a_line_is_a_line() {
    for seed in 0..if std::env::var_os("DMCI_LONG").is_some() { 40 } else { 4 } {
        let noise = workshop(part(80, 2, (-1.0, 1.0), seed, |_, s| s.normal()), seed);
        let search = run(&noise, settings(&noise, seed, 3_000), 4);
        let found = judged(&noise, &search, seed);
        assert_eq!(found.finding, Finding::NoStructure, "{}", found.text);
        let line = workshop(part(120, 2, (-1.0, 1.0), seed, |x, s| 1.0 + 2.0 * x[0] - x[1] + 0.2 * s.normal()), seed);
        let search = run(&line, settings(&line, seed, 3_000), 4);
        let found = judged(&line, &search, seed);
        assert_eq!(found.finding, Finding::Linear, "{}", found.text);
    }
}

/// Noise is left alone where no rows are sealed, too: every comparison counts for all that were tried.
#[test]
fn noise_has_no_structure_without_sealed_rows() {
    for seed in 10..if std::env::var_os("DMCI_LONG").is_some() { 50 } else { 13 } {
        let rows = part(60 + 20 * (seed as usize % 10), 2, (-1.0, 1.0), seed, |_, s| s.normal());
        let marks = vec![false; rows.len()];
        let names = vec!["x1".to_string(), "x2".to_string()];
        let data = Data::new(names, "y", rows, Some(&marks), Folds::Random(5), seed);
        let noise = Workshop::new(data, Operations::default(), 30);
        let search = run(&noise, settings(&noise, seed, 2_000), 4);
        let found = judged(&noise, &search, seed);
        assert_eq!(found.finding, Finding::NoStructure, "{}", found.text);
    }
}

/// What a new hypothesis costs in operations on numbers, derivatives included, on the first table of `bench/search`: a
/// search that fits more often than it must shows here, whatever the machine is doing.
#[test]
fn a_hypothesis_costs_few_operations() {
    let law = |x: &[f64], s: &mut Stream| 3.5 * x[0] / (0.8 + x[0]) * (-0.3 * x[1]).exp() + 0.05 * s.normal();
    let table = part(200, 2, (0.2, 3.0), 1, law);
    let data = Data::new(vec!["x1".into(), "x2".into()], "y", table, Some(&[false; 200]), Folds::Random(5), 1);
    let workshop = Workshop::new(data, Operations::default(), 30);
    let search = run(&workshop, settings(&workshop, 1, 3_000), 1);
    let sum = |f: fn(&Counts) -> u64| search.counts().values().map(f).sum::<u64>();
    let (new, converged, work) = (sum(|c| c.screened), sum(|c| c.converged), sum(|c| c.work));
    println!("{new} new hypotheses, {converged} converged, {} operations each", work / new);
    assert!(2 * converged > new, "{converged} of {new} converged");
    assert!(work / new < MOST_OPERATIONS, "{} operations each", work / new);
}

/// 200 rows, some 20 operations a row with derivatives, some 60 evaluations.
const MOST_OPERATIONS: u64 = 240_000;

#[test]
fn the_moves_do_not_depend_on_who_does_the_work() {
    let table = part(70, 2, (0.1, 2.0), 3, |x, s| x[0].sqrt() * x[1] + 0.05 * s.normal());
    let fronts: Vec<_> = [1, 2, 4]
        .map(|at_once| {
            let workshop = workshop(table.clone(), 3);
            let search = run(&workshop, settings(&workshop, 3, 2_500), at_once);
            (search.front().to_vec(), search.counts().clone(), search.evaluations())
        })
        .into();
    assert!(!fronts[0].0.is_empty());
    assert!(fronts.iter().all(|f| *f == fronts[0]));
}

/// Told what was told before, a search does what it did before: that is what a journal relies on.
#[test]
fn a_search_that_is_told_the_same_makes_the_same_moves() {
    let workshop = workshop(part(50, 1, (0.1, 2.0), 4, |x, s| x[0].ln() + 0.05 * s.normal()), 4);
    let mut scorer = workshop.scorer();
    let settings = settings(&workshop, 4, 1_500);
    let mut first = begin(&workshop, settings.clone());
    let mut journal = Vec::new();
    while let Some(work) = first.ask() {
        let told = workshop.run(&work, &mut scorer);
        journal.push((work, told.clone()));
        assert!(first.tell(told));
    }
    let mut again = begin(&workshop, settings);
    for (work, told) in journal {
        assert_eq!(again.ask(), Some(work));
        // The bits of every number survive.
        let back = Told::from_bytes(&told.to_bytes()).expect("it was written");
        assert!(again.tell(back));
    }
    assert!(again.is_done());
    assert_eq!(again.front(), first.front());
}

/// A front that holds a baseline's own form: the form is compared once, and all comparisons are one family.
#[test]
fn a_baseline_on_the_front_is_compared_once() {
    let law = |x: &[f64], s: &mut Stream| 2.0 * x[0] * x[0] + 1.0 / x[0] + 0.01 * s.normal();
    let workshop = workshop(part(80, 1, (0.3, 2.0), 5, law), 5);
    let mut scorer = workshop.scorer();
    let mut front = Vec::new();
    for text in
        ["(params (a free 1)) a", "(params (a free 1)) (* a x1 x1)", "(params (a free 1)) (+ (* a x1 x1) (/ 1 x1))"]
    {
        let contract = Contract { inputs: &workshop.data.inputs, operations: &workshop.operations, size: 30 };
        let candidate = read(text, &contract).expect("a candidate");
        let score = scorer.converge(&candidate, 4).expect("a fit");
        front.push(Entry { score: scorer.validate(&candidate, &score), candidate });
    }
    let judgement = judge(&mut scorer, &front, &[], 3, 5).expect("there is a judgement");
    assert_eq!(judgement.finding, Finding::Found, "{}", judgement.text);
    // Constant, linear and the square: three comparisons, of which each is as clear as 4,999 draws can say.
    let least = judgement.against.iter().map(|a| a.p).fold(f64::INFINITY, f64::min);
    assert!((least - 3.0 / 5000.0).abs() < 1e-12, "{:?}", judgement.against);
    // Nothing is clear after so many choices without sealed rows: only the square is said to be as good.
    let open = Data::new(vec!["x1".into()], "y", part(25, 1, (0.3, 2.0), 5, law), None, Folds::Random(5), 5);
    let open = Workshop::new(open, Operations::default(), 30);
    let judgement = judge(&mut open.scorer(), &front, &[], 1_000_000, 5).expect("there is a judgement");
    assert_eq!(judgement.not_distinguishable.len(), 1, "{:?}", judgement.not_distinguishable);
    assert!(judgement.not_distinguishable[0].contains("square"), "{:?}", judgement.not_distinguishable);
}
