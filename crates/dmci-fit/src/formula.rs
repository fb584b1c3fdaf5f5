//! Formulas as programs: which names are columns and which are parameters, where these start and what kind they are.

use crate::request::refusal;
use crate::score::Score;
use dmci::{Column, Diagnostic, ErrorCode, Model, Program, Report, Want};
use dmci_formula::{Condition, Expr, Formula, FormulaError, conditions, distance, starts};
use dmci_table::{Table, TableColumn, reals};
use dmci_value::{Origin, Sources, Span};

/// What is said about a formula besides its text.
#[derive(Clone, Copy, Debug, Default)]
pub struct FormulaSettings<'a> {
    /// Where parameters start: `A=20, k=0.5`.
    pub start: Option<&'a str>,
    /// Between which numbers they lie: `A > 0, 0 < p < 1`.
    pub ranges: Option<&'a str>,
    /// Names that are parameters although they look like columns.
    pub param: &'a [String],
}

/// A formula beside the columns of a table: the program that it stands for.
///
/// ```
/// use dmci_fit::{FormulaProgram, FormulaSettings};
///
/// let settings = FormulaSettings { start: Some("A=20"), ranges: Some("k > 0"), ..Default::default() };
/// let formula = FormulaProgram::new("y ~ A*(1 - exp(-k*t))", &["t", "y"], &settings)?;
/// assert_eq!(formula.text, "(params (A free 20.0) (k positive 1.0))\n(* A (- 1 (exp (* (- k) t))))");
/// assert_eq!((formula.columns, formula.parameters), (vec!["t".to_string()], vec!["A".to_string(), "k".to_string()]));
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Debug)]
pub struct FormulaProgram {
    /// The program.
    pub text: String,
    /// The columns that the formula reads.
    pub columns: Vec<String>,
    /// Its parameters.
    pub parameters: Vec<String>,
    /// What it predicts, if the formula says so.
    target: Option<Expr>,
}

impl FormulaProgram {
    /// Reads a formula. Names that are no columns are parameters.
    pub fn new(text: &str, columns: &[&str], settings: &FormulaSettings) -> Result<FormulaProgram, Report> {
        let formula = parsed(text)?;
        let ranges = match settings.ranges {
            Some(ranges) => conditions(ranges).map_err(|error| report("‹where›", ranges, &error))?,
            None => Vec::new(),
        };
        let begin = match settings.start {
            Some(start) => starts(start).map_err(|error| report("‹starts›", start, &error))?,
            None => Vec::new(),
        };
        let body = &formula.body;
        let is_column = |name: &&str| columns.contains(name);
        let names: Vec<&str> = body.names().into_iter().filter(|n| *n != "pi" || is_column(n)).collect();
        let (read, parameters): (Vec<&str>, Vec<&str>) = names.into_iter().partition(is_column);
        let target = formula.target.as_ref().map_or(Vec::new(), Expr::names);
        if let Some(name) = target.iter().find(|name| !columns.contains(name)) {
            let message = format!("{name}, left of ~, is not a column");
            return Err(unknown(message, format!("the columns are {}", columns.join(", "))));
        }
        let unused: Vec<&str> = columns.iter().copied().filter(|c| !read.contains(c) && !target.contains(c)).collect();
        check_spelling(&parameters, &unused, settings.param)?;
        let said =
            ranges.iter().map(|c| (c.name.as_str(), "where")).chain(begin.iter().map(|(n, _)| (n.as_str(), "starts")));
        let said = said.chain(settings.param.iter().map(|n| (n.as_str(), "param")));
        for (name, setting) in said {
            if !parameters.contains(&name) {
                let message = format!("‹{setting}› names {name}, which is no parameter of the formula");
                return Err(refusal(message, format!("its parameters are {}", parameters.join(", "))));
            }
        }
        if let Some(name) = parameters.iter().find(|n| body.functions().iter().any(|f| f.scheme == **n)) {
            let message = format!("{name} is a function and a parameter of the formula");
            return Err(refusal(message, "give the parameter another name"));
        }
        let entries: Result<Vec<String>, Report> = parameters.iter().map(|name| entry(name, &ranges, &begin)).collect();
        let schema = match parameters.is_empty() {
            true => String::new(),
            false => format!("(params {})\n", entries?.join(" ")),
        };
        if read.is_empty() && parameters.len() > 1 && settings.param.is_empty() {
            let (last, others) = parameters.split_last().map_or(("", &[][..]), |(last, others)| (*last, others));
            let message = format!("the formula reads no column: {} and {last} are parameters", others.join(", "));
            let inputs: Vec<&str> = columns.iter().copied().filter(|c| !target.contains(c)).collect();
            return Err(unknown(message, format!("the columns are {}; check the spelling", inputs.join(", "))));
        }
        let owned = |names: Vec<&str>| names.into_iter().map(str::to_string).collect();
        Ok(FormulaProgram {
            text: format!("{schema}{}", body.to_scheme()),
            columns: owned(read),
            parameters: owned(parameters),
            target: formula.target,
        })
    }

    /// The column left of `~`, for models: these predict a column as it is.
    pub fn target_column(&self) -> Result<Option<String>, Report> {
        match &self.target {
            None => Ok(None),
            Some(Expr::Name(name)) => Ok(Some(name.clone())),
            Some(other) => {
                let message = format!("a model predicts a column, and {} is computed from one", other.to_infix());
                Err(refusal(message, "add it to the data as a column of its own, or fit the formula as a request"))
            }
        }
    }

    /// The column that the formula predicts, which is added to the table if the formula computes it, and the scale that
    /// it was measured on, if that is another one.
    pub fn target(&self, table: &mut Table) -> Result<Option<(String, Option<OriginalScale>)>, Report> {
        let Some(target) = &self.target else { return Ok(None) };
        if let Expr::Name(name) = target {
            return Ok(Some((name.clone(), None)));
        }
        let (name, values) = (target.to_infix(), computed(target, table)?);
        let missing = target.names().iter().filter_map(|n| table.column(n)).flat_map(|c| c.missing.clone()).collect();
        let original = inverse(target, table);
        table.columns.push(TableColumn { name: name.clone(), values: Column::Reals(values), stray: None, missing });
        Ok(Some((name, original)))
    }
}

/// A target before it was transformed.
#[derive(Clone, Debug)]
pub struct OriginalScale {
    /// The column.
    pub name: String,
    values: Vec<f64>,
    inverse: fn(f64) -> f64,
}

impl OriginalScale {
    /// How well predictions of these rows agree with the column itself.
    pub fn score(&self, rows: &[usize], predictions: &[f64]) -> Score {
        let back: Vec<f64> = predictions.iter().map(|p| (self.inverse)(*p)).collect();
        let target: Vec<f64> = rows.iter().map(|&row| self.values[row]).collect();
        let squares = back.iter().zip(&target).map(|(p, y)| (p - y) * (p - y));
        let loss = dmci_exec::sum_rows(squares) / target.len().max(1) as f64;
        Score::of(loss, &back, &target, 1)
    }
}

/// The scale of a target that a function with an inverse was applied to.
fn inverse(target: &Expr, table: &Table) -> Option<OriginalScale> {
    use dmci_ops::real;
    let Expr::Call(function, arguments) = target else { return None };
    let [Expr::Name(name)] = arguments.as_slice() else { return None };
    let inverse: fn(f64) -> f64 = match function.scheme {
        "log" => real::exp,
        "log10" => |x| real::pow(10.0, x),
        "log2" => |x| real::pow(2.0, x),
        "log1p" => real::expm1,
        "exp" => real::log,
        "sqrt" => |x| x * x,
        "asinh" => real::sinh,
        _ => return None,
    };
    let values = reals(&table.column(name)?.values).ok()?;
    Some(OriginalScale { name: name.clone(), values, inverse })
}

/// An expression of columns, row by row.
fn computed(target: &Expr, table: &Table) -> Result<Vec<f64>, Report> {
    let mut builder = Model::builder(Program::named("the target", &target.to_scheme()));
    let mut columns = Vec::new();
    for name in target.names() {
        let column = crate::binding::find_column(table, name)?;
        builder = builder.input(name);
        columns.push(column.values.clone());
    }
    let batch = builder.build()?.evaluate(&[], &columns, Want::Values)?;
    let missing = |row: &usize| target.names().iter().filter_map(|n| table.column(n)).any(|c| c.missing.contains(row));
    let wrong = (0..batch.values.len()).find(|row| !batch.values[*row].is_finite() && !missing(row));
    if let Some(row) = wrong {
        let message = format!("{}: row {}: {} is not finite", table.name, row + 1, target.to_infix());
        let help = "remove the row, or fit the column itself";
        return Err(Report::from(Diagnostic::error(ErrorCode::E0706, message).help(help)));
    }
    Ok(batch.values)
}

/// Refuses a parameter that is most likely a misspelt column.
fn check_spelling(parameters: &[&str], unused: &[&str], meant: &[String]) -> Result<(), Report> {
    for name in parameters.iter().filter(|name| !meant.iter().any(|m| m == *name)) {
        // In short names every letter counts: k is not a slip for t.
        let near = |column: &&&str| match distance(name, column) {
            1 => name.chars().count().max(column.chars().count()) > 2,
            2 => name.chars().count().min(column.chars().count()) > 4,
            _ => name.eq_ignore_ascii_case(column),
        };
        if let Some(column) = unused.iter().find(near) {
            let message = format!("{name} is neither a column nor, it seems, a parameter: did you mean {column}?");
            let help = format!("write {column}; if {name} is a parameter, say so with ‹param {name}›");
            return Err(unknown(message, help));
        }
    }
    Ok(())
}

fn unknown(message: String, help: String) -> Report {
    Report::from(Diagnostic::error(ErrorCode::E0704, message).help(help))
}

/// The declaration of a parameter.
fn entry(name: &str, ranges: &[Condition], starts: &[(String, f64)]) -> Result<String, Report> {
    let range = ranges.iter().find(|c| c.name == name).map(|c| (c.low, c.high));
    let start = starts.iter().find(|(n, _)| n == name).map(|s| s.1);
    let (kind, usual) = match range {
        None | Some((None, None)) => ("free".to_string(), 1.0),
        Some((Some(0.0), None)) => ("positive".into(), 1.0),
        Some((Some(0.0), Some(1.0))) => ("unit".into(), 0.5),
        Some((Some(low), Some(high))) => (format!("(bounded {low:?} {high:?})"), 0.5 * (low + high)),
        Some(_) => {
            let message = format!("‹where› bounds {name} on one side only, at a number that is not 0");
            return Err(refusal(message, format!("give both bounds, such as 2 < {name} < 1000, or {name} > 0")));
        }
    };
    let start = start.unwrap_or(usual);
    let inside = range.is_none_or(|(low, high)| low.is_none_or(|l| start > l) && high.is_none_or(|h| start < h));
    if !inside {
        let message = format!("{name} starts at {start}, outside of the range that ‹where› gives it");
        return Err(refusal(message, "start inside of the range"));
    }
    Ok(format!("({} {kind} {start:?})", Expr::Name(name.into()).to_scheme()))
}

/// The report of a text that is no formula.
fn report(setting: &str, text: &str, error: &FormulaError) -> Report {
    let mut sources = Sources::default();
    let source = sources.add(setting, text, Origin::User);
    let span = Span::new(source, error.at.start, error.at.end);
    let diagnostic = Diagnostic::error(ErrorCode::E0820, &*error.message).at(span).help(&*error.help);
    Report::new(vec![*diagnostic], sources)
}

/// Reads a formula.
pub(crate) fn parsed(text: &str) -> Result<Formula, Report> {
    let error = match Formula::parse(text) {
        Ok(formula) => return Ok(formula),
        Err(error) => error,
    };
    if text.trim_start().starts_with('(') && dmci_formula::from_scheme(text).is_some() {
        let message = "this formula is a program in Scheme";
        let help = "give it as ‹text›, or write it in infix notation: (+ (* a x) b) is a*x + b";
        return Err(Report::from(Diagnostic::error(ErrorCode::E0820, message).help(help)));
    }
    Err(report("‹formula›", text, &error))
}

/// Refuses a formula, or Python, where a program is expected.
pub fn check_notation(program: &Program) -> Result<(), Report> {
    if !dmci_formula::looks_like_infix(&program.text) {
        return Ok(());
    }
    let message = format!("{} is written in infix notation, and a program is written in Scheme", program.name);
    let help = "give a formula with ‹formula›, or write it in Scheme: a*x + b is (+ (* a x) b)";
    Err(Report::from(Diagnostic::error(ErrorCode::E0821, message).help(help)))
}
