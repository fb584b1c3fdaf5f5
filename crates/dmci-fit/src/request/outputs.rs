//! What a fit writes: the bytes of each file. Somebody else writes them.

use super::FitRequest;
use super::problem::ProblemSettings;
use super::refuse::{needs, refusal};
use crate::literals::{Literal, literals, written_back};
use crate::picture::{LogAxes, picture};
use crate::problem::Problem;
use crate::record::FitRecord;
use crate::residual_pictures::residual_pictures;
use crate::result::{Fit, with_starts};
use dmci::{Program, Report};
use dmci_plot::{png, svg};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a fit writes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OutputSettings {
    /// File of the result, in JSON
    pub out: Option<String>,
    /// File of a picture of data, fit and residuals: .svg or .png
    pub plot: Option<String>,
    /// Column on the horizontal axis; by default the first that the program reads
    pub x: Option<String>,
    /// Logarithmic axes: x, y, xy or none; by default those whose numbers span decades
    pub log: Option<String>,
    /// File of pictures of residuals and of observed against predicted values: .svg
    pub residuals: Option<String>,
    /// File of the program with its fitted starts or literals
    pub write: Option<String>,
    /// File of the best loss of every search after every epoch, in CSV
    pub trace: Option<String>,
    /// File of the state of the fit, so that it can be resumed after an interruption
    pub checkpoint: Option<String>,
    /// Resume from the checkpoint, if there is one
    pub resume: bool,
}

impl OutputSettings {
    /// Refuses settings that do not go together.
    pub fn check(&self, problem: &ProblemSettings) -> Result<(), Report> {
        if let Some(path) = self.plot.as_ref().filter(|path| !has_end(path, "svg") && !has_end(path, "png")) {
            let stem =
                path.rsplit_once('.').map_or(path.as_str(), |(stem, end)| if end.contains('/') { path } else { stem });
            let message = format!("‹plot› must be an .svg or .png file, got {path}");
            return Err(refusal(message, format!("write ‹plot {stem}.svg›")));
        }
        if let Some(path) = self.residuals.as_ref().filter(|path| !has_end(path, "svg")) {
            let message = format!("‹residuals› must be an .svg file, got {path}");
            return Err(refusal(message, "write ‹residuals residuals.svg›"));
        }
        self.log_axes()?;
        if self.plot.is_some() && problem.objective && problem.target.is_empty() {
            let message = "a plot shows predictions beside a target, and there is no ‹target›";
            return Err(refusal(message, "name the column that the result yhat predicts, or remove ‹plot›"));
        }
        needs("resume", self.resume, "checkpoint", self.checkpoint.is_some(), "name the file of the state")
    }

    /// Which axes are logarithmic.
    pub fn log_axes(&self) -> Result<LogAxes, Report> {
        let Some(text) = &self.log else { return Ok(LogAxes::Auto) };
        LogAxes::parse(text).ok_or_else(|| {
            refusal(format!("‹log› must be x, y, xy or none, got {text}"), "write ‹log xy›, for example")
        })
    }

    /// The files that are written, with the settings that name them.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("out", &self.out),
            ("plot", &self.plot),
            ("residuals", &self.residuals),
            ("trace", &self.trace),
            ("checkpoint", &self.checkpoint),
            ("write", &self.write),
        ];
        all.into_iter().filter_map(|(setting, path)| Some((setting, path.as_deref()?)))
    }
}

/// A file that is written after a fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFile<'a> {
    /// The setting that names it.
    pub setting: &'static str,
    /// Its path.
    pub path: &'a str,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// Whether a path ends with this extension.
fn has_end(path: &str, end: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, own)| own.eq_ignore_ascii_case(end))
}

impl FitRequest {
    /// What is written after a fit. The program is the one that was given, before its
    /// literals became parameters.
    pub fn outputs(
        &self,
        program: &Program,
        problem: &Problem,
        fit: &Fit,
        record: &FitRecord,
    ) -> Result<Vec<OutputFile<'_>>, Report> {
        let mut list = Vec::new();
        for (setting, path) in self.outputs.files().filter(|(setting, _)| *setting != "checkpoint") {
            let bytes = match setting {
                "out" => format!("{:#}\n", record.to_json()).into_bytes(),
                "plot" => {
                    let picture = picture(problem, fit, self.outputs.x.as_deref(), self.outputs.log_axes()?)?;
                    if has_end(path, "png") { png(&picture) } else { svg(&picture).into_bytes() }
                }
                "residuals" => residual_pictures(problem, fit).into_bytes(),
                "trace" => trace(fit).into_bytes(),
                _ => self.rewritten(program, problem, fit)?.into_bytes(),
            };
            list.push(OutputFile { setting, path, bytes });
        }
        Ok(list)
    }

    /// The program with what was found in the place of what it started from.
    pub fn rewritten(&self, program: &Program, problem: &Problem, fit: &Fit) -> Result<String, Report> {
        if self.problem.params.is_none() {
            return with_starts(problem, fit);
        }
        // What is fixed stands behind what was fitted, so that the order says nothing.
        let value = |(i, literal): (usize, &Literal)| {
            let fitted = fit.parameters.iter().find(|p| p.name == format!("c{}", i + 1));
            fitted.map_or(literal.value, |p| p.value)
        };
        let values: Vec<f64> = literals(&program.text).iter().enumerate().map(value).collect();
        Ok(written_back(&program.text, &values))
    }
}

/// The best loss of every search after every epoch, as a table.
fn trace(fit: &Fit) -> String {
    let mut text = String::from("restart,optimizer,epoch,loss\n");
    for (i, restart) in fit.restarts.iter().enumerate() {
        for (epoch, loss) in restart.trace.iter().enumerate() {
            text += &format!("{i},{},{epoch},{loss:?}\n", restart.optimizer);
        }
    }
    text
}
