"""Tables and the picture, made from the records of runs in bench/results.

    python3 bench/engine/report.py [FOLDER OF THE PROJECT]

writes docs/speed.md, docs/speed.svg and the table of README.md anew, without any measurement.
"""
import glob
import json
import math
import os
import re
import sys


def lanes_name(lanes):
    return f"2^{lanes.bit_length() - 1}" if lanes > 1 << 16 else f"{lanes:,}"


def column(row):
    """The batch that was wanted; where JAX does not take so many lanes, there are fewer."""
    return row.get("column", row["lanes"])


def columns(record):
    return sorted({column(r) for r in record["rows"]})


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def summary(rows):
    """Geometric mean and least ratio for each batch, over programs whose gradient JAX gives."""
    means, worst = {}, {}
    counted = [r for r in rows if r["gradient"]] or rows
    for lanes in sorted({column(r) for r in counted}):
        ratios = [(r["ratio"], r["program"]) for r in counted if column(r) == lanes]
        means[lanes], worst[lanes] = mean([r for r, _ in ratios]), min(ratios)
    return means, worst


def times(nanoseconds):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.3g} ns"


def cell(row):
    if row is None:
        return " |"
    fewer = f" ({lanes_name(row['lanes'])} lanes)" if row["lanes"] != column(row) else ""
    return f" {times(row['ours_ns'])}, {row['ratio']:.3g}x{fewer} |"


def markdown(record):
    """The table for people: our time, and how many times that JAX takes."""
    programs = list(dict.fromkeys(r["program"] for r in record["rows"]))
    cells = {(r["program"], column(r)): r for r in record["rows"]}
    used = columns(record)
    lines = ["| program | " + " | ".join(f"{lanes_name(b)} lane{'s' if b > 1 else ''}" for b in used) + " |",
             "|---|" + "---|" * len(used)]
    lines += [f"| {program} |" + "".join(cell(cells.get((program, b))) for b in used) for program in programs]
    means, worst = summary(record["rows"])
    lines.append("| **geometric mean** |" + "".join(f" **{means[b]:.3g}x** |" if b in means else " |" for b in used))
    lines.append("| **least** |" + "".join(f" **{worst[b][0]:.3g}x** ({worst[b][1]}) |" if b in worst else " |"
                                           for b in used))
    return "\n".join(lines) + "\n"


def picture(record):
    """An SVG: the speed of every program as a multiple of JAX, by the number of lanes."""
    width, height, left, bottom, top, right = 720, 400, 60, 46, 34, 150
    used, (means, _) = columns(record), summary(record["rows"])
    most = max(2.0, max(r["ratio"] for r in record["rows"]) * 1.2)
    least = min(0.5, min(r["ratio"] for r in record["rows"]) / 1.2)
    x = lambda lanes: left + (width - left - right) * used.index(lanes) / max(1, len(used) - 1)
    y = lambda ratio: top + (height - top - bottom) * math.log(most / ratio) / math.log(most / least)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
           'font-size="12">', f'<rect width="{width}" height="{height}" fill="white"/>',
           f'<text x="{left}" y="20" font-size="14">Value and gradient: speed as a multiple of JAX '
           f'{record["jax"]} (one core, {"float32" if record["single"] else "float64"})</text>']
    for ratio in (0.5, 1, 2, 5, 10, 20, 50, 100, 200):
        if least <= ratio <= most:
            colour = "#c0392b" if ratio == 1 else "#ddd"
            out.append(f'<line x1="{left}" x2="{width - right}" y1="{y(ratio):.1f}" y2="{y(ratio):.1f}" '
                       f'stroke="{colour}"/>')
            out.append(f'<text x="{left - 6}" y="{y(ratio) + 4:.1f}" text-anchor="end">{ratio}x</text>')
    for lanes in used:
        out.append(f'<text x="{x(lanes):.1f}" y="{height - bottom + 18}" text-anchor="middle">'
                   f'{lanes_name(lanes)}</text>')
    out.append(f'<text x="{(left + width - right) / 2}" y="{height - 8}" text-anchor="middle">lanes</text>')

    def line(points, colour, thick):
        path = " ".join(f"{x(b):.1f},{y(r):.1f}" for b, r in points)
        return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{thick}"/>'

    for program in dict.fromkeys(r["program"] for r in record["rows"]):
        points = [(column(r), r["ratio"]) for r in record["rows"] if r["program"] == program]
        out.append(line(points, "#9bb8d3", 1.2))
    points = [(b, means[b]) for b in used if b in means]
    out.append(line(points, "#1f4e79", 3))
    out.append(f'<text x="{width - right + 8}" y="{y(points[-1][1]) + 4:.1f}" fill="#1f4e79">geometric mean</text>')
    out.append(f'<text x="{width - right + 8}" y="{y(1) + 4:.1f}" fill="#c0392b">JAX</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


def kind(record):
    """What sets a run apart from the main one, in words."""
    words = ["single precision" if record["single"] else "double precision"]
    words.append("values alone" if record["values"] else "value and gradient")
    words += ["parameters shared by all lanes"] if record["shared"] else []
    words.append("one core" if record["threads"] == 1 else f"{record['threads']} threads")
    return ", ".join(words)


def by_hand(record):
    if not record["hand"]:
        return ""
    fused = any("fused_ns" in r for r in record["hand"])
    head = "| program | lanes | ours | by hand | ours over by hand |" + (" contracted by hand | ours over it |" if fused else "")
    lines = [head, "|---|---|---|---|---|" + ("---|---|" if fused else "")]
    for r in record["hand"]:
        line = f"| {r['program']} | {r['lanes']:,} | {times(r['ours_ns'])} | {times(r['hand_ns'])} | {r['ratio']:.2f} |"
        if fused and "fused_ns" not in r:
            line += " | |"
        elif fused:
            line += f" {times(r['fused_ns'])} | {r['ours_ns'] / r['fused_ns']:.2f} |"
        lines.append(line)
    told = "without contraction of products and sums" + (", and with it" if fused else "")
    forward = """
The logistic map by hand carries its one derivative forward, with four products a step. A gradient of ours is that of
reverse mode, which defines its bits whatever is asked for, and takes six; seven where it is faster to compute a product
twice than to store it. That is 64 products a lane by hand, and 92 in reverse mode (six in each of sixteen rounds, but for
four at the ends that are products with 1 or that nothing needs). Where products have units of their own, as on Zen, and by
hand there is nothing else to wait for, no code in reverse mode takes less than 92/64 = 1.44 times as long. The same in
reverse mode by hand is beside it.
"""
    return f"""
Beside the same programs written by hand in Rust, with derivatives worked out by hand, vectorised, {told}:

""" + "\n".join(lines) + "\n" + (forward if any(r["program"].startswith("logistic") for r in record["hand"]) else "")


def beside_casadi(record):
    if not record["casadi"]:
        return ""
    lines = [f"| {r['program']} | {times(r['ours_ns'])} | {times(r['vm_ns'])} | {times(r['gcc_ns'])} |"
             for r in record["casadi"]]
    ratios = [r["ours_ns"] / r["gcc_ns"] for r in record["casadi"]]
    least = min((r["vm_ns"] / r["ours_ns"], r["program"]) for r in record["casadi"])
    return f"""
One lane beside CasADi, which runs the operations that dmci records and differentiates them itself: in its virtual
machine, and compiled by gcc. Our time over that of gcc's code is {mean(ratios):.2f} in the geometric mean,
{max(ratios):.2f} at most; the virtual machine takes at least {least[0]:.2f} times our time ({least[1]}).

| program | ours | CasADi's virtual machine | gcc |
|---|---|---|---|
""" + "\n".join(lines) + "\n"


def over_one_core(record, one):
    """How much faster several threads are than one, by the records of both runs."""
    if record["threads"] == 1 or one is None:
        return ""
    alone = {(r["program"], r["lanes"]): r["ours_ns"] for r in one["rows"]}
    lines = []
    for lanes in (1024, 1 << 16, 1 << 20):
        ratios = [(alone[r["program"], lanes] / r["ours_ns"], r["program"]) for r in record["rows"]
                  if r["lanes"] == lanes and (r["program"], lanes) in alone]
        if ratios:
            lines.append(f"| {lanes_name(lanes)} | {mean([r for r, _ in ratios]):.2f}x | {min(ratios)[0]:.2f}x "
                         f"({min(ratios)[1]}) | {max(ratios)[0]:.2f}x ({max(ratios)[1]}) |")
    if not lines:
        return ""
    return f"""
Our own speed with {record['threads']} threads as a multiple of that with one (of the run with one thread; work of less
than a fraction of a millisecond stays on one):

| lanes | geometric mean | least | most |
|---|---|---|---|
""" + "\n".join(lines) + "\n"


def made(record):
    which = f" ({record['core']})" if record.get("core") else ""
    return f"Made on {record['date']}, {record['cpu'] or record['machine']}{which}; JAX {record['jax']}."


def slug(record):
    """The processor as a part of a file's name."""
    words = re.sub(r"\(.*?\)|processor", " ", (record["cpu"] or record["machine"]).lower())
    return "-".join(re.findall(r"[a-z0-9]+", words)[:3])


MAIN = "engine"
DATED = re.compile(r"-\d{4}-\d\d-\d\d-[a-z0-9-]+$")


def records(folder):
    """Whole runs that are kept, the main one first: not those of a few programs, nor the dated copies."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "engine*.json"))):
        name = os.path.basename(path)[:-len(".json")]
        if "quick" in name or DATED.search(name):
            continue
        with open(path) as file:
            found[name] = json.load(file)
    return {name: found[name] for name in sorted(found, key=lambda n: (n != MAIN, len(n), n))}


def elsewhere(folder, name, record):
    """Means of the newest runs of the same kind on other processors."""
    newest = {}
    for path in sorted(glob.glob(os.path.join(folder, name + "-*.json"))):
        if DATED.sub("", os.path.basename(path)[:-len(".json")]) == name:
            with open(path) as file:
                other = json.load(file)
            newest[other["cpu"]] = other
    newest.pop(record["cpu"], None)
    text = ""
    for other in newest.values():
        means, worst = summary(other["rows"])
        used = [b for b in columns(other) if b in means]
        text += f"""
On another machine ({made(other)[:-1]}):

| | {" | ".join(f"{lanes_name(b)} lane{'s' if b > 1 else ''}" for b in used)} |
|---|{"---|" * len(used)}
| geometric mean | {" | ".join(f"{means[b]:.3g}" for b in used)} |
| least | {" | ".join(f"{worst[b][0]:.2g} ({worst[b][1]})" for b in used)} |
"""
    return text


def page(folder, all_records):
    """docs/speed.md."""
    text = """# Speed

Made by `bench/run.sh --publish` from the records in `bench/results`. Our time of a call, and how many times that JAX
takes (`jit` of `vmap` of `value_and_grad`, compiled before, in its faster form). Programs were recorded through the
interpreter; what is timed is the machine code of that. Ours is called from Rust, into results that are used again; JAX
from Python, as it is used, with new arrays for its results: some 5 us of its time are the call, which is nearly all of it
for few lanes of a short program. `bench/results/python.txt` has both called from Python. Times are the least
of several rounds in which both took turns. Every lane has its own data and, if nothing else is said, its own
parameters. JAX refuses the gradient of a loop to a tolerance (newton): there, values alone are compared, and they do not
count in the means. Where JAX would need more than 12 GiB, there are as many lanes as fit, if these are named, or none.
"""
    for name, record in all_records.items():
        title = kind(record)
        text += f"\n## {title[0].upper()}{title[1:]}\n\n{made(record)}\n\n"
        if name == MAIN:
            text += "![Speed as a multiple of JAX](speed.svg)\n\n"
        one = all_records.get(re.sub(r"-\d+threads", "", name))
        text += markdown(record) + elsewhere(folder, name, record) + over_one_core(record, one) + by_hand(record) + beside_casadi(record)
    return text


BEGIN, END = "<!-- made by bench/run.sh --publish -->", "<!-- end -->"


def readme(text, record):
    """README.md with the summary of this run between its marks."""
    means, worst = summary(record["rows"])
    used = [b for b in columns(record) if b in means]
    programs = [sum(r["gradient"] and column(r) == b for r in record["rows"]) for b in used]
    table = [f"| value and gradient, speed as a multiple of JAX {record['jax']} | "
             + " | ".join(f"{lanes_name(b)} lane{'s' if b > 1 else ''}" for b in used) + " |",
             "|---|" + "---|" * len(used),
             "| programs | " + " | ".join(map(str, programs)) + " |",
             "| geometric mean | " + " | ".join(f"{means[b]:.3g}" for b in used) + " |",
             "| least | " + " | ".join(f"{worst[b][0]:.2g} ({worst[b][1]})" for b in used) + " |"]
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    picture = "![Speed of every program as a multiple of JAX, by the number of lanes](docs/speed.svg)"
    return text[:start] + "\n" + "\n".join(table) + "\n\n" + picture + "\n" + text[end:]


def publish(root):
    """Writes the page, the picture and the table of the README."""
    folder = os.path.join(root, "bench/results")
    all_records = records(folder)

    def write(path, text):
        with open(os.path.join(root, path), "w") as file:
            file.write(text)

    write("docs/speed.md", page(folder, all_records))
    if MAIN in all_records:
        write("docs/speed.svg", picture(all_records[MAIN]))
        with open(os.path.join(root, "README.md")) as file:
            text = file.read()
        write("README.md", readme(text, all_records[MAIN]))


if __name__ == "__main__":
    publish(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
