"""Full-text search over all sessions.

No agent pays for it: whoever searches brings the index up to date first, a slice of time at a time, by
reading what was appended since. It holds what the store holds, so nothing that was redacted. Where it
stands is the engine's affair: beside a file, in tables of a database.
"""

from __future__ import annotations

from contextlib import contextmanager

from loopguard_core.urls import is_url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from loopguard_core.store.contract import Store
    from loopguard_core.store.index import Index


def open_index(store: Store) -> Index:
    """The index of *store*, made where it is missing. Raises ``StoreError``."""
    if is_url(store.place):
        from loopguard_core.store.postgres.search import ServerIndex

        return ServerIndex(store)
    from loopguard_core.store.search_file import FileIndex

    return FileIndex(store)


@contextmanager
def going(store: Store, sessions: Sequence[str]) -> Iterator[None]:
    """In its block *store* forgets *sessions*, and no word of them stays in a file. Raises ``StoreError``.

    Who is killed in it leaves no word of what is gone: the index goes first, and finds again what is still in the store.
    """
    forget(store, sessions)
    try:
        yield
    finally:
        forget(store, sessions, again=True)
        store.tidy()


def forget(store: Store, sessions: Sequence[str], *, again: bool = False) -> None:
    """Take *sessions*, which *store* forgets, out of its index, if it has one. Raises ``StoreError``.

    Before the store does, and *again* behind it, since somebody may have searched meanwhile. A server forgets them
    there itself.
    """
    if is_url(store.place):
        return
    from loopguard_core.store import search_file

    search_file.forget(store, sessions, again=again)
