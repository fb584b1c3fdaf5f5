"""A search from start to end, against the scripted server: OpenEvolve itself, and nothing but the loopback."""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import server

HERE = Path(__file__).parent


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="out")
    parser.add_argument("--iterations", default="5")
    args = parser.parse_args()
    running, url = server.start()
    command = [sys.executable, "-m", "openevolve.cli", str(HERE / "initial.scm"), str(HERE / "evaluator.py")]
    command += ["--config", str(HERE / "config.yaml"), "--api-base", url, "--primary-model", "scripted"]
    command += ["--output", args.output]
    # The loopback needs no proxy.
    environment = {**os.environ, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    subprocess.run([*command, "--iterations", args.iterations], check=True, env=environment)
    best = json.loads((Path(args.output) / "best" / "best_program_info.json").read_text())
    (Path(args.output) / "prompts.json").write_text(json.dumps(running.prompts))
    print(json.dumps(best["metrics"], indent=2))
    print((Path(args.output) / "best" / "best_program.scm").read_text())


if __name__ == "__main__":
    main()
