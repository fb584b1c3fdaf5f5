//! Several models of the same rows, fitted alike: criteria with weights, and errors on rows that a fit has not seen.

mod output;
mod validate;

pub use output::Comparison;
pub use validate::Validation;

use crate::fit::Progress;
use crate::problem::Problem;
use crate::record::FitRecord;
use crate::request::{FitRequest, Inputs, refusal};
use crate::score::Criteria;
use dmci::{Diagnostic, ErrorCode, Program, Report, RunOptions};
use dmci_ops::real::exp;
use dmci_table::Table;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use validate::{Errors, validate};

/// A model that takes part.
#[derive(Clone, Debug)]
pub struct Entrant {
    /// What it is called in the table.
    pub name: String,
    /// How it is fitted; a formula is a program by now.
    pub request: FitRequest,
    /// The program, as it was written.
    pub program: Program,
    /// The table.
    pub table: Table,
    /// The fit to start from.
    pub start_from: Option<FitRecord>,
}

impl Entrant {
    /// The problem, with rows held out as this says.
    fn problem(&self, request: &FitRequest, table: &Table, run: &RunOptions) -> Result<Problem, Report> {
        let start_from = self.start_from.as_ref();
        request.problem(Inputs { program: self.program.clone(), table, start_from, run: run.clone() })
    }
}

/// A model, fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// What it is called.
    pub name: String,
    /// Rows that were fitted.
    pub rows: usize,
    /// Numbers that were fitted, without the noise.
    pub numbers: usize,
    /// The loss.
    pub loss: f64,
    /// The root of the mean squared error of the fitted rows.
    pub rmse: f64,
    /// The share of the variance that is explained.
    pub r2: Option<f64>,
    /// How the fit ended.
    pub status: String,
    /// Criteria; none if the loss is no likelihood and no sum of squares.
    pub criteria: Option<Criteria>,
    /// What the model has of all evidence by AICc (AIC if a model has too few rows for AICc), and by BIC.
    pub weights: Option<(f64, f64)>,
    /// Errors on rows that its fit had not seen.
    pub unseen: Option<Unseen>,
}

/// Errors on rows that a fit had not seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Unseen {
    /// The root of their mean square.
    pub rmse: f64,
    /// How many there are.
    pub count: usize,
    /// By how much the mean square is above that of the model with the lowest, with its standard error, and how likely
    /// chance alone makes it differ so much (a paired t-test); none for that model itself.
    pub difference: Option<(f64, f64, f64)>,
}

/// Fits all models to their tables and compares them. `watch` is told how each fit goes, and says when to stop.
pub fn compare(
    entrants: &[Entrant],
    validation: Option<&Validation>,
    run: &RunOptions,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Comparison, Report> {
    if let Some(entrant) = entrants.iter().find(|e| validation.is_some() && e.request.problem.holdout.is_some()) {
        let holdout = entrant.request.problem.holdout.clone().unwrap_or_default();
        return Err(refusal(format!("‹holdout {holdout}› and ‹cv› both say which rows are held out"), "leave one out"));
    }
    let mut models = Vec::new();
    let mut errors: Vec<Errors> = Vec::new();
    let mut first: Option<(&str, Vec<String>, Vec<usize>)> = None;
    let ends = Ends::of(entrants.iter().find_map(|e| e.request.options().ok()?.time));
    for (number, entrant) in entrants.iter().enumerate() {
        let ends = ends.of_next(entrants.len() - number);
        let problem = entrant.problem(&entrant.request, &entrant.table, run)?;
        check_same(&mut first, entrant, &problem)?;
        let mut options = entrant.request.options()?;
        options.time = ends.share(if validation.is_some() { 2 } else { 1 });
        let fit = entrant.request.fit(&problem, &options, watch, &|| run.cancel.is_cancelled())?;
        if fit.was_interrupted() {
            return Err(Report::from(Diagnostic::error(ErrorCode::E0409, "the comparison was cancelled")));
        }
        let held = fit.held_out.as_ref().map(|_| Errors::held_out(&problem, &fit));
        models.push(Compared {
            name: entrant.name.clone(),
            rows: problem.row_counts().0,
            numbers: problem.value_names().len(),
            loss: fit.score.loss,
            rmse: fit.score.rmse,
            r2: fit.score.r2,
            status: fit.optimality.outcome.name().to_string(),
            criteria: fit.criteria,
            weights: None,
            unseen: None,
        });
        match validation {
            Some(validation) => errors.push(validate(entrant, validation, (run, ends), watch)?),
            None => errors.extend(held),
        }
    }
    weigh(&mut models);
    if errors.len() == models.len() {
        validate::pair(&mut models, &errors);
    }
    Ok(Comparison::new(models, validation.cloned()))
}

/// When several fits have to be done, if they have a limit of time together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends(Option<Instant>);

impl Ends {
    /// From now on, they have so much time.
    pub fn of(time: Option<Duration>) -> Ends {
        Ends(time.and_then(|time| Instant::now().checked_add(time)))
    }

    /// The part that the next of so many fits has.
    pub fn share(self, among: usize) -> Option<Duration> {
        let share = |ends: Instant| ends.saturating_duration_since(Instant::now()) / among.max(1) as u32;
        self.0.map(share)
    }

    /// When the next of so many parts has to be done.
    pub fn of_next(self, among: usize) -> Ends {
        Ends::of(self.share(among))
    }
}

/// Criteria compare models of the same measurements only.
fn check_same<'a>(
    first: &mut Option<(&'a str, Vec<String>, Vec<usize>)>,
    entrant: &'a Entrant,
    problem: &Problem,
) -> Result<(), Report> {
    let own = (entrant.name.as_str(), problem.targets.clone(), problem.training().indices.clone());
    let Some((name, targets, rows)) = first else {
        *first = Some(own);
        return Ok(());
    };
    let wrong =
        |message: String, help: &str| Err(Report::from(Diagnostic::error(ErrorCode::E0814, message).help(help)));
    if *targets != own.1 {
        let message = format!("{} predicts {}, but {name} predicts {}", own.0, own.1.join(", "), targets.join(", "));
        return wrong(message, "compare models of the same target, on the same scale");
    }
    if *rows != own.2 {
        let message = format!("{} is fitted to {} rows, but {name} to {}", own.0, own.2.len(), rows.len());
        return wrong(message, "leave out the rows in which a column is missing that one of them reads");
    }
    Ok(())
}

/// Gives every model its Akaike weight and its weight by BIC.
fn weigh(models: &mut [Compared]) {
    let Some(all) = models.iter().map(|m| m.criteria).collect::<Option<Vec<Criteria>>>() else { return };
    let corrected = all.iter().all(|c| c.aicc.is_some());
    let shares = |values: Vec<f64>| {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let likelihoods: Vec<f64> = values.iter().map(|x| exp(-0.5 * (x - least))).collect();
        let sum: f64 = likelihoods.iter().sum();
        likelihoods.into_iter().map(|x| x / sum).collect::<Vec<f64>>()
    };
    let by_aic = shares(all.iter().map(|c| c.aicc.filter(|_| corrected).unwrap_or(c.aic)).collect());
    let by_bic = shares(all.iter().map(|c| c.bic).collect());
    for (model, weights) in models.iter_mut().zip(by_aic.into_iter().zip(by_bic)) {
        model.weights = Some(weights);
    }
}
