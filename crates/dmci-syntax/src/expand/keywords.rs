//! The names that the expander knows: keywords with the shape of their forms, auxiliary words,
//! and the system procedures that expansions call.

use dmci_value::{Heap, Symbol};

/// What a keyword does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Special {
    Quote,
    Quasiquote,
    If,
    Cond,
    Case,
    And,
    Or,
    When,
    Unless,
    Let,
    LetStar,
    Letrec,
    LetrecStar,
    Do,
    Lambda,
    NamedLambda,
    CaseLambda,
    Define,
    DefineValues,
    DefineRecordType,
    DefineSyntax,
    Set,
    Begin,
    LetValues,
    LetStarValues,
    Receive,
    Delay,
    DelayForce,
    ConsStream,
    Parameterize,
    FluidLet,
    Guard,
    Assert,
    LetSyntax,
    LetrecSyntax,
    SyntaxRules,
    SyntaxError,
    Import,
    CondExpand,
    DefineLibrary,
    Include,
    Loop,
    Recur,
    Params,
    TheEnvironment,
    Result,
    Hole,
    /// A word that means something only inside other forms, such as `else`.
    Auxiliary,
}

/// One keyword.
struct Row {
    name: &'static str,
    special: Special,
    /// What the form needs: completes "`name` needs ...".
    needs: &'static str,
    /// A form that is right.
    example: &'static str,
}

const fn row(name: &'static str, special: Special, needs: &'static str, example: &'static str) -> Row {
    Row { name, special, needs, example }
}

const BINDINGS: &str = "a list of (name value) bindings and a body";

#[rustfmt::skip]
const ROWS: &[Row] = &[
    row("quote", Special::Quote, "one datum", "(quote (a b))"),
    row("quasiquote", Special::Quasiquote, "one template", "(quasiquote (a (unquote x)))"),
    row("if", Special::If, "a test, a consequence and at most one alternative", "(if (> x 0) x (- x))"),
    row("cond", Special::Cond, "at least one clause (test expression ...)", "(cond ((> x 0) 1) (else 0))"),
    row("case", Special::Case, "a key and clauses ((datum ...) expression ...)", "(case x ((1 2) 'low) (else 'high))"),
    row("and", Special::And, "expressions", "(and a b)"),
    row("or", Special::Or, "expressions", "(or a b)"),
    row("when", Special::When, "a test and at least one expression", "(when (> x 0) (display x))"),
    row("unless", Special::Unless, "a test and at least one expression", "(unless (> x 0) (display x))"),
    row("let", Special::Let, BINDINGS, "(let ((x 1) (y 2)) (+ x y))"),
    row("let*", Special::LetStar, BINDINGS, "(let* ((x 1) (y (+ x 1))) (* x y))"),
    row("letrec", Special::Letrec, BINDINGS, "(letrec ((f (lambda (n) (if (= n 0) 1 (* n (f (- n 1))))))) (f 5))"),
    row("letrec*", Special::LetrecStar, BINDINGS, "(letrec* ((x 1) (y (+ x 1))) y)"),
    row("do", Special::Do, "bindings (name start step), a clause (test result ...) and commands", "(do ((i 0 (+ i 1))) ((= i 10) i) (display i))"),
    row("lambda", Special::Lambda, "parameters and a body", "(lambda (x y) (+ x y))"),
    row("named-lambda", Special::NamedLambda, "(name parameter ...) and a body", "(named-lambda (f x) (* x x))"),
    row("case-lambda", Special::CaseLambda, "clauses (parameters body ...)", "(case-lambda ((x) x) ((x y) (+ x y)))"),
    row("define", Special::Define, "a name and one value, or (name parameter ...) and a body", "(define x 1) or (define (f x) (* x x))"),
    row("define-values", Special::DefineValues, "parameters and one expression", "(define-values (q r) (floor/ 7 2))"),
    row("define-record-type", Special::DefineRecordType, "a type name, a constructor, a predicate and fields", "(define-record-type point (make-point x y) point? (x point-x) (y point-y set-point-y!))"),
    row("define-syntax", Special::DefineSyntax, "a name and a syntax-rules form", "(define-syntax inc! (syntax-rules () ((_ x) (set! x (+ x 1)))))"),
    row("set!", Special::Set, "a name and one value", "(set! x (+ x 1))"),
    row("begin", Special::Begin, "at least one expression", "(begin (display x) x)"),
    row("let-values", Special::LetValues, "a list of (parameters expression) bindings and a body", "(let-values (((q r) (floor/ 7 2))) (+ q r))"),
    row("let*-values", Special::LetStarValues, "a list of (parameters expression) bindings and a body", "(let*-values (((q r) (floor/ 7 2)) ((s) (+ q r))) s)"),
    row("receive", Special::Receive, "parameters, an expression and a body", "(receive (q r) (floor/ 7 2) (+ q r))"),
    row("delay", Special::Delay, "one expression", "(delay (+ 1 2))"),
    row("delay-force", Special::DelayForce, "one expression", "(delay-force (delay 1))"),
    row("cons-stream", Special::ConsStream, "two expressions, the head and the delayed rest", "(cons-stream 1 (integers 2))"),
    row("parameterize", Special::Parameterize, "a list of (parameter value) bindings and a body", "(parameterize ((radix 2)) (f 10))"),
    row("fluid-let", Special::FluidLet, BINDINGS, "(fluid-let ((x 2)) (f))"),
    row("guard", Special::Guard, "(variable clause ...) and a body", "(guard (e (#t (condition/report-string e))) (risky))"),
    row("assert", Special::Assert, "an expression", "(assert (> x 0))"),
    row("let-syntax", Special::LetSyntax, "a list of (name syntax-rules-form) bindings and a body", "(let-syntax ((foo (syntax-rules () ((_ x) (* x 2))))) (foo 3))"),
    row("letrec-syntax", Special::LetrecSyntax, "a list of (name syntax-rules-form) bindings and a body", "(letrec-syntax ((foo (syntax-rules () ((_ x) (* x 2))))) (foo 3))"),
    row("syntax-rules", Special::SyntaxRules, "a list of literals and rules (pattern template)", "(syntax-rules () ((_ x) (* x 2)))"),
    row("syntax-error", Special::SyntaxError, "a message and any data", "(syntax-error \"bad form\" x)"),
    row("import", Special::Import, "library names", "(import (scheme base))"),
    row("use-modules", Special::Import, "library names", "(use-modules (srfi srfi-1))"),
    row("cond-expand", Special::CondExpand, "clauses (requirement form ...)", "(cond-expand (r7rs (display 1)) (else (display 2)))"),
    row("define-library", Special::DefineLibrary, "a name and declarations", "(import (scheme base))"),
    row("include", Special::Include, "names of files", "(include \"constants.scm\")"),
    row("include-ci", Special::Include, "names of files", "(include-ci \"constants.scm\")"),
    row("loop", Special::Loop, BINDINGS, "(loop ((k 0) (s 0.0)) (if (= k 10) s (recur (+ k 1) (+ s k))))"),
    row("recur", Special::Recur, "one value for each variable of the loop", "(loop ((k 0) (s 0.0)) (if (= k 10) s (recur (+ k 1) (+ s k))))"),
    row("params", Special::Params, "parameters (name kind start option ...)", "(params (a positive 1.0) (b unit 0.3) (c (bounded -1 1) 0.0))"),
    row("result", Special::Result, "names with values (name value)", "(result (loss 1.5) (yhat (list 1 2)))"),
    row("hole", Special::Hole, "a name, a list of variables and one expression", "(hole rate (x y) (* x y))"),
    row("the-environment", Special::TheEnvironment, "no operands", "(eval 'x (the-environment))"),
    row("else", Special::Auxiliary, "to be the last clause of cond, case or guard", "(cond ((> x 0) 1) (else 0))"),
    row("=>", Special::Auxiliary, "to stand in a clause of cond, case or guard", "(cond ((assv x table) => cdr) (else #f))"),
    row("unquote", Special::Auxiliary, "to stand inside a quasiquote", "`(a ,x)"),
    row("unquote-splicing", Special::Auxiliary, "to stand in a list inside a quasiquote", "`(a ,@items)"),
    row("...", Special::Auxiliary, "to stand in a syntax-rules pattern or template", "(syntax-rules () ((_ x ...) (list x ...)))"),
    row("_", Special::Auxiliary, "to stand in a syntax-rules pattern", "(syntax-rules () ((_ x) (* x 2)))"),
];

macro_rules! names {
    ($($(#[$doc:meta])* $field:ident: $name:literal,)*) => {
        /// The symbols of one heap image that the expander needs, interned once.
        #[derive(Debug)]
        #[allow(missing_docs)]
        pub struct Keywords {
            /// Row number + 1 by symbol number; 0 is no keyword.
            rows: Vec<u8>,
            /// The symbol of each row.
            symbols: Vec<Symbol>,
            /// Temporaries of expansions: uninterned, so no program can mention them. One of each
            /// is enough, because no expansion reaches past another one of its kind for its own.
            pub(super) temp: Symbol,
            pub(super) key: Symbol,
            pub(super) do_loop: Symbol,
            pub(super) loop_head: Symbol,
            pub(super) reraise: Symbol,
            $(pub(super) $field: Symbol,)*
        }

        /// Interns everything that the expander needs. Call it once, when the image is made.
        pub fn intern_keywords(heap: &mut Heap) -> Keywords {
            let symbols = &mut heap.symbols;
            let mut rows = Vec::new();
            let mut row_symbols = Vec::new();
            for (i, row) in ROWS.iter().enumerate() {
                let symbol = symbols.intern(row.name);
                row_symbols.push(symbol);
                let at = symbol.0 as usize;
                if rows.len() <= at {
                    rows.resize(at + 1, 0);
                }
                rows[at] = i as u8 + 1;
            }
            let mut temporary = |name: &str| {
                let name = symbols.intern(name);
                symbols.alias(name)
            };
            Keywords {
                rows,
                symbols: row_symbols,
                temp: temporary("t"),
                key: temporary("key"),
                do_loop: temporary("do"),
                loop_head: temporary("loop"),
                reraise: temporary("reraise"),
                $($field: symbols.intern($name),)*
            }
        }
    };
}

names! {
    quote: "quote",
    if_: "if",
    lambda: "lambda",
    case_lambda: "case-lambda",
    set: "set!",
    define: "define",
    begin: "begin",
    letrec_star: "letrec*",
    unquote: "unquote",
    unquote_splicing: "unquote-splicing",
    else_: "else",
    arrow: "=>",
    ellipsis: "...",
    underscore: "_",
    object: "obj",
    value: "value",
    dynamic_wind: "dynamic-wind",
    interaction_environment: "interaction-environment",
    cons: "%cons",
    append: "%append",
    list: "%list",
    list_to_vector: "%list->vector",
    eqv: "%eqv?",
    memv: "%memv",
    receive_values: "%receive",
    make_lazy: "%make-lazy",
    make_forced: "%make-forced",
    parameterize: "%parameterize",
    guard: "%guard",
    make_record_type: "%make-record-type",
    record: "%record",
    record_test: "%record?",
    record_ref: "%record-ref",
    record_set: "%record-set!",
    assertion_failed: "%assertion-failed",
}

impl Keywords {
    /// What the keyword with this (interned) name does.
    #[inline]
    pub fn special(&self, symbol: Symbol) -> Option<Special> {
        match self.rows.get(symbol.0 as usize) {
            Some(&row) if row != 0 => Some(ROWS[row as usize - 1].special),
            _ => None,
        }
    }

    /// The first name of what a keyword does.
    pub(super) fn symbol_of(&self, special: Special) -> Symbol {
        let row = ROWS.iter().position(|row| row.special == special).unwrap_or(0);
        self.symbols[row]
    }

    /// Whether core forms start with this name.
    #[inline]
    pub(super) fn is_core(&self, symbol: Symbol) -> bool {
        symbol == self.quote
            || symbol == self.if_
            || symbol == self.lambda
            || symbol == self.case_lambda
            || symbol == self.set
            || symbol == self.define
            || symbol == self.begin
            || symbol == self.letrec_star
    }

    /// What the forms of a keyword need, and a form that is right.
    pub(super) fn shape(&self, symbol: Symbol) -> (&'static str, &'static str) {
        match self.rows.get(symbol.0 as usize) {
            Some(&row) if row != 0 => (ROWS[row as usize - 1].needs, ROWS[row as usize - 1].example),
            _ => ("a right form", ""),
        }
    }
}

impl Special {
    /// Whether it is a keyword only at the head of a form and a variable elsewhere.
    pub(super) fn only_at_head(self) -> bool {
        matches!(self, Special::Assert | Special::Hole)
    }

    /// Whether forms of it mean something else in a body than in an expression.
    pub(super) fn matters_in_body(self) -> bool {
        matches!(
            self,
            Special::Define
                | Special::DefineValues
                | Special::DefineRecordType
                | Special::DefineSyntax
                | Special::Begin
                | Special::CondExpand
        )
    }
}
