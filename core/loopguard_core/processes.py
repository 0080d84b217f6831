"""Which process is which: alive or not, since when, started by whom.

A process id alone is not enough, since the system uses ids again: with the time the process started it
names one process. Both are stored as they are, so that any process of the same host can compare them.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PROC = "/proc"
_SHELLS = frozenset(
    (
        "sh",
        "bash",
        "dash",
        "ash",
        "zsh",
        "ksh",
        "mksh",
        "csh",
        "tcsh",
        "fish",
        "nu",
        "elvish",
        "pwsh",
    )
)
#: What a command may be started through, beside a shell. ``timeout`` gives it a process group of its own.
_BETWEEN = _SHELLS | {"env", "timeout", "nice"}
_user = ""


def here() -> str:
    """The working directory, empty where it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def home() -> str:
    """The home directory of who runs this process, empty where they have none."""
    found = os.path.expanduser("~")
    return found if os.path.isabs(found) else ""


def user() -> str:
    """Who runs this process, by the system's word and not by the environment's where it has one."""
    global _user
    if not _user:
        try:
            import pwd

            _user = pwd.getpwuid(os.getuid()).pw_name
        except (ImportError, KeyError):
            known = os.environ.get("USER") or os.environ.get("USERNAME")
            return known or (f"uid-{os.getuid()}" if hasattr(os, "getuid") else "somebody")
    return _user


def started(pid: int) -> str:
    """When process *pid* started, as the system words it; empty where it is gone or cannot be told."""
    fields = _stat(pid)
    if fields:
        return fields[19]
    return "" if _has_proc() else _ps(pid, "lstart")


def name_of(pid: int) -> str:
    """The name of process *pid*, as the system has it; empty where it cannot be told."""
    try:
        with open(f"{_PROC}/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return "" if _has_proc() else os.path.basename(_ps(pid, "comm"))


def alive(pid: int, since: str = "") -> bool:
    """True where process *pid* runs and, where *since* is given, is the one that started then.

    A zombie counts as dead. What may not be signalled is alive.
    """
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass  # it is there, and somebody else's
    fields = _stat(pid)
    if fields and fields[0] in ("Z", "X"):
        return False
    now = fields[19] if fields else ("" if _has_proc() else _ps(pid, "lstart"))
    return not (since and now) or since == now


def ancestors(pid: int | None = None) -> Iterator[int]:
    """*pid* (default: this process) and the processes above it, nearest first."""
    at = os.getpid() if pid is None else pid
    seen: set[int] = set()
    while at > 0 and at not in seen:
        seen.add(at)
        yield at
        fields = _stat(at)
        above = fields[1] if fields else ("" if _has_proc() else _ps(at, "ppid"))
        at = int(above) if above.isdigit() else 0


def caller() -> int:
    """The process that has this one run: the nearest one above it that is not a shell between the two.

    What is above a person's own shell (a terminal, a multiplexer, a login) runs no agent: there it is the script
    that they started in that shell, and 0 where this process is tried by hand, be it through a command (``-c``).
    """
    below, script = os.getpid(), 0
    for pid in ancestors(os.getppid()):
        name = name_of(pid).lstrip("-")
        if name in _SHELLS and _is_a_persons(pid, below):
            return script
        if pid > 1 and name not in _BETWEEN:
            return pid
        if name in _SHELLS and not _is_given_a_command(pid):
            script = pid
        below = pid
    return os.getppid()


def _is_a_persons(shell: int, below: int) -> bool:
    """True where somebody types into *shell*, of whose children *below* is one.

    It leads its terminal's session, or gives each command a process group (job control). A shell that an agent
    starts for one command does neither; one that is given its command (``-c``) is not typed into.
    """
    group, session, terminal = _places(shell)
    if group != str(shell) or not terminal or _is_given_a_command(shell):
        return False
    apart = _places(below)[0] != group and name_of(below) != "timeout"
    return apart or session == str(shell)


def _places(pid: int) -> tuple[str, str, str]:
    """The process group of *pid*, its session, and its terminal; empty what it has not or cannot be told."""
    fields = _stat(pid)
    if fields:
        return fields[2], fields[3], fields[4] if fields[4] != "0" else ""
    if _has_proc():
        return "", "", ""
    terminal = _ps(pid, "tty").strip("?-")
    return _ps(pid, "pgid"), str(pid) if "s" in _ps(pid, "stat") else "", terminal


def _is_given_a_command(pid: int) -> bool:
    """True where shell *pid* was started with ``-c``; what stands behind the name of a script is the script's."""
    try:
        with open(f"{_PROC}/{pid}/cmdline", "rb") as file:
            given = file.read().decode("utf-8", "replace").split("\0")
    except OSError:
        given = [] if _has_proc() else _ps(pid, "args").split()
    valued = False
    for said in given[1:]:
        if valued:
            valued = False
        elif said.startswith("--"):
            valued = said in ("--rcfile", "--init-file")
        elif said[:1] not in ("-", "+"):
            return False
        elif "c" in said and said[0] == "-":
            return True
        else:
            valued = said.endswith(("o", "O"))
    return False


def _has_proc() -> bool:
    return os.path.exists(f"{_PROC}/self/stat")


def _stat(pid: int) -> list[str]:
    """Fields of /proc/PID/stat from the state on (proc_pid_stat(5): state is field 3, start time 22)."""
    try:
        with open(f"{_PROC}/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].decode("ascii").split()
    except (OSError, ValueError):
        return []


def _ps(pid: int, field: str) -> str:
    import subprocess

    try:
        done = subprocess.run(
            ["ps", "-o", f"{field}=", "-p", str(pid)], capture_output=True, text=True, timeout=5
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
