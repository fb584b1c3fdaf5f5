"""jit of vmap of the twelve models of experiment H, one core, in double precision: seconds of a forward pass and of
a step of training (value and gradient of the mean squared error) over 64 points.

Reads {"models": [{"id", "point", "truth", "low", "high"}], "rows": 64}, prints for each model the times, the values
and the gradient, so that both sides can be seen to compute the same.
"""
import json
import os
import sys
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")


def loop(n, step, start):
    for _ in range(n):
        start = step(start)
    return start


models = {
    "M01": lambda p, x: p[0] * x * x / (x * x),
    "M02": lambda p, x: p[0] * x * x,
    "M03": lambda p, x: p[0] * x / (p[1] + x),
    "M04": lambda p, x: p[0] * jnp.exp(-p[1] * x),
    "M05": lambda p, x: p[0] * jnp.exp(-p[1] * x) * jnp.cos(p[2] * x),
    "M06": lambda p, x: p[0] / (1 + (p[0] - 1) * jnp.exp(-p[1] * x)),
    "M07": lambda p, x: p[0] * x ** p[1],
    "M08": lambda p, x: loop(10, lambda y: y - 0.1 * p[0] * y, x),
    "M10": lambda p, x: p[0] * x / (1 + jnp.exp(-p[1] * x)),
    "M11": lambda p, x: loop(8, lambda y: p[0] * x + (1 - p[0]) * y, 0.0 * x),
    "M12": lambda p, x: loop(5, lambda g: (g + x / g) / 2, p[0] * x),
    "M14": lambda p, x: p[0] * x + p[1] * x + p[2] * x,
}


def least(f, *args):
    jax.block_until_ready(f(*args))
    best = float("inf")
    for _ in range(30):
        began = time.perf_counter()
        for _ in range(20):
            out = f(*args)
        jax.block_until_ready(out)
        best = min(best, (time.perf_counter() - began) / 20)
    return best


request = json.load(sys.stdin)
out = {"jax": jax.__version__}
for entry in request["models"]:
    f = jax.vmap(models[entry["id"]], in_axes=(None, 0))
    x = jnp.linspace(entry["low"], entry["high"], request["rows"])
    point, truth = jnp.array(entry["point"]), jnp.array(entry["truth"])
    y = f(truth, x)
    forward = jax.jit(f)
    train = jax.jit(jax.value_and_grad(lambda p, x, y: jnp.mean((f(p, x) - y) ** 2)))
    loss, gradient = train(point, x, y)
    out[entry["id"]] = {
        "forward": least(forward, point, x),
        "train": least(train, point, x, y),
        "values": [float(v) for v in forward(point, x)],
        "gradient": [float(g) for g in gradient],
    }
print(json.dumps(out))
