"""The likelihood of a linear inverse model of ENSO (a Kalman filter over 360 months): what a gradient costs in dmci and in
JAX, in turns on one core, and what a fit of 300 Adam steps with standard errors takes.

    run.py DMCI SHARED [--sizes 10,20] [--rounds 5] [--fit]

JAX computes the likelihood in three forms: with the inverse, as the program does, and with Cholesky factors. Times are
those of the processor: of JAX the least of many calls, of dmci the least of a fit of 220 steps less one of 20, over 200.
JAX must be installed. The program is the one of `dmci repro lim`."""

import argparse
import os
import re
import resource
import subprocess
import tempfile
import time

os.environ.update(JAX_ENABLE_X64="1", OMP_NUM_THREADS="1")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "../../crates/dmci-repro/programs/lim/kalman.scm")
MONTHS = 360
FLOOR = 0.1


def matrix(rows):
    return "(" + " ".join("(" + " ".join(repr(float(x)) for x in row) + ")" for row in rows) + ")"


def starts(d):
    random = np.random.default_rng(0)
    f = 0.9 * np.eye(d) + 0.02 * random.standard_normal((d, d))
    lower = np.tril(0.005 * random.standard_normal((d, d)))
    np.fill_diagonal(lower, 0.1)
    return f, lower, -4.0


def program(d):
    f, lower, r = starts(d)
    body = re.sub(r"(?m)^;;.*\n", "", open(PROGRAM).read())
    schema = f"(params (F (matrix {d} {d}) {matrix(f)}) (Lq (lower {d}) {matrix(lower)}) (r free {r}))"
    return f"{schema}\n(define floor {FLOOR})\n{body}"


def forms(d, months):
    triangle = jnp.tril_indices(d)

    def filtered(update):
        def likelihood(p):
            f, raws, r = p
            lower = jnp.zeros((d, d)).at[triangle].set(raws)
            q = lower @ lower.T + 1e-4 * jnp.eye(d)
            noise = (jax.nn.softplus(r) + FLOOR) * jnp.eye(d)

            def step(carry, y):
                x, p, loss = carry
                x, p = f @ x, f @ p @ f.T + q
                x, p, own = update(x, p, y - x, p + noise)
                return (x, p, loss + own), None

            return lax.scan(step, (jnp.zeros(d), jnp.eye(d), 0.0), months)[0][2]

        return likelihood

    def by_inverse(x, p, e, s):
        inverse = jnp.linalg.inv(s)
        gain = p @ inverse
        return x + gain @ e, (jnp.eye(d) - gain) @ p, jnp.linalg.slogdet(s)[1] + e @ (inverse @ e)

    def by_cholesky(x, p, e, s):
        c = jnp.linalg.cholesky(s)
        w = jax.scipy.linalg.solve_triangular(c, jnp.concatenate([p, e[:, None]], 1), lower=True)
        v, w = w[:, :-1], w[:, -1]
        return x + v.T @ w, p - v.T @ v, 2 * jnp.sum(jnp.log(jnp.diag(c))) + w @ w

    def by_solving(x, p, e, s):
        c = jax.scipy.linalg.cho_factor(s, lower=True)
        gain = jax.scipy.linalg.cho_solve(c, p).T
        own = 2 * jnp.sum(jnp.log(jnp.diag(c[0]))) + e @ jax.scipy.linalg.cho_solve(c, e)
        return x + gain @ e, p - gain @ p, own

    return {"inverse": filtered(by_inverse), "Cholesky": filtered(by_cholesky), "Cholesky, solved": filtered(by_solving)}


def command(dmci, d, folder, table, steps, errors):
    with open(f"{folder}/lim{d}.scm", "w") as file:
        file.write(program(d))
    given = f"--data {table} --objective --matrix obs=pc1..pc{d} --optimizer adam --rate 0.05 --clip 10 --epochs {steps}"
    return [dmci, "fit", f"{folder}/lim{d}.scm", *given.split(), "--errors", errors, "--json", "--quiet"]


def processor(arguments, threads):
    """Processor seconds and seconds on the clock."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "RAYON_NUM_THREADS": threads})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, time.perf_counter() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dmci")
    parser.add_argument("shared")
    parser.add_argument("--sizes", default="10,20")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--fit", action="store_true", help="time a fit of 300 steps with errors, too")
    given = parser.parse_args()
    with open(os.path.join(given.shared, "data/sst_cobe2/pcs20.csv")) as file:
        lines = file.read().splitlines()[: MONTHS + 1]
    names = lines[0].split(",")
    cells = [dict(zip(names, line.split(","))) for line in lines[1:]]
    with tempfile.TemporaryDirectory() as folder:
        table = f"{folder}/train.csv"
        with open(table, "w") as file:
            file.write("\n".join(lines) + "\n")
        for d in map(int, given.sizes.split(",")):
            months = jnp.array([[float(row[f"pc{k + 1}"]) for k in range(d)] for row in cells])
            f, lower, r = starts(d)
            point = (jnp.array(f), jnp.array(lower[np.tril_indices(d)]), jnp.array(r))
            peers = {name: jax.jit(jax.value_and_grad(form)) for name, form in forms(d, months).items()}
            least = dict.fromkeys(["dmci", *peers], float("inf"))
            for _ in range(given.rounds):
                times = [processor(command(given.dmci, d, folder, table, n, "none"), "1")[0] for n in (20, 220)]
                least["dmci"] = min(least["dmci"], (times[1] - times[0]) / 200)
                for name, gradient in peers.items():
                    jax.block_until_ready(gradient(point))
                    for _ in range(30):
                        began = time.process_time()
                        jax.block_until_ready(gradient(point))
                        least[name] = min(least[name], time.process_time() - began)
            line = ", ".join(f"{name} {seconds * 1e3:.2f} ms" for name, seconds in least.items())
            best = min(least[name] for name in peers)
            print(f"D = {d}: {line}; dmci {best / least['dmci']:.2f} times as fast as the best form", flush=True)
            if given.fit:
                used, clock = processor(command(given.dmci, d, folder, table, 300, "full"), "2")
                print(f"D = {d}: 300 steps with errors: {used:.1f} s of processors, {clock:.1f} s on the clock", flush=True)


if __name__ == "__main__":
    main()
