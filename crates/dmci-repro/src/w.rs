//! Experiment W: programs that a language model writes under one prompt, which gives no example: the models of B, 60
//! programs like those of J, and the five structures of the ENSO study. How many pass, where do the others fail, and are
//! their parameters found?

mod check;
mod show;
mod tasks;

use crate::ask::{Ask, Asked, Question, Speaker};
use crate::j::recovery::Recovery;
use crate::{Experiment, Host, Settings};
use check::Fault;
use dmci::Report;
use dmci_driver::request::wrong;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tasks::Task;

/// Where a program left the funnel, or that it did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// No program was found in the answer.
    Answer,
    /// It is not a program, or names something that is not there.
    Read,
    /// It ends with an error, or its value is no finite number.
    Runs,
    /// Its value is not what was asked for.
    Value,
    /// A derivative is not finite, or all are 0.
    Derivative,
    /// It passed.
    Right,
}

/// A program that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Written {
    /// `B`, `J` or `ENSO`.
    pub set: String,
    /// The question.
    pub name: String,
    /// Its last text.
    pub program: String,
    /// The stage at first.
    pub first: Stage,
    /// The stage after repairs.
    pub last: Stage,
    /// What was wrong at first, if anything.
    pub message: String,
    /// The parameters, found again from data of the program (J).
    pub recovery: Option<Recovery>,
}

/// What experiment W measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct W {
    /// All programs.
    pub programs: Vec<Written>,
    /// What became of the questions.
    pub asked: Asked,
    /// Why questions had no answer.
    pub unanswered: Vec<String>,
}

/// Questions about mistakes after an answer.
const REPAIRS: usize = 3;

impl W {
    /// Runs it.
    pub fn run(settings: &Settings, host: &Host) -> Result<W, Report> {
        let tasks = tasks::all();
        let ask = host.ask;
        let found: Vec<(Vec<Written>, Asked, Option<String>)> = std::thread::scope(|scope| {
            let all: Vec<_> = tasks.iter().map(|task| scope.spawn(move || written(task, ask))).collect();
            let broken = || wrong("a question of experiment W panicked".into(), "report this as a bug of dmci");
            all.into_iter().map(|thread| thread.join().map_err(|_| broken())).collect::<Result<_, Report>>()
        })?;
        let (mut programs, mut asked, mut unanswered) = (Vec::new(), Asked::default(), Vec::new());
        for (list, counts, why) in found {
            programs.extend(list);
            asked.join(&counts);
            unanswered.extend(why);
        }
        let budget = Duration::from_secs(if settings.quick { 2 } else { 30 });
        let fitted = programs.iter_mut().filter(|p| p.set == "J" && p.last == Stage::Right);
        for (number, program) in fitted.take(if settings.quick { 5 } else { usize::MAX }).enumerate() {
            program.recovery = check::recovery(program, number as u64, budget)?;
        }
        Ok(W { programs, asked, unanswered })
    }
}

/// The programs of an answer, each judged, and mended up to three times.
fn written(task: &Task, ask: Ask<'_>) -> (Vec<Written>, Asked, Option<String>) {
    let mut asked = Asked::default();
    let id = format!("{}/{}", task.set, task.name);
    let mut question = Question {
        id: id.clone(),
        prompt_version: tasks::VERSION.into(),
        messages: vec![(Speaker::System, tasks::SYSTEM.into()), (Speaker::User, task.words.clone())],
        inputs: task.inputs.clone(),
        parents: Vec::new(),
    };
    let reply = match ask(&question) {
        Ok(reply) => reply,
        Err(why) => return (Vec::new(), asked, Some(why)),
    };
    asked.add(&reply, false);
    let mut list: Vec<Written> = (0..task.count).map(|at| judged(task, reply.programs.get(at).cloned())).collect();
    let mut text = reply.text;
    for attempt in 1..=REPAIRS {
        let faulty: Vec<usize> = (0..list.len()).filter(|&i| list[i].last != Stage::Right).collect();
        if faulty.is_empty() {
            break;
        }
        let faults: Vec<String> = faulty.iter().map(|&i| format!("- program {}: {}", i + 1, list[i].message)).collect();
        let words = format!(
            "These programs of your answer are not right yet. For each, in this order, write the whole program again in a \
             ```scheme block:\n\n{}\n",
            faults.join("\n")
        );
        question.id = format!("{id}/repair {attempt}");
        question.messages.push((Speaker::Model, text));
        question.messages.push((Speaker::User, words));
        let Ok(reply) = ask(&question) else { break };
        asked.add(&reply, true);
        for (&i, program) in faulty.iter().zip(&reply.programs) {
            let again = judged(task, Some(program.clone()));
            let (first, message) = (list[i].first, list[i].message.clone());
            // What was wrong at first stays in the record; a repair is told what is wrong now.
            let message = if again.last == Stage::Right { message } else { again.message.clone() };
            list[i] = Written { first, message, ..again };
        }
        text = reply.text;
    }
    (list, asked, None)
}

fn judged(task: &Task, program: Option<String>) -> Written {
    let found = match &program {
        None => Err(Fault { stage: Stage::Answer, message: "no program was found".into() }),
        Some(text) => check::check(task, text),
    };
    let (stage, message) = found.map_or_else(|f| (f.stage, f.message), |()| (Stage::Right, String::new()));
    Written {
        set: task.set.into(),
        name: task.name.clone(),
        program: program.unwrap_or_default(),
        first: stage,
        last: stage,
        message,
        recovery: None,
    }
}

impl Experiment for W {
    fn tables(&self) -> Vec<crate::table::Table> {
        show::tables(self)
    }

    fn claims(&self) -> Vec<crate::table::Claim> {
        show::claims(self)
    }

    fn figures(&self) -> Vec<dmci_plot::figure::Figure> {
        Vec::new()
    }

    fn hashes() -> Vec<(String, String)> {
        let words: String = tasks::all().into_iter().map(|t| t.words).collect();
        vec![("the prompt and the questions".into(), dmci_table::hash::of_text(&(tasks::SYSTEM.to_string() + &words)))]
    }
}
