//! Generated loops of many rounds, with several results: under every kind of machine code and with any passes, lanes
//! have the bits of rounds recorded one by one.
//!
//! `DMCI_LONG=1` takes many more of them.

use dmci::{
    Batch, Column, Datum, JitPolicy, Mode, Model, ModelOptions, Number, Numerics, Passes, Program, RunOptions, Want,
};
use dmci_fuzz::count;
use dmci_generate::random::Random;

/// A number of a round, made of some others.
fn number(random: &mut Random, atoms: &[String], depth: usize) -> String {
    if depth == 0 || random.one_in(6) {
        return if random.one_in(4) {
            random.text(&["a", "b", "x", "0.5", "1", "-0.3"]).into()
        } else {
            random.pick(atoms).clone()
        };
    }
    let mut part = || number(random, atoms, depth - 1);
    let (p, q, r) = (part(), part(), part());
    match random.below(15) {
        0 | 1 => format!("(+ {p} {q})"),
        2 => format!("(- {p} {q})"),
        3..=5 => format!("(* {p} {q})"),
        6 => format!("(/ {p} (+ 1.0 (* {q} {q})))"),
        7 => format!("(sin {p})"),
        8 => format!("(tanh {p})"),
        9 => format!("(exp (* -0.3 {p}))"),
        10 => format!("(sqrt (+ 0.1 (abs {p})))"),
        11 => format!("(max {p} {q})"),
        12 => format!("(if (< {p} {q}) {r} {p})"),
        13 => format!("(cond ((> {p} 0.7) {q}) ((< {p} 0.2) {r}) (else 0.9))"),
        _ => format!("(/ {p} {q})"),
    }
}

/// What a state becomes: often something simple, or what another one is.
fn next(random: &mut Random, own: &str, atoms: &[String]) -> String {
    match random.below(10) {
        0 => own.to_string(),
        1 => random.pick(atoms).clone(),
        2 => format!("(+ {own} {})", number(random, atoms, 2)),
        3 => format!("(* 1.7 {own} (- 1 {own}))"),
        4 => format!("(+ (* {own} b) a)"),
        5 => random.text(&["a", "x", "1.0"]).to_string(),
        _ => number(random, atoms, 3),
    }
}

/// What an integer becomes, made of integers, one of which may be in a vector; `test` decides.
fn next_integer(random: &mut Random, own: &str, integers: &[String], test: &str) -> String {
    let other = random.pick(integers).clone();
    match random.below(12) {
        0 => own.to_string(),
        1 | 2 => other,
        3 => format!("(+ {own} 1)"),
        4 => format!("(modulo (+ (* 3 {own}) {other}) 7)"),
        5 => random.text(&["n", "3"]).to_string(),
        6 => format!("(if {test} {other} 3)"),
        7 => format!("(if {test} {own} {other})"),
        // Two of them become the same once a lane has so many rounds.
        _ => format!("(if (< i {own} {}) {own} {other})", random.text(&["9", "n", "s0"])),
    }
}

/// A loop, maybe with integers among its states, how many results it has, and how many rounds at most.
fn loop_of(random: &mut Random, exact: bool) -> (String, usize, usize) {
    let states: Vec<String> = (0..1 + random.below(4)).map(|i| format!("s{i}")).collect();
    let counts: Vec<String> = (0..if exact { 1 + random.below(3) } else { 0 }).map(|i| format!("k{i}")).collect();
    let cell = exact && random.one_in(2);
    let known = [3, 150, 228, 300, 500][random.below(5)];
    let data = random.pick(&states);
    let (ends, rounds) = match random.below(6) {
        0..=2 => (format!("(= i {known})"), known),
        3 => ("(= i n)".to_string(), 40),
        4 => (format!("(or (>= i 60) (> {data} (* 2.0 x)))"), 60),
        _ => ("(>= i (* 4 n))".to_string(), 160),
    };
    let mut atoms = states.clone();
    if random.one_in(3) {
        atoms.push("(* 0.01 i)".to_string());
    }
    if let Some(count) = counts.first().filter(|_| random.one_in(2)) {
        atoms.push(format!("(* 0.01 {count})"));
    }
    let in_order = random.one_in(2);
    let (mut starts, mut news, mut nexts) = ("(i 0)".to_string(), String::new(), "(+ i 1)".to_string());
    for (k, state) in states.iter().enumerate() {
        starts += &format!(" ({state} {})", random.text(&["a", "b", "x", "(* a x)", "0.5"]));
        let next = next(random, state, &atoms);
        if in_order && !random.one_in(3) {
            news += &format!(" (v{k} {next})");
            atoms.push(format!("v{k}"));
            nexts += &format!(" v{k}");
        } else {
            nexts += &format!(" {next}");
        }
    }
    let test = format!("(< {} {})", number(random, &states, 1), number(random, &states, 1));
    let mut integers: Vec<String> = counts.iter().cloned().chain(cell.then(|| "(vector-ref cell 0)".into())).collect();
    for (k, count) in counts.iter().enumerate() {
        starts += &format!(" ({count} {})", random.text(&["n", "0", "2", "(modulo n 4)"]));
        let next = next_integer(random, count, &integers, &test);
        if random.one_in(2) {
            news += &format!(" (m{k} {next})");
            integers.push(format!("m{k}"));
            nexts += &format!(" m{k}");
        } else {
            nexts += &format!(" {next}");
        }
    }
    let mut round = format!("(let* ({news}) (loop {nexts}))");
    if cell {
        let put = random.text(&["3", "k0", "(+ k0 1)", "i"]);
        round = match random.below(3) {
            0 => format!("(begin (vector-set! cell 0 {put}) {round})"),
            1 => format!("(begin (if {test} (vector-set! cell 0 {put})) {round})"),
            _ => format!("(begin (if {test} (vector-set! cell 1 s0) (vector-set! cell 0 {put})) {round})"),
        };
    }
    let outputs = [1, 1, 2, 3][random.below(4)];
    let mut results: Vec<String> = (0..outputs).map(|_| number(random, &states, 1)).collect();
    if !counts.is_empty() {
        integers.retain(|k| !k.starts_with('m'));
        results[0] = format!("(+ {} {})", results[0], integers.join(" "));
    }
    let result = if outputs == 1 { results[0].clone() } else { format!("(list {})", results.join(" ")) };
    let before = if cell { "(define cell (vector n 0.0)) " } else { "" };
    (format!("{before}(let loop ({starts}) (if {ends} {result} {round}))"), outputs, rounds)
}

/// Rows of a call: a real and an integer in each.
type Rows = (Vec<f64>, Vec<i64>);

/// Rows of two calls, of different sizes, for loops of so many rounds.
fn rows(random: &mut Random, lanes: &[usize], rounds: usize) -> Vec<Rows> {
    let mut call = || {
        let lanes = lanes[random.below(lanes.len())].min(1 + 8000 / rounds);
        let x = (0..lanes).map(|_| (random.below(1000) as f32 / 700.0).into()).collect();
        (x, (0..lanes).map(|_| random.between(0, 40)).collect())
    };
    vec![call(), call()]
}

/// Calls with one batch: what each gives, in bits. Parameters are the same in all rows, in two sets, or of each row.
fn evaluate<N: Number>(
    text: &str,
    options: ModelOptions,
    rows: &[Rows],
    pairs: bool,
    want: Want,
) -> Vec<[Vec<u64>; 2]> {
    let model = Model::new(Program::new(text), &["a", "b"], &["x", "n"], options);
    let mut batch = Batch::<N>::default();
    let bits = |list: &[N]| list.iter().map(|&x| x.bits()).collect();
    let call = |(x, n): &Rows| {
        let reals = x.iter().map(|&x| N::rounded(x)).collect();
        let n = match pairs {
            false => Column::Data(n.iter().map(|&n| Datum::Integer(n)).collect()),
            true => Column::Reals(n.iter().map(|&n| N::rounded(n as f64)).collect()),
        };
        let columns = [Column::Reals(reals), n];
        let theta = [0.4f32, 1.5, 0.7, -0.3].map(|x| N::rounded(x.into()));
        let done = match pairs {
            false => model.evaluate_into(&mut batch, &theta, &columns, want),
            true => {
                let theta: Vec<N> = theta.into_iter().cycle().take(2 * x.len()).collect();
                model.evaluate_pairs_into(&mut batch, &theta, &columns, want)
            }
        };
        assert!(done.is_ok() && batch.failures.is_empty(), "{text}");
        [bits(&batch.values), bits(&batch.gradients)]
    };
    rows.iter().map(call).collect()
}

const NO_PASSES: Passes = Passes { dead: false, merge: false, stage: false, split: false };

fn some_passes(random: &mut Random) -> Passes {
    Passes { dead: random.one_in(2), merge: random.one_in(2), stage: random.one_in(2), split: random.one_in(2) }
}

fn options((loops, single): (bool, bool), code: JitPolicy, passes: Passes, mode: Mode, outputs: usize) -> ModelOptions {
    let run = RunOptions { mode, numerics: Numerics { single, clamps: false }, ..RunOptions::default() };
    ModelOptions { run, loops, joins: loops, code, passes, outputs, ..ModelOptions::default() }
}

fn assert_same(flat: &[[Vec<u64>; 2]], found: &[[Vec<u64>; 2]], how: &str) {
    for (flat, found) in flat.iter().zip(found) {
        for (what, flat, found) in [("values", &flat[0], &found[0]), ("gradients", &flat[1], &found[1])] {
            let first = flat.iter().zip(found).position(|(a, b)| a != b);
            assert!(first.is_none() && flat.len() == found.len(), "{what} differ at {first:?}: {how}");
        }
    }
}

#[test]
fn long_loops_have_the_bits_of_their_rounds_one_by_one() {
    compare(0, false);
}

/// Lanes that leave such a loop keep all of them, also those that become the same.
#[test]
fn so_have_loops_with_integers_and_cells() {
    compare(20_000, true);
}

fn compare(first: u64, exact: bool) {
    let mut looped = 0;
    for seed in first..first + count(150) {
        let random = &mut Random::new(seed);
        let (text, outputs, rounds) = loop_of(random, exact);
        let single = random.one_in(3);
        let rows = rows(random, &[1, 7, 33, 64, 65], rounds);
        let want = if exact && random.one_in(2) { Want::Values } else { Want::Gradients };
        let how = |loops, code, passes, mode| options((loops, single), code, passes, mode, outputs);
        let all = |options| evaluate::<f64>(&text, options, &rows, false, want);
        let flat = all(how(false, JitPolicy::Never, NO_PASSES, Mode::Direct));
        for (code, passes, mode) in [
            (JitPolicy::Always, Passes::default(), Mode::Direct),
            (JitPolicy::AlwaysNarrow, Passes::default(), Mode::Direct),
            (JitPolicy::Never, Passes::default(), Mode::Direct),
            (JitPolicy::Always, some_passes(random), Mode::Dmci),
        ] {
            let found = all(how(true, code, passes, mode));
            assert_same(&flat, &found, &format!("seed {seed}, {code:?}, {passes:?}, single {single}:\n{text}"));
        }
        looped += (rounds > 100) as u64;
    }
    assert!(looped > count(150) / 4, "only {looped} are long");
}

/// Loops that were wrong once, with their results and rounds: a state becomes a constant, and derivatives are constants.
const SEEN: [(&str, usize, usize); 2] = [
    (
        "(let loop ((i 0) (s0 b) (s1 a) (s2 (* a x))) (if (= i n) (list 1 (* s1 b))
           (let* ((v1 (exp (* -0.3 (max s0 (sin s1))))) (v2 (exp (* -0.3 (/ (* s0 s1) (* v1 a))))))
             (loop (+ i 1) (tanh (+ (/ a s2) (* x 1))) v1 v2))))",
        2,
        40,
    ),
    (
        "(let loop ((i 0) (s0 b) (s1 x) (s2 b) (s3 b))
           (if (or (>= i 60) (> s0 (* 2.0 x))) (list (+ a s3) (if (< s2 s3) s3 s2) (sqrt (+ 0.1 (abs s3))))
             (loop (+ i 1) s1 (* 1.7 s1 (- 1 s1))
               (if (< (/ s3 (+ 1.0 (* s0 s0))) (tanh (sin x))) (* s2 s3) (/ s3 (+ 1.0 (* s0 s0)))) s0)))",
        3,
        60,
    ),
];

/// Where every lane has parameters of its own, code reads and writes lists of them by itself.
#[test]
fn so_have_loops_from_lists_to_lists() {
    let seen =
        SEEN.iter().flat_map(|seen| [*seen; 4]).map(|(text, outputs, rounds)| (text.to_string(), outputs, rounds));
    let mut seen: Vec<_> = seen.collect();
    for seed in 10_000..10_000 + count(150) {
        let random = &mut Random::new(seed);
        let (text, outputs, rounds) = seen.pop().unwrap_or_else(|| loop_of(random, false));
        let single = random.one_in(2);
        let mut rows = rows(random, &[16, 33, 64, 150, 333], rounds.min(60));
        // Lists are read as they are once the path is known.
        rows.push(rows[0].clone());
        let want = if random.one_in(3) { Want::Values } else { Want::Gradients };
        let flat = options((false, single), JitPolicy::Never, NO_PASSES, Mode::Direct, outputs);
        let flat = evaluate::<f64>(&text, flat, &rows, true, want);
        for (code, passes) in [
            (JitPolicy::Always, Passes::default()),
            (JitPolicy::AlwaysNarrow, Passes::default()),
            (JitPolicy::Always, some_passes(random)),
        ] {
            let how = options((true, single), code, passes, Mode::Direct, outputs);
            let found = match single && random.one_in(2) {
                true => evaluate::<f32>(&text, how, &rows, true, want),
                false => evaluate::<f64>(&text, how, &rows, true, want),
            };
            assert_same(&flat, &found, &format!("seed {seed}, {code:?}, {passes:?}, single {single}:\n{text}"));
        }
    }
}
