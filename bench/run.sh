#!/bin/sh
# Times models over lanes beside other libraries, in turns, in one go.
#
#   bench/run.sh [--quick|--full] [--million] [--peers jax,casadi,torch,drjit] [--only NAME] [--single] [--shared]
#                [--values] [--threads N] [--publish]
#   bench/run.sh growth [--lanes N]     time and memory by the number of steps
#   bench/run.sh models [--models N]    many different models, on one thread and on two
#   bench/run.sh report                 the page, picture and table anew, from the records
#
# Prints speeds as multiples of each peer's (JAX, if none is named) and, with JAX, writes bench/results/engine*.json with
# a dated record; --publish makes docs/speed.md, docs/speed.svg and the table of README.md from all of these. Peers that
# are asked for are installed into bench/.venv, which is made the first time.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
venv=$root/bench/.venv
target=${CARGO_TARGET_DIR:-$root/target}

# The package of a peer, if it is not there yet.
install() {
    module=$1
    shift
    "$venv/bin/python" -c "import importlib.util as u, sys; sys.exit(u.find_spec('$module') is None)" ||
        "$venv/bin/pip" install --quiet --disable-pip-version-check "$@"
}

# What follows --peers.
peers=jax
before=
for argument; do
    [ "$before" != --peers ] || peers=$argument
    before=$argument
done

case ${1:-} in
report)
    exec python3 "$root/bench/engine/report.py" "$root"
    ;;
models)
    shift
    cargo build --release --quiet --manifest-path "$root/bench/engine/Cargo.toml" --target-dir "$target"
    exec "$target/release/many-models" "$@"
    ;;
esac
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
install numpy numpy
for peer in $(echo "$peers" | tr , ' '); do
    case $peer in
    jax) install jax --requirement "$root/bench/jax/requirements.txt" ;;
    casadi | torch | drjit) install "$peer" "$peer" || echo "$peer cannot be installed" ;;
    *) echo "unknown peer: $peer" && exit 2 ;;
    esac
done
cargo build --release --quiet --manifest-path "$root/bench/engine/Cargo.toml" --target-dir "$target"
cargo build --release --quiet --manifest-path "$root/Cargo.toml" -p dmci-cli --target-dir "$target"
if [ "${1:-}" = growth ]; then
    shift
    exec "$venv/bin/python" "$root/bench/engine/growth.py" "$target/release/engine-bench" "$@"
fi
exec "$venv/bin/python" "$root/bench/engine/run.py" "$target/release/engine-bench" "$root" \
    --dmci "$target/release/dmci" "$@"
