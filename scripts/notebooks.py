#!/usr/bin/env python3
"""Runs the notebooks and stores what they show.

  scripts/notebooks.py           run them and write their outputs into them
  scripts/notebooks.py --check   run them and compare; exit code 1 if something differs

It needs nbclient, nbformat and ipykernel, and the package of dmci; JAX and SciPy as far as the notebooks use them.
"""

import argparse
import os
import re
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "bindings" / "python" / "notebooks"

#: What differs from one run to the next: times, addresses, and digits that another processor rounds in another way.
VARYING = [
    (re.compile(r"\b\d+\.\d+ s\b"), "_ s"),
    (re.compile(r"0x[0-9a-f]+"), "0x_"),
    (re.compile(r"(-?\d+\.\d{5})\d+"), r"\1"),
    (re.compile(r"e-\d\d"), "e-_"),
]


def plain(text):
    """A text without what varies."""
    for pattern, instead in VARYING:
        text = pattern.sub(instead, text)
    return text


def executed(path):
    """The notebook with the outputs of a fresh run, without what only a run has."""
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", env=os.environ.copy()).execute()
    for cell in notebook.cells:
        cell.get("metadata", {}).pop("execution", None)
        # Progress is no output.
        if "outputs" in cell:
            cell["outputs"] = [o for o in cell["outputs"] if o.get("name") != "stderr"]
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"], "language_info": {"name": "python"}}
    return notebook


def shown(cell):
    """What a cell shows, as texts."""
    texts = []
    for output in cell.get("outputs", []):
        if "text" in output:
            texts.append(plain("".join(output["text"])))
        data = output.get("data", {})
        texts += [plain("".join(data[kind])) for kind in ("text/plain",) if kind in data]
    return texts


def differences(path):
    """The cells whose stored outputs are not those of a fresh run."""
    import nbformat

    stored, fresh = nbformat.read(path, as_version=4), executed(path)
    pairs = zip(stored.cells, fresh.cells)
    return [(old.get("id"), shown(old), shown(new)) for old, new in pairs if shown(old) != shown(new)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    check = parser.parse_args().check
    import nbformat

    wrong = 0
    for path in sorted(FOLDER.glob("*.ipynb")):
        if check:
            for cell, old, new in differences(path):
                wrong += 1
                print(f"{path.name}: {cell} shows\n{new}\nand has stored\n{old}")
        else:
            nbformat.write(executed(path), path)
            print(f"{path.name}: written")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
