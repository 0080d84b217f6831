"""Is the database an event store, and of which version; bringing an empty or older one up to date."""

from __future__ import annotations

import os

from loopguard_core.store.contract import Absent, Denied, StoreError
from loopguard_core.store.postgres.keeping import make_months
from loopguard_core.store.postgres.link import BULK
from loopguard_core.store.postgres.schema import STEPS, VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.store.postgres.link import Link

#: "LpGd": what is locked while the tables are changed.
_LOCK = 0x4C704764
_THERE = """
SELECT EXISTS (SELECT 1 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = 'loopguard' AND c.relname = 'meta'),
  EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = 'loopguard'),
  current_setting('server_encoding'), current_setting('server_version_num')::integer"""
# of the log, or of the schema where there is none yet
_OWNER = """
SELECT coalesce((SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass('loopguard.event')),
  has_schema_privilege('loopguard', 'CREATE'))"""
_ROLES = """
SELECT coalesce(bool_or(has_schema_privilege(oid, 'loopguard', 'USAGE')), false)
FROM pg_roles WHERE rolname = 'loopguard_agent'"""
_META = "SELECT version, store FROM loopguard.meta"
_FIRST = """
CREATE SCHEMA IF NOT EXISTS loopguard;
CREATE TABLE loopguard.meta (version integer NOT NULL, store text NOT NULL)"""
_OLDEST_SERVER = 130_000


def check(link: Link, *, create: bool) -> str:
    """What names the store behind a new connection. *create* makes what is missing.

    Raises ``StoreError`` where there is no store, or one that this version cannot use.
    """
    here, schema, encoding, server = link.rows(_THERE)[0]
    place = link.place
    if server < _OLDEST_SERVER:
        raise StoreError(
            f"{place} is PostgreSQL {server // 10_000}, which is too old; use 13 or later"
        )
    if encoding != "UTF8":
        raise StoreError(
            f"the database {place} is kept in {encoding}; make one with ENCODING 'UTF8'"
        )
    if not here:
        if not create:
            if not schema:
                raise Absent(
                    f"there is no event store at {place}; the first agent or console makes it"
                )
            raise StoreError(
                f"the schema loopguard at {place} is no event store; name another database"
            )
        migrate(link)
    version, store = link.rows(_META)[0]
    if version < VERSION and create and _may(link):
        migrate(link)
    elif version != VERSION:
        older, newer = ("store", "loopguard") if version < VERSION else ("loopguard", "store")
        raise StoreError(
            f"the event store {place} has schema version {version}, this loopguard knows {VERSION}: "
            f"the {older} is older; "
            + (
                "open it once for writing, as the role that owns it"
                if newer == "loopguard"
                else "install a newer loopguard here"
            )
        )
    return str(store)


def migrate(link: Link) -> list[str]:
    """Bring the store up to ``VERSION``; the names of the steps taken. One transaction in all.

    Others that come at the same time wait for it under an advisory lock. Raises ``StoreError``.
    """
    with link.transaction(BULK):
        link.script(f"SET LOCAL lock_timeout = {int(BULK * 1000)}")
        link.rows("SELECT pg_advisory_xact_lock(%s)", (_LOCK,), BULK)
        here, schema, *_ = link.rows(_THERE)[0]
        if not here:
            if schema and link.rows(
                "SELECT 1 FROM pg_class WHERE relnamespace = 'loopguard'::regnamespace LIMIT 1"
            ):
                raise StoreError(
                    f"the schema loopguard at {link.place} is no event store; name another database"
                )
            link.script(_FIRST)
            link.write(
                "INSERT INTO loopguard.meta (version, store) VALUES (0, %s)", (os.urandom(8).hex(),)
            )
        done = int(link.rows(_META)[0][0])
        for _, script in STEPS[done:]:
            link.script(script)
        if done < VERSION:
            link.write("UPDATE loopguard.meta SET version = %s", (VERSION,))
        make_months(link)
        if done and done < VERSION and link.rows(_ROLES)[0][0]:
            _draw_roles(link)
    return [name for name, _ in STEPS[done:]]


def _may(link: Link) -> bool:
    """Whether this role may change the tables."""
    return bool(link.rows(_OWNER)[0][0])


def _draw_roles(link: Link) -> None:
    """Say anew who may do what, so that agents can go on; where this role may not, its owner has to."""
    from importlib.resources import files  # never on an agent's path

    script = files(__package__).joinpath("roles.sql").read_text(encoding="utf-8")
    link.script("SAVEPOINT roles")
    try:
        link.script(script.partition("BEGIN;")[2].rpartition("COMMIT;")[0])
    except Denied:
        link.script("ROLLBACK TO SAVEPOINT roles")
