//! Bytevectors.

use super::{Primitive, at_least, between, fixed};
use crate::world::World;
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error, Kind, Ref, Value};

/// The rows of this file.
pub const PRIMITIVES: &[Primitive] = &[
    fixed("bytevector?", 1, |w, a| Ok(Value::boolean(w.heap.as_kind(a[0], Kind::Bytevector).is_some()))),
    between("make-bytevector", 1, 2, |w, a| {
        let n = w.index("make-bytevector", a[0])?;
        let fill = a.get(1).map_or(Ok(0), |&v| w.byte("make-bytevector", v))?;
        w.heap.ensure(n / 8)?;
        w.spend(n / 64);
        Ok(w.heap.bytevector(&vec![fill; n]))
    }),
    at_least("bytevector", 0, |w, a| {
        let bytes = a.iter().map(|&v| w.byte("bytevector", v)).collect::<Result<Vec<_>, _>>()?;
        Ok(w.heap.bytevector(&bytes))
    }),
    fixed("bytevector-length", 1, |w, a| Ok(Value::fixnum(w.bytevector("bytevector-length", a[0])?.1 as i64))),
    fixed("bytevector-u8-ref", 2, |w, a| {
        let (r, length) = w.bytevector("bytevector-u8-ref", a[0])?;
        let i = w.index_below("bytevector-u8-ref", a[1], length)?;
        Ok(Value::fixnum((w.heap.raw(r)[1 + i / 8] >> (8 * (i & 7)) & 0xFF) as i64))
    }),
    fixed("bytevector-u8-set!", 3, |w, a| {
        let (r, length) = w.bytevector("bytevector-u8-set!", a[0])?;
        let i = w.index_below("bytevector-u8-set!", a[1], length)?;
        let byte = w.byte("bytevector-u8-set!", a[2])?;
        w.heap.store_byte(r, i, byte);
        Ok(Value::UNSPECIFIED)
    }),
    between("bytevector-copy", 1, 3, |w, a| {
        let bytes = w.byte_range("bytevector-copy", a, 1)?;
        Ok(w.heap.bytevector(&bytes))
    }),
    between("bytevector-copy!", 3, 5, copy_into),
    between("bytevector-fill!", 2, 4, |w, a| {
        let (r, length) = w.bytevector("bytevector-fill!", a[0])?;
        let fill = w.byte("bytevector-fill!", a[1])?;
        let (start, end) = w.range("bytevector-fill!", a, 2, length)?;
        w.spend(end - start);
        (start..end).for_each(|i| w.heap.store_byte(r, i, fill));
        Ok(Value::UNSPECIFIED)
    }),
    at_least("bytevector-append", 0, |w, a| {
        let mut bytes = Vec::new();
        for &v in a {
            bytes.extend(w.byte_range("bytevector-append", &[v], 1)?);
            w.heap.ensure(bytes.len() / 8)?;
        }
        Ok(w.heap.bytevector(&bytes))
    }),
    between("utf8->string", 1, 3, |w, a| {
        let bytes = w.byte_range("utf8->string", a, 1)?;
        match std::str::from_utf8(&bytes) {
            Ok(text) => w.new_string(text),
            Err(e) => {
                let message = format!("utf8->string: the bytes from {} on are not UTF-8", e.valid_up_to());
                Err(Diagnostic::error(ErrorCode::E0303, message))
            }
        }
    }),
    between("string->utf8", 1, 3, |w, a| {
        let text: String = w.text_range("string->utf8", a, 1)?.into_iter().collect();
        Ok(w.heap.bytevector(text.as_bytes()))
    }),
];

impl World {
    /// A byte argument.
    pub fn byte(&self, who: &str, v: Value) -> Result<u8, Error> {
        let byte = v.as_fixnum().and_then(|i| u8::try_from(i).ok());
        byte.ok_or_else(|| self.wrong_type(who, "an exact integer from 0 to 255", v))
    }

    /// A bytevector argument and its length.
    pub fn bytevector(&self, who: &str, v: Value) -> Result<(Ref, usize), Error> {
        let r = self.object(who, "a bytevector", Kind::Bytevector, v)?;
        Ok((r, self.heap.raw(r)[0] as usize))
    }

    /// The bytes of `args[from - 1]` between the optional bounds from `args[from]` on.
    pub fn byte_range(&mut self, who: &str, args: &[Value], from: usize) -> Result<Vec<u8>, Error> {
        let (_, length) = self.bytevector(who, args[from - 1])?;
        let (start, end) = self.range(who, args, from, length)?;
        self.heap.ensure((end - start) / 8)?;
        self.spend(length / 64);
        let bytes = self.heap.bytes(args[from - 1]).expect("it is a bytevector");
        Ok(bytes[start..end].to_vec())
    }
}

/// `(bytevector-copy! to at from [start end])`; the source is read first, so overlap is no problem.
fn copy_into(world: &mut World, args: &[Value]) -> Result<Value, Error> {
    let who = "bytevector-copy!";
    let (to, room) = world.bytevector(who, args[0])?;
    let at = world.index_below(who, args[1], room + 1)?;
    let bytes = world.byte_range(who, args, 3)?;
    world.range(who, &[args[1], Value::fixnum((at + bytes.len()) as i64)], 0, room)?;
    for (i, &byte) in bytes.iter().enumerate() {
        world.heap.store_byte(to, at + i, byte);
    }
    Ok(Value::UNSPECIFIED)
}
