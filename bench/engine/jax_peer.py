"""A case in JAX over a batch: jit of vmap of value_and_grad, with loops as scans or written out."""
import math
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

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


def near(x, count, first):
    """As the runner does: lanes that differ a little from each other."""
    flat = np.ravel(np.asarray(x, float))
    index = np.arange(count * flat.size, dtype=float) + first
    fraction = index * 0.6180339887498949
    return np.tile(flat, count) * (1.0 + 0.01 * (fraction - np.floor(fraction) - 0.5))


# JAX may take so much memory.
MOST_BYTES = 12 << 30


class TooLarge(Exception):
    """JAX would need too much memory for so many lanes; for how many it would not."""

    def __init__(self, fitting):
        super().__init__(f"JAX takes {fitting} lanes")
        self.fitting = fitting


class JaxPeer:
    def __init__(self, case, lanes, real, shared, values):
        self.values = values
        sets = 1 if shared else lanes
        names, sizes = list(case.params), [np.size(x) for x in case.params.values()]
        start = np.concatenate([np.ravel(x) for x in case.params.values()])
        self.params = jnp.asarray(near(start, sets, 0).reshape(sets, -1), real)
        self.inputs = {n: jnp.asarray(near(x, lanes, 1).reshape((lanes, *np.shape(x))), real)
                       for n, x in case.inputs.items()}

        def function(flat, inputs):
            params, at = {}, 0
            for name, size in zip(names, sizes):
                params[name] = flat[at:at + size].reshape(np.shape(case.params[name]))
                at += size
            return case.function(params, {**inputs, **case.fixed})

        if shared:
            total = lambda flat, inputs: jax.vmap(function, (None, 0))(flat, inputs).sum()
            one = total if values else jax.value_and_grad(total)
            self.batched = lambda params, inputs: one(params[0], inputs)
        else:
            self.batched = jax.vmap(function if values else jax.value_and_grad(function))
        self.forms, self.fitting = {}, 0
        self.compile("scan", lanes)
        if case.unroll:
            with WrittenOut():
                self.compile("written out", lanes)
        if not self.forms:
            raise TooLarge(self.fitting)
        self.form = min(self.forms, key=lambda form: self.time(0.02, form))

    def compile(self, form, lanes):
        batched = self.batched  # A new function, or JAX would take the one that it knows.
        compiled = jax.jit(lambda params, inputs: batched(params, inputs)).lower(self.params, self.inputs).compile()
        sizes = compiled.memory_analysis()
        needed = sizes.temp_size_in_bytes + sizes.argument_size_in_bytes + sizes.output_size_in_bytes
        if needed > MOST_BYTES:
            # What it needs grows with the lanes.
            self.fitting = max(self.fitting, 1 << int(math.log2(lanes * MOST_BYTES / needed)))
            return
        jax.block_until_ready(compiled(self.params, self.inputs))
        self.forms[form] = compiled

    def results(self):
        out = self.forms[self.form](self.params, self.inputs)
        value, gradient = (out, None) if self.values else out
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
