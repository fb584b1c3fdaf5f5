//! Programs: definitions, records, imports, schemas.

use super::{Bench, codes, core, errors};
use dmci_value::Value;

#[test]
fn definitions_of_all_kinds() {
    assert_eq!(core("(define x 1)"), "(define x 1)");
    assert_eq!(core("(define (f x . r) (define y 1) y)"), "(define f (lambda (x . r) (letrec* ((y 1)) y)))");
    assert_eq!(core("(define ((f a) b) (+ a b))"), "(define f (lambda (a) (lambda (b) (+ a b))))");
    assert_eq!(core("(begin (define x 1) (begin) x)"), "(define x 1) x");
    assert_eq!(
        core("(define-values (a b) (f))"),
        "(define a #u) (define b #u) (%receive (lambda () (f)) 2 #f (lambda (a~1 b~2) (begin (set! a a~1) (set! b b~2))))"
    );
}

#[test]
fn expansion_lists_defined_and_assigned_globals() {
    let mut bench = Bench::new();
    let expansion = bench.expand("(define (f x) (set! x 1) (set! y 2)) (define z 3)").expect("right");
    let names = |list: &[dmci_value::Symbol]| {
        list.iter().map(|&s| bench.heap.symbols.name(s).to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&expansion.defined), "f z");
    assert_eq!(names(&expansion.assigned), "y");
}

#[test]
fn record_types_do_not_depend_on_the_name_of_the_type() {
    let text = "(define-record-type point (make-point x y) point? (x point-x) (y point-y set-y!) z)";
    let core = core(text);
    let hidden = core.split(' ').nth(1).expect("a name").to_string();
    assert!(hidden.starts_with("%record-type:point"), "{core}");
    let expected = "(define % (%make-record-type (quote point) (quote (x y z)))) (define point %) \
        (define make-point (lambda (x y) (%record % x y #f))) (define point? (lambda (obj) (%record? obj %))) \
        (define point-x (lambda (obj) (%record-ref obj % 0 (quote point-x)))) \
        (define point-y (lambda (obj) (%record-ref obj % 1 (quote point-y)))) \
        (define set-y! (lambda (obj value) (%record-set! obj % 1 value (quote set-y!))))";
    assert_eq!(core.replace(&hidden, "% ".trim()), expected);
}

#[test]
fn record_constructors_may_be_absent_or_take_everything() {
    assert!(core("(define-record-type p #f p?)").contains("(define p? "));
    assert!(core("(define-record-type p mk #f (a) (b get-b))").contains("(define mk (lambda (a b) (%record "));
    assert_eq!(codes("(define-record-type p (mk c) p? (a))"), ["E0201"]);
    assert_eq!(codes("(define-record-type p (mk a a) p? (a))"), ["E0202"]);
    assert_eq!(codes("(define-record-type p (mk) p? (a) (a))"), ["E0202"]);
}

#[test]
fn known_libraries_are_accepted() {
    assert_eq!(core("(import (scheme base) (only (srfi 1) fold) (rnrs) (ice-9 match) (chibi test)) 1"), "1");
    assert_eq!(core("(use-modules (srfi srfi-1)) 1"), "1");
    assert_eq!(
        core("(import (rename (scheme base) (car first-of) (if wenn))) (wenn 1 2 3)"),
        "(define first-of car) (if 1 2 3)"
    );
    let mut bench = Bench::new();
    for (name, help) in [
        ("(scheme bsae)", "did you mean (scheme base)?"),
        ("(only (scheme wirte) display)", "did you mean (scheme write)?"),
        ("(rnrs hastables (6))", "did you mean (rnrs hashtables)?"),
        ("(scheme)", "(scheme ...) may be followed by base, "),
        ("(scheme frobnicate)", "(scheme ...) may be followed by base, "),
    ] {
        let found = bench.expand(&format!("(import {name})")).expect_err("unknown");
        let said = found[0].help.clone().unwrap_or_default();
        assert!(found[0].code == "E0207" && said.starts_with(help), "{name}: {said}");
    }
    let found = bench.expand("(import (schem base) (gtk))").expect_err("unknown");
    assert_eq!(found.iter().map(|e| e.code).collect::<Vec<_>>(), ["E0207", "E0207"]);
    assert_eq!(found[0].help.as_deref(), Some("did you mean (scheme base)?"));
    assert_eq!(bench.pointed(&found[1]), "(gtk)");
    assert_eq!(codes("(define-library (a) (export b))"), ["E0210"]);
    assert_eq!(codes("(include \"a.scm\")"), ["E0214"]);
    assert_eq!(codes("(let () (include-ci \"a.scm\") 1)"), ["E0214"]);
}

#[test]
fn params_bind_reals_unless_they_are_given() {
    let text = "(params (a positive 1) (b unit 0.3) (c (bounded -1 1) 0.0 (unit \"kg\")) (d free 2.5 10 fixed))";
    assert_eq!(core(text), "(define a 1.0) (define b 0.3) (define c 0.0) (define d 2.5)");
    let mut bench = Bench::new();
    let b = bench.heap.symbols.intern("b");
    bench.table.preset(b);
    assert_eq!(bench.core(text), "(define a 1.0) (define c 0.0) (define d 2.5)");
}

#[test]
fn params_must_be_well_formed() {
    for text in [
        "(params (a))",
        "(params a)",
        "(params (a positive x))",
        "(params (a weird 1.0))",
        "(params (a (bounded 1 0) 0.5))",
        "(params (F (matrix 3 0) 0.0))",
        "(params (F (matrix 2 2) (1 2 3)))",
        "(params (F (matrix 2 2) ((1 2 3) (4))))",
        "(params (p (simplex 3) 1.0))",
        "(params (v (vector 2 odd)))",
        "(params (v (vector 99999999)))",
        "(params (a free 1.0 2.0 3.0))",
        "(params (a free 1.0 fix))",
        "(let () (params (a free 1.0)) a)",
    ] {
        assert_eq!(codes(text), ["E0211"], "{text}");
    }
    assert_eq!(codes("(params (a free 1.0) (a free 2.0))"), ["E0202"]);
    assert!(errors("(params (F (matrix 2 2) (1 2)))")[0].1.contains("4 numbers"));
}

#[test]
fn system_names_are_reserved() {
    assert_eq!(codes("(define %cons 1)"), ["E0213"]);
    assert_eq!(codes("(set! %cons 1)"), ["E0213"]);
    assert_eq!(codes("(define-syntax %cons (syntax-rules ()))"), ["E0213"]);
    assert_eq!(core("(define %mine 1)"), "(define %mine 1)");
}

#[test]
fn the_system_may_define_its_own_names() {
    let mut bench = Bench::new();
    bench.table.reserved = None;
    assert_eq!(
        bench.core("(define (%cons a b) a) (define (assert x) x)"),
        "(define %cons (lambda (a b) a)) (define assert (lambda (x) x))"
    );
    assert_eq!(bench.core("(assert x)"), "(if x #u (%assertion-failed (quote x)))");
}

#[test]
fn core_pairs_keep_the_places_of_their_sources() {
    let mut bench = Bench::new();
    let text = "(let ((x (f 1)))\n  (g x (car '())))";
    let core = bench.expand(text).expect("right").forms[0];
    let slice = |bench: &Bench, v: Value| {
        bench.heap.sources.slice(bench.heap.pair_span(v).expect("a place").form()).to_string()
    };
    let car_slice =
        |bench: &Bench, v: Value| bench.heap.sources.slice(bench.heap.pair_span(v).expect("a place").car()).to_string();
    assert_eq!(slice(&bench, core), text);
    let items = bench.heap.list_items(core).expect("a list");
    let value_cell = bench.heap.cdr(core).expect("a cell");
    assert_eq!(car_slice(&bench, value_cell), "(f 1)");
    let body = bench.heap.list_items(items[0]).expect("lambda")[2];
    assert_eq!(slice(&bench, body), "(g x (car '()))");
    let second = bench.heap.cdr(body).and_then(|c| bench.heap.cdr(c)).expect("an operand");
    assert_eq!(car_slice(&bench, second), "(car '())");
}
