"""Times models over lanes beside JAX, in turns, and writes a table, JSON and a dated record.

Every lane has its own parameters and data, or (--shared) all lanes share the parameters and the gradient is the
sum. JAX is taken in its best form: jit of vmap of value_and_grad, with loops as scans or written out, whichever is faster;
its compile time does not count.
"""
import argparse
import datetime
import json
import math
import os
import platform
import subprocess
import sys
import time


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runner", help="the program that times ours")
    parser.add_argument("models", help="the folder of program files")
    parser.add_argument("results", help="the folder of results")
    parser.add_argument("--quick", action="store_true", help="fewer programs, batches and rounds")
    parser.add_argument("--full", action="store_true", help="more programs, a million lanes")
    parser.add_argument("--only", default="", metavar="NAME", help="programs whose name starts so")
    parser.add_argument("--single", action="store_true", help="single precision")
    parser.add_argument("--shared", action="store_true", help="parameters shared by all lanes, summed gradients")
    parser.add_argument("--values", action="store_true", help="values without gradients")
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


ARGS = arguments()
if ARGS.threads == 1:
    # One core for both: they run in turns.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=" + ("false" if ARGS.threads == 1 else "true")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../jax"))

import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402

jax.config.update("jax_enable_x64", not ARGS.single)
jax.config.update("jax_platforms", "cpu")

import jax.numpy as jnp  # noqa: E402

import bench  # noqa: E402
import earth  # noqa: E402
import small  # noqa: E402
import society  # noqa: E402

REAL = np.float32 if ARGS.single else np.float64
SCAN, FORI = lax.scan, lax.fori_loop


class WrittenOut:
    """Loops as written-out rounds while a function is traced."""

    def __enter__(self):
        lax.scan = lambda f, init, xs=None, length=None, **options: SCAN(f, init, xs, length=length, unroll=True)

        def fori(low, high, body, state):
            for i in range(low, high):
                state = body(i, state)
            return state

        lax.fori_loop = fori

    def __exit__(self, *_):
        lax.scan, lax.fori_loop = SCAN, FORI


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


class Case:
    """A program: file, function in JAX, parameters, inputs of each lane, inputs that all lanes share."""

    def __init__(self, name, file, function, params, inputs, fixed=None, most=1 << 20, tolerance=1e-9,
                 unroll=True):
        self.name, self.file, self.function, self.params = name, file, function, params
        self.inputs, self.fixed, self.most, self.tolerance = inputs, fixed or {}, most, tolerance
        self.unroll = unroll  # JAX takes minutes to compile long programs that are written out.


def centre(spec):
    return float((spec[0] + spec[1]) / 2) if isinstance(spec, tuple) else spec[0]


def cases():
    by_name = {m.file: m for m in small.MODELS}
    quick = "a/p2 b/m05 b/m07 b/m10 c/c01 c/c06".split()
    normal = ("a/p2 b/m01 b/m02 b/m03 b/m04 b/m05 b/m06 b/m07 b/m08 b/m10 b/m11 b/m12 b/m14 "
              "c/c01 c/c02 c/c06 c/c08 a/s3").split()
    made = []
    for name in quick if ARGS.quick else normal:
        m = by_name[name]
        made.append(Case(name, name, m.function, m.params, {n: centre(s) for n, s in m.inputs.items()}))
    logistic = lambda steps: lambda p, v: bench.logistic_map(p, {**v, "steps": steps})
    for steps in (16, 50):
        made.append(Case(f"logistic {steps}", "bench/logistic-map", logistic(steps), {"r": 3.2}, {"x0": 0.4},
                         {"steps": steps}))
    obs = bench.observations() or [[math.sin(0.7 * i), math.cos(1.3 * i)] for i in range(80)]
    made.append(Case("kalman 2-D", "kalman/kalman-2d-scalar", kalman_scalar, {"q": 0.05, "r": 0.1}, {"obs": obs},
                     most=1 << 16, unroll=ARGS.full))
    if not ARGS.quick:
        water = lambda p, v: bench.bucket(p, {**v, "days": 1000})
        made.append(Case("bucket 1000", "bench/bucket", water, {"c": 60.0, "w": 15.0, "k": 0.15, "a": 0.3},
                         {"wetness": 1.0}, {"days": 1000}, most=1 << 16, unroll=False))
    if ARGS.full:
        for module in (earth, society):
            for m in module.MODELS:
                steps = 100
                inputs = {n: centre(s) for n, s in m.inputs.items() if n != "steps"}
                function = lambda p, v, m=m: m.function(p, {**v, "steps": steps})
                made.append(Case(m.file, m.file, function, m.params, inputs, {"steps": steps}, most=1024,
                                 tolerance=1e-6, unroll=False))
                break
    return [c for c in made if c.name.startswith(ARGS.only) or c.file.startswith(ARGS.only)]


def near(x, count, first):
    """As the runner does: lanes that differ a little from each other."""
    flat = np.ravel(np.asarray(x, float))
    index = np.arange(count * flat.size, dtype=float) + first
    fraction = index * 0.6180339887498949
    return np.tile(flat, count) * (1.0 + 0.01 * (fraction - np.floor(fraction) - 0.5))


class Peer:
    """A case in JAX, over a batch."""

    def __init__(self, case, lanes):
        sets = 1 if ARGS.shared else lanes
        names, sizes = list(case.params), [np.size(x) for x in case.params.values()]
        start = np.concatenate([np.ravel(x) for x in case.params.values()])
        self.params = jnp.asarray(near(start, sets, 0).reshape(sets, -1), REAL)
        self.inputs = {n: jnp.asarray(near(x, lanes, 1).reshape((lanes, *np.shape(x))), REAL)
                       for n, x in case.inputs.items()}

        def function(flat, inputs):
            params, at = {}, 0
            for name, size in zip(names, sizes):
                params[name] = flat[at:at + size].reshape(np.shape(case.params[name]))
                at += size
            return case.function(params, {**inputs, **case.fixed})

        if ARGS.shared:
            total = lambda flat, inputs: jax.vmap(function, (None, 0))(flat, inputs).sum()
            one = total if ARGS.values else jax.value_and_grad(total)
            self.batched = lambda params, inputs: one(params[0], inputs)
        else:
            self.batched = jax.vmap(function if ARGS.values else jax.value_and_grad(function))
        self.forms = {}
        self.compile("scan")
        if case.unroll:
            with WrittenOut():
                self.compile("written out")
        self.form = min(self.forms, key=lambda form: self.time(0.02, form))

    def compile(self, form):
        batched = self.batched  # A new function, or JAX would take the one that it knows.
        compiled = jax.jit(lambda params, inputs: batched(params, inputs)).lower(self.params, self.inputs).compile()
        jax.block_until_ready(compiled(self.params, self.inputs))
        self.forms[form] = compiled

    def results(self):
        out = self.forms[self.form](self.params, self.inputs)
        value, gradient = (out, None) if ARGS.values else out
        return np.ravel(np.asarray(value, float)), gradient

    def time(self, seconds, form=None):
        """The least nanoseconds of a call."""
        call = self.forms[form or self.form]
        least, end, calls = math.inf, time.perf_counter() + seconds, 1
        while time.perf_counter() < end:
            start = time.perf_counter_ns()
            for _ in range(calls):
                out = call(self.params, self.inputs)
            jax.block_until_ready(out)
            each = (time.perf_counter_ns() - start) / calls
            least = min(least, each)
            calls = int(min(1e4, max(1, seconds * 1e8 / each)))
        return least


class Ours:
    def __init__(self, runner, models):
        self.models = models
        self.process = subprocess.Popen([runner], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def load(self, case, lanes):
        listed = lambda x: np.asarray(x, float).tolist()
        return self.ask({"file": os.path.join(self.models, case.file + ".scm"), "batch": lanes,
                         "params": {n: listed(x) for n, x in case.params.items()},
                         "inputs": {n: listed(x) for n, x in case.inputs.items()}, "fixed": case.fixed,
                         "single": ARGS.single, "shared": ARGS.shared, "threads": ARGS.threads,
                         "want": "values" if ARGS.values else "gradients"})

    def time(self, seconds):
        return self.ask({"seconds": seconds})["least"]


def check(case, answer, peer):
    """The largest relative difference of the first and the last lane."""
    values, gradient = peer.results()
    ours, theirs = [answer["values"][0], answer["values"][1]], [values[0], values[-1]]
    if gradient is not None:
        rows = np.asarray(gradient, float).reshape(-1, len(answer["gradients"][0]))
        ours += answer["gradients"][0] + answer["gradients"][1]
        theirs += list(rows[0]) + list(rows[-1])
    ours, theirs = np.array(ours), np.array(theirs)
    return float(np.max(np.abs(ours - theirs) / (1e-300 + 1e-3 * np.max(np.abs(theirs)) + np.abs(theirs))))


def measure(ours, case, lanes, rounds, seconds):
    answer = ours.load(case, lanes)
    peer = Peer(case, lanes)
    difference = check(case, answer, peer)
    if difference > (1e-2 if ARGS.single else case.tolerance):
        print(f"  {case.name}: differs from JAX by {difference:.1e}", file=sys.stderr)
    ratios, own, theirs = [], math.inf, math.inf
    for _ in range(rounds):
        a, b = ours.time(seconds), peer.time(seconds)
        own, theirs = min(own, a), min(theirs, b)
        ratios.append(b / a)
    ratios.sort()
    return {"program": case.name, "lanes": lanes, "ours_ns": own, "jax_ns": theirs, "ratio": theirs / own,
            "ratios": [ratios[0], ratios[len(ratios) // 2], ratios[-1]], "jax_form": peer.form,
            "cold_ns": answer["cold"], "difference": difference}


def main():
    batches = [1, 64, 1024, 65536] if not ARGS.full else [1, 64, 1024, 65536, 1 << 20]
    rounds, seconds = (5, 0.03) if ARGS.quick else (7, 0.08)
    ours = Ours(ARGS.runner, ARGS.models)
    rows = []
    print(f"speed as a multiple of JAX {jax.__version__} (least times; spread of rounds), "
          f"{'float32' if ARGS.single else 'float64'}, {ARGS.threads} thread(s), "
          f"{'shared parameters' if ARGS.shared else 'own parameters'}")
    print(f"{'program':14}" + "".join(f"{b:>26}" for b in batches))
    for case in cases():
        line = f"{case.name:14}"
        for lanes in batches:
            if lanes > case.most:
                line += f"{'-':>26}"
                continue
            try:
                row = measure(ours, case, lanes, rounds, seconds)
            except RuntimeError as error:
                print(f"  {case.name}: {str(error)[:300]}", file=sys.stderr)
                break
            rows.append(row)
            low, _, high = row["ratios"]
            line += f"{row['ours_ns'] / 1e3:10.2f}us {row['ratio']:5.1f}x({low:.0f}-{high:.0f})".rjust(26)
        print(line, flush=True)
    means, worst = {}, {}
    for lanes in batches:
        ratios = [(r["ratio"], r["program"]) for r in rows if r["lanes"] == lanes]
        if ratios:
            means[lanes] = math.exp(sum(math.log(r) for r, _ in ratios) / len(ratios))
            worst[lanes] = min(ratios)
    print(f"{'mean':14}" + "".join(f"{means.get(b, math.nan):25.1f}x" for b in batches))
    print(f"{'worst':14}" + "".join(f"{worst[b][0]:.1f}x {worst[b][1]}".rjust(26) if b in worst else f"{'-':>26}"
                                    for b in batches))
    record = {"date": datetime.date.today().isoformat(), "machine": platform.processor() or platform.machine(),
              "cpu": next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), ""),
              "jax": jax.__version__, "single": ARGS.single, "threads": ARGS.threads, "shared": ARGS.shared,
              "values": ARGS.values, "mean": means, "worst": {b: w[0] for b, w in worst.items()}, "rows": rows}
    kind = "".join(f"-{n}" for n in ("single", "shared", "values") if getattr(ARGS, n))
    kind += f"-{ARGS.threads}threads" if ARGS.threads > 1 else ""
    os.makedirs(ARGS.results, exist_ok=True)
    for name in (f"engine{kind}", f"engine{kind}-{record['date']}"):
        if ARGS.only or ARGS.quick:
            name += "-quick"
        with open(os.path.join(ARGS.results, name + ".json"), "w") as file:
            json.dump(record, file, indent=1)


if __name__ == "__main__":
    main()
