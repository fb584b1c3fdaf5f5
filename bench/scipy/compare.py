"""Our fits beside scipy.optimize: the same problems, the same starts, mean squared errors and times.

SciPy gets what a user writes: a Python function of the parameters (vectorised with NumPy for the NIST
problems), and derivatives by its own differences. Times are the least of twenty fits in a running process, for us
including reading, checking and recording the program, which is done anew for each, and standard errors. Twenty of ours
take a few milliseconds, all of which the machine may be busy with something else: so all of ours and all of theirs are
done in five parts, in turns.
"""

import json
import math
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import scipy
from scipy.optimize import least_squares, minimize


LONGEST = 20.0  # seconds of one fit of SciPy
ROUNDS = 20
PARTS = 5  # of the rounds
LONG_ENOUGH = 2.0  # seconds of all rounds of one fit of SciPy


class Endless(BaseException):
    """A fit of SciPy took too long; no exception that a model could catch."""


def nist(shared):
    for problem in json.load(open(f"{shared}/data/nist_strd/nist_strd.json")):
        data = np.array(problem["data"], dtype=float)
        columns = {name: data[:, i] for i, name in enumerate(problem["columns"])}
        if problem["response"] == "log(y)":
            columns["y"] = np.log(columns["y"])
        names = problem["parameters"]
        code = compile(problem["model_infix"], problem["name"], "eval")
        functions = {"exp": np.exp, "cos": np.cos, "sin": np.sin, "pi": math.pi}
        predictors = {k: v for k, v in columns.items() if k != "y"}

        def model(p, code=code, names=names, predictors=predictors):
            return eval(code, dict(functions, **predictors, **dict(zip(names, p))))

        for start in ["start1", "start2"]:
            starts = [float(s) for s in problem[start]]
            schema = " ".join(f"({n} free {s!r})" for n, s in zip(names, starts))
            text = f"(params {schema}) (define pi {math.pi!r}) {problem['model_sexpr']}"
            yield f"{problem['name']} {start[5:]}", text, {k: v.tolist() for k, v in columns.items()}, starts, model


def corpus(shared):
    for line in open(f"{shared}/corpus.jsonl"):
        entry = json.loads(line)
        plain = lambda values: values and all(isinstance(v, float) for v in values)
        if not plain(entry["params"].values()) or not all(plain(e.values()) for e in entry["examples"]):
            continue
        draw = random.Random(entry["id"])
        scope = {}
        exec(entry["python"], scope)
        names, inputs = list(entry["params"]), entry["inputs"]
        rows = []
        for _ in range(30):
            mix = [draw.random() for _ in entry["examples"]]
            mix = [m / sum(mix) for m in mix]
            rows.append({k: sum(m * e[k] for m, e in zip(mix, entry["examples"])) for k in inputs})
        try:
            y = np.array([scope["model"](entry["params"], row) for row in rows])
        except Exception:
            continue
        if not np.all(np.isfinite(y)) or np.ptp(y) == 0:
            continue
        y = y + 0.02 * np.std(y) * np.array([draw.gauss(0, 1) for _ in y])
        starts = [v * (1 + 0.15 * draw.gauss(0, 1)) for v in entry["params"].values()]

        def model(p, names=names, rows=rows, f=scope["model"]):
            values = dict(zip(names, p))
            return np.array([f(values, row) for row in rows])

        columns = {k: [row[k] for row in rows] for k in inputs}
        columns["measured-value"] = y.tolist()
        schema = " ".join(f"({n} free {s!r})" for n, s in zip(names, starts))
        yield entry["id"], f"(params {schema}) {entry['source']}", columns, starts, model


def safely(function):
    def safe(p):
        try:
            with np.errstate(all="ignore"):
                value = function(p)
            return value if np.all(np.isfinite(value)) else np.nan_to_num(value, nan=1e150, posinf=1e150, neginf=-1e150)
        except Exception:
            return None

    return safe


def our_rounds(batch, lines, rounds):
    """The answers to each case: all rounds of one follow on one another, as those of SciPy do."""
    with tempfile.TemporaryFile("w+") as asked:
        asked.writelines(line + "\n" for line in lines for _ in range(rounds))
        asked.seek(0)
        answers = subprocess.run([batch], stdin=asked, capture_output=True, text=True).stdout.splitlines()
    return [[json.loads(line) for line in answers[at:at + rounds]] for at in range(0, len(answers), rounds)]


def more_rounds(rounds, kind, model, y, starts):
    """Adds losses, which are the same in every round, and times."""
    for _ in range(ROUNDS // PARTS):
        if sum(seconds for _, seconds in rounds) < LONG_ENOUGH:
            rounds.append(one_fit(kind, model, y, starts))


def one_fit(kind, model, y, starts):
    safe = safely(model)
    residuals = lambda p: (lambda v: np.full(len(y), 1e150) if v is None else v - y)(safe(p))
    began = time.perf_counter()
    # Far from the truth, the iterations of some models do not end.
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(Endless()))
    signal.setitimer(signal.ITIMER_REAL, LONGEST)
    try:
        with np.errstate(all="ignore"):
            if kind == "least_squares":
                point = least_squares(residuals, starts, x_scale="jac", max_nfev=2000).x
            else:
                loss = lambda p: float(np.mean(np.clip(residuals(p), -1e150, 1e150) ** 2))
                point = minimize(loss, starts, method="L-BFGS-B", options=dict(maxiter=2000, maxfun=100000)).x
        seconds = time.perf_counter() - began
        loss = float(np.mean(residuals(point) ** 2))
    except (Exception, Endless):
        return math.inf, time.perf_counter() - began
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return (loss if math.isfinite(loss) else math.inf), seconds


def main():
    batch, shared = sys.argv[1:3]
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
    cases = [("nist", *c) for c in nist(shared)] + [("corpus", *c) for c in corpus(shared)]
    cases = [c for c in cases if c[1].startswith(only)]
    target = {"nist": "y", "corpus": "measured-value"}
    lines = [json.dumps(dict(text=t, columns=c, target=target[g], optimizer="auto")) for g, _, t, c, _, _ in cases]
    kinds = ("least_squares", "minimize")
    answers, theirs = [[] for _ in cases], [[[] for _ in kinds] for _ in cases]
    for part in range(PARTS):
        for of_case, more in zip(answers, our_rounds(batch, lines, ROUNDS // PARTS)):
            of_case += more
        for (group, _, _, columns, starts, model), of_case in zip(cases, theirs):
            for kind, rounds in zip(kinds, of_case):
                more_rounds(rounds, kind, model, np.array(columns[target[group]]), starts)
        print(f"part {part + 1} of {PARTS} is done", file=sys.stderr, flush=True)
    ours = [min(of_case, key=lambda answer: answer["seconds"]) for of_case in answers]
    theirs = [[(rounds[0][0], min(seconds for _, seconds in rounds)) for rounds in of_case] for of_case in theirs]
    print(f"SciPy {scipy.__version__}, NumPy {np.__version__}, {len(cases)} cases")
    print(f"{'case':34} {'our loss':>12} {'lsq loss':>12} {'L-BFGS-B':>12} {'our ms':>9} {'lsq ms':>9} {'L-B ms':>9}")
    ratios, worse, failed = [], [], []
    for (group, name, _, columns, _, _), mine, ((lsq, lsq_time), (lb, lb_time)) in zip(cases, ours, theirs):
        y = np.array(columns[target[group]])
        if "error" in mine:
            failed.append(f"{name}: {mine['error'].splitlines()[0]}")
            loss = math.inf
        else:
            loss = mine["loss"] if isinstance(mine["loss"], float) else math.inf
        ratios += [lsq_time / mine["seconds"], lb_time / mine["seconds"]]
        # Losses at the level of rounding errors count as equal.
        floor = 1e-24 * float(np.mean(y**2))
        if loss > min(lsq, lb) * (1 + 1e-6) + floor:
            worse.append(f"{name}: {loss:.6g}, SciPy {min(lsq, lb):.6g}")
        print(f"{name:34} {loss:12.5g} {lsq:12.5g} {lb:12.5g} {1e3 * mine['seconds']:9.2f} {1e3 * lsq_time:9.2f} {1e3 * lb_time:9.2f}")
    share = 1 - len(worse) / len(cases)
    print(f"no worse than the better of both in {100 * share:.1f}% of {len(cases)} cases")
    print(f"SciPy takes {statistics.geometric_mean(ratios):.1f} times as long in the geometric mean")
    for line in worse + failed:
        print("  ", line)
    sys.exit(share < 0.98)


main()
