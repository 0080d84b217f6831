"""Which format an input is in: each importer looks at the content, the surest one reads."""

from __future__ import annotations

from importlib import import_module

from loopguard_core.importers.report import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.importers.base import Importer
    from loopguard_core.importers.head import Head
    from loopguard_core.importers.source import Source

#: module -> class; the order breaks a tie
_MODULES = {
    "ours": "Ours",
    "claude_code": "ClaudeCode",
    "codex": "Codex",
    "gemini": "Gemini",
    "copilot": "Copilot",
    "opencode": "Opencode",
    "pi": "Pi",
    "openhands": "OpenHands",
    "swe_agent": "SweAgent",
    "mini_swe_agent": "MiniSweAgent",
    "hermes": "Hermes",
    "openai_chat": "OpenAIChat",
    "inspect": "Inspect",
    "otel": "OTel",
    "langfuse": "Langfuse",
    "atif": "Atif",
}
_SURE_ENOUGH = 0.3


def importers() -> list[Importer]:
    """Every importer there is."""
    return [
        getattr(import_module(f"loopguard_core.importers.{module}"), name)()
        for module, name in _MODULES.items()
    ]


def detect(source: Source, format: str = "") -> Importer:
    """The importer for *source*, or the one named *format*.

    Raises ``Unreadable`` where no importer knows the content or none has that name.
    """
    known = importers()
    if format:
        for importer in known:
            if importer.name == format:
                return importer
        names = ", ".join(sorted(i.name for i in known))
        raise Unreadable(f"no format is called {format!r}: there are {names}")
    best, sure = known[0], 0.0
    for importer in known:
        confidence = _sniff(importer, source.head)
        if confidence > sure:
            best, sure = importer, confidence
    if sure < _SURE_ENOUGH:
        if source.head.kind == "lines" and not source.head.records and source.head.raw:
            return best
        titles = ", ".join(i.title for i in known)
        raise Unreadable(
            f"{source.place}: not a transcript of a format that is known here ({titles})"
        )
    return best


def _sniff(importer: Importer, head: Head) -> float:
    try:
        return importer.sniff(head)
    except (TypeError, ValueError, KeyError, AttributeError, IndexError, RecursionError):
        return 0.0  # a record that only looks like its format
