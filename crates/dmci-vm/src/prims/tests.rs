//! Rows called with data read from text; results printed by `write`.

use super::Primitive;
use crate::machine::Vm;
use crate::world::World;
use dmci_syntax::{printer, reader};
use dmci_value::{Heap, Kind, Value};
use std::sync::Arc;

fn row(name: &str) -> Primitive {
    *super::table().iter().find(|row| row.name == name).unwrap_or_else(|| panic!("there is no row {name}"))
}

/// The world of a machine without a library.
fn bare_world() -> World {
    let mut world = Vm::new(&Arc::new(crate::boot::bare())).world;
    world.output.limit = 1000;
    world
}

#[test]
fn every_name_is_in_the_table_once() {
    let mut names: Vec<&str> = super::table().iter().map(|row| row.name).collect();
    names.sort_unstable();
    let twice: Vec<&[&str]> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

fn data(heap: &mut Heap, text: &str) -> Vec<Value> {
    let (mut items, mut at) = (Vec::new(), 0);
    while let Some((datum, next)) = reader::read_one(heap, text, at).expect("the test's data can be read") {
        items.push(datum);
        at = next;
    }
    items
}

/// Result of `(name datum ...)` as text, or the error's code and message.
fn call_in(world: &mut World, name: &str, args: &[Value]) -> Result<Value, String> {
    (row(name).run)(world, args).map_err(|e| format!("{} {}", e.code, e.message))
}

fn call(text: &str) -> String {
    let mut world = bare_world();
    let items = data(&mut world.heap, text);
    let name = world.heap.symbols.name(items[0].as_symbol().expect("a name")).to_string();
    match call_in(&mut world, &name, &items[1..]) {
        Ok(v) => printer::write(&world.heap, v),
        Err(error) => error,
    }
}

fn check(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(call(text), *expected, "({text})");
    }
}

#[test]
fn pairs_and_lists() {
    check(&[
        ("cadr (1 2)", "2"),
        ("cadr (1)", "E0303 cadr expected a list of at least 2 items, got (1)"),
        ("caar (1)", "E0303 caar expected a more deeply nested list, got (1)"),
        ("car 5", "E0303 car expected a pair, got 5"),
        ("append (1 2) (3) () 4", "(1 2 3 . 4)"),
        ("append (1 . 2) (3)", "E0314 append expected a proper list, got (1 . 2)"),
        ("append", "()"),
        ("append! () (1) () (2 3) 4", "(1 2 3 . 4)"),
        ("append! (1) ()", "(1)"),
        ("reverse (1 2 3)", "(3 2 1)"),
        ("reverse! (1 2 3)", "(3 2 1)"),
        ("append-reverse (2 1) (3)", "(1 2 3)"),
        ("length (1 2 . 3)", "E0314 length expected a proper list, got (1 2 . 3)"),
        ("length (1 2 3)", "3"),
        ("list-tail (1 2 3) 2", "(3)"),
        ("list-tail (1 2 3) 4", "E0306 list-tail: index 4 is out of range for length 3"),
        ("list-ref (1 2 3) 3", "E0306 list-ref: index 3 is out of range for length 3"),
        ("list-ref (1 2 3) 2", "3"),
        ("list-ref (1 2 3) -1", "E0303 list-ref expected an exact non-negative integer, got -1"),
        ("list-head (1 2 3) 2", "(1 2)"),
        ("sublist (a b c d) 1 3", "(b c)"),
        ("third (1 2)", "E0303 third expected a list of at least 3 items, got (1 2)"),
        ("tenth (1 2 3 4 5 6 7 8 9 10)", "10"),
        ("last (1 2 3)", "3"),
        ("last-pair (1 2 . 3)", "(2 . 3)"),
        ("except-last-pair (1 2 3)", "(1 2)"),
        ("cons* 1 2 (3)", "(1 2 3)"),
        ("make-list 2 x", "(x x)"),
        ("list-copy (1 2 . 3)", "(1 2 . 3)"),
        ("concatenate ((1) (2 3))", "(1 2 3)"),
        ("%heads map ((1 2) (3))", "(1 3)"),
        ("%heads map ((1 2) ())", "#f"),
        ("%heads map ((1 2) 5)", "E0303 map expected a proper list, got 5"),
    ]);
}

#[test]
fn searching() {
    check(&[
        ("memv 2 (1 2 3)", "(2 3)"),
        ("memv 2.0 (1 2 3)", "#f"),
        ("memq x (1 2 . 3)", "E0314 memq expected a proper list, got (1 2 . 3)"),
        ("%member (1) ((0) (1) (2))", "((1) (2))"),
        ("assq b ((a 1) (b 2))", "(b 2)"),
        ("assv 5 ((a 1) 7)", "E0303 assv expected a list of pairs, got ((a 1) 7)"),
        ("%assoc \"b\" ((\"a\" . 1) (\"b\" . 2))", "(\"b\" . 2)"),
        ("assoc-ref ((\"a\" . 1)) \"a\"", "1"),
        ("del-assv 2 ((1 . a) (2 . b))", "((1 . a))"),
        ("%delete (1) ((1) 2 (1))", "(2)"),
    ]);
}

#[test]
fn every_list_procedure_ends_on_a_circular_list() {
    for name in
        ["length", "list?", "list-copy", "reverse", "reverse!", "last", "last-pair", "except-last-pair", "alist-copy"]
    {
        let mut world = bare_world();
        let ring = ring(&mut world.heap);
        let result = call_in(&mut world, name, &[ring]);
        assert!(result.is_err() || result == Ok(Value::FALSE), "{name}");
    }
    let mut world = bare_world();
    let ring = ring(&mut world.heap);
    assert!(call_in(&mut world, "memq", &[Value::TRUE, ring]).is_err());
    assert_eq!(call_in(&mut world, "list-ref", &[ring, Value::fixnum(1 << 40)]), Ok(Value::fixnum(2)));
}

/// The circular list 0 1 2 0 1 2 ...
fn ring(heap: &mut Heap) -> Value {
    let list = heap.list(&[Value::fixnum(0), Value::fixnum(1), Value::fixnum(2)]);
    let last = heap.cdr(list).and_then(|v| heap.cdr(v)).and_then(Value::as_pair).expect("three pairs");
    heap.store(last, 1, list);
    // 2^40 is 1 modulo 3: start one further on.
    heap.cdr(list).expect("a pair")
}

#[test]
fn characters_and_strings() {
    check(&[
        ("char-upcase #\\a", "#\\A"),
        ("char<? #\\a #\\b #\\b", "#f"),
        ("char-ci=? #\\a #\\A", "#t"),
        ("char->digit #\\7", "7"),
        ("char->digit #\\a", "#f"),
        ("digit->char 11 16", "#\\b"),
        ("integer->char 55296", "E0306 integer->char: 55296 is not the number of a Unicode character"),
        ("string-ref \"abc\" 1", "#\\b"),
        ("string-ref \"abc\" 3", "E0306 string-ref: index 3 is out of range for length 3"),
        ("substring \"hello\" 1 3", "\"el\""),
        ("substring \"hello\" 3 1", "E0306 substring: range 3 to 1 is out of range for length 5"),
        ("string-append \"a\" \"bc\" \"\"", "\"abc\""),
        ("string-append \"a\" b", "E0303 string-append expected a string, got b"),
        ("string<? \"abc\" \"abd\" \"b\"", "#t"),
        ("string-ci=? \"Straße\" \"STRASSE\"", "#t"),
        ("string-upcase \"straße\"", "\"STRASSE\""),
        ("string->list \"abc\" 1", "(#\\b #\\c)"),
        ("list->string (#\\a 5)", "E0303 list->string expected a character, got 5"),
        ("string-pad-left \"42\" 5", "\"   42\""),
        ("string-pad-left \"12345\" 3", "\"345\""),
        ("string-pad-right \"12345\" 3 #\\x", "\"123\""),
        ("string-search-forward \"ab\" \"xxabab\" 3", "4"),
        ("string-search-backward \"ab\" \"ababx\" 5", "4"),
        ("string-search-all \"aa\" \"aaaa\"", "(0 1 2)"),
        ("string-contains \"hello\" \"ll\"", "2"),
        ("string-contains \"hello\" \"lx\"", "#f"),
        ("string-contains \"abcabc\" \"c\" 3", "5"),
        ("string-join (\"a\" \"b\" \"c\") \", \"", "\"a, b, c\""),
        ("%string-split \"a,b,,c\" #\\,", "(\"a\" \"b\" \"\" \"c\")"),
        ("string-trim \"  a b \"", "\"a b\""),
        ("string-prefix? \"he\" \"hello\"", "#t"),
        ("symbol-append ab cd", "abcd"),
        ("symbol<? a b c", "#t"),
        ("utf8->string #u8(206 187)", "\"λ\""),
        ("utf8->string #u8(65 255)", "E0303 utf8->string: the bytes from 1 on are not UTF-8"),
        ("bytevector-append #u8(1 2) #u8(3)", "#u8(1 2 3)"),
        ("bytevector 256", "E0303 bytevector expected an exact integer from 0 to 255, got 256"),
    ]);
}

#[test]
fn vectors() {
    check(&[
        ("vector-ref #(1 2) 2", "E0306 vector-ref: index 2 is out of range for length 2"),
        ("vector-ref (1) 0", "E0303 vector-ref expected a vector, got (1)"),
        ("vector-ref #(1 2) 1.0", "E0303 vector-ref expected an exact non-negative integer, got 1.0"),
        ("vector-append #(1) #() #(2 3)", "#(1 2 3)"),
        ("vector->list #(1 2 3) 1 2", "(2)"),
        ("subvector #(a b c d) 1 3", "#(b c)"),
        ("vector-last #(1 2)", "2"),
        ("vector-last #()", "E0306 vector-last: index 0 is out of range for length 0"),
        ("%reverse-list->vector (3 2 1)", "#(1 2 3)"),
        ("equal? #(1 (2 \"x\")) #(1 (2 \"x\"))", "#t"),
        ("eqv? \"x\" \"x\"", "#f"),
        ("eqv? 100000000000000000000 100000000000000000000", "#t"),
    ]);
    let mut world = bare_world();
    let items = data(&mut world.heap, "#(1 2 3 4 5)");
    let args = [items[0], Value::fixnum(1), items[0], Value::fixnum(0), Value::fixnum(3)];
    call_in(&mut world, "vector-copy!", &args).expect("it fits");
    assert_eq!(printer::write(&world.heap, items[0]), "#(1 1 2 3 5)");
}

#[test]
fn a_hash_table_keeps_the_order_of_insertion_through_growth_and_deletion() {
    let mut world = bare_world();
    let rtd = call_in(&mut world, "%hash-table-type", &[]).expect("a type");
    let table = call_in(&mut world, "%make-hash-table", &[rtd, Value::fixnum(1)]).expect("a table");
    for i in 0..1000 {
        let key = world.heap.string(&format!("key {}", i * 7919 % 1000));
        call_in(&mut world, "hash-table-set!", &[table, key, Value::fixnum(i)]).expect("room");
    }
    for i in 0..900 {
        let key = world.heap.string(&format!("key {}", i * 7919 % 1000));
        call_in(&mut world, "hash-table-delete!", &[table, key]).expect("a table");
    }
    let key = world.heap.string("key 0");
    call_in(&mut world, "hash-table-set!", &[table, key, Value::TRUE]).expect("room");
    let values = call_in(&mut world, "hash-table-values", &[table]).expect("a table");
    let values = world.heap.list_items(values).expect("a list");
    let expected: Vec<Value> = (900..1000).map(Value::fixnum).chain([Value::TRUE]).collect();
    assert_eq!(values, expected);
    assert_eq!(call_in(&mut world, "hash-table-size", &[table]), Ok(Value::fixnum(101)));
    let copy = call_in(&mut world, "%hash-table-copy", &[table]).expect("a copy");
    call_in(&mut world, "hash-table-clear!", &[table]).expect("a table");
    assert_eq!(call_in(&mut world, "hash-table-size", &[copy]), Ok(Value::fixnum(101)));
    assert_eq!(call_in(&mut world, "hash-table-contains?", &[copy, key]), Ok(Value::TRUE));
    assert_eq!(call_in(&mut world, "hash-table-contains?", &[table, key]), Ok(Value::FALSE));
}

#[test]
fn a_program_cannot_make_records_of_library_types() {
    let mut world = bare_world();
    let rtd = call_in(&mut world, "%hash-table-type", &[]).expect("a type");
    assert!(call_in(&mut world, "%record", &[rtd, Value::NIL]).is_err());
    let table = call_in(&mut world, "%make-hash-table", &[rtd, Value::fixnum(0)]).expect("a table");
    assert_eq!(call_in(&mut world, "%record?", &[table, rtd]), Ok(Value::FALSE));
}

#[test]
fn ports() {
    let mut world = bare_world();
    let port = call_in(&mut world, "open-output-string", &[]).expect("a port");
    let items = data(&mut world.heap, "(1 \"a\" #\\b)");
    for name in ["%write", "%display"] {
        call_in(&mut world, name, &[items[0], port]).expect("a port");
    }
    let text = call_in(&mut world, "get-output-string", &[port]).expect("a port");
    assert_eq!(world.heap.text(text).as_deref(), Some("(1 \"a\" #\\b)(1 a b)"));

    let long = format!("{} (b . c) \"x", "word ".repeat(200));
    let text = world.heap.string(&long);
    let port = call_in(&mut world, "open-input-string", &[text]).expect("a port");
    for _ in 0..200 {
        let word = call_in(&mut world, "%read", &[port]).expect("a datum");
        assert_eq!(printer::write(&world.heap, word), "word");
    }
    let pair = call_in(&mut world, "%read", &[port]).expect("a datum");
    assert_eq!(printer::write(&world.heap, pair), "(b . c)");
    assert!(call_in(&mut world, "%read", &[port]).is_err_and(|e| e.starts_with("E01")));

    let text = world.heap.string("one\ntwo");
    let port = call_in(&mut world, "open-input-string", &[text]).expect("a port");
    let line = call_in(&mut world, "%read-line", &[port]).expect("a line");
    assert_eq!(world.heap.text(line).as_deref(), Some("one"));
    assert_eq!(call_in(&mut world, "%peek-char", &[port]), Ok(Value::char('t')));
    let rest = call_in(&mut world, "%read-string", &[Value::fixnum(10), port]).expect("a string");
    assert_eq!(world.heap.text(rest).as_deref(), Some("two"));
    assert_eq!(call_in(&mut world, "%read-char", &[port]), Ok(Value::EOF));
    call_in(&mut world, "close-port", &[port]).expect("a port");
    assert!(call_in(&mut world, "%read-char", &[port]).is_err());
}

#[test]
fn printing_stops_at_the_output_limit_even_for_an_enormous_text() {
    let mut world = bare_world();
    let console = call_in(&mut world, "%console-port", &[]).expect("a port");
    let tree = (0..60).fold(Value::NIL, |t, _| world.heap.cons(t, t));
    let error = call_in(&mut world, "%display", &[tree, console]).expect_err("2^60 parentheses");
    assert!(error.starts_with("E0404"), "{error}");
    let string_port = call_in(&mut world, "open-output-string", &[]).expect("a port");
    let error = call_in(&mut world, "%display", &[tree, string_port]).expect_err("2^60 parentheses");
    assert!(error.starts_with("E0404"), "{error}");
}

#[test]
fn formats() {
    check(&[
        ("%format \"~a ~s~%\" \"x\" \"y\"", "\"x \\\"y\\\"\\n\""),
        ("%format \"~5d|~,2f|~6,1f|~x\" 42 3.14159 2.25 255", "\"   42|3.14|   2.2|ff\""),
        ("%format \"~q\" 1", "E0303 format: unknown directive ~q"),
        ("%format \"~a\"", "E0302 format: there is no argument left for the directive ~a"),
        ("%format \"a\" 1", "E0302 format: 1 more arguments than the control string uses"),
        ("%format \"a~\"", "E0303 format: the control string ends inside a directive"),
    ]);
}

#[test]
fn promises_share_their_content() {
    let mut world = bare_world();
    let lazy = call_in(&mut world, "%make-lazy", &[Value::TRUE]).expect("a promise");
    let forced = call_in(&mut world, "%make-forced", &[Value::fixnum(7)]).expect("a promise");
    call_in(&mut world, "%promise-share!", &[lazy, forced]).expect("two promises");
    assert_eq!(call_in(&mut world, "%promise-done?", &[lazy]), Ok(Value::TRUE));
    assert_eq!(call_in(&mut world, "%promise-content", &[lazy]), Ok(Value::fixnum(7)));
    let content = |v: Value| world.heap.field(world.heap.as_kind(v, Kind::Promise).expect("a promise"), 0);
    assert_eq!(content(lazy), content(forced));
    assert!(call_in(&mut world, "%promise-share!", &[lazy, Value::NIL]).is_err());
}
