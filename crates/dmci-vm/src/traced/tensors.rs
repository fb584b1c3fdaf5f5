//! Vectors and matrices as values: every operation on them is built on a tape. If an operand is
//! traced it is the tape of the evaluation, otherwise one that is thrown away; so a tensor has the
//! same bits whether it is recorded or not.

use crate::world::World;
use dmci_ops::{Build, Kernel, Op, Shape};
use dmci_tape::{NodeId, Recorder};
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Kind, Value, num};

/// An operand of a tensor operation: its shape, and the values whose elements make it up.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    /// Its shape.
    pub shape: Shape,
    parts: Vec<Value>,
}

/// Longer lists and vectors are not made a tensor for the sake of one index.
const MOST_ITEMS: usize = 4096;

/// Among so few, an item is selected, also if it was selected before from so many: in a gradient, the others then
/// get nothing at all.
const FEW_ITEMS: usize = 16;

/// The text of a shape for messages.
pub(crate) fn shape_name(shape: Shape) -> String {
    match shape {
        Shape::Scalar => "a number".into(),
        Shape::Vector(n) => format!("a vector of {n}"),
        Shape::Matrix(m, n) => format!("a {m}x{n} matrix"),
    }
}

/// The procedure that records an operation, for messages.
pub fn procedure_name(op: Op) -> &'static str {
    match op {
        Op::Add => "+",
        Op::Sub | Op::Neg => "-",
        Op::Mul => "*",
        Op::Div => "/",
        Op::Pow => "expt",
        _ => op.name(),
    }
}

impl World {
    /// Whether a plain value is a tensor.
    #[inline]
    pub(crate) fn is_tensor(&self, v: Value) -> bool {
        v.as_object().is_some_and(|r| self.heap.kind(r) == Kind::Tensor)
    }

    /// Whether a value, traced or not, is a number.
    pub fn is_number(&self, v: Value) -> bool {
        self.shape_of(v) == Some(Shape::Scalar)
    }

    /// Whether a value, traced or not, is a tensor.
    pub fn is_tensor_value(&self, v: Value) -> bool {
        self.is_tensor(self.plain(v))
    }

    /// The node of a number that is a result, for the tape of the evaluation.
    pub fn output_node(&mut self, v: Value) -> Result<NodeId, Error> {
        self.real_node(v)
    }

    /// The shape of a number or tensor.
    pub(crate) fn shape_of(&self, v: Value) -> Option<Shape> {
        let plain = self.plain(v);
        if num::is_number(&self.heap, plain) {
            return Some(Shape::Scalar);
        }
        self.heap.as_tensor(plain).map(|(shape, _)| shape)
    }

    /// The items of a list or vector.
    fn items(&self, v: Value) -> Option<Vec<Value>> {
        match self.heap.as_kind(v, Kind::Vector) {
            Some(r) => Some(self.heap.fields(r).collect()),
            None => self.heap.list_items(v),
        }
    }

    /// An argument of a tensor operation: a number, a tensor, a list or vector of numbers, or of
    /// rows that are such.
    pub(crate) fn operand(&self, who: &str, v: Value) -> Result<Operand, Error> {
        if let Some(shape) = self.shape_of(v) {
            return Ok(Operand { shape, parts: vec![v] });
        }
        let wrong = || self.wrong_type(who, "a number, a tensor, or a list or vector of numbers or rows", v);
        let items = self.items(v).ok_or_else(wrong)?;
        self.stacked(who, &items, wrong)
    }

    /// Numbers as a vector, rows as a matrix.
    pub(crate) fn stacked(&self, who: &str, items: &[Value], wrong: impl Fn() -> Error) -> Result<Operand, Error> {
        if items.iter().all(|&item| self.shape_of(item) == Some(Shape::Scalar)) {
            return Ok(Operand { shape: Shape::Vector(items.len() as u32), parts: items.to_vec() });
        }
        let mut parts = Vec::with_capacity(items.len());
        let mut columns = None;
        for &item in items {
            // A row is flat: looking one level down is enough, however deep the data are nested.
            let row = match self.shape_of(item) {
                Some(shape @ Shape::Vector(_)) => Operand { shape, parts: vec![item] },
                Some(_) => return Err(wrong()),
                None => {
                    let numbers = self.items(item).ok_or_else(&wrong)?;
                    if numbers.iter().any(|&x| self.shape_of(x) != Some(Shape::Scalar)) {
                        return Err(wrong());
                    }
                    Operand { shape: Shape::Vector(numbers.len() as u32), parts: numbers }
                }
            };
            let n = row.shape.len() as u32;
            if *columns.get_or_insert(n) != n {
                let message = format!("{who}: rows of {} and {n} numbers do not make a matrix", columns.unwrap_or(0));
                return Err(
                    Diagnostic::error(ErrorCode::E0604, message).help("give all rows the same number of elements")
                );
            }
            parts.extend(row.parts);
        }
        Ok(Operand { shape: Shape::Matrix(items.len() as u32, columns.unwrap_or(0)), parts })
    }

    /// The node of an operand on the tape of the evaluation.
    fn operand_node(&mut self, operand: &Operand) -> Result<NodeId, Error> {
        if !self.any_traced(&operand.parts) {
            let elements = self.plain_elements(operand);
            let recorder = self.recorder()?;
            return Ok(constant(recorder, operand.shape, &elements));
        }
        if let [only] = operand.parts[..]
            && self.shape_of(only) == Some(operand.shape)
        {
            return if operand.shape.is_scalar() {
                self.real_node(only)
            } else {
                Ok(self.node_of(only).unwrap_or(NodeId(0)))
            };
        }
        let mut nodes = Vec::with_capacity(operand.parts.len());
        for &part in &operand.parts {
            let shape = self.shape_of(part).unwrap_or(Shape::Scalar);
            nodes.push(match shape {
                Shape::Scalar => self.real_node(part)?,
                _ => self.operand_node(&Operand { shape, parts: vec![part] })?,
            });
        }
        Ok(self.recorder()?.pack(&nodes, operand.shape))
    }

    /// The node of a number or tensor.
    pub(crate) fn value_node(&mut self, v: Value) -> Result<NodeId, Error> {
        let shape = self.shape_of(v).unwrap_or_default();
        self.operand_node(&Operand { shape, parts: vec![v] })
    }

    /// The elements of an operand as they are here.
    fn plain_elements(&self, operand: &Operand) -> Vec<u64> {
        let mut elements = Vec::with_capacity(operand.shape.len());
        for &part in &operand.parts {
            let plain = self.plain(part);
            match self.heap.as_tensor(plain) {
                Some((_, items)) => elements.extend_from_slice(items),
                None => elements.push(num::Number::of(&self.heap, plain).map_or(f64::NAN, |n| n.to_f64()).to_bits()),
            }
        }
        elements
    }

    /// Computes a tensor operation of which the shapes are known to fit.
    pub(crate) fn tensor_op(
        &mut self,
        operands: &[Operand],
        build: impl FnOnce(&mut Recorder, &[NodeId]) -> NodeId,
    ) -> Result<Value, Error> {
        let size: usize = operands.iter().map(|o| o.shape.len()).sum();
        self.spend(size / 4);
        self.heap.ensure(2 * size)?;
        let mut nodes = Vec::with_capacity(operands.len());
        if operands.iter().any(|o| self.any_traced(&o.parts)) {
            for operand in operands {
                nodes.push(self.operand_node(operand)?);
            }
            let node = build(self.recorder()?, &nodes);
            if dmci_limits::rang() {
                return Err(self.stopped());
            }
            let (shape, elements) = (self.recorder()?.shape(node), self.recorder()?.elements(node).to_vec());
            let plain = self.plain_value(shape, &elements)?;
            return Ok(self.traced_value(node, plain));
        }
        let mut scratch = if self.numerics.single { Recorder::single() } else { Recorder::new() };
        for operand in operands {
            let elements = self.plain_elements(operand);
            nodes.push(constant(&mut scratch, operand.shape, &elements));
        }
        let node = build(&mut scratch, &nodes);
        if dmci_limits::rang() {
            // What was stopped has no meaning, and to copy it may take long.
            return Err(self.stopped());
        }
        self.plain_value(scratch.shape(node), scratch.elements(node))
    }

    /// A plain number or tensor.
    pub(crate) fn plain_value(&mut self, shape: Shape, elements: &[u64]) -> Result<Value, Error> {
        if shape.is_scalar() {
            return Ok(Value::real_result(f64::from_bits(elements[0])));
        }
        self.heap.ensure(elements.len() + 4)?;
        Ok(self.heap.tensor(shape, elements))
    }

    /// An operation of the tape on numbers and tensors, element by element.
    pub(super) fn elementwise(&mut self, op: Op, args: &[Value]) -> Result<Value, Error> {
        let mut operands = Vec::with_capacity(args.len());
        let mut shape = Shape::Scalar;
        for &arg in args {
            let Some(next) = self.shape_of(arg) else {
                return Err(self.wrong_type(procedure_name(op), "a number or a tensor", self.plain(arg)));
            };
            shape = shape.broadcast(next).ok_or_else(|| {
                let who = procedure_name(op);
                let message = format!("{who}: {} and {} do not fit together", shape_name(shape), shape_name(next));
                Diagnostic::error(ErrorCode::E0601, message)
                    .help("shapes fit if they are equal, or one of them is a number, a row or a column of the other")
            })?;
            operands.push(Operand { shape: next, parts: vec![arg] });
        }
        self.heap.ensure(shape.len() + 4)?;
        self.tensor_op(&operands, |r, nodes| r.op(op, nodes))
    }

    /// The elements of a tensor as numbers, traced if it is.
    pub fn elements_of(&mut self, v: Value) -> Result<Vec<Value>, Error> {
        let plain = self.plain(v);
        let Some((_, elements)) = self.heap.as_tensor(plain) else { return Ok(vec![v]) };
        let elements: Vec<f64> = elements.iter().map(|&bits| f64::from_bits(bits)).collect();
        self.spend(elements.len());
        let Some(node) = self.node_of(v) else {
            return Ok(elements.into_iter().map(Value::real).collect());
        };
        let mut values = Vec::with_capacity(elements.len());
        for (e, x) in elements.into_iter().enumerate() {
            let element = self.recorder()?.element(node, e);
            values.push(self.traced_value(element, Value::real(x)));
        }
        Ok(values)
    }

    /// The plain tensor, with guards that its elements are these.
    pub(super) fn pin_tensor(&mut self, v: Value) -> Result<Value, Error> {
        for element in self.elements_of(v)? {
            self.pin(element)?;
        }
        Ok(self.plain(v))
    }

    /// A traced number or tensor for a new parameter or input.
    pub fn traced_tensor(&mut self, name: &str, kind: dmci_tape::LeafKind, shape: Shape, values: &[f64]) -> Value {
        let fit = |&x: &f64| if self.numerics.single { x as f32 as f64 } else { x }.to_bits();
        let bits: Vec<u64> = values.iter().map(fit).collect();
        let plain = self.heap.tensor(shape, &bits);
        let Some(recording) = &mut self.recording else { return plain };
        let node = recording.recorder.tensor_leaf(name, kind, shape, values);
        self.traced_value(node, plain)
    }

    /// The node of a direction for something of the given shape.
    pub(super) fn direction(&mut self, v: Value, shape: Shape) -> Result<NodeId, Error> {
        let operand = self.operand("jvp", v)?;
        if operand.shape != shape {
            let message = format!("jvp: the direction of {} is {}", shape_name(shape), shape_name(operand.shape));
            return Err(
                Diagnostic::error(ErrorCode::E0601, message).help("give the direction the shape of the argument")
            );
        }
        self.operand_node(&operand)
    }

    /// Elements at traced indices, one for each axis with its size; the indices are known to be inside.
    pub(crate) fn gather(&mut self, x: Operand, shape: Shape, indices: &[(Value, u32)]) -> Result<Value, Error> {
        let tensor = self.operand_node(&x)?;
        let mut place = None;
        for &(index, n) in indices {
            let i = self.index_node(index, n as usize)?;
            let recorder = self.recorder()?;
            place = Some(match place {
                None => i,
                Some(row) => {
                    let n = recorder.int(n.into());
                    let start = recorder.op(Op::IntMul, &[row, n]);
                    recorder.op(Op::IntAdd, &[start, i])
                }
            });
        }
        let recorder = self.recorder()?;
        let place = place.unwrap_or(NodeId(0));
        let node = recorder.kernel(Kernel::Index, &[tensor, place], shape);
        let elements = recorder.elements(node).to_vec();
        let plain = self.plain_value(shape, &elements)?;
        Ok(self.traced_value(node, plain))
    }

    /// An item of a list or vector at a traced index; `None` if the items are not all reals.
    pub(super) fn gather_item(&mut self, items: Vec<Value>, index: Value) -> Result<Option<Value>, Error> {
        let real = |&v: &Value| self.plain(v).is_real();
        if items.len() > MOST_ITEMS || !items.iter().all(real) || self.node_of(index).is_none() {
            return Ok(None);
        }
        if self.few_selections(&items) {
            return self.select_item(&items, index).map(Some);
        }
        let n = items.len() as u32;
        let operand = Operand { shape: Shape::Vector(n), parts: items };
        self.gather(operand, Shape::Scalar, &[(index, n)]).map(Some)
    }

    /// Whether there is a number of the tape among a few items that are hardly selections themselves.
    fn few_selections(&self, items: &[Value]) -> bool {
        let Some(recording) = self.recording.as_ref().filter(|_| items.len() <= FEW_ITEMS) else { return false };
        let nodes = items.iter().filter_map(|&v| self.node_of(v));
        let selections: Vec<usize> = nodes.map(|node| recording.recorder.selections(node, FEW_ITEMS)).collect();
        !selections.is_empty() && selections.iter().sum::<usize>() <= FEW_ITEMS
    }

    /// The item at a traced index that is known to be inside: the last one if it is none of the others.
    fn select_item(&mut self, items: &[Value], index: Value) -> Result<Value, Error> {
        let i = self.index_node(index, items.len())?;
        let nodes = items.iter().map(|&v| self.value_node(v)).collect::<Result<Vec<_>, _>>()?;
        let recorder = self.recorder()?;
        let (&last, others) = nodes.split_last().expect("an index is inside of them");
        let mut item = last;
        for (k, &other) in others.iter().enumerate().rev() {
            let k = recorder.int(k as i64);
            let test = recorder.op(Op::IntEq, &[i, k]);
            item = recorder.op(Op::Select, &[test, other, item]);
        }
        let plain = Value::real_result(recorder.value(item));
        Ok(self.traced_value(item, plain))
    }

    /// Traced reals sorted by one operation; `None` if they are not that, or if one is no number.
    pub(crate) fn sorted(&mut self, items: Vec<Value>, descending: bool) -> Result<Option<Vec<Value>>, Error> {
        let real = |&v: &Value| self.plain(v).as_real().is_some_and(|x| !x.is_nan());
        if items.len() < 2 || !items.iter().all(real) || !self.any_traced(&items) {
            return Ok(None);
        }
        if items.len() > MOST_ITEMS {
            return self.sorted_by_decisions(items, descending).map(Some);
        }
        let shape = Shape::Vector(items.len() as u32);
        let keys = self.operand_node(&Operand { shape, parts: items })?;
        let recorder = self.recorder()?;
        // Other lanes may hold a NaN, which has no order: then its sum is one too.
        let sum = recorder.sum(keys);
        let test = recorder.op(Op::Eq, &[sum, sum]);
        if !recorder.guard(test) {
            return Ok(None);
        }
        let sorted = recorder.kernel(Kernel::SortBy { descending }, &[keys, keys], shape);
        let elements = recorder.elements(sorted).to_vec();
        let plain = self.plain_value(shape, &elements)?;
        let sorted = self.traced_value(sorted, plain);
        self.elements_of(sorted).map(Some)
    }

    /// Many traced reals in their order, which the path then depends on. Comparing each number with its neighbour in the
    /// result decides a stable order as much as a merge does, with one guard for each number instead of some 17.
    fn sorted_by_decisions(&mut self, items: Vec<Value>, descending: bool) -> Result<Vec<Value>, Error> {
        let n = items.len();
        self.spend(n * (n.ilog2() as usize + 1));
        let mut keys: Vec<(f64, usize)> = Vec::with_capacity(n);
        for (i, &item) in items.iter().enumerate() {
            let x = self.plain(item).as_real().unwrap_or(f64::NAN);
            keys.push((if descending { -x } else { x }, i));
        }
        // The sort is stable; zeros of both signs are equal, as they are to `<`.
        keys.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(std::cmp::Ordering::Equal));
        let sorted: Vec<Value> = keys.iter().map(|key| items[key.1]).collect();
        for (pair, values) in keys.windows(2).zip(sorted.windows(2)) {
            if !self.any_traced(values) {
                continue;
            }
            // What stood behind its neighbour is before it only if it is smaller. A NaN fails both tests.
            let op = match (pair[0].1 < pair[1].1, descending) {
                (true, false) => Op::Le,
                (false, false) => Op::Lt,
                (true, true) => Op::Ge,
                (false, true) => Op::Gt,
            };
            let test = self.record(op, values, Value::TRUE)?;
            self.is_true(test);
        }
        Ok(sorted)
    }

    /// A comparison of two numbers that is decided here.
    pub(crate) fn decide_order(&mut self, a: Value, b: Value, greater: bool, result: bool) -> Result<bool, Error> {
        if self.any_traced(&[a, b]) {
            let op = if greater { Op::Gt } else { Op::Lt };
            let test = self.record(op, &[a, b], Value::boolean(result))?;
            return Ok(self.is_true(test));
        }
        Ok(result)
    }
}

fn constant(recorder: &mut Recorder, shape: Shape, elements: &[u64]) -> NodeId {
    match shape {
        Shape::Scalar => recorder.real(f64::from_bits(elements[0])),
        _ => recorder.constant(shape, elements.iter().map(|&bits| f64::from_bits(bits))),
    }
}
