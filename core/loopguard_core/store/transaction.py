"""Several statements of one link in one write transaction."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.store.link import Link


class Transaction:
    """A write transaction of a link; nested ones belong to the outermost.

    Whatever exception leaves it, also one of a signal's handler, what it wrote is taken back.
    """

    __slots__ = ("_link",)

    def __init__(self, link: Link) -> None:
        self._link = link

    def __enter__(self) -> None:
        link = self._link
        link.lock.acquire()
        try:
            link.begin(self)
        except BaseException:
            self._let_go()
            raise

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None and self._link.owner is self:
                self._link.write("COMMIT")
        finally:
            self._let_go()

    def _let_go(self) -> None:
        link = self._link
        try:
            if link.owner is self:
                link.roll_back()
        finally:
            link.lock.release()
