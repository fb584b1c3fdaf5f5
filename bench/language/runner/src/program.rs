//! The benchmark programs: definitions, and one last line that is timed.

use std::error::Error;
use std::fs;
use std::path::Path;

/// The programs, in the order of the table.
const NAMES: [&str; 5] = ["fib", "tak", "nqueens", "floats", "lists"];

/// A benchmark program.
pub struct Program {
    /// Its name, which is also the name of its file.
    pub name: &'static str,
    /// The whole text.
    pub text: String,
    /// The text without the last line.
    pub definitions: String,
    /// The last line.
    pub expression: String,
}

impl Program {
    /// Reads the programs in a directory.
    pub fn all(directory: &Path) -> Result<Vec<Program>, Box<dyn Error>> {
        NAMES.iter().map(|name| Program::read(directory, name)).collect()
    }

    fn read(directory: &Path, name: &'static str) -> Result<Program, Box<dyn Error>> {
        let text = fs::read_to_string(directory.join(name).with_extension("scm"))?;
        let (definitions, expression) = text.trim_end().rsplit_once('\n').ok_or("a program has two lines at least")?;
        let (definitions, expression) = (definitions.to_owned(), expression.to_owned());
        Ok(Program { name, text, definitions, expression })
    }

    /// The definitions, and a procedure `work` that does what is timed.
    pub fn as_procedure(&self) -> String {
        format!("{}\n(define (work) {})\n", self.definitions, self.expression)
    }
}
