#!/bin/sh
# The laws of sr_feynman: `dmci search` without and with units, and beside pyoperon and gplearn on the same tables, with as
# many seconds of one core and the same test of recovery. Keeps what it measured in bench/results/search-feynman.txt.
#
#   bench/search/feynman/run.sh SECONDS [PYTHON]
#
# PYTHON has pyoperon 0.6.2 and gplearn 0.4.3; without it the search runs alone. The data are found by DMCI_SHARED.
# Laws that are not recovered are tried once more with six times as long: LONGER=60 says how long, LONGER=0 that they are not.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
seconds=${1:?seconds for each law}
python=${2:-}
longer=${LONGER:-60}
target=${CARGO_TARGET_DIR:-$root/target}
cargo build --release --quiet --manifest-path "$root/Cargo.toml" --target-dir "$target" -p dmci-search --example bench
bench=$target/release/examples/bench
out=$target/feynman
results=$root/bench/results/search-feynman.txt
mkdir -p "$out"
"$bench" feynman-tables "$out/tables"
for units in plain units; do
    "$bench" feynman "$seconds" all $units >"$out/dmci-$units.txt" || true
    tail -n 1 "$out/dmci-$units.txt"
    failed=$(awk '$2 == "NOT" { printf "%s%s", sep, $1; sep = "," }' "$out/dmci-$units.txt")
    if [ "$longer" != 0 ] && [ -n "$failed" ]; then
        "$bench" feynman "$longer" "$failed" $units >"$out/longer-$units.txt" || true
        tail -n 1 "$out/longer-$units.txt" | sed 's/^/of these, with more time: /'
    fi
done | tee "$results"
for noise in 0.01 0.1; do
    "$bench" feynman "$seconds" third plain $noise >"$out/noise-$noise.txt" || true
    tail -n 1 "$out/noise-$noise.txt"
done | tee -a "$results"
[ -n "$python" ] || exit 0
for tool in operon gplearn; do
    "$python" "$here/peers.py" $tool "$out/tables" "$out/$tool.answers" "$seconds"
    "$bench" feynman-answers "$out/$tool.answers" >"$out/$tool.txt"
done
"$python" "$here/compare.py" "$out/dmci-plain.txt" "$out/operon.txt" "$out/gplearn.txt" | tee -a "$results"
