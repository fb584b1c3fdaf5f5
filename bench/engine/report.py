"""Tables and the picture of a run."""
import math

GOALS = {"mean": {1: 50, 64: 20, 1024: 8, 65536: 4, 1 << 20: 2}, "worst": {64: 5, 1024: 3, 65536: 1, 1 << 20: 0.9}}


def lanes_name(lanes):
    return "2^20" if lanes == 1 << 20 else f"{lanes:,}"


def summary(rows, batches):
    """Geometric mean and least ratio for each batch, over programs whose gradient JAX gives."""
    mean, worst = {}, {}
    for lanes in batches:
        ratios = [(r["ratio"], r["program"]) for r in rows if r["lanes"] == lanes and r["gradient"]]
        if ratios:
            mean[lanes] = math.exp(sum(math.log(r) for r, _ in ratios) / len(ratios))
            worst[lanes] = min(ratios)
    return mean, worst


def times(nanoseconds):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.3g} ns"


def markdown(record, batches):
    """The table for people: our time, and how many times that JAX takes."""
    programs = list(dict.fromkeys(r["program"] for r in record["rows"]))
    cells = {(r["program"], r["lanes"]): r for r in record["rows"]}
    used = [b for b in batches if any(r["lanes"] == b for r in record["rows"])]
    lines = ["| program | " + " | ".join(f"{lanes_name(b)} lanes" for b in used) + " |",
             "|---|" + "---|" * len(used)]
    for program in programs:
        line = f"| {program} |"
        for lanes in used:
            row = cells.get((program, lanes))
            line += f" {times(row['ours_ns'])}, {row['ratio']:.3g}x |" if row else " |"
        lines.append(line)
    mean, worst = record["mean"], record["worst"]
    lines.append("| **geometric mean** |" + "".join(f" **{mean[b]:.3g}x** |" if b in mean else " |" for b in used))
    lines.append("| **least** |" + "".join(f" **{worst[b][0]:.3g}x** ({worst[b][1]}) |" if b in worst else " |"
                                           for b in used))
    return "\n".join(lines) + "\n"


def picture(record, batches):
    """An SVG: the speed of every program as a multiple of JAX, by the number of lanes."""
    width, height, left, bottom, top, right = 720, 400, 60, 46, 34, 150
    used = [b for b in batches if any(r["lanes"] == b for r in record["rows"])]
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
        points = [(r["lanes"], r["ratio"]) for r in record["rows"] if r["program"] == program]
        out.append(line(points, "#9bb8d3", 1.2))
    mean = [(b, record["mean"][b]) for b in used if b in record["mean"]]
    if mean:
        out.append(line(mean, "#1f4e79", 3))
        out.append(f'<text x="{width - right + 8}" y="{y(mean[-1][1]) + 4:.1f}" fill="#1f4e79">geometric mean</text>')
    out.append(f'<text x="{width - right + 8}" y="{y(1) + 4:.1f}" fill="#c0392b">JAX</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


def page(record, batches):
    """docs/speed.md."""
    rows = "\n".join(f"| {r['program']} | {r['lanes']:,} | {times(r['ours_ns'])} | {times(r['hand_ns'])} | "
                     f"{r['ratio']:.2f} |" for r in record["hand"])
    casadi = "\n".join(f"| {r['program']} | {times(r['ours_ns'])} | {times(r['vm_ns'])} | {times(r['gcc_ns'])} |"
                       for r in record["casadi"])
    text = f"""# Speed

Made by `bench/run.sh --publish` on {record["date"]}, {record["cpu"] or record["machine"]}, one core; JAX {record["jax"]},
{"float32" if record["single"] else "float64"}. Times are the least of several rounds in which both took turns.

Value and gradient through the interpreter, every lane with its own parameters and data: our time of a call, and how
many times that JAX takes (`jit` of `vmap` of `value_and_grad`, compiled before). JAX refuses the gradient of a loop to
a tolerance: there, values alone are compared, and they do not count in the means.

![Speed as a multiple of JAX](speed.svg)

{markdown(record, batches)}"""
    if rows:
        text += f"""
Beside the same programs written by hand in Rust, with derivatives worked out by hand, vectorised, without
contraction:

| program | lanes | ours | by hand | ours over by hand |
|---|---|---|---|---|
{rows}
"""
    if casadi:
        text += f"""
One lane beside CasADi, which runs the operations that dmci records and differentiates them itself: in its virtual
machine, and compiled by gcc.

| program | ours | CasADi's virtual machine | gcc |
|---|---|---|---|
{casadi}
"""
    return text


BEGIN, END = "<!-- made by bench/run.sh --publish -->", "<!-- end -->"


def readme(text, record, batches):
    """README.md with the summary of this run between its marks."""
    used = [b for b in batches if b in record["mean"]]
    table = [f"| value and gradient, speed as a multiple of JAX {record['jax']} | "
             + " | ".join(f"{lanes_name(b)} lane{'s' if b > 1 else ''}" for b in used) + " |",
             "|---|" + "---|" * len(used),
             f"| geometric mean of {len({r['program'] for r in record['rows'] if r['gradient']})} programs | "
             + " | ".join(f"{record['mean'][b]:.3g}" for b in used) + " |",
             "| least | " + " | ".join(f"{record['worst'][b][0]:.2g} ({record['worst'][b][1]})" for b in used) + " |"]
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    picture = "![Speed of every program as a multiple of JAX, by the number of lanes](docs/speed.svg)"
    return text[:start] + "\n" + "\n".join(table) + "\n\n" + picture + "\n" + text[end:]
