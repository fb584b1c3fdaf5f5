//! The state of a fit in a file, replaced whole, so that whatever ends the process leaves a state that a
//! later run can go on from.

use crate::files;
use dmci::Report;
use dmci_fit::Progress;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Keeps the state of a fit, if somebody wants that.
pub struct Keeper {
    path: Option<PathBuf>,
    last: Option<Instant>,
    /// How long writing took: a state that takes long is written less often.
    cost: Duration,
    failure: Option<Report>,
}

/// Nothing is written more often than this.
const PAUSE: Duration = Duration::from_millis(200);

impl Keeper {
    /// A keeper for a file.
    pub fn new(path: Option<&Path>) -> Keeper {
        Keeper { path: path.map(Path::to_path_buf), last: None, cost: Duration::ZERO, failure: None }
    }

    /// The state in the file; none if there is no file yet.
    pub fn read(&self) -> Result<Option<Vec<u8>>, Report> {
        let Some(path) = &self.path else { return Ok(None) };
        match std::fs::read(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(files::cannot_read(&path.display().to_string(), &error)),
        }
    }

    /// Writes the state if it is time to. A failure ends no fit; it is reported at its end.
    pub fn keep(&mut self, progress: &Progress) {
        let Some(path) = &self.path else { return };
        let pause = PAUSE.max(self.cost * 20);
        if self.last.is_some_and(|last| last.elapsed() < pause) {
            return;
        }
        let began = Instant::now();
        self.failure = files::write(path, &progress.snapshot(), "--checkpoint").err();
        self.cost = began.elapsed();
        self.last = Some(Instant::now());
    }

    /// What went wrong with the last writing.
    pub fn result(self) -> Result<(), Report> {
        self.failure.map_or(Ok(()), Err)
    }
}
