#!/bin/sh
# Times models over lanes beside JAX, in turns, in one go.
#
#   bench/run.sh [--quick|--full] [--peers jax,casadi] [--only NAME] [--single] [--shared] [--values]
#                [--threads N] [--publish]
#   bench/run.sh growth [--lanes N]     time and memory by the number of steps
#   bench/run.sh report                 the page, picture and table anew, from the records
#
# Prints speeds as multiples of JAX and writes bench/results/engine*.json with a dated record; --publish makes
# docs/speed.md, docs/speed.svg and the table of README.md from all of these. The peers come from PyPI, into bench/.venv, which is made the first time.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
if [ "${1:-}" = report ]; then
    exec python3 "$root/bench/engine/report.py" "$root"
fi
venv=$root/bench/.venv
if ! "$venv/bin/python" -c 'import jax, casadi' 2>/dev/null; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$root/bench/jax/requirements.txt" casadi
fi
target=${CARGO_TARGET_DIR:-$root/target}
cargo build --release --quiet --manifest-path "$root/bench/engine/Cargo.toml" --target-dir "$target"
cargo build --release --quiet --manifest-path "$root/Cargo.toml" -p dmci-cli --target-dir "$target"
if [ "${1:-}" = growth ]; then
    shift
    exec "$venv/bin/python" "$root/bench/engine/growth.py" "$target/release/engine-bench" "$@"
fi
exec "$venv/bin/python" "$root/bench/engine/run.py" "$target/release/engine-bench" "$root" \
    --dmci "$target/release/dmci" "$@"
