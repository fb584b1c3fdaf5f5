//! The system: library and evaluator, compiled from `scheme/` when this crate is built.

use dmci_compile::ncg;
use dmci_value::Error;
use dmci_vm::{Image, boot, prims};
use std::time::{Duration, Instant};

/// The evaluator's text: what a tower runs as data.
pub const EVALUATOR: &str = include_str!("../scheme/eval.scm");

/// The compiled units in order of loading, each with its length before it (see `build.rs`).
const UNITS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/system.bin"));

/// Loads the system.
pub(crate) fn image() -> Result<Image, Error> {
    let mut graphs = Vec::new();
    for bytes in units() {
        graphs.push(ncg::decode(bytes, prims::set())?.graph);
    }
    boot::image(&graphs)
}

/// The `.ncg` bytes of the units.
fn units() -> impl Iterator<Item = &'static [u8]> {
    let mut rest = UNITS;
    std::iter::from_fn(move || {
        let (length, tail) = rest.split_first_chunk::<4>()?;
        let (unit, tail) = tail.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        rest = tail;
        Some(unit)
    })
}

/// The compiled evaluator, as `dmci compile` writes it.
pub fn evaluator_ncg() -> &'static [u8] {
    units().last().unwrap_or_default()
}

/// How long compiling the evaluator takes here and now, and the size of the result.
pub fn measure_evaluator() -> (Duration, usize) {
    let start = Instant::now();
    let unit = boot::compile_unit("eval.scm", EVALUATOR);
    let size = unit.map_or(0, |unit| ncg::encode(&unit).len());
    (start.elapsed(), size)
}
