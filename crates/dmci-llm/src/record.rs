//! The record of a run's calls: one file of JSON lines. It holds reservations before their calls, what was settled, and
//! every answer as it came; so it is the ledger, the cache and what `replay:` reads, in one. No key is in it.

use crate::error::{Error, Kind};
use crate::ledger::Money;
use crate::message::{Answer, Request, Usage};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;

/// A line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    /// A call may be made.
    Reserve {
        /// The number of the call.
        id: u64,
        /// The most tokens.
        usage: Usage,
        /// The most that it may cost.
        money: Money,
    },
    /// A call was answered or refused.
    Settle {
        /// The number of the call.
        id: u64,
        /// Its tokens.
        usage: Usage,
        /// What it costs.
        money: Money,
    },
    /// An answer.
    Answer {
        /// The hash of the content of the question.
        #[serde(default)]
        key: String,
        /// The version of the prompt.
        #[serde(default)]
        prompt_version: String,
        /// Seconds since 1970.
        #[serde(default)]
        time: u64,
        /// What came.
        #[serde(flatten)]
        answer: Answer,
    },
}

impl Event {
    /// The line of an answer that came now.
    pub fn answer(request: &Request, answer: &Answer) -> Event {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Event::Answer {
            key: request.key(),
            prompt_version: request.prompt_version.clone(),
            time: now.map_or(0, |t| t.as_secs()),
            answer: answer.clone(),
        }
    }

    /// Reads a line. A line without `event` is an answer that somebody wrote by hand: `{"text": "..."}`.
    pub fn read(line: &str) -> Option<Event> {
        let mut value: serde_json::Value = serde_json::from_str(line).ok()?;
        let table = value.as_object_mut()?;
        table.entry("event").or_insert_with(|| "answer".into());
        serde_json::from_value(value).ok()
    }
}

/// A record, open for more lines.
#[derive(Debug)]
pub struct Record {
    name: String,
    file: Mutex<File>,
    before: Vec<Event>,
}

impl Record {
    /// Opens a record, or begins one. The last line of a process that died in the middle of it is dropped.
    pub fn open(path: &Path) -> Result<Record, Error> {
        let name = path.display().to_string();
        let local = |error: std::io::Error| {
            Error::new(Kind::Local, format!("the record {name} cannot be used: {error}"), "name another file")
        };
        let text = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(local(error)),
        };
        let whole = text.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let before = read_lines(&String::from_utf8_lossy(&text[..whole]), &name)?;
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(local)?;
        if whole < text.len() {
            file.set_len(whole as u64).map_err(local)?;
        }
        Ok(Record { name: name.clone(), file: Mutex::new(file), before })
    }

    /// The lines that were there when it was opened.
    pub fn events(&self) -> Vec<Event> {
        self.before.clone()
    }

    /// Adds a line; it is on the disk when this returns.
    pub fn write(&self, event: &Event) -> Result<(), Error> {
        let mut line = serde_json::to_string(event).unwrap_or_default();
        line.push('\n');
        let mut file = self.file.lock().unwrap_or_else(|e| e.into_inner());
        file.write_all(line.as_bytes()).and_then(|()| file.sync_data()).map_err(|error| {
            Error::new(Kind::Local, format!("the record {} cannot be written: {error}", self.name), "make room")
        })
    }
}

/// Reads all lines of a record.
pub fn read_lines(text: &str, name: &str) -> Result<Vec<Event>, Error> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let read = |(at, line): (usize, &str)| {
        Event::read(line).ok_or_else(|| {
            let message = format!("line {} of {name} is not a recorded call", at + 1);
            Error::new(Kind::Local, message, "a line is {\"text\": \"...\"} at least")
        })
    };
    lines.map(read).collect()
}
