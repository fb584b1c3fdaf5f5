"""Answers of llama.cpp's server within our grammar: dmci asks for them in a search, and 95% of them must be candidates."""

import json
import math
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

ANSWERS, LEAST, DEPTH = 200, 0.95, 4


def main() -> None:
    command = os.path.abspath(sys.argv[1])
    script = Path(__file__).with_name("gbnf-server.py")
    with tempfile.TemporaryDirectory() as name, socket.socket() as free:
        folder = Path(name)
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        rows = "".join(f"{i / 8},{math.sin(i / 4) + 0.1 * math.cos(7 * i)}\n" for i in range(64))
        (folder / "rows.csv").write_text("x,y\n" + rows)
        table = ["--data", "rows.csv", "--target", "y"]
        shown = subprocess.run(
            [command, "prompt", *table, "--part", "grammar", "--depth", str(DEPTH)],
            cwd=folder, capture_output=True, text=True, check=True,
        )
        server = subprocess.Popen(
            [sys.executable, script, folder / "tiny.gguf", str(port)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        try:
            address = server.stdout.readline().strip()
            assert address, "the server did not start"
            asked = [
                "search", *table, "--model", "tiny", "--endpoint", f"{address}/v1", "--money", "none",
                "--extra", json.dumps({"grammar": shown.stdout}), "--discover", "--questions", str(ANSWERS),
                "--max-tokens", "1000", "--time-limit", "240", "--calls", "calls.jsonl", "--json",
            ]
            ran = subprocess.run([command, *asked], cwd=folder, capture_output=True, text=True, timeout=300)
        finally:
            server.kill()
        assert ran.returncode == 0, ran.stderr
        calls = [json.loads(line) for line in (folder / "calls.jsonl").read_text().splitlines()]
        answers = [call for call in calls if call["event"] == "answer"]
        funnel = json.loads(ran.stdout)["funnel"]["model"]
        # What runs or fits badly is a candidate; what is refused before that is none.
        refused = sum(n for stage, n in funnel["rejected"].items() if stage not in ("runs", "derivative", "fitted"))
        taken = funnel["proposed"] - refused
        longest = max(answers, key=lambda a: len(a["text"]))["text"]
        print(f"{len(answers)} answers of llama.cpp's server, {taken} of them candidates; the longest: {longest}")
        assert len(answers) >= ANSWERS and taken >= LEAST * len(answers), funnel


main()
