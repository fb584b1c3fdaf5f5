"""Draws from posteriors."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, Optional

import numpy as np
import numpy.typing as npt

from . import _native
from ._fit import _evaluator, declared, request_of, table_of

if TYPE_CHECKING:
    from ._model import Model

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Samples:
    """Draws from a posterior, by chain, draw and number."""

    names: List[str]
    draws: Array
    divergences: int
    gradients: int

    @property
    def posterior(self) -> Dict[str, Array]:
        """The draws of each number, by chain and draw, as ArviZ takes them."""
        return {name: self.draws[:, :, i] for i, name in enumerate(self.names)}

    def mean(self) -> Dict[str, float]:
        """The means."""
        return {name: float(values.mean()) for name, values in self.posterior.items()}

    def to_arviz(self) -> Any:
        """The draws for ArviZ: an ``InferenceData``, or a tree of datasets with ArviZ 1.0 and later."""
        import arviz

        # The keyword first: before 1.0 a dictionary of groups would be taken for the posterior itself.
        try:
            return arviz.from_dict(posterior=self.posterior)
        except TypeError:
            return arviz.from_dict({"posterior": self.posterior})


def sample(
    model: "Model",
    data: Any,
    target: Optional[str],
    chains: Optional[int],
    draws: Optional[int],
    tune: Optional[int],
    settings: Dict[str, Any],
) -> Samples:
    """Draws from the posterior of a model with a likelihood and priors."""
    draw = getattr(_native, "draw", None)
    if draw is None:
        raise NotImplementedError("this build of dmci has no sampler: build the package with the feature sample")
    columns = table_of(data)
    request, starts = request_of(model, columns, target, settings)
    program = declared(model)
    found = draw(
        (program.name, program.text),
        columns,
        json.dumps(request),
        starts,
        evaluator=_evaluator(request),
        chains=chains,
        draws=draws,
        tune=tune,
    )
    return Samples(*found)
