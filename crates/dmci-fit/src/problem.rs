//! What is to be fitted: a program, its parameters, and the rows that it must predict.

use crate::binding::{
    Bound, bind_columns, check_aside, check_counts, check_program, check_weights, find_column, marks, noise,
    parameters, priors, with_procedure,
};
use crate::by_group::{GroupStart, Held, apart, held, starts_of};
use crate::check_table::{never_true, read_columns};
use crate::evaluate::Work;
use crate::groups::{groups, warn_left_out, without_group};
use crate::layout::{Block, Layout};
use crate::loss::{Loss, Noise};
use crate::objective::Series;
use crate::prior::Density;
use crate::remembered::Remembered;
use crate::residuals::Residuals;
use crate::separate::Part;
use crate::structure::Seen;
use crate::transform::Transform;
use dmci::ErrorCode;
use dmci::{
    Cancel, Column, Diagnostic, Limits, Model, ModelOptions, Parameter, ParameterKind, Program, Report, RunOptions,
};
use dmci_table::{Holdout, split};
use dmci_table::{Table, select};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// How a program and a table become a problem.
#[derive(Clone, Debug, Default)]
pub struct ProblemOptions {
    /// Mode, limits, seed, cancel flag. Bindings of parameters move their starts; other bindings are
    /// constants of the program.
    pub run: RunOptions,
    /// The rows that are kept out of the fit and scored afterwards.
    pub holdout: Holdout,
    /// What is made small.
    pub loss: Loss,
    /// The column whose numbers multiply the loss of each row.
    pub weights: Option<String>,
    /// The column of standard deviations of the target.
    pub sigma: Option<String>,
    /// The column of trials, for the binomial loss.
    pub trials: Option<String>,
    /// The column of groups whose series an objective program sees one by one.
    pub group: Option<String>,
    /// The parameters that are fitted, if not all: the others stay at their starts.
    pub only: Option<Vec<String>>,
    /// Where parameters that differ by group start in some of the groups.
    pub group_starts: Vec<GroupStart>,
}

/// Some rows of a table, as a model takes them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// Their indices in the table.
    pub indices: Vec<usize>,
    /// The inputs of the program.
    pub columns: Vec<Column>,
    /// What it must predict: all targets of a row one after the other.
    pub target: Vec<f64>,
    /// How much each row counts.
    pub weight: Vec<f64>,
    /// Standard deviations; 1 if there is no column.
    pub sigma: Vec<f64>,
    /// Trials; 1 if there is no column.
    pub trials: Vec<f64>,
    /// The group of each row.
    pub group: Vec<usize>,
}

/// No rows at all.
static NO_ROWS: Rows = Rows {
    indices: Vec::new(),
    columns: Vec::new(),
    target: Vec::new(),
    weight: Vec::new(),
    sigma: Vec::new(),
    trials: Vec::new(),
    group: Vec::new(),
};

/// What a problem is fitted to.
#[derive(Clone, Debug)]
pub enum Data {
    /// Rows that the program predicts one by one.
    Rows {
        /// Those that are fitted.
        training: Rows,
        /// Those that are only scored.
        held_out: Rows,
    },
    /// Series that an objective program sees whole.
    Series(Series),
}

/// The columns that are predicted: a list, or a text with commas between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets(Vec<String>);

impl From<&str> for Targets {
    fn from(target: &str) -> Self {
        Targets(if target.is_empty() { Vec::new() } else { vec![target.to_string()] })
    }
}

impl From<Vec<String>> for Targets {
    fn from(targets: Vec<String>) -> Self {
        Targets(targets)
    }
}

impl Targets {
    /// The columns of a table. A column may have a comma in its name.
    fn in_table(self, table: &Table) -> Vec<String> {
        match &self.0[..] {
            [one] if table.column(one).is_none() => one.split(',').map(|t| t.trim().to_string()).collect(),
            _ => self.0,
        }
    }
}

impl Rows {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }
}

/// A problem, checked: the program is well-formed, every input is bound, all numbers are finite.
#[derive(Debug)]
pub struct Problem {
    /// The program.
    pub program: Program,
    /// Where the data come from.
    pub source: String,
    /// The data.
    pub data: Data,
    /// The columns that are predicted.
    pub targets: Vec<String>,
    /// The columns that the program reads.
    pub inputs: Vec<String>,
    /// The columns among them that are made of others: `obs=pc1..pc10`.
    pub matrices: Vec<String>,
    /// The parameters that are fitted, with their starts.
    pub parameters: Vec<Parameter>,
    /// The parameters that stay as they are.
    pub fixed: Vec<Parameter>,
    /// Those of them that differ by group.
    pub held: Vec<Held>,
    /// The names of the groups; empty if no parameter differs by group.
    pub groups: Vec<String>,
    /// The column that says which group a row is of.
    pub group: Option<String>,
    /// The column of weights.
    pub weights: Option<String>,
    /// The column of standard deviations of the target.
    pub sigma: Option<String>,
    /// What is made small.
    pub loss: Loss,
    /// What is worth knowing before a fit.
    pub warnings: Report,
    /// How raw numbers become parameters.
    pub layout: Layout,
    /// The densities that the schema gives, with the first number of their parameter in a set, how many
    /// numbers it has, and whether every group has its own.
    pub(crate) priors: Vec<(Density, usize, usize, bool)>,
    pub(crate) data_hash: String,
    /// Numbers that the model gives for a row: the predictions, and behind them the loss if a procedure
    /// of the program computes it.
    pub(crate) outputs: usize,
    /// What an objective program gives in the place of a loss: residuals.
    pub(crate) residuals: Option<Residuals>,
    /// The program reads no column: its input is there for the sake of the rows.
    pub(crate) is_constant: bool,
    pub(crate) noise: Noise,
    pub(crate) start: Vec<f64>,
    /// The values of the start as they are written, and not what is left of them after a way to raw space and back.
    pub(crate) written_start: Vec<f64>,
    pub(crate) cancel: Cancel,
    /// The time that all rows have together at a point, if somebody chose one.
    pub(crate) time: Option<Duration>,
    pub(crate) model: Arc<Model>,
    /// Memory of the last evaluation, for the next one.
    pub(crate) work: Mutex<Option<Box<Work>>>,
    pub(crate) remembered: Remembered,
    pub(crate) seen: Arc<Seen>,
    /// Where searches start if the loss is not finite at the start, and why.
    pub(crate) moved: OnceLock<(Vec<f64>, Report)>,
    /// The groups as problems of their own, once somebody has asked for them.
    pub(crate) parts: OnceLock<Vec<Part>>,
    /// The column on the horizontal axis of pictures, if one was named, for all rows of the table.
    pub(crate) axis: Option<(String, Vec<f64>)>,
}

impl Problem {
    /// Binds the columns of a table to the names of a program. With [`Loss::Objective`] they are bound as whole
    /// arrays, and the target, if there is one, is what the result `yhat` is compared with; with any other loss the
    /// program predicts the targets row by row.
    pub fn new(
        program: Program,
        table: &Table,
        targets: impl Into<Targets>,
        options: ProblemOptions,
    ) -> Result<Problem, Report> {
        let targets = targets.into();
        match options.loss {
            Loss::Objective => Problem::of_series(program, table, targets.in_table(table), options),
            _ => Problem::of_rows(program, table, targets.in_table(table), options),
        }
    }

    fn of_rows(
        program: Program,
        table: &Table,
        targets: Vec<String>,
        options: ProblemOptions,
    ) -> Result<Problem, Report> {
        let ProblemOptions { mut run, holdout, loss, weights, sigma, trials, only, group_starts, .. } = options;
        let names = dmci::Interpreter::shared().names(&program)?;
        let aside = [weights, sigma, trials];
        check_aside(&loss, &aside)?;
        let mut bound = bind_columns(&names, table, &targets, &aside, &run)?;
        let is_constant = bound.inputs.iter().all(|(name, _)| !names.mentioned.contains(name));
        let (read, mut outputs) = (bound.inputs.len(), targets.len());
        let mut walked = program.clone();
        if let Loss::Procedure(name) = &loss {
            let (with_loss, measured) = with_procedure(&program, &names, name, &targets, &run)?;
            walked = with_loss;
            bound.inputs.push((measured, find_column(table, &targets[0])?.values.clone()));
            outputs = 2;
        }
        let declared = names.schema.parameters.iter().map(|p| &p.name);
        let given = declared.chain(bound.inputs.iter().map(|(name, _)| name));
        let known = (walked.text == program.text).then_some(&names);
        check_program(&walked, known, &run, given, table, &targets)?;
        let (parameters, fixed) = parameters(&program, &names.schema, &mut run, only.as_deref())?;
        let (fixed, differing) = apart(fixed, &group_starts);
        run.bindings.extend(fixed.iter().map(|p| (p.name.clone(), p.datum())));
        let grouped = [&parameters[..], &differing].concat();
        let (group_names, of_row) = groups(&program, &grouped, table, None)?;
        bound.unusable = without_group(table, &bound.unusable, &of_row)?;
        let by_group = held(&differing, &group_names, &group_starts, &names)?;
        // Searches have sets of parameters for groups only if what is fitted differs by them.
        let group = if parameters.iter().any(|p| p.per.is_some()) { of_row.clone() } else { vec![0; table.rows] };
        let transforms: Vec<Transform> = parameters.iter().map(Transform::of).collect();
        let is_grouped = |p: &Parameter| p.per.is_some();
        let layout = Layout::new(
            transforms.iter().copied().zip(parameters.iter().map(is_grouped)),
            groups_of(&parameters, &group_names),
        );
        // Without trials there is one in each row, if the target is a success or none.
        let mut known = aside.clone();
        if bound.targets.iter().flatten().all(|y| *y == 0.0 || *y == 1.0 || y.is_nan()) {
            known[2].get_or_insert_default();
        }
        let all_fixed = [&fixed[..], &differing].concat();
        let (noise, factor) = noise(&program, &loss, &names, (&parameters, &all_fixed), &layout, &known)?;
        match by_group.iter().find(|h| h.name() == "sigma" && !names.used.contains(&"sigma".to_string())) {
            Some(held) => bound.sigma.iter_mut().zip(&of_row).for_each(|(s, &g)| *s *= held.of(g).init),
            None => bound.sigma.iter_mut().for_each(|s| *s *= factor),
        }
        check_counts(table, &loss, &targets, &bound)?;
        let (start, written_start) = starts_of(&program, &parameters, &layout, &group_names, &group_starts)?;
        let priors = priors(&program, &loss, &parameters, &layout)?;
        let mut warnings = constant_target(table, &targets, &bound);
        warnings.append(never_true(&program, &read_columns(table, bound.inputs.iter().map(|(name, _)| name))));
        let (mut inputs, mut columns): (Vec<String>, Vec<Column>) = bound.inputs.iter().cloned().unzip();
        columns.extend(by_group.iter().map(|h| h.column(&of_row)));
        let params = parameters.iter().map(|p| (p.name.clone(), p.datum())).collect();
        let input_names: Vec<&str> = inputs.iter().map(String::as_str).chain(by_group.iter().map(Held::name)).collect();
        // Rows without a value that the program reads take no part, and no share of what is held out.
        let usable: Vec<usize> = (0..table.rows).filter(|r| bound.unusable.binary_search(r).is_err()).collect();
        let marks = |column: &str| marks(table, column).map(|list| usable.iter().map(|&r| list[r]).collect());
        let (fitted, held) = split(usable.len(), &holdout, run.seed, &marks)?;
        let of_table = |part: Vec<usize>| part.into_iter().map(|i| usable[i]).collect::<Vec<usize>>();
        let (fitted, held) = (of_table(fitted), of_table(held));
        let rows = |indices: Vec<usize>| Rows {
            columns: columns.iter().map(|c| select(c, &indices)).collect(),
            target: indices.iter().flat_map(|&r| bound.targets.iter().map(move |t| t[r])).collect(),
            weight: indices.iter().map(|&r| bound.weight[r]).collect(),
            sigma: indices.iter().map(|&r| bound.sigma[r]).collect(),
            trials: indices.iter().map(|&r| bound.trials[r]).collect(),
            group: indices.iter().map(|&r| group[r]).collect(),
            indices,
        };
        let training = rows(fitted);
        check_weights(table, &aside[0], &training)?;
        let (cancel, time) = (run.cancel.clone(), chosen_time(&run));
        let model = ModelOptions { run, outputs, output: false, ..ModelOptions::default() };
        let model = Arc::new(Model::with_params(walked, params, &input_names, model));
        // A loss of the program's own reads the target besides.
        inputs.truncate(read);
        Ok(Problem {
            program,
            source: table.name.clone(),
            data: Data::Rows { training, held_out: rows(held) },
            data_hash: table.hash(),
            outputs,
            residuals: None,
            is_constant,
            targets,
            groups: group_names,
            group: grouped.iter().find_map(|p| p.per.clone()),
            inputs,
            matrices: Vec::new(),
            parameters,
            fixed,
            held: by_group,
            weights: aside[0].clone(),
            sigma: aside[1].clone(),
            loss,
            warnings,
            layout,
            priors,
            noise,
            start,
            written_start,
            cancel,
            time,
            model,
            work: Mutex::default(),
            remembered: Remembered::default(),
            seen: Arc::default(),
            moved: OnceLock::new(),
            parts: OnceLock::new(),
            axis: None,
        })
    }

    /// The rows that are fitted; of series, a row for each of them.
    pub fn training(&self) -> &Rows {
        match &self.data {
            Data::Rows { training, .. } => training,
            Data::Series(series) => &series.lanes,
        }
    }

    /// The rows that are only scored.
    pub fn held_out(&self) -> &Rows {
        match &self.data {
            Data::Rows { held_out, .. } => held_out,
            Data::Series(_) => &NO_ROWS,
        }
    }

    /// What an objective program sees.
    pub fn series(&self) -> Option<&Series> {
        match &self.data {
            Data::Rows { .. } => None,
            Data::Series(series) => Some(series),
        }
    }

    /// The raw numbers of the starts.
    pub fn start(&self) -> &[f64] {
        self.moved.get().map_or(&self.start, |(point, _)| point)
    }

    /// The values that raw numbers stand for, of every group.
    pub fn values(&self, raw: &[f64]) -> Vec<f64> {
        self.layout.all_values(raw)
    }

    /// The names of the numbers of [`Problem::values`]: `k`, `w.0`, `k[site A]`.
    pub fn value_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (parameter, block) in self.parameters.iter().zip(&self.layout.blocks) {
            let numbers = parameter.number_names();
            if block.per_group {
                names.extend(self.groups.iter().flat_map(|g| numbers.iter().map(move |n| format!("{n}[{g}]"))));
            } else {
                names.extend(numbers);
            }
        }
        names
    }

    /// The names of the raw numbers of a point.
    pub fn raw_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (parameter, block) in self.parameters.iter().zip(&self.layout.blocks) {
            let all = parameter.number_names();
            let own: Vec<String> = match parameter.kind {
                ParameterKind::Cholesky(n) | ParameterKind::Lower(n) => {
                    (0..n).flat_map(|i| (0..=i).map(move |j| i * n + j)).map(|k| all[k].clone()).collect()
                }
                _ => all.into_iter().take(block.transform.raws()).collect(),
            };
            if block.per_group {
                names.extend(self.groups.iter().flat_map(|g| own.iter().map(move |n| format!("{n}[{g}]"))));
            } else {
                names.extend(own);
            }
        }
        names
    }

    /// The block that a number of [`Problem::values`] belongs to.
    pub(crate) fn block_of(&self, number: usize) -> Option<&Block> {
        let mut end = 0;
        self.layout.blocks.iter().find(|block| {
            end += block.transform.values() * if block.per_group { self.layout.groups } else { 1 };
            number < end
        })
    }

    /// The transform of a number of [`Problem::values`] that depends on one raw number alone.
    pub(crate) fn separate(&self, number: usize) -> Option<Transform> {
        self.block_of(number).map(|block| block.transform).filter(|t| t.is_separate())
    }

    /// Predictions of a row that the loss compares with something; an objective gives one number for a series.
    pub(crate) fn width(&self) -> usize {
        if self.is_objective() { 1 } else { self.targets.len() }
    }

    /// How many numbers are predicted that were measured and count.
    pub fn measurements(&self) -> usize {
        match self.series() {
            Some(series) => self.residuals.as_ref().map_or(&series.fitted, |found| &found.counts).iter().sum(),
            None => self.measured_cells().count(),
        }
    }

    /// The rows of the targets that were measured in rows that count, a row as often as it has such targets.
    pub(crate) fn measured_cells(&self) -> impl Iterator<Item = usize> {
        let (rows, targets) = (self.training(), self.width());
        let cells = rows.target.iter().enumerate().filter(|(_, y)| !y.is_nan()).map(move |(cell, _)| cell / targets);
        cells.filter(|&row| rows.weight[row] > 0.0)
    }

    /// How many rows are fitted, and how many are held out.
    pub fn row_counts(&self) -> (usize, usize) {
        match self.series() {
            Some(series) => {
                let fitted = series.fitted.iter().sum();
                (fitted, series.scored.iter().sum::<usize>() - fitted)
            }
            None => (self.training().len(), self.held_out().len()),
        }
    }

    /// Whether the program's value is what is made small.
    pub fn is_objective(&self) -> bool {
        self.loss == Loss::Objective
    }

    /// A hash of the data.
    pub fn fingerprint(&self) -> &str {
        &self.data_hash
    }

    /// Whether the loss is a sum of squares.
    pub fn is_least_squares(&self) -> bool {
        self.priors.is_empty() && (self.residuals.is_some() || self.loss.is_least_squares(&self.noise))
    }

    /// How many paths through the program were recorded.
    pub fn paths(&self) -> u64 {
        self.model.recordings()
    }

    /// Takes back a request to stop that has been heard, so that what is left to do is done.
    pub fn resume(&self) {
        self.cancel.reset();
    }
}

/// The limit of time of a run, if it is not the usual one.
pub(crate) fn chosen_time(run: &RunOptions) -> Option<Duration> {
    Some(run.limits.time).filter(|time| *time != Limits::default().time)
}

/// How many groups the layout of these parameters has.
pub(crate) fn groups_of(parameters: &[Parameter], groups: &[String]) -> usize {
    if parameters.iter().any(|p| p.per.is_some()) { groups.len().max(1) } else { 1 }
}

/// The raw numbers of the start of a parameter.
pub(crate) fn raw_start(program: &Program, parameter: &Parameter, transform: Transform) -> Result<Vec<f64>, Report> {
    transform.raws_of(&parameter.starts).ok_or_else(|| {
        let Parameter { name, kind, .. } = parameter;
        let (domain, got) = (transform.domain(), shown(&parameter.starts));
        let error = Diagnostic::error(ErrorCode::E0802, format!("{name} is {kind} and must start {domain}, got {got}"));
        parameter.report(program, error.help("start inside, not on the boundary, or choose another kind"))
    })
}

fn shown(numbers: &[f64]) -> String {
    let list: Vec<String> = numbers.iter().map(f64::to_string).collect();
    if let [one] = &list[..] { one.clone() } else { format!("({})", list.join(" ")) }
}

fn constant_target(table: &Table, names: &[String], bound: &Bound) -> Report {
    let mut report = warn_left_out(table, &bound.unusable);
    for (name, target) in names.iter().zip(&bound.targets) {
        let mut present = target.iter().filter(|y| !y.is_nan());
        let Some(first) = present.next().filter(|first| present.all(|y| y == *first)) else { continue };
        let message = format!("{}: the target {name} is {first} in every row", table.name);
        let warning =
            Diagnostic::warning(ErrorCode::W0701, message).help("a constant fits it; is it the right column?");
        report.append(Report::from(warning));
    }
    report
}
