"""Writes data.csv: hares and lynxes over thirty years, counted with an error of five percent. Needs Python only."""
import random

BIRTH, CATCH, THRIVE, DEATH = 0.55, 0.028, 0.026, 0.84
random.seed(3)
hares, lynxes = 34.0, 5.9

with open("data.csv", "w") as out:
    out.write("year,hares,lynxes\n")
    for year in range(31):
        out.write(f"{year},{hares * random.gauss(1, 0.05):.2f},{lynxes * random.gauss(1, 0.05):.2f}\n")
        for _ in range(2000):
            dx = hares * (BIRTH - CATCH * lynxes)
            dy = lynxes * (THRIVE * hares - DEATH)
            hares, lynxes = hares + dx / 2000, lynxes + dy / 2000
