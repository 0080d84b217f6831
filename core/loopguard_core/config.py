"""What a person configures: ``loopguard.toml``, or ``[tool.loopguard]`` in ``pyproject.toml``.

The file is looked for from the working directory upwards, as far as the home directory or the root;
``LOOPGUARD_CONFIG`` names one instead. Parsing TOML costs a hook process more than judging a call, so what
was parsed is kept as JSON under the digest of the file's bytes, in the state directory, 0600.
"""

from __future__ import annotations

import os

from loopguard_core import files
from loopguard_core.events import dump, load
from loopguard_core.foreign import why
from loopguard_core.hashing import blake2b
from loopguard_core.policies import registry
from loopguard_core.policies.options import PolicyError
from loopguard_core.processes import here, home
from loopguard_core.redaction.redact import Redaction
from loopguard_core.settings import ConfigError, Reader
from loopguard_core.traits import Traits, TraitTable
from loopguard_core.urls import tells_password

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from loopguard_core.policies.base import Policy
    from loopguard_core.policies.options import Tell

__all__ = ["Config", "ConfigError", "find", "load_config", "load_or_default"]

MODES = ("observe", "ask", "enforce")
#: What is said of a password where others may read it.
PASSWORD_ELSEWHERE = (
    "leave the password out of the URL; put it into PGPASSWORD, ~/.pgpass or a service file"
)
#: what happens to a stopped call when nobody answers: it is refused, waits on, or runs
UNANSWERED = ("refuse", "wait", "run")
ENVIRONMENT = "LOOPGUARD_CONFIG"
NAMES = ("loopguard.toml", "pyproject.toml")

_FLAGS = ("readonly", "mutating", "bookkeeping", "poller")
_MARK = b"\xef\xbb\xbf"  # some editors write it before UTF-8
_LARGEST = 4_000_000
_QUOTES = b" \t\"'"
_FIELDS = ("identity_fields", "ignored_fields", "path_fields")


class PasswordTold(ConfigError):
    """The configuration names its store with a password."""


class Config:
    """Settings of one session, checked. Times in seconds. ``place`` is the file, empty for the defaults.

    *digest* is that of the settings of which these are what is left. Raises ``ConfigError`` naming the
    file and the key.
    """

    def __init__(
        self, raw: Mapping[str, Any] | None = None, place: str = "", *, digest: str = ""
    ) -> None:
        self.place = place
        self._digest = digest
        self.raw = dict(raw or {})
        read = Reader(self.raw, place)
        self.mode = read.choice("mode", MODES, "ask")
        self.policy: str | list[str] = read.names_or_name("policy", "default")
        self.wait_seconds = read.seconds("wait_seconds", 300.0)
        self.unattended_wait_seconds = read.seconds("unattended_wait_seconds", 0.0)
        self.late_approval_seconds = read.seconds("late_approval_seconds", 600.0)
        self.on_store_failure = read.choice("on_store_failure", ("allow", "deny"), "allow")
        self.store_timeout_seconds = read.seconds("store_timeout_seconds", 0.25)
        self.store = os.path.expanduser(read.text("store", ""))
        if not _can_be_a_path(self.store):
            raise read.error("store", f"is no path: {self.store!r}")
        if place and tells_password(self.store):
            raise PasswordTold(f"{place}: store: {PASSWORD_ELSEWHERE}")
        nobody = read.table("unanswered")
        self.unanswered = {t: nobody.choice(t, UNANSWERED, "refuse") for t in ("block", "halt")}
        nobody.finish()
        ceiling = read.table("ceiling")
        self.ceiling_calls = ceiling.whole("calls", 200)
        self.ceiling_seconds = ceiling.seconds("seconds", 8 * 3600.0)
        ceiling.finish()
        self.redaction = _redaction(read.table("redaction"))
        self.payload_limit = read.whole("payload_limit", 1_000_000)
        retention = read.table("retention")
        self.retention_days = retention.optional_seconds("days")
        self.retention_megabytes = retention.optional_seconds("megabytes")
        retention.finish()
        policies = read.table("policies")
        self.options: dict[str, Any] = policies.rest()
        for name in self.options:
            if name == "default":
                raise policies.error(name, f"is {registry.DEFAULT}; name its options so")
            if name not in registry.POLICIES:
                raise policies.error(name, f"is no policy; known: {', '.join(registry.POLICIES)}")
        self.tools = {name: _traits(table) for name, table in read.table("tools").tables()}
        read.finish()

    @property
    def digest(self) -> str:
        """What distinguishes these settings from others: 16 hexadecimal digits."""
        if self._digest:
            return self._digest
        canonical = dump({k: self.raw[k] for k in sorted(self.raw)})
        return blake2b(canonical.encode(), digest_size=8).hexdigest()

    def changed(self, **settings: Any) -> Config:
        """The same with other *settings*, keys of the file. Raises ``ConfigError``."""
        return Config({**self.raw, **settings}, self.place)

    @property
    def recorded(self) -> dict[str, Any]:
        """What of the settings a replay needs and a log may hold: as in the file, without own functions."""
        names = self.policy_name.split("+")
        policies = {n: without_functions(self.options[n]) for n in names if self.options.get(n)}
        tools = self.raw.get("tools")
        return {k: v for k, v in (("policies", policies), ("tools", tools)) if v}

    @property
    def policy_name(self) -> str:
        """The policy as one word for a person; several are joined by ``+``."""
        return "+".join(self._policies())

    def _policies(self) -> list[str]:
        names = [self.policy] if isinstance(self.policy, str) else self.policy
        return [registry.DEFAULT if name == "default" else name for name in names]

    def make_policy(self, tell: Tell | None = None) -> Policy:
        """The configured policy in its first state. *tell* hears of a match function that fails. Raises ``ConfigError``."""
        names = self._policies()
        name = names[0] if isinstance(self.policy, str) else names
        options = {n: self.options[n] for n in names if n in self.options}
        if isinstance(name, str):
            options = options.get(name, {})
        try:
            return registry.create(name, options, where=self.place, tell=tell)
        except PolicyError as error:
            raise ConfigError(str(error)) from error

    def trait_table(self) -> TraitTable:
        """What is declared of each tool, over what is known of it."""
        return TraitTable(self.tools)


def _can_be_a_path(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def without_functions(options: Mapping[str, Any]) -> dict[str, Any]:
    """A policy's options less those that name code, which nobody may bring in by a recording."""
    return {k: v for k, v in options.items() if k not in ("match", "key_fn")}


def load_config(cwd: str = "", environ: Mapping[str, str] | None = None) -> Config:
    """The settings that hold in *cwd*. Raises ``ConfigError``."""
    env = os.environ if environ is None else environ
    place = find(cwd or here(), env)
    if not place:
        return Config()
    return Config(_section(place, env), place)


def fingerprint(cwd: str, environ: Mapping[str, str]) -> str:
    """What distinguishes the file that holds in *cwd* and its bytes from others, and from none. Never empty.

    Raises ``ConfigError``.
    """
    place = find(cwd or here(), environ)
    if not place:
        return "none"
    return blake2b(os.fsencode(place) + b"\0" + _bytes(place), digest_size=12).hexdigest()


def denies(cwd: str, environ: Mapping[str, str]) -> bool:
    """True where the file that holds in *cwd*, whatever is wrong in it, says ``on_store_failure = "deny"``."""
    try:
        place = find(cwd or here(), environ)
        lines = (
            _bytes(place).replace(b"\0", b"").lstrip(b"\xff\xfe").splitlines() if place else []
        )  # also in UTF-16
    except ConfigError:
        return False
    for line in lines:
        key, _, value = line.partition(b"=")
        if key.strip(_QUOTES) == b"on_store_failure":
            return value.partition(b"#")[0].strip(_QUOTES) == b"deny"
    return False


def load_or_default(cwd: str, say: Callable[[str], None]) -> Config:
    """As ``load_config``, for an agent that must not fall over its guard's file.

    A file that is wrong, or for which something cannot be loaded, is told to *say*, and the defaults hold.
    """
    try:
        config = load_config(cwd)
        config.make_policy()
        config.trait_table()
    except ConfigError as error:
        say(f"{error}; the defaults hold until this is mended")
        return Config()
    except (OSError, ImportError) as error:
        say(f"the settings cannot be loaded: {why(error)}; the defaults hold")
        return Config()
    return config


def find(cwd: str, environ: Mapping[str, str]) -> str:
    """The file whose settings hold in *cwd*, empty where there is none. Raises ``ConfigError``."""
    named = environ.get(ENVIRONMENT)
    if named:
        path = os.path.abspath(os.path.expanduser(named))
        if not os.path.isfile(path):
            raise ConfigError(f"{ENVIRONMENT} names {path}, which is not a file")
        return path
    for folder in _upwards(os.path.abspath(cwd)) if cwd else ():
        for name in NAMES:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and (name == NAMES[0] or _mentions(path)):
                return path
    return ""


def _upwards(folder: str) -> Iterator[str]:
    home = os.path.expanduser("~")
    while True:
        yield folder
        above = os.path.dirname(folder)
        if folder in (home, above):
            return
        folder = above


def _mentions(path: str) -> bool:
    return b"tool.loopguard" in _bytes(path)


def _bytes(path: str) -> bytes:
    try:
        content = files.read(path, _LARGEST + 1, follow=True)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    if len(content) > _LARGEST:
        raise ConfigError(f"{path}: is larger than {_LARGEST:,} bytes")
    return content.removeprefix(_MARK)


def _section(path: str, environ: Mapping[str, str]) -> dict[str, Any]:
    content = _bytes(path)
    cached = _cache_file(content, path, environ)
    try:
        found = load(files.read(cached))
        if isinstance(found, dict):
            return found
    except (OSError, ValueError):
        pass  # not there yet, or damaged: parsed again
    section = _parse(path, content)
    files.keep(cached, dump(section).encode())  # else the next process parses again
    return section


def _parse(path: str, content: bytes) -> dict[str, Any]:
    import tomllib

    try:
        raw = tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not UTF-8 text") from None
    except RecursionError:
        raise ConfigError(f"{path}: is nested too deeply to be read") from None
    except ValueError as error:  # also a number of more digits than Python reads
        raise ConfigError(f"{path}: is not TOML: {error}") from None
    if os.path.basename(path) != "pyproject.toml":
        return raw
    tools = raw.get("tool", {})
    section = tools.get("loopguard", {}) if isinstance(tools, dict) else None
    if not isinstance(section, dict):
        raise ConfigError(f"{path}: tool.loopguard is a table")
    return section


def _cache_file(content: bytes, path: str, environ: Mapping[str, str]) -> str:
    kind = b"p" if os.path.basename(path) == "pyproject.toml" else b"l"
    name = blake2b(kind + content, digest_size=12).hexdigest()
    return os.path.join(state_folder(environ), "config", f"{name}.json")


#: Below it: what hooks could not write to the log.
MISSING = "missing"
#: and where its hooks leave word of the secrets they met
REMEMBERED = "remembered"


def state_folder(environ: Mapping[str, str] | None = None) -> str:
    """Where what can be made again is kept: ``loopguard`` in the person's state directory.

    For who has no home it is a place where nothing can be made.
    """
    state = (os.environ if environ is None else environ).get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):
        state = os.path.join(home() or os.devnull, ".local", "state")
    return os.path.join(state, "loopguard")


def _redaction(read: Reader) -> Redaction | None:
    patterns = read.names("patterns")
    fields, never = read.names("fields"), read.names("never_store")
    read.finish()
    if not (patterns or fields or never):
        return None
    try:
        return Redaction(patterns, fields, never)
    except ValueError as error:
        raise read.error("patterns", f"cannot be used: {error}") from None


def _traits(read: Reader) -> Traits:
    flags = {name: read.flag(name) for name in _FLAGS}
    fields = {name: tuple(read.names(name)) for name in _FIELDS}
    read.finish()
    return Traits(**flags, **fields, source="config")  # type: ignore[arg-type]
