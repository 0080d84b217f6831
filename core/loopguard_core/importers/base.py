"""What an importer is: it recognises a format by its content and reads it as events.

An importer is lazy: it yields events while it reads, so that an append-only transcript of any size needs
constant memory. What it cannot read it counts in a ``Report``, with the place; it never fails in the
middle of a file.
"""

from __future__ import annotations

from datetime import UTC, datetime

from loopguard_core.events import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from loopguard_core.importers.head import Head
    from loopguard_core.importers.source import Source

#: what a transcript gives; anything else in a session is a person's word
TRANSCRIPT = frozenset(
    (
        "session_start",
        "session_end",
        "turn_start",
        "user_message",
        "assistant_text",
        "system_message",
        "call_start",
        "call_end",
        "usage",
    )
)

_PLACES = 20
_DEEPEST = 20
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


class Importer:
    """One transcript format."""

    #: As it stands in ``session_start.format`` and on the command line.
    name = ""
    #: As people call it.
    title = ""
    #: False where the format does not say which calls failed and the outcome is a guess.
    failures_known = True

    def sniff(self, head: Head) -> float:
        """How sure it is that this is its format, 0 to 1. Looks at the content, not at the name."""
        raise NotImplementedError

    def read(self, source: Source, report: Report) -> Iterator[Event]:
        """The events of every session in *source*, in the order in which the sessions wrote them.

        Each session begins with ``session_start``. Raises ``Unreadable`` only before the first event.
        """
        raise NotImplementedError


class Closed(Event):
    """Not an event of the log: an importer's word that a session is complete, so readers may let go."""

    def __init__(self, session: str) -> None:
        super().__init__("", session)


class Recording:
    """One session of a file. ``events`` can be read once; ``report`` is complete when it was.

    ``part`` tells sessions of one file apart, as people name them (a task and trial, an agent's id).
    """

    __slots__ = (
        "agent",
        "events",
        "failures_known",
        "format",
        "parent",
        "part",
        "place",
        "report",
        "session",
    )

    def __init__(
        self, start: Event, importer: Importer, report: Report, events: Iterator[Event]
    ) -> None:
        self.session = start.session
        self.part = start.text("part")
        self.parent = start.text("parent")
        self.agent = start.text("agent") or importer.name
        self.format = importer.name
        self.failures_known = importer.failures_known
        self.place = report.place
        self.report = report
        self.events = events


def when(value: object) -> float | None:
    """A transcript's time as seconds since the epoch, or None.

    ISO 8601 (UTC where no zone is given), or a number of seconds, milli-, micro- or nanoseconds.
    """
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return when(float(value)) if value.replace(".", "", 1).isdigit() else None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        return None
    for limit, unit in ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6), (1e20, 1e9)):
        if value < limit:
            return value / unit
    return None


def text_of(content: object, depth: int = 0) -> str:
    """The text in a message's content: a string, or the text blocks of a list.

    Content nested more than twenty deep is no message's, and gives nothing.
    """
    if isinstance(content, str):
        return content
    if depth > _DEEPEST:
        return ""
    if isinstance(content, dict):
        return text_of(content.get("text", content.get("content", "")), depth + 1)
    if isinstance(content, list):
        return "\n".join(t for c in content if (t := text_of(c, depth + 1)))
    return ""


def result_of(content: object) -> Any:
    """A result as it is kept: text where it is only text, else the content as it is (images stay)."""
    if isinstance(content, list) and all(
        isinstance(b, dict) and isinstance(b.get("text"), str) for b in content
    ):
        return "\n".join(b["text"] for b in content)
    return content


def obj(value: object) -> dict[str, Any]:
    """*value* where it is a JSON object, else an empty one: foreign records promise nothing."""
    return value if isinstance(value, dict) else {}


def array(value: object) -> list[Any]:
    """*value* where it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []


def string(value: object) -> str:
    """*value* where it is a string, else the empty one; numbers become text (some formats' ids)."""
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    return ""
