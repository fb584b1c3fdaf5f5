//! One search: where it is, where it goes next, the best point it has seen, and when it stops.

use crate::adam::{Adam, AdamOptions};
use crate::problem::Evaluation;

/// When a search stops, and how it slows down before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Patience {
    /// Most steps.
    pub epochs: usize,
    /// Steps without progress before the rate is lowered.
    pub patience: usize,
    /// What counts as progress: the loss falls by this share.
    pub tolerance: f64,
    /// The rate is divided by this.
    pub slow_down: f64,
    /// How often the rate is lowered before the search has converged.
    pub reductions: usize,
}

impl Default for Patience {
    fn default() -> Self {
        Patience { epochs: 2000, patience: 40, tolerance: 1e-4, slow_down: 4.0, reductions: 4 }
    }
}

/// Why a search stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The loss no longer falls, at the lowest rate either.
    Converged,
    /// The loss is 0.
    Exact,
    /// The gradient is exactly 0: a stationary point, or parameters without influence.
    Flat,
    /// All epochs were used.
    Epochs,
    /// Every step, however short, led to a loss that is not finite.
    Stuck,
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
            Stop::Stuck => "stuck",
            Stop::Interrupted => "interrupted",
        }
    }

    /// For people.
    pub fn sentence(self) -> &'static str {
        match self {
            Stop::Converged => "the loss no longer falls",
            Stop::Exact => "the loss is 0",
            Stop::Flat => "the gradient is 0",
            Stop::Epochs => "all epochs are used",
            Stop::Stuck => "every step leads to values that are not finite",
            Stop::Interrupted => "interrupted",
        }
    }
}

/// A point with what is known there.
#[derive(Clone, Debug, PartialEq)]
pub struct Visited {
    /// In raw space.
    pub point: Vec<f64>,
    /// Its loss and gradient, finite.
    pub evaluation: Evaluation,
}

/// One search with a state of its own: what other searches do changes no bit of it.
#[derive(Clone, Debug)]
pub struct Restart {
    /// Its number; 0 starts at the schema's values.
    pub index: usize,
    /// Steps tried so far.
    pub epochs: usize,
    /// Steps that were halved because they led to a loss that is not finite.
    pub step_backs: usize,
    /// The step length now.
    pub rate: f64,
    /// The best point so far.
    pub best: Option<Visited>,
    /// Why it stopped, if it did.
    pub stopped: Option<Stop>,
    adam: Adam,
    options: AdamOptions,
    patience: Patience,
    /// The last good point and the step from there to the point that is evaluated next.
    base: Vec<f64>,
    step: Vec<f64>,
    /// Whether the point to evaluate is a start, which is no epoch.
    at_start: bool,
    halvings: usize,
    /// The loss that progress is measured against.
    reference: f64,
    waited: usize,
    reductions: usize,
}

/// A step halved this often is nothing.
const MAX_HALVINGS: usize = 60;

impl Restart {
    /// A search that starts at `base + offset`, or nearer to `base` if that is not finite there.
    pub fn new(index: usize, base: Vec<f64>, offset: Vec<f64>, options: AdamOptions, patience: Patience) -> Restart {
        Restart {
            index,
            epochs: 0,
            step_backs: 0,
            rate: options.rate,
            best: None,
            stopped: None,
            adam: Adam::new(base.len()),
            options,
            patience,
            step: offset.into_iter().map(|x| -x).collect(),
            base,
            at_start: true,
            halvings: 0,
            reference: f64::INFINITY,
            waited: 0,
            reductions: 0,
        }
    }

    /// The point to evaluate next.
    pub fn point(&self) -> Vec<f64> {
        self.base.iter().zip(&self.step).map(|(x, s)| x - s).collect()
    }

    /// Takes what was found at [`Restart::point`] and decides where to go from there.
    pub fn tell(&mut self, evaluation: Evaluation) {
        if !self.at_start {
            self.epochs += 1;
        }
        if evaluation.is_finite() {
            self.accept(evaluation);
        } else {
            self.step_back();
        }
        if self.stopped.is_none() && self.epochs >= self.patience.epochs {
            self.stopped = Some(Stop::Epochs);
        }
    }

    fn step_back(&mut self) {
        self.step_backs += 1;
        self.halvings += 1;
        self.step.iter_mut().for_each(|s| *s *= 0.5);
        // The base of a start is finite, so a start only comes nearer; later steps must lead somewhere.
        if self.halvings > MAX_HALVINGS || (!self.at_start && self.point() == self.base) {
            self.stopped = Some(Stop::Stuck);
        }
    }

    fn accept(&mut self, evaluation: Evaluation) {
        let mut here = Visited { point: self.point(), evaluation };
        self.at_start = false;
        self.halvings = 0;
        let loss = here.evaluation.loss;
        if loss < self.reference * (1.0 - self.patience.tolerance) {
            self.reference = loss;
            self.waited = 0;
        } else {
            self.waited += 1;
        }
        if self.best.as_ref().is_none_or(|best| loss < best.evaluation.loss) {
            self.best = Some(here.clone());
        }
        if loss == 0.0 {
            self.stopped = Some(Stop::Exact);
            return;
        }
        if here.evaluation.gradient.iter().all(|g| *g == 0.0) {
            self.stopped = Some(Stop::Flat);
            return;
        }
        if self.waited >= self.patience.patience {
            if self.reductions >= self.patience.reductions {
                self.stopped = Some(Stop::Converged);
                return;
            }
            // Shorter steps, from the best point and without the momentum that led away from it.
            self.reductions += 1;
            self.waited = 0;
            self.rate /= self.patience.slow_down;
            self.adam = Adam::new(self.base.len());
            here = self.best.clone().unwrap_or(here);
            self.reference = here.evaluation.loss;
        }
        self.step = self.adam.step(&here.evaluation.gradient, self.rate, &self.options);
        self.base = here.point;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches for the smallest value of a function of one number, given with its derivative.
    fn search(start: f64, patience: Patience, f: impl Fn(f64) -> (f64, f64)) -> Restart {
        let mut restart = Restart::new(0, vec![start], vec![0.0], AdamOptions::default(), patience);
        while restart.stopped.is_none() {
            let (loss, slope) = f(restart.point()[0]);
            restart.tell(Evaluation { loss, gradient: vec![slope] });
        }
        restart
    }

    fn best(restart: &Restart) -> (f64, f64) {
        let best = restart.best.as_ref().unwrap();
        (best.point[0], best.evaluation.loss)
    }

    #[test]
    fn a_search_converges_and_keeps_the_best_point() {
        let restart = search(3.0, Patience::default(), |x| (1.0 + (x - 1.0) * (x - 1.0), 2.0 * (x - 1.0)));
        assert_eq!(restart.stopped, Some(Stop::Converged));
        assert!((best(&restart).0 - 1.0).abs() < 1e-4, "{:?}", best(&restart));
        assert!(restart.rate < 0.05 && restart.epochs < 2000);
    }

    #[test]
    fn a_search_stops_when_the_epochs_are_used() {
        let patience = Patience { epochs: 10, ..Patience::default() };
        let restart = search(3.0, patience, |x| (x * x, 2.0 * x));
        assert_eq!((restart.stopped, restart.epochs), (Some(Stop::Epochs), 10));
        assert!(best(&restart).1 < 9.0);
        let none = search(3.0, Patience { epochs: 0, ..patience }, |x| (x * x, 2.0 * x));
        assert_eq!((best(&none), none.epochs), ((3.0, 9.0), 0));
    }

    #[test]
    fn a_search_steps_back_from_values_that_are_not_finite() {
        // The smallest value is at 0, next to a wall: below 0.01 the function is not finite.
        let f = |x: f64| if x < 0.01 { (f64::NAN, f64::NAN) } else { (x, 1.0) };
        let restart = search(0.3, Patience::default(), f);
        let (x, loss) = best(&restart);
        assert!(restart.step_backs > 0 && loss.is_finite());
        assert!((0.01..0.02).contains(&x), "{x} after {} steps back", restart.step_backs);
    }

    #[test]
    fn a_start_that_is_not_finite_moves_towards_the_base() {
        let f = |x: f64| if x > 2.0 { (f64::INFINITY, 0.0) } else { (x * x, 2.0 * x) };
        let mut restart = Restart::new(1, vec![1.0], vec![7.0], AdamOptions::default(), Patience::default());
        let mut visited = Vec::new();
        while restart.best.is_none() {
            visited.push(restart.point()[0]);
            let (loss, slope) = f(restart.point()[0]);
            restart.tell(Evaluation { loss, gradient: vec![slope] });
        }
        assert_eq!(visited, [8.0, 4.5, 2.75, 1.875]);
        assert_eq!((restart.step_backs, restart.epochs), (3, 0));
    }

    #[test]
    fn a_search_that_cannot_move_gives_up() {
        let restart = search(1.0, Patience::default(), |x| if x == 1.0 { (1.0, 1.0) } else { (f64::NAN, 0.0) });
        assert_eq!(restart.stopped, Some(Stop::Stuck));
        assert_eq!(best(&restart), (1.0, 1.0));
        assert_eq!(search(1.0, Patience::default(), |_| (2.0, 0.0)).stopped, Some(Stop::Flat));
        assert_eq!(search(1.0, Patience::default(), |_| (0.0, 0.0)).stopped, Some(Stop::Exact));
    }
}
