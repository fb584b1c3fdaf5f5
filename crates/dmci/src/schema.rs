//! The parameter schema of a program: `(params (name kind init option ...) ...)`.

use dmci_data::{Heap, Value, num};

/// The parameters that a program's schema declares, with their initial values.
pub(crate) fn parameters(heap: &Heap, forms: Value) -> Vec<(String, f64)> {
    let mut list = Vec::new();
    for form in heap.list_items(forms).unwrap_or_default() {
        let items = heap.list_items(form).unwrap_or_default();
        let Some((head, entries)) = items.split_first() else { continue };
        if head.as_symbol().is_none_or(|s| heap.symbols.name(s) != "params") {
            continue;
        }
        list.extend(entries.iter().filter_map(|&entry| parameter(heap, entry)));
    }
    list
}

fn parameter(heap: &Heap, entry: Value) -> Option<(String, f64)> {
    let parts = heap.list_items(entry)?;
    let name = heap.symbols.name(parts.first()?.as_symbol()?).to_string();
    let init = num::Number::of(heap, *parts.get(2)?)?.to_f64();
    Some((name, init))
}

/// Names that a program mentions anywhere, as symbols of its text.
pub(crate) fn mentioned(heap: &Heap, forms: Value) -> Vec<String> {
    let mut names = Vec::new();
    let mut todo = vec![forms];
    while let Some(v) = todo.pop() {
        if let Some(s) = v.as_symbol() {
            names.push(heap.symbols.name(s).to_string());
        } else if let Some((car, cdr)) = heap.uncons(v) {
            todo.extend([cdr, car]);
        }
    }
    names.sort();
    names.dedup();
    names
}
