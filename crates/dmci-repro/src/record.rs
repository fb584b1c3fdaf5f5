//! Result files: what was measured, with everything that decided it, and the tables that follow from it.

use crate::Settings;
use crate::table::{Claim, Table};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of result files.
pub const VERSION: u32 = 1;

/// Where and with what an experiment was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// The version of dmci.
    pub version: String,
    /// The hash of the executable.
    pub engine: String,
    /// Processor, number of cores, system.
    pub machine: String,
    /// The command line.
    pub command: String,
}

/// The result of an experiment. Tables and claims follow from `measured` alone, so that they can be made again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The version of the format.
    pub format: u32,
    /// The experiment: `a`, `b`, ...
    pub experiment: String,
    /// Precision, seeds and size.
    pub settings: Settings,
    /// Where it was run.
    pub provenance: Provenance,
    /// Hashes of programs and data by name.
    pub hashes: Vec<(String, String)>,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// What was measured.
    pub measured: Value,
    /// The tables.
    pub tables: Vec<Table>,
    /// The claims.
    pub claims: Vec<Claim>,
}

/// Which file holds which tables and figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// One entry for each result file.
    pub files: Vec<Entry>,
}

/// A result file in a manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its path, from the manifest's folder.
    pub path: String,
    /// The hash of its text.
    pub hash: String,
    /// The tables that it holds.
    pub tables: Vec<String>,
    /// The figures that can be drawn from it.
    pub figures: Vec<String>,
}

impl Manifest {
    /// Adds a file, or replaces its entry.
    pub fn put(&mut self, entry: Entry) {
        self.files.retain(|e| e.path != entry.path);
        self.files.push(entry);
        self.files.sort_by(|a, b| a.path.cmp(&b.path));
    }
}

impl Record {
    /// All that is wrong with a record: cells of its tables that are not what its measurements give, and
    /// programs that have changed since.
    pub fn check(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        if self.format != VERSION {
            return vec![format!("it has the format {}, not {VERSION}", self.format)];
        }
        let rebuilt = match crate::rebuild(&self.experiment, &self.measured) {
            Ok(rebuilt) => rebuilt,
            Err(why) => return vec![why],
        };
        let cells = |tables: &[Table]| -> Vec<(String, String)> {
            let mut list = Vec::new();
            for table in tables {
                for (r, row) in table.rows.iter().enumerate() {
                    for (c, cell) in row.iter().enumerate() {
                        let column = table.columns.get(c).map_or("", String::as_str);
                        list.push((format!("{} row {} {column}", table.id, r + 1), cell.clone()));
                    }
                }
            }
            list
        };
        let (stored, new) = (cells(&self.tables), cells(&rebuilt.tables));
        if stored.len() != new.len() {
            wrong.push(format!("{} cells, but its measurements give {}", stored.len(), new.len()));
        }
        for ((place, stored), (_, new)) in stored.iter().zip(&new) {
            if stored != new {
                wrong.push(format!("{place}: {stored}, but its measurements give {new}"));
            }
        }
        if self.claims != rebuilt.claims {
            wrong.push("its claims are not what its measurements give".into());
        }
        for (name, hash) in &self.hashes {
            match rebuilt.hashes.iter().find(|(n, _)| n == name) {
                Some((_, now)) if now != hash => wrong.push(format!("{name} has changed since")),
                Some(_) => {}
                None => wrong.push(format!("{name} is no longer part of the experiment")),
            }
        }
        wrong
    }

    /// How many cells its tables have.
    pub fn cells(&self) -> usize {
        self.tables.iter().map(|t| t.rows.iter().map(Vec::len).sum::<usize>()).sum()
    }
}
