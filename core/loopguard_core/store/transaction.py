"""Several statements of one link in one write transaction."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.store.link import Link


class Transaction:
    """A write transaction of a link; nested ones belong to the outermost."""

    __slots__ = ("_link", "_outermost")

    def __init__(self, link: Link) -> None:
        self._link = link
        self._outermost = False

    def __enter__(self) -> None:
        link = self._link
        link.lock.acquire()
        try:
            if not link.in_transaction:
                link.write("BEGIN IMMEDIATE")
                self._outermost = True
        except BaseException:
            link.lock.release()
            raise

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        link = self._link
        try:
            if not self._outermost:
                return
            try:
                if kind is None:
                    link.write("COMMIT")
            finally:
                link.roll_back()
        finally:
            link.lock.release()
