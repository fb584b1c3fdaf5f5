//! A search on synthetic cells: does it come from the smooth seed to the family that made them?

use super::curves::Curves;
use super::data::GRID;
use super::tail::{SPLITS, error, synthetic};
use crate::numbers::Real;
use dmci::{Cancel, Program, Report, RunOptions};
use dmci_driver::problem::begin;
use dmci_driver::request::{Begun, SearchRequest, exported};
use dmci_fit::Table;
use dmci_search::general::Sources;
use dmci_search::problem::SearchProblem;
use dmci_search::same::{Family, Relation, compare};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// The seed of the search.
pub const SMOOTH: &str = include_str!("../../programs/l/search/smooth.scm");

/// The family of the cells, from any capacity on and from 1 on, as the data are: a search may find either.
pub const FAMILIES: [&str; 2] = [
    include_str!("../../programs/l/search/two-reservoir.scm"),
    include_str!("../../programs/l/search/two-reservoir-from-one.scm"),
];

/// Operations of candidates, and the largest content of the hole.
const SPACE: (&str, usize) = ("+ - * / min max exp sqrt", 14);

/// Hypotheses that are fitted for a seed at most, and seconds.
const BUDGET: (u64, f64) = (30_000, 120.0);

/// The first place of the grid: roots have no derivative at 0.
const FIRST: f64 = 1e-4;

/// What a search found on the cells of a seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recovered {
    /// The seed of the cells and of the search.
    pub seed: u64,
    /// The program.
    pub program: String,
    /// Whether it describes the functions of the family, and no others.
    pub is_same: bool,
    /// Hypotheses that were fitted.
    pub evaluations: u64,
    /// Errors behind the split after 60 steps, 300 steps, and converged.
    pub errors: [Real; 3],
}

/// The known cycles of all cells as a table.
fn table(cells: &[Vec<f64>], split: usize) -> Result<Table, Report> {
    let mut text = "cell,k,q\n".to_string();
    for (number, cell) in cells.iter().enumerate() {
        for (k, q) in cell[..split].iter().enumerate() {
            let _ = writeln!(text, "c{number},{:?},{q:?}", (k as f64).max(FIRST));
        }
    }
    Table::from_csv("synthetic cells", text.as_bytes())
}

/// Whether a program describes the same functions as one of the families.
fn is_same(program: &Program, table: &Table) -> Result<bool, Report> {
    let inputs = ["k".to_string()];
    let found = Family::read(program, &inputs)?;
    for truth in FAMILIES {
        let truth = Family::read(&Program::new(truth), &inputs)?;
        if compare(&found, &truth, table, &inputs, 0)?.relation == Relation::Same {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Errors behind the split, of every cell fitted alone.
fn errors(program: &str, cells: &[Vec<f64>], split: usize) -> Result<[Real; 3], Report> {
    let program = Program::new(&program.replace(" (per cell)", ""));
    let places = (0..GRID).map(|k| (k as f64).max(FIRST)).collect();
    let curves = Curves::of(program, places)?;
    let targets: Vec<&[f64]> = cells.iter().map(|c| &c[..split]).collect();
    let score =
        |raws: &[Vec<f64>]| -> Result<Real, Report> { Ok(Real(error(&curves.curves(raws, GRID)?, cells, split))) };
    let long = curves.adam(&targets, 300, 0)?;
    let short = score(&curves.adam(&targets, 60, 0)?.raws)?;
    Ok([short, score(&long.raws)?, score(&curves.converged(&targets, &long.raws)?.raws)?])
}

/// Searches the cells of a seed.
fn recover(seed: u64, budget: (u64, f64)) -> Result<Recovered, Report> {
    let (cells, split) = (synthetic(seed), SPLITS[0].1);
    let table = table(&cells, split)?;
    let mut problem = SearchProblem::default();
    problem.fit.problem.target = vec!["q".into()];
    problem.search.sealed = Some("none".into());
    problem.search.operations = SPACE.0.into();
    problem.search.size = SPACE.1;
    problem.search.seed = seed;
    problem.budget.evaluations = Some(budget.0);
    problem.budget.time_limit = budget.1;
    let sources = Sources {
        table: table.clone(),
        seeds: vec![Program::named("smooth.scm", SMOOTH)],
        baselines: Vec::new(),
        start_from: None,
        run: RunOptions::default(),
    };
    let Begun { workshop, search, pending, own, seed: draws } = begin(&problem, sources, None)?;
    let cancel = Cancel::default();
    let limits = SearchRequest { time_limit: budget.1, ..SearchRequest::default() };
    let limits = limits.limits(&cancel);
    let done = dmci_driver::run::run(&workshop, search, pending, &limits, &mut |_, _| Ok(()), &mut |_, _| {})?;
    let judgement = Begun::judge(&workshop, &done.search, &own, draws)?;
    let program = exported(&workshop, &judgement.best.entry);
    Ok(Recovered {
        seed,
        is_same: is_same(&Program::new(&program), &table)?,
        evaluations: done.search.evaluations(),
        errors: errors(&program, &cells, split)?,
        program,
    })
}

/// Searches for all seeds.
pub fn run(quick: bool) -> Result<Vec<Recovered>, Report> {
    let (seeds, budget) = if quick { (1, (300, 5.0)) } else { (10, BUDGET) };
    (0..seeds).map(|seed| recover(seed, budget)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The family itself is the same and forecasts to its noise; the seed is neither.
    #[test]
    fn the_family_is_told_from_the_seed() {
        let (cells, split) = (synthetic(0), SPLITS[0].1);
        let table = table(&cells, split).unwrap();
        let knee = "(params (a free 0.016 (per cell)) (c free 0.002 (per cell)))\n(hole fade (k) (- 1 (max (* a (sqrt k)) (* c k))))";
        assert!(is_same(&Program::new(knee), &table).unwrap());
        assert!(!is_same(&Program::new(SMOOTH), &table).unwrap());
        let [_, _, found] = errors(knee, &cells, split).unwrap();
        let [_, _, smooth] = errors(SMOOTH, &cells, split).unwrap();
        assert!(found.0 < 0.02 && smooth.0 > found.0, "{found:?} {smooth:?}");
    }
}
