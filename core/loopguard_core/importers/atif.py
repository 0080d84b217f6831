"""ATIF, the trajectory format of Harbor: one document with steps. It has no error flag.

Outcomes are guesses from the text and marked ``guessed``.
"""

from __future__ import annotations

import re

from loopguard_core.importers.base import (
    Closed,
    Importer,
    array,
    obj,
    result_of,
    string,
    text_of,
    when,
)
from loopguard_core.importers.reading import exit_code
from loopguard_core.importers.report import Unreadable
from loopguard_core.importers.source import Source
from loopguard_core.importers.track import Track
from loopguard_core.importers.usage import money, tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.importers.head import Head
    from loopguard_core.importers.report import Report

_FAILED = re.compile(r"\s*(?:Error\b|<error>|Traceback \(most recent call last\))")


class Atif(Importer):
    """Agent trajectories."""

    name = "atif"
    title = "ATIF"
    failures_known = False

    def sniff(self, head: Head) -> float:
        for record in head.objects[:20]:
            if string(record.get("schema_version")).startswith("ATIF"):
                return 0.97
            steps = array(record.get("steps"))
            if steps and {"step_id", "source"} <= obj(steps[0]).keys():
                return 0.85
        return 0.0

    def read(self, source: Source, report: Report) -> Iterator[Event]:
        report.note("the format does not say which calls failed: outcomes are guesses")
        for number, record in source.records(report):
            for document in record if isinstance(record, list) else [record]:
                if isinstance(document, dict) and "steps" in document:
                    yield from _trajectory(document, source.name_session(), report, "")
                    yield from _beside(document, source, report)
                else:
                    report.skip("no trajectory", number)


def _beside(document: dict[str, Any], source: Source, report: Report) -> Iterator[Event]:
    """Trajectories of subagents in files of their own, as far as they lie below this one's folder."""
    parent = string(document.get("session_id")) or source.name_session()
    for path in _references(document, source.path):
        try:
            inner = Source.open(path)
        except Unreadable as error:
            report.note(f"a subagent's trajectory was skipped: {error}")
            continue
        held = obj(inner.head.document)
        inner.close()
        yield from _trajectory(held, f"{parent}/{path.stem}", report, parent)


def _references(document: dict[str, Any], path: Path | None) -> list[Path]:
    found: dict[Path, None] = {}
    for step in map(obj, array(document.get("steps"))):
        for result in map(obj, array(obj(step.get("observation")).get("results"))):
            for reference in map(obj, array(result.get("subagent_trajectory_ref"))):
                named = string(reference.get("trajectory_path"))
                if path is not None and named:
                    beside = (path.parent / named).resolve()
                    if beside.is_relative_to(path.parent.resolve()) and beside.is_file():
                        found[beside] = None
    return list(found)


def _trajectory(
    document: dict[str, Any], fallback: str, report: Report, parent: str
) -> Iterator[Event]:
    agent = obj(document.get("agent"))
    session = string(document.get("trajectory_id") if parent else "") or string(
        document.get("session_id")
    )
    track = Track(report, session or fallback, repeats=True)
    yield from track.start(
        when(obj(next(iter(array(document.get("steps"))), None)).get("timestamp")),
        agent=string(agent.get("name")) or "atif",
        format="atif",
        version=string(agent.get("version")),
        model=string(agent.get("model_name")),
        parent=parent,
        part=session if parent else "",
    )
    for number, step in enumerate(map(obj, array(document.get("steps"))), 1):
        if step.get("is_copied_context"):
            report.duplicates += 1
            continue
        yield from _step(track, step, number, bool(parent))
    yield from track.finish()
    yield Closed(track.session)
    for index, inner in enumerate(map(obj, array(document.get("subagent_trajectories")))):
        yield from _trajectory(inner, f"{track.session}/{index}", report, track.session)


def _step(track: Track, step: dict[str, Any], number: int, child: bool) -> Iterator[Event]:
    ts = when(step.get("timestamp"))
    text = text_of(step.get("message"))
    source = step.get("source")
    if source == "user" and not child:
        yield track.event("user_message", ts, text=text)
    elif source == "user":
        yield track.event("turn_start", ts, reason="task", text=text)
    elif source == "system":
        yield track.event("system_message", ts, text=text)
    elif text.strip():
        yield track.event("assistant_text", ts, text=text)
    metrics = obj(step.get("metrics"))
    used = tokens(metrics, inside=True)
    yield from track.usage({**used, **money(metrics.get("cost_usd"))}, ts)
    requested = []
    for index, call in enumerate(map(obj, array(step.get("tool_calls")))):
        own = string(call.get("tool_call_id")) or f"step-{number}-{index}"
        requested.append(own)
        yield from track.call(
            own,
            string(call.get("function_name")) or "unknown",
            call.get("arguments"),
            message=f"step-{string(step.get('step_id')) or number}",
            ts=ts,
        )
    for result in map(obj, array(obj(step.get("observation")).get("results"))):
        answered = string(result.get("source_call_id"))
        if not answered and requested:
            answered = requested.pop(0)
        elif answered in requested:
            requested.remove(answered)
        if not answered:
            yield track.event("system_message", ts, text=text_of(result.get("content")))
            continue
        content = result_of(result.get("content"))
        said = text_of(content)
        failed = bool(exit_code(said)) or bool(_FAILED.match(said))
        extra = obj(result.get("extra"))
        more: dict[str, Any] = {"guessed": True}
        if "success" in extra or "is_error" in extra:  # a producer that says more than the format
            failed = extra.get("success") is False or extra.get("is_error") is True
            more = {}
        if result.get("subagent_trajectory_ref"):
            more["subagents"] = result["subagent_trajectory_ref"]
        outcome = "error" if failed else "ok"
        yield from track.end(answered, outcome, ts=ts, result=content, **more)
