//! The study of ENSO: a linear inverse model whose Kalman likelihood is a program.

mod claims;
pub mod extended;
pub mod field;
pub mod forecast;
pub mod honest;
pub mod kalman;
pub mod likelihood;
pub mod matrix;
pub mod operator;
pub mod paper;
pub mod prepare;
mod show;
mod show_honest;
pub mod structure;

use crate::sources::source;
use crate::{Host, Settings};
use dmci::{Diagnostic, ErrorCode, Report};
use dmci_table::sha256::digits;
use field::{Field, month_of};
use honest::Honest;
use paper::Paper;
use serde::{Deserialize, Serialize};

/// What the study of ENSO measures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lim {
    /// SHA-256 of the field; nothing without it.
    pub data: String,
    /// Whether the sizes are small.
    pub quick: bool,
    /// The paper's protocol.
    pub paper: Paper,
    /// The honest protocol: with operators of the months before validation, and fitted again up to the test.
    pub honest: Vec<Honest>,
}

/// The field of the shared data, with the hash of its file.
pub fn shared_field(host: &Host) -> Result<Option<(Field, String)>, Report> {
    let Some(source) = source("sst") else { return Ok(None) };
    let path = |name: &str| format!("{}/{name}", source.folder);
    let (Some(array), Some(grid)) = ((host.shared)(&path(&source.files[0].name)), host.shared_text(&path("grid.csv")))
    else {
        return Ok(None);
    };
    let start = month_of(&source.start).unwrap_or_default();
    let wrong = |why: String| Report::from(Diagnostic::error(ErrorCode::E0702, why).help("dmci data says what to get"));
    let field = Field::read(&array, &grid, start).map_err(wrong)?;
    Ok(Some((field, digits(&array))))
}

impl Lim {
    /// Runs it.
    pub fn run(settings: &Settings, host: &Host) -> Result<Lim, Report> {
        let Some((field, data)) = shared_field(host)? else { return Ok(Lim::default()) };
        let paper = paper::run(settings, &field)?;
        let windows: &[bool] = if settings.quick { &[true] } else { &[false, true] };
        let honest =
            windows.iter().map(|&refitted| honest::run(settings, &field, refitted)).collect::<Result<_, _>>()?;
        Ok(Lim { data, quick: settings.quick, paper, honest })
    }
}
