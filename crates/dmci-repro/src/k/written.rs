//! Epidemic programs that a language model writes: recipes in words, answers, repairs.

use super::contract::{Stage, check};
use super::data::Seasons;
use super::grammar::{recipe, words};
use crate::ask::{Ask, Asked, Ends, Mended, Question, Speaker, mended};
use dmci::Report;
use dmci_driver::request::wrong;
use dmci_stats::random::Stream;

/// The first message: the data, the contract and the language.
pub const SYSTEM: &str = include_str!("../../prompts/epidemics.md");

/// The version of the prompt.
const VERSION: &str = "dmci-epidemics-1";

/// Questions, and programs for each.
const QUESTIONS: u64 = 11;
const PROGRAMS: usize = 6;

/// A program with the recipe that was asked for.
pub struct Written {
    /// Where it was asked for: `zoo 3, program 2`.
    pub name: String,
    /// The recipe.
    pub recipe: [usize; 5],
    /// The text and its stages.
    pub mended: Mended<Stage>,
}

/// The recipes of a question.
fn recipes(number: u64) -> Vec<[usize; 5]> {
    let mut stream = Stream::new(78, number);
    (0..PROGRAMS).map(|_| recipe(&mut stream)).collect()
}

/// The words of a question.
fn question(number: u64) -> String {
    let list: Vec<String> =
        recipes(number).iter().enumerate().map(|(at, r)| format!("{}. {}.", at + 1, words(r))).collect();
    format!(
        "Write {PROGRAMS} programs, one for each of these recipes, in this order. Keep to the recipe; how it becomes \
         equations is up to you, and programs should differ in more than names.\n\n{}\n",
        list.join("\n")
    )
}

/// The words of all questions.
pub fn all_words() -> String {
    (1..=QUESTIONS).map(question).collect()
}

/// All programs, what became of the questions, and why some have no answer.
pub fn all(ask: Ask<'_>, data: &Seasons, quick: bool) -> Result<(Vec<Written>, Asked, Vec<String>), Report> {
    let numbers = 1..=if quick { 1 } else { QUESTIONS };
    let one = |number: u64| {
        let question = Question {
            id: format!("zoo {number}"),
            prompt_version: VERSION.into(),
            messages: vec![(Speaker::System, SYSTEM.into()), (Speaker::User, question(number))],
            inputs: vec!["obs".into(), "NWEEKS".into()],
            parents: Vec::new(),
        };
        let ends = Ends { missing: Stage::Answer, right: Stage::Right };
        mended(question, PROGRAMS, ask, ends, &|text| check("written", text, data).map(drop))
    };
    let found: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = numbers.clone().map(|number| scope.spawn(move || one(number))).collect();
        let broken = || wrong("a question of experiment K panicked".into(), "report this as a bug of dmci");
        threads.into_iter().map(|thread| thread.join().map_err(|_| broken())).collect::<Result<_, Report>>()
    })?;
    let (mut programs, mut asked, mut unanswered) = (Vec::new(), Asked::default(), Vec::new());
    for (number, (list, counts, why)) in numbers.zip(found) {
        for (at, (mended, recipe)) in list.into_iter().zip(recipes(number)).enumerate() {
            programs.push(Written { name: format!("zoo {number}, program {}", at + 1), recipe, mended });
        }
        asked.join(&counts);
        unanswered.extend(why);
    }
    Ok((programs, asked, unanswered))
}
