"""How time and memory of a value and gradient grow with the steps of a program, and JAX with checkpoints beside it.

Prints time per step and lane, and the peak memory of the process over that of a program without steps.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time

AVERAGES = """(params (alpha free 0.3) (beta free 0.5))
(define (average weight) (lambda (new old) (+ (* weight new) (* (- 1 weight) old))))
(define fast (average alpha))
(define slow (average beta))
(let loop ((n steps) (u 0.0) (v 0.0))
  (if (= n 0)
      v
      (let ((u (fast x u)))
        (loop (- n 1) u (slow u v)))))"""

LOGISTIC = """(params (r free 2.5))
(loop ((n 0) (x x0)) (if (= n steps) x (recur (+ n 1) (* r x (- 1 x)))))"""

PROGRAMS = {"averages (C08)": (AVERAGES, {"alpha": 0.3, "beta": 0.5}, {"x": 1.0}),
            "logistic map": (LOGISTIC, {"r": 2.5}, {"x0": 0.4})}


def ours(runner, folder, program, lanes, steps, seconds=0.5):
    """Nanoseconds of a call, and the peak memory in MiB."""
    text, params, inputs = PROGRAMS[program]
    path = os.path.join(folder, "program.scm")
    with open(path, "w") as file:
        file.write(text)
    load = {"file": path, "batch": lanes, "params": params, "inputs": inputs, "fixed": {"steps": steps}}
    requests = "".join(json.dumps(r) + "\n" for r in (load, {"seconds": seconds}))
    with subprocess.Popen([runner], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdin.write(requests)
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        with open(f"/proc/{process.pid}/status") as status:
            peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
        process.stdin.close()
    return answers[1]["least"], peak / 1024


def with_checkpoints(lanes, steps):
    """Nanoseconds of the logistic map in JAX, which keeps the states of the square root of the steps."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    inner = math.isqrt(steps)

    def value(r, x):
        step = lambda x, _: (r * x * (1 - x), None)
        part = jax.checkpoint(lambda x, _: jax.lax.scan(step, x, None, length=inner))
        x, _ = jax.lax.scan(part, x, None, length=steps // inner)
        return jax.lax.scan(step, x, None, length=steps - steps // inner * inner)[0]

    function = jax.jit(jax.vmap(jax.value_and_grad(value)))
    r, x = jnp.full(lanes, 2.5), jnp.full(lanes, 0.4)
    jax.block_until_ready(function(r, x))
    least = math.inf
    for _ in range(3):
        start = time.perf_counter()
        jax.block_until_ready(function(r, x))
        least = min(least, time.perf_counter() - start)
    return least * 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runner", help="the program that times ours")
    parser.add_argument("--lanes", type=int, default=1024)
    arguments = parser.parse_args()
    # One core for both.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    folder = tempfile.mkdtemp()
    lanes = arguments.lanes
    for program in PROGRAMS:
        base = ours(arguments.runner, folder, program, lanes, 1, 0.05)[1]
        for steps in (20, 100, 1000, 10_000, 100_000):
            ns, peak = ours(arguments.runner, folder, program, lanes, steps)
            print(f"{program}, {lanes} lanes, {steps:,} steps: {ns / steps / lanes:.2f} ns per step and lane, "
                  f"{peak - base:.1f} MiB more than for one step", flush=True)
    ns, _ = ours(arguments.runner, folder, "logistic map", 1024, 10_000)
    jax_ns = with_checkpoints(1024, 10_000)
    print(f"logistic map, 1,024 lanes, 10,000 steps: {ns / 1e6:.1f} ms, JAX with checkpoints {jax_ns / 1e6:.1f} ms: "
          f"{jax_ns / ns:.1f} times as fast")
    return 0


if __name__ == "__main__":
    sys.exit(main())
