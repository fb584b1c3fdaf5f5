"""The models of experiments A, B and C, from their equations."""
import jax.numpy as jnp
from jax import lax

from model import Model


def repeat(step, state, n):
    """The state after n steps."""
    return lax.fori_loop(0, n, lambda _, s: step(*s), state)


def s3(p, x):
    return jnp.where(x < p["alpha"], p["beta"], p["gamma"]) * x


def taylor_exp(p, x):
    terms, factorial = [], 1.0
    for i in range(9):
        factorial *= max(i, 1)
        terms.append((p["a"] * x) ** i / factorial)
    return sum(terms)


def newton_sqrt(p, x):
    g = p["a"] * x
    for _ in range(5):
        g = 0.5 * (g + x / g)
    return g


def lotka_volterra(p, x0):
    h = 0.05
    step = lambda x, y: (x + h * (p["a"] * x - p["b"] * x * y), y + h * (0.02 * x * y - 0.5 * y))
    return repeat(step, (x0, 5.0), 20)[0]


def sir(p, S0):
    h = 0.1
    step = lambda s, i: (s - h * p["beta"] * s * i, i + h * (p["beta"] * s * i - p["gamma"] * i))
    return repeat(step, (S0, 0.01), 30)[0]


def decay_chain(p, A0):
    h = 0.1
    step = lambda a, b: (a - h * p["lambda1"] * a, b + h * (p["lambda1"] * a - p["lambda2"] * b))
    return repeat(step, (A0, 0.0), 25)[1]


def logistic_map(p, x0):
    return repeat(lambda x: (p["r"] * x * (1 - x),), (x0,), 10)[0]


def continued_fraction(p, x):
    return repeat(lambda f: (p["a"] * x / (1 + f),), (jnp.zeros_like(x),), 8)[0]


def pendulum(p, theta0):
    h = 0.05
    step = lambda theta, omega: (theta + h * omega, omega - h * (p["G"] * jnp.sin(theta) + p["b"] * omega))
    return repeat(step, (theta0, 0.0), 20)[0]


def iir(p, x):
    step = lambda y, before: (p["a1"] * y + p["a2"] * before + p["b0"] * x, y)
    return repeat(step, (0.0, 0.0), 12)[0]


def cascade(p, x):
    def step(u, v):
        u = p["alpha"] * x + (1 - p["alpha"]) * u
        return u, p["beta"] * u + (1 - p["beta"]) * v
    return repeat(step, (0.0, 0.0), 10)[1]


def of(name, f):
    """A function of parameters and one named input."""
    return lambda p, v: f(p, v[name])


x05_3 = {"x": (0.5, 3.0)}

A = [
    Model("a/p1", lambda p, v: p["alpha"] * v["x"] ** 2, {"alpha": 0.5}, x05_3),
    Model("a/p2", lambda p, v: p["a"] + p["b"] * v["x"] ** 2, {"a": 3.0, "b": 0.5}, x05_3),
    Model("a/p3", lambda p, v: 3 * p["alpha"] * v["x"], {"alpha": 2.0}, x05_3),
    Model("a/p4", lambda p, v: v["x"] + 2 * p["alpha"], {"alpha": 1.5}, x05_3),
    Model("a/p5", lambda p, v: p["a"] * v["x"] + p["b"] + v["x"] ** 2, {"a": 2.0, "b": 1.5}, x05_3),
    Model("a/p6", lambda p, v: p["a"] * (v["x"] + p["b"]) ** 2 + p["c"], {"a": 2.0, "b": 0.5, "c": 1.0}, x05_3),
    Model("a/s3", of("x", s3), {"alpha": 1.0, "beta": 2.0, "gamma": 0.5}, {"x": (0.1, 3.0)}),
]

B = [
    Model("b/m01", lambda p, v: p["k"] * v["q1"] * v["q2"] / v["r"] ** 2, {"k": 8.99},
          {"r": (0.5, 3.0), "q1": (0.5, 3.0), "q2": (0.5, 3.0)}),
    Model("b/m02", lambda p, v: p["epsilon"] * v["c"] * v["l"], {"epsilon": 0.45}, {"c": (0.1, 5.0), "l": (0.1, 5.0)}),
    Model("b/m03", lambda p, v: p["Vmax"] * v["S"] / (p["Km"] + v["S"]), {"Vmax": 10.0, "Km": 2.5}, {"S": (0.1, 10.0)}),
    Model("b/m04", lambda p, v: p["A"] * jnp.exp(-p["Ea"] * v["T"]), {"A": 5.0, "Ea": 0.3}, {"T": (0.5, 5.0)}),
    Model("b/m05", lambda p, v: p["A"] * jnp.exp(-p["b"] * v["t"]) * jnp.cos(p["omega"] * v["t"]),
          {"A": 2.0, "b": 0.3, "omega": 3.14}, {"t": (0.0, 6.0)}),
    Model("b/m06", lambda p, v: p["K"] / (1 + (p["K"] - 1) * jnp.exp(-p["r"] * v["t"])), {"K": 10.0, "r": 0.5},
          {"t": (0.1, 10.0)}),
    Model("b/m07", lambda p, v: p["a"] * v["x"] ** p["b"], {"a": 3.0, "b": 0.75}, {"x": (0.5, 10.0)}),
    Model("b/m08", lambda p, v: v["x"] * (1 - 0.1 * p["k"]) ** 10, {"k": 0.5}, x05_3),
    Model("b/m09", of("x", taylor_exp), {"a": 0.5}, {"x": (0.1, 3.0)}),
    Model("b/m10", lambda p, v: p["a"] * v["x"] / (1 + jnp.exp(-p["b"] * v["x"])), {"a": 1.0, "b": 2.0},
          {"x": (-3.0, 3.0)}),
    Model("b/m11", lambda p, v: v["x"] * (1 - (1 - p["alpha"]) ** 8), {"alpha": 0.3}, x05_3),
    # Started far away: from near the root, the derivative after five steps is 0 but for rounding.
    Model("b/m12", of("x", newton_sqrt), {"a": 0.5}, {"x": (0.5, 10.0)}, spread=30.0),
    Model("b/m13", lambda p, v: p["a"] * v["x"] + p["b"], {"a": 2.5, "b": 1.0}, {"x": (0.5, 5.0)}),
    Model("b/m14", lambda p, v: p["w1"] * v["f1"] + p["w2"] * v["f2"] + p["w3"] * v["f3"],
          {"w1": 0.5, "w2": 0.3, "w3": 0.2}, {"f1": (0.0, 5.0), "f2": (0.0, 5.0), "f3": (0.0, 5.0)}),
    Model("b/m15", lambda p, v: p["a0"] + p["a1"] * v["x"] + p["a2"] * v["x"] ** 2 + p["a3"] * v["x"] ** 3,
          {"a0": 1.0, "a1": -0.5, "a2": 0.3, "a3": -0.1}, x05_3),
]

C = [
    Model("c/c01", of("x0", lotka_volterra), {"a": 1.0, "b": 0.1}, {"x0": (2.0, 15.0)}),
    Model("c/c02", of("S0", sir), {"beta": 0.5, "gamma": 0.1}, {"S0": (0.5, 0.99)}),
    Model("c/c03", of("A0", decay_chain), {"lambda1": 0.3, "lambda2": 0.1}, {"A0": (1.0, 10.0)}),
    Model("c/c04", of("x0", logistic_map), {"r": 2.5}, {"x0": (0.1, 0.9)}),
    Model("c/c05", of("x", continued_fraction), {"a": 0.5}, {"x": (0.5, 5.0)}),
    Model("c/c06", of("theta0", pendulum), {"G": 5.0, "b": 0.3}, {"theta0": (0.1, 1.5)}),
    Model("c/c07", of("x", iir), {"a1": 0.5, "a2": -0.3, "b0": 1.0}, {"x": (0.5, 5.0)}),
    Model("c/c08", of("x", cascade), {"alpha": 0.3, "beta": 0.5}, {"x": (0.5, 5.0)}),
]

MODELS = A + B + C
