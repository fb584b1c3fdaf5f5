"""The programs that are timed: file, the same steps in JAX, parameters and inputs."""
import math
import os
import sys

import jax.numpy as jnp
import numpy as np
from jax import lax

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../jax"))

import bench  # noqa: E402
import earth  # noqa: E402
import small  # noqa: E402
import society  # noqa: E402


class Case:
    """A program: file, function in JAX, parameters, inputs of each lane, inputs that all lanes share."""

    def __init__(self, name, file, function, params, inputs, fixed=None, most=1 << 20, tolerance=1e-9,
                 unroll=True, gradient=True, tensors=False, text=None):
        self.name, self.file, self.function, self.params = name, file, function, params
        self.inputs, self.fixed, self.most, self.tolerance = inputs, fixed or {}, most, tolerance
        self.unroll = unroll      # JAX takes minutes to compile long programs that are written out.
        self.gradient = gradient  # JAX refuses the gradient of a while loop.
        self.tensors = tensors
        self.text = text          # a program that is in no file


def euler_decay(p, v):
    """The steps of b/m08, where bench/jax compares with the closed form."""
    return lax.fori_loop(0, 10, lambda _, y: y - 0.1 * p["k"] * y, v["x"])


def recursive_filter(p, v):
    """The steps of b/m11, likewise."""
    return lax.fori_loop(0, 8, lambda _, y: p["alpha"] * v["x"] + (1 - p["alpha"]) * y, 0.0 * v["x"])


def kalman_scalar(p, v):
    """The filter of models/kalman/kalman-2d-scalar.scm, in scalars."""
    q, r = p["q"], p["r"]

    def step(carry, y):
        x1, x2, P11, P12, P22, nll = carry
        e1, e2 = y[0] - x1, y[1] - x2
        A11, A22 = P11 + q, P22 + q
        S11, S22 = A11 + r, A22 + r
        det = S11 * S22 - P12 * P12
        V11, V12, V22 = S22 / det, -(P12 / det), S11 / det
        K11, K12 = A11 * V11 + P12 * V12, A11 * V12 + P12 * V22
        K21, K22 = P12 * V11 + A22 * V12, P12 * V12 + A22 * V22
        nll = nll + jnp.log(det) + V11 * e1 * e1 + 2 * V12 * e1 * e2 + V22 * e2 * e2
        return (x1 + K11 * e1 + K12 * e2, x2 + K21 * e1 + K22 * e2, A11 - (K11 * A11 + K12 * P12),
                P12 - (K11 * P12 + K12 * A22), A22 - (K21 * P12 + K22 * A22), nll), None

    zero, one = jnp.zeros((), q.dtype), jnp.ones((), q.dtype)
    return lax.scan(step, (zero, zero, one, zero, one, zero), jnp.asarray(v["obs"]))[0][5]


def centre(spec):
    return float((spec[0] + spec[1]) / 2) if isinstance(spec, tuple) else spec[0]


def scripted_noise(rows, columns, seed):
    """Numbers that look random: the same in every run."""
    return np.random.default_rng(seed).normal(size=(rows, columns))


QUICK = "a/p2 b/m05 b/m07 b/m10 c/c01 c/c06".split()
NORMAL = ("a/p2 b/m01 b/m02 b/m03 b/m04 b/m05 b/m06 b/m07 b/m08 b/m10 b/m11 b/m12 b/m14 "
          "c/c01 c/c02 c/c06 c/c08 a/s3").split()
SAME_STEPS = {"b/m08": euler_decay, "b/m11": recursive_filter}
# Written out, these take JAX a minute and more to compile for each batch.
LONG = ("c/c02", "c/c06", "c/c08")


def small_cases(names, full):
    by_name = {m.file: m for m in small.MODELS}
    for name in names:
        m = by_name[name]
        yield Case(name, name, SAME_STEPS.get(name, m.function), m.params,
                   {n: centre(s) for n, s in m.inputs.items()}, unroll=full or name not in LONG)


def cases(quick, full, synthetic_text):
    """All cases, from short to long."""
    yield from small_cases(QUICK if quick else NORMAL, full)
    logistic = lambda steps: lambda p, v: bench.logistic_map(p, {**v, "steps": steps})
    for steps in (16, 50):
        yield Case(f"logistic {steps}", "bench/logistic-map", logistic(steps), {"r": 3.2}, {"x0": 0.4},
                   {"steps": steps}, unroll=full or steps < 20)
    obs = bench.observations() or [[math.sin(0.7 * i), math.cos(1.3 * i)] for i in range(80)]
    yield Case("kalman 2-D", "kalman/kalman-2d-scalar", kalman_scalar, {"q": 0.05, "r": 0.1}, {"obs": obs},
               unroll=False)
    if quick:
        return
    water = lambda p, v: bench.bucket(p, {**v, "days": 1000})
    yield Case("bucket 1000", "bench/bucket", water, {"c": 60.0, "w": 15.0, "k": 0.15, "a": 0.3},
               {"wetness": 1.0}, {"days": 1000}, unroll=False)
    yield Case("newton", "bench/newton", lambda p, v: bench.newton(p, {**v, "tol": 1e-6}), {"a": 0.5}, {"x": 2.0},
               {"tol": 1e-6}, unroll=False, gradient=False)
    F = 0.9 * np.eye(10) + 0.02 * scripted_noise(10, 10, 1)
    yield Case("LIM D=10 T=360", "kalman/lim", bench.lim, {"F": F.tolist(), "q": [0.05] * 10, "r": 0.1},
               {"obs": scripted_noise(360, 10, 2).tolist()}, most=1024, tolerance=1e-6, unroll=False, tensors=True)
    for name, module in (("DiffESM-S 100", earth), ("DiffSoc-S 100", society)):
        m = module.MODELS[0]
        inputs = {n: centre(s) for n, s in m.inputs.items() if n != "steps"}
        function = lambda p, v, m=m: m.function(p, {**v, "steps": 100})
        yield Case(name, m.file, function, m.params, inputs, {"steps": 100}, most=1024, tolerance=1e-6,
                   unroll=False)
    if full:
        start, function = bench.synthetic(synthetic_text())
        yield Case("synthetic 20,000", None, lambda p, v: function(p, v), start, {}, most=1024, tolerance=1e-6,
                   unroll=False, text=synthetic_text())
