#!/bin/sh
# Fits the NIST problems and the models of the corpus with noise beside SciPy: losses and times.
#
#   bench/scipy.sh [--only NAME]
#
# SciPy comes from PyPI, into bench/.venv-scipy, which is made the first time. The exit status is 1 if our loss
# is worse in more than 2% of the cases. The data come from the folder that DMCI_SHARED names (../shared).
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
venv=$root/bench/.venv-scipy
if ! "$venv/bin/python" -c 'import scipy' 2>/dev/null; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check scipy
fi
target=${CARGO_TARGET_DIR:-$root/target}
cargo build --release --quiet --manifest-path "$root/Cargo.toml" --target-dir "$target" -p dmci-fit --example batch
exec "$venv/bin/python" "$root/bench/scipy/compare.py" "$target/release/examples/batch" "${DMCI_SHARED:-$root/../shared}" "$@"
