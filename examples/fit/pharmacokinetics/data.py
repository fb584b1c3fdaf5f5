"""Writes data.csv: concentrations of a drug in six patients, with an error of eight percent. Needs Python only."""
import math
import random

ABSORPTION, DOSE = 1.1, 320.0
random.seed(5)

with open("data.csv", "w") as out:
    out.write("patient,dose,time,concentration\n")
    for patient in "ABCDEF":
        volume, clearance = 33 * math.exp(random.gauss(0, 0.25)), 2.8 * math.exp(random.gauss(0, 0.3))
        k = clearance / volume
        for time in [0.25, 0.5, 1, 2, 3.5, 5, 7, 9, 12, 24]:
            c = DOSE * ABSORPTION / (volume * (ABSORPTION - k)) * (math.exp(-k * time) - math.exp(-ABSORPTION * time))
            out.write(f"{patient},{DOSE},{time},{c * random.gauss(1, 0.08):.3f}\n")
