//! The final judgement: the best of the front and the baselines, fitted once more from many starts, on the rows that
//! nobody has seen; and in words what was found, how sure that is, and what is not distinguishable from it.

use crate::archive::Entry;
use crate::candidate::Candidate;
use crate::expr::{Expr, Node};
use crate::operation::{Operation, Operations};
use crate::score::{Score, Scorer};
use dmci_limits::{Ticks, rang, rings, unstopped};
use dmci_stats::distribution::student_cdf;
use dmci_stats::random::Stream;
use serde::{Deserialize, Serialize};

/// A program of the last comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// `constant`, `linear`, the name of a baseline, or the place on the front.
    pub name: String,
    /// With its fitted parameters.
    pub entry: Entry,
    /// The mean square on the sealed rows.
    pub sealed: Option<f64>,
    /// Errors by row, on the sealed rows or, without any, on rows that took no part in their fit.
    pub errors: Vec<f64>,
}

/// The best against another program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Against {
    /// The other program.
    pub baseline: String,
    /// How much larger its mean square is.
    pub difference: f64,
    /// The middle 99% of the paired bootstrap.
    pub interval: (f64, f64),
    /// How probable a difference as large is if there is none, corrected for the number of comparisons (Holm).
    pub p: f64,
}

/// What the judgement says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// Nothing predicts the target better than its mean.
    NoStructure,
    /// A line does, and nothing is better than that.
    Linear,
    /// The best program is better than every baseline.
    Found,
    /// It is better than the mean, and not distinguishable from a baseline.
    Baseline,
}

/// The judgement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// What it comes to.
    pub finding: Finding,
    /// In words.
    pub text: String,
    /// The best of the front.
    pub best: Judged,
    /// Constant, linear, and the user's own.
    pub baselines: Vec<Judged>,
    /// The best against each baseline.
    pub against: Vec<Against>,
    /// Simpler programs of the front from which the best is not distinguishable.
    pub not_distinguishable: Vec<String>,
}

/// Draws of a paired bootstrap, and sign flips.
const DRAWS: usize = 4999;

/// Draws that are made however little time there is: so many rows, in between so many draws.
const LEAST_WORK: usize = 500_000;
const LEAST_DRAWS: (usize, usize) = (19, DRAWS);

/// Numbers in the columns of a baseline whose fits are finished even when the time is over.
const SMALL: usize = 100_000;

/// Starts of the last fits.
const STARTS: usize = 32;

/// Errors are the same if their difference is a share of their squares that the ends of converged fits explain.
const SAME_ERRORS: f64 = 1e-6;

/// The level of significance.
pub const LEVEL: f64 = 0.01;

/// The constant and the linear model over so many inputs.
pub fn baselines(inputs: usize, operations: &Operations) -> Vec<(String, Candidate)> {
    let parameter = |p: usize| Expr::leaf(Node::Param(p as u16));
    let mut line = parameter(0);
    for v in 0..inputs {
        let slope = Expr::apply(Operation::Mul, &[&parameter(v + 1), &Expr::leaf(Node::Var(v as u16))]);
        line = Expr::apply(Operation::Add, &[&line, &slope]);
    }
    let of = |expr: &Expr| Candidate::new(expr, &vec![1.0; expr.parameters()], operations);
    let mut list = vec![("constant".to_string(), of(&parameter(0)))];
    if inputs > 0 {
        list.push(("linear".to_string(), of(&line)));
    }
    list
}

/// Judges a front. None if nothing could be fitted. If the alarm of the thread rings, the rest is judged by what is known
/// already: programs keep the fits of the search, and fewer draws say how probable a difference is.
pub fn judge(
    scorer: &mut Scorer<'_>,
    front: &[Entry],
    own_baselines: &[(String, Candidate)],
    validated: u64,
    seed: u64,
) -> Option<Judgement> {
    let data = scorer.data;
    let mut base = match scorer.general {
        Some(general) => general.baselines(),
        None => baselines(data.inputs.len(), scorer.operations),
    };
    base.extend_from_slice(own_baselines);
    let known = |c: &Candidate| front.iter().find(|e| e.candidate.hash == c.hash).map(|e| &e.score);
    let base: Vec<Judged> = base.iter().filter_map(|(name, c)| judged(scorer, name, c, known(c))).collect();
    let mut all: Vec<Judged> = Vec::new();
    let lowest = (0..front.len()).min_by(|&i, &j| front[i].score.score.total_cmp(&front[j].score.score));
    for (i, entry) in front.iter().enumerate() {
        // The errors of a whole program may take long.
        if scorer.general.is_some() && rings() && lowest != Some(i) {
            continue;
        }
        all.extend(judged(scorer, &format!("front {}", i + 1), &entry.candidate, Some(&entry.score)));
    }
    let best = all.iter().chain(&base).min_by(|a, b| a.entry.score.score.total_cmp(&b.entry.score.score))?.clone();
    let is_sealed = !data.sealed.is_empty();
    // Without sealed rows the best was chosen by the very errors it is judged by: each choice counts.
    let choices = if is_sealed { 1.0 } else { validated.max(1) as f64 };
    let signed = scorer.general.is_some();
    // The same draws for all: programs of the same errors get the same p.
    let compare = |other: &Judged| compare(&best, other, signed, choices, &mut Stream::new(seed, 0x3a1));
    let rivals: Vec<&Judged> = base.iter().filter(|b| !is_one(b, &best)).collect();
    // A baseline that is on the front, too, in whatever form, is compared once.
    let is_baseline = |o: &Judged| base.iter().any(|b| is_one(b, o));
    let is_simpler = |o: &Judged| o.entry.score.nodes < best.entry.score.nodes;
    let simpler: Vec<&Judged> = all.iter().filter(|o| is_simpler(o) && !is_baseline(o)).collect();
    // One family of comparisons: each is corrected for all of them.
    let mut against: Vec<Against> = rivals.iter().chain(&simpler).map(|other| compare(other)).collect();
    holm(&mut against);
    let others = against.split_off(rivals.len());
    let not_distinguishable: Vec<String> = others
        .iter()
        .zip(&simpler)
        .filter(|(a, _)| a.p >= LEVEL)
        .map(|(_, o)| scorer.formula(&o.entry.candidate, &o.entry.score.values))
        .collect();
    let worse = |name: &str| against.iter().find(|a| a.baseline == name).is_none_or(|a| a.p < LEVEL);
    let is = |name: &str| base.iter().any(|b| b.name == name && is_one(b, &best));
    let finding = if is("constant") || !worse("constant") {
        Finding::NoStructure
    } else if is("linear") || !worse("linear") || scorer.general.is_none() && best.entry.candidate.expr.is_affine() {
        // A line with fewer parameters than the full one is a line, too.
        Finding::Linear
    } else if against.iter().all(|a| a.p < LEVEL) && !base.iter().any(|b| is(&b.name)) {
        Finding::Found
    } else {
        Finding::Baseline
    };
    let text = words(scorer, finding, &best, &against, &not_distinguishable, is_sealed);
    Some(Judgement { finding, text, best, baselines: base, against, not_distinguishable })
}

/// Whether two programs are one for a judge: the same hypothesis, or as many parameters and the same errors, so that no
/// number of rows would tell them apart.
fn is_one(a: &Judged, b: &Judged) -> bool {
    let differs = |(x, y): (&f64, &f64)| (x - y) * (x - y);
    let apart: f64 = a.errors.iter().zip(&b.errors).map(differs).sum();
    let size: f64 = a.errors.iter().map(|e| e * e).sum();
    let same_errors = !a.errors.is_empty() && a.errors.len() == b.errors.len() && apart <= SAME_ERRORS * size;
    a.entry.candidate.hash == b.entry.candidate.hash || same_errors && a.entry.score.rank == b.entry.score.rank
}

fn judged(scorer: &mut Scorer<'_>, name: &str, candidate: &Candidate, known: Option<&Score>) -> Option<Judged> {
    let fitted = |scorer: &mut Scorer<'_>, starts| {
        let score = scorer.converge(candidate, starts).ok()?;
        Some(scorer.validate(candidate, &score))
    };
    let found = if rings() { None } else { fitted(scorer, STARTS) };
    // What was stopped has no meaning.
    let score = match (rang(), known) {
        (false, _) => found?,
        (true, Some(score)) => score.clone(),
        (true, None) => unstopped(|| {
            let score = scorer.converge(candidate, 1).ok()?;
            let is_small = scorer.general.is_none() && scorer.data.open.len() * candidate.values.len() <= SMALL;
            Some(if is_small { scorer.validate(candidate, &score) } else { score })
        })?,
    };
    let (errors, sealed) = unstopped(|| scorer.last_errors(candidate, &score.values));
    let candidate = Candidate { values: score.values.clone(), ..candidate.clone() };
    Some(Judged { name: name.into(), entry: Entry { candidate, score }, sealed, errors })
}

/// The paired bootstrap and the sign-flip test of the differences of squares; the larger of both probabilities, so that
/// neither a few rows nor a skew of the differences makes it small.
fn compare(best: &Judged, other: &Judged, signed: bool, choices: f64, stream: &mut Stream) -> Against {
    let square = |e: f64| if signed { e * e.abs() } else { e * e };
    let clamped = |e: f64| if e.is_finite() { square(e).min(1e300) } else { 1e300 };
    let differences: Vec<f64> = other.errors.iter().zip(&best.errors).map(|(o, b)| clamped(*o) - clamped(*b)).collect();
    let n = differences.len().max(1);
    let mean = differences.iter().sum::<f64>() / n as f64;
    let mut means: Vec<f64> = Vec::with_capacity(DRAWS);
    let (mut below, mut flipped) = (0, 0);
    let mut ticks = Ticks::default();
    let least = (LEAST_WORK / n).clamp(LEAST_DRAWS.0, LEAST_DRAWS.1);
    for draw in 0..DRAWS {
        // Fewer draws are a test as well, of which less can be learnt.
        if draw >= least && (rang() || ticks.spend(20 * n)) {
            break;
        }
        let drawn = (0..n).map(|_| differences.get(stream.below(n)).copied().unwrap_or(0.0)).sum::<f64>() / n as f64;
        means.push(drawn);
        below += usize::from(drawn <= 0.0);
        let turned = differences.iter().map(|d| if stream.uniform() < 0.5 { -d } else { *d }).sum::<f64>() / n as f64;
        flipped += usize::from(turned >= mean);
    }
    means.sort_by(f64::total_cmp);
    let draws = means.len();
    let at = |share: f64| means[((draws - 1) as f64 * share) as usize];
    let drawn = (below.max(flipped) + 1) as f64 / (draws + 1) as f64;
    // Draws say no more than "less than 1 in 5000", of which many choices leave nothing.
    // Fewer draws say less, but never more than all of them.
    let least = if choices > 1.0 { 0.0 } else { 1.0 / (DRAWS + 1) as f64 };
    let p = match (choices > 1.0 || draws < DRAWS) && below.max(flipped) == 0 {
        true => drawn.min(far_tail(&differences, mean)).max(least),
        false => drawn,
    };
    Against {
        baseline: other.name.clone(),
        difference: mean,
        interval: (at(0.005), at(0.995)),
        p: (p * choices).min(1.0),
    }
}

/// How probable a mean as large is, where draws find none: the larger of what a t-test and the signs of the differences
/// say, so that neither the size of some differences nor their skew makes it small.
fn far_tail(differences: &[f64], mean: f64) -> f64 {
    let n = differences.len().max(2) as f64;
    let variance = differences.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / (n - 1.0);
    let error = dmci_ops::real::sqrt(variance / n).max(f64::MIN_POSITIVE);
    let wins: f64 = differences.iter().map(|d| if *d > 0.0 { 1.0 } else { f64::from(u8::from(*d == 0.0)) * 0.5 }).sum();
    // Half a row less, as counts are whole.
    let signs = (wins - 0.5 - 0.5 * n) / dmci_ops::real::sqrt(0.25 * n);
    let tail = |z: f64| student_cdf(-z.min(1e6), n - 1.0);
    tail(mean / error).max(tail(signs)).max(f64::MIN_POSITIVE)
}

/// Corrects probabilities for their number (Holm 1979).
fn holm(list: &mut [Against]) {
    let mut order: Vec<usize> = (0..list.len()).collect();
    order.sort_by(|&i, &j| list[i].p.total_cmp(&list[j].p));
    let mut least: f64 = 0.0;
    for (rank, i) in order.into_iter().enumerate() {
        let corrected = (list[i].p * (list.len() - rank) as f64).min(1.0);
        least = least.max(corrected);
        list[i].p = least;
    }
}

fn words(
    scorer: &Scorer<'_>,
    finding: Finding,
    best: &Judged,
    against: &[Against],
    not_distinguishable: &[String],
    is_sealed: bool,
) -> String {
    let data = scorer.data;
    let formula = scorer.formula(&best.entry.candidate, &best.entry.score.values);
    let whose = if is_sealed {
        format!("{} sealed rows", data.sealed.len())
    } else {
        "rows outside of each fit (no rows were sealed, so every comparison is corrected for all that were tried)"
            .into()
    };
    let p = |name: &str| {
        against.iter().find(|a| a.baseline == name).map_or(String::new(), |a| format!(" (p = {:.2})", a.p))
    };
    let mut text = match finding {
        Finding::NoStructure => format!(
            "No structure: on {whose}, no program predicts {} better than its mean{}.",
            data.target,
            p("constant")
        ),
        Finding::Linear if best.entry.candidate.expr.is_affine() => {
            format!(
                "Linear: {} = {formula} is better than its mean, and nothing that is no line is better.",
                data.target
            )
        }
        Finding::Linear => format!(
            "Linear: a line predicts {} better than its mean, and nothing more complex is distinguishable from it{}.",
            data.target,
            p("linear")
        ),
        Finding::Baseline => {
            let same: Vec<String> =
                against.iter().filter(|a| a.p >= LEVEL).map(|a| format!("{} (p = {:.2})", a.baseline, a.p)).collect();
            match same.is_empty() {
                true => format!("{formula} is a baseline, and nothing that was found is better."),
                false => format!("{formula} is not distinguishable from {} on {whose}.", same.join(" and ")),
            }
        }
        Finding::Found => {
            let largest = against.iter().map(|a| a.p).fold(0.0, f64::max);
            let beaten: Vec<&str> = against.iter().map(|a| a.baseline.as_str()).collect();
            format!(
                "Found: {} = {formula} is better than {} on {whose} (p <= {largest:.4}).",
                data.target,
                beaten.join(" and ")
            )
        }
    };
    if finding == Finding::Found {
        let squares = best.sealed.or(best.entry.score.validation).unwrap_or(f64::INFINITY);
        if squares <= data.exact {
            text += " It leaves nothing but rounding.";
        } else if !not_distinguishable.is_empty() {
            let shown: Vec<String> = not_distinguishable.iter().take(3).cloned().collect();
            text += &format!(" Not distinguishable from it, and simpler: {}.", shown.join("; "));
        }
    }
    if best.entry.score.is_hard_to_fit() {
        text += " Its fits from different starts disagree: it is hard to fit.";
    }
    text
}
