"""What calls from Python cost. The best of several rounds counts, since other work only makes them slower."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import dmci

ROOT = Path(sys.argv[1])
M05 = ROOT / "crates/dmci-repro/models/b/m05.scm"
jax.config.update("jax_enable_x64", True)


def best(f, count, rounds=9):
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        for _ in range(count):
            f()
        times.append((time.perf_counter() - began) / count)
    return min(times)


def importing():
    code = "import numpy, time; t = time.perf_counter(); import dmci; dmci.Model; print(time.perf_counter() - t)"
    return min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(9))


def first_gradient():
    """From the text of a program to its first value and gradient, a new program each time."""
    rows = {"t": np.linspace(0.0, 6.0, 64)}
    text = M05.read_text()
    number = iter(range(10**9))
    return best(lambda: dmci.Model(f"{text} ; {next(number)}").value_and_grad(None, rows), 20)


def m05(rows):
    model = dmci.Model(dmci.load(M05), threads=1)
    t = np.linspace(0.0, 6.0, rows)
    bound, theta, out = model.bind({"t": t}), model.start, (np.empty(rows), np.empty((rows, 3)))
    f = lambda p, t: p[0] * jnp.exp(-p[1] * t) * jnp.cos(p[2] * t)
    g = jax.jit(jax.vmap(jax.value_and_grad(f), (None, 0)))
    p, x = jnp.asarray(theta), jnp.asarray(t)
    jax.block_until_ready(g(p, x))
    model.value_and_grad(theta, bound, out=out)
    calls = [
        lambda n: bound._native.timed(theta.tolist(), n),
        lambda n: best(lambda: model.value_and_grad(theta, bound, out=out), n, 5),
        lambda n: best(lambda: model.value_and_grad(theta, {"t": t}), n, 5),
        lambda n: best(lambda: jax.block_until_ready(g(p, x)), n, 5),
    ]
    # In turns, so that other work on the machine meets all of them.
    count = max(3, 10_000 // (rows + 50))
    rounds = [[call(count) for call in calls] for _ in range(30)]
    return [min(times) for times in zip(*rounds)]


def two_threads():
    text = "(params (a free 0.9)) (let loop ((i 0) (s x)) (if (= i 200) s (loop (+ i 1) (+ (* a s) (sin s)))))"
    x = np.linspace(0.0, 1.0, 2000)
    jobs = []
    for _ in range(2):
        model = dmci.Model(text, threads=1)
        bound, out = model.bind({"x": x}), (np.empty(2000), np.empty((2000, 1)))
        model.value_and_grad(model.start, bound, out=out)
        jobs.append(lambda m=model, b=bound, o=out, t=model.start: [m.value_and_grad(t, b, out=o) for _ in range(40)])
    ratios = []
    for _ in range(8):
        began = time.perf_counter()
        [job() for job in jobs]
        alone = time.perf_counter() - began
        threads = [threading.Thread(target=job) for job in jobs]
        began = time.perf_counter()
        [t.start() for t in threads]
        [t.join() for t in threads]
        ratios.append(alone / (time.perf_counter() - began))
    return max(ratios)


def main():
    print(f"Python {sys.version.split()[0]}, NumPy {np.__version__}, JAX {jax.__version__}, dmci {dmci.__version__}")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    us = lambda s: f"{s * 1e6:10.2f} us"
    print(f"importing dmci after numpy               {importing() * 1e3:10.2f} ms")
    print(f"a new program to its first gradient      {us(first_gradient())}")
    for rows in (1, 64, 1000, 100_000):
        rust, ours, plain, theirs = m05(rows)
        print(f"\nM05, {rows} rows, value and gradient")
        print(f"  in Rust alone                          {us(rust)}")
        print(f"  from Python, bound rows, out=          {us(ours)}   {us(ours - rust)} more")
        print(f"  from Python, a dictionary of arrays    {us(plain)}")
        print(f"  jit(vmap(value_and_grad)) of JAX       {us(theirs)}   {theirs / ours:.1f} times ours")
    print(f"\ntwo threads with a model each            {two_threads():10.2f} times one after the other")


main()
