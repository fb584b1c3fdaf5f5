//! The honest protocol: climatology, trend and patterns of training months, trailing means, forecasts scored against
//! the observed index, choices by the decade before the test.

use super::extended::{Choice, operator};
use super::field::{Field, Patterns, Smoothing};
use super::forecast::{LEADS, Pairs, Skill, correlation, pairs, skill};
use super::kalman::filter;
use super::likelihood::Likelihood;
use super::matrix::Matrix;
use super::prepare::PATTERNS;
use super::structure::{FLOOR, STRUCTURES};
use crate::Settings;
use crate::numbers::{Real, mean};
use crate::searches::adam;
use dmci::Report;
use dmci_stats::random::Stream;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// First years of the decades that are forecast.
const DECADES: [usize; 4] = [1980, 1990, 2000, 2010];

/// The first year of the record.
const FIRST: usize = 1950;

/// Months of a decade.
const DECADE: usize = 120;

/// Components of the reference.
const DIMENSION: usize = 15;

/// Widths of the prior that are tried; 0 is the Green function.
const WIDTHS: [f64; 8] = [0.0, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16];

/// Weights of the index that are tried.
const WEIGHTS: [f64; 3] = [0.0, 1.0, 5.0];

/// Draws of the bootstrap.
const DRAWS: usize = 5000;

/// Months in a block of the bootstrap; the first is that of the claims.
pub const BLOCKS: [usize; 3] = [24, 12, 36];

/// The reference.
pub const GREEN: &str = "Green function";

/// What was chosen by validation.
pub const EXTENDED: &str = "extended LIM";

/// The best fit of the likelihood with a small floor.
pub const LIKELIHOOD_LOW: &str = "likelihood, floor 1e-4";

/// The paper's likelihood.
pub const LIKELIHOOD: &str = "likelihood, floor 0.1";

/// A method in one decade.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scored {
    /// The first year of the decade.
    pub decade: usize,
    /// The method.
    pub method: String,
    /// Against the index of the month.
    pub monthly: Skill,
    /// Against its mean over the last three months.
    pub trailing: Skill,
}

/// What validation chose for a decade.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chosen {
    /// The first year of the decade that it was chosen for.
    pub decade: usize,
    /// The choice.
    pub choice: Choice,
    /// The mean of ACC over the leads on the decade before.
    pub validation: Real,
    /// The same of the Green function with 15 components.
    pub green: Real,
}

/// A mean difference to the Green function over decades, with an interval of 90%.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The method.
    pub method: String,
    /// Months in a block.
    pub block: usize,
    /// Months ahead.
    pub lead: usize,
    /// The difference of ACC.
    pub mean: Real,
    /// The quantile of 5%.
    pub low: Real,
    /// That of 95%.
    pub high: Real,
}

/// What the honest protocol gives for a window of training.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Honest {
    /// Whether operators are fitted again up to the test decade once everything is chosen.
    pub refitted: bool,
    /// All methods in all decades.
    pub scored: Vec<Scored>,
    /// The choices.
    pub chosen: Vec<Chosen>,
    /// Differences to the Green function.
    pub differences: Vec<Difference>,
}

/// A record with patterns of its training months.
struct Record {
    patterns: Patterns,
    /// Rows before the month of the same number.
    lag: usize,
    /// The index, month by month.
    raw: Vec<f64>,
    /// Its trailing means, row by row.
    index: Vec<f64>,
    /// Rows of training.
    known: usize,
}

impl Record {
    fn new(field: &Field, training: usize) -> Option<Record> {
        let anomalies = field.anomalies(0..training, Smoothing::Trailing);
        let patterns = anomalies.patterns(PATTERNS)?;
        let known = anomalies.known;
        Some(Record { patterns, lag: anomalies.lag, raw: anomalies.raw, index: anomalies.index, known })
    }

    /// Rows of a decade.
    fn rows(&self, year: usize) -> Range<usize> {
        let from = (year - FIRST) * 12 - self.lag;
        from..(from + DECADE).min(self.index.len())
    }

    fn training(&self, d: usize) -> Vec<f64> {
        self.patterns.states(0..self.known, d)
    }

    /// The index of a state.
    fn reading(&self, state: &[f64]) -> f64 {
        state.iter().zip(&self.patterns.loadings).map(|(x, l)| x * l).sum()
    }
}

/// Forecasts of the index: from each row of a decade, at all leads.
type Forecasts = [Vec<f64>; 4];

fn by_operator(record: &Record, year: usize, states: &[Vec<f64>], f: &Matrix) -> Forecasts {
    LEADS.map(|lead| {
        let power = f.power(lead);
        record.rows(year).map(|t| record.reading(&power.apply(&states[t]))).collect()
    })
}

fn observed(record: &Record, d: usize) -> Vec<Vec<f64>> {
    (0..record.index.len()).map(|t| record.patterns.states(t..t + 1, d)).collect()
}

/// Forecasts beside the index of the month, or its trailing means.
fn beside(record: &Record, year: usize, forecasts: &Forecasts, trailing: bool) -> [Pairs; 4] {
    let rows = record.rows(year);
    let truth = |t: usize| if trailing { record.index[t] } else { record.raw[t + record.lag] };
    let mut k = 0;
    LEADS.map(|lead| {
        let found = pairs(rows.clone(), lead, |t, _| forecasts[k][t - rows.start], truth);
        k += 1;
        found
    })
}

fn acc(record: &Record, year: usize, forecasts: &Forecasts) -> f64 {
    mean(beside(record, year, forecasts, false).iter().map(|p| correlation(p)))
}

/// The choice that forecasts the decade before best, by its mean ACC over the leads.
fn choose(field: &Field, year: usize, quick: bool) -> Result<Option<Chosen>, Report> {
    let before = year - 10;
    let Some(record) = Record::new(field, (before - FIRST) * 12) else { return Ok(None) };
    let dimensions: &[usize] = if quick { &[10] } else { &[10, 15, 20] };
    let mut choices = Vec::new();
    for &d in dimensions {
        for tau in WIDTHS {
            let weights = if tau == 0.0 { &WEIGHTS[..1] } else { &WEIGHTS };
            choices.extend(weights.iter().map(|&lambda| Choice { d, tau, lambda }));
        }
    }
    let score = |&choice: &Choice| -> Result<f64, Report> {
        let w = &record.patterns.loadings[..choice.d];
        let Some(f) = operator(&record.training(choice.d), w, choice)? else { return Ok(f64::NAN) };
        Ok(acc(&record, before, &by_operator(&record, before, &observed(&record, choice.d), &f)))
    };
    let scores: Vec<f64> = choices.par_iter().map(score).collect::<Result<_, _>>()?;
    let rank = |x: f64| if x.is_finite() { x } else { f64::NEG_INFINITY };
    let best = (0..choices.len()).fold(0, |best, i| if rank(scores[i]) > rank(scores[best]) { i } else { best });
    let green = score(&Choice { d: DIMENSION, tau: 0.0, lambda: 0.0 })?;
    Ok(Some(Chosen { decade: year, choice: choices[best], validation: Real(scores[best]), green: Real(green) }))
}

/// The slope of the index some months later on the index now.
fn damping(record: &Record, lead: usize) -> f64 {
    let (mut ab, mut aa) = (0.0, 0.0);
    for t in 0..record.known - lead {
        ab += record.index[t] * record.index[t + lead];
        aa += record.index[t] * record.index[t];
    }
    ab / aa
}

/// All methods in a decade: their forecasts.
fn methods(
    record: &Record,
    year: usize,
    choice: Choice,
    likelihoods: &[(&str, usize, f64)],
) -> Result<Vec<(String, Forecasts)>, Report> {
    let rows = record.rows(year);
    let scaled = |factors: [f64; 4]| factors.map(|f| rows.clone().map(|t| f * record.index[t]).collect());
    let mut list: Vec<(String, Forecasts)> = vec![
        ("persistence".into(), scaled([1.0; 4])),
        ("damped persistence".into(), scaled(LEADS.map(|lead| damping(record, lead)))),
    ];
    for (name, choice) in [(GREEN, Choice { d: DIMENSION, tau: 0.0, lambda: 0.0 }), (EXTENDED, choice)] {
        let w = &record.patterns.loadings[..choice.d];
        if let Some(f) = operator(&record.training(choice.d), w, choice)? {
            list.push((name.into(), by_operator(record, year, &observed(record, choice.d), &f)));
        }
    }
    for &(name, d, floor) in likelihoods {
        let dense = STRUCTURES[0];
        let training = record.training(d);
        let found = adam(&mut Likelihood::new(dense, d, &training, floor, false), &dense.start(d, 0), 0.05, 300)?;
        let operators = dense.operators(d, &found.raws, floor);
        let all = record.patterns.states(0..record.index.len(), d);
        if let Some(filtered) = filter::<f64>(&operators, &all, d) {
            list.push((name.into(), by_operator(record, year, &filtered.states, &operators.f)));
        }
    }
    Ok(list)
}

/// Runs the protocol for one window of training.
pub fn run(settings: &Settings, field: &Field, refitted: bool) -> Result<Honest, Report> {
    let decades: &[usize] = if settings.quick { &DECADES[..1] } else { &DECADES };
    let mut honest = Honest { refitted, ..Honest::default() };
    // Pairs of the reference and of the others, by decade and lead.
    let mut all: Vec<Vec<(String, [Pairs; 4])>> = Vec::new();
    let likelihoods: &[(&str, usize, f64)] = match (refitted, settings.quick) {
        (true, false) => &[(LIKELIHOOD, 10, FLOOR), (LIKELIHOOD_LOW, 10, 1e-4)],
        _ => &[],
    };
    let work = |&year: &usize| -> Result<Option<_>, Report> {
        let Some(chosen) = choose(field, year, settings.quick)? else { return Ok(None) };
        let until = if refitted { year } else { year - 10 };
        let Some(record) = Record::new(field, (until - FIRST) * 12) else { return Ok(None) };
        let list = methods(&record, year, chosen.choice, likelihoods)?;
        let both = |(method, forecasts): (String, Forecasts)| {
            let (monthly, trailing) =
                (beside(&record, year, &forecasts, false), beside(&record, year, &forecasts, true));
            (method, monthly, trailing)
        };
        Ok(Some((chosen, list.into_iter().map(both).collect::<Vec<_>>())))
    };
    let done: Vec<Option<_>> = decades.par_iter().map(work).collect::<Result<_, Report>>()?;
    for (chosen, list) in done.into_iter().flatten() {
        let decade = chosen.decade;
        honest.chosen.push(chosen);
        let mut kept = Vec::new();
        for (method, monthly, trailing) in list {
            honest.scored.push(Scored {
                decade,
                method: method.clone(),
                monthly: skill(&monthly),
                trailing: skill(&trailing),
            });
            kept.push((method, monthly));
        }
        all.push(kept);
    }
    let names: Vec<String> = all.first().map(|l| l.iter().map(|m| m.0.clone()).collect()).unwrap_or_default();
    let cases: Vec<(String, usize)> = names
        .iter()
        .filter(|n| *n != GREEN)
        .flat_map(|n| BLOCKS.iter().map(move |&block| (n.clone(), block)))
        .collect();
    let draws = if settings.quick { 500 } else { DRAWS };
    let found: Vec<Vec<Difference>> =
        cases.par_iter().map(|(method, block)| bootstrap(&all, method, *block, draws)).collect();
    honest.differences = found.into_iter().flatten().collect();
    Ok(honest)
}

/// The mean over decades of the difference of ACC to the Green function, by paired moving blocks within each decade.
fn bootstrap(all: &[Vec<(String, [Pairs; 4])>], method: &str, block: usize, draws: usize) -> Vec<Difference> {
    let of = |name: &str| -> Vec<&[Pairs; 4]> {
        all.iter().filter_map(|l| l.iter().find(|m| m.0 == name).map(|m| &m.1)).collect()
    };
    let (ours, green) = (of(method), of(GREEN));
    let mut stream = Stream::new(24, block as u64);
    let mut list = Vec::new();
    for (k, lead) in LEADS.into_iter().enumerate() {
        let difference = |a: &[(f64, f64)], b: &[(f64, f64)]| correlation(a) - correlation(b);
        let point = mean(ours.iter().zip(&green).map(|(a, b)| difference(&a[k], &b[k])));
        let mut drawn: Vec<f64> = (0..draws)
            .map(|_| {
                mean(ours.iter().zip(&green).map(|(a, b)| {
                    let (a, b) = (&a[k], &b[k]);
                    let (mut x, mut y): (Pairs, Pairs) = (Vec::new(), Vec::new());
                    while x.len() < a.len() {
                        let from = stream.below(a.len() + 1 - block.min(a.len()));
                        let to = (from + block).min(a.len()).min(from + a.len() - x.len());
                        x.extend_from_slice(&a[from..to]);
                        y.extend_from_slice(&b[from..to]);
                    }
                    difference(&x, &y)
                }))
            })
            .collect();
        drawn.sort_by(f64::total_cmp);
        let quantile = |q: f64| Real(drawn[((q * draws as f64) as usize).min(draws - 1)]);
        let (low, high) = (quantile(0.05), quantile(0.95));
        list.push(Difference { method: method.into(), block, lead, mean: Real(point), low, high });
    }
    list
}
