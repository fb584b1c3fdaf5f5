//! Answers after the habits of language models: every program in them is found, and nothing else.
//!
//! `answers.txt` has cases: `@@@ name | habit | inputs`, parents after `@@<`, the answer, the programs that it holds
//! after `@@>`, and parts of the problems after `@@?`.

use dmci_llm::answer::{Hints, read};
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
