"""A case in PyTorch over a batch: vmap of grad_and_value, as it is and compiled."""
import time
from types import SimpleNamespace

import torch

from lanes import Lanes, Peer, least_time, without_loops

LIBRARY = SimpleNamespace(exp=torch.exp, sin=torch.sin, cos=torch.cos, where=torch.where, repeat=without_loops)

# Nobody waits longer for programs of a few lines: if one takes more seconds, no other is compiled.
MOST_SECONDS = 90


class TorchPeer(Peer):
    version = torch.__version__
    compiles = True

    def __init__(self, case, lanes, real, shared, values):
        self.values = values
        numbers, names = Lanes(case, lanes, shared), list(case.params)
        self.params = torch.as_tensor(numbers.params.astype(real))
        self.inputs = {n: torch.as_tensor(x.astype(real)) for n, x in numbers.inputs.items()}
        function = lambda flat, inputs: case.function(LIBRARY, dict(zip(names, flat.unbind())), inputs)
        if shared:
            total = lambda params, inputs: torch.func.vmap(function, (None, 0))(params[0], inputs).sum()
            batched = total if values else torch.func.grad_and_value(total)
        else:
            batched = torch.func.vmap(function if values else torch.func.grad_and_value(function))
        self.forms = {"eager": batched}
        if TorchPeer.compiles:
            self.compile(batched)
        self.form = min(self.forms, key=lambda form: self.time(0.02, form))

    def compile(self, batched):
        # Code for one program would otherwise be tried for the next one.
        torch.compiler.reset()
        compiled, start = torch.compile(batched, dynamic=False), time.perf_counter()
        try:
            compiled(self.params, self.inputs)
            self.forms["compiled"] = compiled
        except Exception as error:
            print(f"  torch.compile does not work here: {str(error).splitlines()[0][:100]}")
            TorchPeer.compiles = False
        if time.perf_counter() - start > MOST_SECONDS:
            print("  torch.compile takes too long here: the rest is not compiled")
            TorchPeer.compiles = False

    def results(self):
        out = self.forms[self.form](self.params, self.inputs)
        gradient, value = (None, out) if self.values else out
        return value.reshape(-1).double().numpy(), None if gradient is None else gradient.numpy()

    def time(self, seconds, form=None):
        """The least nanoseconds of a call."""
        call = self.forms[form or self.form]
        return least_time(lambda: call(self.params, self.inputs), lambda out: None, seconds)


def prepare(threads, single):
    torch.set_num_threads(threads)
    torch.set_default_dtype(torch.float32 if single else torch.float64)
    return TorchPeer
