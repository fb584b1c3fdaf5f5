"""The command `dmci`, and data on their way to it and back."""
import json
import os
import subprocess
import time

import numpy as np


def datum(x):
    """A number or nested list as dmci reads it."""
    if isinstance(x, (list, tuple)):
        return "(" + " ".join(map(datum, x)) + ")"
    return repr(x)


def number(x):
    return float(x["real"]) if isinstance(x, dict) else float(x)


def leaves(x):
    """The numbers of a JSON value, in order."""
    if isinstance(x, dict) and "real" not in x:
        x = next(iter(x.values()))
    if isinstance(x, list):
        for item in x:
            yield from leaves(item)
    else:
        yield number(x)


def coordinates(name, x):
    """What dmci calls the numbers of a parameter."""
    if isinstance(x, list):
        return [c for i, item in enumerate(x) for c in coordinates(f"{name}.{i}", item)]
    return [name]


def message(text):
    """The first message of a failed call with --json."""
    try:
        return json.loads(text)["error"][0]["message"]
    except (ValueError, LookupError):
        return text.strip()


class Dmci:
    """The command, and the folder with the program files."""

    def __init__(self, command, folder):
        self.command, self.folder = command, folder

    def call(self, *arguments):
        start = time.time()
        done = subprocess.run([self.command, *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(message(done.stdout) or done.stderr.strip() or f"exit status {done.returncode}")
        return done.stdout, time.time() - start

    def file(self, name):
        return os.path.join(self.folder, name + ".scm")

    def run(self, name, seed, **inputs):
        """The printed result of a file."""
        sets = [s for n, x in inputs.items() for s in ("--set", f"{n}={datum(x)}")]
        return self.call("run", self.file(name), "--seed", str(seed), *sets)[0]

    def normals(self, rows, columns, seed):
        """Standard normal numbers of dmci's own generator."""
        text = self.run("kalman/normals", seed, rows=rows, columns=columns)
        return np.array(text.replace("(", " ").replace(")", " ").split(), float).reshape(rows, columns).tolist()

    def grad(self, program, params, bindings, hessian):
        """Value, gradient and Hessian (or None) by the parameters in their order, and seconds.

        The program is a list of arguments: a file, or -e and a text.
        """
        sets = [s for name, x in bindings.items() for s in ("--set", f"{name}={datum(x)}")]
        text, seconds = self.call("grad", *program, *sets, *(["--hessian"] if hessian else []), "--json")
        result = json.loads(text)
        if set(result["grad"]) != set(params):
            raise RuntimeError(f"the parameters are {sorted(result['grad'])}, not {sorted(params)}")
        gradient = np.array([x for name in params for x in leaves(result["grad"][name])])
        second = None
        if hessian:
            names = [c for name, x in params.items() for c in coordinates(name, x)]
            order = [result["hessian"]["names"].index(name) for name in names]
            second = np.array([[number(x) for x in row] for row in result["hessian"]["rows"]])[np.ix_(order, order)]
        return number(result["value"]), gradient, second, seconds
