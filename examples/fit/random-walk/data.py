"""Writes data.csv: a level that wanders, measured with noise. Needs Python only."""
import random

random.seed(6)
level = 3.0

with open("data.csv", "w") as out:
    out.write("t,y\n")
    for t in range(200):
        level += random.gauss(0, 0.5)
        out.write(f"{t},{random.gauss(level, 1.1):.3f}\n")
