import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dmci.openevolve import Evaluator

EXAMPLE = Path(__file__).resolve().parents[1] / "examples/openevolve"
T = np.linspace(0.0, 4.0, 60)


@pytest.fixture
def evaluator():
    return Evaluator({"t": T, "y": 2.5 * np.exp(-0.7 * T)}, "y", seconds=3.0, fuel=100_000)


def test_candidates_are_fitted_and_scored_on_unseen_rows(evaluator):
    metrics, artifacts = evaluator.score("(params (a positive 1.0) (b positive 1.0)) (* a (exp (- (* b t))))")
    assert metrics["combined_score"] > 0.999 and metrics["valid"] == 1.0
    assert "2.5" in artifacts["fit"] and "(params" in artifacts["fitted_program"]
    line, _ = evaluator.score("(+ 1.0 (* -0.5 t))")
    assert 0.0 < line["combined_score"] < metrics["combined_score"], "literals are fitted too"
    small = Evaluator(evaluator.data, "y", parsimony=0.01).score("(* 2.5 (exp (* -0.7 t)))")[0]
    assert small["combined_score"] < metrics["combined_score"]


@pytest.mark.parametrize(
    "text, stage, hint",
    [
        ("(* 2.5 (expp t))", "check", "did you mean exp"),
        ("(* 2.5 (exp t)", "check", "never closed"),
        ("(* 2.5 x)", "check", "x"),
        ("(* 2.5 3)", "check", "none of the columns"),
        ("(car (* 1.5 t))", "run", "car"),
        ("(* 1.0 (let loop ((i t)) (loop (+ i 1.0))))", "run", ""),
        ("", "check", "none of the columns"),
    ],
)
def test_what_is_wrong_comes_back_as_a_hint(evaluator, text, stage, hint):
    metrics, artifacts = evaluator.score(text)
    assert metrics["combined_score"] == 0.0 and metrics["valid"] == 0.0
    assert artifacts["failed_at"] == stage and hint in artifacts["repair"]


def test_scores_are_the_same_again(evaluator):
    text = "(params (a free 1.0) (b free 1.0)) (* a (sin (* b t)))"
    first, second = (evaluator.score(text)[0] for _ in range(2))
    first.pop("seconds"), second.pop("seconds")
    assert first == second


def test_files_are_read(tmp_path, evaluator):
    (tmp_path / "data.csv").write_text("t,y\n" + "".join(f"{t},{3 * t + 1}\n" for t in T))
    (tmp_path / "candidate.scm").write_text("(+ 0.5 (* 1.5 t))")
    found = Evaluator(tmp_path / "data.csv", "y")(str(tmp_path / "candidate.scm"))
    metrics = found if isinstance(found, dict) else found.metrics
    assert metrics["r2_held_out"] > 0.9999


@pytest.mark.long
def test_openevolve_itself_runs_on_the_loopback(tmp_path):
    pytest.importorskip("openevolve")
    log = subprocess.run(
        [sys.executable, str(EXAMPLE / "run.py"), "--output", str(tmp_path / "out")],
        capture_output=True, text=True, timeout=300, env=os.environ,
    )
    assert log.returncode == 0, log.stderr[-3000:]
    best = json.loads((tmp_path / "out/best/best_program_info.json").read_text())
    assert best["metrics"]["combined_score"] > 0.999
    assert "milk" in (tmp_path / "out/best/best_program.scm").read_text()
    assert len(json.loads((tmp_path / "out/prompts.json").read_text())) >= 4, "the server was asked"
    database = "".join(p.read_text(errors="ignore") for p in (tmp_path / "out").rglob("*.json"))
    assert "did you mean exp" in database, "the hint was kept"
