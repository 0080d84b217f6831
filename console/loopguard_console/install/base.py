"""What an installer is, and what all of them share."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import loopguard_core
from loopguard_console.errors import Refused
from loopguard_core.store.paths import misnamed, place_of
from loopguard_core.urls import MISNAMED, has_secret

if TYPE_CHECKING:
    from loopguard_console.install.files import Change

SCOPES = ("user", "project", "local")


@dataclass(frozen=True)
class Place:
    """Where to install: for whom, and what the hook is told.

    ``scope``: ``user`` (every project of this person), ``project`` (this folder) or ``local`` (this
    folder, in the file that is not shared). ``store``: another event store, or empty.
    """

    scope: str
    folder: Path
    home: Path
    store: str = ""

    @classmethod
    def here(cls, scope: str, store: str = "") -> Place:
        """Where this person is, and another *store*. Raises ``Refused`` where its password would be written down."""
        named = place_of(store) if store else ""
        if named == MISNAMED:
            raise misnamed()
        if has_secret(named):
            raise Refused(
                f"the password of {named} would stand in the agent's configuration; leave it out of the "
                "URL and put it into ~/.pgpass, a service file or PGPASSWORD"
            )
        return cls(scope, Path.cwd(), Path.home(), named)

    def below_home(self, variable: str, name: str) -> Path:
        """The folder that *variable* names, or *name* in this person's home."""
        configured = os.environ.get(variable)
        return Path(configured) if configured else self.home / name


@dataclass(frozen=True)
class Finding:
    """One thing that ``check`` saw. ``mend`` says what to do where it is not as it should be."""

    ok: bool
    what: str
    mend: str = ""


class Installer:
    """Connects one agent. Plans only: ``files.carry_out`` does what was planned."""

    agent = ""
    scopes: tuple[str, ...] = ("user", "project")
    #: What a person should know after installing, one line each.
    hints: tuple[str, ...] = ()

    def install(self, place: Place) -> list[Change]:
        """What has to change so that the agent starts our hook. Raises ``Refused``."""
        raise NotImplementedError

    def uninstall(self, place: Place) -> list[Change]:
        """What has to change so that everything is as it was. Raises ``Refused``."""
        raise NotImplementedError

    def check(self, place: Place) -> list[Finding]:
        """Whether the agent is connected at *place* as it should be; nothing where it is not at all."""
        raise NotImplementedError

    def require(self, place: Place) -> None:
        """Raises ``Refused`` where this agent has no such scope."""
        if place.scope not in self.scopes:
            known = " or ".join(f"--{scope}" for scope in self.scopes)
            raise Refused(f"{self.agent} cannot be set up with --{place.scope}: use {known}")


LAUNCHER = Path(loopguard_core.__file__).parent / "hook_launcher.py"


def hook_argv(agent: str, *, limit: float, store: str = "", event: str = "") -> list[str]:
    """The command that an agent starts for each call: this interpreter, the fast way."""
    argv = [sys.executable, "-I", "-S", str(LAUNCHER), "--agent", agent, "--limit", f"{limit:g}"]
    if event:
        argv += ["--event", event]
    if store:
        argv += ["--store", store]
    return argv


def hook_command(agent: str, *, limit: float, store: str = "", event: str = "") -> str:
    """``hook_argv`` as one line for a shell."""
    return shlex.join(hook_argv(agent, limit=limit, store=store, event=event))


def ours(command: object) -> bool:
    """True for a command line that starts our hook, whichever installation wrote it."""
    return isinstance(command, str) and (
        "loopguard_core/hook_launcher.py" in command or "loopguard-hook" in command
    )


def missing_program(command: str) -> str:
    """The part of a hook's command line that is not there any more, or the empty string."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    for word in words:
        if word.endswith("hook_launcher.py") and not Path(word).is_file():
            return word
    if words and Path(words[0]).is_absolute() and not os.access(words[0], os.X_OK):
        return words[0]
    return ""
