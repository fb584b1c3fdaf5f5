use super::*;

fn symbol(heap: &mut Heap, name: &str) -> Value {
    Value::symbol(heap.symbols.intern(name))
}

#[test]
fn display_shows_content_and_write_shows_marks() {
    let mut heap = Heap::new();
    let text = heap.string("a\"b\n");
    let odd = symbol(&mut heap, "odd name");
    let items = [text, Value::char(' '), odd, Value::TRUE, Value::UNSPECIFIED, Value::primitive(3)];
    let list = heap.list(&items);
    assert_eq!(display(&heap, list), "(a\"b\n   odd name #t #<unspecified> #<procedure>)");
    assert_eq!(write(&heap, list), "(\"a\\\"b\\n\" #\\space |odd name| #t #<unspecified> #<procedure>)");
    let names = |v: Value| v.as_primitive().map(|n| format!("p{n}"));
    assert_eq!(print(&heap, items[5], Style { names: &names, ..Style::WRITE }), "#<procedure p3>");
}

#[test]
fn renamed_symbols_print_their_first_name() {
    let mut heap = Heap::new();
    let x = heap.symbols.intern("x");
    let alias = heap.symbols.alias(x);
    assert_eq!(write(&heap, Value::symbol(alias)), "x");
}

#[test]
fn cycles_are_labelled() {
    let mut heap = Heap::new();
    let [a, b] = ["a", "b"].map(|n| symbol(&mut heap, n));
    let list = heap.list(&[a, b]);
    let last = heap.cdr(list).unwrap();
    heap.store(last.as_pair().unwrap(), 1, list);
    assert_eq!(write(&heap, list), "#0=(a b . #0#)");
    let outer = heap.cons(a, list);
    assert_eq!(display(&heap, outer), "(a . #0=(a b . #0#))");
    let vector = heap.vector(&[a, list, Value::NIL]);
    heap.store(vector.as_object().unwrap(), 2, vector);
    assert_eq!(write(&heap, vector), "#0=#(a #1=(a b . #1#) #0#)");
    assert_eq!(brief(&heap, list).len(), 60);
    // The datum of a quotation may be the quotation.
    let quote = symbol(&mut heap, "quote");
    let quoted = heap.list(&[quote, a]);
    heap.store(heap.cdr(quoted).unwrap().as_pair().unwrap(), 0, quoted);
    assert_eq!(write(&heap, quoted), "#0='#0#");
}

#[test]
fn shared_structure_is_labelled_only_on_request() {
    let mut heap = Heap::new();
    let a = symbol(&mut heap, "a");
    let x = heap.list(&[a]);
    let list = heap.list(&[x, x]);
    assert_eq!(write(&heap, list), "((a) (a))");
    assert_eq!(write_shared(&heap, list), "(#0=(a) #0#)");
    let tail = heap.cons(x, x);
    assert_eq!(write_shared(&heap, tail), "(#0=(a) . #0#)");
}

#[test]
fn size_is_bounded_where_sharing_makes_it_explode() {
    let mut heap = Heap::new();
    let mut v = Value::NIL;
    for _ in 0..100 {
        v = heap.cons(v, v);
    }
    let text = print(&heap, v, Style { limit: 1000, ..Style::WRITE });
    assert!(text.len() > 1000 && text.len() < 1100);
    assert!(write_shared(&heap, v).len() < 2000);
    let long = heap.string(&"x".repeat(1 << 20));
    assert!(brief(&heap, long).len() < 100);
    assert!(print(&heap, long, Style { limit: 10, ..Style::DISPLAY }).len() < 20);
}

#[test]
fn deep_and_long_data_print_without_recursion() {
    let mut heap = Heap::new();
    let (mut deep, mut long) = (Value::NIL, Value::NIL);
    for _ in 0..1_000_000 {
        deep = heap.cons(deep, Value::NIL);
        long = heap.cons(Value::TRUE, long);
    }
    assert_eq!(write(&heap, deep).len(), 2_000_002);
    assert_eq!(write(&heap, long).len(), 3_000_001);
    assert!(brief(&heap, deep).ends_with("((..."));
}

#[test]
fn records_conditions_and_tables() {
    let mut heap = Heap::new();
    let [point, x, y, table, count, buckets] =
        ["<point>", "x", "y", "hash-table", "count", "buckets"].map(|n| symbol(&mut heap, n));
    let fields = heap.list(&[x, y]);
    let rtd = heap.alloc(Kind::RecordType, &[point, fields, Value::NIL]);
    let string = heap.string("s");
    let record = heap.alloc(Kind::Record, &[rtd, string, Value::NIL]);
    assert_eq!(write(&heap, record), "#<point x: \"s\" y: ()>");
    assert_eq!(write(&heap, rtd), "#<record-type point>");
    heap.store(record.as_object().unwrap(), 2, record);
    assert_eq!(display(&heap, record), "#0=#<point x: s y: #0#>");
    let fields = heap.list(&[count, buckets]);
    let rtd = heap.alloc(Kind::RecordType, &[table, fields, Value::NIL]);
    let record = heap.alloc(Kind::Record, &[rtd, Value::fixnum(2), record]);
    assert_eq!(write(&heap, record), "#<hash-table 2>");
    let condition = heap.condition(dmci_value::ErrorCode::E9901, "bad \"x\"", Value::NIL, Default::default());
    assert_eq!(display(&heap, condition), "#<condition E9901 \"bad \\\"x\\\"\">");
}
