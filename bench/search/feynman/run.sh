#!/bin/sh
# The laws of sr_feynman: `dmci search` beside pyoperon and gplearn on the same tables, with as many seconds of one core
# and the same test of recovery.
#
#   bench/search/feynman/run.sh SECONDS [PYTHON]
#
# PYTHON has pyoperon 0.6.2 and gplearn 0.4.3; without it the search runs alone. The data are found by DMCI_SHARED.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
seconds=${1:?seconds for each law}
python=${2:-}
target=${CARGO_TARGET_DIR:-$root/target}
cargo build --release --quiet --manifest-path "$root/Cargo.toml" --target-dir "$target" -p dmci-search --example bench
bench=$target/release/examples/bench
out=$target/feynman
"$bench" feynman-tables "$out/tables"
"$bench" feynman "$seconds" >"$out/dmci.txt" || true
tail -n 1 "$out/dmci.txt"
[ -n "$python" ] || exit 0
for tool in operon gplearn; do
    "$python" "$here/peers.py" $tool "$out/tables" "$out/$tool.answers" "$seconds"
    "$bench" feynman-answers "$out/$tool.answers" >"$out/$tool.txt"
done
"$python" "$here/compare.py" "$out/dmci.txt" "$out/operon.txt" "$out/gplearn.txt"
