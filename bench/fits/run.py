"""Fits the suite with dmci, one process and one thread for each case, and says what was reached.

    run.py DMCI SHARED [--peers] [--only TEXT] [--verbose] [--set OPTION]...

A case is reached if the loss is at most the least known one times 1 + 1e-6, or below 1e-10 of the variance of the
target, within 10 s of processor time. The bare word `converged` is false where the report itself knows better (`beaten`: another of its
starts has a lower loss), where least squares from the reported parameters find a lower loss (`not optimal`), or where a
lower loss is known (`local`). The exit status is 1 if there is a false word, or fewer than 95% are reached."""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile

import numpy as np
from cases import all_cases
from formula import Formula

LONGEST = 10.0
CLOSE = 1e-6
EXACT = 1e-10
HERE = os.path.dirname(os.path.abspath(__file__))


def write_table(path, columns):
    with open(path, "w") as file:
        file.write(",".join(columns) + "\n")
        for row in zip(*columns.values()):
            file.write(",".join(repr(float(x)) for x in row) + "\n")


def used():
    """Processor seconds of all commands so far: on a busy machine the clock says little."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def fit(dmci, case, folder, options):
    program, table = f"{folder}/model.scm", f"{folder}/table.csv"
    with open(program, "w") as file:
        file.write(case.text)
    write_table(table, case.columns)
    command = [dmci, "fit", program, "--data", table, "--target", case.target, "--json", *options]
    began = used()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=12 * LONGEST, env={**os.environ, "RAYON_NUM_THREADS": "1"})
    except subprocess.TimeoutExpired:
        return None, 12 * LONGEST, "not ended after 120 s"
    seconds = used() - began
    try:
        return json.loads(done.stdout), seconds, ""
    except ValueError:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        return None, seconds, lines[0] if lines else f"exit status {done.returncode}"


def at_end(report):
    """The word for how the fit ended."""
    return report.get("status") or report["stopped"]


def losses(report):
    of = lambda x: x if isinstance(x, float | int) else math.inf
    return of(report["loss"]["value"]), [of(r["loss"]) for r in report["restarts"]]


def is_improved(case, report, loss):
    """Whether least squares from the reported parameters find a clearly lower loss."""
    from scipy.optimize import least_squares

    formula = Formula(case.text)
    y = case.columns[case.target]
    inputs = {k: v for k, v in case.columns.items() if k != case.target}
    low, high = (np.array(b) for b in zip(*formula.bounds))
    residuals = lambda p: np.nan_to_num(formula.predict(p, inputs) - y, nan=1e100, posinf=1e100, neginf=-1e100)
    start = np.array([float(report["parameters"][name]["value"]) for name in formula.names])
    start = np.clip(start, np.nextafter(low, np.inf), high)
    try:
        with np.errstate(all="ignore"):
            found = least_squares(residuals, start, bounds=(low, high), x_scale="jac", xtol=1e-12, ftol=1e-12, gtol=1e-12, max_nfev=30)
    except (ValueError, np.linalg.LinAlgError):
        return False
    return float(np.mean(residuals(found.x) ** 2)) < loss * (1 - CLOSE) - EXACT * float(np.var(y))


def judged(case, best, report, seconds, why):
    """Whether it was reached, the kind of a false word if there is one, and a line for people."""
    if report is None:
        return False, "", f"failed: {why}"
    loss, others = losses(report)
    floor = EXACT * float(np.var(case.columns[case.target]))
    reached = loss <= best * (1 + CLOSE) or loss < floor
    word, false = at_end(report), ""
    if word == "converged" and loss >= floor:
        if min(others, default=math.inf) < loss * (1 - CLOSE):
            false = "beaten"
        elif is_improved(case, report, loss):
            false = "not optimal"
        elif not reached:
            false = "local"
    better = ", lower than known" if loss < best * (1 - CLOSE) and loss >= floor else ""
    line = f"loss {loss:.7g}, known {best:.7g}, {word}, {report['optimizer']['name']}, {seconds:.2f} s{better}"
    return reached and seconds <= LONGEST, false, line


class Tally:
    def __init__(self):
        self.rows = {}

    def add(self, family, reached, false, seconds, peers):
        for key in (family, "all"):
            row = self.rows.setdefault(key, dict(cases=0, reached=0, false=0, seconds=0.0, longest=0.0, peers=[]))
            row["cases"] += 1
            row["reached"] += reached
            row["false"] += bool(false)
            row["seconds"] += seconds
            row["longest"] = max(row["longest"], seconds)
            row["peers"] += [peers]

    def show(self, names):
        heads = "".join(f" {name:>30}" for name in names)
        print(f"{'family':14} {'cases':>5} {'reached':>7} {'false':>5} {'seconds':>8} {'longest':>8}{heads}")
        last = sorted(self.rows, key=lambda key: key == "all")
        for family in last:
            row = self.rows[family]
            line = f"{family:14} {row['cases']:5} {row['reached']:7} {row['false']:5} {row['seconds']:8.2f} {row['longest']:8.2f}"
            for k in range(len(names)):
                reached, seconds = (sum(p[k][i] for p in row["peers"]) for i in (0, 1))
                line += f" {f'{reached:d} in {seconds:.1f} s':>30}"
            print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dmci")
    parser.add_argument("shared")
    parser.add_argument("--peers", action="store_true", help="fit with SciPy and lmfit as well")
    parser.add_argument("--longest", type=float, default=LONGEST, help="processor seconds of each peer")
    parser.add_argument("--only", default="", help="cases whose `family: name` contains this text")
    parser.add_argument("--verbose", action="store_true", help="print a line for every case")
    parser.add_argument("--set", action="append", default=[], help="an option for dmci fit, such as --set=--restarts=20")
    given = parser.parse_args()
    cases, missing = all_cases(given.shared)
    for file in missing:
        print(f"skipped: {file} is not there (DMCI_SHARED names the folder)", file=sys.stderr)
    known = json.load(open(f"{HERE}/best.json"))
    tally, names, notes = Tally(), [], []
    if given.peers:
        import peers

        names = peers.NAMES
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            label = f"{case.family}: {case.name}"
            if given.only not in label:
                continue
            best = known[label]
            floor = EXACT * float(np.var(case.columns[case.target]))
            report, seconds, why = fit(given.dmci, case, folder, given.set)
            reached, false, line = judged(case, best, report, seconds, why)
            theirs = peers.run(case, given.longest) if given.peers else []
            theirs = [(loss <= best * (1 + CLOSE) or loss < floor, time) for loss, time in theirs]
            tally.add(case.family, reached, false, seconds, theirs)
            mark = "  " if reached else "x "
            if given.verbose:
                print(f"{mark}{label:52} {line}{', FALSE: ' + false if false else ''}", flush=True)
            elif not reached or false:
                notes.append(f"{mark}{label:52} {line}{', FALSE: ' + false if false else ''}")
    if not tally.rows:
        sys.exit(f"no case contains {given.only!r}")
    tally.show(names)
    print("\n".join(notes))
    row = tally.rows["all"]
    print(f"{row['reached']} of {row['cases']} reached, {row['false']} called converged falsely")
    sys.exit(bool(row["false"] or row["reached"] < 0.95 * row["cases"]))


if __name__ == "__main__":
    main()
