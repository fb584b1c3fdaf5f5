"""Times models over lanes beside other libraries, in turns, and writes a table, JSON and a dated record.

Every lane has its own parameters and data, or (--shared) all lanes share the parameters and the gradient is the
sum. Each library is taken in its best form (jax_peer.py, torch_peer.py, drjit_peer.py); its compile time does not
count. CasADi takes single lanes.
"""
import argparse
import datetime
import importlib
import json
import math
import os
import platform
import subprocess
import sys
import tempfile

import numpy as np

import report
from beside import beside_casadi, beside_hand
from cases import cases
from lanes import TooLarge, Unavailable
from ours import Ours


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runner", help="the program that times ours")
    parser.add_argument("root", help="the folder of the project")
    parser.add_argument("--peers", default="jax", help="some of jax,casadi,torch,drjit")
    parser.add_argument("--quick", action="store_true", help="fewer programs, batches and rounds")
    parser.add_argument("--full", action="store_true", help="more forms of programs in JAX, and --million")
    parser.add_argument("--million", action="store_true", help="a million lanes too")
    parser.add_argument("--only", default="", metavar="NAME", help="programs whose name starts so")
    parser.add_argument("--single", action="store_true", help="single precision")
    parser.add_argument("--shared", action="store_true", help="parameters shared by all lanes, summed gradients")
    parser.add_argument("--values", action="store_true", help="values without gradients")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dmci", help="the dmci command, for CasADi and the generated program")
    parser.add_argument("--publish", action="store_true", help="write docs/speed.md, docs/speed.svg and the table of README.md")
    args = parser.parse_args()
    args.peers = args.peers.split(",")
    return args


ARGS = arguments()
REAL = np.float32 if ARGS.single else np.float64
MODELS, RESULTS = os.path.join(ARGS.root, "crates/dmci-repro/models"), os.path.join(ARGS.root, "bench/results")
WIDTH = 26


def prepared(names):
    """The peers that take batches and can run here, by name."""
    peers = {}
    for name in names:
        try:
            peers[name] = importlib.import_module(name + "_peer").prepare(ARGS.threads, ARGS.single)
        except (ImportError, OSError, Unavailable) as error:
            print(f"{name} cannot run here and is left out: {str(error).splitlines()[0][:200]}")
    return peers


def processor(what):
    """What the system says of the first core."""
    with open("/proc/cpuinfo") as file:
        return next((line.split(":")[1].strip() for line in file if line.split(":")[0].strip() == what), "")


def core():
    """Which generation it is, since names do not tell."""
    vectors = 512 if "avx512f" in processor("flags").split() else 256
    return f"family {processor('cpu family')}, model {processor('model')}, vectors of {vectors} bits"


def wants_gradient(case):
    return case.gradient and not ARGS.values


def difference(answer, peer):
    """The largest relative difference of the first and the last lane."""
    values, gradient = peer.results()
    ours, theirs = [answer["values"][0], answer["values"][1]], [values[0], values[-1]]
    if gradient is not None:
        rows = np.asarray(gradient, float).reshape(-1, len(answer["gradients"][0]))
        ours += answer["gradients"][0] + answer["gradients"][1]
        theirs += list(rows[0]) + list(rows[-1])
    ours, theirs = np.array(ours), np.array(theirs)
    return float(np.max(np.abs(ours - theirs) / (1e-300 + 1e-3 * np.max(np.abs(theirs)) + np.abs(theirs))))


def measure(ours, case, peers, column, before, rounds, seconds):
    """For each peer a row of the table, with as many lanes as JAX takes, but more than in the column before."""
    lanes, made = column, {}
    for name, peer in peers.items():
        make = lambda: peer(case, lanes, REAL, ARGS.shared, not wants_gradient(case))
        try:
            made[name] = make()
        except TooLarge as error:
            if error.fitting <= before:
                return {}
            lanes = error.fitting
            made[name] = make()
    answer = ours.load(case, lanes, wants_gradient(case))
    times = {name: [] for name in ("ours", *made)}
    for _ in range(rounds):
        for name in times:
            times[name].append((made.get(name) or ours).time(seconds))
    own, rows = min(times["ours"]), {}
    for name, peer in made.items():
        apart = difference(answer, peer)
        if not apart <= (1e-2 if ARGS.single else case.tolerance):
            print(f"  {case.name}: differs from {name} by {apart:.1e}", file=sys.stderr)
        ratios = sorted(b / a for a, b in zip(times["ours"], times[name]))
        least = min(times[name])
        rows[name] = {"program": case.name, "lanes": lanes, "column": column, "gradient": wants_gradient(case),
                      "ours_ns": own, f"{name}_ns": least, "ratio": least / own,
                      "ratios": [ratios[0], ratios[len(ratios) // 2], ratios[-1]], f"{name}_form": peer.form,
                      "cold_ns": answer["cold"], "difference": apart}
    return rows


def cell(row, column):
    if row is None:
        return "-".rjust(WIDTH)
    low, _, high = row["ratios"]
    fewer = f"{report.lanes_name(row['lanes'])}: " if row["lanes"] < column else ""
    return f"{fewer}{row['ours_ns'] / 1e3:.2f}us {row['ratio']:5.1f}x({low:.0f}-{high:.0f})".rjust(WIDTH)


def table(ours, chosen, peers, batches, rounds, seconds):
    """Prints a line for each program and peer; the rows of each peer."""
    found = {name: [] for name in peers}
    print(f"{'program':18}{'beside':8}" + "".join(f"{b:>{WIDTH}}" for b in batches), flush=True)
    for case in chosen:
        able = {name: peer for name, peer in peers.items() if case.small or name == "jax"}
        lines = {name: f"{case.name:18}{name:8}" for name in able}
        for before, column in zip([0, *batches], batches):
            rows = {}
            try:
                if column <= case.most:
                    rows = measure(ours, case, able, column, before, rounds, seconds)
            except RuntimeError as error:
                print(f"  {case.name}: {str(error)[:300]}", file=sys.stderr)
            for name in able:
                lines[name] += cell(rows.get(name), column)
                found[name] += [rows[name]] if name in rows else []
        for peer in able.values():
            peer.forget()
        for line in lines.values():
            print(line + ("" if wants_gradient(case) else "  values only"), flush=True)
    for name, rows in found.items():
        mean, worst = report.summary(rows)
        print(f"{'mean':18}{name:8}" + "".join(f"{mean.get(b, math.nan):{WIDTH - 1}.1f}x" for b in batches))
        named = lambda b: f"{worst[b][0]:.1f}x {worst[b][1]}" if b in worst else "-"
        print(f"{'worst':18}{name:8}" + "".join(named(b).rjust(WIDTH) for b in batches))
    return found


def synthetic_text():
    command = [ARGS.dmci, "run", os.path.join(MODELS, "bench/synthetic.scm"), "--set", "operations=20000", "--seed", "7"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def save(record):
    kind = "".join(f"-{n}" for n in ("single", "shared", "values") if getattr(ARGS, n))
    kind += f"-{ARGS.threads}threads" if ARGS.threads > 1 else ""
    quick = ARGS.only or ARGS.quick
    names = [f"engine{kind}-quick"] if quick else [f"engine{kind}", f"engine{kind}-{record['date']}-{report.slug(record)}"]
    os.makedirs(RESULTS, exist_ok=True)
    for name in names:
        with open(os.path.join(RESULTS, name + ".json"), "w") as file:
            json.dump(record, file, indent=1)


def main():
    if ARGS.threads == 1:
        # One core for all: they run in turns.
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    batches = [1, 64, 1024, 65536] + ([1 << 20] if ARGS.full or ARGS.million else [])
    rounds, seconds = (5, 0.03) if ARGS.quick else (7, 0.06)
    options = {"single": ARGS.single, "shared": ARGS.shared, "threads": ARGS.threads}
    ours = Ours(ARGS.runner, MODELS, tempfile.mkdtemp(), **options)
    peers = prepared([name for name in ARGS.peers if name != "casadi"])
    named = lambda c: c.name.startswith(ARGS.only) or (c.file or "").startswith(ARGS.only)
    chosen = [c for c in cases(ARGS.quick, ARGS.full, "jax" in peers, synthetic_text) if named(c)]
    # Without data, lanes that share their parameters are all the same.
    chosen = [c for c in chosen if c.inputs or not ARGS.shared]
    found = {}
    if peers:
        versions = ", ".join(f"{name} {peer.version}" for name, peer in peers.items())
        print(f"speed as a multiple of {versions} (least times; spread of rounds), "
              f"{'float32' if ARGS.single else 'float64'}, {ARGS.threads} thread(s), "
              f"{'shared parameters' if ARGS.shared else 'own parameters'}")
        found = table(ours, chosen, peers, batches, rounds, seconds)
    plain = not (ARGS.shared or ARGS.values or ARGS.threads > 1)
    hand = beside_hand(ours, chosen, rounds, seconds, ARGS.single) if plain else []
    casadi = "casadi" in ARGS.peers and not ARGS.values
    casadi = beside_casadi(ours, chosen, rounds, seconds, ARGS.dmci) if casadi else []
    if "jax" not in found:
        print("nothing is recorded: records are of runs beside JAX")
        return
    rows = found.pop("jax")
    mean, worst = report.summary(rows)
    save({"date": datetime.date.today().isoformat(), "machine": platform.processor() or platform.machine(),
          "cpu": processor("model name"), "core": core(),
          "jax": peers["jax"].version, "single": ARGS.single, "threads": ARGS.threads, "shared": ARGS.shared,
          "values": ARGS.values, "mean": mean, "worst": worst, "rows": rows, "hand": hand, "casadi": casadi,
          "others": {name: {"version": peers[name].version, "rows": rows} for name, rows in found.items()}})
    if ARGS.publish:
        report.publish(ARGS.root)


if __name__ == "__main__":
    main()
