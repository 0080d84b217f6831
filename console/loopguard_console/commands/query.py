"""``query``: ask the store in SQL."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from loopguard_console.errors import Refused
from loopguard_console.output import emit, json_option, remark, say, table
from loopguard_console.stores import Options, place_of, reading

if TYPE_CHECKING:
    from sqlite_utils import Database

_VIEWS = ("calls", "payloads", "events", "sessions", "requests")


@click.command()
@click.argument("sql", required=False)
@click.option(
    "--limit", default=200, show_default=True, type=click.IntRange(1), help="Rows at most."
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
        with _database(store.place) as db:
            if sql is None:
                _show_views(db, as_json)
            else:
                _answer(db, sql, limit, as_json)


@contextlib.contextmanager
def _database(place: str) -> Iterator[Database]:
    """The store's file for reading. A folder where nothing can be written is read as it lies."""
    from sqlite_utils import Database

    alone = not os.access(Path(place).parent, os.W_OK)
    uri = f"{Path(place).as_uri()}?mode=ro{'&immutable=1' if alone else ''}"
    with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=1)) as db:
        db.execute("PRAGMA query_only = ON")
        yield Database(db)


def _show_views(db: Database, as_json: bool) -> None:
    for view in _VIEWS:
        columns = [column.name for column in db.view(view).columns]
        if as_json:
            emit({"view": view, "columns": columns})
        else:
            say(f"{view}: {', '.join(columns)}")


def _answer(db: Database, sql: str, limit: int, as_json: bool) -> None:
    try:
        rows: list[dict[str, Any]] = list(islice(db.query(sql), limit + 1))
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        raise Refused(f"the query cannot be answered: {error}") from None
    shown = rows[:limit]
    if as_json:
        for row in shown:
            emit({name: _plain(value) for name, value in row.items()})
    elif shown:
        table(tuple(shown[0]), [[_cell(v) for v in row.values()] for row in shown])
    else:
        remark("no rows")
    if len(rows) > limit:
        remark(f"there are more rows; --limit shows more than {limit}")


def _plain(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else value


def _cell(value: object) -> str:
    return "" if value is None else str(_plain(value))
