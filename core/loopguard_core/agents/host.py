"""What a command-line agent says to its hook, and what it understands as an answer.

An adapter is pure: the hook's input becomes a ``Heard``, a decision becomes exactly the JSON that this
agent understands. A field that one agent needs makes another let the call run, so no two agents share
an answer unless they were seen to share it. Everything that touches the store is in ``hook``.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from loopguard_core.session.live import LiveSession

# What happened, as the hook process acts on it.
START = "start"  # the session starts, or goes on in a new process
END = "end"  # the session (or the subagent's) ends
TURN = "turn"  # a turn begins
BEFORE = "before"  # a tool is about to run
AFTER = "after"  # a tool has run
SETTLED = "settled"  # every call of one assistant message has its result
NATIVE = "native"  # the agent's own guard spoke up
NOTHING = "nothing"  # nothing that concerns a guard


#: What stands for a tool's name, under each of its names, in an input that lacks it.
_UNKNOWN = {"tool_name": "unknown", "toolName": "unknown"}


class HostError(ValueError):
    """The agent's hook input is not what its adapter knows: what is missing."""


class Heard:
    """One hook event in our words.

    ``session`` names the guarded session, ``parent`` the one it was started by (a
    subagent's), ``name`` what kind of subagent it is.
    ``outcome`` is one of ``events.OUTCOMES``; ``duration`` in seconds; ``human`` is False for a turn that
    the host began on its own. ``settled`` lists the calls of a message, ``foreign`` is the verdict of the agent's
    own guard. ``event`` is the host's own name.
    """

    __slots__ = (
        "args",
        "call",
        "cwd",
        "duration",
        "event",
        "foreign",
        "human",
        "kind",
        "name",
        "outcome",
        "parent",
        "reason",
        "result",
        "resumed",
        "session",
        "settled",
        "text",
        "tool",
    )

    def __init__(self, kind: str, event: str, session: str) -> None:
        self.kind = kind
        self.event = event
        self.session = session
        self.parent = ""
        self.name = ""
        self.cwd = ""
        self.call = ""
        self.tool = ""
        self.args: object = None
        self.result: object = None
        self.outcome = "ok"
        self.duration: float | None = None
        self.text = ""
        self.human = True
        self.resumed = False
        self.reason = ""
        self.settled: list[Settled] = []
        self.foreign: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"Heard({self.kind!r}, {self.event!r}, {self.session!r}, call={self.call!r})"


class Settled:
    """One call of a message whose calls all have their results, in whatever way."""

    __slots__ = ("args", "call", "outcome", "result", "tool")

    def __init__(self, call: str, tool: str, args: object, result: object, outcome: str) -> None:
        self.call = call
        self.tool = tool
        self.args = args
        self.result = result
        self.outcome = outcome


class Answer:
    """What a decision amounts to for an agent: the part of it that an adapter needs.

    ``run`` with ``args`` None leaves the call as it is. ``message`` is for the model: the refusal, or a
    note beside a call that runs. ``notice`` is for the person at the agent, never for the model.
    """

    __slots__ = ("args", "ends_turn", "message", "notice", "run")

    def __init__(
        self,
        run: bool,
        message: str = "",
        *,
        args: object = None,
        ends_turn: bool = False,
        notice: str = "",
    ) -> None:
        self.run = run
        self.message = message
        self.args = args
        self.ends_turn = ends_turn
        self.notice = notice


class Adapter:
    """One agent's protocol.

    ``limit``: seconds it waits for a hook when nothing else is configured. ``kinds``: the host's names of
    events, with what each is to a guard.
    """

    name = ""
    limit = 60.0
    kinds: Mapping[str, str] = {}

    def hear(self, data: Mapping[str, Any], event: str) -> Heard:
        """The hook's input in our words. *event* is the host's name for it where the input has none.

        Raises ``HostError`` where the input lacks what it must have.
        """
        raise NotImplementedError

    def guess(self, data: Mapping[str, Any], event: str) -> Heard:
        """As ``hear``, for *data* of which something is missing. What has no name of an event is a call."""
        calls = next(name for name, kind in self.kinds.items() if kind == BEFORE)
        event = text(data, "hook_event_name") or event or calls
        try:
            return self.hear({**_UNKNOWN, **data}, event)
        except Exception:  # noqa: BLE001 - whatever it cannot be heard for
            heard = Heard(self.kinds.get(event, NOTHING), event, "")
            heard.cwd = text(data, "cwd")
            return heard

    def before(self, heard: Heard, answer: Answer) -> dict[str, Any] | None:
        """What to print for a call that is about to run. None prints nothing: the call runs."""
        raise NotImplementedError

    def after(self, heard: Heard, advice: str) -> dict[str, Any] | None:
        """What to print when a call has run and there is *advice* for the model."""
        raise NotImplementedError

    def folder(self, heard: Heard, environ: Mapping[str, str]) -> str:
        """The project whose configuration holds: not what a model may have changed to meanwhile."""
        return heard.cwd

    def exports(self, heard: Heard, environ: Mapping[str, str]) -> str:
        """A file that takes ``export NAME=value`` lines for the agent's shells, or the empty string."""
        return ""

    def pid(self, environ: Mapping[str, str]) -> int:
        """The agent's process id where its environment says so, else 0."""
        return 0


def settle(live: LiveSession, calls: Iterable[Settled]) -> None:
    """End those of *calls* that are still open: they have no event of their own, somebody else denied them."""
    waiting = set(live.guard.open_calls())
    for each in calls:
        if each.call in waiting:
            decision = live.recall(each.call, each.tool, each.args)
            live.after(decision, each.result, outcome=each.outcome)


def beside_result(heard: Heard, advice: str) -> dict[str, Any] | None:
    """How Claude Code, Codex and Gemini CLI take *advice* beside a result."""
    if not advice:
        return None
    return {"hookSpecificOutput": {"hookEventName": heard.event, "additionalContext": advice}}


def text(data: Mapping[str, Any], name: str) -> str:
    """The field *name* where it is a string, else the empty string."""
    value = data.get(name)
    return value if isinstance(value, str) else ""


def need(data: Mapping[str, Any], name: str) -> str:
    """The string field *name*. Raises ``HostError`` where it is absent or empty."""
    value = data.get(name)
    if isinstance(value, str) and value:
        return value
    raise HostError(f"the hook's input has no {name}")
