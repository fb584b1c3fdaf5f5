//! Expressions lowered to tapes directly: the operations that a walk of their text would record, and so the same bits.

use crate::expr::{Expr, Node};
use crate::operation::Operation;
use dmci_exec::{JitPolicy, Leaves, Results, StageResults, Staged, Which};
use dmci_ops::{Build, Op};
use dmci_tape::passes::Passes;
use dmci_tape::{LeafKind, NodeId, Recorder, Tape, gradient};

/// The tape of an expression: its value, and behind it the derivatives by its parameters if they are wanted. Leaves
/// are the parameters, then the inputs.
pub fn tape(expr: &Expr, inputs: usize, derivatives: bool) -> Tape {
    let mut recorder = Recorder::new();
    recorder.reserve(8 * expr.nodes.len());
    let parameters: Vec<NodeId> = (0..expr.parameters()).map(|_| recorder.leaf("p", LeafKind::Param, 1.0)).collect();
    let columns: Vec<NodeId> = (0..inputs).map(|_| recorder.leaf("x", LeafKind::Input, 1.0)).collect();
    let output = record(&mut recorder, expr, &mut 0, &parameters, &columns);
    let mut outputs = vec![output];
    if derivatives {
        let parts = gradient(&mut recorder, output, &parameters);
        outputs.extend(parts.into_iter().map(|part| part.unwrap_or_else(|| recorder.real(0.0))));
    }
    let mut tape = recorder.tape().clone();
    tape.outputs = outputs;
    Passes::default().run(&tape)
}

/// The tape of a system of expressions that share inputs, each with parameters of its own: their values, and behind them
/// the derivatives that are not 0, of which the list says of which expression and by which leaf they are. Leaves are all
/// parameters in order, then the inputs.
pub fn system(exprs: &[Expr], inputs: usize) -> (Tape, Vec<(usize, usize)>) {
    let mut recorder = Recorder::new();
    let counts: Vec<usize> = exprs.iter().map(Expr::parameters).collect();
    let total: usize = counts.iter().sum();
    let parameters: Vec<NodeId> = (0..total).map(|_| recorder.leaf("p", LeafKind::Param, 1.0)).collect();
    let columns: Vec<NodeId> = (0..inputs).map(|_| recorder.leaf("x", LeafKind::Input, 1.0)).collect();
    let (mut outputs, mut first) = (Vec::new(), 0);
    for (expr, count) in exprs.iter().zip(&counts) {
        outputs.push(record(&mut recorder, expr, &mut 0, &parameters[first..first + count], &columns));
        first += count;
    }
    let all: Vec<NodeId> = parameters.iter().chain(&columns).copied().collect();
    let mut known = Vec::new();
    for i in 0..exprs.len() {
        for (leaf, part) in gradient(&mut recorder, outputs[i], &all).into_iter().enumerate() {
            if let Some(part) = part {
                outputs.push(part);
                known.push((i, leaf));
            }
        }
    }
    let mut tape = recorder.tape().clone();
    tape.outputs = outputs;
    (Passes::default().run(&tape), known)
}

/// Operands from left to right and then their operation, as a walk does it: adjoints are summed in the order of nodes.
fn record(recorder: &mut Recorder, expr: &Expr, at: &mut usize, parameters: &[NodeId], columns: &[NodeId]) -> NodeId {
    let node = expr.nodes[*at];
    *at += 1;
    match node {
        Node::Var(v) => columns[v as usize],
        Node::Param(p) => parameters[p as usize],
        Node::Int(i) => recorder.real(f64::from(i)),
        Node::Op(operation) => {
            let mut operands = [NodeId(0); 2];
            for slot in operands.iter_mut().take(operation.arity()) {
                *slot = record(recorder, expr, at, parameters, columns);
            }
            apply(recorder, operation, operands)
        }
    }
}

fn apply(recorder: &mut Recorder, operation: Operation, [a, b]: [NodeId; 2]) -> NodeId {
    match operation {
        Operation::Square => recorder.op(Op::Mul, &[a, a]),
        Operation::Cube => {
            let square = recorder.op(Op::Mul, &[a, a]);
            recorder.op(Op::Mul, &[square, a])
        }
        _ => {
            let op = operation.op().expect("only square and cube are several operations");
            recorder.op(op, &[a, b][..operation.arity()])
        }
    }
}

/// Memory of evaluations, used again.
#[derive(Debug, Default)]
pub struct Space {
    which: Vec<usize>,
    stages: StageResults,
    results: Results,
}

/// An expression ready to be evaluated over rows.
#[derive(Debug)]
pub struct Lowered {
    with_derivatives: Staged,
    values: Option<Staged>,
    expr: Expr,
    inputs: usize,
    parameters: usize,
    /// Operations of a row, derivatives included.
    pub work: usize,
}

struct RowLeaves<'a> {
    parameters: &'a [f64],
    columns: &'a [&'a [f64]],
}

impl Leaves for RowLeaves<'_> {
    type Number = f64;

    fn leaf(&self, lane: usize, leaf: usize) -> u64 {
        match leaf.checked_sub(self.parameters.len()) {
            None => self.parameters[leaf].to_bits(),
            Some(column) => self.columns[column][lane].to_bits(),
        }
    }

    fn fill(&self, which: Which<'_>, leaf: usize, row: &mut [u64]) {
        match leaf.checked_sub(self.parameters.len()) {
            None => row.fill(self.parameters[leaf].to_bits()),
            Some(column) => {
                let column = self.columns[column];
                which.fill(row, |lane| column[lane].to_bits());
            }
        }
    }
}

impl Lowered {
    /// Lowers an expression over so many inputs.
    pub fn new(expr: &Expr, inputs: usize) -> Lowered {
        let tape = tape(expr, inputs, true);
        Lowered {
            work: tape.operations().max(1),
            with_derivatives: Staged::new(&tape, false, false).with_code(JitPolicy::Never),
            values: None,
            expr: expr.clone(),
            inputs,
            parameters: expr.parameters(),
        }
    }

    /// How many parameters there are.
    pub fn parameters(&self) -> usize {
        self.parameters
    }

    /// For every row its value and its derivatives by the parameters, row by row. Columns have all rows.
    pub fn evaluate<'s>(&self, parameters: &[f64], columns: &[&[f64]], rows: usize, space: &'s mut Space) -> &'s [u64] {
        run(&self.with_derivatives, parameters, columns, rows, space)
    }

    /// The values alone.
    pub fn values(&mut self, parameters: &[f64], columns: &[&[f64]], rows: usize, space: &mut Space) -> Vec<f64> {
        let staged = self.values.get_or_insert_with(|| {
            Staged::new(&tape(&self.expr, self.inputs, false), false, false).with_code(JitPolicy::Never)
        });
        run(staged, parameters, columns, rows, space).iter().map(|bits| f64::from_bits(*bits)).collect()
    }
}

fn run<'s>(staged: &Staged, parameters: &[f64], columns: &[&[f64]], rows: usize, space: &'s mut Space) -> &'s [u64] {
    if space.which.len() != rows {
        space.which = (0..rows).collect();
    }
    let leaves = RowLeaves { parameters, columns };
    staged.run(&space.which, rows.max(1), &leaves, 1, &mut space.stages, &mut space.results);
    &space.results.outputs
}

#[cfg(test)]
mod tests {
    use super::*;
    use dmci::{Column, Model, ModelOptions, Program, Want};
    use dmci_stats::random::Stream;

    /// Random expressions have the bits that the recorder gives their texts, values and derivatives.
    #[test]
    fn lowered_expressions_have_the_bits_of_the_recorder() {
        let names = |list: &[&str]| list.iter().map(|s| s.to_string()).collect::<Vec<String>>();
        let (variables, parameters) = (names(&["x", "y"]), names(&["a", "b", "c"]));
        let mut stream = Stream::new(5, 1);
        let rows = 37;
        let columns: Vec<Vec<f64>> = (0..2).map(|_| (0..rows).map(|_| 3.0 * stream.normal()).collect()).collect();
        let mut space = Space::default();
        for round in 0..300 {
            let mut expr = random(&mut stream, 5);
            expr.renumber();
            let k = expr.parameters();
            let text = expr.text(&variables, &parameters);
            let values: Vec<f64> = (0..k).map(|_| stream.normal()).collect();
            let lowered = Lowered::new(&expr, 2);
            let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
            let found = lowered.evaluate(&values, &slices, rows, &mut space).to_vec();
            let shown: Vec<&str> = parameters[..k].iter().map(String::as_str).collect();
            let options = ModelOptions { output: false, threads: 1, ..ModelOptions::default() };
            let model = Model::new(Program::new(&text), &shown, &["x", "y"], options);
            let inputs: Vec<Column> = columns.iter().map(|c| Column::Reals(c.clone())).collect();
            let batch = model.evaluate(&values, &inputs, Want::Gradients).expect("it runs");
            assert!(batch.failures.is_empty(), "{text}");
            for r in 0..rows {
                let expected = std::iter::once(&batch.values[r]).chain(&batch.gradients[r * k..(r + 1) * k]);
                for (j, (bits, x)) in found[r * (k + 1)..(r + 1) * (k + 1)].iter().zip(expected).enumerate() {
                    let same = *bits == x.to_bits() || f64::from_bits(*bits).is_nan() && x.is_nan();
                    assert!(same, "round {round}, {text}, row {r}, number {j}: {} and {x}", f64::from_bits(*bits));
                }
            }
        }
    }

    fn random(stream: &mut Stream, depth: usize) -> Expr {
        if depth == 0 || stream.uniform() < 0.2 {
            return Expr::leaf(match stream.below(4) {
                0 => Node::Param(stream.below(3) as u16),
                1 => Node::Int(1 + stream.below(4) as i16),
                v => Node::Var(v as u16 - 2),
            });
        }
        let operation = Operation::ALL[stream.below(Operation::ALL.len())];
        let operands: Vec<Expr> = (0..operation.arity()).map(|_| random(stream, depth - 1)).collect();
        let found = Expr::apply(operation, &operands.iter().collect::<Vec<_>>());
        // A number made of integers alone is exact in the language.
        if found.mentions_variables() || found.parameters() > 0 { found } else { Expr::leaf(Node::Var(0)) }
    }
}
