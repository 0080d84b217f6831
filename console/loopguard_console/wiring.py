"""Connecting an agent for one run: by its command line and environment, never by its configuration.

What has to lie in a file (an agent reads it while it runs) lies in the state directory, named by its
content, so that nothing has to be tidied up after the agent.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b, sha256
from pathlib import Path, PurePath
from typing import Any

from loopguard_console.errors import Refused
from loopguard_console.files import why
from loopguard_console.install import INSTALLERS, installer
from loopguard_console.install.base import Place
from loopguard_console.install.hooks_json import HooksJson
from loopguard_core import files
from loopguard_core.store.paths import default_store

#: program -> agent
_PROGRAMS = {
    "claude": "claude-code",
    "codex": "codex",
    "gemini": "gemini",
    "copilot": "copilot",
    "opencode": "opencode",
    "hermes": "hermes",
}
#: package, as a runner takes it -> agent
_PACKAGES = {
    "@anthropic-ai/claude-code": "claude-code",
    "@openai/codex": "codex",
    "@google/gemini-cli": "gemini",
    "@github/copilot": "copilot",
    "opencode-ai": "opencode",
    "hermes-agent": "hermes",
}
#: what people put in front of a program
_RUNNERS = frozenset(
    ("npx", "bunx", "pnpm", "yarn", "npm", "uvx", "uv", "node", "bun", "env", "nice", "timeout")
)


@dataclass(frozen=True)
class Wired:
    """How to start the agent. ``left_out`` says what is not connected, empty where all is."""

    argv: list[str]
    env: dict[str, str] = field(default_factory=dict)
    agent: str = ""
    left_out: str = ""


def recognise(argv: Sequence[str]) -> tuple[str, int]:
    """The agent that *argv* starts and where its program stands in it; ``("", 0)`` for any other."""
    for at, word in enumerate(argv):
        name = _bare(word)
        agent = _PROGRAMS.get(PurePath(name).name.removesuffix(".js")) or _PACKAGES.get(name)
        if agent:
            return agent, at
        if at == 0 and PurePath(word).name not in _RUNNERS:
            break
    return "", 0


def _bare(word: str) -> str:
    """*word* without the version that a package runner takes behind an ``@``."""
    at = word.rfind("@")
    return word[:at] if at > 0 else word


def wire(argv: Sequence[str], place: Place) -> Wired:
    """*argv* with what connects it to the guard. *place* is where the agent would be installed.

    Raises ``Refused`` where what is needed cannot be written.
    """
    agent, at = recognise(argv)
    if not agent:
        name = PurePath(argv[0]).name
        return Wired(
            list(argv),
            left_out=f"{name} is no agent that can be connected from outside; "
            "it is guarded if it uses the shim or an MCP proxy",
        )
    if _connected(agent, place):
        return Wired(list(argv), agent=agent)
    if agent not in _WIRES:
        return Wired(
            list(argv),
            agent=agent,
            left_out=f"{agent} reads its hooks from its own configuration alone and goes unguarded "
            f"(to guard it: loopguard-console install {agent}; to only watch it: loopguard-console watch)",
        )
    return _WIRES[agent](list(argv), at, place)


def _connected(agent: str, place: Place) -> bool:
    """True where the agent is installed for good, so that its hooks would run twice."""
    if agent not in INSTALLERS:
        return False
    found = installer(agent)
    for scope in found.scopes:
        try:
            findings = found.check(Place(scope, place.folder, place.home, place.store))
        except Refused:
            continue  # a file that is broken connects nothing; the agent itself says so
        if findings and all(finding.ok for finding in findings):
            return True
    return False


Groups = Mapping[str, dict[str, Any]]


def _groups(agent: str, place: Place) -> Groups:
    """Event -> our group for it, as it would be installed."""
    found = installer(agent)
    assert isinstance(found, HooksJson)
    return found.groups(place)


def _claude_code(argv: list[str], at: int, place: Place) -> Wired:
    """``--settings``, beside whatever settings the person gives."""
    given, rest = _take_option(argv[at + 1 :], "--settings")
    settings = _settings_given(given)
    if settings is None:
        return Wired(
            argv,
            agent="claude-code",
            left_out=f"claude goes unguarded: its --settings {given} cannot be read",
        )
    merged = json.dumps(_with_hooks(settings, _groups("claude-code", place)))
    return Wired([*argv[: at + 1], "--settings", merged, *rest], agent="claude-code")


def _take_option(words: Sequence[str], name: str) -> tuple[str, list[str]]:
    """The value of option *name* among *words*, empty without one; and the others."""
    rest: list[str] = []
    value = ""
    left = iter(words)
    for word in left:
        if word == "--":
            rest += [word, *left]
        elif word == name:
            value = next(left, "")
        elif word.startswith(f"{name}="):
            value = word.partition("=")[2]
        else:
            rest.append(word)
    return value, rest


def _settings_given(value: str) -> dict[str, Any] | None:
    if not value:
        return {}
    try:
        text = value if value.lstrip().startswith("{") else Path(value).read_text("utf-8")
        settings = json.loads(text)
    except (OSError, ValueError):
        return None
    return settings if isinstance(settings, dict) else None


def _with_hooks(settings: Mapping[str, Any], groups: Groups) -> dict[str, Any]:
    hooks = settings.get("hooks")
    hooks = dict(hooks) if isinstance(hooks, dict) else {}
    for event, group in groups.items():
        before = hooks.get(event)
        hooks[event] = [*(before if isinstance(before, list) else []), group]
    return {**settings, "hooks": hooks}


def _codex(argv: list[str], at: int, place: Place) -> Wired:
    """``-c`` overrides. Codex runs only hooks that a person trusts; whoever starts this trusts ours."""
    options: list[str] = []
    trusted: dict[str, Any] = {}
    for event, group in _groups("codex", place).items():
        options += ["-c", f"hooks.{event}={_toml([group])}"]
        label = "".join(f"_{c.lower()}" if c.isupper() else c for c in event).lstrip("_")
        key = f"/<session-flags>/config.toml:{label}:0:0"
        trusted[key] = {"trusted_hash": codex_hash(label, group)}
    options += ["-c", f"hooks.state={_toml(trusted)}"]
    return Wired([*argv[: at + 1], *options, *argv[at + 1 :]], agent="codex")


def codex_hash(label: str, group: Mapping[str, Any]) -> str:
    """What Codex (0.171) calls a hook's current hash: of the hook as it would run, in canonical JSON."""
    hooks = [{**hook, "async": False} for hook in group["hooks"]]
    identity = {"event_name": label, "hooks": hooks}
    canonical = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{sha256(canonical.encode()).hexdigest()}"


def _toml(value: object) -> str:
    """A value as inline TOML: tables, lists, numbers and strings, whose escapes are JSON's."""
    if isinstance(value, dict):
        inside = (f"{json.dumps(k, ensure_ascii=False)}={_toml(v)}" for k, v in value.items())
        return "{" + ",".join(inside) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _copilot(argv: list[str], at: int, place: Place) -> Wired:
    """A plugin that is loaded for this run."""
    hooks = {
        "version": 1,
        "hooks": {event: [group] for event, group in _groups("copilot", place).items()},
    }
    about = {
        "name": "loopguard",
        "version": "1.0.0",
        "description": "Loop guard",
        "hooks": "hooks.json",
    }
    path = _kept("hooks.json", json.dumps(hooks, indent=1), **{"plugin.json": json.dumps(about)})
    options = ["--plugin-dir", str(path.parent)]
    return Wired([*argv[: at + 1], *options, *argv[at + 1 :]], agent="copilot")


_OPENCODE = "OPENCODE_CONFIG_CONTENT"


def _opencode(argv: list[str], at: int, place: Place) -> Wired:
    """A plugin in configuration that is given in the environment, over whatever stands there."""
    given = os.environ.get(_OPENCODE, "")
    settings = _settings_given(given)
    if settings is None:
        return Wired(
            argv, agent="opencode", left_out=f"opencode goes unguarded: {_OPENCODE} is not JSON"
        )
    plugin = installer("opencode").install(place)[-1].after or b""
    path = _kept("loopguard.js", plugin.decode())
    named = settings.get("plugin")
    plugins = [*(named if isinstance(named, list) else []), path.as_uri()]
    content = json.dumps({**settings, "plugin": plugins})
    return Wired(argv, {_OPENCODE: content}, agent="opencode")


_WIRES: dict[str, Callable[[list[str], int, Place], Wired]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "copilot": _copilot,
    "opencode": _opencode,
}


def _kept(name: str, content: str, **beside: str) -> Path:
    """A file with *content* in a folder of the state directory named by it. Raises ``Refused``."""
    texts = {name: content, **beside}
    mark = blake2b(json.dumps(texts).encode(), digest_size=8).hexdigest()
    env = {k: v for k, v in os.environ.items() if k != "LOOPGUARD_STORE"}
    folder = Path(default_store(env)).parent / "run" / mark
    try:
        for each in reversed((folder, *folder.parents[:2])):
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
        for file, text in texts.items():
            _write(folder / file, text)
    except OSError as error:
        raise Refused(f"{folder}: cannot be written: {why(error)}") from None
    return folder / name


def _write(path: Path, text: str) -> None:
    if path.is_file() and path.read_text("utf-8") == text:
        return
    files.replace(str(path), text.encode())
