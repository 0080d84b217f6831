"""What a tool is to ``progress``, and what the names of its arguments say, whatever their values are.

Both are made once for many calls: an agent's calls of a tool mostly have the same arguments.
"""

from __future__ import annotations

from loopguard_core.policies.progress.arguments import ADDRESS, PATH, ROLES, Tidier, spellings
from loopguard_core.policies.progress.commands import NAMES, RANGE_FIELDS
from loopguard_core.traits.rules import SEARCHES, TELLS, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loopguard_core.traits import Traits

_SHELLS = frozenset(
    (
        "bash",
        "shell",
        "sh",
        "zsh",
        "terminal",
        "powershell",
        "exec",
        "console",
        "command",
        "cmd",
        "run",
    )
)
_SLEEPERS = frozenset(("sleep", "wait", "delay", "pause"))
#: Tools that hand out one thing after the other: a new id is a new thing.
_DRAINS = frozenset(
    (
        "receive",
        "recv",
        "pop",
        "next",
        "drain",
        "dequeue",
        "consume",
        "pull",
        "take",
        "shift",
        "claim",
        "lease",
    )
)
_CASELESS = frozenset(
    ("web", "search", "google", "bing", "duckduckgo", "wikipedia", "arxiv", "tavily", "brave")
)
_CASED = frozenset(("grep", "rg", "glob", "ripgrep", "code", "files", "file"))
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
#: Sets of names of arguments that are kept for a tool, names in one of them, and letters in a name.
_NAMED, _MANY_NAMES, _LONG_NAME = 64, 32, 64


class Tool:
    """What a tool is to this scheme: made once for each tool and its traits."""

    __slots__ = (
        "drains",
        "flags",
        "name",
        "named",
        "open",
        "poller",
        "reads",
        "search",
        "shell",
        "sleeper",
        "source",
        "tells",
        "tidier",
    )

    def __init__(self, tool: str, traits: Traits) -> None:
        found = words(tool)
        self.name = tool
        self.reads = bool(traits.readonly)
        self.drains = self.reads or not _DRAINS.isdisjoint(found)
        self.poller = bool(traits.poller)
        self.shell = not _SHELLS.isdisjoint(found) and not self.reads
        self.sleeper = not self.reads and bool(found) and found[0] in _SLEEPERS
        self.search = traits.readonly is not False and not SEARCHES.isdisjoint(found)
        self.tells = not self.reads and not TELLS.isdisjoint(found)
        #: Nobody says what it is, and its name does not either: the arguments may.
        said = (traits.readonly, traits.mutating, traits.bookkeeping, traits.poller)
        self.open = set(said) == {None}
        self.source = traits.source
        flags = "r" if traits.readonly else ""
        if traits.mutating:
            flags += "m"
        if traits.bookkeeping:
            flags += "b"
        if self.search:
            flags += "q"
        if self.tells:
            flags += "t"
        self.flags = flags
        self.tidier = Tidier(
            ignored=traits.ignored_fields,
            only=traits.identity_fields,
            paths=traits.path_fields,
            looks=self.reads or self.shell,
            thinks=bool(traits.bookkeeping),
            fold_case=self.search and not _CASELESS.isdisjoint(found) and _CASED.isdisjoint(found),
        )
        #: What was found for the latest sets of names of arguments.
        self.named: dict[tuple[Any, ...], Names] = {}

    def names(self, args: dict[Any, Any]) -> Names:
        """What the names of *args* say."""
        key = tuple(args)
        found = self.named.get(key)
        if found is None:
            found = Names(key, self)
            if len(key) <= _MANY_NAMES and all(map(_is_name, key)):
                if len(self.named) >= _NAMED:
                    self.named.clear()
                self.named[key] = found
        return found


class Names:
    """The arguments of a tool that matter in one way or another.

    ``flags``: the tool's, with those that the names suggest where nothing else is known of it. ``dropped``: they
    count for nothing. ``commands``: one may hold a shell command. ``typed``, ``stated``, ``asks``: they may hold
    what is typed into a program, a statement, what is searched for. ``paths`` name what is read, in order,
    ``ranged`` its lines. ``plain``: neither the tool nor they ask for more than the digest and the flags.
    """

    __slots__ = (
        "asks",
        "commands",
        "dropped",
        "flags",
        "paths",
        "plain",
        "ranged",
        "stated",
        "typed",
    )

    def __init__(self, names: tuple[Any, ...], tool: Tool) -> None:
        found = frozenset(names)
        self.flags = flags = tool.flags + _suggested(found) if tool.open else tool.flags
        self.dropped = tool.tidier.dropped(names)
        self.commands = (tool.shell or tool.open) and not found.isdisjoint(NAMES)
        self.typed = tuple(_TYPED & found)
        self.stated = () if tool.shell else tuple(_STATED & found)
        known = tool.search or "t" in flags or "m" in flags
        self.asks = () if known else tuple(_ASKS & found)
        reads = "r" in flags and not tool.search
        self.paths = tuple([n for n in names if ROLES.get(n) is PATH]) if reads else ()
        self.ranged = RANGE_FIELDS & found
        more = tool.poller or tool.sleeper or self.commands or self.asks or self.paths
        self.plain = not (more or "t" in flags)


def _is_name(name: object) -> bool:
    return type(name) is str and len(name) <= _LONG_NAME


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
