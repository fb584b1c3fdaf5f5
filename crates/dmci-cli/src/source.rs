//! Programs from files, standard input and the command line.

use crate::files::{cannot_read, standard_input};
use crate::memory;
use dmci::ErrorCode;
use dmci::{Compiled, Diagnostic, Interpreter, Outcome, Program, Report, RunOptions};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Files above this size are surely not programs.
const MAX_BYTES: u64 = 64 << 20;

/// A program as it came: as text, or compiled.
#[derive(Debug)]
pub enum Source {
    Text(Program),
    Compiled(Box<Compiled>),
}

impl Source {
    /// The program of a command: its file or its `-e` text, whichever was given.
    pub fn of(file: Option<&Path>, text: Option<&str>) -> Result<Source, Report> {
        match (file, text) {
            (Some(path), _) => load_program(path),
            (None, text) => Ok(Source::Text(Program::named("<text>", text.unwrap_or_default()))),
        }
    }

    /// Its text.
    pub fn program(&self) -> Program {
        match self {
            Source::Text(program) => program.clone(),
            Source::Compiled(compiled) => compiled.program(),
        }
    }

    /// Runs it.
    pub fn run(&self, options: &RunOptions) -> Result<Outcome, Report> {
        match self {
            Source::Text(program) => Interpreter::shared().run(program, options),
            Source::Compiled(compiled) => Interpreter::shared().run_compiled(compiled, options),
        }
    }
}

/// Reads a program from a file, or from standard input if the path is `-`.
pub fn load_program(path: &Path) -> Result<Source, Report> {
    let (name, bytes) = read(path)?;
    if Compiled::is_compiled(&bytes) || path.extension().is_some_and(|e| e == "ncg") {
        let compiled = Compiled::from_bytes(&bytes).map_err(|report| about(&name, report))?;
        return Ok(Source::Compiled(Box::new(compiled)));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Source::Text(Program::named(&name, &text))),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            Err(not_a_program(&format!("{name}: it is not text in UTF-8 (byte {at} is wrong)"), "save it as UTF-8"))
        }
    }
}

/// Says which file a report without places is about.
fn about(name: &str, mut report: Report) -> Report {
    for diagnostic in report.diagnostics.iter_mut().filter(|d| d.labels.is_empty()) {
        diagnostic.message = format!("{name}: {}", diagnostic.message);
    }
    report
}

fn read(path: &Path) -> Result<(String, Vec<u8>), Report> {
    // A text is held twice while it becomes a program.
    let size = std::fs::metadata(path).map_or(0, |found| found.len().min(MAX_BYTES));
    memory::ensure(2 * size as usize)?;
    let (name, bytes) = if path == Path::new("-") {
        ("<stdin>".to_string(), standard_input("the program", MAX_BYTES + 1)?.to_vec())
    } else {
        let (name, mut bytes) = (path.display().to_string(), Vec::new());
        // A vector that grows while it is read would copy a large file several times.
        bytes.reserve_exact(size as usize + 1);
        let result = File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes));
        result.map_err(|error| cannot_read(&name, &error))?;
        (name, bytes)
    };
    if bytes.len() as u64 > MAX_BYTES {
        let why = format!("{name}: it is larger than {} MiB", MAX_BYTES >> 20);
        return Err(not_a_program(&why, "programs are texts or .ncg files"));
    }
    Ok((name, bytes))
}

fn not_a_program(what: &str, help: &str) -> Report {
    Report::from(Diagnostic::error(ErrorCode::E0901, format!("cannot read {what}")).help(help))
}
