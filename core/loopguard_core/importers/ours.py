"""Our own JSON Lines: what the store exports, and recordings written by hand or by other languages."""

from __future__ import annotations

from loopguard_core.events import TYPES, EventError, expand, from_json
from loopguard_core.importers.base import Importer, string
from loopguard_core.importers.track import renumber

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from loopguard_core.events import Event
    from loopguard_core.importers.head import Head
    from loopguard_core.importers.report import Report
    from loopguard_core.importers.source import Source


class Ours(Importer):
    """Events, one a line, of one or several sessions."""

    name = "loopguard"
    title = "loopguard JSON Lines"

    def sniff(self, head: Head) -> float:
        known = [r for r in head.objects if string(r.get("type")) in TYPES]
        if not known or len(known) * 2 < len(head.objects):
            return 0.0
        if any("seq" in r or "session" in r for r in known):
            return 0.95
        calls = any(r["type"] in ("call", "call_start") and "tool" in r for r in known)
        return 0.9 if calls else 0.5

    def read(self, source: Source, report: Report) -> Iterator[Event]:
        expanded = expand(_events(source, report), source.name_session())
        return renumber(event for _, event in expanded)


def _events(source: Source, report: Report) -> Iterator[Event]:
    for number, raw in source.records(report):
        if not isinstance(raw, dict):
            report.skip(type(raw).__name__, number)
            continue
        try:
            event = from_json(raw)
        except EventError as error:
            report.skip(f"no event: {error.what}", number)
            continue
        if event.type not in TYPES:
            report.note(f"events of the unknown type {event.type[:40]!r} are kept and ignored")
        yield event
