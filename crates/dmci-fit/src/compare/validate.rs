//! Cross-validation: every part of the rows is predicted by a fit to others.

use super::{Compared, Ends, Entrant, Unseen};
use crate::binding::find_column;
use crate::fit::{FitOptions, Progress};
use crate::problem::Problem;
use crate::request::refusal;
use crate::result::Fit;
use crate::uncertainty;
use dmci::{Column, Diagnostic, ErrorCode, Report, RunOptions};
use dmci_ops::real::sqrt;
use dmci_stats::distribution::student_cdf;
use dmci_table::{Table, TableColumn};
use std::ops::ControlFlow;

/// How rows are held out, one part after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Validation {
    /// So many parts that the seed draws.
    Folds(usize),
    /// Every row alone.
    Loo,
    /// So many parts in the order of the table, each predicted by those before it.
    Rolling(usize),
    /// The rows of each group of a column.
    Group(String),
}

impl Validation {
    /// Reads `5`, `loo`, `rolling:5` or `group:COLUMN`.
    pub fn parse(text: &str) -> Result<Validation, Report> {
        let count = |text: &str| text.parse().ok().filter(|k| *k >= 2);
        let found = match text.split_once(':') {
            None if text == "loo" => Some(Validation::Loo),
            None => count(text).map(Validation::Folds),
            Some(("rolling", k)) => count(k).map(Validation::Rolling),
            Some(("group", column)) if !column.is_empty() => Some(Validation::Group(column.to_string())),
            _ => None,
        };
        let help = "write 5 for five parts, loo for every row alone, rolling:5 for parts in the order of the table, or \
                    group:COLUMN";
        found.ok_or_else(|| refusal(format!("‹cv› must say how rows are held out, got {text}"), help))
    }

    /// How it is said.
    pub fn name(&self) -> String {
        match self {
            Validation::Folds(k) => format!("{k} folds"),
            Validation::Loo => "leave one row out".into(),
            Validation::Rolling(k) => format!("{k} rolling origins"),
            Validation::Group(column) => format!("leave one {column} out"),
        }
    }
}

/// Squared errors on rows that a fit had not seen, each with the number of its row and target.
pub struct Errors(Vec<((usize, usize), f64)>);

impl Errors {
    /// Those of the rows that one fit has held out.
    pub fn held_out(problem: &Problem, fit: &Fit) -> Errors {
        let (rows, targets) = (problem.held_out(), problem.targets.len());
        let cells = rows.target.iter().zip(&fit.held_out_predictions).enumerate();
        let measured = cells.filter(|(_, (y, _))| !y.is_nan());
        let error =
            |(cell, (y, p)): (usize, (&f64, &f64))| ((rows.indices[cell / targets], cell % targets), (p - y) * (p - y));
        Errors(measured.map(error).collect())
    }
}

/// The column that marks the rows of a group; no program can read it.
const MARK: &str = "(held out)";

/// The errors of a model on all rows, each predicted by a fit that had not seen it.
pub fn validate(
    entrant: &Entrant,
    validation: &Validation,
    (run, ends): (&RunOptions, Ends),
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Errors, Report> {
    let mut request = entrant.request.clone();
    request.search.errors = uncertainty::Errors::None;
    request.search.intervals = Default::default();
    (request.search.bootstrap, request.search.diagnose) = (None, false);
    let mut all = Vec::new();
    let parts = parts(entrant, validation, run)?;
    let count = parts.len();
    for (number, (holdout, table)) in parts.into_iter().enumerate() {
        request.problem.holdout = Some(holdout);
        let problem = entrant.problem(&request, table.as_ref().unwrap_or(&entrant.table), run)?;
        let options = FitOptions { time: ends.share(count - number), ..request.options()? };
        let fit = request.fit(&problem, &options, watch, &|| run.cancel.is_cancelled())?;
        if fit.was_interrupted() {
            return Err(Report::from(Diagnostic::error(ErrorCode::E0409, "the comparison was cancelled")));
        }
        all.extend(Errors::held_out(&problem, &fit).0);
    }
    all.sort_by_key(|e| e.0);
    Ok(Errors(all))
}

/// What is held out, part by part, with the table that marks it.
fn parts(entrant: &Entrant, validation: &Validation, run: &RunOptions) -> Result<Vec<(String, Option<Table>)>, Report> {
    let numbered = |word: &str, k: usize| (1..=k).map(|i| (format!("{word}:{i}/{k}"), None)).collect();
    Ok(match validation {
        Validation::Folds(k) => numbered("fold", *k),
        Validation::Rolling(k) => numbered("rolling", *k),
        Validation::Loo => {
            let problem = entrant.problem(&entrant.request, &entrant.table, run)?;
            numbered("fold", problem.training().len())
        }
        Validation::Group(name) => {
            let column = find_column(&entrant.table, name)?;
            let problem = entrant.problem(&entrant.request, &entrant.table, run)?;
            if problem.parameters.iter().any(|p| p.per.as_ref() == Some(name)) {
                let message = format!("{} has parameters for each {name}, which an unseen {name} lacks", entrant.name);
                let help = "hold out folds of rows, or let the parameters be the same for all";
                return Err(Report::from(Diagnostic::error(ErrorCode::E0814, message).help(help)));
            }
            let groups: Vec<String> = (0..entrant.table.rows).map(|row| column.shown(row)).collect();
            let mut names: Vec<&String> = Vec::new();
            groups.iter().for_each(|g| {
                if !names.contains(&g) {
                    names.push(g)
                }
            });
            let marked = |group: &String| {
                let mut table = entrant.table.clone();
                let marks = groups.iter().map(|g| f64::from(u8::from(g == group))).collect();
                let values = Column::Reals(marks);
                table.columns.push(TableColumn { name: MARK.into(), values, stray: None, missing: Vec::new() });
                (format!("column:{MARK}"), Some(table))
            };
            names.into_iter().map(marked).collect()
        }
    })
}

/// Scores all models on the rows that each of them has predicted unseen, and tests each against the one with the least
/// error, row by row.
pub fn pair(models: &mut [Compared], errors: &[Errors]) {
    let mean = |e: &Errors| e.0.iter().map(|x| x.1).sum::<f64>() / e.0.len() as f64;
    let Some(least) = (0..errors.len()).min_by(|&a, &b| mean(&errors[a]).total_cmp(&mean(&errors[b]))) else { return };
    for (i, model) in models.iter_mut().enumerate() {
        let pairs = errors[i].0.iter().zip(&errors[least].0);
        let same = pairs.clone().all(|(a, b)| a.0 == b.0) && errors[i].0.len() == errors[least].0.len();
        let differences: Vec<f64> = pairs.map(|(a, b)| a.1 - b.1).collect();
        let n = differences.len() as f64;
        let average = differences.iter().sum::<f64>() / n;
        let squares: f64 = differences.iter().map(|d| (d - average) * (d - average)).sum();
        let error = sqrt(squares / (n - 1.0) / n);
        let chance = 2.0 * (1.0 - student_cdf((average / error).abs(), n - 1.0));
        model.unseen = Some(Unseen {
            rmse: sqrt(mean(&errors[i])),
            count: errors[i].0.len(),
            difference: (i != least && same && n > 1.0 && error > 0.0).then_some((average, error, chance)),
        });
    }
}
