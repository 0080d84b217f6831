"""Where the store is, and the machine's key beside it. Directories 0700, files 0600."""

from __future__ import annotations

import os

from loopguard_core import files, urls
from loopguard_core.hashing import blake2b
from loopguard_core.interrupts import pass_on
from loopguard_core.processes import home
from loopguard_core.store.contract import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    FileId = tuple[int, int]

ENVIRONMENT = "LOOPGUARD_STORE"
KEY_BYTES = 32
#: The name of the file in which events wait for a server.
SPOOL = "spool.db"


def default_store(environ: Mapping[str, str] | None = None) -> str:
    """The store that is meant when nobody names one.

    ``$LOOPGUARD_STORE``, else ``$XDG_STATE_HOME/loopguard/events.db``, else the same below
    ``~/.local/state`` (a relative ``XDG_STATE_HOME`` is ignored, as its specification asks). For who has no home
    it is a place where nothing can be made.
    """
    env = os.environ if environ is None else environ
    named = env.get(ENVIRONMENT)
    if named:
        return place_of(named)
    state = env.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):
        state = os.path.join(home() or os.devnull, ".local", "state")
    return os.path.join(state, "loopguard", "events.db")


def place_of(named: str) -> str:
    """Where the store is that a person names: an absolute path, or a URL without its password."""
    if urls.is_url(named):
        return urls.place_of(named)
    if named == urls.MISNAMED or urls.is_misnamed(named):
        return urls.MISNAMED
    return os.path.abspath(os.path.expanduser(named))


def misnamed() -> StoreError:
    """What is said where the store's name is for nothing that we know. It may hold a password."""
    return StoreError(
        "the event store is named by what is neither a path nor a URL that begins with postgresql://; "
        f"see --store, {ENVIRONMENT} and store in loopguard.toml"
    )


def folder_of(store: str) -> str:
    """The folder for what belongs to *store* but not into it: beside a file; of a URL, one of its own.

    Raises ``StoreError`` where it is misnamed.
    """
    if store == urls.MISNAMED:
        raise misnamed()
    if not urls.is_url(store):
        return os.path.dirname(store)
    from loopguard_core.config import state_folder  # a store in a file has no need of it

    name = blake2b(store.encode("utf-8", "replace"), digest_size=8).hexdigest()
    return os.path.join(state_folder(), "stores", name)


def spool_file(store: str) -> str:
    """The file in which events wait for the server at the URL *store*."""
    return os.path.join(folder_of(store), SPOOL)


def key_file(store: str) -> str:
    """The file of the machine's key for *store*: beside it, never inside it."""
    return os.path.join(folder_of(store), "machine.key")


def is_there(store: str) -> bool:
    """Whether anything stands at the path *store*. Raises ``StoreError`` where this user may not look there."""
    try:
        os.lstat(store)
    except PermissionError as error:
        raise StoreError(
            f"cannot look for the event store {store}: {error.strerror}; "
            "let this user enter its folder (chmod u+rwx), or name another store"
        ) from None
    except (OSError, ValueError) as error:
        pass_on(error)
        return False
    return True


def make_directory(store: str) -> None:
    """The directory of *store*, made 0700 where it is missing. Raises ``StoreError``."""
    directory = folder_of(store)
    if os.path.isdir(directory):
        return
    private = [directory]
    while urls.is_url(store) and len(private) < 3:  # the state folder itself is private as well
        private.append(os.path.dirname(private[-1]))
    if directory.startswith(os.path.join(os.devnull, "")):
        raise StoreError(
            "there is no place for the event store: HOME is not set, and this user has no home "
            f"directory; set HOME, or name the store with {ENVIRONMENT}"
        )
    try:
        os.makedirs(os.path.dirname(private[-1]), exist_ok=True)
        for folder in reversed(private):
            os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"cannot make the directory {directory} for the event store: {error.strerror}; "
            f"make it, or name another store with {ENVIRONMENT}"
        ) from None


def make_file(store: str) -> None:
    """An empty file 0600 at *store* where there is none. Raises ``StoreError``.

    A write-ahead log that a deleted store left behind belongs to nobody and goes first.
    """
    if os.path.exists(store):
        return
    try:
        with Alone(store):
            if not os.path.exists(store):
                for log in logs(store):
                    if os.path.exists(log):
                        os.unlink(log)
                os.close(os.open(store, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise StoreError(
            f"cannot make the event store {store}: {error.strerror}; "
            f"mend its permissions, or name another store with {ENVIRONMENT}"
        ) from None


def logs(store: str) -> tuple[str, str]:
    """The files that SQLite keeps beside *store*, or what it links to: its write-ahead log, and the index of that."""
    if os.path.islink(store):
        store = os.path.realpath(store)
    return f"{store}-wal", f"{store}-shm"


def file_id(path: str) -> FileId:
    """Which file stands at *path*; zeros where none does."""
    try:
        stat = os.stat(path)
    except OSError as error:
        pass_on(error)
        return 0, 0
    return stat.st_dev, stat.st_ino


def last_written(path: str) -> list[int]:
    """When the files of a store were last written to."""
    found = []
    for name in (path, logs(path)[0]):
        try:
            found.append(os.stat(name).st_mtime_ns)
        except OSError as error:
            pass_on(error)
            found.append(0)
    return found


def remove_logs(store: str, known: tuple[FileId, ...]) -> None:
    """Remove the logs of *store* that are the *known* ones.

    SQLite would play them into the file that has taken the place of the one that they belong to.
    """
    try:
        with Alone(store):
            unlink_logs(store, known)
    except OSError as error:
        pass_on(error)  # who may not remove them may not write the file either


def unlink_logs(store: str, known: tuple[FileId, ...]) -> None:
    """The same, for who is ``Alone`` already. Raises ``OSError``."""
    for log, which in zip(logs(store), known, strict=True):
        if which != (0, 0) and file_id(log) == which:
            os.unlink(log)


class Alone:
    """A lock on the directory in which *store* lies, whatever links there, so that no two processes put its files in order."""

    __slots__ = ("_directory",)

    def __init__(self, store: str) -> None:
        self._directory = os.open(
            os.path.dirname(os.path.realpath(store)), os.O_RDONLY | os.O_CLOEXEC
        )

    def __enter__(self) -> None:
        from fcntl import LOCK_EX, flock  # once a machine

        try:
            flock(self._directory, LOCK_EX)
        except OSError as error:
            pass_on(error)
            os.close(self._directory)
            raise

    def __exit__(self, *_: object) -> None:
        os.close(self._directory)


def machine_key(store: str, *, create: bool = True) -> bytes:
    """The key of this machine's digests for *store*; made on first use, by one process only.

    Empty where there is none and *create* is false. Raises ``StoreError`` where it cannot be read
    or made, or is too short to be one.
    """
    path = key_file(store)
    key = _read_key(path)
    if key is None:
        if not create:
            return b""
        make_directory(store)
        key = _make_key(path)
    if len(key) < KEY_BYTES:
        raise StoreError(
            f"the key file {path} is damaged ({len(key)} bytes); remove it to have a new one made "
            "(digests of before will not compare equal)"
        )
    return key[:KEY_BYTES]


def _read_key(path: str) -> bytes | None:
    try:
        return files.read(path, KEY_BYTES)
    except FileNotFoundError:
        return None
    except files.NotAFile as error:
        raise StoreError(
            f"cannot read the key file {path}: {error.strerror}; remove it to have a new one made "
            "(digests of before will not compare equal)"
        ) from None
    except OSError as error:
        raise StoreError(f"cannot read the key file {path}: {error.strerror}") from None


def _make_key(path: str) -> bytes:
    try:
        files.create(path, [os.urandom(KEY_BYTES)])
    except FileExistsError:
        pass  # somebody was faster: theirs holds
    except OSError as error:
        raise StoreError(
            f"cannot make the key file {path}: {error.strerror}; "
            "make room on its disk, or mend the permissions of its folder"
        ) from None
    return _read_key(path) or b""
