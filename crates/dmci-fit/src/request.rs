//! Everything that can be said about a fit, in one type. The options of the command, the keywords of Python and files
//! become a [`FitRequest`] and nothing else; its defaults and its refusals are here and in the options that it builds.
//!
//! ```
//! use dmci_fit::FitRequest;
//!
//! let request = FitRequest::from_toml("target = 'y'\nloss = 'huber'\nhuber = 2\nrestarts = 20").expect("settings");
//! request.check().expect("settings that go together");
//! assert_eq!(request.to_json(), serde_json::json!({"target": ["y"], "loss": "huber", "huber": 2.0, "restarts": 20}));
//!
//! let report = FitRequest::from_toml("hodlout = 0.3").expect_err("a slip");
//! assert_eq!(report.to_string(), "error[E0910]: there is no setting hodlout\nhelp: did you mean holdout?\n");
//! ```

mod matrix;
mod outputs;
mod problem;
mod read;
mod refuse;
mod run;
mod search;

pub(crate) use matrix::columns_of;
pub use matrix::with_matrices;
pub use outputs::{OutputFile, OutputSettings};
pub use problem::{FormulaNames, Inputs, Params, ProblemSettings, Source};
pub(crate) use read::from_map as settings_from_map;
pub(crate) use refuse::refusal;
pub use run::RunSettings;
pub use search::SearchSettings;

use crate::diagnose::diagnose;
use crate::fit::{FitOptions, Progress, fit};
use crate::problem::Problem;
use crate::resample::{Intervals, bootstrap, profile};
use crate::result::Fit;
use crate::watch::Watch;
use dmci::{Reason, Report};
use read::Pairs;
use schemars::JsonSchema;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Instant;

/// A request for a fit. In JSON and TOML all settings are fields of one table, and those that have their defaults are
/// left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
// The derived functions are called by the implementations below, which leave out defaults and name what is wrong.
#[serde(remote = "Self", default)]
pub struct FitRequest {
    /// What is fitted to what.
    #[serde(flatten)]
    pub problem: ProblemSettings,
    /// How the best parameters are searched, and how sure they are.
    #[serde(flatten)]
    pub search: SearchSettings,
    /// How the program is run.
    #[serde(flatten)]
    pub run: RunSettings,
    /// What is written.
    #[serde(flatten)]
    pub outputs: OutputSettings,
}

impl FitRequest {
    /// The request of a table of settings. A setting that is null has its default.
    pub fn from_map(settings: Map<String, Json>) -> Result<FitRequest, Report> {
        read::from_map(settings, FitRequest::names(), |map| FitRequest::deserialize(Json::Object(map)))
    }

    /// Reads a request in JSON.
    pub fn from_json(text: &str) -> Result<FitRequest, Report> {
        FitRequest::from_map(read::json_map(text)?)
    }

    /// Reads a request in TOML.
    pub fn from_toml(text: &str) -> Result<FitRequest, Report> {
        FitRequest::from_map(read::toml_map(text)?)
    }

    /// The settings of a file in JSON or, if its name ends so, in TOML, before they are understood: others may be
    /// laid over them.
    pub fn map_of(file: &str, text: &str) -> Result<Map<String, Json>, Report> {
        if file.to_ascii_lowercase().ends_with(".toml") { read::toml_map(text) } else { read::json_map(text) }
    }

    /// The same request with the paths of its files in a folder, for a request that is read from a file in it.
    pub fn in_folder(mut self, folder: &str) -> FitRequest {
        let (problem, outputs) = (&mut self.problem, &mut self.outputs);
        let inputs = [&mut problem.program, &mut problem.data, &mut problem.start_from];
        let written = [
            &mut outputs.out,
            &mut outputs.plot,
            &mut outputs.residuals,
            &mut outputs.write,
            &mut outputs.trace,
            &mut outputs.checkpoint,
        ];
        let is_inside = |path: &&mut String| !folder.is_empty() && path.as_str() != "-";
        for path in inputs.into_iter().chain(written).flatten().filter(is_inside) {
            *path = Path::new(folder).join(&*path).display().to_string();
        }
        if let Some(file) = self.run.evaluator().filter(|_| !folder.is_empty()) {
            self.run.mode = format!("eval:{}", Path::new(folder).join(file).display());
        }
        self
    }

    /// The settings that differ from their defaults.
    pub fn to_json(&self) -> Json {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The same in TOML.
    pub fn to_toml(&self) -> Result<String, Report> {
        toml::to_string(self).map_err(|error| {
            refuse::refusal(format!("the request cannot be written as TOML: {error}"), "write it as JSON")
        })
    }

    /// The names of all settings.
    pub fn names() -> &'static [String] {
        static NAMES: OnceLock<Vec<String>> = OnceLock::new();
        NAMES.get_or_init(|| FitRequest::default().pairs().into_iter().map(|(name, _)| name).collect())
    }

    /// The settings that have a value by default, with that value as text.
    pub fn defaults() -> BTreeMap<String, String> {
        let text = |value: Json| match value {
            Json::Number(number) => number.as_f64().map(|x| x.to_string()),
            Json::String(word) => Some(word),
            _ => None,
        };
        let own = FitRequest::default().pairs().into_iter().filter_map(|(name, value)| Some((name, text(value)?)));
        // Of a fit that says nothing about its searches.
        own.chain([("search_work".to_string(), format!("{:e}", crate::SEARCH_WORK))]).collect()
    }

    /// The JSON schema of requests.
    pub fn schema() -> Json {
        let mut schema = schemars::schema_for!(FitRequest).to_value();
        if let Some(fields) = schema.as_object_mut() {
            fields.insert("title".into(), "FitRequest".into());
            fields.insert("additionalProperties".into(), false.into());
        }
        schema
    }

    /// Refuses settings that are out of range or do not go together.
    pub fn check(&self) -> Result<(), Report> {
        self.run.check()?;
        self.problem.check()?;
        self.search.check()?;
        self.outputs.check(&self.problem)
    }

    /// How the search goes.
    pub fn options(&self) -> Result<FitOptions, Report> {
        self.search.options(self.run.seed)
    }

    /// Fits a problem of [`FitRequest::problem`] and finds the intervals that were asked for. The observer is asked
    /// after every round whether to go on, and `stopped` whether somebody has interrupted: then intervals that cost
    /// fits of their own are left out, or end early. All of it has the time of the search.
    pub fn fit(
        &self,
        problem: &Problem,
        options: &FitOptions,
        observe: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Fit, Report> {
        let began = Instant::now();
        let mut fit = fit(problem, options, observe)?;
        if fit.was_interrupted() {
            return Ok(fit);
        }
        let left = options.time.map(|limit| limit.saturating_sub(began.elapsed()));
        let watch = left.map(|left| Watch::start(&problem.cancel, Reason::Time, left));
        let stopped = &|| stopped() || problem.cancel.is_raised(Reason::Time);
        let result = match self.search.bootstrap {
            Some(samples) => bootstrap(problem, &mut fit, samples, self.run.seed, &|_| !stopped()),
            None if self.search.intervals == Intervals::Profile => profile(problem, &mut fit, &|| !stopped()),
            None => Ok(()),
        };
        // What was found before counts, if the last fit was cut short.
        let cut_short = stopped();
        watch.map(Watch::stop);
        fit.time = began.elapsed();
        fit.interrupted |= problem.cancel.is_raised(Reason::Person);
        problem.resume();
        if cut_short {
            return Ok(fit);
        }
        result?;
        if self.search.diagnose {
            fit.diagnosis = diagnose(problem, &fit, options, stopped)?;
        }
        Ok(fit)
    }

    /// All settings in order, with their values.
    fn pairs(&self) -> Vec<(String, Json)> {
        let mut text = Vec::new();
        let written = FitRequest::serialize(self, &mut serde_json::Serializer::new(&mut text));
        let pairs: Option<Pairs> = written.ok().and_then(|()| serde_json::from_slice(&text).ok());
        pairs.expect("settings are numbers, texts, lists and tables").0
    }
}

impl Serialize for FitRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let usual = FitRequest::default().pairs();
        let given = self.pairs().into_iter().zip(usual).filter(|(own, usual)| own.1 != usual.1);
        let mut map = serializer.serialize_map(None)?;
        for ((name, value), _) in given {
            map.serialize_entry(&name, &value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for FitRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let settings = Map::deserialize(deserializer)?;
        FitRequest::from_map(settings).map_err(|report| {
            let texts = report.diagnostics.iter().map(|d| match &d.help {
                Some(help) => format!("{}; {help}", d.message),
                None => d.message.clone(),
            });
            serde::de::Error::custom(dmci::Spelling::Field.spell(&texts.collect::<Vec<_>>().join("; ")))
        })
    }
}
