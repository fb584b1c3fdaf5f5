"""The 160 hard fits: programs with their starts, and tables. Data of `../shared` are read, everything else is drawn
from seeded generators, so that every machine sees the same numbers."""

import csv
import json
import os
from dataclasses import dataclass

import numpy as np
from formula import Formula


@dataclass
class Case:
    family: str
    name: str
    text: str
    columns: dict
    target: str
    truth: list | None  # parameters that the data were made from, if they were made


def numbers(path):
    with open(path, newline="") as file:
        rows = list(csv.reader(row for row in file if row.strip()))
    return {name: np.array([float(row[i]) for row in rows[1:]]) for i, name in enumerate(rows[0])}


def schema(starts, kinds=None):
    kinds = kinds or {}
    return "(params " + " ".join(f"({n} {kinds.get(n, 'free')} {float(s)!r})" for n, s in starts.items()) + ")"


def nist(shared):
    for problem in json.load(open(f"{shared}/data/nist_strd/nist_strd.json")):
        data = np.array(problem["data"], dtype=float)
        columns = {name: data[:, i] for i, name in enumerate(problem["columns"])}
        if problem["response"] == "log(y)":
            columns["y"] = np.log(columns["y"])
        certified = [float(c) for c in problem["certified"]]
        for factor in (1.0, 0.01, 100.0):
            starts = {n: factor * float(s) for n, s in zip(problem["parameters"], problem["start1"])}
            text = f"{schema(starts)} (define pi 3.141592653589793) {problem['model_sexpr']}"
            yield Case("nist", f"{problem['name']} x{factor:g}", text, columns, "y", certified)


BOD = "(* A (- 1 (exp (- (* k time_days)))))"
DECAY = "(+ c (* a (exp (- (* k t)))))"
ORAL = """(/ (* (* dose_mg_per_kg (* ka ke)) (- (exp (- (* ke time_h))) (exp (- (* ka time_h))))) (* cl (- ka ke)))"""


def seen(shared):
    """The cases in which fits were seen to end at a wrong point."""
    folder = f"{shared}/cases"
    bod = numbers(f"{shared}/data/bod/bod.csv")
    positive = {"A": "positive", "k": "positive", "ka": "positive", "ke": "positive", "cl": "positive"}
    for name, starts in [("k=50", (20, 50)), ("A=20000 k=5000", (2e4, 5e3)), ("A=0.01 k=1e-4", (0.01, 1e-4))]:
        text = f"{schema(dict(zip('Ak', starts)), positive)} {BOD}"
        yield Case("cases", f"bod {name}", text, bod, "bod_mg_per_l", None)
    decay = numbers(f"{folder}/decay.csv")
    for name, starts in [("k=40", (0, 1, 40)), ("k=1e-5", (0, 1, 1e-5))]:
        text = f"{schema(dict(zip('cak', starts)), positive)} {DECAY}"
        yield Case("cases", f"decay {name}", text, decay, "y", None)
    theoph = numbers(f"{shared}/data/theophylline/theoph.csv")
    for name, starts in [("ka=300", (300, 0.08, 0.04)), ("ke=50", (1.5, 50, 0.04)), ("x0.001", (1.5e-3, 8e-5, 4e-5))]:
        text = f"{schema(dict(zip(('ka', 'ke', 'cl'), starts)), positive)} {ORAL}"
        yield Case("cases", f"theophylline {name}", text, theoph, "conc_mg_per_l", None)
    for name in ["02_scale", "12b_neg_positive", "13_sin", "16_ten", "22_abs_kink"]:
        text = open(f"{folder}/{name}.scm").read().strip()
        yield Case("cases", name, text, numbers(f"{folder}/{name}.csv"), "y", None)


def made(family, name, starts, truth, body, x, noise, draw, kinds=None):
    """A case whose data are its own model at other parameters, with noise."""
    text = f"{schema(starts, kinds)} {body}"
    columns = x if isinstance(x, dict) else {"x": x}
    y = Formula(text).predict(truth, columns)
    y = y + noise * draw.standard_normal(len(y))
    return Case(family, name, text, {**columns, "y": y}, "y", [float(t) for t in truth])


def exponentials():
    """Sums of 2 to 5 exponentials; the rates start a hundred times too fast, too slow, equal, or as positives."""
    draw = np.random.default_rng(101)
    for count in (2, 3, 4, 5):
        rates = 0.05 * 4.0 ** np.arange(count) * draw.uniform(0.8, 1.25, count)
        sizes = draw.uniform(1.0, 5.0, count) * draw.choice([1.0, 1.0, -1.0], count)
        x = np.linspace(0.0, 40.0, 60 + 40 * count)
        body = "(+ " + " ".join(f"(* a{i} (exp (- (* k{i} x))))" for i in range(count)) + ")"
        truth = np.column_stack([sizes, rates]).ravel()
        kinds = {f"k{i}": "positive" for i in range(count)}
        for name, start, kind in [
            ("fast", [20.0 * (1 + 0.1 * i) for i in range(count)], None),
            ("slow", [1e-3 * (1 + i) for i in range(count)], None),
            ("equal", [1.0 + 0.01 * i for i in range(count)], kinds),
            ("fast positive", [50.0 * (1 + i) for i in range(count)], kinds),
        ]:
            starts = {}
            for i in range(count):
                starts[f"a{i}"], starts[f"k{i}"] = 1.0, start[i]
            noise = 0.01 if count < 4 else 0.001
            yield made("exponentials", f"{count} exponentials {name}", starts, truth, body, x, noise, draw, kind)


def sines():
    """Sines from wrong frequencies: one, with a trend, at uneven times, by its period, and two or three of them."""
    draw = np.random.default_rng(102)
    even, uneven = np.linspace(0.0, 20.0, 200), np.sort(draw.uniform(0.0, 20.0, 150))
    one = "(* a (sin (+ (* w x) p)))"
    for w, start in [(7.3, 1.0), (0.9, 12.0), (11.0, 2.0), (4.0, 0.01), (2.5, 2.0), (15.0, 5.0)]:
        starts = {"a": 1.0, "w": start, "p": 0.0}
        yield made("sines", f"w={w:g} from {start:g}", starts, (2.0, w, 0.7), one, even, 0.3, draw)
    for w, start in [(6.1, 1.0), (13.0, 3.0), (3.3, 9.0)]:
        starts = {"a": 1.0, "w": start, "p": 0.0}
        yield made("sines", f"uneven w={w:g} from {start:g}", starts, (1.5, w, -1.0), one, uneven, 0.3, draw)
    trend = "(+ (+ c (* m x)) (+ (* a (sin (* w x))) (* b (cos (* w x)))))"
    for w, start in [(5.5, 0.5), (9.0, 1.0), (1.7, 8.0)]:
        starts = {"c": 0.0, "m": 0.0, "a": 1.0, "b": 1.0, "w": start}
        yield made("sines", f"trend w={w:g} from {start:g}", starts, (3.0, -0.4, 1.2, 0.8, w), trend, even, 0.3, draw)
    period = "(+ c (* a (cos (/ (* 6.283185307179586 (- x d)) T))))"
    for T, start in [(1.3, 5.0), (3.7, 0.9), (0.8, 10.0)]:
        starts = {"c": 0.0, "a": 1.0, "d": 0.0, "T": start}
        yield made("sines", f"period {T:g} from {start:g}", starts, (1.0, 2.0, 0.2, T), period, even, 0.3, draw)
    for count, freqs in [(2, (3.1, 8.4)), (2, (5.0, 5.9)), (3, (2.2, 6.3, 10.7))]:
        body = "(+ " + " ".join(f"(* a{i} (sin (+ (* w{i} x) p{i})))" for i in range(count)) + ")"
        starts, truth = {}, []
        for i, w in enumerate(freqs):
            starts |= {f"a{i}": 1.0, f"w{i}": 1.0 + i, f"p{i}": 0.0}
            truth += [2.0 - 0.4 * i, w, 0.3 + i]
        yield made("sines", f"{count} sines {freqs[0]:g} {freqs[1]:g}", starts, truth, body, even, 0.2, draw)


def damped_sines():
    draw = np.random.default_rng(103)
    x = np.linspace(0.0, 12.0, 160)
    plain = "(* (* a (exp (- (* g x)))) (sin (+ (* w x) p)))"
    offset = "(+ c (* (exp (- (* g x))) (+ (* a (sin (* w x))) (* b (cos (* w x))))))"
    kinds = {"g": "positive", "w": "positive"}
    for g, w, g0, w0 in [(0.2, 6.0, 1.0, 1.0), (0.5, 4.0, 0.01, 12.0), (0.1, 9.0, 2.0, 2.0), (0.3, 2.5, 5.0, 10.0)]:
        starts = {"a": 1.0, "g": g0, "w": w0, "p": 0.0}
        yield made("damped sines", f"g={g:g} w={w:g} from {w0:g}", starts, (3.0, g, w, 0.5), plain, x, 0.1, draw)
        name = f"positive g={g:g} w={w:g} from {w0:g}"
        yield made("damped sines", name, starts, (3.0, g, w, 1.5), plain, x, 0.1, draw, kinds)
        starts = {"c": 0.0, "a": 1.0, "b": 0.0, "g": g0, "w": w0}
        truth = (1.0, 2.0, -1.0, g, w)
        yield made("damped sines", f"offset g={g:g} w={w:g} from {w0:g}", starts, truth, offset, x, 0.1, draw, kinds)


def kinks():
    draw = np.random.default_rng(104)
    x = np.linspace(0.0, 10.0, 120)
    vee = "(+ c (* s (abs (- x k))))"
    for k, start in [(6.0, 0.0), (2.0, 30.0), (8.5, -20.0)]:
        starts = {"k": start, "s": 1.0, "c": 0.0}
        yield made("kinks", f"abs {k:g} from {start:g}", starts, (k, 1.5, -1.0), vee, x, 0.2, draw)
    hinge = "(+ (+ c (* m x)) (* s (max 0 (- x k))))"
    for k, start in [(4.0, 0.0), (7.0, 15.0), (3.0, 9.9)]:
        starts = {"c": 0.0, "m": 1.0, "s": 1.0, "k": start}
        yield made("kinks", f"hinge {k:g} from {start:g}", starts, (1.0, 0.3, -1.2, k), hinge, x, 0.2, draw)
    two = "(+ (+ c (* m x)) (+ (* s (max 0 (- x k))) (* t (max 0 (- x l)))))"
    for k, l, a, b in [(3.0, 7.0, 1.0, 2.0), (2.0, 4.0, 8.0, 9.0)]:
        starts = {"c": 0.0, "m": 1.0, "s": 1.0, "k": a, "t": 1.0, "l": b}
        yield made("kinks", f"two hinges {k:g} {l:g}", starts, (1.0, 0.5, -1.5, k, 2.0, l), two, x, 0.1, draw)
    ramp = "(min hi (max lo (* m (- x d))))"
    for d, start in [(3.0, 20.0), (5.0, 0.0)]:
        starts = {"lo": 0.0, "hi": 1.0, "m": 1.0, "d": start}
        yield made("kinks", f"ramp {d:g} from {start:g}", starts, (-1.0, 4.0, 1.7, d), ramp, x, 0.1, draw)
    broken = "(if (< x k) (+ a (* b x)) (+ (+ a (* b k)) (* e (- x k))))"
    for k, start in [(6.5, 1.0), (2.5, 9.0)]:
        starts = {"k": start, "a": 0.0, "b": 0.0, "e": 0.0}
        yield made("kinks", f"broken line {k:g} from {start:g}", starts, (k, 1.0, 0.8, -0.9), broken, x, 0.2, draw)


def thresholds():
    """Steps at 1 to 10 thresholds; the thresholds start evenly, or all on the left."""
    draw = np.random.default_rng(105)
    evenly = [(count, "") for count in range(1, 11)]
    for count, left in evenly + [(count, "left ") for count in (1, 2, 3, 5, 8)]:
        x = np.sort(draw.uniform(0.0, 20.0, 40 + 36 * count))
        places = np.sort(draw.choice(np.arange(1, 20), count, replace=False) + draw.uniform(-0.4, 0.4, count))
        levels = np.cumsum(draw.uniform(0.6, 2.0, count + 1) * draw.choice([-1.0, 1.0], count + 1))
        starts = {f"v{i}": 0.0 for i in range(count + 1)}
        for i in range(count):
            starts[f"k{i}"] = 0.1 * (i + 1) if left else 20.0 * (i + 1) / (count + 1)
        body = "(cond " + " ".join(f"((< x k{i}) v{i})" for i in range(count)) + f" (else v{count}))"
        truth = np.concatenate([levels, places])
        yield made("thresholds", f"{count} {left}thresholds", starts, truth, body, x, 0.25, draw)


def switches():
    """Two regimes: at a threshold, smoothly, or by a second input."""
    draw = np.random.default_rng(106)
    x = np.linspace(0.0, 10.0, 140)
    lines = "(if (< x k) (+ a (* b x)) (+ c (* d x)))"
    for k, start in [(6.0, 1.0), (3.0, 9.0)]:
        starts = {"k": start, "a": 0.0, "b": 0.0, "c": 0.0, "d": 0.0}
        yield made("switches", f"lines {k:g} from {start:g}", starts, (k, 1.0, 0.5, 7.0, -0.4), lines, x, 0.2, draw)
    growth = "(if (< x k) (* a (exp (* r x))) (+ c (* d (exp (- (* s x))))))"
    for k, start in [(5.0, 1.0), (4.0, 8.0)]:
        starts = {"k": start, "a": 1.0, "r": 0.1, "c": 0.0, "d": 1.0, "s": 0.1}
        truth = (k, 0.5, 0.5, 1.0, 30.0, 0.5)
        yield made("switches", f"growth and decay {k:g} from {start:g}", starts, truth, growth, x, 0.1, draw)
    smooth = "(let* ((g (sigmoid (/ (- x k) w)))) (+ (* (- 1 g) (+ a (* b x))) (* g (+ c (* d x)))))"
    for k, start, w in [(6.0, 0.0, 1.0), (3.0, 12.0, 0.1), (7.0, 2.0, 5.0)]:
        starts = {"k": start, "w": w, "a": 0.0, "b": 0.0, "c": 1.0, "d": 0.0}
        truth = (k, 0.4, 1.0, 0.5, 7.0, -0.4)
        yield made("switches", f"smooth {k:g} from {start:g}", starts, truth, smooth, x, 0.1, draw, {"w": "positive"})
    both = {"x": draw.uniform(0.0, 10.0, 160), "z": draw.uniform(-1.0, 1.0, 160)}
    other = "(if (< z k) (* a x) (+ b (* c x)))"
    for k, start in [(0.3, -0.9), (-0.5, 0.8)]:
        starts = {"k": start, "a": 0.0, "b": 0.0, "c": 0.0}
        yield made("switches", f"second input {k:g} from {start:g}", starts, (k, 1.0, 4.0, -0.5), other, both, 0.3, draw)
    arm = "(* a (if (< x k) x (+ k (/ (- x k) (+ 1 (* b (- x k)))))))"
    starts = {"a": 1.0, "k": 0.5, "b": 1.0}
    yield made("switches", "saturating arm", starts, (2.0, 4.0, 0.8), arm, x, 0.1, draw, {"b": "positive"})


def logistics():
    draw = np.random.default_rng(107)
    x = np.linspace(0.0, 10.0, 80)
    three = "(/ K (+ 1 (exp (- (* r (- x m))))))"
    for m, start, r in [(5.0, 50.0, 1.0), (5.0, -30.0, 1.0), (4.0, 0.0, 20.0), (6.0, 5.0, 1e-3)]:
        starts = {"K": 1.0, "r": r, "m": start}
        yield made("logistic", f"m={m:g} from {start:g}, r from {r:g}", starts, (8.0, 1.4, m), three, x, 0.1, draw)
    four = "(+ lo (/ (- hi lo) (+ 1 (exp (- (* r (- x m)))))))"
    kinds = {"r": "positive"}
    for m, start, r in [(3.0, 30.0, 1.0), (7.0, 0.0, 0.01), (5.0, -10.0, 10.0)]:
        starts = {"lo": 0.0, "hi": 1.0, "r": r, "m": start}
        name = f"four m={m:g} from {start:g}, r from {r:g}"
        yield made("logistic", name, starts, (2.0, 9.0, 1.8, m), four, x, 0.1, draw, kinds)
    gompertz = "(* K (exp (- (* b (exp (- (* r x)))))))"
    for name, starts in [("far", (1.0, 500.0, 0.01)), ("fast", (1.0, 1.0, 30.0))]:
        yield made("logistic", f"gompertz {name}", dict(zip("Kbr", starts)), (7.0, 12.0, 0.8), gompertz, x, 0.1, draw)
    twice = "(+ (/ K (+ 1 (exp (- (* r (- x m)))))) (/ L (+ 1 (exp (- (* s (- x n)))))))"
    for name, starts in [("equal", (1, 1, 5, 1, 1, 5.1)), ("left", (1, 1, 0, 1, 1, 0.5))]:
        starts = dict(zip("KrmLsn", map(float, starts)))
        yield made("logistic", f"two steps {name}", starts, (3.0, 3.0, 2.5, 4.0, 2.0, 7.5), twice, x, 0.05, draw)


def hills():
    draw = np.random.default_rng(108)
    x = np.geomspace(0.01, 100.0, 60)
    hill = "(/ (* V (expt x n)) (+ (expt K n) (expt x n)))"
    positive = {"V": "positive", "K": "positive", "n": "positive"}
    for K, V0, K0, n0 in [(2.0, 1.0, 1e3, 1.0), (2.0, 1.0, 1e-3, 1.0), (10.0, 100.0, 1.0, 8.0), (0.5, 1.0, 50.0, 0.1)]:
        starts = {"V": V0, "K": K0, "n": n0}
        name = f"K={K:g} from {K0:g}, n from {n0:g}"
        yield made("hill", name, starts, (5.0, K, 2.2), hill, x, 0.05, draw, positive)
    based = "(+ b (/ (* V (expt x n)) (+ (expt K n) (expt x n))))"
    for K, K0, n0 in [(3.0, 300.0, 1.0), (0.3, 30.0, 4.0)]:
        starts = {"b": 0.0, "V": 1.0, "K": K0, "n": n0}
        yield made("hill", f"base K={K:g} from {K0:g}", starts, (1.0, 4.0, K, 1.6), based, x, 0.05, draw, positive)
    inhibited = "(/ (* V x) (+ K (* x (+ 1 (/ x L)))))"
    for name, starts in [("far", (1, 1e3, 1e3)), ("near zero", (1, 1e-3, 1e-3))]:
        starts = dict(zip("VKL", map(float, starts)))
        kinds = {"V": "positive", "K": "positive", "L": "positive"}
        yield made("hill", f"inhibited {name}", starts, (6.0, 1.5, 8.0), inhibited, x, 0.05, draw, kinds)
    two = "(+ (/ (* V x) (+ K x)) (/ (* W x) (+ L x)))"
    for name, starts in [("equal", (1, 1, 1, 1.01)), ("far", (1, 1e4, 1, 1e-4))]:
        starts = dict(zip("VKWL", map(float, starts)))
        kinds = {n: "positive" for n in starts}
        yield made("hill", f"two sites {name}", starts, (3.0, 0.2, 4.0, 20.0), two, x, 0.02, draw, kinds)
    free = {"V": 1.0, "K": 1.0, "n": 1.0}
    yield made("hill", "falling", free, (4.0, 2.0, -3.0), hill, x, 0.05, draw, {"V": "positive", "K": "positive"})


FAMILIES = [exponentials, sines, damped_sines, kinks, thresholds, switches, logistics, hills]


def all_cases(shared):
    """All cases, and what is missing of `../shared`."""
    cases, missing = [], []
    for family, needed in [(nist, "data/nist_strd/nist_strd.json"), (seen, "cases/decay.csv")]:
        if os.path.isfile(f"{shared}/{needed}"):
            cases += family(shared)
        else:
            missing.append(f"{shared}/{needed}")
    for family in FAMILIES:
        cases += family()
    return cases, missing
