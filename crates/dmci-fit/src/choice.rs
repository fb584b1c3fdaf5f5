//! Which optimisers search: the one that was asked for, one that fits the shape of the problem, or a
//! portfolio of several, cheap ones first.

use crate::fit::FitOptions;
use crate::loss::Loss;
use crate::member::Member;
use crate::population::Population;
use crate::problem::Problem;
use crate::search::{AdamOptions, CmaOptions, Evaluation, LbfgsOptions, LevenbergOptions, Need, Optimizer, Stop};
use crate::starts::offset;
use dmci::ErrorCode;
use dmci::{Diagnostic, Report};

/// Which optimiser searches.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Method {
    /// The one that fits the shape of the problem.
    #[default]
    Auto,
    /// This one.
    One(Optimizer),
    /// Several, cheap ones first; the one with the lowest loss of held-out rows wins.
    Portfolio,
}

/// One optimiser with its restarts.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// The optimiser.
    pub optimizer: Optimizer,
    /// How many searches.
    pub restarts: usize,
    /// Whether they start around the best point of the stages before, and not around the schema's values.
    pub from_best: bool,
    /// Whether one good result is enough: then restarts that need far longer are ended.
    pub race: bool,
    /// Where searches start, if not around a point.
    pub points: Vec<Vec<f64>>,
}

impl Stage {
    /// So many searches by an optimiser around the schema's values.
    fn new(optimizer: Optimizer, restarts: usize) -> Stage {
        Stage { optimizer, restarts, from_best: false, race: false, points: Vec::new() }
    }
}

/// Optimisers in the order in which they run.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The stages.
    pub stages: Vec<Stage>,
    /// Why these.
    pub reason: String,
    portfolio: bool,
    /// Every second stage ends what the one before began.
    paired: bool,
    /// Numbers, by name, that change the loss but have no derivative.
    pub without_derivative: Vec<String>,
    /// The optimiser of further starts, if there are any.
    pub(crate) explores: Option<Optimizer>,
}

/// Above this many raw numbers the matrices of least squares cost more than they give.
const MOST_FOR_MATRICES: usize = 300;

/// Above this many an approximate Hessian forgets too much to be better than momentum.
const MOST_FOR_LBFGS: usize = 20_000;

/// Above this many a search without derivatives takes too long to end another one.
const MOST_FOR_KINKS: usize = 30;

/// Points at which derivatives are looked at.
const PROBES: usize = 6;

impl Choice {
    /// The choice for a problem.
    pub fn of(problem: &Problem, options: &FitOptions) -> Result<Choice, Report> {
        let restarts = options.more_restarts + 1;
        let stage = Stage::new;
        let polish = |optimizer: Optimizer| Stage { from_best: true, ..Stage::new(optimizer, 1) };
        let choice = |stages: Vec<Stage>, reason: &str| Choice {
            stages,
            reason: reason.to_string(),
            portfolio: false,
            paired: false,
            without_derivative: Vec::new(),
            explores: None,
        };
        let smooth = || {
            if problem.is_least_squares() && problem.layout.raws <= MOST_FOR_MATRICES {
                Optimizer::Levenberg(LevenbergOptions::default())
            } else if problem.layout.raws <= MOST_FOR_LBFGS {
                Optimizer::Lbfgs(LbfgsOptions::default())
            } else {
                Optimizer::Adam(AdamOptions::default())
            }
        };
        match &options.method {
            Method::One(optimizer) => {
                check_optimizer(problem, optimizer)?;
                Ok(choice(vec![stage(optimizer.clone(), restarts)], "it was asked for"))
            }
            Method::Portfolio => {
                let mut choice = choice(
                    vec![
                        stage(smooth(), 1),
                        stage(smooth(), restarts.max(8)),
                        stage(Optimizer::Cma(CmaOptions::default()), restarts.max(2)),
                        polish(smooth()),
                    ],
                    "a portfolio, cheap methods first",
                );
                choice.portfolio = true;
                Ok(choice)
            }
            Method::Auto => {
                let decided = decided_only(problem, options.seed)?;
                if !decided.is_empty() {
                    let reason = format!(
                        "{} the loss only through decisions, which have no derivative",
                        match &decided[..] {
                            [one] => format!("{one} changes"),
                            many => format!("{} change", many.join(" and ")),
                        }
                    );
                    let segments = options.explores() && options.projects() && problem.is_least_squares();
                    let points = if segments { problem.segmented_starts(&decided)? } else { Vec::new() };
                    if !points.is_empty() {
                        let reason = format!("{reason}: thresholds by exact segmentation");
                        let mut choice = choice(vec![Stage { points, ..stage(smooth(), 1) }], &reason);
                        choice.without_derivative = decided;
                        choice.explores = Some(smooth());
                        return Ok(choice);
                    }
                    // Restarts matter here: a decision makes steps, and steps make many minima.
                    let rough = CmaOptions { tolerance: 1e-7, step_tolerance: 1e-7, ..CmaOptions::default() };
                    let cma = Optimizer::Cma(rough);
                    let mut choice = choice(vec![stage(cma, restarts.max(4)), polish(smooth())], &reason);
                    choice.without_derivative = decided;
                    return Ok(choice);
                }
                let smooth = smooth();
                let reason = match smooth {
                    Optimizer::Levenberg(_) => "the loss is a sum of squares with derivatives",
                    Optimizer::Lbfgs(_) if problem.is_least_squares() => "there are too many parameters for matrices",
                    Optimizer::Lbfgs(_) => "the loss has derivatives and is no sum of squares",
                    _ => "there are very many parameters",
                };
                let careful = match &smooth {
                    Optimizer::Levenberg(o) => Optimizer::Levenberg(LevenbergOptions { factor: 0.1, ..*o }),
                    other => other.clone(),
                };
                // The second is run only if the first does not end well.
                let rescue = Stage { race: options.more_restarts == 0, ..stage(careful, restarts.max(RESCUE)) };
                if problem.loss == Loss::Mae && problem.layout.raws <= MOST_FOR_KINKS {
                    // The minimum lies where residuals are 0, and there gradients say nothing about a step.
                    let end = || polish(Optimizer::Cma(CmaOptions { width: 0.1, ..CmaOptions::default() }));
                    let reason = "absolute residuals have kinks, so that lbfgs comes near and cma to the end";
                    let stages = vec![stage(smooth, restarts), end(), rescue, end()];
                    return Ok(Choice { paired: true, ..choice(stages, reason) });
                }
                if options.explores() {
                    let explores = Some(rescue.optimizer);
                    return Ok(Choice { explores, ..choice(vec![stage(smooth, 1)], reason) });
                }
                let stages = vec![stage(smooth, restarts), rescue];
                Ok(choice(stages, reason))
            }
        }
    }

    /// No choice at all: the fit was interrupted before its shape was known.
    pub(crate) fn none(problem: &Problem) -> Choice {
        let optimizer = match problem.is_least_squares() {
            true => Optimizer::Levenberg(LevenbergOptions::default()),
            false => Optimizer::Lbfgs(LbfgsOptions::default()),
        };
        Choice {
            stages: vec![Stage::new(optimizer, 1)],
            reason: UNKNOWN.to_string(),
            portfolio: false,
            paired: false,
            without_derivative: Vec::new(),
            explores: None,
        }
    }

    /// The same for groups that are searched for themselves.
    pub(crate) fn of_groups(self, count: usize, without_derivative: Vec<String>) -> Choice {
        let reason = format!("{}; {count} groups share no parameter and are fitted one by one", self.reason);
        Choice { reason, without_derivative, ..self }
    }

    /// Whether it is none.
    pub(crate) fn is_none(&self) -> bool {
        self.reason == UNKNOWN
    }

    /// Whether another stage follows those that have run.
    pub fn goes_on(&self, problem: &Problem, done: &[Population]) -> bool {
        let Some(last) = done.last() else { return true };
        if done.len() >= self.stages.len() {
            return false;
        }
        if last.members.iter().any(|m| m.stopped == Some(Stop::Interrupted)) {
            return false;
        }
        if self.portfolio {
            return !settled(problem, done);
        }
        if !self.without_derivative.is_empty() {
            return true;
        }
        if self.paired && done.len() % 2 == 1 {
            return last.best().is_none_or(|m| !matches!(m.stopped, Some(Stop::Exact | Stop::Target)));
        }
        // More searches help one that could not move, or that lost its way.
        last.best().is_none_or(|m| m.stopped == Some(Stop::Stuck) || is_lost(problem, m))
    }

    /// Whether the result is chosen by the rows held out.
    pub fn by_held_out(&self) -> bool {
        self.portfolio
    }
}

/// Refuses an optimiser that would make something else small than the loss.
fn check_optimizer(problem: &Problem, optimizer: &Optimizer) -> Result<(), Report> {
    if optimizer.need() != Need::Jacobian || problem.is_least_squares() {
        return Ok(());
    }
    let name = optimizer.name();
    let what = match &problem.loss {
        Loss::Objective => "an objective of the program's own".to_string(),
        Loss::Gaussian if !problem.priors.is_empty() => "the gaussian loss with priors".to_string(),
        Loss::Gaussian => "the gaussian loss with a parameter sigma".to_string(),
        loss => format!("the {} loss", loss.name()),
    };
    let message = format!("the optimizer {name} makes sums of squares small, and {what} is none");
    let help = match &problem.loss {
        Loss::Objective => {
            "take lbfgs, adam or cma, or leave the choice to auto; an objective that gives \
                            (result (residuals r)) is a sum of squares"
        }
        _ => {
            "take lbfgs, adam or cma, or leave the choice to auto; mse, sse, and gaussian with a column of standard \
              deviations are sums of squares"
        }
    };
    Err(Report::from(Diagnostic::error(ErrorCode::E0813, message).help(help)))
}

/// Why nothing was chosen.
const UNKNOWN: &str = "it was interrupted before a method was chosen";

/// Restarts that `auto` tries when a first search did not end well.
const RESCUE: usize = 8;

/// Whether a search ended where a number that mattered at the start no longer does: far out, where an
/// exponential has become 0 or a sigmoid 1, everything is flat and nothing is a minimum.
fn is_lost(problem: &Problem, member: &Member) -> bool {
    let Some((point, _)) = &member.best else { return true };
    let n = point.len();
    let influences = |found: &Evaluation| -> Vec<f64> {
        let column = |j: usize| found.jacobian.iter().skip(j).step_by(n).fold(0.0, |m: f64, x| m.max(x.abs()));
        (0..n).map(column).collect()
    };
    let found = if problem.is_least_squares() {
        let known = |point: &[f64]| problem.known(point).map(|known| influences(&known.evaluation));
        known(problem.start()).and_then(|start| Ok((start, known(point)?)))
    } else {
        let found = problem.evaluate(&[problem.start().to_vec(), point.clone()], Need::Jacobian);
        found.map(|found| (influences(&found[0]), influences(&found[1])))
    };
    let Ok((before, now)) = found else { return false };
    now.iter().zip(before).any(|(now, before)| *now < 1e-10 * before)
}

/// A portfolio stops when a stage hardly improves on the ones before.
fn settled(problem: &Problem, done: &[Population]) -> bool {
    let score = |population: &Population| {
        let point = population.best().and_then(|m| m.best.clone()).map(|b| b.0);
        point.map_or(f64::INFINITY, |point| selection_loss(problem, &point))
    };
    let scores: Vec<f64> = done.iter().map(score).collect();
    let Some((last, before)) = scores.split_last() else { return false };
    let before = before.iter().copied().fold(f64::INFINITY, f64::min);
    before.is_finite() && *last >= before - 1e-3 * before.abs()
}

/// The loss by which a portfolio chooses: of rows held out, if there are any.
pub fn selection_loss(problem: &Problem, point: &[f64]) -> f64 {
    let (rows, priors) = match problem.held_out().is_empty() {
        true => (problem.training(), 0.0),
        false => (problem.held_out(), problem.loss_of_priors(point)),
    };
    let found = problem.evaluate_rows(std::slice::from_ref(&point.to_vec()), rows, Need::Loss);
    found.ok().and_then(|mut f| f.pop()).map_or(f64::INFINITY, |f| f.rank() - priors)
}

/// Numbers whose derivative is 0 wherever one looks although the loss changes with them: they occur
/// in decisions only.
pub(crate) fn decided_only(problem: &Problem, seed: u64) -> Result<Vec<String>, Report> {
    let start = problem.start();
    let at_start = &problem.known(start)?.evaluation;
    if at_start.is_finite() && at_start.gradient.iter().all(|g| *g != 0.0) {
        return Ok(Vec::new());
    }
    let probes: Vec<Vec<f64>> =
        (0..PROBES).map(|i| start.iter().zip(offset(start, i, seed ^ 0x5eed)).map(|(x, o)| x + o).collect()).collect();
    let found = problem.evaluate(&probes, Need::Gradient)?;
    let finite: Vec<usize> = (0..found.len()).filter(|&i| found[i].is_finite()).collect();
    // A number that reaches predictions is silent because something underflows or is saturated, not because it decides.
    let structure = problem.structure();
    let reaches = |j: usize| match (&structure, problem.number_of_raw(j)) {
        (Some(structure), Some(number)) => structure.reaches(number),
        _ => false,
    };
    let silent: Vec<usize> =
        (0..start.len()).filter(|&j| finite.iter().all(|&i| found[i].gradient[j] == 0.0) && !reaches(j)).collect();
    let mut names = Vec::new();
    for j in silent {
        let moved: Vec<Vec<f64>> = finite
            .iter()
            .flat_map(|&i| {
                [-1.0, -0.25, 0.25, 1.0].map(|by| {
                    let mut point = probes[i].clone();
                    point[j] += by * (start[j].abs() / 2.0).max(1.0);
                    point
                })
            })
            .collect();
        let losses = problem.evaluate(&moved, Need::Loss)?;
        let base = finite.iter().flat_map(|&i| [found[i].loss; 4]);
        if losses.iter().zip(base).any(|(moved, base)| moved.is_finite() && moved.loss != base) {
            names.push(problem.raw_names()[j].clone());
        }
    }
    Ok(names)
}
