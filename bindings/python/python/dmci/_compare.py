"""Several models of the same rows, and a model as a forecaster beside baselines."""

from __future__ import annotations

import html
import json
import os
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _native
from ._fit import Fit, _number, _plain, declared, table_of
from ._model import Model
from ._program import Program, load

#: A program, a model, a fit to start from, or a formula (a text with ``~``, or one that is no program).
Entrant = Union[str, Program, Model, Fit, "os.PathLike[str]"]
Given = Tuple[str, Optional[str], Optional[str], Optional[Tuple[str, str]]]


def _given(model: Entrant, name: Optional[str]) -> Given:
    if isinstance(model, Fit):
        own = name or model.model.program.name
        return own, declared(model.model).text, None, ("the fit", model.to_json())
    if isinstance(model, Model):
        return name or model.program.name, declared(model).text, None, None
    if isinstance(model, str) and "(params" not in model and not model.lstrip().startswith("("):
        return name or model, None, model, None
    program = load(model) if isinstance(model, os.PathLike) else Program.of(model)
    return name or program.name, program.text, None, None


def _names(model: Entrant) -> Dict[str, Any]:
    model = model.model if isinstance(model, Fit) else model
    return dict(model.constants) if isinstance(model, Model) else {}


def _settings(columns: Dict[str, Any], target: Union[None, str, Sequence[str]], settings: Mapping[str, Any]) -> Dict[str, Any]:
    request = {name: value for name, value in settings.items() if value is not None}
    if target is not None:
        request["target"] = target if isinstance(target, str) else list(target)
    for name in ("weights", "sigma", "trials"):
        extra = request.get(name)
        if extra is not None and not isinstance(extra, str):
            columns[f"({name})"] = np.ascontiguousarray(extra, dtype=np.float64)
            request[name] = f"({name})"
    if isinstance(request.get("missing"), (bool, np.bool_)):
        request["missing"] = ["nan"] if request["missing"] else []
    return {name: _plain(value) for name, value in request.items()}


@dataclass(frozen=True)
class Compared:
    """A model of a comparison."""

    name: str
    #: Numbers that were fitted.
    numbers: int
    rows: int
    loss: float
    rmse: float
    r2: Optional[float]
    #: How the fit ended.
    status: str
    #: ``aic``, ``aicc``, ``bic``, ``log_likelihood``, and the weights; empty without a likelihood.
    criteria: Dict[str, Any]
    #: The root of the mean squared error on rows that a fit had not seen, with ``cv`` or ``holdout``.
    unseen_rmse: Optional[float]
    #: How likely chance alone makes it differ so much from the model with the least such error.
    p: Optional[float]


def _compared(entry: Mapping[str, Any]) -> Compared:
    unseen = entry["unseen"] or {}
    difference = unseen.get("difference") or {}
    read = {name: _number(value) for name, value in entry.items()}
    criteria = {name: _number(value) for name, value in (entry["criteria"] or {}).items()}
    return Compared(
        read["name"], read["numbers"], read["rows"], read["loss"], read["rmse"], read["r2"], read["status"], criteria,
        _number(unseen.get("rmse")), _number(difference.get("p")),
    )


class Comparison:
    """Models of the same rows, the best first: ``models``, and a ``conclusion`` in words."""

    def __init__(self, native: Tuple[str, str]) -> None:
        self._native = native
        self._text, self._summary = native
        self.data: Dict[str, Any] = json.loads(self._text)
        self.models: List[Compared] = [_compared(entry) for entry in self.data["models"]]
        self.conclusion: str = self.data["conclusion"]

    @property
    def best(self) -> Compared:
        """The model with the lowest criterion."""
        return self.models[0]

    def summary(self) -> str:
        """The table and the conclusion as a text."""
        return self._summary

    def to_json(self) -> str:
        """The versioned JSON form, the same as ``dmci compare --json``."""
        return self._text

    def __reduce__(self) -> Tuple[Any, ...]:
        return (Comparison, (self._native,))

    def __repr__(self) -> str:
        return f"<dmci.Comparison: {', '.join(m.name for m in self.models)}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self._summary)}</pre>"


def compare(
    models: Union[Sequence[Entrant], Mapping[str, Entrant]],
    data: Any,
    target: Union[None, str, Sequence[str]] = None,
    *,
    cv: Union[None, int, str] = None,
    **settings: Any,
) -> Comparison:
    """Fits several models to the same rows and says which the data support, as ``dmci compare`` does.

    ``models`` are programs, models, fits (which start where they ended) or formulas; a dictionary names them. ``cv``
    predicts rows that a fit has not seen: a number of folds, ``"loo"``, ``"rolling:5"`` or ``"group:COLUMN"``. More
    settings are those of :meth:`dmci.Model.fit`, the same for all models.
    """
    pairs = list(models.items()) if isinstance(models, Mapping) else [(None, model) for model in models]
    if not pairs:
        raise ValueError("compare() takes at least one model")
    columns = table_of(data)
    constants: Dict[str, Any] = {}
    for _, model in pairs:
        constants.update(_names(model))
    given = [_given(model, name) for name, model in pairs]
    request = json.dumps(_settings(columns, target, settings))
    return Comparison(_native.compare(given, columns, request, constants, None if cv is None else str(cv)))


class Forecast:
    """Forecasts from several origins: ``scores`` of each forecaster, ``forecasts``, and a ``conclusion`` in words."""

    def __init__(self, native: Tuple[str, str, str, str]) -> None:
        self._native = native
        self._text, self._summary, self.csv, self.svg = native
        self.data: Dict[str, Any] = json.loads(self._text)
        self.scores: List[Dict[str, Any]] = self.data["scores"]
        self.forecasts: List[Dict[str, Any]] = self.data["forecasts"]
        self.conclusion: str = self.data["conclusion"]

    def rmse(self, forecaster: Optional[str] = None, horizon: Optional[float] = None) -> float:
        """The root of the mean squared error of a forecaster (of the model), at a horizon (over all of them)."""
        name = self.scores[0]["forecaster"] if forecaster is None else forecaster
        for score in self.scores:
            if score["forecaster"] == name and score["horizon"] == horizon:
                return float(_number(score["rmse"]))
        known = sorted({str(score["forecaster"]) for score in self.scores})
        raise KeyError(f"there is no score of {name} at {horizon}; the forecasters are {', '.join(known)}")

    def summary(self) -> str:
        """The table and the conclusion as a text."""
        return self._summary

    def to_json(self) -> str:
        """The versioned JSON form, the same as ``dmci forecast --json``."""
        return self._text

    def to_pandas(self) -> Any:
        """All forecasts with their intervals as a frame of pandas."""
        import io

        import pandas

        return pandas.read_csv(io.StringIO(self.csv))

    def __reduce__(self) -> Tuple[Any, ...]:
        return (Forecast, (self._native,))

    def __repr__(self) -> str:
        return f"<dmci.Forecast: {self.conclusion}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self._summary)}</pre>{self.svg}"


def forecast(
    model: Entrant,
    data: Any,
    target: Optional[str] = None,
    *,
    time: str,
    origins: str,
    horizons: Union[None, float, Sequence[float]] = None,
    group: Optional[str] = None,
    refit: Union[None, str, Sequence[str]] = None,
    baselines: Union[None, str, Sequence[str]] = None,
    levels: Union[None, float, Sequence[float]] = None,
    timeout: Optional[float] = None,
    **settings: Any,
) -> Forecast:
    """Forecasts from several origins and scores the forecasts beside baselines, as ``dmci forecast`` does.

    ``time`` is the column of times; ``origins`` says where forecasts start (``"20:80:5"`` of the times, or
    ``"week:8:40:3"`` of another column), ``horizons`` how far they go. ``refit`` names the parameters that are fitted
    at each origin, if not all. ``timeout`` is the time limit of an evaluation in seconds, which is called ``time``
    elsewhere. More settings are those of :meth:`dmci.Model.fit`.
    """
    columns = table_of(data)
    request = _settings(columns, target, {**settings, "time": timeout})
    if group is not None and request.get("objective"):
        request["group"] = group
    own = {"time": time, "origins": origins, "horizons": horizons, "group": group, "refit": refit}
    own.update(baselines=baselines, levels=levels)
    asked = {name: _plain(value) for name, value in own.items() if value is not None}
    given = _given(model, None)
    return Forecast(_native.forecast(given, columns, json.dumps(request), json.dumps(asked), _names(model)))
