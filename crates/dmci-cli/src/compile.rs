//! `dmci compile`.

use crate::args::Compile;
use crate::output;
use crate::source::{Source, load_program};
use dmci::{Diagnostic, Interpreter, Report, system};
use std::path::Path;

/// Compiles a program to a file.
pub fn compile(args: &Compile) -> u8 {
    match compiled_bytes(args).and_then(|bytes| write(&args.output, &bytes)) {
        Ok(()) => 0,
        Err(report) => output::fail(&report, args.json),
    }
}

fn compiled_bytes(args: &Compile) -> Result<Vec<u8>, Report> {
    let Some(path) = args.file.as_deref() else { return Ok(system::evaluator_ncg().to_vec()) };
    match load_program(path)? {
        Source::Compiled(compiled) => Ok(compiled.to_bytes()),
        Source::Text(program) => Ok(Interpreter::shared().compile(&program)?.to_bytes()),
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Report> {
    std::fs::write(path, bytes).map_err(|error| {
        let why = match error.kind() {
            std::io::ErrorKind::NotFound => "its folder does not exist".to_string(),
            std::io::ErrorKind::IsADirectory => "it is a directory".to_string(),
            std::io::ErrorKind::PermissionDenied => "permission denied".to_string(),
            _ => error.to_string(),
        };
        let message = format!("cannot write {}: {why}", path.display());
        Report::of(*Diagnostic::error("E0901", message).help("name another file with -o"))
    })
}
