//! Optimisers behind one interface. A search asks for the loss at points and is told; where the points
//! are evaluated, how many searches run beside it, the best point so far, budgets, counts and
//! checkpoints are none of its business. Each optimiser is a file in `search/`.

mod adam;
mod cma;
mod curvature;

mod descent;
mod differential;
mod evolution;
mod lbfgs;
mod levenberg;
mod sampling;

pub use adam::{Adam, AdamOptions};
pub use cma::CmaOptions;
pub use descent::DescentOptions;
pub use differential::DifferentialOptions;
pub use evolution::EvolutionOptions;
pub use lbfgs::LbfgsOptions;
pub use levenberg::LevenbergOptions;
pub use sampling::SamplingOptions;

use crate::points::{Asked, Points};
use dmci_stats::random::Stream;
use serde::{Deserialize, Serialize};

/// What a search must know about a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// The loss.
    Loss,
    /// The loss and its gradient.
    Gradient,
    /// Residuals and their Jacobian, besides loss and gradient.
    Jacobian,
}

/// The loss at a point, with its derivatives by the raw numbers, as far as they are needed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Not finite if a row failed or its prediction is not finite.
    pub loss: f64,
    /// By each raw number.
    pub gradient: Vec<f64>,
    /// Numbers whose squares add up to the loss.
    pub residuals: Vec<f64>,
    /// Their derivatives, row by row.
    pub jacobian: Vec<f64>,
}

impl Evaluation {
    /// Whether a search can go on from here.
    pub fn is_finite(&self) -> bool {
        let all = |list: &[f64]| list.iter().all(|x| x.is_finite());
        self.loss.is_finite() && all(&self.gradient) && all(&self.jacobian)
    }

    /// Becomes the same as another one, in the memory that it has.
    pub fn copy_from(&mut self, other: &Evaluation) {
        self.loss = other.loss;
        self.gradient.clone_from(&other.gradient);
        if !(self.residuals.is_empty() && other.residuals.is_empty()) {
            self.residuals.clone_from(&other.residuals);
            self.jacobian.clone_from(&other.jacobian);
        }
    }

    /// The loss for comparisons: infinite where a search cannot go on.
    pub fn rank(&self) -> f64 {
        if self.is_finite() { self.loss } else { f64::INFINITY }
    }
}

/// Why a search stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stop {
    /// The loss no longer falls.
    Converged,
    /// The loss is 0.
    Exact,
    /// The gradient is exactly 0: a stationary point, or parameters without influence.
    Flat,
    /// All epochs were used.
    Epochs,
    /// The loss that was asked for is reached.
    Target,
    /// A better restart had converged long before.
    Overtaken,
    /// Every step, however short, led to a loss that is not finite.
    Stuck,
    /// All evaluations were used.
    Evaluations,
    /// The time was used.
    Time,
    /// Somebody interrupted it.
    Interrupted,
}

impl Stop {
    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Stop::Converged => "converged",
            Stop::Exact => "exact",
            Stop::Flat => "flat",
            Stop::Epochs => "epochs",
            Stop::Target => "target",
            Stop::Overtaken => "overtaken",
            Stop::Stuck => "stuck",
            Stop::Evaluations => "evaluations",
            Stop::Time => "time",
            Stop::Interrupted => "interrupted",
        }
    }

    /// For people.
    pub fn sentence(self) -> &'static str {
        match self {
            Stop::Converged => "the loss no longer falls",
            Stop::Exact => "the loss is 0",
            Stop::Flat => "the gradient is 0",
            Stop::Epochs => "all iterations are used",
            Stop::Target => "the target is reached",
            Stop::Overtaken => "a better restart had converged long before",
            Stop::Stuck => "every step leads to values that are not finite",
            Stop::Evaluations => "all evaluations are used",
            Stop::Time => "the time is used",
            Stop::Interrupted => "interrupted",
        }
    }

    /// Whether the search ended by itself and not because something was used up.
    pub fn is_end(self) -> bool {
        matches!(self, Stop::Converged | Stop::Exact | Stop::Flat | Stop::Target)
    }
}

/// Where a search starts.
#[derive(Clone, Debug)]
pub struct Start {
    /// The point, in raw space.
    pub point: Vec<f64>,
    /// What is known there, finite.
    pub found: Evaluation,
    /// How far other points may lie from it, in each direction.
    pub spread: Vec<f64>,
    /// Its own random numbers.
    pub stream: Stream,
}

/// What every optimiser does. It is told about exactly the points that it asked for, in order; losses
/// that are not finite are told too, and it must step back from them.
pub trait Search {
    /// Adds the points to evaluate next; none only after it stopped.
    fn ask(&mut self, points: &mut Points);

    /// What was found at the points. It may take parts of it away; what it leaves is memory for the next round.
    fn tell(&mut self, asked: Asked, found: &mut [Evaluation]);

    /// Why it stopped, if it did.
    fn stopped(&self) -> Option<Stop>;

    /// How far a step leads now, for people who watch.
    fn rate(&self) -> f64;
}

macro_rules! optimizers {
    ($($(#[$doc:meta])* $name:ident: $text:literal, $need:ident, $epochs:literal, $options:ty, $search:ty;)*) => {
        /// An optimiser and how it is set.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Optimizer {
            $($(#[$doc])* $name($options),)*
        }

        /// A search under way.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        pub enum Searching {
            $($(#[$doc])* $name(Box<$search>),)*
        }

        impl Optimizer {
            /// The names of all optimisers.
            pub const NAMES: &[&str] = &[$($text),*];

            /// The optimiser of a name, with its default settings.
            pub fn named(name: &str) -> Option<Optimizer> {
                match name {
                    $($text => Some(Optimizer::$name(Default::default())),)*
                    _ => None,
                }
            }

            /// Its name.
            pub fn name(&self) -> &'static str {
                match self { $(Optimizer::$name(_) => $text,)* }
            }

            /// What it must know about a point.
            pub fn need(&self) -> Need {
                match self { $(Optimizer::$name(_) => Need::$need,)* }
            }

            /// Most rounds of questions, if nobody says otherwise.
            pub fn epochs(&self) -> usize {
                match self { $(Optimizer::$name(_) => $epochs,)* }
            }

            /// A search from a start.
            pub fn begin(&self, start: Start) -> Searching {
                match self { $(Optimizer::$name(o) => Searching::$name(Box::new(<$search>::new(o.clone(), start))),)* }
            }
        }

        impl Search for Searching {
            fn ask(&mut self, points: &mut Points) {
                match self { $(Searching::$name(s) => s.ask(points),)* }
            }

            fn tell(&mut self, asked: Asked, found: &mut [Evaluation]) {
                match self { $(Searching::$name(s) => s.tell(asked, found),)* }
            }

            fn stopped(&self) -> Option<Stop> {
                match self { $(Searching::$name(s) => s.stopped(),)* }
            }

            fn rate(&self) -> f64 {
                match self { $(Searching::$name(s) => s.rate(),)* }
            }
        }
    };
}

optimizers! {
    /// Steps along a running mean of the gradient.
    Adam: "adam", Gradient, 2000, AdamOptions, adam::AdamSearch;
    /// Steps by an approximate inverse Hessian, with a line search.
    Lbfgs: "lbfgs", Gradient, 2000, LbfgsOptions, lbfgs::Lbfgs;
    /// Least squares: steps by the Jacobian of the residuals within a region of trust.
    Levenberg: "lm", Jacobian, 500, LevenbergOptions, levenberg::Levenberg;
    /// Differences of members of a population as steps.
    Differential: "de", Loss, 2000, DifferentialOptions, differential::Differential;
    /// A normal distribution that adapts its shape.
    Cma: "cma", Loss, 5000, CmaOptions, cma::Cma;
    /// A normal distribution that adapts its width: the (mu, lambda) strategy of the paper.
    Evolution: "es", Loss, 2000, EvolutionOptions, evolution::Evolution;
    /// Steps against central differences.
    Descent: "fd", Loss, 2000, DescentOptions, descent::Descent;
    /// Random points around the best one.
    Sampling: "random", Loss, 2000, SamplingOptions, sampling::Sampling;
}

impl Optimizer {
    /// The method of a name as people call it.
    pub fn title(name: &str) -> &str {
        match name {
            "adam" => "Adam",
            "lbfgs" => "L-BFGS",
            "lm" => "Levenberg-Marquardt",
            "de" => "differential evolution",
            "cma" => "CMA-ES",
            "es" => "evolution strategy",
            "fd" => "gradient descent by finite differences",
            "random" => "random search",
            other => other,
        }
    }
}

/// The first of the lowest numbers.
fn lowest(losses: &[f64]) -> usize {
    (0..losses.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b])).unwrap_or(0)
}

#[cfg(test)]
mod tests;
