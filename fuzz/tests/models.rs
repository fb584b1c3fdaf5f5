//! Generated models as people write them: steps that are accepted or rejected, rollouts that collect what they compute,
//! states that are small tensors. With every switch, lanes together have the bits of lanes alone.
//!
//! `DMCI_LONG=1` takes 100,000 of them, or as many as `DMCI_MODELS` says.

#![allow(clippy::unwrap_used)]

use dmci::{
    Batch, Column, Datum, GradOptions, Interpreter, JitPolicy, Mode, Model, ModelOptions, Passes, Program, RunOptions,
    Want, Wrt,
};
use dmci_fuzz::is_long;
use dmci_generate::models;
use dmci_generate::random::Random;

const LANES: usize = 12;

struct Rows {
    theta: [f64; 2],
    xs: Vec<f64>,
    ns: Vec<i64>,
}

fn rows(seed: u64) -> Rows {
    let mut random = Random::new(seed ^ 0xda7a);
    let mut unit = || random.below(1000) as f64 / 1000.0;
    let theta = [1.4 * unit() - 0.2, 1.4 * unit() - 0.2];
    let xs = (0..LANES).map(|_| 1.6 * unit() - 0.5).collect();
    Rows { theta, xs, ns: (0..LANES).map(|_| (unit() * 12.0) as i64).collect() }
}

fn batch(text: &str, rows: &Rows, options: ModelOptions) -> Batch {
    let model = Model::new(Program::new(text), &["a", "b"], &["x", "n"], options);
    let ns = rows.ns.iter().map(|&n| Datum::Integer(n)).collect();
    let columns = [Column::Reals(rows.xs.clone()), Column::Data(ns)];
    model.evaluate(&rows.theta, &columns, Want::Gradients).unwrap()
}

/// All switches that change how a model is run and none of its bits.
fn ways() -> Vec<(&'static str, ModelOptions)> {
    let direct = || ModelOptions {
        run: RunOptions { mode: Mode::Direct, ..RunOptions::default() },
        code: JitPolicy::Always,
        ..ModelOptions::default()
    };
    let without = |passes: Passes| ModelOptions { passes, ..direct() };
    vec![
        ("code", direct()),
        ("code of 256 bits", ModelOptions { code: JitPolicy::AlwaysNarrow, ..direct() }),
        ("no code", ModelOptions { code: JitPolicy::Never, ..direct() }),
        ("no loops", ModelOptions { loops: false, ..direct() }),
        ("no joins", ModelOptions { joins: false, ..direct() }),
        ("small tensors", without(Passes { split: false, ..Passes::default() })),
        ("no merging", without(Passes { merge: false, ..Passes::default() })),
        ("the evaluator", ModelOptions { run: RunOptions::default(), ..direct() }),
    ]
}

#[test]
fn models_have_the_same_bits_in_every_way() {
    let interpreter = Interpreter::shared();
    let asked = std::env::var("DMCI_MODELS").ok().and_then(|s| s.parse().ok());
    let count = asked.unwrap_or(if is_long() { 100_000 } else { 150 });
    let mut lanes = 0;
    for seed in 0..count {
        let (text, rows) = (models::text(seed), rows(seed));
        let mut alone = Vec::with_capacity(LANES);
        for (&x, &n) in rows.xs.iter().zip(&rows.ns) {
            let reals = [("a", rows.theta[0]), ("b", rows.theta[1]), ("x", x)];
            let mut bindings: Vec<_> = reals.map(|(name, x)| (name.to_string(), Datum::Real(x))).to_vec();
            bindings.push(("n".into(), Datum::Integer(n)));
            let run = RunOptions { mode: Mode::Direct, bindings, ..RunOptions::default() };
            let wrt = Wrt::Names(vec!["a".into(), "b".into()]);
            let found = interpreter.grad(&Program::new(&text), &GradOptions { run, wrt, hessian: false });
            let found = found.unwrap_or_else(|failure| panic!("seed {seed}: {failure}\n{text}"));
            alone.push((found.value.to_bits(), [found.flat[0].to_bits(), found.flat[1].to_bits()]));
        }
        for (what, options) in ways() {
            let found = batch(&text, &rows, options);
            for (lane, expected) in alone.iter().enumerate() {
                let gradients = [0, 1].map(|k| found.gradients[2 * lane + k].to_bits());
                let got = (found.values[lane].to_bits(), gradients);
                assert_eq!(got, *expected, "seed {seed} lane {lane} with {what}:\n{text}");
            }
            lanes += LANES;
        }
    }
    println!("{count} models, {lanes} lanes compared");
}
