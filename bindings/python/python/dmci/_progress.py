"""Where progress can be seen."""

from __future__ import annotations

import sys
from typing import Optional


def shown(progress: Optional[bool]) -> bool:
    """Whether a line of progress is shown: as asked, or where somebody looks, at a terminal or in a notebook."""
    if progress is not None:
        return progress
    if sys.stderr is not None and sys.stderr.isatty():
        return True
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    # A kernel of Jupyter; a test that runs cells without one has no such shell.
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"
