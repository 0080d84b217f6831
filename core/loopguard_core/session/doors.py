"""The ways from a session to its store: for its calls, for much at once, and the spool beside a server."""

from __future__ import annotations

import os
import time

from loopguard_core import files
from loopguard_core.foreign import why
from loopguard_core.store.contract import StoreError
from loopguard_core.store.door import open_store
from loopguard_core.store.paths import default_store, folder_of, place_of, spool_file
from loopguard_core.urls import is_url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.config import Config
    from loopguard_core.store.contract import Store
    from loopguard_core.store.spool import Spool

#: Seconds that a server may take for some hundred events.
_MANY = 10.0
#: Seconds for which a server that could not be reached is not tried by the next process of this machine.
CALM = 3.0


class Doors:
    """How the store that *config* names, or *named*, is opened. Every method raises ``StoreError``.

    ``remote``: it is a server, which can be away; events wait in the spool then.
    """

    def __init__(self, config: Config, named: str = "") -> None:
        self._config = config
        self._named = named or config.store
        self.place = place_of(self._named) if self._named else default_store()
        self.remote = is_url(self.place)

    def store(self) -> Store:
        """The store as a session's calls use it. A server that just could not be reached is not tried."""
        if not self.remote:
            return self._opened(0.0)
        note = os.path.join(folder_of(self.place), "away")
        _check_calm(note)
        try:
            return self._opened(self._config.store_timeout_seconds)
        except StoreError as error:
            _note(note, str(error))
            raise

    def anew(self) -> Store:
        """The same, tried whatever the last one met."""
        return self._opened(self._config.store_timeout_seconds)

    def server(self, patience: float = _MANY) -> Store:
        """The store for work on many events, each step of which may take *patience* seconds."""
        return self._opened(patience)

    def spool(self) -> Spool:
        """Where events wait for the server, made where it is missing."""
        config = self._config
        try:
            from loopguard_core.store.spool import open_spool  # only where a server went away

            spool = open_spool(self.place, redaction=config.redaction, limit=config.payload_limit)
        except (OSError, ImportError) as error:
            raise self._unopened(error) from None
        assert spool is not None  # made, or an error
        return spool

    def left_behind(self) -> Spool | None:
        """The spool where there is one; None where nothing ever waited here."""
        if not (self.remote and os.path.exists(spool_file(self.place))):
            return None
        return self.spool()

    def _opened(self, patience: float) -> Store:
        config = self._config
        try:
            return open_store(
                self._named or None,
                redaction=config.redaction,
                limit=config.payload_limit,
                patience=patience,
            )
        except (OSError, ImportError) as error:
            raise self._unopened(error) from None

    def _unopened(self, error: Exception) -> StoreError:
        """Where a process has no file descriptor left, the code that opens a store cannot be loaded either."""
        return StoreError(f"the event store {self.place} cannot be opened: {why(error)}")


def _check_calm(note: str) -> None:
    """Raises what the last process met that tried, where that was a moment ago."""
    try:
        said = files.read(note).decode()
        age = time.time() - os.stat(note).st_mtime
    except (OSError, ValueError):
        return
    if said and 0 <= age < CALM:
        raise StoreError(said)


def _note(note: str, error: str) -> None:
    """Best effort: where it cannot be written, the next process tries the server itself."""
    try:
        files.replace(note, error.encode("utf-8", "replace"))
    except OSError:
        pass  # it costs that process its time only
