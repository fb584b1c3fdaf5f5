"""Writes data.csv: a ball that is filmed, with the noise of a camera. Needs Python only."""
import math
import random

DROP, GRAVITY, KEEP, NOISE = 2.0, 9.81, 0.83, 0.03
random.seed(7)


def height(t):
    lands = math.sqrt(2 * DROP / GRAVITY)
    if t < lands:
        return DROP - GRAVITY * t * t / 2
    t, speed = t - lands, KEEP * GRAVITY * lands
    while t >= 2 * speed / GRAVITY:
        t, speed = t - 2 * speed / GRAVITY, KEEP * speed
    return speed * t - GRAVITY * t * t / 2


with open("data.csv", "w") as out:
    out.write("t,height\n")
    for i in range(125):
        t = i / 30
        out.write(f"{t:.4f},{height(t) + random.gauss(0, NOISE):.4f}\n")
