"""scikit-learn estimators: a program that is fitted like any other regressor, and a search for one.

>>> from dmci.sklearn import ProgramRegressor
>>> model = ProgramRegressor("(params (a positive 1.0) (b free 0.0)) (+ b (* a (log (+ 1.0 x))))")

Columns of a frame bind names of the program. Columns of an array bind ``feature_names``, or the names that the program
needs, in alphabetical order; a program that needs the one name ``x`` gets it as a vector if there are several columns.

>>> from dmci.sklearn import ProgramSearch
>>> law = ProgramSearch(evaluations=5000)  # law.fit(X, y).formula_
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Union

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ._fit import Fit
from ._model import Model
from ._program import Program, ProgramLike
from ._search import Found, Programs, Search, search


class ProgramRegressor(RegressorMixin, BaseEstimator):
    """A program as a regressor. Without a program, a line: a constant and a weight for each column.

    ``params`` are starts by name, which grid search may vary; ``literals`` makes every real literal a parameter. Other
    arguments are those of :meth:`dmci.Model.fit`. After ``fit``, ``fit_`` is the :class:`dmci.Fit`.
    """

    def __init__(
        self,
        program: Optional[ProgramLike] = None,
        *,
        params: Optional[Dict[str, Any]] = None,
        feature_names: Optional[Sequence[str]] = None,
        literals: bool = False,
        loss: str = "mse",
        optimizer: str = "auto",
        restarts: int = 1,
        epochs: Optional[int] = None,
        seed: int = 0,
    ) -> None:
        self.program = program
        self.params = params
        self.feature_names = feature_names
        self.literals = literals
        self.loss = loss
        self.optimizer = optimizer
        self.restarts = restarts
        self.epochs = epochs
        self.seed = seed

    def _columns(self, X: Any, model: Model) -> Dict[str, Any]:
        if self.program is None:
            return {"x": np.ascontiguousarray(X)}
        if hasattr(self, "feature_names_in_"):
            named = dict(zip(self.feature_names_in_, X.T))
            if all(name in named for name in model.inputs):
                return {str(name): np.ascontiguousarray(column) for name, column in named.items()}
        names: List[str] = list(self.feature_names or model.inputs)
        if len(names) == X.shape[1]:
            return {name: np.ascontiguousarray(column) for name, column in zip(names, X.T)}
        if model.inputs == ["x"]:
            return {"x": np.ascontiguousarray(X)}
        raise ValueError(
            f"the program reads {', '.join(model.inputs) or 'no columns'}, but X has {X.shape[1]} columns; "
            f"give feature_names, or a frame with these columns"
        )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "ProgramRegressor":
        """Fits the program to the rows of ``X``."""
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64)
        y = np.asarray(y, dtype=np.float64)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            if not sample_weight.any():
                raise ValueError("Sample weights must contain at least one non-zero number.")
        if self.program is None:
            weights = " ".join(["0.0"] * X.shape[1])
            text = f"(params (b free 0.0) (w (vector {X.shape[1]}) ({weights}))) (+ b (dot w x))"
            program = Program(text)
        else:
            program = Program.of(self.program)
            program = program.parametrised() if self.literals else program
        declared = {p.name for p in program.parameters}
        starts = self.params or {}
        model = Model(program, params=None if declared else starts)
        self.model_ = model
        columns = self._columns(X, model)
        if model.inputs == ["x"] and columns["x"].ndim == 2:
            return self._fit_vectors(columns["x"], y, sample_weight)
        settings: Dict[str, Any] = {"restarts": self.restarts, "seed": self.seed}
        if self.epochs is not None:
            settings["epochs"] = self.epochs
        if sample_weight is not None:
            settings["weights"] = np.asarray(sample_weight, dtype=np.float64)
        start = {name: value for name, value in starts.items() if name in declared}
        data = {**columns, "(target)": y}
        self.fit_: Fit = model.fit(data, "(target)", self.optimizer, loss=self.loss, start=start, progress=False, **settings)
        self.theta_ = self.fit_.theta
        return self

    def _fit_vectors(self, x: Any, y: Any, sample_weight: Any) -> "ProgramRegressor":
        """Rows that are vectors: Levenberg-Marquardt over the model itself."""
        rows = self.model_.bind({"x": x})
        weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        theta, damping = self.model_.flat(self.params or {}), 1e-3
        values, slopes = self.model_.value_and_grad(theta, rows, errors="nan")
        loss = float(np.sum(weights * (values - y) ** 2))
        for _ in range(self.epochs or 200):
            residuals = values - y
            normal = (slopes * weights[:, None]).T @ slopes
            scale = np.diag(normal).copy()
            scale[scale <= 0.0] = 1.0
            step = np.linalg.lstsq(normal + damping * np.diag(scale), slopes.T @ (weights * residuals), rcond=None)[0]
            new = theta - step
            new_values, new_slopes = self.model_.value_and_grad(new, rows, errors="nan")
            new_loss = float(np.sum(weights * (new_values - y) ** 2))
            if not new_loss <= loss:
                damping *= 10.0
                if damping > 1e12:
                    break
                continue
            done = loss - new_loss <= 1e-14 * loss
            theta, values, slopes, loss, damping = new, new_values, new_slopes, new_loss, damping / 10.0
            if done:
                break
        self.theta_ = theta
        return self

    def predict(self, X: Any) -> Any:
        """Predictions for rows."""
        check_is_fitted(self, "theta_")
        X = validate_data(self, X, reset=False, dtype=np.float64)
        data = self._columns(X, self.model_)
        if getattr(self, "fit_", None) is not None:
            return self.fit_.predict(data)
        return self.model_.value(self.theta_, data)

    @property
    def params_(self) -> Dict[str, Any]:
        """The fitted parameters by name."""
        check_is_fitted(self, "theta_")
        return self.model_.named(self.theta_)


class ProgramSearch(RegressorMixin, BaseEstimator):
    """A search for a program as a regressor: the law that it finds predicts.

    ``evaluations`` limits the hypotheses that are fitted: the result then depends on data, settings and ``seed`` alone;
    ``time_limit`` (seconds) does not promise that. Other arguments are those of :func:`dmci.search`. After ``fit``,
    ``search_`` is the :class:`dmci.Search`, ``best_`` the program with the shortest description and ``formula_`` its
    text. Columns of a frame keep their names; those of an array are ``x0``, ``x1``, ...
    """

    def __init__(
        self,
        *,
        evaluations: Optional[int] = 20000,
        time_limit: Optional[float] = None,
        operations: Union[None, str, Sequence[str]] = None,
        size: Optional[int] = None,
        seed_programs: Optional[Programs] = None,
        threads: Optional[int] = None,
        seed: int = 0,
    ) -> None:
        self.evaluations = evaluations
        self.time_limit = time_limit
        self.operations = operations
        self.size = size
        self.seed_programs = seed_programs
        self.threads = threads
        self.seed = seed

    def _columns(self, X: Any) -> Dict[str, Any]:
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{i}" for i in range(X.shape[1])]
        return {str(name): np.ascontiguousarray(column) for name, column in zip(names, X.T)}

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "ProgramSearch":
        """Searches for a program that predicts ``y`` from the columns of ``X``."""
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64, ensure_min_samples=2)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        columns = self._columns(X)
        target = "y"
        while target in columns:
            target += "_"
        self.search_: Search = search(
            {**columns, target: np.asarray(y, dtype=np.float64)},
            target,
            evaluations=self.evaluations,
            time_limit=self.time_limit,
            operations=self.operations,
            size=self.size,
            seed_programs=self.seed_programs,
            threads=self.threads,
            seed=self.seed,
            weights=sample_weight,
            progress=False,
        )
        self.best_: Found = self.search_.best
        self.formula_: str = self.best_.formula
        return self

    def predict(self, X: Any) -> Any:
        """Predictions of the program that was found."""
        check_is_fitted(self, "best_")
        X = validate_data(self, X, reset=False, dtype=np.float64)
        values = np.asarray(self.best_.predict(self._columns(X)), dtype=np.float64)
        # A law without inputs is one number.
        return np.broadcast_to(values, (X.shape[0],)).copy()
