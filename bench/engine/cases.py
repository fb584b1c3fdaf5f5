"""The programs that are timed: file, the same steps for other libraries, parameters and inputs."""
import math
import os
import sys

import numpy as np

import plain

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../jax"))


class Case:
    """A program: file, function of a library (see plain.py), parameters, inputs of each lane, inputs that all share."""

    def __init__(self, name, file, function, params, inputs, fixed=None, most=1 << 20, tolerance=1e-9, unroll=True,
                 gradient=True, tensors=False, small=False, text=None, batched=None):
        self.name, self.file, self.function, self.params = name, file, function, params
        self.inputs, self.fixed, self.most, self.tolerance = inputs, fixed or {}, most, tolerance
        self.unroll = unroll      # JAX takes minutes to compile long programs that are written out.
        self.gradient = gradient  # JAX refuses the gradient of a while loop.
        self.tensors = tensors
        self.small = small        # all peers know it
        self.text = text          # a program that is in no file
        self.batched = batched    # values and gradients of all lanes in JAX, where vmap and grad do not do it


QUICK = "a/p2 b/m05 b/m07 b/m10 c/c01 c/c06".split()
# Written out, these take JAX a minute and more to compile for each batch.
LONG = ("c/c02", "c/c06", "c/c08")


def small_cases(quick, full):
    for name, function, params, inputs in plain.PROGRAMS:
        if not quick or name in QUICK:
            yield Case(name, name, function, params, inputs, unroll=full or name not in LONG, small=True)
    for steps in (16, 50):
        yield Case(f"logistic {steps}", "bench/logistic-map", plain.logistic(steps), {"r": 3.2}, {"x0": 0.4},
                   {"steps": steps}, unroll=full or steps < 20, small=True)


def cases(quick, full, with_jax, synthetic_text):
    """All cases, from short to long: the small ones, and with JAX those that are written for it alone."""
    yield from small_cases(quick, full)
    if with_jax:
        yield from long_cases(quick, synthetic_text)


def long_cases(quick, synthetic_text):
    import bench
    import earth
    import kalman_scalar
    import society
    from table_program import Table

    # These take nothing from a library.
    of = lambda function, **more: lambda m, p, v: function(p, {**v, **more})
    obs = bench.observations() or [[math.sin(0.7 * i), math.cos(1.3 * i)] for i in range(80)]
    yield Case("kalman 2-D", "kalman/kalman-2d-scalar", of(kalman_scalar.loss), {"q": 0.05, "r": 0.1}, {"obs": obs},
               unroll=False)
    if quick:
        return
    yield Case("bucket 1000", "bench/bucket", of(bench.bucket, days=1000), {"c": 60.0, "w": 15.0, "k": 0.15, "a": 0.3},
               {"wetness": 1.0}, {"days": 1000}, unroll=False)
    yield Case("newton", "bench/newton", of(bench.newton, tol=1e-6), {"a": 0.5}, {"x": 2.0}, {"tol": 1e-6},
               unroll=False, gradient=False)
    F = 0.9 * np.eye(10) + 0.02 * scripted_noise(10, 10, 1)
    yield Case("LIM D=10 T=360", "kalman/lim", of(bench.lim), {"F": F.tolist(), "q": [0.05] * 10, "r": 0.1},
               {"obs": scripted_noise(360, 10, 2).tolist()}, most=1024, tolerance=1e-6, unroll=False, tensors=True)
    for name, module in (("DiffESM-S 100", earth), ("DiffSoc-S 100", society)):
        m = module.MODELS[0]
        inputs = {n: centre(s) for n, s in m.inputs.items() if n != "steps"}
        yield Case(name, m.file, of(m.function, steps=100), m.params, inputs, {"steps": 100}, most=1024, tolerance=1e-6,
                   unroll=False)
    text = synthetic_text()
    table = Table(text)
    yield Case("synthetic 20,000", None, None, table.params, {}, most=1024, tolerance=1e-6, unroll=False, text=text,
               batched=table.values_and_gradients)


def centre(spec):
    return float((spec[0] + spec[1]) / 2) if isinstance(spec, tuple) else spec[0]


def scripted_noise(rows, columns, seed):
    """Numbers that look random: the same in every run."""
    return np.random.default_rng(seed).normal(size=(rows, columns))
