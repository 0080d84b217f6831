"""The configured retention, carried out while a console is open, with a word about what went."""

from __future__ import annotations

import contextlib
import os
import threading
import time

from loopguard_console.render import counted, size
from loopguard_core.config import Config
from loopguard_core.store.contract import StoreError
from loopguard_core.store.door import open_store
from loopguard_core.store.prune import Going, carry_out, plan


class Retention(threading.Thread):
    """Forgets what the settings say, once. ``report`` tells what went, or why nothing did."""

    def __init__(self, place: str, config: Config) -> None:
        super().__init__(name="retention", daemon=True)
        self._place = place
        self._config = config
        self._left = threading.Event()
        self.gone: list[Going] = []
        self.failure = ""

    @property
    def wanted(self) -> bool:
        """True where a retention is configured at all."""
        return self._config.retention_days is not None or (
            self._config.retention_megabytes is not None
        )

    @property
    def report(self) -> str:
        """One line for the person; empty where nothing went and nothing failed."""
        if self.failure:
            return f"retention: {self.failure}"
        if not self.gone:
            return ""
        events = sum(g.session.seq for g in self.gone)
        weight = size(sum(g.size for g in self.gone))
        many = counted(len(self.gone), "session")
        return f"retention: {many} forgotten, {counted(events, 'event')}, {weight}B"

    def run(self) -> None:
        try:
            with contextlib.closing(open_store(self._place, create=False)) as store:
                made = plan(
                    store,
                    time.time(),
                    days=self._config.retention_days,
                    megabytes=self._config.retention_megabytes,
                    host=os.uname().nodename,
                )
                with contextlib.closing(carry_out(store, made)) as gone:
                    for going in gone:
                        self.gone.append(going)
                        if self._left.is_set():
                            break
        except StoreError as error:
            self.failure = str(error)

    def leave(self) -> str:
        """End after the session that is just being forgotten; the report."""
        self._left.set()
        if self.is_alive():
            self.join(10)
        return self.report
