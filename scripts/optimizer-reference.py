"""Writes crates/dmci-fit/tests/optimizers.txt: what SciPy and cma find on standard functions.

Needs numpy, scipy and cma from PyPI. Three kinds of lines:
    value FUNCTION loss gradient... at point...   values and derivatives (by complex steps) at random points
    found FUNCTION METHOD loss evaluations        what a method ends with, from the standard start
    spread FUNCTION METHOD share evaluations      of 10 seeds, how many end near the global minimum
The functions are those of More, Garbow and Hillstrom (1981), and three with many minima.
"""
import os
os.environ["OMP_NUM_THREADS"] = "1"
import cma
import numpy as np
from scipy.optimize import differential_evolution, least_squares, minimize

sqrt, exp, pi = np.sqrt, np.exp, np.pi


def rosenbrock(x):
    return np.array([10 * (x[1] - x[0] ** 2), 1 - x[0]])


def freudenstein(x):
    return np.array([-13 + x[0] + ((5 - x[1]) * x[1] - 2) * x[1], -29 + x[0] + ((x[1] + 1) * x[1] - 14) * x[1]])


def beale(x):
    return np.array([y - x[0] * (1 - x[1] ** (i + 1)) for i, y in enumerate([1.5, 2.25, 2.625])])


def powell(x):
    return np.array([x[0] + 10 * x[1], sqrt(5) * (x[2] - x[3]), (x[1] - 2 * x[2]) ** 2, sqrt(10) * (x[0] - x[3]) ** 2])


def wood(x):
    return np.array([10 * (x[1] - x[0] ** 2), 1 - x[0], sqrt(90) * (x[3] - x[2] ** 2), 1 - x[2],
                     sqrt(10) * (x[1] + x[3] - 2), (x[1] - x[3]) / sqrt(10)])


def dennis(x):
    t = np.arange(1, 21) / 5
    return (x[0] + t * x[1] - exp(t)) ** 2 + (x[2] + x[3] * np.sin(t) - np.cos(t)) ** 2


def extended(x):
    return np.concatenate([rosenbrock(x[i:i + 2]) for i in range(0, 10, 2)])


SQUARES = {
    "rosenbrock": (rosenbrock, [-1.2, 1.0]),
    "freudenstein": (freudenstein, [0.5, -2.0]),
    "beale": (beale, [1.0, 1.0]),
    "powell": (powell, [3.0, -1.0, 0.0, 1.0]),
    "wood": (wood, [-3.0, -1.0, -3.0, -1.0]),
    "dennis": (dennis, [25.0, 5.0, -5.0, -1.0]),
    "extended": (extended, [-1.2, 1.0] * 5),
}


def rastrigin(x):
    return 10 * len(x) + sum(x * x - 10 * np.cos(2 * pi * x))


def ackley(x):
    n = len(x)
    return 20 + np.e - 20 * exp(-0.2 * sqrt(sum(x * x) / n)) - exp(sum(np.cos(2 * pi * x)) / n)


def griewank(x):
    return 1 + sum(x * x) / 4000 - np.prod(np.cos(x / sqrt(np.arange(1, len(x) + 1))))


MANY = {"rastrigin": (rastrigin, 3.0), "ackley": (ackley, 5.0), "griewank": (griewank, 8.0)}


def complex_gradient(f, x):
    steps = np.eye(len(x)) * 1e-30j
    return np.array([f(x + s).imag / 1e-30 for s in steps])


with open("crates/dmci-fit/tests/optimizers.txt", "w") as out:
    random = np.random.default_rng(1)
    for name, (residuals, start) in SQUARES.items():
        loss = lambda x: sum(residuals(x) ** 2)
        for _ in range(3):
            x = np.array(start) + random.normal(size=len(start))
            print("value", name, repr(float(loss(x))), *[repr(float(g)) for g in complex_gradient(loss, x)], "at",
                  *[repr(float(v)) for v in x], file=out)
        count = [0]

        def counted(x):
            count[0] += 1
            return float(loss(x))

        gradient = lambda x: complex_gradient(loss, np.array(x, dtype=complex))
        jacobian = lambda x: np.stack([(residuals(x + s).imag / 1e-30) for s in np.eye(len(x)) * 1e-30j], axis=1)
        lm = least_squares(residuals, start, jac=jacobian, method="lm", xtol=1e-12, ftol=1e-12, gtol=1e-12)
        print("found", name, "lm", repr(float(2 * lm.cost)), lm.nfev, file=out)
        options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 10000, "maxfun": 100000}
        bfgs = minimize(counted, start, jac=gradient, method="L-BFGS-B", options=options)
        print("found", name, "lbfgs", repr(float(bfgs.fun)), bfgs.nfev, file=out)
        spread = float(max(1.0, max(abs(v) / 2 for v in start)))
        best, evaluations = [], []
        for seed in range(1, 6):
            es = cma.fmin2(lambda x: float(loss(x)), start, 0.5 * spread,
                           {"seed": seed, "verbose": -9, "tolfun": 1e-13, "tolx": 1e-12})[1]
            best.append(float(es.result.fbest))
            evaluations.append(int(es.result.evaluations))
        print("found", name, "cma", repr(float(np.median(best))), int(np.median(evaluations)), file=out)
    for name, (function, reach) in MANY.items():
        for _ in range(3):
            x = random.normal(size=4) * reach
            print("value", name, repr(float(function(x))),
                  *[repr(float(g)) for g in complex_gradient(function, x.astype(complex))],
                  "at", *[repr(float(v)) for v in x], file=out)
        near, evaluations = {"de": 0, "cma": 0}, {"de": [], "cma": []}
        for seed in range(10):
            # The bounds of SciPy's are where ours draws its first generation: three spreads around the start.
            de = differential_evolution(function, [(-reach, reach)] * 4, seed=seed, tol=1e-8, polish=False,
                                        popsize=10, init="random")
            near["de"] += de.fun < 1e-3
            evaluations["de"].append(de.nfev)
            start = np.random.default_rng(seed).normal(size=4) * reach / 3
            es = cma.fmin2(lambda x: float(function(x)), start, reach / 3, {"seed": seed + 1, "verbose": -9})[1]
            near["cma"] += es.result.fbest < 1e-3
            evaluations["cma"].append(int(es.result.evaluations))
        for method in ("de", "cma"):
            print("spread", name, method, near[method] / 10, int(np.median(evaluations[method])), file=out)
