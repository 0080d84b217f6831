"""``stats``: how much of a run was repetition, alternation and failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import click

from loopguard_console.errors import Refused
from loopguard_console.inspector.costs import dollars, many
from loopguard_console.output import emit, json_option, remark, table
from loopguard_console.parameters import format_option
from loopguard_console.progress import watched
from loopguard_core.importers import Recording, open_recordings
from loopguard_core.stats import SessionStats

_COLUMNS = (
    "calls",
    "distinct",
    "longest_run",
    "run_failures",
    "max_in_20",
    "pingpong",
    "failures",
    "longest_failure_streak",
    "without_result",
    "turns",
)
_HEADS = (
    "session",
    "calls",
    "distinct",
    "run",
    "failed",
    "in 20",
    "ping-pong",
    "failures",
    "streak",
    "unanswered",
    "turns",
    "longest run of",
)
#: columns that stand there only where a transcript has something for them
_SPENT = {"tokens": "tokens", "cost_usd": "cost"}
_SPENDING: dict[str, Callable[[Any], str]] = {"tokens": many, "cost_usd": dollars}


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@format_option
@json_option
def stats(files: tuple[str, ...], format_name: str, as_json: bool) -> None:
    """Count what the calls in a recording look like, one line a session.

    FILE is a recording, a transcript of a known agent, a folder, a glob, or - for standard input.
    """
    rows = _sessions(files, format_name)
    if as_json:
        for row in rows:
            emit(row)
        return
    held = list(rows)
    spends = [name for name in _SPENT if any(row[name] is not None for row in held)]
    heads = (*_HEADS[:-1], *(_SPENT[name] for name in spends), _HEADS[-1])
    table(heads, (_cells(row, spends) for row in held), right=range(1, len(heads) - 1))


def _sessions(files: tuple[str, ...], format_name: str) -> Iterator[dict[str, Any]]:
    """A line for each session. Raises ``Refused`` where there is none in all *files*."""
    found = False
    for file in files:
        skipped: list[str] = []
        reports = []
        for recording in open_recordings(file, format=format_name, skipped=skipped):
            found = True
            yield _numbers(recording)
            if recording.report not in reports:
                reports.append(recording.report)
        for line in skipped:
            remark(f"skipped {line}")
        for report in reports:
            for line in report.lines_for_people():
                remark(f"{report.place}: {line}")
    if not found:
        raise Refused(f"no session in {', '.join(files)}: there is nothing to count")


def _numbers(recording: Recording) -> dict[str, Any]:
    counted = SessionStats().add_all(watched(recording.events, recording.place))
    numbers = counted.to_json(failures_known=recording.failures_known)
    top_tool, spent = numbers.pop("top_tool"), counted.spent
    return {
        "session": recording.session,
        "part": recording.part,
        "format": recording.format,
        "file": recording.place,
        "parent": recording.parent or None,
        "agent": recording.agent,
        **numbers,
        "tokens": spent.tokens or None,
        "cost_usd": None if spent.cost is None else round(spent.cost, 6),
        "bad_lines": recording.report.bad_lines,
        "top_tool": top_tool,
    }


def _cells(row: dict[str, Any], spends: list[str]) -> list[str]:
    numbers = ["-" if row[name] is None else str(row[name]) for name in _COLUMNS]
    numbers += ["-" if row[name] is None else _SPENDING[name](row[name]) for name in spends]
    return [row["session"], *numbers, row["top_tool"]]
