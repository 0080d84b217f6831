"""What is known of a tool, and from where."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FLAGS = ("readonly", "mutating", "bookkeeping", "poller")
FIELDS = ("identity_fields", "ignored_fields", "path_fields")


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
    """The traits of each tool: declared ones first, else what the built-in tables and rules say."""

    __slots__ = ("_declared",)

    def __init__(self, declared: Mapping[str, Traits] | None = None) -> None:
        self._declared = dict(declared or {})

    def of(self, tool: str, annotations: Mapping[str, Any] | None = None) -> Traits:
        """The traits of *tool*; *annotations* are an MCP server's own (``readOnlyHint``, …)."""
        return self._declared.get(tool, UNKNOWN)
