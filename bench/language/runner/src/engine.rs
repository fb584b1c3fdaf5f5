//! The systems that are compared, each behind the same two steps: prepare a program, then run it.

use crate::clock::{Lap, Stopwatch};
use crate::program::Program;
use dmci::{Interpreter, Mode, RunOptions};
use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;
use steel::steel_vm::engine::Engine as Steel;

/// How long a run took, and the value as text.
pub type Run = (Lap, String);

/// A system that runs programs.
pub trait Engine {
    /// Its column in the table.
    fn name(&self) -> &'static str;
    /// Whatever is not to be timed: reading, compiling, loading.
    fn prepare(&mut self, program: &Program) -> Result<(), Box<dyn Error>>;
    /// Runs the program that was prepared last.
    fn run(&mut self, program: &Program) -> Result<Run, Box<dyn Error>>;
}

/// dmci in one of its modes. Its times include reading, expanding and compiling the program.
pub struct Dmci {
    name: &'static str,
    options: RunOptions,
}

impl Dmci {
    /// In the mode with this name.
    pub fn new(mode: &'static str) -> Result<Dmci, Box<dyn Error>> {
        let mode = Mode::parse(mode).map_err(|e| e.message.clone()).map(|parsed| (mode, parsed))?;
        Ok(Dmci { name: mode.0, options: RunOptions { mode: mode.1, ..RunOptions::default() } })
    }
}

impl Engine for Dmci {
    fn name(&self) -> &'static str {
        self.name
    }

    fn prepare(&mut self, _: &Program) -> Result<(), Box<dyn Error>> {
        Ok(())
    }

    fn run(&mut self, program: &Program) -> Result<Run, Box<dyn Error>> {
        let watch = Stopwatch::start();
        let program = dmci::Program::new(program.text.as_str());
        let outcome = Interpreter::shared().run(&program, &self.options)?;
        Ok((watch.lap(), outcome.text))
    }
}

/// Steel, in this process; only the call of the prepared procedure is timed.
pub struct SteelEngine(Steel);

impl SteelEngine {
    /// With Steel's standard library loaded.
    pub fn new() -> SteelEngine {
        SteelEngine(Steel::new())
    }
}

impl Engine for SteelEngine {
    fn name(&self) -> &'static str {
        "steel"
    }

    fn prepare(&mut self, program: &Program) -> Result<(), Box<dyn Error>> {
        self.0 = Steel::new();
        self.0.run(program.as_procedure()).map_err(|e| e.to_string())?;
        Ok(())
    }

    fn run(&mut self, _: &Program) -> Result<Run, Box<dyn Error>> {
        let watch = Stopwatch::start();
        let value = self.0.call_function_by_name_with_args("work", Vec::new()).map_err(|e| e.to_string())?;
        Ok((watch.lap(), value.to_string()))
    }
}

/// Guile in a process of its own, which times itself.
pub struct Guile {
    scratch: PathBuf,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Guile {
    /// Starts the driver script; compiled code goes into `scratch`.
    pub fn start(driver: &Path, scratch: &Path) -> Result<Guile, Box<dyn Error>> {
        let mut child = Command::new("guile")
            .args(["--no-auto-compile", "-q"])
            .arg(driver)
            .env("XDG_CACHE_HOME", scratch)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().ok_or("guile has no input")?;
        let output = BufReader::new(child.stdout.take().ok_or("guile has no output")?);
        Ok(Guile { scratch: scratch.to_owned(), child, input, output })
    }

    fn ask(&mut self, request: &str) -> Result<String, Box<dyn Error>> {
        writeln!(self.input, "{request}")?;
        self.input.flush()?;
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        if answer.is_empty() {
            return Err(format!("guile gave no answer to {request}").into());
        }
        Ok(answer.trim_end().to_owned())
    }
}

impl Engine for Guile {
    fn name(&self) -> &'static str {
        "guile"
    }

    fn prepare(&mut self, program: &Program) -> Result<(), Box<dyn Error>> {
        let name = program.name;
        let file = self.scratch.join(name).with_extension("scm");
        let module = format!("(define-module (bench {name}) #:export (work))\n");
        fs::write(&file, module + &program.as_procedure())?;
        self.ask(&format!("load {name} {}", file.display()))?;
        Ok(())
    }

    fn run(&mut self, program: &Program) -> Result<Run, Box<dyn Error>> {
        let answer = self.ask(&format!("run {}", program.name))?;
        let mut parts = answer.splitn(3, ' ');
        let mut next = || parts.next().ok_or("guile's answer is too short");
        let wall = Duration::from_secs_f64(next()?.parse()?);
        let cpu = Duration::from_secs_f64(next()?.parse()?);
        Ok((Lap { wall, cpu }, next()?.to_owned()))
    }
}

impl Drop for Guile {
    fn drop(&mut self) {
        // The process ends by itself when its input does; nothing is lost if it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
