//! `dmci mcp`: dmci as a server of the Model Context Protocol, on standard input and output.
//!
//! The protocol is lines of JSON-RPC, so nothing but JSON is needed for it. Every call runs on a thread of its own and can
//! be cancelled; files are read only from the folders that the command line allows, and nothing is written.

mod protocol;
mod sessions;
mod tools;

use crate::args::Mcp as Arguments;
use crate::output;
use dmci::{Diagnostic, ErrorCode, Report};
use std::path::{Path, PathBuf};

/// Serves until standard input ends.
pub fn mcp(args: &Arguments) -> u8 {
    match Folders::new(&args.allow) {
        Ok(folders) => protocol::serve(folders),
        Err(report) => output::fail(&report, false),
    }
}

/// The folders from which files may be read.
#[derive(Clone, Debug)]
pub struct Folders(Vec<PathBuf>);

pub fn wrong(message: String, help: &str) -> Report {
    Report::from(Diagnostic::error(ErrorCode::E0910, message).help(help))
}

impl Folders {
    fn new(list: &[PathBuf]) -> Result<Folders, Report> {
        let found = list.iter().map(|path| match path.canonicalize() {
            Ok(folder) if folder.is_dir() => Ok(folder),
            _ => Err(wrong(format!("{} is not a folder", path.display()), "name a folder that is there with --allow")),
        });
        found.collect::<Result<_, _>>().map(Folders)
    }

    /// A file inside of an allowed folder; links and dots lead nowhere else.
    pub fn file(&self, name: &str) -> Result<PathBuf, Report> {
        let inside = |path: &Path| {
            let whole = path.canonicalize().ok()?;
            (whole.is_file() && self.0.iter().any(|folder| whole.starts_with(folder))).then_some(whole)
        };
        let path = Path::new(name);
        let found = if path.is_absolute() { inside(path) } else { self.0.iter().find_map(|f| inside(&f.join(path))) };
        found.ok_or_else(|| {
            let folders: Vec<String> = self.0.iter().map(|f| f.display().to_string()).collect();
            let help = match folders.is_empty() {
                true => "the server was started without --allow FOLDER, so it reads no files".to_string(),
                false => format!("files are read from {} only", folders.join(" and ")),
            };
            wrong(format!("there is no file {name} that may be read"), &help)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_outside_are_not_read() {
        let base = std::env::temp_dir().join(format!("dmci-mcp-{}", std::process::id()));
        let inner = base.join("allowed");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::write(inner.join("a.csv"), "x,y\n1,2\n").unwrap();
        std::fs::write(base.join("secret.csv"), "x\n1\n").unwrap();
        let folders = Folders::new(std::slice::from_ref(&inner)).unwrap();
        assert!(folders.file("a.csv").is_ok());
        assert!(folders.file(&inner.join("a.csv").display().to_string()).is_ok());
        let outside = base.join("secret.csv").display().to_string();
        #[cfg(unix)]
        std::os::unix::fs::symlink(&outside, inner.join("link.csv")).unwrap();
        for name in ["../secret.csv", outside.as_str(), "link.csv", ".", "", "none.csv"] {
            assert!(folders.file(name).is_err(), "{name}");
        }
        assert!(Folders::new(&[base.join("none")]).is_err());
        std::fs::remove_dir_all(&base).unwrap();
    }
}
