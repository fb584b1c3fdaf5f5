"""Draws from posteriors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, Optional

import numpy as np
import numpy.typing as npt

from . import _native
from ._fit import declared, table_of
from ._program import make_options

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
    model: "Model", data: Any, target: Optional[str], chains: int, draws: int, tune: int, settings: Dict[str, Any]
) -> Samples:
    """Draws from the posterior of a model with a likelihood and priors."""
    draw = getattr(_native, "draw", None)
    if draw is None:
        raise NotImplementedError("this build of dmci has no sampler: build the package with the feature sample")
    columns = table_of(data)
    starts = dict(model.constants)
    starts.update({p.name: p.start for p in model.parameters})
    settings = {**settings, "target": target, "start": starts}
    seed = settings.pop("seed", None)
    run = {**model._settings, **({} if seed is None else {"seed": seed})}
    program = declared(model)
    found = draw(program.name, program.text, columns, settings, make_options(model.mode, **run), chains, draws, tune)
    return Samples(*found)
