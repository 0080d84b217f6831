"""Rules that a person writes from a call: keys of a tool's table in ``loopguard.toml``.

The file is edited as text, so comments and order stay. Before anything is written the result is parsed: it
must say exactly what it said before and the new rule. Times do not matter here, and nothing is judged.
"""

from __future__ import annotations

import copy
import difflib
import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from loopguard_console.files import rewrite, why
from loopguard_core.config import Config, ConfigError, find, without_functions
from loopguard_core.policies import registry


class RuleError(Exception):
    """A rule that cannot be written there: why, and what to do."""


Value = bool | int | float | str | list[int] | list[str]
#: A table, a key in it, and what the key is to be.
Change = tuple[tuple[str, ...], str, Value]


class Rule(NamedTuple):
    """One rule in words and as keys with their values; a list of names is added to what is there.

    ``above``: the tables in which the tool's own table stands.
    """

    words: str
    values: dict[str, Value]
    above: tuple[str, ...] = ("tools",)


class Edit(NamedTuple):
    """A change of one file. ``before`` is None where the file is new."""

    path: Path
    before: str | None
    after: str

    def diff(self) -> str:
        """What changes, as a unified diff."""
        name = self.path.name
        lines = difflib.unified_diff(
            (self.before or "").splitlines(),
            self.after.splitlines(),
            name if self.before is not None else "(new)",
            name,
            lineterm="",
            n=2,
        )
        return "\n".join(lines)


#: What may be true of any tool.
TRAITS = (
    Rule("this tool polls: asking again is what it is for", {"poller": True}),
    Rule("bookkeeping: notes and plans, which interrupt no streak", {"bookkeeping": True}),
    Rule("it only reads: running it changes nothing", {"readonly": True}),
    Rule("it changes things, even when its answers are alike", {"mutating": True}),
)


def field_rules(args: object) -> list[Rule]:
    """The rules about the fields of a call's arguments."""
    fields = list(args)[:8] if isinstance(args, dict) else []
    return [
        *(Rule(f"ignore the field {f}: it never matters", {"ignored_fields": [f]}) for f in fields),
        *(Rule(f"only the field {f} matters", {"identity_fields": [f]}) for f in fields),
    ]


def propose(cwd: str, tool: str, rule: Rule) -> Edit:
    """The change that writes *rule* for *tool* into the settings that hold in *cwd*. Raises ``RuleError``."""
    return _proposed(cwd, [((*rule.above, tool), key, value) for key, value in rule.values.items()])


def propose_policy(cwd: str, policy: str, options: dict[str, Any]) -> Edit:
    """The change that makes *policy* with *options* the one that holds in *cwd*. Raises ``RuleError``."""
    changes: list[Change] = [((), "policy", policy)]
    for key, value in options.items():
        if not isinstance(value, (bool, int, float, str, list)):
            raise RuleError(f"{key} is a table: write it into the file by hand")
        changes.append((("policies", policy), key, value))
    return _proposed(cwd, changes, adds=False)


def _proposed(cwd: str, changes: list[Change], *, adds: bool = True) -> Edit:
    """The change of the settings that hold in *cwd*; where there are none, a new ``loopguard.toml`` there.

    *adds*: names in a list are added to those that are there.
    """
    try:
        path = Path(find(cwd, os.environ) or Path(cwd, "loopguard.toml"))
        before = path.read_text("utf-8") if path.exists() else None
        expected = tomllib.loads(before or "")
    except (ConfigError, OSError, ValueError) as error:
        raise RuleError(f"the settings cannot be read: {error}") from None
    top = ("tool", "loopguard") if path.name == "pyproject.toml" else ()
    after = before or ""
    for below, key, value in changes:
        table = (*top, *below)
        wanted = _wanted(expected, table, key, value) if adds else value
        after = _edited(after, table, key, wanted)
        expected = _set(expected, table, key, wanted)
    try:
        if tomllib.loads(after) != expected:
            raise RuleError(
                f"{path} is written in a way that only a human can change: edit it by hand"
            )
        section: Any = expected
        for name in top:
            section = section[name]
        _check(Config(section))
    except (tomllib.TOMLDecodeError, ConfigError) as error:
        raise RuleError(f"{path} would no longer be valid: {error}") from None
    return Edit(path, before, after)


def _check(config: Config) -> None:
    """Raise ``ConfigError`` for options that no policy takes. A project's own functions are not loaded."""
    options = {name: without_functions(table) for name, table in config.options.items()}
    checked = config.changed(policies=options)
    checked.make_policy()
    for name in options.keys() & set(registry.names()):
        checked.changed(policy=name).make_policy()


def write(edit: Edit) -> Edit:
    """Write *edit*, if the file is still as it was; the edit that undoes it. Raises ``RuleError``."""
    path = edit.path
    try:
        raw = path.read_bytes() if path.exists() else None
        now = None if raw is None else raw.decode().replace("\r\n", "\n")
        if now != edit.before:
            raise RuleError(f"{path} changed meanwhile; nothing was written")
        if edit.after == "" and edit.before is not None:
            path.unlink()
            return Edit(path, None, edit.before)
        text = edit.after.replace("\n", "\r\n") if b"\r\n" in (raw or b"") else edit.after
        rewrite(path, text.encode())
    except UnicodeDecodeError:
        raise RuleError(f"{path} changed meanwhile; nothing was written") from None
    except OSError as error:
        raise RuleError(f"{path}: cannot be written: {why(error)}") from None
    return Edit(path, edit.after, edit.before or "")


def _wanted(old: dict[str, Any], table: tuple[str, ...], key: str, value: Value) -> Value:
    here: Any = old
    for name in table:
        here = here.get(name, {}) if isinstance(here, dict) else {}
    there = here.get(key) if isinstance(here, dict) else None
    if isinstance(there, list) and isinstance(value, list) and isinstance(value[0], str):
        return [*there, *(name for name in value if name not in there)]
    return value


def _set(old: dict[str, Any], table: tuple[str, ...], key: str, value: object) -> dict[str, Any]:
    new = copy.deepcopy(old)
    here = new
    for name in table:
        here = here.setdefault(name, {})
        if not isinstance(here, dict):
            raise RuleError(f"{'.'.join(table)} is no table there: edit the file by hand")
    here[key] = value
    return new


def _edited(text: str, table: tuple[str, ...], key: str, value: Value) -> str:
    line = f"{key} = {_shown(value)}"
    lines = text.split("\n")
    heads = (n for n, found in enumerate(lines) if _header(found) == table)
    at = next(heads, None) if table else -1
    if at is None:
        header = f"[{'.'.join(map(_quoted, table))}]"
        kept = text.rstrip("\n")
        return f"{kept}\n\n{header}\n{line}\n" if kept else f"{header}\n{line}\n"
    for number in range(at + 1, len(lines)):
        if lines[number].lstrip().startswith("["):
            break
        if re.match(rf"\s*{re.escape(key)}\s*=", lines[number]):
            lines[number] = line
            return "\n".join(lines)
    lines.insert(at + 1, line)
    if at < 0 and len(lines) > 1 and lines[1].lstrip().startswith("["):
        lines.insert(1, "")
    return "\n".join(lines)


def _header(line: str) -> tuple[str, ...]:
    """The names in a table header, empty for any other line."""
    text = line.strip()
    if not text.startswith("[") or text.startswith("[["):
        return ()
    try:
        here: Any = tomllib.loads(text)
    except ValueError:
        return ()
    names = []
    while isinstance(here, dict) and len(here) == 1:
        name, here = next(iter(here.items()))
        names.append(name)
    return tuple(names)


def _shown(value: Value) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    return _string(value) if isinstance(value, str) else str(value).lower()


def _quoted(name: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9_-]+", name):
        return name
    return _string(name)


def _string(text: str) -> str:
    """*text* as a basic string of TOML. Raises ``RuleError`` for what TOML cannot hold."""
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise RuleError("a name with broken characters cannot stand in the file")
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
