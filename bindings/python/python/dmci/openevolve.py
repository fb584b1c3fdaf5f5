"""An evaluator for OpenEvolve: candidate programs in Scheme in, metrics and repair hints out.

``evaluator.py`` of a search needs three lines::

    from dmci.openevolve import Evaluator
    evaluator = Evaluator("data.csv", target="y")
    evaluate = evaluator

Each candidate is checked, fitted to the training rows within limits of steps and time, and scored on rows that the fit
has not seen. A candidate that is wrong, fails or does not end is an ordinary result with a hint of what to repair. The
class needs nothing of OpenEvolve itself, and any other search loop can call it.
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


class Evaluator:
    """Scores candidate programs by how well they fit data.

    ``data`` is a table, or the path of a CSV file. ``holdout`` is the share of rows (the last ones with ``"tail:0.3"``) by
    which candidates are scored. ``fuel`` and ``seconds`` bound what a candidate may use. Real literals of a candidate
    without ``(params ...)`` are fitted too. ``parsimony`` is taken off the score for every symbol and number.
    """

    def __init__(
        self,
        data: Any,
        target: str,
        *,
        holdout: Union[float, str] = 0.3,
        fuel: int = 2_000_000,
        seconds: float = 10.0,
        restarts: int = 3,
        loss: str = "mse",
        parsimony: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.data = read_csv(data) if isinstance(data, (str, os.PathLike)) else data
        self.target = target
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
            fit = self._fit(program)
        except ProgramSyntaxError as error:
            return self._unusable("check", str(error), began)
        except Error as error:
            return self._unusable("run", str(error), began)
        except TimeoutError as error:
            return self._unusable("time", str(error), began)
        return self._usable(program, fit, began)

    def _wrong(self, program: Program) -> Optional[str]:
        found = check(program, *self.inputs, *[p.name for p in program.parameters])
        errors = [d for d in found if d.severity == "error"]
        if errors:
            return "\n".join(d.rendered for d in errors[:5])
        if not any(name in self.inputs for name in program.inputs):
            return f"the program reads none of the columns {', '.join(self.inputs)}: use them as variables"
        return None

    def _fit(self, program: Program) -> Fit:
        model = Model(program, target=self.target, fuel=self.fuel, time=self.seconds, seed=self.seed)
        handle = model.start_fit(
            self.data,
            restarts=self.restarts,
            holdout=self.holdout,
            loss=self.loss,
            seed=self.seed,
            time_limit=0.6 * self.seconds,
        )
        try:
            return handle.wait(self.seconds)
        except TimeoutError:
            handle.abort()
            # Calls heed the request within milliseconds; what is left is to score the best so far.
            try:
                return handle.wait(self.seconds)
            except TimeoutError:
                raise TimeoutError(f"the program takes longer than {self.seconds} seconds: make loops shorter") from None

    def _usable(self, program: Program, fit: Fit, began: float) -> Tuple[Dict[str, float], Dict[str, str]]:
        held = fit.held_out or {}
        r2 = held.get("r2")
        unseen = float(r2) if r2 is not None and math.isfinite(float(r2)) else -1.0
        size = len([word for word in program.text.replace("(", " ").replace(")", " ").split() if word])
        # Between 0 and 1, and still telling apart programs that are worse than the mean.
        quality = unseen if unseen > 0.5 else 0.5 / (1.5 - unseen) if math.isfinite(unseen) else WORST
        metrics = {
            "combined_score": max(WORST, quality - self.parsimony * size),
            "valid": 1.0,
            "r2_held_out": unseen,
            "r2": float(fit.r2) if fit.r2 is not None else -1.0,
            "loss": fit.loss,
            "size": float(size),
            "seconds": time.monotonic() - began,
        }
        return metrics, {"fit": fit.summary(), "fitted_program": fit.program.text}

    def _unusable(self, stage: str, message: str, began: float) -> Tuple[Dict[str, float], Dict[str, str]]:
        metrics = {
            "combined_score": WORST,
            "valid": 0.0,
            "r2_held_out": -1.0,
            "r2": -1.0,
            "size": 0.0,
            "seconds": time.monotonic() - began,
        }
        return metrics, {"failed_at": stage, "repair": message}
