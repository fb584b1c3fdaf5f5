"""An outbreak in two towns, counted on irregular days with errors of 3%: writes data.csv."""

import random


def slopes(healthy, ill):
    new = 0.0006 * healthy * ill
    return -new, new - 0.22 * ill


random.seed(11)
rows = ["town,day,healthy,ill"]
for town, healthy, ill in (("Abel", 990.0, 10.0), ("Brook", 600.0, 25.0)):
    day, end, h = 0, 60, 0.02
    counted = {0} | set(random.sample(range(1, end), 32))
    for day in range(end):
        if day in counted:
            # Nobody counted the healthy on every fifth visit.
            seen = "" if day % 5 == 3 else f"{healthy * random.gauss(1, 0.03):.1f}"
            rows.append(f"{town},{day},{seen},{ill * random.gauss(1, 0.03):.1f}")
        for _ in range(round(1 / h)):
            a, b = slopes(healthy, ill)
            c, d = slopes(healthy + h * a, ill + h * b)
            healthy, ill = healthy + 0.5 * h * (a + c), ill + 0.5 * h * (b + d)
open("data.csv", "w").write("\n".join(rows) + "\n")
