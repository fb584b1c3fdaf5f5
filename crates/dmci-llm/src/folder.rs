//! `folder:`: prompts as files, answers as files, for people and agents. The prompt `KEY.prompt.md` appears at once and
//! whole; whoever answers writes `KEY.answer.md`, best under another name that is then renamed. A file `MODEL` in the
//! folder, if there is one, says who answers.

use crate::error::{Error, Kind, cancelled};
use crate::message::{Answer, Provider, Request, Stop, wait};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A folder of prompts and answers.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    timeout: Duration,
    most_bytes: u64,
}

/// How often it looks for an answer.
const LOOK: Duration = Duration::from_millis(100);

impl Folder {
    /// A folder, which is made if it is not there.
    pub fn new(path: &Path, timeout: Duration, most_bytes: u64) -> Result<Folder, Error> {
        let folder = Folder { path: path.to_path_buf(), timeout, most_bytes };
        std::fs::create_dir_all(path).map_err(|error| folder.local(path, &error))?;
        Ok(folder)
    }

    fn local(&self, path: &Path, error: &std::io::Error) -> Error {
        Error::new(Kind::Local, format!("{} cannot be used: {error}", path.display()), "check the folder's permissions")
    }

    /// The files of a prompt: the question and the answer.
    pub fn files(&self, request: &Request) -> (PathBuf, PathBuf) {
        let key = request.key();
        (self.path.join(format!("{}.prompt.md", &key[..16])), self.path.join(format!("{}.answer.md", &key[..16])))
    }

    /// The answer, if it is there. A file that is still growing is none.
    fn look(&self, path: &Path, seen: &mut Option<u64>) -> Result<Option<String>, Error> {
        let length = match std::fs::metadata(path) {
            Ok(data) if data.is_file() => data.len(),
            Ok(_) => return Err(Error::new(Kind::Local, format!("{} is not a file", path.display()), "remove it")),
            Err(_) => return Ok(None),
        };
        if length > self.most_bytes {
            let message = format!("{} has more than {} bytes", path.display(), self.most_bytes);
            return Err(Error::new(Kind::TooLong, message, "shorten it"));
        }
        if length == 0 || seen.replace(length) != Some(length) {
            return Ok(None);
        }
        let bytes = std::fs::read(path).map_err(|error| self.local(path, &error))?;
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => {
                Err(Error::new(Kind::Malformed, format!("{} is not text in UTF-8", path.display()), "save it as UTF-8"))
            }
        }
    }
}

impl Provider for Folder {
    fn ask(&self, request: &Request, stop: Stop<'_>) -> Result<Answer, Error> {
        let (prompt, answer) = self.files(request);
        if !prompt.exists() {
            let part = prompt.with_extension(format!("{}.part", std::process::id()));
            std::fs::write(&part, request.as_text())
                .and_then(|()| std::fs::rename(&part, &prompt))
                .map_err(|error| self.local(&prompt, &error))?;
        }
        let end = Instant::now() + self.timeout;
        let mut seen = None;
        loop {
            if let Some(text) = self.look(&answer, &mut seen)? {
                let name = std::fs::read_to_string(self.path.join("MODEL")).ok();
                let model = name.map(|n| n.trim().to_string()).filter(|n| !n.is_empty());
                return Ok(Answer { text, model, ..Answer::default() });
            }
            if Instant::now() >= end {
                let message = format!("nobody wrote {} within {} s", answer.display(), self.timeout.as_secs_f64());
                return Err(Error::new(Kind::Local, message, "answer the prompt beside it, or allow more time"));
            }
            if !wait(LOOK, stop) {
                return Err(cancelled());
            }
        }
    }

    fn describe(&self) -> String {
        format!("the folder {}", self.path.display())
    }
}
