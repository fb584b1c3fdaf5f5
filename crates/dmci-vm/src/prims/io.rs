//! Ports and printing. The port is always given here; `crates/dmci/scheme/lib/io.scm` fills in the current one.

use super::{Primitive, between, fixed};
use crate::ports::{Port, PortKind};
use crate::world::World;
use dmci_syntax::printer::{Sharing, Style};
use dmci_syntax::reader;
use dmci_value::{Error, Value};

macro_rules! port_test {
    ($name:literal, $test:expr) => {
        fixed($name, 1, |w, a| {
            let holds: fn(PortKind) -> bool = $test;
            Ok(Value::boolean(Port::of(&w.heap, a[0]).is_some_and(|p| holds(p.kind))))
        })
    };
}

/// The rows of this file.
pub const PRIMITIVES: &[Primitive] = &[
    fixed("%display", 2, |w, a| print(w, "display", a, Style::DISPLAY)),
    fixed("%write", 2, |w, a| print(w, "write", a, Style::WRITE)),
    fixed("%write-shared", 2, |w, a| print(w, "write-shared", a, Style { sharing: Sharing::All, ..Style::WRITE })),
    fixed("%write-char", 2, |w, a| {
        let c = w.char("write-char", a[0])?;
        w.print("write-char", a[1], c.encode_utf8(&mut [0; 4]))?;
        Ok(Value::UNSPECIFIED)
    }),
    between("%write-string", 2, 4, |w, a| {
        let text: String = w.text_range("write-string", &[&[a[0]], &a[2..]].concat(), 1)?.into_iter().collect();
        w.print("write-string", a[1], &text)?;
        Ok(Value::UNSPECIFIED)
    }),
    fixed("%newline", 1, |w, a| w.print("newline", a[0], "\n").map(|()| Value::UNSPECIFIED)),
    fixed("%fresh-line", 1, |w, a| {
        let text = if w.at_line_start(a[0]) { "" } else { "\n" };
        w.print("fresh-line", a[0], text).map(|()| Value::UNSPECIFIED)
    }),
    fixed("%write-u8", 2, |w, a| {
        let byte = w.byte("write-u8", a[0])?;
        write_bytes(w, "write-u8", a[1], &[byte])
    }),
    between("%write-bytevector", 2, 4, |w, a| {
        let bytes = w.byte_range("write-bytevector", &[&[a[0]], &a[2..]].concat(), 1)?;
        write_bytes(w, "write-bytevector", a[1], &bytes)
    }),
    fixed("%read", 1, read),
    fixed("%read-char", 1, |w, a| next(w, "read-char", a[0], false, 1)),
    fixed("%peek-char", 1, |w, a| next(w, "peek-char", a[0], false, 0)),
    fixed("%read-line", 1, read_line),
    fixed("%read-string", 2, read_string),
    fixed("%char-ready?", 1, |w, a| w.port("char-ready?", a[0], true, false).map(|_| Value::TRUE)),
    fixed("%read-u8", 1, |w, a| next(w, "read-u8", a[0], true, 1)),
    fixed("%peek-u8", 1, |w, a| next(w, "peek-u8", a[0], true, 0)),
    fixed("%u8-ready?", 1, |w, a| w.port("u8-ready?", a[0], true, true).map(|_| Value::TRUE)),
    fixed("%read-bytevector", 2, read_bytes),
    fixed("eof-object", 0, |_, _| Ok(Value::EOF)),
    fixed("eof-object?", 1, |_, a| Ok(Value::boolean(a[0] == Value::EOF))),
    fixed("void", 0, |_, _| Ok(Value::UNSPECIFIED)),
    fixed("%console-port", 0, |w, _| Ok(Port::open(&mut w.heap, PortKind::Console, &[]))),
    fixed("open-input-string", 1, |w, a| {
        let chars = w.text_chars("open-input-string", a[0])?;
        let items: Vec<Value> = chars.into_iter().map(Value::char).collect();
        Ok(Port::open(&mut w.heap, PortKind::TextInput, &items))
    }),
    fixed("open-output-string", 0, |w, _| Ok(Port::open(&mut w.heap, PortKind::TextOutput, &[]))),
    fixed("get-output-string", 1, |w, a| {
        let port = collecting(w, "get-output-string", "a string output port", PortKind::TextOutput, a[0])?;
        let chars: Vec<char> = port.written(&w.heap).into_iter().filter_map(Value::as_char).collect();
        w.heap.ensure(chars.len())?;
        w.spend(chars.len() / 8);
        Ok(w.heap.string_from_chars(&chars))
    }),
    fixed("open-input-bytevector", 1, |w, a| {
        let bytes = w.byte_range("open-input-bytevector", &a[..1], 1)?;
        let items: Vec<Value> = bytes.into_iter().map(|b| Value::fixnum(b.into())).collect();
        w.heap.ensure(items.len())?;
        Ok(Port::open(&mut w.heap, PortKind::BinaryInput, &items))
    }),
    fixed("open-output-bytevector", 0, |w, _| Ok(Port::open(&mut w.heap, PortKind::BinaryOutput, &[]))),
    fixed("get-output-bytevector", 1, |w, a| {
        let port = collecting(w, "get-output-bytevector", "a bytevector output port", PortKind::BinaryOutput, a[0])?;
        let bytes = bytes_of(&port.written(&w.heap));
        Ok(w.heap.bytevector(&bytes))
    }),
    port_test!("port?", |_| true),
    port_test!("input-port?", PortKind::is_input),
    port_test!("output-port?", |kind| !kind.is_input()),
    port_test!("textual-port?", |kind| !kind.is_binary()),
    port_test!("binary-port?", PortKind::is_binary),
    fixed("input-port-open?", 1, |w, a| is_open(w, "input-port-open?", "an input port", a[0], true)),
    fixed("output-port-open?", 1, |w, a| is_open(w, "output-port-open?", "an output port", a[0], false)),
    fixed("close-port", 1, |w, a| close(w, "close-port", a[0])),
    fixed("close-input-port", 1, |w, a| close(w, "close-input-port", a[0])),
    fixed("close-output-port", 1, |w, a| close(w, "close-output-port", a[0])),
];

fn print(world: &mut World, who: &str, args: &[Value], style: Style) -> Result<Value, Error> {
    let port = world.port(who, args[1], false, false)?;
    let room = world.room(args[1]);
    if port.kind != PortKind::Console {
        let text = world.text_of(args[0], style, room)?;
        world.heap.look()?;
        return world.print(who, args[1], &text).map(|()| Value::UNSPECIFIED);
    }
    // One byte too many for the console: its own error says by how much the limit is passed.
    let (text, shown) = world.text_with_numbers(args[0], style, room);
    world.heap.look()?;
    let pieces = world.pieces(shown, world.output.text.len());
    world.print(who, args[1], &text)?;
    world.output.pieces.extend(pieces);
    Ok(Value::UNSPECIFIED)
}

fn collecting(world: &World, who: &str, what: &str, kind: PortKind, v: Value) -> Result<Port, Error> {
    Port::of(&world.heap, v).filter(|p| p.kind == kind).ok_or_else(|| world.wrong_type(who, what, v))
}

fn bytes_of(items: &[Value]) -> Vec<u8> {
    items.iter().filter_map(|v| v.as_fixnum()).map(|b| b as u8).collect()
}

fn write_bytes(world: &mut World, who: &str, port: Value, bytes: &[u8]) -> Result<Value, Error> {
    let port = world.port(who, port, false, true)?;
    world.heap.ensure(3 * bytes.len())?;
    world.spend(bytes.len() / 4);
    let items: Vec<Value> = bytes.iter().map(|&b| Value::fixnum(b.into())).collect();
    port.write(&mut world.heap, &items)?;
    Ok(Value::UNSPECIFIED)
}

/// The next character or byte; `taken` of them are taken.
fn next(world: &mut World, who: &str, port: Value, binary: bool, taken: usize) -> Result<Value, Error> {
    let port = world.port(who, port, true, binary)?;
    let item = port.peek(&world.heap);
    if item.is_some() {
        port.skip(&mut world.heap, taken);
    }
    Ok(item.unwrap_or(Value::EOF))
}

fn read_line(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let port = world.port("read-line", args[0], true, false)?;
    let mut line = Vec::new();
    while let Some(c) = port.peek(&world.heap).and_then(Value::as_char) {
        port.skip(&mut world.heap, 1);
        if c == '\n' {
            world.spend(line.len() / 4);
            return Ok(world.heap.string_from_chars(&line));
        }
        line.push(c);
    }
    world.spend(line.len() / 4);
    Ok(if line.is_empty() { Value::EOF } else { world.heap.string_from_chars(&line) })
}

fn read_string(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let n = world.index("read-string", args[0])?;
    let port = world.port("read-string", args[1], true, false)?;
    let chars: Vec<char> = port.rest(&world.heap, n).into_iter().filter_map(Value::as_char).collect();
    if chars.is_empty() && n > 0 {
        return Ok(Value::EOF);
    }
    world.heap.ensure(chars.len())?;
    world.spend(chars.len() / 4);
    port.skip(&mut world.heap, chars.len());
    Ok(world.heap.string_from_chars(&chars))
}

fn read_bytes(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let n = world.index("read-bytevector", args[0])?;
    let port = world.port("read-bytevector", args[1], true, true)?;
    let bytes = bytes_of(&port.rest(&world.heap, n));
    if bytes.is_empty() && n > 0 {
        return Ok(Value::EOF);
    }
    world.heap.ensure(bytes.len())?;
    world.spend(bytes.len() / 4);
    port.skip(&mut world.heap, bytes.len());
    Ok(world.heap.bytevector(&bytes))
}

/// The next datum of a port. What is left of a long port is looked at piece by piece, in growing pieces,
/// so that reading many data from one port does not take quadratic time.
fn read(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let port = world.port("read", args[0], true, false)?;
    let mut most = 256;
    loop {
        let text: String = port.rest(&world.heap, most).into_iter().filter_map(Value::as_char).collect();
        let count = text.chars().count();
        world.heap.ensure(count)?;
        world.spend(count / 4);
        let is_all = count < most;
        let result = reader::read_one(&mut world.heap, &text, 0);
        match result {
            // A token that ends where the piece ends may go on in the next one.
            Ok(Some((datum, end))) if is_all || end < text.len() => {
                port.skip(&mut world.heap, text[..end].chars().count());
                return Ok(world.fit_all(datum));
            }
            Ok(None) if is_all => {
                port.skip(&mut world.heap, count);
                return Ok(Value::EOF);
            }
            Err(mut error) if is_all => {
                // Spans of this text mean nothing outside of it.
                error.labels.clear();
                return Err(error);
            }
            _ => most *= 2,
        }
    }
}

fn is_open(world: &World, who: &str, what: &str, v: Value, input: bool) -> Result<Value, Error> {
    match Port::of(&world.heap, v) {
        Some(port) if port.kind.is_input() == input => Ok(Value::boolean(port.is_open(&world.heap))),
        _ => Err(world.wrong_type(who, what, v)),
    }
}

fn close(world: &mut World, who: &str, v: Value) -> Result<Value, Error> {
    let port = Port::of(&world.heap, v).ok_or_else(|| world.wrong_type(who, "a port", v))?;
    // The console stays: whatever comes later must not be lost.
    if port.kind != PortKind::Console {
        port.close(&mut world.heap);
    }
    Ok(Value::UNSPECIFIED)
}
