//! Answers after the habits of language models: every program in them is found, and nothing else.
//!
//! `answers.txt` has cases: `@@@ name | habit | inputs`, parents after `@@<`, the answer, the programs that it holds
//! after `@@>`, and parts of the problems after `@@?`.

use dmci_llm::answer::{Form, Hints, read};
use std::collections::BTreeMap;

struct Case<'a> {
    name: &'a str,
    habit: &'a str,
    inputs: Vec<String>,
    parents: Vec<String>,
    answer: String,
    programs: Vec<String>,
    problems: Vec<&'a str>,
}

fn words(text: &str) -> String {
    text.replace('(', " ( ").replace(')', " ) ").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cases(text: &str) -> Vec<Case<'_>> {
    let mut list: Vec<Case<'_>> = Vec::new();
    for line in text.lines() {
        if let Some(head) = line.strip_prefix("@@@ ") {
            let mut parts = head.split('|').map(str::trim);
            let (name, habit) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
            let inputs = parts.next().unwrap_or("x").split_whitespace().map(str::to_string).collect();
            let (parents, programs, problems) = (Vec::new(), Vec::new(), Vec::new());
            list.push(Case { name, habit, inputs, parents, answer: String::new(), programs, problems });
            continue;
        }
        let Some(case) = list.last_mut() else { continue };
        if let Some(parent) = line.strip_prefix("@@< ") {
            case.parents.push(parent.to_string());
        } else if let Some(program) = line.strip_prefix("@@> ") {
            case.programs.push(words(program));
        } else if let Some(problem) = line.strip_prefix("@@? ") {
            case.problems.push(problem);
        } else {
            case.answer.push_str(line);
            case.answer.push('\n');
        }
    }
    list
}

#[test]
fn every_program_of_the_corpus_is_found() {
    let cases = cases(include_str!("answers.txt"));
    let mut habits: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for case in &cases {
        *habits.entry(case.habit).or_default() += 1;
        let reading = read(&case.answer, &Hints { inputs: &case.inputs, parents: &case.parents });
        let found: Vec<String> = reading.programs.iter().map(|p| words(&p.program)).collect();
        if found != case.programs {
            wrong.push(format!(
                "{} ({}):\n  expected {:#?}\n  found {found:#?}\n  {:?}",
                case.name, case.habit, case.programs, reading.problems
            ));
        }
        for problem in &case.problems {
            if !reading.problems.iter().any(|p| p.contains(problem)) {
                wrong.push(format!("{}: no problem has {problem:?}: {:?}", case.name, reading.problems));
            }
        }
        if case.programs.is_empty() && reading.problems.is_empty() {
            wrong.push(format!("{}: nothing was found and nothing is said", case.name));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    assert!(cases.len() >= 60, "{} cases", cases.len());
    assert!(habits.len() >= 9 && habits.values().all(|n| *n >= 3), "{habits:?}");
}

/// An answer of a language model as it came, with what its prompt asked for.
struct Raw {
    name: String,
    inputs: Vec<String>,
    count: usize,
    text: String,
    /// The programs, taken out by another reader (`scripts/raw-answers.py`); none where they are to be translated.
    programs: Option<Vec<String>>,
}

fn raw() -> Vec<Raw> {
    let list = |value: &serde_json::Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(|t| t.as_str()).map(str::to_string).collect()
    };
    let lines = include_str!("answers-raw.jsonl").lines();
    let values = lines.map(|line| serde_json::from_str::<serde_json::Value>(line).expect("a line is JSON"));
    let one = |v: serde_json::Value| Raw {
        name: v["name"].as_str().expect("a name").to_string(),
        inputs: list(&v["inputs"]),
        count: v["count"].as_u64().expect("a count") as usize,
        text: v["text"].as_str().expect("a text").to_string(),
        programs: v.get("programs").map(list),
    };
    values.map(one).collect()
}

/// Answers of a language model to prompts in ten styles: chat, bare programs, thoughts, lists, JSON, Python, formulas,
/// comments, headings, LaTeX.
#[test]
fn every_program_of_raw_answers_is_found() {
    let answers = raw();
    let (mut wrong, mut programs) = (Vec::new(), 0);
    for Raw { name, inputs, count, text, programs: expected } in &answers {
        let reading = read(text, &Hints { inputs, parents: &[] });
        let bare = |line: &str| line.split(';').next().unwrap_or("").to_string();
        let without_comments = |text: &str| text.lines().map(bare).collect::<Vec<_>>().join("\n");
        let found: Vec<String> = reading.programs.iter().map(|p| words(&without_comments(&p.program))).collect();
        programs += found.len();
        let same = match expected {
            Some(list) => list.iter().map(|p| words(p)).eq(found.iter().cloned()),
            None => reading.programs.iter().all(|p| p.form == Form::Translated && p.program.starts_with("(params (")),
        };
        if found.len() != *count || !same {
            wrong.push(format!("{name}: {count} wanted, {expected:#?}\n  found {found:#?}\n  {:?}", reading.problems));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), answers.len(), wrong.join("\n"));
    assert!(answers.len() >= 60 && programs >= 120, "{} answers, {programs} programs", answers.len());
}

/// Cut anywhere, with anything in between: no panic, and no program that is not whole.
#[test]
fn damaged_answers_do_no_harm() {
    let text = include_str!("answers.txt");
    let cases = cases(text);
    for case in &cases {
        let hints = Hints { inputs: &case.inputs, parents: &case.parents };
        let step = (case.answer.len() / 40).max(1);
        for at in (0..case.answer.len()).step_by(step) {
            let cut = &case.answer[..case.answer.floor_char_boundary(at)];
            for program in read(cut, &hints).programs {
                let count = |c| program.program.matches(c).count();
                if !program.program.contains(['"', ';']) {
                    assert_eq!(count('('), count(')'), "{}: {}", case.name, program.program);
                }
            }
        }
    }
    let deep = "(".repeat(100_000);
    for text in [
        deep.as_str(),
        &format!("y = {deep}"),
        &format!("```python\ny = {}x\n```", "-".repeat(50_000)),
        "\"",
        "#\\",
        "(\"\\",
    ] {
        let _ = read(text, &Hints::default());
    }
}
