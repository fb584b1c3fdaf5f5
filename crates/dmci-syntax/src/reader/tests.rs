use super::*;
use crate::printer;
use dmci_value::Origin;

fn read(text: &str) -> (Heap, Result<Program, Vec<Diagnostic>>) {
    let mut heap = Heap::new();
    let source = heap.sources.add("t", text, Origin::User);
    let program = read_all(&mut heap, source);
    (heap, program)
}

/// What is read, written again.
fn round(text: &str) -> String {
    let (heap, program) = read(text);
    let written = printer::write(&heap, program.expect(text).forms);
    written[1..written.len() - 1].to_string()
}

/// Codes and primary texts of the errors.
fn errors(text: &str) -> Vec<String> {
    let (heap, program) = read(text);
    let errors = program.expect_err(text);
    errors.iter().map(|e| format!("{} {}", e.code, heap.sources.slice(e.span().unwrap()))).collect()
}

#[test]
fn data_of_every_kind_are_read() {
    for (text, written) in [
        ("(a . (b . (c)))", "(a b c)"),
        ("(a [b c] . d)", "(a (b c) . d)"),
        ("'a `(b ,c ,@d) '() ''x", "'a `(b ,c ,@d) '() ''x"),
        ("(quote a b) (quote) (quote . a) , @x", "(quote a b) (quote) (quote . a) , @x"),
        ("'a'b", "'a 'b"),
        ("#(1 #(2) ()) #u8(0 255) #u8()", "#(1 #(2) ()) #u8(0 255) #u8()"),
        ("#t #f #true #FALSE #!eof #!default #!unspecific", "#t #f #t #f #<eof> #!default #<unspecified>"),
        (
            "... + - 1+ -1+ ->x +x .x .. 2pi a.b <=? !$%&*/:<=>?^_~",
            "... + - 1+ -1+ ->x +x .x .. 2pi a.b <=? !$%&*/:<=>?^_~",
        ),
        ("1 -7 +3 2.5 .5 -.5e1 1. 1e3 1d3 #x1F #e1e2 6/3 1/2", "1 -7 3 2.5 0.5 -5.0 1.0 1000.0 1000.0 31 100 2 0.5"),
        ("+inf.0 -inf.0 +nan.0 123456789012345678901234567890", "+inf.0 -inf.0 +nan.0 123456789012345678901234567890"),
        ("|a b| || |x\\x41;\\|| |1| |.| |a| |#foo|", "|a b| || |xA\\|| |1| |.| a |#foo|"),
        ("|a|b c|d|", "a b c d"),
        (r#""a\n\t\\\"\x3bb;\a|""#, "\"a\\n\\t\\\\\\\"\u{3bb}\\a|\""),
        ("\"a\\  \n   b\r\nc\"", "\"ab\\nc\""),
        (
            "#\\a #\\( #\\) #\\; #\\space #\\Newline #\\x41 #\\x #\\\u{3bb} #\\nul",
            "#\\a #\\( #\\) #\\; #\\space #\\newline #\\A #\\x #\\\u{3bb} #\\null",
        ),
        ("(#\\a)(#\\))", "(#\\a) (#\\))"),
        ("a;c\nb #|x #| y |# z|# c #;d e #;(f g) #; #;h i j", "a b c e j"),
        ("Foo #!fold-case Foo #\\A #!no-fold-case Foo", "Foo foo #\\A Foo"),
        ("\u{feff}a\u{a0}b\u{2003}c", "a b c"),
        ("#!/usr/bin/dmci\n1", "1"),
    ] {
        assert_eq!(round(text), written, "{text}");
    }
}

#[test]
fn errors_are_collected_with_their_places() {
    for (text, expected) in [
        ("(a", &["E0101 ("][..]),
        ("a) b ]", &["E0102 )", "E0102 ]"]),
        ("(a [b) c)", &["E0103 )"]),
        (
            "(1.2.3 1e 3+4i +i 1_000 1/0 #xyz \u{201c}a\u{201d})",
            &[
                "E0104 1.2.3",
                "E0104 1e",
                "E0104 3+4i",
                "E0104 +i",
                "E0104 1_000",
                "E0104 1/0",
                "E0104 #xyz",
                "E0104 \u{201c}a\u{201d}",
            ],
        ),
        ("#u8(1 256 a) {", &["E0104 256", "E0104 a", "E0104 {"]),
        ("(a \"b\nc)", &["E0105 \"b"]),
        ("(a |b\nc)", &["E0105 |b"]),
        (r#""a\q \x; \x41 \xD800; \é" x"#, &["E0106 \\q", "E0106 \\x;", "E0106 \\x41", "E0106 \\xD800;", "E0106 \\é"]),
        ("#\\foo #\\xD800 (#\\", &["E0107 #\\foo", "E0107 #\\xD800", "E0101 (", "E0107 #\\"]),
        (
            "(. a) (a . ) (a . b c) . #(a . b) (a . b . c)",
            &["E0108 .", "E0108 .", "E0108 c", "E0108 .", "E0108 .", "E0108 .", "E0108 c"],
        ),
        ("(a #| b #| c |#", &["E0109 #|"]),
        (
            "#0=(a #0#) #foo #<x> #:k #!bar #",
            &["E0111 #0=", "E0111 #0#", "E0111 #foo", "E0111 #<x>", "E0111 #:k", "E0111 #!bar", "E0111 #"],
        ),
        ("(a ') (`) #;", &["E0112 '", "E0112 `", "E0112 #;"]),
    ] {
        assert_eq!(errors(text), expected, "{text}");
    }
}

#[test]
fn unclosed_lists_are_reported_once_with_a_guess_by_indentation() {
    let text = "(define (f x)\n  (let ((y 1))\n    (+ x y))\n\n(define (g) 2)\n";
    let (heap, program) = read(text);
    let errors = program.unwrap_err();
    assert_eq!(errors.len(), 1);
    let places: Vec<u32> = errors[0].labels.iter().map(|l| l.span.start).collect();
    assert_eq!(places, [0, text.find("y))\n\n").unwrap() as u32 + 2]);
    assert_eq!(errors[0].help.as_deref(), Some("add ) there"));
    drop(heap);
    // The list that was closed too late is where the parenthesis is missing.
    let text = "(define (f x)\n  (let ((y (+ x 1))\n    (* y 2)))\n";
    let (_, program) = read(text);
    let errors = program.unwrap_err();
    assert_eq!(errors[0].labels[1].span.end as usize, text.find("\n    (*").unwrap());
    // Two forms, two errors; several at the end of the text, one.
    assert_eq!(super::tests::errors("(define a (b\n\n(define c (d\n"), ["E0101 (", "E0101 ("]);
    assert_eq!(super::tests::errors("(a (b (c"), ["E0101 ("]);
}

#[test]
fn pairs_know_their_places() {
    let text = "x (foo 'bar (baz . q)) 12";
    let (heap, program) = read(text);
    let forms = program.unwrap().forms;
    let spans = |v| {
        let span = heap.pair_span(v).unwrap();
        (heap.sources.slice(span.form()), heap.sources.slice(span.car()))
    };
    assert_eq!(spans(forms), (text, "x"));
    let second = heap.cdr(forms).unwrap();
    assert_eq!(spans(second), ("(foo 'bar (baz . q)) 12", "(foo 'bar (baz . q))"));
    assert_eq!(spans(heap.cdr(second).unwrap()), ("12", "12"));
    let list = heap.car(second).unwrap();
    assert_eq!(spans(list), ("(foo 'bar (baz . q))", "foo"));
    let rest = heap.cdr(list).unwrap();
    assert_eq!(spans(rest), ("'bar (baz . q))", "'bar"));
    let quoted = heap.car(rest).unwrap();
    assert_eq!(spans(quoted), ("'bar", "'"));
    assert_eq!(spans(heap.cdr(quoted).unwrap()), ("bar", "bar"));
    let last = heap.cdr(rest).unwrap();
    assert_eq!(spans(heap.car(last).unwrap()), ("(baz . q)", "baz"));
}

#[test]
fn one_datum_at_a_time() {
    let mut heap = Heap::new();
    let text = " (a b) #;x 12 ; end";
    let (first, at) = read_one(&mut heap, text, 0).unwrap().unwrap();
    assert_eq!(printer::write(&heap, first), "(a b)");
    let (second, at) = read_one(&mut heap, text, at).unwrap().unwrap();
    assert_eq!(second, Value::fixnum(12));
    assert!(read_one(&mut heap, text, at).unwrap().is_none());
    assert_eq!(read_one(&mut heap, "(a", 0).unwrap_err().code, "E0101");
    assert_eq!(read_one(&mut heap, ")", 0).unwrap_err().code, "E0102");
    assert!(read_one(&mut heap, "", 7).unwrap().is_none());
}

#[test]
fn the_repl_waits_for_what_is_open() {
    for text in ["(a", "(a \"b", "'", "#;", "#| a", "[(a)", "|a", "(a ; )"] {
        assert!(is_incomplete(text), "{text}");
    }
    for text in ["", "a", "(a)", "a)", ") (", "'a", "\"a\"", "; (", "#| ( |#", "#\\("] {
        assert!(!is_incomplete(text), "{text}");
    }
}

#[test]
fn deep_nesting_is_an_error_and_not_a_crash() {
    for unit in ["(", "'", "#(", "[", "#;"] {
        let text = unit.repeat(1_000_000);
        let (_, program) = read(&text);
        let errors = program.unwrap_err();
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].code, "E0110");
    }
    let n = DEPTH_LIMIT;
    let (heap, program) = read(&format!("{}{}", "(".repeat(n), ")".repeat(n)));
    let program = program.unwrap();
    assert_eq!(program.depth, n);
    assert_eq!(printer::write(&heap, program.forms).len(), 2 * n + 2);
    assert!(read(&"#|".repeat(1_000_000)).1.is_err());
    for unit in [")", "#\\foo ", "{", "\"\\q\" "] {
        assert_eq!(read(&unit.repeat(100_000)).1.unwrap_err().len(), 50);
    }
    assert_eq!(read(&format!("\"{}\"", "\\q".repeat(100_000))).1.unwrap_err().len(), 50);
    assert_eq!(read(&"'".repeat(5_000)).1.unwrap_err().len(), 50);
}

#[test]
fn long_texts_take_linear_time() {
    let start = std::time::Instant::now();
    let (heap, program) = read(&format!("({})", "abc 12\n".repeat(5 << 17)));
    let list = heap.car(program.unwrap().forms).unwrap();
    assert_eq!(heap.list_items(list).unwrap().len(), 5 << 18);
    let mut lines = "(".repeat(9_000);
    lines.push_str(&"\n(\n".repeat(900));
    lines.push_str(&"\na".repeat(1_000_000));
    assert!(read(&lines).1.is_err());
    assert!(start.elapsed().as_secs() < 20);
}

/// A small generator of random numbers; tests are the same on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n
    }

    fn text(&mut self) -> String {
        const CHARS: &[char] = &[
            'a',
            'B',
            '1',
            '.',
            '+',
            '-',
            '|',
            '\\',
            '"',
            '#',
            ' ',
            '\n',
            '\r',
            '\t',
            '(',
            '\'',
            '@',
            ';',
            'e',
            'x',
            '\0',
            '\u{7f}',
            '\u{e9}',
            '\u{2028}',
            '\u{1F600}',
            '\u{201c}',
            '{',
            ',',
            '\u{feff}',
            '\u{301}',
        ];
        (0..self.below(6)).map(|_| CHARS[self.below(CHARS.len())]).collect()
    }

    fn datum(&mut self, heap: &mut Heap, depth: usize) -> Value {
        match self.below(if depth == 0 { 6 } else { 10 }) {
            0 => Value::fixnum(self.below(2000) as i64 - 1000),
            1 => Value::real((self.below(2000) as f64 - 1000.0) / 8.0),
            2 => Value::boolean(self.below(2) == 0),
            3 => Value::symbol(heap.symbols.intern(&self.text())),
            4 => heap.string(&self.text()),
            5 => Value::char(self.text().chars().next().unwrap_or('z')),
            6 => {
                let bytes: Vec<u8> = (0..self.below(4)).map(|_| self.below(256) as u8).collect();
                heap.bytevector(&bytes)
            }
            7 => {
                let items: Vec<Value> = (0..self.below(4)).map(|_| self.datum(heap, depth - 1)).collect();
                heap.vector(&items)
            }
            8 => {
                let name = ["quote", "quasiquote", "unquote", "unquote-splicing"][self.below(4)];
                let name = Value::symbol(heap.symbols.intern(name));
                let datum = self.datum(heap, depth - 1);
                heap.list(&[name, datum])
            }
            _ => {
                let items: Vec<Value> = (0..self.below(5)).map(|_| self.datum(heap, depth - 1)).collect();
                let tail = if items.is_empty() || self.below(4) > 0 { Value::NIL } else { self.datum(heap, 0) };
                heap.list_with_tail(&items, tail)
            }
        }
    }
}

/// `equal?` on small data.
fn same(heap: &Heap, a: Value, b: Value) -> bool {
    match (a.as_ref(), b.as_ref()) {
        (Some(x), Some(y)) if heap.kind(x) == heap.kind(y) && heap.len(x) == heap.len(y) => {
            if matches!(heap.kind(x), dmci_value::Kind::Pair | dmci_value::Kind::Vector) {
                heap.fields(x).zip(heap.fields(y)).all(|(a, b)| same(heap, a, b))
            } else {
                heap.raw(x) == heap.raw(y)
            }
        }
        _ => a == b,
    }
}

#[test]
fn what_is_written_is_read_back() {
    let mut random = Random(1);
    for _ in 0..5_000 {
        let mut heap = Heap::new();
        let datum = random.datum(&mut heap, 4);
        let text = printer::write(&heap, datum);
        match read_one(&mut heap, &text, 0) {
            Ok(Some((back, end))) => {
                assert!(same(&heap, datum, back), "{text} came back as {}", printer::write(&heap, back));
                assert_eq!(end, text.len(), "{text}");
            }
            other => panic!("{text}: {other:?}"),
        }
        assert!(!is_incomplete(&text), "{text}");
    }
}

#[test]
fn no_text_makes_it_panic() {
    let mut random = Random(2);
    let program =
        "(define (f x . r) `(a ,x ,@r #(1 \"s\\x41;\" #\\x41) |b c|)) #| c |# #;d [let loop ((i 0)) 'e 1.5e-3]";
    let pieces = [
        "(",
        ")",
        "[",
        "]",
        "#(",
        "#u8(",
        "'",
        ",@",
        " . ",
        "\"",
        "\\",
        "|",
        "#|",
        "|#",
        "#;",
        "\n",
        "#\\",
        "1",
        "-",
        "e",
        "a",
        "\u{e9}",
        "#0=",
        "#0#",
        "#!fold-case",
        "{",
    ];
    for i in 0..20_000 {
        let text = match i % 3 {
            0 => {
                let bytes: Vec<u8> = (0..random.below(40)).map(|_| random.below(256) as u8).collect();
                String::from_utf8_lossy(&bytes).into_owned()
            }
            1 => (0..random.below(30)).map(|_| pieces[random.below(pieces.len())]).collect(),
            _ => {
                let mut bytes = program.as_bytes().to_vec();
                for _ in 0..1 + random.below(4) {
                    let at = random.below(bytes.len());
                    match random.below(3) {
                        0 => drop(bytes.remove(at)),
                        1 => bytes[at] = random.below(256) as u8,
                        _ => bytes.insert(at, pieces[random.below(pieces.len())].as_bytes()[0]),
                    }
                }
                String::from_utf8_lossy(&bytes).into_owned()
            }
        };
        let (heap, program) = read(&text);
        match program {
            Ok(program) => drop(printer::write(&heap, program.forms)),
            Err(errors) => {
                assert!(!errors.is_empty());
                for error in errors {
                    crate::render::render(&heap.sources, &error, false);
                }
            }
        }
        is_incomplete(&text);
        let (mut heap, mut at) = (Heap::new(), 0);
        while let Ok(Some((_, next))) = read_one(&mut heap, &text, at) {
            assert!(next > at);
            at = next;
        }
    }
}

#[test]
fn examples_of_reader_errors_cause_them() {
    for code in dmci_value::ErrorCode::ALL.iter().filter(|c| c.as_str().starts_with("E01")) {
        if let Some(example) = code.example() {
            let (_, program) = read(example);
            assert!(program.unwrap_err().iter().all(|e| e.code == *code), "{code}");
        }
    }
    for code in dmci_value::ErrorCode::ALL.iter().filter(|c| !c.as_str().starts_with("E01")) {
        assert!(code.example().is_none_or(|example| read(example).1.is_ok()), "{code}");
    }
}
