"""Fits PEtab problems with dmci from random starts within their bounds: ordinary differential equations with a written-out
integrator (RODAS3, L-stable, of order 3), an objective that is the negative log-likelihood, default settings.

    petab.py DMCI SHARED [--only NAME] [--starts 10] [--seconds 60] [--set OPTION] [--show]

A start is reached if the negative log-likelihood is at most 0.1 above that of the published parameters, by the same
integrator, within 60 s of processor time. The first line of each problem compares the two integrators there: the published value is from AMICI."""

import argparse
import csv
import json
import math
import os
import random
import re
import resource
import subprocess
import tempfile

STEPS = {"boehm": 8, "borghans": 6, "bruno": 8, "rahman": 6}
CLOSE = 0.1


def parse(text):
    """A tree of an s-expression."""
    tokens = re.findall(r"[()]|[^\s()]+", text)

    def read():
        token = tokens.pop(0)
        if token != "(":
            return token
        items = []
        while tokens[0] != ")":
            items.append(read())
        tokens.pop(0)
        return items

    return read()


def text(tree):
    return tree if isinstance(tree, str) else f"({' '.join(map(text, tree))})"


def is_number(tree):
    try:
        return math.isfinite(float(tree))
    except (TypeError, ValueError):
        return False


def add(a, b):
    return b if a == "0" else a if b == "0" else ["+", a, b]


def times(a, b):
    return "0" if "0" in (a, b) else b if a == "1" else a if b == "1" else ["*", a, b]


def derivative(tree, name, rules):
    """The derivative of a tree by a name, through assignment rules."""
    by = lambda part: derivative(part, name, rules)
    if isinstance(tree, str):
        return "1" if tree == name else by(rules[tree]) if tree in rules else "0"
    head, *args = tree
    if head == "+":
        found = "0"
        for part in args:
            found = add(found, by(part))
        return found
    if head == "-":
        first, *rest = map(by, args)
        if not rest:
            return times("-1", first)
        for part in rest:
            first = first if part == "0" else ["-", first, part]
        return first
    if head == "*":
        found = "0"
        for k, part in enumerate(args):
            term = by(part)
            for other in args[:k] + args[k + 1 :]:
                term = times(term, other)
            found = add(found, term)
        return found
    if head == "/":
        top, bottom = args
        down = times(by(bottom), ["/", top, ["*", bottom, bottom]])
        up = "0" if by(top) == "0" else ["/", by(top), bottom]
        return up if down == "0" else ["-", up, down]
    if head == "expt" and by(args[1]) == "0":
        less = str(float(args[1]) - 1) if is_number(args[1]) else ["-", args[1], "1"]
        return times(["*", args[1], ["expt", args[0], less]], by(args[0]))
    if head == "exp":
        return times(tree, by(args[0]))
    raise ValueError(f"no rule for {head}")


class Problem:
    def __init__(self, shared, name):
        folder = f"{shared}/data/ode_petab_{name}"
        self.name, self.data = name, json.load(open(f"{folder}/problem.json"))
        with open(f"{folder}/measurements.csv") as file:
            self.rows = list(csv.DictReader(file))
        self.known = self.data["nominal_negative_log_likelihood"]
        self.conditions = [c["conditionId"] for c in self.data["conditions"]]
        self.observables = [o["id"] for o in self.data["observables"]]
        self.fitted = [p for p in self.data["parameters"] if p["estimate"]]
        order = lambda row: (self.conditions.index(row["simulationConditionId"]), float(row["time"]))
        self.rows.sort(key=order)

    def table(self):
        lines = ["condition,t,observable,y,sd"]
        for row in self.rows:
            condition, kind = self.conditions.index(row["simulationConditionId"]), self.observables.index(row["observableId"])
            lines.append(f"c{condition},{float(row['time'])!r},{kind},{float(row['measurement'])!r},{self.noise(row)!r}")
        return "\n".join(lines) + "\n"

    def noise(self, row):
        first = row["noiseParameters"].split(";")[0]
        return float(first) if is_number(first) else 1.0

    def placeholders(self, observable):
        """What stands for the parameters of an observable: names, or numbers in a column."""
        found = {}
        for row in self.rows:
            if row["observableId"] != observable["id"]:
                continue
            for kind in ("observable", "noise"):
                for k, value in enumerate(filter(None, row[f"{kind}Parameters"].split(";"))):
                    name = f"{kind}Parameter{k + 1}_{observable['id']}"
                    value = "sd" if kind == "noise" and is_number(value) else value
                    assert found.setdefault(name, value) == value, name
        return found

    def program(self, starts):
        data = self.data
        states = [s["id"] for s in data["states"]]
        rules = {r["id"]: parse(r["sexpr"]) for r in data["assignment_rules"]}
        right = {r["state"]: parse(r["sexpr"]) for r in data["rhs"]}
        used = lambda name: any(re.search(rf"(?<![\w-]){name}(?![\w-])", text(t)) for t in [*rules.values(), *right.values()])
        # Where time enters, it is a state.
        all_states = states + (["time"] if used("time") else [])
        right["time"] = "1"
        def kind(p):
            name, low, high = p["parameterId"], float(p["lowerBound"]), float(p["upperBound"])
            word = "log" if p["parameterScale"] == "log10" else "bounded"
            inside = min(max(starts[name], low * 1.000001 if low > 0 else low + 1e-6 * (high - low)), high * 0.999999)
            return f"({name} ({word} {low!r} {high!r}) {inside!r})"

        lines = [f"(params {' '.join(kind(p) for p in self.fitted)})"]
        constants = dict(data["constants"])
        constants.update({p["parameterId"]: p["nominalValue"] for p in data["parameters"] if not p["estimate"]})
        # A condition replaces some of the constants, by numbers or parameters.
        replaced = {key for c in data["conditions"] for key in c if key not in ("conditionId", "conditionName")}
        for name, value in constants.items():
            if name not in replaced:
                lines.append(f"(define {name} {float(value)!r})")
        for name in sorted(replaced):
            other = [f"((string=? (list-ref condition 0) \"c{k}\") {self.number(c.get(name, constants.get(name, 0)))})" for k, c in enumerate(data["conditions"])]
            lines.append(f"(define {name} (cond {' '.join(other)} (else 0.0)))")
        bound = " ".join(f"({name} (ref state {k}))" for k, name in enumerate(all_states))
        ruled = " ".join(f"({name} {text(tree)})" for name, tree in rules.items())
        within = f"(let* ({bound} {ruled})"
        lines.append(f"(define (slope state) {within} (vec {' '.join(text(right[s]) for s in all_states)})))")
        rows = (" ".join(text(derivative(right[s], by, rules)) for by in all_states) for s in all_states)
        lines.append(f"(define (jacobian state) {within} (mat {' '.join(f'(vec {row})' for row in rows)})))")
        initial = [text(parse(s["initial_sexpr"])) for s in data["states"]] + ["0.0"] * (len(all_states) - len(states))
        unit = " ".join(f"(vec {' '.join('1' if i == j else '0' for j in range(len(all_states)))})" for i in range(len(all_states)))
        lines.append(f"(define unit (mat {unit}))")
        lines.append(INTEGRATOR)
        cases = []
        for k, o in enumerate(data["observables"]):
            known = self.placeholders(o)
            fill = lambda s: re.sub(r"(observable|noise)Parameter\d+_\w+", lambda m: known.get(m.group(), "1"), s)
            value, sigma = fill(o["sexpr"]), fill(o["noise_infix"])
            if o["transformation"] == "log10":
                residual = f"(/ (log (/ {value} y)) (log 10))"
                scale = f"(+ (log {sigma}) (log (* y (log 10))))"
            else:
                residual, scale = f"(- {value} y)", f"(log {sigma})"
            cases.append(f"((= kind {k}) (+ {scale} (* 0.5 (square (/ {residual} {sigma})))))")
        lines.append(f"(define (cost state kind y sd) {within} (+ {0.5 * math.log(2 * math.pi)!r} (cond {' '.join(cases)} (else 0.0)))))")
        lines.append(
            f"(let loop ((k 0) (t0 0.0) (state (vec {' '.join(initial)})) (loss 0.0))\n"
            f"  (if (= k (vlen t)) loss\n"
            f"      (let* ((t1 (ref t k)) (now (if (> t1 t0) (advance state (/ (- t1 t0) {STEPS[self.name]}) {STEPS[self.name]}) state)))\n"
            f"        (loop (+ k 1) t1 now (+ loss (cost now (ref observable k) (ref y k) (ref sd k)))))))"
        )
        return "\n".join(lines) + "\n"

    def number(self, value):
        return repr(float(value)) if is_number(value) else str(value)

    def draw(self, source):
        """A point within the bounds, uniform on the scale of each parameter."""
        point = {}
        for p in self.fitted:
            low, high = float(p["lowerBound"]), float(p["upperBound"])
            share = source.random()
            logs = p["parameterScale"] == "log10"
            point[p["parameterId"]] = low * (high / low) ** share if logs else low + share * (high - low)
        return point

    def nominal(self):
        return {p["parameterId"]: float(p["nominalValue"]) for p in self.fitted}


INTEGRATOR = """(define (step state h)
  (let* ((w (inv (- (* (/ 2 h) unit) (jacobian state))))
         (f0 (slope state))
         (k1 (matvec w f0))
         (k2 (matvec w (+ f0 (* (/ 4 h) k1))))
         (k3 (matvec w (+ (slope (+ state (* 2 k1))) (* (/ 1 h) (- k1 k2)))))
         (k4 (matvec w (+ (slope (+ state (* 2 k1) k3)) (* (/ 1 h) (- (- k1 k2) (* (/ 8 3) k3)))))))
    (+ state (* 2 k1) k3 k4)))
(define (advance state h k) (if (= k 0) state (advance (step state h) h (- k 1))))"""


def used():
    """Processor seconds of all commands so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def fit(dmci, problem, starts, folder, options, seconds):
    program, table = f"{folder}/model.scm", f"{folder}/table.csv"
    with open(program, "w") as file:
        file.write(problem.program(starts))
    with open(table, "w") as file:
        file.write(problem.table())
    command = [dmci, "fit", program, "--data", table, "--objective", "--group", "condition", "--json", "--errors", "none"]
    # On a busy machine the clock says little: seconds are those of the processors, and the limit on the clock is far away.
    began = used()
    limit = ["--time-limit", str(5 * seconds)]
    done = subprocess.run([*command, *limit, *options], capture_output=True, text=True, timeout=6 * seconds + 60)
    took = used() - began
    try:
        return json.loads(done.stdout), took
    except ValueError:
        return (done.stderr.strip() or done.stdout)[:300], took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dmci")
    parser.add_argument("shared")
    parser.add_argument("--only", default="")
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--show", action="store_true", help="print the programs and end")
    given = parser.parse_args()
    for name in STEPS:
        if given.only not in name:
            continue
        problem = Problem(given.shared, name)
        if given.show:
            print(problem.program(problem.nominal()))
            continue
        with tempfile.TemporaryDirectory() as folder:
            at, _ = fit(given.dmci, problem, problem.nominal(), folder, ["--search-work", "0", "--epochs", "1"], given.seconds)
            if isinstance(at, str):
                print(f"{name}: {at}")
                continue
            known = float(at["loss"]["start"])
            print(f"{name}: at the published parameters {known:.6f}, published {problem.known:.6f}", flush=True)
            reached, source = 0, random.Random(1)
            for k in range(given.starts):
                report, took = fit(given.dmci, problem, problem.draw(source), folder, given.set, given.seconds)
                if isinstance(report, str):
                    print(f"  x start {k + 1}: {report}, {took:.1f} s", flush=True)
                    continue
                loss = report["loss"]["value"]
                good = isinstance(loss, float) and loss <= min(known, problem.known) + CLOSE and took <= given.seconds
                reached += good
                starts = len(report["restarts"])
                print(f"  {' ' if good else 'x'} start {k + 1}: {loss} {report.get('status') or report['stopped']}, {starts} searches, {took:.1f} s", flush=True)
            print(f"{name}: {reached} of {given.starts} reached", flush=True)


if __name__ == "__main__":
    main()
