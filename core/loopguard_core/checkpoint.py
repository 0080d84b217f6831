"""A cache of where a session's guard stood, so that a hook process need not fold a long turn again.

The log stays the only truth: what is kept here is derived from it, is checked against it (the event at
which it was taken must still stand there), and may be deleted at any time. It is bound to the store, the
session, the settings and the code, and sealed with the machine's key, since it is read without a parser
that could doubt it.
"""

from __future__ import annotations

import marshal
import os
import sys
import time

from loopguard_core import __version__, files
from loopguard_core.freezing import Unfreezable
from loopguard_core.hashing import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loopguard_core.guard import Guard
    from loopguard_core.store.contract import Store

_SEAL = 16
_FORMAT = 7
_STALE = 2 * 86_400.0


class Checkpoint:
    """The checkpoint of one session. *folder* is private to its owner; *key* is the machine's.

    *settings* is the digest of the configuration in force. Nothing here raises: without a checkpoint the
    turn is folded from the log.
    """

    def __init__(self, folder: str, key: bytes, store: Store, session: str, settings: str) -> None:
        self._store = store
        self._session = session
        self._settings = settings
        self._key = key[:64]
        name = blake2b(f"{store.place}\0{session}".encode("utf-8", "replace"), digest_size=12)
        self._path = os.path.join(folder, f"{name.hexdigest()}.state")
        self.seq = 0

    def load(self, guard: Guard) -> bool:
        """Bring a fresh *guard* to the checkpoint. False: there is none, and *guard* is as it was."""
        try:
            content = files.read(self._path)
        except OSError:
            return False
        seal, body = content[:_SEAL], memoryview(content)[_SEAL:]
        if seal != self._seal(body):
            return False
        bound, seq, ts, state = marshal.loads(body)  # sealed: nobody else wrote it
        if bound != self._bound(guard):
            return False
        there = self._store.read(self._session, after=seq - 1, limit=1, payloads=False)
        if not there or (there[0].seq, there[0].ts) != (seq, ts):
            return False
        try:
            guard.load(state)
        except (Unfreezable, AttributeError, TypeError, ValueError):
            return False
        self.seq = seq
        return True

    def save(self, guard: Guard) -> None:
        """Keep where *guard* stands."""
        seq = guard.seq
        there = self._store.read(self._session, after=seq - 1, limit=1, payloads=False)
        if not there or there[0].seq != seq:
            return
        try:
            body = marshal.dumps((self._bound(guard), seq, there[0].ts, guard.dump()))
        except (Unfreezable, AttributeError, TypeError, ValueError):
            return  # a policy with a state of its own kind is folded each time
        self.seq = seq
        self._write(self._seal(body) + body)

    def remove(self) -> None:
        """The session is over."""
        try:
            os.unlink(self._path)
        except OSError:
            pass  # there is none

    def _seal(self, body: bytes | memoryview) -> bytes:
        return blake2b(body, digest_size=_SEAL, key=self._key).digest()

    def _bound(self, guard: Guard) -> tuple[Any, ...]:
        """What must be the same for a checkpoint to hold."""
        made = [_changed(type(guard)), _changed(type(guard.policy))]
        names = [m.name for m in getattr(guard.policy, "members", [guard.policy])]
        return (
            _FORMAT,
            sys.hexversion,
            __version__,
            *made,
            self._settings,
            ",".join(names),
            guard.digester("checkpoint"),
            self._session,
        )

    def _write(self, content: bytes) -> None:
        files.keep(self._path, content)
        if self.seq < 200:  # now and then
            clear(os.path.dirname(self._path))


def _changed(kind: type) -> int:
    """When the source of a class was last changed; 0 where it has none."""
    try:
        return os.stat(sys.modules[kind.__module__].__file__ or "").st_mtime_ns
    except (OSError, KeyError, AttributeError):
        return 0


def clear(folder: str, seconds: float = _STALE) -> None:
    """Take away what was left in *folder* by sessions that never ended. Best effort: nothing is raised."""
    oldest = time.time() - seconds
    try:
        with os.scandir(folder) as entries:
            left = [e.path for e in entries if e.stat(follow_symlinks=False).st_mtime < oldest]
    except OSError:
        return
    for path in left:
        try:
            os.unlink(path)
        except OSError:
            pass  # a folder that somebody made, or gone already
