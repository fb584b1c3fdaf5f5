#!/usr/bin/env bash
# The test command: formatting, lints, all tests with the documentation's examples, fuzzing, counts of instructions.
#
#   scripts/test.sh --fast   formatting, lints and tests of the Rust crates, without fuzzing, generated programs,
#                            Python and experiments; under 3 minutes when everything is compiled
#   scripts/test.sh          everything that a change must pass, the portable tier, the Python package with NumPy and the
#                            experiments in the small too; at most 20 minutes on two cores
#   scripts/test.sh --long   all tests of the portable tier, more generated programs, 10 minutes of fuzzing for each target, the sampler, every
#                            crate from its package, the conformance tests on Guile and MIT Scheme, comparisons with faer
#                            and JAX, the Python package with JAX, PyTorch, scikit-learn, OpenEvolve and
#                            notebooks, and the benchmarks
#
# DMCI_FUZZ_SECONDS sets the time per fuzz target. DMCI_SHARED names the folder of shared test data
# (default ../shared); tests that need it are skipped with a message without it.
set -euo pipefail
cd "$(dirname "$0")/.."

long=no
fast=no
case "${1:-}" in
  "") ;;
  --fast) fast=yes ;;
  --long) long=yes ;;
  *) sed -n '2,15s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

# Nothing is built twice here: what incremental builds keep for the next one would only take time and disk.
export CARGO_INCREMENTAL=0

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# The counts of all suites so far.
summary() {
  awk -v seconds=$SECONDS '
    /^test result:/ { passed += $4; failed += $6; ignored += $8; suites++ }
    END { printf "\n%d passed, %d failed, %d ignored in %d suites; %d s\n", passed, failed, ignored, suites, seconds }
  ' "$log"
}

section() {
  local name=$1 start=$SECONDS
  shift
  printf '\n== %s\n' "$name"
  if ! "$@"; then
    printf '== %s FAILED after %d s\n' "$name" $((SECONDS - start))
    summary
    exit 1
  fi
  printf '== %s: %d s\n' "$name" $((SECONDS - start))
}

setup() { if [ $long = yes ]; then scripts/setup.sh --peers; else scripts/setup.sh; fi; }

# The sampler comes with a library that takes minutes to compile.
tests() { cargo test --workspace --exclude dmci-sample --features dmci-cli/journal --no-fail-fast 2>&1 | tee "$log"; }
# Tests whose time goes into experiments, generated programs and statistics are left to the whole command.
fast_tests() {
  cargo test --workspace --exclude dmci-sample --exclude dmci-fuzz --exclude dmci-repro \
    --features dmci-cli/journal --no-fail-fast -- \
    --skip results_are_written_checked_and_drawn --skip the_results_of_this_repository_are_right \
    --skip intervals_of_least_squares_cover_the_truth --skip intervals_of_likelihoods_cover_the_truth 2>&1 | tee "$log"
}
# What processors without machine code get. Its bits must be the same, so the usual tests serve; the default is those of
# kernels, of executors, of the corpus and of fits.
portable() {
  local tests=(--test kernels --test native --test loops --test corpus --test lanes --test fits)
  if [ $long = yes ]; then tests=(); fi
  cargo test --no-default-features -p dmci-ops -p dmci-exec -p dmci -p dmci-fit "${tests[@]}" --no-fail-fast 2>&1 |
    tee -a "$log"
}
# The paper's experiments in the small, by the command that people use; their claims are printed, not enforced.
experiments() { "${CARGO_TARGET_DIR:-target}/debug/dmci" repro all --quick; }
documentation() { RUSTDOCFLAGS="-D warnings" cargo doc --workspace --exclude dmci-sample --no-deps --quiet; }
sampler() { cargo test -p dmci-sample -p dmci-cli --features dmci-cli/sample 2>&1 | tee -a "$log"; }

[ $fast = yes ] || section "tools" setup
[ -f "${HOME:-}/.cargo/env" ] && . "${HOME:-}/.cargo/env"
if [ $long = yes ]; then
  export DMCI_LONG=1
else
  export DMCI_FUZZ_SECONDS="${DMCI_FUZZ_SECONDS:-20}"
fi

section "formatting" cargo fmt --all --check
section "lints" cargo clippy --workspace --exclude dmci-sample --features dmci-cli/journal --all-targets --quiet -- -D warnings
if [ $fast = yes ]; then
  section "tests and documentation examples" fast_tests
  summary
  exit 0
fi
section "tests, documentation examples and fuzzing" tests
section "portable tier" portable
if [ $long = yes ]; then section "Python" scripts/python.sh --long; else section "Python" scripts/python.sh; fi
section "experiments, small" experiments
section "counts of instructions" bench/counts.sh
section "documentation without warnings" documentation
if [ $long = yes ]; then
  section "sampler" sampler
  section "crates from their packages" scripts/package.sh
  section "agents by the official client" scripts/mcp.sh
  section "answers within our grammar by llama.cpp" scripts/gbnf.sh
  section "conformance on Guile and MIT Scheme" scripts/conformance-peers.sh
  section "linear algebra beside faer" cargo test --release --manifest-path oracles/faer/Cargo.toml
  section "values and derivatives beside JAX" bench/jax/compare.sh
  section "the Kalman likelihood beside dynamax" scripts/dynamax.sh
  section "benchmarks" bench/language.sh
fi

summary
