//! How the best parameters are searched, and how sure they are.

use super::refuse::{above_zero, apart, at_least, finite, needs, not_negative, refusal, share};
use crate::choice::Method;
use crate::fit::FitOptions;
use crate::member::Budget;
use crate::resample::{Intervals, LEAST_SAMPLES};
use crate::search::{CmaOptions, DifferentialOptions, EvolutionOptions, Optimizer, SamplingOptions};
use crate::uncertainty::Errors;
use dmci::{Report, nearest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How the best parameters are searched. What an optimiser is set to by default is in its own options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SearchSettings {
    /// auto, portfolio, lm, lbfgs, adam, cma, de, es, fd or random
    pub optimizer: String,
    /// Exactly so many searches: the first starts at the program's values, the others around them, as the seed
    /// decides. Without, further starts are drawn until no other optimum is expected
    pub restarts: Option<usize>,
    /// Operations after which no further starts are drawn; 0 for the program's start alone
    pub search_work: Option<f64>,
    /// Search for parameters that enter linearly, too, instead of eliminating them (least squares)
    pub no_projection: bool,
    /// Limit of steps of a search
    pub epochs: Option<usize>,
    /// Limit of points that all searches evaluate together
    pub max_evals: Option<usize>,
    /// Time limit of all fits together, in seconds: the best so far is the result
    pub time_limit: Option<f64>,
    /// A loss that is good enough
    pub stop_at: Option<f64>,
    /// Steps that a search goes on after it has reached stop_at
    pub window: usize,
    /// Take the last point of a search instead of the best
    pub last: bool,
    /// adam, fd: step size
    pub rate: Option<f64>,
    /// adam: decay rate of the first moment
    pub beta1: Option<f64>,
    /// adam: decay rate of the second moment
    pub beta2: Option<f64>,
    /// adam: clip the gradients of each search to this norm
    pub clip: Option<f64>,
    /// adam: steps without progress before the step size is lowered
    pub patience: Option<usize>,
    /// cma, de, es, random: points of a generation
    pub population: Option<usize>,
    /// Standard errors: full; fast, unless they cost more than the search; or none
    pub errors: Errors,
    /// curvature, or profile: each interval by fits of all other parameters
    pub intervals: Intervals,
    /// Errors and intervals by so many fits to rows drawn with replacement
    pub bootstrap: Option<usize>,
    /// Report what the residuals still know, and whether the numbers or the structure of the program are to blame
    pub diagnose: bool,
}

impl Default for SearchSettings {
    fn default() -> Self {
        let FitOptions { method, budget, search_work, no_projection, time, evaluations, errors, .. } =
            FitOptions::default();
        SearchSettings {
            optimizer: method.name().to_string(),
            restarts: None,
            search_work,
            no_projection,
            epochs: budget.epochs,
            max_evals: evaluations,
            time_limit: time.map(|time| time.as_secs_f64()),
            stop_at: budget.target,
            window: budget.window,
            last: budget.last,
            rate: None,
            beta1: None,
            beta2: None,
            clip: None,
            patience: None,
            population: None,
            errors,
            intervals: Intervals::default(),
            bootstrap: None,
            diagnose: false,
        }
    }
}

/// More searches than this would fill the memory.
const MOST_RESTARTS: usize = 100_000;

/// A generation larger than this would, too.
const MOST_POINTS: usize = 1 << 20;

impl SearchSettings {
    /// Refuses settings that are out of range or do not go together.
    pub fn check(&self) -> Result<(), Report> {
        let count = |n: Option<usize>| n.map(|n| n as u64);
        at_least("restarts", 1, count(self.restarts), "20")?;
        let help = "so many searches are made, whatever they cost: keep one of them";
        apart("search_work", self.search_work.is_some(), "restarts", self.restarts.is_some(), help)?;
        not_negative("search_work", self.search_work, "2e9")?;
        if let Some(restarts) = self.restarts.filter(|n| *n > MOST_RESTARTS) {
            let message = format!("‹restarts› must be at most {MOST_RESTARTS}, got {restarts}");
            return Err(refusal(message, "use several seeds, one after the other"));
        }
        at_least("epochs", 1, count(self.epochs), "5000")?;
        at_least("max_evals", 1, count(self.max_evals), "100000")?;
        above_zero("time_limit", self.time_limit, "10")?;
        finite("stop_at", self.stop_at, "0.001")?;
        let help = "say which loss is good enough, or leave the window out";
        needs("window", self.window > 0, "stop_at", self.stop_at.is_some(), help)?;
        above_zero("rate", self.rate, "0.01")?;
        share("beta1", self.beta1, "0.9")?;
        share("beta2", self.beta2, "0.99")?;
        above_zero("clip", self.clip, "1")?;
        at_least("patience", 1, count(self.patience), "100")?;
        at_least("population", 1, count(self.population), "50")?;
        let help = "each gives intervals of its own kind: keep one of them";
        let profile = self.intervals == Intervals::Profile;
        apart("bootstrap", self.bootstrap.is_some(), "intervals profile", profile, help)?;
        let (none, help) = (self.errors == Errors::None, "leave one of them out");
        apart("errors none", none, "intervals profile", profile, help)?;
        apart("errors none", none, "bootstrap", self.bootstrap.is_some(), help)?;
        let help = format!("write ‹bootstrap 200› instead: so many fits, {LEAST_SAMPLES} or more");
        let resampled = self.intervals == Intervals::Bootstrap;
        needs("intervals bootstrap", resampled, "bootstrap", self.bootstrap.is_some(), &help)?;
        if let Some(samples) = self.bootstrap.filter(|n| *n < LEAST_SAMPLES) {
            let message = format!("‹bootstrap› must be at least {LEAST_SAMPLES}, got {samples}");
            return Err(refusal(message, "errors and intervals are the spread of such fits: 200 are usual"));
        }
        self.method().map(|_| ())
    }

    /// The options of a fit.
    pub fn options(&self, seed: u64) -> Result<FitOptions, Report> {
        self.check()?;
        Ok(FitOptions {
            method: self.method()?,
            budget: Budget { epochs: self.epochs, target: self.stop_at, window: self.window, last: self.last },
            more_restarts: self.restarts.map_or(0, |n| n - 1),
            // Who says how many searches there are means it.
            search_work: self.restarts.map(|_| 0.0).or(self.search_work),
            no_projection: self.no_projection,
            seed,
            time: self.time_limit.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)),
            evaluations: self.max_evals,
            errors: self.errors,
            resume: None,
        })
    }

    fn method(&self) -> Result<Method, Report> {
        let name = self.optimizer.as_str();
        let Some(mut method) = Method::named(name) else {
            let names = || Method::NAMES.iter().chain(Optimizer::NAMES).copied();
            let help = match nearest(name, names()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("the optimizers are {}", names().collect::<Vec<_>>().join(", ")),
            };
            return Err(refusal(format!("there is no optimizer {name}"), help));
        };
        let used = self.apply(&mut method);
        let given = [
            ("rate", self.rate.is_some()),
            ("beta1", self.beta1.is_some()),
            ("beta2", self.beta2.is_some()),
            ("clip", self.clip.is_some()),
            ("patience", self.patience.is_some()),
            ("population", self.population.is_some()),
        ];
        match given.into_iter().find(|(setting, given)| *given && !used.contains(setting)) {
            Some((setting, _)) => {
                let owners: Vec<&str> = Optimizer::NAMES
                    .iter()
                    .filter(|name| Method::named(name).is_some_and(|mut m| self.apply(&mut m).contains(&setting)))
                    .copied()
                    .collect();
                let message = format!("‹{setting}› does not belong to the optimizer {name}");
                let help = format!("it belongs to {}: name that with ‹optimizer›, or leave it out", owners.join(", "));
                Err(refusal(message, help))
            }
            None => Ok(method),
        }
    }

    /// Applies the settings of an optimiser and gives the names of those that it has.
    fn apply(&self, method: &mut Method) -> &'static [&'static str] {
        let population = self.population.map(|n| n.min(MOST_POINTS));
        match method {
            Method::One(Optimizer::Adam(o)) => {
                o.rate = self.rate.unwrap_or(o.rate);
                o.beta1 = self.beta1.unwrap_or(o.beta1);
                o.beta2 = self.beta2.unwrap_or(o.beta2);
                o.clip = self.clip.or(o.clip);
                o.patience = self.patience.unwrap_or(o.patience);
                &["rate", "beta1", "beta2", "clip", "patience"]
            }
            Method::One(Optimizer::Descent(o)) => {
                o.rate = self.rate.or(o.rate);
                &["rate"]
            }
            Method::One(Optimizer::Cma(CmaOptions { population: p, .. })) => {
                *p = population.or(*p);
                &["population"]
            }
            Method::One(Optimizer::Differential(DifferentialOptions { population: p, .. })) => {
                *p = population.or(*p);
                &["population"]
            }
            Method::One(Optimizer::Evolution(EvolutionOptions { children, parents, .. })) => {
                if let Some(n) = population {
                    (*children, *parents) = (n.max(2), (n / 2).max(1));
                }
                &["population"]
            }
            Method::One(Optimizer::Sampling(SamplingOptions { points })) => {
                *points = population.unwrap_or(*points);
                &["population"]
            }
            _ => &[],
        }
    }
}

impl Method {
    /// The names of the methods that choose an optimiser themselves.
    pub const NAMES: &[&str] = &["auto", "portfolio"];

    /// The method of a name, with its default settings.
    pub fn named(name: &str) -> Option<Method> {
        match name {
            "auto" => Some(Method::Auto),
            "portfolio" => Some(Method::Portfolio),
            _ => Optimizer::named(name).map(Method::One),
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Method::Auto => "auto",
            Method::Portfolio => "portfolio",
            Method::One(optimizer) => optimizer.name(),
        }
    }
}
