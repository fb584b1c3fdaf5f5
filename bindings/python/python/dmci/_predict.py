"""New rows from fits, with intervals."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _native
from ._errors import Diagnostic, diagnostics_of
from ._fit import Fit, table_of
from ._program import make_options

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Prediction:
    """What a fit predicts for new rows, NaN where there is nothing.

    Of one target, all arrays have a number for each row; of several, a row of numbers for each row.
    """

    #: The columns that are predicted.
    targets: List[str]
    value: Array
    #: Standard errors of the curve; ``None`` without intervals.
    error: Optional[Array]
    #: Lower and upper ends of where the curve lies.
    confidence: Optional[Tuple[Array, Array]]
    #: Lower and upper ends of where a new measurement lies.
    prediction: Optional[Tuple[Array, Array]]
    #: The probability of the intervals.
    level: float
    warnings: List[Diagnostic] = field(default_factory=list)


def predict(
    fit: Union[Fit, str, "os.PathLike[str]"],
    data: Any = None,
    *,
    at: Optional[str] = None,
    interval: Union[None, str, Sequence[str]] = None,
    level: Optional[float] = None,
    constants: Optional[Mapping[str, Any]] = None,
) -> Prediction:
    """Predicts new rows from a fit, or from the file of one, as ``dmci predict`` does.

    Rows are those of ``data``, or of ``at="x=0:10:101"``. ``interval`` is ``"confidence"``, ``"prediction"``, a list of
    both, or ``"none"``; by default both, as far as the fit has them. ``constants`` are values of names that the program
    leaves open.
    """
    if (data is None) == (at is None):
        raise TypeError("predict() takes data= or at=")
    values: Dict[str, Any] = {}
    if isinstance(fit, Fit):
        source = ("the fit", fit.to_json())
        model = fit.model
        values.update({name: x for name, x in model.constants.items() if name not in fit.data["parameters"]})
        options = make_options(model.mode, single=model.dtype == np.float32, **model._settings)
    else:
        path = os.fspath(fit)
        with open(path, encoding="utf-8") as file:
            source = (path, file.read())
        options = make_options()
    values.update(constants or {})
    given = {"interval": interval if interval is None or isinstance(interval, str) else list(interval)}
    settings = json.dumps({**given, "level": level, "at": at})
    columns = None if data is None else table_of(data)
    targets, known, warnings = _native.predict(source, columns, settings, values, options)

    def together(arrays: List[Array]) -> Array:
        return arrays[0] if len(arrays) == 1 else np.stack(arrays, axis=-1)

    def band(name: str) -> Optional[Tuple[Array, Array]]:
        found = [(low, high) for target in targets for own, low, high in target[3] if own == name]
        return (together([low for low, _ in found]), together([high for _, high in found])) if found else None

    errors = [target[2] for target in targets]
    return Prediction(
        targets=[target[0] for target in targets],
        value=together([target[1] for target in targets]),
        error=together(errors) if band("confidence") or band("prediction") else None,
        confidence=band("confidence"),
        prediction=band("prediction"),
        level=known,
        warnings=diagnostics_of(*warnings),
    )
