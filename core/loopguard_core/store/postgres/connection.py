"""A connection to PostgreSQL that never hangs: every wait has an end on this side.

Whatever became of the server, or of the network between, a connection that did not answer in time is given
up, since an answer may still be on its way.
"""

from __future__ import annotations

import select
from typing import Any

import psycopg
from psycopg import generators
from psycopg.types.numeric import Int8Dumper
from psycopg.waiting import Ready

from loopguard_core.clock import monotonic
from loopguard_core.store.postgres.failures import TimeUp
from loopguard_core.store.postgres.resolving import addressed
from loopguard_core.urls import in_full

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator


class Connection(psycopg.Connection[Any]):
    """A connection whose waits end at ``until``, by the monotonic clock.

    With ``silence`` an answer may take longer, as long as so many seconds do not pass without a part of it.
    """

    until = 0.0
    silence = 0.0

    def wait(self, gen: Generator[Any, Any, Any], *_: Any, **__: Any) -> Any:
        """Run *gen* to its end. Raises ``TimeUp``, after which the connection is of no use."""
        try:
            wanted = next(gen)
            poll = select.poll()
            socket = self.pgconn.socket
            registered = 0
            while True:
                if wanted != registered:
                    poll.register(socket, _events(wanted))
                    registered = wanted
                left = self.until - monotonic()
                ready = poll.poll(left * 1000) if left > 0 else None
                if not ready:
                    raise TimeUp
                if self.silence:
                    self.until = monotonic() + self.silence
                wanted = gen.send(_answer(ready[0][1]))
        except StopIteration as over:
            return over.value
        except BaseException:
            if self.pgconn.transaction_status == psycopg.pq.TransactionStatus.ACTIVE:
                self.pgconn.finish()  # an answer is under way that nobody waits for
            raise


def _events(wanted: int) -> int:
    return (select.POLLIN if wanted & 1 else 0) | (select.POLLOUT if wanted & 2 else 0)


def _answer(ready: int) -> Ready:
    """What psycopg calls ready. An error is there to be read."""
    if not ready & select.POLLOUT:
        return Ready.R
    return Ready.RW if ready & ~select.POLLOUT else Ready.W


def connect(place: str, seconds: float) -> Connection:
    """A connection to *place*, within *seconds*. Raises ``psycopg.Error``."""
    until = monotonic() + seconds
    info = psycopg.conninfo.make_conninfo(in_full(place), client_encoding="UTF8")
    if "application_name" not in psycopg.conninfo.conninfo_to_dict(info):
        info = psycopg.conninfo.make_conninfo(info, application_name="loopguard")
    gen = generators.connect(addressed(info, until))
    try:
        socket, wanted = next(gen)
        while True:
            poll = select.poll()  # the socket may be another one for the next address
            poll.register(socket, _events(wanted))
            left = until - monotonic()
            ready = poll.poll(left * 1000) if left > 0 else []
            if not ready:
                raise TimeUp
            socket, wanted = gen.send(_answer(ready[0][1]))
    except StopIteration as over:
        made = Connection(over.value)
    made.autocommit = True
    made.prepare_threshold = 2
    made.until = until
    # One type for every number, so that a statement is prepared once.
    made.adapters.register_dumper(int, Int8Dumper)
    return made
