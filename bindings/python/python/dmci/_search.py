"""Searches: programs from data, without a formula to begin with."""

from __future__ import annotations

import html
import json
import math
import os
import sys
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _native
from ._fit import table_of
from ._program import Program, ProgramLike
from ._progress import shown

Path = Union[str, "os.PathLike[str]"]
Programs = Union[ProgramLike, Sequence[ProgramLike]]


@dataclass(frozen=True)
class SearchProgress:
    """Where a search is."""

    #: Since it began.
    seconds: float
    #: Of the best program, on rows outside of its fit; NaN before there is one.
    rmse: float
    #: Programs on the front.
    front: int
    #: Different programs that were fitted.
    hypotheses: int


Callback = Callable[[SearchProgress], Any]


@dataclass(frozen=True)
class Found:
    """A program that a search found, with its fitted numbers."""

    id: str
    #: With the fitted numbers as the starts of its parameters.
    program: Program
    #: The body with rounded numbers, for people.
    formula: str
    #: The complexity: operations and mentions of columns, parameters and numbers.
    nodes: int
    #: The description length in nats by which programs are ranked; less is better.
    score: float
    #: The root of the mean square on the rows that were fitted.
    fitted_rmse: float
    #: The root of the mean square on rows outside of each fit.
    rmse: Optional[float]
    #: The root of the mean square on the sealed rows: of the best program and of baselines.
    sealed_rmse: Optional[float]
    #: Whether fits from different starts disagree.
    hard_to_fit: bool

    @property
    def params(self) -> Dict[str, float]:
        """The fitted numbers by name."""
        return {p.name: float(p.start) for p in self.program.parameters}

    def predict(self, data: Any) -> npt.NDArray[Any]:
        """Predictions for rows of other data."""
        from ._model import Model

        return Model(self.program).value(None, data)

    def __str__(self) -> str:
        return self.formula


def _root(x: Optional[float]) -> Optional[float]:
    return None if x is None else math.sqrt(x)


def _found(entry: Mapping[str, Any]) -> Found:
    return Found(
        entry["id"],
        Program(entry["program"], entry["id"]),
        entry["formula"],
        entry["nodes"],
        math.inf if entry["score"] is None else entry["score"],
        math.inf if entry["fit"] is None else math.sqrt(entry["fit"]),
        _root(entry["validation"]),
        _root(entry.get("sealed")),
        entry["hard"],
    )


class Search:
    """What a search found.

    ``front`` has the best program of every size, the simplest first; ``best`` is the one with the shortest description.
    ``verdict`` says in words what was found, how sure that is, and what is not distinguishable from it; ``finding`` is
    one word for it: ``found``, ``linear``, ``no-structure`` or ``baseline``.
    """

    def __init__(self, native: Tuple[str, str, str, bool]) -> None:
        self._native = native
        self._text, self._summary, self.html, self.interrupted = native
        self.data: Dict[str, Any] = json.loads(self._text)
        self.front: List[Found] = [_found(entry) for entry in self.data["front"]]
        self.best: Found = _found(self.data["best"])
        self.baselines: List[Found] = [_found(entry) for entry in self.data["baselines"]]
        self.finding: str = self.data["verdict"]["finding"]
        self.verdict: str = self.data["verdict"]["text"]
        self.hypotheses: int = self.data["evaluations"]

    def summary(self) -> str:
        """The front, the best program beside the baselines, the funnel, and the verdict as a text."""
        return self._summary + ("interrupted: this is the best so far\n" if self.interrupted else "")

    def to_pandas(self) -> Any:
        """The front as a frame of pandas, a row for each program."""
        import pandas

        names = ("nodes", "rmse", "fitted_rmse", "score", "formula", "hard_to_fit")
        rows = [{**{name: getattr(found, name) for name in names}, "program": found.program.text} for found in self.front]
        return pandas.DataFrame(rows, columns=[*names, "program"])

    def to_json(self) -> str:
        """The versioned JSON form, the same as ``dmci search --json``."""
        return self._text

    def report(self, path: Path) -> None:
        """Writes a page about the search: one HTML file that needs nothing else."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)

    def predict(self, data: Any) -> npt.NDArray[Any]:
        """Predictions of the best program for rows of other data."""
        return self.best.predict(data)

    def __reduce__(self) -> Tuple[Any, ...]:
        return (Search, (self._native,))

    def __repr__(self) -> str:
        return f"<dmci.Search {self.finding}: {self.best.formula}; {len(self.front)} programs on the front>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{f.nodes}</td><td>{_short(f.fitted_rmse)}</td><td>{_short(f.rmse)}</td>"
            f"<td style='text-align:left'><code>{html.escape(f.formula)}</code></td></tr>"
            for f in self.front
        )
        head = "<tr><th>nodes</th><th>RMSE fitted</th><th>validated</th><th style='text-align:left'>program</th></tr>"
        return f"<p>{html.escape(self.verdict)}</p><table>{head}{rows}</table>"


def _short(x: Optional[float]) -> str:
    return "" if x is None else f"{x:.4g}"


def _programs(what: str, programs: Optional[Programs]) -> List[Tuple[str, str]]:
    if programs is None:
        return []
    if isinstance(programs, (str, Program)):
        programs = [programs]
    listed = [Program.of(program) for program in programs]
    named = [(p.name, p.text) for p in listed]
    # Names tell baselines apart.
    names = [name for name, _ in named]
    return [(n if names.count(n) == 1 else f"{what} {i + 1}", text) for i, (n, text) in enumerate(named)]


class _Meter:
    """A line on the terminal."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.width = 0

    def show(self, now: SearchProgress) -> None:
        rate = now.hypotheses / max(now.seconds, 1e-9)
        left = max(self.limit - now.seconds, 0.0)
        line = (
            f"best RMSE {now.rmse:.3e}  front {now.front}  {now.hypotheses} hypotheses, {rate:.0f}/s  {left:.0f} s left"
        )
        self.width = max(self.width, len(line))
        print("\r" + line.ljust(self.width), end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self.width:
            print("\r" + " " * self.width + "\r", end="", file=sys.stderr, flush=True)




def search(
    data: Any,
    target: Optional[str] = None,
    *,
    ode: Union[None, str, Sequence[str]] = None,
    time: Optional[str] = None,
    group: Optional[str] = None,
    inputs: Optional[Sequence[str]] = None,
    operations: Union[None, str, Sequence[str]] = None,
    time_limit: Optional[float] = None,
    evaluations: Optional[int] = None,
    threads: Optional[int] = None,
    seed: Optional[int] = None,
    size: Optional[int] = None,
    seed_programs: Optional[Programs] = None,
    baselines: Optional[Programs] = None,
    sealed: Union[None, str, Sequence[bool], npt.NDArray[Any]] = None,
    weights: Union[None, str, npt.ArrayLike] = None,
    sigma: Union[None, str, npt.ArrayLike] = None,
    missing: Optional[Sequence[str]] = None,
    units: Optional[Mapping[str, str]] = None,
    constants: Optional[str] = None,
    callback: Optional[Callback] = None,
    progress: Optional[bool] = None,
    **settings: Any,
) -> Search:
    """Searches for a program that predicts ``target`` from the other columns.

    ``data`` is a table (a dictionary of arrays, a frame of pandas or polars, xarray) or the path of one. A quarter of
    the rows is sealed until the end, or those that ``sealed`` marks; the rest is fitted and cross-validated. The search
    ends after ``time_limit`` seconds (60), or after ``evaluations`` fitted hypotheses: then the result depends on
    data, settings and seed alone. Ctrl-C ends it with the best so far. ``settings`` are those of ``dmci search``:
    ``proposer``, ``islands``, ``folds``, ``rolling``, ``controls``.

    With ``ode=["x", "y"]`` and ``time="t"`` in place of ``target``, the search finds the right-hand sides of the ordinary
    differential equations that these columns follow; ``group`` names the column of runs, if there are several initial
    conditions. The best program is an objective, for ``dmci.fit(program, data, objective=True, group=group)``.
    ``units`` gives columns units, such as ``{"x": "m", "t": "s"}``: a program whose dimensions cannot agree is never
    fitted. Numbers that a search adds take any unit, or, with ``constants="pure"``, none.

    ``callback`` is called with a :class:`SearchProgress` up to ten times a second; if it gives something true, the
    search ends. ``progress`` shows a line on the terminal.
    """
    if target is None and ode is None:
        raise TypeError("name the column to predict with target=, or the states of a system with ode=")
    columns: Optional[Dict[str, Any]] = None
    file: Optional[Tuple[str, bytes]] = None
    if isinstance(data, (str, os.PathLike)):
        with open(data, "rb") as table:
            file = (os.fspath(data), table.read())
    else:
        columns = table_of(data)
    request: Dict[str, Any] = dict(settings)
    for name, value in (("weights", weights), ("sigma", sigma), ("sealed", sealed)):
        if value is None or isinstance(value, str):
            request[name] = value
            continue
        if columns is None:
            raise TypeError(f"{name}= names a column if data are a file")
        columns[f"({name})"] = np.ascontiguousarray(value, dtype=np.float64)
        request[name] = f"column:({name})" if name == "sealed" else f"({name})"
    if operations is not None and not isinstance(operations, str):
        operations = " ".join(operations)
    states = [ode] if isinstance(ode, str) else None if ode is None else list(ode)
    request.update(target=target, ode=states, time=time, group=group, inputs=None if inputs is None else list(inputs), operations=operations)
    request.update(units=None if units is None else dict(units), constants=constants)
    request.update(time_limit=time_limit, evaluations=evaluations, threads=threads, seed=seed, size=size)
    request = {name: value for name, value in request.items() if value is not None}
    show = shown(progress)
    meter = _Meter(60.0 if time_limit is None else time_limit)

    def watch(now: Tuple[float, float, int, int]) -> Any:
        at = SearchProgress(*now)
        if show:
            meter.show(at)
        return callback(at) if callback is not None else False

    try:
        found = _native.search(
            json.dumps(request),
            columns=columns,
            file=file,
            missing=None if missing is None else list(missing),
            seeds=_programs("seed", seed_programs),
            baselines=_programs("baseline", baselines),
            callback=watch if show or callback is not None else None,
        )
    finally:
        meter.clear()
    return Search(found)
