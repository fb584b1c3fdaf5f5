//! `emit` as a user runs it. What the sources compute is compared in bindings/python/tests/test_export.py; here C alone,
//! which needs no Python.

#![allow(clippy::unwrap_used)]

mod support;

use std::process::Command;
use support::{Workspace, dmci};

const MODEL: &str = "(params (a positive 2.0) (b free 0.5))
(let loop ((i 0) (s x)) (if (> s 100.0) (* b (+ s i)) (loop (+ i 1) (* (+ 1.0 (* a a)) s))))";

/// What main.c prints, compiled together with a source; nothing if there is no compiler.
fn compiled(folder: &Workspace, source: &str) -> Option<String> {
    let compiled = Command::new("cc")
        .args(["-std=c99", "-Wall", "-Werror", "-o", "main", "main.c", source, "-lm"])
        .current_dir(folder.path())
        .status();
    let Ok(status) = compiled else {
        eprintln!("skipped: there is no C compiler");
        return None;
    };
    assert!(status.success());
    let output = Command::new(folder.path().join("main")).output().unwrap();
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn every_language_has_a_source() {
    let folder = Workspace::new("emit-all");
    folder.write("model.scm", "(params (a positive 2.0)) (if (< x 1.0) (* a x) (* a x x))");
    let marks = [
        ("c", "int model_grad(const double *params"),
        ("numpy", "def value_and_grad(params, inputs=(), xp=numpy):"),
        ("jax", "@functools.partial(jax.jit"),
        ("torch", "import torch"),
        ("sympy", "EXPRESSION = "),
        ("latex", r"\begin{align*}"),
    ];
    for (language, mark) in marks {
        let ran = dmci(&["emit", "model.scm", "--to", language, "--set", "x=0.5"], "", folder.path());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{language}");
        assert!(ran.stdout.contains(mark), "{language}: {}", ran.stdout);
    }
}

#[test]
fn c_computes_values_and_gradients_of_a_loop() {
    let folder = Workspace::new("emit-c");
    folder.write("model.scm", MODEL);
    folder.write("rows.csv", "x\n3.0\n1.5\n");
    folder.write(
        "main.c",
        "#include <stdio.h>
int model_grad(const double *, const double *, double *, double *);
int main(void) {
    double p[2] = {0.7, 0.5}, x[1] = {1.25}, v[1], g[2];
    int status = model_grad(p, x, v, g);
    printf(\"%d %.17g %.17g %.17g\\n\", status, v[0], g[0], g[1]);
    return 0;
}
",
    );
    let ran = dmci(&["emit", "model.scm", "--to", "c", "--data", "rows.csv", "--out", "model.c"], "", folder.path());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let Some(text) = compiled(&folder, "model.c") else { return };
    let found: Vec<f64> = text.split_whitespace().map(|w| w.parse().unwrap()).collect();
    // At a point that no row had: the same loop by hand.
    let (a, b, mut s, mut i, mut ds) = (0.7f64, 0.5, 1.25, 0.0, 0.0);
    while s <= 100.0 {
        ds = 2.0 * a * s + (1.0 + a * a) * ds;
        s *= 1.0 + a * a;
        i += 1.0;
    }
    for (x, y) in found.iter().zip([0.0, b * (s + i), b * ds, s + i]) {
        assert!((x - y).abs() <= 1e-12 * y.abs(), "{found:?}");
    }
}

#[test]
fn a_real_where_the_data_had_integers_is_an_unknown_path() {
    let folder = Workspace::new("emit-integers");
    folder.write("n.csv", "n\n5\n6\n");
    folder.write(
        "main.c",
        "#include <math.h>
#include <stdio.h>
int q(const double *, const double *, double *);
int q_grad(const double *, const double *, double *, double *);
int main(void) {
    const double n[] = {5, 6, -7, 2.5, 1e30, -INFINITY, NAN}, k[] = {1};
    double v, w, g;
    for (int i = 0; i < 7; i++) {
        int status = q(k, n + i, &v), same = q_grad(k, n + i, &w, &g);
        printf(\"%d %d \", status, same);
        if (isnan(v) && isnan(w) && isnan(g)) printf(\"nan\\n\"); else printf(\"%g %g %g\\n\", v, w, g);
    }
    return 0;
}
",
    );
    let emit = |to: &str| {
        let program = ["emit", "-e", "(* k (/ n 2))", "--set", "k=1.0", "--wrt", "k", "--name", "q", "--data", "n.csv"];
        let ran = dmci(&[&program[..], &["--to", to]].concat(), "", folder.path());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{to}");
        ran.stdout
    };
    let source = emit("c");
    assert!(source.contains(" * inputs: [0] n (integer)\n"), "{source}");
    for to in ["numpy", "jax", "torch"] {
        assert!(emit(to).contains("Integers in the data, and here: n.\n"), "{to}");
    }
    folder.write("q.c", source);
    let Some(text) = compiled(&folder, "q.c") else { return };
    assert_eq!(text, "0 0 2.5 2.5 2.5\n0 0 3 3 3\n0 0 -3.5 -3.5 -3.5\n1 1 nan\n1 1 nan\n1 1 nan\n1 1 nan\n");
}

#[test]
fn c_has_no_variables_that_nobody_reads() {
    let folder = Workspace::new("emit-unused");
    folder.write("rows.csv", "x\n0.5\n3.0\n");
    folder.write("main.c", "int main(void) { return 0; }\n");
    for text in [
        "(let loop ((i 0) (s x) (last 0.0)) (if (> s 100.0) (* a s) (loop (+ i 1) (* (+ 1.0 (* a a)) s) s)))",
        "(let loop ((i 0) (s a)) (if (= i 10) s (loop (+ i 1) (sin (* x s)))))",
        "((with-derivative (lambda (u v) (* u v v)) (lambda (u v) (list (* v v) (* 2 u v)))) a x)",
    ] {
        let args = ["emit", "-e", text, "--to", "c", "--data", "rows.csv", "--set", "a=1.5", "--wrt", "a"];
        let ran = dmci(&[&args[..], &["--out", "model.c"]].concat(), "", folder.path());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{text}");
        if compiled(&folder, "model.c").is_none() {
            return;
        }
    }
}

/// Functions that C lacks, or has otherwise, at the edges of their domains: as `eval` computes them.
#[test]
fn special_values_in_c_are_those_of_dmci() {
    let folder = Workspace::new("emit-special");
    let edges =
        ["0.0", "-0.0", "-1.0", "-2.0", "-2.5", "0.5", "-20.5", "1e-310", "-1e300", "1e300", "inf", "-inf", "nan"];
    folder.write("rows.csv", format!("x\n{}\n", edges.join("\n")));
    let numbers = edges.join(", ").replace("inf", "INFINITY").replace("nan", "NAN");
    let texts = [
        "(digamma (* a x))",
        "(lgamma (* a x))",
        "(gamma (* a x))",
        "(relu (* a x))",
        "(sigmoid (* a x))",
        "(softplus (* a x))",
        "(min (* a x) 0.0)",
        "(min 0.0 (* a x))",
        "(max (* a x) 0.0)",
        "(max 0.0 (* a x))",
    ];
    let mut calls = String::new();
    for (i, text) in texts.iter().enumerate() {
        let name = format!("f{i}");
        let args = ["-e", text, "--data", "rows.csv", "--set", "a=1.0"];
        let emit = ["emit", "--to", "c", "--wrt", "a", "--name", &name, "--out", &format!("{name}.h")];
        let ran = dmci(&[&emit[..], &args].concat(), "", folder.path());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{text}");
        // One file for all: what is static has the same names in each.
        let words = ["value_", "grad_", "d_"];
        let path = folder.path().join(format!("{name}.h"));
        let source = std::fs::read_to_string(&path).unwrap();
        let source = words.iter().fold(source, |s, w| s.replace(&format!(" {w}"), &format!(" {name}{w}")));
        std::fs::write(path, source).unwrap();
        calls += &format!("all(\"{name}\", {name}_grad);\n");
    }
    let includes: String = (0..texts.len()).map(|i| format!("#include \"f{i}.h\"\n")).collect();
    folder.write(
        "main.c",
        format!(
            "#include <stdio.h>
{includes}
static void all(const char *name, int f(const double *, const double *, double *, double *)) {{
    const double x[] = {{{numbers}}}, a = 1;
    for (unsigned i = 0; i < sizeof x / sizeof *x; i++) {{
        double v, g;
        int status = f(&a, x + i, &v, &g);
        printf(\"%s %d %.17g %.17g\\n\", name, status, v, g);
    }}
}}
int main(void) {{
{calls}
    return 0;
}}
"
        ),
    );
    folder.write("empty.c", "");
    let Some(found) = compiled(&folder, "empty.c") else { return };
    let mut found = found.lines();
    for text in texts {
        let args = ["eval", "-e", text, "--data", "rows.csv", "--set", "a=1.0", "--grad"];
        let ran = dmci(&args, "", folder.path());
        for (edge, row) in edges.iter().zip(ran.stdout.lines().skip(1)) {
            let words: Vec<&str> = found.next().unwrap().split_whitespace().collect();
            let ours = row.split(',').map(|w| w.parse::<f64>().unwrap());
            for (x, y) in words[2..].iter().map(|w| w.replace("-nan", "nan").parse::<f64>().unwrap()).zip(ours) {
                let close =
                    (x - y).abs() <= 1e-9 * y.abs() && (y != 0.0 || x.is_sign_negative() == y.is_sign_negative());
                assert!(
                    words[1] == "0" && (x == y && y.is_infinite() || x.is_nan() && y.is_nan() || close),
                    "{text} at {edge}: {row}, C {words:?}"
                );
            }
        }
    }
}

/// Sums and products alone: in single precision each is one number, whoever computes it.
const SUMS: &str = "(let loop ((i 0) (s x)) (if (= i 50) (/ s 3.7) (loop (+ i 1) (+ (* s a) 0.1))))";

#[test]
fn c_in_single_precision_rounds_every_operation() {
    let folder = Workspace::new("emit-single");
    folder.write("rows.csv", "x\n0.3\n-1.7\n5.1\n");
    folder.write(
        "main.c",
        "#include <stdio.h>
int m_grad(const double *, const double *, double *, double *);
int main(void) {
    const double x[] = {0.3, -1.7, 5.1}, a = 0.9;
    for (int i = 0; i < 3; i++) {
        double v, g;
        int status = m_grad(&a, x + i, &v, &g);
        printf(\"%d %.17g %.17g\\n\", status, v, g);
    }
    return 0;
}
",
    );
    let functions = "(+ (exp (* a x)) (sigmoid x) (expt (* a x) 2.0) (lgamma (* a x)) (tanh x) (sqrt (abs (* a x))))";
    for (text, near) in [(SUMS, 0.0), (functions, 1e-6)] {
        let args = ["-e", text, "--data", "rows.csv", "--set", "a=0.9", "--f32"];
        let emit = ["emit", "--to", "c", "--wrt", "a", "--name", "m", "--out", "m.c"];
        let ran = dmci(&[&emit[..], &args].concat(), "", folder.path());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{text}");
        let Some(found) = compiled(&folder, "m.c") else { return };
        let ran = dmci(&[&["eval", "--grad"], &args[..]].concat(), "", folder.path());
        for (line, row) in found.lines().zip(ran.stdout.lines().skip(1)) {
            let numbers: Vec<f64> = line.split(' ').map(|w| w.parse().unwrap()).collect();
            let ours: Vec<f64> = row.split(',').map(|w| w.parse().unwrap()).collect();
            assert_eq!((numbers[0], ours.len()), (0.0, 2));
            for (x, y) in numbers[1..].iter().zip(&ours) {
                assert!((x - y).abs() <= near * y.abs() && *x == f64::from(*x as f32), "{text}: {line} is not {row}");
            }
        }
    }
}

#[test]
fn what_cannot_be_exported_is_told() {
    let folder = Workspace::new("emit-errors");
    let told = |args: &[&str], code: i32, words: &str| {
        let ran = dmci(&[&["emit", "-e"], args].concat(), "", folder.path());
        assert!(ran.code == code && ran.stderr.contains(words), "{} {}", ran.code, ran.stderr);
    };
    told(&["(* a x)", "--to", "cobol", "--wrt", "a", "--set", "a=1.0", "--set", "x=1.0"], 2, "no export to cobol");
    told(&["(* a y)", "--to", "c", "--wrt", "a", "--set", "a=1.0", "--set", "x=1.0"], 2, "emit needs values of y");
    told(&["(list a x)", "--to", "c", "--wrt", "a", "--set", "a=1.0", "--set", "x=1.0"], 1, "must give a number");
    let ran = dmci(&["emit", "-e", "(list a x)", "--to", "c", "--set", "a=1.0", "--set", "x=1"], "", folder.path());
    assert!(ran.stderr.contains("help: if the program gives a list of n numbers, write --outputs n"), "{}", ran.stderr);
    let named = |name| ["(* a x)", "--to", "c", "--wrt", "a", "--set", "a=1.0", "--set", "x=1.0", "--name", name];
    told(&named("int"), 2, "a function cannot be called int: C has that name itself");
    told(&named("sin"), 2, "a function cannot be called sin");
    let noisy = "(* x (soft-choice (list a 1.0) (list 1.0 2.0)))";
    told(&[noisy, "--to", "c", "--wrt", "a", "--set", "a=1.0", "--set", "x=1.0"], 1, "E0720");
    for formula in ["sympy", "latex"] {
        let args = ["(* a x)", "--to", formula, "--wrt", "a", "--set", "a=1.0", "--set", "x=1.0", "--f32"];
        told(&args, 1, "formulas are not rounded");
    }
}

#[test]
fn a_fit_is_exported_with_its_numbers() {
    let space = Workspace::new("emit-fit");
    space.write("rows.csv", "t,y\n1,2.5\n2,4.5\n3,6.5\n");
    let fit = ["fit", "--formula", "y ~ alpha + b*t", "--data", "rows.csv", "--out", "fit.json", "--quiet"];
    assert_eq!(dmci(&fit, "", space.path()).code, 0);
    let to = |language: &str| {
        let ran = dmci(&["emit", "--fit", "fit.json", "--to", language], "", space.path());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{language}");
        ran.stdout
    };
    let infix = to("infix");
    let (first, rest) = infix.trim_end().split_once(" + ").unwrap();
    let second = rest.strip_suffix("*t").unwrap();
    let near = |text: &str, x: f64| (text.parse::<f64>().unwrap() - x).abs() < 1e-9;
    assert!(near(first, 0.5) && near(second, 2.0), "{infix}");
    let latex = to("latex");
    assert!(latex.contains(r"\alpha + b \cdot t") && latex.contains("% fitted: alpha = 0."), "{latex}");
    assert!(to("c").contains("/* fitted: alpha = ") && to("numpy").contains("\n# fitted: alpha = "));
    // Without data it says what it needs.
    let ran = dmci(&["emit", "-e", "(params (a free 1.0)) (* a t)", "--to", "c"], "", space.path());
    assert!(ran.code == 2 && ran.stderr.contains("emit needs values of t"), "{}", ran.stderr);
}
