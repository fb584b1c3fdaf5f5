#!/usr/bin/env bash
# Packages every crate and builds each one from its package, in a new folder and against the packages of the others:
# what a package lacks is found here, wherever the checkout has it.
#
#   scripts/package.sh [FOLDER]     FOLDER is kept; without it, the packages are removed in the end
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# -gt 0 ]; then
  mkdir -p "$1"
  folder=$(cd "$1" && pwd)
else
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi
case "$folder/" in
  "$PWD"/*) echo "$folder is inside of the checkout: a package would find there what it lacks" >&2; exit 2 ;;
esac

# The version in the tree is what is packaged, committed or not. Fuzzing is for the checkout alone.
cargo package --workspace --exclude dmci-fuzz --allow-dirty --target-dir "$folder" 2>&1 | tee "$folder/log"

# The project has no address yet; nothing else may be missing.
if grep '^warning' "$folder/log" | grep -v 'no documentation, homepage or repository'; then
  echo "cargo package warns" >&2
  exit 1
fi

# Each crate of the workspace has been verified.
for manifest in crates/*/Cargo.toml; do
  crate=$(basename "$(dirname "$manifest")")
  if ! grep -q "Verifying $crate v" "$folder/log"; then
    echo "$crate was not built from its package" >&2
    exit 1
  fi
done
