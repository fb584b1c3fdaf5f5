#!/usr/bin/env python3
"""What a batch costs beside its rows alone: `dmci eval --grad` over all rows of a program, and over each row by itself.

    bench/batches.py [--dmci target/release/dmci] [--corpus ../shared/corpus.jsonl] [--rows 8] [PROGRAM.scm ROWS.csv SETTINGS]...

Times are those of the processor, without what a trivial program costs; each is the least of several runs. Every program of
the corpus gets the rows of its examples, repeated with small changes until there are as many as asked for. SETTINGS is
`a=1.0,b=2.0`. The exit code is 1 if a batch takes more than 1.5 times its rows alone, and 20 ms more.
"""

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

RATIO = 1.5
NOISE = 0.02


def cpu(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.returncode


def least(command, runs):
    times = [cpu(command) for _ in range(runs)]
    return min(t for t, _ in times), times[0][1]


def write_rows(path, names, rows):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(rows)


def vary(x, k):
    # Integers stay as they are: they may be counts.
    return x * (1 + 1e-3 * k) if isinstance(x, float) else x


def corpus(path, count):
    """Programs whose inputs are numbers: name, text, settings, names and rows of inputs."""
    for line in Path(path).read_text().splitlines():
        case = json.loads(line)
        names, examples = case["inputs"], case["examples"]
        numbers = [e[n] for e in examples for n in names] + list(case["params"].values())
        if not names or not all(type(x) in (int, float) for x in numbers):
            continue
        rows = [[vary(examples[i % len(examples)][n], i // len(examples)) for n in names] for i in range(count)]
        yield case["id"], case["source"], case["params"], names, rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dmci", default="target/release/dmci")
    parser.add_argument("--corpus", default="../shared/corpus.jsonl")
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("more", nargs="*", help="PROGRAM.scm ROWS.csv SETTINGS")
    args = parser.parse_args()
    cases = list(corpus(args.corpus, args.rows)) if os.path.exists(args.corpus) else []
    for program, table, settings in zip(*[iter(args.more)] * 3):
        names, *rows = list(csv.reader(open(table)))
        values = dict(setting.split("=") for setting in settings.split(","))
        cases.append((program, Path(program).read_text(), values, names, rows))
    folder = Path(tempfile.mkdtemp())
    write_rows(folder / "one.csv", ["x"], [[1.0]])
    start, _ = least([args.dmci, "eval", "-e", "(* a x)", "--set", "a=1.0", "--grad", "--data", folder / "one.csv"], 5)
    slow, skipped, total = [], 0, [0.0, 0.0]
    for name, source, params, names, rows in cases:
        (folder / "program.scm").write_text(source)
        command = [args.dmci, "eval", folder / "program.scm", "--grad", "--wrt", ",".join(params), "--time", "60"]
        for setting in params.items():
            command += ["--set", "{}={}".format(*setting)]
        write_rows(folder / "all.csv", names, rows)
        batch, code = least(command + ["--data", folder / "all.csv"], 2)
        if code != 0:
            skipped += 1
            continue
        alone = 0.0
        for row in rows:
            write_rows(folder / "row.csv", names, [row])
            alone += max(least(command + ["--data", folder / "row.csv"], 2)[0] - start, 0.0)
        batch = max(batch - start, 0.0)
        total = [total[0] + batch, total[1] + alone]
        if batch > RATIO * alone + NOISE:
            slow.append((name, batch, alone))
    print(f"{len(cases) - skipped} programs ({skipped} fail and are left out), {args.rows} rows each")
    print(f"batches {total[0]:.2f} s, rows alone {total[1]:.2f} s of processor time")
    for name, batch, alone in slow:
        print(f"slower: {name}: {1e3 * batch:.0f} ms, rows alone {1e3 * alone:.0f} ms ({batch / max(alone, 1e-9):.1f})")
    sys.exit(1 if slow else 0)


if __name__ == "__main__":
    main()
