"""The small programs, in steps that every library of arrays can take.

A program is a function of a library, of parameters and of inputs, both by name. What is not an operator of Python
comes from the library: `exp`, `sin`, `cos`, `where`, and `repeat(step, state, n)`, the state after n steps.
"""


def s3(m, p, v):
    return m.where(v["x"] < p["alpha"], p["beta"], p["gamma"]) * v["x"]


def newton_sqrt(m, p, v):
    g = p["a"] * v["x"]
    for _ in range(5):
        g = 0.5 * (g + v["x"] / g)
    return g


def lotka_volterra(m, p, v):
    h = 0.05
    step = lambda x, y: (x + h * (p["a"] * x - p["b"] * x * y), y + h * (0.02 * x * y - 0.5 * y))
    return m.repeat(step, (v["x0"], 5.0), 20)[0]


def sir(m, p, v):
    h = 0.1
    step = lambda s, i: (s - h * p["beta"] * s * i, i + h * (p["beta"] * s * i - p["gamma"] * i))
    return m.repeat(step, (v["S0"], 0.01), 30)[0]


def pendulum(m, p, v):
    h = 0.05
    step = lambda theta, omega: (theta + h * omega, omega - h * (p["G"] * m.sin(theta) + p["b"] * omega))
    return m.repeat(step, (v["theta0"], 0.0), 20)[0]


def cascade(m, p, v):
    def step(u, w):
        u = p["alpha"] * v["x"] + (1 - p["alpha"]) * u
        return u, p["beta"] * u + (1 - p["beta"]) * w
    return m.repeat(step, (0.0, 0.0), 10)[1]


def recursive_filter(m, p, v):
    step = lambda y: (p["alpha"] * v["x"] + (1 - p["alpha"]) * y,)
    return m.repeat(step, (0.0,), 8)[0]


# Name, function, parameters, inputs: those of bench/jax/small.py, in the middle of their ranges.
PROGRAMS = [
    ("a/p2", lambda m, p, v: p["a"] + p["b"] * (v["x"] * v["x"]), {"a": 3.0, "b": 0.5}, {"x": 1.75}),
    ("b/m01", lambda m, p, v: p["k"] * v["q1"] * v["q2"] / (v["r"] * v["r"]), {"k": 8.99},
     {"r": 1.75, "q1": 1.75, "q2": 1.75}),
    ("b/m02", lambda m, p, v: p["epsilon"] * v["c"] * v["l"], {"epsilon": 0.45}, {"c": 2.55, "l": 2.55}),
    ("b/m03", lambda m, p, v: p["Vmax"] * v["S"] / (p["Km"] + v["S"]), {"Vmax": 10.0, "Km": 2.5}, {"S": 5.05}),
    ("b/m04", lambda m, p, v: p["A"] * m.exp(-p["Ea"] * v["T"]), {"A": 5.0, "Ea": 0.3}, {"T": 2.75}),
    ("b/m05", lambda m, p, v: p["A"] * m.exp(-p["b"] * v["t"]) * m.cos(p["omega"] * v["t"]),
     {"A": 2.0, "b": 0.3, "omega": 3.14}, {"t": 3.0}),
    ("b/m06", lambda m, p, v: p["K"] / (1 + (p["K"] - 1) * m.exp(-p["r"] * v["t"])), {"K": 10.0, "r": 0.5},
     {"t": 5.05}),
    ("b/m07", lambda m, p, v: p["a"] * v["x"] ** p["b"], {"a": 3.0, "b": 0.75}, {"x": 5.25}),
    ("b/m08", lambda m, p, v: m.repeat(lambda y: (y - 0.1 * p["k"] * y,), (v["x"],), 10)[0], {"k": 0.5}, {"x": 1.75}),
    ("b/m10", lambda m, p, v: p["a"] * v["x"] / (1 + m.exp(-p["b"] * v["x"])), {"a": 1.0, "b": 2.0}, {"x": 0.0}),
    ("b/m11", recursive_filter, {"alpha": 0.3}, {"x": 1.75}),
    ("b/m12", newton_sqrt, {"a": 0.5}, {"x": 5.25}),
    ("b/m14", lambda m, p, v: p["w1"] * v["f1"] + p["w2"] * v["f2"] + p["w3"] * v["f3"],
     {"w1": 0.5, "w2": 0.3, "w3": 0.2}, {"f1": 2.5, "f2": 2.5, "f3": 2.5}),
    ("c/c01", lotka_volterra, {"a": 1.0, "b": 0.1}, {"x0": 8.5}),
    ("c/c02", sir, {"beta": 0.5, "gamma": 0.1}, {"S0": 0.745}),
    ("c/c06", pendulum, {"G": 5.0, "b": 0.3}, {"theta0": 0.8}),
    ("c/c08", cascade, {"alpha": 0.3, "beta": 0.5}, {"x": 2.75}),
    ("a/s3", s3, {"alpha": 1.0, "beta": 2.0, "gamma": 0.5}, {"x": 1.55}),
]


def logistic(steps):
    return lambda m, p, v: m.repeat(lambda x: (p["r"] * x * (1 - x),), (v["x0"],), steps)[0]
