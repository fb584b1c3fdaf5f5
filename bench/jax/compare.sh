#!/bin/sh
# Compares every program file of crates/dmci-repro/models with JAX: values, gradients, Hessians.
#
#   bench/jax/compare.sh [--quick] [--only NAME]
#
# --quick takes fewer points; --only takes the models whose file name starts so. JAX comes from PyPI, into
# bench/.venv, which is made the first time. The exit status is 1 if anything differs.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
venv=$root/bench/.venv
if ! "$venv/bin/python" -c 'import jax' 2>/dev/null; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
fi
target=${CARGO_TARGET_DIR:-$root/target}
cargo build --release --quiet --manifest-path "$root/Cargo.toml" --target-dir "$target" -p dmci-cli
exec "$venv/bin/python" "$here/compare.py" "$target/release/dmci" "$root/crates/dmci-repro/models" "$@"
