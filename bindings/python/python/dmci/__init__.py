"""Programs as differentiable data.

Write a model as a Scheme program; get its values, its gradients, and its parameters from data.

>>> import dmci
>>> dmci.run("(map (lambda (x) (* a x x)) (list 1 2 3))", a=0.5)
[0.5, 2.0, 4.5]
>>> dmci.Program("(params (a free 2.0) (b free 0.5)) (* a (exp (- b)))").grad().grad["a"]
0.6065306597126334
"""

from typing import TYPE_CHECKING, Any, List

from ._native import __version__

if TYPE_CHECKING:
    from ._compare import Compared, Comparison, Forecast, compare, forecast
    from ._errors import (
        DataError,
        Diagnostic,
        Error,
        FileError,
        FitError,
        InternalError,
        LimitError,
        ProgramSyntaxError,
        RunError,
        SettingError,
        Span,
    )
    from ._fit import Fit, FitHandle, Progress, fit
    from ._model import Model, Rows
    from ._objective import Objective
    from ._predict import Prediction, predict
    from ._program import Gradient, Interpreter, Outcome, Parameter, Program, Tape, check, load, run
    from ._sample import Samples
    from ._search import Found, Search, SearchProgress, search
    from ._values import Char, Dotted, Opaque, Symbol, Vector

# What is asked for is loaded then: importing the package costs next to nothing.
_WHERE = {
    "._compare": "Compared Comparison Forecast compare forecast",
    "._errors": "DataError Diagnostic Error FileError FitError InternalError LimitError ProgramSyntaxError RunError "
    "SettingError Span",
    "._fit": "Fit FitHandle Progress fit",
    "._model": "Model Rows",
    "._objective": "Objective",
    "._predict": "Prediction predict",
    "._program": "Gradient Interpreter Outcome Parameter Program Tape check load run",
    "._sample": "Samples",
    "._search": "Found Search SearchProgress search",
    "._values": "Char Dotted Opaque Symbol Vector",
}
_MODULES = {name: module for module, names in _WHERE.items() for name in names.split()}
_SUBMODULES = ("jax", "openevolve", "sklearn", "torch")


def __getattr__(name: str) -> Any:
    import importlib

    if name in _MODULES:
        found = getattr(importlib.import_module(_MODULES[name], __name__), name)
        globals()[name] = found
        return found
    if name in _SUBMODULES:
        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"module dmci has no attribute {name}")


def __dir__() -> List[str]:
    return [*__all__, *_SUBMODULES]


__all__ = [
    "Char",
    "Compared",
    "Comparison",
    "DataError",
    "Diagnostic",
    "Dotted",
    "Error",
    "FileError",
    "Fit",
    "FitError",
    "FitHandle",
    "Forecast",
    "Found",
    "Gradient",
    "InternalError",
    "Interpreter",
    "LimitError",
    "Model",
    "Objective",
    "Opaque",
    "Outcome",
    "Parameter",
    "Prediction",
    "Program",
    "ProgramSyntaxError",
    "Progress",
    "Rows",
    "RunError",
    "Samples",
    "Search",
    "SearchProgress",
    "SettingError",
    "Span",
    "Symbol",
    "Tape",
    "Vector",
    "__version__",
    "check",
    "compare",
    "fit",
    "forecast",
    "load",
    "predict",
    "run",
    "search",
]
