#!/bin/sh
# Times the programs of bench/language in dmci (direct and dmci mode), Guile 3 and Steel.
#
#   bench/language.sh [--quick]
#
# Prints a table and writes bench/results/language.json (with --quick: language-quick.json).
# Without Guile its column is left out. Steel is a crate, built in a workspace of its own.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
quick=
result=$root/bench/results/language.json
case "${1-}" in
"") ;;
--quick)
    quick=--quick
    result=$root/bench/results/language-quick.json
    ;;
*)
    echo "usage: bench/language.sh [--quick]" >&2
    exit 2
    ;;
esac

target=${CARGO_TARGET_DIR:-$root/target}
runner=$root/bench/language/runner
cargo build --release --quiet --manifest-path "$root/Cargo.toml" --target-dir "$target" -p dmci-cli
cargo build --release --quiet --locked --manifest-path "$runner/Cargo.toml" --target-dir "$target"

guile=
guile_version=none
if command -v guile >/dev/null 2>&1; then
    guile=--guile
    guile_version=$(guile -q -c '(display (version))')
else
    echo "guile is not installed: its column is left out" >&2
fi
steel_version=$(sed -n '/^name = "steel-core"$/{n;s/^version = "\(.*\)"$/\1/p;}' "$runner/Cargo.lock")
cpu=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Steel makes its home directory when it starts: not in the user's.
STEEL_HOME=$scratch "$target/release/language-bench" $quick $guile \
    --directory "$root/bench/language" \
    --dmci "$target/release/dmci" \
    --output "$result" \
    --scratch "$scratch" \
    --fact "date=$(date -u +%Y-%m-%d)" \
    --fact "machine=${cpu:-unknown}, $(nproc) cores, $(uname -sm)" \
    --fact "load=$(cut -d' ' -f1 /proc/loadavg 2>/dev/null || echo unknown)" \
    --fact "rustc=$(rustc --version | cut -d' ' -f2)" \
    --fact "dmci=$(git -C "$root" rev-parse --short HEAD 2>/dev/null || echo unknown)$(
        git -C "$root" diff --quiet HEAD 2>/dev/null || echo ' with changes')" \
    --fact "guile=$guile_version" \
    --fact "steel-core=$steel_version" \
    --fact "command=bench/language.sh${quick:+ $quick}"
echo "written: ${result#"$root"/}"
