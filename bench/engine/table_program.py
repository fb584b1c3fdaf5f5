"""A long generated program in JAX, as data: a scan over a table of its operations.

Written out, even 2,000 operations take JAX more than a minute to compile. A scan over rows (operation, operands) that
keeps all values in one array compiles in a second, and so does its reverse, which a second scan makes of the
partial derivatives of each operation.
"""
import jax.numpy as jnp
import numpy as np
from jax import lax

import bench

# For each operation: its value, and the partial derivatives by both operands, given these and the value.
OPERATIONS = {
    "+": (lambda a, b: a + b, lambda a, b, y: (jnp.ones_like(a), jnp.ones_like(a))),
    "-": (lambda a, b: a - b, lambda a, b, y: (jnp.ones_like(a), -jnp.ones_like(a))),
    "*": (lambda a, b: a * b, lambda a, b, y: (b, a)),
    "/": (lambda a, b: a / b, lambda a, b, y: (1 / b, -y / b)),
    "sin": (lambda a, b: jnp.sin(a), lambda a, b, y: (jnp.cos(a), jnp.zeros_like(a))),
    "tanh": (lambda a, b: jnp.tanh(a), lambda a, b, y: (1 - y * y, jnp.zeros_like(a))),
    "exp": (lambda a, b: jnp.exp(a), lambda a, b, y: (y, jnp.zeros_like(a))),
    "sqrt": (lambda a, b: jnp.sqrt(a), lambda a, b, y: (0.5 / y, jnp.zeros_like(a))),
}
NAMES = list(OPERATIONS)


class Table:
    """Rows of a program that is one let* of arithmetic; places of parameters, then of constants, then of rows."""

    def __init__(self, text):
        (_, *schema), (_, bindings, result) = bench.parse(text)
        self.params = {name: float(start) for name, _, start in schema}
        self.constants, self.rows = [], []
        self.places = {name: ("param", i) for i, name in enumerate(self.params)}
        for name, form in bindings:
            self.places[name] = self.place(form)
        self.place(result)
        starts = {"param": 0, "constant": len(self.params), "row": len(self.params) + len(self.constants)}
        at = lambda place: starts[place[0]] + place[1]
        self.first = starts["row"]
        self.table = np.array([(NAMES.index(op), at(a), at(b)) for op, a, b in self.rows], np.int32)

    def place(self, form):
        if isinstance(form, str):
            if form in self.places:
                return self.places[form]
            self.constants.append(float(form))
            return "constant", len(self.constants) - 1
        name, *operands = form
        operands = [self.place(f) for f in operands]
        if name == "-" and len(operands) == 1:
            operands.insert(0, self.place("0"))
        if len(operands) == 1:
            operands *= 2
        left = operands[0]
        for right in operands[1:]:
            self.rows.append((name, left, right))
            left = "row", len(self.rows) - 1
        return left

    def values_and_gradients(self, params):
        """For parameters of many lanes, a row for each."""
        lanes, count = params.shape[0], len(self.rows)
        constants = jnp.broadcast_to(jnp.asarray(self.constants, params.dtype)[:, None], (len(self.constants), lanes))
        start = jnp.concatenate([params.T, constants, jnp.zeros((count, lanes), params.dtype)])
        rows = (jnp.asarray(self.table), jnp.arange(count) + self.first)

        # Rows as slices: with `[]` and `.at[].set`, the array would be copied for each operation.
        get = lambda array, at: lax.dynamic_index_in_dim(array, at, 0, keepdims=False)
        put = lambda array, row, at: lax.dynamic_update_index_in_dim(array, row, at, 0)

        def forward(values, row):
            (op, a, b), at = row
            y = lax.switch(op, [f for f, _ in OPERATIONS.values()], get(values, a), get(values, b))
            return put(values, y, at), None

        values = lax.scan(forward, start, rows)[0]

        # What is to be written comes out of the branches, or the array would be copied here too.
        def branch(partials):
            def rows(same, a, b, value, y, of_a, of_b):
                da, db = partials(a, b, value)
                of_a = of_a + da * y
                return of_a, jnp.where(same, of_a, of_b) + db * y
            return rows

        def back(adjoints, row):
            (op, a, b), at = row
            rows = lax.switch(op, [branch(d) for _, d in OPERATIONS.values()], a == b, get(values, a), get(values, b),
                              get(values, at), get(adjoints, at), get(adjoints, a), get(adjoints, b))
            return put(put(adjoints, rows[0], a), rows[1], b), None

        last = jnp.zeros_like(values).at[-1].set(1.0)
        adjoints = lax.scan(back, last, rows, reverse=True)[0]
        return values[-1], adjoints[:params.shape[1]].T
