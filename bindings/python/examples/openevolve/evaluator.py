"""Scores candidates: loaded by OpenEvolve as it is."""

from pathlib import Path

from dmci.openevolve import Evaluator

evaluate = Evaluator(Path(__file__).parent / "data.csv", target="celsius", holdout=0.3, seconds=5.0, fuel=200_000)
