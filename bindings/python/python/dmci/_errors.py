"""Exceptions that carry what the engine knows: code, place, help, and a picture of the source."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple


@dataclass(frozen=True)
class Span:
    """A place in the text of a program; lines and columns are counted from 1."""

    file: str
    start: int
    end: int
    line: int
    column: int
    text: str
    label: str


@dataclass(frozen=True)
class Diagnostic:
    """One thing that is wrong, or worth knowing."""

    code: str
    severity: str
    fault: str
    message: str
    spans: Tuple[Span, ...]
    help: Optional[str]
    rendered: str

    @property
    def span(self) -> Optional[Span]:
        """The first place."""
        return self.spans[0] if self.spans else None

    @property
    def explanation(self) -> Optional[str]:
        """The long explanation of the code."""
        from . import _native

        return _native.explain_code(self.code)

    def __str__(self) -> str:
        return self.rendered

    def _repr_html_(self) -> str:
        return _html(self.rendered, self.severity)


class Error(Exception):
    """An error of a program, of data or of a fit. ``str`` is the picture of the source."""

    def __init__(self, rendered: str, diagnostics: List[Diagnostic], output: str = "") -> None:
        super().__init__(rendered)
        self.diagnostics = diagnostics
        #: What the program had printed.
        self.output = output

    @property
    def _first(self) -> Optional[Diagnostic]:
        return self.diagnostics[0] if self.diagnostics else None

    @property
    def code(self) -> str:
        """The stable code, such as ``E0301``."""
        return self._first.code if self._first else ""

    @property
    def message(self) -> str:
        """What was expected and what was got."""
        return self._first.message if self._first else str(self)

    @property
    def help(self) -> Optional[str]:
        """What to do."""
        return self._first.help if self._first else None

    @property
    def span(self) -> Optional[Span]:
        """Where it went wrong."""
        return self._first.span if self._first else None

    def render(self) -> str:
        """The picture of the source."""
        return str(self)

    def to_json(self) -> List[Dict[str, Any]]:
        """The diagnostics as plain data, for machines."""
        return [_plain(d) for d in self.diagnostics]

    def __reduce__(self) -> Tuple[Any, ...]:
        return (type(self), (str(self), self.diagnostics, self.output))

    def _repr_html_(self) -> str:
        return _html(str(self), "error")


class ProgramSyntaxError(Error):
    """The text is no program (codes E01xx and E02xx)."""


class RunError(Error):
    """The program failed: a name, a type, an argument count, a number, a shape (E03xx, E05xx, E06xx)."""


class LimitError(Error):
    """The program used up what it was given (E04xx)."""


class DataError(Error):
    """Data and program do not fit together (E07xx)."""


class FitError(Error):
    """A fit cannot be done (E08xx)."""


class FileError(Error):
    """A file, or a setting, cannot be used (E09xx)."""


class SettingError(FileError, TypeError):
    """A setting that does not exist, is out of range, or does not go with another one (E0910)."""


class InternalError(Error):
    """A mistake of dmci itself (E99xx)."""


_CLASSES = {
    "E01": ProgramSyntaxError,
    "E02": ProgramSyntaxError,
    "E03": RunError,
    "E04": LimitError,
    "E05": RunError,
    "E06": RunError,
    "E07": DataError,
    "E08": FitError,
    "E09": FileError,
    "E99": InternalError,
}


def diagnostic(data: Dict[str, Any], rendered: str) -> Diagnostic:
    """A diagnostic from its JSON form."""
    spans = tuple(Span(**{key: span[key] for key in Span.__dataclass_fields__}) for span in data["spans"])
    fields = {key: data[key] for key in ("code", "severity", "fault", "message", "help")}
    return Diagnostic(spans=spans, rendered=rendered, **fields)


def diagnostics_of(text: str, rendered: str) -> List[Diagnostic]:
    """Diagnostics from a JSON array and the picture of all of them."""
    data = json.loads(text)
    parts = rendered.split("\n\n") if len(data) > 1 else [rendered]
    pictures = parts if len(parts) == len(data) else [rendered] * len(data)
    return [diagnostic(entry, picture) for entry, picture in zip(data, pictures)]


def from_native(text: str, rendered: str, output: str) -> Error:
    """The exception of a report."""
    diagnostics = diagnostics_of(text, rendered)
    code = diagnostics[0].code if diagnostics else ""
    kind = SettingError if code == "E0910" else _CLASSES.get(code[:3], Error)
    return kind(rendered.rstrip("\n"), diagnostics, output)


def _plain(d: Diagnostic) -> Dict[str, Any]:
    spans = [dict(span.__dict__) for span in d.spans]
    return {
        "code": d.code,
        "severity": d.severity,
        "fault": d.fault,
        "message": d.message,
        "spans": spans,
        "help": d.help,
    }


def _html(text: str, severity: str) -> str:
    color = "#b00020" if severity == "error" else "#8a6d00"
    return f'<pre style="border-left:3px solid {color};padding-left:0.7em">{html.escape(text)}</pre>'
