"""Draws from posteriors."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

import numpy as np
import numpy.typing as npt

from . import _native
from ._fit import Target, _evaluator, declared, request_of, table_of

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
    #: Mean, standard deviation, quantiles of 5, 50 and 95 %, R-hat and effective size of each number.
    statistics: Dict[str, Dict[str, float]] = field(default_factory=dict)

    @property
    def r_hat(self) -> Dict[str, float]:
        """Near 1 if the chains agree; above 1.05 they do not."""
        return {name: one["r_hat"] for name, one in self.statistics.items()}

    @property
    def effective(self) -> Dict[str, float]:
        """As many independent draws would tell as much about the mean."""
        return {name: one["effective"] for name, one in self.statistics.items()}

    def summary(self) -> str:
        """Each number with its quantiles, R-hat and effective size, as a text."""
        head = ("parameter", "mean", "sd", "5%", "50%", "95%", "R-hat", "effective")
        rows: List[Tuple[str, ...]] = [head]
        for name, s in self.statistics.items():
            numbers = [f"{s[k]:.5g}" for k in ("mean", "sd", "q5", "median", "q95")]
            rows.append((name, *numbers, f"{s['r_hat']:.3f}", f"{s['effective']:.0f}"))
        widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        chains, draws = self.draws.shape[:2]
        lines += ["", f"{chains * draws} draws of {chains} chains, {self.divergences} divergences"]
        if any(r > 1.05 for r in self.r_hat.values()):
            lines.append("the chains do not agree (R-hat above 1.05): draw more, or look for several modes")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.summary())}</pre>"

    @property
    def posterior(self) -> Dict[str, Array]:
        """The draws of each number, by chain and draw, as ArviZ takes them."""
        return {name: self.draws[:, :, i] for i, name in enumerate(self.names)}

    def mean(self) -> Dict[str, float]:
        """The means."""
        return {name: float(values.mean()) for name, values in self.posterior.items()}

    def plot(self) -> Any:
        """The distribution of each number and its draws in order, a line for each chain, with matplotlib: the figure."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError("plot() needs matplotlib") from error
        figure, axes = plt.subplots(len(self.names), 2, squeeze=False, figsize=(8.0, 2.0 * len(self.names)))
        for (name, values), (left, right) in zip(self.posterior.items(), axes):
            left.hist(values.ravel(), bins=40)
            left.set_ylabel(name)
            right.plot(values.T, lw=0.5)
        axes[-1][0].set_xlabel("value")
        axes[-1][1].set_xlabel("draw")
        figure.tight_layout()
        return figure

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
    target: Target,
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
    names_of, drawn, divergences, gradients, summaries = found
    names = ("mean", "sd", "q5", "median", "q95", "r_hat", "effective")
    return Samples(names_of, drawn, divergences, gradients, {name: dict(zip(names, numbers)) for name, *numbers in summaries})
