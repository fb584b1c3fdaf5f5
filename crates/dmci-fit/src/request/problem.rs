//! What is fitted to what.

use super::FitRequest;
use super::matrix::{columns_of, parsed, with_matrices};
use super::read::{TextOrNumber, Words, names, some_words, text_or_number, words};
use super::refuse::{above_zero, apart, needs, refusal};
use crate::formula::{FormulaProgram, FormulaSettings, OriginalScale, check_notation, parsed as parsed_formula};
use crate::literals::{literals, parametrised};
use crate::loss::Loss;
use crate::problem::{Problem, ProblemOptions};
use crate::record::FitRecord;
use crate::transform::Transform;
use dmci::{Datum, Diagnostic, ErrorCode, Interpreter, Program, Report, RunOptions, Schema};
use dmci_table::{Holdout, Table, TableColumn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is fitted to what.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProblemSettings {
    /// File of the program, in Scheme or compiled
    pub program: Option<String>,
    /// The program itself, instead of a file
    pub text: Option<String>,
    /// A formula in infix notation, instead of a program; names that are no columns are parameters
    pub formula: Option<String>,
    /// Where the parameters of a formula start: A=20, k=0.5
    pub starts: Option<String>,
    /// Between which numbers the parameters of a formula lie: A > 0, 0 < p < 1
    #[serde(rename = "where")]
    pub ranges: Option<String>,
    /// Names in a formula that are parameters although they resemble columns
    #[serde(deserialize_with = "words")]
    #[schemars(with = "Words")]
    pub param: Vec<String>,
    /// `literals`: fit the real literals of a program that has no (params ...)
    pub params: Option<Params>,
    /// File of the table: .csv or .tsv with a header line, .npy, .npz or .nc
    pub data: Option<String>,
    /// Columns that the program predicts
    #[serde(deserialize_with = "names")]
    #[schemars(with = "Words")]
    pub target: Vec<String>,
    /// Minimise the program's own value: it sees whole columns as arrays
    pub objective: bool,
    /// Column of groups; an objective program is run for each of them
    pub group: Option<String>,
    /// Columns under one name: obs=pc1..pc10 or obs=u,v; a vector in each row, a matrix of a whole series
    #[serde(deserialize_with = "names")]
    #[schemars(with = "Words")]
    pub matrix: Vec<String>,
    /// Fields that stand for a missing value
    #[serde(deserialize_with = "words")]
    #[schemars(with = "Words")]
    pub missing: Vec<String>,
    /// Fit only these parameters; the others stay where they start
    #[serde(deserialize_with = "some_words")]
    #[schemars(with = "Option<Words>")]
    pub only: Option<Vec<String>>,
    /// File of another fit: start where it ended
    pub start_from: Option<String>,
    /// Loss to minimise: mse, or gaussian with sigma, binomial with trials, unless another one is named
    pub loss: Option<String>,
    /// Residual beyond which the huber loss is linear
    pub huber: Option<f64>,
    /// Degrees of freedom of the student-t loss
    pub df: Option<f64>,
    /// Column of weights
    pub weights: Option<String>,
    /// Column of standard deviations of the target, for gaussian and student-t
    pub sigma: Option<String>,
    /// Column of numbers of trials, for binomial
    pub trials: Option<String>,
    /// Rows that are not fitted, only scored: 0.3, tail:0.3, column:test, range:t:10:20, fold:2/5 or rolling:2/5
    #[serde(deserialize_with = "text_or_number")]
    #[schemars(with = "Option<TextOrNumber>")]
    pub holdout: Option<String>,
}

/// What the parameters of a program are, if it declares none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Params {
    /// Its real literals.
    Literals,
}

/// Where a program comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// A file that somebody else reads.
    File(&'a str),
    /// Its text.
    Text(&'a str),
}

/// What a request names and somebody else has read.
#[derive(Debug)]
pub struct Inputs<'a> {
    /// The program, as it was written.
    pub program: Program,
    /// The table.
    pub table: &'a Table,
    /// The fit to start from.
    pub start_from: Option<&'a FitRecord>,
    /// How the program is run, of [`RunSettings::options`](super::RunSettings::options).
    pub run: RunOptions,
}

/// What the names in a formula are.
#[derive(Clone, Debug)]
pub struct FormulaNames {
    /// Columns that it reads.
    pub columns: Vec<String>,
    /// Parameters.
    pub parameters: Vec<String>,
    /// The scale of the target, if the formula transforms it.
    pub original: Option<OriginalScale>,
}

impl ProblemSettings {
    /// Refuses settings that do not go together.
    pub fn check(&self) -> Result<(), Report> {
        let help = "name a file, or give the text";
        apart("text", self.text.is_some(), "program", self.program.is_some(), help)?;
        let help = "give a formula, or a program";
        apart("formula", self.formula.is_some(), "program", self.program.is_some(), help)?;
        apart("formula", self.formula.is_some(), "text", self.text.is_some(), help)?;
        let help = "a formula predicts one row";
        apart("formula", self.formula.is_some(), "objective", self.objective, help)?;
        let help = "a program declares its parameters in (params ...)";
        for (name, given) in
            [("starts", self.starts.is_some()), ("where", self.ranges.is_some()), ("param", !self.param.is_empty())]
        {
            needs(name, given, "formula", self.formula.is_some(), help)?;
        }
        let names_target = self.formula.as_ref().is_some_and(|formula| formula.contains('~'));
        let help = "name it once: TARGET ~ FORMULA, or ‹target›";
        apart("target", !self.target.is_empty(), "formula TARGET ~ ...", names_target, help)?;
        if self.target.is_empty() && !self.objective && !names_target {
            // A formula with = says what it means by that.
            self.formula.as_ref().map(|text| parsed_formula(text)).transpose()?;
            let help =
                "name the column that the program predicts, or minimise the program's own value with ‹objective›";
            return Err(refusal("a fit needs ‹target›", help));
        }
        let help = "an objective is its own loss: let the program compute it from its columns";
        for (name, given) in [
            ("loss", self.loss.is_some()),
            ("huber", self.huber.is_some()),
            ("df", self.df.is_some()),
            ("weights", self.weights.is_some()),
            ("sigma", self.sigma.is_some()),
            ("trials", self.trials.is_some()),
        ] {
            apart(name, given, "objective", self.objective, help)?;
        }
        let help = "rows are predicted one by one; (per COLUMN) in (params ...) lets parameters differ by group";
        needs("group", self.group.is_some(), "objective", self.objective, help)?;
        self.parsed_holdout()?;
        self.matrix.iter().try_for_each(|text| parsed(text).map(|_| ()))?;
        self.parsed_loss().map(|_| ())
    }

    /// Where the program comes from.
    pub fn source(&self) -> Result<Source<'_>, Report> {
        match (&self.program, &self.text) {
            (Some(file), _) => Ok(Source::File(file)),
            (None, Some(text)) => Ok(Source::Text(text)),
            (None, None) => {
                let help = "name the file of the program, or give its text or a ‹formula›";
                Err(refusal("a fit needs ‹program›", help))
            }
        }
    }

    /// The file of the table.
    pub fn data_file(&self) -> Result<&str, Report> {
        let message = "a fit needs ‹data›";
        self.data.as_deref().ok_or_else(|| refusal(message, "name the file of the table that is fitted"))
    }

    /// The loss of a name; a name that is none is a procedure of the program. Without a name, the columns say it.
    pub(super) fn parsed_loss(&self) -> Result<Loss, Report> {
        if self.objective {
            return Ok(Loss::Objective);
        }
        let loss = match &self.loss {
            Some(name) => Loss::named(name).unwrap_or_else(|| Loss::Procedure(name.clone())),
            None => Loss::meant(self.sigma.is_some(), self.trials.is_some()),
        };
        above_zero("huber", self.huber, "2")?;
        above_zero("df", self.df, "4")?;
        let given = [
            ("huber", self.huber.is_some(), matches!(loss, Loss::Huber(_)), "huber"),
            ("df", self.df.is_some(), matches!(loss, Loss::StudentT(_)), "student-t"),
            ("sigma", self.sigma.is_some(), loss.uses_sigma(), "gaussian"),
            ("trials", self.trials.is_some(), loss.uses_trials(), "binomial"),
        ];
        if let Some((setting, _, _, owner)) = given.into_iter().find(|(_, given, used, _)| *given && !used) {
            let message = format!("‹{setting}› does not belong to the {} loss", loss.name());
            return Err(refusal(message, format!("remove it, or choose the loss that it belongs to: ‹loss {owner}›")));
        }
        Ok(match loss {
            Loss::Huber(usual) => Loss::Huber(self.huber.unwrap_or(usual)),
            Loss::StudentT(usual) => Loss::StudentT(self.df.unwrap_or(usual)),
            other => other,
        })
    }

    fn parsed_holdout(&self) -> Result<Holdout, Report> {
        let Some(text) = &self.holdout else { return Ok(Holdout::None) };
        Holdout::parse(text).ok_or_else(|| {
            let help = "write a share such as 0.3, tail:0.3, column:NAME, range:NAME:LOW:HIGH, fold:2/5 or rolling:2/5";
            refusal(format!("‹holdout› must say which rows to hold out, got {text}"), help)
        })
    }

    /// The columns that matter, given the program that is fitted; others may hold anything.
    pub fn columns_read(&self, program: Option<&Program>) -> Result<Vec<String>, Report> {
        let mut names = self.target.clone();
        names.extend(self.target.iter().flat_map(|t| t.split(',').map(|t| t.trim().to_string())));
        names.extend([&self.group, &self.weights, &self.sigma, &self.trials].into_iter().flatten().cloned());
        names.extend(columns_of(&self.matrix));
        match self.parsed_holdout()? {
            Holdout::Column(name) | Holdout::Range(name, _, _) => names.push(name),
            _ => {}
        }
        // What is wrong with the program is said where it is fitted.
        if let Some(Ok(found)) = program.map(|program| Interpreter::shared().names(program)) {
            names.extend(found.schema.parameters.iter().filter_map(|p| p.per.clone()));
            names.extend(found.mentioned);
        }
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let words = self.formula.iter().flat_map(|formula| formula.split(|c| !is_part(c)));
        names.extend(words.map(str::to_string));
        Ok(names)
    }

    /// Whether NaN in a column of numbers stands for a missing value: data that were never text have no other word.
    pub fn nan_is_missing(&self) -> bool {
        self.missing.iter().any(|word| word.eq_ignore_ascii_case("nan"))
    }
}

impl FitRequest {
    /// The request with its formula, if it has one, written as a program: names are columns of this table or parameters.
    /// A target that the formula computes becomes a column of the table.
    pub fn with_formula(&self, table: &mut Table) -> Result<(FitRequest, Option<FormulaNames>), Report> {
        self.check()?;
        let mut request = self.clone();
        let problem = &mut request.problem;
        let Some(formula) = problem.formula.take() else { return Ok((request, None)) };
        let (start, ranges, param) = (problem.starts.take(), problem.ranges.take(), std::mem::take(&mut problem.param));
        let settings = FormulaSettings { start: start.as_deref(), ranges: ranges.as_deref(), param: &param };
        let columns: Vec<&str> = table.columns.iter().map(|c| c.name.as_str()).collect();
        let columns: Vec<&str> = columns.into_iter().filter(|c| !problem.target.iter().any(|t| t == c)).collect();
        let read = FormulaProgram::new(&formula, &columns, &settings)?;
        let mut original = None;
        if let Some((target, scale)) = read.target(table)? {
            problem.target = vec![target];
            original = scale;
        }
        problem.text = Some(read.text);
        Ok((request, Some(FormulaNames { columns: read.columns, parameters: read.parameters, original })))
    }

    /// The problem that the request states.
    pub fn problem(&self, inputs: Inputs) -> Result<Problem, Report> {
        self.check()?;
        let settings = &self.problem;
        if settings.formula.is_some() {
            return Err(refusal("‹formula› stands beside a program", "fit the formula, or the program"));
        }
        let Inputs { mut program, table, start_from, mut run } = inputs;
        let table = &*with_matrices(table, &settings.matrix)?;
        if settings.params.is_some() {
            program = literals_of(&program)?;
        }
        check_notation(&program)?;
        check_names(&program, &run)?;
        let mut group_starts = Vec::new();
        if let Some(fit) = start_from {
            // What is set counts more than what another fit found.
            let given: Vec<String> = run.bindings.iter().map(|(name, _)| name.clone()).collect();
            let schema = Interpreter::shared().names(&program)?.schema;
            let own = fit.values().into_iter().filter(|(name, _)| !given.contains(name));
            run.bindings.extend(own.map(|(name, datum)| {
                let moved = inside(&schema, &name, datum);
                (name, moved)
            }));
            group_starts = fit.group_starts(&schema);
            for start in &mut group_starts {
                start.start = inside(&schema, &start.parameter, start.start.clone());
            }
            group_starts.retain(|start| !given.contains(&start.parameter));
        }
        let options = ProblemOptions {
            run,
            holdout: settings.parsed_holdout()?,
            loss: settings.parsed_loss()?,
            weights: settings.weights.clone(),
            sigma: settings.sigma.clone(),
            trials: settings.trials.clone(),
            group: settings.group.clone(),
            only: settings.only.clone(),
            group_starts,
        };
        let mut problem = Problem::new(program, table, settings.target.clone(), options)?;
        problem.matrices = settings.matrix.clone();
        problem.axis = self.axis(table)?;
        Ok(problem)
    }

    /// The column on the horizontal axis of pictures: any one of numbers.
    fn axis(&self, table: &Table) -> Result<Option<(String, Vec<f64>)>, Report> {
        let Some(x) = &self.outputs.x else { return Ok(None) };
        match crate::binding::find_column(table, x)?.reals() {
            Ok(numbers) => Ok(Some((x.clone(), numbers))),
            Err(row) => {
                let message = format!("{x} cannot be the horizontal axis: row {} holds no number", row + 1);
                let is_numeric = |c: &&TableColumn| c.reals().is_ok();
                let names: Vec<&str> = table.columns.iter().filter(is_numeric).map(|c| c.name.as_str()).collect();
                let help = format!("the columns of numbers are {}", names.join(", "));
                Err(Report::from(Diagnostic::error(ErrorCode::E0704, message).help(help)))
            }
        }
    }
}

/// Where a parameter ended, moved off a bound of its kind: a search can end there, but none can start there.
fn inside(schema: &Schema, name: &str, ended: Datum) -> Datum {
    let Some(parameter) = schema.find(name) else { return ended };
    let mut moved = parameter.clone();
    if !moved.set_start(&ended) || Transform::of(parameter).raws_of(&moved.starts).is_some() {
        return ended;
    }
    let Some(starts) = Transform::of(parameter).moved_inside(&moved.starts) else { return ended };
    match &starts[..] {
        [one] => Datum::Real(*one),
        many => Datum::list(many.iter().map(|&x| Datum::Real(x)).collect()),
    }
}

/// A name that is set and that the program does not have is a slip: nothing would be set.
fn check_names(program: &Program, run: &RunOptions) -> Result<(), Report> {
    let names = Interpreter::shared().names(program)?;
    if names.mentioned.is_empty() {
        return Ok(());
    }
    let is_known = |name: &String| names.mentioned.contains(name) || names.schema.find(name).is_some();
    let Some((name, _)) = run.bindings.iter().find(|(name, _)| !is_known(name)) else { return Ok(()) };
    let parameters: Vec<&str> = names.schema.parameters.iter().map(|p| p.name.as_str()).collect();
    let help = format!("its parameters are {}", parameters.join(", "));
    let message = format!("{} does not mention {name}, which ‹set› sets", program.name);
    Err(Report::from(Diagnostic::error(ErrorCode::E0701, message).help(help)))
}

/// The program with its literals as parameters.
fn literals_of(program: &Program) -> Result<Program, Report> {
    let declared = !Interpreter::shared().names(program)?.schema.is_empty();
    let found = literals(&program.text);
    if declared || found.is_empty() {
        let (message, help) = match declared {
            true => ("declares its parameters already", "remove ‹params literals›, or (params ...)"),
            false => ("has no real literals", "write numbers with a point: 2.0 is fitted, 2 is not"),
        };
        return Err(Report::from(
            Diagnostic::error(ErrorCode::E0801, format!("{} {message}", program.name)).help(help),
        ));
    }
    Ok(parametrised(program))
}
