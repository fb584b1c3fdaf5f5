//! `.ncg` files: a compiled program with its source. Versioned, checksummed, and validated on
//! load, so that no file, however made, can do more than fail. The same program gives the same bytes.

mod codec;
mod graph;

use crate::constant::Constant;
use crate::graph::Graph;
use crate::primitives::PrimitiveSet;
use crate::verify;
use codec::{Reader, Writer};
use dmci_value::ErrorCode;
use dmci_value::{Diagnostic, Error};

const MAGIC: &[u8; 8] = b"DMCI-NCG";
/// The version of the format.
pub const VERSION: u32 = 1;

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Unit {
    /// Name of the source.
    pub name: String,
    /// The source text.
    pub source: String,
    /// The core forms, as data.
    pub core: Vec<Constant>,
    /// The compiled form.
    pub graph: Graph,
}

/// The bytes of a file.
pub fn encode(unit: &Unit) -> Vec<u8> {
    let mut w = Writer::default();
    w.string(&unit.name);
    w.string(&unit.source);
    w.list(&unit.core, |w, c| w.constant(c));
    w.graph(&unit.graph);
    let payload = w.bytes;
    let mut bytes = Vec::with_capacity(payload.len() + 20);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&checksum(&payload).to_le_bytes());
    bytes.extend_from_slice(&payload);
    bytes
}

/// Whether the bytes look like such a file.
pub fn is_ncg(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// The content of a file, validated.
pub fn decode(bytes: &[u8], primitives: &PrimitiveSet) -> Result<Unit, Error> {
    if !is_ncg(bytes) {
        return Err(malformed("it does not start like a .ncg file"));
    }
    let header = bytes.get(8..20).ok_or_else(|| malformed("it ends inside its header"))?;
    let version = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
    if version != VERSION {
        return Err(Diagnostic::error(
            ErrorCode::E0903,
            format!("this .ncg file has version {version}, not {VERSION}"),
        )
        .help("compile its source again with this dmci"));
    }
    let payload = &bytes[20..];
    let stored = u64::from_le_bytes(header[4..12].try_into().map_err(|_| malformed("it ends inside its header"))?);
    if checksum(payload) != stored {
        return Err(Diagnostic::error(
            ErrorCode::E0904,
            "the checksum of this .ncg file is wrong: it was changed or cut off",
        )
        .help("compile its source again"));
    }
    let mut r = Reader::new(payload);
    let unit = Unit { name: r.string()?, source: r.string()?, core: r.list(|r| r.constant(0))?, graph: r.graph()? };
    if !r.is_at_end() {
        return Err(malformed("there is something behind its end"));
    }
    verify::verify(&unit.graph, primitives).map_err(|why| malformed(&why))?;
    Ok(unit)
}

fn malformed(why: &str) -> Error {
    Diagnostic::error(ErrorCode::E0902, format!("malformed .ncg file: {why}")).help("compile its source again")
}

/// FNV-1a, 64 bits: against accidents, not against malice; validation is against malice.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, &b| (h ^ b as u64).wrapping_mul(0x0100_0000_01b3))
}
