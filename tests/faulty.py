"""A store that fails when a test wants it to."""

from __future__ import annotations

from typing import Any

from loopguard_core.store.contract import Store, StoreError


class Faulty(Store):
    """Hands everything on to *store* until ``broken`` is set."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.place = store.place
        self.broken = False

    def _on(self, name: str, *args: Any, **kwargs: Any) -> Any:
        if self.broken:
            raise StoreError("the event store is locked by another process; try again")
        return getattr(self._store, name)(*args, **kwargs)

    def append(self, *args: Any, **kwargs: Any) -> Any:
        return self._on("append", *args, **kwargs)

    def extend(self, *args: Any, **kwargs: Any) -> Any:
        return self._on("extend", *args, **kwargs)

    def read(self, *args: Any, **kwargs: Any) -> Any:
        return self._on("read", *args, **kwargs)

    def last(self, *args: Any, **kwargs: Any) -> Any:
        return self._on("last", *args, **kwargs)

    def last_turn(self, *args: Any, **kwargs: Any) -> Any:
        return self._on("last_turn", *args, **kwargs)

    def standing(self, *args: Any, **kwargs: Any) -> Any:
        return self._on("standing", *args, **kwargs)

    def session(self, *args: Any, **kwargs: Any) -> Any:
        return self._on("session", *args, **kwargs)

    def requests(self, *args: Any, **kwargs: Any) -> Any:
        return self._on("requests", *args, **kwargs)

    def request(self, *args: Any, **kwargs: Any) -> Any:
        return self._on("request", *args, **kwargs)

    def changed(self, *args: Any, **kwargs: Any) -> Any:
        return self._on("changed", *args, **kwargs)

    def attached(self, *args: Any, **kwargs: Any) -> Any:
        return self._on("attached", *args, **kwargs)

    def close(self) -> None:
        self._store.close()
