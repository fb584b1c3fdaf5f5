//! Tables from files, and results into files: whole, or not at all.

use crate::{memory, output};
use dmci::ErrorCode;
use dmci::{Diagnostic, Report};
use dmci_fit::Table;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Reads a table; `-` is standard input, with commas. Fields that stand for a missing value are declared.
pub fn read_table(path: &Path, missing: &[String]) -> Result<Table, Report> {
    read(path, missing, None)
}

/// Reads a table of which only some columns matter: the others may miss anything.
pub fn read_columns(path: &Path, missing: &[String], columns: &[String]) -> Result<Table, Report> {
    read(path, missing, Some(columns))
}

fn read(path: &Path, missing: &[String], columns: Option<&[String]>) -> Result<Table, Report> {
    if path == Path::new("-") {
        return Table::from_bytes_of("<stdin>", standard_input("the table", u64::MAX)?, missing, columns);
    }
    let mut bytes = Vec::new();
    let name = path.display().to_string();
    // Opening a folder succeeds on some systems, reading it does not.
    let file = File::open(path).and_then(|file| match file.metadata()?.is_dir() {
        true => Err(ErrorKind::IsADirectory.into()),
        false => Ok(file),
    });
    if let Ok(found) = file.as_ref().map_err(|_| ()).and_then(|file| file.metadata().map_err(|_| ())) {
        memory::ensure(found.len() as usize)?;
    }
    let read = file.and_then(|mut file| file.read_to_end(&mut bytes));
    read.map_err(|error| cannot_read(&name, &error))?;
    Table::from_bytes_of(&name, &bytes, missing, columns)
}

/// Everything on standard input. It is read once and kept: a command may look at its table or program again, and would
/// find nothing the second time. It cannot be two things, so `what` it serves as is
/// checked; `most` bytes of it are read.
pub fn standard_input(what: &'static str, most: u64) -> Result<&'static [u8], Report> {
    static INPUT: OnceLock<(&str, std::io::Result<Vec<u8>>)> = OnceLock::new();
    let (first, bytes) = INPUT.get_or_init(|| {
        let mut bytes = Vec::new();
        (what, std::io::stdin().lock().take(most).read_to_end(&mut bytes).map(|_| bytes))
    });
    if *first != what {
        let message = format!("standard input is {first} already, so {what} cannot come from it too");
        return Err(output::usage_error(message, "write one of them into a file and name the file"));
    }
    bytes.as_deref().map_err(|error| cannot_read("<stdin>", error))
}

/// The report of a file that cannot be read.
pub fn cannot_read(name: &str, error: &std::io::Error) -> Report {
    let (why, help) = match error.kind() {
        ErrorKind::NotFound if name.starts_with('(') => {
            ("there is no such file".to_string(), "to give the program itself, write -e TEXT")
        }
        ErrorKind::NotFound => ("there is no such file".to_string(), "check the path"),
        ErrorKind::PermissionDenied => ("permission denied".to_string(), "check the path"),
        ErrorKind::IsADirectory => ("it is a directory".to_string(), "name a file in it"),
        _ => (error.to_string(), "check the path"),
    };
    Report::from(Diagnostic::error(ErrorCode::E0901, format!("cannot read {name}: {why}")).help(help))
}

/// Writes a file: first under another name, then in one move, so that nobody ever sees a part of it
/// and a failure leaves what was there before. `option` is where its name came from.
pub fn write(path: &Path, bytes: &[u8], option: &str) -> Result<(), Report> {
    replace(path, bytes).map_err(|error| cannot_write(path, &error, option))
}

/// Fails if a file could surely not be written, before hours of work are lost.
pub fn check_place(path: &Path, option: &str) -> Result<(), Report> {
    let tried = draft(path).and_then(|place| match place {
        Some((_, draft)) => File::create(&draft).and_then(|_| fs::remove_file(&draft)),
        None => Ok(()),
    });
    tried.map_err(|error| cannot_write(path, &error, option))
}

/// Makes a folder, if it is not there.
pub fn make_folder(path: &Path) -> Result<(), Report> {
    fs::create_dir_all(path).map_err(|error| cannot_read(&path.display().to_string(), &error))
}

pub fn cannot_write(path: &Path, error: &std::io::Error, option: &str) -> Report {
    let why = match error.kind() {
        ErrorKind::NotFound if !folder_of(path).is_dir() => "its folder does not exist".to_string(),
        ErrorKind::IsADirectory => "it is a directory".to_string(),
        ErrorKind::PermissionDenied => "permission denied".to_string(),
        _ => error.to_string(),
    };
    let message = format!("cannot write {}: {why}", path.display());
    Report::from(Diagnostic::error(ErrorCode::E0901, message).help(format!("name another file with {option}")))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The file that a path leads to, and the one that is moved there; nothing if it is no file, such as /dev/stdout, which
/// cannot be replaced. A link stays a link.
fn draft(path: &Path) -> std::io::Result<Option<(PathBuf, PathBuf)>> {
    let target: PathBuf = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    match fs::metadata(&target) {
        Ok(found) if found.is_dir() => return Err(ErrorKind::IsADirectory.into()),
        Ok(found) if !found.is_file() => return Ok(None),
        Ok(found) if found.permissions().readonly() => return Err(ErrorKind::PermissionDenied.into()),
        _ => {}
    }
    let name = target.file_name().ok_or(ErrorKind::InvalidInput)?.to_string_lossy();
    let draft = folder_of(&target).join(format!(".{name}.{}.part", std::process::id()));
    Ok(Some((target, draft)))
}

fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let Some((target, draft)) = draft(path)? else { return fs::write(path, bytes) };
    let written = File::create(&draft)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&draft, &target));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_else_is_left() {
        let folder = std::env::temp_dir().join(format!("dmci-files-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.txt");
        write(&path, b"one", "--out").unwrap();
        write(&path, b"two", "--out").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        let link = folder.join("link");
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&path, &link).unwrap();
            write(&link, b"three", "--out").unwrap();
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            assert_eq!(fs::read(&path).unwrap(), b"three");
            fs::remove_file(&link).unwrap();
        }
        assert!(write(&folder, b"x", "--out").is_err());
        assert!(write(&folder.join("no/where"), b"x", "--out").is_err());
        assert!(check_place(&folder, "--out").is_err() && check_place(&folder.join("no/x"), "--out").is_err());
        assert!(check_place(&path, "--out").is_ok() && check_place(Path::new("new"), "--out").is_ok());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
