//! Integers, strings, lists and constants as bytes.

use super::malformed;
use crate::constant::Constant;
use dmci_value::{Error, SpanId};

/// Constants nest at most this deep, as texts do.
const MAX_NESTING: usize = 10_000;

/// Collects bytes.
#[derive(Default)]
pub struct Writer {
    /// What was written.
    pub bytes: Vec<u8>,
}

impl Writer {
    pub fn byte(&mut self, b: u8) {
        self.bytes.push(b);
    }

    /// Seven bits a byte, lowest first.
    pub fn int(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.bytes.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.bytes.push(n as u8);
    }

    pub fn string(&mut self, s: &str) {
        self.int(s.len() as u64);
        self.bytes.extend_from_slice(s.as_bytes());
    }

    pub fn list<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.int(items.len() as u64);
        for item in items {
            each(self, item);
        }
    }

    pub fn constant(&mut self, c: &Constant) {
        match c {
            Constant::Fixnum(i) => {
                self.byte(0);
                self.int((i << 1 ^ i >> 63) as u64);
            }
            Constant::Bignum(digits) => {
                self.byte(1);
                self.string(digits);
            }
            Constant::Real(x) => {
                self.byte(2);
                self.bytes.extend_from_slice(&x.to_bits().to_le_bytes());
            }
            Constant::Bool(b) => self.byte(3 + *b as u8),
            Constant::Nil => self.byte(5),
            Constant::Unspecified | Constant::Live(_) => self.byte(6),
            Constant::Eof => self.byte(7),
            Constant::Char(c) => {
                self.byte(8);
                self.int(*c as u64);
            }
            Constant::String(s) => {
                self.byte(9);
                self.string(s);
            }
            Constant::Symbol(s) => {
                self.byte(10);
                self.string(s);
            }
            Constant::List(items, tail, places) => {
                self.byte(11);
                self.list(items, Writer::constant);
                self.constant(tail);
                self.list(places, |w, place| w.int(place.0.into()));
            }
            Constant::Vector(items) => {
                self.byte(12);
                self.list(items, Writer::constant);
            }
            Constant::Bytes(bytes) => {
                self.byte(13);
                self.int(bytes.len() as u64);
                self.bytes.extend_from_slice(bytes);
            }
        }
    }
}

/// Takes bytes apart; every step checks what it reads.
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, at: 0 }
    }

    pub fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    pub fn byte(&mut self) -> Result<u8, Error> {
        let b = *self.bytes.get(self.at).ok_or_else(|| malformed("it ends too early"))?;
        self.at += 1;
        Ok(b)
    }

    pub fn int(&mut self) -> Result<u64, Error> {
        let mut n = 0u64;
        for shift in (0..64).step_by(7) {
            let b = self.byte()?;
            n |= ((b & 0x7F) as u64) << shift;
            if b & 0x80 == 0 {
                return Ok(n);
            }
        }
        Err(malformed("an integer is too long"))
    }

    pub fn int32(&mut self) -> Result<u32, Error> {
        u32::try_from(self.int()?).map_err(|_| malformed("an index is too large"))
    }

    fn take(&mut self, n: u64) -> Result<&'a [u8], Error> {
        let end = usize::try_from(n).ok().and_then(|n| self.at.checked_add(n)).filter(|&e| e <= self.bytes.len());
        let end = end.ok_or_else(|| malformed("it ends too early"))?;
        let part = &self.bytes[self.at..end];
        self.at = end;
        Ok(part)
    }

    pub fn string(&mut self) -> Result<String, Error> {
        let n = self.int()?;
        let bytes = self.take(n)?;
        String::from_utf8(bytes.to_vec()).map_err(|_| malformed("a string is not UTF-8"))
    }

    /// A list; its length is checked against the bytes that are left before anything is reserved.
    pub fn list<T>(&mut self, mut each: impl FnMut(&mut Self) -> Result<T, Error>) -> Result<Vec<T>, Error> {
        let n = self.int()?;
        if n > (self.bytes.len() - self.at) as u64 {
            return Err(malformed("a list is longer than the file"));
        }
        (0..n).map(|_| each(self)).collect()
    }

    pub fn constant(&mut self, depth: usize) -> Result<Constant, Error> {
        if depth > MAX_NESTING {
            return Err(malformed("a constant is nested too deeply"));
        }
        Ok(match self.byte()? {
            0 => {
                let n = self.int()?;
                let i = (n >> 1) as i64 ^ -((n & 1) as i64);
                if !(dmci_value::FIXNUM_MIN..=dmci_value::FIXNUM_MAX).contains(&i) {
                    return Err(malformed("a small integer is too large"));
                }
                Constant::Fixnum(i)
            }
            1 => {
                let digits = self.string()?;
                let unsigned = digits.strip_prefix('-').unwrap_or(&digits);
                if unsigned.is_empty() || unsigned.len() > 160_000 || !unsigned.bytes().all(|b| b.is_ascii_digit()) {
                    return Err(malformed("a large integer has bad digits"));
                }
                Constant::Bignum(digits)
            }
            2 => {
                let bytes = self.take(8)?;
                let bits = u64::from_le_bytes(bytes.try_into().map_err(|_| malformed("it ends too early"))?);
                Constant::Real(f64::from_bits(bits))
            }
            3 => Constant::Bool(false),
            4 => Constant::Bool(true),
            5 => Constant::Nil,
            6 => Constant::Unspecified,
            7 => Constant::Eof,
            8 => {
                let c = self.int32()?;
                Constant::Char(char::from_u32(c).ok_or_else(|| malformed("a character does not exist"))?)
            }
            9 => Constant::String(self.string()?),
            10 => Constant::Symbol(self.string()?),
            11 => {
                let items = self.list(|r| r.constant(depth + 1))?;
                let tail = Box::new(self.constant(depth + 1)?);
                Constant::List(items, tail, self.list(|r| Ok(SpanId(r.int32()?)))?)
            }
            12 => Constant::Vector(self.list(|r| r.constant(depth + 1))?),
            13 => {
                let n = self.int()?;
                Constant::Bytes(self.take(n)?.to_vec())
            }
            _ => return Err(malformed("a constant has an unknown kind")),
        })
    }
}
