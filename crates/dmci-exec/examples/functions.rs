//! How long each real function takes for a lane of 1024: `cargo run --release -p dmci-exec --example functions`.

use dmci_exec::{JitPolicy, Leaves, Plan, Results};
use dmci_ops::{Build, Op, Type};
use dmci_tape::{LeafKind, Recorder};

const LANES: usize = 1024;
/// How often a function is in the plan, so that calling the plan does not count.
const TIMES: usize = 16;

/// Numbers between 0 and 1, inside of the domains of most functions; the others get larger ones.
struct Spread;

impl Leaves for Spread {
    type Number = f64;

    fn leaf(&self, lane: usize, leaf: usize) -> u64 {
        let unit = ((lane * 37 + leaf * 11) % LANES) as f64 / LANES as f64;
        (0.01 + 0.98 * unit).to_bits()
    }
}

/// A plan that adds up the function of so many arguments, or these alone.
fn plan(op: Option<Op>, single: bool, code: JitPolicy) -> Plan {
    let mut r = Recorder::new();
    let (x, y) = (r.leaf("x", LeafKind::Input, 0.5), r.leaf("y", LeafKind::Input, 0.25));
    let mut total = r.real(0.0);
    for i in 0..TIMES {
        let far = if matches!(op, Some(Op::Acosh | Op::Gamma | Op::Lgamma | Op::Digamma)) { 1.0 } else { 0.0 };
        let (step, shift) = (r.real(1.0 - i as f64 / 64.0), r.real(far));
        let part = r.op(Op::Mul, &[x, step]);
        let argument = r.op(Op::Add, &[part, shift]);
        let value = match op {
            Some(Op::Polygamma) => {
                let one = r.real(1.0);
                r.op(Op::Polygamma, &[argument, one])
            }
            Some(op) if op.operands().len() == 2 => r.op(op, &[argument, y]),
            Some(op) => r.op(op, &[argument]),
            None => argument,
        };
        total = r.op(Op::Add, &[total, value]);
    }
    let mut tape = r.tape().clone();
    (tape.outputs, tape.single) = (vec![total], single);
    Plan::new(&tape).with_code(code)
}

fn main() {
    let which: Vec<usize> = (0..LANES).collect();
    let mut results = Results::default();
    let modes = [(false, JitPolicy::Never), (false, JitPolicy::Always), (true, JitPolicy::Always)];
    println!("nanoseconds a lane    lanes in loops   machine code   in single precision");
    let is_function = |op: &Op| op.result() == Type::Real && *op > Op::Sqrt && *op < Op::Relu;
    for &op in Op::ALL.iter().filter(|op| is_function(op) && op.operands().iter().all(|ty| *ty == Type::Real)) {
        let mut each = modes.map(|(single, code)| {
            let plans = [None, Some(op)].map(|op| plan(op, single, code));
            let mut least = [f64::MAX; 2];
            for _ in 0..30 {
                for (plan, time) in plans.iter().zip(&mut least) {
                    let start = std::time::Instant::now();
                    plan.run(&which, &Spread, 1, &mut results);
                    *time = time.min(start.elapsed().as_nanos() as f64);
                }
            }
            (least[1] - least[0]) / (TIMES * LANES) as f64
        });
        each.iter_mut().for_each(|t| *t = t.max(0.0));
        println!("{:20} {:15.2} {:14.2} {:14.2}", op.name(), each[0], each[1], each[2]);
    }
}
