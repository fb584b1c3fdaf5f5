//! Fits for searches over programs: a point, its loss and how often it was reached, and nothing else. No errors, no
//! picture, no predictions, no record; the work is bounded by counts.

use crate::explore::Explorer;
use crate::fit::FitOptions;
use crate::loss::Loss;
use crate::member::{Budget, Member};
use crate::points::Asked;
use crate::population::Population;
use crate::problem::{Problem, Rows};
use crate::resample::search;
use crate::search::{LbfgsOptions, LevenbergOptions, Need, Optimizer};
use dmci::Report;
use dmci_stats::linear::Factored;
use dmci_table::select;

/// How much a lean fit may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeanOptions {
    /// Most steps of each search.
    pub epochs: usize,
    /// Searches: from the given point, and from further starts.
    pub starts: usize,
    /// Decides the further starts.
    pub seed: u64,
}

/// The result of a lean fit.
#[derive(Clone, Debug, PartialEq)]
pub struct LeanFit {
    /// The best point in raw space.
    pub raw: Vec<f64>,
    /// The loss there.
    pub loss: f64,
    /// Whether the search that found it came to an end by itself.
    pub converged: bool,
    /// Searches that found a finite loss.
    pub starts: usize,
    /// Searches among them that came to the best loss.
    pub reached: usize,
    /// Different losses at which they ended.
    pub distinct: usize,
    /// Operations on numbers.
    pub work: u64,
}

/// Losses that differ by less than this share are those of one optimum.
const SAME_OPTIMUM: f64 = 1e-5;

/// Draws of the parameters at which a program may be finite if it is not at its start.
const DRAWS: usize = 8;

/// A gradient costs about so many values.
const GRADIENT: u64 = 4;

/// Raw numbers beyond which the matrices of least squares cost more than they give.
const MOST_FOR_MATRICES: usize = 300;

impl Rows {
    /// The rows with these numbers among them.
    pub fn select(&self, which: &[usize]) -> Rows {
        let targets = self.target.len() / self.len().max(1);
        let pick = |list: &[f64]| which.iter().map(|&r| list[r]).collect::<Vec<f64>>();
        Rows {
            indices: which.iter().map(|&r| self.indices[r]).collect(),
            columns: self.columns.iter().map(|c| select(c, which)).collect(),
            target: which.iter().flat_map(|&r| self.target[r * targets..(r + 1) * targets].iter().copied()).collect(),
            weight: pick(&self.weight),
            sigma: pick(&self.sigma),
            trials: pick(&self.trials),
            group: which.iter().map(|&r| self.group[r]).collect(),
        }
    }
}

impl Problem {
    /// Operations of one evaluation of all rows with derivatives. Meaningful once a row was evaluated.
    pub fn evaluation_work(&self) -> u64 {
        let operations = GRADIENT.saturating_mul(self.model.lane_operations());
        (self.training().len() as u64).saturating_mul(operations).max(1)
    }

    /// Fits from a point in raw space and from further starts. None if the loss is not finite there, nor at some draws.
    /// Fails only if the run was cancelled.
    pub fn lean_fit(&self, from: &[f64], options: &LeanOptions) -> Result<Option<LeanFit>, Report> {
        let optimizer = match self.is_least_squares() && self.layout.raws <= MOST_FOR_MATRICES {
            true => Optimizer::Levenberg(LevenbergOptions::default()),
            false => Optimizer::Lbfgs(LbfgsOptions::default()),
        };
        let zero = vec![0.0; from.len()];
        let fit_options = FitOptions { seed: options.seed, ..FitOptions::default() };
        let explorer = Explorer::new(self, &fit_options);
        let run = |points: Vec<Vec<f64>>, first: usize| -> Result<Population, Report> {
            let members = points.iter().enumerate();
            let members = members.map(|(i, p)| Member::at(first + i, p, zero.clone(), options.seed)).collect();
            let mut population = Population::of(optimizer.clone(), members);
            population.projects = true;
            let budget = Budget { epochs: Some(options.epochs), ..Budget::default() };
            while population.running() > 0 {
                population.round(self, &budget, &mut |_| ())?;
                population.end_race();
            }
            Ok(population)
        };
        let mut done = run(vec![from.to_vec()], 0)?;
        if done.best().is_none() && !from.is_empty() {
            let points = explorer.starts(self, (options.seed, false), 0, DRAWS / 4)?;
            if points.is_empty() {
                return Ok(None);
            }
            done = run(points.into_iter().take(1).collect(), 0)?;
        }
        let mut members = done.members;
        if options.starts > 1 && !from.is_empty() {
            let points = explorer.starts(self, (options.seed, true), DRAWS, options.starts - 1)?;
            members.extend(run(points, 1)?.members);
        }
        self.forget();
        let evaluations: usize = members.iter().map(|m| m.evaluations).sum();
        let best = members.iter().filter(|m| m.best.is_some()).min_by(|a, b| a.loss().total_cmp(&b.loss()));
        let Some((best, (raw, loss))) = best.and_then(|m| Some((m, m.best.clone()?))) else { return Ok(None) };
        let near = |a: f64, b: f64| (a - b).abs() <= SAME_OPTIMUM * b.abs().max(f64::MIN_POSITIVE);
        let mut losses: Vec<f64> = members.iter().map(Member::loss).filter(|l| l.is_finite()).collect();
        let (starts, reached) = (losses.len(), losses.iter().filter(|l| near(**l, loss)).count());
        losses.sort_by(f64::total_cmp);
        losses.dedup_by(|a, b| near(*a, *b));
        Ok(Some(LeanFit {
            converged: best.stopped.is_some_and(|s| s.is_end()),
            raw,
            loss,
            starts,
            reached,
            distinct: losses.len(),
            work: self.evaluation_work().saturating_mul(evaluations as u64),
        }))
    }

    /// Fits to some of the rows, from a point in raw space: the point and the evaluations that it took. None if the
    /// loss is not finite there.
    pub fn fit_to_rows(&self, from: &[f64], rows: &Rows) -> Result<Option<(Vec<f64>, usize)>, Report> {
        let evaluate = |points: Asked, need: Need| self.evaluate_asked(points, rows, need);
        let member = search(self, from, &evaluate)?;
        Ok(member.best.map(|(point, _)| (point, member.evaluations)))
    }

    /// The share of the loss of each prediction; of an objective or a loss of the program's own, of each row. A mean is
    /// not divided by their number. What was not measured is left out.
    pub fn losses(&self, raw: &[f64], rows: &Rows) -> Result<Vec<f64>, Report> {
        if matches!(self.loss, Loss::Objective | Loss::Procedure(_)) {
            let of_row = |r: usize| {
                let row = rows.select(&[r]);
                Ok(self.evaluate_rows(&[raw.to_vec()], &row, Need::Loss)?.first().map_or(f64::NAN, |e| e.loss))
            };
            return (0..rows.len()).map(of_row).collect();
        }
        let targets = self.width();
        let predicted = self.predictions(raw, rows)?;
        let sets: Vec<Vec<f64>> = (0..self.layout.groups).map(|g| self.layout.values(raw, g)).collect();
        let cells = (0..predicted.len()).filter(|&cell| !rows.target[cell].is_nan());
        let of_cell = |cell: usize| {
            let row = cell / targets;
            // What is measured are successes; what the loss takes is their probability.
            let trials = if self.loss.uses_trials() { rows.trials[row] } else { 1.0 };
            self.weighted_term(rows, row, predicted[cell] / trials, rows.target[cell], &sets[rows.group[row]]).loss
        };
        Ok(cells.map(of_cell).collect())
    }

    /// Whether every parameter changes the loss and none does the work of others in all groups: of least squares by the
    /// rank of the Jacobian at a point, else by the gradient near to it.
    pub fn is_determined(&self, raw: &[f64]) -> Result<bool, Report> {
        let n = raw.len();
        if n == 0 {
            return Ok(true);
        }
        if self.is_least_squares() && n <= MOST_FOR_MATRICES {
            let found = self.evaluate(&[raw.to_vec()], Need::Jacobian)?;
            let Some(found) = found.first().filter(|f| f.is_finite() && f.jacobian.len() >= n) else { return Ok(true) };
            let factored = Factored::new(&found.jacobian, &found.residuals, n, &mut Vec::new());
            return Ok(n - factored.rank() < self.layout.groups.max(1));
        }
        let beside: Vec<f64> = raw.iter().map(|x| x + 0.01 * x.abs().max(1.0)).collect();
        let found = self.evaluate(&[beside], Need::Gradient)?;
        let Some(found) = found.first().filter(|f| f.is_finite() && f.gradient.len() == n) else { return Ok(true) };
        Ok(self.layout.blocks.iter().all(|block| {
            let count = block.transform.raws() * if block.per_group { self.layout.groups } else { 1 };
            found.gradient[block.raw..block.raw + count].iter().any(|d| *d != 0.0)
        }))
    }

    /// One number for each parameter that is a number: its value at a point, or the median of its values in the groups.
    pub fn typical_values(&self, raw: &[f64]) -> Vec<(String, f64)> {
        let mut list = Vec::new();
        for (parameter, block) in self.parameters.iter().zip(&self.layout.blocks) {
            if block.transform.values() != 1 {
                continue;
            }
            let groups = if block.per_group { self.layout.groups } else { 1 };
            let mut values: Vec<f64> = (0..groups).map(|g| self.layout.values(raw, g)[block.value]).collect();
            values.sort_by(f64::total_cmp);
            list.push((parameter.name.clone(), values[(values.len() - 1) / 2]));
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::ProblemOptions;
    use dmci::Program;
    use dmci_table::Table;

    fn problem(text: &str, csv: &str, options: ProblemOptions) -> Problem {
        let table = Table::from_csv("t.csv", csv.as_bytes()).expect("a table");
        Problem::new(Program::new(text), &table, "y", options).expect("it fits together")
    }

    #[test]
    fn a_lean_fit_comes_to_the_optimum_and_says_what_is_not_determined() {
        let rows: Vec<String> = (0..30).map(|i| format!("{}.0,{}", i, 3.0 * (-0.2 * f64::from(i)).exp())).collect();
        let csv = format!("x,y\n{}\n", rows.join("\n"));
        let text = "(params (a free 1.0) (b free 1.0)) (* a (exp (- (* b x))))";
        let problem = problem(text, &csv, ProblemOptions::default());
        let options = LeanOptions { epochs: 60, starts: 4, seed: 1 };
        let found = problem.lean_fit(problem.start(), &options).expect("it runs").expect("it is finite");
        let values = problem.typical_values(&found.raw);
        assert!((values[0].1 - 3.0).abs() < 1e-6 && (values[1].1 - 0.2).abs() < 1e-6, "{values:?}");
        assert!(found.converged && found.starts >= 2 && found.work > 0, "{found:?}");
        assert!(problem.is_determined(&found.raw).expect("it runs"));
        let part = problem.training().select(&(0..20).collect::<Vec<_>>());
        let (again, _) = problem.fit_to_rows(&found.raw, &part).expect("it runs").expect("it is finite");
        let losses = problem.losses(&again, problem.training()).expect("it runs");
        assert!(losses.len() == 30 && losses.iter().all(|l| *l < 1e-12), "{losses:?}");
        let twice = "(params (a free 1.0) (b free 1.0) (c free 1.0)) (* a c (exp (- (* b x))))";
        let twice = self::problem(twice, &csv, ProblemOptions::default());
        let found = twice.lean_fit(twice.start(), &options).expect("it runs").expect("it is finite");
        assert!(!twice.is_determined(&found.raw).expect("it runs"));
        let never = self::problem("(params (a free 1.0)) (* a (log (- 0 1 (* x x))))", &csv, ProblemOptions::default());
        assert_eq!(never.lean_fit(never.start(), &options).expect("it runs"), None);
    }

    #[test]
    fn losses_of_a_likelihood_add_up() {
        let csv = "x,y\n1.0,2\n2.0,3\n3.0,9\n";
        let options = ProblemOptions { loss: Loss::Poisson, ..ProblemOptions::default() };
        let problem = problem("(params (a positive 1.0)) (* a x)", csv, options);
        let parts = problem.losses(problem.start(), problem.training()).expect("it runs");
        let whole = problem.evaluate(&[problem.start().to_vec()], Need::Loss).expect("it runs")[0].loss;
        assert!((parts.iter().sum::<f64>() - whole).abs() < 1e-12 * whole.abs(), "{parts:?} {whole}");
    }
}
