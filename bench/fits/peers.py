"""What SciPy and lmfit make of the same cases, each as its users would ask. Nobody is told the true parameters: other
starts and boxes come from the start of the case alone."""

import time

import numpy as np
from formula import Formula

LONGEST = 10.0  # processor seconds of one fit
NAMES = ["least_squares x20", "differential_evolution", "lmfit"]


class Late(Exception):
    """The time of a fit is over."""


class Peer:
    def __init__(self, case):
        self.formula = Formula(case.text)
        self.y = case.columns[case.target]
        self.inputs = {k: v for k, v in case.columns.items() if k != case.target}
        self.low, self.high = (np.array(b) for b in zip(*self.formula.bounds))
        self.best, self.end = np.inf, None

    def residuals(self, p):
        if time.process_time() > self.end:
            raise Late
        r = np.broadcast_to(self.formula.predict(p, self.inputs) - self.y, self.y.shape)
        r = np.clip(np.nan_to_num(r, nan=1e100, posinf=1e100, neginf=-1e100), -1e100, 1e100)
        if np.all(p >= self.low) and np.all(p <= self.high):
            self.best = min(self.best, float(np.mean(r * r)))
        return r

    def starts(self, draw, count):
        """The start, and others around it: each number times or divided by about 5, free ones of either sign."""
        yield self.formula.start
        for _ in range(count - 1):
            size = np.where(self.formula.start == 0.0, 1.0, self.formula.start)
            point = size * np.exp(1.6 * draw.standard_normal(len(size)))
            yield np.where(np.isinf(self.low), point * draw.choice([-1.0, 1.0], len(size)), point)

    def box(self):
        size = 10.0 * np.maximum(np.abs(self.formula.start), 1.0)
        return list(zip(np.maximum(self.low, -size), np.minimum(self.high, size)))


def least_squares_20(peer, draw):
    from scipy.optimize import least_squares

    for start in peer.starts(draw, 20):
        try:
            inside = np.clip(start, np.nextafter(peer.low, np.inf), peer.high)
            least_squares(peer.residuals, inside, bounds=(peer.low, peer.high), x_scale="jac", max_nfev=1000)
        except (ValueError, np.linalg.LinAlgError):
            continue


def evolution(peer, draw):
    from scipy.optimize import differential_evolution

    mean = lambda p: float(np.mean(peer.residuals(p) ** 2))
    differential_evolution(mean, peer.box(), rng=draw, maxiter=2000, tol=1e-10)


def lmfit_start(peer, draw):
    import lmfit

    parameters = lmfit.Parameters()
    for name, start, low, high in zip(peer.formula.names, peer.formula.start, peer.low, peer.high):
        parameters.add(name, value=start, min=low, max=high)
    residuals = lambda p: peer.residuals(np.array([p[name].value for name in peer.formula.names]))
    lmfit.minimize(residuals, parameters, nan_policy="propagate")


def run(case, longest=LONGEST):
    """The loss and processor seconds of each peer, in the order of `NAMES`; a peer is stopped after `longest` seconds."""
    found = []
    for fit in (least_squares_20, evolution, lmfit_start):
        peer, began = Peer(case), time.process_time()
        peer.end = began + longest
        try:
            with np.errstate(all="ignore"):
                fit(peer, np.random.default_rng(1))
        except (Late, ValueError, ArithmeticError, np.linalg.LinAlgError):
            pass
        found.append((peer.best, time.process_time() - began))
    return found
