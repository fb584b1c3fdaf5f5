//! `dmci compile`.

use crate::args::Compile;
use crate::source::{Source, load_program};
use crate::{files, output};
use dmci::{Interpreter, Report, system};

/// Compiles a program to a file.
pub fn compile(args: &Compile) -> u8 {
    match compiled_bytes(args).and_then(|bytes| files::write(&args.output, &bytes, "-o")) {
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
