//! What each primitive does with traced numbers.

use super::{add, div, equal, greater, greater_equal, less, less_equal, max, min, mul, sub};
use crate::limits::Numerics;
use crate::prims::numbers::under;
use crate::prims::{self, Native, Primitive};
use crate::world::World;
use dmci_ops::Op;
use dmci_value::{Alarm, Error, Kind, Value, num};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// How a primitive treats traced arguments.
#[derive(Clone, Copy)]
enum Rule {
    /// It passes values on without looking at them, or asks only for their type.
    Structural,
    /// It has a form of its own, used when an argument is traced.
    Own(Native),
    /// It is an operation of the tape, of one operand or of two.
    Operation(Op),
    /// It compares values deep inside its arguments: its own form is used whenever there is a tape.
    Deep(Native),
    /// It needs the numbers themselves: they are pinned.
    Pin,
    /// It needs all numbers inside its second argument, a key.
    PinKey,
    /// It needs all numbers inside all arguments.
    PinAll,
}

/// Runs a primitive, by its rule if there is a tape.
#[inline]
pub(crate) fn call(world: &mut World, p: u32, args: &[Value]) -> Result<Value, Error> {
    let row = &ROWS[p as usize];
    let plain_numbers = world.numerics == Numerics::default();
    let plainly = if world.recording.is_some() || !plain_numbers {
        // Most of what an evaluator does while there is a tape has nothing to do with it.
        row.plain_without_traced && plain_numbers && !world.placing && !args.iter().any(|&v| world.needs_rule(v))
    } else {
        !world.heap.has_tensors() || !args.iter().any(|&v| world.is_tensor(v))
    };
    let result = match plainly {
        true => (row.plain)(world, args),
        false => run_extended(world, row, args),
    };
    if world.heap.alarm.rang() { Err(world.stopped()) } else { result }
}

/// Runs a primitive under its rule and the numerics of the evaluation.
fn run_extended(world: &mut World, row: &Row, args: &[Value]) -> Result<Value, Error> {
    let Numerics { single, clamps } = world.numerics;
    if !single && !clamps || !row.numeric {
        return run(world, row, args);
    }
    let mut args: Vec<Value> = args.iter().map(|&v| world.fit(v)).collect();
    if clamps && let ("sqrt" | "log", [x, ..]) = (row.name, &mut args[..]) {
        let plain = world.plain(*x);
        if num::is_number(&world.heap, plain) || world.is_tensor(plain) {
            *x = max(world, *x, Value::real(1e-8))?;
        }
    }
    let result = match row.rule {
        // Operations on many numbers are rounded one by one.
        Rule::Own(own) if single && FOLDED.contains(&row.name) => own(world, &args)?,
        Rule::Operation(op) if single && FOLDED.contains(&row.name) => operation(world, row.name, &args, op)?,
        _ => run(world, row, &args)?,
    };
    Ok(match row.function {
        Some(op) if args.len() == 1 => world.fit_result(op, &args, result),
        _ => world.fit(result),
    })
}

/// Primitives of several numbers.
const FOLDED: [&str; 25] = [
    "+",
    "-",
    "*",
    "/",
    "cube",
    "max",
    "min",
    "expt",
    "pow",
    "=",
    "<",
    ">",
    "<=",
    ">=",
    "log",
    "atan",
    "atan2",
    "hypot",
    "quotient",
    "truncate-quotient",
    "floor-quotient",
    "remainder",
    "truncate-remainder",
    "modulo",
    "floor-remainder",
];

/// A primitive with its rule.
struct Row {
    name: &'static str,
    plain: Native,
    rule: Rule,
    /// The operation that it is if it has one argument.
    function: Option<Op>,
    /// Whether it computes with numbers.
    numeric: bool,
    /// Whether its rule asks for nothing if no argument is traced.
    plain_without_traced: bool,
}

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let rules = rules();
    let row = |p: &Primitive| {
        let rule = rules.get(p.name).copied().unwrap_or(Rule::Structural);
        Row {
            name: p.name,
            plain: p.run,
            rule,
            function: Op::ALL.iter().copied().find(|op| op.operands().len() == 1 && op.scheme().contains(&p.name)),
            numeric: prims::numbers::PRIMITIVES.iter().any(|q| q.name == p.name),
            plain_without_traced: matches!(rule, Rule::Structural | Rule::Own(_) | Rule::Operation(_) | Rule::Pin),
        }
    };
    prims::table().iter().map(row).collect()
});

fn run(world: &mut World, row: &Row, args: &[Value]) -> Result<Value, Error> {
    let result = run_by(world, row, args);
    if world.placing {
        world.name_pins(row.name);
    }
    // Forms of their own know what their errors depend on.
    if matches!(row.rule, Rule::Own(_) | Rule::Operation(_)) { result } else { world.noting(args, result) }
}

fn run_by(world: &mut World, row: &Row, args: &[Value]) -> Result<Value, Error> {
    let plain = row.plain;
    match row.rule {
        Rule::Deep(own) => own(world, args),
        Rule::PinKey => {
            let mut args = args.to_vec();
            if let Some(key) = args.get_mut(1) {
                *key = pinned(world, *key, 0)?;
            }
            plain(world, &args)
        }
        Rule::PinAll => {
            let args = args.iter().map(|&v| pinned(world, v, 0)).collect::<Result<Vec<_>, _>>()?;
            plain(world, &args)
        }
        _ if !args.iter().any(|&v| world.needs_rule(v)) => plain(world, args),
        Rule::Structural => structural(world, plain, args),
        Rule::Own(own) => own(world, args),
        Rule::Operation(op) => operation(world, row.name, args, op),
        Rule::Pin => {
            let args = args.iter().map(|&v| world.pin(v)).collect::<Result<Vec<_>, _>>()?;
            plain(world, &args)
        }
    }
}

/// A primitive that passes values on. One that needs an exact integer, such as a length, refuses a
/// traced one; then the integer is pinned.
fn structural(world: &mut World, plain: Native, args: &[Value]) -> Result<Value, Error> {
    let noted = world.shown.borrow().len();
    let result = plain(world, args);
    let exact = |v: Value| v.is_traced() && world.plain(v).is_fixnum();
    if result.is_ok() || !args.iter().any(|&v| exact(v)) {
        return result;
    }
    // Nobody sees this error.
    world.shown.borrow_mut().truncate(noted);
    let pinned: Vec<Value> = args.iter().map(|&v| if exact(v) { world.plain(v) } else { v }).collect();
    for &v in args {
        if world.plain(v).is_fixnum() {
            world.pin(v)?;
        }
    }
    plain(world, &pinned)
}

fn rules() -> FxHashMap<&'static str, Rule> {
    let mut rules: FxHashMap<&str, Rule> = FxHashMap::default();
    // Primitives that work with the numbers they are given; all others pass values on, or ask for
    // their types, or refuse a number, traced or not.
    rules.extend(prims::numbers::PRIMITIVES.iter().map(|p| (p.name, Rule::Pin)));
    rules.extend(prims::hashing::PRIMITIVES.iter().map(|p| (p.name, Rule::PinAll)));
    let keyed = ["hash-table-set!", "hash-table-delete!", "hash-table-contains?", "%hash-table-ref"];
    rules.extend(keyed.map(|name| (name, Rule::PinKey)));
    rules.insert("boolean=?", Rule::Pin);
    let operations = Op::ALL.iter().flat_map(|&op| op.scheme().iter().map(move |&name| (name, Rule::Operation(op))));
    rules.extend(operations);
    // These take more arguments, or other ones, than an operation has operands.
    rules.extend(OWN.iter().map(|&(name, own)| (name, Rule::Own(own))));
    rules.extend(DEEP.iter().map(|&(name, own)| (name, Rule::Deep(own))));
    rules
}

const OWN: &[(&str, Native)] = &[
    ("+", |w, a| fold(w, "+", a, add)),
    ("*", |w, a| fold(w, "*", a, mul)),
    ("-", |w, a| if a.len() == 1 { one(w, "-", a, Op::Neg) } else { fold(w, "-", a, sub) }),
    ("/", |w, a| if a.len() == 1 { div(w, Value::fixnum(1), a[0]) } else { fold(w, "/", a, div) }),
    ("max", |w, a| fold(w, "max", a, max)),
    ("min", |w, a| fold(w, "min", a, min)),
    ("1+", |w, a| under("1+", "+", add(w, a[0], Value::fixnum(1)))),
    ("add1", |w, a| under("add1", "+", add(w, a[0], Value::fixnum(1)))),
    ("-1+", |w, a| under("-1+", "-", sub(w, a[0], Value::fixnum(1)))),
    ("1-", |w, a| under("1-", "-", sub(w, a[0], Value::fixnum(1)))),
    ("sub1", |w, a| under("sub1", "-", sub(w, a[0], Value::fixnum(1)))),
    ("square", |w, a| under("square", "*", mul(w, a[0], a[0]))),
    ("cube", |w, a| {
        let square = under("cube", "*", mul(w, a[0], a[0]))?;
        under("cube", "*", mul(w, square, a[0]))
    }),
    ("=", |w, a| chain(w, "=", a, equal)),
    ("<", |w, a| chain(w, "<", a, less)),
    (">", |w, a| chain(w, ">", a, greater)),
    ("<=", |w, a| chain(w, "<=", a, less_equal)),
    (">=", |w, a| chain(w, ">=", a, greater_equal)),
    ("expt", |w, a| w.binary(Op::Pow, num::expt, a[0], a[1])),
    ("pow", |w, a| under("pow", "expt", w.binary(Op::Pow, num::expt, a[0], a[1]))),
    ("atan", |w, a| if a.len() == 2 { two(w, "atan", a, Op::Atan2) } else { one(w, "atan", a, Op::Atan) }),
    ("log", |w, a| if a.len() == 2 { log_base(w, a) } else { one(w, "log", a, Op::Log) }),
    ("inexact", |w, a| inexact(w, "inexact", a)),
    ("exact->inexact", |w, a| inexact(w, "exact->inexact", a)),
    ("exact", |w, a| rounded(w, "exact", a, None)),
    ("inexact->exact", |w, a| rounded(w, "inexact->exact", a, None)),
    ("floor->exact", |w, a| rounded(w, "floor->exact", a, Some(Op::Floor))),
    ("exact-floor", |w, a| rounded(w, "exact-floor", a, Some(Op::Floor))),
    ("ceiling->exact", |w, a| rounded(w, "ceiling->exact", a, Some(Op::Ceiling))),
    ("exact-ceiling", |w, a| rounded(w, "exact-ceiling", a, Some(Op::Ceiling))),
    ("round->exact", |w, a| rounded(w, "round->exact", a, Some(Op::Round))),
    ("exact-round", |w, a| rounded(w, "exact-round", a, Some(Op::Round))),
    ("truncate->exact", |w, a| rounded(w, "truncate->exact", a, Some(Op::Truncate))),
    ("exact-truncate", |w, a| rounded(w, "exact-truncate", a, Some(Op::Truncate))),
    ("eq?", |w, a| w.eq(a[0], a[1])),
    ("eqv?", |w, a| w.eq(a[0], a[1])),
    ("%eqv?", |w, a| w.eq(a[0], a[1])),
    // Its error is about the variable, whatever the value is.
    ("%global-set!", |w, a| run_plain(w, "%global-set!", a)),
    // Types and tests.
    ("number?", is_number),
    ("complex?", is_number),
    ("real?", is_number),
    ("exact-integer?", |w, a| with_plain(w, "exact-integer?", a)),
    ("exact-rational?", |w, a| with_plain(w, "exact-rational?", a)),
    ("exact-nonnegative-integer?", |w, a| {
        let result = with_plain(w, "exact-nonnegative-integer?", a)?;
        if w.plain(a[0]).is_fixnum() { w.exact_comparison(Op::Ge, a[0], Value::fixnum(0), result) } else { Ok(result) }
    }),
    ("even?", |w, a| parity(w, "even?", a, true)),
    ("odd?", |w, a| parity(w, "odd?", a, false)),
    ("vector-ref", |w, a| {
        if let (Some(r), true) = (w.heap.as_kind(a[0], Kind::Vector), a[1].is_traced()) {
            let items = w.heap.fields(r).collect();
            return item(w, "vector-ref", a, Some(items));
        }
        match w.is_tensor_value(a[0]) {
            true => {
                let result = prims::tensors::reference(w, "vector-ref", a);
                w.noting(&a[1..], result)
            }
            false => structural_by_name(w, "vector-ref", a),
        }
    }),
    ("list-ref", |w, a| {
        let items = w.heap.list_items(a[0]);
        item(w, "list-ref", a, items)
    }),
    ("vector-length", |w, a| match w.is_tensor_value(a[0]) {
        true => prims::tensors::length(w, "vector-length", a),
        false => run_plain(w, "vector-length", a),
    }),
    ("vector->list", |w, a| match w.is_tensor_value(a[0]) {
        true => tensor_to_list(w, a),
        false => structural_by_name(w, "vector->list", a),
    }),
    ("boolean?", |w, a| Ok(Value::boolean(w.plain(a[0]).is_boolean()))),
    ("exact?", |w, a| with_plain(w, "exact?", a)),
    ("inexact?", |w, a| with_plain(w, "inexact?", a)),
    ("integer?", |w, a| {
        let result = with_plain(w, "integer?", a)?;
        if w.plain(a[0]).is_real() { w.record(Op::IsInteger, a, result) } else { Ok(result) }
    }),
    ("rational?", |w, a| against_infinity(w, "rational?", a, Op::Lt)),
    ("finite?", |w, a| against_infinity(w, "finite?", a, Op::Lt)),
    ("infinite?", |w, a| against_infinity(w, "infinite?", a, Op::Eq)),
    ("nan?", |w, a| {
        let result = with_plain(w, "nan?", a)?;
        if !w.plain(a[0]).is_real() {
            return Ok(result);
        }
        let same = equal(w, a[0], a[0])?;
        w.not(same)
    }),
    ("zero?", |w, a| against_zero(w, "zero?", a, equal)),
    ("positive?", |w, a| against_zero(w, "positive?", a, greater)),
    ("negative?", |w, a| against_zero(w, "negative?", a, less)),
    ("not", |w, a| w.not(a[0])),
];

const DEEP: &[(&str, Native)] = &[
    ("equal?", |w, a| Ok(Value::boolean(deep_equal(w, a[0], a[1])?))),
    ("memq", |w, a| member(w, "memq", a, same)),
    ("memv", |w, a| member(w, "memv", a, same)),
    ("%memv", |w, a| member(w, "%memv", a, same)),
    ("%member", |w, a| member(w, "%member", a, deep_equal)),
    ("assq", |w, a| association(w, "assq", a, same)),
    ("assv", |w, a| association(w, "assv", a, same)),
    ("%assoc", |w, a| association(w, "%assoc", a, deep_equal)),
    ("assq-ref", |w, a| reference(w, "assq-ref", a, same)),
    ("assv-ref", |w, a| reference(w, "assv-ref", a, same)),
    ("assoc-ref", |w, a| reference(w, "assoc-ref", a, deep_equal)),
    ("delq", |w, a| without(w, "delq", a, same, false)),
    ("delv", |w, a| without(w, "delv", a, same, false)),
    ("%delete", |w, a| without(w, "%delete", a, deep_equal, false)),
    ("del-assq", |w, a| without(w, "del-assq", a, same, true)),
    ("del-assv", |w, a| without(w, "del-assv", a, same, true)),
    ("del-assoc", |w, a| without(w, "del-assoc", a, deep_equal, true)),
];

/// Runs the ordinary form of a primitive.
fn run_plain(world: &mut World, name: &str, args: &[Value]) -> Result<Value, Error> {
    match prims::set().number(name) {
        Some(p) => (prims::table()[p as usize].run)(world, args),
        None => Ok(Value::UNSPECIFIED),
    }
}

/// Runs the ordinary form of a primitive on plain values.
fn with_plain(world: &mut World, name: &str, args: &[Value]) -> Result<Value, Error> {
    let plain: Vec<Value> = args.iter().map(|&v| world.plain(v)).collect();
    let result = run_plain(world, name, &plain);
    world.noting(args, result)
}

fn operation(world: &mut World, name: &str, args: &[Value], op: Op) -> Result<Value, Error> {
    if op.operands().len() == 1 { one(world, name, args, op) } else { two(world, name, args, op) }
}

fn one(world: &mut World, name: &str, args: &[Value], op: Op) -> Result<Value, Error> {
    let plain = world.plain(args[0]);
    if world.is_tensor(plain) {
        return world.elementwise(op, args);
    }
    let result = with_plain(world, name, args)?;
    let result = world.fit_result(op, &[plain], result);
    if world.node_of(args[0]).is_none() {
        return Ok(result);
    }
    if plain.is_real() { world.record(op, args, result) } else { world.exact_unary(op, args[0], result) }
}

fn two(world: &mut World, name: &str, args: &[Value], op: Op) -> Result<Value, Error> {
    let (x, y) = match op {
        Op::Atan2 | Op::Hypot => (world.rounded(args[0]), world.rounded(args[1])),
        _ => world.operands(args[0], args[1]),
    };
    if world.is_tensor(x) || world.is_tensor(y) {
        return world.elementwise(op, args);
    }
    let result = run_plain(world, name, &[x, y]);
    let result = world.noting(args, result)?;
    let result = world.fit_result(op, &[x, y], result);
    if !world.any_traced(args) {
        return Ok(result);
    }
    match result.is_real() {
        true => {
            if matches!(op, Op::Quotient | Op::FloorQuotient | Op::Remainder | Op::Modulo) {
                world.check_division(args[0], args[1])?;
            }
            world.record(op, args, result)
        }
        false if !x.is_real() && !y.is_real() => world.exact_binary(op, args[0], args[1], result),
        false => world.pin_all(args, result),
    }
}

/// An item at a traced index: gathered if the items are reals, else the index is pinned. A list that does not end, or
/// not with the empty list, has an item there all the same, but not all of its items are known.
fn item(world: &mut World, name: &str, args: &[Value], items: Option<Vec<Value>>) -> Result<Value, Error> {
    with_plain_index(world, name, args)?;
    if let Some(items) = items
        && let Some(item) = world.gather_item(items, args[1])?
    {
        return Ok(item);
    }
    structural_by_name(world, name, args)
}

/// Checks the arguments as the ordinary form does.
fn with_plain_index(world: &mut World, name: &str, args: &[Value]) -> Result<(), Error> {
    let index = world.plain(args[1]);
    let result = run_plain(world, name, &[args[0], index]).map(|_| ());
    world.noting(args, result)
}

/// The items of a tensor, which are the rows of a matrix, between optional bounds; bounds are pinned.
fn tensor_to_list(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let list = run_plain(world, "tensor->list", &args[..1])?;
    let items = world.list("vector->list", list)?;
    let mut bounds = Vec::with_capacity(2);
    for &bound in &args[1..] {
        bounds.push(world.pin(bound)?);
    }
    let (start, end) = world.range("vector->list", &bounds, 0, items.len())?;
    Ok(world.heap.list(&items[start..end]))
}

fn structural_by_name(world: &mut World, name: &str, args: &[Value]) -> Result<Value, Error> {
    match prims::set().number(name) {
        Some(p) => structural(world, prims::table()[p as usize].run, args),
        None => Ok(Value::UNSPECIFIED),
    }
}

fn inexact(world: &mut World, name: &str, args: &[Value]) -> Result<Value, Error> {
    let plain = world.plain(args[0]);
    if plain.is_real() || world.is_tensor(plain) {
        return Ok(args[0]);
    }
    let result = with_plain(world, name, args)?;
    if !world.any_traced(args) {
        return Ok(result);
    }
    let node = world.real_node(args[0])?;
    Ok(world.traced_value(node, result))
}

fn parity(world: &mut World, name: &str, args: &[Value], even: bool) -> Result<Value, Error> {
    let result = with_plain(world, name, args)?;
    if world.plain(args[0]).is_real() || !world.any_traced(args) {
        return world.pin_all(args, result);
    }
    world.exact_even(args[0], result, even)
}

type Fold = fn(&mut World, Value, Value) -> Result<Value, Error>;

fn fold(world: &mut World, name: &str, args: &[Value], f: Fold) -> Result<Value, Error> {
    if args.len() < 2 {
        let result = with_plain(world, name, args)?;
        return Ok(args.first().copied().unwrap_or(result));
    }
    args[1..].iter().try_fold(args[0], |sum, &next| f(world, sum, next))
}

/// Neighbours are compared up to the first false; all but the last comparison are decided.
fn chain(world: &mut World, name: &str, args: &[Value], f: Fold) -> Result<Value, Error> {
    with_plain(world, name, args)?;
    let mut result = Value::TRUE;
    for (i, pair) in args.windows(2).enumerate() {
        if i > 0 && !world.is_true(result) {
            return Ok(Value::FALSE);
        }
        result = f(world, pair[0], pair[1])?;
    }
    Ok(result)
}

fn log_base(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    with_plain(world, "log", args)?;
    let base = world.plain(args[1]);
    let base = num::Number::of(&world.heap, base).map_or(0.0, |n| n.to_f64());
    // The bases 2 and 10 have functions of their own; which one is used must not depend on the lane.
    if base == 2.0 || base == 10.0 {
        world.pin(args[1])?;
        return one(
            world,
            if base == 2.0 { "log2" } else { "log10" },
            &args[..1],
            if base == 2.0 { Op::Log2 } else { Op::Log10 },
        );
    }
    world.differs_from(args[1], &[2.0, 10.0])?;
    let (x, b) = (one(world, "log", &args[..1], Op::Log)?, one(world, "log", &args[1..], Op::Log)?);
    div(world, x, b)
}

fn rounded(world: &mut World, name: &str, args: &[Value], op: Option<Op>) -> Result<Value, Error> {
    let result = with_plain(world, name, args)?;
    if world.node_of(args[0]).is_none() {
        return Ok(result);
    }
    let plain = world.plain(args[0]);
    if !plain.is_real() {
        return Ok(args[0]);
    }
    let real = match op {
        Some(op) => {
            let x = plain.as_real().unwrap_or(f64::NAN);
            world.record(op, args, Value::real(op.eval_reals(&[x])))?
        }
        None => args[0],
    };
    world.exact_of_real(real, result)
}

fn is_number(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let plain = world.plain(args[0]);
    Ok(Value::boolean(num::is_number(&world.heap, plain)))
}

fn against_infinity(world: &mut World, name: &str, args: &[Value], op: Op) -> Result<Value, Error> {
    let result = with_plain(world, name, args)?;
    if !world.plain(args[0]).is_real() || world.node_of(args[0]).is_none() {
        return Ok(result);
    }
    let size = one(world, "abs", args, Op::Abs)?;
    world.record(op, &[size, Value::real(f64::INFINITY)], result)
}

fn against_zero(world: &mut World, name: &str, args: &[Value], f: Fold) -> Result<Value, Error> {
    with_plain(world, name, args)?;
    f(world, args[0], Value::fixnum(0))
}

// ---- comparison of structures

type Same = fn(&mut World, Value, Value) -> Result<bool, Error>;

fn same(world: &mut World, a: Value, b: Value) -> Result<bool, Error> {
    let result = world.eq(a, b)?;
    Ok(world.is_true(result))
}

/// `equal?` with every comparison of traced numbers decided.
fn deep_equal(world: &mut World, a: Value, b: Value) -> Result<bool, Error> {
    let mut todo = vec![(a, b)];
    let mut steps = 0usize;
    while let Some((a, b)) = todo.pop() {
        steps += 1;
        world.spend(1);
        if steps.is_multiple_of(Alarm::STEPS) && world.heap.alarm.rings() {
            return Ok(false);
        }
        if steps > 1 << 22 {
            // Very large or circular structures: traced numbers count by identity there.
            return with_plain(world, "equal?", &[a, b]).map(Value::is_true);
        }
        if same(world, a, b)? {
            continue;
        }
        let kind = |v: Value| v.as_ref().map(|r| (world.heap.kind(r), r));
        match (kind(a), kind(b)) {
            (Some((Kind::Pair, x)), Some((Kind::Pair, y))) => {
                let heap = &world.heap;
                todo.push((heap.field(x, 1), heap.field(y, 1)));
                todo.push((heap.field(x, 0), heap.field(y, 0)));
            }
            (Some((Kind::Vector, x)), Some((Kind::Vector, y))) if world.heap.len(x) == world.heap.len(y) => {
                let heap = &world.heap;
                todo.extend(heap.fields(x).zip(heap.fields(y)).rev());
            }
            (Some((Kind::String | Kind::Bytevector, _)), Some((Kind::String | Kind::Bytevector, _))) => {
                if !run_plain(world, "equal?", &[a, b])?.is_true() {
                    return Ok(false);
                }
            }
            _ => return Ok(false),
        }
    }
    Ok(true)
}

fn member(world: &mut World, name: &str, args: &[Value], same: Same) -> Result<Value, Error> {
    // The ordinary form checks the list.
    run_plain(world, name, args)?;
    let mut rest = args[1];
    while let Some((item, next)) = world.heap.uncons(rest) {
        if same(world, args[0], item)? {
            return Ok(rest);
        }
        rest = next;
    }
    Ok(Value::FALSE)
}

fn association(world: &mut World, name: &str, args: &[Value], same: Same) -> Result<Value, Error> {
    run_plain(world, name, args)?;
    let mut rest = args[1];
    while let Some((entry, next)) = world.heap.uncons(rest) {
        if let Some(key) = world.heap.car(entry)
            && same(world, args[0], key)?
        {
            return Ok(entry);
        }
        rest = next;
    }
    Ok(Value::FALSE)
}

/// `(assq-ref alist key)`: the value, or false.
fn reference(world: &mut World, name: &str, args: &[Value], same: Same) -> Result<Value, Error> {
    run_plain(world, name, args)?;
    let mut rest = args[0];
    while let Some((entry, next)) = world.heap.uncons(rest) {
        if let Some((key, value)) = world.heap.uncons(entry)
            && same(world, key, args[1])?
        {
            return Ok(value);
        }
        rest = next;
    }
    Ok(Value::FALSE)
}

/// `(delete item list)`, or `(del-assv key alist)` if the items are compared by their keys.
fn without(world: &mut World, name: &str, args: &[Value], same: Same, by_key: bool) -> Result<Value, Error> {
    run_plain(world, name, args)?;
    let mut kept = Vec::new();
    for item in world.list(name, args[1])? {
        // What is no pair has no key.
        let compared = if by_key { world.heap.car(item) } else { Some(item) };
        match compared {
            Some(compared) if same(world, args[0], compared)? => {}
            _ => kept.push(item),
        }
    }
    Ok(world.heap.list(&kept))
}

/// Structures nested deeper than this are not looked into for keys.
const DEEPEST_KEY: usize = 200;

/// A value with all traced numbers inside pinned; the value itself if there are none.
fn pinned(world: &mut World, v: Value, depth: usize) -> Result<Value, Error> {
    if v.is_traced() {
        return world.pin(v);
    }
    if depth > DEEPEST_KEY {
        return Ok(v);
    }
    if v.is_pair() {
        let mut items = Vec::new();
        let mut changed = false;
        let mut rest = v;
        while let Some((car, cdr)) = world.heap.uncons(rest) {
            let item = pinned(world, car, depth + 1)?;
            changed |= item != car;
            items.push(item);
            rest = cdr;
            world.spend(1);
            if items.len() > 1 << 20 {
                return Ok(v);
            }
        }
        let tail = pinned(world, rest, depth + 1)?;
        changed |= tail != rest;
        return Ok(if changed { world.heap.list_with_tail(&items, tail) } else { v });
    }
    if let Some(r) = world.heap.as_kind(v, Kind::Vector) {
        let old: Vec<Value> = world.heap.fields(r).collect();
        let items = old.iter().map(|&item| pinned(world, item, depth + 1)).collect::<Result<Vec<_>, _>>()?;
        return Ok(if items == old { v } else { world.heap.vector(&items) });
    }
    Ok(v)
}
