"""The one door to a store: what a person names is a path (SQLite) or a URL (PostgreSQL)."""

from __future__ import annotations

import os
import sys

from loopguard_core.redaction.redact import Redaction, Redactor
from loopguard_core.store import rows
from loopguard_core.store.contract import Absent, StoreError
from loopguard_core.store.paths import (
    default_store,
    is_there,
    machine_key,
    make_directory,
    misnamed,
    place_of,
)
from loopguard_core.urls import MISNAMED, is_url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopguard_core.store.contract import Store


def open_store(
    named: str | None = None,
    *,
    create: bool = True,
    read_only: bool = False,
    redaction: Redaction | None = None,
    limit: int = rows.LIMIT,
    patience: float = 0.0,
) -> Store:
    """The event store *named* by a path or by a ``postgresql://`` URL, or the default one.

    *create* makes what is missing: the file and its directory, or the tables. *read_only* writes nothing,
    and reads a file in a folder where nothing can be written. *redaction*: what is taken out beside what
    is known. *limit*: characters of one field above which it is stored cut. *patience*: seconds after which
    a call to a server that is open is given up, 0 for as long as the work may take. Raises ``Absent``,
    ``StoreError``.
    """
    place = place_of(named) if named else default_store()
    if place == MISNAMED:
        raise misnamed()
    if is_url(place):
        return _on_postgres(place, create, read_only, redaction, limit, patience)
    from loopguard_core.store.sqlite import SqliteStore

    if os.path.isdir(place):
        raise StoreError(f"{place} is a directory, not an event store; name a file")
    if create and not read_only:
        make_directory(place)
    elif not is_there(place):
        raise Absent(f"there is no event store at {place}")
    if read_only:
        return SqliteStore(place, create=False, read_only=True)
    redactor = Redactor(own_key(place), redaction)
    return SqliteStore(place, create=create, redactor=redactor, limit=limit)


def own_key(place: str) -> bytes:
    """The machine's key for the store at *place*, made on first use, but not beside what is no store.

    Raises ``StoreError``.
    """
    key = machine_key(place, create=False)
    if not key and not is_url(place) and os.path.exists(place):
        from loopguard_core.store.connecting import refuse_foreign

        refuse_foreign(place)
    return key or machine_key(place)


def _on_postgres(
    place: str,
    create: bool,
    read_only: bool,
    redaction: Redaction | None,
    limit: int,
    patience: float,
) -> Store:
    if sys.flags.no_site and "psycopg" not in sys.modules:
        import site  # a hook starts without it, and so without the packages beside us

        site.main()
    try:
        from loopguard_core.store.postgres.engine import PostgresStore
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("psycopg", "psycopg_binary"):
            raise
        raise StoreError(
            "a store on PostgreSQL needs psycopg, which is not installed here; "
            "pip install 'psycopg[binary]'"
        ) from None
    if read_only:
        return PostgresStore(place, create=False, read_only=True)
    redactor = Redactor(machine_key(place), redaction)
    return PostgresStore(place, create=create, redactor=redactor, limit=limit, patience=patience)
