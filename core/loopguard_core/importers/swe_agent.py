"""SWE-agent: ``.traj`` documents. A step is a call with its result; there are no times.

The format does not say which steps failed: outcomes are guesses from the text and marked ``guessed``.
"""

from __future__ import annotations

import re

from loopguard_core.importers.base import Importer, array, obj, string, text_of
from loopguard_core.importers.track import Track
from loopguard_core.importers.usage import money, tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.importers.head import Head
    from loopguard_core.importers.report import Report
    from loopguard_core.importers.source import Source

_FAILED = re.compile(
    r"Traceback \(most recent call last\)|command not found|No such file or directory"
    r"|introduced new syntax error|^(?:bash|sh): |^Error\b|EXECUTION TIMED OUT|COMMAND FAILED",
    re.M,
)


class SweAgent(Importer):
    """Trajectories of SWE-agent."""

    name = "swe-agent"
    title = "SWE-agent"
    failures_known = False

    def sniff(self, head: Head) -> float:
        document = obj(head.document)
        if not isinstance(document.get("trajectory"), list):
            return 0.9 if _from_history(document) else 0.0
        steps = [s for s in document["trajectory"] if isinstance(s, dict)]
        if not steps:
            return 0.9 if "info" in document and "environment" in document else 0.0
        fits = {"action", "observation"} <= steps[0].keys() and "source" not in steps[0]
        return 0.95 if fits else 0.0

    def read(self, source: Source, report: Report) -> Iterator[Event]:
        document = obj(source.document())
        info = obj(document.get("info"))
        steps = array(document.get("trajectory")) or _from_history(document)
        track = Track(report, source.name_session(_task(document), steps[:1]))
        report.note("the format does not say which calls failed: outcomes are guesses")
        yield from track.start(
            None,
            agent="swe-agent",
            format="swe-agent",
            name=string(document.get("environment")),
            version=string(info.get("swe_agent_version")),
        )
        yield track.event("user_message", text=_task(document))
        for number, step in enumerate(steps, 1):
            yield from _step(track, obj(step), number)
        yield from track.finish()
        if info.get("exit_status"):
            stats = obj(info.get("model_stats"))
            sent = {"input": stats.get("tokens_sent"), "output": stats.get("tokens_received")}
            used = {**tokens(sent, inside=False), **money(stats.get("instance_cost"))}
            yield from track.used_in_all(used)
            yield track.event("session_end", reason=string(info["exit_status"]))


def _task(document: dict[str, Any]) -> str:
    for message in map(obj, array(document.get("history"))):
        if message.get("role") == "user" and not message.get("is_demo"):
            return text_of(message.get("content"))
    return ""


def _from_history(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The steps of a demonstration, which is a history alone: an action, then what was observed."""
    steps: list[dict[str, Any]] = []
    open_step = False
    for message in map(obj, array(document.get("history"))):
        if message.get("is_demo"):
            continue
        if message.get("role") == "assistant" and isinstance(message.get("action"), str):
            steps.append({n: message[n] for n in ("action", "thought") if n in message})
            open_step = True
        elif open_step and message.get("role") in ("user", "tool"):
            steps[-1]["observation"] = text_of(message.get("content"))
            open_step = False
    return steps


def _step(track: Track, step: dict[str, Any], number: int) -> Iterator[Event]:
    action = string(step.get("action")).strip()
    thought = string(step.get("thought")) or string(step.get("response"))
    if thought.strip():
        yield track.event("assistant_text", text=thought)
    observation = step.get("observation")
    if not action:
        if observation:
            yield track.event("system_message", text=text_of(observation))
        return
    call = f"step-{number}"
    yield from track.call(call, action.split(None, 1)[0], {"command": action})
    if observation is None:
        return
    outcome = "error" if _FAILED.search(text_of(observation)) else "ok"
    more: dict[str, Any] = {"guessed": True}
    duration = step.get("execution_time")
    if isinstance(duration, (int, float)) and not isinstance(duration, bool):
        more["duration"] = duration
    yield from track.end(call, outcome, result=observation, **more)
