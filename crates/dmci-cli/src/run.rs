//! `dmci run`.

use crate::args::Run;
use crate::output;
use crate::source::Source;
use crate::{options, output::print_form};
use dmci::{Datum, Diagnostic, ErrorCode, Outcome, Report};
use serde_json::json;

/// Runs a program.
pub fn run(args: &Run) -> u8 {
    match prepare(args) {
        Ok(result) => finish(result, args.json),
        Err(report) => output::fail(&report, args.json),
    }
}

fn prepare(args: &Run) -> Result<Result<Outcome, Report>, Report> {
    let options = options::run_options(&args.options)?;
    let source = Source::of(args.program.file.as_deref(), args.program.expression.as_deref())?;
    options::stop_on_interrupt(&options.cancel);
    Ok(source.run(&options))
}

fn finish(result: Result<Outcome, Report>, json: bool) -> u8 {
    match result {
        Ok(outcome) if json => {
            output::print_with(|out| {
                write!(out, "{{\"output\":{},\"schema\":\"dmci-run-1\",\"value\":", json!(outcome.output))?;
                outcome.value.write_json(out)?;
                out.write_all(b"}\n")
            });
            0
        }
        Ok(outcome) => print_outcome(&outcome),
        Err(failure) if json => {
            print_form("error", json!({"error": output::to_json(&failure), "output": failure.output}));
            failure.exit_code()
        }
        Err(failure) => {
            output::print(&with_newline(&failure.output));
            output::print_report(&failure);
            failure.exit_code()
        }
    }
}

/// Prints output and value, each on lines of its own; the exit code. A value that is cut is an error.
pub fn print_outcome(outcome: &Outcome) -> u8 {
    let value = match outcome.value {
        Datum::Unspecified => String::new(),
        _ => with_newline(&outcome.text),
    };
    output::print(&(with_newline(&outcome.output) + &value));
    if !outcome.cut {
        return 0;
    }
    let message = "the value of the program is too long to print: the text above ends before the value does";
    let error = Diagnostic::error(ErrorCode::E0404, message);
    let report = Report::from(error.help("return a part of it, or print it as JSON with --json"));
    output::print_report(&report);
    report.exit_code()
}

/// The text with a newline at its end, unless it is empty.
pub fn with_newline(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_string() } else { format!("{text}\n") }
}
