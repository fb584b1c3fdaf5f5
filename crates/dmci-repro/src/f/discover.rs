//! The loop: a question, the programs in the answer, their fits, and what these leave over as the next question.

use super::{GOOD, Run, adam};
use crate::ask::{Ask, Asked, Question, Reply, Speaker};
use crate::numbers::Real;
use dmci::Report;
use dmci_driver::talk;
use dmci_ops::real::log;
use dmci_search::archive::Entry;
use dmci_search::candidate::Candidate;
use dmci_search::funnel::{Contract, Rejection, Stage, read};
use dmci_search::judge::baselines;
use dmci_search::lower::Lowered;
use dmci_search::prompt::VERSION;
use dmci_search::score::{Score, Scorer};
use dmci_search::search::{Knowledge, Proposer, Told, Work};
use dmci_search::worker::Workshop;
use std::collections::HashSet;
use std::time::Instant;

/// Rounds of the loop.
const ROUNDS: usize = 5;

/// Questions about mistakes after an answer.
const REPAIRS: usize = 2;

/// Programs that a question shows, and that it names as tried.
const SHOWN: usize = 3;

/// Starts of our fitter; if they disagree, the scorer takes more.
const STARTS: usize = 4;

/// Who finds the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fitter {
    /// Least squares with derivatives from several starts, more where these disagree; cross-validated.
    Ours,
    /// The paper's: Adam from one start near 1, drawn from this seed.
    Adam(u64),
}

impl Fitter {
    /// The arm that it belongs to.
    fn arm(self) -> &'static str {
        match self {
            Fitter::Ours => "model, our fitter",
            Fitter::Adam(_) => "model, single-start Adam",
        }
    }

    /// Fits a candidate to the open rows. `text` is the program as it was proposed: Adam depends on how its parameters
    /// enter, which the canonical form of a candidate changes.
    pub fn fit(
        self,
        workshop: &Workshop,
        scorer: &mut Scorer<'_>,
        candidate: &Candidate,
        text: &str,
    ) -> Result<Entry, Rejection> {
        let score = scorer.converge(candidate, STARTS)?;
        let Fitter::Adam(seed) = self else {
            let work = Work::Validate {
                island: 0,
                proposer: Proposer::Model,
                entries: vec![(candidate.clone(), score.clone())],
            };
            let found = match workshop.run(&work, scorer) {
                Told::Validated(mut list) => list.pop(),
                _ => None,
            };
            return Ok(Entry { candidate: candidate.clone(), score: found.unwrap_or(score) });
        };
        let failed = |why: Report| Rejection::of(Stage::Runs, &why);
        let (error, fitted) = adam(workshop, text, seed).map_err(failed)?;
        let names = &workshop.data.inputs;
        let contract = Contract { inputs: names, operations: &workshop.operations, size: workshop.size };
        let candidate = read(&fitted, &contract)?;
        // What a single start that came to rest can know about itself.
        let (n, nodes) = (workshop.data.open.len() as f64, score.nodes as f64);
        let length = n / 2.0 * log(error.max(1e-14 * workshop.data.variance)) + nodes * scorer.node_cost();
        let score = Score {
            values: candidate.values.clone(),
            loss: error,
            validation: Some(error),
            score: length,
            starts: (1, 1),
            distinct: 1,
            converged: error.is_finite(),
            ..score
        };
        Ok(Entry { candidate, score })
    }
}

/// The mean squared error on the rows that nobody saw.
pub fn sealed(workshop: &Workshop, scorer: &mut Scorer<'_>, entry: &Entry) -> f64 {
    let model = Lowered::new(&entry.candidate.expr, workshop.data.inputs.len());
    let errors = scorer.errors(&model, &workshop.data.sealed, &entry.score.values);
    crate::numbers::mean(errors.iter().map(|e| e * e))
}

/// The problem in words, with some of its rows.
fn about(workshop: &Workshop) -> String {
    let open = &workshop.data.open;
    let mut text = "Measurements of y at 64 places x, with noise of about 0.02. Find a law that predicts y from x. \
                    Some of the rows, x and y:\n\n"
        .to_string();
    for (x, y) in open.columns[0].iter().zip(&open.target).step_by(3) {
        text += &format!("    {x:.3}  {y:.3}\n");
    }
    text
}

/// What one answer brought.
#[derive(Default)]
struct Brought {
    candidates: Vec<(Candidate, String)>,
    rejects: Vec<(String, Rejection)>,
}

/// Runs the loop on one problem.
pub fn run(target: &str, seed: u64, workshop: &Workshop, fitter: Fitter, ask: Ask<'_>) -> Result<Run, Report> {
    let began = Instant::now();
    let mut scorer = workshop.scorer();
    let names = &workshop.data.inputs;
    let briefing = talk::briefing(Some(&about(workshop)), false, workshop);
    let contract = Contract { inputs: names, operations: &workshop.operations, size: workshop.size };
    let (mut asked, mut stopped) = (Asked::default(), None);
    let (mut entries, mut rejects): (Vec<Entry>, Vec<(String, Rejection)>) = Default::default();
    let mut seen = HashSet::new();
    for (_, candidate) in baselines(names.len(), &workshop.operations) {
        seen.insert(candidate.hash);
        entries.extend(Fitter::Ours.fit(workshop, &mut scorer, &candidate, ""));
    }
    let base = entries.len();
    let (mut rounds, mut refused) = (0, 0);
    let error = |e: &Entry| e.score.validation.unwrap_or(f64::INFINITY);
    for round in 0..ROUNDS {
        let mut order: Vec<&Entry> = entries.iter().collect();
        order.sort_by(|a, b| a.score.score.total_cmp(&b.score.score));
        let (best, rest) = order.split_at(SHOWN.min(order.len()));
        let list = |entries: &[&Entry]| entries.iter().map(|e| (*e).clone()).collect::<Vec<Entry>>();
        let known = Knowledge {
            parents: list(best),
            tried: list(&rest[..rest.len().min(4 * SHOWN)]),
            rejects: std::mem::take(&mut rejects),
        };
        let context = talk::context(workshop, &known, names);
        let question = Question {
            // Before the first fit, both loops ask the same.
            id: format!(
                "{target}/{seed}/{}",
                if round == 0 { "first".into() } else { format!("{}/{round}", tag(fitter)) }
            ),
            prompt_version: VERSION.into(),
            messages: vec![(Speaker::System, briefing.system()), (Speaker::User, briefing.round(&context))],
            inputs: names.clone(),
            parents: context.parents.iter().map(|p| p.program.clone()).collect(),
        };
        let mend = |wrong: &[(String, Rejection)]| briefing.repair(wrong);
        let brought = match consult(ask, question, &contract, &mend, &mut asked) {
            Ok(brought) => brought,
            Err(why) => {
                stopped = Some(why);
                break;
            }
        };
        rounds += 1;
        refused += brought.rejects.len();
        rejects = brought.rejects;
        for (candidate, text) in brought.candidates {
            if seen.insert(candidate.hash) {
                match fitter.fit(workshop, &mut scorer, &candidate, &text) {
                    Ok(entry) => entries.push(entry),
                    Err(why) => {
                        refused += 1;
                        rejects.push((text, why));
                    }
                }
            }
        }
        if entries.iter().skip(base).any(|e| error(e) < GOOD) {
            break;
        }
    }
    let best = entries.iter().min_by(|a, b| a.score.score.total_cmp(&b.score.score));
    let sealed = best.map_or(f64::INFINITY, |e| sealed(workshop, &mut scorer, e));
    Ok(Run {
        arm: fitter.arm().into(),
        target: target.into(),
        seed,
        program: best.map_or(String::new(), |e| workshop.program(&e.candidate, &e.score.values)),
        sealed: Real(sealed),
        selected: Real(best.map_or(f64::INFINITY, error)),
        rounds,
        fitted: (entries.len() - base) as u64,
        rejected: refused,
        asked,
        stopped,
        seconds: began.elapsed().as_secs_f64(),
    })
}

fn tag(fitter: Fitter) -> &'static str {
    match fitter {
        Fitter::Ours => "ours",
        Fitter::Adam(_) => "adam",
    }
}

/// What asks for better programs in the place of those that were rejected.
type Repair<'a> = dyn Fn(&[(String, Rejection)]) -> String + 'a;

/// One question with its repairs.
fn consult(
    ask: Ask<'_>,
    mut question: Question,
    contract: &Contract<'_>,
    repair: &Repair<'_>,
    asked: &mut Asked,
) -> Result<Brought, String> {
    let mut brought = Brought::default();
    let id = question.id.clone();
    for attempt in 0..=REPAIRS {
        if attempt > 0 {
            question.id = format!("{id}/repair {attempt}");
        }
        let reply: Reply = match ask(&question) {
            Ok(reply) => reply,
            // Repairs are a courtesy: without an answer to one, what was right stays.
            Err(_) if attempt > 0 => break,
            Err(why) => return Err(why),
        };
        asked.add(&reply, attempt > 0);
        let mut wrong = Vec::new();
        for program in &reply.programs {
            match read(program, contract) {
                Ok(candidate) => brought.candidates.push((candidate, program.clone())),
                Err(why) => wrong.push((program.clone(), why)),
            }
        }
        if wrong.is_empty() {
            break;
        }
        let next = repair(&wrong);
        brought.rejects.extend(wrong);
        question.messages.push((Speaker::Model, reply.text));
        question.messages.push((Speaker::User, next));
    }
    Ok(brought)
}
