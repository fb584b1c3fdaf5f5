"""What is written in Rust. The package above it is what to use."""

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[Any]
__version__: str

class Options:
    def __init__(
        self,
        mode: str,
        *,
        evaluator: Optional[Tuple[str, str]] = None,
        fuel: Optional[int] = None,
        heap: Optional[int] = None,
        depth: Optional[int] = None,
        output: Optional[int] = None,
        time: Optional[float] = None,
        seed: int = 0,
        single: bool = False,
        clamps: bool = False,
    ) -> None: ...

class Interpreter:
    def __init__(self, shared: bool) -> None: ...
    def run(self, name: str, text: str, names: Dict[str, Any], options: Options) -> Tuple[Any, str, str]: ...
    def run_compiled(self, data: bytes, names: Dict[str, Any], options: Options) -> Tuple[Any, str, str]: ...
    def check(self, name: str, text: str, names: Sequence[str], options: Options) -> List[Tuple[str, str]]: ...
    def grad(
        self,
        name: str,
        text: str,
        names: Dict[str, Any],
        by: Optional[Sequence[str]],
        literals: bool,
        hessian: bool,
        options: Options,
    ) -> Tuple[float, Dict[str, Any], List[str], Floats, Optional[Floats], str, Tuple[str, str]]: ...
    def tape(
        self,
        name: str,
        text: str,
        names: Dict[str, Any],
        by: Optional[Sequence[str]],
        joins: bool,
        loops: bool,
        options: Options,
    ) -> List[str]: ...

class Model:
    def __init__(
        self,
        name: str,
        text: str,
        params: Dict[str, Any],
        inputs: Sequence[str],
        constants: Dict[str, Any],
        options: Options,
        *,
        outputs: int = 1,
        threads: Optional[int] = None,
        joins: bool = True,
        loops: bool = True,
        code: bool = True,
        max_paths: int = 4096,
    ) -> None: ...
    @property
    def numbers(self) -> int: ...
    def statistics(self) -> Tuple[int, int, int, int, int]: ...
    def warnings(self) -> Tuple[str, str]: ...
    def export(
        self, language: str, name: str, params: Sequence[str], inputs: Sequence[str], outputs: int
    ) -> str: ...
    def bind(self, columns: List[Any], rows: int) -> Rows: ...

class Rows:
    @property
    def rows(self) -> int: ...
    def evaluate(
        self,
        theta: Floats,
        want: int,
        paired: bool = False,
        sum: bool = False,
        lenient: bool = False,
        values: Optional[Floats] = None,
        gradients: Optional[Floats] = None,
        hessians: Optional[Floats] = None,
    ) -> List[Optional[Floats]]: ...
    def value_and_grad_into(self, theta: Floats, values: Floats, gradients: Floats) -> None: ...
    def timed(self, theta: Sequence[float], count: int) -> float: ...
    def failures(self) -> List[Tuple[int, str, str]]: ...

class Fitting:
    def program(self) -> Tuple[str, str]: ...
    def wait(self, seconds: Optional[float]) -> bool: ...
    def inspect(self) -> Optional[Tuple[int, int, float, int, int, int, str]]: ...
    def done(self) -> bool: ...
    def abort(self) -> None: ...
    def result(self) -> Tuple[Any, ...]: ...

def start_fit(
    program: Tuple[str, str],
    columns: Dict[str, Any],
    settings: str,
    starts: Dict[str, Any],
    *,
    data_name: str = ...,
    evaluator: Optional[Tuple[str, str]] = None,
    start_from: Optional[Tuple[str, str]] = None,
    callback: Optional[Callable[[Tuple[Any, ...]], Any]] = None,
) -> Fitting: ...
def start_request(
    program: Tuple[str, str],
    bytes: bytes,
    settings: str,
    *,
    evaluator: Optional[Tuple[str, str]] = None,
    start_from: Optional[Tuple[str, str]] = None,
    callback: Optional[Callable[[Tuple[Any, ...]], Any]] = None,
) -> Fitting: ...
def predict(
    fit: Tuple[str, str],
    columns: Optional[Dict[str, Any]],
    settings: str,
    constants: Dict[str, Any],
    options: Options,
) -> Tuple[List[Tuple[str, Any, Any, List[Tuple[str, Any, Any]]]], float, Tuple[str, str]]: ...
def compare(
    models: Sequence[Tuple[str, Optional[str], Optional[str], Optional[Tuple[str, str]]]],
    columns: Dict[str, Any],
    settings: str,
    names: Dict[str, Any],
    cv: Optional[str] = None,
) -> Tuple[str, str]: ...
def forecast(
    model: Tuple[str, Optional[str], Optional[str], Optional[Tuple[str, str]]],
    columns: Dict[str, Any],
    settings: str,
    forecast: str,
    names: Dict[str, Any],
) -> Tuple[str, str, str, str]: ...
def search(
    settings: str,
    *,
    columns: Optional[Dict[str, Any]] = None,
    file: Optional[Tuple[str, bytes]] = None,
    missing: Optional[Sequence[str]] = None,
    seeds: Sequence[Tuple[str, str]] = (),
    baselines: Sequence[Tuple[str, str]] = (),
    callback: Optional[Callable[[Tuple[float, float, int, int]], Any]] = None,
) -> Tuple[str, str, str, bool]: ...
def read_request(file: str, text: str, folder: str) -> str: ...
def setting_names() -> List[str]: ...
def formula(
    text: str,
    columns: List[str],
    start: Optional[str] = None,
    ranges: Optional[str] = None,
    param: List[str] = ...,
) -> Tuple[str, Optional[str]]: ...
def check_notation(name: str, text: str) -> None: ...
def names(name: str, text: str) -> Tuple[List[Tuple[str, str, Any, List[int], bool, Optional[str]]], List[str]]: ...
def compose(
    what: str,
    first: Tuple[str, str],
    second: Optional[Tuple[str, str]] = None,
    word: Optional[str] = None,
    other: Optional[str] = None,
) -> Tuple[str, str]: ...
def compile(name: str, text: str) -> bytes: ...
def is_compiled(data: bytes) -> bool: ...
def decompile(data: bytes) -> Tuple[str, str]: ...
def forms(name: str, text: str) -> List[Any]: ...
def from_forms(forms: Sequence[Any]) -> str: ...
def explain_code(code: str) -> Optional[str]: ...
