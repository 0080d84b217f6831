"""What an examination found."""

from __future__ import annotations

from typing import NamedTuple

OK, NOTE, WRONG = "ok", "note", "wrong"


class Finding(NamedTuple):
    """One thing that was looked at. ``state``: ``ok``, ``note`` (worth knowing) or ``wrong``.

    ``mend`` says what to do where it is wrong. All texts may hold foreign text.
    """

    area: str
    state: str
    what: str
    mend: str = ""
