//! The heap: objects as runs of words in one vector, allocated by bumping, collected by copying.
//!
//! An object is a header word and its payload. References are word indices, so a heap can be
//! cloned by copying its words: that is how every run starts from the same prepared image.
//!
//! **A collection never happens inside an allocation.** It happens only when the VM asks for it,
//! between two instructions, with every live value in a root; so Rust code may hold values as
//! long as it does not return to the VM loop. Allocation past the threshold only zeroes
//! [`Heap::poll`], which makes the VM look up at its next call or loop edge.

mod collect;
mod copying;
#[cfg(test)]
mod tests;

use crate::codes::ErrorCode;
use crate::diagnostic::{Diagnostic, Error};
use crate::span::{Origin, PairSpan, Sources, SpanId, SpanTable};
use crate::symbol::{Symbol, Symbols};
use crate::value::{Ref, Value};
use dmci_limits::{Alarm, Why};
use dmci_ops::Shape;
use std::sync::Arc;

/// What an object is. `Raw` kinds hold bits; all others hold only values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Kind {
    Pair = 0,
    Vector,
    /// A variable that is assigned, or a global: one value, and the name.
    Cell,
    /// Code number (as a fixnum), then captured values.
    Closure,
    /// Type, then fields.
    Record,
    /// Name, field names (list), identity.
    RecordType,
    /// Several values returned at once.
    Values,
    /// Code, message, irritants, place, payload: see [`Heap::condition`].
    Condition,
    /// Saved frames: see the VM.
    Continuation,
    /// A global environment, by number.
    Environment,
    /// A syntax-rules macro kept in a global environment.
    Macro,
    /// State and value.
    Promise,
    /// Value cell, converter.
    Parameter,
    /// A string port, by number.
    Port,
    /// Tape node (as a fixnum) and concrete value.
    Traced,
    // Raw kinds from here on.
    /// Length in characters, then two characters a word.
    String,
    /// Sign and length, then magnitude.
    Bignum,
    /// Length, then bytes.
    Bytevector,
    /// Rank, rows and columns, then the bits of the elements row by row.
    Tensor,
}

const RAW_FROM: u8 = Kind::String as u8;
const KINDS: [Kind; 19] = [
    Kind::Pair,
    Kind::Vector,
    Kind::Cell,
    Kind::Closure,
    Kind::Record,
    Kind::RecordType,
    Kind::Values,
    Kind::Condition,
    Kind::Continuation,
    Kind::Environment,
    Kind::Macro,
    Kind::Promise,
    Kind::Parameter,
    Kind::Port,
    Kind::Traced,
    Kind::String,
    Kind::Bignum,
    Kind::Bytevector,
    Kind::Tensor,
];

// Header: low byte kind, next three bytes identity (0 = not asked for yet),
// high half: payload words, or the place of a pair (pairs always have two).
#[inline]
fn header(kind: Kind, high: u32) -> u64 {
    kind as u64 | (high as u64) << 32
}

#[inline]
fn payload_words(header: u64) -> usize {
    if header as u8 == Kind::Pair as u8 { 2 } else { (header >> 32) as usize }
}

/// A place in the life of a heap to which it can go back.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    words: usize,
    symbols: usize,
    spans: usize,
    sources: usize,
    outside: usize,
}

/// Words of the image that are put back one by one; if more were written to, the whole image is copied.
const MOST_TOUCHED: usize = 1000;

/// A heap with its symbols, sources and places.
#[derive(Debug)]
pub struct Heap {
    words: Vec<u64>,
    /// Objects below this index belong to the image: they never move.
    image_end: usize,
    /// Words of the image that were written to, up to one more than [`MOST_TOUCHED`].
    touched: Vec<u32>,
    image_spans: usize,
    image_sources: usize,
    /// Calls and loop edges until the VM looks up. Zeroed by allocation past the threshold;
    /// what was taken is kept in `poll_taken` so that fuel is counted right.
    pub poll: i64,
    /// See [`Heap::poll`].
    pub poll_taken: i64,
    collect_at: usize,
    /// Words beyond the image that may be in use: half of the limit, since a collection copies what is live.
    max_words: usize,
    /// The limit in bytes.
    limit: usize,
    /// Bytes held outside the words on behalf of the program (symbols, ports).
    outside: usize,
    next_identity: u32,
    /// Whether a tensor was ever made: without one, no value needs to be looked at for being one.
    tensors: bool,
    /// Words that the last collection left.
    live: usize,
    /// The space of the collection before, to be used for the next.
    spare: Vec<u64>,
    /// Stores, newest last, while they are logged.
    store_log: Option<Vec<Store>>,
    /// When to stop long work.
    pub alarm: Arc<Alarm>,
    /// The symbol table.
    pub symbols: Symbols,
    /// The source texts.
    pub sources: Sources,
    /// The places of program pairs.
    pub spans: SpanTable,
}

/// Allocation between collections, at least: 8 MiB.
const MIN_NURSERY: usize = 1 << 20;

/// Words of room beyond where a collection is due, for what is allocated until the VM looks up.
const ROOM: usize = 1 << 16;

/// Words of the largest heap, its image included: 30 GiB. References are word indices of 32 bits; the last 2 GiB that
/// these reach are for what is allocated without asking, between two looks of the VM.
const MOST_WORDS: usize = u32::MAX as usize - (1 << 28) + 1;

impl Default for Heap {
    fn default() -> Self {
        Heap {
            words: vec![0],
            image_end: 1,
            touched: Vec::new(),
            image_spans: 0,
            image_sources: 0,
            poll: 0,
            poll_taken: 0,
            collect_at: MIN_NURSERY,
            max_words: MOST_WORDS,
            limit: usize::MAX,
            outside: 0,
            next_identity: 0,
            tensors: false,
            live: 0,
            spare: Vec::new(),
            store_log: None,
            alarm: Arc::default(),
            symbols: Symbols::default(),
            sources: Sources::default(),
            spans: SpanTable::default(),
        }
    }
}

/// A store into an object that existed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Store {
    /// The word.
    pub at: u32,
    /// What was there before.
    pub old: u64,
    /// Whether it holds bits rather than a value.
    pub raw: bool,
}

/// A prepared heap that new ones are copied from.
#[derive(Debug)]
pub struct HeapImage {
    words: Vec<u64>,
    symbols: Symbols,
    sources: Sources,
    spans: SpanTable,
    next_identity: u32,
}

impl Heap {
    /// An empty heap.
    pub fn new() -> Self {
        Heap::default()
    }

    // ---- images

    /// Freezes the heap into an image. Everything in it stays where it is for ever.
    pub fn into_image(mut self) -> HeapImage {
        self.symbols.freeze();
        HeapImage {
            words: self.words,
            symbols: self.symbols,
            sources: self.sources,
            spans: self.spans,
            next_identity: self.next_identity,
        }
    }

    /// A heap that starts as a copy of the image.
    pub fn from_image(image: &HeapImage) -> Self {
        let mut heap = Heap {
            symbols: image.symbols.clone(),
            sources: image.sources.clone(),
            spans: image.spans.clone(),
            image_end: image.words.len(),
            image_spans: image.spans.len(),
            image_sources: image.sources.len(),
            next_identity: image.next_identity,
            ..Heap::default()
        };
        heap.words.clone_from(&image.words);
        heap.collect_at = heap.image_end + MIN_NURSERY;
        heap
    }

    /// Where the heap was when it had nothing but its image.
    pub fn start(&self) -> Moment {
        Moment { words: self.image_end, symbols: 0, spans: self.image_spans, sources: self.image_sources, outside: 0 }
    }

    /// Where the heap is now. It can go back there if there is no collection in between.
    pub fn now(&self) -> Moment {
        Moment {
            words: self.words.len(),
            symbols: self.symbols.len(),
            spans: self.spans.len(),
            sources: self.sources.len(),
            outside: self.outside,
        }
    }

    /// Back to the image and what came after it up to a moment, cheaply: of the image part only what was written to
    /// is copied again.
    pub fn reset_to(&mut self, image: &HeapImage, moment: &Moment) {
        self.words.truncate(moment.words);
        if self.touched.len() > MOST_TOUCHED {
            self.words[..self.image_end].copy_from_slice(&image.words);
        } else {
            self.touched.iter().for_each(|&at| self.words[at as usize] = image.words[at as usize]);
        }
        self.touched.clear();
        self.symbols.truncate(moment.symbols);
        self.spans.truncate(moment.spans);
        self.sources.truncate(moment.sources);
        self.next_identity = image.next_identity;
        self.poll = 0;
        self.poll_taken = 0;
        self.outside = moment.outside;
        self.live = 0;
        self.tensors = false;
        self.store_log = None;
        self.collect_at = self.image_end + MIN_NURSERY;
        // A run that needed a lot must not keep it for ever.
        if self.words.capacity() > 4 * MIN_NURSERY + self.image_end {
            self.words.shrink_to(self.image_end + MIN_NURSERY);
            self.spare = Vec::new();
        }
    }

    // ---- allocation

    #[inline]
    fn note_growth(&mut self) {
        if self.words.len() >= self.collect_at {
            self.crowded();
        }
    }

    #[cold]
    fn crowded(&mut self) {
        self.request_poll();
        if self.words.capacity() - self.words.len() < ROOM / 2 {
            // Not twice as much, as a vector would: nothing that is taken may be beyond the limit.
            let _ = self.words.try_reserve_exact(ROOM.max(self.words.len() / 8));
        }
    }

    /// Has room for what is allocated before the next collection; without, a vector finds its own.
    fn make_room(&mut self) {
        let wanted = self.collect_at.saturating_add(ROOM);
        if self.words.capacity() < wanted {
            let _ = self.words.try_reserve_exact(wanted - self.words.len());
        }
    }

    /// Makes the VM look up at its next call or loop edge.
    #[inline]
    pub fn request_poll(&mut self) {
        if self.poll > 0 {
            self.poll_taken += self.poll;
            self.poll = 0;
        }
    }

    /// Where the next object will be.
    #[inline]
    fn next_ref(&self) -> Ref {
        // `MOST_WORDS` keeps the index below 2^32.
        debug_assert!(u32::try_from(self.words.len()).is_ok());
        Ref(self.words.len() as u32)
    }

    /// An object of values.
    pub fn alloc(&mut self, kind: Kind, fields: &[Value]) -> Value {
        let r = self.next_ref();
        // Pairs have no length, but a place.
        self.words.push(header(kind, if kind == Kind::Pair { 0 } else { fields.len() as u32 }));
        self.words.extend(fields.iter().map(|v| v.0));
        self.note_growth();
        match kind {
            Kind::Closure => Value::closure(r),
            Kind::Pair => Value::pair(r),
            Kind::Traced => Value::traced(r),
            _ => Value::object(r),
        }
    }

    /// An object of `len` equal values; fails if the heap limit would be passed.
    pub fn alloc_filled(&mut self, kind: Kind, len: usize, fill: Value) -> Result<Value, Error> {
        self.ensure(len.saturating_add(1))?;
        let r = self.next_ref();
        self.words.push(header(kind, len as u32));
        self.words.resize(self.words.len() + len, fill.0);
        self.note_growth();
        Ok(Value::object(r))
    }

    /// An object of raw words.
    pub fn alloc_raw(&mut self, kind: Kind, words: &[u64]) -> Value {
        debug_assert!(kind as u8 >= RAW_FROM);
        let r = self.next_ref();
        self.words.push(header(kind, words.len() as u32));
        self.words.extend_from_slice(words);
        self.note_growth();
        Value::object(r)
    }

    /// A pair.
    #[inline]
    pub fn cons(&mut self, car: Value, cdr: Value) -> Value {
        self.cons_at(car, cdr, SpanId(0))
    }

    /// A pair that knows its place.
    #[inline]
    pub fn cons_at(&mut self, car: Value, cdr: Value, place: SpanId) -> Value {
        let r = self.next_ref();
        self.words.extend_from_slice(&[header(Kind::Pair, place.0), car.0, cdr.0]);
        self.note_growth();
        Value::pair(r)
    }

    /// A list.
    pub fn list(&mut self, items: &[Value]) -> Value {
        self.list_with_tail(items, Value::NIL)
    }

    /// A list with the given last cdr.
    pub fn list_with_tail(&mut self, items: &[Value], tail: Value) -> Value {
        items.iter().rev().fold(tail, |list, &item| self.cons(item, list))
    }

    /// A vector.
    pub fn vector(&mut self, items: &[Value]) -> Value {
        self.alloc(Kind::Vector, items)
    }

    /// A string.
    pub fn string(&mut self, text: &str) -> Value {
        let chars: Vec<char> = text.chars().collect();
        self.string_from_chars(&chars)
    }

    /// A string.
    pub fn string_from_chars(&mut self, chars: &[char]) -> Value {
        let mut words = Vec::with_capacity(1 + chars.len().div_ceil(2));
        words.push(chars.len() as u64);
        words.extend(chars.chunks(2).map(|c| c[0] as u64 | c.get(1).map_or(0, |&c| (c as u64) << 32)));
        self.alloc_raw(Kind::String, &words)
    }

    /// A bytevector.
    pub fn bytevector(&mut self, bytes: &[u8]) -> Value {
        let mut words = vec![bytes.len() as u64];
        words.extend(bytes.chunks(8).map(|c| {
            let mut word = [0; 8];
            word[..c.len()].copy_from_slice(c);
            u64::from_le_bytes(word)
        }));
        self.alloc_raw(Kind::Bytevector, &words)
    }

    /// A vector or matrix of reals, given by their bits.
    pub fn tensor(&mut self, shape: Shape, elements: &[u64]) -> Value {
        let (rank, rows, columns) = match shape {
            Shape::Scalar => (0, 1, 1),
            Shape::Vector(n) => (1, n, 1),
            Shape::Matrix(m, n) => (2, m, n),
        };
        let mut words = Vec::with_capacity(3 + elements.len());
        words.extend([rank, rows as u64, columns as u64]);
        words.extend_from_slice(elements);
        self.tensors = true;
        self.alloc_raw(Kind::Tensor, &words)
    }

    /// Whether there may be tensors.
    #[inline]
    pub fn has_tensors(&self) -> bool {
        self.tensors
    }

    /// Shape and elements of a tensor.
    pub fn as_tensor(&self, v: Value) -> Option<(Shape, &[u64])> {
        let words = self.raw(self.as_kind(v, Kind::Tensor)?);
        let (rows, columns) = (words[1] as u32, words[2] as u32);
        let shape = match words[0] {
            0 => Shape::Scalar,
            1 => Shape::Vector(rows),
            _ => Shape::Matrix(rows, columns),
        };
        Some((shape, &words[3..]))
    }

    /// A cell (an assigned variable, or a global) with a name for messages.
    pub fn cell(&mut self, value: Value, name: Symbol) -> Value {
        self.alloc(Kind::Cell, &[value, Value::symbol(name)])
    }

    /// Checks that this many words can be allocated within the limit, and has room for them.
    pub fn ensure(&mut self, words: usize) -> Result<(), Error> {
        if self.used_words().saturating_add(words) > self.max_words {
            return Err(self.out_of_memory());
        }
        let wanted = words.saturating_add(ROOM);
        if words > ROOM / 4 && self.words.capacity() - self.words.len() < wanted {
            self.words.try_reserve_exact(wanted).map_err(|_| self.out_of_memory())?;
        }
        Ok(())
    }

    /// The error for a heap that is full.
    pub fn out_of_memory(&self) -> Error {
        let message = match self.limit {
            usize::MAX => "the program needs more memory than there is".to_string(),
            limit => format!("the program needs more than {} MiB of memory", limit >> 20),
        };
        let help = match self.max_words < MOST_WORDS - self.image_end {
            true => "raise the limit with ‹heap›, or keep less data alive: at most half of the limit",
            false => "keep less data alive: no heap can be larger",
        };
        Diagnostic::error(ErrorCode::E0402, message).help(help)
    }

    /// The error of work that stopped because the alarm rang.
    #[cold]
    pub fn stopped(&self) -> Error {
        match self.alarm.why() {
            Some(Why::Memory) => self.out_of_memory(),
            Some(Why::Time) => {
                let limit = self.alarm.limit().as_secs_f64();
                Diagnostic::error(ErrorCode::E0405, format!("the program ran for more than {limit} s"))
                    .help("raise the limit with ‹time›")
            }
            Some(Why::Cancelled) | None => Diagnostic::error(ErrorCode::E0409, "the run was cancelled"),
        }
    }

    /// Looks at flag, clock and memory.
    pub fn look(&self) -> Result<(), Error> {
        if self.alarm.rings() { Err(self.stopped()) } else { Ok(()) }
    }

    /// Counts bytes held outside the heap's words towards the limit.
    pub fn charge_outside(&mut self, bytes: usize) {
        self.outside += bytes;
        if self.used_words() > self.max_words {
            self.request_poll();
        }
    }

    /// Words that were in use after the last collection.
    pub fn live_words(&self) -> usize {
        self.live
    }

    /// Words in use, garbage and outside bytes included: these are not copied, so they count half.
    pub fn used_words(&self) -> usize {
        self.words.len() - self.image_end + self.outside / 16
    }

    /// The limit in words (beyond the image).
    pub fn max_words(&self) -> usize {
        self.max_words
    }

    /// Sets the limit in bytes (beyond the image): for both spaces of the collector. No heap has more words than references
    /// can name.
    pub fn set_limit(&mut self, bytes: usize) {
        self.limit = bytes;
        self.max_words = (bytes / 16).min(MOST_WORDS - self.image_end);
        self.collect_at = self.collect_at.min(self.image_end + self.max_words / 2).max(self.image_end + 1);
    }

    /// Lets some more be allocated before the next collection.
    pub fn postpone_collection(&mut self) {
        self.collect_at = self.words.len() + MIN_NURSERY / 2;
        self.make_room();
    }

    /// Whether a collection is due.
    pub fn wants_collection(&self) -> bool {
        self.words.len() >= self.collect_at
    }

    // ---- reading

    /// The kind of an object.
    #[inline]
    pub fn kind(&self, r: Ref) -> Kind {
        KINDS[self.words[r.index()] as u8 as usize]
    }

    /// The object of this kind behind a value.
    #[inline]
    pub fn as_kind(&self, v: Value, kind: Kind) -> Option<Ref> {
        v.as_ref().filter(|&r| self.words[r.index()] as u8 == kind as u8)
    }

    /// Number of payload words.
    #[inline]
    pub fn len(&self, r: Ref) -> usize {
        payload_words(self.words[r.index()])
    }

    /// Whether nothing was allocated yet.
    pub fn is_empty(&self) -> bool {
        self.words.len() <= 1
    }

    /// The `i`th payload value.
    #[inline]
    pub fn field(&self, r: Ref, i: usize) -> Value {
        debug_assert!(i < self.len(r));
        Value(self.words[r.index() + 1 + i])
    }

    /// All payload values.
    pub fn fields(&self, r: Ref) -> impl ExactSizeIterator<Item = Value> + DoubleEndedIterator + '_ {
        self.raw(r).iter().map(|&w| Value(w))
    }

    /// The payload words.
    #[inline]
    pub fn raw(&self, r: Ref) -> &[u64] {
        let start = r.index() + 1;
        &self.words[start..start + self.len(r)]
    }

    /// Car of a pair.
    #[inline]
    pub fn car(&self, v: Value) -> Option<Value> {
        v.as_pair().map(|r| Value(self.words[r.index() + 1]))
    }

    /// Cdr of a pair.
    #[inline]
    pub fn cdr(&self, v: Value) -> Option<Value> {
        v.as_pair().map(|r| Value(self.words[r.index() + 2]))
    }

    /// Car and cdr of a pair.
    #[inline]
    pub fn uncons(&self, v: Value) -> Option<(Value, Value)> {
        v.as_pair().map(|r| (Value(self.words[r.index() + 1]), Value(self.words[r.index() + 2])))
    }

    /// The place of a pair.
    pub fn place(&self, v: Value) -> SpanId {
        v.as_pair().map_or(SpanId(0), |r| SpanId((self.words[r.index()] >> 32) as u32))
    }

    /// The spans of a pair.
    pub fn pair_span(&self, v: Value) -> Option<PairSpan> {
        self.spans.get(self.place(v))
    }

    /// The place of a pair, if it is in a text of the user's.
    pub fn user_place(&self, v: Value) -> Option<SpanId> {
        let place = self.place(v);
        let span = self.spans.get(place)?;
        (self.sources.get(span.source)?.origin == Origin::User).then_some(place)
    }

    /// The items of a proper list; `None` if it is improper or circular.
    pub fn list_items(&self, mut v: Value) -> Option<Vec<Value>> {
        let mut items = Vec::new();
        let mut hare = v;
        while let Some((car, cdr)) = self.uncons(v) {
            items.push(car);
            v = cdr;
            hare = self.cdr(hare).and_then(|h| self.cdr(h)).unwrap_or(Value::NIL);
            if hare == v && v.is_pair() {
                return None;
            }
        }
        v.is_nil().then_some(items)
    }

    /// The characters of a string.
    pub fn chars(&self, v: Value) -> Option<impl ExactSizeIterator<Item = char> + '_> {
        let r = self.as_kind(v, Kind::String)?;
        let raw = self.raw(r);
        Some((0..raw[0] as usize).map(move |i| {
            let c = (raw[1 + i / 2] >> (32 * (i & 1))) as u32;
            char::from_u32(c).unwrap_or('\u{FFFD}')
        }))
    }

    /// A string's text.
    pub fn text(&self, v: Value) -> Option<String> {
        Some(self.chars(v)?.collect())
    }

    /// The bytes of a bytevector.
    pub fn bytes(&self, v: Value) -> Option<Vec<u8>> {
        let raw = self.raw(self.as_kind(v, Kind::Bytevector)?);
        let mut bytes: Vec<u8> = raw[1..].iter().flat_map(|w| w.to_le_bytes()).collect();
        bytes.truncate(raw[0] as usize);
        Some(bytes)
    }

    // ---- undoing

    /// Starts to log stores if that is not done already; returns the number of stores so far.
    pub fn log_stores(&mut self) -> usize {
        self.store_log.get_or_insert_default().len()
    }

    /// Stops logging stores.
    pub fn forget_stores(&mut self) {
        self.store_log = None;
    }

    /// Where the next object will be: objects from here on are new.
    pub fn mark(&self) -> usize {
        self.words.len()
    }

    /// Undoes the stores from the `from`th on into objects that are older than `mark`. Returns these
    /// words, each once, with what they held before they were undone.
    pub fn undo_stores(&mut self, from: usize, mark: usize) -> Vec<Store> {
        let Some(log) = &mut self.store_log else { return Vec::new() };
        let mut undone: Vec<Store> = Vec::new();
        let mut seen = rustc_hash::FxHashSet::default();
        for store in log.drain(from..).rev().filter(|s| (s.at as usize) < mark) {
            if seen.insert(store.at) {
                undone.push(Store { old: self.words[store.at as usize], ..store });
            }
            self.words[store.at as usize] = store.old;
        }
        undone
    }

    /// The word at an index that a store names.
    pub fn word(&self, at: u32) -> u64 {
        self.words[at as usize]
    }

    /// Does a store again, logged like any other.
    pub fn redo_store(&mut self, store: Store, word: u64) {
        if let Some(log) = &mut self.store_log {
            log.push(Store { old: self.words[store.at as usize], ..store });
        }
        self.words[store.at as usize] = word;
    }

    // ---- writing: every store into an object that exists goes through `store_word`

    /// Replaces the `i`th payload value.
    #[inline]
    pub fn store(&mut self, r: Ref, i: usize, v: Value) {
        self.store_word(r, i, v.0);
    }

    /// Notes that a word will be written to, if it belongs to the image.
    #[inline]
    fn touch(&mut self, at: usize) {
        if at < self.image_end && self.touched.len() <= MOST_TOUCHED {
            self.touched.push(at as u32);
        }
    }

    /// Replaces the `i`th payload word of a raw object.
    #[inline]
    pub fn store_word(&mut self, r: Ref, i: usize, word: u64) {
        debug_assert!(i < self.len(r));
        let at = r.index() + 1 + i;
        self.touch(at);
        if let Some(log) = &mut self.store_log {
            let raw = self.words[r.index()] as u8 >= RAW_FROM;
            log.push(Store { at: at as u32, old: self.words[at], raw });
        }
        self.words[at] = word;
    }

    /// Replaces a character of a string.
    pub fn store_char(&mut self, r: Ref, i: usize, c: char) {
        let word = self.raw(r)[1 + i / 2];
        let shift = 32 * (i & 1);
        let word = word & !(0xFFFF_FFFF << shift) | (c as u64) << shift;
        self.store_word(r, 1 + i / 2, word);
    }

    /// Replaces a byte of a bytevector.
    pub fn store_byte(&mut self, r: Ref, i: usize, b: u8) {
        let word = self.raw(r)[1 + i / 8];
        let shift = 8 * (i & 7);
        let word = word & !(0xFF << shift) | (b as u64) << shift;
        self.store_word(r, 1 + i / 8, word);
    }

    /// A number that stays with the object for its life: first come, first numbered, so it does
    /// not depend on addresses.
    pub fn identity(&mut self, r: Ref) -> u32 {
        let word = self.words[r.index()];
        let id = (word >> 8) as u32 & 0xFF_FFFF;
        if id != 0 {
            return id;
        }
        self.next_identity = (self.next_identity % 0xFF_FFFF) + 1;
        self.touch(r.index());
        self.words[r.index()] = word | (self.next_identity as u64) << 8;
        self.next_identity
    }
}
