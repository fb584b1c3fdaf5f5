"""Makes crates/dmci-llm/tests/answers-raw.jsonl from a folder of prompts and answers, named raw-NUMBER-STYLE.prompt.md and
raw-NUMBER-STYLE.answer.md.

The programs that are expected are taken out here, without dmci, wherever they are in Scheme; a prompt says how many it wants.

    python3 scripts/raw-answers.py FOLDER
"""

import json
import re
import sys
from pathlib import Path

FENCED = {"chatty", "list", "table", "latex", "thoughts", "comments"}


def forms(text: str) -> list:
    """The outermost forms in a text, without comments."""
    text = re.sub(r";[^\n]*", "", text)
    found, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        if letter == "(":
            start = at if depth == 0 else start
            depth += 1
        elif letter == ")" and depth > 0:
            depth -= 1
            if depth == 0:
                found.append(" ".join(text[start : at + 1].split()))
    return found


def programs(text: str) -> list:
    """Programs: each begins with its parameters."""
    found = []
    for form in forms(text):
        if form.startswith("(params"):
            found.append([form])
        elif found:
            found[-1].append(form)
    return [" ".join(parts) for parts in found]


def expected(style: str, text: str):
    if style == "json":
        return [programs(one)[0] for one in json.loads(text)["programs"]]
    if style == "terse":
        return programs(text)
    if style in FENCED:
        said = text.split("</think>")[-1]
        return programs("\n\n".join(re.findall(r"```[^\n]*\n(.*?)```", said, re.S)))
    return None


def main() -> None:
    folder = Path(sys.argv[1])
    lines = []
    for path in sorted(folder.glob("raw-*.answer.md")):
        number, style = re.fullmatch(r"raw-(\d+)-(\w+)\.answer\.md", path.name).groups()
        prompt = path.with_name(path.name.replace(".answer.", ".prompt.")).read_text(encoding="utf-8")
        text = path.read_text(encoding="utf-8")
        inputs = re.search(r"The inputs are (.*?); the target", prompt, re.S).group(1).replace(",", " ").split()
        count = int(re.search(r"exactly (\d+)", prompt).group(1))
        line = {"name": f"{number} {style}", "inputs": inputs, "count": count, "text": text}
        found = expected(style, text)
        if found is not None:
            line["programs"] = found
            if len(found) != count:
                print(f"{path.name}: {count} programs were asked for, {len(found)} are there")
        lines.append(json.dumps(line, ensure_ascii=False))
    place = Path(__file__).parents[1] / "crates/dmci-llm/tests/answers-raw.jsonl"
    place.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    print(f"{len(lines)} answers")


main()
