//! Small tensors: held as numbers or as tensors, in every mode, lanes have the same bits.

#![allow(clippy::unwrap_used)]

mod common;

use common::{first_difference, uniform};
use dmci::{Batch, Column, Datum, JitPolicy, Mode, Model, ModelOptions, Numerics, Passes, Program, RunOptions, Want};

fn run(text: &str, mode: Mode, numerics: Numerics, split: bool, code: JitPolicy, loops: bool, want: Want) -> Batch {
    let options = ModelOptions {
        run: RunOptions { mode, numerics, ..RunOptions::default() },
        passes: Passes { split, ..Passes::default() },
        joins: loops,
        loops,
        code,
        ..ModelOptions::default()
    };
    let model = Model::new(Program::new(text), &["a", "b"], &["x", "n"], options);
    let ns = uniform(20, 9).into_iter().map(|u| Datum::Integer((u * 30.0) as i64)).collect();
    let columns = [Column::Reals(uniform(20, 3)), Column::Data(ns)];
    model.evaluate(&[0.4, 1.5, 0.7, -0.3], &columns, want).unwrap()
}

/// Programs with vectors and matrices of a few numbers, some of them beside large ones.
const PROGRAMS: &[&str] = &[
    "(define (f u) (vec (* (ref u 0) (- a (* b (ref u 1)))) (* (ref u 1) (- (* 0.3 (ref u 0)) 0.2)))) (let loop ((k n) (u (vec x 0.5))) (if (= k 0) (sum u) (loop (- k 1) (+ u (* 0.05 (f u))))))",
    "(let loop ((k 0) (u (vec x a b))) (if (= k n) (dot u u) (loop (+ k 1) (* 0.9 (tanh (+ u (vec 0.1 (ref u 2) (ref u 0))))))))",
    "(define m (mat (list a x) (list 0.5 b))) (sum (matmul m (transpose (matmul m m))))",
    "(define v (vec a b x 1.0)) (* (ref v (modulo n 4)) (ref (exp v) (modulo (+ n 1) 4)))",
    "(define m (mat (list (+ 2.0 a) x) (list 0.5 3.0))) (+ (det m) (sum (solve m (vec x b))))",
    "(let ((v (vec x a 0.0 b))) (if (< x a) (sum (* v v)) (dot v (- v))))",
    "(let loop ((k 0) (m (mat (list a x) (list b 1.0)))) (if (= k n) (sum m) (loop (+ k 1) (* 0.4 (+ (matmul m m) (vec x 1.0))))))",
    "(define big (* a (+ x (vec 0. 1. 2. 3. 4. 5. 6. 7. 8. 9. 10. 11. 12. 13. 14. 15. 16. 17. 18. 19.)))) (+ (ref big (modulo n 20)) (sum (* (vec a b) (vec (ref big 3) (ref big (modulo n 7))))))",
    "(let loop ((k 0) (u (vec x a)) (best (vec 0.0 0.0))) (if (= k n) (sum best) (let ((v (+ (* 0.8 u) (vec 0.1 (* 0.2 b))))) (loop (+ k 1) v (if (> (sum v) (sum best)) v best)))))",
];

#[test]
fn small_tensors_have_the_bits_of_tensors() {
    for text in PROGRAMS {
        for want in [Want::Values, Want::Gradients, Want::Hessians] {
            for single in [false, true] {
                let numerics = Numerics { single, ..Numerics::default() };
                let flat = run(text, Mode::Direct, numerics, false, JitPolicy::Never, false, want);
                assert!(flat.failures.is_empty(), "{text}: {}", flat.failures[0].1);
                let same = |mode: Mode, split: bool, code: JitPolicy, loops: bool| {
                    let found = run(text, mode.clone(), numerics, split, code, loops, want);
                    assert!(found.failures.is_empty(), "{text}: {}", found.failures[0].1);
                    for (what, a, b) in [
                        ("values", &flat.values, &found.values),
                        ("gradients", &flat.gradients, &found.gradients),
                        ("second derivatives", &flat.hessians, &found.hessians),
                    ] {
                        let at = first_difference(a, b);
                        let shown = at.and_then(|at| Some((a.get(at)?, b.get(at)?)));
                        assert!(at.is_none(), "{what} of {text}, {mode:?} {split} {code:?} {loops}: {at:?} {shown:?}");
                    }
                };
                same(Mode::Direct, true, JitPolicy::Never, true);
                same(Mode::Dmci, true, JitPolicy::Always, true);
                same(Mode::Dmci, true, JitPolicy::AlwaysNarrow, false);
                same(Mode::Direct, false, JitPolicy::Always, true);
            }
        }
    }
}
