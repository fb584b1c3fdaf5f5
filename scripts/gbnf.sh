#!/usr/bin/env bash
# Asks llama.cpp's own server, with a tiny model of random weights, for 200 answers within our grammar, and counts those
# that the reader takes: at least 95%. In a virtual environment of its own.
#
#   scripts/gbnf.sh [COMMAND]     COMMAND is the dmci command, by default that of the last build
set -euo pipefail
cd "$(dirname "$0")/.."

folder=bench/.venv-gbnf
[ -x "$folder/bin/python" ] || python3 -m venv "$folder"
"$folder/bin/python" -c 'import gguf, xllamacpp' 2>/dev/null ||
  "$folder/bin/pip" install --quiet --only-binary :all: gguf numpy xllamacpp || {
  echo "gbnf: skipped, xllamacpp cannot be installed"
  exit 0
}
"$folder/bin/python" scripts/gbnf-answers.py "${1:-${CARGO_TARGET_DIR:-target}/debug/dmci}"
