"""What all peers share: the numbers of lanes, and how calls are timed."""
import math
import time

import numpy as np


class Unavailable(Exception):
    """A peer that cannot run here, or not this program; why."""


class TooLarge(Exception):
    """A peer would need too much memory for so many lanes; for how many it would not."""

    def __init__(self, fitting):
        super().__init__(f"it takes {fitting} lanes")
        self.fitting = fitting


def near(x, count, first):
    """As the runner does: lanes that differ a little from each other."""
    flat = np.ravel(np.asarray(x, float))
    index = np.arange(count * flat.size, dtype=float) + first
    fraction = index * 0.6180339887498949
    return np.tile(flat, count) * (1.0 + 0.01 * (fraction - np.floor(fraction) - 0.5))


class Lanes:
    """The parameters of a case, a row for each set, and its inputs, a row for each lane."""

    def __init__(self, case, lanes, shared):
        sets = 1 if shared else lanes
        start = np.concatenate([np.ravel(x) for x in case.params.values()])
        self.params = near(start, sets, 0).reshape(sets, -1)
        self.inputs = {n: near(x, lanes, 1).reshape((lanes, *np.shape(x))) for n, x in case.inputs.items()}


def least_time(call, wait, seconds):
    """The least nanoseconds of a call; `wait` ends when what the last one gave is there."""
    least, end, calls = math.inf, time.perf_counter() + seconds, 1
    while time.perf_counter() < end:
        start = time.perf_counter_ns()
        for _ in range(calls):
            out = call()
        wait(out)
        each = (time.perf_counter_ns() - start) / calls
        least = min(least, each)
        calls = int(min(1e4, max(1, seconds * 1e8 / each)))
    return least


class Peer:
    """A library with a case over a batch: has a version and a form, gives `results()` and takes `time(seconds)`."""

    @staticmethod
    def forget():
        """Gives back memory for programs that are done."""


def without_loops(step, state, n):
    """A loop written out, for libraries that have none."""
    for _ in range(n):
        state = step(*state)
    return state
