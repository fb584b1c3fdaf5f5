"""Writes crates/dmci-fit/tests/adam.txt: points that Adam visits, by optax in double precision.

Needs jax and optax. Each line: function, rate, clip (0 for none), step, and the point after it. Functions are
Rosenbrock's (a curved valley) and one whose gradients differ by six orders of magnitude. Later steps
of the clipped searches are chaotic: a start moved by 1e-15 leads elsewhere.
"""
import jax
import optax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp

functions = {
    "rosenbrock": (lambda p: (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2, [-1.2, 1.0]),
    "uneven": (lambda p: 1000 * p[0] ** 2 + jnp.sin(p[1]) ** 2 + 0.001 * (p[2] - 1) ** 4, [2.0, 1.0, -3.0]),
}
with open("crates/dmci-fit/tests/adam.txt", "w") as out:
    for name, (function, start) in functions.items():
        for rate, clip in [(0.05, 0.0), (0.002, 0.0), (0.05, 1.0)]:
            adam = optax.adam(rate, b1=0.9, b2=0.999, eps=1e-8)
            optimizer = optax.chain(optax.clip_by_global_norm(clip), adam) if clip else adam
            point = jnp.array(start)
            state = optimizer.init(point)
            for step in range(1, 51):
                updates, state = optimizer.update(jax.grad(function)(point), state)
                point = optax.apply_updates(point, updates)
                if step in (1, 2, 3, 10, 30, 50):
                    print(name, rate, clip, step, *map(repr, map(float, point)), file=out)
