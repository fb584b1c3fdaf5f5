//! The four sets of LLM-SR without a language model: `bench llmsr [SECONDS [SET]]`.

use crate::{judged, run_table};
use dmci_search::candidate::Candidate;
use dmci_search::data::Part;
use dmci_search::least_squares::Fitter;
use dmci_search::lower::Lowered;
use dmci_search::operation::Operations;
use std::time::Duration;

/// The operations of all four: the usual ones, and two that saturate or turn signs.
const OPERATIONS: &str = "+ - * / sqrt exp log sin cos tanh abs expt";

/// The sets, with what may be left of the variance on `test_id`, and the nodes of what counts as a law.
const SETS: [(&str, f64, usize); 4] = [
    ("oscillator1", 1e-12, 40),
    ("oscillator2", 1e-12, 40),
    ("bactgrow", 3.0e-3, usize::MAX),
    ("stressstrain", 7.0e-3, usize::MAX),
];

const SIZE: usize = 40;

/// The columns of a table of numbers, the target last.
fn table(set: &str, file: &str) -> (Vec<String>, Part) {
    let shared = std::env::var("DMCI_SHARED").unwrap_or_else(|_| "../shared".into());
    let path = format!("{shared}/data/sr_llmsr_{set}/{file}");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut lines = text.lines();
    let mut names: Vec<String> = lines.next().expect("a header").split(',').map(String::from).collect();
    let mut columns = vec![Vec::new(); names.len()];
    for line in lines {
        let fields = line.split(',').map(|field| field.parse::<f64>().expect("a number"));
        columns.iter_mut().zip(fields).for_each(|(column, x)| column.push(x));
    }
    names.pop();
    let target = columns.pop().expect("a target");
    (names, Part { columns, target, root_weights: None })
}

/// The mean square of what a candidate leaves, as a share of the variance.
fn left(candidate: &Candidate, part: &Part) -> f64 {
    let mut model = Lowered::new(&candidate.expr, part.columns.len());
    let made = model.values(&candidate.values, &part.slices(), part.len(), &mut Fitter::default().space);
    let mean = part.target.iter().sum::<f64>() / part.len() as f64;
    let squares: f64 = made.iter().zip(&part.target).map(|(p, y)| (p - y) * (p - y)).sum();
    squares / part.target.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>()
}

/// Searches each set, or one.
pub fn llmsr(seconds: f64, which: &str) -> bool {
    let mut reached = true;
    println!("{seconds} s of one core each, size {SIZE}, operations {OPERATIONS}; NMSE on test_id:");
    for (set, bar, most) in SETS.iter().filter(|(set, ..)| set.contains(which)) {
        let (names, train) = table(set, "train.csv");
        let (_, test) = table(set, "test_id.csv");
        let operations = Operations::parse(OPERATIONS).expect("they exist");
        let limit = Duration::from_secs_f64(seconds);
        let ran = run_table(train, &names, operations, None, None, 0, None, SIZE, limit, crate::AS_IT_IS);
        let best = judged(&ran, 0).expect("there is a judgement").best.entry;
        let candidate = Candidate { values: best.score.values.clone(), ..best.candidate.clone() };
        let (nmse, nodes) = (left(&candidate, &test), candidate.complexity());
        let holds = nmse <= *bar && nodes <= *most;
        reached &= holds;
        println!(
            "{set:<13} {nmse:.2e} {} the bar of {bar:.1e}, {nodes} nodes, {:.0} s, {} hypotheses: {}",
            if holds { "within" } else { "ABOVE " },
            ran.elapsed,
            ran.search.evaluations(),
            candidate.formula(&names, &candidate.values)
        );
    }
    reached
}
