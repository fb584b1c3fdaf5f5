//! Journals of searches: one SQLite file for each run, to which everything is written before anything acts on it.
//!
//! **Invariant:** it does not know what a search is. Results are bytes in the order in which they were told; a reader
//! such as `sqlite3` or pandas may look at the tables while a run goes on.

use dmci_table::hash::Hash;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

/// The version of the tables.
const SCHEMA: &str = "dmci-journal-2";

/// Why a journal cannot be used.
#[derive(Debug)]
pub enum Error {
    /// There is a file of this name.
    Exists(PathBuf),
    /// There is none.
    Missing(PathBuf),
    /// Another process writes to it.
    Locked(PathBuf),
    /// It is no journal, or a damaged one.
    Damaged(PathBuf, String),
    /// It cannot be written: no room, no permission.
    Failed(PathBuf, String),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Exists(path) => write!(f, "there is a run in {} already", path.display()),
            Error::Missing(path) => write!(f, "there is no run in {}", path.display()),
            Error::Locked(path) => write!(f, "another process writes to the run in {}", path.display()),
            Error::Damaged(path, why) => write!(f, "{} is not the journal of a run: {why}", path.display()),
            Error::Failed(path, why) => write!(f, "cannot write the journal {}: {why}", path.display()),
        }
    }
}

impl std::error::Error for Error {}

/// A program that was cross-validated, for readers of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The number of the hypothesis.
    pub hash: String,
    /// The program with its fitted numbers.
    pub program: String,
    /// Its complexity.
    pub nodes: usize,
    /// Its description length.
    pub score: f64,
    /// The mean square on the rows that were fitted, and on rows outside of each fit.
    pub fit: f64,
    /// See `fit`.
    pub validation: f64,
}

/// A journal that is open for writing. No other process can write to it until it is dropped.
#[derive(Debug)]
pub struct Journal {
    connection: Connection,
    path: PathBuf,
    told: u64,
    _lock: Option<File>,
}

impl Journal {
    /// Begins a run with its settings. Fails if the file exists.
    pub fn create(path: &Path, settings: &[(&str, &str)]) -> Result<Journal, Error> {
        if path.exists() {
            return Err(Error::Exists(path.into()));
        }
        let lock = lock(path)?;
        // The tables are made under another name: a file of this name is a whole journal, always.
        let draft = beside(path, ".draft");
        let _ = std::fs::remove_file(&draft);
        let made = (|| -> rusqlite::Result<()> {
            let connection = Connection::open(&draft)?;
            connection.execute_batch(
                "CREATE TABLE run (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
                 CREATE TABLE told (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, bytes BLOB NOT NULL,
                     hash TEXT NOT NULL) STRICT;
                 CREATE TABLE program (hash TEXT NOT NULL, number INTEGER NOT NULL, program TEXT NOT NULL,
                     nodes INTEGER NOT NULL, score REAL, fit REAL, validation REAL) STRICT;
                 CREATE TABLE event (number INTEGER NOT NULL, text TEXT NOT NULL) STRICT;",
            )?;
            let mut insert = connection.prepare("INSERT INTO run VALUES (?1, ?2)")?;
            insert.execute(params!["schema", SCHEMA])?;
            for (key, value) in settings {
                insert.execute(params![key, value])?;
            }
            Ok(())
        })();
        made.map_err(|error| Error::Failed(path.into(), error.to_string()))?;
        std::fs::rename(&draft, path).map_err(|error| Error::Failed(path.into(), error.to_string()))?;
        Journal::with_lock(path, Some(lock))
    }

    /// Opens a run to go on with it.
    pub fn open(path: &Path) -> Result<Journal, Error> {
        if !path.exists() {
            return Err(Error::Missing(path.into()));
        }
        Journal::with_lock(path, Some(lock(path)?))
    }

    /// Opens a run to look at it, also while it goes on.
    pub fn read(path: &Path) -> Result<Journal, Error> {
        if path.exists() { Journal::with_lock(path, None) } else { Err(Error::Missing(path.into())) }
    }

    fn with_lock(path: &Path, lock: Option<File>) -> Result<Journal, Error> {
        let access = match lock {
            Some(_) => OpenFlags::SQLITE_OPEN_READ_WRITE,
            None => OpenFlags::SQLITE_OPEN_READ_ONLY,
        };
        let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(path, flags).and_then(|connection| {
            if lock.is_some() {
                connection.pragma_update(None, "journal_mode", "WAL")?;
                connection.pragma_update(None, "synchronous", "FULL")?;
            }
            Ok(connection)
        });
        let mut connection = opened.map_err(|error| Error::Damaged(path.into(), error.to_string()))?;
        let readable = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, u64>(0));
        if lock.is_none() && readable.is_err() && !beside(path, "-wal").exists() {
            // Readers share their places through a file beside the journal, which a folder may not take. Without a log
            // there is no writer either, so the file may be read as one that never changes.
            let name = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
            let uri = format!("file:{name}?immutable=1");
            connection = Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)
                .map_err(|error| Error::Damaged(path.into(), error.to_string()))?;
        }
        let mut journal = Journal { connection, path: path.into(), told: 0, _lock: lock };
        match journal.setting("schema")? {
            Some(schema) if schema == SCHEMA => {}
            Some(schema) => {
                return Err(Error::Damaged(path.into(), format!("its tables are {schema}, expected {SCHEMA}")));
            }
            None => return Err(Error::Damaged(path.into(), "it says nothing about its tables".into())),
        }
        let intact: String = journal
            .connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(|error| Error::Damaged(path.into(), error.to_string()))?;
        if intact != "ok" {
            return Err(Error::Damaged(path.into(), intact));
        }
        let (count, last): (u64, Option<u64>) = journal
            .connection
            .query_row("SELECT count(*), max(number) FROM told", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .map_err(|error| Error::Damaged(path.into(), error.to_string()))?;
        if last.map_or(0, |n| n + 1) != count {
            return Err(Error::Damaged(
                path.into(),
                format!("{count} results are there, the last has number {last:?}"),
            ));
        }
        journal.told = count;
        Ok(journal)
    }

    /// A setting of the run.
    pub fn setting(&self, key: &str) -> Result<Option<String>, Error> {
        self.connection
            .query_row("SELECT value FROM run WHERE key = ?1", [key], |row| row.get(0))
            .optional()
            .map_err(|error| Error::Damaged(self.path.clone(), error.to_string()))
    }

    /// How many results there are.
    pub fn len(&self) -> u64 {
        self.told
    }

    /// Whether nothing was told yet.
    pub fn is_empty(&self) -> bool {
        self.told == 0
    }

    /// The result of a number, if it is what was written: SQLite does not notice other bytes inside of a value.
    pub fn told(&self, number: u64) -> Result<Vec<u8>, Error> {
        let damaged = |why: String| Error::Damaged(self.path.clone(), why);
        let (kind, bytes, hash): (String, Vec<u8>, String) = self
            .connection
            .query_row("SELECT kind, bytes, hash FROM told WHERE number = ?1", [number], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .map_err(|error| damaged(error.to_string()))?;
        if hash != hash_of(number, &kind, &bytes) {
            return Err(damaged(format!("result {number} is not what was written")));
        }
        Ok(bytes)
    }

    /// Writes the next result, with the programs that it says something about, in one transaction. When this returns,
    /// the result is on the disk.
    pub fn tell(&mut self, kind: &str, bytes: &[u8], rows: &[Row]) -> Result<(), Error> {
        let number = self.told;
        let written = (|| -> rusqlite::Result<()> {
            let transaction = self.connection.transaction()?;
            transaction.prepare_cached("INSERT INTO told VALUES (?1, ?2, ?3, ?4)")?.execute(params![
                number,
                kind,
                bytes,
                hash_of(number, kind, bytes)
            ])?;
            for row in rows {
                let values =
                    params![row.hash, number, row.program, row.nodes as u64, row.score, row.fit, row.validation];
                transaction
                    .prepare_cached("INSERT INTO program VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?
                    .execute(values)?;
            }
            transaction.commit()
        })();
        written.map_err(|error| Error::Failed(self.path.clone(), error.to_string()))?;
        self.told += 1;
        Ok(())
    }

    /// Notes what happened, such as the end of a run by the clock.
    pub fn note(&mut self, text: &str) -> Result<(), Error> {
        self.connection
            .execute("INSERT INTO event VALUES (?1, ?2)", params![self.told, text])
            .map(|_| ())
            .map_err(|error| Error::Failed(self.path.clone(), error.to_string()))
    }
}

fn hash_of(number: u64, kind: &str, bytes: &[u8]) -> String {
    let mut hash = Hash::default();
    hash.add(&number.to_le_bytes());
    hash.add(kind.as_bytes());
    hash.add(bytes);
    hash.digits()
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(end);
    name.into()
}

/// The lock of a run: the system gives it back when a process ends, however it does.
fn lock(path: &Path) -> Result<File, Error> {
    let name = beside(path, ".lock");
    let opened = OpenOptions::new().create(true).write(true).truncate(false).open(&name);
    let file = opened.map_err(|error| Error::Failed(path.into(), error.to_string()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Locked(path.into())),
        Err(TryLockError::Error(error)) => Err(Error::Failed(path.into(), error.to_string())),
    }
}
