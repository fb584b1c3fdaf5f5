"""The notebooks run from the first cell to the last; what they show is asserted in them."""

import json
import os
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
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
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", env=os.environ.copy()).execute()
    shown = json.dumps(notebook.cells[-1].get("outputs", [])) + json.dumps([c.get("outputs") for c in notebook.cells])
    if "five-minutes" in path.stem:
        assert "<svg" in shown, "the fit is shown with its picture"
