//! How soon the first answer comes: from the start of a process, and from text to value within one.

use crate::statistics::Times;
use dmci::{Interpreter, Mode, Program, RunOptions};
use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Runs of `dmci run -e '(+ 1 2)'`, from before the process is made to after it ended.
pub fn process_start(dmci: &Path, repeats: usize) -> Result<Times, Box<dyn Error>> {
    let mut times = Times::default();
    for _ in 0..repeats {
        let start = Instant::now();
        let output = Command::new(dmci).args(["run", "-e", "(+ 1 2)"]).output()?;
        times.push(start.elapsed());
        if !output.status.success() || output.stdout.trim_ascii() != b"3" {
            return Err(format!("dmci run -e '(+ 1 2)' gave {output:?}").into());
        }
    }
    Ok(times)
}

/// Runs of different texts of ten nodes each, after a warm-up.
pub fn text_to_value(mode: Mode, repeats: usize) -> Result<Times, Box<dyn Error>> {
    let interpreter = Interpreter::shared();
    let options = RunOptions { mode, ..RunOptions::default() };
    let mut texts = Texts(1);
    let mut times = Times::default();
    for i in 0..repeats + repeats / 10 {
        let text = texts.expression(10);
        let start = Instant::now();
        let outcome = interpreter.run(&Program::new(text.as_str()), &options);
        let taken = start.elapsed();
        outcome.map_err(|e| format!("{text}: {e}"))?;
        if i >= repeats / 10 {
            times.push(taken);
        }
    }
    Ok(times)
}

/// A stream of random expressions, always the same.
struct Texts(u64);

impl Texts {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }

    /// An expression with this many nodes: operations and constants together.
    fn expression(&mut self, nodes: u64) -> String {
        match nodes {
            0 | 1 => format!("{}.{:06}", self.below(3), self.below(1_000_000)),
            2 => self.unary(nodes),
            _ if self.below(3) == 0 => self.unary(nodes),
            _ => {
                let operation = ["+", "-", "*"][self.below(3) as usize];
                let left = 1 + self.below(nodes - 2);
                format!("({operation} {} {})", self.expression(left), self.expression(nodes - 1 - left))
            }
        }
    }

    fn unary(&mut self, nodes: u64) -> String {
        let operation = ["sin", "cos", "tanh", "square", "abs"][self.below(5) as usize];
        format!("({operation} {})", self.expression(nodes - 1))
    }
}
