//! Programs that give an objective themselves, such as a likelihood over whole series: columns are bound as
//! arrays, one run of the program for each group.

use crate::binding::{bind_series, check_aside, check_program, parameters, priors};
use crate::by_group::{Held, apart, held, starts_of};
use crate::groups::{groups, warn_left_out, without_group};
use crate::layout::Layout;
use crate::loss::{Loss, Noise};
use crate::problem::{Data, Problem, ProblemOptions, Rows, chosen_time, groups_of};
use crate::residuals::Residuals;
use crate::transform::Transform;
use dmci::ErrorCode;
use dmci::{Column, Datum, Diagnostic, Interpreter, Model, ModelOptions, Names, Parameter, Program, Report, Shape};
use dmci_table::Table;
use dmci_table::{Holdout, none_left};
use std::sync::{Arc, Mutex};

/// The rows of each group, and what the program saw of them.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// A row for each group, with the arrays that the program sees while it is fitted.
    pub(crate) lanes: Rows,
    /// The rows of each group, in order.
    pub rows: Vec<Vec<usize>>,
    /// How many of them, from the first, are fitted.
    pub fitted: Vec<usize>,
    /// How many, from the first, the program sees when it is scored; later ones take no part.
    pub scored: Vec<usize>,
    /// The whole columns that the program reads.
    pub columns: Vec<Column>,
    /// The columns to compare the result `yhat` with, if any were named.
    pub targets: Vec<(String, Vec<f64>)>,
    /// How the program is run for its results.
    pub run: dmci::RunOptions,
}

impl Series {
    /// The rows of a group that take part.
    fn rows_of(&self, group: usize) -> &[usize] {
        &self.rows[group][..self.scored[group]]
    }
}

/// The program with something made of its value, whose name that gets.
pub(crate) fn walked(program: &Program, names: &Names, made: impl Fn(&str) -> String) -> Program {
    let Some((start, end)) = names.last else { return program.clone() };
    let (start, end) = (start as usize, end as usize);
    let text = &program.text;
    let (before, last, after) = (&text[..start], &text[start..end], &text[end..]);
    let value = "value-of-program";
    let text = format!("{before}(let (({value} {last})) {}){after}", made(value));
    Program::named(&program.name, &text)
}

/// A column of some rows as one datum: a tensor of numbers, a matrix of vectors, or a list of texts.
pub(crate) fn array(column: &Column, rows: &[usize]) -> Datum {
    if let Column::Shaped(Datum::Tensor(Shape::Vector(width), _), numbers) = column {
        let row = |&r: &usize| numbers[r * *width as usize..][..*width as usize].iter().copied();
        let shape = Shape::Matrix(rows.len() as u32, *width);
        return Datum::Tensor(shape, rows.iter().flat_map(row).collect());
    }
    match dmci_table::reals(column) {
        Ok(numbers) => Datum::Tensor(Shape::Vector(rows.len() as u32), rows.iter().map(|&r| numbers[r]).collect()),
        Err(_) => Datum::list(rows.iter().map(|&r| column.row(r)).collect()),
    }
}

impl Problem {
    /// A problem whose program gives its own objective. Columns bind names as whole arrays; with a column
    /// of groups, the program is run for each of them and the objectives add up. The targets, if there are any, are what
    /// the result `yhat` is compared with.
    pub(crate) fn of_series(
        program: Program,
        table: &Table,
        targets: Vec<String>,
        options: ProblemOptions,
    ) -> Result<Problem, Report> {
        let ProblemOptions { mut run, group, only, weights, sigma, trials, group_starts, .. } = options.clone();
        check_aside(&Loss::Objective, &[weights, sigma, trials])?;
        let names = Interpreter::shared().names(&program)?;
        let inputs = bind_series(&names, table, &run)?;
        let declared = names.schema.parameters.iter().map(|p| &p.name);
        check_program(&program, Some(&names), &run, declared.chain(inputs.iter().map(|(name, _)| name)), table, &[])?;
        let (parameters, fixed) = parameters(&program, &names.schema, &mut run, only.as_deref())?;
        let (fixed, differing) = apart(fixed, &group_starts);
        run.bindings.extend(fixed.iter().map(|p| (p.name.clone(), p.datum())));
        let grouped = [&parameters[..], &differing].concat();
        let (group_names, of_row) = groups(&program, &grouped, table, group.as_deref())?;
        let warnings = warn_left_out(table, &without_group(table, &[], &of_row)?);
        let held = held(&differing, &group_names, &group_starts, &names)?;
        let count = group_names.len().max(1);
        let layout = Layout::new(
            parameters.iter().map(|p: &Parameter| (Transform::of(p), p.per.is_some())),
            groups_of(&parameters, &group_names),
        );
        let priors = priors(&program, &Loss::Objective, &parameters, &layout)?;
        let (start, written_start) = starts_of(&program, &parameters, &layout, &group_names, &group_starts)?;
        let rows: Vec<Vec<usize>> = (0..count)
            .map(|g| (0..table.rows).filter(|&r| group_names.is_empty() || of_row[r] == g).collect())
            .collect();
        let marks = |column: &str| crate::binding::marks(table, column);
        let parts = rows.iter().map(|rows| options.holdout.of_series(rows, &marks));
        let (fitted, scored): (Vec<usize>, Vec<usize>) = parts.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        if options.holdout != Holdout::None && fitted == scored {
            return Err(none_left(false));
        }
        let (input_names, columns): (Vec<String>, Vec<Column>) = inputs.into_iter().unzip();
        let arrays = |column: &Column| -> Column {
            Column::Data(rows.iter().zip(&fitted).map(|(rows, &n)| array(column, &rows[..n])).collect())
        };
        let all: Vec<usize> = (0..count).collect();
        let seen: Vec<Vec<usize>> = rows.iter().zip(&fitted).map(|(rows, &n)| rows[..n].to_vec()).collect();
        let started = |group: usize| {
            let mut run = run.clone();
            run.bindings.extend(parameters.iter().map(|p| (p.name.clone(), p.datum())));
            run.bindings.extend(held.iter().map(|h| (h.name().to_string(), h.groups[group].datum())));
            run
        };
        let counts = crate::residuals::counts(&program, (&input_names, &columns), &seen, started)?;
        let mut lanes = Rows {
            indices: all.clone(),
            columns: columns.iter().map(arrays).chain(held.iter().map(|h| h.column(&all))).collect(),
            target: vec![0.0; count],
            weight: vec![1.0; count],
            sigma: vec![1.0; count],
            trials: vec![1.0; count],
            group: (0..count).map(|g| if layout.groups > 1 { g } else { 0 }).collect(),
        };
        let targets = targets.iter().filter(|target| !target.is_empty());
        let targets =
            targets.map(|target| crate::binding::target_numbers(table, target)).collect::<Result<Vec<_>, _>>()?;
        let params: Vec<(String, Datum)> = parameters.iter().map(|p| (p.name.clone(), p.datum())).collect();
        let model_inputs = input_names.iter().map(String::as_str).chain(held.iter().map(Held::name));
        let mut model_inputs: Vec<&str> = model_inputs.collect();
        let residuals = counts.map(|counts| {
            let names_and_inputs = (params.clone(), &model_inputs[..]);
            let (residuals, padding) = Residuals::new(&program, &names, counts, names_and_inputs, &run);
            lanes.columns.push(padding);
            residuals
        });
        let loss = match residuals {
            Some(_) => walked(&program, &names, Residuals::loss),
            None => {
                walked(&program, &names, |value| format!("(if (pair? {value}) (cdr (assq 'loss {value})) {value})"))
            }
        };
        model_inputs.extend(residuals.as_ref().map(|_| Problem::PADDING));
        let model = ModelOptions { run: run.clone(), ..ModelOptions::default() };
        let model = Arc::new(Model::with_params(loss, params, &model_inputs, model));
        Ok(Problem {
            source: table.name.clone(),
            targets: match targets.is_empty() {
                true => vec!["objective".to_string()],
                false => targets.iter().map(|t| t.0.clone()).collect(),
            },
            groups: group_names,
            group: grouped.iter().find_map(|p| p.per.clone()).or(group),
            inputs: input_names,
            matrices: Vec::new(),
            cancel: run.cancel.clone(),
            time: chosen_time(&run),
            data: Data::Series(Series { lanes, rows, fitted, scored, columns, targets, run }),
            parameters,
            fixed,
            held,
            weights: None,
            sigma: None,
            loss: Loss::Objective,
            warnings,
            layout,
            priors,
            data_hash: table.hash(),
            outputs: 1,
            residuals,
            is_constant: false,
            noise: Noise::default(),
            start,
            written_start,
            model,
            work: Mutex::default(),
            remembered: Default::default(),
            seen: Default::default(),
            moved: Default::default(),
            parts: Default::default(),
            axis: None,
            program,
        })
    }

    /// All named results of an objective program for a group, over all of its rows that take part, those that were
    /// not fitted included. A program that gives a number has the result `loss`.
    pub fn results(&self, raw: &[f64], group: usize) -> Result<Vec<(String, Datum)>, Report> {
        let Some(series) = self.series() else { return Ok(Vec::new()) };
        let mut run = series.run.clone();
        let values = self.layout.values(raw, if self.layout.groups > 1 { group } else { 0 });
        for (parameter, block) in self.parameters.iter().zip(&self.layout.blocks) {
            let mut moved = parameter.clone();
            let numbers = &values[block.value..block.value + block.transform.values()];
            moved.init = numbers[0];
            moved.starts = numbers.to_vec();
            run.bindings.push((parameter.name.clone(), moved.datum()));
        }
        run.bindings.extend(self.held.iter().map(|h| (h.name().to_string(), h.groups[group].datum())));
        for (name, column) in self.inputs.iter().zip(&series.columns) {
            run.bindings.push((name.clone(), array(column, series.rows_of(group))));
        }
        let outcome = Interpreter::shared().run(&self.program, &run)?;
        Ok(named(outcome.value))
    }

    /// What an objective program predicts for the target's rows: its result `yhat`, of every group, as
    /// (row, prediction, whether the row was fitted), all targets of a row one after the other. Empty if it has none.
    pub fn series_predictions(&self, raw: &[f64]) -> Result<Vec<(usize, f64, bool)>, Report> {
        let Some(series) = self.series() else { return Ok(Vec::new()) };
        let mut list = Vec::new();
        for group in 0..series.rows.len() {
            let rows = series.rows_of(group);
            let results = self.results(raw, group)?;
            let Some((_, yhat)) = results.iter().find(|(name, _)| name == "yhat") else { return Ok(Vec::new()) };
            let mut numbers = numbers(yhat);
            // With nothing to compare them with, the first prediction of each row is as good as all.
            if series.targets.is_empty()
                && numbers.len() > rows.len()
                && numbers.len().is_multiple_of(rows.len().max(1))
            {
                let each = numbers.len() / rows.len();
                numbers = numbers.into_iter().step_by(each).collect();
            }
            let each = series.targets.len().max(1);
            if numbers.len() != rows.len() * each {
                let message =
                    format!("the result yhat has {} numbers, but there are {} rows", numbers.len(), rows.len());
                let (message, help) = match each {
                    1 => (message, "give one prediction for each row, for example by collecting them in the loop"),
                    _ => (
                        format!("{message} of {each} targets"),
                        "give a matrix, or a list of vectors: for each row the predictions of all targets",
                    ),
                };
                return Err(Report::from(Diagnostic::error(ErrorCode::E0808, message).help(help)));
            }
            let fitted = series.fitted[group];
            let places = rows.iter().enumerate().flat_map(|(i, &row)| std::iter::repeat_n((row, i < fitted), each));
            list.extend(places.zip(numbers).map(|((row, is_fitted), y)| (row, y, is_fitted)));
        }
        list.sort_by_key(|item| item.0);
        Ok(list)
    }
}

/// The named results of a program over the columns of a table, as arrays of some of its rows.
pub fn results_of(
    program: &Program,
    names: &Names,
    table: &Table,
    rows: &[usize],
    mut run: dmci::RunOptions,
) -> Result<Vec<(String, Datum)>, Report> {
    for (name, column) in bind_series(names, table, &run)? {
        run.bindings.push((name, array(&column, rows)));
    }
    let outcome = Interpreter::shared().run(program, &run)?;
    Ok(named(outcome.value))
}

/// The named results in a value.
pub(crate) fn named(value: Datum) -> Vec<(String, Datum)> {
    let single = |value: Datum| vec![("loss".to_string(), value)];
    let Datum::List(items, None) = &value else { return single(value) };
    let pairs = items.iter().map(|item| match item {
        Datum::List(parts, tail) => match (parts.first()?, tail) {
            (Datum::Symbol(name), Some(rest)) if parts.len() == 1 => Some((name.clone(), (**rest).clone())),
            (Datum::Symbol(name), None) => Some((name.clone(), Datum::list(parts[1..].to_vec()))),
            _ => None,
        },
        _ => None,
    });
    pairs.collect::<Option<Vec<_>>>().filter(|list| !list.is_empty()).unwrap_or_else(|| single(value.clone()))
}

/// The numbers of a datum in order.
pub fn numbers(datum: &Datum) -> Vec<f64> {
    match datum {
        Datum::Tensor(_, elements) => elements.clone(),
        Datum::List(items, None) | Datum::Vector(items) => items.iter().flat_map(numbers).collect(),
        other => other.as_f64().into_iter().collect(),
    }
}
