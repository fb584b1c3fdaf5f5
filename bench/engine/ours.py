"""Our side: the process that loads models and times them, on request (src/main.rs)."""
import json
import os
import subprocess

import numpy as np


class Ours:
    """Our side, with options that hold for all cases."""

    def __init__(self, runner, models, folder, **options):
        self.runner, self.models, self.folder, self.options = runner, models, folder, options
        self.process = subprocess.Popen([runner], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def anew(self):
        """The same in a new process, with its stack and its lists in other places."""
        return Ours(self.runner, self.models, self.folder, **self.options)

    def end(self):
        self.process.stdin.close()
        self.process.wait()

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def path(self, case):
        if case.text is None:
            return os.path.join(self.models, case.file + ".scm")
        path = os.path.join(self.folder, "program.scm")
        with open(path, "w") as file:
            file.write(case.text)
        return path

    def load(self, case, lanes, gradient=True):
        listed = lambda x: np.asarray(x, float).tolist()
        return self.ask({"file": self.path(case), "batch": lanes,
                         "params": {n: listed(x) for n, x in case.params.items()},
                         "inputs": {n: listed(x) for n, x in case.inputs.items()}, "fixed": case.fixed,
                         "want": "gradients" if gradient else "values", **self.options})

    def time(self, seconds):
        return self.ask({"seconds": seconds})["least"]

    def time_by_hand(self, seconds, form):
        """Nanoseconds of the program by hand, and its largest difference from ours."""
        answer = self.ask({"seconds": seconds, "hand": form})
        return answer["least"], answer["difference"]
