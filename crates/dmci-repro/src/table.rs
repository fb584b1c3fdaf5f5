//! Tables with the paper's numbers beside ours, and claims that hold or do not.

use serde::{Deserialize, Serialize};

/// One table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// A short name that manifests and tests refer to.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Cells, row by row.
    pub rows: Vec<Vec<String>>,
    /// What must be known to read it: what was changed, what was not run.
    pub notes: Vec<String>,
}

impl Table {
    /// A table without rows.
    pub fn new(id: &str, title: &str, columns: &[&str]) -> Table {
        let columns = columns.iter().map(|c| c.to_string()).collect();
        Table { id: id.into(), title: title.into(), columns, rows: Vec::new(), notes: Vec::new() }
    }

    /// Adds a row.
    pub fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Adds a note.
    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// The table as text, also valid Markdown.
    pub fn print(&self) -> String {
        let width = |i: usize| {
            let cells = self.rows.iter().filter_map(|r| r.get(i)).chain(self.columns.get(i));
            cells.map(|c| c.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let line = |cells: &[String]| {
            let padded = cells.iter().zip(&widths).map(|(c, &w)| {
                let room = " ".repeat(w - c.chars().count());
                format!("{c}{room}")
            });
            format!("| {} |\n", padded.collect::<Vec<_>>().join(" | "))
        };
        let mut text = format!("{}\n\n{}", self.title, line(&self.columns));
        let rules: Vec<String> = widths.iter().map(|w| "-".repeat(*w)).collect();
        text += &line(&rules);
        self.rows.iter().for_each(|row| text += &line(row));
        if !self.notes.is_empty() {
            text += "\n";
            self.notes.iter().for_each(|note| text += &format!("- {note}\n"));
        }
        text
    }
}

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It does.
    Holds,
    /// It does not.
    Fails,
    /// It was not tried.
    NotRun,
}

/// One claim: of the paper, or of our goals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// What is claimed.
    pub text: String,
    /// What was found.
    pub found: String,
    /// Whether it holds.
    pub verdict: Verdict,
}

impl Claim {
    /// A claim that was tried.
    pub fn new(text: impl Into<String>, holds: bool, found: impl Into<String>) -> Claim {
        let verdict = if holds { Verdict::Holds } else { Verdict::Fails };
        Claim { text: text.into(), found: found.into(), verdict }
    }

    /// A claim that was not tried, and why.
    pub fn not_run(text: impl Into<String>, why: impl Into<String>) -> Claim {
        Claim { text: text.into(), found: why.into(), verdict: Verdict::NotRun }
    }

    /// One line.
    pub fn print(&self) -> String {
        let word = match self.verdict {
            Verdict::Holds => "holds  ",
            Verdict::Fails => "FAILS  ",
            Verdict::NotRun => "not run",
        };
        format!("{word}  {}: {}\n", self.text, self.found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_line_up() {
        let mut table = Table::new("t", "A table", &["model", "n"]);
        table.row(["P1", "1000"]);
        table.note("a note");
        assert_eq!(table.print(), "A table\n\n| model | n    |\n| ----- | ---- |\n| P1    | 1000 |\n\n- a note\n");
    }
}
