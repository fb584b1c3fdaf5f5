//! What went wrong, with the texts it went wrong in.

use dmci_value::{Diagnostic, Error, Severity, SourceId, Sources, Span, Spelling};
use std::fmt;

/// Diagnostics together with the sources that their spans point into. Every function of this crate that can fail
/// returns one as its error; a report of warnings alone comes with a result.
///
/// ```
/// use dmci::{ErrorCode, Program, Report, RunOptions};
///
/// fn area(radius: &str) -> Result<f64, Report> {
///     let (name, radius) = dmci::Datum::parse_setting(radius)?;
///     let outcome = Program::new("(* 3.14 r r)").run(&RunOptions::default().with(&name, radius))?;
///     Ok(outcome.value.as_f64().unwrap_or(f64::NAN))
/// }
/// assert_eq!(area("r=2")?, 12.56);
/// let report = area("r=\"two\"").expect_err("no number");
/// assert_eq!(report.diagnostics[0].code, ErrorCode::E0303);
/// assert_eq!(report.source_text().map(|(text, _)| text), Some("(* 3.14 r r)"));
/// assert!(report.to_string().starts_with("error[E0303]"));
/// # Ok::<(), dmci::Report>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// In order of discovery.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts.
    pub sources: Sources,
    /// What the program had printed when it failed.
    pub output: String,
}

impl Report {
    /// A report of diagnostics about these texts, nothing printed.
    pub fn new(diagnostics: Vec<Diagnostic>, sources: Sources) -> Report {
        Report { diagnostics, sources, output: String::new() }
    }

    /// Adds the diagnostics of another report, with its sources and its output.
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
        self.output.push_str(&other.output);
    }

    /// Whether one of them says that the run was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_cancelled)
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

    /// The same report with settings as a front end writes them; without, they are written as fields.
    pub fn spelled(&self, spelling: Spelling) -> Report {
        let mut report = Report { output: self.output.clone(), ..Report::default() };
        for id in 0..self.sources.len() as u32 {
            if let Some(source) = self.sources.get(SourceId(id)) {
                report.sources.add(&spelling.spell(&source.name), &source.text, source.origin);
            }
        }
        report.diagnostics = self.diagnostics.clone();
        for diagnostic in &mut report.diagnostics {
            let labels = diagnostic.labels.iter_mut().map(|label| &mut label.text);
            for text in labels.chain(&mut diagnostic.help).chain([&mut diagnostic.message]) {
                *text = spelling.spell(text).into_owned();
            }
        }
        report
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

/// A report of one diagnostic, without any text.
impl From<Error> for Report {
    fn from(error: Error) -> Report {
        Report::new(vec![*error], Sources::default())
    }
}
