//! What a language model is told: files with a version, filled in from the tables of operations and from a search.

use crate::funnel::Rejection;
use crate::operation::{Operation, Operations};
use serde_json::{Value as Json, json};
use std::fmt::Write as _;

/// The version of the prompts: recorded with every answer. It changes whenever a file in `prompts` does.
pub const VERSION: &str = "dmci-prompt-1";

const CARD: &str = include_str!("../prompts/card.md");
const SYSTEM: &str = include_str!("../prompts/system.md");
const ROUND: &str = include_str!("../prompts/round.md");
const REPAIR: &str = include_str!("../prompts/repair.md");

/// A problem as a model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Briefing {
    /// What the data are, in the user's words.
    pub words: String,
    /// The name of the target.
    pub target: String,
    /// The names of the inputs, with their least and largest values.
    pub inputs: Vec<(String, f64, f64)>,
    /// How many rows are fitted.
    pub rows: usize,
    /// The operations that programs may have.
    pub operations: Operations,
    /// The largest program, in nodes.
    pub size: usize,
    /// Programs that are wanted in one answer.
    pub count: usize,
}

impl Default for Briefing {
    /// A problem that nobody has described yet.
    fn default() -> Self {
        Briefing {
            words: String::new(),
            target: "y".into(),
            inputs: vec![("x".into(), 0.0, 1.0)],
            rows: 0,
            operations: Operations::default(),
            size: 30,
            count: 5,
        }
    }
}

/// A program with what is known about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// Its text, with fitted numbers.
    pub program: String,
    /// Its description length: less is better.
    pub score: f64,
    /// The root of its mean squared error on rows outside of the fit.
    pub error: f64,
    /// Its nodes.
    pub nodes: usize,
}

/// What a search knows when it asks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// Programs to improve, the best first, and others that differ from them.
    pub parents: Vec<Known>,
    /// What the residuals of the best one still know.
    pub residuals: Option<String>,
    /// Programs that were tried and are not worth another try.
    pub tried: Vec<Known>,
    /// Programs that were none, and why.
    pub rejects: Vec<(String, Rejection)>,
}

fn fill(template: &str, slots: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    // What is filled in is never read as a template.
    while let Some(at) = rest.find("{{") {
        out.push_str(&rest[..at]);
        let end = rest[at..].find("}}").map_or(rest.len(), |n| at + n + 2);
        let name = rest[at..end].trim_matches(['{', '}']);
        out.push_str(slots.iter().find(|(slot, _)| *slot == name).map_or("", |(_, text)| text));
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

fn names<'a>(list: impl Iterator<Item = &'a Operation>) -> String {
    list.map(|o| format!("`{}`", o.name())).collect::<Vec<_>>().join(" ")
}

impl Briefing {
    /// The same problem with names that say nothing: a model that knows the names may recite what it has read.
    pub fn anonymous(mut self) -> Briefing {
        self.words = "Find a law for the data. Names are anonymous.".into();
        self.target = "y".into();
        for (i, input) in self.inputs.iter_mut().enumerate() {
            input.0 = format!("x{}", i + 1);
        }
        self
    }

    /// The names of the inputs.
    pub fn names(&self) -> Vec<String> {
        self.inputs.iter().map(|i| i.0.clone()).collect()
    }

    /// The language card: one page, from the table of operations.
    pub fn card(&self) -> String {
        let list = &self.operations.list;
        let folds: Vec<Operation> = list.iter().copied().filter(|o| o.folds()).collect();
        let size = self.size.to_string();
        let first = self.inputs.first().map_or("x", |i| i.0.as_str());
        let inputs: Vec<String> = self.inputs.iter().map(|i| format!("`{}`", i.0)).collect();
        fill(
            CARD,
            &[
                ("first", first),
                ("binary", &names(list.iter().filter(|o| o.arity() == 2))),
                ("unary", &names(list.iter().filter(|o| o.arity() == 1))),
                ("folds", &names(folds.iter())),
                ("inputs", &inputs.join(", ")),
                ("size", &size),
            ],
        )
    }

    /// The rules of the conversation: the card and the contract.
    pub fn system(&self) -> String {
        fill(SYSTEM, &[("card", &self.card()), ("count", &self.count.to_string())])
    }

    /// A question of a search.
    pub fn round(&self, context: &Context) -> String {
        let mut ranges = String::new();
        for (name, low, high) in &self.inputs {
            let _ = writeln!(ranges, "- {name}, from {low:.6} to {high:.6}");
        }
        let _ = write!(ranges, "\nThere are {} rows.", self.rows);
        let section = |title: &str, text: String| if text.is_empty() { text } else { format!("# {title}\n\n{text}\n") };
        let shown = |list: &[Known]| {
            let lines = list.iter().map(|k| {
                format!(
                    "score {:.2}, error {:.4e}, {} nodes:\n```scheme\n{}\n```\n",
                    k.score, k.error, k.nodes, k.program
                )
            });
            lines.collect::<String>()
        };
        let tried: String =
            context.tried.iter().map(|k| format!("- score {:.2}: {}\n", k.score, one_line(&k.program))).collect();
        fill(
            ROUND,
            &[
                ("problem", &self.words),
                ("target", &self.target),
                ("ranges", &ranges),
                ("parents", &section("The best programs so far (less is better)", shown(&context.parents))),
                ("residuals", &section("What the best one leaves over", context.residuals.clone().unwrap_or_default())),
                ("tried", &section("Already tried: do not propose them again", tried)),
                ("rejects", &section("Rejected, with reasons", rejected(&context.rejects))),
                ("count", &self.count.to_string()),
            ],
        )
    }

    /// A question about programs that were none.
    pub fn repair(&self, rejects: &[(String, Rejection)]) -> String {
        fill(REPAIR, &[("rejects", &rejected(rejects))])
    }

    /// A grammar in GBNF for servers that constrain output: bodies of bounded depth, whose parameters c1 to c6 are declared
    /// by whoever reads the answer.
    pub fn gbnf(&self, depth: usize) -> String {
        let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        let mut out = String::new();
        let _ = writeln!(out, "root ::= form{depth}");
        for level in (1..=depth).rev() {
            let operand = if level == 1 { "leaf".to_string() } else { format!("part{}", level - 1) };
            let rules: Vec<String> = self
                .operations
                .list
                .iter()
                .map(|o| {
                    let operands = format!(" \" \" {operand}").repeat(o.arity());
                    format!("{}{operands} \")\"", quoted(&format!("({}", o.name())))
                })
                .collect();
            let _ = writeln!(out, "form{level} ::= {}", rules.join(" | "));
            if level < depth {
                let _ = writeln!(out, "part{level} ::= leaf | form{level}");
            }
        }
        let inputs: Vec<String> = self.inputs.iter().map(|i| quoted(&i.0)).collect();
        let _ = writeln!(out, "leaf ::= {} | \"c\" [1-6] | [1-3]", inputs.join(" | "));
        out
    }

    /// A JSON schema for servers that constrain output.
    pub fn json_schema(&self) -> Json {
        json!({
            "type": "object",
            "properties": {
                "programs": {
                    "type": "array",
                    "items": {"type": "string", "description": "(params (a free 1.0) ...) and one expression"},
                    "minItems": 1,
                    "maxItems": self.count.max(1),
                },
            },
            "required": ["programs"],
            "additionalProperties": false,
        })
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn rejected(list: &[(String, Rejection)]) -> String {
    let mut out = String::new();
    for (program, why) in list {
        let place = json!({"stage": why.stage.name(), "code": why.code, "place": why.place, "message": why.message, "hint": why.hint});
        let _ = writeln!(out, "- {}\n  {place}", one_line(program));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::funnel::{Contract, Stage, read};
    use dmci_stats::random::Stream;

    fn briefing() -> Briefing {
        Briefing {
            words: "A cell loses capacity.".into(),
            target: "capacity".into(),
            inputs: vec![("cycle".into(), 1.0, 500.0), ("rate".into(), 0.5, 2.0)],
            rows: 80,
            operations: Operations::default(),
            size: 30,
            count: 4,
        }
    }

    #[test]
    fn the_card_is_one_page_and_names_every_operation() {
        let card = briefing().card();
        assert!(card.lines().count() < 60 && card.len() < 4000, "{}", card.len());
        for operation in &Operations::default().list {
            assert!(card.contains(&format!("`{}`", operation.name())), "{}", operation.name());
        }
        assert!(
            card.contains("`cycle`, `rate`") && card.contains("at most 30 nodes") && !card.contains("{{"),
            "{card}"
        );
        // Its example is a candidate.
        let example: Vec<&str> = card.lines().filter_map(|l| l.strip_prefix("    ")).take(2).collect();
        let inputs = briefing().names();
        let contract = Contract { inputs: &inputs, operations: &Operations::default(), size: 30 };
        assert!(read(&example.join("\n"), &contract).is_ok(), "{example:?}");
    }

    #[test]
    fn a_question_has_what_the_search_knows() {
        let known = |program: &str| Known { program: program.into(), score: -12.5, error: 0.01, nodes: 4 };
        let why = Rejection::new(Stage::Names, "z is not a column", "columns are cycle, rate");
        let context = Context {
            parents: vec![known("(params (a free 2.0))\n(* a {{count}})")],
            residuals: Some("verdict: structure failure: x\n".into()),
            tried: vec![known("(exp\n cycle)")],
            rejects: vec![("(* z 2)".into(), why)],
        };
        let text = briefing().round(&context);
        for part in [
            "A cell loses",
            "(* a {{count}})",
            "structure failure",
            "- score -12.50: (exp cycle)",
            "\"stage\":\"names\"",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let bare = briefing().anonymous().round(&Context::default());
        assert!(!bare.contains("cycle") && !bare.contains("# Already") && bare.contains("x1, from 1"), "{bare}");
        assert!(briefing().system().contains("Answer with 4 different programs"));
        assert!(briefing().repair(&context.rejects).contains("columns are cycle"));
    }

    /// Draws a text of a grammar: rules, alternatives, quoted texts and one range of characters.
    fn draw(grammar: &str, rule: &str, stream: &mut Stream, out: &mut String) {
        let start = format!("{rule} ::= ");
        let body = grammar.lines().find_map(|l| l.strip_prefix(&start)).expect("the rule is there");
        let alternatives: Vec<&str> = body.split(" | ").collect();
        let mut rest = alternatives[stream.below(alternatives.len())].trim();
        while !rest.is_empty() {
            if let Some(quoted) = rest.strip_prefix('"') {
                let end = quoted.find('"').expect("it is closed");
                out.push_str(&quoted[..end]);
                rest = quoted[end + 1..].trim_start();
            } else if let Some(range) = rest.strip_prefix('[') {
                let last = range.as_bytes()[2] - b'0';
                out.push_str(&(1 + stream.below(last as usize)).to_string());
                rest = range[range.find(']').expect("it is closed") + 1..].trim_start();
            } else {
                let end = rest.find(' ').unwrap_or(rest.len());
                draw(grammar, &rest[..end], stream, out);
                rest = rest[end..].trim_start();
            }
        }
    }

    #[test]
    fn constrained_answers_pass_the_reader() {
        let briefing = Briefing { size: 60, ..briefing() };
        let grammar = briefing.gbnf(4);
        let inputs = briefing.names();
        let contract = Contract { inputs: &inputs, operations: &briefing.operations, size: 60 };
        let mut stream = Stream::new(5, 5);
        let mut right = 0;
        for _ in 0..200 {
            let mut body = String::new();
            draw(&grammar, "root", &mut stream, &mut body);
            let parameters: String =
                (1..=6).filter(|i| body.contains(&format!("c{i}"))).map(|i| format!("(c{i} free 1.0) ")).collect();
            let text = if parameters.is_empty() { body } else { format!("(params {parameters}) {body}") };
            right += u32::from(read(&text, &contract).is_ok());
        }
        assert!(right >= 190, "{right} of 200 pass");
        let schema = briefing.json_schema();
        assert_eq!(schema["properties"]["programs"]["maxItems"], 4);
    }
}
