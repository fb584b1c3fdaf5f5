//! Hash tables: records on the heap, so that stores into them can be undone and copied like any other.
//!
//! A table keeps its entries in the order of insertion, keys and values side by side in one vector; a
//! second vector maps hash slots to entry numbers (linear probing). A deleted entry keeps its place,
//! with a mark for a key, until the table is rebuilt. So the order of iteration is the program's own.

use super::equality::{equal, eqv};
use super::hashing::hash;
use super::{Primitive, fixed};
use crate::world::World;
use dmci_value::ErrorCode;
use dmci_value::num::{self, Number};
use dmci_value::{Diagnostic, Error, Kind, Ref, Value};

/// The rows of this file.
pub const PRIMITIVES: &[Primitive] = &[
    fixed("%hash-table-type", 0, |w, _| {
        let field_names = ["equivalence", "slots", "entries", "used", "count"];
        let field_names: Vec<Value> = field_names.iter().map(|name| w.symbol_named(name)).collect();
        let field_names = w.heap.list(&field_names);
        let name = w.symbol_named("hash-table");
        // The name again where types of programs have #f: a program cannot make this type.
        Ok(w.heap.alloc(Kind::RecordType, &[name, field_names, name]))
    }),
    fixed("%make-hash-table", 2, make),
    fixed("hash-table?", 1, |w, a| Ok(Value::boolean(is_table(w, a[0]).is_some()))),
    fixed("%hash-table-ref", 4, |w, a| {
        let table = table(w, a[3], a[0])?;
        Ok(table.find(w, a[1]).map_or(a[2], |e| w.heap.field(table.entries, 2 * e + 1)))
    }),
    fixed("hash-table-set!", 3, set),
    fixed("hash-table-delete!", 2, delete),
    fixed("hash-table-contains?", 2, |w, a| {
        let table = table_of(w, "hash-table-contains?", a[0])?;
        Ok(Value::boolean(table.find(w, a[1]).is_some()))
    }),
    fixed("hash-table-size", 1, |w, a| {
        let table = table_of(w, "hash-table-size", a[0])?;
        Ok(w.heap.field(table.record, COUNT))
    }),
    fixed("%hash-table-equivalence", 1, |w, a| {
        let table = table_of(w, "hash-table-equivalence-function", a[0])?;
        Ok(w.heap.field(table.record, EQUIVALENCE))
    }),
    fixed("hash-table-clear!", 1, |w, a| {
        let table = table_of(w, "hash-table-clear!", a[0])?;
        rebuild(w, &table, &[]).map(|()| Value::UNSPECIFIED)
    }),
    fixed("%hash-table-copy", 1, |w, a| {
        let table = table_of(w, "hash-table-copy", a[0])?;
        let entries = table.entries(w);
        let fields: Vec<Value> = w.heap.fields(table.record).collect();
        let value = w.heap.alloc(Kind::Record, &fields);
        let copy = table_of(w, "hash-table-copy", value)?;
        rebuild(w, &copy, &entries).map(|()| value)
    }),
    fixed("hash-table-keys", 1, |w, a| list_of(w, "hash-table-keys", a[0], |_, key, _| key)),
    fixed("hash-table-values", 1, |w, a| list_of(w, "hash-table-values", a[0], |_, _, value| value)),
    fixed("hash-table->alist", 1, |w, a| {
        list_of(w, "hash-table->alist", a[0], |w, key, value| w.heap.cons(key, value))
    }),
];

// Fields of the record; field 0 is its type.
const EQUIVALENCE: usize = 1;
const SLOTS: usize = 2;
const ENTRIES: usize = 3;
/// Entries in use, deleted ones included.
const USED: usize = 4;
const COUNT: usize = 5;

const DELETED: Value = Value::UNBOUND;
const FEWEST_ENTRIES: usize = 8;

/// How keys are compared.
#[derive(Clone, Copy, PartialEq)]
enum Equivalence {
    Eqv,
    Equal,
    /// As `=` does: 2 and 2.0 are one key.
    Numeric,
}

#[derive(Clone, Copy)]
struct Table {
    value: Value,
    record: Ref,
    equivalence: Equivalence,
    slots: Ref,
    entries: Ref,
    used: usize,
}

fn is_table(world: &World, v: Value) -> Option<Ref> {
    let record = world.heap.as_kind(v, Kind::Record)?;
    let rtd = world.heap.as_kind(world.heap.field(record, 0), Kind::RecordType)?;
    (world.heap.field(rtd, 2).is_symbol() && world.heap.len(record) == COUNT + 1).then_some(record)
}

fn table_of(world: &World, who: &str, v: Value) -> Result<Table, Error> {
    let wrong = || world.wrong_type(who, "a hash table", v);
    let record = is_table(world, v).ok_or_else(wrong)?;
    let field = |i| world.heap.field(record, i);
    let equivalence = match field(EQUIVALENCE).as_fixnum() {
        Some(0) => Equivalence::Eqv,
        Some(1) => Equivalence::Equal,
        _ => Equivalence::Numeric,
    };
    let slots = world.heap.as_kind(field(SLOTS), Kind::Vector).ok_or_else(wrong)?;
    let entries = world.heap.as_kind(field(ENTRIES), Kind::Vector).ok_or_else(wrong)?;
    let used = field(USED).as_fixnum().map_or(0, |n| n as usize);
    Ok(Table { value: v, record, equivalence, slots, entries, used })
}

/// The table argument of a procedure whose name is given as a symbol.
fn table(world: &World, who: Value, v: Value) -> Result<Table, Error> {
    match is_table(world, v) {
        Some(_) => table_of(world, "hash-table-ref", v),
        None => table_of(world, &world.symbol_name("hash-table-ref", who)?, v),
    }
}

impl Table {
    /// The slot where the search for a key starts.
    fn home(&self, world: &mut World, key: Value) -> usize {
        let heap = &mut world.heap;
        let hash = match self.equivalence {
            Equivalence::Equal => hash(heap, key, true),
            Equivalence::Eqv => hash(heap, key, false),
            Equivalence::Numeric => {
                // Adding zero makes one zero of two.
                let x = Number::of(heap, key).map_or(key, |n| Value::real(n.to_f64() + 0.0));
                hash(heap, x, false)
            }
        };
        hash as usize & (world.heap.len(self.slots) - 1)
    }

    /// The number of the entry with this key.
    fn find(&self, world: &mut World, key: Value) -> Option<usize> {
        let mut slot = self.home(world, key);
        let mut steps = 0;
        let found = loop {
            let Some(entry) = world.heap.field(self.slots, slot).as_fixnum() else { break None };
            let other = world.heap.field(self.entries, 2 * entry as usize);
            let (same, cost) = match self.equivalence {
                Equivalence::Equal => equal(&world.heap, key, other),
                Equivalence::Eqv => (eqv(&world.heap, key, other), 0),
                Equivalence::Numeric => (num::number_equal(&world.heap, key, other), 0),
            };
            steps += 1 + cost;
            if same {
                break Some(entry as usize);
            }
            slot = (slot + 1) & (world.heap.len(self.slots) - 1);
        };
        world.spend(steps / 4);
        found
    }

    /// All entries in the order of insertion.
    fn entries(&self, world: &World) -> Vec<(Value, Value)> {
        let field = |i| world.heap.field(self.entries, i);
        (0..self.used).map(|e| (field(2 * e), field(2 * e + 1))).filter(|&(key, _)| key != DELETED).collect()
    }

    /// Adds an entry for a key that is not in the table; there is room.
    fn add(&self, world: &mut World, entry: usize, key: Value, value: Value) {
        let mut slot = self.home(world, key);
        while world.heap.field(self.slots, slot).is_fixnum() {
            slot = (slot + 1) & (world.heap.len(self.slots) - 1);
        }
        world.heap.store(self.slots, slot, Value::fixnum(entry as i64));
        world.heap.store(self.entries, 2 * entry, key);
        world.heap.store(self.entries, 2 * entry + 1, value);
    }
}

fn make(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let fresh = [args[0], args[1], Value::FALSE, Value::FALSE, Value::FALSE, Value::FALSE];
    let value = world.heap.alloc(Kind::Record, &fresh);
    let record = is_table(world, value).ok_or_else(|| world.wrong_type("make-hash-table", "its type", args[0]))?;
    let table = Table { value, record, equivalence: Equivalence::Eqv, slots: record, entries: record, used: 0 };
    rebuild(world, &table, &[])?;
    Ok(value)
}

/// Gives the table new vectors with these entries, and room for as many again.
fn rebuild(world: &mut World, table: &Table, entries: &[(Value, Value)]) -> Result<(), Error> {
    let room = (2 * entries.len()).max(FEWEST_ENTRIES);
    let slots = world.heap.alloc_filled(Kind::Vector, (2 * room).next_power_of_two(), Value::FALSE)?;
    let keys_and_values = world.heap.alloc_filled(Kind::Vector, 2 * room, DELETED)?;
    world.spend(4 * entries.len());
    world.heap.store(table.record, SLOTS, slots);
    world.heap.store(table.record, ENTRIES, keys_and_values);
    world.heap.store(table.record, USED, Value::fixnum(entries.len() as i64));
    world.heap.store(table.record, COUNT, Value::fixnum(entries.len() as i64));
    let table = table_of(world, "make-hash-table", table.value)?;
    for (i, &(key, value)) in entries.iter().enumerate() {
        table.add(world, i, key, value);
    }
    Ok(())
}

fn set(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let (key, value) = (args[1], args[2]);
    let mut table = table_of(world, "hash-table-set!", args[0])?;
    if let Some(entry) = table.find(world, key) {
        world.heap.store(table.entries, 2 * entry + 1, value);
        return Ok(Value::UNSPECIFIED);
    }
    if 2 * table.used == world.heap.len(table.entries) {
        let entries = table.entries(world);
        rebuild(world, &table, &entries)?;
        table = table_of(world, "hash-table-set!", args[0])?;
    }
    table.add(world, table.used, key, value);
    world.heap.store(table.record, USED, Value::fixnum(table.used as i64 + 1));
    add_to_count(world, &table, 1);
    Ok(Value::UNSPECIFIED)
}

fn delete(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let table = table_of(world, "hash-table-delete!", args[0])?;
    if let Some(entry) = table.find(world, args[1]) {
        world.heap.store(table.entries, 2 * entry, DELETED);
        world.heap.store(table.entries, 2 * entry + 1, DELETED);
        add_to_count(world, &table, -1);
    }
    Ok(Value::UNSPECIFIED)
}

fn add_to_count(world: &mut World, table: &Table, change: i64) {
    let count = world.heap.field(table.record, COUNT).as_fixnum().unwrap_or(0);
    world.heap.store(table.record, COUNT, Value::fixnum(count + change));
}

fn list_of(
    world: &mut World,
    who: &str,
    v: Value,
    item: fn(&mut World, Value, Value) -> Value,
) -> Result<Value, Error> {
    let entries = table_of(world, who, v)?.entries(world);
    world.heap.ensure(6 * entries.len())?;
    world.spend(entries.len());
    let items: Vec<Value> = entries.into_iter().map(|(key, value)| item(world, key, value)).collect();
    Ok(world.heap.list(&items))
}

/// The error of `hash-table-ref` and its kin for a key that is not there.
pub fn key_not_found(world: &World, who: &str, key: Value) -> Error {
    let key = dmci_syntax::printer::brief(&world.heap, key);
    Diagnostic::error(ErrorCode::E0312, format!("{who}: the table has no key {key}"))
        .help("give a thunk for missing keys, or use hash-table-ref/default")
}
