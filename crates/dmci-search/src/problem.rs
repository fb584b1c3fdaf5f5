//! Everything that can be said about a search, in one type: a request for fits, what programs are tried, and how long.
//! The options of the command, keywords and files become a [`SearchProblem`]; its defaults and its refusals are here.
//!
//! ```
//! use dmci_search::problem::SearchProblem;
//!
//! let text = "[fit]\ndata = 'cells.csv'\ntarget = 'soh'\n[search]\nseeds = ['sqrt.scm']\nsize = 20\n[budget]\ntime_limit = 5";
//! let problem = SearchProblem::from_toml(text).expect("settings");
//! assert_eq!((problem.search.size, problem.search.islands, problem.budget.time_limit), (20, 4, 5.0));
//!
//! let report = SearchProblem::from_toml("[search]\nsise = 20").expect_err("a slip");
//! assert_eq!(report.to_string(), "error[E0910]: there is no setting sise in [search]\nhelp: did you mean size?\n");
//! ```

use crate::operation::{DEFAULT, Operations};
use crate::search::{Proposer, Settings};
use crate::template::Limits;
use crate::units::Constants;
use dmci::{Diagnostic, ErrorCode, Report, nearest};
use dmci_fit::FitRequest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::path::Path;

/// A search, as it is asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SearchProblem {
    /// What is fitted to what, and how.
    pub fit: FitRequest,
    /// What is tried, and how it is judged.
    pub search: SearchSettings,
    /// When it ends.
    pub budget: Budget,
    /// Units of columns by name, besides those of the table.
    pub units: BTreeMap<String, String>,
}

/// What programs are tried, and how they are judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SearchSettings {
    /// Files of programs to begin with, with holes or without.
    pub seeds: Vec<String>,
    /// Files of programs that the best one is compared with.
    pub baselines: Vec<String>,
    /// Columns that programs may read; all others by default.
    pub inputs: Option<Vec<String>>,
    /// Rows that nobody sees until the end: `column:NAME`, or `none`; a quarter by default.
    pub sealed: Option<String>,
    /// Rows are a series: validate by rolling origin, seal the tail.
    pub rolling: bool,
    /// Folds of the cross-validation.
    pub folds: usize,
    /// The operations of candidates, with spaces between them.
    pub operations: String,
    /// The largest candidate, in nodes.
    pub size: usize,
    /// Holes that have operations or a size of their own.
    pub holes: BTreeMap<String, HoleSettings>,
    /// The states of a system of ODEs whose right-hand sides are searched for.
    pub ode: Vec<String>,
    /// The column of times of a system of ODEs.
    pub time: Option<String>,
    /// What the value of an objective is: `likelihood`, a negative logarithm, or `squares`, a sum of squares.
    pub objective: ObjectiveKind,
    /// Islands.
    pub islands: usize,
    /// Proposers with their shares.
    pub proposers: BTreeMap<String, f64>,
    /// The seed of all random numbers.
    pub seed: u64,
    /// What the numbers are that a search adds, where columns have units: `any`, or `pure`, without a unit.
    pub constants: Constants,
}

/// The limits of one hole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HoleSettings {
    /// Its operations; those of the search by default.
    pub operations: Option<String>,
    /// Its largest content, in nodes; that of the search by default.
    pub size: Option<usize>,
}

/// What the value of an objective is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ObjectiveKind {
    /// The negative logarithm of a likelihood.
    #[default]
    Likelihood,
    /// A sum of squares.
    Squares,
}

/// When a search ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Seconds.
    pub time_limit: f64,
    /// New hypotheses that are fitted at most.
    pub evaluations: Option<u64>,
}

impl Default for SearchSettings {
    fn default() -> Self {
        SearchSettings {
            seeds: Vec::new(),
            baselines: Vec::new(),
            inputs: None,
            sealed: None,
            rolling: false,
            folds: 5,
            operations: DEFAULT.to_string(),
            size: 30,
            holes: BTreeMap::new(),
            ode: Vec::new(),
            time: None,
            objective: ObjectiveKind::default(),
            islands: Settings::default().islands,
            proposers: BTreeMap::new(),
            seed: 0,
            constants: Constants::default(),
        }
    }
}

impl Default for Budget {
    fn default() -> Self {
        Budget { time_limit: 60.0, evaluations: None }
    }
}

/// A report of a setting that cannot be used.
pub fn refusal(message: impl Into<String>, help: &str) -> Report {
    Report::from(Diagnostic::error(ErrorCode::E0910, message.into()).help(help))
}

/// The tables of a problem file.
const TABLES: [&str; 4] = ["fit", "search", "budget", "units"];

fn known(of: &impl Serialize) -> Vec<String> {
    match serde_json::to_value(of) {
        Ok(Json::Object(fields)) => fields.into_iter().map(|(name, _)| name).collect(),
        _ => Vec::new(),
    }
}

/// The settings of one table, each name and value checked.
fn section<T: serde::de::DeserializeOwned + Default + Serialize>(
    table: &str,
    settings: Map<String, Json>,
) -> Result<T, Report> {
    let names = known(&T::default());
    if let Some(name) = settings.keys().find(|name| !names.contains(name)) {
        let help = match nearest(name, names.iter().map(String::as_str)) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("the settings are {}", names.join(", ")),
        };
        return Err(refusal(format!("there is no setting {name} in [{table}]"), &help));
    }
    let read = |map: Map<String, Json>| serde_json::from_value::<T>(Json::Object(map));
    let error = match read(settings.clone()) {
        Ok(found) => return Ok(found),
        Err(error) => error,
    };
    for (name, value) in settings {
        if let Err(error) = read(Map::from_iter([(name.clone(), value.clone())])) {
            let message = format!("{name} in [{table}] cannot be {value}: {error}");
            return Err(refusal(message, "write a value of that type, or leave it out"));
        }
    }
    Err(refusal(format!("[{table}] cannot be read: {error}"), "check its types"))
}

/// The units of columns.
fn units(settings: Map<String, Json>) -> Result<BTreeMap<String, String>, Report> {
    let of = |(name, unit): (String, Json)| match unit {
        Json::String(unit) => Ok((name, unit)),
        other => {
            let message = format!("the unit of {name} in [units] cannot be {other}");
            Err(refusal(message, "write it as a text, such as \"m/s\"; \"1\" is that of a number"))
        }
    };
    settings.into_iter().map(of).collect()
}

impl SearchProblem {
    /// Reads a problem in TOML.
    pub fn from_toml(text: &str) -> Result<SearchProblem, Report> {
        SearchProblem::from_map(FitRequest::map_of("problem.toml", text)?)
    }

    /// Reads a problem from a file of this name, in TOML or JSON.
    pub fn from_text(file: &str, text: &str) -> Result<SearchProblem, Report> {
        SearchProblem::from_map(FitRequest::map_of(file, text)?)
    }

    fn from_map(tables: Map<String, Json>) -> Result<SearchProblem, Report> {
        let mut problem = SearchProblem::default();
        for (name, value) in tables {
            let Json::Object(settings) = value else {
                let help = format!("write settings in tables: [{}]", TABLES.join("], ["));
                return Err(refusal(format!("{name} is not in a table"), &help));
            };
            match name.as_str() {
                "fit" => problem.fit = FitRequest::from_map(settings)?,
                "search" => problem.search = section("search", settings)?,
                "budget" => problem.budget = section("budget", settings)?,
                "units" => problem.units = units(settings)?,
                _ => {
                    let help = nearest(&name, TABLES)
                        .map_or(format!("the tables are [{}]", TABLES.join("], [")), |n| {
                            format!("did you mean [{n}]?")
                        });
                    return Err(refusal(format!("there is no table [{name}] in a problem"), &help));
                }
            }
        }
        Ok(problem)
    }

    /// The same problem with the paths of its files in a folder, for one that is read from a file in it.
    pub fn in_folder(mut self, folder: &str) -> SearchProblem {
        self.fit = self.fit.in_folder(folder);
        if !folder.is_empty() {
            for path in self.search.seeds.iter_mut().chain(&mut self.search.baselines) {
                *path = Path::new(folder).join(&*path).display().to_string();
            }
        }
        self
    }

    /// Refuses settings that are out of range or do not go together.
    pub fn check(&self) -> Result<(), Report> {
        let search = &self.search;
        for (name, value, least) in
            [("size", search.size, 1), ("islands", search.islands, 1), ("folds", search.folds, 2)]
        {
            if value < least {
                return Err(refusal(format!("{name} must be at least {least}, got {value}"), "raise it"));
            }
        }
        if self.budget.time_limit.is_nan() || self.budget.time_limit <= 0.0 {
            let message = format!("time_limit must be above 0, got {}", self.budget.time_limit);
            return Err(refusal(message, "write seconds, such as 60"));
        }
        if self.fit.problem.params.is_some() {
            let help = "the numbers of candidates are fitted; declare those of a seed in (params ...)";
            return Err(refusal("params does not go with a search", help));
        }
        if self.fit.problem.program.is_some() || self.fit.problem.text.is_some() {
            return Err(refusal("a search has seeds in place of a program", "name the program among the seeds"));
        }
        self.limits()?;
        self.hole_limits()?;
        self.proposers()?;
        Ok(())
    }

    /// What holes may be filled with if nothing else is said about them.
    pub fn limits(&self) -> Result<Limits, Report> {
        let operations = Operations::parse(&self.search.operations)
            .map_err(|message| refusal(message, "name operations with spaces between them: + - * /"))?;
        Ok(Limits { operations, size: self.search.size })
    }

    /// The limits of holes that have their own.
    pub fn hole_limits(&self) -> Result<BTreeMap<String, Limits>, Report> {
        let usual = self.limits()?;
        let of = |(name, settings): (&String, &HoleSettings)| {
            let operations = match &settings.operations {
                Some(text) => Operations::parse(text)
                    .map_err(|message| refusal(format!("hole {name}: {message}"), "name operations such as + * exp"))?,
                None => usual.operations.clone(),
            };
            Ok((name.clone(), Limits { operations, size: settings.size.unwrap_or(usual.size).max(1) }))
        };
        self.search.holes.iter().map(of).collect()
    }

    /// The proposers with their shares; none for those of a search that says nothing.
    pub fn proposers(&self) -> Result<Vec<(Proposer, f64)>, Report> {
        let of = |(name, share): (&String, &f64)| {
            let known = Proposer::ALL.map(Proposer::name);
            let Some(proposer) = Proposer::ALL.into_iter().find(|p| p.name() == name) else {
                let help = nearest(name, known)
                    .map_or(format!("there are {}", known.join(", ")), |n| format!("did you mean {n}?"));
                return Err(refusal(format!("{name} is not a proposer"), &help));
            };
            if !(share.is_finite() && *share > 0.0) {
                return Err(refusal(
                    format!("the share of {name} must be above 0, got {share}"),
                    "write 1, or leave it out",
                ));
            }
            Ok((proposer, *share))
        };
        self.search.proposers.iter().map(of).collect()
    }
}
