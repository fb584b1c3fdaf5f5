"""Compares values, gradients and Hessians of the program files in crates/dmci-repro/models with JAX, in float64.

Relative differences: the norm of the difference by the norm of JAX's result, absolute where that is
below 1e-12. The largest over the points is shown.
"""
import argparse
import sys
import tempfile

import jax
import numpy as np

import bench
import earth
import small
import society
import tensors
from dmci import Dmci

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")


class Reference:
    """A model's value, gradient and Hessian by JAX; compiled once for each choice of its integers and lists."""

    def __init__(self, model):
        self.model, self.compiled = model, {}

    def __call__(self, params, inputs):
        fixed = {n: x for n, x in inputs.items() if not isinstance(x, float)}
        key = str(fixed)
        if key not in self.compiled:
            self.compiled[key] = self.compile(fixed)
        free = {n: x for n, x in inputs.items() if n not in fixed}
        flat = np.concatenate([np.ravel(x) for x in params.values()])
        return self.compiled[key](flat, free)

    def compile(self, fixed):
        model = self.model

        def function(flat, free):
            params, at = {}, 0
            for name, default in model.params.items():
                size = np.size(default)
                params[name] = flat[at:at + size].reshape(np.shape(default))
                at += size
            return model.function(params, {**free, **fixed})

        first = jax.jacfwd(function) if model.forward else jax.grad(function)
        second = jax.jacfwd(first) if model.hessian else lambda flat, free: None
        every = lambda flat, free: (function(flat, free), first(flat, free), second(flat, free))
        return jax.jit(every) if model.jit else every


def draw(model, rng, k):
    """The parameters and inputs of point k; point 0 has the default parameters."""
    def near(x):
        if isinstance(x, list):
            return [near(item) for item in x]
        return float(x + model.spread * max(abs(x), 0.1) * rng.normal())

    params = dict(model.params) if k == 0 else {name: near(x) for name, x in model.params.items()}
    inputs = {name: float(rng.uniform(*spec)) if isinstance(spec, tuple) else spec[k % len(spec)]
              for name, spec in model.inputs.items()}
    return params, inputs


def difference(ours, theirs):
    theirs = np.asarray(theirs)
    norm, distance = np.linalg.norm(theirs), np.linalg.norm(ours - theirs)
    return float(distance / norm if norm >= 1e-12 else distance)


def compare(dmci, model, points):
    """The largest differences over the points: value, gradient, Hessian or None; seconds of the slowest call."""
    program = [model.program or dmci.file(model.file)]
    if model.text:
        program = ["-e", model.text]
    program += ["--mode", model.mode]
    if model.text or model.wrt:
        program += ["--wrt", ",".join(model.params)]
    reference, rng = Reference(model), np.random.default_rng(1)
    worst, slowest = [0.0, 0.0, 0.0 if model.hessian else None], 0.0
    for k in range(points):
        params, inputs = draw(model, rng, k)
        # Defaults are left to the schema of a file, so that it is checked too; lists do not stand there.
        given = {n: x for n, x in params.items() if k > 0 or model.text or isinstance(x, list)}
        *ours, seconds = dmci.grad(program, params, {**given, **inputs}, model.hessian)
        theirs = reference(params, inputs)
        worst = [w if w is None else np.maximum(w, difference(x, y)) for w, x, y in zip(worst, ours, theirs)]
        slowest = max(slowest, seconds)
    return worst, slowest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dmci", help="the command")
    parser.add_argument("models", help="the folder of program files")
    parser.add_argument("--quick", action="store_true", help="fewer points, a shorter generated program")
    parser.add_argument("--only", default="", metavar="NAME", help="models whose name starts so")
    args = parser.parse_args()
    dmci = Dmci(args.dmci, args.models)
    print(f"jax {jax.__version__}, float64, CPU")
    print(f"{'model':30} {'points':>6} {'value':>9} {'gradient':>9} {'Hessian':>9} {'slowest':>9}")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        models = small.MODELS + earth.MODELS + society.MODELS + bench.models(dmci, folder, args.quick) + tensors.MODELS
        for model in models:
            if not model.file.startswith(args.only):
                continue
            points = min(model.points, 3) if args.quick else model.points
            try:
                worst, slowest = compare(dmci, model, points)
            except RuntimeError as error:
                failed += 1
                print(f"{model.file:30} FAIL  {str(error)[:160]}", flush=True)
                continue
            limits = [model.tolerance, model.tolerance, model.hessian_tolerance]
            good = all(w is None or w <= limit for w, limit in zip(worst, limits))
            failed += not good
            shown = " ".join(f"{'-':>9}" if w is None else f"{w:9.1e}" for w in worst)
            print(f"{model.file:30} {points:6} {shown} {slowest:8.3f}s  {'ok' if good else 'FAIL'}", flush=True)
    print(f"{failed} failed" if failed else "all agree")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
