//! Scores of programs with holes, of likelihoods, groups, priors and objectives: by the fitter of whole programs.
//!
//! A likelihood is written as a mean square, exp(2 L / n), so that n/2 times its logarithm is the negative
//! log-likelihood L, and everything that ranks mean squares ranks likelihoods.

mod rows;
mod systems;

use crate::candidate::Candidate;
use crate::data::{Data, FLOOR, Part, shuffled};
use crate::funnel::{Rejection, Stage};
use crate::grouped::{GroupFit, Grouped};
use crate::ode::{self, Ode};
use crate::problem::{ObjectiveKind, SearchProblem, refusal};
use crate::template::Template;
use dmci::{Column, Datum, Interpreter, Program, Report, RunOptions, UnitOptions};
use dmci_fit::{FitRecord, FitRequest, Inputs, LeanFit, LeanOptions, Loss, Problem, Table, TableColumn};
use dmci_ops::real::exp;
use dmci_stats::random::Stream;
use rows::{inputs, sealed_marks};
use std::sync::Arc;

/// What somebody else has read for a search.
#[derive(Clone, Debug)]
pub struct Sources {
    /// The table.
    pub table: Table,
    /// Programs to begin with.
    pub seeds: Vec<Program>,
    /// Programs that the best one is compared with.
    pub baselines: Vec<Program>,
    /// The fit to start from.
    pub start_from: Option<FitRecord>,
    /// How programs are run.
    pub run: RunOptions,
}

/// How rows that took no part in a fit are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Validation {
    /// As the request says: its fits leave them out already.
    Asked,
    /// Parts of the rows, or of the series of an objective.
    Folds(usize),
    /// The end of each series.
    Tail,
}

/// What a loss measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    /// Squares, or what the program or the huber loss has in their place.
    Squares,
    /// Absolute residuals.
    Absolute,
    /// Negative logarithms of probabilities.
    Likelihood,
}

/// A problem whose candidates are whole programs.
#[derive(Clone, Debug)]
pub struct General {
    /// The seeds, and behind them the baselines.
    pub templates: Vec<Template>,
    seeds: usize,
    /// Nodes outside of the holes of the smallest seed.
    least: usize,
    request: FitRequest,
    start_from: Option<FitRecord>,
    run: RunOptions,
    open: Table,
    /// All rows, and the request that leaves out the sealed ones.
    sealed: Option<(Table, FitRequest)>,
    tail: FitRequest,
    validation: Validation,
    measure: Measure,
    /// What fits candidates that are expressions of rows, group by group.
    grouped: Option<Grouped>,
    /// The system, if candidates are right-hand sides of ODEs.
    pub ode: Option<Arc<Ode>>,
    seed: u64,
    /// The dimensions of columns, if there are any.
    units: Option<UnitOptions>,
    /// Counts of what is fitted and sealed, for who prints them.
    pub data: Data,
}

/// The part of a series that validates.
const TAIL: f64 = 0.25;

/// Steps of the lowest rung, and of fits to convergence.
const FEW_EPOCHS: usize = 10;
const EPOCHS: usize = 100;

/// The name of the column that marks sealed rows.
const SEALED: &str = "sealed rows of the search";

fn select(table: &Table, rows: &[usize]) -> Table {
    let column = |c: &TableColumn| TableColumn {
        name: c.name.clone(),
        values: c.values.select(rows),
        stray: c.stray.and_then(|row| rows.iter().position(|r| *r == row)),
        missing: (0..rows.len()).filter(|&i| c.missing.binary_search(&rows[i]).is_ok()).collect(),
    };
    Table {
        name: table.name.clone(),
        columns: table.columns.iter().map(column).collect(),
        rows: rows.len(),
        units: table.units.clone(),
    }
}

impl General {
    /// Prepares a problem. Fails if its settings, its table and its seeds do not go together.
    pub fn new(problem: &SearchProblem, sources: Sources) -> Result<General, Report> {
        problem.check()?;
        let objective;
        let problem = match problem.search.ode.is_empty() {
            true => problem,
            false => {
                objective = ode::as_objective(problem)?;
                &objective
            }
        };
        let Sources { table, mut seeds, mut baselines, start_from, run } = sources;
        let mut request = problem.fit.clone();
        request.check()?;
        let settings = &request.problem;
        let (is_objective, seed) = (settings.objective, problem.search.seed);
        let marks = sealed_marks(problem, &table)?;
        let part = |wanted: bool| (0..table.rows).filter(|&r| marks[r] == wanted).collect::<Vec<usize>>();
        let (open_rows, sealed_rows) = (part(false), part(true));
        let open = select(&table, &open_rows);
        let ode = match problem.search.ode.is_empty() {
            true => None,
            false => Some(Arc::new(Ode::new(problem, &open, &table, &marks)?)),
        };
        if let Some(ode) = &ode {
            let (linear, constant) = ode.programs();
            seeds = vec![linear];
            baselines.insert(0, constant);
        }
        if seeds.is_empty() {
            let message = "a search with an objective, groups or a loss other than least squares needs a seed";
            return Err(refusal(message, "name a program to begin with among the seeds"));
        }
        let inputs = ode.as_ref().map_or_else(|| inputs(problem, &table), |ode| ode.arguments.clone());
        let (usual, own) = (problem.limits()?, problem.hole_limits()?);
        let mut templates = Vec::new();
        for program in &seeds {
            templates.push(Template::read(program, &inputs, &usual, &own)?);
        }
        for (number, program) in baselines.iter().enumerate() {
            // The constants of a system are a baseline with holes.
            templates.push(match ode.is_some() && number == 0 {
                true => Template::read(program, &inputs, &usual, &own)?,
                false => Template::fixed(program)?,
            });
        }
        let sealed = (!sealed_rows.is_empty()).then(|| {
            let marked = Column::Reals(marks.iter().map(|m| f64::from(u8::from(*m))).collect());
            let mut all = table.clone();
            all.columns.push(TableColumn { name: SEALED.into(), values: marked, stray: None, missing: Vec::new() });
            let mut request = request.clone();
            request.problem.holdout = Some(format!("column:{SEALED}"));
            (all, request)
        });
        let mut tail = request.clone();
        tail.problem.holdout = Some(format!("tail:{TAIL}"));
        let validation = match (&settings.holdout, is_objective) {
            (Some(_), _) => Validation::Asked,
            (None, true) => Validation::Tail,
            (None, false) => Validation::Folds(problem.search.folds),
        };
        // Searches are bounded by counts and make no errors.
        request.outputs = Default::default();
        let target = settings.target.join(", ");
        let measure = match (is_objective, settings.loss.as_deref()) {
            (true, _) if problem.search.objective == ObjectiveKind::Squares => Measure::Squares,
            (true, _) => Measure::Likelihood,
            (false, Some("mae")) => Measure::Absolute,
            (false, None) if settings.sigma.is_none() && settings.trials.is_none() => Measure::Squares,
            (false, Some(name)) if Loss::named(name).is_none_or(|l| !l.is_likelihood()) => Measure::Squares,
            (false, _) => Measure::Likelihood,
        };
        let numbers = |column: &str, table: &Table| -> Vec<f64> {
            table.column(column).and_then(|c| c.reals().ok()).unwrap_or_default()
        };
        let mut values: Vec<f64> = settings.target.iter().flat_map(|t| numbers(t, &open)).collect();
        values.retain(|y| !y.is_nan());
        let count = if is_objective || values.is_empty() { open.rows } else { values.len() };
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let variance = values.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>() / values.len().max(1) as f64;
        let rows_of = |count: usize| Part { target: vec![0.0; count], ..Part::default() };
        let folds = match validation {
            Validation::Folds(k) => k,
            _ => 1,
        };
        let mut data = Data {
            inputs,
            target: if target.is_empty() { "objective".into() } else { target },
            open: rows_of(count),
            few: Part::default(),
            folds: vec![Default::default(); folds],
            sealed: rows_of(sealed_rows.len()),
            // Likelihoods have no floor.
            variance: if measure == Measure::Likelihood { 0.0 } else { variance },
            exact: if measure == Measure::Likelihood { 0.0 } else { FLOOR * variance },
        };
        if let Some(ode) = &ode {
            data.target = (0..ode.states.len()).map(|i| ode.rate(i)).collect::<Vec<_>>().join(", ");
            data.open = rows_of(ode.measured());
            data.folds = vec![Default::default(); problem.search.folds];
            // Errors are measured in deviations.
            (data.variance, data.exact) = (1.0, ode::FLOOR);
        }
        let known = crate::units::dimensions(&problem.units, &table)?;
        let single = match &settings.target[..] {
            [target] if !is_objective => known.get(target).copied(),
            _ => None,
        };
        let names: Vec<_> = known.into_iter().collect();
        let units = (!names.is_empty()).then_some(UnitOptions { names, result: single });
        let least = templates[..seeds.len()].iter().map(Template::nodes).min().unwrap_or(0);
        let programs: Vec<Program> = seeds.iter().chain(&baselines).cloned().collect();
        let mut general = General {
            least,
            templates,
            seeds: seeds.len(),
            request,
            start_from,
            run,
            open,
            sealed,
            tail,
            validation,
            measure,
            grouped: None,
            ode,
            seed,
            units,
            data,
        };
        // What is wrong with a seed is told before a search begins.
        for number in 0..general.templates.len() {
            let candidate = general.templates[number].candidate(number);
            let problem = general.problem(&candidate, &general.request, &general.open)?;
            // A line may run away: its fit finds a start.
            if general.ode.is_none() {
                problem.check_start()?;
            }
            // Every variable of a hole must be in scope there.
            if let Some(all) = general.templates[number].with_all_variables(number) {
                general.problem(&all, &general.request, &general.open)?;
            }
        }
        general.grouped = general.grouped(&programs);
        Ok(general)
    }

    /// What fits group by group, if all programs are expressions of rows and least squares is all that is asked for.
    fn grouped(&self, programs: &[Program]) -> Option<Grouped> {
        let settings = &self.request.problem;
        let aside = [&settings.weights, &settings.sigma, &settings.trials, &settings.group, &settings.holdout];
        let is_plain = matches!(settings.loss.as_deref(), None | Some("mse" | "sse"))
            && !settings.objective
            && settings.only.is_none()
            && aside.iter().all(|a| a.is_none())
            && self.start_from.is_none()
            && self.run.bindings.is_empty();
        let ([target], Validation::Folds(k), true) = (&settings.target[..], self.validation, is_plain) else {
            return None;
        };
        let sealed = match &self.sealed {
            Some((all, _)) => {
                let marks = all.column(SEALED)?.reals().ok()?;
                select(all, &(0..all.rows).filter(|&r| marks[r] > 0.0).collect::<Vec<usize>>())
            }
            None => select(&self.open, &[]),
        };
        let folds: Vec<Vec<usize>> =
            (0..k.min(self.open.rows)).map(|fold| self.fold(self.open.rows, k, fold)).collect();
        let floor = self.data.exact;
        Grouped::new(&self.templates, programs, target, [&self.open, &sealed], &folds, floor)
    }

    /// The rows that a fold leaves out.
    fn fold(&self, rows: usize, k: usize, fold: usize) -> Vec<usize> {
        let order = shuffled(rows, &mut Stream::new(self.seed, 0xf01d));
        let mut list: Vec<usize> = (0..rows).filter(|i| i % k == fold).map(|i| order[i]).collect();
        list.sort_unstable();
        list
    }

    /// The same problem with one program in the place of its seeds, as it is.
    pub fn with_program(&self, program: &Program) -> Result<General, Report> {
        let templates = vec![Template::fixed(program)?];
        let mut general = General { templates, seeds: 1, grouped: None, ..self.clone() };
        general.grouped = general.grouped(std::slice::from_ref(program));
        Ok(general)
    }

    /// The seeds with the contents that they have.
    pub fn seeds(&self) -> Vec<Candidate> {
        (0..self.seeds).map(|i| self.templates[i].candidate(i)).collect()
    }

    /// The seeds and the baselines by name: what the best program is compared with.
    pub fn baselines(&self) -> Vec<(String, Candidate)> {
        self.templates.iter().enumerate().map(|(i, t)| (t.name.clone(), t.candidate(i))).collect()
    }

    /// A hash of the table.
    pub fn hash(&self) -> String {
        self.sealed.as_ref().map_or(&self.open, |(all, _)| all).hash()
    }

    /// What the root of a mean square is, for who prints it.
    pub fn error_name(&self) -> &'static str {
        match self.measure {
            Measure::Squares => "RMSE",
            Measure::Absolute => "MAE",
            Measure::Likelihood => "exp(NLL/n)",
        }
    }

    /// The program of a candidate whose parameters start at some values.
    pub fn program(&self, candidate: &Candidate, values: &[f64]) -> Program {
        let template = self.template(candidate);
        let candidate = Candidate { values: values.to_vec(), ..candidate.clone() };
        let (_, own) = template.parts(&candidate);
        let program = template.program(&candidate);
        let starts: Vec<(String, f64)> = template.own_names().cloned().zip(own).collect();
        with_starts(program, &starts)
    }

    /// The seed of a candidate.
    pub fn template(&self, candidate: &Candidate) -> &Template {
        &self.templates[usize::from(candidate.seed).min(self.templates.len() - 1)]
    }

    /// The problem of a candidate.
    fn problem(&self, candidate: &Candidate, request: &FitRequest, table: &Table) -> Result<Problem, Report> {
        let template = self.template(candidate);
        let (_, own) = template.parts(candidate);
        let mut run = self.run.clone();
        for (name, value) in template.own_names().zip(own) {
            // What the user sets stays.
            if value.is_finite() && run.bindings.iter().all(|(other, _)| other != name) {
                run.bindings.push((name.clone(), Datum::Real(value)));
            }
        }
        let program = template.program(candidate);
        let inputs = Inputs { program, table, start_from: self.start_from.as_ref(), run };
        match &request.problem.only {
            Some(only) => {
                let mut request = request.clone();
                request.problem.only = Some([&only[..], &template.new_names(candidate)].concat());
                request.problem(inputs)
            }
            None => request.problem(inputs),
        }
    }

    fn opened(&self, candidate: &Candidate) -> Result<Problem, Rejection> {
        self.problem(candidate, &self.request, &self.open).map_err(|report| Rejection::of(Stage::Names, &report))
    }

    /// Nodes of a candidate; a larger seed counts more.
    pub fn nodes(&self, candidate: &Candidate) -> usize {
        let template = self.template(candidate);
        let contents = if template.holes.is_empty() { 0 } else { candidate.complexity() };
        contents + template.nodes().saturating_sub(self.least)
    }

    /// A sum of losses over so many measurements as a mean square.
    fn mean_square(&self, sum: f64, count: usize) -> f64 {
        let mean = sum / count.max(1) as f64;
        match self.measure {
            Measure::Squares => mean,
            Measure::Absolute => mean * mean,
            Measure::Likelihood => exp((2.0 * mean).clamp(-600.0, 600.0)),
        }
    }

    /// Fits a candidate: its values, its mean square, and the fit.
    pub fn fit(&self, candidate: &Candidate, rung: u8, starts: usize) -> Result<Fitted, Rejection> {
        if rung == 0
            && let Some(report) = self.disagreement(candidate)
        {
            return Err(Rejection::of(Stage::Units, &report));
        }
        if let Some(grouped) = &self.grouped {
            return self.fit_groups(grouped, candidate, rung, starts);
        }
        if let Some(ode) = self.system_of(candidate) {
            return self.fit_system(ode, candidate, rung);
        }
        let problem = self.opened(candidate)?;
        // What slopes say is a better start than a draw.
        let starts = if self.ode.is_some() { 1 } else { starts };
        let options = LeanOptions {
            epochs: if rung == 0 { FEW_EPOCHS } else { EPOCHS },
            starts,
            seed: candidate.hash ^ self.seed,
        };
        let cancelled = |report: Report| Rejection::of(Stage::Runs, &report);
        let Some(fit) = problem.lean_fit(problem.start(), &options).map_err(cancelled)? else {
            return Err(not_finite());
        };
        if rung > 0 && !problem.is_determined(&fit.raw).map_err(cancelled)? {
            return Err(not_determined());
        }
        // Residuals give half of the sum of their squares.
        let half = if self.ode.is_some() { 2.0 } else { 1.0 };
        let sum = half * fit.loss * if problem.loss.is_mean() { problem.measurements() as f64 } else { 1.0 };
        let typical = problem.typical_values(&fit.raw);
        let template = self.template(candidate);
        let names = template.new_names(candidate).into_iter().chain(template.own_names().cloned());
        let value = |(name, old): (String, &f64)| typical.iter().find(|(n, _)| *n == name).map_or(*old, |(_, v)| *v);
        let values = names.zip(&candidate.values).map(value).collect();
        let numbers = fit.raw.len();
        let count = if self.ode.is_some() { self.data.open.len() } else { problem.measurements() };
        Ok(Fitted { mean_square: self.mean_square(sum, count), fit, values, numbers, count })
    }

    /// Where the dimensions of a candidate disagree, if units are known.
    fn disagreement(&self, candidate: &Candidate) -> Option<Report> {
        let options = self.units.as_ref()?;
        let program = self.program(candidate, &candidate.values);
        let found = Interpreter::shared().check_units(&program, options, &self.run).ok()?;
        (!found.report.diagnostics.is_empty()).then_some(found.report)
    }

    /// The same for an expression of rows.
    fn fit_groups(
        &self,
        grouped: &Grouped,
        candidate: &Candidate,
        rung: u8,
        starts: usize,
    ) -> Result<Fitted, Rejection> {
        let iterations = if rung == 0 { FEW_EPOCHS } else { EPOCHS };
        let found = grouped.fit(self.template(candidate), candidate, iterations, starts).ok_or_else(not_finite)?;
        let GroupFit { values, squares, count, converged, starts: (starts, reached), rank, work } = found;
        let raw: Vec<f64> = values.iter().flatten().copied().collect();
        let numbers = raw.len();
        // As many directions as groups, and one in each is what parameters share.
        if rung > 0 && numbers > 0 && numbers - rank >= values.len() {
            return Err(not_determined());
        }
        let median = |p: usize| {
            let mut list: Vec<f64> = values.iter().map(|v| v[p]).collect();
            list.sort_by(f64::total_cmp);
            list[(list.len() - 1) / 2]
        };
        let values = (0..candidate.values.len()).map(median).collect();
        let loss = squares / count.max(1) as f64;
        let distinct = if reached < starts { 2 } else { 1 };
        let fit = LeanFit { raw, loss, converged, starts, reached, distinct, work };
        Ok(Fitted { mean_square: self.mean_square(squares, count), fit, values, numbers, count })
    }

    /// The losses of what took no part in its fit. The candidate starts from what the open rows gave.
    pub fn validation_losses(&self, candidate: &Candidate, work: &mut u64) -> Result<Losses, Report> {
        if let Some(grouped) = &self.grouped {
            let template = self.template(candidate);
            let Some(found) = grouped.fit(template, candidate, EPOCHS, 1) else { return Ok(Losses::none()) };
            *work = work.saturating_add(found.work);
            return Ok(Losses::of(grouped.fold_squares(template, candidate, &found.values, EPOCHS, work)));
        }
        if let Some(ode) = self.system_of(candidate) {
            return Ok(self.system_losses(ode, candidate, work));
        }
        if let Some(ode) = &self.ode {
            return self.block_losses(ode, candidate, work);
        }
        let problem = match self.validation {
            Validation::Tail => self.problem(candidate, &self.tail, &self.open)?,
            _ => self.problem(candidate, &self.request, &self.open)?,
        };
        let options = LeanOptions { epochs: EPOCHS, starts: 1, seed: candidate.hash };
        let Some(fit) = problem.lean_fit(problem.start(), &options)? else { return Ok(Losses::none()) };
        *work = work.saturating_add(fit.work);
        if problem.is_objective() {
            return self.beyond(candidate, &problem, &fit.raw, &self.open);
        }
        let Validation::Folds(k) = self.validation else {
            return Ok(Losses::of(problem.losses(&fit.raw, problem.held_out())?));
        };
        let rows = problem.training();
        let mut losses = Vec::new();
        for fold in 0..k.min(rows.len()) {
            let left_out = self.fold(rows.len(), k, fold);
            let fitted: Vec<usize> = (0..rows.len()).filter(|r| left_out.binary_search(r).is_err()).collect();
            let out = rows.select(&left_out);
            match problem.fit_to_rows(&fit.raw, &rows.select(&fitted))? {
                Some((raw, evaluations)) => {
                    *work = work.saturating_add(problem.evaluation_work().saturating_mul(evaluations as u64));
                    losses.extend(problem.losses(&raw, &out)?);
                }
                None => losses.extend(vec![f64::INFINITY; out.len()]),
            }
        }
        Ok(Losses::of(losses))
    }

    /// What the ends of series add to an objective that was fitted to their beginnings, series by series.
    fn beyond(&self, candidate: &Candidate, fitted: &Problem, raw: &[f64], table: &Table) -> Result<Losses, Report> {
        let mut whole = self.request.clone();
        whole.problem.holdout = None;
        let all = self.problem(candidate, &whole, table)?;
        let beginnings = fitted.losses(raw, fitted.training())?;
        let both = all.losses(raw, all.training())?;
        let list = both.iter().zip(&beginnings).map(|(b, a)| b - a).collect();
        Ok(Losses { list, count: fitted.row_counts().1 })
    }

    /// The losses of the sealed rows with a fit to all others; none if no rows are sealed.
    pub fn sealed_losses(&self, candidate: &Candidate) -> Result<Option<Losses>, Report> {
        let Some((all, request)) = &self.sealed else { return Ok(None) };
        if let Some(ode) = self.system_of(candidate) {
            return Ok(Some(self.sealed_system_losses(ode, candidate)));
        }
        if let Some(grouped) = &self.grouped {
            let template = self.template(candidate);
            let found = grouped.fit(template, candidate, EPOCHS, 4);
            let squares = found.map(|f| grouped.sealed_squares(template, candidate, &f.values));
            return Ok(Some(squares.map_or_else(Losses::none, Losses::of)));
        }
        let problem = self.problem(candidate, request, all)?;
        let options = LeanOptions { epochs: EPOCHS, starts: 4, seed: candidate.hash };
        let Some(fit) = problem.lean_fit(problem.start(), &options)? else { return Ok(Some(Losses::none())) };
        if self.ode.is_some() {
            let whole = self.problem(candidate, &self.request, all)?;
            let marks = all.column(SEALED).and_then(|c| c.reals().ok()).unwrap_or_default();
            return self.state_losses(&whole, &fit.raw, &|row| marks[row] > 0.0).map(Some);
        }
        if problem.is_objective() {
            return self.beyond(candidate, &problem, &fit.raw, all).map(Some);
        }
        Ok(Some(Losses::of(problem.losses(&fit.raw, problem.held_out())?)))
    }

    /// Losses as a mean square.
    pub fn mean_of(&self, losses: &Losses) -> f64 {
        let sum: f64 = losses.list.iter().sum();
        if sum.is_finite() { self.mean_square(sum, losses.count) } else { f64::INFINITY }
    }
}

/// Losses of rows or series, and the measurements that they are of.
#[derive(Clone, Debug, PartialEq)]
pub struct Losses {
    /// Of each prediction, or of each series.
    pub list: Vec<f64>,
    /// Measurements.
    pub count: usize,
}

impl Losses {
    fn of(list: Vec<f64>) -> Losses {
        Losses { count: list.len(), list }
    }

    fn none() -> Losses {
        Losses::of(vec![f64::INFINITY])
    }

    /// Roots of the losses with their signs, so that e |e| is a loss.
    pub fn roots(&self) -> Vec<f64> {
        self.list.iter().map(|l| dmci_ops::real::sqrt(l.abs()).copysign(*l)).collect()
    }
}

/// A fitted candidate.
#[derive(Debug)]
pub struct Fitted {
    /// The fit.
    pub fit: LeanFit,
    /// A value for each parameter of the candidate.
    pub values: Vec<f64>,
    /// Numbers that were fitted, those of all groups.
    pub numbers: usize,
    /// Measurements.
    pub count: usize,
    /// The mean square, or what stands for it.
    pub mean_square: f64,
}

fn not_finite() -> Rejection {
    Rejection::new(
        Stage::Runs,
        "the program gives a number that is not finite, at its start and at draws of its parameters",
        "keep arguments of log, sqrt and / inside of their domains",
    )
}

fn not_determined() -> Rejection {
    Rejection::new(
        Stage::Derivative,
        "only a combination of the parameters is determined",
        "drop a parameter that does the work of another",
    )
}

/// The program with other starts of some parameters.
fn with_starts(program: Program, starts: &[(String, f64)]) -> Program {
    let forms = crate::forms::scan(&program.text);
    let Some(schema) = forms.iter().find(|f| f.begins("params", &program.text)) else { return program };
    let mut text = program.text.to_string();
    for entry in schema.items()[1..].iter().rev() {
        let [name, _, start, ..] = entry.items() else { continue };
        let Some((_, value)) = starts.iter().find(|(n, _)| n == name.text(&program.text)) else { continue };
        text.replace_range(start.span.0..start.span.1, &format!("{value:?}"));
    }
    Program::named(&program.name, &text)
}
