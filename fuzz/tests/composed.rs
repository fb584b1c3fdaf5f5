//! A generated program means the same as a part of another one.

#![allow(clippy::unwrap_used)]

use dmci::{Interpreter, Mode, Program, RunOptions};
use dmci_fuzz::agree;
use dmci_generate::language::{self, Options};

fn outcome(program: &Program, mode: &Mode) -> String {
    let options = RunOptions { mode: mode.clone(), limits: agree::small_limits(), ..RunOptions::default() };
    match Interpreter::shared().run(program, &options) {
        Ok(outcome) => format!("{} | {}", outcome.text, outcome.output),
        Err(failure) => {
            let first = &failure.diagnostics[0];
            format!("{} {} | {}", first.code, first.message, failure.output)
        }
    }
}

#[test]
fn generated_programs_keep_their_meaning_as_parts() {
    let whole = Program::new("whole");
    let (mut compared, mut failures) = (0, Vec::new());
    for seed in 0..4000 {
        let program = Program::new(&language::program_text(seed, &Options::default()));
        let Ok(part) = whole.chain(&program, "whole") else { continue };
        let mode = if seed % 2 == 0 { Mode::Direct } else { Mode::Dmci };
        let (alone, composed) = (outcome(&program, &mode), outcome(&part, &mode));
        compared += 1;
        // A scope takes other numbers of steps, so limits strike elsewhere.
        if alone != composed && !alone.starts_with("E04") && !composed.starts_with("E04") {
            failures.push(format!("seed {seed} {mode}\n{}\nalone    {alone}\ncomposed {composed}", program.text));
        }
    }
    println!("{compared} programs");
    assert!(compared > 1000);
    assert!(failures.is_empty(), "{} differ\n{}", failures.len(), failures[..failures.len().min(6)].join("\n\n"));
}
