//! Whether a search can start: every row has a finite prediction with finite derivatives, and so has the loss.

use crate::evaluate::interruption;
use crate::loss::Loss;
use crate::problem::Problem;
use dmci::ErrorCode;
use dmci::{Batch, Column, Diagnostic, Report, Want};
use dmci_table::select;

const START_HELP: &str = "start elsewhere: change the starts in (params ...), or give others with ‹start›";

/// Rows that are looked at first.
const SOME: usize = 20;

impl Problem {
    /// Says what is wrong if a search cannot start: rows that fail or are not finite.
    pub fn check_start(&self) -> Result<(), Report> {
        // One row first, then some: a program that always fails must not be walked for each of them.
        if self.check_groups(Want::Values, |rows| &rows[..1]).is_err() {
            self.check_groups(Want::Gradients, |rows| &rows[..rows.len().min(SOME)])?;
        }
        let known = self.known(&self.start)?;
        if known.evaluation.is_finite() && known.predictions.iter().all(|y| y.is_finite()) {
            return Ok(());
        }
        self.check_groups(Want::Gradients, |rows| rows)?;
        Err(self.why_not_finite(&known.predictions))
    }

    /// Why a loss is not finite although all predictions are.
    fn why_not_finite(&self, predictions: &[f64]) -> Report {
        let wrong = |message: String, help: &str| Report::from(Diagnostic::error(ErrorCode::E0805, message).help(help));
        let (rows, targets, loss) = (self.training(), self.width(), self.loss.name());
        // What a program predicts for successes is their probability.
        let trials = |cell: usize| if self.loss.uses_trials() { rows.trials[cell / targets] } else { 1.0 };
        let bad = |&cell: &usize| {
            let (row, prediction) = (cell / targets, predictions[cell] / trials(cell));
            let set = self.layout.values(&self.start, rows.group[row]);
            let term = self.weighted_term(rows, row, prediction, rows.target[cell], &set);
            !(term.loss.is_finite() && term.by_prediction.is_finite())
        };
        let mut places: Vec<usize> = (0..predictions.len()).filter(bad).map(|cell| cell / targets).collect();
        places.dedup();
        let Some(cell) = (0..predictions.len()).find(bad).filter(|_| self.series().is_none()) else {
            let message = "the loss or its derivative is not finite at the start, though that of every row is";
            return wrong(message.into(), "numbers this large overflow: measure the target in larger units");
        };
        let (prediction, at) = (predictions[cell] / trials(cell), self.row_list(&places, None));
        let expected = match self.loss {
            Loss::Binomial => Some("a probability above 0 and below 1"),
            Loss::Poisson | Loss::NegativeBinomial if prediction <= 0.0 => Some("a mean above 0"),
            _ => None,
        };
        match expected {
            Some(expected) => {
                wrong(format!("the {loss} loss needs {expected}, got {prediction} at the start in {at}"), START_HELP)
            }
            None => {
                let (name, target) = (&self.targets[cell % targets], rows.target[cell]);
                let numbers = format!("first the prediction is {prediction:?} and {name} is {target:?}");
                let message = format!("the {loss} loss is not finite at the start in {at}: {numbers}");
                wrong(message, "numbers this large overflow: measure the target in larger units, or start nearer to it")
            }
        }
    }

    fn check_groups(&self, want: Want, choose: impl Fn(&[usize]) -> &[usize]) -> Result<(), Report> {
        for group in 0..self.layout.groups {
            let rows: Vec<usize> = (0..self.training().len()).filter(|&r| self.training().group[r] == group).collect();
            if rows.is_empty() {
                continue;
            }
            let (rows, all) = (choose(&rows), rows.len());
            let values = self.layout.values(&self.start, group);
            let columns: Vec<Column> = self.training().columns.iter().map(|c| select(c, rows)).collect();
            let (batch, is_over) = self.in_time(1, || self.model.evaluate(&values, &columns, want));
            let batch = batch?;
            let tried = (rows.len() < all).then_some(rows.len());
            self.check_failures(&batch, rows, tried, is_over)?;
            self.check_finite(&batch, rows, tried)?;
        }
        Ok(())
    }

    fn check_failures(&self, batch: &Batch, rows: &[usize], tried: Option<usize>, is_over: bool) -> Result<(), Report> {
        let interrupted = interruption(batch);
        if let Some(interrupted) = interrupted.clone().filter(|_| !is_over) {
            return Err(interrupted);
        }
        if let Some((_, failure)) = batch.failures.first() {
            let rows: Vec<usize> = batch.failures.iter().map(|f| rows[f.0]).collect();
            let message = format!("the program fails at the start in {}", self.row_list(&rows, tried));
            let error = Diagnostic::error(ErrorCode::E0804, message);
            let help =
                "repair the program, remove the rows, or start elsewhere with ‹start›; below is the first failure";
            let mut report = Report::from(error.help(help));
            let is_cancelled = interrupted.is_some() && failure.is_cancelled();
            report.append(if is_cancelled { self.out_of_time() } else { failure.clone() });
            return Err(report);
        }
        Ok(())
    }

    fn check_finite(&self, batch: &Batch, rows: &[usize], tried: Option<usize>) -> Result<(), Report> {
        let (n, outputs) = (self.layout.values, self.outputs);
        let bad = |cell: &usize| !batch.values[*cell].is_finite();
        if let Some(cell) = (0..batch.values.len()).find(bad) {
            let mut places: Vec<usize> = (0..batch.values.len()).filter(bad).map(|c| rows[c / outputs]).collect();
            places.dedup();
            let value = batch.values[cell];
            let message = format!("the prediction is {value} at the start in {}", self.row_list(&places, tried));
            return Err(Report::from(Diagnostic::error(ErrorCode::E0805, message).help(START_HELP)));
        }
        if let Some(i) = batch.gradients.iter().position(|g| !g.is_finite()) {
            let j = i % n;
            let name = &self.number_names()[j];
            let bad = |c: &usize| !batch.gradients[c * n + j].is_finite();
            let mut places: Vec<usize> = (0..batch.values.len()).filter(bad).map(|c| rows[c / outputs]).collect();
            places.dedup();
            let rows = self.row_list(&places, tried);
            let message = format!("the derivative by {name} is not finite at the start in {rows}");
            return Err(Report::from(Diagnostic::error(ErrorCode::E0805, message).help(START_HELP)));
        }
        Ok(())
    }

    /// The names of the numbers of one set.
    pub(crate) fn number_names(&self) -> Vec<String> {
        self.parameters.iter().flat_map(|p| p.number_names()).collect()
    }

    /// Rows of the training set as a reader of the table counts them: from 1. If not all were tried, how many were.
    fn row_list(&self, rows: &[usize], tried: Option<usize>) -> String {
        if self.series().is_some() {
            let names: Vec<&str> =
                rows.iter().take(5).filter_map(|&r| self.groups.get(r)).map(String::as_str).collect();
            return if names.is_empty() { "its run".into() } else { format!("the run of {}", names.join(", ")) };
        }
        let numbers: Vec<String> = rows.iter().take(5).map(|&r| (self.training().indices[r] + 1).to_string()).collect();
        let more = if rows.len() > 5 { format!(" and {} more", rows.len() - 5) } else { String::new() };
        let tried = tried.map_or(String::new(), |count| format!(" of the {count} rows that were tried first"));
        format!("row{} {}{more}{tried}", if rows.len() == 1 { "" } else { "s" }, numbers.join(", "))
    }
}
