//! Laws of physics found again: 1,000 rows of each law of `sr_feynman`, and the same test of recovery for every tool.

use crate::{Ran, run_table};
use dmci::{Column, Program};
use dmci_fit::{Table, TableColumn};
use dmci_search::candidate::Candidate;
use dmci_search::data::Part;
use dmci_search::expr::{Expr, Node};
use dmci_search::funnel::{Contract, read};
use dmci_search::operation::{Operation, Operations};
use dmci_search::same::{Recovery, recovered};
use dmci_search::units::{Constants, Units};
use dmci_stats::random::Stream;
use dmci_units::Dimension;
use serde_json::Value as Json;
use std::time::Duration;

/// The operations of all searches: the usual ones and `asin`, which one of the laws has.
pub const OPERATIONS: &str = "+ - * / sqrt exp log sin cos asin expt";

const ROWS: usize = 1000;

/// A law with its table.
pub struct Law {
    pub id: String,
    /// Real numbers and quotients of numbers are lifted to parameters, whole ones are not.
    pub truth: String,
    pub names: Vec<String>,
    pub part: Part,
    /// What the law gives without noise, and the noise as a share of its deviation.
    pub clean: Vec<f64>,
    pub noise: f64,
    /// The dimensions of all columns; the numbers of a law have none.
    pub units: Units,
}

impl Law {
    pub fn table(&self) -> Table {
        let column = |(name, values): (&String, &Vec<f64>)| TableColumn {
            name: name.clone(),
            values: Column::Reals(values.clone()),
            stray: None,
            missing: Vec::new(),
        };
        let columns = self.names.iter().zip(&self.part.columns).map(column).collect();
        Table { name: self.id.clone(), columns, rows: self.part.len(), ..Table::default() }
    }
}

/// Reads the laws and draws their tables, uniform in the stated ranges.
pub fn laws(noise: f64) -> Vec<Law> {
    let shared = std::env::var("DMCI_SHARED").unwrap_or_else(|_| "../shared".into());
    let path = format!("{shared}/data/sr_feynman/feynman.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let list: Vec<Json> = serde_json::from_str(&text).expect("a list of laws");
    list.iter().enumerate().map(|(number, law)| draw(law, number as u64, noise)).collect()
}

fn draw(law: &Json, number: u64, noise: f64) -> Law {
    let text = |key: &str| law[key].as_str().expect("a text").to_string();
    let truth = text("formula_sexpr").replace(" pi)", " 3.141592653589793)").replace("(/ 1 2)", "0.5");
    let variables = law["variables"].as_array().expect("variables");
    let names: Vec<String> = variables.iter().map(|v| v["name"].as_str().expect("a name").to_string()).collect();
    let mut stream = Stream::new(0, 7000 + number);
    let mut columns = vec![Vec::new(); names.len()];
    for _ in 0..ROWS {
        for (column, v) in columns.iter_mut().zip(variables) {
            let (low, high) = (v["low"].as_f64().expect("a number"), v["high"].as_f64().expect("a number"));
            column.push(low + (high - low) * stream.uniform());
        }
    }
    let operations = Operations { list: Operation::ALL.to_vec() };
    let exact = read(&truth, &Contract { inputs: &names, operations: &operations, size: 200 }).expect("a law");
    let mut model = dmci_search::lower::Lowered::new(&exact.expr, names.len());
    let views: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    let space = &mut dmci_search::least_squares::Fitter::default().space;
    let mut target = model.values(&exact.values, &views, ROWS, space);
    let mean = target.iter().sum::<f64>() / ROWS as f64;
    let deviation = (target.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>() / ROWS as f64).sqrt();
    let clean = target.clone();
    target.iter_mut().for_each(|y| *y += noise * deviation * stream.normal());
    // Outside of the domain of a law there is no row.
    let finite: Vec<usize> = (0..ROWS).filter(|&r| target[r].is_finite()).collect();
    let part = Part { columns, target, root_weights: None }.select(&finite);
    let units = Units {
        inputs: variables.iter().map(|v| Some(dimension(&v["units"]))).collect(),
        target: Some(dimension(&law["output_units"])),
        constants: Constants::Pure,
    };
    let clean = finite.iter().map(|&r| clean[r]).collect();
    Law { id: text("id"), truth, names, part, clean, noise, units }
}

/// From exponents of m, s, kg, K and V.
fn dimension(exponents: &Json) -> Dimension {
    let list: Vec<f64> = exponents.as_array().expect("a list").iter().map(|e| e.as_f64().expect("a number")).collect();
    let bases = ["m", "s", "kg", "K", "V"].map(|unit| dmci_units::parse(unit).expect("a unit"));
    bases.iter().zip(list).fold(Dimension::NONE, |product, (base, e)| product.plus(e, base))
}

/// A candidate with its numbers that are whole, or quotients of small whole ones, as such, for all tools alike: to
/// five digits, as some tools compute in single precision, or to a tenth of the noise.
fn exact_numbers(candidate: &Candidate, noise: f64) -> Candidate {
    let near = f64::max(1e-5, 0.1 * noise);
    let mut nodes = Vec::new();
    for node in &candidate.expr.nodes {
        let Node::Param(p) = node else {
            nodes.push(*node);
            continue;
        };
        let value = candidate.values[*p as usize];
        let found = (1..=8)
            .map(|q| (q, (value * f64::from(q)).round()))
            .find(|(q, p)| (value * f64::from(*q) - p).abs() <= near * p.abs() && (1.0..=9.0).contains(&p.abs()));
        match found {
            Some((1, p)) => nodes.push(Node::Int(p as i16)),
            Some((q, p)) => {
                nodes.extend([Node::Op(Operation::Div), Node::Int(p as i16), Node::Int(q as i16)]);
            }
            None => nodes.push(*node),
        }
    }
    let mut expr = Expr { nodes };
    let old = expr.renumber();
    let values: Vec<f64> = old.iter().map(|&p| candidate.values[p as usize]).collect();
    // Not in canonical form, in which a quotient of numbers is a parameter.
    Candidate { expr, rest: Vec::new(), seed: 0, values, hash: 0 }
}

/// What a candidate leaves of the law with its own numbers, as a share of the deviation.
fn left(law: &Law, candidate: &Candidate) -> f64 {
    let n = law.part.len();
    let mut model = dmci_search::lower::Lowered::new(&candidate.expr, law.names.len());
    let views = law.part.slices();
    let space = &mut dmci_search::least_squares::Fitter::default().space;
    let made = model.values(&candidate.values, &views, n, space);
    let mean = law.clean.iter().sum::<f64>() / n as f64;
    let squares: f64 = made.iter().zip(&law.clean).map(|(p, y)| (p - y) * (p - y)).sum();
    (squares / law.clean.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>()).sqrt()
}

/// Whether a candidate is the law. One that is a thousandth off with the numbers that its tool fitted is not, or, with
/// noise, a quarter of the noise off what the law gives without it: *recovered up to the noise*.
pub fn is_recovered(law: &Law, candidate: &Candidate) -> bool {
    let distance = left(law, candidate);
    if distance.is_nan() || distance > f64::max(1e-3, 0.25 * law.noise) {
        return false;
    }
    let table = law.table();
    [candidate.clone(), exact_numbers(candidate, law.noise)].iter().any(|c| {
        let found = recovered(&law.truth, c, &table, &law.names);
        found.is_ok_and(|r| r != Recovery::No)
    })
}

/// Every third law: those that are measured with noise.
pub const EVERY: usize = 3;

/// `bench feynman [SECONDS [LAWS [units [NOISE]]]]`: all laws, those of a list with commas, or `third`, every third one.
pub fn feynman(seconds: f64, which: &str, with_units: bool, noise: f64) -> bool {
    let (mut found, mut all, mut spent) = (0, 0, 0.0);
    let is_wanted = |(i, law): &(usize, &Law)| match which {
        "" | "all" => true,
        "third" => i % EVERY == 0,
        list => list.split(',').any(|id| id == law.id),
    };
    for (_, law) in laws(noise).iter().enumerate().filter(is_wanted) {
        let operations = Operations::parse(OPERATIONS).expect("they exist");
        let ran: Ran = run_table(
            law.part.clone(),
            &law.names,
            operations,
            with_units.then_some(&law.units),
            None,
            0,
            None,
            crate::SIZE,
            Duration::from_secs_f64(seconds),
            crate::AS_IT_IS,
        );
        let judgement = crate::judged(&ran, 0).expect("there is a judgement");
        let best = &judgement.best.entry;
        let candidate = Candidate { values: best.score.values.clone(), ..best.candidate.clone() };
        let is_found = is_recovered(law, &candidate);
        (found, all, spent) = (found + usize::from(is_found), all + 1, spent + ran.elapsed);
        println!(
            "{:<9} {} {:5.1} s, {:6} hypotheses: {}",
            law.id,
            if is_found { "recovered" } else { "NOT      " },
            ran.elapsed,
            ran.search.evaluations(),
            candidate.formula(&law.names, &candidate.values)
        );
    }
    let units = if with_units { "with" } else { "without" };
    println!(
        "{found} of {all} laws recovered, noise {noise}, {units} units, {seconds} s each, {spent:.0} s of one core in all"
    );
    10 * found >= 6 * all
}

/// `bench feynman-tables FOLDER`: the tables, for other tools.
pub fn tables(folder: &str, noise: f64) -> bool {
    std::fs::create_dir_all(folder).expect("a folder");
    for law in laws(noise) {
        let mut text = law.names.iter().cloned().chain(["target".into()]).collect::<Vec<_>>().join(",") + "\n";
        for r in 0..law.part.len() {
            let row: Vec<String> =
                law.part.columns.iter().chain([&law.part.target]).map(|c| format!("{:?}", c[r])).collect();
            text += &(row.join(",") + "\n");
        }
        std::fs::write(format!("{folder}/{}.csv", law.id), text).expect("a file");
    }
    true
}

/// `bench feynman-answers FILE`: lines `ID SECONDS PROGRAM`, judged by the test of recovery.
pub fn answers(path: &str) -> bool {
    let laws = laws(0.0);
    let operations = Operations { list: Operation::ALL.to_vec() };
    let (mut found, mut all) = (0, 0);
    for line in std::fs::read_to_string(path).expect("a file").lines() {
        let mut words = line.splitn(3, ' ');
        let (Some(id), Some(seconds), Some(text)) = (words.next(), words.next(), words.next()) else { continue };
        let Some(law) = laws.iter().find(|law| law.id == id) else { continue };
        all += 1;
        let contract = Contract { inputs: &law.names, operations: &operations, size: 4000 };
        let program = Program::new(text);
        let is_found = read(&program.text, &contract).is_ok_and(|c| is_recovered(law, &c));
        found += usize::from(is_found);
        println!("{id:<9} {} {seconds} s: {text}", if is_found { "recovered" } else { "NOT      " });
    }
    println!("{found} of {all} laws recovered");
    all > 0
}
