//! What a search is asked to do, with the defaults of every front end, and the search that it begins.

use crate::run::Limits;
use dmci::{Cancel, Diagnostic, ErrorCode, Program, Report, RunOptions};
use dmci_fit::{Table, find_column};
use dmci_search::archive::Entry;
use dmci_search::candidate::Candidate;
use dmci_search::data::{Data, Folds, Part};
use dmci_search::funnel::{Contract, read};
use dmci_search::general::Sources;
use dmci_search::judge::{Finding, Judgement, baselines, judge};
use dmci_search::operation::Operations;
use dmci_search::problem::SearchProblem;
use dmci_search::search::{Proposer, Search, Settings, Work};
use dmci_search::units::{Constants, Units, dimensions};
use dmci_search::worker::Workshop;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Everything that a search can be asked for, besides the table and the texts of programs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchRequest {
    /// The column to predict.
    pub target: String,
    /// The states of a system of ODEs, in place of a target.
    pub ode: Vec<String>,
    /// The column of times of a system.
    pub time: Option<String>,
    /// The column of runs of a system.
    pub group: Option<String>,
    /// The columns that programs may read; all others if there is no list.
    pub inputs: Option<Vec<String>>,
    /// The column of weights.
    pub weights: Option<String>,
    /// The column of standard deviations of the target.
    pub sigma: Option<String>,
    /// `column:NAME`, or `none`; a quarter of the rows otherwise.
    pub sealed: Option<String>,
    /// Whether rows are a series: validated by rolling origin, the tail sealed.
    pub rolling: bool,
    /// Folds of the cross-validation.
    pub folds: usize,
    /// Names of operations, with spaces between them.
    pub operations: String,
    /// The largest complexity.
    pub size: usize,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Proposers with their shares, such as `grammar=3,library`.
    pub proposer: Option<String>,
    /// Islands.
    pub islands: usize,
    /// Most hypotheses that are fitted.
    pub evaluations: Option<u64>,
    /// Seconds after which a search ends.
    pub time_limit: f64,
    /// Threads; all cores if there is no number.
    pub threads: Option<usize>,
    /// Whether control arms run afterwards, with as many hypotheses.
    pub controls: bool,
    /// Units of columns by name, besides those of the table: candidates whose dimensions cannot agree are never fitted.
    pub units: BTreeMap<String, String>,
    /// What the numbers are that a search adds to programs: of any unit, or without one.
    pub constants: Constants,
}

/// The defaults are those of a [`SearchProblem`].
impl Default for SearchRequest {
    fn default() -> Self {
        let SearchProblem { search, budget, .. } = SearchProblem::default();
        SearchRequest {
            target: String::new(),
            ode: search.ode,
            time: search.time,
            group: None,
            inputs: search.inputs,
            weights: None,
            sigma: None,
            sealed: search.sealed,
            rolling: search.rolling,
            folds: search.folds,
            operations: search.operations,
            size: search.size,
            seed: search.seed,
            proposer: None,
            islands: search.islands,
            evaluations: budget.evaluations,
            time_limit: budget.time_limit,
            threads: None,
            controls: false,
            units: BTreeMap::new(),
            constants: search.constants,
        }
    }
}

/// An error about what was asked for.
pub fn wrong(message: String, help: &str) -> Report {
    Report::from(Diagnostic::error(ErrorCode::E0910, message).help(help))
}

/// A search that has begun, or has come as far as its journal.
#[derive(Debug)]
pub struct Begun {
    /// The rows and what candidates are made of.
    pub workshop: Workshop,
    /// The state machine.
    pub search: Search,
    /// Work that was asked for and not told.
    pub pending: VecDeque<Work>,
    /// The user's baselines by name.
    pub own: Vec<(String, Candidate)>,
    /// The seed.
    pub seed: u64,
}

impl Begun {
    /// The judgement of a search that these rows were searched by.
    pub fn judge(
        workshop: &Workshop,
        search: &Search,
        own: &[(String, Candidate)],
        seed: u64,
    ) -> Result<Judgement, Report> {
        let validated = search.counts().values().map(|c| c.validated).sum();
        let mut found = judge(&mut workshop.scorer(), search.front(), own, validated, seed).ok_or_else(|| {
            wrong("no program could be fitted to these rows".into(), "check the columns of the table")
        })?;
        let (islands, proposers) = search.agreement(found.best.entry.candidate.hash);
        if found.finding == Finding::Found {
            let times = |n: u32, what: &str| if n == 1 { format!("one {what}") } else { format!("{n} {what}s") };
            found.text += &match (islands, proposers) {
                (0 | 1, 0 | 1) => " It was found on one island and by one proposer only.".to_string(),
                _ => format!(" It was found on {} and by {}.", times(islands, "island"), times(proposers, "proposer")),
            };
        }
        Ok(found)
    }
}

/// The program of an entry, with its fitted numbers as starts.
pub fn exported(workshop: &Workshop, entry: &Entry) -> String {
    workshop.program(&entry.candidate, &entry.score.values).trim_end().to_string() + "\n"
}

/// What candidates of a search may be made of.
pub fn contract(workshop: &Workshop) -> Contract<'_> {
    Contract { inputs: &workshop.data.inputs, operations: &workshop.operations, size: workshop.size }
}

impl SearchRequest {
    /// Reads a request in JSON.
    pub fn from_json(text: &str) -> Result<SearchRequest, Report> {
        serde_json::from_str(text).map_err(|error| {
            wrong(format!("the settings of the search cannot be read: {error}"), "check their names and values")
        })
    }

    /// The settings of the state machine, with the default proposers and without a limit.
    pub(crate) fn settings(&self, workshop: &Workshop) -> Settings {
        let exact_at = workshop.data.exact;
        Settings { seed: self.seed, islands: self.islands, exact_at, ..Settings::default() }
    }

    /// What ends the search.
    pub fn limits<'a>(&self, cancel: &'a Cancel) -> Limits<'a> {
        let cores = || std::thread::available_parallelism().map_or(1, |n| n.get());
        Limits {
            time: Duration::try_from_secs_f64(self.time_limit).unwrap_or(Duration::MAX),
            threads: self.threads.unwrap_or_else(cores).max(1),
            cancel,
            consultant: None,
        }
    }

    /// The search over a table, with the texts of programs to begin with and of baselines, by name.
    pub fn begin(&self, table: &Table, seeds: &[(String, String)], own: &[(String, String)]) -> Result<Begun, Report> {
        if !self.ode.is_empty() {
            let programs =
                |list: &[(String, String)]| list.iter().map(|(n, text)| Program::named(n, text)).collect::<Vec<_>>();
            let run = RunOptions::default();
            let (table, seeds, baselines) = (table.clone(), programs(seeds), programs(own));
            let sources = Sources { table, seeds, baselines, start_from: None, run };
            return crate::problem::begin(&self.problem()?, sources, None);
        }
        let proposers = match &self.proposer {
            Some(text) => proposers(text)?,
            None => Settings::default().proposers,
        };
        let workshop = self.workshop(table)?;
        let settings = Settings { proposers, evaluations: self.evaluations, ..self.settings(&workshop) };
        let named = |list: &[(String, String)]| -> Result<Vec<(String, Candidate)>, Report> {
            list.iter()
                .map(|(name, text)| match read(text, &contract(&workshop)) {
                    Ok(candidate) => Ok((name.clone(), candidate)),
                    Err(r) => Err(wrong(format!("{name} is not a candidate: {}", r.message), &r.hint)),
                })
                .collect()
        };
        let (seeds, own) = (named(seeds)?, named(own)?);
        for (name, candidate) in &seeds {
            let admitted = workshop.admit(candidate.clone());
            admitted.map_err(|r| wrong(format!("{name} is not a candidate: {}", r.message), &r.hint))?;
        }
        let base = baselines(workshop.data.inputs.len(), &workshop.operations);
        let first = base.iter().chain(&seeds).chain(&own).map(|(_, c)| c.clone()).collect();
        let search = Search::new(settings, first);
        Ok(Begun { workshop, search, pending: VecDeque::new(), own, seed: self.seed })
    }

    /// What is asked for as a problem.
    fn problem(&self) -> Result<SearchProblem, Report> {
        let mut problem = SearchProblem::default();
        let (fit, search) = (&mut problem.fit.problem, &mut problem.search);
        fit.target = if self.target.is_empty() { Vec::new() } else { vec![self.target.clone()] };
        (fit.group, fit.weights, fit.sigma) = (self.group.clone(), self.weights.clone(), self.sigma.clone());
        (search.ode, search.time, search.inputs) = (self.ode.clone(), self.time.clone(), self.inputs.clone());
        (search.sealed, search.rolling, search.folds) = (self.sealed.clone(), self.rolling, self.folds);
        (search.operations, search.size, search.seed) = (self.operations.clone(), self.size, self.seed);
        search.islands = self.islands;
        if let Some(text) = &self.proposer {
            search.proposers = proposers(text)?.into_iter().map(|(p, share)| (p.name().to_string(), share)).collect();
        }
        (problem.budget.evaluations, problem.budget.time_limit) = (self.evaluations, self.time_limit);
        Ok(problem)
    }

    /// Parts the rows of a table.
    pub fn workshop(&self, table: &Table) -> Result<Workshop, Report> {
        let operations = Operations::parse(&self.operations)
            .map_err(|message| wrong(message, "name operations with ‹operations›, with spaces between them"))?;
        let target_name = &self.target;
        let seal_column = match self.sealed.as_deref() {
            None | Some("none") => None,
            Some(text) => Some(text.strip_prefix("column:").ok_or_else(|| {
                wrong(format!("{text} does not say which rows are sealed"), "write column:NAME, or none")
            })?),
        };
        let aside = [Some(target_name.as_str()), self.weights.as_deref(), self.sigma.as_deref(), seal_column];
        let inputs: Vec<String> = match &self.inputs {
            Some(list) => list.clone(),
            None => {
                let other = |name: &str| !aside.contains(&Some(name));
                table.columns.iter().filter(|c| other(&c.name)).map(|c| c.name.clone()).collect()
            }
        };
        if inputs.contains(target_name) {
            return Err(wrong(format!("{target_name} is the target and an input"), "drop it from ‹inputs›"));
        }
        if self.weights.is_some() && self.sigma.is_some() {
            return Err(wrong(
                "rows have weights and standard deviations".into(),
                "give ‹weights› or ‹sigma›, not both",
            ));
        }
        let mut columns = inputs.iter().map(|name| reals(table, name)).collect::<Result<Vec<_>, _>>()?;
        let mut target = reals(table, target_name)?;
        let mut weights = None;
        if let Some(name) = &self.weights {
            let list = reals(table, name)?;
            if list.iter().any(|w| *w < 0.0) {
                return Err(wrong(format!("{name} has a weight below 0"), "weights are 0 or more"));
            }
            weights = Some(list.iter().map(|w| w.sqrt()).collect::<Vec<f64>>());
        }
        if let Some(name) = &self.sigma {
            let list = reals(table, name)?;
            if list.iter().any(|s| *s <= 0.0) {
                return Err(wrong(format!("{name} has a standard deviation that is not above 0"), "check the column"));
            }
            weights = Some(list.iter().map(|s| 1.0 / s).collect());
        }
        let mut sealed: Option<Vec<bool>> = match (seal_column, self.sealed.as_deref()) {
            (Some(name), _) => Some(reals(table, name)?.iter().map(|x| *x != 0.0).collect()),
            (None, Some(_)) => Some(vec![false; table.rows]),
            (None, None) => None,
        };
        // Rows without a value take no part.
        let has_all = |r: usize| {
            let lists = columns.iter().chain([&target]).chain(&weights);
            lists.into_iter().all(|list| list[r].is_finite())
        };
        let kept: Vec<usize> = (0..table.rows).filter(|&r| has_all(r)).collect();
        let pick = |list: &Vec<f64>| kept.iter().map(|&r| list[r]).collect::<Vec<f64>>();
        (columns, target) = (columns.iter().map(pick).collect(), pick(&target));
        let root_weights = weights.as_ref().map(pick);
        sealed = sealed.map(|marks| kept.iter().map(|&r| marks[r]).collect());
        let open = sealed.as_ref().map_or(kept.len(), |marks| marks.iter().filter(|m| !**m).count());
        if open < 5 {
            let message = format!("{open} rows are left to fit, at least 5 are needed");
            return Err(wrong(message, "check the columns and what is sealed"));
        }
        if columns.is_empty() {
            return Err(wrong("no column is left as an input".into(), "name inputs with ‹inputs›"));
        }
        let folds = self.folds.max(2);
        let folds = if self.rolling { Folds::Rolling(folds) } else { Folds::Random(folds) };
        let part = Part { columns, target, root_weights };
        let data = Data::new(inputs, target_name, part, sealed.as_deref(), folds, self.seed);
        if data.variance == 0.0 {
            return Err(wrong(format!("{target_name} has the same value in all rows"), "there is nothing to explain"));
        }
        let units = Units::of(&dimensions(&self.units, table)?, &data.inputs, target_name, self.constants);
        Ok(Workshop::new(data, operations, self.size).with_units(units))
    }
}

/// Reads `grammar=2,library`.
pub fn proposers(text: &str) -> Result<Vec<(Proposer, f64)>, Report> {
    let mut list = Vec::new();
    for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        let (name, share) = part.split_once('=').unwrap_or((part, "1"));
        let found = Proposer::ALL.into_iter().find(|p| p.name() == name);
        let share = share.parse().ok().filter(|s: &f64| s.is_finite() && *s > 0.0);
        let (Some(proposer), Some(share)) = (found, share) else {
            let known: Vec<&str> = Proposer::ALL.iter().map(|p| p.name()).collect();
            return Err(wrong(
                format!("{part} is not a proposer with a share"),
                &format!("there are {}", known.join(", ")),
            ));
        };
        list.push((proposer, share));
    }
    if list.is_empty() { Err(wrong("no proposer is named".into(), "name one: grammar")) } else { Ok(list) }
}

/// A column of numbers; what is missing is NaN.
fn reals(table: &Table, name: &str) -> Result<Vec<f64>, Report> {
    let column = find_column(table, name)?;
    column.reals().map_err(|row| {
        let shown = column.shown(row);
        let message = format!("{name} has {shown} in row {}, expected a number", row + 1);
        wrong(message, "name the numeric columns with ‹inputs›, or declare missing values with ‹missing›")
    })
}
