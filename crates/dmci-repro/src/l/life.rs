//! The honest task: from the cycles of a cell up to a level of health, the published life. Parameters are pooled over
//! training cells, and structures are chosen by leaving out training cells.

use super::data::Cell;
use super::pooled::{Known, Pools};
use crate::numbers::{Real, mean, median};
use crate::searches::{Objective, lbfgs, options};
use dmci::{Batch, Column, Mode, Model, Program, Report, Want};
use dmci_ops::real::{exp, log};
use dmci_stats::random::Stream;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// The program of pooled parameters.
pub const LIFE: &str = include_str!("../../programs/l/life.scm");

/// Names of its parameters.
const NAMES: [&str; 4] = ["left", "speed", "age", "first"];

/// Where it starts.
const START: [f64; 4] = [5.0, 0.5, 0.0, 0.0];

/// Which parameters a structure uses; the others are 0.
const STRUCTURES: [(&str, [bool; 4]); 5] = [
    ("left", [true, false, false, false]),
    ("left, speed", [true, true, false, false]),
    ("left, speed, age", [true, true, true, false]),
    ("left, speed, first", [true, true, false, true]),
    ("left, speed, age, first", [true; 4]),
];

/// Levels of health up to which a cell is known.
pub const LEVELS: [f64; 3] = [0.98, 0.95, 0.92];

/// The level of the claims.
pub const LEVEL: f64 = 0.95;

/// Random half splits.
const SPLITS: u64 = 10;

/// The pooled program with the structure that was chosen.
pub const POOLED: &str = "pooled program";

/// The method that is named the best baseline.
pub const BASELINE: &str = "median ratio";

/// The baselines.
const BASELINES: [&str; 7] = [
    BASELINE,
    "mean ratio",
    "nearest",
    "log-log regression",
    "median remaining life",
    "median life",
    "time-scaled mean curve",
];

/// The reference structure that training cells choose, with priors.
pub const REFERENCE: &str = "chosen structure with priors";

/// A reference structure with priors, for tables.
pub fn with_priors(structure: &str) -> String {
    format!("{structure} with priors")
}

/// Quantiles of the probabilistic scores.
const QUANTILES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

/// A cell at a level.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    cell: usize,
    /// The cycle at which the level is reached.
    at: f64,
    /// Cycles from one hundredth above the level.
    step: f64,
    first: f64,
    life: f64,
    /// Shares of the first capacity at multiples of a tenth of that cycle, for the mean curve.
    end: f64,
}

/// The scores of a method at a level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// How cells are split: `random halves`, or the batch that is left out.
    pub split: String,
    /// The level.
    pub level: f64,
    /// The method.
    pub method: String,
    /// The mean over splits of the median absolute error of life, in cycles.
    pub median: Real,
    /// The mean absolute error.
    pub mean: Real,
    /// Twice the mean pinball loss over five quantiles; for the pooled program and the best baseline.
    pub interval: Real,
    /// The share of lives between the quantiles of 5 and 95%.
    pub coverage: Real,
}

/// The pooled program beside the best baseline, cell by cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Paired {
    /// Cells.
    pub cells: usize,
    /// Cells for which the program is nearer.
    pub nearer: usize,
    /// The mean difference of absolute errors, in cycles; below 0 the program is better.
    pub difference: Real,
    /// Its interval of 90%, by a bootstrap over cells.
    pub interval: [Real; 2],
}

/// What the honest task gives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Life {
    /// Cells with a published life.
    pub cells: usize,
    /// All scores.
    pub scores: Vec<Scores>,
    /// How often each structure was chosen at the level of the claims, over random halves.
    pub chosen: Vec<(String, usize)>,
    /// The test over cells.
    pub paired: Paired,
}

fn seen(cells: &[Cell], level: f64) -> Vec<Seen> {
    let one = |(number, cell): (usize, &Cell)| {
        let (at, before, life) = (cell.reaches(level)?, cell.reaches(level + 0.01)?, cell.life?);
        let first = cell.capacities[0];
        (life > at).then(|| Seen { cell: number, at, step: (at - before).max(1.0), first, life, end: 0.88 / first })
    };
    cells.iter().enumerate().filter_map(one).collect()
}

/// The program over some cells.
struct Pooled<'a> {
    model: Model,
    batch: Batch,
    columns: [Column; 3],
    cells: &'a [Seen],
    used: [bool; 4],
}

impl<'a> Pooled<'a> {
    fn new(cells: &'a [Seen], used: [bool; 4]) -> Pooled<'a> {
        let program = Program::named("life", LIFE);
        let inputs = ["n95", "step", "q0"];
        let model = Model::new(program, &NAMES, &inputs, options(Mode::Dmci, false, Vec::new()));
        let column = |of: fn(&Seen) -> f64| Column::Reals(cells.iter().map(of).collect());
        let columns = [column(|s| s.at), column(|s| s.step), column(|s| s.first)];
        Pooled { model, batch: Batch::default(), columns, cells, used }
    }

    fn numbers(&self, raws: &[f64]) -> Vec<f64> {
        let mut next = raws.iter();
        self.used.iter().map(|&used| if used { next.next().copied().unwrap_or(0.0) } else { 0.0 }).collect()
    }

    /// The parameters that fit best.
    fn fit(&mut self) -> Result<Vec<f64>, Report> {
        let start: Vec<f64> = START.iter().zip(self.used).filter(|p| p.1).map(|p| *p.0).collect();
        Ok(lbfgs(self, &start, 200)?.raws)
    }

    fn predict(&mut self, raws: &[f64]) -> Result<Vec<f64>, Report> {
        let numbers = self.numbers(raws);
        self.model.evaluate_into::<f64>(&mut self.batch, &numbers, &self.columns, Want::Values)?;
        Ok(self.batch.values.clone())
    }
}

impl Objective for Pooled<'_> {
    /// Squared errors of the logarithm of what is left, with a wide normal prior.
    fn gradient(&mut self, raws: &[f64]) -> Result<(f64, Vec<f64>), Report> {
        let numbers = self.numbers(raws);
        self.model.evaluate_into::<f64>(&mut self.batch, &numbers, &self.columns, Want::Gradients)?;
        let (mut loss, mut all) = (0.0, [0.0; 4]);
        for (lane, cell) in self.cells.iter().enumerate() {
            let left = self.batch.values[lane] - cell.at;
            let error = log(left) - log(cell.life - cell.at);
            loss += error * error;
            let slopes = &self.batch.gradients[lane * 4..lane * 4 + 4];
            all.iter_mut().zip(slopes).for_each(|(g, d)| *g += 2.0 * error / left * d);
        }
        for (i, (g, x)) in all.iter_mut().zip(&numbers).enumerate() {
            let apart = x - START[i];
            loss += apart * apart / 1e4;
            *g += 2.0 * apart / 1e4;
        }
        let gradient = all.iter().zip(self.used).filter(|p| p.1).map(|p| *p.0).collect();
        Ok((loss, gradient))
    }
}

/// Lives of some cells by a structure whose parameters come from others.
fn pooled(training: &[Seen], test: &[Seen], used: [bool; 4]) -> Result<Vec<f64>, Report> {
    let raws = Pooled::new(training, used).fit()?;
    Pooled::new(test, used).predict(&raws)
}

/// Errors of a structure on folds of its own training cells: predicted and true lives.
fn left_out(training: &[Seen], used: [bool; 4]) -> Result<Vec<(Seen, f64)>, Report> {
    const FOLDS: usize = 10;
    let mut found = Vec::new();
    for fold in 0..FOLDS {
        let part = |inside: bool| -> Vec<Seen> {
            training.iter().enumerate().filter(|(i, _)| (i % FOLDS == fold) == inside).map(|(_, s)| s.clone()).collect()
        };
        let (test, rest) = (part(true), part(false));
        if !test.is_empty() {
            let lives = pooled(&rest, &test, used)?;
            found.extend(test.into_iter().zip(lives));
        }
    }
    Ok(found)
}

/// The structure with the smallest median error over cells that were left out, and these errors as ratios of what
/// was left.
fn choose(training: &[Seen]) -> Result<(usize, Vec<f64>), Report> {
    let mut best: Option<(f64, usize, Vec<f64>)> = None;
    for (number, (_, used)) in STRUCTURES.iter().enumerate() {
        let found = left_out(training, *used)?;
        let error = median(found.iter().map(|(s, life)| (s.life - life).abs()));
        if best.as_ref().is_none_or(|b| error < b.0) {
            let ratios = found.iter().map(|(s, life)| (s.life - s.at) / (life - s.at)).collect();
            best = Some((error, number, ratios));
        }
    }
    Ok(best.map_or((0, Vec::new()), |b| (b.1, b.2)))
}

/// The life of a cell by a baseline.
fn baseline(name: &str, training: &[Seen], cell: &Seen, cells: &[Cell]) -> f64 {
    let all = || training.iter();
    match name {
        BASELINE => cell.at * median(all().map(|s| s.life / s.at)),
        "mean ratio" => cell.at * mean(all().map(|s| s.life / s.at)),
        "nearest" => {
            let near = |s: &&Seen| (s.at - cell.at).abs();
            all().min_by(|a, b| near(a).total_cmp(&near(b))).map_or(f64::NAN, |s| s.life)
        }
        "log-log regression" => {
            let (x, y) = (mean(all().map(|s| log(s.at))), mean(all().map(|s| log(s.life))));
            let (mut xy, mut xx) = (0.0, 0.0);
            for s in all() {
                xy += (log(s.at) - x) * (log(s.life) - y);
                xx += (log(s.at) - x) * (log(s.at) - x);
            }
            exp(y + xy / xx * (log(cell.at) - x))
        }
        "median remaining life" => cell.at + median(all().map(|s| s.life - s.at)),
        "median life" => median(all().map(|s| s.life)),
        _ => {
            // Every training cell in units of its own age at the level: the median time at which it is below 0.88 Ah
            // of a cell with this first capacity.
            cell.at
                * median(all().map(|s| {
                    let other = &cells[s.cell];
                    let below = other.health().iter().position(|h| *h < cell.end);
                    below.map_or(s.life, |i| other.cycles[i]) / s.at
                }))
        }
    }
}

/// Lives of the test cells by all methods; quantiles of the pooled program and of the best baseline.
struct Split {
    lives: Vec<(String, Vec<f64>)>,
    quantiles: Vec<(String, Vec<[f64; 5]>)>,
    chosen: usize,
}

fn quantile(sorted: &[f64], q: f64) -> f64 {
    if sorted.is_empty() {
        return f64::NAN;
    }
    let place = q * (sorted.len() - 1) as f64;
    let low = (place as usize).min(sorted.len() - 1);
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] + (place - low as f64) * (sorted[high] - sorted[low])
}

fn spread(ratios: &[f64], left: f64, at: f64) -> [f64; 5] {
    QUANTILES.map(|q| at + left * quantile(ratios, q))
}

/// Lives by the reference structures with priors from training cells, and by the one among them that forecasts training
/// cells best, each with priors from the other half of these.
fn by_references(pools: &Pools, training: &[Seen], test: &[Seen]) -> Result<Vec<(String, Vec<f64>)>, Report> {
    let known = |list: &[Seen]| -> Vec<Known> {
        list.iter().map(|s| Known { cell: s.cell, until: s.at, end: s.end }).collect()
    };
    let numbers = |list: &[Seen]| -> Vec<usize> { list.iter().map(|s| s.cell).collect() };
    let (first, second) = training.split_at(training.len() / 2);
    let (mut lives, mut best) = (Vec::new(), (f64::INFINITY, 0));
    for (number, name) in pools.names().enumerate() {
        let mut errors = Vec::new();
        for (half, other) in [(first, second), (second, first)] {
            let found = pools.lives(number, &numbers(other), &known(half))?;
            errors.extend(found.iter().zip(half).map(|(life, s)| (life - s.life).abs()));
        }
        let error = median(errors);
        if error < best.0 {
            best = (error, number);
        }
        lives.push((with_priors(name), pools.lives(number, &numbers(training), &known(test))?));
    }
    if let Some((_, chosen)) = lives.get(best.1).cloned() {
        lives.push((REFERENCE.into(), chosen));
    }
    Ok(lives)
}

fn run_split(cells: &[Cell], pools: &Pools, training: &[Seen], test: &[Seen]) -> Result<Split, Report> {
    let mut lives: Vec<(String, Vec<f64>)> = Vec::new();
    for name in BASELINES {
        lives.push((name.into(), test.iter().map(|c| baseline(name, training, c, cells)).collect()));
    }
    lives.extend(by_references(pools, training, test)?);
    let (chosen, mut ratios) = choose(training)?;
    let ours = pooled(training, test, STRUCTURES[chosen].1)?;
    ratios.sort_by(f64::total_cmp);
    let quantiles = test.iter().zip(&ours).map(|(s, life)| spread(&ratios, life - s.at, s.at)).collect();
    let middle = median(training.iter().map(|s| s.life / s.at));
    let mut others: Vec<f64> = training.iter().map(|s| (s.life / s.at - 1.0) / (middle - 1.0)).collect();
    others.sort_by(f64::total_cmp);
    let of_baseline = test.iter().map(|s| spread(&others, s.at * (middle - 1.0), s.at)).collect();
    let quantiles = vec![(POOLED.to_string(), quantiles), (BASELINE.to_string(), of_baseline)];
    lives.push((POOLED.into(), ours));
    Ok(Split { lives, quantiles, chosen })
}

/// Scores of all methods over splits: pairs of training and test cells.
fn score(
    name: &str,
    level: f64,
    cells: &[Cell],
    pools: &Pools,
    splits: &[(Vec<Seen>, Vec<Seen>)],
) -> Result<(Vec<Scores>, Vec<Split>), Report> {
    let done: Vec<Split> =
        splits.par_iter().map(|(training, test)| run_split(cells, pools, training, test)).collect::<Result<_, _>>()?;
    let mut list = Vec::new();
    let methods: Vec<String> = done.first().map(|s| s.lives.iter().map(|l| l.0.clone()).collect()).unwrap_or_default();
    for method in methods {
        let (mut medians, mut all, mut losses, mut inside) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (split, (_, test)) in done.iter().zip(splits) {
            let Some((_, lives)) = split.lives.iter().find(|l| l.0 == method) else { continue };
            let errors: Vec<f64> = lives.iter().zip(test).map(|(life, s)| (life - s.life).abs()).collect();
            medians.push(median(errors.iter().copied()));
            all.extend(errors);
            let Some((_, quantiles)) = split.quantiles.iter().find(|q| q.0 == method) else { continue };
            for (q, s) in quantiles.iter().zip(test) {
                let pinball = |(level, x): (&f64, &f64)| {
                    if s.life >= *x { level * (s.life - x) } else { (1.0 - level) * (x - s.life) }
                };
                losses.push(2.0 * mean(QUANTILES.iter().zip(q).map(pinball)));
                inside.push(f64::from(u8::from(q[0] <= s.life && s.life <= q[4])));
            }
        }
        list.push(Scores {
            split: name.into(),
            level,
            method,
            median: Real(mean(medians)),
            mean: Real(mean(all)),
            interval: Real(mean(losses)),
            coverage: Real(mean(inside)),
        });
    }
    Ok((list, done))
}

/// Random halves of some cells.
fn halves(all: &[Seen], seed: u64) -> (Vec<Seen>, Vec<Seen>) {
    let mut stream = Stream::new(34, seed);
    let mut order: Vec<usize> = (0..all.len()).collect();
    (1..order.len()).rev().for_each(|i| order.swap(i, stream.below(i + 1)));
    let (training, test) = order.split_at(all.len() / 2);
    let of = |list: &[usize]| list.iter().map(|&i| all[i].clone()).collect();
    (of(training), of(test))
}

/// Runs the task.
pub fn run(cells: &[Cell], quick: bool) -> Result<Life, Report> {
    let mut life = Life { cells: cells.iter().filter(|c| c.life.is_some()).count(), ..Life::default() };
    let pools = if quick { Pools::default() } else { Pools::new(cells)? };
    let count = if quick { 2 } else { SPLITS };
    for level in LEVELS {
        let all = seen(cells, level);
        let splits: Vec<_> = (0..count).map(|seed| halves(&all, seed)).collect();
        let (scores, done) = score("random halves", level, cells, &pools, &splits)?;
        life.scores.extend(scores);
        if level == LEVEL {
            let times = |number: usize| done.iter().filter(|s| s.chosen == number).count();
            life.chosen = STRUCTURES.iter().enumerate().map(|(i, s)| (s.0.to_string(), times(i))).collect();
            life.paired = paired(cells.len(), &splits, &done);
        }
        if quick {
            continue;
        }
        let mut batches: Vec<&str> = cells.iter().map(|c| c.batch.as_str()).collect();
        batches.sort_unstable();
        batches.dedup();
        for batch in batches {
            let (test, training): (Vec<Seen>, Vec<Seen>) =
                all.iter().cloned().partition(|s| cells[s.cell].batch == batch);
            let name = format!("without batch {}", batch.trim_start_matches('b'));
            life.scores.extend(score(&name, level, cells, &pools, &[(training, test)])?.0);
        }
    }
    Ok(life)
}

/// Absolute errors of each cell, mean over the splits in which it is a test cell, of the program and of the baseline.
fn paired(cells: usize, splits: &[(Vec<Seen>, Vec<Seen>)], done: &[Split]) -> Paired {
    let mut sums = vec![(0.0, 0.0, 0.0); cells];
    for ((_, test), split) in splits.iter().zip(done) {
        let of = |name: &str| split.lives.iter().find(|l| l.0 == name).map(|l| &l.1);
        let (Some(ours), Some(other)) = (of(POOLED), of(BASELINE)) else { continue };
        for ((s, a), b) in test.iter().zip(ours).zip(other) {
            let sum = &mut sums[s.cell];
            *sum = (sum.0 + (a - s.life).abs(), sum.1 + (b - s.life).abs(), sum.2 + 1.0);
        }
    }
    let differences: Vec<f64> = sums.iter().filter(|s| s.2 > 0.0).map(|s| (s.0 - s.1) / s.2).collect();
    let n = differences.len();
    let mut stream = Stream::new(90, 0);
    let mut drawn: Vec<f64> = (0..5000).map(|_| mean((0..n).map(|_| differences[stream.below(n)]))).collect();
    drawn.sort_by(f64::total_cmp);
    Paired {
        cells: n,
        nearer: differences.iter().filter(|d| **d < 0.0).count(),
        difference: Real(mean(differences.iter().copied())),
        interval: [Real(quantile(&drawn, 0.05)), Real(quantile(&drawn, 0.95))],
    }
}
