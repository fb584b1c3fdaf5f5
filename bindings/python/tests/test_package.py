import importlib.metadata
import os
import re
import subprocess
import sys
import venv

import pytest

import dmci
from conftest import ROOT


def test_the_version_is_that_of_the_workspace():
    workspace = (ROOT / "Cargo.toml").read_text()
    version = re.search(r'^version = "(.*)"', workspace, re.M)[1]
    own = re.search(r'^version = "(.*)"', (ROOT / "bindings/python/Cargo.toml").read_text(), re.M)[1]
    assert dmci.__version__ == version == own


def test_numpy_is_the_only_requirement():
    try:
        requires = importlib.metadata.requires("dmci")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the package is not installed")
    assert [re.match(r"\w+", r)[0] for r in requires] == ["numpy"]


def test_importing_takes_less_than_50_milliseconds():
    # Time of the processor, which other work on the machine does not add to.
    code = "import numpy, time; t = time.process_time(); import dmci; print(time.process_time() - t)"
    times = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(7)]
    assert min(times) < 0.05, times
    loaded = "import dmci, sys; print(sorted(set(sys.modules) & {'pandas', 'scipy', 'torch', 'jax', 'sklearn', 'matplotlib'}))"
    assert subprocess.check_output([sys.executable, "-c", loaded], text=True).strip() == "[]"


def test_docstrings_are_true():
    import doctest

    import dmci._model
    import dmci._program

    for module in (dmci, dmci._program, dmci._model):
        failed, tried = doctest.testmod(module)
        assert failed == 0 and tried > 0, module


@pytest.mark.long
def test_the_wheel_installs_into_an_empty_environment(tmp_path):
    wheel = os.environ.get("DMCI_WHEEL")
    if not wheel:
        pytest.skip("DMCI_WHEEL names no wheel")
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv/bin/python"
    subprocess.check_call([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel])
    code = "import dmci; print(dmci.Model('(* a x)', params=['a'])([2.0], x=[1.0, 2.0]).tolist())"
    assert subprocess.check_output([python, "-c", code], text=True).strip() == "[2.0, 4.0]"
    listed = subprocess.check_output([python, "-m", "pip", "list", "--format=freeze"], text=True)
    assert {line.split("==")[0] for line in listed.split()} <= {"dmci", "numpy", "pip", "setuptools", "wheel"}


def test_the_blocks_of_the_readme_run():
    text = (ROOT / "bindings/python/README.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)
    assert len(blocks) >= 4
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {"__name__": "readme"})
