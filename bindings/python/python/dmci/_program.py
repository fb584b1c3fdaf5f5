"""Programs as data: run them, check them, differentiate them, and make new ones of them."""

from __future__ import annotations

import functools
import html
import json
import os
import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _native
from ._errors import Diagnostic, diagnostic, diagnostics_of

ProgramLike = Union[str, "Program"]


def make_options(mode: str = "dmci", **settings: Any) -> _native.Options:
    """Options of a run; ``mode="eval:FILE"`` reads an evaluator of the user's own."""
    if mode.startswith("eval:"):
        path = mode[len("eval:") :]
        with open(path, encoding="utf-8") as file:
            return _native.Options("dmci", evaluator=(path, file.read()), **settings)
    return _known_options(mode, **settings)


@functools.lru_cache(maxsize=256)
def _known_options(mode: str, **settings: Any) -> _native.Options:
    return _native.Options(mode, **settings)


@dataclass(frozen=True)
class Parameter:
    """A parameter that a program declares."""

    name: str
    kind: str
    start: Any
    shape: Tuple[int, ...] = ()
    fixed: bool = False
    per: Optional[str] = None

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return int(np.prod(self.shape)) if self.shape else 1

    def bounds(self) -> Tuple[Optional[float], Optional[float]]:
        """The numbers between which its values lie; ``None`` where there is no bound."""
        word = re.sub(r"^\((?:vector|matrix)(?: \d+)+ ?(.*)\)$", r"\1", self.kind)
        if found := re.match(r"\((?:bounded|log) (\S+) (\S+)\)", word):
            return (float(found[1]), float(found[2]))
        known: Dict[str, Tuple[Optional[float], Optional[float]]] = {
            "positive": (0.0, None),
            "unit": (0.0, 1.0),
            "signed-unit": (-1.0, 1.0),
        }
        return known.get(word, (None, None))


@dataclass(frozen=True)
class Gradient:
    """A value with its derivatives."""

    value: float
    #: By each parameter, in its shape.
    grad: Dict[str, Any]
    #: The names of the single numbers, in order.
    coordinates: List[str]
    #: The derivatives by the single numbers, in order.
    flat: npt.NDArray[np.float64]
    hessian: Optional[npt.NDArray[np.float64]] = None
    output: str = ""
    warnings: List[Diagnostic] = field(default_factory=list)

    def __getitem__(self, name: str) -> Any:
        return self.grad[name]


class Tape:
    """What a program did with its parameters, as a text; and what became of its decisions."""

    def __init__(self, parts: Sequence[str]) -> None:
        self.text, self.report, report, self.decisions, decisions = parts
        #: Counts of leaves, operations and guards, as a dictionary.
        self.statistics: Dict[str, Any] = json.loads(report)
        self.decision_list: List[Dict[str, Any]] = json.loads(decisions)

    @property
    def operations(self) -> int:
        """Number of operations."""
        return int(self.statistics["operations"])

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<dmci.Tape of {self.operations} operations>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.report + self.decisions)}</pre>"


class Program:
    """A program: a text with a name.

    >>> p = Program("(params (a free 2.0)) (* a a x)")
    >>> p.value(x=3.0)
    12.0
    """

    def __init__(self, text: str, name: str = "<text>") -> None:
        self.text = text
        self.name = name
        self._names: Optional[Tuple[List[Parameter], List[str]]] = None

    @staticmethod
    def of(program: ProgramLike) -> "Program":
        """The program of a text, or the program itself."""
        if isinstance(program, Program):
            return program
        if isinstance(program, str):
            return Program(program)
        if isinstance(program, os.PathLike):
            return load(program)
        raise TypeError(f"a program is a text or a dmci.Program, not {type(program).__name__}")

    @staticmethod
    def from_data(forms: Sequence[Any], name: str = "<text>") -> "Program":
        """The program of forms that are lists, symbols and numbers."""
        return Program(_native.from_forms(list(forms)), name)

    def data(self) -> List[Any]:
        """The forms of the program as data."""
        return _native.forms(self.name, self.text)

    # What it declares and needs.

    def _declared(self) -> Tuple[List[Parameter], List[str]]:
        if self._names is None:
            entries, outside = _native.names(self.name, self.text)
            parameters = [Parameter(n, k, s, tuple(shape), f, p) for n, k, s, shape, f, p in entries]
            self._names = (parameters, outside)
        return self._names

    @property
    def parameters(self) -> List[Parameter]:
        """The parameters of its ``(params ...)``."""
        return list(self._declared()[0])

    @property
    def inputs(self) -> List[str]:
        """The names that it needs from outside, in alphabetical order."""
        return list(self._declared()[1])

    # Running.

    def run(self, *, mode: str = "dmci", names: Optional[Mapping[str, Any]] = None, **more: Any) -> "Outcome":
        """Runs the program: its value, as it is written, and what it printed."""
        return default_interpreter().run(self, mode=mode, names=names, **more)

    def value(self, *, mode: str = "dmci", names: Optional[Mapping[str, Any]] = None, **more: Any) -> Any:
        """The value of the program, with values for its names."""
        return self.run(mode=mode, names=names, **more).value

    def check(self, *names: str, mode: str = "dmci") -> List[Diagnostic]:
        """What is wrong with the program, without running it; its inputs and ``names`` count as given."""
        return default_interpreter().check(self, *names, mode=mode)

    def grad(
        self,
        wrt: Union[None, str, Sequence[str]] = None,
        *,
        hessian: bool = False,
        mode: str = "dmci",
        names: Optional[Mapping[str, Any]] = None,
        **more: Any,
    ) -> Gradient:
        """The value and its derivatives: by its parameters, by the names of ``wrt``, or by all ``"literals"``."""
        return default_interpreter().grad(self, wrt, hessian=hessian, mode=mode, names=names, **more)

    def hessian(self, wrt: Union[None, str, Sequence[str]] = None, **more: Any) -> npt.NDArray[np.float64]:
        """The second derivatives."""
        found = self.grad(wrt, hessian=True, **more).hessian
        assert found is not None
        return found

    def tape(
        self,
        wrt: Optional[Sequence[str]] = None,
        *,
        joins: bool = True,
        loops: bool = True,
        mode: str = "dmci",
        names: Optional[Mapping[str, Any]] = None,
        **more: Any,
    ) -> Tape:
        """What the program did with its parameters."""
        bound, options = split_settings(mode, names, more)
        by = None if wrt is None else list(wrt)
        return Tape(default_interpreter()._native.tape(self.name, self.text, bound, by, joins, loops, options))

    # Making new programs.

    def _composed(self, what: str, other: Optional["Program"] = None, *words: str) -> "Program":
        second = None if other is None else (other.name, other.text)
        name, text = _native.compose(what, (self.name, self.text), second, *words)
        return Program(text, name)

    def __add__(self, other: ProgramLike) -> "Program":
        return self._composed("sum", Program.of(other))

    def __mul__(self, other: ProgramLike) -> "Program":
        return self._composed("product", Program.of(other))

    def chain(self, inner: ProgramLike, input: str) -> "Program":
        """The program in which the value of ``inner`` takes the place of an input."""
        return self._composed("chain", Program.of(inner), input)

    def substitute(self, name: str, value: Any) -> "Program":
        """The program in which a program, or a datum, takes the place of a name."""
        program = value if isinstance(value, Program) else Program.from_data([value])
        return self._composed("substitute", program, name)

    def rename(self, **names: str) -> "Program":
        """The program with other names for parameters or inputs: ``p.rename(a="b")``."""
        program = self
        for old, new in names.items():
            program = program._composed("rename", None, old, new)
        return program

    def apart(self, prefix: str) -> "Program":
        """The program with a prefix for its parameters, so that it can be composed with another."""
        return self._composed("apart", None, prefix)

    def parametrised(self) -> "Program":
        """The program with a parameter for every real literal."""
        return self._composed("literals")

    # Files.

    def compile(self) -> bytes:
        """The bytes of its ``.ncg`` file."""
        return _native.compile(self.name, self.text)

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes it: compiled if the name ends with ``.ncg``, else as text."""
        data = self.compile() if os.fspath(path).endswith(".ncg") else self.text.encode()
        with open(path, "wb") as file:
            file.write(data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and (self.text, self.name) == (other.text, other.name)

    def __hash__(self) -> int:
        return hash((self.text, self.name))

    def __reduce__(self) -> Tuple[Any, ...]:
        return (Program, (self.text, self.name))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        first = self.text.strip().splitlines()[0] if self.text.strip() else ""
        return f"<dmci.Program {self.name}: {first[:60]}{'...' if len(self.text) > len(first[:60]) else ''}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


@dataclass(frozen=True)
class Outcome:
    """What a run gave."""

    value: Any
    #: The value as ``write`` prints it.
    text: str
    #: What the program printed.
    output: str

    def _repr_html_(self) -> str:
        printed = f"{html.escape(self.output)}\n" if self.output else ""
        return f"<pre>{printed}<b>{html.escape(self.text)}</b></pre>"


class Interpreter:
    """The evaluator, compiled once; programs are data that it runs."""

    def __init__(self) -> None:
        self._native = _native.Interpreter(False)

    def run(
        self, program: ProgramLike, *, mode: str = "dmci", names: Optional[Mapping[str, Any]] = None, **more: Any
    ) -> Outcome:
        """Runs a program."""
        p = Program.of(program)
        bound, options = split_settings(mode, names, more)
        return Outcome(*self._native.run(p.name, p.text, bound, options))

    def value(self, program: ProgramLike, **more: Any) -> Any:
        """The value of a program."""
        return self.run(program, **more).value

    def check(self, program: ProgramLike, *names: str, mode: str = "dmci") -> List[Diagnostic]:
        """What is wrong with a program, without running it; ``names`` count as given."""
        p = Program.of(program)
        found = self._native.check(p.name, p.text, list(names), make_options(mode))
        return [diagnostic(json.loads(data), rendered) for data, rendered in found]

    def grad(
        self,
        program: ProgramLike,
        wrt: Union[None, str, Sequence[str]] = None,
        *,
        hessian: bool = False,
        mode: str = "dmci",
        names: Optional[Mapping[str, Any]] = None,
        **more: Any,
    ) -> Gradient:
        """The value of a program and its derivatives."""
        p = Program.of(program)
        bound, options = split_settings(mode, names, more)
        literals = wrt == "literals"
        by = None if wrt is None or literals else [wrt] if isinstance(wrt, str) else list(wrt)
        value, grad, coordinates, flat, second, output, warnings = self._native.grad(
            p.name, p.text, bound, by, literals, hessian, options
        )
        return Gradient(value, grad, coordinates, flat, second, output, diagnostics_of(*warnings))

    def __reduce__(self) -> Tuple[Any, ...]:
        return (Interpreter, ())


SETTINGS = ("fuel", "heap", "depth", "output", "time", "seed", "single", "clamps")


def split_settings(
    mode: str, names: Optional[Mapping[str, Any]], more: Mapping[str, Any]
) -> Tuple[Dict[str, Any], _native.Options]:
    """Values for names, and options of the run: what is called like an option is one, unless it is in ``names``."""
    settings = {key: value for key, value in more.items() if key in SETTINGS}
    bound = {key: value for key, value in more.items() if key not in SETTINGS}
    if names is not None:
        bound.update(names)
    return bound, make_options(mode, **settings)


@functools.lru_cache(maxsize=1)
def default_interpreter() -> Interpreter:
    """The one interpreter of the process."""
    interpreter = Interpreter.__new__(Interpreter)
    interpreter._native = _native.Interpreter(True)
    return interpreter


def run(program: ProgramLike, mode: str = "dmci", *, names: Optional[Mapping[str, Any]] = None, **more: Any) -> Any:
    """The value of a program, with values for its names.

    >>> run("(* a (+ x 1))", a=2.0, x=3)
    8.0

    ``names`` is for names that are no Python identifiers, or are called like an option. Options are ``fuel``,
    ``heap``, ``depth``, ``output`` and ``time`` (limits), ``seed``, ``single`` (precision) and ``clamps``.
    """
    return default_interpreter().run(program, mode=mode, names=names, **more).value


def check(program: ProgramLike, *names: str) -> List[Diagnostic]:
    """What is wrong with a program, without running it; ``names`` count as given."""
    return default_interpreter().check(program, *names)


def load(path: Union[str, "os.PathLike[str]"]) -> Program:
    """The program of a file: a text, or a compiled ``.ncg``."""
    with open(path, "rb") as file:
        data = file.read()
    if os.fspath(path).endswith(".ncg") or _native.is_compiled(data):
        name, text = _native.decompile(data)
        return Program(text, name)
    return Program(data.decode("utf-8"), os.fspath(path))
