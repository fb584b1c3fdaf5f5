"""Models: a program over rows of data and sets of parameters."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _native
from ._data import column_names, columns_of, is_single
from ._errors import Diagnostic, diagnostics_of
from ._fit import Fit, FitHandle, Progress, Target, finish, start_fit
from ._objective import Objective
from ._program import Parameter, Program, ProgramLike, make_options
from ._sample import Samples, sample

Array = npt.NDArray[Any]
Theta = Union[None, npt.ArrayLike, Mapping[str, Any]]
WANT_VALUES, WANT_GRADIENTS, WANT_HESSIANS = 0, 1, 2


class Rows:
    """Rows of data that a model has taken over: calls with them copy nothing in.

    Made by :meth:`Model.bind`.
    """

    __slots__ = ("_native", "into", "model", "rows", "single")

    def __init__(self, model: "Model", native: _native.Rows, single: bool) -> None:
        self.model = model
        self._native = native
        self.rows = native.rows
        #: All inputs were single values: results have no axis for rows.
        self.single = single
        #: ``into(theta, values, gradients)``: the shortest way, with arrays of the caller.
        self.into = native.value_and_grad_into

    def __len__(self) -> int:
        return self.rows

    def __repr__(self) -> str:
        return f"<dmci.Rows: {self.rows} rows of {', '.join(self.model.inputs)}>"


class Model:
    """A program with parameters and inputs.

    >>> m = Model("(params (a free 2.0) (b free 0.5)) (* a (exp (- (* b t))))")
    >>> m(t=[0.0, 1.0])
    array([2.        , 1.21306132])
    >>> value, gradient = m.value_and_grad([2.0, 0.5], {"t": [0.0, 1.0]})

    ``params`` are names, or a dictionary from names to starts (numbers, arrays, lists); without, those that the
    program declares. ``inputs`` are the names that data bind; without, all names that the program needs and that
    are no parameters. ``constants`` are the same in all rows.
    """

    def __init__(
        self,
        program: ProgramLike,
        params: Union[None, Sequence[str], Mapping[str, Any]] = None,
        inputs: Optional[Sequence[str]] = None,
        target: Optional[str] = None,
        *,
        constants: Optional[Mapping[str, Any]] = None,
        outputs: int = 1,
        dtype: npt.DTypeLike = np.float64,
        mode: str = "dmci",
        threads: Optional[int] = None,
        joins: bool = True,
        loops: bool = True,
        code: bool = True,
        max_paths: int = 4096,
        **settings: Any,
    ) -> None:
        self.program = Program.of(program)
        _native.check_notation(self.program.name, self.program.text)
        self.target = target
        self.outputs = outputs
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.dtype(np.float64), np.dtype(np.float32)):
            raise ValueError(f"numbers are float64 or float32, not {self.dtype}")
        self.mode = mode
        self.constants: Dict[str, Any] = dict(constants or {})
        self._arguments: Dict[str, Any] = dict(
            params=params if params is None or isinstance(params, Mapping) else list(params),
            inputs=None if inputs is None else list(inputs),
            target=target,
            constants=constants,
            outputs=outputs,
            dtype=self.dtype.name,
            mode=mode,
            threads=threads,
            joins=joins,
            loops=loops,
            code=code,
            max_paths=max_paths,
            **settings,
        )
        self.parameters = self._parameters(params)
        names = [p.name for p in self.parameters]
        if inputs is None:
            free = self.program.inputs
            inputs = [name for name in free if name not in names and name not in self.constants and name != target]
        self.inputs: List[str] = list(inputs)
        self._settings = dict(settings)
        self._native = _native.Model(
            self.program.name,
            self.program.text,
            {p.name: p.start for p in self.parameters},
            self.inputs,
            self.constants,
            make_options(mode, single=self.dtype == np.float32, **settings),
            outputs=outputs,
            threads=threads,
            joins=joins,
            loops=loops,
            code=code,
            max_paths=max_paths,
        )
        #: The shapes of one row of each input, of the data that were bound last.
        self._widths: Dict[str, Tuple[int, ...]] = {}
        #: How many numbers the parameters hold.
        self.size: int = self._native.numbers

    @classmethod
    def formula(
        cls,
        formula: str,
        data: Any = None,
        *,
        inputs: Optional[Sequence[str]] = None,
        start: Optional[Mapping[str, float]] = None,
        where: Optional[str] = None,
        param: Sequence[str] = (),
        **settings: Any,
    ) -> "Model":
        """The model of a formula in infix notation.

        >>> m = Model.formula("A*(1 - exp(-k*t))", inputs=["t"], start={"A": 20.0, "k": 0.5}, where="k > 0")
        >>> m.program.text
        '(params (A free 20.0) (k positive 0.5))\\n(* A (- 1 (exp (* (- k) t))))'

        Names that are columns of ``data`` (or ``inputs``) are inputs, all others parameters. ``y ~ a*x`` names the
        target. A name that resembles a column is refused unless ``param`` has it.
        """
        if (data is None) == (inputs is None):
            raise ValueError("give data or inputs: they say which names of the formula are columns")
        columns = list(inputs) if inputs is not None else column_names(data)
        target = settings.get("target")
        known = [name for name in columns if name != target]
        begin = ", ".join(f"{name}={float(value)!r}" for name, value in start.items()) if start else None
        text, named = _native.formula(formula, known, begin, where, list(param))
        if named is not None:
            settings["target"] = named
        return cls(Program(text, "<formula>"), **settings)

    def _parameters(self, params: Union[None, Sequence[str], Mapping[str, Any]]) -> List[Parameter]:
        declared = {p.name: p for p in self.program.parameters}
        if params is None:
            return [p for name, p in declared.items() if name not in self.constants]
        if not isinstance(params, Mapping):
            return [declared.get(name) or Parameter(name, "free", 0.0) for name in params]
        found = []
        for name, start in params.items():
            if isinstance(start, (int, np.integer)):
                start = float(start)
            shape = np.shape(start)
            kind = declared[name].kind if name in declared else "free"
            found.append(Parameter(name, kind, start, shape))
        return found

    # Parameters.

    @property
    def params(self) -> List[str]:
        """The names of the parameters."""
        return [p.name for p in self.parameters]

    @property
    def names(self) -> List[str]:
        """The names of the single numbers: ``k``, ``w.0``, ``F.1.2``."""
        found: List[str] = []
        for p in self.parameters:
            shape = np.shape(p.start)
            found += [".".join([p.name, *map(str, index)]) for index in np.ndindex(*shape)] if shape else [p.name]
        return found

    @property
    def start(self) -> npt.NDArray[np.float64]:
        """The starts of all parameters, as one array."""
        return self.flat({})

    def flat(self, values: Mapping[str, Any]) -> npt.NDArray[np.float64]:
        """All parameters as one array; those that are not given have their starts."""
        unknown = [name for name in values if name not in self.params]
        if unknown:
            raise KeyError(f"there is no parameter {unknown[0]}; there are {', '.join(self.params) or 'none'}")
        parts = [np.ravel(np.asarray(values.get(p.name, p.start), dtype=np.float64)) for p in self.parameters]
        for p, part in zip(self.parameters, parts):
            if part.size != int(np.prod(np.shape(p.start))):
                raise ValueError(f"{p.name} has {np.size(p.start)} numbers, got {part.size}")
        return np.concatenate(parts) if parts else np.zeros(0)

    def named(self, theta: npt.ArrayLike) -> Dict[str, Any]:
        """The numbers of one set by the names and in the shapes of the parameters."""
        numbers = np.asarray(theta)
        found: Dict[str, Any] = {}
        at = 0
        for p in self.parameters:
            shape = np.shape(p.start)
            count = int(np.prod(shape)) if shape else 1
            part = numbers[at : at + count]
            found[p.name] = part.reshape(shape) if shape else float(part[0])
            at += count
        return found

    def _theta(self, theta: Theta) -> Array:
        if theta is None or isinstance(theta, Mapping):
            theta = self.flat(theta or {})
        array = np.ascontiguousarray(theta, dtype=self.dtype)
        if array.ndim == 0 and self.size == 1:
            array = array.reshape(1)
        if array.ndim == 0 or array.shape[-1] != self.size:
            raise ValueError(
                f"theta must have {self.size} numbers on its last axis ({', '.join(self.names)}), "
                f"got an array of shape {array.shape}"
            )
        return array

    # Evaluation.

    def bind(self, data: Any = None) -> Rows:
        """Rows of data for many calls: a dictionary of arrays, a frame, or whatever :meth:`value` takes."""
        if isinstance(data, Rows):
            if data.model is not self:
                raise ValueError("these rows were bound by another model")
            return data
        columns, rows = columns_of(data, self.inputs)
        self._widths = {name: _row_shape(column) for name, column in zip(self.inputs, columns)}
        return Rows(self, self._native.bind(columns, rows), is_single(data, self.inputs))

    def _shape(self, theta: Array, rows: Rows, paired: bool, reduced: bool) -> Tuple[int, ...]:
        shape: Tuple[int, ...] = theta.shape[:-1]
        if not (paired or reduced or rows.single):
            shape += (rows.rows,)
        return shape + ((self.outputs,) if self.outputs > 1 else ())

    def _evaluate(
        self, theta: Theta, data: Any, want: int, reduce: Optional[str], paired: bool, errors: str
    ) -> List[Array]:
        rows = self.bind(data)
        numbers = self._theta(theta)
        if reduce not in (None, "sum", "mean"):
            raise ValueError(f"reduce is None, 'sum' or 'mean', not {reduce!r}")
        if reduce and (paired or want == WANT_HESSIANS):
            raise ValueError("only values and gradients over all rows can be reduced")
        lenient = {"raise": False, "nan": True}.get(errors)
        if lenient is None:
            raise ValueError(f"errors is 'raise' or 'nan', not {errors!r}")
        if paired and not self.inputs:
            numbers = numbers.reshape(-1, self.size)
        found = rows._native.evaluate(numbers, want, paired, reduce is not None, lenient)
        shape = self._shape(numbers, rows, paired, reduce is not None)
        results: List[Array] = []
        for order, part in enumerate(found[: want + 1]):
            assert part is not None
            part = part.reshape(shape + (self.size,) * order)
            results.append(part / rows.rows if reduce == "mean" else part)
        return results

    def __call__(self, theta: Theta = None, **values: Any) -> Any:
        """Predictions: ``m(x=array)`` at the starts, ``m(theta, x=array)``, or ``m(x=array, k=2.0)`` with values for
        some parameters."""
        given = {name: values.pop(name) for name in list(values) if name in self.params}
        if given:
            if isinstance(theta, Mapping):
                given = {**theta, **given}
            elif theta is not None:
                raise ValueError("give either theta or values for parameters")
            theta = given
        found = self.value(theta, values)
        return found if found.ndim else found[()]

    def value(
        self,
        theta: Theta = None,
        data: Any = None,
        *,
        reduce: Optional[str] = None,
        paired: bool = False,
        errors: str = "raise",
    ) -> Array:
        """Values of all rows, under all sets of parameters: an array of ``theta.shape[:-1] + (rows,)``."""
        return self._evaluate(theta, data, WANT_VALUES, reduce, paired, errors)[0]

    def value_and_grad(
        self,
        theta: Theta = None,
        data: Any = None,
        *,
        reduce: Optional[str] = None,
        paired: bool = False,
        errors: str = "raise",
        out: Optional[Tuple[Array, Array]] = None,
    ) -> Tuple[Array, Array]:
        """Values and their derivatives by the parameters, which are on a last axis.

        ``theta`` is one set or an array of sets, and every set meets every row; ``paired`` means that each row has a
        set of its own. ``reduce`` sums over rows, or takes the mean. ``out`` is a pair of arrays for the results: with
        rows of :meth:`bind`, nothing else is allocated. With ``errors="nan"`` a row in which the program fails gives
        NaN; otherwise its error is raised.
        """
        if out is not None:
            if type(data) is not Rows or data.model is not self:
                data = self.bind(data)
            if reduce is None and not paired and errors == "raise":
                data.into(theta, out[0], out[1])
            else:
                values, gradients = self._evaluate(theta, data, WANT_GRADIENTS, reduce, paired, errors)
                out[0][...], out[1][...] = values, gradients
            return out
        values, gradients = self._evaluate(theta, data, WANT_GRADIENTS, reduce, paired, errors)
        return values, gradients

    def grad(self, theta: Theta = None, data: Any = None, **more: Any) -> Array:
        """Derivatives by the parameters."""
        return self.value_and_grad(theta, data, **more)[1]

    def hessian(self, theta: Theta = None, data: Any = None, *, paired: bool = False, errors: str = "raise") -> Array:
        """Second derivatives by the parameters, on the last two axes."""
        return self._evaluate(theta, data, WANT_HESSIANS, None, paired, errors)[2]

    def objective(self, data: Any = None, target: Optional[str] = None, loss: str = "mse") -> Objective:
        """A function of one array for ``scipy.optimize.minimize(m.objective(data), m.start, jac=True)``.

        With a target: the mean (``mse``) or the sum (``sse``) of squares. Without: the sum of the program's values,
        which is then what is made small.
        """
        return Objective(self, data, target or self.target, loss)

    # Fitting.

    def fit(
        self,
        data: Any,
        target: Target = None,
        optimizer: Optional[str] = None,
        *,
        restarts: Optional[int] = None,
        holdout: Union[None, float, str] = None,
        loss: Optional[str] = None,
        callback: Optional[Callable[[Progress], Any]] = None,
        progress: Optional[bool] = None,
        **settings: Any,
    ) -> Fit:
        """The parameters that fit a table of data best, with their errors.

        ``target`` is the column that the program predicts, or a list of columns. ``holdout`` is a share of the rows,
        or ``"tail:0.3"``, ``"column:NAME"``, ``"fold:2/5"``. The ``callback`` is asked after every round; if it gives
        true, the fit ends. Ctrl-C ends it too, and the best so far is the result. The ``loss`` is ``"mse"`` if none is
        named, ``"gaussian"`` with ``sigma``, ``"binomial"`` with ``trials``. More settings: ``epochs``, ``seed``,
        ``start`` (a dictionary), ``only`` (names), ``weights``, ``sigma``, ``trials`` (columns or arrays),
        ``objective=True`` (the program's value is the loss), ``group``, ``missing=True`` (NaN is no value),
        ``time_limit`` (seconds), ``max_evals``, ``stop_at`` (a loss), ``rate``, ``population``, ``huber``, ``df``,
        ``intervals="profile"``, ``bootstrap`` (a number of fits), ``start_from``, ``out``, ``plot``, ``write``: all
        settings of ``dmci fit``, with the same defaults and the same refusals.
        """
        handle = self.start_fit(
            data, target, optimizer, restarts=restarts, holdout=holdout, loss=loss, callback=callback, **settings
        )
        return finish(handle, progress)

    def start_fit(
        self,
        data: Any,
        target: Target = None,
        optimizer: Optional[str] = None,
        *,
        callback: Optional[Callable[[Progress], Any]] = None,
        **settings: Any,
    ) -> FitHandle:
        """A fit in the background, to ``wait`` for, to ``inspect`` and to ``abort``; settings are those of
        :meth:`fit`."""
        return start_fit(self, data, target or self.target, callback, {"optimizer": optimizer, **settings})

    def sample(
        self,
        data: Any,
        target: Optional[str] = None,
        *,
        loss: Optional[str] = None,
        chains: Optional[int] = None,
        draws: Optional[int] = None,
        tune: Optional[int] = None,
        **settings: Any,
    ) -> Samples:
        """Draws from the posterior, by the No-U-Turn Sampler: the loss must be a likelihood, ``"gaussian"`` if none
        is named."""
        likelihood = {} if settings.get("objective") else {"loss": loss or "gaussian"}
        return sample(self, data, target or self.target, chains, draws, tune, {**likelihood, **settings})

    # Taking it away.

    def export(self, language: str, data: Any = None, theta: Theta = None, name: Optional[str] = None) -> str:
        """The model as source of ``"c"``, ``"numpy"``, ``"jax"``, ``"torch"``, ``"sympy"`` or ``"latex"``.

        The source holds every path that the model has met: give rows of ``data`` that take all branches that matter,
        and sets ``theta`` of parameters. Anything else gives NaN and a flag.
        """
        model = self
        if language == "sympy" and self._arguments["loops"]:
            if data is None:
                raise ValueError(f"an export to {language} needs data: formulas have no loops, so it records anew")
            model = _model(self.program, {**self._arguments, "loops": False})
        if data is not None or not self.inputs:
            model.value(theta, model.bind(data), errors="nan")
        elif self.statistics["paths"] == 0:
            raise ValueError("an export needs data, or a model that has been evaluated")
        widths = model._widths if data is not None or model._widths else {n: () for n in self.inputs}
        inputs = []
        for input in self.inputs:
            shape = widths.get(input, ())
            inputs += [".".join([input, *map(str, i)]) for i in np.ndindex(*shape)] if shape else [input]
        return model._native.export(language, name or self.program.name, self.names, inputs, self.outputs)

    # What it has done.

    @property
    def statistics(self) -> Dict[str, int]:
        """Calls, walks of the program, lanes that needed none, paths kept and given up."""
        return dict(zip(("calls", "recordings", "hits", "paths", "evicted"), self._native.statistics()))

    @property
    def warnings(self) -> List[Diagnostic]:
        """What is worth knowing about the program: numbers that were pinned."""
        return diagnostics_of(*self._native.warnings())

    def __reduce__(self) -> Tuple[Any, ...]:
        return (_model, (self.program, self._arguments))

    def __repr__(self) -> str:
        return f"<dmci.Model ({', '.join(self.params)}; {', '.join(self.inputs)})>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{p.name}</td><td>{p.kind}</td><td>{p.start}</td></tr>" for p in self.parameters
        )
        table = f"<table><tr><th>parameter</th><th>kind</th><th>start</th></tr>{rows}</table>"
        return f"{self.program._repr_html_()}{table}<p>inputs: {', '.join(self.inputs) or 'none'}</p>"


def _row_shape(column: Any) -> Tuple[int, ...]:
    """The shape of the numbers of one row."""
    if isinstance(column, np.ndarray):
        return tuple(column.shape[1:])
    try:
        return tuple(np.shape(column[0])) if column else ()
    except ValueError:
        return ()


def _model(program: Program, arguments: Dict[str, Any]) -> Model:
    return Model(program, **arguments)
