"""Writes what was measured into docs/search.md: the files of bench/results that its markers name.

    python3 bench/search/tables.py [--check]

A marker is `<!-- results: NAME -->`; the block behind it, up to the next blank line after a fence, is the text of
bench/results/NAME.txt. With --check nothing is written, and the exit code says whether something would be.
"""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
page = root / "docs/search.md"
before = page.read_text()


def block(found):
    text = (root / f"bench/results/{found.group(1)}.txt").read_text().rstrip("\n")
    return f"<!-- results: {found.group(1)} -->\n```text\n{text}\n```\n"


after = re.sub(r"<!-- results: (\S+) -->\n(?:```text\n.*?\n```\n)?", block, before, flags=re.S)
if "--check" in sys.argv[1:]:
    sys.exit(after != before)
page.write_text(after)
