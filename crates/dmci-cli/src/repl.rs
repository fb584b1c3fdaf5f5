//! `dmci repl`.

mod editor;

use crate::args::Repl;
use crate::{options, output, run};
use dmci::{Cancel, Interpreter, Session};
use std::io::{BufRead, IsTerminal};

/// What the next entry comes from.
trait Input {
    /// The next complete entry; `None` at the end.
    fn next(&mut self, session: &mut Session) -> Option<String>;
}

/// Evaluates entries until the end of input.
pub fn repl(args: &Repl) -> u8 {
    let options = match options::run_options(&args.options) {
        Ok(options) => options,
        Err(report) => return output::fail(&report, false),
    };
    let cancel = options.cancel.clone();
    let mut session = match Session::new(Interpreter::shared(), options) {
        Ok(session) => session,
        Err(report) => return output::fail(&report, false),
    };
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let editor = if terminal { editor::Editor::new(!args.no_history) } else { None };
    let mut input: Box<dyn Input> = match editor {
        Some(editor) => {
            output::print_line(concat!("dmci ", env!("CARGO_PKG_VERSION"), "   :help for help, Ctrl-D to leave"));
            Box::new(editor)
        }
        None => Box::new(Lines),
    };
    options::stop_on_interrupt(&cancel);
    while let Some(entry) = input.next(&mut session) {
        let entry = entry.trim();
        if let Some(command) = entry.strip_prefix(':') {
            if obey(command, &mut session, &cancel) == Next::Quit {
                break;
            }
        } else if matches!(entry, "exit" | "quit" | "(exit)" | "(quit)") {
            break;
        } else if !entry.is_empty() {
            evaluate(&mut session, &cancel, entry);
        }
    }
    0
}

fn evaluate(session: &mut Session, cancel: &Cancel, entry: &str) {
    cancel.reset();
    match session.evaluate(entry) {
        Ok(outcome) => {
            run::print_outcome(&outcome);
        }
        Err(failure) => {
            output::print(&run::with_newline(&failure.output));
            output::print_report(&failure);
        }
    }
}

#[derive(PartialEq)]
enum Next {
    Entry,
    Quit,
}

const HELP: &str = "\
:help          this text
:quit          leave (so do exit and Ctrl-D)
:mode          the mode that entries are evaluated in
:mode MODE     change it: direct, dmci or tower:N; definitions stay
:explain CODE  what an error code means
:load FILE     evaluate a file
:doc NAME      what a procedure does
:grad F X ...  the derivatives of the procedure F at X ...
Anything else is Scheme. An entry goes on until its parentheses are closed. Ctrl-C stops an
evaluation or drops what was typed; Tab completes names.
";

fn obey(command: &str, session: &mut Session, cancel: &Cancel) -> Next {
    if let Some(("grad", form)) = command.split_once(' ') {
        let form = form.trim();
        let (f, places) = form.split_at(first_form(form));
        evaluate(session, cancel, &format!("((grad {f}) {places})"));
        return Next::Entry;
    }
    let mut words = command.split_whitespace();
    match (words.next(), words.next(), words.next()) {
        (Some("quit" | "q" | "exit"), None, _) => return Next::Quit,
        (Some("help" | "h" | "?"), None, _) => output::print(HELP),
        (Some("mode"), None, _) => output::print_line(&session.mode().to_string()),
        (Some("mode"), Some(name), None) => {
            if let Err(report) = options::mode(name).and_then(|mode| session.set_mode(mode)) {
                output::print_report(&report);
            }
        }
        (Some("explain"), Some(code), None) => {
            let code = code.to_string();
            crate::explain::explain(&crate::args::Explain { code: Some(code), list: false, json: false });
        }
        (Some("load"), Some(file), None) => match crate::source::load_program(std::path::Path::new(file)) {
            Ok(source) => evaluate(session, cancel, &source.program().text),
            Err(report) => output::print_report(&report),
        },
        (Some("doc"), Some(name), None) => match documented(name) {
            Some(text) => output::print(&text),
            None => {
                let message = format!("nothing is written about {name}");
                output::print_report(&output::usage_error(message, "docs/reference.md has all procedures"));
            }
        },
        _ => {
            let message = format!("there is no command :{command}");
            output::print_report(&output::usage_error(message, "the entry :help lists the commands"));
        }
    }
    Next::Entry
}

/// Where the first form of a text ends.
fn first_form(text: &str) -> usize {
    let (mut depth, mut ends) = (0_usize, text.len());
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (c == ')' || c.is_whitespace()) {
            ends = i + usize::from(c == ')');
            break;
        }
    }
    ends
}

/// What the reference says about a name: the rows of its tables that begin with it.
fn documented(name: &str) -> Option<String> {
    const REFERENCE: &str = include_str!("../reference.md");
    let is_about = |form: &str| {
        let form = form.trim_matches(['(', ')']);
        form.split([' ', ')']).next() == Some(name)
    };
    let row = |line: &str| {
        let (cell, text) = line.strip_prefix("| ")?.split_once(" | ")?;
        let forms = cell.split('`').skip(1).step_by(2);
        let found = forms.clone().any(is_about);
        let text = text.trim_end_matches([' ', '|']).replace('`', "");
        found.then(|| format!("{}\n  {text}\n", forms.collect::<Vec<_>>().join(", ")))
    };
    let text: String = REFERENCE.lines().filter_map(row).collect();
    (!text.is_empty()).then_some(text)
}

/// Whether an entry goes on. Commands never do.
fn goes_on(text: &str) -> bool {
    !text.trim_start().starts_with(':') && Session::is_incomplete(text)
}

/// Lines of standard input, without a prompt.
struct Lines;

impl Input for Lines {
    fn next(&mut self, _: &mut Session) -> Option<String> {
        let mut entry = String::new();
        loop {
            let mut line = Vec::new();
            let count = std::io::stdin().lock().read_until(b'\n', &mut line).unwrap_or(0);
            if count == 0 {
                return (!entry.trim().is_empty()).then_some(entry);
            }
            entry.push_str(&String::from_utf8_lossy(&line));
            if !goes_on(&entry) {
                return Some(entry);
            }
        }
    }
}
