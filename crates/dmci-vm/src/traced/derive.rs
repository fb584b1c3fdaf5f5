//! Derivatives that a program takes itself: `grad`, `derivative` and `jvp` in the library are built
//! on these.
//!
//! Taking a derivative gives the argument a new name on the tape (`same`), which is a leaf to this
//! derivative and an ordinary operation to any other; so derivatives nest without confusion. The
//! adjoints are recorded like everything else, so outer derivatives see through them.

use super::Recording;
use crate::prims::{Primitive, fixed};
use crate::world::World;
use dmci_ops::{Build, Op};
use dmci_tape::{NodeId, Recorder, gradient, tangents};
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Kind, Shape, Value, num};

/// Nodes of a tape that only serves derivatives inside a program.
const LIMIT: usize = 20_000_000;

/// The rows of this file.
pub const PRIMITIVES: &[Primitive] = &[
    fixed("%derive-begin", 0, |w, _| {
        let (single, limit) = (w.numerics.single, w.longest_tape(LIMIT));
        let recording = w.recording.get_or_insert_with(|| {
            let recorder = if single { Recorder::single() } else { Recorder::new() };
            Box::new(Recording { limit, recorder, ..Recording::default() })
        });
        recording.depth += 1;
        Ok(Value::fixnum(recording.recorder.len() as i64))
    }),
    // (%derive-end mark results): plain numbers again after the outermost derivative.
    fixed("%derive-end", 2, derive_end),
    fixed("%leaf", 1, leaf),
    fixed("%adjoints", 2, adjoint_list),
    fixed("%tangents", 3, tangent_list),
    fixed("stop-gradient", 1, |w, a| {
        let plain = w.plain(a[0]);
        match w.node_of(a[0]) {
            Some(_) if w.is_tensor(plain) => w.elementwise(Op::Stop, a),
            Some(_) if plain.is_real() => w.record(Op::Stop, a, plain),
            _ => Ok(a[0]),
        }
    }),
];

fn leaf(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let plain = world.plain(args[0]);
    if let Some((shape, elements)) = world.heap.as_tensor(plain) {
        let elements: Vec<f64> = elements.iter().map(|&bits| f64::from_bits(bits)).collect();
        let node = match world.node_of(args[0]) {
            Some(node) => node,
            None => world.recorder()?.constant(shape, elements),
        };
        let leaf = world.recorder()?.op(Op::Same, &[node]);
        return Ok(world.traced_value(leaf, plain));
    }
    let x = num::operand(&world.heap, "grad", plain)?.to_f64();
    world.record(Op::Same, args, Value::real(x))
}

fn nodes(world: &mut World, list: Value) -> Result<Vec<Option<NodeId>>, Error> {
    Ok(world.list("grad", list)?.into_iter().map(|v| world.node_of(v)).collect())
}

/// The leaves of a derivative that is being taken.
fn leaves(world: &mut World, list: Value) -> Result<Vec<NodeId>, Error> {
    let found: Option<Vec<NodeId>> = nodes(world, list)?.into_iter().collect();
    found.ok_or_else(|| {
        let message = "a continuation leads back into a derivative that has ended";
        Diagnostic::error(ErrorCode::E0303, message)
            .help("enter it before the derivative ends, or take the derivative again")
    })
}

fn number(world: &mut World, who: &str, v: Value) -> Result<(), Error> {
    let plain = world.plain(v);
    num::operand(&world.heap, who, plain).map(|_| ())
}

/// (%adjoints output leaves): the derivatives, in order.
fn adjoint_list(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    number(world, "grad", args[0])?;
    let wanted = leaves(world, args[1])?;
    let parts = match world.node_of(args[0]) {
        Some(output) => gradient(world.recorder()?, output, &wanted),
        None => vec![None; wanted.len()],
    };
    let shapes = wanted.iter().map(|&n| Ok(world.recorder()?.shape(n))).collect::<Result<Vec<_>, Error>>()?;
    values(world, parts, &shapes)
}

/// (%tangents outputs leaves directions): the derivatives of the outputs along the directions.
fn tangent_list(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let outputs = nodes(world, args[0])?;
    let wanted = leaves(world, args[1])?;
    let mut directions = Vec::new();
    for (v, &leaf) in world.list("jvp", args[2])?.into_iter().zip(&wanted) {
        let shape = world.recorder()?.shape(leaf);
        directions.push(world.direction(v, shape)?);
    }
    if directions.len() != wanted.len() {
        let message = format!("jvp: {} numbers are moved, but the direction has {}", wanted.len(), directions.len());
        return Err(Diagnostic::error(ErrorCode::E0601, message).help("give the direction the shape of the argument"));
    }
    let shapes: Vec<Shape> =
        world.list("jvp", args[0])?.into_iter().map(|v| world.shape_of(v).unwrap_or_default()).collect();
    let traced: Vec<NodeId> = outputs.iter().copied().flatten().collect();
    let mut parts = tangents(world.recorder()?, &traced, &wanted, &directions).into_iter();
    let parts = outputs.iter().map(|o| o.and_then(|_| parts.next().flatten())).collect();
    values(world, parts, &shapes)
}

/// Nodes as values; no node is zero, in the shape that is expected.
fn values(world: &mut World, parts: Vec<Option<NodeId>>, shapes: &[Shape]) -> Result<Value, Error> {
    let mut items = Vec::with_capacity(parts.len());
    for (part, &shape) in parts.into_iter().zip(shapes) {
        items.push(match part {
            Some(node) => {
                let elements = world.recorder()?.elements(node).to_vec();
                let plain = world.plain_value(shape, &elements)?;
                world.traced_value(node, plain)
            }
            None => world.plain_value(shape, &vec![0; shape.len()])?,
        });
    }
    Ok(world.heap.list(&items))
}

fn derive_end(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let mark = world.index("%derive-end", args[0])?;
    let Some(recording) = &mut world.recording else { return Ok(args[1]) };
    recording.depth = recording.depth.saturating_sub(1);
    if recording.depth > 0 || recording.wanted {
        return Ok(args[1]);
    }
    // Numbers that escaped on the way are plain from now on: their epoch is over. The recording
    // itself stays, so that primitives go on to see through them.
    recording.recorder.truncate(mark.min(recording.recorder.len()));
    recording.epoch = recording.epoch.wrapping_add(1);
    Ok(plain_copy(world, args[1]))
}

/// The list of results with plain numbers.
fn plain_copy(world: &mut World, list: Value) -> Value {
    let items = world.heap.list_items(list).unwrap_or_default();
    let items: Vec<Value> = items
        .into_iter()
        .map(|v| if world.heap.as_kind(v, Kind::Traced).is_some() { world.plain(v) } else { v })
        .collect();
    world.heap.list(&items)
}
