//! What goes to a model and what comes back.

use crate::error::Error;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt::Write as _;
use xxhash_rust::xxh3::xxh3_128;

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The rules of the conversation.
    System,
    /// Us.
    User,
    /// The model, earlier.
    Assistant,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
        }
    }
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What.
    pub content: String,
}

impl Message {
    /// A message.
    pub fn new(role: Role, content: impl Into<String>) -> Message {
        Message { role, content: content.into() }
    }
}

/// A question with everything that the answer depends on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The conversation.
    pub messages: Vec<Message>,
    /// The name of the model.
    pub model: String,
    /// The most tokens that an answer may have, thoughts included.
    pub max_tokens: u64,
    /// The temperature, if it is not the server's.
    pub temperature: Option<f64>,
    /// How hard a reasoning model thinks: `low`, `medium`, `high`, or what the server knows.
    pub reasoning: Option<String>,
    /// Which of several answers to the same messages: a part of [`Request::key`], sent as `seed`.
    pub sample: u64,
    /// Further fields of the request; `null` takes one away.
    pub extra: Map<String, Value>,
    /// The version of the prompt, for the record.
    pub prompt_version: String,
}

impl Request {
    /// The hash of the content: messages, model and settings; neither time, nor key, nor address.
    pub fn key(&self) -> String {
        let content = serde_json::json!([
            self.messages,
            self.model,
            self.max_tokens,
            self.temperature,
            self.reasoning,
            self.sample,
            self.extra
        ]);
        format!("{:032x}", xxh3_128(content.to_string().as_bytes()))
    }

    /// More tokens than the messages can have: no tokeniser makes more tokens than there are bytes, and templates of
    /// chats add a few.
    pub fn most_input_tokens(&self) -> u64 {
        self.messages.iter().map(|m| m.content.len() as u64 + 16).sum::<u64>() + 64
    }

    /// About as many tokens as the messages have.
    pub fn likely_input_tokens(&self) -> u64 {
        self.most_input_tokens().div_ceil(3)
    }

    /// The messages as one text, for programs and people.
    pub fn as_text(&self) -> String {
        let mut out = String::new();
        for message in &self.messages {
            let _ = writeln!(out, "# {}\n\n{}\n", message.role.name(), message.content.trim_end());
        }
        out
    }
}

/// Tokens of a call, as the server counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the messages.
    pub input: u64,
    /// Tokens of the answer, thoughts included.
    pub output: u64,
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The text.
    pub text: String,
    /// The name of the model, if the server gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The tokens, if the server counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Whether the answer ended because it had too many tokens.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// Whether somebody wants the call to end. Asked often.
pub type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// Who answers.
pub trait Provider: Send + Sync {
    /// One answer, or why there is none. Ends soon after `stop` says so.
    fn ask(&self, request: &Request, stop: Stop<'_>) -> Result<Answer, Error>;

    /// What it is, for messages: without any key.
    fn describe(&self) -> String;

    /// Whether a call is paid for by its tokens.
    fn is_paid(&self) -> bool {
        false
    }
}

/// Waits, unless somebody wants to stop. Gives whether the whole time passed.
pub(crate) fn wait(time: std::time::Duration, stop: Stop<'_>) -> bool {
    let end = std::time::Instant::now() + time;
    loop {
        if stop() {
            return false;
        }
        let left = end.saturating_duration_since(std::time::Instant::now());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(LOOK));
    }
}

/// How often a call looks whether somebody wants to stop.
pub(crate) const LOOK: std::time::Duration = std::time::Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_depends_on_the_content_alone() {
        let mut a = Request { messages: vec![Message::new(Role::User, "x")], ..Request::default() };
        let key = a.key();
        a.prompt_version = "7".into();
        assert_eq!(a.key(), key, "the version is in the text, if it matters");
        a.sample = 1;
        assert_ne!(a.key(), key);
        assert_eq!(key.len(), 32);
        assert_eq!(a.as_text(), "# user\n\nx\n\n");
    }
}
