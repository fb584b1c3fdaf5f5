//! Tests of the heap.

use super::*;

#[test]
fn a_heap_goes_back_to_a_moment_and_to_its_image() {
    let mut first = Heap::new();
    let shared = first.list(&[Value::fixnum(1), Value::fixnum(2)]);
    let known = first.symbols.intern("known");
    let image = first.into_image();
    let mut heap = Heap::from_image(&image);
    let read = heap.symbols.intern("read");
    let kept = heap.list(&[shared, Value::symbol(read)]);
    let moment = heap.now();
    let later = heap.symbols.intern("later");
    // Renamed symbols may have the names of others.
    heap.symbols.alias(read);
    heap.symbols.uninterned("read");
    let new = heap.list(&[Value::symbol(later)]);
    heap.store(shared.as_pair().expect("a pair"), 0, new);
    heap.reset_to(&image, &moment);
    assert_eq!(heap.car(shared), Some(Value::fixnum(1)), "the image is as it was");
    assert_eq!(heap.list_items(kept), Some(vec![shared, Value::symbol(read)]));
    assert_eq!(heap.symbols.find("later"), None);
    assert_eq!((heap.symbols.find("read"), heap.symbols.find("known")), (Some(read), Some(known)));
    assert_eq!(heap.symbols.intern("other"), later, "its place is free");
    let start = heap.start();
    heap.reset_to(&image, &start);
    assert_eq!((heap.symbols.find("read"), heap.symbols.find("known")), (None, Some(known)));
    assert_eq!(heap.now().words, image.words.len());
}

#[test]
fn an_image_that_was_written_all_over_is_restored() {
    let mut first = Heap::new();
    let numbers: Vec<Value> = (0..3000).map(Value::fixnum).collect();
    let list = first.list(&numbers);
    let image = first.into_image();
    let mut heap = Heap::from_image(&image);
    for round in 0..2 {
        let mut at = list;
        while let Some(pair) = at.as_pair() {
            at = heap.cdr(at).expect("a pair");
            heap.store(pair, 0, Value::TRUE);
        }
        let start = heap.start();
        heap.reset_to(&image, &start);
        assert_eq!(heap.list_items(list).as_ref(), Some(&numbers), "round {round}");
    }
}

#[test]
fn no_limit_lets_references_pass_32_bits() {
    let mut heap = Heap::new();
    for bytes in [64 << 30, 1 << 40, usize::MAX] {
        heap.set_limit(bytes);
        assert_eq!(heap.max_words(), MOST_WORDS - heap.image_end);
        let error = heap.ensure(MOST_WORDS + 1 - heap.image_end).expect_err("a heap cannot have so many words");
        assert_eq!(error.code, ErrorCode::E0402);
        let help = error.help.as_deref().unwrap_or_default();
        assert!(!help.contains("raise"), "no limit is larger: {help}");
        assert_eq!(heap.alloc_filled(Kind::Vector, 1 << 32, Value::NIL).map_err(|e| e.code), Err(ErrorCode::E0402));
    }
    // What is allocated without being asked for still gets a place that a reference can name.
    assert!(u32::try_from(MOST_WORDS + MIN_NURSERY).is_ok());
    heap.set_limit(1 << 20);
    // Both spaces of the collector count.
    assert!(heap.ensure(1 << 15).is_ok() && heap.ensure(1 << 17).is_err());
}

#[test]
fn strings_are_made_of_parts_at_even_and_odd_places() {
    let mut heap = Heap::new();
    let text: Vec<char> = "añb→c😀defgh".chars().collect();
    let source = heap.string_from_chars(&text);
    let r = heap.as_kind(source, Kind::String).expect("a string");
    let bounds = || (0..=text.len()).flat_map(|end| (0..=end).map(move |start| start..end));
    for first in bounds() {
        for second in bounds() {
            let expected: String = text[first.clone()].iter().chain(&text[second.clone()]).collect();
            let made = heap.string_of_parts(&[(r, first.clone()), (r, second.clone())]);
            assert_eq!(heap.text(made).as_deref(), Some(&*expected), "{first:?} and {second:?}");
            // The same words as of a string that was made of characters.
            let plain = heap.string(&expected);
            let [made, plain] = [made, plain].map(|v| heap.as_kind(v, Kind::String).expect("a string"));
            assert_eq!(heap.raw(made), heap.raw(plain), "{first:?} and {second:?}");
        }
    }
}
