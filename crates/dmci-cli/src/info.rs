//! `dmci info`.

use crate::args::Info;
use crate::output;
use crate::source::Source;
use dmci::{Compiled, Interpreter, Program, Report, Sizes, Stage, system};
use serde_json::json;
use std::time::Duration;

/// Shows sizes or a stage of a program.
pub fn info(args: &Info) -> u8 {
    match show(args) {
        Ok(()) => 0,
        Err(report) => output::fail(&report, args.json),
    }
}

fn show(args: &Info) -> Result<(), Report> {
    let source = match args.evaluator {
        true => Source::Text(Program::named("scheme/eval.scm", system::EVALUATOR)),
        false => Source::of(args.file.as_deref(), args.expression.as_deref())?,
    };
    let name = source.program().name.to_string();
    let (compiled, mut time) = match source {
        Source::Compiled(compiled) => (*compiled, None),
        Source::Text(program) => {
            let (compiled, time) = Interpreter::shared().compile_timed(&program)?;
            (compiled, Some(time))
        }
    };
    if let Some((stage, which)) = Stage::ALL.iter().find(|(name, _)| Some(*name) == args.stage.as_deref()) {
        let text = compiled.stage(*which)?;
        match args.json {
            true => output::print_form("stage", json!({"name": name, "stage": stage, "text": text})),
            false => output::print(&text),
        }
        return Ok(());
    }
    let mut sizes = compiled.sizes()?;
    if args.evaluator {
        // What is in the binary: compiled as a part of the system, without its source.
        let forms = sizes.forms;
        sizes = Sizes { forms, ..Compiled::from_bytes(system::evaluator_ncg())?.sizes()? };
        time = Some(system::measure_evaluator().0);
    }
    print_sizes(&name, &sizes, time, args);
    Ok(())
}

fn print_sizes(name: &str, sizes: &Sizes, time: Option<Duration>, args: &Info) {
    let seconds = time.map(|t| t.as_secs_f64());
    if args.json {
        return output::print_form(
            "info",
            json!({
                "name": name,
                "forms": sizes.forms,
                "functions": sizes.functions,
                "nodes": sizes.nodes,
                "constants": sizes.constants,
                "instructions": sizes.instructions,
                "bytes": sizes.bytes,
                "compile_seconds": seconds,
            }),
        );
    }
    let time = seconds.map_or("compiled before".to_string(), |s| format!("{s:.6} s"));
    let kib = sizes.bytes as f64 / 1024.0;
    let (paper_time, paper_size) = if args.evaluator { ("  (paper: 0.02 s)", "  (paper: 283 KB)") } else { ("", "") };
    output::print(&format!(
        "{name}\n\
         forms          {:>10}\n\
         functions      {:>10}\n\
         nodes          {:>10}\n\
         constants      {:>10}\n\
         instructions   {:>10}\n\
         compile time   {time:>10}{paper_time}\n\
         size           {kib:>7.1} KB{paper_size}\n",
        sizes.forms, sizes.functions, sizes.nodes, sizes.constants, sizes.instructions,
    ));
}
