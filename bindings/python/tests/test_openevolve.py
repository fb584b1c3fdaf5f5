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


def test_scores_say_whether_a_fit_converged_and_how_hard_it_was():
    data = {"t": T, "y": np.exp(-0.5 * T) + np.sin(6.0 * T)}
    easy, _ = Evaluator(data, "y").score("(params (a free 1.0) (b free 1.0)) (+ a (* b t))")
    assert easy["converged"] == 1.0 and easy["hard_to_fit"] == 0.0
    wave = "(params (a free 1.0) (b free 1.0) (c free 1.0) (d free 1.0)) (+ (* a (exp (- (* b t)))) (* c (sin (* d t))))"
    metrics, artifacts = Evaluator(data, "y", restarts=2).score(wave)
    # Either more starts found the frequency, or the model is told that more of them would be needed.
    assert metrics["r2_held_out"] > 0.99 or "hard to fit" in artifacts["repair"]
    assert metrics["hard_to_fit"] == float("repair" in artifacts)


def test_every_row_is_unseen_once_with_folds():
    noisy = {"t": T, "y": 2.5 * np.exp(-0.7 * T) + 0.05 * np.cos(40.0 * T)}
    text = "(params (a positive 1.0) (b positive 1.0)) (* a (exp (- (* b t))))"
    folds, _ = Evaluator(noisy, "y", folds=5).score(text)
    assert 0.95 < folds["r2_held_out"] < folds["r2"] < 1.0
    mean, _ = Evaluator(noisy, "y", folds=5).score("(params (a free 1.0)) (+ a (* 0 t))")
    assert mean["r2_held_out"] < 0.0, "the mean of other rows is no better than that of all"


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
        [sys.executable, str(EXAMPLE / "run.py"), "--output", str(tmp_path / "out"), "--iterations", "20"],
        capture_output=True, text=True, timeout=300, env=os.environ,
    )
    assert log.returncode == 0, log.stderr[-3000:]
    best = json.loads((tmp_path / "out/best/best_program_info.json").read_text())
    assert best["metrics"]["combined_score"] > 0.999
    assert "milk" in (tmp_path / "out/best/best_program.scm").read_text()
    assert len(json.loads((tmp_path / "out/prompts.json").read_text())) >= 20, "the server was asked"
    assert best["metrics"]["converged"] == 1.0
    database = "".join(p.read_text(errors="ignore") for p in (tmp_path / "out").rglob("*.json"))
    assert "did you mean exp" in database, "the hint was kept"
