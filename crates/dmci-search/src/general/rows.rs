//! Which columns contents may read, and which rows are sealed.

use crate::data::{SEALED_SHARE, shuffled};
use crate::problem::{SearchProblem, refusal};
use dmci::Report;
use dmci_fit::{Table, TableColumn};
use dmci_stats::random::Stream;

/// Fewer rows than this in a series, or in all, and none are sealed.
const SEAL_FROM: usize = 30;

/// The columns that contents may read where a seed has no holes.
pub(super) fn inputs(problem: &SearchProblem, table: &Table) -> Vec<String> {
    if let Some(list) = &problem.search.inputs {
        return list.clone();
    }
    let settings = &problem.fit.problem;
    let aside = [&settings.weights, &settings.sigma, &settings.trials, &settings.group];
    let marks =
        [&problem.search.sealed, &settings.holdout].map(|m| m.as_deref().and_then(|t| t.strip_prefix("column:")));
    let is_input = |c: &&TableColumn| {
        let is_aside = aside.iter().any(|a| a.as_ref() == Some(&c.name)) || marks.contains(&Some(c.name.as_str()));
        !settings.target.contains(&c.name) && !is_aside && c.reals().is_ok()
    };
    table.columns.iter().filter(is_input).map(|c| c.name.clone()).collect()
}

/// Which rows are sealed: those that a column marks, none, or by default a quarter, of series their ends.
pub(super) fn sealed_marks(problem: &SearchProblem, table: &Table) -> Result<Vec<bool>, Report> {
    let n = table.rows;
    let settings = &problem.fit.problem;
    match problem.search.sealed.as_deref() {
        Some("none") => return Ok(vec![false; n]),
        Some(text) => {
            let Some(name) = text.strip_prefix("column:") else {
                return Err(refusal(
                    format!("{text} does not say which rows are sealed"),
                    "write column:NAME, or none",
                ));
            };
            let column = dmci_fit::find_column(table, name)?;
            let marks = column.reals().map_err(|row| {
                refusal(
                    format!("{name} has {} in row {}, expected a number", column.shown(row), row + 1),
                    "write 0 or 1",
                )
            })?;
            return Ok(marks.iter().map(|m| *m != 0.0).collect());
        }
        None => {}
    }
    if settings.objective {
        let key =
            |r: usize| settings.group.as_ref().and_then(|g| table.column(g)).map_or(String::new(), |c| c.shown(r));
        let mut series: Vec<(String, Vec<usize>)> = Vec::new();
        for r in 0..n {
            let name = key(r);
            match series.iter_mut().find(|(other, _)| *other == name) {
                Some((_, rows)) => rows.push(r),
                None => series.push((name, vec![r])),
            }
        }
        let mut marks = vec![false; n];
        for (_, rows) in series.iter().filter(|(_, rows)| rows.len() >= SEAL_FROM) {
            let first = rows.len() - (rows.len() as f64 * SEALED_SHARE) as usize;
            rows[first..].iter().for_each(|&r| marks[r] = true);
        }
        return Ok(marks);
    }
    let mut marks = vec![false; n];
    if n >= SEAL_FROM {
        let count = (n as f64 * SEALED_SHARE) as usize;
        if problem.search.rolling {
            marks[n - count..].fill(true);
        } else {
            shuffled(n, &mut Stream::new(problem.search.seed, 0x5ea1))[..count].iter().for_each(|&r| marks[r] = true);
        }
    }
    Ok(marks)
}
