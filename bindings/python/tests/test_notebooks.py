"""The notebooks run from the first cell to the last; what they show is asserted in them."""

import importlib.util
import json
from pathlib import Path

import pytest
from conftest import ROOT

FOLDER = Path(ROOT) / "bindings/python/notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_cells_run(path, monkeypatch, capsys):
    """As plain Python, which needs no kernel."""
    monkeypatch.setenv("MPLBACKEND", "Agg")
    space = {"__name__": "notebook"}
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{path.name}:{cell['id']}", "exec"), space)


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebooks_run_in_a_kernel(path):
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    if "jax" in path.stem:
        pytest.importorskip("jax")
    stored = json.dumps([c.get("outputs") for c in notebook.cells])
    if "five-minutes" in path.stem:
        pytest.importorskip("scipy")
        assert "<svg" in stored, "the fit is shown with its picture"
    spec = importlib.util.spec_from_file_location("notebooks", ROOT / "scripts/notebooks.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    different = script.differences(path)
    assert not different, f"scripts/notebooks.py writes the outputs anew; these differ: {different}"
