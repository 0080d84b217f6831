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
    from loopguard_core.importers.report import Report
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

_DEEPEST = 20


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
