"""``query``: ask the store in SQL."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import click

from loopguard_console.errors import Refused
from loopguard_console.output import emit, json_option, remark, say, table
from loopguard_console.parameters import Whole
from loopguard_console.stores import Options, place_of, reading
from loopguard_core.urls import is_url

_VIEWS = ("calls", "payloads", "events", "sessions", "requests")
Answer = tuple[list[str], list[Sequence[Any]]]


#: Rows beyond which nobody counts.
_MOST = 2**31 - 2


@click.command()
@click.argument("sql", required=False)
@click.option(
    "--limit", metavar="N", default=200, show_default=True, type=Whole(1), help="Rows at most."
)
@json_option
@click.pass_obj
def query(options: Options, sql: str | None, limit: int, as_json: bool) -> None:
    """Ask the store in SQL, for reading only. Without SQL: what can be asked.

    The views calls, payloads, events, sessions and requests are made for this:
    query "select tool, count(*) from calls where tier = 'block' group by tool"
    """
    with reading(options) as store:
        if store is None:
            say(f"No agent has been recorded yet in {place_of(options)}")
            return
        place = store.place
    if sql is None:
        _show_views(_server_views(place) if is_url(place) else _file_views(place), as_json)
    else:
        ask = _ask_server if is_url(place) else _ask_file
        _show(ask(place, sql, min(limit, _MOST) + 1), limit, as_json)


def _server_views(place: str) -> dict[str, list[str]]:
    from loopguard_core.store.postgres import looking  # needs psycopg

    return looking.views(place, _VIEWS)


def _ask_server(place: str, sql: str, limit: int) -> Answer:
    from loopguard_core.store.postgres import looking

    try:
        columns, rows = looking.ask(place, sql, limit)
    except looking.Unanswerable as error:
        raise Refused(f"the query cannot be answered: {error}") from None
    return columns, [*rows]


@contextlib.contextmanager
def _file(place: str) -> Iterator[sqlite3.Connection]:
    """The store's file for reading. A folder where nothing can be written is read as it lies."""
    alone = not os.access(Path(place).parent, os.W_OK)
    uri = f"{Path(place).as_uri()}?mode=ro{'&immutable=1' if alone else ''}"
    with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=1)) as db:
        db.execute("PRAGMA query_only = ON")
        db.text_factory = _text
        yield db


def _text(raw: bytes) -> str:
    """A text of the store, which may hold half a character where a tool's did."""
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return raw.decode("utf-8", "replace")


def _file_views(place: str) -> dict[str, list[str]]:
    from sqlite_utils import Database

    with _file(place) as db:
        known = Database(db)
        return {view: [column.name for column in known.view(view).columns] for view in _VIEWS}


def _ask_file(place: str, sql: str, limit: int) -> Answer:
    from sqlite_utils import Database

    with _file(place) as db:
        try:
            rows = list(islice(Database(db).query(sql), limit))
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            raise Refused(f"the query cannot be answered: {error}") from None
    return list(rows[0]) if rows else [], [[*row.values()] for row in rows]


def _show_views(views: dict[str, list[str]], as_json: bool) -> None:
    for view, columns in views.items():
        if as_json:
            emit({"view": view, "columns": columns})
        else:
            say(f"{view}: {', '.join(columns)}")


def _show(answer: Answer, limit: int, as_json: bool) -> None:
    columns, rows = answer
    if as_json:
        for row in rows[:limit]:
            emit({name: _plain(value) for name, value in zip(columns, row, strict=True)})
    elif rows:
        table(tuple(columns), [[_cell(v) for v in row] for row in rows[:limit]])
    else:
        remark("no rows")
    if len(rows) > limit:
        remark(f"there are more rows; --limit shows more than {limit}")


def _plain(value: object) -> object:
    """*value* as JSON has it: bytes in hexadecimal digits, other types of a database in words."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return bytes(value).hex() if isinstance(value, (bytes, memoryview)) else str(value)


def _cell(value: object) -> str:
    return "" if value is None else str(_plain(value))
