//! `replay:`: recorded answers. A line with a key answers the question of that key; lines without one answer in order.

use crate::error::{Error, Kind};
use crate::message::{Answer, Provider, Request, Stop};
use crate::record::{Event, read_lines};
use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

/// Recorded answers.
#[derive(Debug)]
pub struct Replay {
    name: String,
    by_key: HashMap<String, Answer>,
    in_order: Mutex<VecDeque<Answer>>,
}

impl Replay {
    /// Reads a record; `name` is for messages.
    pub fn new(text: &str, name: &str) -> Result<Replay, Error> {
        let (mut by_key, mut in_order) = (HashMap::new(), VecDeque::new());
        for event in read_lines(text, name)? {
            match event {
                Event::Answer { key, answer, .. } if key.is_empty() => in_order.push_back(answer),
                Event::Answer { key, answer, .. } => {
                    by_key.insert(key, answer);
                }
                _ => {}
            }
        }
        if by_key.is_empty() && in_order.is_empty() {
            return Err(Error::new(Kind::Local, format!("{name} has no recorded answers"), "check the path"));
        }
        Ok(Replay { name: name.to_string(), by_key, in_order: Mutex::new(in_order) })
    }
}

impl Provider for Replay {
    fn ask(&self, request: &Request, _: Stop<'_>) -> Result<Answer, Error> {
        let key = request.key();
        if let Some(answer) = self.by_key.get(&key) {
            return Ok(answer.clone());
        }
        let next = self.in_order.lock().unwrap_or_else(|e| e.into_inner()).pop_front();
        next.ok_or_else(|| {
            let message = format!("{} has no answer to the prompt {}", self.name, &key[..16]);
            Error::new(Kind::NotRecorded, message, "the prompt, the data or the settings differ from the recorded run")
        })
    }

    fn describe(&self) -> String {
        format!("the recorded answers in {}", self.name)
    }
}
