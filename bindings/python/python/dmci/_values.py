"""What Scheme tells apart and Python has one type for."""

from __future__ import annotations

from typing import Any, List


class Symbol(str):
    """A symbol: a name as a datum. A plain string is a Scheme string."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Symbol({str.__repr__(self)})"


class Char(str):
    """A character."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Char({str.__repr__(self)})"


class Opaque(str):
    """Something that is no datum, such as a procedure, as it prints."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Opaque({str.__repr__(self)})"


class Vector(List[Any]):
    """A Scheme vector of any data. A plain list is a Scheme list; an array of NumPy is a vector or matrix of reals."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Vector({list.__repr__(self)})"


class Dotted:
    """A list that ends with something other than the empty list: ``(a b . c)``."""

    __slots__ = ("items", "tail")

    def __init__(self, items: List[Any], tail: Any) -> None:
        self.items = items
        self.tail = tail

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dotted) and self.items == other.items and bool(self.tail == other.tail)

    def __repr__(self) -> str:
        return f"Dotted({self.items!r}, {self.tail!r})"
