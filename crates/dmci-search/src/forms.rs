//! The forms of a program text with their places, so that parts of it can be replaced and the rest stays as its author
//! wrote it. The text was read before: this scanner relies on it.

/// A form and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// The first byte and the one behind the last.
    pub span: (usize, usize),
    /// What it is.
    pub kind: Kind,
}

/// What a form is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A symbol or a number, as it is written.
    Atom,
    /// A list.
    List(Vec<Form>),
    /// A string, a character, a vector or something quoted: data in which nothing is looked for.
    Data,
}

impl Form {
    /// Its text.
    pub fn text<'t>(&self, text: &'t str) -> &'t str {
        &text[self.span.0..self.span.1]
    }

    /// The items of a list.
    pub fn items(&self) -> &[Form] {
        if let Kind::List(items) = &self.kind { items } else { &[] }
    }

    /// Whether it is a list that begins with this symbol.
    pub fn begins(&self, name: &str, text: &str) -> bool {
        self.items().first().is_some_and(|head| head.kind == Kind::Atom && head.text(text) == name)
    }

    /// Calls a function with every form inside, itself included, and does not go into those at which it says no.
    pub fn visit<'f>(&'f self, see: &mut dyn FnMut(&'f Form) -> bool) {
        if see(self) {
            self.items().iter().for_each(|item| item.visit(see));
        }
    }
}

/// The forms of a text.
pub fn scan(text: &str) -> Vec<Form> {
    let mut scanner = Scanner { text: text.as_bytes(), at: 0 };
    scanner.list()
}

struct Scanner<'t> {
    text: &'t [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Skips spaces and comments.
    fn skip(&mut self) {
        loop {
            match (self.peek(0), self.peek(1)) {
                (b';', _) => {
                    while self.at < self.text.len() && self.peek(0) != b'\n' {
                        self.at += 1;
                    }
                }
                (b'#', b'|') => {
                    let mut open = 0;
                    while self.at < self.text.len() {
                        match (self.peek(0), self.peek(1)) {
                            (b'#', b'|') => (open, self.at) = (open + 1, self.at + 2),
                            (b'|', b'#') => (open, self.at) = (open - 1, self.at + 2),
                            _ => self.at += 1,
                        }
                        if open == 0 {
                            break;
                        }
                    }
                }
                (b'#', b';') => {
                    self.at += 2;
                    self.form();
                }
                (b, _) if b.is_ascii_whitespace() => self.at += 1,
                _ => return,
            }
        }
    }

    /// All forms up to a closing bracket or the end.
    fn list(&mut self) -> Vec<Form> {
        let mut forms = Vec::new();
        loop {
            self.skip();
            if self.at >= self.text.len() || self.peek(0) == b')' {
                return forms;
            }
            forms.push(self.form());
        }
    }

    fn form(&mut self) -> Form {
        self.skip();
        let start = self.at;
        let kind = match (self.peek(0), self.peek(1)) {
            (b'(', _) => {
                self.at += 1;
                let items = self.list();
                self.at += 1;
                Kind::List(items)
            }
            (b'\'' | b'`', _) => {
                self.at += 1;
                self.form();
                Kind::Data
            }
            (b',', next) => {
                self.at += if next == b'@' { 2 } else { 1 };
                self.form();
                Kind::Data
            }
            (b'"', _) => {
                self.until(b'"');
                Kind::Data
            }
            (b'#', b'\\') => {
                self.at += 3;
                self.atom();
                Kind::Data
            }
            (b'#', b'(') => {
                self.at += 1;
                self.form();
                Kind::Data
            }
            _ => {
                self.atom();
                Kind::Atom
            }
        };
        // At least one byte, so that every text comes to an end.
        self.at = self.at.max(start + 1).min(self.text.len());
        Form { span: (start, self.at), kind }
    }

    /// Behind a string or a name between bars that begins here.
    fn until(&mut self, end: u8) {
        self.at += 1;
        while self.at < self.text.len() && self.peek(0) != end {
            self.at += if self.peek(0) == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
    }

    fn atom(&mut self) {
        while self.at < self.text.len() {
            match self.peek(0) {
                b'|' => self.until(b'|'),
                b'(' | b')' | b'"' | b';' | b'\'' => return,
                b if b.is_ascii_whitespace() => return,
                _ => self.at += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_found_between_comments_strings_and_quoted_data() {
        let text = "; (a)\n(f \"(x\" #\\( '(hole) #| #| ( |# |# #;(gone) |a b| -1.5)#(1 2) y";
        let forms = scan(text);
        let texts: Vec<&str> = forms.iter().map(|f| f.text(text)).collect();
        assert_eq!(texts.len(), 3, "{texts:?}");
        assert_eq!(texts[2], "y");
        let items: Vec<&str> = forms[0].items().iter().map(|f| f.text(text)).collect();
        assert_eq!(items, ["f", "\"(x\"", "#\\(", "'(hole)", "|a b|", "-1.5"]);
        assert!(forms[0].begins("f", text) && !forms[1].begins("f", text));
        for broken in ["(", ")", "\"", "#|", "'", "(a (b", "#", "#\\"] {
            scan(broken);
        }
    }
}
