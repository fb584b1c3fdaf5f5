//! Measures searches on one core: `bench speed`, `bench nguyen [SEEDS]`, `bench noise [TABLES SECONDS]`.

use dmci_search::data::{Data, FLOOR, Folds, Part};
use dmci_search::judge::{Finding, Judgement, baselines, judge};
use dmci_search::operation::Operations;
use dmci_search::search::{Search, Settings, Work};
use dmci_search::worker::Workshop;
use dmci_stats::random::Stream;
use std::time::{Duration, Instant};

type Law = fn(&[f64]) -> f64;

fn part(rows: usize, inputs: usize, range: (f64, f64), noise: f64, seed: u64, law: &dyn Fn(&[f64]) -> f64) -> Part {
    let mut stream = Stream::new(seed, 99);
    let mut columns = vec![Vec::new(); inputs];
    let mut target = Vec::new();
    for _ in 0..rows {
        let x: Vec<f64> = (0..inputs).map(|_| range.0 + (range.1 - range.0) * stream.uniform()).collect();
        target.push(law(&x) + noise * stream.normal());
        columns.iter_mut().zip(&x).for_each(|(c, v)| c.push(*v));
    }
    Part { columns, target, root_weights: None }
}

struct Ran {
    workshop: Workshop,
    search: Search,
    seconds: [f64; 3],
    elapsed: f64,
}

fn run(part: Part, sealed: Option<&[bool]>, seed: u64, evaluations: Option<u64>, limit: Duration) -> Ran {
    let began = Instant::now();
    let names: Vec<String> = (0..part.columns.len()).map(|i| format!("x{}", i + 1)).collect();
    let data = Data::new(names, "y", part, sealed, Folds::Random(5), seed);
    let workshop = Workshop::new(data, Operations::default(), 30);
    let settings = Settings { seed, evaluations, exact_at: FLOOR * workshop.data.variance, ..Settings::default() };
    let seeds = baselines(workshop.data.inputs.len(), &workshop.operations).into_iter().map(|b| b.1).collect();
    let mut search = Search::new(settings, seeds);
    let mut seconds = [0.0; 3];
    {
        let mut scorer = workshop.scorer();
        while let Some(work) = search.ask() {
            let at = Instant::now();
            let told = workshop.run(&work, &mut scorer);
            let kind = match work {
                Work::Propose { .. } => 0,
                Work::Score { .. } => 1,
                Work::Validate { .. } => 2,
            };
            seconds[kind] += at.elapsed().as_secs_f64();
            search.tell(told);
            if began.elapsed() > limit {
                search.end();
            }
        }
    }
    let elapsed = began.elapsed().as_secs_f64();
    Ran { workshop, search, seconds, elapsed }
}

fn judged(ran: &Ran, seed: u64) -> Option<Judgement> {
    let validated = ran.search.counts().values().map(|c| c.validated).sum();
    judge(&mut ran.workshop.scorer(), ran.search.front(), &[], validated, seed)
}

fn speed() {
    let tables: [(&str, usize, Law); 3] = [
        ("saturation", 2, |x| 3.5 * x[0] / (0.8 + x[0]) * (-0.3 * x[1]).exp()),
        ("pendulum", 2, |x| std::f64::consts::TAU * (x[0] / 9.81).sqrt() * (1.0 + x[1] * x[1] / 16.0)),
        ("waves", 1, |x| 2.0 * (1.7 * x[0]).sin() + 0.3 * x[0] * x[0]),
    ];
    for (name, inputs, law) in tables {
        // Noise, so that there is always something left to explain; all 200 rows are open.
        let table = part(200, inputs, (0.2, 3.0), 0.05, 1, &law);
        let ran = run(table, Some(&[false; 200]), 1, None, Duration::from_secs(10));
        let counts = ran.search.counts();
        let all = |f: fn(&dmci_search::search::Counts) -> u64| counts.values().map(f).sum::<u64>() as f64;
        println!(
            "{name}: {:.0} new hypotheses/s, {:.0} of them converged; duplicates {:.0}%; proposals {:.0}%, fits {:.0}%, cross-validation {:.0}%, the rest {:.0}% of {:.1} s",
            all(|c| c.screened) / ran.elapsed,
            all(|c| c.converged) / ran.elapsed,
            100.0 * all(|c| c.duplicates) / all(|c| c.proposed),
            100.0 * ran.seconds[0] / ran.elapsed,
            100.0 * ran.seconds[1] / ran.elapsed,
            100.0 * ran.seconds[2] / ran.elapsed,
            100.0 * (1.0 - ran.seconds.iter().sum::<f64>() / ran.elapsed),
            ran.elapsed
        );
    }
}

fn nguyen(seeds: u64) {
    let laws: [(usize, (f64, f64), Law); 12] = [
        (1, (-1.0, 1.0), |x| (1..=3).map(|k| x[0].powi(k)).sum()),
        (1, (-1.0, 1.0), |x| (1..=4).map(|k| x[0].powi(k)).sum()),
        (1, (-1.0, 1.0), |x| (1..=5).map(|k| x[0].powi(k)).sum()),
        (1, (-1.0, 1.0), |x| (1..=6).map(|k| x[0].powi(k)).sum()),
        (1, (-1.0, 1.0), |x| (x[0] * x[0]).sin() * x[0].cos() - 1.0),
        (1, (-1.0, 1.0), |x| x[0].sin() + (x[0] + x[0] * x[0]).sin()),
        (1, (0.0, 2.0), |x| (x[0] + 1.0).ln() + (x[0] * x[0] + 1.0).ln()),
        (1, (0.0, 4.0), |x| x[0].sqrt()),
        (2, (0.0, 1.0), |x| x[0].sin() + (x[1] * x[1]).sin()),
        (2, (0.0, 1.0), |x| 2.0 * x[0].sin() * x[1].cos()),
        (2, (0.0, 1.0), |x| x[0].powf(x[1])),
        (2, (0.0, 1.0), |x| x[0].powi(4) - x[0].powi(3) + 0.5 * x[1] * x[1] - x[1]),
    ];
    let (mut found, mut slowest) = (0, 0.0f64);
    for (i, (inputs, range, law)) in laws.iter().enumerate() {
        for seed in 0..seeds {
            // 20 rows are fitted, as the benchmark says; 200 more are sealed, on which recovery is decided.
            let table = part(220, *inputs, *range, 0.0, 100 + seed, law);
            let sealed: Vec<bool> = (0..220).map(|r| r >= 20).collect();
            let ran = run(table, Some(&sealed), seed, None, Duration::from_secs(10));
            let judgement = judged(&ran, seed).expect("there is a judgement");
            let left = judgement.best.sealed.unwrap_or(f64::INFINITY) / ran.workshop.data.variance;
            let recovered = left < 1e-10;
            found += usize::from(recovered);
            slowest = slowest.max(ran.elapsed);
            println!(
                "Nguyen-{} seed {seed}: {} {left:.1e} of the variance left, {:.1} s, {} hypotheses: {}",
                i + 1,
                if recovered { "recovered" } else { "NOT RECOVERED" },
                ran.elapsed,
                ran.search.evaluations(),
                judgement.best.entry.candidate.formula(&ran.workshop.data.inputs, &judgement.best.entry.score.values)
            );
        }
    }
    println!("{found} of {} recovered, the slowest in {slowest:.1} s", 12 * seeds);
}

fn noise(tables: u64, seconds: f64) {
    let (mut none, mut lines) = (0, 0);
    for seed in 0..tables {
        let mut stream = Stream::new(seed, 4242);
        let (rows, inputs) = (50 + stream.below(451), 1 + stream.below(6));
        let limit = Duration::from_secs_f64(seconds);
        let ran = run(part(rows, inputs, (-1.0, 1.0), 1.0, seed, &|_| 0.0), None, seed, None, limit);
        let judgement = judged(&ran, seed).expect("there is a judgement");
        none += u64::from(judgement.finding == Finding::NoStructure);
        let slopes: Vec<f64> = (0..inputs).map(|_| stream.normal()).collect();
        let law = |x: &[f64]| x.iter().zip(&slopes).map(|(x, s)| x * s).sum::<f64>();
        let line = run(part(rows, inputs, (-1.0, 1.0), 0.3, seed, &law), None, seed, None, limit);
        let other = judged(&line, seed).expect("there is a judgement");
        lines += u64::from(other.finding != Finding::Found);
        println!(
            "{seed}: {rows} rows, {inputs} inputs, {} and {} hypotheses: {} | {}",
            ran.search.evaluations(),
            line.search.evaluations(),
            judgement.text,
            other.text
        );
    }
    println!("no structure in {none} of {tables} tables of noise; nothing better than a line in {lines} of {tables}");
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let number = |i: usize, usual: f64| words.get(i).and_then(|w| w.parse().ok()).unwrap_or(usual);
    match words.get(1).map(String::as_str) {
        Some("speed") => speed(),
        Some("nguyen") => nguyen(number(2, 5.0) as u64),
        Some("noise") => noise(number(2, 100.0) as u64, number(3, 10.0)),
        _ => println!("bench speed | nguyen [SEEDS] | noise [TABLES SECONDS]"),
    }
}
