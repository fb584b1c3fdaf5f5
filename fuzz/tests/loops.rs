//! Generated programs with loops and decisions on traced numbers: rounds that differ from lane to lane, nested
//! loops, mutation, lists, early exits and errors. With joins and loops, in every mode, lanes have the bits of
//! rounds recorded one by one.
//!
//! `DMCI_LONG=1` takes many more of them.

#![allow(clippy::unwrap_used)]

use dmci::{Batch, Column, Datum, Limits, Mode, Model, ModelOptions, Program, RunOptions, Want};
use dmci_fuzz::count;
use dmci_generate::random::Random;
use std::time::Duration;

struct Writer<'a> {
    random: &'a mut Random,
    /// Names of reals in scope.
    reals: Vec<String>,
    /// Names of exact integers in scope.
    integers: Vec<String>,
    names: u32,
}

impl Writer<'_> {
    fn pick(&mut self, n: usize) -> usize {
        self.random.below(n)
    }

    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    fn real_name(&mut self) -> String {
        let i = self.pick(self.reals.len());
        self.reals[i].clone()
    }

    fn constant(&mut self) -> String {
        ["0.1", "0.5", "0.9", "1.0", "-0.3", "2.0", "0.0"][self.pick(7)].into()
    }

    fn test(&mut self, depth: u32) -> String {
        match self.pick(6) {
            0 if !self.integers.is_empty() => {
                let i = self.pick(self.integers.len());
                format!("(even? {})", self.integers[i])
            }
            1 if !self.integers.is_empty() => {
                let i = self.pick(self.integers.len());
                format!("(< {} {})", self.integers[i].clone(), 1 + self.pick(5))
            }
            2 => format!("(and (> {} a) (< {} 1.5))", self.real_name(), self.real_name()),
            3 => format!("(or (< {} b) (> {} 0.7))", self.real_name(), self.real_name()),
            _ => format!("(< {} {})", self.real(depth), self.real(depth)),
        }
    }

    fn real(&mut self, depth: u32) -> String {
        if depth == 0 {
            return if self.pick(4) == 0 { self.constant() } else { self.real_name() };
        }
        let d = depth - 1;
        match self.pick(12) {
            0 | 1 => format!("(+ {} {})", self.real(d), self.real(d)),
            2 | 3 => format!("(* {} {})", self.real(d), self.real(d)),
            4 => format!("(- {} {})", self.real(d), self.real(d)),
            5 => format!("(sin {})", self.real(d)),
            6 => format!("(max {} {})", self.real(d), self.real(d)),
            7 | 8 => format!("(if {} {} {})", self.test(d), self.real(d), self.real(d)),
            9 if !self.integers.is_empty() => {
                let i = self.pick(self.integers.len());
                format!("(* 0.1 {} {})", self.integers[i].clone(), self.real(d))
            }
            10 => format!("(/ {} (+ 2.0 (abs {})))", self.real(d), self.real(d)),
            _ => self.real_name(),
        }
    }

    /// A loop as an expression, of some rounds.
    fn repeat(&mut self, depth: u32) -> String {
        let (i, s, t, name) = (self.name("i"), self.name("s"), self.name("t"), self.name("loop"));
        let (first, second) = (self.real(1), self.real(1));
        let count = match (self.pick(3), self.integers.first().cloned()) {
            (0, Some(other)) if depth == 0 => other,
            (1, _) => format!("{}", 1 + self.pick(6)),
            _ => "n".into(),
        };
        let (reals, integers) = (self.reals.len(), self.integers.len());
        self.reals.extend([s.clone(), t.clone()]);
        self.integers.push(i.clone());
        let inner = if depth > 0 && self.pick(3) == 0 { self.repeat(depth - 1) } else { self.real(2) };
        let next = format!("(* 0.7 {inner})");
        let other = match self.pick(4) {
            0 => s.clone(),
            1 => format!("(if {} {s} {t})", self.test(1)),
            _ => format!("(* 0.6 {})", self.real(2)),
        };
        let end = match self.pick(4) {
            0 => format!("(or (= {i} {count}) (> (abs {s}) 3.0))"),
            1 => format!("(or (>= {i} {count}) {})", self.test(1)),
            _ => format!("(>= {i} {count})"),
        };
        let value = self.real(1);
        let text = match self.pick(6) {
            0 => format!(
                "(let {name} (({i} 0) (p (list {first} {second}))) (let (({s} (car p)) ({t} (cadr p))) \
                 (if {end} {value} ({name} (+ {i} 1) (list {next} {other})))))"
            ),
            1 => format!(
                "(let ((v (vector {first} {second})) ({i} 0)) (let {name} () (let (({s} (vector-ref v 0)) \
                 ({t} (vector-ref v 1))) (if {end} {value} (begin (vector-set! v 0 {next}) (vector-set! v 1 {other}) \
                 (set! {i} (+ {i} 1)) ({name}))))))"
            ),
            2 => format!(
                "(call/cc (lambda (k) (do (({i} 0 (+ {i} 1)) ({s} {first} {next}) ({t} {second} {other})) (#f 0.0) \
                 (if {end} (k {value})))))"
            ),
            3 => format!(
                "(let {name} (({i} 0) ({s} {first}) ({t} {second})) (cond ({end} {value}) ({test} ({name} (+ {i} 1) \
                 {next} {t})) (else ({name} (+ {i} 1) {s} {other}))))",
                test = self.test(1)
            ),
            _ => format!(
                "(let {name} (({i} 0) ({s} {first}) ({t} {second})) (if {end} {value} ({name} (+ {i} 1) {next} {other})))"
            ),
        };
        self.reals.truncate(reals);
        self.integers.truncate(integers);
        text
    }
}

fn program(seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut writer = Writer {
        random: &mut random,
        reals: ["a", "b", "x"].map(String::from).to_vec(),
        integers: vec!["n".into()],
        names: 0,
    };
    let first = writer.repeat(1);
    let second = writer.repeat(0);
    match writer.pick(4) {
        0 => format!("(+ {first} {second})"),
        1 => format!("(define z {first}) (+ (* z z) {second})"),
        2 => format!("(guard (e (#t (* a x))) (if (> {first} 1.2) (error \"too much\" a) (* b {second})))"),
        _ => format!("(if {} {first} {second})", writer.test(1)),
    }
}

fn run(text: &str, seed: u64, mode: Mode, (joins, loops): (bool, bool)) -> (Batch, u64) {
    let limits = Limits { fuel: 3_000_000, time: Duration::from_secs(20), ..Limits::default() };
    let run = RunOptions { mode, limits, ..RunOptions::default() };
    let options = ModelOptions { run, joins, loops, ..ModelOptions::default() };
    let model = Model::new(Program::new(text), &["a", "b"], &["x", "n"], options);
    let mut random = Random::new(seed ^ 0x5eed);
    let mut unit = || random.below(1000) as f64 / 1000.0;
    let xs: Vec<f64> = (0..10).map(|_| 1.6 * unit() - 0.5).collect();
    let ns = (0..10).map(|_| Datum::Integer((unit() * 12.0) as i64)).collect();
    let theta: Vec<f64> = (0..4).map(|_| 1.4 * unit() - 0.2).collect();
    let batch = model.evaluate(&theta, &[Column::Reals(xs), Column::Data(ns)], Want::Gradients).unwrap();
    (batch, model.recordings())
}

#[test]
fn generated_loops_have_the_bits_of_their_rounds_one_by_one() {
    let (mut lanes, mut failed, mut walks, mut flat_walks) = (0, 0, 0, 0);
    for seed in 0..count(300) {
        let text = program(seed);
        let (flat, recordings) = run(&text, seed, Mode::Direct, (false, false));
        flat_walks += recordings;
        failed += flat.failures.len();
        lanes += flat.values.len();
        let tower = if seed % 10 == 0 { vec![Mode::Tower(2)] } else { Vec::new() };
        for mode in [Mode::Direct, Mode::Dmci].into_iter().chain(tower) {
            for switches in [(true, true), (false, true), (true, false)] {
                let (found, recordings) = run(&text, seed, mode.clone(), switches);
                let context = || format!("seed {seed} in {mode:?} with {switches:?}:\n{text}");
                let lanes = |b: &Batch| b.failures.iter().map(|f| f.0).collect::<Vec<_>>();
                assert_eq!(lanes(&flat), lanes(&found), "{}", context());
                for (what, a, b) in
                    [("value", &flat.values, &found.values), ("gradient", &flat.gradients, &found.gradients)]
                {
                    let differs = a.iter().zip(b.iter()).position(|(x, y)| x.to_bits() != y.to_bits());
                    let shown = differs.map(|i| (i, a[i], b[i]));
                    assert!(differs.is_none(), "{what} {shown:?}, {}", context());
                }
                if mode == Mode::Direct && switches == (true, true) {
                    walks += recordings;
                }
            }
        }
    }
    println!("{lanes} lanes compared, {failed} failed alike; {walks} recordings instead of {flat_walks}");
    assert!(lanes - failed > 1000);
    assert!(walks < flat_walks);
}
