"""The console of one browser window, as a process of its own."""

from __future__ import annotations

import sys

from loopguard_console.opening import live_app
from loopguard_core.store.paths import default_store

WATCH, DECIDE = "watch", "decide"
_WHY_NOT = "Without --decide this window only watches."


def main(store: str, what: str) -> None:
    """Run the console on *store*; with *what* ``decide`` it may decide, else it only watches."""
    default_store()  # knows the password of *store*, where it has one
    live_app(store, only_watch="" if what == DECIDE else _WHY_NOT).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
