"""JAX: a program as a function for ``jit``, ``grad`` and ``vmap``, computed on the host.

>>> from dmci.jax import function
>>> f = function("(params (a positive 2.0) (b positive 0.5)) (* a (exp (- (* b t))))")
>>> jax.grad(f)(jnp.array([2.0, 0.5]), 1.0)
"""

from __future__ import annotations

from typing import Any, Callable, Tuple, Union

import jax
import jax.numpy as jnp
import numpy as np

from ._model import Model
from ._program import ProgramLike


def function(model: Union[Model, ProgramLike], **settings: Any) -> Callable[..., Any]:
    """``f(theta, *inputs)``: the value of one row, differentiable by parameters and inputs, twice.

    ``theta`` is a vector of all parameters, inputs are numbers in the order of ``model.inputs``. Use ``jax.vmap`` for rows
    and sets: lanes are evaluated together.
    """
    m = model if isinstance(model, Model) else Model(model, **settings)
    arguments = dict(m._arguments)
    starts = {p.name: p.start for p in m.parameters}
    arguments.update(params={**starts, **{name: 0.0 for name in m.inputs}}, inputs=[], target=None)
    joint = Model(m.program, **arguments)
    size, outputs = joint.size, m.outputs

    def host(order: int) -> Callable[[Any], Any]:
        def run(lanes: Any) -> Any:
            lanes = np.asarray(lanes)
            flat = lanes.reshape(-1, size)
            found = joint._evaluate(flat, None, order, None, True, "raise")[order]
            shape = lanes.shape[:-1] + ((outputs,) if outputs > 1 else ()) + (size,) * order
            return found.reshape(shape).astype(lanes.dtype)

        return run

    def callback(order: int, lane: Any) -> Any:
        shape = ((outputs,) if outputs > 1 else ()) + (size,) * order
        kind = jax.ShapeDtypeStruct(lane.shape[:-1] + shape, lane.dtype)
        return jax.pure_callback(host(order), kind, lane, vmap_method="broadcast_all")

    def derivative(order: int) -> Callable[[Any], Any]:
        """Derivatives of some order, with the next one as their derivative."""

        @jax.custom_jvp
        def compute(lane: Any) -> Any:
            return callback(order, lane)

        if order < 2:
            next_order = derivative(order + 1)

            @compute.defjvp
            def compute_jvp(primals: Tuple[Any], tangents: Tuple[Any]) -> Tuple[Any, Any]:
                (lane,), (tangent,) = primals, tangents
                return compute(lane), next_order(lane) @ tangent

        else:

            def refuse(primals: Tuple[Any], tangents: Tuple[Any]) -> Tuple[Any, Any]:
                found = compute(primals[0])
                if not isinstance(tangents[0], jax.custom_derivatives.SymbolicZero):
                    raise NotImplementedError("third derivatives through dmci.jax are not available")
                return found, jnp.zeros_like(found)

            compute.defjvp(refuse, symbolic_zeros=True)
        return compute

    value = derivative(0)

    def call(theta: Any, *inputs: Any) -> Any:
        if len(inputs) != len(m.inputs):
            raise TypeError(f"the inputs are {', '.join(m.inputs) or 'none'}, got {len(inputs)} numbers")
        theta = jnp.asarray(theta, dtype=jnp.result_type(float))
        if theta.shape != (m.size,):
            raise TypeError(f"theta is a vector of {m.size} numbers, got the shape {theta.shape}; use jax.vmap for sets")
        numbers = [jnp.asarray(x, dtype=theta.dtype).reshape(1) for x in inputs]
        return value(jnp.concatenate([theta, *numbers]))

    return call
