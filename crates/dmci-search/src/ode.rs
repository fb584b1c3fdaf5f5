//! Right-hand sides of ordinary differential equations from a table of states over time: the program that integrates
//! them, with a hole for each derivative, and what the smoothed series say about each equation alone.

pub mod equations;
pub mod flow;
pub mod program;
pub mod weak;

use crate::candidate::Candidate;
use crate::expr::Expr;
use crate::problem::{ObjectiveKind, SearchProblem, refusal};
use crate::template::{Limits, Template};
use dmci::{Column, Program, Report};
use dmci_fit::{Table, find_column};
use dmci_stats::random::Stream;
use dmci_stats::smooth::{Smooth, smooth};
use equations::Equations;
use flow::{Flow, Series, System};

/// The rows of one initial condition, in the order of time.
#[derive(Clone, Debug)]
pub struct Run {
    /// In the table.
    pub rows: Vec<usize>,
    /// When they were measured.
    pub times: Vec<f64>,
    /// Each state at these times; NaN where it was not measured.
    pub states: Vec<Vec<f64>>,
    /// Each state smoothed, at all of these times.
    pub smooth: Vec<Smooth>,
}

/// What is known of a system before a search.
#[derive(Clone, Debug)]
pub struct Ode {
    /// The names of the states.
    pub states: Vec<String>,
    /// The column of times.
    pub time: String,
    /// What right-hand sides may mention: states, and the time if it is among the inputs.
    pub arguments: Vec<String>,
    /// The column of initial conditions.
    pub group: Option<String>,
    /// The runs of the open rows.
    pub runs: Vec<Run>,
    /// The runs of all rows, and which rows of the table are sealed.
    series: Vec<Series>,
    sealed: Vec<bool>,
    /// Which state each argument is.
    of_state: Vec<Option<usize>>,
    /// The standard deviation of each state, in which its errors are measured.
    pub deviations: Vec<f64>,
    /// Steps of the integrator between two rows.
    pub steps: usize,
    /// Each equation alone.
    pub equations: Equations,
}

/// Steps of the integrator over the longest run, at least.
const STEPS: f64 = 400.0;

/// Most steps between two rows.
const MOST_STEPS: f64 = 200.0;

/// Fewest rows of a run.
const FEWEST: usize = 8;

/// An error below 1e-4 of a deviation counts as none, here as a square: integrators, with their usual tolerances, differ
/// by as much.
pub const FLOOR: f64 = 1e-8;

/// Stretches of time in which errors of a run, or of a block of it, are summed.
pub const STRETCHES: usize = 12;

/// The problem as one whose programs are objectives.
pub fn as_objective(problem: &SearchProblem) -> Result<SearchProblem, Report> {
    let fit = &problem.fit.problem;
    let refused = [
        (!fit.target.is_empty(), "target", "the states are what is predicted: leave it out"),
        (fit.loss.is_some(), "loss", "errors of states are squared: leave it out"),
        (fit.weights.is_some(), "weights", "leave it out"),
        (fit.sigma.is_some(), "sigma", "leave it out"),
        (fit.trials.is_some(), "trials", "leave it out"),
        (fit.holdout.is_some(), "holdout", "blocks of time validate: set their number with ‹folds›"),
        (
            !problem.search.seeds.is_empty(),
            "seeds",
            "write the integrator and its holes into them, and leave ‹ode› out",
        ),
    ];
    if let Some((_, name, help)) = refused.iter().find(|(is, _, _)| *is) {
        return Err(refusal(format!("{name} does not go with ‹ode›"), help));
    }
    let mut problem = problem.clone();
    problem.fit.problem.objective = true;
    problem.search.objective = ObjectiveKind::Squares;
    Ok(problem)
}

/// A column of numbers; what is missing is NaN.
fn numbers(table: &Table, name: &str) -> Result<Vec<f64>, Report> {
    let column = find_column(table, name)?;
    column.reals().map_err(|row| {
        let message = format!("{name} has {} in row {}, expected a number", column.shown(row), row + 1);
        refusal(message, "declare missing values with ‹missing›, or correct the table")
    })
}

impl Ode {
    /// Looks at the open rows of a problem, whose table is `all`.
    pub fn new(problem: &SearchProblem, open: &Table, all: &Table, sealed: &[bool]) -> Result<Ode, Report> {
        let states = problem.search.ode.clone();
        let Some(time) = problem.search.time.clone() else {
            return Err(refusal("no column of times is named", "name it with ‹time›"));
        };
        if states.contains(&time) {
            return Err(refusal(format!("{time} is the time and a state"), "drop it from ‹ode›"));
        }
        if let Some((i, name)) = states.iter().enumerate().find(|(i, s)| states[..*i].contains(s)) {
            return Err(refusal(format!("{name} is named twice, as state {} too", i + 1), "name each state once"));
        }
        let arguments = match &problem.search.inputs {
            None => states.clone(),
            Some(list) => {
                if let Some(other) = list.iter().find(|name| !states.contains(name) && **name != time) {
                    let message = format!("{other} is neither a state nor the time");
                    return Err(refusal(message, "a right-hand side can mention states and the time: add it to ‹ode›"));
                }
                // In one order, whoever wrote the list.
                states.iter().chain([&time]).filter(|name| list.contains(name)).cloned().collect()
            }
        };
        let group = problem.fit.problem.group.clone();
        program::check_names(&states, &time, open)?;
        let mut list = Vec::new();
        for (whose, Series { rows, times, states: values }) in series(open, &states, &time, group.as_deref())? {
            let mut run = Run { rows, times, states: values, smooth: Vec::new() };
            for (name, values) in states.iter().zip(&run.states) {
                let (seen, y): (Vec<f64>, Vec<f64>) =
                    run.times.iter().zip(values).filter(|(_, y)| y.is_finite()).map(|(t, y)| (*t, *y)).unzip();
                let found = if seen.len() < FEWEST { None } else { smooth(&seen, &y, &run.times) };
                let Some(found) = found else {
                    let message = format!("{name}{whose} has {} measurements in open rows", seen.len());
                    return Err(refusal(message, &format!("give each state at least {FEWEST} of them in every run")));
                };
                run.smooth.push(found);
            }
            list.push(run);
        }
        let deviations = (0..states.len()).map(|i| deviation(list.iter().map(|r| &r.states[i][..]))).collect();
        let span = |r: &Run| r.times[r.times.len() - 1] - r.times[0];
        let longest = list.iter().map(span).fold(0.0, f64::max);
        let gap = |r: &Run| r.times.windows(2).map(|w| w[1] - w[0]).fold(0.0, f64::max);
        let widest = list.iter().map(gap).fold(0.0, f64::max);
        let steps = (widest / longest * STEPS - 1e-9).ceil().clamp(1.0, MOST_STEPS) as usize;
        let equations = Equations::new(problem, &list, &states, &arguments)?;
        let of_state = arguments.iter().map(|name| states.iter().position(|s| s == name)).collect();
        let series = series(all, &states, &time, group.as_deref())?.into_iter().map(|(_, s)| s).collect();
        let sealed = sealed.to_vec();
        Ok(Ode { states, time, arguments, group, runs: list, series, sealed, of_state, deviations, steps, equations })
    }

    /// The seed, whose right-hand sides are lines, and the baseline in which they are constants.
    pub fn programs(&self) -> (Program, Program) {
        let linear: Vec<Candidate> = (0..self.states.len()).map(|i| self.equations.linear(i)).collect();
        let constant: Vec<Candidate> = (0..self.states.len()).map(|i| self.equations.constant(i)).collect();
        (self.program("linear rates", &linear), self.program("constant rates", &constant))
    }

    /// The measured values of all states, row by row of all runs: false where there is none.
    pub fn measured(&self) -> usize {
        self.runs.iter().flat_map(|r| r.states.iter().flatten()).filter(|y| y.is_finite()).count()
    }

    /// What integrates candidates.
    pub fn flow(&self) -> Flow<'_> {
        Flow { series: &self.series, deviations: &self.deviations, steps: self.steps, arguments: &self.of_state }
    }

    /// A candidate's right-hand sides, and where a fit of it starts: its parameters, then the states of all runs.
    pub fn system(&self, contents: &[(Expr, Vec<f64>)], own: &[f64]) -> (System, Vec<f64>) {
        let exprs: Vec<Expr> = contents.iter().map(|(e, _)| e.clone()).collect();
        let mut start: Vec<f64> = contents.iter().flat_map(|(_, v)| v.iter().copied()).collect();
        match self.group {
            None => start.extend(own),
            Some(_) => start.extend(self.runs.iter().flat_map(|r| r.smooth.iter().map(|s| s.values[0]))),
        }
        (System::new(&exprs, self.arguments.len()), start)
    }

    /// The parameters that stay, from fitted initial states: the states, or the median of what they are off the first
    /// measurements.
    pub fn own(&self, starts: &[f64]) -> Vec<f64> {
        let d = self.states.len();
        if self.group.is_none() {
            return starts.to_vec();
        }
        let first =
            |r: usize, i: usize| self.series[r].states[i].iter().copied().find(|y| y.is_finite()).unwrap_or(0.0);
        let median = |i: usize| {
            let mut list: Vec<f64> = (0..self.series.len()).map(|r| starts[r * d + i] - first(r, i)).collect();
            list.sort_by(f64::total_cmp);
            list[(list.len() - 1) / 2]
        };
        (0..d).map(median).collect()
    }

    /// Whether a row of a run is sealed.
    pub fn is_sealed(&self, run: usize, row: usize) -> bool {
        self.sealed[self.series[run].rows[row]]
    }

    /// The open rows of a run among all of its rows, and how many there are.
    pub fn open_rows(&self, run: usize) -> Vec<usize> {
        (0..self.series[run].rows.len()).filter(|&k| !self.is_sealed(run, k)).collect()
    }

    /// Runs.
    pub fn run_count(&self) -> usize {
        self.series.len()
    }

    /// Rows of a run.
    pub fn row_count(&self, run: usize) -> usize {
        self.series[run].rows.len()
    }

    /// Which rows are in one of so many blocks of time, run by run.
    pub fn block(&self, number: usize, blocks: usize, rows: usize) -> Vec<bool> {
        let mut marks = vec![false; rows];
        for run in &self.runs {
            let n = run.rows.len();
            let inside = n * number / blocks..n * (number + 1) / blocks;
            run.rows[inside].iter().for_each(|&row| marks[row] = true);
        }
        marks
    }

    /// The table with the states of some rows not measured. A run keeps its first row, near which it starts.
    pub fn without(&self, table: &Table, rows: &[bool]) -> Table {
        let mut table = table.clone();
        let first: Vec<usize> = self.runs.iter().map(|run| run.rows[0]).collect();
        for name in &self.states {
            let Some(column) = table.columns.iter_mut().find(|c| c.name == *name) else { continue };
            let Ok(mut values) = column.reals() else { continue };
            let out = (0..values.len()).filter(|row| rows[*row] && !first.contains(row));
            out.for_each(|row| values[row] = f64::NAN);
            column.missing = (0..values.len()).filter(|&row| values[row].is_nan()).collect();
            column.values = Column::Reals(values);
        }
        table
    }

    /// Candidates for a template: combinations of what fits each equation alone.
    pub fn propose(
        &self,
        template: &Template,
        number: usize,
        parents: &[Candidate],
        most: usize,
        stream: &mut Stream,
    ) -> Vec<Candidate> {
        let limits: Vec<&Limits> = template.holes.iter().map(|hole| &hole.limits).collect();
        let seed = template.candidate(0);
        let (lines, own) = template.parts(&seed);
        let pool = self.equations.pool(number, &limits);
        let d = self.states.len();
        let part = |i: usize, k: usize| {
            let found: &Candidate = &pool[i][k.min(pool[i].len() - 1)];
            (found.expr.clone(), found.values.clone())
        };
        if pool.iter().any(Vec::is_empty) {
            return Vec::new();
        }
        // All best, then all second best, and so on; or what is new of one equation beside the best of the others.
        // After that, one equation of a parent at a time.
        let mut list = Vec::new();
        let turn = self.equations.turn(number);
        let new = match turn {
            Some(i) => pool[i].len().min(most / 2),
            None if number == 0 => pool.iter().map(Vec::len).max().unwrap_or(0).min(most),
            None => 0,
        };
        for k in 0..new {
            let parts: Vec<_> = (0..d).map(|i| part(i, if turn.is_none_or(|j| i == j) { k } else { 0 })).collect();
            list.push(template.filled(0, &parts, &own));
        }
        let mut at = 0;
        while list.len() < most && at < 4 * most {
            at += 1;
            let best: Vec<_> = (0..d).map(|i| part(i, 0)).collect();
            let (mut parts, own) = match parents.len() {
                0 => (best, own.clone()),
                _ if at % 4 == 0 => (best, own.clone()),
                n => template.parts(&parents[stream.below(n)]),
            };
            if parts.len() != lines.len() {
                continue;
            }
            let i = stream.below(d);
            let k = stream.below(pool[i].len()).min(stream.below(pool[i].len()));
            parts[i] = part(i, k);
            list.push(template.filled(0, &parts, &own));
        }
        list
    }
}

/// The runs of a table in the order in which they appear, with what messages call them.
fn series(table: &Table, states: &[String], time: &str, group: Option<&str>) -> Result<Vec<(String, Series)>, Report> {
    let all_times = numbers(table, time)?;
    let columns = states.iter().map(|name| numbers(table, name)).collect::<Result<Vec<_>, _>>()?;
    let key = group.map(|name| find_column(table, name)).transpose()?;
    let mut runs: Vec<(String, Vec<usize>)> = Vec::new();
    for row in 0..table.rows {
        let name = key.map_or(String::new(), |column| column.shown(row));
        match runs.iter_mut().find(|(other, _)| *other == name) {
            Some((_, rows)) => rows.push(row),
            None => runs.push((name, vec![row])),
        }
    }
    let read = |(name, rows): (String, Vec<usize>)| {
        let whose = if name.is_empty() { String::new() } else { format!(" of {name}") };
        let times: Vec<f64> = rows.iter().map(|&r| all_times[r]).collect();
        if let Some(i) = (0..times.len()).find(|&i| times[i].is_nan() || i > 0 && times[i] <= times[i - 1]) {
            let message = format!("{time} does not rise in row {}{whose}", rows[i] + 1);
            return Err(refusal(message, "sort the table by time, and name the column of runs with ‹group›"));
        }
        let states = columns.iter().map(|c| rows.iter().map(|&r| c[r]).collect()).collect();
        Ok((whose, Series { rows, times, states }))
    };
    runs.into_iter().map(read).collect()
}

/// The standard deviation of what is finite; 1 where nothing varies.
fn deviation<'a>(lists: impl Iterator<Item = &'a [f64]>) -> f64 {
    let all: Vec<f64> = lists.flatten().copied().filter(|y| y.is_finite()).collect();
    let n = all.len().max(1) as f64;
    let mean = all.iter().sum::<f64>() / n;
    let variance = all.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>() / n;
    if variance > 0.0 { dmci_ops::real::sqrt(variance) } else { 1.0 }
}
