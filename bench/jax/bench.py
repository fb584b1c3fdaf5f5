"""The Kalman filters and the benchmark programs."""
import json
import os
import re
import sys

import jax.numpy as jnp
import numpy as np
from jax import lax

from model import Model


def kalman(F, Q, R, obs):
    """The sum of log |det S| + e' S^-1 e."""
    d = obs.shape[1]

    def step(carry, y):
        x, P, nll = carry
        x, P = F @ x, F @ P @ F.T + Q
        e, S = y - x, P + R
        K = jnp.linalg.solve(S, P).T
        nll = nll + jnp.linalg.slogdet(S)[1] + e @ jnp.linalg.solve(S, e)
        return (x + K @ e, P - K @ P, nll), None

    (_, _, nll), _ = lax.scan(step, (jnp.zeros(d), jnp.eye(d), 0.0), obs)
    return nll


def kalman_2d(p, v):
    return kalman(jnp.eye(2), p["q"] * jnp.eye(2), p["r"] * jnp.eye(2), jnp.asarray(v["obs"]))


def lim(p, v):
    obs = jnp.asarray(v["obs"])
    return kalman(p["F"], jnp.diag(p["q"]), p["r"] * jnp.eye(obs.shape[1]), obs)


def bucket(p, v):
    t = np.arange(v["days"])
    rain = v["wetness"] * np.maximum(0, 6 * np.sin(2 * np.pi * t / 90) + 4 * np.sin(2 * np.pi * t / 7 + 1))
    demand = 2 + 1.5 * np.sin(2 * np.pi * t / 365)

    def day(s, drivers):
        rain, demand = drivers
        s1 = s + rain
        lost = jnp.where(s1 > p["c"], (p["a"] + p["k"]) * (s1 - p["c"]), 0.0)
        left = s1 - lost - jnp.where(s1 > p["w"], demand, demand * s1 / p["w"])
        return jnp.where(left < 0, 0.0, left), lost

    return lax.scan(day, 30.0, (rain, demand))[1].sum()


def newton(p, v):
    x, eta = v["x"], v.get("eta", 1.0)
    return lax.while_loop(lambda g: jnp.abs(g * g - x) >= v["tol"] * jnp.maximum(1.0, x),
                          lambda g: g + eta * (x / g - g) / 2, p["a"] * x)


def logistic_map(p, v):
    return lax.scan(lambda x, _: (p["r"] * x * (1 - x), None), v["x0"], length=v["steps"])[0]


def parse(text):
    """The forms of a program, as nested lists of words."""
    stack = [[]]
    for word in re.findall(r"[()]|[^\s()]+", text):
        if word == "(":
            stack.append([])
        elif word == ")":
            form = stack.pop()
            stack[-1].append(form)
        else:
            stack[-1].append(word)
    return stack[0]


def synthetic(text):
    """The parameters and the function of a generated program: one let* of arithmetic."""
    operations = {"-": lambda a, *b: a - b[0] if b else -a, "/": lambda a, b: a / b, "*": lambda a, b: a * b,
                  "+": lambda *all: sum(all[1:], all[0]), "sin": jnp.sin, "tanh": jnp.tanh, "exp": jnp.exp,
                  "sqrt": jnp.sqrt}
    (_, *schema), (_, bindings, result) = parse(text)

    def function(p, _):
        names = dict(p)

        def value(form):
            if isinstance(form, str):
                return names[form] if form in names else float(form)
            return operations[form[0]](*map(value, form[1:]))

        for name, form in bindings:
            names[name] = value(form)
        return value(result)

    return {name: float(start) for name, _, start in schema}, function


def observations():
    """80 observations of the plane, from the shared data; None if they are not there."""
    root = os.environ.get("DMCI_SHARED", os.path.join(os.path.dirname(__file__), "../../../shared"))
    path = os.path.join(root, "data/torch_draws/draws.json")
    if not os.path.exists(path):
        return None
    with open(path) as file:
        return json.load(file)["kalman_obs"]


def models(dmci, folder, quick):
    """The models; the generated program goes to the folder."""
    normals, obs = dmci.normals, observations()
    if obs is None:
        print("no shared observations: the Kalman filters in the plane use others", file=sys.stderr)
        obs = normals(80, 2, 0)
    generated = os.path.join(folder, "synthetic.scm")
    text = dmci.run("bench/synthetic", 7, operations=2000 if quick else 20000)
    with open(generated, "w") as file:
        file.write(text)
    start, function = synthetic(text)
    plane = dict(params={"q": 0.05, "r": 0.1}, inputs={"obs": [obs]}, points=4)
    water = dict(params={"c": 60.0, "w": 15.0, "k": 0.15, "a": 0.3}, inputs={"days": [1000], "wetness": (0.8, 1.2)},
                 spread=0.1, points=4)
    F = 0.9 * np.eye(10) + 0.02 * np.array(normals(10, 10, 1))
    lim_params = {"F": F.tolist(), "q": [0.05] * 10, "r": 0.1}
    return [
        Model("kalman/kalman-2d-scalar", kalman_2d, **plane),
        Model("kalman/kalman-2d", kalman_2d, **plane),
        Model("kalman/lim", lim, lim_params, {"obs": [normals(360, 10, 2)]}, spread=0.01, hessian=False, points=2,
              wrt=True),
        Model("bench/bucket", bucket, **water),
        Model("bench/bucket-minmax", bucket, **water),
        Model("bench/newton", newton, {"a": 0.5}, {"x": [2.0, 1e-3, 1e4], "tol": [1e-2, 1e-4, 1e-6]}, forward=True),
        Model("bench/newton-damped", newton, {"a": 0.5},
              {"x": [2.0, 1e-3, 1e4], "tol": [1e-2, 1e-4, 1e-6], "eta": [1.0, 0.1, 0.01]}, forward=True),
        Model("bench/logistic-map", logistic_map, {"r": 3.2}, {"steps": [16, 50], "x0": (0.1, 0.9)}, spread=0.05),
        # JAX evaluates it operation by operation: compiling it would take minutes. It amplifies rounding: by 40
        # digits, JAX's gradient is wrong by 1.2e-10 (ours by 2.4e-11).
        Model("bench/synthetic", function, start, hessian=False, jit=False, points=1, tolerance=1e-9, mode="direct",
              program=generated),
    ]
