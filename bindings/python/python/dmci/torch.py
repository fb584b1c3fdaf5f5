"""PyTorch: a program as a module, whose parameters are trained with all others.

>>> from dmci.torch import Module
>>> layer = Module("(params (a positive 2.0) (b positive 0.5)) (* a (exp (- (* b t))))")
>>> y = layer(t=torch.linspace(0, 1, 5, dtype=torch.float64))
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union

import numpy as np
import torch

from ._model import Model
from ._program import Program, ProgramLike


class _Function:
    """A model as a function of one row of numbers for each lane: parameters and inputs alike."""

    def __init__(self, model: Model) -> None:
        self.outputs = model.outputs
        arguments = dict(model._arguments)
        names = {p.name: p.start for p in model.parameters}
        arguments.update(params={**names, **{name: 0.0 for name in model.inputs}}, inputs=[], target=None)
        self.model = Model(model.program, **arguments)

    def call(self, lanes: np.ndarray[Any, Any], order: int) -> np.ndarray[Any, Any]:
        """Values, gradients or Hessians of all lanes, with one axis for outputs."""
        found = self.model._evaluate(lanes, None, order, None, True, "raise")[order]
        return found.reshape(len(lanes), self.outputs, *([self.model.size] * order))


class _Derivative(torch.autograd.Function):
    """Derivatives of some order; their derivative is the next order."""

    @staticmethod
    def forward(ctx: Any, lanes: torch.Tensor, function: _Function, order: int) -> torch.Tensor:
        ctx.save_for_backward(lanes)
        ctx.function, ctx.order = function, order
        numbers = np.ascontiguousarray(lanes.detach().cpu().numpy(), dtype=function.model.dtype)
        return torch.from_numpy(function.call(numbers, order)).to(lanes)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Tuple[Optional[torch.Tensor], None, None]:
        (lanes,) = ctx.saved_tensors
        if ctx.order == 2:
            raise NotImplementedError("third derivatives through dmci.torch are not available")
        slopes = _Derivative.apply(lanes, ctx.function, ctx.order + 1)
        axes = tuple(range(1, grads[0].dim()))
        return (grads[0].unsqueeze(-1) * slopes).sum(axes), None, None


def function(model: Union[Model, ProgramLike], **settings: Any) -> Any:
    """``f(theta, **inputs)``: a differentiable function of a vector of parameters and of inputs by name.

    ``theta`` has the numbers of all parameters on its last axis. Inputs are numbers or tensors, which broadcast.
    """
    m = model if isinstance(model, Model) else Model(model, **settings)
    lanes_of = _Function(m)

    def call(theta: torch.Tensor, **inputs: Any) -> torch.Tensor:
        missing = [name for name in m.inputs if name not in inputs]
        if missing or len(inputs) > len(m.inputs):
            raise TypeError(f"the inputs are {', '.join(m.inputs) or 'none'}, got {', '.join(inputs) or 'none'}")
        columns = [torch.as_tensor(inputs[name], dtype=theta.dtype, device=theta.device) for name in m.inputs]
        shape = torch.broadcast_shapes(theta.shape[:-1], *(c.shape for c in columns))
        parts = [theta.expand(*shape, theta.shape[-1]), *(c.expand(shape).unsqueeze(-1) for c in columns)]
        lanes = torch.cat(parts, dim=-1).reshape(-1, lanes_of.model.size)
        found = _Derivative.apply(lanes, lanes_of, 0)
        return found.reshape(*shape, m.outputs) if m.outputs > 1 else found.reshape(shape)

    return call


class Module(torch.nn.Module):
    """A program as a module: its parameters are ``nn.Parameter``s, its inputs keyword arguments.

    Inputs are tensors of numbers, one for each row; gradients flow to them as well, twice.
    """

    def __init__(self, program: Union[Model, ProgramLike], *, dtype: torch.dtype = torch.float64, **settings: Any) -> None:
        super().__init__()
        self.model = program if isinstance(program, Model) else Model(program, **settings)
        self._keys: Dict[str, str] = {}
        for p in self.model.parameters:
            # PyTorch has no dots in names.
            key = p.name.replace(".", "_")
            self._keys[p.name] = key
            self.register_parameter(key, torch.nn.Parameter(torch.tensor(np.asarray(p.start, float), dtype=dtype)))
        self._call = function(self.model)

    def theta(self) -> torch.Tensor:
        """All parameters as one vector."""
        parts = [getattr(self, self._keys[p.name]).reshape(-1) for p in self.model.parameters]
        return torch.cat(parts) if parts else torch.zeros(0, dtype=torch.float64)

    def forward(self, *rows: torch.Tensor, **inputs: Any) -> torch.Tensor:
        """Predictions; one tensor without a name has the inputs on its last axis."""
        if rows:
            if len(rows) > 1 or inputs:
                raise TypeError("give either one tensor, or inputs by name")
            if len(self.model.inputs) == 1 and rows[0].shape[-1:] != (1,):
                inputs = {self.model.inputs[0]: rows[0]}
            else:
                inputs = dict(zip(self.model.inputs, rows[0].unbind(-1)))
        found: torch.Tensor = self._call(self.theta(), **inputs)
        return found

    def __getstate__(self) -> Dict[str, Any]:
        state = dict(self.__dict__)
        del state["_call"]
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._call = function(self.model)
