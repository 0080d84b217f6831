"""What is known of a tool, and from where: configuration, MCP annotations, built-in tables, word rules.

Looking a tool up is on the agent's path: plain literals, one cached answer a tool.
"""

from __future__ import annotations

from loopguard_core.traits.rules import by_words
from loopguard_core.traits.tables import built_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FLAGS = ("readonly", "mutating", "bookkeeping", "poller")
FIELDS = ("identity_fields", "ignored_fields", "path_fields")
_CACHED = 4096


class Traits:
    """What a tool is, where somebody said so. ``None``: nobody did.

    ``readonly``: running it changes nothing. ``mutating``: it changes the world. ``bookkeeping``: notes
    and plans, transparent to a streak. ``poller``: asked again on purpose. ``identity_fields``: only
    these arguments matter. ``ignored_fields``: these never do. ``path_fields``: spelled as paths.
    ``source``: ``config``, ``mcp``, ``table`` or ``rule``.
    """

    __slots__ = (*FLAGS, *FIELDS, "source")

    def __init__(
        self,
        *,
        readonly: bool | None = None,
        mutating: bool | None = None,
        bookkeeping: bool | None = None,
        poller: bool | None = None,
        identity_fields: tuple[str, ...] = (),
        ignored_fields: tuple[str, ...] = (),
        path_fields: tuple[str, ...] = (),
        source: str = "rule",
    ) -> None:
        self.readonly = readonly
        self.mutating = mutating
        self.bookkeeping = bookkeeping
        self.poller = poller
        self.identity_fields = identity_fields
        self.ignored_fields = ignored_fields
        self.path_fields = path_fields
        self.source = source

    def __repr__(self) -> str:
        said = {n: getattr(self, n) for n in self.__slots__ if getattr(self, n) not in (None, ())}
        return f"Traits({said!r})"


UNKNOWN = Traits()


class TraitTable:
    """The traits of each tool: declared ones first, then what its MCP server says, then our tables and rules.

    A declaration need not be complete: what it leaves open is filled in from the next source, and
    ``source`` names the first that said anything. The same question gives the same object.
    """

    __slots__ = ("_cache", "_declared")

    def __init__(self, declared: Mapping[str, Traits] | None = None) -> None:
        self._declared = dict(declared or {})
        self._cache: dict[object, Traits] = {}

    def of(self, tool: str, annotations: Mapping[str, Any] | None = None) -> Traits:
        """The traits of *tool*; *annotations* are an MCP server's own (``readOnlyHint``, …)."""
        key: object = tool
        hints: tuple[tuple[str, bool], ...] = ()
        if annotations and (hints := _hints(annotations)):
            key = (tool, hints)
        found = self._cache.get(key)
        if found is None:
            if len(self._cache) >= _CACHED:
                self._cache.clear()
            found = self._cache[key] = self._find(tool, hints)
        return found

    def _find(self, tool: str, hints: tuple[tuple[str, bool], ...]) -> Traits:
        said = []
        declared = self._declared.get(tool)
        if declared is not None:
            said.append(declared)
        if hints:
            said.append(_from_hints(dict(hints)))
        table = built_in(tool)
        said.append(
            Traits(**table, source="table") if table else Traits(**by_words(tool), source="rule")
        )
        return _merged(said)


def _hints(annotations: Mapping[str, Any]) -> tuple[tuple[str, bool], ...]:
    names = ("readOnlyHint", "idempotentHint", "destructiveHint")
    return tuple((n, annotations[n]) for n in names if isinstance(annotations.get(n), bool))


def _from_hints(hints: Mapping[str, bool]) -> Traits:
    """MCP's hints. ``destructiveHint`` means something only where the tool is not read-only."""
    readonly = hints.get("readOnlyHint")
    mutating: bool | None = None
    if readonly:
        mutating = False
    elif readonly is False or hints.get("destructiveHint"):
        readonly, mutating = False, True
    return Traits(readonly=readonly, mutating=mutating, source="mcp")


def _merged(said: list[Traits]) -> Traits:
    if len(said) == 1:
        return said[0]
    merged: dict[str, Any] = {"source": said[0].source}
    for name in FLAGS:
        merged[name] = next((v for t in said if (v := getattr(t, name)) is not None), None)
    if said[0].readonly and said[0].mutating is None:
        merged["mutating"] = False
    if said[0].mutating and said[0].readonly is None:
        merged["readonly"] = False
    for name in FIELDS:
        merged[name] = next((v for t in said if (v := getattr(t, name))), ())
    return Traits(**merged)
