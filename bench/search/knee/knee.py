#!/usr/bin/env python3
"""The knee: does a search from the smooth seed find the two-reservoir family of the synthetic battery?

    knee.py DMCI [--seeds 10] [--split 70] [--time 60] [--threads 2]

For every seed: 12 cells of Q = min(1 - a sqrt k, 1 - c k) with 15% jitter of a and c and noise of 0.002, cycles
below the split are searched, the others are held out. Prints whether `dmci same` calls the best program the generating
family, with q0 free or, as in the data, 1, and the RMSE of held-out cycles (split, split + 10, ..., 99) after 60 and 300
steps of Adam and converged.
"""
import argparse
import json
import pathlib
import random
import subprocess
import tempfile

SEED = "(params (q0 free 1.0 (per cell)) (b free 0.02 (per cell)))\n(hole fade (k) (- q0 (* b (sqrt k))))\n"
# The two-reservoir family, and the process that makes the data: every cell has q0 = 1.
TRUTHS = {
    "free": "(params (q0 free 1.0) (a free 0.0165) (c free 0.0022))\n(* q0 (min (- 1 (* a (sqrt k))) (- 1 (* c k))))\n",
    "one": "(params (a free 0.0165) (c free 0.0022))\n(min (- 1 (* a (sqrt k))) (- 1 (* c k)))\n",
}


def cells(folder, seed, split):
    """Writes the cycles that are searched, and all of them with marks of those that are scored."""
    draws = random.Random(seed)
    searched, scored = ["cell,k,q"], ["cell,k,q,held"]
    for cell in range(12):
        a, c = 0.01648 * (1 + 0.15 * draws.gauss(0, 1)), 0.00222 * (1 + 0.15 * draws.gauss(0, 1))
        for k in range(100):
            q = min(1 - a * k**0.5, 1 - c * k) + 0.002 * draws.gauss(0, 1)
            # The paper clamps what stands below the root to 1e-4.
            row = f"c{cell},{max(k, 1e-4)},{q:.6f}"
            if k < split:
                searched.append(row)
            if k < split or (k - split) % 10 == 0 or k == 99:
                scored.append(f"{row},{int(k >= split)}")
    (folder / "cells.csv").write_text("\n".join(searched) + "\n")
    (folder / "all.csv").write_text("\n".join(scored) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dmci")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--split", type=int, default=70)
    parser.add_argument("--time", type=float, default=60)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    dmci = str(pathlib.Path(args.dmci).resolve())
    found = 0
    for seed in range(args.seeds):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            cells(folder, seed, args.split)
            (folder / "seed.scm").write_text(SEED)

            def run(*words):
                return subprocess.run([dmci, *words], cwd=folder, capture_output=True, text=True)

            options = ["--seed-program", "seed.scm", "--ops", "+ - * / min max exp sqrt", "--size", "14"]
            limits = ["--time-limit", str(args.time), "--threads", str(args.threads), "--seed", str(seed)]
            ran = run("search", "--data", "cells.csv", "--target", "q", *options, *limits, "--sealed", "none", "--json", "--write", "best.scm")
            if ran.returncode:
                print(seed, ran.stderr)
                continue
            result = json.loads(ran.stdout)
            relation = {}
            for q0, truth in TRUTHS.items():
                (folder / "truth.scm").write_text(truth)
                compared = run("same", "best.scm", "truth.scm", "--data", "cells.csv", "--json").stdout
                relation[q0] = json.loads(compared)["relation"]
            found += "same" in relation.values()

            def held_out(*words):
                fit = run("fit", "best.scm", "--data", "all.csv", "--target", "q", "--holdout", "column:held", "--json", *words)
                return json.loads(fit.stdout)["held_out"]["rmse"] if fit.returncode == 0 else None

            adam = ["--optimizer", "adam", "--rate", "0.1", "--clip", "10"]
            errors = [held_out(*adam, "--epochs", "60"), held_out(*adam, "--epochs", "300"), held_out()]
            print(json.dumps({"seed": seed, "relation": relation, "best": result["best"]["formula"], "held_out": errors}), flush=True)
    print(json.dumps({"same": found, "of": args.seeds, "split": args.split, "seconds": args.time}))


if __name__ == "__main__":
    main()
