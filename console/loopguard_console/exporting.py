"""Writing a session to files: our JSON Lines, a report, or a test. Nothing is ever replaced."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from loopguard_console.casefile import fixture, name_of, test_file
from loopguard_console.files import why
from loopguard_console.render import counted
from loopguard_console.report import Incident, markdown, page
from loopguard_core import files
from loopguard_core.events import Event, encode
from loopguard_core.recording.replay import Recording
from loopguard_core.verdict import Tier

KINDS = ("html", "markdown", "jsonl", "test")
_PAGE = 500
#: So many files may have one name, with a number behind it.
_NAMES = 1_000


class ExportError(Exception):
    """What could not be written, where, and why."""


def export(recording: Recording, kind: str, folder: Path) -> list[Path]:
    """Write *recording* as *kind* (one of ``KINDS``) into *folder*; the files, the main one first.

    Raises ``ExportError``.
    """
    name = name_of(recording.session or "recording")
    if kind == "html":
        return [_write(folder, name, ".html", page(recording))]
    if kind == "markdown":
        return [_write(folder, name, ".md", markdown(recording))]
    if kind == "jsonl":
        return [_write(folder, name, ".jsonl", (encode(e) + "\n" for e in events_of(recording)))]
    incident = Incident(recording)
    words = f"{counted(len(recording), 'call')} of {incident.title}"
    tier = Tier.HALT if max(recording.tiers, default=0) == Tier.HALT else Tier.BLOCK
    free = _free(
        folder, f"test_loop_{name}", ".py", ".jsonl"
    )  # the test finds its recording by its name
    test = _write(folder, free, ".py", [test_file(name, words, tier)])
    return [test, _write(folder, test.stem, ".jsonl", fixture(events_of(recording)))]


def picture(svg: str, folder: Path, name: str = "") -> Path:
    """Write a picture of the screen into *folder*; the file. Raises ``ExportError``."""
    return _write(folder, name.removesuffix(".svg") or "loopguard", ".svg", [svg])


def events_of(recording: Recording) -> Iterator[Event]:
    """All events of a recording, read in pages."""
    after = 0
    while found := recording.source.after(after, _PAGE):
        yield from found
        after = found[-1].seq or after + len(found)


def _free(folder: Path, name: str, *endings: str) -> str:
    """*name*, with a number behind it where a file with one of *endings* has it."""
    names = (name, *(f"{name}_{number}" for number in range(2, _NAMES)))
    for free in names:
        if not any(os.path.lexists(folder / f"{free}{ending}") for ending in endings):
            return free
    raise ExportError(f"{folder} is full of files called {name}")


def _write(folder: Path, name: str, ending: str, pieces: Iterable[str]) -> Path:
    path = folder / f"{name}{ending}"
    others = (f"{folder / name}_{number}{ending}" for number in range(2, _NAMES))
    try:
        return Path(files.create(str(path), (piece.encode() for piece in pieces), others=others))
    except FileExistsError:
        raise ExportError(f"{folder} is full of files called {name}") from None
    except OSError as error:
        raise ExportError(f"{path}: cannot be written: {why(error)}") from None
