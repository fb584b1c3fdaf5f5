//! The gradient method: logits of soft choices descend together with the factor, through the engine.

use super::space::{Answer, OPERATORS, Samples, best};
use crate::adam::{TorchAdam, clip};
use crate::torch::Torch;
use dmci::{Batch, Column, Datum, Model, ModelOptions, Program, Report, RunOptions, SoftChoice, Want};
use dmci_ops::real::{exp, log};

/// How the gradient method searches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variant {
    /// For tables.
    pub name: &'static str,
    /// The value is that of the likeliest operators; the derivative stays soft.
    pub hard: bool,
    /// Starts of one restart, searched as one population; the lowest error wins.
    pub members: usize,
    /// Epochs.
    pub epochs: usize,
    /// The temperature at the start and at the end.
    pub temperature: (f64, f64),
    /// How much the entropy of the choices is punished at the end; it grows from nothing.
    pub entropy: f64,
    /// The logarithm of one plus the loss of each sample descends: samples at which some operators are huge do not
    /// outweigh the others.
    pub logarithm: bool,
}

/// The paper's own.
pub const PAPER: Variant = Variant {
    name: "paper's protocol",
    hard: true,
    members: 1,
    epochs: 3000,
    temperature: (1.0, 0.1),
    entropy: 0.0,
    logarithm: false,
};

/// The program for a depth: the template of the paper has depth 2.
pub fn program(depth: usize) -> String {
    let text = include_str!("../../programs/e/template.scm");
    let levels: Vec<String> = (1..depth).map(|k| format!("((soft-choice outer w{k} tau) x ")).collect();
    let nested = format!(
        "(define (f x) (* a {}((soft-choice inner w{depth} tau) x){}))",
        levels.concat(),
        ")".repeat(depth - 1)
    );
    let lines =
        text.lines().map(|line| if line.starts_with("(define (f x)") { nested.clone() } else { line.to_string() });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// The model of a depth.
pub struct Search {
    model: Model,
    batch: Batch,
    depth: usize,
}

impl Search {
    /// The model; `hard` belongs to it because it decides the recording.
    pub fn new(depth: usize, hard: bool) -> Search {
        let soft = SoftChoice { hard, ..SoftChoice::default() };
        let run = RunOptions { soft, ..RunOptions::default() };
        let options = ModelOptions { run, output: false, ..ModelOptions::default() };
        let logits = || Datum::list(vec![Datum::Real(0.0); OPERATORS]);
        let mut parameters = vec![("a".to_string(), Datum::Real(0.0))];
        parameters.extend((1..=depth).map(|k| (format!("w{k}"), logits())));
        let program = Program::named("template.scm", &program(depth));
        let model = Model::with_params(program, parameters, &["x", "y", "slope", "tau"], options);
        Search { model, batch: Batch::default(), depth }
    }

    /// Searches restarts, each with its own samples and seed. Gives what each of them found.
    pub fn run(&mut self, variant: Variant, restarts: &[(Samples, u64)]) -> Result<Vec<Answer>, Report> {
        let n = 1 + OPERATORS * self.depth;
        let rows = restarts.first().map_or(0, |r| r.0.x.len());
        let mut members: Vec<Member> = Vec::new();
        for (_, seed) in restarts {
            let mut torch = Torch::new(*seed);
            members.extend((0..variant.members).map(|_| Member::new(&mut torch, n)));
        }
        let repeated = |of: fn(&Samples) -> &Vec<f64>| {
            let lists = restarts.iter().flat_map(|r| std::iter::repeat_n(of(&r.0), variant.members));
            Column::Reals(lists.flatten().copied().collect())
        };
        let mut columns = [repeated(|s| &s.x), repeated(|s| &s.y), repeated(|s| &s.slope), Column::Reals(Vec::new())];
        let lanes = members.len() * rows;
        let mut points = vec![0.0; lanes * n];
        for epoch in 0..variant.epochs {
            let done = epoch as f64 / (variant.epochs - 1).max(1) as f64;
            let tau = variant.temperature.0 + (variant.temperature.1 - variant.temperature.0) * done;
            columns[3] = Column::Reals(vec![tau; lanes]);
            for (member, points) in members.iter().zip(points.chunks_mut(rows * n)) {
                points.chunks_mut(n).for_each(|p| p.copy_from_slice(&member.point));
            }
            self.model.evaluate_pairs_into(&mut self.batch, &points, &columns, Want::Gradients)?;
            let values = self.batch.values.chunks(rows).zip(self.batch.gradients.chunks(rows * n));
            for (member, (losses, gradients)) in members.iter_mut().zip(values) {
                member.step(losses, gradients, variant.logarithm, variant.entropy * done, tau);
            }
        }
        let groups = members.chunks(variant.members).zip(restarts);
        Ok(groups.map(|(members, (samples, _))| choose(members, samples)).collect())
    }
}

/// The best of what some members found.
fn choose(members: &[Member], samples: &Samples) -> Answer {
    let mut candidates: Vec<Vec<usize>> = members.iter().map(|m| likeliest(&m.point)).collect();
    candidates.sort();
    candidates.dedup();
    let scored = candidates.len();
    // Without a choice the factor is the one that was descended to.
    match &candidates[..] {
        [only] if members.len() == 1 => {
            let error = super::space::score(only, samples).1;
            Answer { operators: only.clone(), factor: members[0].point[0], error, scored: 0 }
        }
        _ => Answer { scored, ..best(candidates, samples) },
    }
}

fn likeliest(point: &[f64]) -> Vec<usize> {
    let first = |w: &[f64]| (0..w.len()).rev().max_by(|&a, &b| w[a].total_cmp(&w[b])).unwrap_or(0);
    point[1..].chunks(OPERATORS).map(first).collect()
}

struct Member {
    point: Vec<f64>,
    factor: TorchAdam,
    logits: TorchAdam,
}

/// Largest loss of one sample.
const MOST: f64 = 1e4;

impl Member {
    fn new(torch: &mut Torch, n: usize) -> Member {
        let mut point = vec![0.0; n];
        point[1..].iter_mut().for_each(|w| *w = 2.0 * torch.normal());
        point[0] = 1.0 + 0.3 * torch.normal();
        let (factor, logits) = (TorchAdam::new(1, 0.05, false), TorchAdam::new(n - 1, 0.2, false));
        Member { point, factor, logits }
    }

    fn step(&mut self, losses: &[f64], gradients: &[f64], logarithm: bool, entropy: f64, tau: f64) {
        let n = self.point.len();
        let mut gradient = vec![0.0; n];
        let mut kept = 0.0;
        for (loss, row) in losses.iter().zip(gradients.chunks(n)) {
            if !loss.is_finite() || row.iter().any(|g| !g.is_finite()) {
                continue;
            }
            kept += 1.0;
            if logarithm {
                gradient.iter_mut().zip(row).for_each(|(sum, g)| *sum += g / (1.0 + loss));
            } else if *loss < MOST {
                gradient.iter_mut().zip(row).for_each(|(sum, g)| *sum += g);
            }
        }
        if kept == 0.0 {
            return;
        }
        gradient.iter_mut().for_each(|g| *g /= kept);
        if entropy > 0.0 {
            let logits = self.point[1..].chunks(OPERATORS).zip(gradient[1..].chunks_mut(OPERATORS));
            logits.for_each(|(w, g)| add_entropy(w, tau, entropy, g));
        }
        clip(&mut gradient, 10.0);
        self.factor.step(&mut self.point[..1], &gradient[..1]);
        self.logits.step(&mut self.point[1..], &gradient[1..]);
    }
}

/// The derivative of the entropy of softmax(w / tau), times a weight.
fn add_entropy(w: &[f64], tau: f64, weight: f64, gradient: &mut [f64]) {
    let most = w.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let shares: Vec<f64> = w.iter().map(|x| exp((x - most) / tau)).collect();
    let sum: f64 = shares.iter().sum();
    let logs: Vec<f64> = shares.iter().map(|s| log((s / sum).max(1e-300))).collect();
    let entropy: f64 = -shares.iter().zip(&logs).map(|(s, l)| s / sum * l).sum::<f64>();
    for ((g, s), l) in gradient.iter_mut().zip(&shares).zip(&logs) {
        *g += weight * -(s / sum) * (l + entropy) / tau;
    }
}
