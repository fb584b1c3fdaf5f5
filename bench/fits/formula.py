"""Programs of the suite as functions of NumPy arrays: what the peers fit, and what checks our reports."""

import numpy as np


def parse(text):
    """All data of a text; symbols are strings, numbers are floats."""
    words = text.replace("(", " ( ").replace(")", " ) ").split()
    found, open_lists = [], []
    for word in words:
        if word == "(":
            open_lists.append([])
            continue
        if word == ")":
            datum = open_lists.pop()
        else:
            try:
                datum = float(word)
            except ValueError:
                datum = word
        (open_lists[-1] if open_lists else found).append(datum)
    if open_lists:
        raise ValueError("a list is not closed")
    return found


def sigmoid(x):
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def minus(x, *others):
    if not others:
        return -x
    for y in others:
        x = x - y
    return x


def total(*terms):
    out = 0.0
    for term in terms:
        out = out + term
    return out


def product(*factors):
    out = 1.0
    for factor in factors:
        out = out * factor
    return out


OPERATIONS = {
    "+": total,
    "*": product,
    "-": minus,
    "/": lambda x, y: x / y,
    "exp": np.exp,
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "sigmoid": sigmoid,
    "expt": lambda x, y: np.power(x, y),
    "max": np.maximum,
    "min": np.minimum,
    "<": lambda x, y: x < y,
    ">": lambda x, y: x > y,
}


def evaluate(form, scope):
    """The value of a form; both arms of a decision are computed and one of them is kept, element by element."""
    if isinstance(form, float):
        return form
    if isinstance(form, str):
        return scope[form]
    head, *rest = form
    if head == "if":
        test, then, other = (evaluate(f, scope) for f in rest)
        return np.where(test, then, other)
    if head == "cond":
        (test, value), *others = rest
        if test == "else":
            return evaluate(value, scope)
        return np.where(evaluate(test, scope), evaluate(value, scope), evaluate(["cond", *others], scope))
    if head == "let*":
        scope = dict(scope)
        for name, value in rest[0]:
            scope[name] = evaluate(value, scope)
        return evaluate(rest[1], scope)
    return OPERATIONS[head](*(evaluate(f, scope) for f in rest))


class Formula:
    """A program of the suite: its parameters with kinds and starts, and its prediction of all rows."""

    def __init__(self, text):
        forms = parse(text)
        if not forms or not isinstance(forms[0], list) or forms[0][0] != "params":
            raise ValueError(f"no params in {text!r}")
        self.names = [p[0] for p in forms[0][1:]]
        self.kinds = [p[1] if isinstance(p[1], str) else p[1][0] for p in forms[0][1:]]
        self.start = np.array([p[2] for p in forms[0][1:]])
        self.bounds = [self.of_kind(p[1]) for p in forms[0][1:]]
        self.constants = {f[1]: f[2] for f in forms[1:-1]}
        self.body = forms[-1]

    @staticmethod
    def of_kind(kind):
        if kind == "free":
            return (-np.inf, np.inf)
        if kind == "positive":
            return (0.0, np.inf)
        if isinstance(kind, list) and kind[0] == "bounded":
            return (kind[1], kind[2])
        raise ValueError(f"the suite has no kind {kind!r}")

    def predict(self, values, columns):
        scope = {**columns, **self.constants, **dict(zip(self.names, values))}
        with np.errstate(all="ignore"):
            return evaluate(self.body, scope)
