"""Claude Code: session transcripts, those of its subagents, and ``--output-format stream-json``.

One JSON record a line, one content block a record: the calls of one API message share ``message.id``.
Checked on versions 2.0.64 to 2.1.332. Subagents are found in all three places where versions put them:
``isSidechain`` records of the same file, ``agent_progress`` records, and files beside the transcript.
"""

from __future__ import annotations

from loopguard_core import files
from loopguard_core.events import load
from loopguard_core.importers.base import Importer, array, obj, result_of, string, text_of, when
from loopguard_core.importers.beside import subagent_files
from loopguard_core.importers.claude_outcomes import (
    BOOKKEEPING,
    HOOK_TIERS,
    INTERRUPTED,
    hook_verdict,
    outcome_of,
)
from loopguard_core.importers.report import Unreadable
from loopguard_core.importers.source import Source
from loopguard_core.importers.track import Recent, Track
from loopguard_core.importers.usage import money, tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path
    from typing import Any

    from loopguard_core.events import Event
    from loopguard_core.importers.head import Head
    from loopguard_core.importers.report import Report

_OWN = frozenset({"sessionId", "parentUuid", "isSidechain", "leafUuid", "isSnapshotUpdate"})
#: how many records of subagents in the same file are remembered, to find whose the next ones are
_ROOTS = 50_000
_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_QUIET_SYSTEM = frozenset({"compact_boundary", "microcompact_boundary"})


class ClaudeCode(Importer):
    """Transcripts under ``~/.claude/projects`` and streams of ``claude -p``."""

    name = "claude-code"
    title = "Claude Code"

    def sniff(self, head: Head) -> float:
        if head.kind == "sqlite" or head.kind == "zip":
            return 0.0
        for record in map(obj, (r for value in head.records for r in _records(value)[:20])):
            kind = record.get("type")
            if "timestamp" in record and "payload" in record:
                return 0.0
            if kind in ("user", "assistant") and isinstance(record.get("message"), dict):
                if _OWN & record.keys() or "session_id" in record:
                    return 0.95
                if record["message"].get("role") == kind:
                    return 0.8
            elif kind == "system" and "session_id" in record and "subtype" in record:
                return 0.9
            elif isinstance(kind, str) and "sessionId" in record and "payload" not in record:
                return 0.85
            elif kind in ("summary", "file-history-snapshot") and _looks_like_claude(record):
                return 0.8
        return 0.0

    def read(self, source: Source, report: Report) -> Iterator[Event]:
        reader = _Reader(report, source.name_session(), _sidecar(source.path))
        yield from reader.read(source, report)
        for path in subagent_files(source.path, reader.session):
            yield from reader.read_beside(path)
        yield from reader.finish()


def _looks_like_claude(record: dict[str, Any]) -> bool:
    return bool({"leafUuid", "messageId", "snapshot"} & record.keys())


def _records(value: object) -> list[Any]:
    """The records in a line, or in a document that holds a whole session (a web session's download)."""
    if isinstance(value, list):
        return value
    return array(obj(value).get("loglines")) or [value]


def _sidecar(path: Path | None) -> dict[str, Any]:
    """What stands in a subagent's ``agent-….meta.json``, with its agent id."""
    if path is None or not path.name.startswith("agent-"):
        return {}
    try:
        return {
            **obj(load(files.read(str(path.with_suffix(".meta.json")), follow=True))),
            "beside": True,
        }
    except (OSError, ValueError):
        return {}


class _Reader:
    """Reads the records of one file into the main session and its subagents."""

    def __init__(self, report: Report, fallback: str, meta: dict[str, Any]) -> None:
        self.report = report
        self.session = ""
        self._fallback = fallback
        self._meta = meta
        self._callers: dict[str, str] = {}
        self._seen = Recent()
        self._tracks: dict[str, Track] = {}
        self._roots: dict[str, str] = {}
        self._hooks: dict[str, dict[str, Any]] = {}
        self._prompts: set[str] = set()
        self._used: tuple[str, object] = ("", None)

    def read(self, source: Source, report: Report) -> Iterator[Event]:
        for number, value in source.records(report):
            records = (value,) if isinstance(value, dict) and "type" in value else _records(value)
            for record in records:
                kind = record.get("type") if isinstance(record, dict) else type(record).__name__
                handler = _HANDLERS.get(kind) if isinstance(kind, str) else None
                if handler is not None:
                    yield from handler(self, record)
                elif (
                    not isinstance(record, dict)
                    or not isinstance(kind, str)
                    or kind not in BOOKKEEPING
                ):
                    report.skip(kind, number)

    def read_beside(self, path: Path) -> Iterator[Event]:
        """A subagent's transcript; what progress records told of it already is told once."""
        try:
            source = Source.open(path)
        except Unreadable as error:
            self.report.note(f"a subagent's transcript was skipped: {error}")
            return
        self._meta = _sidecar(path)
        beside = type(self.report)(str(path))
        yield from self.read(source, beside)
        source.close()
        for text in beside.lines_for_people():
            self.report.note(f"{path.name}: {text}")

    def finish(self) -> Iterator[Event]:
        """The end of the file."""
        for track in self._tracks.values():
            yield from track.finish()

    # -- whose record is it ----------------------------------------------------------------------

    def _open(
        self, record: dict[str, Any], agent: str, parent_call: str = ""
    ) -> tuple[Track, list[Event]]:
        """The track of *agent* (empty: the main session) and what has to be said before its first record."""
        if not self.session:
            named = string(record.get("sessionId") or record.get("session_id"))
            self.session = named or self._fallback
        track = self._tracks.get(agent)
        if track is not None:
            return track, []
        session = f"{self.session}/{agent}" if agent else self.session
        before: list[Event] = []
        if agent and "" not in self._tracks and not record.get("agentId"):
            before += self._open(record, "")[1]
        track = self._tracks[agent] = Track(self.report, session)
        about = {
            "agent": "claude-code",
            "format": "claude-code",
            "version": string(record.get("version")),
            "cwd": string(record.get("cwd")),
        }
        if agent:
            about["parent"] = self.session
            about["part"] = agent
            caller = parent_call or string(self._meta.get("toolUseId"))
            about["parent_call"] = caller or self._callers.get(agent, "")
            about["name"] = string(self._meta.get("agentType"))
        before += track.start(when(record.get("timestamp")), **about)
        return track, before

    def _agent(self, record: dict[str, Any]) -> str:
        if not record.get("isSidechain"):
            return ""
        agent = string(record.get("agentId"))
        if agent:
            return agent
        uuid = string(record.get("uuid"))
        root = self._roots.get(string(record.get("parentUuid"))) or f"side-{uuid[:8]}"
        if len(self._roots) > _ROOTS:
            self._roots = dict(list(self._roots.items())[_ROOTS // 2 :])
        self._roots[uuid] = root
        return root

    # -- one method a record type ----------------------------------------------------------------

    def _message(self, record: dict[str, Any]) -> list[Event]:
        uuid = record.get("uuid")
        if isinstance(uuid, str) and not self._seen.add(uuid):
            self.report.duplicates += 1
            return []
        parent_call = string(record.get("parent_tool_use_id"))
        agent = f"task-{parent_call[-12:]}" if parent_call else self._agent(record)
        track, before = self._open(record, agent, parent_call)
        return before + self._blocks(track, record, bool(agent))

    def _progress(self, record: dict[str, Any]) -> list[Event]:
        data = obj(record.get("data"))
        if data.get("type") != "agent_progress":
            return []
        inner = obj(data.get("message"))
        agent = string(data.get("agentId"))
        if not agent or inner.get("type") not in ("user", "assistant"):
            return []
        uuid = inner.get("uuid")
        if isinstance(uuid, str) and not self._seen.add(uuid):
            self.report.duplicates += 1
            return []
        stamped = {**record, **inner, "sessionId": record.get("sessionId")}
        track, before = self._open(stamped, agent, string(record.get("parentToolUseID")))
        return before + self._blocks(track, stamped, True)

    def _blocks(self, track: Track, record: dict[str, Any], child: bool) -> list[Event]:
        """What a message says. A list, not a generator: there are many small messages."""
        message = obj(record.get("message"))
        ts = when(record.get("timestamp"))
        content = message.get("content")
        if record.get("type") == "assistant":
            return self._assistant(track, message, content, ts)
        out: list[Event] = []
        answered = False
        if isinstance(content, list):
            for block in content:
                if isinstance(block, dict) and block.get("type") == "tool_result":
                    answered = True
                    out += self._result(track, record, block, ts)
            if answered and len(content) > 1:
                content = [b for b in content if obj(b).get("type") == "text"]
                answered = not text_of(content).startswith(INTERRUPTED)
        if not answered:
            text = text_of(content)
            if text.startswith(INTERRUPTED):
                out += track.end_open("cancelled", ts)
            else:
                out.append(self._said(track, record, text, ts, child))
        return out

    def _assistant(
        self, track: Track, message: dict[str, Any], content: object, ts: float | None
    ) -> list[Event]:
        said = [content] if isinstance(content, str) else []
        out: list[Event] = []
        own, usage = string(message.get("id")), message.get("usage")
        if (own, usage) != self._used:  # each record of a message repeats it
            self._used = (own, usage)
            out += track.usage(tokens(usage, inside=False), ts, message=own)
        for block in array(content):
            block = obj(block)
            kind = string(block.get("type"))
            if kind == "text":
                said.append(string(block.get("text")))
            elif kind in _CALLS:
                call, tool = string(block.get("id")), string(block.get("name")) or "unknown"
                out += track.call(call, tool, block.get("input"), message=own, ts=ts)
            elif kind.endswith("_tool_result"):
                out += track.end(
                    string(block.get("tool_use_id")),
                    "error" if block.get("is_error") else "ok",
                    result=result_of(block.get("content")),
                    ts=ts,
                )
        text = "\n".join(said)
        if text and not text.isspace():
            out.append(track.event("assistant_text", ts, text=text))
        return out

    def _result(
        self, track: Track, record: dict[str, Any], block: dict[str, Any], ts: float | None
    ) -> list[Event]:
        call = string(block.get("tool_use_id"))
        result = result_of(block.get("content"))
        outcome = outcome_of(record, block, text_of(result))
        more: dict[str, Any] = {}
        verdict = self._hooks.pop(call, None)
        if outcome == "blocked":
            verdict = hook_verdict("block", text_of(result))
        if verdict:
            more["verdict"] = verdict
        told = obj(record.get("toolUseResult"))
        if agent := string(told.get("agentId")):
            self._callers[agent] = call
        duration = told.get("durationMs")
        if isinstance(duration, (int, float)) and not isinstance(duration, bool):
            more["duration"] = duration / 1000
        return track.end(call, outcome, result=result, ts=ts, **more)

    def _said(
        self, track: Track, record: dict[str, Any], text: str, ts: float | None, child: bool
    ) -> Event:
        if record.get("isCompactSummary") or record.get("isVisibleInTranscriptOnly"):
            return track.event("system_message", ts, text=text, reason="summary")
        if record.get("isMeta"):
            return track.event("system_message", ts, text=text, reason="meta")
        if not child:
            return track.event("user_message", ts, text=text)
        if track.session in self._prompts:
            return track.event("system_message", ts, text=text)
        self._prompts.add(track.session)
        return track.event("turn_start", ts, reason="task", text=text)

    def _attachment(self, record: dict[str, Any]) -> Iterator[Event]:
        """Another guard's word: hooks that advised, blocked or stopped the agent."""
        note = obj(record.get("attachment"))
        tier = HOOK_TIERS.get(string(note.get("type")))
        call = string(note.get("toolUseID"))
        if tier is None or "ToolUse" not in string(note.get("hookEvent")):
            return
        text = text_of(note.get("content") or note.get("message") or note.get("blockingError"))
        verdict = hook_verdict(tier, text, string(note.get("hookName")))
        agent = self._agent(record)
        track = self._tracks.get(agent)
        if track is None:
            return
        if track.is_open(call):
            self._hooks[call] = verdict
        else:
            yield track.event(
                "system_message",
                when(record.get("timestamp")),
                text=text,
                call=call,
                verdict=verdict,
            )

    def _system(self, record: dict[str, Any]) -> Iterator[Event]:
        subtype = string(record.get("subtype"))
        if subtype == "init" and "" not in self._tracks:
            yield from self._open(record, "")[1]
        elif subtype in _QUIET_SYSTEM and "" in self._tracks:
            track = self._tracks[""]
            yield track.event(
                "system_message",
                when(record.get("timestamp")),
                text=string(record.get("content")),
                reason=str(subtype),
            )

    def _finished(self, record: dict[str, Any]) -> Iterator[Event]:
        """The last record of a stream: why it ended."""
        track, before = self._open(record, "")
        yield from before
        reason = record.get("terminal_reason") or record.get("subtype") or record.get("stop_reason")
        yield from track.end_open("pending")
        yield from track.used_in_all(money(record.get("total_cost_usd")))
        yield track.event("session_end", when(record.get("timestamp")), reason=string(reason))

    def _cost(self, record: dict[str, Any]) -> Iterator[Event]:
        """What the session has cost so far."""
        if "" in self._tracks:
            yield from self._tracks[""].used_in_all(money(record.get("totalCostUSD")))


_HANDLERS: dict[str, Callable[[_Reader, dict[str, Any]], Iterable[Event]]] = {
    "user": _Reader._message,
    "assistant": _Reader._message,
    "progress": _Reader._progress,
    "attachment": _Reader._attachment,
    "system": _Reader._system,
    "result": _Reader._finished,
    "cost-state": _Reader._cost,
}
