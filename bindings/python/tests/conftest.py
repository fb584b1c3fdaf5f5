"""What tests share: the folder of shared data, the corpus, and what runs only in the long form."""

import json
import os
import random
import signal
from pathlib import Path

import pytest

# A shell that starts the tests in the background has interrupts ignored, and tests of Ctrl-C would wait for ever.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[3]
SHARED = Path(os.environ.get("DMCI_SHARED", ROOT.parent / "shared"))


def pytest_collection_modifyitems(items):
    if os.environ.get("DMCI_LONG"):
        return
    for item in items:
        if "long" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="in the long form only: scripts/test.sh --long"))


def corpus():
    """The programs of the shared corpus; none if it is not there."""
    path = SHARED / "corpus.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


@pytest.fixture(scope="session")
def shared_corpus():
    programs = corpus()
    if not programs:
        pytest.skip(f"there is no corpus in {SHARED}")
    return programs


@pytest.fixture
def rng():
    return random.Random(7)


def central(f, x, h=1e-6):
    """The derivative of a function of one number by central differences."""
    return (f(x + h) - f(x - h)) / (2 * h)
