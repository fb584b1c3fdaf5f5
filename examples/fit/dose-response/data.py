"""Writes data.csv: insects that died of a dose, out of those that got it. Needs Python only."""
import random

LD50, STEEPNESS, CONTROL = 2.6, 3.2, 0.04
random.seed(2)

with open("data.csv", "w") as out:
    out.write("dose,n,died\n")
    for i in range(14):
        dose = 0.4 * 1.35**i
        p = CONTROL + (1 - CONTROL) / (1 + (LD50 / dose) ** STEEPNESS)
        out.write(f"{dose:.3f},40,{sum(random.random() < p for _ in range(40))}\n")
