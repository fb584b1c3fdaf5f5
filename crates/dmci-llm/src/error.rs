//! Why there is no answer.

use std::fmt;
use std::time::Duration;

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The settings cannot work.
    Settings,
    /// Nothing was reached: no such host, nobody listens.
    Unreachable,
    /// The server says that it is busy (429, 503, ...).
    Busy,
    /// The server failed (5xx).
    Server,
    /// The server refuses the request (4xx): a key, a model, a field.
    Refused,
    /// The time was over.
    Timeout,
    /// The connection ended before the answer did.
    Dropped,
    /// The answer is longer than allowed.
    TooLong,
    /// What came is not an answer.
    Malformed,
    /// The budget does not allow another call.
    Budget,
    /// Somebody cancelled the call.
    Cancelled,
    /// There is no recorded answer.
    NotRecorded,
    /// A file or a program cannot be used.
    Local,
}

/// An error: what is wrong, and what to do about it. No key is ever in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What went wrong.
    pub kind: Kind,
    /// In one sentence.
    pub message: String,
    /// What to do.
    pub hint: String,
    /// How long the server wants callers to wait.
    pub after: Option<Duration>,
}

impl Error {
    /// An error.
    pub fn new(kind: Kind, message: impl Into<String>, hint: impl Into<String>) -> Error {
        Error { kind, message: message.into(), hint: hint.into(), after: None }
    }

    /// Whether the same call may succeed later.
    pub fn is_passing(&self) -> bool {
        matches!(self.kind, Kind::Busy | Kind::Server | Kind::Timeout | Kind::Dropped | Kind::Unreachable)
    }

    /// Whether the server may have worked, and will charge, for a call that ended so.
    pub fn may_cost(&self) -> bool {
        matches!(self.kind, Kind::Timeout | Kind::Dropped | Kind::TooLong | Kind::Malformed | Kind::Cancelled)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if !self.hint.is_empty() {
            write!(f, "; {}", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// The error of a call that somebody cancelled.
pub fn cancelled() -> Error {
    Error::new(Kind::Cancelled, "the call was cancelled", "")
}
