#!/usr/bin/env bash
# Compares the Kalman likelihood of `dmci repro lim` with dynamax: values and derivatives to 1e-8. In a virtual
# environment of its own.
#
#   scripts/dynamax.sh [COMMAND]     COMMAND is the dmci command, by default that of the last build
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${DMCI_DYNAMAX_VENV:-bench/.venv-dynamax}
[ -x "$folder/bin/python" ] || python3 -m venv "$folder"
"$folder/bin/python" -c 'import dynamax' 2>/dev/null ||
  "$folder/bin/pip" install --quiet --disable-pip-version-check dynamax || {
  echo "dynamax: skipped, it cannot be installed"
  exit 0
}
"$folder/bin/python" scripts/dynamax-gate.py "${1:-${CARGO_TARGET_DIR:-target}/debug/dmci}"
