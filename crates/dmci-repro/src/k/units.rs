//! One season left out at a time: programs that may read a climatology, chosen and fitted on the other seasons, beside
//! the baselines. The season is the unit of every test.

use super::baselines::{Baselines, NAMES};
use super::data::{Case, REGIONS, Row, SHORT, Seasons, TEST, UNITS};
use super::score::{Score, Spread, rmse, score};
use crate::numbers::{Real, mean};
use crate::raws::Raws;
use crate::searches::{Objective, lbfgs, options};
use dmci::{Batch, Column, Mode, Model, Program, Report, Want};
use dmci_stats::random::Stream;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

macro_rules! candidates {
    ($($name:literal),*) => { [$(($name, include_str!(concat!("../../programs/k/", $name, ".scm")))),*] };
}

/// The programs that are tried.
pub const CANDIDATES: [(&str, &str); 10] = candidates!(
    "anomaly",
    "ratio",
    "trend",
    "season",
    "season-trend",
    "anomaly-trend",
    "blend",
    "blend-by-lead",
    "blend-season",
    "blend-three"
);

/// The program that was chosen on the other seasons.
pub const CHOSEN: &str = "chosen program";

/// The inputs of the programs.
const INPUTS: [&str; 6] = ["y", "y1", "now", "then", "h", "ar"];

/// A method on a season that was left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The season.
    pub season: u32,
    /// The method.
    pub method: String,
    /// Its scores.
    pub score: Score,
}

/// The chosen program beside a baseline, with the season as the unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Against {
    /// The baseline.
    pub baseline: String,
    /// Seasons in which the program is better.
    pub better: usize,
    /// The mean difference of RMSE; below 0 the program is better.
    pub difference: Real,
    /// Its interval of 90%, by a bootstrap over seasons.
    pub interval: [Real; 2],
    /// The probability of a difference as far from 0 if signs were random, over all of them.
    pub p: Real,
}

/// What leaving out seasons gives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Units {
    /// All methods on all seasons.
    pub left_out: Vec<LeftOut>,
    /// The sealed season, with everything learnt from all others.
    pub sealed: Vec<LeftOut>,
    /// What was chosen, by season; the sealed one last.
    pub chosen: Vec<(u32, String)>,
    /// The chosen program beside the baselines.
    pub against: Vec<Against>,
}

/// Inputs and truths of some cases: one row for each case and series.
struct Rows {
    columns: Vec<Column>,
    truths: Vec<f64>,
}

impl Rows {
    /// Rows of the cases, with what was learnt from some seasons.
    fn push(lists: &mut [Vec<f64>; 7], data: &Seasons, cases: &[Case], climatology: &[Row], learnt: &Baselines) {
        for &case in cases {
            let season = data.season(case.year);
            let ar = learnt.forecast("AR(3)", data, case);
            let (o, t) = (case.origin, case.origin + case.horizon);
            for r in 0..REGIONS {
                let row = [
                    season[o][r],
                    season[o - 1][r],
                    climatology[o][r],
                    climatology[t][r],
                    case.horizon as f64,
                    ar[r],
                    season[t][r],
                ];
                lists.iter_mut().zip(row).for_each(|(list, x)| list.push(x));
            }
        }
    }

    fn of(lists: [Vec<f64>; 7]) -> Rows {
        let [y, y1, now, then, h, ar, truths] = lists;
        Rows { columns: [y, y1, now, then, h, ar].into_iter().map(Column::Reals).collect(), truths }
    }

    /// Rows of a season by what others teach.
    fn forecast(data: &Seasons, season: u32, others: &[u32]) -> Rows {
        let mut lists = Default::default();
        let learnt = Baselines::new(data, others);
        Rows::push(&mut lists, data, &SHORT.cases(&[season]), &data.climatology(others), &learnt);
        Rows::of(lists)
    }

    /// Rows of all seasons, each by what the others among them teach.
    fn training(data: &Seasons, seasons: &[u32]) -> Rows {
        let mut lists = Default::default();
        for &season in seasons {
            let others: Vec<u32> = seasons.iter().copied().filter(|&s| s != season).collect();
            let learnt = Baselines::new(data, &others);
            Rows::push(&mut lists, data, &SHORT.cases(&[season]), &data.climatology(&others), &learnt);
        }
        Rows::of(lists)
    }
}

/// A program over rows.
struct Fit<'a> {
    model: Model,
    raws: Raws,
    batch: Batch,
    rows: &'a Rows,
}

impl<'a> Fit<'a> {
    fn new(candidate: usize, rows: &'a Rows) -> Result<Fit<'a>, Report> {
        let (name, source) = CANDIDATES[candidate];
        let program = Program::named(name, source);
        let raws = Raws::of(&program)?;
        let names: Vec<&str> = raws.names.iter().map(String::as_str).collect();
        let model = Model::new(program, &names, &INPUTS, options(Mode::Dmci, false, Vec::new()));
        Ok(Fit { model, raws, batch: Batch::default(), rows })
    }

    fn predict(&mut self, raws: &[f64]) -> Result<Vec<f64>, Report> {
        let numbers = self.raws.values(raws);
        self.model.evaluate_into::<f64>(&mut self.batch, &numbers, &self.rows.columns, Want::Values)?;
        Ok(self.batch.values.clone())
    }
}

impl Objective for Fit<'_> {
    fn gradient(&mut self, raws: &[f64]) -> Result<(f64, Vec<f64>), Report> {
        let numbers = self.raws.values(raws);
        self.model.evaluate_into::<f64>(&mut self.batch, &numbers, &self.rows.columns, Want::Gradients)?;
        let (n, count) = (raws.len(), self.rows.truths.len() as f64);
        // Per 10,000 visits, so that the loss is near 1.
        let scale = 1e4 / count;
        let (mut loss, mut by_value) = (0.0, vec![0.0; n]);
        for (lane, truth) in self.rows.truths.iter().enumerate() {
            let error = self.batch.values[lane] - truth;
            loss += scale * error * error;
            let slopes = &self.batch.gradients[lane * n..(lane + 1) * n];
            by_value.iter_mut().zip(slopes).for_each(|(g, d)| *g += 2.0 * scale * error * d);
        }
        let mut gradient = vec![0.0; n];
        self.raws.pull_back(raws, &by_value, &mut gradient);
        Ok((loss, gradient))
    }
}

fn fitted(candidate: usize, rows: &Rows) -> Result<Vec<f64>, Report> {
    let mut fit = Fit::new(candidate, rows)?;
    let start = fit.raws.start.clone();
    Ok(lbfgs(&mut fit, &start, 60)?.raws)
}

/// Forecasts of a season by a program that is fitted to others.
fn forecasts(candidate: usize, raws: &[f64], rows: &Rows) -> Result<Vec<Row>, Report> {
    let values = Fit::new(candidate, rows)?.predict(raws)?;
    Ok(values.chunks_exact(REGIONS).map(|c| std::array::from_fn(|r| c[r].max(0.0))).collect())
}

/// The candidate with the smallest mean RMSE over seasons of the training ones that are left out in turn.
fn choose(data: &Seasons, seasons: &[u32], quick: bool) -> Result<usize, Report> {
    let folds: Vec<(Rows, Rows, u32)> = seasons
        .iter()
        .take(if quick { 2 } else { seasons.len() })
        .map(|&season| {
            let others: Vec<u32> = seasons.iter().copied().filter(|&s| s != season).collect();
            (Rows::training(data, &others), Rows::forecast(data, season, &others), season)
        })
        .collect();
    let error = |candidate: usize| -> Result<f64, Report> {
        let mut list = Vec::new();
        for (training, test, season) in &folds {
            let found = forecasts(candidate, &fitted(candidate, training)?, test)?;
            list.push(rmse(data, &SHORT.cases(&[*season]), &found));
        }
        Ok(mean(list))
    };
    let errors: Vec<f64> = (0..CANDIDATES.len()).into_par_iter().map(error).collect::<Result<_, _>>()?;
    Ok((0..errors.len()).fold(0, |best, i| if errors[i] < errors[best] { i } else { best }))
}

/// All methods on a season, learnt from others; and what was chosen.
fn season(data: &Seasons, season: u32, others: &[u32], quick: bool) -> Result<(Vec<LeftOut>, String), Report> {
    let cases = SHORT.cases(&[season]);
    let training = SHORT.cases(others);
    let learnt = Baselines::new(data, others);
    let mut list = Vec::new();
    for method in NAMES {
        let spread = Spread::of(data, &training, &learnt.forecasts(method, data, &training));
        let score = score(data, &cases, &learnt.forecasts(method, data, &cases), &spread);
        list.push(LeftOut { season, method: method.into(), score });
    }
    let chosen = choose(data, others, quick)?;
    let (rows, test) = (Rows::training(data, others), Rows::forecast(data, season, others));
    for (candidate, (name, _)) in CANDIDATES.iter().enumerate() {
        let raws = fitted(candidate, &rows)?;
        let spread = Spread::of(data, &training, &forecasts(candidate, &raws, &rows)?);
        let score = score(data, &cases, &forecasts(candidate, &raws, &test)?, &spread);
        if candidate == chosen {
            list.push(LeftOut { season, method: CHOSEN.into(), score });
        }
        list.push(LeftOut { season, method: format!("program {name}"), score });
    }
    Ok((list, CANDIDATES[chosen].0.into()))
}

/// Leaves out every season in turn, and at last the sealed one.
pub fn run(data: &Seasons, quick: bool) -> Result<Units, Report> {
    let seasons: &[u32] = if quick { &UNITS[9..] } else { &UNITS };
    let mut units = Units::default();
    let others = |season: u32| UNITS.iter().copied().filter(|&s| s != season).collect::<Vec<u32>>();
    for &left in seasons {
        let (scores, chosen) = season(data, left, &others(left), quick)?;
        units.left_out.extend(scores);
        units.chosen.push((left, chosen));
    }
    let (scores, chosen) = season(data, TEST[0], &UNITS, quick)?;
    units.sealed = scores;
    units.chosen.push((TEST[0], chosen));
    units.against = against_all(CHOSEN, &units.left_out, &units.left_out);
    Ok(units)
}

/// A method beside all baselines, over the seasons that it has.
pub fn against_all(method: &str, ours: &[LeftOut], baselines: &[LeftOut]) -> Vec<Against> {
    let ours: Vec<&LeftOut> = ours.iter().filter(|l| l.method == method).collect();
    let error = |baseline: &str, season: u32| {
        let found = baselines.iter().find(|l| l.method == baseline && l.season == season);
        found.map_or(f64::NAN, |l| l.score.rmse.0)
    };
    let one = |baseline: &&str| {
        let differences: Vec<f64> = ours.iter().map(|l| l.score.rmse.0 - error(baseline, l.season)).collect();
        against(baseline, &differences)
    };
    NAMES.iter().map(one).collect()
}

fn against(baseline: &str, differences: &[f64]) -> Against {
    let n = differences.len();
    let found = mean(differences.iter().copied());
    let mut stream = Stream::new(12, 0);
    let mut drawn: Vec<f64> = (0..5000).map(|_| mean((0..n).map(|_| differences[stream.below(n)]))).collect();
    drawn.sort_by(f64::total_cmp);
    // Every way to give signs to the differences; there are at most 4,096.
    let mut far = 0;
    for signs in 0..1u32 << n {
        let sum: f64 = differences.iter().enumerate().map(|(i, d)| if signs >> i & 1 == 1 { -d } else { *d }).sum();
        far += u32::from(sum.abs() >= (found * n as f64).abs() - 1e-15);
    }
    Against {
        baseline: baseline.into(),
        better: differences.iter().filter(|d| **d < 0.0).count(),
        difference: Real(found),
        interval: [Real(drawn[250]), Real(drawn[4749])],
        p: Real(f64::from(far) / f64::from(1u32 << n)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twelve differences of one sign are the rarest of 4,096 ways, twice.
    #[test]
    fn signs_are_counted_exactly() {
        let found = against("x", &[-1.0; 12]);
        assert_eq!((found.better, found.p.0, found.difference.0), (12, 2.0 / 4096.0, -1.0));
        let found = against("x", &[1.0, -1.0, 1.0, -1.0]);
        assert_eq!((found.p.0, found.difference.0), (1.0, 0.0));
    }
}
