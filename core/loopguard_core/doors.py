"""The ways from a session to its store: for its calls, for much at once, and the spool beside a server."""

from __future__ import annotations

from loopguard_core.store.door import open_store
from loopguard_core.store.paths import default_store, place_of
from loopguard_core.store.urls import is_url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.config import Config
    from loopguard_core.store.contract import Store
    from loopguard_core.store.spool import Spool


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
        """The store as a session's calls use it."""
        config = self._config
        return open_store(
            self._named or None, redaction=config.redaction, limit=config.payload_limit
        )

    def server(self) -> Store:
        """The store for work on many events, which may take its time."""
        return self.store()

    def spool(self) -> Spool:
        """Where events wait for the server, made where it is missing."""
        from loopguard_core.store.spool import open_spool  # only where a server went away

        config = self._config
        spool = open_spool(self.place, redaction=config.redaction, limit=config.payload_limit)
        assert spool is not None  # made, or an error
        return spool

    def left_behind(self) -> Spool | None:
        """The spool where there is one; None where nothing ever waited here."""
        if not self.remote:
            return None
        from loopguard_core.store.spool import open_spool

        config = self._config
        return open_spool(
            self.place, create=False, redaction=config.redaction, limit=config.payload_limit
        )
