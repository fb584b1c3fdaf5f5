#!/bin/sh
# What calls from Python cost, beside JAX in the same process: the figures of bench/results/python.txt.
#
#   bench/python.sh
#
# Packages come from PyPI, into bench/.venv-python, which is made the first time.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
venv=$root/bench/.venv-python
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -c 'import jax, maturin, numpy' 2>/dev/null ||
    "$venv/bin/pip" install --quiet --disable-pip-version-check jax maturin numpy
target=${CARGO_TARGET_DIR:-$root/target}
wheels=$target/wheels/bench
rm -rf "$wheels"
cd "$root/bindings/python"
CARGO_TARGET_DIR=$target "$venv/bin/maturin" build --quiet --profile quick --no-default-features --out "$wheels"
"$venv/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheels"/dmci-*.whl
cd "$target"
exec "$venv/bin/python" "$root/bench/python/bench.py" "$root"
