//! One value of two: what differs only in numbers and booleans becomes a selection.

use crate::world::World;
use dmci_ops::{Build, Op};
use dmci_tape::NodeId;
use dmci_value::{Kind, Ref, Store, Value, num};
use rustc_hash::FxHashMap;

/// Objects that are merged at most.
const MOST_OBJECTS: usize = 10_000;

/// Selections that a number may come through: in a gradient, what it gets goes through all of them.
const MOST_SELECTIONS: usize = 32;

pub(super) struct Merger<'a> {
    world: &'a mut World,
    test: NodeId,
    /// Objects from here on were made by the arms.
    mark: usize,
    /// Objects of both arms that stand for each other, and the one that they become.
    merged: FxHashMap<(Ref, Ref), Value>,
    partner: FxHashMap<Ref, Ref>,
    /// What could not be made one.
    failed: Option<(Value, Value)>,
}

impl<'a> Merger<'a> {
    pub fn new(world: &'a mut World, test: NodeId, mark: usize) -> Self {
        Merger { world, test, mark, merged: FxHashMap::default(), partner: FxHashMap::default(), failed: None }
    }

    /// The stores of both arms as one, with the word that each place gets.
    pub fn stores(&mut self, yes: &[Store], no: &[Store]) -> Option<Vec<(Store, u64)>> {
        let mut places: Vec<Store> = yes.to_vec();
        places.extend(no.iter().filter(|s| !yes.iter().any(|y| y.at == s.at)));
        let mut merged = Vec::with_capacity(places.len());
        for store in places {
            let of = |list: &[Store]| list.iter().find(|s| s.at == store.at).map(|s| s.old);
            let before = self.world.heap.word(store.at);
            let (a, b) = (of(yes).unwrap_or(before), of(no).unwrap_or(before));
            let word = if a == b {
                a
            } else if store.raw {
                self.failed = None;
                return None;
            } else {
                self.value(Value::from_bits(a), Value::from_bits(b))?.bits()
            };
            merged.push((store, word));
        }
        Some(merged)
    }

    /// One value of two.
    pub fn value(&mut self, a: Value, b: Value) -> Option<Value> {
        // Structures are walked with a list of what is left, however deep they are.
        let mut todo: Vec<(Ref, usize, Value, Value)> = Vec::new();
        self.failed = Some((a, b));
        let result = self.shallow(a, b, &mut todo)?;
        while let Some((object, field, a, b)) = todo.pop() {
            self.failed = Some((a, b));
            let value = self.shallow(a, b, &mut todo)?;
            self.world.heap.store(object, field, value);
        }
        Some(result)
    }

    /// Why the last values could not be made one, which the arms give or store.
    pub fn why(&self, verb: &str) -> String {
        let Some((a, b)) = self.failed.filter(|_| self.world.explaining) else {
            return "the arms change strings or bytes differently".into();
        };
        let shown = |v: Value| dmci_syntax::printer::brief(&self.world.heap, v);
        let number = |v: Value| num::is_number(&self.world.heap, self.world.plain(v));
        let real = |v: Value| self.world.plain(v).is_real();
        let what = match (number(a), number(b)) {
            (true, true) if real(a) != real(b) => "an exact and an inexact number",
            (true, true) => "integers too large for a tape",
            _ => "which differ in more than numbers and booleans",
        };
        match (shown(a), shown(b)) {
            (a, b) if a == b => format!("the arms {verb} different objects that look the same: {a}"),
            (a, b) => format!("the arms {verb} {a} and {b}, {what}"),
        }
    }

    fn shallow(&mut self, a: Value, b: Value, todo: &mut Vec<(Ref, usize, Value, Value)>) -> Option<Value> {
        if a == b {
            return Some(a);
        }
        let (x, y) = (self.world.plain(a), self.world.plain(b));
        if x.is_boolean() && y.is_boolean() {
            return self.booleans(a, b);
        }
        if self.world.shape_of(a).is_some() && self.world.shape_of(a) == self.world.shape_of(b) {
            return self.numbers(a, b);
        }
        let (r, s) = (a.as_ref()?, b.as_ref()?);
        let heap = &self.world.heap;
        let kind = heap.kind(r);
        if kind != heap.kind(s) || heap.len(r) != heap.len(s) || r.index() < self.mark || s.index() < self.mark {
            return None;
        }
        if let Some(&value) = self.merged.get(&(r, s)) {
            return Some(value);
        }
        match kind {
            Kind::String | Kind::Bignum | Kind::Bytevector => (heap.raw(r) == heap.raw(s)).then_some(a),
            Kind::Pair | Kind::Vector | Kind::Cell | Kind::Closure | Kind::Values | Kind::Record => {
                if self.merged.len() >= MOST_OBJECTS
                    || self.partner.insert(r, s).is_some()
                    || self.partner.insert(s, r).is_some()
                {
                    return None;
                }
                let pairs: Vec<(Value, Value)> = heap.fields(r).zip(heap.fields(s)).collect();
                // The first word of a procedure is its code.
                let first = (kind == Kind::Closure) as usize;
                if pairs[..first.min(pairs.len())].iter().any(|p| p.0 != p.1) {
                    return None;
                }
                let fields: Vec<Value> = pairs.iter().map(|p| p.0).collect();
                let value = self.world.heap.alloc(kind, &fields);
                self.merged.insert((r, s), value);
                let object = value.as_ref()?;
                let fields = pairs.into_iter().enumerate().skip(first);
                todo.extend(fields.filter(|(_, p)| p.0 != p.1).map(|(i, p)| (object, i, p.0, p.1)));
                Some(value)
            }
            _ => None,
        }
    }

    fn numbers(&mut self, a: Value, b: Value) -> Option<Value> {
        let (x, y) = (self.world.plain(a), self.world.plain(b));
        let heap = &self.world.heap;
        let big = |v: Value| heap.as_kind(v, Kind::Bignum);
        let op = match (x.is_fixnum(), y.is_fixnum(), big(x), big(y)) {
            (true, true, ..) => Op::IntSelect,
            (false, false, None, None) => Op::Select,
            // An integer that does not fit on the tape is the same in both arms, or they do not join.
            (.., Some(r), Some(s)) => return (heap.raw(r) == heap.raw(s)).then_some(a),
            // An exact and an inexact number are not the same kind of thing.
            _ => return None,
        };
        let recorder = &self.world.recording.as_ref()?.recorder;
        let selections = |v| self.world.node_of(v).map_or(0, |node| recorder.selections(node, MOST_SELECTIONS));
        if selections(a) + selections(b) >= MOST_SELECTIONS {
            return None;
        }
        self.world.selected(op, self.test, a, b).ok().flatten()
    }

    fn booleans(&mut self, a: Value, b: Value) -> Option<Value> {
        let (p, q) = (self.world.boolean_or_constant(a).ok()?, self.world.boolean_or_constant(b).ok()?);
        let recorder = &mut self.world.recording.as_mut()?.recorder;
        let node = recorder.op(Op::BoolSelect, &[self.test, p, q]);
        let plain = Value::boolean(recorder.bits(node) != 0);
        Some(self.world.traced_value(node, plain))
    }
}
