//! A fit as it is written and read back: the versioned JSON form of its result, with what it was a fit of.

mod noise;
mod real;
mod score;

pub use noise::NoiseRecord;
pub use real::Real;
pub use score::{ChiSquareRecord, CriteriaRecord, ScoreRecord};

use crate::by_group::GroupStart;
use crate::fit::FitOptions;
use crate::optimality::{Optimality, TOLERANCE};
use crate::problem::Problem;
use crate::result::{Fit, Fitted, Number, RestartResult};
use crate::uncertainty::{Direction, Uncertainty};
use dmci::{Datum, Diagnostic, ErrorCode, Parameter, Program, Report, Schema, Spelling};
use dmci_stats::diagnosis::Diagnosis;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// The name and version of the form. Fields may be added; those there keep their meaning.
pub const SCHEMA: &str = "dmci-fit-1";

/// The result of a fit, with what it was a fit of. What an older file does not say has its default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FitRecord {
    /// [`SCHEMA`].
    pub schema: String,
    /// What ran the program.
    pub engine: EngineRecord,
    /// The program.
    pub program: ProgramRecord,
    /// The data.
    pub data: DataRecord,
    /// How it was searched.
    pub optimizer: OptimizerRecord,
    /// All parameters, by name.
    pub parameters: BTreeMap<String, ParameterRecord>,
    /// What was minimised.
    pub loss: LossRecord,
    /// The root of the mean squared error.
    pub rmse: Real,
    /// The share of the variance that is explained.
    pub r2: Option<Real>,
    /// Criteria that compare models.
    pub criteria: Option<CriteriaRecord>,
    /// Chi-square, if the standard deviations of the target are known.
    pub chi_square: Option<ChiSquareRecord>,
    /// How sure the parameters are together.
    pub uncertainty: Option<UncertaintyRecord>,
    /// Why there are no errors, if there are none.
    pub no_errors: Option<String>,
    /// The score of the rows held out.
    pub held_out: Option<ScoreRecord>,
    /// The score of the fitted rows on the scale that the target was measured on, if a formula transforms it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_scale: Option<ScoreRecord>,
    /// The restart that gave the result.
    pub best: usize,
    /// Its rounds.
    pub epochs: usize,
    /// Points that all restarts evaluated.
    pub evaluations: usize,
    /// Why the best restart stopped.
    pub stopped: String,
    /// The outcome of the test of an optimum.
    pub status: String,
    /// That test.
    pub optimality: OptimalityRecord,
    /// Parameters that were eliminated by variable projection.
    pub eliminated: Vec<String>,
    /// How many optima the searches found.
    pub optima: OptimaRecord,
    /// Points from which it stepped back.
    pub step_backs: usize,
    /// All restarts.
    pub restarts: Vec<RestartRecord>,
    /// Paths through the program that were recorded.
    pub paths: u64,
    /// How often rows took other paths than at the point before, in all restarts.
    pub path_changes: usize,
    /// What the residuals still know, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Diagnosis>,
    /// What was found, how good it is, and what to do next, in a sentence.
    pub conclusion: String,
    /// What is worth knowing, as diagnostics.
    pub warnings: Vec<Json>,
    /// The time it took.
    pub seconds: f64,
}

/// What ran the program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EngineRecord {
    /// The version of dmci.
    pub version: String,
    /// A hash of evaluator and library.
    pub hash: String,
}

/// The program that was fitted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProgramRecord {
    /// Its file.
    pub file: String,
    /// A hash of its text.
    pub hash: String,
    /// Its text.
    pub text: String,
}

/// The data that it was fitted to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DataRecord {
    /// Their file.
    pub file: String,
    /// A hash of them.
    pub hash: String,
    /// The columns that were predicted.
    pub targets: Vec<String>,
    /// The columns that the program read.
    pub inputs: Vec<String>,
    /// The columns among them that are made of others: `obs=pc1..pc10`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub matrices: Vec<String>,
    /// The column of groups.
    pub group: Option<String>,
    /// The groups.
    pub groups: Vec<String>,
    /// How many rows were fitted.
    pub rows: usize,
    /// How many were held out.
    pub held_out: usize,
    /// Between which numbers each numeric input lay in the fitted rows.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub ranges: BTreeMap<String, (Real, Real)>,
}

/// How a fit was searched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OptimizerRecord {
    /// The optimiser that gave the result.
    pub name: String,
    /// Why it was used.
    pub why: String,
    /// The limit of its rounds, if one was chosen.
    pub epochs: Option<usize>,
    /// How many searches were asked for.
    pub restarts: usize,
    /// The seed.
    #[serde(with = "real::exact")]
    pub seed: u64,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParameterRecord {
    /// Its kind, as the schema writes it.
    pub kind: String,
    /// Whether it was fixed.
    pub fixed: bool,
    /// Its numbers.
    #[serde(flatten)]
    pub numbers: Numbers,
}

/// The numbers of a parameter: one, or those of a vector, a matrix or groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Numbers {
    /// Several with names such as `w.0` and `k[site]`.
    Many {
        /// In order.
        numbers: Vec<NamedNumber>,
    },
    /// The parameter itself.
    One(NumberRecord),
}

/// A number with a name of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedNumber {
    /// The name.
    pub name: String,
    /// The number.
    #[serde(flatten)]
    pub number: NumberRecord,
}

/// One number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NumberRecord {
    /// Where the fit started.
    pub start: Real,
    /// Where it ended.
    pub value: Real,
    /// How sure it is; a fixed number has nothing of the kind.
    #[serde(flatten)]
    pub found: Option<FoundRecord>,
}

/// How sure a number is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundRecord {
    /// Its standard error.
    pub error: Option<Real>,
    /// Its interval of 95%.
    pub interval: Option<(Real, Real)>,
    /// identifiable, weakly or not.
    pub identifiable: Option<String>,
    /// Whether it lies at a bound of its kind.
    pub at_bound: bool,
}

/// What was minimised.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LossRecord {
    /// The name of the loss.
    pub name: String,
    /// Its value at the start.
    pub start: Real,
    /// Its value at the result.
    pub value: Real,
}

/// How sure the parameters are together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UncertaintyRecord {
    /// jacobian or hessian.
    pub method: String,
    /// The level of the intervals.
    pub level: f64,
    /// Whether nothing but rounding is left over.
    pub exact: bool,
    /// How intervals were found.
    pub intervals: String,
    /// Fits to resampled rows.
    pub bootstrap: Option<BootstrapRecord>,
    /// The names of the numbers.
    pub names: Vec<String>,
    /// Their correlations, row by row.
    pub correlations: Vec<Vec<Real>>,
    /// Combinations that are hard to tell apart.
    pub directions: Vec<DirectionRecord>,
    /// Measurements beyond the numbers that they decide, if the noise was estimated from what the fit leaves over.
    pub freedom: Option<usize>,
    /// How measurements scatter around predictions; older files do not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<NoiseRecord>,
}

/// Fits to resampled rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BootstrapRecord {
    /// Those that gave a result.
    pub samples: usize,
    /// Those that failed.
    pub failed: usize,
}

/// A combination of numbers that hardly changes the loss.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DirectionRecord {
    /// Whether the loss does not change at all.
    pub flat: bool,
    /// The numbers that move together.
    pub moves: BTreeMap<String, Real>,
}

/// The test of an optimum.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OptimalityRecord {
    /// How the fit ended.
    pub outcome: String,
    /// The Newton decrement, as a share of the loss.
    pub decrement: Option<Real>,
    /// The share below which it counts as converged.
    pub tolerance: f64,
    /// The lowest curvature, as a share of the largest.
    pub curvature: Option<Real>,
    /// What was tested.
    pub test: String,
    /// The parameters that the outcome is about.
    pub parameters: Vec<String>,
    /// What to try next.
    pub next: Option<String>,
}

/// How many optima the searches of a fit found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OptimaRecord {
    /// Searches that ended somewhere.
    pub starts: usize,
    /// Those of them that reached the best optimum.
    pub best: usize,
    /// Optima that differ.
    pub distinct: usize,
    /// The estimated number of optima that no search reached.
    pub unseen: Real,
}

/// What became of one restart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RestartRecord {
    /// The optimiser that ran it.
    pub optimizer: String,
    /// The best loss.
    pub loss: Real,
    /// The parameters there.
    pub values: BTreeMap<String, Real>,
    /// Rounds of questions.
    pub epochs: usize,
    /// Points evaluated.
    pub evaluations: usize,
    /// Why it stopped.
    pub stopped: String,
    /// Points from which it stepped back.
    pub step_backs: usize,
    /// How often rows took other paths than at the point before.
    pub path_changes: usize,
    /// The optimum that it reached.
    pub optimum: Option<usize>,
}

impl FitRecord {
    /// The record of a fit.
    pub fn new(problem: &Problem, options: &FitOptions, fit: &Fit) -> FitRecord {
        let best = fit.best_restart();
        let (rows, held_out) = problem.row_counts();
        let text = |words: &str| words.to_string();
        FitRecord {
            schema: text(SCHEMA),
            engine: EngineRecord { version: text(env!("CARGO_PKG_VERSION")), hash: engine_hash() },
            program: ProgramRecord {
                file: text(&problem.program.name),
                hash: dmci_table::hash::of_text(&problem.program.text),
                text: text(&problem.program.text),
            },
            data: DataRecord {
                file: problem.source.clone(),
                hash: text(problem.fingerprint()),
                targets: problem.targets.clone(),
                inputs: if problem.is_constant { Vec::new() } else { problem.inputs.clone() },
                matrices: problem.matrices.clone(),
                group: problem.group.clone(),
                groups: problem.groups.clone(),
                rows,
                held_out,
                ranges: noise::ranges(problem),
            },
            optimizer: OptimizerRecord {
                name: text(fit.optimizer.0),
                why: fit.optimizer.1.clone(),
                epochs: options.budget.epochs,
                restarts: options.more_restarts + 1,
                seed: options.seed,
            },
            parameters: fit.parameters.iter().map(|p| (p.name.clone(), p.into())).collect(),
            loss: LossRecord {
                name: text(problem.loss.name()),
                start: Real(fit.start_loss),
                value: Real(fit.score.loss),
            },
            rmse: Real(fit.score.rmse),
            r2: fit.score.r2.map(Real),
            criteria: fit.criteria.as_ref().map(Into::into),
            chi_square: fit.chi_square.as_ref().map(Into::into),
            uncertainty: fit.uncertainty.as_ref().map(|u| uncertainty(problem, fit, u)),
            no_errors: fit.no_errors.as_ref().filter(|_| fit.uncertainty.is_none()).cloned(),
            held_out: fit.held_out.as_ref().map(Into::into),
            original_scale: None,
            best: fit.best,
            epochs: best.epochs,
            evaluations: fit.evaluations(),
            stopped: text(best.stopped.name()),
            status: text(fit.optimality.outcome.name()),
            optimality: (&fit.optimality).into(),
            eliminated: fit.eliminated.clone(),
            optima: OptimaRecord {
                starts: fit.optima.starts,
                best: fit.optima.best,
                distinct: fit.optima.distinct,
                unseen: Real(fit.optima.unseen()),
            },
            step_backs: best.step_backs,
            restarts: fit.restarts.iter().map(|r| restart(problem, r)).collect(),
            paths: fit.paths,
            path_changes: fit.restarts.iter().map(|r| r.path_changes).sum(),
            diagnosis: fit.diagnosis.clone(),
            conclusion: Spelling::Field.spell(&fit.conclusion(problem)).into_owned(),
            warnings: fit.warnings.to_json().as_array().cloned().unwrap_or_default(),
            seconds: fit.time.as_secs_f64(),
        }
    }

    /// Reads a record. The name of its file is for messages.
    pub fn from_json(name: &str, text: &str) -> Result<FitRecord, Report> {
        let wrong = |message: String| {
            let help = "give a file that a fit has written with ‹out›";
            Report::from(Diagnostic::error(ErrorCode::E0906, format!("{name}: {message}")).help(help))
        };
        let json: Json = serde_json::from_str(text).map_err(|_| wrong("it is no JSON".into()))?;
        match json["schema"].as_str() {
            Some(SCHEMA) => FitRecord::deserialize(json).map_err(|error| wrong(format!("it is no whole fit: {error}"))),
            Some(other) => Err(wrong(format!("expected the schema {SCHEMA}, got {other}"))),
            None => Err(wrong("it is no fit".into())),
        }
    }

    /// The JSON form.
    pub fn to_json(&self) -> Json {
        serde_json::to_value(self).expect("a record has texts as keys")
    }

    /// The program that was fitted.
    pub fn program(&self) -> Program {
        let name = if self.program.file.is_empty() { "<fit>" } else { &self.program.file };
        Program::named(name, &self.program.text)
    }

    /// Whether the program's own value was minimised.
    pub fn is_objective(&self) -> bool {
        self.loss.name == crate::Loss::Objective.name()
    }

    /// The fitted value of every parameter that is the same in all groups.
    pub fn values(&self) -> Vec<(String, Datum)> {
        let value = |(name, parameter): (&String, &ParameterRecord)| {
            let datum = match &parameter.numbers {
                Numbers::One(one) => Datum::Real(one.value.0),
                // Values by group have names like k[north].
                Numbers::Many { numbers } if numbers.iter().any(|n| n.name.ends_with(']')) => return None,
                Numbers::Many { numbers } => {
                    Datum::list(numbers.iter().map(|n| Datum::Real(n.number.value.0)).collect())
                }
            };
            Some((name.clone(), datum))
        };
        self.parameters.iter().filter_map(value).collect()
    }

    /// The fitted values of the parameters that differ by group, for one group.
    pub fn values_of(&self, schema: &Schema, group: &str) -> Vec<(String, Datum)> {
        let own = schema.parameters.iter().filter(|p| p.per.is_some());
        let value = |parameter: &Parameter| {
            // The number k[group] of a parameter, or the numbers w.0[group], w.1[group] of a tensor.
            let Numbers::Many { numbers } = &self.parameters.get(&parameter.name)?.numbers else { return None };
            let number = |name: String| {
                let found = numbers.iter().find(|n| n.name == format!("{name}[{group}]"))?;
                Some(Datum::Real(found.number.value.0))
            };
            let mut values = parameter.number_names().into_iter().map(number).collect::<Option<Vec<Datum>>>()?;
            let datum = if values.len() == 1 { values.remove(0) } else { Datum::list(values) };
            Some((parameter.name.clone(), datum))
        };
        own.filter_map(value).collect()
    }

    /// Where the groups of another fit start: where they ended in this one.
    pub fn group_starts(&self, schema: &Schema) -> Vec<GroupStart> {
        let of_group = |group: &String| {
            let values = self.values_of(schema, group).into_iter();
            let group = group.clone();
            values.map(move |(parameter, start)| GroupStart { parameter, group: group.clone(), start })
        };
        self.data.groups.iter().flat_map(of_group).collect()
    }
}

/// A hash of the evaluator and the library that ran the program.
fn engine_hash() -> String {
    let mut hash = dmci_table::hash::Hash::default();
    hash.add(env!("CARGO_PKG_VERSION").as_bytes());
    hash.add(dmci::system::evaluator_ncg());
    hash.digits()
}

impl From<&Fitted> for ParameterRecord {
    fn from(p: &Fitted) -> Self {
        let number = |n: &Number| NumberRecord {
            start: Real(n.start),
            value: Real(n.value),
            found: (!p.fixed).then(|| FoundRecord {
                error: n.sureness.and_then(|s| s.error).map(Real),
                interval: n.sureness.and_then(|s| s.interval).map(|(low, high)| (Real(low), Real(high))),
                identifiable: n.sureness.map(|s| s.verdict.name().to_string()),
                at_bound: n.at_bound,
            }),
        };
        let numbers = match &p.numbers[..] {
            [one] => Numbers::One(number(one)),
            many => {
                let named = |n: &Number| NamedNumber { name: n.name.clone(), number: number(n) };
                Numbers::Many { numbers: many.iter().map(named).collect() }
            }
        };
        ParameterRecord { kind: p.kind.clone(), fixed: p.fixed, numbers }
    }
}

impl From<&Optimality> for OptimalityRecord {
    fn from(o: &Optimality) -> Self {
        OptimalityRecord {
            outcome: o.outcome.name().to_string(),
            decrement: o.decrement.map(Real),
            tolerance: TOLERANCE,
            curvature: o.curvature.map(Real),
            test: o.test.to_string(),
            parameters: o.parameters.clone(),
            next: o.next.clone(),
        }
    }
}

impl From<&Direction> for DirectionRecord {
    fn from(d: &Direction) -> Self {
        DirectionRecord { flat: d.flat, moves: d.moves.iter().map(|(name, by)| (name.clone(), Real(*by))).collect() }
    }
}

fn uncertainty(problem: &Problem, fit: &Fit, u: &Uncertainty) -> UncertaintyRecord {
    let rows = u.correlations.chunks(u.numbers.len().max(1));
    UncertaintyRecord {
        method: u.method.to_string(),
        level: 0.95,
        exact: u.exact,
        intervals: fit.intervals.name().to_string(),
        bootstrap: fit.bootstrap.as_ref().map(|b| BootstrapRecord { samples: b.draws.len(), failed: b.failed }),
        names: problem.value_names(),
        correlations: rows.map(|row| row.iter().copied().map(Real).collect()).collect(),
        directions: u.directions.iter().map(Into::into).collect(),
        freedom: u.freedom,
        noise: Some(NoiseRecord::new(problem, fit, u)),
    }
}

fn restart(problem: &Problem, restart: &RestartResult) -> RestartRecord {
    let values = problem.value_names().into_iter().zip(restart.values.iter().copied().map(Real));
    RestartRecord {
        optimizer: restart.optimizer.to_string(),
        loss: Real(restart.loss),
        values: values.collect(),
        epochs: restart.epochs,
        evaluations: restart.evaluations,
        stopped: restart.stopped.name().to_string(),
        step_backs: restart.step_backs,
        path_changes: restart.path_changes,
        optimum: restart.optimum,
    }
}
