//! The journal of a search, where dmci was built without SQLite: there is none.

use crate::args::model::ModelArgs;
use dmci::{Diagnostic, ErrorCode, Report};
use dmci_driver::Begun;
use dmci_search::search::{Search, Told};
use dmci_search::worker::Workshop;
use std::path::Path;

/// A journal that cannot be.
pub enum Kept {}

fn missing<T>() -> Result<T, Report> {
    let error = Diagnostic::error(ErrorCode::E0811, "this dmci was built without journals: runs are not kept");
    Err(Report::from(error.help("build it with: cargo build --release -p dmci-cli --features journal")))
}

impl Kept {
    /// Says that there is none.
    pub fn create(_: &Path, _: &Begun) -> Result<Kept, Report> {
        missing()
    }

    /// Says that there is none.
    pub fn open(_: &Path) -> Result<Kept, Report> {
        missing()
    }

    /// Says that there is none.
    pub fn read(_: &Path) -> Result<Kept, Report> {
        missing()
    }

    /// Never happens.
    pub fn replay(&mut self) -> Result<(Begun, ModelArgs), Report> {
        match *self {}
    }

    /// Never happens.
    pub fn tell(&mut self, _: &Workshop, _: &Search, _: &Told) -> Result<(), Report> {
        match *self {}
    }
}
