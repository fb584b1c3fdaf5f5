//! What is to be fitted: a program, its parameters, and the rows that it must predict.

use crate::binding::{bind_columns, check_program, parameters};
use crate::data::{Table, select};
use crate::loss::mean_squared_error;
use crate::split::split_rows;
use crate::transform::Transform;
use dmci::{
    Batch, Cancel, Column, Datum, Diagnostic, Failure, Model, ModelOptions, Parameter, Program, Report, RunOptions,
    Want,
};

/// How a program and a table become a problem.
#[derive(Clone, Debug, Default)]
pub struct ProblemOptions {
    /// Mode, limits, seed, cancel flag. Bindings of parameters move their starts; other bindings are
    /// constants of the program.
    pub run: RunOptions,
    /// The share of rows that is kept out of the fit and scored afterwards.
    pub holdout: Option<f64>,
}

/// Some rows of a table, as a model takes them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// Their indices in the table.
    pub indices: Vec<usize>,
    /// The inputs of the program.
    pub columns: Vec<Column>,
    /// What it must predict.
    pub target: Vec<f64>,
}

/// A problem, checked: the program is well-formed, every input is bound, all numbers are finite.
#[derive(Debug)]
pub struct Problem {
    /// The program.
    pub program: Program,
    /// Where the data come from.
    pub data: String,
    /// The column that is predicted.
    pub target: String,
    /// The columns that the program reads.
    pub inputs: Vec<String>,
    /// The parameters that are fitted, with their starts.
    pub parameters: Vec<Parameter>,
    /// The parameters that stay as they are.
    pub fixed: Vec<Parameter>,
    /// The rows that are fitted.
    pub training: Rows,
    /// The rows that are only scored.
    pub held_out: Rows,
    /// What is worth knowing before a fit.
    pub warnings: Report,
    transforms: Vec<Transform>,
    start: Vec<f64>,
    cancel: Cancel,
    model: Model,
}

/// The loss at a point, with its derivatives by the raw numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Not finite if a row failed or its prediction is not finite.
    pub loss: f64,
    /// By each raw number.
    pub gradient: Vec<f64>,
}

impl Evaluation {
    /// Whether a search can go on from here.
    pub fn is_finite(&self) -> bool {
        self.loss.is_finite() && self.gradient.iter().all(|g| g.is_finite())
    }
}

impl Problem {
    /// Binds the columns of a table to the names of a program.
    pub fn new(program: Program, table: &Table, target: &str, options: ProblemOptions) -> Result<Problem, Report> {
        let ProblemOptions { mut run, holdout } = options;
        let names = dmci::Interpreter::shared().names(&program)?;
        let bound = bind_columns(&names, table, target, &run)?;
        let declared = names.schema.parameters.iter().map(|p| &p.name);
        check_program(&program, &run, declared.chain(bound.inputs.iter().map(|(name, _)| name)), table, target)?;
        let (parameters, fixed) = parameters(&program, &names.schema, &mut run)?;
        run.bindings.extend(fixed.iter().map(|p| (p.name.clone(), Datum::Real(p.init))));
        let transforms: Vec<Transform> = parameters.iter().map(Transform::of).collect();
        let start =
            parameters.iter().zip(&transforms).map(|(p, t)| raw_start(&program, p, *t)).collect::<Result<_, _>>()?;
        let warnings = constant_target(table, target, &bound.target);
        let (inputs, columns): (Vec<String>, Vec<Column>) = bound.inputs.into_iter().unzip();
        let param_names: Vec<&str> = parameters.iter().map(|p| p.name.as_str()).collect();
        let input_names: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let (fitted, held) = split_rows(table.rows, holdout.unwrap_or(0.0), run.seed);
        let rows = |indices: Vec<usize>| Rows {
            columns: columns.iter().map(|c| select(c, &indices)).collect(),
            target: indices.iter().map(|&r| bound.target[r]).collect(),
            indices,
        };
        let cancel = run.cancel.clone();
        let model = ModelOptions { run, output: false, ..ModelOptions::default() };
        let model = Model::new(program.clone(), &param_names, &input_names, model);
        Ok(Problem {
            program,
            data: table.name.clone(),
            target: target.to_string(),
            training: rows(fitted),
            held_out: rows(held),
            inputs,
            parameters,
            fixed,
            warnings,
            transforms,
            start,
            cancel,
            model,
        })
    }

    /// The raw numbers of the starts.
    pub fn start(&self) -> &[f64] {
        &self.start
    }

    /// The values that raw numbers stand for.
    pub fn values(&self, raw: &[f64]) -> Vec<f64> {
        self.transforms.iter().zip(raw).map(|(t, &x)| t.value(x)).collect()
    }

    /// How many paths through the program were recorded.
    pub fn paths(&self) -> u64 {
        self.model.recordings()
    }

    /// The losses of points in raw space. Each is what it would be alone, bit for bit. Fails only if
    /// the run was cancelled.
    pub fn evaluate(&self, points: &[Vec<f64>]) -> Result<Vec<Evaluation>, Report> {
        let (rows, n) = (self.training.target.len(), self.parameters.len());
        // As many lanes together as memory allows.
        let sets = (MAX_NUMBERS / (rows * (n + 1))).max(1);
        let mut evaluations = Vec::with_capacity(points.len());
        for points in points.chunks(sets) {
            let values: Vec<f64> = points.iter().flat_map(|raw| self.values(raw)).collect();
            let batch = self.model.evaluate(&values, &self.training.columns, Want::Gradients)?;
            if let Some(interrupted) = interruption(&batch) {
                return Err(interrupted);
            }
            evaluations.extend(points.iter().enumerate().map(|(set, raw)| {
                let predictions = &batch.values[set * rows..][..rows];
                self.evaluation(raw, predictions, &batch.gradients[set * rows * n..][..rows * n])
            }));
        }
        Ok(evaluations)
    }

    fn evaluation(&self, raw: &[f64], predictions: &[f64], gradients: &[f64]) -> Evaluation {
        let mut gradient = vec![0.0; self.parameters.len()];
        let loss = mean_squared_error(predictions, &self.training.target, gradients, &mut gradient);
        for ((g, t), &x) in gradient.iter_mut().zip(&self.transforms).zip(raw) {
            *g *= t.slope(x);
        }
        Evaluation { loss, gradient }
    }

    /// Takes back a request to stop that has been heard, so that what is left to do is done.
    pub fn resume(&self) {
        self.cancel.reset();
    }

    /// Predictions for rows of inputs under parameter values; NaN where the program fails.
    pub fn predict(&self, values: &[f64], columns: &[Column]) -> Result<Batch, Report> {
        self.model.evaluate(values, columns, Want::Values)
    }

    /// Says what is wrong if a search cannot start: rows that fail or are not finite.
    pub fn check_start(&self) -> Result<(), Report> {
        let values = self.values(&self.start);
        // Some rows first: a program that always fails must not be walked for each of them.
        let some: Vec<usize> = (0..self.training.target.len().min(20)).collect();
        let some: Vec<Column> = self.training.columns.iter().map(|c| select(c, &some)).collect();
        self.check_failures(&self.model.evaluate(&values, &some, Want::Gradients)?)?;
        let batch = self.model.evaluate(&values, &self.training.columns, Want::Gradients)?;
        self.check_failures(&batch)?;
        self.check_finite(&batch)
    }

    fn check_failures(&self, batch: &Batch) -> Result<(), Report> {
        if let Some(interrupted) = interruption(batch) {
            return Err(interrupted);
        }
        if let Some((_, failure)) = batch.failures.first() {
            let rows: Vec<usize> = batch.failures.iter().map(|f| f.0).collect();
            let error =
                Diagnostic::error("E0804", format!("the program fails at the start in {}", self.row_list(&rows)));
            let help = "repair the program, remove the rows, or start elsewhere with --set; below is the first failure";
            let mut report = Report::of(*error.help(help));
            report.append(failure.report.clone());
            return Err(report);
        }
        Ok(())
    }

    fn check_finite(&self, batch: &Batch) -> Result<(), Report> {
        let n = self.parameters.len();
        let bad = |row: &usize| !batch.values[*row].is_finite();
        let rows: Vec<usize> = (0..batch.values.len()).filter(bad).collect();
        if let Some(&row) = rows.first() {
            let message = format!("the prediction is {} at the start in {}", batch.values[row], self.row_list(&rows));
            return Err(Report::of(*Diagnostic::error("E0805", message).help(START_HELP)));
        }
        if let Some(i) = batch.gradients.iter().position(|g| !g.is_finite()) {
            let name = &self.parameters[i % n].name;
            let rows: Vec<usize> =
                (0..batch.values.len()).filter(|r| !batch.gradients[r * n + i % n].is_finite()).collect();
            let message = format!("the derivative by {name} is not finite at the start in {}", self.row_list(&rows));
            return Err(Report::of(*Diagnostic::error("E0805", message).help(START_HELP)));
        }
        Ok(())
    }

    /// Rows of the training set as a reader of the table counts them: from 1.
    fn row_list(&self, rows: &[usize]) -> String {
        let numbers: Vec<String> = rows.iter().take(5).map(|&r| (self.training.indices[r] + 1).to_string()).collect();
        let more = if rows.len() > 5 { format!(" and {} more", rows.len() - 5) } else { String::new() };
        format!("row{} {}{more}", if rows.len() == 1 { "" } else { "s" }, numbers.join(", "))
    }
}

/// Values and derivatives that are held at a time, for all lanes.
const MAX_NUMBERS: usize = 1 << 23;

const START_HELP: &str = "start elsewhere: change the starts in (params ...), or give others with --set";

fn raw_start(program: &Program, parameter: &Parameter, transform: Transform) -> Result<f64, Report> {
    transform.raw(parameter.init).ok_or_else(|| {
        let Parameter { name, kind, init, .. } = parameter;
        let domain = transform.domain();
        let error = Diagnostic::error("E0802", format!("{name} is {kind} and must start {domain}, got {init}"));
        parameter.report(program, error.help("start inside, not on the boundary, or choose another kind"))
    })
}

fn constant_target(table: &Table, name: &str, target: &[f64]) -> Report {
    if target.iter().any(|y| *y != target[0]) {
        return Report::default();
    }
    let message = format!("{}: the target {name} is {} in every row", table.name, target[0]);
    Report::of(*Diagnostic::warning("W0701", message).help("a constant fits it; is it the right column?"))
}

/// The report of an interruption, if a walk was interrupted.
fn interruption(batch: &Batch) -> Option<Report> {
    let cancelled = |failure: &Failure| failure.report.diagnostics.iter().any(|d| d.code == "E0409");
    batch.failures.iter().find(|f| cancelled(&f.1)).map(|f| f.1.report.clone())
}
