"""Times models over lanes beside JAX, in turns, and writes a table, JSON and a dated record.

Every lane has its own parameters and data, or (--shared) all lanes share the parameters and the gradient is the
sum. JAX is taken in its best form: jit of vmap of value_and_grad, with loops as scans or written out, whichever is
faster; its compile time does not count. With --peers casadi, single lanes are timed beside CasADi too.
"""
import argparse
import datetime
import json
import math
import os
import platform
import subprocess
import sys
import tempfile


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runner", help="the program that times ours")
    parser.add_argument("root", help="the folder of the project")
    parser.add_argument("--peers", default="jax", help="jax, or jax,casadi")
    parser.add_argument("--quick", action="store_true", help="fewer programs, batches and rounds")
    parser.add_argument("--full", action="store_true", help="more programs, a million lanes")
    parser.add_argument("--only", default="", metavar="NAME", help="programs whose name starts so")
    parser.add_argument("--single", action="store_true", help="single precision")
    parser.add_argument("--shared", action="store_true", help="parameters shared by all lanes, summed gradients")
    parser.add_argument("--values", action="store_true", help="values without gradients")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dmci", help="the dmci command, for CasADi and the generated program")
    parser.add_argument("--publish", action="store_true", help="write docs/speed.md, docs/speed.svg and the table of README.md")
    return parser.parse_args()


ARGS = arguments()
if ARGS.threads == 1:
    # One core for both: they run in turns.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=" + ("false" if ARGS.threads == 1 else "true")

import jax  # noqa: E402
import numpy as np  # noqa: E402

jax.config.update("jax_enable_x64", not ARGS.single)
jax.config.update("jax_platforms", "cpu")

import report  # noqa: E402
from cases import cases  # noqa: E402
from jax_peer import JaxPeer, TooLarge  # noqa: E402

REAL = np.float32 if ARGS.single else np.float64
MODELS, RESULTS = os.path.join(ARGS.root, "models"), os.path.join(ARGS.root, "bench/results")


class Ours:
    def __init__(self, runner, folder):
        self.folder = folder
        self.process = subprocess.Popen([runner], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def path(self, case):
        if case.text is None:
            return os.path.join(MODELS, case.file + ".scm")
        path = os.path.join(self.folder, "program.scm")
        with open(path, "w") as file:
            file.write(case.text)
        return path

    def load(self, case, lanes, **options):
        listed = lambda x: np.asarray(x, float).tolist()
        return self.ask({"file": self.path(case), "batch": lanes,
                         "params": {n: listed(x) for n, x in case.params.items()},
                         "inputs": {n: listed(x) for n, x in case.inputs.items()}, "fixed": case.fixed,
                         "single": ARGS.single, "shared": ARGS.shared, "threads": ARGS.threads,
                         "want": "gradients" if wants_gradient(case) else "values", **options})

    def time(self, seconds):
        return self.ask({"seconds": seconds})["least"]

    def time_by_hand(self, seconds, form):
        """Nanoseconds of the program by hand, and its largest difference from ours."""
        answer = self.ask({"seconds": seconds, "hand": form})
        return answer["least"], answer["difference"]


def wants_gradient(case):
    return case.gradient and not ARGS.values


def check(case, answer, peer):
    """The largest relative difference of the first and the last lane."""
    values, gradient = peer.results()
    ours, theirs = [answer["values"][0], answer["values"][1]], [values[0], values[-1]]
    if gradient is not None:
        rows = np.asarray(gradient, float).reshape(-1, len(answer["gradients"][0]))
        ours += answer["gradients"][0] + answer["gradients"][1]
        theirs += list(rows[0]) + list(rows[-1])
    ours, theirs = np.array(ours), np.array(theirs)
    return float(np.max(np.abs(ours - theirs) / (1e-300 + 1e-3 * np.max(np.abs(theirs)) + np.abs(theirs))))


def measure(ours, case, column, before, rounds, seconds):
    """A row of the table, or none: with as many lanes as JAX takes, but more than in the column before."""
    lanes = column
    try:
        peer = JaxPeer(case, lanes, REAL, ARGS.shared, not wants_gradient(case))
    except TooLarge as error:
        if error.fitting <= before:
            return None
        lanes = error.fitting
        peer = JaxPeer(case, lanes, REAL, ARGS.shared, not wants_gradient(case))
    answer = ours.load(case, lanes)
    difference = check(case, answer, peer)
    if difference > (1e-2 if ARGS.single else case.tolerance):
        print(f"  {case.name}: differs from JAX by {difference:.1e}", file=sys.stderr)
    ratios, own, theirs = [], math.inf, math.inf
    for _ in range(rounds):
        a, b = ours.time(seconds), peer.time(seconds)
        own, theirs = min(own, a), min(theirs, b)
        ratios.append(b / a)
    ratios.sort()
    return {"program": case.name, "lanes": lanes, "column": column, "gradient": wants_gradient(case), "ours_ns": own, "jax_ns": theirs,
            "ratio": theirs / own, "ratios": [ratios[0], ratios[len(ratios) // 2], ratios[-1]],
            "jax_form": peer.form, "cold_ns": answer["cold"], "difference": difference}


def beside_hand(ours, all_cases, rounds, seconds):
    """The programs that are written by hand too, which know one thread and parameters for each lane."""
    rows = []
    if ARGS.shared or ARGS.values or ARGS.threads > 1:
        return rows
    for case in (c for c in all_cases if c.name in ("b/m05", "logistic 16", "kalman 2-D")):
        for lanes in (64, 1024, 65536):
            ours.load(case, lanes)
            least, difference = {"ours": math.inf, "plain": math.inf, "fused": math.inf}, 0.0
            for _ in range(rounds):
                least["ours"] = min(least["ours"], ours.time(seconds))
                for form in ("plain", "fused"):
                    took, apart = ours.time_by_hand(seconds, form)
                    least[form], difference = min(least[form], took), max(difference, apart)
            if difference > (1e-3 if ARGS.single else 1e-9):
                print(f"  {case.name} by hand differs by {difference:.1e}", file=sys.stderr)
            own, hand, fused = least.values()
            rows.append({"program": case.name, "lanes": lanes, "ours_ns": own, "hand_ns": hand, "fused_ns": fused,
                         "ratio": own / hand, "difference": difference})
            print(f"by hand: {case.name}, {lanes} lanes: {own / hand:.2f} times its time, {own / fused:.2f} times that "
                  "with contraction", flush=True)
    return rows


def beside_casadi(ours, all_cases, rounds, seconds):
    """Single lanes beside CasADi's virtual machine and its code compiled by gcc."""
    import casadi_peer

    rows = []
    for case in all_cases:
        if not wants_gradient(case) or case.tensors:
            continue
        try:
            peer = casadi_peer.CasadiPeer(ARGS.dmci, ours.path(case), case, ours.folder)
        except (casadi_peer.Unknown, subprocess.CalledProcessError) as error:
            print(f"  {case.name}: not in CasADi: {str(error)[:100]}", file=sys.stderr)
            continue
        ours.load(case, 1)
        least = {"ours": math.inf, "vm": math.inf, "gcc": math.inf}
        for _ in range(rounds):
            least["ours"] = min(least["ours"], ours.time(seconds))
            for form in ("vm", "gcc"):
                least[form] = min(least[form], peer.time(seconds, form))
        rows.append({"program": case.name, **{f"{name}_ns": x for name, x in least.items()}})
        print(f"CasADi: {case.name}: {least['vm'] / least['ours']:.2f} times as fast as its virtual machine, "
              f"{least['ours'] / least['gcc']:.2f} times the time of gcc's code", flush=True)
    if rows:
        ratios = [r["ours_ns"] / r["gcc_ns"] for r in rows]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"CasADi: geometric mean {mean:.2f} times the time of gcc's code, worst {max(ratios):.2f}; slowest "
              f"beside the virtual machine {min(r['vm_ns'] / r['ours_ns'] for r in rows):.2f}")
    return rows


def synthetic_text():
    command = [ARGS.dmci, "run", os.path.join(MODELS, "bench/synthetic.scm"), "--set", "operations=20000", "--seed", "7"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    batches = [1, 64, 1024, 65536] + ([1 << 20] if ARGS.full else [])
    rounds, seconds = (5, 0.03) if ARGS.quick else (7, 0.06)
    folder = tempfile.mkdtemp()
    ours = Ours(ARGS.runner, folder)
    named = lambda c: c.name.startswith(ARGS.only) or (c.file or "").startswith(ARGS.only)
    chosen = [c for c in cases(ARGS.quick, ARGS.full, synthetic_text) if named(c)]
    # Without data, lanes that share their parameters are all the same.
    chosen = [c for c in chosen if c.inputs or not ARGS.shared]
    rows = []
    print(f"speed as a multiple of JAX {jax.__version__} (least times; spread of rounds), "
          f"{'float32' if ARGS.single else 'float64'}, {ARGS.threads} thread(s), "
          f"{'shared parameters' if ARGS.shared else 'own parameters'}")
    print(f"{'program':18}" + "".join(f"{b:>26}" for b in batches), flush=True)
    for case in chosen:
        line = f"{case.name:18}"
        for before, lanes in zip([0, *batches], batches):
            if lanes > case.most:
                line += f"{'-':>26}"
                continue
            try:
                row = measure(ours, case, lanes, before, rounds, seconds)
            except RuntimeError as error:
                print(f"  {case.name}: {str(error)[:300]}", file=sys.stderr)
                break
            if row is None:
                line += f"{'-':>26}"
                continue
            rows.append(row)
            low, _, high = row["ratios"]
            fewer = f"{report.lanes_name(row['lanes'])}: " if row["lanes"] < lanes else ""
            line += f"{fewer}{row['ours_ns'] / 1e3:.2f}us {row['ratio']:5.1f}x({low:.0f}-{high:.0f})".rjust(26)
        jax.clear_caches()
        print(line + ("" if wants_gradient(case) else "  values only"), flush=True)
    mean, worst = report.summary(rows)
    print(f"{'mean':18}" + "".join(f"{mean.get(b, math.nan):25.1f}x" for b in batches))
    print(f"{'worst':18}" + "".join(f"{worst[b][0]:.1f}x {worst[b][1]}".rjust(26) if b in worst else f"{'-':>26}"
                                    for b in batches))
    record = {"date": datetime.date.today().isoformat(), "machine": platform.processor() or platform.machine(),
              "cpu": next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), ""),
              "jax": jax.__version__, "single": ARGS.single, "threads": ARGS.threads, "shared": ARGS.shared,
              "values": ARGS.values, "mean": mean, "worst": worst, "rows": rows,
              "hand": beside_hand(ours, chosen, rounds, seconds),
              "casadi": beside_casadi(ours, chosen, rounds, seconds) if "casadi" in ARGS.peers else []}
    kind = "".join(f"-{n}" for n in ("single", "shared", "values") if getattr(ARGS, n))
    kind += f"-{ARGS.threads}threads" if ARGS.threads > 1 else ""
    kind += "-quick" if ARGS.only or ARGS.quick else ""
    os.makedirs(RESULTS, exist_ok=True)
    quick = kind.endswith("-quick")
    for name in (f"engine{kind}", *([] if quick else [f"engine{kind}-{record['date']}-{report.slug(record)}"])):
        with open(os.path.join(RESULTS, name + ".json"), "w") as file:
            json.dump(record, file, indent=1)
    if ARGS.publish:
        report.publish(ARGS.root)


if __name__ == "__main__":
    main()
