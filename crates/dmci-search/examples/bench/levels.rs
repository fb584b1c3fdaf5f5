//! What each level of sameness finds among the hypotheses of a search, and what it costs.

use crate::{TABLES, part, processor};
use dmci_search::candidate::Candidate;
use dmci_search::data::{Data, Folds};
use dmci_search::judge::baselines;
use dmci_search::normal::hash;
use dmci_search::operation::Operations;
use dmci_search::saturation::{Bounds, Signs, normal};
use dmci_search::search::{Search, Settings, Work};
use dmci_search::worker::Workshop;
use std::collections::BTreeSet;
use std::time::Instant;

/// Normal forms and fingerprints of the hypotheses that searches over the tables of speed fit. Always reached.
pub fn levels(hypotheses: u64) -> bool {
    println!(
        "of {hypotheses} hypotheses whose canonical forms differ, by table: a fit, a normal form (e-graph), in us of one"
    );
    println!("core; hypotheses whose normal form was there before; converged ones whose fitted predictions were there");
    println!("table        fit  bounds          normal form  repeated  fingerprints  repeated");
    for (name, inputs, law) in TABLES {
        let table = part(200, inputs, (0.2, 3.0), 0.05, 1, &law);
        let names: Vec<String> = (0..inputs).map(|i| format!("x{}", i + 1)).collect();
        let data = Data::new(names, "y", table, Some(&[false; 200]), Folds::Random(5), 1);
        let workshop = Workshop::new(data, Operations::default(), 30);
        let settings = Settings { seed: 1, evaluations: Some(hypotheses), ..Settings::default() };
        let seeds = baselines(inputs, &workshop.operations).into_iter().map(|b| b.1).collect();
        let mut search = Search::new(settings, seeds);
        let mut scorer = workshop.scorer();
        let (mut tried, mut prints): (Vec<Candidate>, Vec<(usize, Vec<f64>)>) = (Vec::new(), Vec::new());
        let (mut repeated, mut fits) = (0, 0.0);
        while let Some(work) = search.ask() {
            let began = Instant::now();
            let at = processor(began);
            let told = workshop.run(&work, &mut scorer);
            if let (Work::Score { candidates, .. }, dmci_search::search::Told::Scored(scores)) = (&work, &told) {
                fits += processor(began) - at;
                tried.extend(candidates.iter().cloned());
                for (candidate, score) in candidates.iter().zip(scores) {
                    let Ok(score) = score else { continue };
                    if !score.converged {
                        continue;
                    }
                    let model = dmci_search::lower::Lowered::new(&candidate.expr, inputs);
                    let print = scorer.errors(&model, &workshop.data.open, &score.values);
                    let scale = workshop.data.variance.sqrt();
                    let near = |other: &(usize, Vec<f64>)| {
                        other.0 == score.rank && other.1.iter().zip(&print).all(|(a, b)| (a - b).abs() <= 1e-7 * scale)
                    };
                    let is_known = prints.iter().any(near);
                    repeated += usize::from(is_known);
                    prints.push((score.rank, print));
                }
            }
            search.tell(told);
        }
        let columns = &workshop.data.open.columns;
        let signs: Vec<Signs> = columns.iter().map(|c| Signs::of(c)).collect();
        let sample: Vec<&Candidate> = tried.iter().take(tried.len().min(600)).collect();
        for bounds in [Bounds { nodes: 200, iterations: 3 }, Bounds { nodes: 1000, iterations: 5 }] {
            let began = Instant::now();
            let at = processor(began);
            let forms: BTreeSet<u64> =
                sample.iter().map(|c| hash(&normal(&c.expr, &c.values, &signs, bounds).0)).collect();
            let each = 1e6 * (processor(began) - at) / sample.len() as f64;
            println!(
                "{name:<10} {:>5.0}  {:>5} nodes x{:<2}  {each:>9.0}  {:>7.1}%  {:>12}  {:>7.1}%",
                1e6 * fits / tried.len() as f64,
                bounds.nodes,
                bounds.iterations,
                100.0 * (sample.len() - forms.len()) as f64 / sample.len() as f64,
                prints.len(),
                100.0 * repeated as f64 / prints.len() as f64,
            );
        }
    }
    true
}
