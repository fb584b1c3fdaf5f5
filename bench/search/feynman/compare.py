"""Compares what tools recovered, law by law: the ratio, and McNemar's exact test.

    python compare.py dmci.txt operon.txt gplearn.txt
"""

import math
import pathlib
import sys


def recovered(path):
    words = [line.split() for line in open(path)]
    return {w[0]: w[1] == "recovered" for w in words if len(w) > 2 and w[1] in ("recovered", "NOT")}


ours = recovered(sys.argv[1])
for path in sys.argv[2:]:
    theirs = recovered(path)
    both = ours.keys() & theirs.keys()
    a, b = (sum(r[law] for law in both) for r in (ours, theirs))
    only = sum(ours[law] and not theirs[law] for law in both)
    lost = sum(theirs[law] and not ours[law] for law in both)
    n = only + lost
    p = min(1.0, 2 * sum(math.comb(n, k) for k in range(min(only, lost) + 1)) / 2**n)
    name = pathlib.Path(path).stem
    ratio = f"{a / b:.2f} times as many" if b else "the other none"
    print(f"dmci {a}, {name} {b} of {len(both)} laws: {ratio}; only dmci {only}, only {name} {lost}, McNemar p = {p:.2g}")
