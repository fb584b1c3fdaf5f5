//! Wrong programs and wrong command lines, with what the command says about them: the Markdown files
//! in `errors/`. A case is a program (written to `case.scm`), a command (by default
//! `dmci run case.scm`) or both, followed by what it prints and by what it prints with `--json`.
//! `DMCI_BLESS=1 cargo test -p dmci-cli` writes the expectations anew; read them by eye afterwards.
//!
//! Programs are also run in the other modes, which must give the same JSON: the same error at the
//! same place. Only limits may strike elsewhere.

#![allow(clippy::unwrap_used)]

mod support;

use std::path::Path;
use support::{Ran, Workspace, dmci};

/// One case: its title, its blocks by kind, and its exit code.
#[derive(Default, Clone)]
struct Case {
    title: String,
    program: Option<String>,
    command: Option<String>,
    expected: Expected,
}

#[derive(Default, Clone, PartialEq, Debug)]
struct Expected {
    stdout: String,
    stderr: String,
    json: String,
    code: Option<i32>,
}

fn parse(text: &str) -> (String, Vec<Case>) {
    let mut parts = text.split("\n## ");
    let head = parts.next().unwrap_or_default().trim_end().to_string();
    let cases = parts.map(|part| {
        let (title, rest) = part.split_once('\n').unwrap_or((part, ""));
        let mut case = Case { title: title.to_string(), ..Case::default() };
        let mut lines = rest.lines();
        while let Some(line) = lines.next() {
            if let Some(kind) = line.strip_prefix("```") {
                let body: Vec<&str> = lines.by_ref().take_while(|l| *l != "```").collect();
                let body = body.join("\n");
                match kind {
                    "scheme" => case.program = Some(body),
                    "console" => case.command = Some(body),
                    "stdout" => case.expected.stdout = body,
                    "stderr" => case.expected.stderr = body,
                    "json" => case.expected.json = body,
                    _ => panic!("{title}: unknown block {kind}"),
                }
            } else if let Some(code) = line.strip_prefix("exit code ") {
                case.expected.code = code.parse().ok();
            }
        }
        case
    });
    (head, cases.collect())
}

fn print(head: &str, cases: &[Case]) -> String {
    let mut out = format!("{head}\n");
    for case in cases {
        out += &format!("\n## {}\n", case.title);
        let expected = &case.expected;
        let blocks = [
            ("scheme", case.program.as_deref()),
            ("console", case.command.as_deref()),
            ("stdout", Some(expected.stdout.as_str()).filter(|t| !t.is_empty())),
            ("stderr", Some(expected.stderr.as_str()).filter(|t| !t.is_empty())),
            ("json", Some(expected.json.as_str()).filter(|t| !t.is_empty())),
        ];
        for (kind, text) in blocks {
            if let Some(text) = text {
                out += &format!("\n```{kind}\n{text}\n```\n");
            }
        }
        out += &format!("\nexit code {}\n", expected.code.unwrap_or(-1));
    }
    out
}

fn run_case(case: &Case, space: &Workspace) -> (Expected, Vec<String>) {
    let command = case.command.as_deref().unwrap_or("dmci run case.scm");
    if let Some(program) = &case.program {
        space.write("case.scm", program);
    }
    let args = support::split(command);
    let args: Vec<&str> = args.iter().skip(1).map(String::as_str).collect();
    let with = |more: &[&str]| -> Ran {
        let all: Vec<&str> = args.iter().chain(more).copied().collect();
        dmci(&all, "", space.path())
    };
    let text = with(&[]);
    let json = with(&["--json"]);
    let got = Expected {
        stdout: text.stdout.trim_end().to_string(),
        stderr: text.stderr.trim_end().to_string(),
        json: json.stdout.trim_end().to_string(),
        code: Some(text.code),
    };
    let mut problems = Vec::new();
    if json.code != text.code {
        problems.push(format!("exit code {} with --json, {} without", json.code, text.code));
    }
    for word in ["panicked", "RUST_BACKTRACE", "internal error", "E9901"] {
        if got.stderr.contains(word) || got.json.contains(word) {
            problems.push(format!("it says {word:?}"));
        }
    }
    let is_limit = got.json.contains("\"fault\":\"limit\"");
    if case.program.is_some() && !is_limit {
        for mode in ["direct", "tower:2"] {
            let other = with(&["--json", "--mode", mode]);
            if other.stdout != json.stdout || other.code != json.code {
                problems.push(format!("mode {mode} says (exit code {})\n{}", other.code, other.stdout.trim_end()));
            }
        }
    }
    (got, problems)
}

fn run_group(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/errors").join(format!("{name}.md"));
    let text = std::fs::read_to_string(&path).expect("the file of the group");
    let (head, mut cases) = parse(&text);
    assert!(!cases.is_empty());
    let bless = std::env::var_os("DMCI_BLESS").is_some();
    let space = Workspace::new(&format!("errors-{name}"));
    support::fixtures(&space);
    let mut failures = Vec::new();
    for case in &mut cases {
        let (got, problems) = run_case(case, &space);
        if bless {
            case.expected = got;
        } else if case.expected != got {
            failures.push(format!("{}: expected\n{:#?}\ngot\n{got:#?}", case.title, case.expected));
        }
        failures
            .extend(problems.into_iter().map(|problem| format!("{}: {problem}\n{}", case.title, case.expected.json)));
    }
    if bless {
        std::fs::write(&path, print(&head, &cases)).expect("the file can be written");
    }
    assert!(failures.is_empty(), "{} problems in {name}.md\n\n{}", failures.len(), failures.join("\n\n"));
}

macro_rules! groups {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            run_group(stringify!($name));
        })*

        #[test]
        fn every_file_is_a_group() {
            let names = [$(stringify!($name)),*];
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/errors");
            let mut cases = 0;
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                assert!(names.contains(&path.file_stem().unwrap().to_str().unwrap()), "{}", path.display());
                cases += parse(&std::fs::read_to_string(path).unwrap()).1.len();
            }
            assert!(cases >= 60);
        }
    };
}

groups! { syntax forms names types values tensors gradients limits settings files tables fits usage evaluators }
