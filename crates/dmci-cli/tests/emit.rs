//! `emit` as a user runs it. What the sources compute is compared in bindings/python/tests/test_export.py; here C alone,
//! which needs no Python.

#![allow(clippy::unwrap_used)]

mod support;

use std::process::Command;
use support::{Workspace, dmci};

const MODEL: &str = "(params (a positive 2.0) (b free 0.5))
(let loop ((i 0) (s x)) (if (> s 100.0) (* b (+ s i)) (loop (+ i 1) (* (+ 1.0 (* a a)) s))))";

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
    let compiled = Command::new("cc")
        .args(["-std=c99", "-Wall", "-Wno-unused", "-Werror", "-o", "main", "main.c", "model.c", "-lm"])
        .current_dir(folder.path())
        .status();
    let Ok(status) = compiled else {
        eprintln!("skipped: there is no C compiler");
        return;
    };
    assert!(status.success());
    let output = Command::new(folder.path().join("main")).output().unwrap();
    let found: Vec<f64> =
        String::from_utf8(output.stdout).unwrap().split_whitespace().map(|w| w.parse().unwrap()).collect();
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
fn what_cannot_be_exported_is_told() {
    let folder = Workspace::new("emit-errors");
    let told = |args: &[&str], code: i32, words: &str| {
        let ran = dmci(&[&["emit", "-e"], args].concat(), "", folder.path());
        assert!(ran.code == code && ran.stderr.contains(words), "{} {}", ran.code, ran.stderr);
    };
    told(&["(* a x)", "--to", "cobol", "--wrt", "a", "--set", "a=1.0", "--set", "x=1.0"], 2, "no export to cobol");
    told(&["(* a y)", "--to", "c", "--wrt", "a", "--set", "a=1.0", "--set", "x=1.0"], 1, "none of the columns");
    told(&["(list a x)", "--to", "c", "--wrt", "a", "--set", "a=1.0", "--set", "x=1.0"], 1, "must give a number");
    let noisy = "(* x (soft-choice (list a 1.0) (list 1.0 2.0)))";
    told(&[noisy, "--to", "c", "--wrt", "a", "--set", "a=1.0", "--set", "x=1.0"], 1, "E0720");
}
