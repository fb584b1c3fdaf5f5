"""A case in CasADi, one lane: the operations that dmci recorded, differentiated by CasADi itself.

Its virtual machine runs them as they are; with gcc, they are compiled with `-O3 -march=native`.
"""
import json
import math
import subprocess
import time

import casadi as ca
import numpy as np

OPERATIONS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "neg": lambda a: -a, "exp": ca.exp, "log": ca.log, "sin": ca.sin, "cos": ca.cos, "tan": ca.tan, "tanh": ca.tanh,
    "sqrt": ca.sqrt, "abs": ca.fabs, "pow": lambda a, b: a ** b, "min": ca.fmin, "max": ca.fmax,
    "sigmoid": lambda a: 1 / (1 + ca.exp(-a)), "same": lambda a: a,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    "select": lambda t, a, b: ca.if_else(t, a, b),
}


MOST = 5000


class Unknown(Exception):
    """An operation or a value that CasADi has nothing for."""


def graph(dmci, path, case):
    """The value of a case as an expression of its leaves, by what dmci records."""
    names = [*case.params, *case.inputs]
    command = [dmci, "tape", path, "--json", "--no-loops", "--mode", "direct", "--wrt", ",".join(names)]
    for name, value in {**case.params, **case.inputs}.items():
        if not isinstance(value, float):
            raise Unknown("a tensor")
        command += ["--set", f"{name}={value!r}"]
    for name, value in case.fixed.items():
        command += ["--set", f"{name}={value}"]
    tape = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["tape"]
    if tape.count("\n") > MOST:
        raise Unknown(f"more than {MOST} operations, for which gcc takes minutes")
    values, leaves, output = {}, {}, None
    for line in tape.splitlines():
        words = line.split()
        if words[0] == "output":
            output = values[words[1]]
        elif words[0] == "guard":
            continue
        elif words[2] == "param":
            leaves[words[3].strip('"')] = values[words[0]] = ca.SX.sym(words[3].strip('"'))
        elif words[2] == "real":
            values[words[0]] = ca.SX(float(words[3]))
        elif words[2] in OPERATIONS:
            values[words[0]] = OPERATIONS[words[2]](*(values[w] for w in words[3:]))
        else:
            raise Unknown(words[2])
    order = [leaves.get(name, ca.SX.sym(name)) for name in names]
    return order, output


class CasadiPeer:
    count = 0

    def __init__(self, dmci, path, case, folder):
        leaves, output = graph(dmci, path, case)
        params = ca.vertcat(*leaves[:len(case.params)])
        every = ca.vertcat(*leaves)
        function = ca.Function("f", [every], [output, ca.gradient(output, params)])
        point = np.array([*case.params.values(), *case.inputs.values()])
        self.forms = {"vm": self.prepare(function, point)}
        generator = ca.CodeGenerator("f.c")
        generator.add(function)
        # A name of its own: what is loaded under a name stays.
        CasadiPeer.count += 1
        source, library = generator.generate(folder + "/"), f"{folder}/f{CasadiPeer.count}.so"
        subprocess.run(["gcc", "-O3", "-march=native", "-shared", "-fPIC", source, "-o", library], check=True)
        self.forms["gcc"] = self.prepare(ca.external("f", library), point)

    def prepare(self, function, point):
        """A call without the cost of Python's objects."""
        buffer, call = function.buffer()
        results = [np.zeros(function.size_out(k)) for k in range(2)]
        buffer.set_arg(0, memoryview(point))
        for k, result in enumerate(results):
            buffer.set_res(k, memoryview(result))
        call()
        return call, buffer, results, point

    def results(self, form):
        return np.concatenate([np.ravel(r) for r in self.forms[form][2]])

    def time(self, seconds, form):
        call, least, end, calls = self.forms[form][0], math.inf, time.perf_counter() + seconds, 100
        while time.perf_counter() < end:
            start = time.perf_counter_ns()
            for _ in range(calls):
                call()
            least = min(least, (time.perf_counter_ns() - start) / calls)
        return least
