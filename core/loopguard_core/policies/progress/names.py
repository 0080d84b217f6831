"""What the names of a call's arguments say of the call, whatever their values are."""

from __future__ import annotations

from loopguard_core.policies.progress.arguments import ADDRESS, PATH, ROLES, spellings
from loopguard_core.policies.progress.commands import NAMES, RANGE_FIELDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loopguard_core.policies.progress.arguments import Tidier

#: Arguments that hold what a message says.
BODIES = frozenset(
    (
        "text",
        "message",
        "question",
        "body",
        "content",
        "msg",
        "prompt",
        "comment",
        "note",
        "subject",
        "markdown",
        "html",
        "blocks",
    )
)
#: Arguments that make a tool a search, whatever its name.
_ASKS = frozenset(spellings(("query", "q", "search_query", "search_term", "keywords", "pattern")))
#: Arguments that make a tool of which nothing else is known one that keeps notes, reads, tells somebody.
_NOTED = frozenset(("todos", "todo_list", "plan", "thought", "thoughts"))
_ADDRESSES = frozenset(name for name, role in ROLES.items() if role is ADDRESS)
_READ_BY = RANGE_FIELDS | frozenset(name for name, role in ROLES.items() if role in (PATH, ADDRESS))
_RECEIVERS = frozenset(
    (
        "to",
        "recipient",
        "recipients",
        "receiver",
        "channel",
        "session",
        "peer",
        "chat_id",
        "chatId",
        "user",
        "agent",
    )
)
#: What is typed into a program that runs.
_TYPED = frozenset(("chars", "input", "keys", "data", "text", "stdin"))
#: Arguments that hold a statement.
_STATED = frozenset(("sql", "query", "statement", "q"))


class Names:
    """The arguments of a tool that matter in one way or another, and what their names suggest.

    An agent's calls of a tool mostly have the same arguments, so that this is made once for many calls.
    ``dropped``: they count for nothing. ``commands``, ``typed``, ``stated``, ``asks``: they may hold a shell
    command, what is typed into a program, a statement, what is searched for. ``paths`` are in order, ``ranged``
    name lines. ``suggested``: the flags of a tool of which nothing else is known.
    """

    __slots__ = (
        "asks",
        "commands",
        "dropped",
        "paths",
        "ranged",
        "stated",
        "suggested",
        "typed",
    )

    def __init__(self, names: tuple[Any, ...], tidier: Tidier, *, shell: bool) -> None:
        found = frozenset(names)
        self.dropped = tidier.dropped(names)
        self.commands = not found.isdisjoint(NAMES)
        self.typed = tuple(_TYPED & found)
        self.stated = () if shell else tuple(_STATED & found)
        self.asks = tuple(_ASKS & found)
        self.paths = tuple([name for name in names if ROLES.get(name) is PATH])
        self.ranged = RANGE_FIELDS & found
        self.suggested = _suggested(found)


def _suggested(names: frozenset[Any]) -> str:
    if not names:
        return ""
    if names <= _NOTED:
        return "b"
    if names <= _READ_BY and not (names.isdisjoint(RANGE_FIELDS) and names.isdisjoint(_ADDRESSES)):
        return "r"
    if not names.isdisjoint(_RECEIVERS) and not names.isdisjoint(BODIES):
        return "t"
    return ""
