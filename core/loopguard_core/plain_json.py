"""Python's JSON by its C parts alone, for a process that may start for one call only.

The package ``json`` loads regular expressions and those enumerations, which costs a hook process 3.5 of 30 ms; what
parses and writes is in C and needs neither. Where that part is missing or is another one, the package is used.
What is wrong with a text the package says, in its own words.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Scan = Callable[[str, int], tuple[Any, int]]

__all__ = ["NOT_JSON", "dumps", "encoder", "loads", "quote", "scan", "value_at", "writer"]

#: What ``scan`` raises for a text that is not JSON; the last where the package, which has the right error, is not loaded.
NOT_JSON = (ValueError, StopIteration, SystemError)

_BLANK = " \t\n\r"
_join = "".join


def _refuse(value: object) -> object:
    raise TypeError(f"{type(value).__name__} is not JSON")


class _Settings:
    """What ``JSONDecoder`` tells its C part."""

    strict = True
    object_hook = object_pairs_hook = array_hook = None
    parse_float = float
    parse_int = int
    parse_constant = {
        "NaN": float("nan"),
        "Infinity": float("inf"),
        "-Infinity": -float("inf"),
    }.__getitem__


def _parts() -> tuple[Any, Any, Any, Scan]:
    """Quoting, quoting in ASCII, what makes an encoder, and the parser. Raises where they are not as known."""
    from _json import encode_basestring, encode_basestring_ascii, make_encoder, make_scanner

    read: Scan = make_scanner(_Settings)  # type: ignore[arg-type]
    write = make_encoder(None, _refuse, encode_basestring, None, ":", ",", True, False, True)
    sample = '{"a":"\u00e9\\n","b":[1,2.5,null,true,-1e+300]}'
    if _join(write(read(sample, 0)[0], 0)) != sample:
        raise ValueError
    return encode_basestring, encode_basestring_ascii, make_encoder, read


quote: Callable[[str], str]
scan: Scan
try:
    quote, _quote_ascii, _make, scan = _parts()
except (ImportError, AttributeError, TypeError, ValueError):
    from json import JSONDecoder
    from json.encoder import encode_basestring, encode_basestring_ascii

    quote, _quote_ascii, _make = encode_basestring, encode_basestring_ascii, None
    scan = vars(JSONDecoder())["scan_once"]


def encoder(
    *,
    ascii: bool = False,
    sort_keys: bool = False,
    allow_nan: bool = True,
    default: Callable[[object], object] = _refuse,
) -> Callable[[object, int], Iterable[str]]:
    """A function that gives the pieces of a value's compact JSON; its second argument is 0.

    It raises ``ValueError`` or ``TypeError`` for what JSON lacks. ``JSONEncoder`` sets up its C part for each value
    anew, which costs more than writing a small one. Here it is set up once, and keeps no list of open
    containers, so that a cycle ends in ``RecursionError``.
    """
    if _make is None:
        from json import JSONEncoder

        whole = JSONEncoder(
            ensure_ascii=ascii,
            sort_keys=sort_keys,
            allow_nan=allow_nan,
            default=default,
            separators=(",", ":"),
        ).encode
        return lambda value, level: (whole(value),)
    spell = _quote_ascii if ascii else quote
    pieces: Callable[[object, int], Iterable[str]] = _make(
        None, default, spell, None, ":", ",", sort_keys, False, allow_nan
    )
    return pieces


def writer(
    *,
    ascii: bool = False,
    sort_keys: bool = False,
    allow_nan: bool = True,
    default: Callable[[object], object] = _refuse,
) -> Callable[[object], str]:
    """A function that writes values as compact JSON. It raises as what ``encoder`` gives."""
    pieces = encoder(ascii=ascii, sort_keys=sort_keys, allow_nan=allow_nan, default=default)
    return lambda value: _join(pieces(value, 0))


#: *value* as compact JSON in ASCII, NaN and infinities as JavaScript has them.
dumps = writer(ascii=True)


def loads(text: str | bytes, *, parse_int: Callable[[str], Any] | None = None) -> Any:
    """The value of a JSON text, as ``json.loads`` gives it. Raises ``ValueError`` and ``RecursionError`` as that does."""
    if parse_int is None:
        try:
            said = text if isinstance(text, str) else text.decode()
            start = len(said) - len(said.lstrip(_BLANK))
            value, end = scan(said, start)
            if end == len(said) or not said[end:].strip(_BLANK):
                return value
        except NOT_JSON:
            pass  # or not in UTF-8
    from json import loads

    return loads(text, parse_int=parse_int)


def value_at(text: str, start: int = 0) -> tuple[Any, int]:
    """The JSON value that begins at *start* in *text*, and where it ends. Raises ``ValueError``, ``RecursionError``."""
    try:
        return scan(text, start)
    except NOT_JSON:
        from json import JSONDecoder

        return JSONDecoder().raw_decode(text, start)
