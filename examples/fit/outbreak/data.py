"""Writes data.csv: how many of 763 are in bed, day by day. Needs Python only."""
import random

CONTACT, RECOVERY, PEOPLE = 1.67, 0.45, 763.0
random.seed(4)
S, I = PEOPLE - 1.5, 1.5

with open("data.csv", "w") as out:
    out.write("day,in-bed\n")
    for day in range(21):
        out.write(f"{day},{max(0, round(random.gauss(I, 0.12 * I + 1)))}\n")
        for _ in range(1000):
            infected = CONTACT * S * I / PEOPLE
            S, I = S - infected / 1000, I + (infected - RECOVERY * I) / 1000
