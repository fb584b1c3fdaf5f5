//! String and bytevector ports: objects on the heap, so that they are collected, copied and undone like
//! any other. There are no files; the console port stands for the captured output.

use crate::world::World;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Heap, Kind, Ref, Value};

/// What a port is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i64)]
pub enum PortKind {
    /// The captured output of the evaluation.
    Console,
    /// Characters of a string.
    TextInput,
    /// Characters collected into a string.
    TextOutput,
    /// Bytes of a bytevector.
    BinaryInput,
    /// Bytes collected into a bytevector.
    BinaryOutput,
}

const KINDS: [PortKind; 5] =
    [PortKind::Console, PortKind::TextInput, PortKind::TextOutput, PortKind::BinaryInput, PortKind::BinaryOutput];

impl PortKind {
    /// Whether it can be read from.
    pub fn is_input(self) -> bool {
        matches!(self, PortKind::TextInput | PortKind::BinaryInput)
    }

    /// Whether its items are bytes.
    pub fn is_binary(self) -> bool {
        matches!(self, PortKind::BinaryInput | PortKind::BinaryOutput)
    }
}

// Fields of a port object. The buffer is a vector of characters or bytes as values: one word each, so
// reading and writing in the middle is simple and every store is logged.
const KIND: usize = 0;
const BUFFER: usize = 1;
/// Items read or written so far.
const POSITION: usize = 2;
/// Items to read, or room.
const LENGTH: usize = 3;
const OPEN: usize = 4;

/// A port object of the heap.
#[derive(Clone, Copy, Debug)]
pub struct Port {
    object: Ref,
    /// What it is for.
    pub kind: PortKind,
}

impl Port {
    /// A new port; input ports read the given items.
    pub fn open(heap: &mut Heap, kind: PortKind, items: &[Value]) -> Value {
        let buffer = heap.vector(items);
        let length = Value::fixnum(items.len() as i64);
        heap.alloc(Kind::Port, &[Value::fixnum(kind as i64), buffer, Value::fixnum(0), length, Value::TRUE])
    }

    /// The port behind a value.
    pub fn of(heap: &Heap, v: Value) -> Option<Port> {
        let object = heap.as_kind(v, Kind::Port)?;
        let kind = *KINDS.get(heap.field(object, KIND).as_fixnum()? as usize)?;
        Some(Port { object, kind })
    }

    /// Whether it is open.
    pub fn is_open(self, heap: &Heap) -> bool {
        heap.field(self.object, OPEN).is_true()
    }

    /// Closes it.
    pub fn close(self, heap: &mut Heap) {
        heap.store(self.object, OPEN, Value::FALSE);
    }

    fn number(self, heap: &Heap, field: usize) -> usize {
        heap.field(self.object, field).as_fixnum().unwrap_or(0) as usize
    }

    fn item(self, heap: &Heap, i: usize) -> Option<Value> {
        let buffer = heap.as_kind(heap.field(self.object, BUFFER), Kind::Vector)?;
        (i < heap.len(buffer)).then(|| heap.field(buffer, i))
    }

    /// The next item to read, without taking it.
    pub fn peek(self, heap: &Heap) -> Option<Value> {
        self.item(heap, self.number(heap, POSITION))
    }

    /// Takes `n` items.
    pub fn skip(self, heap: &mut Heap, n: usize) {
        let position = self.number(heap, POSITION) + n;
        heap.store(self.object, POSITION, Value::fixnum(position as i64));
    }

    /// The items still to be read, `most` at most.
    pub fn rest(self, heap: &Heap, most: usize) -> Vec<Value> {
        let (at, end) = (self.number(heap, POSITION), self.number(heap, LENGTH));
        (at..end.min(at.saturating_add(most))).filter_map(|i| self.item(heap, i)).collect()
    }

    /// The items written so far.
    pub fn written(self, heap: &Heap) -> Vec<Value> {
        (0..self.number(heap, POSITION)).filter_map(|i| self.item(heap, i)).collect()
    }

    /// Adds items to what was written.
    pub fn write(self, heap: &mut Heap, items: &[Value]) -> Result<(), Error> {
        let at = self.number(heap, POSITION);
        let needed = at + items.len();
        if needed > self.number(heap, LENGTH) {
            let room = (2 * needed).max(16);
            let old = self.written(heap);
            let grown = heap.alloc_filled(Kind::Vector, room, Value::FALSE)?;
            self.fill(heap, grown, 0, &old);
            heap.store(self.object, BUFFER, grown);
            heap.store(self.object, LENGTH, Value::fixnum(room as i64));
        }
        self.fill(heap, heap.field(self.object, BUFFER), at, items);
        heap.store(self.object, POSITION, Value::fixnum(needed as i64));
        Ok(())
    }

    fn fill(self, heap: &mut Heap, buffer: Value, at: usize, items: &[Value]) {
        if let Some(buffer) = heap.as_kind(buffer, Kind::Vector) {
            for (i, &item) in items.iter().enumerate() {
                heap.store(buffer, at + i, item);
            }
        }
    }
}

impl World {
    /// An open port argument for reading (characters or bytes) or for writing.
    pub fn port(&self, who: &str, v: Value, input: bool, binary: bool) -> Result<Port, Error> {
        let what = match (input, binary) {
            (true, false) => "a textual input port",
            (true, true) => "a binary input port",
            (false, false) => "a textual output port",
            (false, true) => "a binary output port",
        };
        let port = Port::of(&self.heap, v)
            .filter(|p| p.kind.is_input() == input && p.kind.is_binary() == binary)
            .ok_or_else(|| self.wrong_type(who, what, v))?;
        if port.is_open(&self.heap) {
            return Ok(port);
        }
        Err(Diagnostic::error(ErrorCode::E0303, format!("{who} expected an open port, got one that was closed")))
    }

    /// Prints text to a port.
    pub fn print(&mut self, who: &str, port: Value, text: &str) -> Result<(), Error> {
        let port = self.port(who, port, false, false)?;
        self.spend(text.len() / 4);
        if port.kind == PortKind::Console {
            return self.output.push(text);
        }
        self.heap.ensure(3 * text.len())?;
        let items: Vec<Value> = text.chars().map(Value::char).collect();
        port.write(&mut self.heap, &items)
    }

    /// How many bytes may still be printed to a port: printing need not go on after that.
    pub fn room(&self, port: Value) -> usize {
        match Port::of(&self.heap, port).map(|p| p.kind) {
            Some(PortKind::Console) => self.output.limit.saturating_sub(self.output.text.len()),
            _ => MOST_TEXT,
        }
    }

    /// Whether a text port is at the start of a line.
    pub fn at_line_start(&self, port: Value) -> bool {
        match Port::of(&self.heap, port) {
            Some(p) if p.kind == PortKind::Console => self.output.text.is_empty() || self.output.text.ends_with('\n'),
            Some(p) => match p.number(&self.heap, POSITION).checked_sub(1) {
                Some(last) => p.item(&self.heap, last).and_then(Value::as_char) == Some('\n'),
                None => true,
            },
            None => true,
        }
    }
}

/// Longest text that one `write` to a string port makes, in bytes: a small shared structure can have an
/// enormous text.
const MOST_TEXT: usize = 16 << 20;
