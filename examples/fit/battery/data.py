"""Writes data.csv: the capacity of a battery, as a share of the rated one, every ten cycles. Needs Python only."""
import math
import random

random.seed(7)

with open("data.csv", "w") as out:
    out.write("cycle,capacity\n")
    for cycle in range(10, 901, 10):
        n = cycle / 1000
        behind = 0.04 * math.log1p(math.exp((n - 0.62) / 0.04))
        out.write(f"{cycle},{0.995 - 0.13 * n - 1.4 * behind + random.gauss(0, 0.003):.4f}\n")
