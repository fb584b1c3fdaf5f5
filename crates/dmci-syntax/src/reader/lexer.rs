//! Tokens: where each one starts and ends, and what it is. Nothing is allocated or converted here,
//! so that the REPL can ask whether a line is complete without a heap.

/// The shape of a parenthesis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Round,
    Square,
}

impl Shape {
    pub(crate) fn open(self) -> char {
        if self == Shape::Round { '(' } else { '[' }
    }

    pub(crate) fn close(self) -> char {
        if self == Shape::Round { ')' } else { ']' }
    }
}

/// What an opening token opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opener {
    List,
    Vector,
    Bytevector,
}

/// `'`, `` ` ``, `,` and `,@`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prefix {
    Quote,
    Quasiquote,
    Unquote,
    UnquoteSplicing,
}

impl Prefix {
    /// The symbol that the prefix stands for.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Prefix::Quote => "quote",
            Prefix::Quasiquote => "quasiquote",
            Prefix::Unquote => "unquote",
            Prefix::UnquoteSplicing => "unquote-splicing",
        }
    }

    /// How it is written.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Prefix::Quote => "'",
            Prefix::Quasiquote => "`",
            Prefix::Unquote => ",",
            Prefix::UnquoteSplicing => ",@",
        }
    }

    /// The prefix that stands for a symbol.
    pub(crate) fn of_name(name: &str) -> Option<Prefix> {
        [Prefix::Quote, Prefix::Quasiquote, Prefix::Unquote, Prefix::UnquoteSplicing]
            .into_iter()
            .find(|p| p.name() == name)
    }
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Open(Opener, Shape),
    Close(Shape),
    Prefix(Prefix),
    DatumComment,
    Dot,
    /// A number or an ordinary symbol.
    Atom,
    /// `"..."`
    String,
    /// `|...|`
    BarSymbol,
    /// `#\a`
    Char,
    /// `#` and a word: `#t`, `#x1F`, `#!eof`, or something unknown.
    Hash,
    /// `#0=`, a datum label, which is not supported.
    Label,
    /// A `"` or `|` without its partner.
    Unterminated,
    /// A `#|` without `|#`.
    UnterminatedComment,
    /// A character that starts no token.
    Stray,
    End,
}

/// A token and its byte range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Cuts a text into tokens.
#[derive(Clone, Debug)]
pub(crate) struct Lexer<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: usize,
    line_start: usize,
    /// Where the last token starts in its line, in bytes.
    pub(crate) column: usize,
    /// Whether the last token is the first one of its line.
    pub(crate) first_on_line: bool,
}

/// Whether a character ends a symbol or number. The quotation marks are not delimiters in R7RS,
/// which has no other meaning for `a'b` either; so `'a'b` reads as two data.
pub(crate) fn is_delimiter(c: char) -> bool {
    is_mark(c) || is_space(c)
}

const fn is_mark(c: char) -> bool {
    matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | '"' | ';' | '|' | '\'' | '`' | ',')
}

/// Whether a character separates tokens. The byte order mark counts, for texts from editors that add it.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || c == '\u{FEFF}'
}

/// The bytes that are characters of their own and end no symbol or number.
static GOES_ON: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0u8;
    while byte < 0x80 {
        table[byte as usize] = byte.is_ascii_graphic() && !is_mark(byte as char);
        byte += 1;
    }
    table
};

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str, at: usize) -> Self {
        let at = (at..text.len()).find(|&i| text.is_char_boundary(i)).unwrap_or(text.len());
        Lexer { text, at, line_start: at, column: 0, first_on_line: true }
    }

    /// Skips the first line of an executable script.
    pub(crate) fn skip_shebang(&mut self) {
        if self.text.starts_with("#!") && self.text[2..].starts_with(['/', ' ']) {
            self.skip_line();
        }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        match self.text.as_bytes().get(self.at) {
            Some(&b) if b < 0x80 => Some(b as char),
            _ => self.rest().chars().next(),
        }
    }

    fn skip_line(&mut self) {
        let rest = self.rest();
        self.at += rest.find('\n').unwrap_or(rest.len());
    }

    /// Skips a block comment, which may hold others; false if it does not end.
    fn skip_block_comment(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        let mut level = 0usize;
        while let (Some(&a), b) = (bytes.get(self.at), bytes.get(self.at + 1)) {
            match (a, b) {
                (b'#', Some(b'|')) => {
                    level += 1;
                    self.at += 2;
                }
                (b'|', Some(b'#')) => {
                    level -= 1;
                    self.at += 2;
                    if level == 0 {
                        return true;
                    }
                }
                _ => {
                    if a == b'\n' {
                        self.line_start = self.at + 1;
                    }
                    self.at += 1;
                }
            }
        }
        false
    }

    /// Skips white space and comments; the start of a block comment that does not end.
    fn skip_blank(&mut self) -> Option<usize> {
        while let Some(c) = self.peek() {
            match c {
                '\n' => {
                    self.at += 1;
                    self.line_start = self.at;
                    self.first_on_line = true;
                }
                ';' => self.skip_line(),
                '#' if self.rest().starts_with("#|") => {
                    let start = self.at;
                    if !self.skip_block_comment() {
                        return Some(start);
                    }
                }
                c if is_space(c) => self.at += c.len_utf8(),
                _ => break,
            }
        }
        None
    }

    /// The next token.
    pub(crate) fn next_token(&mut self) -> Token {
        self.first_on_line = self.at == self.line_start;
        if let Some(start) = self.skip_blank() {
            return Token { kind: Kind::UnterminatedComment, start, end: self.text.len() };
        }
        let start = self.at;
        self.column = start - self.line_start;
        let Some(c) = self.peek() else { return Token { kind: Kind::End, start, end: start } };
        self.at += c.len_utf8();
        let kind = match c {
            '(' => Kind::Open(Opener::List, Shape::Round),
            '[' => Kind::Open(Opener::List, Shape::Square),
            ')' => Kind::Close(Shape::Round),
            ']' => Kind::Close(Shape::Square),
            '\'' => Kind::Prefix(Prefix::Quote),
            '`' => Kind::Prefix(Prefix::Quasiquote),
            ',' if self.peek() == Some('@') => {
                self.at += 1;
                Kind::Prefix(Prefix::UnquoteSplicing)
            }
            ',' => Kind::Prefix(Prefix::Unquote),
            '"' => self.quoted(b'"', Kind::String),
            '|' => self.quoted(b'|', Kind::BarSymbol),
            '#' => self.hash(),
            '{' | '}' => Kind::Stray,
            _ => {
                self.skip_word();
                if &self.text[start..self.at] == "." { Kind::Dot } else { Kind::Atom }
            }
        };
        Token { kind, start, end: self.at }
    }

    fn skip_word(&mut self) {
        // Most words are short, and all of their characters are in the table.
        let plain = |b: &&u8| GOES_ON[usize::from(**b)];
        self.at += self.text.as_bytes()[self.at..].iter().take_while(plain).count();
        while let Some(c) = self.peek().filter(|&c| !is_delimiter(c)) {
            self.at += c.len_utf8();
        }
    }

    /// The rest of a string or of a symbol in bars.
    fn quoted(&mut self, close: u8, kind: Kind) -> Kind {
        let bytes = self.text.as_bytes();
        while let Some(&b) = bytes.get(self.at) {
            self.at += 1;
            match b {
                b'\\' if self.at < bytes.len() => {
                    self.at += self.peek().map_or(0, char::len_utf8);
                    if bytes[self.at - 1] == b'\n' {
                        self.line_start = self.at;
                    }
                }
                b'\n' => self.line_start = self.at,
                b if b == close => return kind,
                _ => {}
            }
        }
        Kind::Unterminated
    }

    /// What follows a `#`.
    fn hash(&mut self) -> Kind {
        let open = |shape, opener, length| (Kind::Open(opener, shape), length);
        let rest = self.rest();
        let (kind, length) = match rest.as_bytes() {
            [b'(', ..] => open(Shape::Round, Opener::Vector, 1),
            [b'u' | b'U', b'8', b'(', ..] => open(Shape::Round, Opener::Bytevector, 3),
            [b';', ..] => (Kind::DatumComment, 1),
            [b'\\', ..] => {
                // The character itself may be a delimiter.
                self.at += 1;
                self.at += self.peek().map_or(0, char::len_utf8);
                self.skip_word();
                return Kind::Char;
            }
            bytes => {
                let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
                if digits > 0 && bytes.get(digits) == Some(&b'=') {
                    (Kind::Label, digits + 1)
                } else {
                    self.skip_word();
                    return Kind::Hash;
                }
            }
        };
        self.at += length;
        kind
    }
}
