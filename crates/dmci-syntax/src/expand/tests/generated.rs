//! Generated programs, right and wrong ones: nothing panics, and what comes out is core.

use super::*;

/// Pieces of programs. `@` is an expression, `$` a name, `%` anything at all.
const PIECES: &[&str] = &[
    "$",
    "$",
    "1",
    "2.5",
    "\"s\"",
    "#(1 a)",
    "'(a . b)",
    "()",
    "(@ @)",
    "(@ @ @)",
    "(f @)",
    "(if @ @)",
    "(if @ @ @)",
    "(if . %)",
    "(cond (@ @) (@ => @) (@) (else @))",
    "(cond % %)",
    "(case @ ((1 a) @) (else => @))",
    "(case @ %)",
    "(and @ @)",
    "(or @ @ @)",
    "(when @ @)",
    "(let (($ @) ($ @)) @ @)",
    "(let % @)",
    "(let $ (($ @)) ($ @))",
    "(let* (($ @) ($ @)) @)",
    "(letrec (($ (lambda ($) @))) @)",
    "(lambda ($ . $) @)",
    "(lambda $ (define $ @) @ (define ($ $) @) @)",
    "(lambda % @)",
    "(set! $ @)",
    "(begin @ @)",
    "(begin)",
    "(do (($ @ @)) (@ @) @)",
    "(do % %)",
    "(let-values ((($ $) @) (($ . $) @)) @)",
    "(let*-values (($ @)) @)",
    "(receive ($ . $) @ @)",
    "(case-lambda (($) @) ($ @))",
    "(delay @)",
    "(cons-stream @ @)",
    "(parameterize ((@ @)) @)",
    "(fluid-let (($ @)) @)",
    "(guard ($ (@ @) (@ => @)) @)",
    "(guard % @)",
    "(assert @)",
    "`(a ,@ @ ,@@)",
    "`(,@ . ,@)",
    "`#(a ,@ `(b ,(c ,@)))",
    "`%",
    "(loop (($ @)) (if @ (recur @) @))",
    "(loop % @)",
    "(recur @)",
    "(m1 @ @)",
    "(m2 $ @)",
    "(m3 ($ @) ($ @))",
    "(m4 $)",
    "(let-syntax (($ (syntax-rules () ((_ a) (f a $))))) ($ @))",
    "(letrec-syntax (($ (syntax-rules ($) ((_ $ a ...) (let ((x a) ...) @)) ((_ . a) @)))) ($ $ @))",
    "(let () (define-syntax $ (syntax-rules () ((_ a) (let (($ 1)) a)))) ($ @))",
    "(let () (define-values ($ . $) @) (define-record-type $ ($ a) $ (a $ $)) @)",
    "(define $ @)",
    "(define ($ $) @)",
    "(define-record-type % % %)",
    "(named-lambda ($ $) @)",
    "(% . %)",
    "(the-environment)",
    "(cond-expand (r7rs @) (else @))",
    "(define-syntax $ %)",
    "(params ($ free 1))",
];

const NAMES: &[&str] =
    &["x", "y", "f", "g", "if", "else", "list", "let", "quote", "t", "%cons", "_", "...", "m1", "define"];

const PRELUDE: &str = "(define-syntax m1 (syntax-rules () ((_ a b) (let ((t a)) (if t t b))))) \
    (define-syntax m2 (syntax-rules () ((_ x e) (let ((x e)) (m1 x (set! x list)))))) \
    (define-syntax m3 (syntax-rules () ((_ (n v) ...) ((lambda (n ...) (list '(n v) ...)) v ...)))) \
    (define-syntax m4 (syntax-rules () ((_ n) (begin (define tmp 1) (define-syntax n (syntax-rules () ((_) tmp)))))))";

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }

    fn program(&mut self) -> String {
        let mut text = String::new();
        let mut budget = 2 + self.below(40);
        for _ in 0..1 + self.below(3) {
            self.piece(&mut text, &mut budget);
            text.push(' ');
        }
        text
    }

    fn piece(&mut self, text: &mut String, budget: &mut usize) {
        if *budget == 0 {
            text.push_str(["x", "f", "1"][self.below(3)]);
            return;
        }
        *budget -= 1;
        let piece = PIECES[self.below(PIECES.len())];
        let mut previous = ' ';
        for c in piece.chars() {
            match c {
                // After a comma it is part of `,@`.
                '@' if previous == ',' && piece.contains(",@@") => text.push('@'),
                '@' => self.piece(text, budget),
                '$' => text.push_str(NAMES[self.below(NAMES.len())]),
                '%' if self.below(2) == 0 => text.push_str(NAMES[self.below(NAMES.len())]),
                '%' => self.piece(text, budget),
                c => text.push(c),
            }
            previous = c;
        }
    }
}

/// Whether a datum is a core expression.
fn is_core(heap: &Heap, v: Value) -> bool {
    if !v.is_pair() {
        return v.is_symbol()
            || v.is_fixnum()
            || v.is_real()
            || v.is_boolean()
            || heap.as_kind(v, Kind::String).is_some();
    }
    let Some(items) = heap.list_items(v) else { return false };
    let head = items[0].as_symbol().map(|s| heap.symbols.name(s)).unwrap_or("");
    match head {
        "quote" => items.len() == 2,
        "if" => items.len() == 4 && items[1..].iter().all(|&e| is_core(heap, e)),
        "lambda" => items.len() == 3 && is_formals(heap, items[1]) && is_core(heap, items[2]),
        "case-lambda" => items[1..].iter().all(|&clause| {
            let clause = heap.list_items(clause).unwrap_or_default();
            clause.len() == 2 && is_formals(heap, clause[0]) && is_core(heap, clause[1])
        }),
        "set!" => items.len() == 3 && items[1].is_symbol() && is_core(heap, items[2]),
        "begin" => items.len() >= 2 && items[1..].iter().all(|&e| is_core(heap, e)),
        "letrec*" => {
            let bindings = heap.list_items(items[1]).unwrap_or_default();
            let right = bindings.iter().all(|&b| {
                let b = heap.list_items(b).unwrap_or_default();
                b.len() == 2 && b[0].is_symbol() && is_core(heap, b[1])
            });
            items.len() == 3 && right && is_core(heap, items[2])
        }
        "define" => false,
        _ => items.iter().all(|&e| is_core(heap, e)),
    }
}

fn is_formals(heap: &Heap, mut v: Value) -> bool {
    let mut seen = FxHashSet::default();
    while let Some((name, rest)) = heap.uncons(v) {
        if !name.is_symbol() || !seen.insert(name) {
            return false;
        }
        v = rest;
    }
    v.is_nil() || v.is_symbol() && !seen.contains(&v)
}

#[test]
fn generated_programs_become_core_or_errors() {
    let mut random = Random(7);
    let mut right = 0;
    for _ in 0..20_000 {
        let mut bench = Bench::new();
        bench.expand(PRELUDE).expect("the prelude is right");
        let text = random.program();
        let source = bench.heap.sources.add("test", &text, Origin::User);
        let Ok(program) = crate::reader::read_all(&mut bench.heap, source) else { continue };
        match expand_program(&mut bench.heap, &mut bench.table, program.forms) {
            Ok(expansion) => {
                right += 1;
                for form in expansion.forms {
                    let items = bench.heap.list_items(form).unwrap_or_default();
                    let define = bench.heap.symbols.intern("define");
                    let form = match items[..] {
                        [head, name, value] if head == Value::symbol(define) && name.is_symbol() => value,
                        _ => form,
                    };
                    assert!(is_core(&bench.heap, form), "{text}\n{}", crate::printer::write(&bench.heap, form));
                }
            }
            Err(errors) => {
                assert!(
                    errors.iter().all(|e| e.code.as_str().starts_with("E02") && !e.labels.is_empty()),
                    "{text}\n{errors:?}"
                )
            }
        }
    }
    assert!(right > 1000, "only {right} programs were right");
}
