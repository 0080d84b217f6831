"""Commands run in this process, as a person would type them; and waiting for what another process does."""

from __future__ import annotations

import contextlib
import io
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from loopguard_console.cli import main

_T = TypeVar("_T")

PATIENCE = 30.0


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        """The JSON objects it printed, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]


def command(store: Path | None, *args: str | Path) -> Done:
    """Run one command line on *store*."""
    out, err = io.StringIO(), io.StringIO()
    line = [] if store is None else ["--store", str(store)]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([*line, *map(str, args)])
        except SystemExit as stop:
            return Done(int(stop.code or 0), out.getvalue(), err.getvalue())
    raise AssertionError("the command line did not exit")


def until(look: Callable[[], _T | None], what: str) -> _T:
    """What *look* gives once it gives something; *what* is being waited for."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = look()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited {PATIENCE:.0f} s in vain for {what}")
