"""Arguments without their cosmetics: what remains equal means the same request.

Dropped or unified: absent, null and empty; 1, 1.0 and "1"; the spelling of paths and addresses; white
space around values and inside commands and queries; letter case of web-style queries; comment lines
of commands; and fields that only explain a call (a description beside the command).

Nothing is copied while there is nothing to change: ``tidy`` gives back the very same object.
"""

from __future__ import annotations

from operator import is_

from loopguard_core.patterns import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import Any

    #: A letter for each thing that was removed or unified.
    Kinds = list[str]


def spellings(names: Iterable[str]) -> tuple[str, ...]:
    """Each of *names* as Python and as JavaScript spell it: ``start_line``, ``startLine``."""
    found: dict[str, None] = {}
    for name in names:
        found[name] = None
        if "_" in name:
            first, *rest = name.split("_")
            found[first + "".join(map(str.capitalize, rest))] = None
    return tuple(found)


PATH, COMMAND, QUERY, ADDRESS = "path", "command", "query", "address"
_PLACES = (PATH, ADDRESS)
_ROLES = {
    PATH: "path file file_path filepath filename file_name dir directory dir_path directory_path folder root cwd"
    " workdir work_dir working_directory target_file relative_path absolute_path notebook_path source_path"
    " target_path source destination dest base_path paths files include_path relative_workspace_path uri",
    COMMAND: "command cmd script commands shell_command bash_command cmdline code_to_run",
    QUERY: "query q search search_query search_term searchterm keyword keywords term terms question pattern regex"
    " glob queries text_query",
    ADDRESS: "url urls link href address endpoint",
}
ROLES = {name: role for role, names in _ROLES.items() for name in spellings(names.split())}

#: Said about a call, not part of it, whatever stands beside it.
_ABOUT = frozenset(
    spellings(
        "explanation rationale justification request_id trace_id nonce idempotency_key correlation_id".split()
    )
)
#: The same, unless nothing else is said: to think may be all that a tool does.
EXPLAINS = _ABOUT | frozenset(("thought", "thoughts", "reasoning"))
#: Said about a call only where the field that matters stands beside it.
DESCRIBES = frozenset(
    spellings(
        "description reason intent purpose summary title goal timeout timeout_ms timeout_seconds max_output_tokens"
        " attempt attempt_number retry retry_count".split()
    )
)
_MATTERS = frozenset(
    ("command", "cmd", "script", "code", "query", "pattern", "prompt", "url", "sql")
)
_LOOKED_AT = frozenset(("path", "file_path", "file", "filename", "id", "q", *_MATTERS))

_WATCHED = EXPLAINS | DESCRIBES
#: Free text is left as it is beyond a word or two, anything beyond a page.
_FREE, _LONG = 64, 4096
#: Longer lists are left as they are.
_MANY = 32
_DEEPEST = 12
_DOTTED = lazy(r"(?:^|[/\\])\.{1,2}(?:[/\\]|$)|[/\\]{2}|\\|.[/\\]$|^file:")
_COMMENT = lazy(r"(?m)^[ \t]*#(?!!).*\n?")
_WHOLE = 2**53


class Tidier:
    """Tidies the arguments of one tool. ``fold_case``: queries of this tool ignore letter case. ``thinks``: a thought is what it is for."""

    __slots__ = ("_fold_case", "_ignored", "_matters", "_only", "_roles", "_thinks")

    def __init__(
        self,
        *,
        ignored: Iterable[str] = (),
        only: Iterable[str] = (),
        paths: Iterable[str] = (),
        looks: bool = False,
        fold_case: bool = False,
        thinks: bool = False,
    ) -> None:
        self._thinks = thinks
        self._ignored = frozenset(ignored)
        self._only = frozenset(only)
        self._roles = {**dict.fromkeys(paths, PATH), **ROLES}
        self._matters = _LOOKED_AT if looks else _MATTERS
        self._fold_case = fold_case

    def tidy(self, args: dict[Any, Any]) -> tuple[dict[Any, Any], str]:
        """The arguments without cosmetics, and one letter for each kind that was removed.

        ``f`` fields, ``j`` JSON spelling, ``p`` paths and addresses, ``s`` white space, case, comments.
        """
        kinds: Kinds = []
        dropped = self.dropped(args)
        if dropped:
            args = without(args, dropped, kinds)
        tidied = self.tidied(args, kinds)
        return tidied, letters(kinds)

    def dropped(self, names: Collection[Any]) -> Collection[Any]:
        """Those among the *names* of all arguments that count for nothing."""
        if self._only and self._only.intersection(names):
            return {name for name in names if name not in self._only}
        if _WATCHED.isdisjoint(names) and self._ignored.isdisjoint(names):
            return ()
        dropped = set(self._ignored.intersection(names))
        dropped |= _ABOUT.intersection(names)
        if len(names) > 1:
            if not self._thinks:
                dropped |= EXPLAINS.intersection(names)
            if not self._matters.isdisjoint(names):
                dropped |= DESCRIBES.intersection(names)
        return dropped if len(dropped) < len(names) or dropped <= _ABOUT else ()

    def tidied(self, args: dict[Any, Any], kinds: Kinds, depth: int = 0) -> dict[Any, Any]:
        """The arguments, none of them dropped, without cosmetics; *kinds* receives the letters."""
        out: dict[Any, Any] | None = None
        for key, value in args.items():
            kind = type(value)
            if kind is str:
                role = self._roles.get(key)
                if role is None and (
                    len(value) > _FREE
                    or (value and value == value.strip() and not value.isdecimal())
                ):
                    continue  # free text in which there is nothing to tidy
                tidied = self._text(role, value, kinds)
            elif kind is int or kind is bool:
                continue
            else:
                tidied = self._value(key, value, kinds, depth)
            if tidied is value and value is not None:
                continue
            if out is None:
                out = dict.copy(args)
            if tidied is None:
                kinds.append("j")
                del out[key]
            else:
                out[key] = tidied
        return args if out is None else out

    def _value(self, key: Any, value: Any, kinds: Kinds, depth: int) -> Any:
        """The tidied value; the same object where nothing changes, None where it says nothing."""
        kind = type(value)
        if kind is str:
            return self._text(self._roles.get(key), value, kinds)
        if kind is float:
            if value.is_integer() and -_WHOLE < value < _WHOLE:
                kinds.append("j")
                return int(value)
            return value
        if depth >= _DEEPEST:
            return value
        if kind is dict:
            return self.tidied(value, kinds, depth + 1) or None
        if kind is list and len(value) <= _MANY:
            items = [self._value(key, v, kinds, depth + 1) for v in value]
            return (value or None) if all(map(is_, items, value)) else items
        return value

    def _text(self, role: str | None, value: str, kinds: Kinds) -> Any:
        text = value.strip()
        if not text:
            return None
        if len(text) > _LONG:
            return value
        if role is QUERY:
            text = " ".join(text.split())
            if self._fold_case:
                text = text.casefold()
        elif role is PATH:
            if _may_be_dotted(text) and _DOTTED.search(text) is not None:
                text = path(text)
        elif role is COMMAND:
            text = command(text)
        elif role is None:
            if text.isdecimal() and text.isascii() and (text[0] != "0" or text == "0"):
                kinds.append("j")
                return int(text)
        else:
            text = address(text)
        if text == value:
            return value
        kinds.append("p" if role in _PLACES else "s")
        return text


def without(args: dict[Any, Any], dropped: Collection[Any], kinds: Kinds) -> dict[Any, Any]:
    """The arguments but those that are *dropped*; *kinds* receives the letter."""
    kinds.append("f")
    return {name: value for name, value in args.items() if name not in dropped}


def letters(kinds: Kinds) -> str:
    """Each of *kinds* once, in order. Most calls have one or none: what sorting touches comes from far after a pause."""
    return "".join(sorted(set(kinds)) if len(kinds) > 1 else kinds)


def _may_be_dotted(text: str) -> bool:
    return (
        "./" in text or "//" in text or "\\" in text or text[-1] in "./" or text.startswith("file:")
    )


def path(text: str) -> str:
    """A path in its plainest spelling, without looking at the disk: ``./a//b/../c/`` is ``a/c``."""
    if text.startswith("file://"):
        text = text[7:]
    if "://" in text:
        return address(text)
    text = text.replace("\\", "/")
    parts: list[str] = []
    for part in text.split("/"):
        if part in ("", "."):
            continue
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part != ".." or not text.startswith("/"):
            parts.append(part)
    plain = "/".join(parts)
    if text.startswith("/"):
        return "/" + plain
    return plain or "."


def address(text: str) -> str:
    """A web address without fragment and closing slash, scheme and host in lower case."""
    head, mark, rest = text.partition("://")
    if not mark:
        return text
    rest = rest.partition("#")[0].rstrip("/")
    host, slash, tail = rest.partition("/")
    return f"{head.lower()}://{host.lower()}{slash}{tail}"


def command(text: str) -> str:
    """A shell command without comment lines, doubled spaces and a closing semicolon."""
    if "#" in text:
        text = _COMMENT.sub("", text).strip() or text
    if "  " in text or "\t" in text or " \n" in text:
        text = "\n".join(" ".join(line.split()) for line in text.splitlines())
    return text.rstrip("; ") or text
