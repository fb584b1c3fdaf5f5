#!/bin/sh
# Loops and decisions at length: growth of time and memory with the rounds of a loop, recordings over lanes
# with very different numbers of rounds, and a fit of a model with thresholds.
#
#   bench/loops.sh
set -eu
cd "$(dirname "$0")/.."
exec cargo run --release --quiet -p dmci --example loops
