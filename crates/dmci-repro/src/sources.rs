//! Data from elsewhere that studies need: where to get them, how to recognise them, and what is made of them. Nothing
//! is downloaded.

use serde::{Deserialize, Serialize};

/// Data from one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its name in commands.
    pub name: String,
    /// What it is.
    pub title: String,
    /// What to cite.
    pub citation: String,
    /// What may be done with it.
    pub licence: String,
    /// How to get it by hand.
    pub get: String,
    /// Its folder below the shared data.
    pub folder: String,
    /// The first month of a monthly field, such as 1950-01; empty for other data.
    pub start: String,
    /// What `dmci data prepare` makes of it.
    pub makes: String,
    /// The files that were used.
    pub files: Vec<File>,
}

/// A file with what it is recognised by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Its name.
    pub name: String,
    /// SHA-256 of its bytes.
    pub sha256: String,
}

#[derive(Deserialize)]
struct List {
    sources: Vec<Source>,
}

/// All sources: the content of `data/sources.json`.
pub fn sources() -> Vec<Source> {
    let list: Option<List> = serde_json::from_str(include_str!("../sources.json")).ok();
    list.map(|list| list.sources).unwrap_or_default()
}

/// A source by its name.
pub fn source(name: &str) -> Option<Source> {
    sources().into_iter().find(|s| s.name == name)
}

impl Source {
    /// What to say where the data are missing.
    pub fn how_to_get(&self) -> String {
        let files: Vec<&str> = self.files.iter().map(|f| f.name.as_str()).collect();
        format!(
            "needs {} in {} below the folder that DMCI_SHARED names ({}); to get them: {}",
            files.join(" and "),
            self.folder,
            self.title,
            self.get
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_can_be_read() {
        let all = sources();
        assert!(!all.is_empty());
        for source in all {
            assert!(
                !source.files.is_empty() && !source.licence.is_empty() && !source.get.is_empty(),
                "{}",
                source.name
            );
            for file in source.files {
                assert!(file.sha256.len() == 64 && file.sha256.bytes().all(|b| b.is_ascii_hexdigit()), "{}", file.name);
            }
        }
    }
}
