"""Ours beside programs that are written by hand, and single lanes beside CasADi."""
import math
import subprocess
import sys


# Processes in which everything is timed: calls of 100 ns take up to a fifth longer in some of them, by hand too.
PLACES = 3


def beside_hand(ours, all_cases, rounds, seconds, single):
    """The programs that are written by hand too, which know one thread and parameters for each lane."""
    rows = []
    for case in (c for c in all_cases if c.name in ("b/m05", "logistic 16", "kalman 2-D")):
        for lanes in (64, 1024, 65536):
            # By hand the logistic map has its derivative forward; beside it, backward as ours is.
            forms = ["plain", "fused"] + (["reverse"] if case.name.startswith("logistic") else [])
            least, difference = dict.fromkeys(["ours", *forms], math.inf), 0.0
            for _ in range(PLACES):
                process = ours.anew()
                process.load(case, lanes)
                for _ in range(rounds):
                    least["ours"] = min(least["ours"], process.time(seconds))
                    for form in forms:
                        took, apart = process.time_by_hand(seconds, form)
                        least[form], difference = min(least[form], took), max(difference, apart)
                process.end()
            if difference > (1e-3 if single else 1e-9):
                print(f"  {case.name} by hand differs by {difference:.1e}", file=sys.stderr)
            own, hand, fused = (least[form] for form in ("ours", "plain", "fused"))
            rows.append({"program": case.name, "lanes": lanes, "ours_ns": own, "hand_ns": hand, "fused_ns": fused,
                         "ratio": own / hand, "difference": difference})
            if "reverse" in least:
                back = least["reverse"]
                rows.append({"program": f"{case.name}, backward", "lanes": lanes, "ours_ns": own, "hand_ns": back,
                             "ratio": own / back, "difference": difference})
                print(f"by hand: {case.name} backward, {lanes} lanes: {own / back:.2f} times its time", flush=True)
            print(f"by hand: {case.name}, {lanes} lanes: {own / hand:.2f} times its time, {own / fused:.2f} times that "
                  "with contraction", flush=True)
    return rows


def beside_casadi(ours, all_cases, rounds, seconds, dmci):
    """Single lanes beside CasADi's virtual machine and its code compiled by gcc."""
    import casadi_peer

    rows = []
    for case in all_cases:
        if not case.gradient or case.tensors or case.batched:
            continue
        try:
            peer = casadi_peer.CasadiPeer(dmci, ours.path(case), case, ours.folder)
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
