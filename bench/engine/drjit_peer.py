"""A case in Dr.Jit over a batch: arrays of its LLVM backend, differentiated in reverse, frozen after the first call.

The backend needs the library of LLVM, which systems have in a package of its own (Debian: libllvm15 or later).
"""
from types import SimpleNamespace

import drjit as dr
import numpy as np
from drjit.llvm import ad

from lanes import Lanes, Peer, Unavailable, least_time, without_loops

LIBRARY = SimpleNamespace(exp=dr.exp, sin=dr.sin, cos=dr.cos, where=dr.select, repeat=without_loops)


class DrjitPeer(Peer):
    version, form = dr.__version__, "frozen"

    def __init__(self, case, lanes, real, shared, values):
        self.values = values
        number = ad.Float if real == np.float32 else ad.Float64
        numbers, names = Lanes(case, lanes, shared), list(case.params)
        self.params = [number(column) for column in numbers.params.T.copy()]
        self.inputs = {n: number(x) for n, x in numbers.inputs.items()}
        dr.eval(self.params, self.inputs)

        def function(params, inputs):
            # Copies, so that no gradient of the call before is added to.
            params = [number(p) for p in params]
            if not values:
                dr.enable_grad(params)
            y = case.function(LIBRARY, dict(zip(names, params)), inputs)
            y = dr.sum(y) if shared else y + dr.zeros(number, lanes)
            if values:
                return y, []
            dr.backward(y)
            return dr.detach(y), [dr.grad(p) for p in params]

        self.call = dr.freeze(function)
        self.results()

    def results(self):
        value, gradient = self.call(self.params, self.inputs)
        rows = np.stack([np.array(g, float) for g in gradient], 1) if gradient else None
        return np.array(value, float), rows

    def time(self, seconds):
        """The least nanoseconds of a call."""
        def call():
            out = self.call(self.params, self.inputs)
            dr.eval(out)
            return out

        return least_time(call, lambda out: dr.sync_thread(), seconds)


def prepare(threads, _):
    if not dr.has_backend(dr.JitBackend.LLVM):
        raise Unavailable("its LLVM backend finds no libLLVM")
    dr.set_thread_count(threads)
    return DrjitPeer
