//! Whether two programs describe the same family of functions: each fits what the other one makes, at many draws of its
//! parameters, on the inputs of a problem and on a range twice as wide.

use crate::candidate::Candidate;
use crate::expr::Expr;
use crate::forms::{Form, scan};
use crate::funnel::{Contract, read};
use crate::least_squares::{Fitter, Rows, linear_parameters};
use crate::lower::Lowered;
use crate::operation::{Operation, Operations};
use crate::problem::refusal;
use crate::saturation::{Bounds, Signs, normal};
use dmci::{Column, Interpreter, Parameter, ParameterKind, Program, Report};
use dmci_fit::{LeanOptions, Problem, ProblemOptions, Table, TableColumn, Transform};
use dmci_ops::real::{exp, sqrt};
use dmci_stats::random::Stream;
use serde::Serialize;

/// How two families are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// Each describes what the other one does.
    Same,
    /// The second describes what the first one does, and more.
    FirstWithinSecond,
    /// The first describes what the second one does, and more.
    SecondWithinFirst,
    /// Neither describes all that the other one does.
    Different,
}

/// A draw of one family that the other one cannot describe.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failed {
    /// The parameters of the draw.
    pub values: Vec<f64>,
    /// The root mean square that is left, beside the deviation of the data.
    pub error: f64,
    /// Whether it is left on the wider range alone.
    pub outside: bool,
}

/// What a comparison found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// How the families are related.
    pub relation: Relation,
    /// Whether the programs have the same canonical form.
    pub same_form: bool,
    /// Whether their normal forms are equal on these inputs, or their canonical forms.
    pub same_normal_form: bool,
    /// Draws of each family.
    pub draws: usize,
    /// Draws of the first that the second cannot describe.
    pub first_failed: Vec<Failed>,
    /// Draws of the second that the first cannot describe.
    pub second_failed: Vec<Failed>,
}

/// Draws of parameters.
const DRAWS: usize = 20;

/// Draws that are made for each that counts: those at which nothing is finite do not.
const TRIES: usize = 4;

/// Errors that count as none, beside the deviation of the data.
const TOLERANCE: f64 = 1e-8;

/// Starts of a fit of an expression, and of a program.
const STARTS: usize = 200;
const PROGRAM_STARTS: usize = 24;

/// The column that is predicted.
const TARGET: &str = "target of the comparison";

/// A family of functions: a program with parameters.
#[derive(Clone, Debug)]
pub struct Family {
    program: Program,
    parameters: Vec<Parameter>,
    /// The program as an expression, if it is one with free parameters.
    expr: Option<Candidate>,
    values: Vec<f64>,
}

/// The inputs on which families are compared: by name, and a column of groups if parameters differ by one.
#[derive(Clone, Debug)]
struct Inputs {
    table: Table,
    columns: Vec<Vec<f64>>,
}

impl Family {
    /// Reads a family. Holes are what they hold; real numbers are part of the program. Inputs are the names of columns.
    pub fn read(program: &Program, inputs: &[String]) -> Result<Family, Report> {
        let program = Program::named(&program.name, &without_holes(&program.text));
        let schema = Interpreter::shared().names(&program)?.schema;
        if let Some(p) = schema.parameters.iter().find(|p| p.starts.len() != 1) {
            let message = format!("{}: {} is not one number", program.name, p.name);
            return Err(refusal(message, "compare programs whose parameters are numbers"));
        }
        let parameters: Vec<Parameter> = schema.parameters.into_iter().filter(|p| !p.fixed).collect();
        let operations = Operations { list: Operation::ALL.to_vec() };
        let contract = Contract { inputs, operations: &operations, size: crate::expr::LARGEST };
        // Numbers of the program are no parameters, so an expression with real numbers stays a program.
        let free = program_without_groups(&program.text);
        let expr = read(&free, &contract).ok().filter(|c| {
            c.values.len() <= parameters.len() && !has_reals(&free) && parameters.iter().all(|p| p.prior.is_none())
        });
        let values = match &expr {
            Some(candidate) => candidate.values.clone(),
            None => parameters.iter().map(|p| p.init).collect(),
        };
        Ok(Family { program, parameters, expr, values })
    }

    /// The family of a candidate.
    pub fn of(candidate: &Candidate, inputs: &[String]) -> Family {
        let program = Program::new(&candidate.program(inputs, &candidate.values));
        Family { program, parameters: Vec::new(), values: candidate.values.clone(), expr: Some(candidate.clone()) }
    }

    /// The same family with draws around other values, such as fitted ones.
    pub fn around(mut self, values: &[(String, f64)]) -> Family {
        if self.expr.is_none() {
            for (p, own) in self.parameters.iter().zip(&mut self.values) {
                if let Some((_, v)) = values.iter().find(|(n, v)| *n == p.name && v.is_finite()) {
                    *own = *v;
                }
            }
        }
        self
    }

    /// Parameters by chance: from what is declared, or the own values times a lognormal number, signs kept.
    fn draw(&self, number: usize, stream: &mut Stream) -> Vec<f64> {
        let around = |v: f64, stream: &mut Stream| {
            let factor = exp(0.3 * stream.normal());
            let own = if v == 0.0 { if stream.uniform() < 0.5 { 1.0 } else { -1.0 } } else { v };
            own * factor
        };
        let of = |(i, v): (usize, &f64)| {
            if number == 0 && *v != 0.0 {
                return *v;
            }
            let parameter = self.parameters.get(i).filter(|_| self.expr.is_none());
            let prior = parameter.and_then(|p| p.prior.as_ref()).map(|p| (p.name.as_str(), &p.numbers[..]));
            match (prior, parameter.map(|p| p.kind)) {
                (Some(("normal", [mean, deviation])), _) => mean + deviation * stream.normal(),
                (Some(("lognormal", [mean, deviation])), _) => exp(mean + deviation * stream.normal()),
                (Some(("uniform", [low, high])), _) => low + (high - low) * stream.uniform(),
                (_, Some(ParameterKind::Bounded(low, high))) => low + (high - low) * (0.05 + 0.9 * stream.uniform()),
                (_, Some(ParameterKind::Unit)) => {
                    parameter.and_then(|p| p.scale).unwrap_or(1.0) * (0.05 + 0.9 * stream.uniform())
                }
                _ => around(*v, stream),
            }
        };
        self.values.iter().enumerate().map(of).collect()
    }

    /// What it makes of some parameters, row by row.
    fn make(&self, values: &[f64], inputs: &Inputs) -> Result<Vec<f64>, Report> {
        match &self.expr {
            Some(candidate) => {
                let mut model = Lowered::new(&candidate.expr, inputs.columns.len());
                let views: Vec<&[f64]> = inputs.columns.iter().map(Vec::as_slice).collect();
                Ok(model.values(values, &views, inputs.table.rows, &mut Fitter::default().space))
            }
            None => {
                let problem = self.problem(inputs, &vec![0.0; inputs.table.rows])?;
                match self.raw(&problem, values) {
                    Some(raw) => problem.predictions(&raw, problem.training()),
                    None => Ok(vec![f64::NAN; inputs.table.rows]),
                }
            }
        }
    }

    fn problem(&self, inputs: &Inputs, target: &[f64]) -> Result<Problem, Report> {
        let mut table = inputs.table.clone();
        let values = Column::Reals(target.to_vec());
        table.columns.push(TableColumn { name: TARGET.into(), values, stray: None, missing: Vec::new() });
        Problem::new(self.program.clone(), &table, TARGET, ProblemOptions::default())
    }

    fn raw(&self, problem: &Problem, values: &[f64]) -> Option<Vec<f64>> {
        let raws = problem.parameters.iter().map(|p| {
            let at = self.parameters.iter().position(|own| own.name == p.name)?;
            Transform::of(p).raws_of(&values[at..at + 1])
        });
        Some(raws.collect::<Option<Vec<_>>>()?.concat())
    }

    /// The error that its best fit to some rows leaves, as a root mean square, and where it is. Stops at `enough`.
    fn fit(
        &self,
        inputs: &Inputs,
        target: &[f64],
        from: Option<&[f64]>,
        enough: f64,
        stream: &mut Stream,
    ) -> Result<Option<(f64, Vec<f64>)>, Report> {
        let n = target.len().max(1) as f64;
        let Some(candidate) = &self.expr else {
            let problem = self.problem(inputs, target)?;
            let start = from.and_then(|v| self.raw(&problem, v)).or_else(|| self.raw(&problem, &self.values));
            let start = start.unwrap_or_else(|| problem.start().to_vec());
            let mut best: Option<(f64, Vec<f64>)> = None;
            for (starts, seed) in [(1, 0), (8, 1), (PROGRAM_STARTS, 2)] {
                let options = LeanOptions { epochs: 400, starts, seed };
                if let Some(found) = problem.lean_fit(&start, &options)? {
                    let own = problem.typical_values(&found.raw);
                    let value = |p: &Parameter| own.iter().find(|(n, _)| *n == p.name).map_or(p.init, |(_, v)| *v);
                    let values = self.parameters.iter().map(value).collect();
                    if best.as_ref().is_none_or(|b| sqrt(found.loss) < b.0) {
                        best = Some((sqrt(found.loss), values));
                    }
                }
                if from.is_some() || best.as_ref().is_some_and(|b| b.0 <= enough) {
                    break;
                }
            }
            return Ok(best);
        };
        let views: Vec<&[f64]> = inputs.columns.iter().map(Vec::as_slice).collect();
        let rows = Rows { columns: &views, target, root_weights: None, floor: 0.01 * enough * enough * n };
        let model = Lowered::new(&candidate.expr, inputs.columns.len());
        let linear = linear_parameters(&candidate.expr);
        let mut fitter = Fitter::default();
        let mut best: Option<(f64, Vec<f64>)> = None;
        for k in 0..if from.is_some() { 1 } else { STARTS } {
            let wide = exp(2.0 * stream.normal());
            let of = |v: &f64| match k {
                0 => *v,
                k if k % 3 == 1 => v * exp(0.3 * stream.normal()),
                k if k % 3 == 2 => v * exp(1.5 * stream.normal()),
                _ => wide * stream.normal(),
            };
            let start: Vec<f64> = from.unwrap_or(&self.values).iter().map(of).collect();
            let Some(found) = fitter.fit(&model, &rows, &linear, &start, 300) else { continue };
            let error = sqrt(found.squares / n);
            if best.as_ref().is_none_or(|b| error < b.0) {
                best = Some((error, found.values));
            }
            if best.as_ref().is_some_and(|b| b.0 <= enough) {
                break;
            }
        }
        Ok(best)
    }

    /// Parameters of the family.
    pub fn parameters(&self) -> usize {
        self.values.len()
    }
}

impl Inputs {
    /// The inputs of a table, and the same on a range twice as wide: of columns without a negative number upwards, of
    /// others to both sides. Whole numbers stay whole.
    fn both(table: &Table, names: &[String], families: [&Family; 2]) -> Result<(Inputs, Inputs), Report> {
        let mut columns = Vec::new();
        for name in names {
            let column = dmci_fit::find_column(table, name)?;
            columns.push(column.reals().map_err(|row| {
                let message = format!("{name} has {} in row {}, expected a number", column.shown(row), row + 1);
                refusal(message, "compare programs over numeric columns")
            })?);
        }
        let groups: Vec<String> = families.iter().flat_map(|f| &f.parameters).filter_map(|p| p.per.clone()).collect();
        let of = |columns: Vec<Vec<f64>>| {
            let column = |(name, values): (&String, &Vec<f64>)| TableColumn {
                name: name.clone(),
                values: whole(values).unwrap_or_else(|| Column::Reals(values.clone())),
                stray: None,
                missing: Vec::new(),
            };
            let rows = table.rows;
            let one = |name: &String| TableColumn {
                name: name.clone(),
                values: Column::Data(vec![dmci::Datum::String("one".into()); rows]),
                stray: None,
                missing: Vec::new(),
            };
            let mut list: Vec<TableColumn> = names.iter().zip(&columns).map(column).collect();
            list.extend(groups.iter().filter(|g| !names.contains(g)).map(one));
            Inputs {
                table: Table { name: table.name.clone(), columns: list, rows, units: table.units.clone() },
                columns,
            }
        };
        let wide = columns.iter().map(|c| widened(c)).collect();
        Ok((of(columns), of(wide)))
    }

    fn select(&self, rows: &[usize]) -> Inputs {
        let column = |c: &TableColumn| TableColumn { values: c.values.select(rows), ..c.clone() };
        let columns = self.table.columns.iter().map(column).collect();
        let table = Table { name: self.table.name.clone(), columns, rows: rows.len(), units: self.table.units.clone() };
        Inputs { table, columns: self.columns.iter().map(|c| rows.iter().map(|&r| c[r]).collect()).collect() }
    }
}

/// Whole numbers as exact ones, which programs may count with.
fn whole(values: &[f64]) -> Option<Column> {
    let is_whole = |x: &f64| x.fract() == 0.0 && x.abs() < 1e15;
    values.iter().all(is_whole).then(|| Column::Data(values.iter().map(|x| dmci::Datum::Integer(*x as i64)).collect()))
}

fn widened(column: &[f64]) -> Vec<f64> {
    let low = column.iter().copied().fold(f64::INFINITY, f64::min);
    let high = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let all_whole = column.iter().all(|x| x.fract() == 0.0);
    let from = if low >= 0.0 { low } else { 0.5 * (low + high) };
    let wide = |x: &f64| if all_whole { (from + 2.0 * (x - from)).round() } else { from + 2.0 * (x - from) };
    column.iter().map(wide).collect()
}

fn deviation(list: &[f64]) -> f64 {
    let n = list.len().max(1) as f64;
    let mean = list.iter().sum::<f64>() / n;
    sqrt(list.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>() / n).max(1e-12 * mean.abs()).max(f64::MIN_POSITIVE)
}

/// Compares two families on the inputs of a table. Rows at which a draw is not finite take no part.
pub fn compare(a: &Family, b: &Family, table: &Table, names: &[String], seed: u64) -> Result<Comparison, Report> {
    let (inside, wide) = Inputs::both(table, names, [a, b])?;
    let same_form = matches!((&a.expr, &b.expr), (Some(x), Some(y)) if x.hash == y.hash);
    let same_normal_form = same_form || is_one_normal_form(a, b, &inside, &wide);
    let (mut first_failed, mut second_failed) = (Vec::new(), Vec::new());
    if !same_normal_form {
        first_failed = failed(a, b, &inside, &wide, &mut Stream::new(seed, 1))?;
        second_failed = failed(b, a, &inside, &wide, &mut Stream::new(seed, 2))?;
    }
    let relation = match (first_failed.is_empty(), second_failed.is_empty()) {
        (true, true) => Relation::Same,
        (true, false) => Relation::FirstWithinSecond,
        (false, true) => Relation::SecondWithinFirst,
        (false, false) => Relation::Different,
    };
    Ok(Comparison { relation, same_form, same_normal_form, draws: DRAWS, first_failed, second_failed })
}

/// Whether rewriting shows that two expressions are the same function on the inputs and on the wider range.
fn is_one_normal_form(a: &Family, b: &Family, inside: &Inputs, wide: &Inputs) -> bool {
    let (Some(x), Some(y)) = (&a.expr, &b.expr) else { return false };
    let columns = inside.columns.iter().zip(&wide.columns);
    let signs: Vec<Signs> = columns.map(|(near, far)| Signs::of(near).or(Signs::of(far))).collect();
    let form = |c: &Candidate| normal(&c.expr, &c.values, &signs, Bounds::default()).0;
    x.values.len() == y.values.len() && form(x) == form(y)
}

/// The draws of one family that another one cannot describe.
fn failed(
    from: &Family,
    by: &Family,
    inside: &Inputs,
    wide: &Inputs,
    stream: &mut Stream,
) -> Result<Vec<Failed>, Report> {
    let (mut list, mut counted) = (Vec::new(), 0);
    for number in 0..TRIES * DRAWS {
        if counted == DRAWS {
            break;
        }
        let values = from.draw(number, stream);
        let Some((error, outside)) = distance(from, &values, by, inside, wide, stream)? else { continue };
        counted += 1;
        if error.is_nan() || error > TOLERANCE {
            list.push(Failed { values, error, outside });
        }
    }
    if counted == 0 {
        let message = format!("{} gives no finite numbers on these inputs", from.program.name);
        return Err(refusal(message, "compare on inputs at which both programs are defined"));
    }
    Ok(list)
}

/// What is left if one family fits what another one makes: beside the deviation, and whether it is left outside of the
/// inputs alone. None if there is nothing to fit.
fn distance(
    from: &Family,
    values: &[f64],
    by: &Family,
    inside: &Inputs,
    wide: &Inputs,
    stream: &mut Stream,
) -> Result<Option<(f64, bool)>, Report> {
    let made = from.make(values, inside)?;
    let finite: Vec<usize> = (0..made.len()).filter(|&r| made[r].is_finite()).collect();
    if finite.len() < (by.parameters() + 2).min(made.len()) || finite.is_empty() {
        return Ok(None);
    }
    let target: Vec<f64> = finite.iter().map(|&r| made[r]).collect();
    let scale = deviation(&target);
    let Some((error, fitted)) = by.fit(&inside.select(&finite), &target, None, TOLERANCE * scale, stream)? else {
        return Ok(Some((f64::INFINITY, false)));
    };
    if error.is_nan() || error > TOLERANCE * scale {
        return Ok(Some((error / scale, false)));
    }
    let (expected, got) = (from.make(values, wide)?, by.make(&fitted, wide)?);
    let finite: Vec<usize> = (0..expected.len()).filter(|&r| expected[r].is_finite() && got[r].is_finite()).collect();
    if finite.is_empty() {
        return Ok(Some((error / scale, false)));
    }
    let target: Vec<f64> = finite.iter().map(|&r| expected[r]).collect();
    let scale = deviation(&target).max(scale);
    let found = by.fit(&wide.select(&finite), &target, Some(&fitted), TOLERANCE * scale, stream)?;
    let mut error = found.map_or(f64::INFINITY, |(error, _)| error);
    if error.is_nan() || error > TOLERANCE * scale {
        // What the inputs do not determine may be anywhere: the wider range is fitted from the beginning.
        let found = by.fit(&wide.select(&finite), &target, None, TOLERANCE * scale, stream)?;
        error = found.map_or(f64::INFINITY, |(error, _)| error);
    }
    Ok(Some((error / scale, true)))
}

/// How a known truth was found again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// The candidate and the truth with its real numbers as parameters are the same family.
    Same,
    /// The candidate describes the truth on a wider range, with no more parameters and at most 1.5 times its nodes.
    Refitted,
    /// Neither.
    No,
}

/// Whether a candidate is a known truth, whose real numbers are lifted to parameters, on the inputs of a table.
pub fn recovered(truth: &str, candidate: &Candidate, table: &Table, names: &[String]) -> Result<Recovery, Report> {
    let operations = Operations { list: Operation::ALL.to_vec() };
    let contract = Contract { inputs: names, operations: &operations, size: crate::expr::LARGEST };
    let lifted = read(truth, &contract).map_err(|r| refusal(r.message, &r.hint))?;
    let (a, b) = (Family::of(&lifted, names), Family::of(candidate, names));
    if compare(&a, &b, table, names, 0)?.relation == Relation::Same {
        return Ok(Recovery::Same);
    }
    let is_small = |e: &Expr| 2 * e.complexity() <= 3 * lifted.expr.complexity();
    if candidate.values.len() > lifted.values.len() || !is_small(&candidate.expr) {
        return Ok(Recovery::No);
    }
    let (inside, wide) = Inputs::both(table, names, [&a, &b])?;
    let left = distance(&a, &lifted.values, &b, &inside, &wide, &mut Stream::new(0, 3))?;
    Ok(if left.is_some_and(|(error, _)| error <= TOLERANCE) { Recovery::Refitted } else { Recovery::No })
}

/// A program text with the contents of holes in their place.
fn without_holes(text: &str) -> String {
    let mut places: Vec<((usize, usize), (usize, usize))> = Vec::new();
    for form in &scan(text) {
        form.visit(&mut |f: &Form| {
            if f.begins("hole", text) && f.items().len() == 4 {
                places.push((f.span, f.items()[3].span));
            }
            true
        });
    }
    // The outermost first: what is inside comes with its content.
    let Some((hole, content)) = places.first() else { return text.to_string() };
    let inner = format!("{}{}{}", &text[..hole.0], &text[content.0..content.1], &text[hole.1..]);
    without_holes(&inner)
}

/// A program text whose parameters do not differ by group.
fn program_without_groups(text: &str) -> String {
    let mut places = Vec::new();
    for form in scan(text).iter().filter(|f| f.begins("params", text)) {
        form.visit(&mut |f: &Form| {
            if f.begins("per", text) {
                places.push(f.span);
            }
            true
        });
    }
    places.iter().rev().fold(text.to_string(), |t, span| format!("{}{}", &t[..span.0], &t[span.1..]))
}

/// Whether a body has real numbers.
fn has_reals(text: &str) -> bool {
    let mut found = false;
    for form in scan(text).iter().filter(|f| !f.begins("params", text)) {
        form.visit(&mut |f: &Form| {
            let atom = f.text(text);
            found |= f.items().is_empty() && atom.parse::<f64>().is_ok() && atom.parse::<i64>().is_err();
            true
        });
    }
    found
}
