//! Text in lines that are indented.

/// Lines under construction.
#[derive(Debug, Default)]
pub struct Lines {
    text: String,
    depth: usize,
}

impl Lines {
    /// Adds a line.
    pub fn line(&mut self, line: impl AsRef<str>) {
        let line = line.as_ref();
        if !line.is_empty() {
            (0..self.depth).for_each(|_| self.text.push_str("    "));
            self.text.push_str(line);
        }
        self.text.push('\n');
    }

    /// Lines that follow are one step deeper.
    pub fn deeper(&mut self) {
        self.depth += 1;
    }

    /// Lines that follow are one step less deep.
    pub fn back(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// The text.
    pub fn text(self) -> String {
        self.text
    }
}

/// A real as C and Python write it.
pub fn real(x: f64) -> String {
    format!("{x:?}")
}

/// A text as the inside of a comment or of a string between double quotes, on one line.
pub fn quoted(text: &str) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(clean).collect::<String>().replace('\\', "\\\\").replace('"', "\\\"").replace("*/", "* /")
}
