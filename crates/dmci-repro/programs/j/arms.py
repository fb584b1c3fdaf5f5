"""The two other arms of experiment J on a sample of programs: SymPy's lambdify to JAX, and a port to JAX.

Reads {"closed": [...], "recursive": [...]} with expressions, parameters and a place, prints seconds from text to
the first value and gradient, each program compiled by jit as the paper does, and the gradients.
"""
import json
import sys
import time

import jax
import jax.numpy as jnp
import sympy
from jax import lax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")


def ready(function, point, x):
    value, gradient = jax.jit(jax.value_and_grad(function))(jnp.array(point), x)
    return float(value), [float(g) for g in gradient]


def lambdified(program):
    names = [sympy.Symbol(n) for n in program["names"]]
    expression = sympy.sympify(program["expression"], locals={str(n): n for n in names})
    function = sympy.lambdify([*names, sympy.Symbol("x")], expression, modules="jax")
    return lambda p, x: function(*p, x) * 1.0


def ported(program, recursive):
    unpack = ", ".join(program["names"]) + ("," if len(program["names"]) == 1 else "")
    text = f"def f(p, x):\n    {unpack} = p\n    g = {program['expression']}\n"
    if recursive:
        text += "    return lax.fori_loop(0, 15, lambda n, y: y + 0.1 * (g - tau * y), 1.0 + 0.0 * tau)\n"
    else:
        text += "    return g * 1.0\n"
    scope = {"exp": jnp.exp, "sin": jnp.sin, "cos": jnp.cos, "lax": lax}
    exec(text, scope)
    return scope["f"]


programs = json.load(sys.stdin)
jax.jit(lambda x: x + 1)(1.0)
out = {"jax": jax.__version__, "sympy": sympy.__version__}
for family in ["closed", "recursive"]:
    recursive = family == "recursive"
    arms = {"port": lambda p: ported(p, recursive)}
    if not recursive:
        arms["lambdify"] = lambdified
    for arm, make in arms.items():
        seconds, values = [], []
        for program in programs[family]:
            began = time.perf_counter()
            values.append(ready(make(program), program["point"], program["x"]))
            seconds.append(time.perf_counter() - began)
        out[f"{family} {arm}"] = {"seconds": sum(seconds), "programs": len(seconds), "values": values}
print(json.dumps(out))
