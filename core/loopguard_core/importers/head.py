"""What an input is, by its beginning: JSON Lines, one document, several, or something else."""

from __future__ import annotations

import json

from loopguard_core.events import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LINES = (".jsonl", ".ndjson")
_NOTHING = object()


class Head:
    """The beginning of an input, for telling formats apart.

    ``kind`` is ``lines`` (JSON Lines), ``document`` (one or several JSON documents, all read), ``zip``
    or ``sqlite``. ``records``: the JSON values of the first lines, or the documents. ``tables``: of a
    database. ``name``: the file's name, which only ever breaks a tie.
    """

    __slots__ = ("kind", "name", "raw", "records", "tables")

    def __init__(
        self,
        kind: str,
        name: str,
        raw: bytes,
        records: list[Any],
        tables: frozenset[str] = frozenset(),
    ) -> None:
        self.tables = tables
        self.kind = kind
        self.name = name
        self.raw = raw
        self.records = records

    @property
    def objects(self) -> list[dict[str, Any]]:
        """The records that are JSON objects."""
        return [r for r in self.records if isinstance(r, dict)]

    @property
    def document(self) -> Any:
        """The one document, or None where there are lines or several."""
        return self.records[0] if len(self.records) == 1 else None


def lines_by_name(name: str) -> bool:
    """True where the file's name says that it is JSON Lines, which breaks a tie."""
    return name.removesuffix(".gz").removesuffix(".zst").endswith(_LINES)


def first_records(opening: list[bytes], name: str, ended: bool) -> list[Any] | None:
    """The values of the first lines, or None where they are the beginning of a document.

    A document that is written over many lines has a first line that is no value of its own. One broken
    first line of a file of lines looks the same; then the lines after it tell. *ended*: there is no more.
    """
    lines = [line for line in opening if line.strip()]
    values = [v for v in map(_value, lines) if v is not _NOTHING]
    first = lines[0].lstrip(b"\xef\xbb\xbf \t")
    if _value(lines[0]) is not _NOTHING or first[:1] not in (b"{", b"["):
        return values
    if len(lines) == 1 and ended and lines_by_name(name):
        return []
    objects = sum(isinstance(v, dict) for v in values)
    enough = objects if lines_by_name(name) else objects > 1
    return values if enough and objects >= len(lines) // 2 else None


def documents_in(text: str) -> list[Any]:
    """The documents that follow each other in *text*. Raises ``ValueError`` saying what is wrong where."""
    try:
        return [load(text)]
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            raise ValueError(_why(error, text)) from None
    decoder, at, values = json.JSONDecoder(), 0, []
    while at < len(text):
        if text[at] in " \t\r\n,":
            at += 1
            continue
        try:
            value, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise ValueError(_why(error, text)) from None
        values.append(value)
    return values


def _value(line: bytes) -> Any:
    try:
        return load(line.decode("utf-8-sig", "replace").strip("\0 \t\r\n"))
    except ValueError:
        return _NOTHING


def _why(error: json.JSONDecodeError, text: str) -> str:
    where = f"line {error.lineno} column {error.colno}"
    if error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated string"):
        return f"a JSON document that is cut off at {where}; it has to be whole to be read"
    return f"not JSON and not JSON Lines: {error.msg} at {where}"
