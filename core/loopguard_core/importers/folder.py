"""A folder that holds one event a file, as OpenHands keeps its conversations, read as lines."""

from __future__ import annotations

import io
import json
import re

from loopguard_core import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

_EVENT = re.compile(r"(?:event-)?(\d+)(?:-[\w-]+)?\.json")


def event_files(folder: Path) -> list[Path]:
    """The events in *folder* in their order; empty where it holds other files."""
    numbered = []
    try:
        paths = list(folder.iterdir())
    except OSError:  # gone meanwhile, or not ours to look into
        return []
    for path in paths:
        found = _EVENT.fullmatch(path.name)
        if found is not None:
            numbered.append((int(found[1]), path))
        elif path.suffix == ".json" and path.is_file():
            return []
    return [path for _, path in sorted(numbered)]


class Joined(io.RawIOBase):
    """Files of one JSON document each, as lines."""

    def __init__(self, paths: list[Path]) -> None:
        self._lines = _lines(paths)
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._ready:
            self._ready = next(self._lines, b"")
        view = memoryview(buffer)
        size = min(len(view), len(self._ready))
        view[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size


def _lines(paths: list[Path]) -> Iterator[bytes]:
    for path in paths:
        content = files.read(str(path), follow=True).strip()
        if b"\n" in content:
            try:
                content = json.dumps(json.loads(content)).encode()
            except ValueError:
                content = content.replace(b"\n", b" ")
        yield content + b"\n"
