"""Hares and lynxes with a response that saturates: writes data.csv."""

import random


def slopes(x, y):
    eaten = 0.05 * x / (1 + 0.03 * x)
    return 0.9 * x * (1 - x / 90) - eaten * y, 0.55 * eaten * y - 0.45 * y


random.seed(7)
x, y, h = 34.0, 6.0, 0.1
rows = ["year,hares,lynxes"]
for year in range(31):
    rows.append(f"{year},{x * random.gauss(1, 0.02):.2f},{y * random.gauss(1, 0.02):.2f}")
    for _ in range(10):
        a, b = slopes(x, y)
        c, d = slopes(x + h * a, y + h * b)
        x, y = x + 0.5 * h * (a + c), y + 0.5 * h * (b + d)
open("data.csv", "w").write("\n".join(rows) + "\n")
