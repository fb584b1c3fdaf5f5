#!/usr/bin/env bash
# Builds the Python package in a virtual environment and runs its tests.
#
#   scripts/python.sh          NumPy, pytest and mypy; the sampler is left out
#   scripts/python.sh --long   the whole package, with SciPy, pandas, polars, xarray, scikit-learn, SymPy, JAX, PyTorch,
#                              OpenEvolve, ArviZ and notebooks; what cannot be installed is skipped
#
# The environment is bindings/python/.venv, or what DMCI_PYTHON_VENV names. DMCI_PYTHON names the interpreter.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root/bindings/python"
long=no
[ "${1:-}" = --long ] && long=yes

python=${DMCI_PYTHON:-python3}
if ! "$python" -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
  echo "python: skipped, there is no Python 3.10 or later with venv"
  exit 0
fi
venv=${DMCI_PYTHON_VENV:-$root/bindings/python/.venv}
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
pip() { "$venv/bin/python" -m pip --disable-pip-version-check --quiet "$@"; }
has() { "$venv/bin/python" -c "import importlib.util as u, sys; sys.exit(not u.find_spec('$1'))"; }

for package in numpy pytest mypy maturin; do
  has $package || pip install $package
done
features=--no-default-features
if [ $long = yes ]; then
  features=
  export DMCI_LONG=1
  for entry in scipy pandas polars xarray sklearn:scikit-learn matplotlib sympy jax torch openevolve arviz nbclient ipykernel; do
    has "${entry%%:*}" || pip install "${entry##*:}" || echo "python: ${entry##*:} cannot be installed; its tests are skipped"
  done
fi

target=${CARGO_TARGET_DIR:-$root/target}
export CARGO_TARGET_DIR=$target
cargo fmt --check
cargo clippy --quiet --no-default-features -- -D warnings
wheels=$target/wheels
mkdir -p "$wheels"
rm -f "$wheels"/dmci-*.whl
# shellcheck disable=SC2086
"$venv/bin/maturin" build --quiet --profile quick --out "$wheels" $features
pip install --force-reinstall --no-deps "$wheels"/dmci-*.whl

# Away from the sources, so that the installed package is what is tested.
export DMCI_WHEEL=$(echo "$wheels"/dmci-*.whl)
"$venv/bin/python" -m mypy python/dmci
(cd tests && "$venv/bin/python" -m mypy --config-file ../pyproject.toml typed_usage.py)
cd "$target"
exec "$venv/bin/python" -m pytest -q -p no:cacheprovider -c "$root/bindings/python/pyproject.toml" --rootdir "$root/bindings/python" "$root/bindings/python/tests"
