//! The journal of a search: the command line that began it, and every result in the order in which it was told.

use super::begin;
use crate::args::model::ModelArgs;
use crate::args::{Args, Command};
use clap::Parser;
use dmci::{Diagnostic, ErrorCode, Report};
use dmci_driver::request::{Begun, wrong};
use dmci_search::search::{Search, Told, Work};
use dmci_search::worker::Workshop;
use dmci_store::{Error, Journal, Row};
use std::collections::VecDeque;
use std::path::Path;

/// A journal.
pub struct Kept {
    journal: Journal,
    name: String,
}

fn failed(error: Error) -> Report {
    let help = match &error {
        Error::Exists(_) => "name another file with --out, or go on with --resume",
        Error::Missing(_) => "check the path",
        Error::Locked(_) => "wait for it to end, or look at it with dmci search show",
        Error::Damaged(..) => "restore the file from a copy",
        Error::Failed(..) => "make room or name another file; what was told is kept, go on with --resume",
    };
    Report::from(Diagnostic::error(ErrorCode::E0901, error.to_string()).help(help))
}

impl Kept {
    /// Begins the journal of a search.
    pub fn create(path: &Path, begun: &Begun) -> Result<Kept, Report> {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let folder = std::env::current_dir().map_or(String::new(), |f| f.display().to_string());
        let words = serde_json::Value::from(words).to_string();
        let hash = begun.workshop.hash();
        let settings =
            [("arguments", words.as_str()), ("folder", &folder), ("data", &hash), ("dmci", env!("CARGO_PKG_VERSION"))];
        let journal = Journal::create(path, &settings).map_err(failed)?;
        Ok(Kept { journal, name: path.display().to_string() })
    }

    /// Opens a journal to go on.
    pub fn open(path: &Path) -> Result<Kept, Report> {
        Ok(Kept { journal: Journal::open(path).map_err(failed)?, name: path.display().to_string() })
    }

    /// Opens a journal to look at it.
    pub fn read(path: &Path) -> Result<Kept, Report> {
        Ok(Kept { journal: Journal::read(path).map_err(failed)?, name: path.display().to_string() })
    }

    /// The search as far as it had come, and whom it asks.
    pub fn replay(&mut self) -> Result<(Begun, ModelArgs), Report> {
        let damaged = |why: &str| wrong(format!("{} cannot be resumed: {why}", self.name), "begin a new run");
        let setting = |key: &str| self.journal.setting(key).map_err(failed);
        let words: Option<Vec<String>> = setting("arguments")?.and_then(|text| serde_json::from_str(&text).ok());
        let words = words.ok_or_else(|| damaged("its command line is missing"))?;
        let parsed = Args::try_parse_from(std::iter::once("dmci".to_string()).chain(words));
        let Ok(Args { command: Command::Search(mut args) }) = parsed else {
            return Err(damaged("its command line is not that of a search"));
        };
        // Files are named from where the run began.
        if let Some(folder) = setting("folder")? {
            let from = |path: &mut std::path::PathBuf| *path = Path::new(&folder).join(&*path);
            let rows = &mut args.rows;
            let named = rows.data.iter_mut().chain(&mut rows.seed_program).chain(&mut rows.baseline);
            named.chain(&mut args.problem).for_each(from);
        }
        let mut begun = begin(&args)?;
        if setting("data")?.is_some_and(|hash| hash != begun.workshop.hash()) {
            return Err(damaged("the table has changed since it began"));
        }
        if setting("dmci")?.is_some_and(|version| version != env!("CARGO_PKG_VERSION")) {
            return Err(damaged("another version of dmci began it"));
        }
        let mut pending: VecDeque<Work> = VecDeque::new();
        for number in 0..self.journal.len() {
            pending.extend(std::iter::from_fn(|| begun.search.ask()));
            let told = Told::from_bytes(&self.journal.told(number).map_err(failed)?);
            let fits = told.is_some_and(|told| begun.search.tell(told));
            if !fits || pending.pop_front().is_none() {
                return Err(damaged(&format!("result {number} does not belong to this search")));
            }
        }
        begun.pending = pending;
        Ok((begun, args.model))
    }

    /// Writes the next result.
    pub fn tell(&mut self, workshop: &Workshop, search: &Search, told: &Told) -> Result<(), Report> {
        let mut rows = Vec::new();
        if let (Told::Validated(list), Some(Work::Validate { entries, .. })) = (told, search.first_asked()) {
            for ((candidate, _), score) in entries.iter().zip(list) {
                rows.push(Row {
                    hash: format!("{:016x}", candidate.hash),
                    program: workshop.program(candidate, &score.values),
                    nodes: score.nodes,
                    score: score.score,
                    fit: score.loss,
                    validation: score.validation.unwrap_or(f64::INFINITY),
                });
            }
        }
        self.journal.tell(told.kind(), &told.to_bytes(), &rows).map_err(failed)
    }
}
