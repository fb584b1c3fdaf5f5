//! Generated integrators that accept or reject their steps, with states of numbers or small tensors, some of which
//! collect what they computed in a list: in every mode and with every switch, lanes have the same bits.

#![allow(clippy::unwrap_used)]

mod common;

use common::{first_difference, uniform};
use dmci::{Batch, Column, JitPolicy, Mode, Model, ModelOptions, Passes, Program, RunOptions, Want};

/// A small stream of decisions.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// A program of the parameters a and b and the input x.
fn integrator(seed: u64) -> String {
    let r = &mut Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
    let (start, slope, size, first) = match r.below(4) {
        0 | 1 => ("x", r.pick(&["(* a (sin u))", "(- (* b u) (* u u))", "(tanh (+ u (* a b)))"]), "(abs d)", "u"),
        2 => (
            "(vec x a)",
            r.pick(&["(vec (ref u 1) (* b (ref u 0)))", "(* a (sin u))", "(- (* b u) (* u (sum u)))"]),
            "(+ (abs (ref d 0)) (abs (ref d 1)))",
            "(ref u 0)",
        ),
        _ => (
            "(vec x a 0.5)",
            r.pick(&["(* b (cos u))", "(vec (ref u 2) (ref u 0) (* a (ref u 1)))"]),
            "(norm d)",
            "(sum u)",
        ),
    };
    let collects = r.below(2) == 0;
    let (list, empty, longer) = if collects { ("acc ", "(acc (list))", "(cons first acc)") } else { ("", "", "") };
    let total = r.pick(&["(fold-left + 0.0 acc)", "(apply + 0.0 (reverse acc))", "(if (null? acc) 0.0 (car acc))"]);
    let result = if collects { format!("(+ first {total})") } else { "first".into() };
    let bound = r.pick(&["0.02", "(* 0.05 (+ 0.2 x))", "0.1"]);
    let accept = format!("(loop (+ k 1) (+ t h) (* h {}) v {longer})", r.pick(&["1.2", "fac", "1.0"]));
    let reject = format!("(loop (+ k 1) t (* h {}) u {list})", r.pick(&["0.5", "fac", "0.3"]));
    let other = r.pick(&["+nan.0", "(* a 7.0)", "(error \"no step\" err)", "(list t)"]);
    let body = match r.below(5) {
        0 => format!("(if (<= err {bound}) {accept} (if (> err {bound}) {reject} {other}))"),
        1 => format!("(cond ((> err {bound}) {reject}) ((<= err {bound}) {accept}) (else {other}))"),
        2 => format!("(if (<= err {bound}) {accept} {reject})"),
        3 => format!("(if (not (> err {bound})) {accept} (if (> h 1e-3) {reject} {accept}))"),
        _ => {
            format!("(cond ((> k 25) {result}) ((<= err {bound}) {accept}) ((> err {bound}) {reject}) (else {other}))")
        }
    };
    let end = r.pick(&["(or (>= t 1.0) (> k 30))", "(> k 12)", "(= k 9)", "(or (> k 20) (> (abs first) 3.0))"]);
    format!(
        "(define (slope u) {slope})
         (let loop ((k 0) (t 0.0) (h 0.3) (u {start}) {empty})
           (let ((first {first}))
             (if {end} {result}
               (let* ((s (slope u)) (v (+ u (* h s))) (d (* 0.5 h (- (slope v) s))) (err {size})
                      (fac (max 0.4 (min 1.8 (/ 0.1 (+ err 0.01))))))
                 {body}))))"
    )
}

fn run(text: &str, mode: Mode, joins: bool, loops: bool, split: bool, code: JitPolicy) -> (Batch, u64) {
    let run = RunOptions { mode, ..RunOptions::default() };
    let passes = Passes { split, ..Passes::default() };
    let options = ModelOptions { run, joins, loops, passes, code, ..ModelOptions::default() };
    let model = Model::new(Program::new(text), &["a", "b"], &["x"], options);
    let batch = model.evaluate(&[0.4, 1.5, 0.7, -0.3], &[Column::Reals(uniform(12, 3))], Want::Gradients).unwrap();
    (batch, model.recordings())
}

#[test]
fn integrators_have_the_same_bits_with_every_switch() {
    let long = std::env::var_os("DMCI_LONG").is_some();
    let (mut flat_recordings, mut recordings) = (0, 0);
    for seed in 0..if long { 20_000 } else { 120 } {
        let text = integrator(seed);
        let (flat, recorded) = run(&text, Mode::Direct, false, false, false, JitPolicy::Never);
        // Lists that grow in one arm only cannot be joined.
        let joins_all = u64::from(!text.contains("acc"));
        flat_recordings += recorded * joins_all;
        for (mode, joins, loops, split, code) in [
            (Mode::Direct, true, true, true, JitPolicy::Never),
            (Mode::Dmci, true, true, true, JitPolicy::Always),
            (Mode::Dmci, true, false, true, JitPolicy::Never),
            (Mode::Direct, false, true, false, JitPolicy::Never),
        ] {
            let (found, recorded) = run(&text, mode.clone(), joins, loops, split, code);
            recordings += recorded * joins_all * u64::from(joins && loops && mode == Mode::Dmci);
            let failed = |batch: &Batch| batch.failures.iter().map(|f| f.0).collect::<Vec<_>>();
            assert_eq!(failed(&flat), failed(&found), "seed {seed}, {mode:?}: {text}");
            for (what, a, b) in
                [("values", &flat.values, &found.values), ("gradients", &flat.gradients, &found.gradients)]
            {
                let at = first_difference(a, b);
                let shown = at.and_then(|at| Some((a.get(at)?, b.get(at)?)));
                assert!(
                    at.is_none(),
                    "{what}, seed {seed}, {mode:?} {joins} {loops} {split}: {at:?} {shown:?}\n{text}"
                );
            }
        }
    }
    // Most of them are a path or two once they are joined.
    println!("{recordings} recordings instead of {flat_recordings}");
    assert!(2 * recordings < flat_recordings, "{recordings} of {flat_recordings}");
}
