"""What the console remembers of a person: theme, bell, pins, names, and notes used before.

One small JSON file, 0600, beside the default store. It holds no truth about agents: where it is missing,
broken or cannot be written, the console works as if it were new, and the person is told once.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loopguard_console.files import why
from loopguard_console.viewing.layout import Layout
from loopguard_core import files

NOTES = 20  # notes kept for each project
BOOKMARKS = 500  # kept for each session
BOOKMARKED = 200  # sessions whose bookmarks are kept


class Remembered:
    """The file at *place*, read once and written at each change; nowhere where *place* is None.

    ``warn`` is called with a line, once, where it cannot be written.
    """

    def __init__(self, place: Path | None) -> None:
        self.warn: Callable[[str], object] = lambda line: None
        self._warned = False
        self._place = place
        self._data: dict[str, Any] = {}
        if place is not None:
            with contextlib.suppress(OSError, ValueError, RecursionError):
                found = json.loads(files.read(str(place), follow=True))
                self._data = found if isinstance(found, dict) else {}

    def text(self, name: str) -> str:
        """A word that was kept, such as the theme."""
        value = self._data.get(name)
        return value if isinstance(value, str) else ""

    def keep(self, name: str, value: str) -> None:
        """Keep a word."""
        if self._data.get(name) != value:
            self._data[name] = value
            self._write()

    def table(self, name: str) -> object:
        """A table that the person wrote into the file by hand, such as the keys."""
        return self._data.get(name)

    @property
    def layout(self) -> Layout:
        """The sizes of the panes as the person set them."""
        return Layout.read(self._data.get("layout"))

    def keep_layout(self, layout: Layout, *, write: bool = True) -> None:
        """Keep the sizes of the panes; without *write* until the console ends only."""
        self._data["layout"] = {name: size for name, size in layout._asdict().items() if size}
        if write:
            self._write()

    # -- sessions ----------------------------------------------------------------------------------

    def _table(self, name: str) -> dict[str, Any]:
        table = self._data.setdefault(name, {})
        if not isinstance(table, dict):
            table = self._data[name] = {}
        return table

    def _word(self, table: str, key: str) -> str:
        kept = self._table(table).get(key)
        return kept if isinstance(kept, str) else ""

    def _list(self, table: str, key: str) -> list[object]:
        kept = self._table(table).get(key)
        return kept if isinstance(kept, list) else []

    def name_of(self, session: str) -> str:
        """The name that the person gave a session, empty for none."""
        return self._word("names", session)

    def rename(self, session: str, name: str) -> None:
        """Call a session *name* from now on; empty: by its own name again."""
        if name:
            self._table("names")[session] = name[:80]
        else:
            self._table("names").pop(session, None)
        self._write()

    def pinned(self, session: str) -> bool:
        """Whether a session stands at the top of the list."""
        return session in self._table("pins")

    def pin(self, session: str) -> bool:
        """Pin a session or let it go; whether it is pinned now."""
        pins = self._table("pins")
        now = session not in pins
        if now:
            pins[session] = True
        else:
            del pins[session]
        self._write()
        return now

    def forget(self, session: str) -> None:
        """Nothing is left to remember of a session that was deleted."""
        self._table("names").pop(session, None)
        self._table("pins").pop(session, None)
        self._table("bookmarks").pop(session, None)
        self._write()

    def judged(self, session: str) -> str:
        """The policy with which the person judges a recording, as typed; empty for its own."""
        return self._word("judged", session)

    def judge(self, session: str, policy: str) -> None:
        """Judge a recording with *policy* from now on; empty: with its own again."""
        self._keep_of("judged", session, policy[:2_000])

    def bookmarks(self, session: str) -> list[int]:
        """The numbers of the events that the person marked in a session."""
        return [n for n in self._list("bookmarks", session) if isinstance(n, int)]

    def keep_bookmarks(self, session: str, seqs: list[int]) -> None:
        """Keep what is marked in a session now."""
        self._keep_of("bookmarks", session, seqs[:BOOKMARKS])

    def _keep_of(self, what: str, session: str, value: object) -> None:
        """Keep *value* for a session, or nothing where it is empty; those kept longest ago are dropped."""
        table = self._table(what)
        table.pop(session, None)
        if value:
            table[session] = value
        for old in list(table)[:-BOOKMARKED]:
            del table[old]
        self._write()

    # -- notes -------------------------------------------------------------------------------------

    def notes(self, project: str) -> list[str]:
        """Notes that were sent to models in *project* (a folder), the last first."""
        return [n for n in self._list("notes", project) if isinstance(n, str)]

    def noted(self, project: str, note: str) -> None:
        """Keep a note that was sent."""
        if note:
            others = [n for n in self.notes(project) if n != note]
            self._table("notes")[project] = [note, *others][:NOTES]
            self._write()

    def _write(self) -> None:
        place = self._place
        if place is None:
            return
        try:
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            files.replace(str(place), json.dumps(self._data).encode())
        except OSError as error:
            if not self._warned:
                self._warned = True
                self.warn(
                    "What you mark, name and choose here is gone when this console ends: "
                    f"{place} cannot be written: {why(error)}"
                )
