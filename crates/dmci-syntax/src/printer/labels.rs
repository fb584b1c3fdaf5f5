//! Which pairs, vectors and records need a datum label.

use super::{STEPS, Sharing, Style};
use dmci_value::{Heap, Kind, Ref, Value};
use rustc_hash::FxHashMap;

/// A walk of this many steps that ends proves that there is no cycle, without a table.
const SHORT_WALK: usize = 2_000;

/// The labelled objects, and the numbers of those that were printed.
#[derive(Debug, Default)]
pub(super) struct Labels {
    numbers: FxHashMap<Ref, Option<usize>>,
    used: usize,
}

impl Labels {
    pub(super) fn find(heap: &Heap, v: Value, style: Style) -> Labels {
        let sharing = style.sharing;
        let mut labels = Labels::default();
        match sharing {
            Sharing::Nothing => {}
            Sharing::Cycles if is_small_tree(heap, v) => {}
            _ => walk(heap, v, style.stop, |r, cyclic| {
                if cyclic || sharing == Sharing::All {
                    labels.numbers.insert(r, None);
                }
            }),
        }
        labels
    }

    pub(super) fn has(&self, v: Value) -> bool {
        !self.numbers.is_empty() && v.as_ref().is_some_and(|r| self.numbers.contains_key(&r))
    }

    /// Prints the label of a value that has one; true if it stands for the whole value.
    pub(super) fn mark(&mut self, v: Value, out: &mut String) -> bool {
        if self.numbers.is_empty() {
            return false;
        }
        match v.as_ref().and_then(|r| self.numbers.get_mut(&r)) {
            None => false,
            Some(Some(n)) => {
                out.push_str(&format!("#{n}#"));
                true
            }
            Some(unused) => {
                *unused = Some(self.used);
                out.push_str(&format!("#{}=", self.used));
                self.used += 1;
                false
            }
        }
    }
}

/// The object behind a value if the printer descends into it.
fn compound(heap: &Heap, v: Value) -> Option<Ref> {
    v.as_ref().filter(|&r| match heap.kind(r) {
        Kind::Pair | Kind::Vector => true,
        Kind::Record => !is_opaque(heap, r),
        _ => false,
    })
}

/// Whether a record is a hash table, whose fields are the library's business.
pub(super) fn is_opaque(heap: &Heap, r: Ref) -> bool {
    let name = heap.as_kind(heap.field(r, 0), Kind::RecordType).and_then(|rtd| heap.field(rtd, 0).as_symbol());
    name.is_some_and(|s| matches!(heap.symbols.name(heap.symbols.base_of(s)), "hash-table" | "<hash-table>"))
}

fn is_small_tree(heap: &Heap, v: Value) -> bool {
    let mut stack = vec![v];
    let mut steps = 0;
    while let Some(v) = stack.pop() {
        if let Some(r) = compound(heap, v) {
            steps += 1 + heap.len(r);
            if steps > SHORT_WALK {
                return false;
            }
            stack.extend(heap.fields(r));
        }
    }
    true
}

/// Walks everything once, depth first in the order of printing, and tells of objects that are
/// reached again, and whether that was from inside themselves. Every cycle has such an object.
fn walk(heap: &Heap, v: Value, stop: &dyn Fn() -> bool, mut found: impl FnMut(Ref, bool)) {
    let mut on_path: FxHashMap<Ref, bool> = FxHashMap::default();
    let mut stack: Vec<(Ref, usize)> = Vec::new();
    let mut next = compound(heap, v);
    let mut steps = 0;
    loop {
        steps += 1;
        if steps % STEPS == 0 && stop() {
            return;
        }
        if let Some(r) = next.take() {
            match on_path.get(&r) {
                Some(&cyclic) => found(r, cyclic),
                None => {
                    on_path.insert(r, true);
                    stack.push((r, 0));
                }
            }
        }
        let Some((r, i)) = stack.last_mut() else { return };
        if *i < heap.len(*r) {
            next = compound(heap, heap.field(*r, *i));
            *i += 1;
        } else {
            on_path.insert(*r, false);
            stack.pop();
        }
    }
}
