"""The settings with which a session of hooks began: they hold until a human puts others in force.

A model that can write files in its project can write ``loopguard.toml``. So the first hook of a session keeps
the settings in the person's state directory, and the later ones only look whether the file still says so.
Where what was kept is gone, the log says which policy, mode and options held.
"""

from __future__ import annotations

import os

from loopguard_core import config as configuration
from loopguard_core import files
from loopguard_core.checkpoint import clear
from loopguard_core.config import Config, ConfigError
from loopguard_core.events import dump, load
from loopguard_core.hashing import blake2b
from loopguard_core.processes import here
from loopguard_core.serving import HOOKS
from loopguard_core.store.paths import ENVIRONMENT as STORE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from loopguard_core.events import Event
    from loopguard_core.store.contract import Store

#: Seconds after which nobody goes on with a session.
_STALE = 60 * 86_400.0
#: the newest events of a session among which is looked for what a person was told
_NEWEST = 2000
#: What of a file holds beside the settings that the log knows: none of it loosens a guard.
_HARMLESS = ("store", "redaction", "payload_limit")


class Pin:
    """Settings in force in ``session``: ``config``, and the ``folder`` for which their file is looked for.

    ``named`` is the file that ``LOOPGUARD_CONFIG`` named, ``store`` the one that was named beside any file. ``source`` is the fingerprint of what the file
    said, ``told`` that of a later one about which a person was told.
    """

    __slots__ = ("config", "folder", "named", "session", "source", "store", "told")

    def __init__(
        self,
        session: str,
        config: Config,
        folder: str,
        named: str,
        store: str,
        source: str,
        told: str = "",
    ) -> None:
        self.session = session
        self.config = config
        self.folder = folder
        self.named = named
        self.store = store
        self.source = source
        self.told = told

    @property
    def environ(self) -> dict[str, str]:
        """The environment in which the file is found again, also from a person's own shell."""
        rest = {k: v for k, v in os.environ.items() if k != configuration.ENVIRONMENT}
        return {**rest, configuration.ENVIRONMENT: self.named} if self.named else rest


def new(session: str, folder: str, environ: Mapping[str, str], store: str = "") -> Pin:
    """What the file for *folder* says now; *store* was named on the command line. Raises ``ConfigError``."""
    pin = bare(session, folder, environ, store)
    pin.config = configuration.load_config(pin.folder, environ)
    pin.source = configuration.fingerprint(pin.folder, environ)
    return pin


def bare(session: str, folder: str, environ: Mapping[str, str], store: str = "") -> Pin:
    """The same with the defaults, and as if there were no file."""
    named = environ.get(configuration.ENVIRONMENT, "")
    return Pin(session, Config(), folder or here(), named, store or environ.get(STORE, ""), "")


def find(sessions: Iterable[str], environ: Mapping[str, str] | None = None) -> Pin | None:
    """What is kept for the first of *sessions* that has anything."""
    for session in sessions:
        found = _read(session, environ) if session else None
        if found is not None:
            return found
    return None


def of_store(pin: Pin | None, environ: Mapping[str, str], store: str) -> Pin | None:
    """*pin*, unless it is that of a session of the same name in another store."""
    return pin if pin is not None and pin.store == (store or environ.get(STORE, "")) else None


def keep(pin: Pin, environ: Mapping[str, str] | None = None) -> None:
    """Keep *pin* for its session. Best effort: the log says the most of it, too."""
    files.keep(_path(pin.session, environ), _content(pin))


def put(pin: Pin) -> None:
    """Keep *pin* in place of the one of its session. Raises ``OSError``."""
    files.replace(_path(pin.session, None), _content(pin))


def _content(pin: Pin) -> bytes:
    config = pin.config
    content = {
        "raw": config.raw,
        "place": config.place,
        "digest": config.digest,
        "folder": pin.folder,
        "named": pin.named,
        "store": pin.store,
        "source": pin.source,
        "told": pin.told,
    }
    return dump(content).encode()


def begin(pin: Pin, environ: Mapping[str, str] | None = None) -> None:
    """Keep the first *pin* of a session, and take away those of sessions that were never ended."""
    keep(pin, environ)
    clear(os.path.dirname(_path(pin.session, environ)), _STALE)


def drop(session: str, environ: Mapping[str, str] | None = None) -> None:
    """The session is over."""
    try:
        os.unlink(_path(session, environ))
    except OSError:
        pass  # there is none


def changed(pin: Pin, environ: Mapping[str, str]) -> str:
    """One line for the person where the file says something else by now; empty where it was told."""
    try:
        source = configuration.fingerprint(pin.folder, environ)
    except ConfigError as error:
        source = f"! {error}"
    if source in (pin.source, pin.told):
        return ""
    try:
        same = configuration.load_config(pin.folder, environ).digest == pin.config.digest
    except ConfigError:
        same = False
    if same:
        pin.source = source
    else:
        pin.told = source
    keep(pin, environ)
    return "" if same else warning(pin.session)


def warning(session: str) -> str:
    """What a person is told about a file that is not in force."""
    return (
        "the configuration changed since this session began, which is still under the one that it "
        f"began with; to put the new one in force: loopguard-console reload {session}"
    )


def logged(pin: Pin, store: Store, parent: str = "") -> Pin:
    """*pin*, or where the log says that its session, which hooks serve, runs under other settings, those.

    One that is not in the log follows its *parent*. Raises ``StoreError``.
    """
    there = in_log(pin, store, parent)
    return pin if there is None or there.config.digest == pin.config.digest else there


def in_log(pin: Pin, store: Store, parent: str = "") -> Pin | None:
    """*pin* with the settings that the log has of its session, which hooks serve; own functions are none of them.

    One that is not in the log follows its *parent*. None where the log does not say. Raises ``StoreError``.
    """
    session = pin.session
    known = store.session(session) or (store.session(parent) if parent else None)
    start = None if known is None or known.ended else last_start(store, known.session)
    if start is None or start.text("served") != HOOKS or not start.text("config"):
        return None
    policy = start.text("policy")
    raw = {k: pin.config.raw[k] for k in _HARMLESS if k in pin.config.raw}
    raw |= {"policy": policy.split("+") if "+" in policy else policy, "mode": start.text("mode")}
    said = start.data.get("settings")
    try:
        raw |= said if isinstance(said, dict) else {}
        config = Config(raw, digest=start.text("config"))
        config.make_policy()
    except ConfigError:
        return None  # written by another version
    return Pin(session, config, pin.folder, pin.named, pin.store, "")


def plain(pin: Pin) -> Pin:
    """*pin* without own functions, of which one cannot be loaded any more. Raises ``ConfigError`` where it is not that."""
    policies = pin.config.raw.get("policies", {})
    kept = {name: configuration.without_functions(said) for name, said in policies.items()}
    config = Config(
        {**pin.config.raw, "policies": kept}, pin.config.place, digest=pin.config.digest
    )
    config.make_policy()
    return Pin(pin.session, config, pin.folder, pin.named, pin.store, pin.source, pin.told)


def told(session: str, source: str, store: Store) -> bool:
    """Whether the log has it that a person was told of *source*, and of nothing else since. Raises ``StoreError``."""
    last = store.last(session)
    newest = store.read(session, after=max(0, last - _NEWEST), payloads=False)
    said = [event.text("source") for event in newest if event.type == "note"]
    return next((found for found in reversed(said) if found), "") == source


def last_start(store: Store, session: str) -> Event | None:
    """The last ``session_start`` of *session*. Raises ``StoreError``."""
    standing = store.standing(session, store.last(session))
    return next((e for e in reversed(standing) if e.type == "session_start"), None)


def _path(session: str, environ: Mapping[str, str] | None) -> str:
    name = blake2b(session.encode("utf-8", "replace"), digest_size=12).hexdigest()
    return os.path.join(configuration.state_folder(environ), "pinned", f"{name}.json")


def _read(session: str, environ: Mapping[str, str] | None) -> Pin | None:
    try:
        said = load(files.read(_path(session, environ)))
        config = Config({**said["raw"]}, said["place"], digest=said["digest"])
        rest = [said[name] for name in ("folder", "named", "store", "source", "told")]
        return Pin(session, config, *rest) if all(type(each) is str for each in rest) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None  # none, or damaged: the log says what holds
