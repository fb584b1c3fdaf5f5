"""Objectives for optimisers of other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Optional, Tuple

import numpy as np
import numpy.typing as npt

from ._data import real_column

if TYPE_CHECKING:
    from ._model import Model

Array = npt.NDArray[Any]


class Objective:
    """A number to be made small, with its gradient, as a function of one array."""

    def __init__(self, model: "Model", data: Any, target: Optional[str], loss: str) -> None:
        if loss not in ("mse", "sse"):
            raise ValueError(f"the loss of an objective is 'mse' or 'sse', not {loss!r}; Model.fit has more")
        self.model = model
        self.rows = model.bind(data)
        self.target = None if target is None else real_column(data, target)
        self.scale = 1.0 / len(self.target) if self.target is not None and loss == "mse" else 1.0
        self._arguments = (data, target, loss)

    @property
    def x0(self) -> npt.NDArray[np.float64]:
        """Where to start."""
        return self.model.start

    @property
    def bounds(self) -> List[Tuple[Optional[float], Optional[float]]]:
        """The bounds of the parameters' kinds, as SciPy takes them."""
        return [p.bounds() for p in self.model.parameters for _ in range(int(np.size(p.start)))]

    def __call__(self, theta: npt.ArrayLike) -> Tuple[float, npt.NDArray[np.float64]]:
        if self.target is None:
            value, gradient = self.model.value_and_grad(theta, self.rows, reduce="sum", errors="nan")
            return float(value), np.asarray(gradient, dtype=np.float64)
        values, gradients = self.model.value_and_grad(theta, self.rows, errors="nan")
        residuals = values - self.target
        return float(residuals @ residuals) * self.scale, (2.0 * self.scale) * (residuals @ gradients)

    def residuals(self, theta: npt.ArrayLike) -> Array:
        """What least squares make small."""
        if self.target is None:
            raise ValueError("an objective without a target has no residuals")
        return self.model.value(theta, self.rows, errors="nan") - self.target

    def jacobian(self, theta: npt.ArrayLike) -> Array:
        """The derivatives of the residuals, for ``scipy.optimize.least_squares``."""
        return self.model.grad(theta, self.rows, errors="nan")

    def __reduce__(self) -> Tuple[Any, ...]:
        return (Objective, (self.model, *self._arguments))
