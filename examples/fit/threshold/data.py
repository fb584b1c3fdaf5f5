"""Writes data.csv: the power of a heater against the temperature outside. Needs Python only."""
import random

random.seed(9)

with open("data.csv", "w") as out:
    out.write("temperature,power\n")
    for i in range(120):
        t = random.uniform(-5, 25)
        power = 0.15 + (0.8 + 0.09 * (20 - t) if t < 13.4 else 0.0)
        out.write(f"{t:.2f},{random.gauss(power, 0.06):.3f}\n")
