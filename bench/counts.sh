#!/usr/bin/env bash
# Counts the instructions of a few fixed cases (crates/dmci/examples/counts.rs) and compares them with those that are
# expected: counts are the same on a busy machine, so that they show what timings hide.
#
#   bench/counts.sh           fails if a case needs 10% more than bench/results/counts.txt says
#   bench/counts.sh --bless   writes bench/results/counts.txt anew; read the diff
#
# The profile is that of the tests, which have built everything already. Valgrind counts; without it, or on a
# processor without AVX2 and FMA, where plans take another way, nothing is compared. With CI=true Valgrind must be there.
set -euo pipefail
cd "$(dirname "$0")/.."
expected=bench/results/counts.txt
bless=no
case "${1:-}" in
  "") ;;
  --bless) bless=yes ;;
  *) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

skip() { echo "counts: skipped, $1"; exit 0; }
grep -qw avx2 /proc/cpuinfo 2>/dev/null && grep -qw fma /proc/cpuinfo || skip "this processor has no AVX2 and FMA"
if ! command -v valgrind >/dev/null; then
  [ "${CI:-}" != true ] || { echo "counts: Valgrind is missing; scripts/setup.sh installs it" >&2; exit 1; }
  skip "Valgrind is missing (Debian: valgrind)"
fi

# The same packages as in scripts/test.sh, so that nothing is built twice. How crates are cut into units of compilation
# changes what is inlined, and counts by a tenth: here as it is there.
export CARGO_INCREMENTAL=0
cargo build --quiet --profile test --workspace --exclude dmci-sample --example counts
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
valgrind --quiet --tool=callgrind --callgrind-out-file="$folder/counted" --combine-dumps=yes \
  --dump-before='counts::mark*' "${CARGO_TARGET_DIR:-target}/debug/examples/counts" >"$folder/names" 2>"$folder/messages" ||
  {
    # Valgrind 3.19 stops at some instructions that are valid. Nothing was compared then.
    ! grep -q "the 'impossible' happened" "$folder/messages" || skip "Valgrind itself failed: $(grep -m1 -i assertion "$folder/messages")"
    cat "$folder/messages" >&2
    exit 1
  }

# Every second part of the file is the work of a case; the others are what surrounds them.
awk '/^totals:/ && ++part % 2 == 0 { print $2 }' "$folder/counted" >"$folder/counts"
[ "$(wc -l <"$folder/counts")" = "$(wc -l <"$folder/names")" ] ||
  { echo "counts: $(wc -l <"$folder/names") cases, but $(wc -l <"$folder/counts") counts" >&2; exit 1; }
paste -d' ' "$folder/names" "$folder/counts" >"$folder/found"

if [ $bless = yes ]; then
  cp "$folder/found" "$expected"
  echo "counts: $expected is written"
fi
awk '
  FNR == NR { expected[$1] = $2; next }
  !($1 in expected) { printf "%-28s %12d  new\n", $1, $2; missing = 1; next }
  {
    change = $2 / expected[$1] - 1
    verdict = change > 0.10 ? "  more than expected" : change < -0.10 ? "  less than expected" : ""
    printf "%-28s %12d  %+6.2f%%%s\n", $1, $2, 100 * change, verdict
    more = more || change > 0.10
    less = less || change < -0.10
    delete expected[$1]
  }
  END {
    for (name in expected) { printf "%-28s is expected, and no longer counted\n", name; missing = 1 }
    if (more || missing) { print "counts: if this is meant, bench/counts.sh --bless"; exit 1 }
    if (less) print "counts: better than before; bench/counts.sh --bless keeps it so"
  }
' "$expected" "$folder/found"
