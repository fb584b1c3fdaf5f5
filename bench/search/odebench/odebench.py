"""ODEBench: `dmci search --ode` on the systems of sr_odebench, from one trajectory each.

    python odebench.py DMCI [--seconds 12] [--workers 2] [--noise none|additive|multiplicative] [--only ID,ID] [--seed 0]
                       [--out results.json]

Each search sees the first trajectory alone: clean, with noise of 5% of each state's deviation (additive), or with each
value off by 5% of itself (multiplicative, as ODEFormer published). What it finds is integrated by an adaptive method of
order 5 from the true initial values: over the times of the first trajectory (reconstruction) and from the second initial
condition (generalisation), and compared with the trajectories without noise. R2 weighs states by their variance. The data
are found by DMCI_SHARED (default ../shared beside the repository).
"""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import random
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
SHARED = pathlib.Path(os.environ.get("DMCI_SHARED", ROOT.parent / "shared"))

FUNCTIONS = {
    "square": lambda x: x * x,
    "cube": lambda x: x * x * x,
    "sqrt": math.sqrt,
    "cbrt": math.cbrt if hasattr(math, "cbrt") else lambda x: math.copysign(abs(x) ** (1 / 3), x),
    "exp": math.exp,
    "log": math.log,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "tanh": math.tanh,
    "abs": abs,
}


def read(text):
    """The forms of a program as nested lists."""
    lines = [line.split(";")[0] for line in text.splitlines()]
    words = "\n".join(lines).replace("(", " ( ").replace(")", " ) ").replace("'", " ").split()
    stack = [[]]
    for word in words:
        if word == "(":
            stack.append([])
        elif word == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(word)
    return stack[0]


def python(form, names):
    """An expression as Python."""
    if isinstance(form, str):
        return names.get(form, f"({form})")
    head, *rest = form
    parts = [python(part, names) for part in rest]
    if head == "-" and len(parts) == 1:
        return f"(-{parts[0]})"
    if head == "/" and len(parts) == 1:
        return f"(1.0/{parts[0]})"
    if head in "+-*/":
        return "(" + head.join(parts) + ")"
    if head == "expt":
        return f"({parts[0]}**{parts[1]})"
    if head in ("min", "max"):
        return f"{head}({', '.join(parts)})"
    return f"F[{head!r}]({parts[0]})"


def system(program):
    """The right-hand side of a program as a function of a list of states."""
    forms = read(program)
    params = next(form for form in forms if form[0] == "params")
    starts = {entry[0]: float(entry[2]) for entry in params[1:]}
    holes = [form[2] for form in forms if form[0] == "define" and isinstance(form[2], list) and form[2][0] == "hole"]
    rates = []
    for hole in holes:
        names = {name: f"v[{i}]" for i, name in enumerate(hole[2])}
        names.update({name: f"({value!r})" for name, value in starts.items()})
        rates.append(python(hole[3], names))
    return eval(f"lambda v: ({', '.join(rates)},)", {"F": FUNCTIONS, "min": min, "max": max, "abs": abs})


# Dormand and Prince, order 5(4).
C = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
E = (71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)


def integrate(rates, start, times, tolerance=1e-7, most=60_000):
    """The states at some times; None if they leave their domain, run away, or need too many steps."""
    y, t, h, taken = list(start), times[0], (times[1] - times[0]) / 4, 0
    found = [list(y)]
    try:
        k1 = rates(y)
        for end in times[1:]:
            while t < end - 1e-12 * max(1.0, abs(end)):
                taken += 1
                if taken > most or h < 1e-12:
                    return None
                step = min(h, end - t)
                slopes = [k1]
                for row in C:
                    point = [a + step * sum(c * k[i] for c, k in zip(row, slopes)) for i, a in enumerate(y)]
                    slopes.append(rates(point))
                scale = [tolerance * (1e-3 + max(abs(a), abs(b))) for a, b in zip(y, point)]
                off = [step * sum(e * k[i] for e, k in zip(E, slopes)) / s for i, s in enumerate(scale)]
                error = math.sqrt(sum(e * e for e in off) / len(off))
                if not math.isfinite(error):
                    h = step / 5
                    continue
                if error <= 1:
                    t, y, k1 = t + step, point, slopes[-1]
                    if max(map(abs, y)) > 1e9:
                        return None
                grown = 0.9 * max(error, 1e-10) ** -0.2
                if error > 1 or step == h:
                    h = step * min(5.0, max(0.2, grown))
            found.append(list(y))
    except (ValueError, OverflowError, ZeroDivisionError, TypeError):
        return None
    return found


def r2(rates, start, times, truth):
    """The share of the variance of all states that is explained."""
    found = integrate(rates, start, times)
    if found is None:
        return -math.inf
    left = whole = 0.0
    for i, values in enumerate(truth):
        mean = sum(values) / len(values)
        whole += sum((value - mean) ** 2 for value in values)
        left += sum((value - point[i]) ** 2 for value, point in zip(values, found))
    return 1 - left / whole if whole > 0 else -math.inf


def times_of(trajectory):
    n = trajectory["n"]
    return [trajectory["t0"] + (trajectory["t1"] - trajectory["t0"]) * k / (n - 1) for k in range(n)]


def one(task, args, folder):
    first, second = task["trajectories"][:2]
    stream = random.Random(f"{args.seed} {task['id']}")
    columns = []
    for values in first["y"]:
        mean = sum(values) / len(values)
        deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
        if args.noise == "additive":
            values = [value + 0.05 * deviation * stream.gauss(0, 1) for value in values]
        elif args.noise == "multiplicative":
            values = [value * (1 + 0.05 * stream.gauss(0, 1)) for value in values]
        columns.append(values)
    names = [f"x{i}" for i in range(task["dim"])]
    path = pathlib.Path(folder) / f"{task['id']}.csv"
    with open(path, "w") as file:
        file.write(",".join(["t", *names]) + "\n")
        for row in zip(times_of(first), *columns):
            file.write(",".join(map(repr, row)) + "\n")
    command = [args.dmci, "search", "--data", str(path), "--ode", ",".join(names), "--time", "t", "--sealed", "none"]
    command += ["--time-limit", str(args.seconds), "--threads", "1", "--seed", str(args.seed), "--json", *args.options]
    began = time.time()
    done = subprocess.run(command, capture_output=True, text=True)
    took = time.time() - began
    result = {"id": task["id"], "dim": task["dim"], "description": task["description"], "seconds": round(took, 1)}
    if done.returncode != 0:
        return {**result, "error": done.stderr.strip()[-300:], "reconstruction": None, "generalisation": None}
    answer = json.loads(done.stdout)
    rates = system(answer["best"]["program"])
    scores = [r2(rates, [y[0] for y in t["y"]], times_of(t), t["y"]) for t in (first, second)]
    best = answer["best"]
    return {
        **result,
        "reconstruction": scores[0] if math.isfinite(scores[0]) else None,
        "generalisation": scores[1] if math.isfinite(scores[1]) else None,
        "nodes": best["nodes"],
        "evaluations": answer["evaluations"],
        "formula": best["formula"],
        "finding": answer["verdict"]["finding"],
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dmci")
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--noise", choices=["none", "additive", "multiplicative"], default="none")
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out")
    parser.add_argument("options", nargs="*", help="further options of dmci search, behind --")
    args = parser.parse_args()
    tasks = json.loads((SHARED / "data/sr_odebench/odebench.json").read_text())
    if args.only:
        tasks = [task for task in tasks if str(task["id"]) in args.only.split(",")]
    began, cpu = time.time(), os.times()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(args.workers) as pool:
        results = []
        for result in pool.map(lambda task: one(task, args, folder), tasks):
            results.append(result)
            shown = ["-" if result[k] is None else f"{result[k]:.4f}" for k in ("reconstruction", "generalisation")]
            told = result.get("formula") or result.get("error")
            print(f"{result['id']:>3} {shown[0]:>9} {shown[1]:>9} {result['seconds']:>6}s {told}", flush=True)
    spent = os.times()
    share = lambda key: sum((r[key] or -1) > 0.9 for r in results) / len(results)
    summary = {
        "noise": args.noise,
        "seed": args.seed,
        "systems": len(results),
        "reconstruction": share("reconstruction"),
        "generalisation": share("generalisation"),
        "seconds": round(time.time() - began, 1),
        "processor_seconds": round(spent.children_user + spent.children_system - cpu.children_user - cpu.children_system, 1),
        "workers": args.workers,
    }
    print(json.dumps(summary))
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps({"summary": summary, "systems": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
