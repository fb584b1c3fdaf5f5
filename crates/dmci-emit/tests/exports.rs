//! What is exported and what is refused. What the sources compute is compared with the engine in
//! crates/dmci-cli/tests/emit.rs (C) and bindings/python/tests/test_export.py (all languages).

#![allow(clippy::unwrap_used)]

use dmci::{Column, Datum, Model, ModelOptions, Program, Want};
use dmci_emit::{Language, Signature, emit};

fn model(text: &str, rows: Column) -> Model {
    let options = ModelOptions { output: false, ..ModelOptions::default() };
    let model = Model::new(Program::new(text), &["a"], &["x"], options);
    model.evaluate(&[2.0], &[rows], Want::Values).unwrap();
    model
}

fn signature() -> Signature {
    Signature { name: "m".into(), params: vec!["a".into()], inputs: vec!["x".into()], outputs: 1 }
}

fn reals(list: &[f64]) -> Column {
    Column::Reals(list.to_vec())
}

#[test]
fn each_path_is_a_function_and_leads_to_the_next() {
    let text = "(* a (apply + (if (< x 1.0) (list x) (list x x))))";
    let one = emit(&model(text, reals(&[0.5])), &signature(), Language::C).unwrap();
    assert!(one.contains("static int value_0(") && !one.contains("value_1"), "{one}");
    assert!(one.contains("{ status = 1; goto done; }"), "{one}");
    let both = emit(&model(text, reals(&[0.5, 2.0])), &signature(), Language::C).unwrap();
    assert!(both.contains("{ status = value_1(in, out); goto done; }"), "{both}");
}

#[test]
fn a_path_that_fails_says_so() {
    let text = "(if (< x 1.0) (error \"too small */\" x) (* a x))";
    let source = emit(&model(text, reals(&[2.0, 0.5])), &signature(), Language::C).unwrap();
    assert!(source.contains("status = 2; /* too small * /"), "{source}");
}

#[test]
fn loops_stay_loops_and_are_refused_in_formulas() {
    let text = "(let loop ((s x)) (if (> s 100.0) s (loop (* a s))))";
    let looping = model(text, reals(&[2.0]));
    let source = emit(&looping, &signature(), Language::C).unwrap();
    assert!(source.contains("for (;;) {") && source.contains("remember(&"), "{source}");
    assert!(emit(&looping, &signature(), Language::Jax).unwrap().contains("jax.lax.while_loop"));
    let report = emit(&looping, &signature(), Language::SymPy).unwrap_err();
    assert_eq!(report.diagnostics[0].code, "E0720");
}

#[test]
fn what_cannot_be_exported_is_refused() {
    let code = |model: &Model| emit(model, &signature(), Language::C).unwrap_err().diagnostics[0].code;
    let fresh = Model::new(Program::new("(* a x)"), &["a"], &["x"], ModelOptions::default());
    assert_eq!(code(&fresh), "E0720", "no path is known");
    let mixed = Column::Data(vec![Datum::Real(1.0), Datum::Integer(1)]);
    assert_eq!(code(&model("(* a x)", mixed)), "E0720", "rows of two structures");
    assert_eq!(code(&model("(* x (soft-choice (list a 1.0) (list 1.0 2.0)))", reals(&[1.0]))), "E0720");
    assert!(Language::named("fortran").is_err());
    for (name, language) in Language::ALL {
        assert_eq!(Language::named(name).unwrap(), language);
    }
}

#[test]
fn formulas_have_cases() {
    let text = emit(&model("(if (< x a) (/ x (+ a 1)) (exp (* -1 x)))", reals(&[0.5])), &signature(), Language::Latex);
    let text = text.unwrap();
    assert!(text.contains(r"\begin{cases} \frac{x}{a + 1} & \text{if } x < a \\ e^{-1 \cdot x}"), "{text}");
}

#[test]
fn formulas_have_loops_as_recurrences() {
    let rows = Column::Reals(vec![0.001]);
    let text =
        emit(&model("(let loop ((s x)) (if (> s 100.0) s (loop (* a s))))", rows), &signature(), Language::Latex);
    let text = text.unwrap();
    for row in
        [r"s^{(0)} &= ", r"s^{(n + 1)} &= ", r"N_{1} &= \min\left\{n \ge 0 : s^{(n)} > 100\right\}", "s^{(N_{1})}"]
    {
        assert!(text.contains(row), "{row}: {text}");
    }
    // A counter is the number of the round, and whether it fits into a word is nobody's business.
    let counted = "(let loop ((i 0) (s a)) (if (< i x) (loop (+ i 1) (* 0.5 (+ s a))) s))";
    let text = emit(&model(counted, Column::Data(vec![Datum::Integer(300)])), &signature(), Language::Latex).unwrap();
    assert!(!text.contains("fits") && text.contains(r"n + 1") && text.contains("s^{(N_{1})}"), "{text}");
}
