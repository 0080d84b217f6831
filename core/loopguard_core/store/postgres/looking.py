"""What a person asks of the database itself: how it stands, and SQL over the views."""

from __future__ import annotations

import os
from contextlib import closing

import psycopg

from loopguard_core.clock import monotonic
from loopguard_core.store.contract import StoreError
from loopguard_core.store.postgres.link import Link
from loopguard_core.store.postgres.migrations import check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LOOK = """
SELECT current_setting('server_version'), current_user::text,
  extract(epoch FROM clock_timestamp())::double precision,
  coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false),
  inet_server_addr() IS NULL OR inet_server_addr() <<= '127.0.0.0/8' OR inet_server_addr() = '::1',
  has_table_privilege('loopguard.event', 'INSERT'),
  (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
  current_setting('max_connections')::integer,
  (SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class
   WHERE relnamespace = 'loopguard'::regnamespace AND relkind = 'r')"""
_VIEWS = """
SELECT table_name::text, string_agg(column_name::text, ', ' ORDER BY ordinal_position)
FROM information_schema.columns WHERE table_schema = 'loopguard' AND table_name = ANY(%s)
GROUP BY table_name"""
#: Seconds that a person's query may take.
PATIENCE = 60.0


class Look:
    """How the database stands: its version, our user, its clock, the way there, rights, connections, size."""

    __slots__ = (
        "bytes",
        "clock",
        "connections",
        "encrypted",
        "local",
        "most",
        "seconds",
        "server",
        "user",
        "writes",
    )

    def __init__(self, row: tuple[Any, ...], seconds: float) -> None:
        self.server, self.user, self.clock, self.encrypted, self.local = row[:5]
        self.writes, self.connections, self.most, self.bytes = row[5:]
        self.seconds = seconds


def look(place: str) -> Look:
    """How the database at *place* stands. Raises ``StoreError``."""
    with closing(_reading(place)) as link:
        link.open()
        row = link.rows(_LOOK)[0]
        began = monotonic()
        link.rows("SELECT 1")
        return Look(row, monotonic() - began)


def views(place: str, names: tuple[str, ...]) -> dict[str, list[str]]:
    """The columns of the views called *names*. Raises ``StoreError``."""
    with closing(_reading(place)) as link:
        found: dict[str, str] = dict(link.rows(_VIEWS, (list(names),)))
    return {name: found[name].split(", ") for name in names if name in found}


class Unanswerable(Exception):
    """A query that the database does not understand or does not allow: its own words."""


def ask(place: str, query: str, limit: int) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The columns and the first *limit* rows of *query*, which can only read.

    Times are shown in this machine's zone. Raises ``Unanswerable``, ``StoreError``.
    """
    with closing(_reading(place)) as link:
        link.open()
        for setting in ("search_path = loopguard", _time_zone()):
            if setting:
                try:
                    link.script(f"SET {setting}")
                except StoreError:
                    continue  # a zone that the server does not know: its own
        try:
            return link.first_rows(query, limit, PATIENCE)
        except psycopg.Error as error:
            raise Unanswerable(str(error).strip().splitlines()[0][:300]) from None


def _reading(place: str) -> Link:
    return Link(place, read_only=True, opened=lambda link: check(link, create=False))


def _time_zone() -> str:
    named = os.environ.get("TZ", "") or os.path.realpath("/etc/localtime").partition("zoneinfo/")[2]
    known = named and all(c.isalnum() or c in "/_+-" for c in named)
    return f"TimeZone = '{named}'" if known else ""
