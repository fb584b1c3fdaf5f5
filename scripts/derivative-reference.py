"""Writes crates/dmci-tape/tests/derivatives.txt: derivatives of every operation, by 50-digit arithmetic.

Needs mpmath. Each line: operation, operand index, operands, derivative.
"""
import random
import mpmath as mp

mp.mp.dps = 50
random.seed(1)
sigmoid = lambda x: 1 / (1 + mp.exp(-x))
unary = {
    "neg": (lambda x: -x, (-5, 5)), "abs": (abs, (-5, 5)), "sqrt": (mp.sqrt, (0.01, 50)),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), (0.1, 50)), "exp": (mp.exp, (-20, 20)), "expm1": (mp.expm1, (-5, 5)),
    "log": (mp.log, (1e-3, 100)), "log2": (lambda x: mp.log(x, 2), (1e-3, 100)), "log10": (mp.log10, (1e-3, 100)),
    "log1p": (mp.log1p, (-0.9, 50)), "sin": (mp.sin, (-10, 10)), "cos": (mp.cos, (-10, 10)), "tan": (mp.tan, (-1.4, 1.4)),
    "asin": (mp.asin, (-0.95, 0.95)), "acos": (mp.acos, (-0.95, 0.95)), "atan": (mp.atan, (-20, 20)),
    "sinh": (mp.sinh, (-8, 8)), "cosh": (mp.cosh, (-8, 8)), "tanh": (mp.tanh, (-3, 3)), "asinh": (mp.asinh, (-20, 20)),
    "acosh": (mp.acosh, (1.1, 30)), "atanh": (mp.atanh, (-0.95, 0.95)), "erf": (mp.erf, (-3, 3)), "erfc": (mp.erfc, (-3, 3)),
    "gamma": (mp.gamma, (0.3, 12)), "lgamma": (mp.loggamma, (0.3, 40)), "digamma": (mp.digamma, (0.3, 40)),
    "sigmoid": (sigmoid, (-6, 6)), "softplus": (lambda x: mp.log1p(mp.exp(x)), (-20, 20)),
    "relu": (lambda x: max(x, mp.mpf(0)), (-5, 5)), "floor": (mp.floor, (-5, 5)), "round": (mp.nint, (-5, 5)),
    "sign": (mp.sign, (-5, 5)), "root": (mp.sqrt, (0.01, 50)),
}
binary = {
    "add": (lambda x, y: x + y, (-5, 5), (-5, 5)), "sub": (lambda x, y: x - y, (-5, 5), (-5, 5)),
    "mul": (lambda x, y: x * y, (-5, 5), (-5, 5)), "div": (lambda x, y: x / y, (-5, 5), (0.2, 9)),
    "pow": (lambda x, y: x ** y, (0.1, 5), (-3, 3)), "atan2": (mp.atan2, (-5, 5), (0.2, 5)),
    "hypot": (mp.hypot, (-5, 5), (0.5, 5)), "min": (min, (-5, 5), (-5, 5)), "max": (max, (-5, 5), (-5, 5)),
    "modulo": (lambda x, y: x - y * mp.floor(x / y), (-20, 20), (1.3, 4)),
    "remainder": (lambda x, y: x - y * mp.sign(x / y) * mp.floor(abs(x / y)), (-20, 20), (1.3, 4)),
    "ratio": (lambda x, y: x / y, (-5, 5), (0.2, 9)),
}
lines = []
for name, (f, (lo, hi)) in unary.items():
    for _ in range(12):
        x = random.uniform(lo, hi)
        lines.append(f"{name} 0 {x!r} {mp.nstr(mp.diff(f, mp.mpf(x), h=mp.mpf(10) ** -15), 20)}")
for name, (f, a, b) in binary.items():
    for _ in range(12):
        x, y = random.uniform(*a), random.uniform(*b)
        for i in (0, 1):
            g = (lambda t: f(t, mp.mpf(y))) if i == 0 else (lambda t: f(mp.mpf(x), t))
            d = mp.diff(g, mp.mpf(x if i == 0 else y), h=mp.mpf(10) ** -15)
            lines.append(f"{name} {i} {x!r} {y!r} {mp.nstr(d, 20)}")
# Near the ends of their domains differences are too coarse, so derivatives are formulas.
edges = {
    "asin": (lambda x: 1 / mp.sqrt(1 - x * x), (1, -1), -1), "acos": (lambda x: -1 / mp.sqrt(1 - x * x), (1, -1), -1),
    "atanh": (lambda x: 1 / (1 - x * x), (1, -1), -1), "acosh": (lambda x: 1 / mp.sqrt(x * x - 1), (1,), 1),
}
for name, (d, signs, side) in edges.items():
    for k in (1.5, 3, 5, 7, 9, 11, 13, 15):
        for sign in signs:
            x = sign * (1 + side * 10.0 ** -k)
            lines.append(f"{name} 0 {x!r} {mp.nstr(d(mp.mpf(x)), 20)}")
print("\n".join(lines))
