"""What a type checker must accept, and what it must infer; mypy reads this file, nobody runs it."""

from typing import Dict, List, Optional

import numpy as np

import dmci

value: object = dmci.run("(+ a 1)", a=2.0)
diagnostics: List[dmci.Diagnostic] = dmci.check("(+ a 1)", "a")
codes: List[str] = [d.code for d in diagnostics]
program: dmci.Program = dmci.Program("(* a x)") + dmci.Program("(* b x)")
gradient: dmci.Gradient = program.grad(["a"], a=1.0, b=2.0, x=3.0)
number: float = gradient.value

model = dmci.Model("(params (a positive 1.0)) (* a x)", target="y")
values, slopes = model.value_and_grad(np.array([1.0]), {"x": [1.0, 2.0]}, reduce="sum")
fit: dmci.Fit = model.fit({"x": [1.0, 2.0], "y": [2.0, 4.0]}, callback=lambda now: now.loss < 1e-3)
errors: Dict[str, Optional[float]] = fit.errors
source: str = model.export("c", {"x": [1.0]})

search: dmci.Search = dmci.search({"x": [1.0, 2.0], "y": [2.0, 4.0]}, "y", time_limit=1.0, callback=lambda now: now.rmse < 1e-3)
formulas: List[str] = [found.formula for found in search.front]
best: dmci.Program = search.best.program

try:
    dmci.run("(car 1)")
except dmci.RunError as error:
    text: str = error.code + (error.help or "")

model.fit({"x": [1.0]}, optimizer=3)  # type: ignore[arg-type]
