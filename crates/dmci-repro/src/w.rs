//! Experiment W: programs that a language model writes under one prompt, which gives no example: the models of B, 60
//! programs like those of J, and the five structures of the ENSO study. How many pass, where do the others fail, and are
//! their parameters found?

mod check;
mod show;
mod tasks;

use crate::ask::{Ask, Asked, Ends, Mended, Question, Speaker, mended};
use crate::j::recovery::Recovery;
use crate::{Experiment, Host, Settings};
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
    let question = Question {
        id: format!("{}/{}", task.set, task.name),
        prompt_version: tasks::VERSION.into(),
        messages: vec![(Speaker::System, tasks::SYSTEM.into()), (Speaker::User, task.words.clone())],
        inputs: task.inputs.clone(),
        parents: Vec::new(),
    };
    let ends = Ends { missing: Stage::Answer, right: Stage::Right };
    let (list, asked, why) = mended(question, task.count, ask, ends, &|text| check::check(task, text));
    let one = |Mended { program, first, last, message }: Mended<Stage>| Written {
        set: task.set.into(),
        name: task.name.clone(),
        program,
        first,
        last,
        message,
        recovery: None,
    };
    (list.into_iter().map(one).collect(), asked, why)
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
