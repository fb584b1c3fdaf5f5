//! Damage to texts: by bytes, by tokens and by subtrees.

use dmci_generate::random::Random;
use dmci_generate::sexp::{Sexp, Tokens, parse, text_of};

/// Pieces of text that parsers tend to stumble over.
const PIECES: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "#(",
    "#u8(",
    "'",
    "`",
    ",",
    ",@",
    ".",
    " . ",
    "#;",
    "#|",
    "|#",
    ";",
    "\n",
    "\"",
    "\\",
    "|",
    "#",
    "#\\",
    "#\\x",
    "#\\x110000",
    "#\\xD800",
    "#\\space",
    "#\\nul",
    "#t",
    "#f",
    "#true",
    "#d",
    "#x",
    "#e",
    "#i",
    "#b",
    "#o",
    "#e1.5",
    "#x-ff",
    "#b102",
    "1/3",
    "1/0",
    "-1/2",
    "+",
    "-",
    "...",
    "+inf.0",
    "-nan.0",
    "1e400",
    "1e-400",
    "1e",
    ".5",
    "5.",
    "+5",
    "--5",
    "1+",
    "-1+",
    "0x10",
    "1_000",
    "123456789012345678901234567890",
    "1e99999999999",
    "#e1e500",
    "#e1e99999999",
    "\\x41;",
    "\"\\x41;\"",
    "\"\\q\"",
    "\"\\\n   \"",
    "λ",
    "é",
    "\u{0}",
    "\u{feff}",
    "\u{1F600}",
    "\u{301}",
    "#!eof",
    "#!default",
    "#!fold-case",
    "#0=",
    "#0#",
    "quote",
    "unquote",
    "=>",
    "else",
    "_",
    "@",
    "nan",
    "{",
    "}",
];

/// Names that the expander and the machine know.
const WORDS: &[&str] = &[
    "define",
    "lambda",
    "let",
    "let*",
    "letrec",
    "letrec*",
    "named-lambda",
    "if",
    "cond",
    "case",
    "and",
    "or",
    "when",
    "unless",
    "begin",
    "set!",
    "quote",
    "quasiquote",
    "unquote",
    "unquote-splicing",
    "do",
    "loop",
    "recur",
    "delay",
    "delay-force",
    "cons-stream",
    "parameterize",
    "define-syntax",
    "let-syntax",
    "letrec-syntax",
    "syntax-rules",
    "syntax-error",
    "define-record-type",
    "define-values",
    "let-values",
    "let*-values",
    "receive",
    "case-lambda",
    "guard",
    "assert",
    "import",
    "define-library",
    "params",
    "include",
    "fluid-let",
    "call/cc",
    "dynamic-wind",
    "values",
    "call-with-values",
    "with-exception-handler",
    "raise",
    "raise-continuable",
    "error",
    "apply",
    "map",
    "for-each",
    "vector-map",
    "string-map",
    "fold-left",
    "fold-right",
    "reduce",
    "filter",
    "sort",
    "list-sort",
    "append",
    "append!",
    "reverse!",
    "list-tail",
    "list-copy",
    "vector-fill!",
    "vector-copy!",
    "subvector",
    "string-copy!",
    "string-fill!",
    "make-vector",
    "make-string",
    "make-list",
    "iota",
    "list-tabulate",
    "vector->list",
    "list->string",
    "string->number",
    "number->string",
    "expt",
    "exact",
    "inexact",
    "exact-integer-sqrt",
    "quotient",
    "modulo",
    "arithmetic-shift",
    "bitwise-and",
    "gcd",
    "hash-table-set!",
    "hash-table-ref",
    "hash-table-update!",
    "hash-table-walk",
    "make-equal-hash-table",
    "eval",
    "interaction-environment",
    "make-parameter",
    "force",
    "make-promise",
    "open-input-string",
    "read",
    "read-line",
    "read-char",
    "with-output-to-string",
    "call-with-output-string",
    "set-car!",
    "set-cdr!",
    "eq?",
    "equal?",
    "assoc",
    "member",
    "list-set!",
    "string-set!",
    "vector-set!",
    "exit",
    "runtime",
    "random",
    "format",
    "write",
    "display",
    "write-shared",
    "bytevector-u8-set!",
    "utf8->string",
    "char-upcase",
    "symbol->string",
    "string->symbol",
    "gensym",
    "procedure?",
    "procedure-arity",
    "condition/report-string",
    "error-object-message",
    "error-object-irritants",
    "vector-binary-search",
    "string-pad-left",
    "string-search-forward",
    "assq-ref",
    "del-assv",
    "stream-head",
    "unfold",
    "list-index",
    "delete-duplicates",
    "apply",
    "%note",
    "%named",
    "%global",
    "%frame",
    "%expand",
    "%case-lambda",
    "%unset",
];

/// Arguments that are at the edge of what primitives accept.
const ATOMS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "3",
    "100",
    "255",
    "256",
    "65536",
    "1000000",
    "1e10",
    "-0.0",
    "0.5",
    "+nan.0",
    "+inf.0",
    "-inf.0",
    "140737488355328",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "1000000000000000000000000",
    "\"\"",
    "\"abc\"",
    "#\\a",
    "'()",
    "'a",
    "'(1 2 3)",
    "'(1 . 2)",
    "'((a . 1))",
    "(vector)",
    "(vector 1 2 3)",
    "(list 1 2 3)",
    "car",
    "list",
    "(lambda x x)",
    "(lambda () 1)",
    "#t",
    "#f",
    "x",
    "(values)",
    "(values 1 2)",
    "(make-equal-hash-table)",
    "(current-output-port)",
    "(if #f #f)",
    "(delay 1)",
    "(bytevector 1 2)",
    "(call/cc (lambda (k) k))",
];

/// A mutated copy of one of the seeds.
pub fn text(random: &mut Random, seeds: &[String]) -> String {
    let mut text = random.pick(seeds).clone();
    for _ in 0..1 + random.below(3) {
        text = match random.below(8) {
            0..=2 => bytes(random, &text),
            3 | 4 => tokens(random, &text),
            _ => tree(random, &text, seeds),
        };
    }
    text
}

/// A mutation that keeps the text a list of data.
pub fn program(random: &mut Random, seeds: &[String]) -> String {
    let mut text = random.pick(seeds).clone();
    for _ in 0..1 + random.below(4) {
        text = tree(random, &text, seeds);
    }
    text
}

/// Tokens in a random order.
pub fn soup(random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..random.below(60) {
        match random.below(6) {
            0 => text.push_str(random.text(WORDS)),
            1 => text.push_str(random.text(ATOMS)),
            2 => text.push_str(random.text(&["(", ")"])),
            3 => text.push(char::from(random.below(128) as u8)),
            _ => text.push_str(random.text(PIECES)),
        }
        if random.one_in(2) {
            text.push(' ');
        }
    }
    text
}

/// Calls of the machine's primitives and the library's procedures with arguments at the edge of what
/// they accept, each on its own so that one error does not hide the next.
pub fn calls(random: &mut Random, names: &[String]) -> String {
    let mut text = String::new();
    for _ in 0..1 + random.below(8) {
        let mut call = format!("({}", names[random.below(names.len())]);
        for _ in 0..random.below(5) {
            call.push(' ');
            if random.one_in(6) {
                call.push_str(&format!("({} {})", names[random.below(names.len())], random.text(ATOMS)));
            } else {
                call.push_str(random.text(ATOMS));
            }
        }
        call.push(')');
        text.push_str(&match random.below(4) {
            0 => format!("(guard (e (#t (display (condition/report-string e)))) (write (list {call} {call})))\n"),
            1 => format!("(guard (e (#t (write e))) (let ((x '(5 6))) (write {call}) (write x)))\n"),
            2 => {
                format!("(guard (e (#t (display e))) (call-with-values (lambda () {call}) (lambda all (write all))))\n")
            }
            _ => format!("{call}\n"),
        });
    }
    text
}

/// Nonsense made of balanced parentheses and known words.
pub fn nonsense(random: &mut Random, depth: usize) -> Sexp {
    if depth == 0 || random.one_in(4) {
        let piece: &str = if random.one_in(2) { random.text(WORDS) } else { random.text(ATOMS) };
        return parse(piece).into_iter().next().unwrap_or(Sexp::List(Vec::new()));
    }
    let mut items = Vec::new();
    if !random.one_in(5) {
        items.push(Sexp::atom(random.text(WORDS)));
    }
    for _ in 0..random.below(5) {
        items.push(nonsense(random, depth - 1));
    }
    if random.one_in(8) {
        return Sexp::Prefixed(random.text(&["'", "`", ",", ",@", "#"]), Box::new(Sexp::List(items)));
    }
    Sexp::List(items)
}

fn bytes(random: &mut Random, text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len() + 1);
        match random.below(5) {
            0 if at < bytes.len() => bytes[at] = random.word() as u8,
            1 if at < bytes.len() => {
                bytes.remove(at);
            }
            2 => {
                let piece: &str = random.text(PIECES);
                bytes.splice(at..at, piece.bytes());
            }
            3 => {
                let end = (at + random.below(20)).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                let target = random.below(bytes.len() + 1);
                bytes.splice(target..target, copy);
            }
            _ => {
                let end = (at + random.below(10)).min(bytes.len());
                bytes.drain(at..end);
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn tokens(random: &mut Random, text: &str) -> String {
    let mut tokens: Vec<&str> = Tokens::new(text).collect();
    for _ in 0..1 + random.below(4) {
        let at = random.below(tokens.len() + 1);
        match random.below(5) {
            0 if at < tokens.len() => {
                tokens.remove(at);
            }
            1 => tokens.insert(at, random.text(PIECES)),
            2 => tokens.insert(at, random.text(WORDS)),
            3 if at < tokens.len() => {
                let other = random.below(tokens.len());
                tokens.swap(at, other);
            }
            _ if at < tokens.len() => tokens[at] = random.text(ATOMS),
            _ => {}
        }
    }
    tokens.join(" ")
}

fn tree(random: &mut Random, text: &str, seeds: &[String]) -> String {
    let mut forms = parse(text);
    if forms.is_empty() {
        return text.to_string();
    }
    let size: usize = forms.iter().map(Sexp::size).sum();
    let other = match random.below(6) {
        0 | 1 => {
            let donor = parse(&seeds[random.below(seeds.len())]);
            random_node(random, &donor)
        }
        2 => random_node(random, &forms),
        3 => Some(nonsense(random, 2)),
        4 => parse(random.text(ATOMS)).into_iter().next(),
        _ => Some(Sexp::atom(random.text(WORDS))),
    };
    let other = other.unwrap_or(Sexp::List(Vec::new()));
    let mut index = random.below(size);
    if let Some(place) = forms.iter_mut().find_map(|form| form.node_mut(&mut index)) {
        match (random.below(5), &mut *place) {
            (0, Sexp::List(items)) if !items.is_empty() => {
                let at = random.below(items.len());
                items.remove(at);
            }
            (1, Sexp::List(items)) => {
                let at = random.below(items.len() + 1);
                items.insert(at, other);
            }
            (2, Sexp::List(items)) if items.len() > 1 => {
                let (a, b) = (random.below(items.len()), random.below(items.len()));
                items.swap(a, b);
            }
            (3, place) => *place = Sexp::List(vec![other, place.clone()]),
            (_, place) => *place = other,
        }
    }
    text_of(&forms)
}

fn random_node(random: &mut Random, forms: &[Sexp]) -> Option<Sexp> {
    let size: usize = forms.iter().map(Sexp::size).sum();
    let mut copy = forms.to_vec();
    let mut index = random.below(size);
    copy.iter_mut().find_map(|form| form.node_mut(&mut index)).cloned()
}
