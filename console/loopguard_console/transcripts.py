"""Which transcripts are watched, and which folders are listened to for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from loopguard_core.importers.places import Found, find

#: agents as ``places`` calls them
AGENTS = ("Claude Code", "Codex", "Gemini CLI", "hermes-agent")
#: the folder that has an agent's transcripts and little else
_ROOTS = {
    "Claude Code": ("projects",),
    "Codex": ("sessions", "archived_sessions"),
    "Gemini CLI": ("tmp",),
}


def transcripts(paths: Sequence[Path]) -> list[Found]:
    """The transcripts in *paths*, or those in the usual places where none is named."""
    if not paths:
        return _usual_places()
    named: list[Path] = []
    for path in paths:
        if path.is_dir():
            named += (p for p in path.rglob("*") if p.suffix in (".jsonl", ".json", ".db"))
        else:
            named += (path, *_subagents(path))
    return [f for f in _files("", dict.fromkeys(named)) if not f.path.name.endswith(".meta.json")]


def folders(paths: Sequence[Path]) -> list[Path]:
    """The folders to listen to, with all that is below them: those named, or the agents' own.

    The ones that have much else below them are not among them; those transcripts are only looked at.
    """
    if paths:
        return sorted({p if p.is_dir() else p.parent for p in paths})
    return sorted({root for f in _usual_places() if (root := _root(f)) is not None})


def _root(found: Found) -> Path | None:
    names = _ROOTS.get(found.agent, ())
    return next((p for p in found.path.parents if p.name in names), None)


def _usual_places() -> list[Found]:
    """The transcripts of the agents that can be watched, in their usual places, subagents' too."""
    found = [f for f in find() if f.agent in AGENTS]
    for each in list(found):
        if each.agent == "Claude Code":
            found += _files(each.agent, _subagents(each.path))
        elif each.path.suffix == ".db":
            found.remove(each)
            found.append(_with_log(each))
    return found


def _subagents(path: Path) -> Iterator[Path]:
    """The transcripts of subagents that lie beside the one at *path*."""
    return (path.with_suffix("") / "subagents").rglob("agent-*.jsonl")


def _files(agent: str, paths: Iterable[Path]) -> Iterator[Found]:
    """*paths* as they are now; those that are gone are left out."""
    for path in paths:
        try:
            about = path.stat()
        except OSError:
            continue
        if path.is_file() and about.st_size:
            yield _with_log(Found(agent, path, about.st_mtime, about.st_size))


def _with_log(found: Found) -> Found:
    """A database changes when the log beside it does."""
    try:
        log = found.path.with_name(f"{found.path.name}-wal").stat()
    except OSError:
        return found
    changed = max(found.changed, log.st_mtime)
    return Found(found.agent, found.path, changed, found.size + log.st_size)
