"""An evaluator for OpenEvolve: candidate programs in Scheme in, metrics and repair hints out.

``evaluator.py`` of a search needs three lines::

    from dmci.openevolve import Evaluator
    evaluator = Evaluator("data.csv", target="y")
    evaluate = evaluator

Each candidate is checked, fitted to the training rows within limits of steps and time, and scored on rows that the fit
has not seen: a share of the rows, or each row once with ``folds``. A fit that has not converged, or whose starts
disagree, gets more starts before it is scored. A candidate that is wrong, fails or does not end is an ordinary result
with a hint of what to repair. The class needs nothing of OpenEvolve itself, and any other search loop can call it.
"""

from __future__ import annotations

import csv
import math
import os
import time
from typing import Any, Dict, List, Optional, Tuple, Union

import numpy as np

from ._data import column_names, get_column
from ._errors import Error, ProgramSyntaxError
from ._fit import Fit
from ._model import Model
from ._program import Program, check

#: What a candidate scores that cannot be used.
WORST = 0.0


def read_csv(path: Union[str, "os.PathLike[str]"]) -> Dict[str, Any]:
    """The columns of a table with a header line: arrays of numbers, or lists of texts."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    columns: Dict[str, Any] = {}
    for i, name in enumerate(rows[0]):
        fields = [row[i].strip() for row in rows[1:] if row]
        try:
            columns[name.strip()] = np.array([float(field) for field in fields])
        except ValueError:
            columns[name.strip()] = fields
    return columns


def has_converged(fit: Fit) -> bool:
    """Whether the derivatives say that the fit is at an optimum."""
    return bool((fit.data.get("optimality") or {}).get("outcome") == "converged")


def agreement(fit: Fit) -> Tuple[int, int]:
    """How many starts reached the best fit, and how many there were."""
    found = fit.data.get("optima") or {}
    return int(found.get("best", 1)), int(found.get("starts", 1))


def is_hard_to_fit(fit: Fit) -> bool:
    """Whether more starts are worth it: it has not converged, or one of several starts reached the best fit alone."""
    best, starts = agreement(fit)
    return not has_converged(fit) or (starts > 1 and best == 1)


def held_out_r2(fit: Fit) -> float:
    """The share of the variance of unseen rows that is explained; -1 if there is no such number."""
    r2 = (fit.held_out or {}).get("r2")
    return float(r2) if r2 is not None and math.isfinite(float(r2)) else -1.0


class Evaluator:
    """Scores candidate programs by how well they fit data.

    ``data`` is a table, or the path of a CSV file. ``holdout`` is the share of rows (the last ones with ``"tail:0.3"``) by
    which candidates are scored; with ``folds`` it is that many random parts instead, each predicted by a fit to the others.
    ``restarts`` is the number of starts, four times as many where these disagree. ``fuel`` and ``seconds`` bound what a candidate may use. Real literals of a candidate
    without ``(params ...)`` are fitted too. ``parsimony`` is taken off the score for every symbol and number.
    """

    def __init__(
        self,
        data: Any,
        target: str,
        *,
        holdout: Union[float, str] = 0.3,
        folds: int = 0,
        fuel: int = 2_000_000,
        seconds: float = 10.0,
        restarts: int = 3,
        loss: str = "mse",
        parsimony: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.data = read_csv(data) if isinstance(data, (str, os.PathLike)) else data
        self.target = target
        self.folds = folds
        self.holdout, self.fuel, self.seconds = holdout, fuel, seconds
        self.restarts, self.loss, self.parsimony, self.seed = restarts, loss, parsimony, seed
        self.inputs: List[str] = [name for name in column_names(self.data) if name != target]

    def __call__(self, program_path: str) -> Any:
        """Metrics and artifacts of the candidate in a file, as OpenEvolve takes them."""
        with open(program_path, encoding="utf-8") as file:
            metrics, artifacts = self.score(file.read())
        try:
            from openevolve.evaluation_result import EvaluationResult
        except ImportError:
            return metrics
        return EvaluationResult(metrics=metrics, artifacts=artifacts)

    def score(self, text: str) -> Tuple[Dict[str, float], Dict[str, str]]:
        """Metrics, and texts that tell a language model what to do next."""
        began = time.monotonic()
        program = Program(text, "candidate.scm")
        try:
            wrong = self._wrong(program)
            if wrong is not None:
                return self._unusable("check", wrong, began)
            if not program.parameters:
                program = program.parametrised()
            fit = self._fit(program, None if self.folds else self.holdout, self.restarts, began)
            if is_hard_to_fit(fit):
                more = self._fit(program, None if self.folds else self.holdout, 4 * self.restarts, began)
                fit = min(fit, more, key=lambda f: f.loss if math.isfinite(f.loss) else math.inf)
            unseen = self._cross_validated(program, began) if self.folds else held_out_r2(fit)
        except ProgramSyntaxError as error:
            return self._unusable("check", str(error), began)
        except Error as error:
            return self._unusable("run", str(error), began)
        except TimeoutError as error:
            return self._unusable("time", str(error), began)
        return self._usable(program, fit, unseen, began)

    def _wrong(self, program: Program) -> Optional[str]:
        found = check(program, *self.inputs, *[p.name for p in program.parameters])
        errors = [d for d in found if d.severity == "error"]
        if errors:
            return "\n".join(d.rendered for d in errors[:5])
        if not any(name in self.inputs for name in program.inputs):
            return f"the program reads none of the columns {', '.join(self.inputs)}: use them as variables"
        return None

    def _fit(self, program: Program, holdout: Any, restarts: int, began: float) -> Fit:
        model = Model(program, target=self.target, fuel=self.fuel, time=self.seconds, seed=self.seed)
        # All fits of a candidate share its time.
        left = max(0.05 * self.seconds, self.seconds - (time.monotonic() - began))
        handle = model.start_fit(
            self.data, restarts=restarts, holdout=holdout, loss=self.loss, seed=self.seed, time_limit=0.6 * left
        )
        try:
            return handle.wait(left)
        except TimeoutError:
            handle.abort()
            # Calls heed the request within milliseconds; what is left is to score the best so far.
            try:
                return handle.wait(self.seconds)
            except TimeoutError:
                raise TimeoutError(f"the program takes longer than {self.seconds} seconds: make loops shorter") from None

    def _cross_validated(self, program: Program, began: float) -> float:
        error = 0.0
        for fold in range(1, self.folds + 1):
            fit = self._fit(program, f"fold:{fold}/{self.folds}", self.restarts, began)
            if fit.held_out is None:
                return -1.0
            error += float(fit.held_out["rmse"]) ** 2 * len(fit.held_out_rows)
        target = np.asarray(get_column(self.data, self.target), dtype=float)
        spread = float(np.sum((target - np.mean(target)) ** 2))
        return 1.0 - error / spread if spread > 0.0 and math.isfinite(error) else -1.0

    def _usable(
        self, program: Program, fit: Fit, unseen: float, began: float
    ) -> Tuple[Dict[str, float], Dict[str, str]]:
        size = len([word for word in program.text.replace("(", " ").replace(")", " ").split() if word])
        # Between 0 and 1, and still telling apart programs that are worse than the mean.
        quality = unseen if unseen > 0.5 else 0.5 / (1.5 - unseen)
        hard = is_hard_to_fit(fit)
        metrics = {
            "combined_score": max(WORST, quality - self.parsimony * size),
            "valid": 1.0,
            "converged": float(has_converged(fit)),
            "hard_to_fit": float(hard),
            "r2_held_out": unseen,
            "r2": float(fit.r2) if fit.r2 is not None else -1.0,
            "loss": fit.loss,
            "size": float(size),
            "seconds": time.monotonic() - began,
        }
        artifacts = {"fit": fit.summary(), "fitted_program": fit.program.text}
        if hard:
            best, starts = agreement(fit)
            artifacts["repair"] = (
                f"hard to fit, which is not the same as wrong: {best} of {starts} starts reached the best fit, and the "
                f"search {'converged' if has_converged(fit) else 'did not converge'}. Keep the structure, and write "
                "starts of the right size or fewer parameters."
            )
        return metrics, artifacts

    def _unusable(self, stage: str, message: str, began: float) -> Tuple[Dict[str, float], Dict[str, str]]:
        metrics = {
            "combined_score": WORST,
            "valid": 0.0,
            "converged": 0.0,
            "hard_to_fit": 0.0,
            "r2_held_out": -1.0,
            "r2": -1.0,
            "size": 0.0,
            "seconds": time.monotonic() - began,
        }
        return metrics, {"failed_at": stage, "repair": message}
