"""All links of this process: those that share a file, and those that may not cross a fork."""

from __future__ import annotations

import os
from _thread import allocate_lock
from _weakref import ref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.store.link import Link

_links: list[ref[Link]] = []
#: Held by who adds to the list of links, for no longer than that.
_listing = allocate_lock()
_held: list[Link] = []


def add(link: Link) -> None:
    """Remember *link* for as long as it is there."""
    with _listing:
        _links[:] = [r for r in _links if r() is not None]
        _links.append(ref(link))


def beside(link: Link) -> list[Link]:
    """The other links to the same file, by whichever of its names."""
    found = [other for r in tuple(_links) if (other := r()) is not None]
    place = os.path.realpath(link.path)
    return [o for o in found if o is not link and os.path.realpath(o.path) == place]


def let_go_of_stale(link: Link) -> None:
    """Have other connections of this process to the file of *link* let go of a log that is not beside it any more.

    SQLite reads on in the log that one of them holds, for all of the process.
    """
    for other in beside(link):
        if other.is_stale():
            other.join_in("taken away", kept=False)


def _unheld() -> list[Link]:
    """The links whose locks the fork does not hold yet."""
    return [link for r in tuple(_links) if (link := r()) is not None and link not in _held]


def _before_fork() -> None:
    """Keep every other thread out of SQLite: what it locks inside, a child could never have again.

    The list is held as well, so that none begins to open a store; but not while a link is waited for, since
    whoever holds that may be about to open another.
    """
    while True:
        for link in _unheld():
            link.before_fork()
            _held.append(link)
        _listing.acquire()
        if not _unheld():
            return
        _listing.release()


def _after_fork() -> None:
    for link in _held:
        link.after_fork()
    _held.clear()
    _listing.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
