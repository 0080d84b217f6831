"""What was read of a file and what was not."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PLACES = 20
_SHOWN = 5


class Unreadable(Exception):
    """The input cannot be opened as a recording: what it is, where, and what to do. One line."""


class Report:
    """What was read of one file and what was not.

    ``bad_lines``: lines that are not JSON. ``unknown``: record types that nothing is known of, counted.
    ``duplicates``: records that were written again. ``orphans``: results without a call. ``cut``: the
    file ends in the middle of a line. ``places`` holds the first twenty problems as (line, what).
    """

    __slots__ = (
        "_bad",
        "bad_lines",
        "cut",
        "duplicates",
        "format",
        "lines",
        "notes",
        "orphans",
        "place",
        "places",
        "unknown",
    )

    def __init__(self, place: str, format: str = "") -> None:
        self.place = place
        self.format = format
        self.lines = 0
        self.bad_lines = 0
        self._bad: list[int] = []
        self.cut = False
        self.duplicates = 0
        self.orphans = 0
        self.unknown: dict[str, int] = {}
        self.places: list[tuple[int, str]] = []
        self.notes: list[str] = []

    def bad(self, line: int, why: str) -> None:
        """Count a line that could not be read."""
        self.bad_lines += 1
        if len(self._bad) < _SHOWN:
            self._bad.append(line)
        self.at(line, why)

    def skip(self, kind: object, line: int = 0) -> None:
        """Count a record of a type that is not known."""
        name = str(kind)[:60]
        if name not in self.unknown and len(self.unknown) < 200:
            self.at(line, f"unknown record {name!r} skipped")
            self.unknown[name] = 0
        if name in self.unknown:
            self.unknown[name] += 1

    def at(self, line: int, what: str) -> None:
        """Keep a problem with its place, as long as there are few."""
        if len(self.places) < _PLACES:
            self.places.append((line, what))

    def note(self, text: str) -> None:
        """Keep a remark for the reader, once."""
        if text not in self.notes and len(self.notes) < _PLACES:
            self.notes.append(text)

    @property
    def clean(self) -> bool:
        """True where nothing was lost."""
        return not (self.bad_lines or self.cut or self.orphans or self.notes)

    @property
    def nothing_read(self) -> str:
        """Where no line at all could be read: the first one's place and what is wrong with it.

        A single line that its writer has not ended yet is only the beginning of a file.
        """
        if self.bad_lines <= self.cut or self.bad_lines < self.lines or not self.places:
            return ""
        number, why = self.places[0]
        return f"{self.place}:{number}: {why}" if number else f"{self.place}: {why}"

    def lines_for_people(self) -> list[str]:
        """What was skipped and where, one short line each; empty where nothing was lost."""
        out = list(self.notes)
        if self.bad_lines:
            where = ", ".join(str(n) for n in self._bad if n)
            more = ", …" * (self.bad_lines > len(self._bad))
            what, where = ("line", where + more) if where else ("part", self.places[0][1])
            out.append(f"{_many(self.bad_lines, what)} could not be read ({where})")
        if self.cut:
            out.append("the last line is cut off; what came before it was read")
        if self.orphans:
            out.append(f"{_many(self.orphans, 'result')} without a call skipped")
        if self.unknown:
            kinds = ", ".join(f"{k} ×{n}" for k, n in list(self.unknown.items())[:8])
            out.append(f"{_many(sum(self.unknown.values()), 'unknown record')} skipped: {kinds}")
        return out

    def to_json(self) -> dict[str, Any]:
        """The report as JSON."""
        return {
            "format": self.format,
            "lines": self.lines,
            "bad_lines": self.bad_lines,
            "cut": self.cut,
            "duplicates": self.duplicates,
            "orphans": self.orphans,
            "unknown": dict(self.unknown),
            "places": [{"line": n, "what": w} for n, w in self.places],
            "notes": list(self.notes),
        }


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
