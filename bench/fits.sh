#!/bin/sh
# Fits 160 hard problems from bad starts and says how many reach the least loss that is known, and how often the
# bare word "converged" is false.
#
#   bench/fits.sh [--peers] [--only TEXT] [--verbose] [--set OPTION]
#
# SciPy (for --peers lmfit as well) is installed by pip into bench/.venv-fits, or into what DMCI_FITS_VENV names. The
# data come from the folder that DMCI_SHARED names (../shared); its cases are skipped if it is not there.
# DMCI_BIN names a command that is built already.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
venv=${DMCI_FITS_VENV:-$root/bench/.venv-fits}
needed="scipy"
case " $* " in *" --peers "*) needed="scipy lmfit" ;; esac
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
for package in $needed; do
    "$venv/bin/python" -c "import $package" 2>/dev/null ||
        "$venv/bin/pip" install --quiet --disable-pip-version-check "$package"
done
dmci=${DMCI_BIN:-}
if [ -z "$dmci" ]; then
    target=${CARGO_TARGET_DIR:-$root/target}
    cargo build --release --quiet --manifest-path "$root/Cargo.toml" --target-dir "$target" -p dmci-cli
    dmci=$target/release/dmci
fi
# One core: what is measured must not depend on how many there are.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
pin=
command -v taskset >/dev/null 2>&1 && pin="taskset -c 0"
exec $pin "$venv/bin/python" "$root/bench/fits/run.py" "$dmci" "${DMCI_SHARED:-$root/../shared}" "$@"
