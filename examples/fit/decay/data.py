"""Writes data.csv: counts of a decaying sample, one second each. Needs Python only."""
import math
import random

ACTIVITY, HALF_LIFE, BACKGROUND = 220.0, 17.0, 8.0
random.seed(1)


def poisson(mean):
    # Knuth's method, in parts so that the exponential does not vanish.
    count = 0
    while mean > 0:
        part = min(mean, 50.0)
        mean -= part
        product, limit = random.random(), math.exp(-part)
        while product > limit:
            count += 1
            product *= random.random()
    return count


with open("data.csv", "w") as out:
    out.write("t,counts\n")
    for t in range(0, 121, 2):
        out.write(f"{t},{poisson(BACKGROUND + ACTIVITY * 0.5 ** (t / HALF_LIFE))}\n")
