//! Diagnostics: what is wrong, where, whose fault it is, and what to do.

use crate::codes::ErrorCode;
use crate::span::Span;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The program cannot go on.
    Error,
    /// Worth knowing.
    Warning,
}

/// Whose fault it is; decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The program's.
    Program,
    /// The data's.
    Data,
    /// A limit was reached.
    Limit,
    /// The command line's or the caller's.
    Usage,
    /// Ours: a bug in dmci.
    Internal,
    /// Nobody's: the run was interrupted.
    Interrupted,
}

impl Fault {
    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Program => "program",
            Fault::Data => "data",
            Fault::Limit => "limit",
            Fault::Usage => "usage",
            Fault::Internal => "internal",
            Fault::Interrupted => "interrupted",
        }
    }

    /// The exit code of the command.
    pub fn exit_code(self) -> u8 {
        match self {
            Fault::Program | Fault::Data => 1,
            Fault::Usage => 2,
            Fault::Limit => 3,
            Fault::Internal => 70,
            Fault::Interrupted => 130,
        }
    }
}

/// A span with a few words about it. The first label of a diagnostic is the primary one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What is there; may be empty.
    pub text: String,
}

/// One error or warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable code, e.g. `E0301`.
    pub code: ErrorCode,
    /// Error or warning.
    pub severity: Severity,
    /// Whose fault it is.
    pub fault: Fault,
    /// One sentence that stands alone: what is wrong.
    pub message: String,
    /// Where; the first one is primary.
    pub labels: Vec<Label>,
    /// One sentence: what to do.
    pub help: Option<String>,
}

/// An error on its way: boxed, so that results stay small.
pub type Error = Box<Diagnostic>;

impl Diagnostic {
    /// An error of the program, without a place yet.
    pub fn error(code: ErrorCode, message: impl Into<String>) -> Error {
        Box::new(Diagnostic {
            code,
            severity: Severity::Error,
            fault: fault_of(code),
            message: message.into(),
            labels: Vec::new(),
            help: None,
        })
    }

    /// A warning, without a place yet.
    pub fn warning(code: ErrorCode, message: impl Into<String>) -> Error {
        let mut warning = Diagnostic::error(code, message);
        warning.severity = Severity::Warning;
        warning
    }

    /// The same with a place added (the first one added is the primary one).
    pub fn at(mut self: Box<Self>, span: Span) -> Error {
        self.labels.push(Label { span, text: String::new() });
        self
    }

    /// The same with a labelled place added.
    pub fn at_with(mut self: Box<Self>, span: Span, text: impl Into<String>) -> Error {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// The same with a sentence that says what to do.
    pub fn help(mut self: Box<Self>, help: impl Into<String>) -> Error {
        self.help = Some(help.into());
        self
    }

    /// Whether it says that the run was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.code == ErrorCode::E0409
    }

    /// The primary span.
    pub fn span(&self) -> Option<Span> {
        self.labels.first().map(|l| l.span)
    }

    /// Whether a program may catch it: limits, interruptions and our own bugs are not for programs.
    pub fn is_catchable(&self) -> bool {
        matches!(self.fault, Fault::Program | Fault::Data)
    }
}

fn fault_of(code: ErrorCode) -> Fault {
    let name = code.as_str();
    match &name[1..3] {
        "04" if code == ErrorCode::E0409 => Fault::Interrupted,
        "04" => Fault::Limit,
        "07" => Fault::Data,
        "09" if name.starts_with("E091") => Fault::Usage,
        "99" => Fault::Internal,
        _ => Fault::Program,
    }
}
