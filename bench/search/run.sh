#!/bin/sh
# Measures `dmci search` on one core and keeps the last lines in bench/results/search-*.txt.
#
#   bench/search/run.sh [speed|nguyen|noise|lines|levels|llmsr|ablation]...
#
# speed: new hypotheses per second on three tables of 200 rows, and where the time goes; nguyen: the twelve problems with
# five seeds, 10 s each; noise and lines: 100 tables each that have no structure, or that of a line; levels: what each
# level of sameness finds among hypotheses, and what it costs; llmsr: the four sets of LLM-SR; ablation: laws of Feynman with
# one part of the search switched off. Seconds are those of the processor. Fails below the bars that each of them prints.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
cargo build --release --quiet --manifest-path "$root/Cargo.toml" --target-dir "$target" -p dmci-search --example bench
pin=
command -v taskset >/dev/null 2>&1 && pin="taskset -c 0"
[ $# -gt 0 ] || set -- speed nguyen noise lines
failed=
for what in "$@"; do
    $pin "$target/release/examples/bench" "$what" >"$target/search-$what.txt" || failed="$failed $what"
    lines=8
    [ "$what" = ablation ] && lines=12
    tail -n $lines "$target/search-$what.txt" | tee "$root/bench/results/search-$what.txt"
done
[ -z "$failed" ] || { echo "below the bar:$failed" >&2; exit 1; }
