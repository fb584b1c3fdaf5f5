#!/usr/bin/env bash
# Installs what building and testing need: a C linker, Rust (the version that rust-toolchain.toml
# pins), Python for the Python package, and Valgrind for bench/counts.sh. With --peers also Guile 3 and MIT
# Scheme, which only scripts/conformance-peers.sh, the comparison with Guile in the property tests and
# bench/language.sh use.
#
#   scripts/setup.sh [--peers]
#
# What is there already is left alone. Missing peers are no error: what needs them is skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

can_install() { [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; }

updated=no
install() {
  can_install || return 1
  [ $updated = yes ] || { apt-get -qq update >/dev/null && updated=yes; } || return 1
  DEBIAN_FRONTEND=noninteractive apt-get -qq -y install "$@" >/dev/null
}

if ! command -v cc >/dev/null; then
  echo "setup: installing a C linker"
  install gcc libc6-dev || { echo "setup: install a C compiler (Debian: gcc libc6-dev), then try again" >&2; exit 1; }
fi

[ -f "${HOME:-}/.cargo/env" ] && . "${HOME:-}/.cargo/env"
if ! command -v cargo >/dev/null; then
  echo "setup: installing Rust"
  install rustup || { echo "setup: install Rust with rustup, then try again" >&2; exit 1; }
fi

# rustup reads rust-toolchain.toml and fetches the version if it is missing.
wanted=$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)
if command -v rustup >/dev/null && ! rustup toolchain list 2>/dev/null | grep -q "^$wanted"; then
  echo "setup: installing Rust $wanted"
  rustup toolchain install "$wanted" --profile minimal --component rustfmt --component clippy --no-self-update >/dev/null
fi
found=$(cargo --version | cut -d' ' -f2)
[ "$found" = "$wanted" ] || echo "setup: Rust $found instead of $wanted"

if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
  echo "setup: installing Python"
  install python3 python3-venv || echo "setup: Python cannot be installed here; the tests of the Python package are skipped"
fi

if ! command -v valgrind >/dev/null; then
  echo "setup: installing Valgrind"
  install valgrind || echo "setup: Valgrind cannot be installed here; instructions are not counted"
fi

if [ "${1:-}" = --peers ]; then
  for peer in guile:guile-3.0 mit-scheme:mit-scheme; do
    command=${peer%%:*} package=${peer##*:}
    command -v "$command" >/dev/null && continue
    echo "setup: installing $package"
    install "$package" || echo "setup: $package cannot be installed here; what needs it is skipped"
  done
fi
