//! `command:`: any program. The prompt is its standard input, its standard output is the answer.

use crate::error::{Error, Kind, cancelled};
use crate::message::{Answer, LOOK, Provider, Request, Stop};
use std::io::{Read, Write};
use std::process::{Child, Command as Process, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// A program that answers.
#[derive(Clone, Debug)]
pub struct Command {
    line: String,
    timeout: Duration,
    most_bytes: usize,
}

/// A child with all that it starts: they form a group of their own, which ends when this is dropped.
struct Group(Child);

impl Group {
    fn end(&mut self) {
        #[cfg(unix)]
        if let Ok(id) = i32::try_from(self.0.id()) {
            // SAFETY: kill takes two numbers and touches no memory of ours. The child leads the group `id`, and the
            // number is not given to another group while the child has not been waited for.
            unsafe { libc::kill(-id, libc::SIGKILL) };
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

/// What a pipe gave: at most so many bytes, and whether there were more.
fn drain(mut pipe: impl Read + Send + 'static, most: usize) -> Receiver<(Vec<u8>, bool)> {
    let (give, take) = channel();
    std::thread::spawn(move || {
        let (mut all, mut piece) = (Vec::new(), [0; 8192]);
        while let Ok(n @ 1..) = pipe.read(&mut piece) {
            all.extend_from_slice(&piece[..n]);
            if all.len() > most {
                all.truncate(most);
                let _ = give.send((all, true));
                return;
            }
        }
        let _ = give.send((all, false));
    });
    take
}

/// Bytes of standard error that are kept for a message.
const SAID: usize = 64 << 10;

impl Command {
    /// A command line for the shell.
    pub fn new(line: &str, timeout: Duration, most_bytes: usize) -> Result<Command, Error> {
        if line.trim().is_empty() {
            return Err(Error::new(Kind::Settings, "the command is empty", "write command:PROGRAM ARGUMENTS"));
        }
        Ok(Command { line: line.trim().to_string(), timeout, most_bytes })
    }

    fn start(&self) -> std::io::Result<Group> {
        let mut process = if cfg!(windows) {
            let mut process = Process::new("cmd");
            process.args(["/C", &self.line]);
            process
        } else {
            let mut process = Process::new("sh");
            process.args(["-c", &self.line]);
            process
        };
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut process, 0);
        process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map(Group)
    }

    fn failed(&self, what: &str) -> Error {
        Error::new(
            Kind::Local,
            format!("the command {} {what}", self.line),
            "run it by hand with a prompt as its input",
        )
    }

    fn too_long(&self) -> Error {
        let message = format!("the command {} wrote more than {} bytes", self.line, self.most_bytes);
        Error::new(Kind::TooLong, message, "let it write less")
    }
}

impl Provider for Command {
    fn ask(&self, request: &Request, stop: Stop<'_>) -> Result<Answer, Error> {
        let mut group = self.start().map_err(|error| self.failed(&format!("cannot be started: {error}")))?;
        let (input, output, said) = (group.0.stdin.take(), group.0.stdout.take(), group.0.stderr.take());
        let (Some(mut input), Some(output), Some(said)) = (input, output, said) else {
            return Err(self.failed("has no pipes"));
        };
        let text = request.as_text();
        // A program that reads nothing must not hold the call.
        std::thread::spawn(move || {
            let _ = input.write_all(text.as_bytes());
        });
        let (output, said) = (drain(output, self.most_bytes), drain(said, SAID));
        let end = Instant::now() + self.timeout;
        let mut early = None;
        let status: ExitStatus = loop {
            match group.0.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) => {}
                Err(error) => return Err(self.failed(&format!("cannot be waited for: {error}"))),
            }
            if early.is_none() {
                early = output.try_recv().ok();
            }
            if matches!(early, Some((_, true))) {
                return Err(self.too_long());
            }
            if stop() {
                return Err(cancelled());
            }
            if Instant::now() >= end {
                let message = format!("the command {} did not end within {} s", self.line, self.timeout.as_secs_f64());
                return Err(Error::new(Kind::Timeout, message, "allow more time"));
            }
            std::thread::sleep(LOOK);
        };
        // What it left behind may hold its pipes; a second is enough for what was written before it ended.
        let rest = |take: &Receiver<(Vec<u8>, bool)>| take.recv_timeout(Duration::from_secs(1)).ok();
        let (bytes, more) = early
            .or_else(|| rest(&output))
            .or_else(|| {
                group.end();
                rest(&output)
            })
            .unwrap_or_default();
        if more {
            return Err(self.too_long());
        }
        if !status.success() {
            let said = rest(&said).unwrap_or_default().0;
            let said = String::from_utf8_lossy(&said);
            let last = said.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("nothing on standard error");
            let last: String = last.trim().chars().take(200).collect();
            return Err(self.failed(&format!("failed ({status}): {last}")));
        }
        let text = String::from_utf8(bytes).map_err(|_| self.failed("wrote something that is not UTF-8"))?;
        if text.trim().is_empty() {
            return Err(self.failed("wrote nothing"));
        }
        Ok(Answer { text, ..Answer::default() })
    }

    fn describe(&self) -> String {
        format!("the command {}", self.line)
    }
}
