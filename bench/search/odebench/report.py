"""Writes the table of ODEBench into docs/search-ode.md, from bench/results/search-odebench-*.json.

    python report.py
"""

import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs/search-ode.md"
BEGIN, END = "<!-- odebench: written by bench/search/odebench/report.py -->", "<!-- end of odebench -->"
NAMES = {
    "none": "clean",
    "additive": "noise of 5% of each state's deviation",
    "multiplicative": "each value off by 5% of itself",
}
PUBLISHED = [
    ("FIM-ODE", "84.4%", "75.4%"),
    ("ODEFormer", "63.1%", "61.5%"),
]


def share(count, of):
    return f"{count} of {of} ({100 * count / of:.0f}%)"


def main():
    lines = [BEGIN, "", "| | reconstruction | second initial condition |", "|---|---|---|"]
    detail = {}
    minutes = []
    for noise, name in NAMES.items():
        path = ROOT / f"bench/results/search-odebench-{noise}.json"
        if not path.exists():
            continue
        found = json.loads(path.read_text())
        systems, summary = found["systems"], found["summary"]
        count = lambda key: sum((s[key] if s[key] is not None else -1) > 0.9 for s in systems)
        cells = [share(count(key), len(systems)) for key in ("reconstruction", "generalisation")]
        lines.append(f"| {name} | {cells[0]} | {cells[1]} |")
        minutes.append((name, summary["processor_seconds"] / 60, summary["seconds"] / 60, summary["workers"]))
        for s in systems:
            detail.setdefault((s["id"], s["description"]), {})[noise] = s
    for name, clean, noisy in PUBLISHED:
        lines.append(f"| {name}, published (other task set: all 63 systems) | clean {clean}, 5% noise {noisy} | - |")
    spent = "; ".join(f"{n}: {p:.1f} minutes of processor time, {w:.1f} on the clock" for n, p, w, _ in minutes)
    lines += ["", f"Time for all systems, two searches at a time on a machine that had other work, too: {spent}.", ""]
    kinds = [noise for noise in NAMES if any(noise in of for of in detail.values())]
    heads = [f"{NAMES[k].split(' of ')[0]}: {what}" for k in kinds for what in ("first", "second")]
    lines += ["R2 of every system, with the first and with the second initial condition (- where what was found runs away or leaves its domain):", ""]
    lines += ["| system | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
    for (number, description), of in detail.items():
        cells = []
        for kind in kinds:
            for key in ("reconstruction", "generalisation"):
                value = of.get(kind, {}).get(key)
                cells.append("-" if value is None else f"{value:.3f}" if value > -1 else "< -1")
        lines.append(f"| {number} {description} | " + " | ".join(cells) + " |")
    lines += ["", END]
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    PAGE.write_text(before + "\n".join(lines) + rest.split(END)[1])


if __name__ == "__main__":
    main()
