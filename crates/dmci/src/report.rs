//! What went wrong, with the texts it went wrong in.

use dmci_value::{Diagnostic, Severity, SourceId, Sources, Span};
use std::fmt;

/// Diagnostics together with the sources that their spans point into.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// In order of discovery.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts.
    pub sources: Sources,
}

impl Report {
    /// A report of one diagnostic without a place.
    pub fn of(diagnostic: impl Into<Diagnostic>) -> Report {
        Report { diagnostics: vec![diagnostic.into()], sources: Sources::default() }
    }

    /// Adds the diagnostics of another report, with its sources.
    pub fn append(&mut self, other: Report) {
        let first = self.sources.len() as u32;
        for id in 0..other.sources.len() as u32 {
            if let Some(source) = other.sources.get(SourceId(id)) {
                self.sources.add(&source.name, &source.text, source.origin);
            }
        }
        self.diagnostics.extend(other.diagnostics.into_iter().map(|mut diagnostic| {
            diagnostic.labels.iter_mut().for_each(|label| label.span.source.0 += first);
            diagnostic
        }));
    }

    /// Whether any of them is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|d| d.severity == Severity::Error)
    }

    /// The exit code of a command that ends with this report.
    pub fn exit_code(&self) -> u8 {
        let errors = self.diagnostics.iter().filter(|d| d.severity == Severity::Error);
        errors.map(|d| d.fault.exit_code()).max().unwrap_or(0)
    }

    /// The picture of all diagnostics.
    pub fn render(&self, color: bool) -> String {
        let parts: Vec<String> =
            self.diagnostics.iter().map(|d| dmci_syntax::render::render(&self.sources, d, color)).collect();
        parts.join("\n")
    }

    /// The JSON form: an array of diagnostics.
    pub fn to_json(&self) -> serde_json::Value {
        let parts: Vec<serde_json::Value> = self
            .diagnostics
            .iter()
            .map(|d| serde_json::from_str(&dmci_syntax::render::to_json(&self.sources, d)).unwrap_or_default())
            .collect();
        parts.into()
    }

    /// The text under the primary span of the first diagnostic.
    pub fn source_text(&self) -> Option<(&str, Span)> {
        let span = self.diagnostics.first()?.span()?;
        Some((self.sources.slice(span), span))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Report {}
