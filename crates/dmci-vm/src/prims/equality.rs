//! Equivalence: `eq?`, `eqv?`, `equal?`, and booleans.

use super::{Primitive, at_least, fixed};
use crate::world::World;
use dmci_value::{Alarm, Error, Heap, Kind, Ref, Value, num};
use rustc_hash::FxHashMap;

/// The rows of this file.
pub const PRIMITIVES: &[Primitive] = &[
    fixed("eq?", 2, |w, a| Ok(Value::boolean(eqv(&w.heap, a[0], a[1])))),
    fixed("eqv?", 2, |w, a| Ok(Value::boolean(eqv(&w.heap, a[0], a[1])))),
    fixed("%eqv?", 2, |w, a| Ok(Value::boolean(eqv(&w.heap, a[0], a[1])))),
    fixed("equal?", 2, |w, a| {
        let (same, steps) = equal(&w.heap, a[0], a[1]);
        w.spend(steps);
        Ok(Value::boolean(same))
    }),
    fixed("not", 1, |_, a| Ok(Value::boolean(!a[0].is_true()))),
    fixed("boolean?", 1, |_, a| Ok(Value::boolean(a[0].is_boolean()))),
    at_least("boolean=?", 2, boolean_equal),
];

/// `eqv?`, and `eq?` too: numbers are the same if they have the same exactness and bits.
#[inline]
pub fn eqv(heap: &Heap, a: Value, b: Value) -> bool {
    a == b || num::eqv(heap, a, b)
}

/// Comparisons before `equal?` starts to remember what it has seen. Most data are smaller, and
/// remembering costs more than comparing.
const FORGETFUL_STEPS: usize = 10_000;

/// `equal?`, with the number of steps it took. Ends on circular data: two objects that are being
/// compared already are taken to be equal (the classes are kept by union-find, so shared
/// structure is not walked again and again either).
pub fn equal(heap: &Heap, a: Value, b: Value) -> (bool, usize) {
    let mut pending = vec![(a, b)];
    let mut classes = Classes::default();
    let mut steps: usize = 0;
    while let Some((a, b)) = pending.pop() {
        steps += 1;
        if steps.is_multiple_of(Alarm::STEPS) && heap.alarm.rings() {
            return (false, steps);
        }
        if eqv(heap, a, b) {
            continue;
        }
        let (Some(x), Some(y)) = (a.as_ref(), b.as_ref()) else { return (false, steps) };
        let kind = heap.kind(x);
        if kind != heap.kind(y) || heap.len(x) != heap.len(y) {
            return (false, steps);
        }
        match kind {
            Kind::Pair | Kind::Vector => {
                if steps > FORGETFUL_STEPS && classes.join(x, y) {
                    continue;
                }
                // The first items are on top, so a long list needs a small stack.
                pending.extend(heap.fields(x).zip(heap.fields(y)).rev());
            }
            Kind::String | Kind::Bytevector | Kind::Tensor if heap.raw(x) == heap.raw(y) => steps += heap.len(x),
            _ => return (false, steps),
        }
    }
    (true, steps)
}

#[derive(Default)]
struct Classes(FxHashMap<Ref, Ref>);

impl Classes {
    /// Joins the classes of two objects; true if they were one already.
    fn join(&mut self, a: Ref, b: Ref) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        if a != b {
            self.0.insert(a, b);
        }
        a == b
    }

    fn find(&mut self, mut r: Ref) -> Ref {
        while let Some(&parent) = self.0.get(&r) {
            if let Some(&grandparent) = self.0.get(&parent) {
                self.0.insert(r, grandparent);
            }
            r = parent;
        }
        r
    }
}

fn boolean_equal(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    match args.iter().find(|v| !v.is_boolean()) {
        Some(&v) => Err(world.wrong_type("boolean=?", "a boolean", v)),
        None => Ok(Value::boolean(args.windows(2).all(|w| w[0] == w[1]))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_eqv_by_exactness_and_bits() {
        let heap = Heap::new();
        assert!(eqv(&heap, Value::fixnum(2), Value::fixnum(2)));
        assert!(!eqv(&heap, Value::fixnum(2), Value::real(2.0)));
        assert!(!eqv(&heap, Value::real(0.0), Value::real(-0.0)));
        assert!(eqv(&heap, Value::real(f64::NAN), Value::real_result(-f64::NAN)));
    }

    #[test]
    fn equal_ends_on_circular_and_heavily_shared_data() {
        let mut heap = Heap::new();
        let ring = |heap: &mut Heap, n: usize| {
            let list = heap.list(&vec![Value::TRUE; n]);
            let mut last = list;
            while let Some(next) = heap.cdr(last).filter(|v| v.is_pair()) {
                last = next;
            }
            heap.store(last.as_pair().expect("a pair"), 1, list);
            list
        };
        let (a, b) = (ring(&mut heap, 3), ring(&mut heap, 4));
        assert!(equal(&heap, a, b).0);
        let tree = |heap: &mut Heap| (0..60).fold(Value::NIL, |t, _| heap.cons(t, t));
        let (a, b) = (tree(&mut heap), tree(&mut heap));
        assert!(equal(&heap, a, b).0);
    }

    #[test]
    fn equal_compares_deep_nests_without_host_recursion() {
        let mut heap = Heap::new();
        let nest = |heap: &mut Heap| (0..1_000_000).fold(Value::NIL, |t, _| heap.cons(t, Value::NIL));
        let (a, b) = (nest(&mut heap), nest(&mut heap));
        assert!(equal(&heap, a, b).0);
        let c = heap.cons(b, Value::NIL);
        assert!(!equal(&heap, a, c).0);
    }
}
