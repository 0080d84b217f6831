"""The store's events as our JSON Lines, session by session, in constant memory."""

from __future__ import annotations

from loopguard_core.events import encode
from loopguard_core.store.contract import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from loopguard_core.events import Event
    from loopguard_core.store.contract import Store


def export(store: Store, sessions: Iterable[str] = ()) -> Iterator[Event]:
    """All events of *sessions* (of all, the oldest first, where none is named) with what they carry:
    digests, verdicts, a human's part. What was redacted or cut stays so.

    Raises ``StoreError`` for a session that is not there.
    """
    for session in list(sessions) or [s.session for s in reversed(store.sessions())]:
        if not store.last(session):
            raise StoreError(f"{store.place} has no session {session!r}")
        yield from store.read_all(session)


def export_lines(store: Store, sessions: Iterable[str] = ()) -> Iterator[str]:
    """The same as lines of JSON, each with its line end."""
    for event in export(store, sessions):
        yield encode(event) + "\n"
