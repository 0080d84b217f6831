"""What an error of PostgreSQL means for a person: what is wrong with the store, and what to do."""

from __future__ import annotations

import psycopg
from psycopg import errors

from loopguard_core.store.contract import StoreError
from loopguard_core.urls import has_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    Words = tuple[tuple[type[psycopg.Error], ...], str, str]

#: The first that fits, the particular before the general.
_WORDS: tuple[Words, ...] = (
    (
        (errors.InvalidPassword, errors.InvalidAuthorizationSpecification),
        "does not let this user in",
        "see user and password: in the URL, PGPASSWORD, ~/.pgpass or a service file",
    ),
    (
        (errors.InvalidCatalogName,),
        "has no such database",
        "make it (createdb), or name another one",
    ),
    (
        (errors.InsufficientPrivilege,),
        "does not allow this user to do that",
        "connect as the role that the work needs, or have it granted",
    ),
    (
        (errors.ReadOnlySqlTransaction,),
        "is read-only",
        "name the primary server: target_session_attrs=read-write chooses it",
    ),
    (
        (errors.TooManyConnections,),
        "has no connection left",
        "raise max_connections, or put a connection pooler in front of it",
    ),
    (
        (errors.DiskFull, errors.OutOfMemory),
        "cannot grow: its machine is full",
        "make room there, or loopguard-console prune",
    ),
    (
        (errors.InvalidSqlStatementName,),
        "forgets what was prepared",
        "put the connection pooler in front of it into session mode",
    ),
    (
        (errors.CannotConnectNow, errors.AdminShutdown, errors.CrashShutdown),
        "is starting or going down",
        "wait a moment",
    ),
    (
        (errors.QueryCanceled, errors.LockNotAvailable, errors.DeadlockDetected),
        "did not answer in time",
        "see what holds it: pg_stat_activity",
    ),
    (
        (
            *(errors.UndefinedTable, errors.UndefinedColumn, errors.InvalidSchemaName),
            *(errors.UndefinedFunction, errors.InvalidColumnReference),
        ),
        "lacks a part of the event store, or another version has changed it",
        "begin this program anew; loopguard-console doctor looks closer",
    ),
)
#: What libpq says where no server has answered: a part of its words, and ours.
_SAID = (
    ("the database system is", *_WORDS[7][1:]),
    ("Connection refused", "cannot be reached: nothing listens there", "start it, or see the address"),
    ("No such file or directory", "cannot be reached: nothing listens there", "start it, or see the address"),
    ("could not translate host name", "cannot be reached: its host is unknown", "see the address"),
    ("failed to resolve host", "cannot be reached: its host is unknown", "see the address"),
    ("Network is unreachable", "cannot be reached", "see the network"),
    ("No route to host", "cannot be reached", "see the network"),
    ("no password supplied", "asks for a password", "put it into PGPASSWORD, ~/.pgpass or a service file"),
    ("password authentication failed", *_WORDS[0][1:]),
    ("certificate", "shows a certificate that does not hold", "see sslmode and sslrootcert"),
    ("SSL", "does not agree on encryption", "see sslmode"),
    ("too many clients", *_WORDS[4][1:]),
    ("too many connections", *_WORDS[4][1:]),
    ("connection slots", *_WORDS[4][1:]),
    ("does not exist", "has no such user or database", "make it, or name another one"),
    ("closed the connection", "cut the connection", "see whether it runs, and the network between"),
    ("no pg_hba.conf entry", "does not let this user in from here", "have pg_hba.conf allow it"),
)  # fmt: skip


#: What the server says of a connection that it ended: what was asked was not done.
_ENDED = (
    *(errors.AdminShutdown, errors.CrashShutdown),
    *(errors.IdleSessionTimeout, errors.IdleInTransactionSessionTimeout),
)


class TimeUp(psycopg.OperationalError):
    """The server did not answer within the time that the caller has."""


class Unresolved(TimeUp):
    """The name of the server's host was not looked up within that time."""


def failed(place: str, error: BaseException) -> StoreError:
    """*error* at the store *place* as one line; the last part, after ``; ``, is what to do."""
    what, advice = _describe(error, secret=has_secret(place))
    return StoreError(f"the event store {place} {what}; {advice}")


def lost(error: BaseException) -> bool:
    """True where the connection is gone, and another one may do."""
    if isinstance(error, TimeUp):
        return False
    return isinstance(error, (*_ENDED, errors.InvalidSqlStatementName)) or (
        isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
        and getattr(error, "sqlstate", None) is None
    )


def _describe(error: BaseException, *, secret: bool) -> tuple[str, str]:
    if isinstance(error, Unresolved):
        return (
            "cannot be reached: its host's name has no answer",
            "see the name server, or give hostaddr",
        )
    if isinstance(error, TimeUp):
        return "did not answer in time", "see its load, and the network between"
    for kinds, what, advice in _WORDS:
        if isinstance(error, kinds):
            detail = _first_line(error) if kinds[0] is errors.InsufficientPrivilege else ""
            return f"{what} ({detail})" if detail else what, advice
    text = str(error) if isinstance(error, psycopg.OperationalError) else ""
    for part, what, advice in _SAID:
        if part in text:
            return what, advice
    if (
        secret
        and "connection to server" not in str(error)
        and getattr(error, "sqlstate", None) is None
    ):
        # libpq quotes what it cannot read, be it half a password
        return "cannot be reached by its URL", "write @ as %40, / as %2F, % as %25 in a password"
    return f"failed: {_first_line(error)}", "loopguard-console doctor looks closer"


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:300]
