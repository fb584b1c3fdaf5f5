//! Literals, and expressions of booleans, characters, strings and symbols.

use super::{Generator, Type};
use crate::sexp::{Sexp, form};

const EDGES: &[&str] = &[
    "140737488355327",
    "140737488355328",
    "-140737488355328",
    "-140737488355329",
    "9007199254740993",
    "4611686018427387904",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "100000000000000000000000000000",
    "-340282366920938463463374607431768211457",
];

const REALS: &[&str] = &[
    "0.0",
    "1.0",
    "-1.5",
    "0.1",
    "3.25",
    "1e10",
    "-2.5e-3",
    "1e21",
    "1e100",
    "123456.789",
    "1e-7",
    "0.5",
    "2.0",
    "5e-324",
    "1.7976931348623157e308",
    "9007199254740992.0",
];

const SPECIALS: &[&str] = &["+inf.0", "-inf.0", "+nan.0", "-0.0"];

const CHARS: &[&str] = &["#\\a", "#\\Z", "#\\0", "#\\space", "#\\newline", "#\\x3bb", "#\\(", "#\\;"];

const STRINGS: &[&str] =
    &["\"\"", "\"abc\"", "\"Hello, World\"", "\"12\"", "\"a\\nb\\\"c\"", "\"\\x3bb;x\"", "\"-1.5e3\""];

const SYMBOLS: &[&str] = &["'a", "'b", "'hello", "'+", "'|odd one|", "'if", "'x"];

impl Generator<'_> {
    /// A constant of a type, or an expression that makes a new object.
    pub(super) fn literal(&mut self, ty: &Type) -> Sexp {
        match ty {
            Type::Int if self.random.one_in(8) => Sexp::atom(*self.random.pick(EDGES)),
            Type::Int => Sexp::atom(self.random.between(-5, 20)),
            Type::Real if self.random.one_in(6) => Sexp::atom(*self.random.pick(SPECIALS)),
            Type::Real => Sexp::atom(*self.random.pick(REALS)),
            Type::Bool => Sexp::atom(self.random.text(&["#t", "#f"])),
            Type::Char => Sexp::atom(*self.random.pick(CHARS)),
            Type::Str => Sexp::atom(*self.random.pick(STRINGS)),
            Type::Sym => form(self.random.text(SYMBOLS), []),
            Type::Ints | Type::Reals => {
                let item = if *ty == Type::Ints { Type::Int } else { Type::Real };
                let items: Vec<Sexp> = (0..self.random.below(6)).map(|_| self.literal(&item)).collect();
                Sexp::Prefixed("'", Box::new(Sexp::List(items)))
            }
            Type::Vector => {
                let items: Vec<Sexp> = (0..=self.random.below(5)).map(|_| self.literal(&Type::Int)).collect();
                form("(vector ~~)", items)
            }
            Type::Table => form("(make-equal-hash-table)", []),
            Type::Record(i) => form(&format!("(make-r{i} ~ ~)"), [self.literal(&Type::Int), self.literal(&Type::Ints)]),
            Type::Fun(params, result) => {
                let names: Vec<Sexp> = (0..params.len()).map(|i| Sexp::atom(format!("p{i}"))).collect();
                form("(lambda ~ ~)", [Sexp::List(names), self.literal(result)])
            }
        }
    }

    pub(super) fn boolean(&mut self, d: usize) -> Sexp {
        match self.random.below(17) {
            0..=3 => {
                let op = self.random.text(&["=", "<", ">", "<=", ">="]);
                let ty = if self.random.one_in(3) { Type::Real } else { Type::Int };
                let count = if self.random.one_in(5) { 3 } else { 2 };
                let parts: Vec<Sexp> = (0..count).map(|_| self.expr(&ty, d)).collect();
                form(&format!("({op} ~~)"), parts)
            }
            4 => form("(not ~)", [self.expr(&Type::Bool, d)]),
            5 => form("(and ~ ~)", [self.expr(&Type::Bool, d), self.expr(&Type::Bool, d)]),
            6 => form("(or ~ ~)", [self.expr(&Type::Bool, d), self.expr(&Type::Bool, d)]),
            7 => form(
                &format!("({} ~)", self.random.text(&["even?", "odd?", "zero?", "negative?"])),
                [self.expr(&Type::Int, d)],
            ),
            8 => form("(null? ~)", [self.expr(&Type::Ints, d)]),
            9 => {
                let ty = self.any_type();
                form("(equal? ~ ~)", [self.expr(&ty, d), self.expr(&ty, d)])
            }
            10 => {
                let other = self.any_type();
                let test = self.random.text(&[
                    "number?",
                    "pair?",
                    "symbol?",
                    "string?",
                    "procedure?",
                    "vector?",
                    "integer?",
                    "exact?",
                ]);
                let ty = if test == "exact?" { Type::Real } else { other };
                form(&format!("({test} ~)"), [self.expr(&ty, d)])
            }
            11 => form("(if (memv ~ ~) #t #f)", [self.expr(&Type::Int, d), self.expr(&Type::Ints, d)]),
            12 => form(
                &format!("({} ~ ~)", self.random.text(&["string<?", "string=?", "string>?"])),
                [self.expr(&Type::Str, d), self.expr(&Type::Str, d)],
            ),
            13 => form("(eq? ~ ~)", [self.expr(&Type::Sym, d), self.expr(&Type::Sym, d)]),
            14 => form("(char<? ~ ~)", [self.expr(&Type::Char, d), self.expr(&Type::Char, d)]),
            15 => {
                let op = self.random.text(&["any", "every"]);
                let test = self.function(&[Type::Int], &Type::Bool, d);
                form(&format!("({op} ~ ~)"), [test, self.expr(&Type::Ints, d)])
            }
            _ => form(
                &format!("({} ~)", self.random.text(&["nan?", "infinite?", "finite?", "integer?"])),
                [self.expr(&Type::Real, d)],
            ),
        }
    }

    pub(super) fn character(&mut self, d: usize) -> Sexp {
        match self.random.below(4) {
            0 => form("(char-upcase ~)", [self.expr(&Type::Char, d)]),
            1 => form("(string-ref (string-append \"z\" ~) 0)", [self.expr(&Type::Str, d)]),
            2 => form("(integer->char (+ 65 (modulo ~ 26)))", [self.expr(&Type::Int, d)]),
            _ => self.general(&Type::Char, d),
        }
    }

    pub(super) fn string(&mut self, d: usize) -> Sexp {
        match self.random.below(10) {
            0 => form("(string-append ~ ~)", [self.expr(&Type::Str, d), self.expr(&Type::Str, d)]),
            1 => form("(number->string ~)", [self.expr(&Type::Int, d)]),
            2 => form("(symbol->string ~)", [self.expr(&Type::Sym, d)]),
            3 => form("(string-upcase ~)", [self.expr(&Type::Str, d)]),
            4 => form("(list->string (reverse (string->list ~)))", [self.expr(&Type::Str, d)]),
            5 => form("(string ~ ~)", [self.expr(&Type::Char, d), self.expr(&Type::Char, d)]),
            6 => form("(let ((s ~)) (substring s 0 (quotient (string-length s) 2)))", [self.expr(&Type::Str, d)]),
            7 => {
                let f = self.function(&[Type::Char], &Type::Char, d);
                form("(string-map ~ ~)", [f, self.expr(&Type::Str, d)])
            }
            8 if !self.options.portable => form("(number->string ~)", [self.expr(&Type::Real, d)]),
            8 => form("(string-copy ~)", [self.expr(&Type::Str, d)]),
            _ => form(
                "(call-with-output-string (lambda (port) (write ~ port) (display ~ port)))",
                [self.expr(&Type::Ints, d), self.expr(&Type::Str, d)],
            ),
        }
    }

    pub(super) fn symbol(&mut self, d: usize) -> Sexp {
        match self.random.below(3) {
            0 => form("(string->symbol ~)", [self.expr(&Type::Str, d)]),
            1 => form("(car (assv ~ '((1 . one) (2 . two) (3 . three))))", [Sexp::atom(self.random.between(1, 3))]),
            _ => self.general(&Type::Sym, d),
        }
    }
}
