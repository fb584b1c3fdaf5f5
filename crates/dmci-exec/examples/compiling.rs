//! How long a plan takes to become machine code: `cargo run --release -p dmci-exec --example compiling`.

use dmci_exec::{JitPolicy, Leaves, Plan, Results};
use dmci_ops::{Build, Op};
use dmci_tape::{LeafKind, Recorder, gradient};

/// The same number for every leaf.
struct Half;

impl Leaves for Half {
    type Number = f64;

    fn leaf(&self, _lane: usize, _leaf: usize) -> u64 {
        0.5f64.to_bits()
    }
}

fn main() {
    let mut r = Recorder::new();
    let (a, x) = (r.leaf("a", LeafKind::Param, 3.2), r.leaf("x", LeafKind::Param, 0.4));
    let (one, mut state) = (r.real(1.0), x);
    for _ in 0..1000 {
        let rest = r.op(Op::Sub, &[one, state]);
        let grown = r.op(Op::Mul, &[a, state]);
        state = r.op(Op::Mul, &[grown, rest]);
    }
    let adjoints = gradient(&mut r, state, &[a, x]);
    let mut tape = r.tape().clone();
    tape.outputs = [Some(state), adjoints[0], adjoints[1]].into_iter().flatten().collect();
    for lanes in [1, 1024] {
        let which: Vec<usize> = (0..lanes).collect();
        let mut results = Results::default();
        let mut least = [f64::MAX; 2];
        for _ in 0..20 {
            let plan = Plan::new(&tape).with_code(JitPolicy::Always);
            for time in &mut least {
                let start = std::time::Instant::now();
                plan.run(&which, &Half, 1, &mut results);
                *time = time.min(start.elapsed().as_nanos() as f64);
            }
        }
        let each = (least[0] - least[1]) / tape.operations() as f64;
        println!("{lanes} lanes: {each:.0} ns an operation to compile, {:.1} us to run", least[1] / 1e3);
    }
}
