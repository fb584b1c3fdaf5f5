"""Every operation on vectors and matrices: its value, its adjoint, and the derivative of that."""
import re

import jax.numpy as jnp
import numpy as np
from jax.nn import sigmoid, softplus

from dmci import datum
from model import Model

# The operands: numbers s t, vectors u v of 3 and k of 2, matrices A B of 3 x 3, M of 2 x 3, N of 3 x 2, a column C of
# 3 x 1. All are positive, so that every function is smooth there.
rng = np.random.default_rng(3)
SHAPES = {"s": (), "t": (), "u": (3,), "v": (3,), "k": (2,), "A": (3, 3), "B": (3, 3), "M": (2, 3), "N": (3, 2),
          "C": (3, 1)}
OPERANDS = {name: rng.uniform(0.3, 1.7, shape).tolist() for name, shape in SHAPES.items()}
TENSORS = {name: f"({'vec' if len(shape) == 1 else 'mat'} {name})" for name, shape in SHAPES.items() if shape}

BROADCAST = [("s", "u"), ("u", "s"), ("u", "v"), ("s", "A"), ("A", "s"), ("u", "A"), ("A", "u"), ("A", "B"), ("M", "u"),
             ("C", "A"), ("A", "C"), ("C", "u")]
ARITHMETIC = {"+": jnp.add, "-": jnp.subtract, "*": jnp.multiply, "/": jnp.divide}
BINARY = {"expt": jnp.power, "pow": jnp.power, "min": jnp.minimum, "max": jnp.maximum, "atan": jnp.arctan2,
          "hypot": jnp.hypot}
UNARY = {"-": jnp.negative, "abs": jnp.abs, "sqrt": jnp.sqrt, "exp": jnp.exp, "log": jnp.log, "sin": jnp.sin,
         "cos": jnp.cos, "tan": jnp.tan, "tanh": jnp.tanh, "sinh": jnp.sinh, "cosh": jnp.cosh, "atan": jnp.arctan,
         "square": jnp.square, "sigmoid": sigmoid, "softplus": softplus, "log1p": jnp.log1p, "expm1": jnp.expm1}

spd = "(+ (matmul A (transpose A)) (eye 3))"
SPD = lambda A: A @ A.T + jnp.eye(3)

# Scheme expression, JAX function of the operands that it names, in order of first appearance.
OPERATIONS = [
    ("(vec s t 2)", lambda s, t: jnp.stack([s, t, 2.0])),
    ("(vec (list s t))", lambda s, t: jnp.stack([s, t])),
    ("(mat u v)", lambda u, v: jnp.stack([u, v])),
    ("(mat (vec s t) (vec t 1))", lambda s, t: jnp.array([[s, t], [t, 1.0]])),
    ("(ref u 1)", lambda u: u[1]),
    ("(ref A 2)", lambda A: A[2]),
    ("(ref A 1 2)", lambda A: A[1, 2]),
    ("(dot u v)", jnp.dot),
    ("(dot u u)", lambda u: u @ u),
    ("(vsum u)", jnp.sum),
    ("(sum A)", jnp.sum),
    ("(sum A 0)", lambda A: A.sum(0)),
    ("(sum A 1)", lambda A: A.sum(1)),
    ("(norm u)", jnp.linalg.norm),
    ("(normalize u)", lambda u: u / jnp.linalg.norm(u)),
    ("(cross u v)", jnp.cross),
    ("(scale s u)", lambda s, u: s * u),
    ("(scale u s)", lambda u, s: s * u),
    ("(scale s A)", lambda s, A: s * A),
    ("(matvec A u)", lambda A, u: A @ u),
    ("(matvec M u)", lambda M, u: M @ u),
    ("(matmul A B)", jnp.matmul),
    ("(matmul M N)", jnp.matmul),
    ("(matmul N M)", jnp.matmul),
    ("(matmul A A)", lambda A: A @ A),
    ("(transpose M)", jnp.transpose),
    ("(outer u k)", jnp.outer),
    ("(trace A)", jnp.trace),
    ("(diag u)", jnp.diag),
    ("(diag A)", jnp.diag),
    ("(det A)", jnp.linalg.det),
    ("(logdet A)", lambda A: jnp.linalg.slogdet(A)[1]),
    ("(inv A)", jnp.linalg.inv),
    ("(solve A u)", jnp.linalg.solve),
    ("(solve A N)", jnp.linalg.solve),
    (f"(cholesky {spd})", lambda A: jnp.linalg.cholesky(SPD(A))),
    (f"(logdet {spd})", lambda A: jnp.linalg.slogdet(SPD(A))[1]),
    ("(slice u 1 3)", lambda u: u[1:3]),
    ("(slice A 0 2)", lambda A: A[:2]),
    ("(slice A 0 2 1 3)", lambda A: A[:2, 1:3]),
    ("(concat u k)", lambda u, k: jnp.concatenate([u, k])),
    ("(concat A M)", lambda A, M: jnp.concatenate([A, M])),
    ("(reshape A 9)", jnp.ravel),
    ("(reshape M 3 2)", lambda M: M.reshape(3, 2)),
    ("(ref (* s (zeros 2)) 0)", lambda s: 0.0 * s),
    ("(* s (ones 2 3))", lambda s: s * jnp.ones((2, 3))),
    ("(* s (eye 3))", lambda s: s * jnp.eye(3)),
    ("(vector-map square u)", jnp.square),
    ("(dot u (matvec (inv A) v))", lambda u, A, v: u @ jnp.linalg.inv(A) @ v),
]
OPERATIONS += [(f"({name} {a} {b})", f) for name, f in ARITHMETIC.items() for a, b in BROADCAST]
OPERATIONS += [(f"({name} {a} {b})", f) for name, f in BINARY.items() for a, b in BROADCAST[::3]]
OPERATIONS += [(f"({name} {a})", f) for name, f in UNARY.items() for a in ("u", "M")]


def model(expression, function):
    """The operation as a model: the sum of its elements, each with a weight of its own."""
    names = list(dict.fromkeys(w for w in re.findall(r"[^\s()]+", expression) if w in SHAPES))
    weights = np.cos(1.0 + np.arange(9))

    def weighted(p, _):
        result = function(*(p[name] for name in names))
        return jnp.sum(result * weights[:result.size].reshape(result.shape))

    result = np.asarray(function(*(np.array(OPERANDS[name]) for name in names)))
    if result.size > weights.size:
        weights = np.cos(1.0 + np.arange(result.size))
    literal = datum(weights[:result.size].reshape(result.shape).tolist())
    factor = {0: literal, 1: f"(vec '{literal})", 2: f"(mat '{literal})"}[result.ndim]
    bound = " ".join(f"({name} {TENSORS[name]})" for name in names if name in TENSORS)
    product = f"(* {factor} {expression})"
    total = product if result.ndim == 0 else f"(sum {product})"
    return Model(expression, weighted, {name: OPERANDS[name] for name in names}, spread=0.1, points=2,
                 text=f"(let ({bound}) {total})")


MODELS = [model(*row) for row in OPERATIONS]
