"""What a comparison needs to know of a model."""
from dataclasses import dataclass, field
from typing import Callable


@dataclass
class Model:
    """A model in JAX, and the inputs and parameters at which it is compared with the program."""

    file: str                       # below crates/dmci-repro/models/, without .scm; or a name, with text or program
    function: Callable              # (parameters, inputs) -> scalar, both dictionaries
    params: dict                    # the defaults: they must be those of the file's schema
    inputs: dict = field(default_factory=dict)  # (low, high) for a uniform draw, or values to be taken in turn
    spread: float = 0.3             # parameters are drawn as p + spread max(|p|, 0.1) N(0, 1)
    hessian: bool = True            # compare second derivatives too
    forward: bool = False           # differentiate in forward mode: JAX cannot reverse a while loop
    jit: bool = True                # compile it
    points: int = 8                 # the first one has the default parameters
    tolerance: float = 1e-11        # of value and gradient
    hessian_tolerance: float = 1e-9
    text: str = ""                  # the program itself, without a schema
    program: str = ""               # a program file elsewhere
    mode: str = "dmci"              # in which dmci runs it
    wrt: bool = False               # name the parameters: not all are in the schema
