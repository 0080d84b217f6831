"""Recordings named on the command line, read strictly where they are ours and leniently where not.

A transcript of another program is imported as far as it goes. Our own events are what a person or a
program wrote for us, so there the first wrong line is refused with its place.
"""

from __future__ import annotations

from collections.abc import Iterator

from loopguard_console.errors import Refused
from loopguard_console.output import remark
from loopguard_console.render import counted
from loopguard_core.events import Event, EventError, from_json
from loopguard_core.importers import Report, Stream, Unreadable, find_files, open_stream
from loopguard_core.importers.ours import Ours

_SAID = 5


def read_events(stream: Stream) -> Iterator[Event]:
    """The events of one input in the order they stand there. Raises ``Refused`` with the place."""
    if isinstance(stream.importer, Ours):
        return _ours(stream)
    return iter(stream)


def open_input(path: str, format_name: str = "") -> Stream:
    """One file, or standard input for ``-``. Raises ``Unreadable``."""
    return open_stream(path, format=format_name)


def open_inputs(target: str, format_name: str = "") -> Iterator[Stream]:
    """The files that *target* stands for (one, a folder, a glob), opened one after the other.

    In a folder or glob, what is no transcript is passed over and said. What was skipped inside a file is
    said after it was read. Raises ``Unreadable`` where nothing can be opened.
    """
    files = find_files(target)
    opened, passed_over = 0, list[str]()
    for place in [target] if files is None else map(str, files):
        try:
            stream = open_input(place, format_name)
        except Unreadable as error:
            if files is None:
                raise
            passed_over.append(str(error))
            continue
        opened += 1
        with stream:
            yield stream
            if not stream.report.nothing_read:
                say_report(stream)
            elif files is None:
                raise Unreadable(stream.report.nothing_read)
            else:
                passed_over.append(stream.report.nothing_read)
    if not opened:
        raise Unreadable(
            f"{target}: no transcript in it ({counted(len(passed_over), 'file')} looked at)"
        )
    for line in passed_over[:_SAID]:
        remark(f"skipped {line}")
    if len(passed_over) > _SAID:
        remark(f"skipped {counted(len(passed_over) - _SAID, 'more file')} without a transcript")


def say_report(stream: Stream) -> None:
    """Say what was skipped inside one input, if anything."""
    for line in stream.report.lines_for_people():
        remark(f"{stream.source.place}: {line}")


def _ours(stream: Stream) -> Iterator[Event]:
    report, place = stream.report, stream.source.place
    for number, raw in stream.source.records(report):
        _refuse_bad(report, place)
        if not isinstance(raw, dict):
            raise Refused(f"{place}:{number}: an event is a JSON object, this is {_kind(raw)}")
        try:
            yield from_json(raw, f"{place}:{number}")
        except EventError as error:
            raise Refused(str(error)) from None
    _refuse_bad(report, place)


def _refuse_bad(report: Report, place: str) -> None:
    if report.bad_lines:
        number, why = report.places[0]
        raise Refused(f"{place}:{number}: {why}")


def _kind(value: object) -> str:
    names = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
