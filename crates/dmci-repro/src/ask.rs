//! Questions of experiments to a language model. Whoever runs an experiment answers them: from a record, or by asking.

use dmci::{Diagnostic, Report};
use serde::{Deserialize, Serialize};

/// Who says something in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The rules.
    System,
    /// The experiment.
    User,
    /// The model, earlier.
    Model,
}

/// A question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Question {
    /// Where in the experiment it is asked: `F2/0/round 1`. Answers are recorded under this name.
    pub id: String,
    /// The version of the prompt.
    pub prompt_version: String,
    /// The conversation.
    pub messages: Vec<(Speaker, String)>,
    /// The names of the inputs, for whoever finds programs in the answer.
    pub inputs: Vec<String>,
    /// Programs that the answer may edit.
    pub parents: Vec<String>,
}

/// Who answers questions: an answer, or why there is none.
pub type Ask<'a> = &'a (dyn Fn(&Question) -> Result<Reply, String> + Sync);

/// An answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// As it came.
    pub text: String,
    /// The programs in it.
    pub programs: Vec<String>,
    /// Whether the recorded answer was given to this very prompt, word for word.
    pub same_prompt: bool,
    /// What is known about who gave it.
    pub source: Source,
}

/// Where an answer comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// The model's name, if somebody knows it.
    pub model: Option<String>,
    /// Tokens of question and answer, if somebody counted them.
    pub tokens: Option<(u64, u64)>,
    /// Seconds since 1970.
    pub time: u64,
    /// The version of the prompt that was answered.
    pub prompt_version: String,
}

/// What became of the questions of a run or of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Answers.
    pub answers: usize,
    /// Of these, questions about mistakes.
    pub repairs: usize,
    /// Answers that were given to these very prompts, word for word.
    pub same_prompt: usize,
    /// Tokens in and out; none if some answer has no count.
    pub tokens: Option<(u64, u64)>,
    /// The names of models; empty if nobody knows.
    pub models: Vec<String>,
    /// The first and the last day, as `2026-11-18`.
    pub days: Option<(String, String)>,
    /// The versions of the prompts.
    pub prompts: Vec<String>,
}

impl Asked {
    /// Counts an answer.
    pub fn add(&mut self, reply: &Reply, is_repair: bool) {
        let Source { model, tokens, time, prompt_version } = &reply.source;
        let tokens = tokens.filter(|_| self.answers == 0 || self.tokens.is_some());
        self.tokens = tokens.map(|(i, o)| self.tokens.map_or((i, o), |(a, b)| (a + i, b + o)));
        self.answers += 1;
        self.repairs += usize::from(is_repair);
        self.same_prompt += usize::from(reply.same_prompt);
        let day = day(*time);
        self.merge_days(&(day.clone(), day));
        insert(&mut self.models, model.as_deref());
        insert(&mut self.prompts, Some(prompt_version));
    }

    /// Adds the counts of another run.
    pub fn join(&mut self, other: &Asked) {
        if other.answers == 0 {
            return;
        }
        self.tokens = match (self.answers, self.tokens, other.tokens) {
            (0, _, tokens) => tokens,
            (_, Some((a, b)), Some((c, d))) => Some((a + c, b + d)),
            _ => None,
        };
        self.answers += other.answers;
        self.repairs += other.repairs;
        self.same_prompt += other.same_prompt;
        if let Some(days) = &other.days {
            self.merge_days(days);
        }
        other.models.iter().for_each(|m| insert(&mut self.models, Some(m)));
        other.prompts.iter().for_each(|p| insert(&mut self.prompts, Some(p)));
    }

    fn merge_days(&mut self, days: &(String, String)) {
        let (first, last) = self.days.get_or_insert_with(|| days.clone());
        if days.0 < *first {
            first.clone_from(&days.0);
        }
        if days.1 > *last {
            last.clone_from(&days.1);
        }
    }

    /// In words, for the note of a table.
    pub fn text(&self) -> String {
        let known = |list: &[String]| if list.is_empty() { "not known".to_string() } else { list.join(", ") };
        let days = match &self.days {
            Some((first, last)) if first == last => first.clone(),
            Some((first, last)) => format!("{first} to {last}"),
            None => "not known".into(),
        };
        let tokens = self.tokens.map_or("not known".to_string(), |(i, o)| format!("{i} in, {o} out"));
        format!(
            "model: {}; date: {days}; prompts: {}; tokens: {tokens}; {} answers, {} of them repairs, {} given to these very prompts, word for word",
            known(&self.models),
            known(&self.prompts),
            self.answers,
            self.repairs,
            self.same_prompt
        )
    }
}

/// Why a program of an answer is not right, as its author is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault<S> {
    /// Where it failed.
    pub stage: S,
    /// What is wrong.
    pub message: String,
}

/// What the first diagnostic of a report says.
pub fn first_of(report: &Report) -> String {
    report.diagnostics.first().map_or_else(|| "it failed".into(), words_of)
}

/// What a diagnostic says and what to do about it.
pub fn words_of(d: &Diagnostic) -> String {
    let help = d.help.as_ref().map(|h| format!("; {h}")).unwrap_or_default();
    format!("{}: {}{help}", d.code, d.message)
}

/// A program of an answer, mended if need be.
#[derive(Clone, Debug, PartialEq)]
pub struct Mended<S> {
    /// Its last text.
    pub program: String,
    /// The stage at first.
    pub first: S,
    /// The stage after repairs.
    pub last: S,
    /// What was wrong at first, if anything.
    pub message: String,
}

/// Questions about mistakes after an answer.
pub const REPAIRS: usize = 3;

/// The stages of a check: that of a text that is missing, and that of one that is right.
#[derive(Clone, Copy, Debug)]
pub struct Ends<S> {
    /// No program was found.
    pub missing: S,
    /// It passed.
    pub right: S,
}

/// The programs of an answer, each checked, and mended up to three times.
pub fn mended<S: Copy + PartialEq>(
    mut question: Question,
    count: usize,
    ask: Ask<'_>,
    ends: Ends<S>,
    check: &dyn Fn(&str) -> Result<(), Fault<S>>,
) -> (Vec<Mended<S>>, Asked, Option<String>) {
    let judged = |program: Option<&String>| {
        let found = match program {
            None => Err(Fault { stage: ends.missing, message: "no program was found".into() }),
            Some(text) => check(text),
        };
        let (stage, message) = found.map_or_else(|f| (f.stage, f.message), |()| (ends.right, String::new()));
        Mended { program: program.cloned().unwrap_or_default(), first: stage, last: stage, message }
    };
    let mut asked = Asked::default();
    let id = question.id.clone();
    let reply = match ask(&question) {
        Ok(reply) => reply,
        Err(why) => return (Vec::new(), asked, Some(why)),
    };
    asked.add(&reply, false);
    let mut list: Vec<Mended<S>> = (0..count).map(|at| judged(reply.programs.get(at))).collect();
    let mut text = reply.text;
    for attempt in 1..=REPAIRS {
        let faulty: Vec<usize> = (0..list.len()).filter(|&i| list[i].last != ends.right).collect();
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
            let again = judged(Some(program));
            let (first, message) = (list[i].first, list[i].message.clone());
            // What was wrong at first stays in the record; a repair is told what is wrong now.
            let message = if again.last == ends.right { message } else { again.message.clone() };
            list[i] = Mended { first, message, ..again };
        }
        text = reply.text;
    }
    (list, asked, None)
}

fn insert(list: &mut Vec<String>, item: Option<&str>) {
    if let Some(item) = item.filter(|i| !i.is_empty() && !list.iter().any(|known| known == i)) {
        list.push(item.to_string());
    }
}

/// The day of a time: years, months and days of the Gregorian calendar.
fn day(seconds: u64) -> String {
    // Days from the first of March of the year 0: leap days come last in their years.
    let days = seconds / 86_400 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * shifted + 2) / 5 + 1, if shifted < 10 { shifted + 3 } else { shifted - 9 });
    format!("{:04}-{month:02}-{day:02}", year + 400 * era + u64::from(month <= 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(
            [0, 951_782_400, 1_709_251_199, 1_795_046_400].map(day),
            ["1970-01-01", "2000-02-29", "2024-02-29", "2026-11-19"]
        );
    }

    #[test]
    fn tokens_are_known_only_if_all_are() {
        let of = |tokens| Reply { source: Source { tokens, ..Source::default() }, ..Reply::default() };
        let mut all = Asked::default();
        all.add(&of(Some((3, 4))), false);
        assert_eq!(all.tokens, Some((3, 4)));
        all.add(&of(None), true);
        all.add(&of(Some((3, 4))), false);
        assert_eq!((all.tokens, all.answers, all.repairs), (None, 3, 1));
        let mut both = Asked::default();
        both.join(&all);
        assert_eq!(both, all);
    }
}
