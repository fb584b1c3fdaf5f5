//! Compiles the system's Scheme into the binary.

use dmci_compile::ncg;
use std::path::Path;

/// In order of loading; the evaluator is last.
const UNITS: &[&str] = &[
    "lib/core.scm",
    "lib/control.scm",
    "lib/lists.scm",
    "lib/vectors.scm",
    "lib/hash-tables.scm",
    "lib/srfi-1.scm",
    "lib/sort.scm",
    "lib/io.scm",
    "lib/streams.scm",
    "lib/derivatives.scm",
    "lib/soft-choice.scm",
    "eval.scm",
];

fn main() {
    // Asked for when it runs: a build directory may outlive the checkout that this script was compiled in.
    let here = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let scheme = Path::new(&here).join("scheme");
    println!("cargo::rerun-if-changed={}", scheme.display());
    let mut bytes = Vec::new();
    for name in UNITS {
        let path = scheme.join(name);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let unit = dmci_vm::boot::compile_unit(name, &text).unwrap_or_else(|errors| {
            let messages: Vec<&str> = errors.iter().map(|e| e.message.as_str()).collect();
            panic!("{name}: {}", messages.join("; "));
        });
        let unit = ncg::encode(&unit);
        bytes.extend_from_slice(&(unit.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&unit);
    }
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    std::fs::write(Path::new(&out).join("system.bin"), bytes).expect("OUT_DIR is writable");
}
