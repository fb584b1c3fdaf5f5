//! What goes to the terminal. A reader that has gone away is no error; output that cannot be written is one.

use crate::args::Args;
use crate::waiting;
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use dmci::ErrorCode;
use dmci::{Diagnostic, Report, Spelling};
use serde_json::{Value as Json, json};
use std::io::{BufWriter, ErrorKind as IoErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

/// Why standard output could not be written, for the end of the command.
static LOST: OnceLock<String> = OnceLock::new();

/// Prints text to standard output as it is.
pub fn print(text: &str) {
    print_with(|out| out.write_all(text.as_bytes()));
}

/// Prints to standard output what is written piece by piece.
pub fn print_with(write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) {
    waiting::clear();
    let mut out = BufWriter::new(std::io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != IoErrorKind::BrokenPipe => {
            let _ = LOST.set(error.to_string());
        }
        _ => {}
    }
}

/// The exit code of a command: what was printed must have arrived.
pub fn arrived(code: u8) -> u8 {
    let Some(why) = LOST.get() else { return code };
    let error = Diagnostic::error(ErrorCode::E0901, format!("cannot write to standard output: {why}"));
    print_report(&Report::from(error.help("send it to another file, or make room")));
    code.max(1)
}

/// Prints text to standard output on lines of its own.
pub fn print_line(text: &str) {
    print(&format!("{text}\n"));
}

/// Prints one line to standard error.
pub fn complain(text: &str) {
    waiting::clear();
    let mut err = std::io::stderr().lock();
    let _ = writeln!(err, "{text}");
}

/// Prints one JSON object on a line. It says what it is: `docs/json.md` has all of these names.
pub fn print_json(value: &Json) {
    print_line(&value.to_string());
}

/// Prints one JSON object of a form on a line.
pub fn print_form(form: &str, value: Json) {
    print_json(&of_form(form, value));
}

/// A JSON object with the name and version of its form.
pub fn of_form(form: &str, mut value: Json) -> Json {
    value["schema"] = format!("dmci-{form}-1").into();
    value
}

/// Prints the picture of a report to standard error.
pub fn print_report(report: &Report) {
    let color = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    waiting::clear();
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(report.spelled(Spelling::Flag).render(color).as_bytes());
}

/// A report for machines.
pub fn to_json(report: &Report) -> Json {
    report.spelled(Spelling::Flag).to_json()
}

/// Says that this program has no sampler.
#[cfg(not(feature = "sample"))]
pub fn without_sampler(json: bool) -> u8 {
    let error = dmci::Diagnostic::error(ErrorCode::E0811, "this dmci was built without its sampler");
    let help = "build it with: cargo build --release -p dmci-cli --features sample";
    fail(&Report::from(error.help(help)), json)
}

/// Reports a failure in the chosen form and gives the exit code.
pub fn fail(report: &Report, json: bool) -> u8 {
    if json {
        print_form("error", json!({"error": to_json(report)}));
    } else {
        print_report(report);
    }
    report.exit_code()
}

/// A usage error.
pub fn usage_error(message: impl Into<String>, help: impl Into<String>) -> Report {
    Report::from(Diagnostic::error(ErrorCode::E0910, message).help(help))
}

/// What the parser of the command line has to say: help, version, or a usage error in our form.
pub fn usage(error: &clap::Error) -> u8 {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            print(&error.to_string());
            return 0;
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = std::io::stderr().write_all(error.to_string().as_bytes());
            return 2;
        }
        _ => {}
    }
    let json = std::env::args_os().any(|arg| arg == "--json");
    fail(&usage_report(error), json)
}

/// The parser's message without its frame: the first paragraph, and the tip if there is one.
fn usage_report(error: &clap::Error) -> Report {
    let text = error.to_string();
    let message = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(missing)) if error.kind() == ErrorKind::MissingRequiredArgument => {
            let missing: Vec<String> = missing.iter().map(|m| m.replace(['<', '>'], "").replace('|', " or ")).collect();
            format!("{} needs {}", command(), missing.join(" and "))
        }
        _ => {
            let paragraph = text.split("\n\n").next().unwrap_or(&text);
            let words: Vec<&str> = paragraph.split_whitespace().collect();
            words.join(" ").replacen("error: ", "", 1)
        }
    };
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: ")).map(str::to_string);
    let help = tip.unwrap_or_else(|| format!("{} --help shows what there is, with examples", command()));
    usage_error(message, help)
}

/// The command that is being used, as far as one can tell.
fn command() -> String {
    let commands = Args::command();
    let word = std::env::args_os().nth(1).and_then(|word| word.into_string().ok());
    let word = word.filter(|word| commands.find_subcommand(word).is_some());
    word.map_or("dmci".into(), |word| format!("dmci {word}"))
}
