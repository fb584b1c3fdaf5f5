#!/usr/bin/env bash
# Works through a problem with `dmci mcp` by the official Python client, in a virtual environment of its own.
#
#   scripts/mcp.sh [COMMAND]     COMMAND is the dmci command, by default that of the last build
set -euo pipefail
cd "$(dirname "$0")/.."

folder=bench/.venv-mcp
[ -x "$folder/bin/python" ] || python3 -m venv "$folder"
"$folder/bin/python" -c 'import mcp' 2>/dev/null || "$folder/bin/pip" install --quiet 'mcp>=1.9'
"$folder/bin/python" scripts/mcp-client.py "${1:-${CARGO_TARGET_DIR:-target}/debug/dmci}"
