#!/bin/sh
# ODEBench: `dmci search --ode` on the systems of sr_odebench, clean and with two kinds of noise; the table goes into
# docs/search-ode.md.
#
#   bench/search/odebench/run.sh [SECONDS] [SEED]
#
# SECONDS is the time limit of each search (6). Two searches run at a time, each on one thread. The data are found by
# DMCI_SHARED.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
cargo build --release --quiet --manifest-path "$root/Cargo.toml" --target-dir "$target" -p dmci-cli
for noise in none additive multiplicative; do
    python3 "$here/odebench.py" "$target/release/dmci" --noise $noise --seconds "${1:-6}" --seed "${2:-0}" \
        --out "$root/bench/results/search-odebench-$noise.json"
done
python3 "$here/report.py"
