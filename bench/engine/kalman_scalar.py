"""The filter of crates/dmci-repro/models/kalman/kalman-2d-scalar.scm in JAX, in scalars."""
import jax.numpy as jnp
from jax import lax


def loss(p, v):
    q, r = p["q"], p["r"]

    def step(carry, y):
        x1, x2, P11, P12, P22, nll = carry
        e1, e2 = y[0] - x1, y[1] - x2
        A11, A22 = P11 + q, P22 + q
        S11, S22 = A11 + r, A22 + r
        det = S11 * S22 - P12 * P12
        V11, V12, V22 = S22 / det, -(P12 / det), S11 / det
        K11, K12 = A11 * V11 + P12 * V12, A11 * V12 + P12 * V22
        K21, K22 = P12 * V11 + A22 * V12, P12 * V12 + A22 * V22
        nll = nll + jnp.log(det) + V11 * e1 * e1 + 2 * V12 * e1 * e2 + V22 * e2 * e2
        return (x1 + K11 * e1 + K12 * e2, x2 + K21 * e1 + K22 * e2, A11 - (K11 * A11 + K12 * P12),
                P12 - (K11 * P12 + K12 * A22), A22 - (K21 * P12 + K22 * A22), nll), None

    zero, one = jnp.zeros((), q.dtype), jnp.ones((), q.dtype)
    return lax.scan(step, (zero, zero, one, zero, one, zero), jnp.asarray(v["obs"]))[0][5]
