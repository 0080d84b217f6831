"""What a person calls a session: by the name that they gave it in the console, else by the one it came with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from loopguard_console.remembered import Remembered
from loopguard_core.store.contract import Session, Store, StoreError
from loopguard_core.store.paths import default_store, folder_of


def remembered() -> Remembered:
    """What the console remembers of this person; nothing where the default store is misnamed."""
    try:
        return Remembered(Path(folder_of(default_store()), "console.json"))
    except StoreError:
        return Remembered(None)


def called(sessions: Sequence[Session]) -> Sequence[Session]:
    """The same *sessions*; ``name`` is what the person calls each."""
    kept = remembered()
    for session in sessions:
        session.name = kept.name_of(session.session) or session.name
    return sessions


def sessions_of(store: Store | None) -> Sequence[Session]:
    """All sessions of *store*, the most recently active first, as the person calls them."""
    return [] if store is None else called(store.sessions())


def may_mean(sessions: Sequence[Session], named: str) -> list[list[Session]]:
    """Those that *named* can mean, the nearest meaning first.

    An id, the person's name, the name that a session came with, the beginning of an id.
    """
    kept = remembered()
    return [
        [s for s in sessions if s.session == named],
        [s for s in sessions if named and kept.name_of(s.session) == named],
        [s for s in sessions if s.name and s.name == named],
        [s for s in sessions if named and s.session.startswith(named)],
    ]
