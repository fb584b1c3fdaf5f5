"""Fits: parameters from data, with errors, in the foreground or in the background."""

from __future__ import annotations

import html
import json
import os
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _native
from ._data import as_column, column_names, get_column, repeated
from ._errors import Diagnostic, Error, diagnostics_of
from ._program import Program, load
from ._progress import shown

if TYPE_CHECKING:
    from ._model import Model

Array = npt.NDArray[Any]
#: A column, columns with commas between them, or a list of columns.
Target = Union[None, str, Sequence[str]]


@dataclass(frozen=True)
class Progress:
    """Where a fit is."""

    epoch: int
    epochs: int
    loss: float
    running: int
    restarts: int
    evaluations: int
    optimizer: str


Callback = Callable[[Progress], Any]


def table_of(data: Any) -> Dict[str, Any]:
    """All columns of a table, as the engine takes them."""
    columns: Dict[str, Any] = {}
    counts: Dict[str, Optional[int]] = {}
    for name in column_names(data):
        columns[name], counts[name] = as_column(get_column(data, name))
    rows = {name: count for name, count in counts.items() if count is not None}
    if not rows:
        raise ValueError("the data have no rows")
    if len(set(rows.values())) > 1:
        raise ValueError(f"columns differ in length: {', '.join(f'{n} has {r} rows' for n, r in rows.items())}")
    length = next(iter(rows.values()))
    return {name: repeated(value, length) if counts[name] is None else value for name, value in columns.items()}


@dataclass(frozen=True)
class Number:
    """One fitted number."""

    name: str
    start: float
    value: float
    error: Optional[float]
    interval: Optional[Tuple[float, float]]
    identifiable: Optional[str]
    fixed: bool


def _number(x: Any) -> Any:
    """A number of the JSON form, where those that are not finite are words."""
    if isinstance(x, dict):
        return float(x["real"]) if "real" in x else x
    return x


#: What compares models, as it is printed.
_CRITERIA = (("AIC", "aic"), ("AICc", "aicc"), ("BIC", "bic"))


class Fit:
    """What a fit found.

    ``params`` and ``errors`` are dictionaries from names to numbers (``w.0`` for numbers of vectors, ``k[site]`` for
    numbers of groups); ``theta`` is the array that the model takes.
    """

    def __init__(self, model: "Model", native: Tuple[Any, ...], target: Optional[str]) -> None:
        text, self.svg, predictions, rows, program, self.interrupted, warnings, self.series, _ = native
        self.model = model
        self.target = target
        self._text: str = text
        self._native = native
        self.data: Dict[str, Any] = json.loads(text)
        self.predictions, self.held_out_predictions = predictions
        #: The rows that were fitted, and those that were held out.
        self.rows, self.held_out_rows = rows
        #: The program with the fitted values as its starts.
        self.program = Program(program, model.program.name)
        self.warnings: List[Diagnostic] = diagnostics_of(*warnings)
        self.numbers: List[Number] = []
        self._by_parameter: Dict[str, List[float]] = {}
        for name, entry in self.data["parameters"].items():
            own = [_read_number(one, bool(entry["fixed"])) for one in entry.get("numbers", [{"name": name, **entry}])]
            self._by_parameter[name] = [n.value for n in own]
            self.numbers += own

    @property
    def params(self) -> Dict[str, float]:
        """The fitted numbers by name."""
        return {n.name: n.value for n in self.numbers}

    @property
    def errors(self) -> Dict[str, Optional[float]]:
        """Their standard errors; ``None`` where the data do not determine a number."""
        return {n.name: n.error for n in self.numbers if not n.fixed}

    @property
    def intervals(self) -> Dict[str, Optional[Tuple[float, float]]]:
        """Where they lie with a probability of 95 %."""
        return {n.name: n.interval for n in self.numbers if not n.fixed}

    @property
    def theta(self) -> npt.NDArray[np.float64]:
        """The parameters as the model takes them; of a parameter that differs by group, its first group."""
        return self._theta(0)

    def _theta(self, group: int) -> npt.NDArray[np.float64]:
        values: Dict[str, Any] = {}
        for p in self.model.parameters:
            found, count = self._by_parameter[p.name], np.size(p.start)
            # What all groups share is there once, also if it could differ.
            if len(found) > count:
                found = found[group * count : (group + 1) * count]
            values[p.name] = np.reshape(found, np.shape(p.start))
        return self.model.flat(values)

    @property
    def loss(self) -> float:
        """The loss of the fitted rows."""
        return float(_number(self.data["loss"]["value"]))

    @property
    def start_loss(self) -> float:
        """The loss at the start."""
        return float(_number(self.data["loss"]["start"]))

    @property
    def r2(self) -> Optional[float]:
        """The share of the variance that is explained."""
        found = self.data["r2"]
        return None if found is None else float(_number(found))

    @property
    def rmse(self) -> float:
        """The root of the mean squared residual."""
        return float(_number(self.data["rmse"]))

    @property
    def conclusion(self) -> str:
        """What was found, how good it is, and what to do next."""
        return str(self.data.get("conclusion", ""))

    @property
    def criteria(self) -> Dict[str, Optional[float]]:
        """``aic``, ``aicc``, ``bic`` and ``log_likelihood``; empty if the loss is no likelihood and no sum of squares."""
        found = self.data["criteria"] or {}
        return {name: None if value is None else float(_number(value)) for name, value in found.items()}

    @property
    def aic(self) -> Optional[float]:
        """Akaike's criterion."""
        return self.criteria.get("aic")

    @property
    def aicc(self) -> Optional[float]:
        """Akaike's criterion, corrected for few rows."""
        return self.criteria.get("aicc")

    @property
    def bic(self) -> Optional[float]:
        """Schwarz' criterion."""
        return self.criteria.get("bic")

    @property
    def chi_square(self) -> Optional[Dict[str, float]]:
        """``value``, ``freedom`` and ``reduced`` chi-square, if the standard deviations of the target are known."""
        found = self.data["chi_square"]
        return None if found is None else {name: float(_number(value)) for name, value in found.items()}

    @property
    def uncertain(self) -> List[str]:
        """The names of the numbers of :attr:`covariance` and :attr:`correlations`, in order."""
        return list((self.data["uncertainty"] or {}).get("names", []))

    @property
    def correlations(self) -> Optional[npt.NDArray[np.float64]]:
        """How the errors of the numbers go together; ``None`` without errors."""
        found = (self.data["uncertainty"] or {}).get("correlations")
        return np.array([[_number(x) for x in row] for row in found], dtype=np.float64) if found else None

    @property
    def covariance(self) -> Optional[npt.NDArray[np.float64]]:
        """The covariance of the numbers; NaN where the data do not determine one, ``None`` without errors."""
        correlations = self.correlations
        if correlations is None:
            return None
        known = self.errors
        errors = np.array([np.nan if known.get(name) is None else known[name] for name in self.uncertain], dtype=np.float64)
        return correlations * np.outer(errors, errors)

    @property
    def held_out(self) -> Optional[Dict[str, Any]]:
        """Loss, RMSE and R2 of the rows that were held out."""
        found = self.data["held_out"]
        return None if found is None else {key: _number(value) for key, value in found.items()}

    @property
    def optimizer(self) -> str:
        """The optimiser that found it."""
        return str(self.data["optimizer"]["name"])

    @property
    def evaluations(self) -> int:
        """Points evaluated."""
        return int(self.data["evaluations"])

    @property
    def stopped(self) -> str:
        """Why the best search stopped."""
        return str(self.data["stopped"])

    def predict(
        self,
        data: Any,
        errors: str = "raise",
        interval: Union[None, str, List[str]] = None,
        level: Optional[float] = None,
    ) -> Any:
        """Predictions for rows of other data, as an array.

        With ``interval`` (``"confidence"``, ``"prediction"`` or a list of both) the result is a `Prediction`, which has
        intervals of probability ``level`` besides.
        """
        if interval is not None or level is not None:
            from ._predict import predict

            return predict(self, data, interval=interval, level=level)
        groups = self.data["data"]["groups"]
        per = [p.per for p in self.model.parameters if p.per is not None]
        if not groups or not per:
            return self.model.value(self.theta, data, errors=errors)
        # Text as a table of numbers writes it.
        of_row = [str(v) for v in np.asarray(get_column(data, per[0])).tolist()]
        unknown = [g for g in of_row if g not in groups]
        if unknown:
            raise KeyError(f"{unknown[0]} is no group of the fit; there are {', '.join(groups)}")
        sets = np.array([self._theta(g) for g in range(len(groups))])
        return self.model.value(sets[[groups.index(g) for g in of_row]], data, paired=True, errors=errors)

    def summary(self) -> str:
        """Parameters, errors and scores as a text."""
        rows = [("parameter", "start", "fitted", "error", "95% interval", "")]
        for n in self.numbers:
            interval = "" if n.interval is None else f"{_short(n.interval[0])} to {_short(n.interval[1])}"
            note = "fixed" if n.fixed else {"weakly": "weakly identifiable", "not": "not identifiable"}.get(
                n.identifiable or "", ""
            )
            rows.append((n.name, _short(n.start), _short(n.value), _short(n.error), interval, note))
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        r2 = "" if self.r2 is None else f", R2 {_short(self.r2)}"
        lines += ["", f"loss {_short(self.loss)} (at the start {_short(self.start_loss)}){r2}, {len(self.rows)} rows"]
        if self.held_out is not None:
            lines.append(f"held out: loss {_short(self.held_out['loss'])}, {len(self.held_out_rows)} rows")
        lines.append(f"{self.optimizer}: {self.data['optimizer']['why']}; {self.stopped}, {self.evaluations} points")
        if self.criteria:
            lines.append(", ".join(f"{name} {_short(self.criteria[key])}" for name, key in _CRITERIA if self.criteria[key] is not None))
        if self.conclusion:
            lines.append(f"conclusion: {self.conclusion}")
        if self.interrupted:
            lines.append("interrupted: this is the best so far")
        return "\n".join(lines)

    def plot(self, ax: Any = None, log: str = "") -> Any:
        """Data and fitted values with matplotlib; the axes are the result.

        ``log`` names logarithmic axes: ``"x"``, ``"y"`` or ``"xy"``. Without matplotlib, ``fit.svg`` is a picture that
        needs nothing; ``residuals="residuals.svg"`` in the call of ``fit`` writes pictures of residuals.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError("plot() needs matplotlib; fit.svg is a picture that needs nothing") from error
        if ax is None:
            _, ax = plt.subplots()
        column = self._plotted
        if column is None:
            raise ValueError("there is no target to plot against")
        x_name, x, y = column
        order = np.argsort(x[self.rows])
        rows = np.asarray(self.rows)
        ax.plot(x[rows], y[rows], "o", ms=4, label="data")
        ax.plot(x[rows][order], self.predictions[: len(rows)][order], "-", label="fit")
        if len(self.held_out_rows):
            held = np.asarray(self.held_out_rows)
            ax.plot(x[held], y[held], "s", ms=4, mfc="none", label="held out")
        ax.set_xlabel(x_name)
        ax.set_ylabel(self.target or "")
        if "x" in log:
            ax.set_xscale("log")
        if "y" in log:
            ax.set_yscale("log")
        ax.legend()
        return ax

    _plotted: Optional[Tuple[str, Array, Array]] = None

    def to_json(self) -> str:
        """The versioned JSON form, the same as ``dmci fit --json``."""
        return self._text

    def __getitem__(self, name: str) -> float:
        return self.params[name]

    def __reduce__(self) -> Tuple[Any, ...]:
        return (_fit, (self.model, self._native, self.target, self._plotted))

    def __repr__(self) -> str:
        return f"<dmci.Fit {', '.join(f'{n.name}={_short(n.value)}' for n in self.numbers)}; loss {_short(self.loss)}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.summary())}</pre>{self.svg}"


def _fit(model: "Model", native: Tuple[Any, ...], target: Optional[str], plotted: Any) -> Fit:
    fit = Fit(model, native, target)
    fit._plotted = plotted
    return fit


def _read_number(entry: Mapping[str, Any], fixed: bool) -> Number:
    interval = entry.get("interval")
    error = entry.get("error")
    return Number(
        entry["name"],
        _number(entry["start"]),
        _number(entry["value"]),
        None if error is None else _number(error),
        None if interval is None else (_number(interval[0]), _number(interval[1])),
        entry.get("identifiable"),
        fixed,
    )


def _short(x: Optional[float]) -> str:
    return "" if x is None else f"{x:.6g}"


class FitHandle:
    """A fit in the background."""

    def __init__(self, model: "Model", native: _native.Fitting, target: Optional[str], plotted: Any) -> None:
        self.model = model
        self._native = native
        self._target = target
        self._plotted = plotted
        self._fit: Optional[Fit] = None
        self._aborted = False

    def wait(self, timeout: Optional[float] = None) -> Fit:
        """The result, as soon as there is one; ``TimeoutError`` if it takes longer than so many seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._native.wait(0.2 if deadline is None else min(0.2, max(deadline - time.monotonic(), 0.0))):
            self._insist()
            if deadline is not None and time.monotonic() >= deadline:
                raise TimeoutError(f"the fit has not ended after {timeout} seconds")
        if self._fit is None:
            native = self._native.result()
            for path, data in native[-1]:
                with open(path, "wb") as file:
                    file.write(data)
            self._fit = _fit(self.model, (*native[:-1], []), self._target, self._plotted)
        return self._fit

    def inspect(self) -> Optional[Progress]:
        """Where the fit is; ``None`` before its first round."""
        now = self._native.inspect()
        return None if now is None else Progress(*now)

    def abort(self) -> None:
        """Ends it with the best so far, which :meth:`wait` then gives."""
        self._aborted = True
        self._native.abort()

    def _insist(self) -> None:
        """Asks once more if there was no round yet: then the start is evaluated, which may take forever too."""
        if self._aborted and self._native.inspect() is None:
            self._native.abort()

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self._native.done()


class _Meter:
    """A line on the terminal, or nothing."""

    def __init__(self, show: bool) -> None:
        self.show = show
        self.began = time.monotonic()
        self.width = 0

    def update(self, now: Optional[Progress]) -> None:
        if not self.show or now is None:
            return
        share = min(now.epoch / now.epochs, 1.0) if now.epochs else 0.0
        bar = "#" * int(20 * share)
        seconds = time.monotonic() - self.began
        line = f"{now.optimizer} [{bar:<20}] {now.epoch}/{now.epochs} loss {now.loss:.6g} {seconds:.0f} s"
        self.width = max(self.width, len(line))
        print("\r" + line.ljust(self.width), end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self.show and self.width:
            print("\r" + " " * self.width + "\r", end="", file=sys.stderr, flush=True)

    def keep(self, last: Optional[Progress]) -> None:
        """Who asked for progress sees where a fit ended that was over before the first look at it, too."""
        self.update(last)
        if self.show and self.width:
            print(file=sys.stderr, flush=True)


def start_fit(
    model: "Model", data: Any, target: Target, callback: Optional[Callback], settings: Dict[str, Any]
) -> FitHandle:
    """Starts a fit of a model."""
    columns = table_of(data)
    target = target if target is None or isinstance(target, str) else list(target)
    first = target if target is None or isinstance(target, str) else target[0]
    name = str(settings.pop("data_name", "the data"))
    for own, what in (("program", "the model"), ("text", "the model"), ("data", "the data")):
        if own in settings:
            raise TypeError(f"{own}= is given by {what} already; dmci.fit takes whole requests")
    request, starts = request_of(model, columns, target, settings)
    program = declared(model)
    native = _native.start_fit(
        (program.name, program.text),
        columns,
        json.dumps(request),
        starts,
        data_name=name,
        evaluator=_evaluator(request),
        start_from=_text_of(request.get("start_from")),
        callback=_called(callback),
    )
    return FitHandle(model, native, first, _plotted(model, columns, first))


#: What a model calls settings of a run by another name than a request does.
RUN_NAMES = {"output": "output_limit", "single": "f32"}


def request_of(
    model: "Model", columns: Dict[str, Any], target: Target, settings: Dict[str, Any]
) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """The request of a model's settings and those of a fit, as JSON takes it, and the values for names.

    Arrays of weights and the like become columns.
    """
    request: Dict[str, Any] = {"mode": model.mode, "f32": model.dtype == np.float32}
    request.update({RUN_NAMES.get(name, name): value for name, value in model._settings.items()})
    request.update({name: value for name, value in settings.items() if value is not None})
    for name in ("weights", "sigma", "trials"):
        extra = request.get(name)
        if extra is not None and not isinstance(extra, str):
            columns[f"({name})"] = np.ascontiguousarray(extra, dtype=np.float64)
            request[name] = f"({name})"
    if isinstance(request.get("missing"), (bool, np.bool_)):
        # In columns of numbers there is one word for a missing value.
        request["missing"] = ["nan"] if request["missing"] else []
    if target is not None:
        request["target"] = target
    # What the program declares and the model does not fit stays where it starts.
    if request.get("only") is None and any(p.name not in model.params for p in model.program.parameters):
        request["only"] = model.params
    starts = dict(model.constants)
    starts.update({p.name: p.start for p in model.parameters})
    if request.get("start_from") is not None:
        # What is set counts more than what another fit found.
        starts = dict(model.constants)
    starts.update(request.pop("set", None) or {})
    starts.update(request.pop("start", None) or {})
    return {name: _plain(value) for name, value in request.items()}, starts


def _plain(value: Any) -> Any:
    """A setting as JSON takes it."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return list(value) if isinstance(value, tuple) else value


def _text_of(path: Optional[str]) -> Optional[Tuple[str, str]]:
    """A file's name and its text."""
    if path is None:
        return None
    with open(path, encoding="utf-8") as file:
        return path, file.read()


def _evaluator(request: Mapping[str, Any]) -> Optional[Tuple[str, str]]:
    """The evaluator that the mode names."""
    mode = str(request.get("mode", ""))
    return _text_of(mode[len("eval:") :]) if mode.startswith("eval:") else None


def _called(callback: Optional[Callback]) -> Optional[Callable[[Tuple[Any, ...]], Any]]:
    """The callback as the engine calls it."""
    if callback is None:
        return None
    asked = callback

    def call(now: Tuple[Any, ...]) -> Any:
        return asked(Progress(*now))

    return call


def fit(
    request: Union[str, "os.PathLike[str]", Mapping[str, Any]],
    *,
    callback: Optional[Callback] = None,
    progress: Optional[bool] = None,
    **settings: Any,
) -> Fit:
    """Runs a request for a fit, as ``dmci fit --request`` does.

    It is a file in JSON or TOML, whose paths start at its folder, or a mapping; ``settings`` count more than what it
    says. ``dmci fit --print-schema`` shows all of them.
    """
    if isinstance(request, Mapping):
        text, name, folder = json.dumps({k: _plain(v) for k, v in request.items()}), "request.json", ""
    else:
        name = os.fspath(request)
        folder = os.path.dirname(name)
        with open(name, encoding="utf-8") as file:
            text = file.read()
    found: Dict[str, Any] = json.loads(_native.read_request(name, text, folder))
    found.update({k: _plain(v) for k, v in settings.items() if v is not None})
    text = json.dumps(found)
    if "program" in found:
        program = load(found["program"])
    else:
        program = Program(found.get("text", ""))
    data = b""
    if "data" in found:
        with open(found["data"], "rb") as table:
            data = table.read()
    native = _native.start_request(
        (program.name, program.text),
        data,
        text,
        evaluator=_evaluator(found),
        start_from=_text_of(found.get("start_from")),
        callback=_called(callback),
    )
    from ._model import Model

    if "formula" in found:
        name, text = native.program()
        program = Program(text, name)
    model = Model(program.parametrised() if found.get("params") == "literals" else program)
    targets = found.get("target") or [None]
    return finish(FitHandle(model, native, targets if isinstance(targets, str) else targets[0], None), progress)


def declared(model: "Model") -> Program:
    """The program with a schema for the parameters of the model, if it has none."""
    known = {p.name for p in model.program.parameters}
    more = [p for p in model.parameters if p.name not in known]
    if not more:
        return model.program
    entries = []
    for p in more:
        shape = np.shape(p.start)
        if not shape:
            entries.append(f"({p.name} free {float(p.start)!r})")
            continue
        numbers = " ".join(repr(float(x)) for x in np.ravel(p.start))
        word = "vector" if len(shape) == 1 else "matrix"
        entries.append(f"({p.name} ({word} {' '.join(map(str, shape))}) ({numbers}))")
    # On the first line, so that lines of errors stay those of the user's text.
    return Program(f"(params {' '.join(entries)}) {model.program.text}", model.program.name)


def _plotted(model: "Model", columns: Dict[str, Any], target: Optional[str]) -> Optional[Tuple[str, Array, Array]]:
    """The first input that is a column of numbers, and the target."""
    if target is None or target not in columns:
        return None
    for name in model.inputs:
        x = columns.get(name)
        if isinstance(x, np.ndarray) and x.ndim == 1:
            return (name, x.astype(np.float64), np.asarray(columns[target], dtype=np.float64))
    return None


def finish(handle: FitHandle, progress: Optional[bool]) -> Fit:
    """Waits for a fit; Ctrl-C ends it with the best so far."""
    show = shown(progress)
    meter = _Meter(show)
    try:
        while not handle._native.wait(0.1 if show else None):
            meter.update(handle.inspect())
    except KeyboardInterrupt as interrupt:
        handle.abort()
        meter.clear()
        try:
            return handle.wait()
        except Error as error:
            if error.code == "E0409":
                raise interrupt from error
            raise
    if progress:
        meter.keep(handle.inspect())
    else:
        meter.clear()
    return handle.wait()
