//! The paper's protocol: patterns of the whole record, likelihoods of 360 months, forecasts scored against the
//! filter's own analysis of the next 120.

use super::field::{Field, Smoothing};
use super::forecast::{LEADS, Pairs, Skill, autocorrelations, correlation, pairs, skill};
use super::kalman::filter;
use super::likelihood::Likelihood;
use super::matrix::Matrix;
use super::operator::{Oscillation, green, oscillation, radius, tau_residual};
use super::prepare::PATTERNS;
use super::structure::{FLOOR, STRUCTURES, Structure};
use crate::Settings;
use crate::numbers::Real;
use crate::searches::{Found, Objective, adam, adam_to_the_end, adam_without_clip, evolution, lbfgs, multistart};
use crate::timing::least;
use dmci::{Diagnostic, ErrorCode, Report};
use dmci_ops::real::exp;
use dmci_stats::random::Stream;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Months that are fitted.
pub const TRAINING: usize = 360;

/// Months that are forecast.
pub const TEST: usize = 120;

/// Dimensions of the dense operator.
pub const DIMENSIONS: [usize; 4] = [6, 10, 15, 20];

/// The dimension of the forecasts.
pub const HEADLINE: usize = 10;

/// The dimension at which structures are compared.
pub const COMPARED: usize = 15;

/// The checks before a fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// The dimension.
    pub d: usize,
    /// The loss of the program.
    pub loss: Real,
    /// That of the filter by hand in single precision.
    pub single: Real,
    /// That of the filter by hand in double precision.
    pub double: Real,
    /// The largest relative error of the gradient at six probes, beside central differences.
    pub gradient_error: Real,
    /// The smallest determinant of the covariance of innovations.
    pub least_det: Real,
    /// Seconds for a value.
    pub value_seconds: f64,
    /// Seconds for a value and the gradient by all raw numbers.
    pub gradient_seconds: f64,
}

impl Gate {
    /// Whether the fit may run: G1 to G5.
    pub fn go(&self) -> bool {
        let (loss, single) = (self.loss.0, self.single.0);
        loss.is_finite()
            && self.least_det.0 > 1.2e-38
            && (loss - single).abs() <= 2e-3 * loss.abs().max(1.0)
            && self.gradient_error.0 <= 3e-2
    }
}

/// One fit with what its operator does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// The structure.
    pub structure: String,
    /// The dimension.
    pub d: usize,
    /// The seed.
    pub seed: u64,
    /// The search.
    pub solver: String,
    /// The loss.
    pub loss: Real,
    /// Steps.
    pub steps: usize,
    /// Seconds.
    pub seconds: f64,
    /// The magnitude of the largest eigenvalue of F.
    pub radius: Real,
    /// The variance of observations.
    pub r: Real,
    /// The smallest determinant of the covariance of innovations.
    pub least_det: Real,
    /// The condition of the covariance there.
    pub condition: Real,
    /// The mode of ENSO.
    pub mode: Option<Oscillation>,
    /// Forecasts against the analysis.
    pub skill: Skill,
}

/// Reference forecasts at a dimension, from the analysis of the fit by Adam with seed 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// The dimension.
    pub d: usize,
    /// The method.
    pub method: String,
    /// Against the analysis.
    pub skill: Skill,
    /// The mode of its operator.
    pub mode: Option<Oscillation>,
}

/// What the paper's protocol gives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Paper {
    /// The checks.
    pub gates: Vec<Gate>,
    /// All fits.
    pub fits: Vec<Fit>,
    /// The reference forecasts.
    pub references: Vec<Reference>,
    /// The residual of the tau test, lag 1, by dimension.
    pub tau: Vec<(usize, Real)>,
    /// The share of the variance of the first pattern.
    pub share: Real,
    /// The correlation of the index that is rebuilt from ten components with the first component.
    pub rebuilt: Real,
    /// Years, the rebuilt index and the first component in units of the index.
    pub series: Vec<[f64; 3]>,
}

/// The states of one dimension.
struct States {
    d: usize,
    /// Training, then test.
    all: Vec<f64>,
    loadings: Vec<f64>,
}

impl States {
    fn training(&self) -> &[f64] {
        &self.all[..TRAINING * self.d]
    }

    fn index(&self, state: &[f64]) -> f64 {
        state.iter().zip(&self.loadings).map(|(x, l)| x * l).sum()
    }
}

fn failed(what: &str) -> Report {
    Report::from(Diagnostic::error(ErrorCode::E9901, format!("ENSO study: {what}")))
}

/// Runs the protocol.
pub fn run(settings: &Settings, field: &Field) -> Result<Paper, Report> {
    let anomalies = field.anomalies(0..field.months(), Smoothing::Centred);
    let patterns = anomalies.patterns(PATTERNS).ok_or_else(|| failed("the field has no patterns"))?;
    let dimensions: &[usize] = if settings.quick { &DIMENSIONS[..2] } else { &DIMENSIONS };
    let states =
        |d: usize| States { d, all: patterns.states(0..TRAINING + TEST, d), loadings: patterns.loadings[..d].to_vec() };
    let mut paper = Paper { share: Real(patterns.shares[0]), ..Paper::default() };
    let rows = 0..anomalies.rows();
    let ten = patterns.states(rows.clone(), HEADLINE);
    let rebuilt: Vec<f64> =
        ten.chunks_exact(HEADLINE).map(|x| x.iter().zip(&patterns.loadings).map(|(x, l)| x * l).sum()).collect();
    let first: Vec<f64> = patterns.states(rows, 1);
    paper.rebuilt = Real(correlation(&rebuilt.iter().copied().zip(first.iter().copied()).collect::<Pairs>()));
    let round = |x: f64| (1e3 * x).round() / 1e3;
    let row = |(t, (a, b)): (usize, (&f64, &f64))| {
        [round((anomalies.start + t) as f64 / 12.0), round(*a), round(b * patterns.loadings[0])]
    };
    paper.series = rebuilt.iter().zip(&first).enumerate().map(row).collect();
    for &d in dimensions {
        let states = states(d);
        paper.gates.push(gate(&states, settings.single)?);
        paper.tau.push((d, Real(tau_residual(states.training(), d, 1).unwrap_or(f64::NAN))));
    }
    let compared = if settings.quick { HEADLINE } else { COMPARED };
    let seeds = if settings.quick { 1 } else { 3 };
    let mut jobs: Vec<(Structure, usize, u64)> = Vec::new();
    for seed in 0..seeds {
        jobs.extend(dimensions.iter().map(|&d| (STRUCTURES[0], d, seed)));
        jobs.extend(STRUCTURES[1..].iter().map(|&s| (s, compared, seed)));
    }
    // The long ones first.
    jobs.sort_by_key(|&(s, d, seed)| (std::cmp::Reverse(d), s.id, seed));
    let work = |&(structure, d, seed): &(Structure, usize, u64)| job(structure, &states(d), seed, settings);
    let done: Vec<(Vec<Fit>, Vec<Reference>)> = jobs.par_iter().map(work).collect::<Result<_, Report>>()?;
    for (fits, references) in done {
        paper.fits.extend(fits);
        paper.references.extend(references);
    }
    let key = |f: &Fit| (f.d, f.structure.clone(), f.seed);
    paper.fits.sort_by_key(key);
    paper.references.sort_by_key(|r| r.d);
    Ok(paper)
}

fn gate(states: &States, single: bool) -> Result<Gate, Report> {
    let (d, dense) = (states.d, STRUCTURES[0]);
    let raws = dense.start(d, 0);
    let mut program = Likelihood::new(dense, d, states.training(), FLOOR, single);
    let (loss, gradient) = program.gradient(&raws)?;
    let twin = |raws: &[f64]| filter::<f64>(&dense.operators(d, raws, FLOOR), states.training(), d);
    let double = twin(&raws);
    let singles = filter::<f32>(&dense.operators(d, &raws, FLOOR), states.training(), d);
    // The variance of observations, the first diagonal of the factor, and four entries of F.
    let mut stream = Stream::new(20_240_602, d as u64);
    let mut probes = vec![raws.len() - 1, d * d];
    probes.extend((0..4).map(|_| stream.below(d * d)));
    let mut worst: f64 = 0.0;
    for probe in probes {
        let shifted = |by: f64| {
            let mut point = raws.clone();
            point[probe] += by;
            twin(&point).map_or(f64::NAN, |f| f.loss)
        };
        let numeric = (shifted(1e-3) - shifted(-1e-3)) / 2e-3;
        let error = (gradient[probe] - numeric).abs() / numeric.abs().max(1.0);
        worst = if error.is_nan() { f64::INFINITY } else { worst.max(error) };
    }
    let points = [raws.clone()];
    Ok(Gate {
        d,
        loss: Real(loss),
        single: Real(singles.map_or(f64::NAN, |f| f.loss)),
        double: Real(double.as_ref().map_or(f64::NAN, |f| f.loss)),
        gradient_error: Real(worst),
        least_det: Real(double.map_or(f64::NAN, |f| exp(f.least_logdet))),
        value_seconds: least(10, || drop(program.losses(&points))),
        gradient_seconds: least(10, || drop(program.gradient(&raws))),
    })
}

/// All searches of one structure, dimension and seed; for the dense operator also those that go on to the end.
fn job(
    structure: Structure,
    states: &States,
    seed: u64,
    settings: &Settings,
) -> Result<(Vec<Fit>, Vec<Reference>), Report> {
    let d = states.d;
    let dense = structure.id == "S0";
    let mut program = Likelihood::new(structure, d, states.training(), FLOOR, settings.single);
    let start = structure.start(d, seed);
    let first = adam(&mut program, &start, 0.05, 300)?;
    let mut found: Vec<(&str, Found)> = Vec::new();
    let starts = if settings.quick { 2 } else { 8 };
    found.push(("L-BFGS", multistart(&mut program, &start, &structure.blocks(d), seed, starts)?));
    if dense {
        found.push(("Adam, no clip", adam_without_clip(&mut program, &start, 0.05, 300)?));
        let generations = if settings.quick { 10 } else { 50 };
        found.push(("DE", evolution(&mut |points| program.losses(points), &start, seed, generations, 0.0)?));
        if !settings.quick {
            found.push((
                "DE, as long as Adam",
                evolution(&mut |points| program.losses(points), &start, seed, 50, first.seconds)?,
            ));
        }
    }
    if seed == 0 && !settings.quick {
        let rest = lbfgs(&mut program, &first.raws, 4000)?;
        if dense {
            found.push(("Adam, converged", adam_to_the_end(&mut program, &start, 1500)?));
        }
        found.push(("L-BFGS, converged", rest));
    }
    found.insert(0, ("Adam", first));
    let mut references = Vec::new();
    if dense && seed == 0 {
        references = compare(states, &found[0].1.raws);
    }
    let fits = found.iter().map(|(solver, f)| fit(structure, states, seed, solver, f)).collect();
    Ok((fits, references))
}

/// Forecasts of an operator from analyses, against analyses.
fn forecasts(states: &States, analyses: &[Vec<f64>], powers: &[Matrix; 4]) -> Skill {
    let mut by_lead: [Pairs; 4] = Default::default();
    for (k, lead) in LEADS.into_iter().enumerate() {
        let forecast = |t: usize, _: usize| states.index(&powers[k].apply(&analyses[t]));
        by_lead[k] = pairs(TRAINING..TRAINING + TEST, lead, forecast, |t| states.index(&analyses[t]));
    }
    skill(&by_lead)
}

fn fit(structure: Structure, states: &States, seed: u64, solver: &str, found: &Found) -> Fit {
    let d = states.d;
    let operators = structure.operators(d, &found.raws, FLOOR);
    let powers = LEADS.map(|lead| operators.f.power(lead));
    let filtered = filter::<f64>(&operators, &states.all, d);
    let trained = filter::<f64>(&operators, states.training(), d);
    Fit {
        structure: structure.id.into(),
        d,
        seed,
        solver: solver.into(),
        loss: Real(found.loss),
        steps: found.steps,
        seconds: found.seconds,
        radius: Real(radius(&operators.f)),
        r: Real(operators.r),
        least_det: Real(trained.as_ref().map_or(f64::NAN, |f| exp(f.least_logdet))),
        condition: Real(trained.map_or(f64::NAN, |f| f.covariance.condition())),
        mode: oscillation(&operators.f),
        skill: filtered.map(|f| forecasts(states, &f.states, &powers)).unwrap_or_default(),
    }
}

/// Persistence, damped persistence and the Green function from the analysis of a fit.
fn compare(states: &States, raws: &[f64]) -> Vec<Reference> {
    let d = states.d;
    let Some(filtered) = filter::<f64>(&STRUCTURES[0].operators(d, raws, FLOOR), &states.all, d) else {
        return Vec::new();
    };
    let diagonal = |lead: usize| {
        let mut m = Matrix::zeros(d, d);
        let shares = autocorrelations(states.training(), d, lead);
        shares.iter().enumerate().for_each(|(i, x)| m.values[i * d + i] = *x);
        m
    };
    let mut list = vec![
        ("persistence", LEADS.map(|_| Matrix::identity(d, 1.0)), None),
        ("damped persistence", LEADS.map(diagonal), None),
    ];
    if let Some(g) = green(states.training(), d, 1) {
        list.push(("Green function", LEADS.map(|lead| g.power(lead)), oscillation(&g)));
    }
    let reference = |(method, powers, mode): (&str, [Matrix; 4], Option<Oscillation>)| Reference {
        d,
        method: method.into(),
        skill: forecasts(states, &filtered.states, &powers),
        mode,
    };
    list.into_iter().map(reference).collect()
}
