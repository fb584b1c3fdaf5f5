"""A case in JAX over a batch: jit of vmap of value_and_grad, with loops as scans or written out."""
import math
import os
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from lanes import Lanes, Peer, TooLarge, least_time

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


def repeat(step, state, n):
    return lax.fori_loop(0, n, lambda _, s: step(*s), state)


LIBRARY = SimpleNamespace(exp=jnp.exp, sin=jnp.sin, cos=jnp.cos, where=jnp.where, repeat=repeat)


# JAX may take so much memory.
MOST_BYTES = 12 << 30


class JaxPeer(Peer):
    version = jax.__version__

    def __init__(self, case, lanes, real, shared, values):
        self.values = values
        numbers = Lanes(case, lanes, shared)
        names, sizes = list(case.params), [np.size(x) for x in case.params.values()]
        self.params = jnp.asarray(numbers.params, real)
        self.inputs = {n: jnp.asarray(x, real) for n, x in numbers.inputs.items()}

        def function(flat, inputs):
            params, at = {}, 0
            for name, size in zip(names, sizes):
                params[name] = flat[at:at + size].reshape(np.shape(case.params[name]))
                at += size
            return case.function(LIBRARY, params, {**inputs, **case.fixed})

        if case.batched:
            self.batched = lambda params, _: case.batched(params)[0] if values else case.batched(params)
        elif shared:
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
        return least_time(lambda: call(self.params, self.inputs), jax.block_until_ready, seconds)

    @staticmethod
    def forget():
        jax.clear_caches()


def prepare(threads, single):
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=" + ("false" if threads == 1 else "true")
    jax.config.update("jax_enable_x64", not single)
    jax.config.update("jax_platforms", "cpu")
    return JaxPeer
