//! Programs that are too large, too deep, circular, or never end.

use super::*;

fn repeat(n: usize, f: impl Fn(usize) -> String) -> String {
    (0..n).map(f).collect()
}

#[test]
fn long_forms_are_expanded_by_loops() {
    let mut bench = Bench::new();
    let bindings =
        repeat(20_000, |i| format!("(x{} {})", i + 1, if i == 0 { "1".into() } else { format!("(+ x{i} 1)") }));
    let deep = bench.expand(&format!("(let* ({bindings}) x20000)")).expect("long let*").forms[0];
    assert_eq!(nesting_depth(&bench.heap, deep), MAX_DEPTH + 1);
    assert!(bench.expand(&format!("(begin {})", "(f x)".repeat(20_000))).is_ok());
    assert!(bench.expand(&format!("(lambda () {})", "(f x)".repeat(20_000))).is_ok());
    assert!(bench.expand(&format!("(lambda () {} 1)", repeat(20_000, |i| format!("(define y{i} 1)")))).is_ok());
    assert!(bench.expand(&format!("(cond {})", "((f) 1)".repeat(20_000))).is_ok());
    assert!(bench.expand(&format!("(case x {})", "((1) 1)".repeat(20_000))).is_ok());
    assert!(bench.expand(&format!("(and {0}) (or {0})", "(f)".repeat(20_000))).is_ok());
    assert!(bench.expand(&format!("`({})", ",x y ".repeat(20_000))).is_ok());
    assert!(bench.expand(&format!("`(a {} b c)", "unquote quasiquote ".repeat(20_000))).is_ok());
    assert!(bench.expand(&format!("(let*-values ({}) 1)", repeat(20_000, |i| format!("((z{i}) 1)")))).is_ok());
}

/// The first form of a program nested in itself.
fn nest(bench: &mut Bench, program: Value, times: usize) -> Value {
    let here = Value::symbol(bench.heap.symbols.intern("HERE"));
    // The way to the hole: the pairs whose car or cdr leads there, outermost first.
    fn path(heap: &Heap, v: Value, here: Value, out: &mut Vec<(Value, bool)>) -> bool {
        let Some((car, cdr)) = heap.uncons(v) else { return v == here };
        for (part, is_car) in [(car, true), (cdr, false)] {
            out.push((v, is_car));
            if path(heap, part, here, out) {
                return true;
            }
            out.pop();
        }
        false
    }
    let form = bench.heap.car(program).expect("a form");
    let mut way = Vec::new();
    assert!(path(&bench.heap, form, here, &mut way));
    let mut nested = Value::fixnum(1);
    for _ in 0..times {
        for &(pair, is_car) in way.iter().rev() {
            let (car, cdr) = bench.heap.uncons(pair).expect("a pair");
            nested = if is_car { bench.heap.cons(nested, cdr) } else { bench.heap.cons(car, nested) };
        }
    }
    nested
}

#[test]
fn nesting_is_limited() {
    let nested = |n: usize, open: &str, close: &str| format!("{}1{}", open.repeat(n), close.repeat(n));
    for (open, close) in [("(f ", ")"), ("(let ((x ", ")) x)"), ("(lambda () ", ")"), ("(if 1 ", ")"), ("`(,", ")")] {
        let mut bench = Bench::new();
        assert!(bench.expand(&nested(2400, open, close)).is_ok(), "{open}");
    }
    let mut bench = Bench::new();
    assert!(bench.expand(&nested(2400, "(define (f) ", " 1)")).is_ok());
    // Deeper than the reader allows: built as data, the innermost form in the place of HERE.
    for wrap in [
        "(f HERE)",
        "(HERE f)",
        "(lambda () HERE)",
        "(define (g) HERE 1)",
        "(let () (define-record-type p #f p?) HERE)",
        "`(a ,HERE)",
        "``(a HERE)",
        "(let ((x HERE)) x)",
        "(let* ((x HERE)) x)",
        "(let f ((x HERE)) x)",
        "(cond (HERE 1))",
        "(case 1 ((1) HERE))",
        "(guard (e (HERE)) 1)",
        "(case-lambda ((x) HERE))",
        "(do ((i HERE)) (1))",
        "(let-values (((a) HERE)) a)",
        "(parameterize ((p HERE)) 1)",
        "(let-syntax () HERE)",
        "(cond-expand (else HERE))",
        "(f (cond-expand (else HERE)))",
        "(begin HERE)",
        "(lambda () (begin HERE))",
    ] {
        let program = bench.read(wrap);
        let form = nest(&mut bench, program, 30_000);
        let found = expand_form(&mut bench.heap, &mut bench.table, form).expect_err("too deep");
        assert!(found.iter().all(|e| e.code == "E0407"), "{wrap} {found:?}");
    }
    let quoted = bench.read("(quote)");
    let mut datum = Value::NIL;
    for _ in 0..100_000 {
        datum = bench.heap.list(&[datum]);
    }
    let quote = bench.heap.car(quoted).and_then(|f| bench.heap.car(f)).expect("quote");
    let form = bench.heap.list(&[quote, datum]);
    assert!(expand_form(&mut bench.heap, &mut bench.table, form).is_ok());
}

#[test]
fn circular_programs_are_errors() {
    let mut bench = Bench::new();
    for text in
        ["(f x y)", "(if x y)", "(lambda (x) y)", "(let ((a 1)) b)", "(cond (a 1) (b 2))", "(begin 1 2)", "`(a ,b)"]
    {
        let program = bench.read(text);
        let form = bench.heap.car(program).expect("a form");
        let mut last = form;
        while let Some(next) = bench.heap.cdr(last).filter(|n| n.is_pair()) {
            last = next;
        }
        let r = last.as_pair().expect("a pair");
        // The list bites its tail.
        bench.heap.store(r, 1, form);
        let found = expand_form(&mut bench.heap, &mut bench.table, form).expect_err("circular");
        assert_eq!(found[0].code, "E0201", "{text}");
        // The last operand is the form itself.
        bench.heap.store(r, 1, Value::NIL);
        bench.heap.store(r, 0, form);
        let found = expand_form(&mut bench.heap, &mut bench.table, form).expect_err("circular");
        assert!(["E0407", "E0201", "E0205"].contains(&found[0].code.as_str()), "{text}: {found:?}");
    }
}

#[test]
fn shared_data_do_not_take_for_ever() {
    let mut bench = Bench::new();
    let f = Value::symbol(bench.heap.symbols.intern("f"));
    let mut form = f;
    for _ in 0..64 {
        form = bench.heap.list(&[f, form, form]);
    }
    let found = expand_form(&mut bench.heap, &mut bench.table, form).expect_err("too large");
    assert_eq!(found[0].code, "E0407");
}

#[test]
fn shared_begins_do_not_take_for_ever() {
    let mut bench = Bench::new();
    let begin = Value::symbol(bench.heap.symbols.intern("begin"));
    let mut form = begin;
    for _ in 0..64 {
        form = bench.heap.list(&[begin, form, form]);
    }
    assert!(expand_form(&mut bench.heap, &mut bench.table, form).is_err());
}

#[test]
fn quoted_circular_data_are_kept() {
    let mut bench = Bench::new();
    let program = bench.read("(define-syntax q (syntax-rules () ((_ x) '(a x)))) (q (b c))");
    let form = bench.heap.list_items(program).expect("forms")[1];
    let data = bench.heap.cdr(form).and_then(|c| bench.heap.car(c)).expect("data");
    let r = data.as_pair().expect("a pair");
    bench.heap.store(r, 1, data);
    let core = expand_program(&mut bench.heap, &mut bench.table, program).expect("fine").forms[0];
    let datum = bench.heap.list_items(core).expect("quote")[1];
    let copy = bench.heap.list_items(datum).expect("a list")[1];
    assert_eq!(bench.heap.cdr(copy), Some(copy));
}

#[test]
fn endless_macros_are_stopped() {
    for rules in [
        "((_) (m))",
        "((_) (list (m)))",
        "((_) (begin (m) (m)))",
        "((_) (lambda () (m)))",
        "((_ x ...) (m x ... x ...))",
        "((_ . x) (m 1 . x))",
        "((_) (let () (define x (m)) x))",
    ] {
        for text in ["(m)", "(f (m))", "(lambda () (m))", "(m 1 2)"] {
            let program = format!("(define-syntax m (syntax-rules () {rules} ((_ . x) 1))) {text}");
            let mut bench = Bench::new();
            if let Err(found) = bench.expand(&program) {
                assert_eq!((found.len(), found[0].code.as_str()), (1, "E0209"), "{program}");
            } else {
                assert_eq!((text, rules.contains("x")), ("(m 1 2)", rules.contains("define x")), "{program}");
            }
        }
    }
}

#[test]
fn macros_on_circular_uses_end() {
    let mut bench = Bench::new();
    let program = bench.read("(define-syntax m (syntax-rules () ((_ a ...) (f a ...)))) (m x y)");
    let form = bench.heap.list_items(program).expect("forms")[1];
    let r = bench.heap.cdr(form).and_then(|c| bench.heap.cdr(c)).and_then(Value::as_pair).expect("a pair");
    bench.heap.store(r, 1, form);
    let found = expand_program(&mut bench.heap, &mut bench.table, program).expect_err("circular");
    assert_eq!(found[0].code, "E0203");
}
