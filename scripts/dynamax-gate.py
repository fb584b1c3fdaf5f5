#!/usr/bin/env python3
"""The Kalman likelihood of the ENSO study beside dynamax, in double precision.

    dynamax-gate.py DMCI

For D = 2, 6 and 15 with made operators and observations: the value of crates/dmci-repro/programs/lim/kalman.scm, which is
twice the negative logarithm without constants, and its derivatives by the raw number of R and by the raw numbers of Q.
dynamax begins with the first emission, so it is given the state that one step from nothing leads to: mean 0 and
covariance F F' + Q. The exit status is 1 if anything differs by more than 1e-8 of its size.
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from dynamax.linear_gaussian_ssm import LinearGaussianSSM  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
KALMAN = (ROOT / "crates/dmci-repro/programs/lim/kalman.scm").read_text()
FLOOR, MONTHS, NEAR = 0.1, 60, 1e-8


def problem(d):
    draws = random.Random(d)
    normal = lambda *shape: np.array([draws.gauss(0, 1) for _ in range(int(np.prod(shape)))]).reshape(shape)
    f = 0.9 * np.eye(d) + 0.03 * normal(d, d)
    raw = np.tril(0.01 * normal(d, d), -1) + np.diag(np.sqrt(0.05) + 0.01 * normal(d))
    return f, raw, -4.0, normal(MONTHS, d)


def ours(dmci, f, raw, r, obs):
    rows = lambda m: " ".join("(" + " ".join(repr(float(x)) for x in row) + ")" for row in m)
    d = len(f)
    text = f"(params (r free {r!r}) (Lq (matrix {d} {d}) ({rows(raw)})))\n"
    text += f"(define floor {FLOOR!r})\n(define F (mat '({rows(f)})))\n(define obs (mat '({rows(obs)})))\n{KALMAN}"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "kalman.scm"
        path.write_text(text)
        ran = subprocess.run([dmci, "grad", str(path), "--json"], capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.exit(ran.stderr)
    return json.loads(ran.stdout)


def theirs(f, raw, r, obs):
    d = len(f)
    model = LinearGaussianSSM(d, d)

    def loss(r, raw):
        q = raw @ raw.T + 1e-4 * jnp.eye(d)
        noise = (jax.nn.softplus(r) + FLOOR) * jnp.eye(d)
        params, _ = model.initialize(
            jax.random.PRNGKey(0),
            initial_mean=jnp.zeros(d),
            initial_covariance=f @ f.T + q,
            dynamics_weights=jnp.asarray(f),
            dynamics_bias=jnp.zeros(d),
            dynamics_covariance=q,
            emission_weights=jnp.eye(d),
            emission_bias=jnp.zeros(d),
            emission_covariance=noise,
        )
        return -2.0 * model.marginal_log_prob(params, jnp.asarray(obs)) - obs.size * jnp.log(2.0 * jnp.pi)

    value, (by_r, by_raw) = jax.value_and_grad(loss, argnums=(0, 1))(r, jnp.asarray(raw))
    return float(value), np.concatenate([[float(by_r)], np.asarray(by_raw).ravel()])


def main():
    failed = False
    for d in (2, 6, 15):
        f, raw, r, obs = problem(d)
        found = ours(sys.argv[1], f, raw, r, obs)
        value, slopes = theirs(f, raw, r, obs)
        gradient = np.concatenate([[found["grad"]["r"]], np.ravel(found["grad"]["Lq"]["tensor"])])
        apart = abs(found["value"] - value) / max(1.0, abs(value))
        slope = float(np.max(np.abs(gradient - slopes)) / np.max(np.abs(slopes)))
        print(f"D = {d}: {found['value']:.6f} and {value:.6f}, apart {apart:.1e}; derivatives apart {slope:.1e}")
        failed |= not (apart <= NEAR and slope <= NEAR)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
