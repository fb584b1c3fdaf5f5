"""Writes data.csv: the level of a reservoir that drains by the root of its level, from three fillings. Needs Python only."""
import math
import random

random.seed(8)

with open("data.csv", "w") as out:
    out.write("start,hour,measured\n")
    for start in [0.2, 3.0, 1.2]:
        x = start
        for hour in range(25):
            out.write(f"{start},{hour},{random.gauss(x, 0.01):.4f}\n")
            x += 0.25 * (0.5 - 0.45 * math.sqrt(x))
