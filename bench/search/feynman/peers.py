"""Runs a peer on the tables of `bench feynman-tables`: one line `ID SECONDS PROGRAM` for each.

    python peers.py operon|gplearn TABLES ANSWERS SECONDS

pyoperon 0.6.2 and gplearn 0.4.3, one thread, with the operations of the search that both have. Seconds are those of the
processor for gplearn and of the clock for Operon, so run it on an idle core. Operon's model is the one of its front with the least MDL, without an
intercept that is nothing but rounding.
"""

import csv
import pathlib
import re
import sys
import time

import numpy as np


def table(path):
    with open(path) as f:
        rows = list(csv.reader(f))
    return rows[0][:-1], np.array(rows[1:], dtype=float)


# Infix of Operon's printer to a program.
TOKEN = re.compile(r"\s*(\d+\.?\d*(?:e[-+]?\d+)?|[A-Za-z_]\w*|\^|[-+*/()])")


class Infix:
    """Recursive descent over sums, products, powers, functions of one argument."""

    def __init__(self, text):
        self.tokens = TOKEN.findall(text)
        self.at = 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def sum(self):
        left = self.product()
        while self.peek() in ("+", "-"):
            left = f"({self.next()} {left} {self.product()})"
        return left

    def product(self):
        left = self.signed()
        while self.peek() in ("*", "/"):
            left = f"({self.next()} {left} {self.signed()})"
        return left

    def signed(self):
        if self.peek() == "-":
            self.next()
            inner = self.signed()
            return f"-{inner}" if re.fullmatch(r"[\d.e+-]+", inner) and inner[0] != "-" else f"(- {inner})"
        if self.peek() == "+":
            self.next()
            return self.signed()
        return self.power()

    def power(self):
        left = self.leaf()
        if self.peek() == "^":
            self.next()
            return f"(expt {left} {self.signed()})"
        return left

    def leaf(self):
        token = self.next()
        if token == "(":
            inner = self.sum()
            self.next()
            return inner
        if token[0].isalpha() or token[0] == "_":
            if self.peek() == "(":
                self.next()
                inner = self.sum()
                self.next()
                return f"({'square' if token == 'square' else token} {inner})"
            return token
        # Real numbers are parameters, whole ones are not.
        return token if "." in token or "e" in token else token + ".0"


def operon(names, data, seconds):
    from pyoperon.sklearn import SymbolicRegressor

    model = SymbolicRegressor(
        allowed_symbols="add,sub,mul,div,sqrt,exp,log,sin,cos,asin,pow,constant,variable",
        optimizer_iterations=10,
        population_size=1000,
        pool_size=1000,
        generations=10**6,
        max_evaluations=10**9,
        max_length=50,
        objectives=["mse", "length"],
        model_selection_criterion="minimum_description_length",
        n_threads=1,
        max_time=int(seconds),
        random_state=0,
    )
    model.fit(data[:, :-1], data[:, -1])
    text = model.get_model_string(model.model_, 16)
    text = re.sub(r"\bX(\d+)\b", lambda m: names[int(m.group(1)) - 1], text)
    program = Infix(text).sum()
    # An intercept below the digits of single precision is none.
    offset = re.fullmatch(r"\(\+ (-?[\d.]+) (\(.*\))\)", program)
    return offset.group(2) if offset and abs(float(offset.group(1))) < 1e-5 * data[:, -1].std() else program


def gplearn(names, data, seconds):
    from gplearn.genetic import SymbolicRegressor

    functions = ("add", "sub", "mul", "div", "sqrt", "log", "sin", "cos")
    model = SymbolicRegressor(
        population_size=1000,
        generations=1,
        tournament_size=20,
        function_set=functions,
        parsimony_coefficient=0.001,
        n_jobs=1,
        random_state=0,
        warm_start=True,
    )
    began, generations = time.process_time(), 0
    while time.process_time() - began < seconds:
        generations += 1
        model.set_params(generations=generations)
        model.fit(data[:, :-1], data[:, -1])
        if model._program.raw_fitness_ < 1e-12:
            break
    text = str(model._program)
    scheme = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
    text = re.sub(r"(\w+)\(", lambda m: f"({scheme.get(m.group(1), m.group(1))} ", text).replace(",", "")
    return re.sub(r"\bX(\d+)\b", lambda m: names[int(m.group(1))], text)


def main():
    tool, tables, answers, seconds = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], float(sys.argv[4])
    run = {"operon": operon, "gplearn": gplearn}[tool]
    with open(answers, "w") as out:
        for path in sorted(tables.glob("*.csv")):
            names, data = table(path)
            began = time.process_time()
            try:
                program = run(names, data, seconds)
            except Exception as error:  # A peer that fails on a table has not found its law.
                program = f"failed: {error}".replace("\n", " ")
            print(path.stem, f"{time.process_time() - began:.1f}", program, file=out, flush=True)


main()
