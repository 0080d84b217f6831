"""The compiled modules of a hook, end to end in one file beside Python's own.

Python looks for each module in its folder, opens its ``.pyc`` and reads that through several objects, which takes
a hook process longer than running all of them. The pack has the same bytes, and they hold as long as those do:
while the source has the time and the size that stand in the index, of the same version. What is not in it, or was changed, is
imported as ever and in the pack for the next process. Where Python keeps no ``.pyc``, or knows it by the source's digest,
there is no pack.

It is read at once and used only where its digest says that it is whole: one wrong bit in compiled code may end the
process, or change what it does.
"""

from __future__ import annotations

import os
import sys

# ``importlib`` exports these, once it has loaded more than a hook needs.
from _frozen_importlib_external import (
    MAGIC_NUMBER,
    SourceFileLoader,
    cache_from_source,
    spec_from_file_location,
)
from _imp import _fix_co_filename, source_hash  # type: ignore[attr-defined]
from marshal import dumps, loads

from loopguard_core import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType

    #: Time and size of the source, whether it is a package, where its code stands in the pack and how long that is.
    Entry = tuple[int, int, bool, int, int]

#: Bytes before the code, in a ``.pyc`` and in the pack: there Python's own number, the digest of all behind it, and
#: where the index at the end begins.
_HEAD = 16
_MAGIC, _DIGEST, _START = slice(0, 4), slice(4, 12), slice(12, _HEAD)
_PREFIX = __name__.rpartition(".")[0] + "."


class Packed:
    """Finds and runs this package's modules from the pack beside *launcher*, for ``sys.meta_path``."""

    def __init__(self, launcher: str) -> None:
        self._root = os.path.dirname(os.path.dirname(os.path.abspath(launcher)))
        self._path = cache_from_source(launcher).removesuffix(".pyc") + ".pack"
        self._whole = memoryview(b"")
        self._index: dict[str, Entry] = {}
        self._missed: list[str] = []
        try:
            with open(self._path, "rb", buffering=0) as file:
                whole = file.read()
        except OSError:
            return  # none yet
        if whole[_MAGIC] == MAGIC_NUMBER and whole[_DIGEST] == _digest(whole):
            version, index = loads(whole[int.from_bytes(whole[_START], "little") :])
            if version == __version__:
                self._whole, self._index = memoryview(whole), index

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's spec where the pack has the module as its source is now."""
        if not name.startswith(_PREFIX):
            return None
        entry = self._index.get(name)
        package = entry is not None and entry[2]
        source = f"{self._root}/{name.replace('.', '/')}{'/__init__' if package else ''}.py"
        if entry is None or entry[:2] != _written(source):
            self._missed.append(name)
            return None
        spec = spec_from_file_location(
            name,
            source,
            loader=_Loader(name, source, self._code(entry)),
            submodule_search_locations=[os.path.dirname(source)] if package else None,
        )
        assert spec is not None
        spec.cached = self._path
        return spec

    def keep(self) -> None:
        """Let the next process find what this one had to import as ever. Best effort: nothing is raised."""
        new = [name for name in self._missed if name in sys.modules]
        if not new or sys.dont_write_bytecode:
            return
        made = f"{self._path}.{os.getpid()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        try:
            whole = self._with(new)
            with open(os.open(made, flags, 0o644), "wb") as file:
                file.write(whole)
            os.replace(made, self._path)
        except Exception:  # noqa: BLE001 - as where Python keeps nothing either
            _remove(made)

    def _with(self, new: Sequence[str]) -> bytes:
        """The pack with the *new* modules in it. Raises ``OSError``, or ``ValueError`` for one that cannot be in it."""
        index: dict[str, Entry] = {}
        out = bytearray(_HEAD)
        for name, (time, size, package, start, length) in self._index.items():
            if name not in new:
                index[name] = time, size, package, len(out), length
                out += self._code((time, size, package, start, length))
        for name in new:
            source = sys.modules[name].__file__
            if source is None:
                continue
            with open(cache_from_source(source), "rb") as file:
                compiled = file.read()
            flags, time, size = (
                int.from_bytes(compiled[at : at + 4], "little") for at in (4, 8, 12)
            )
            if compiled[_MAGIC] != MAGIC_NUMBER or flags:
                raise ValueError(f"{source} is not known by its time and size")
            package = hasattr(sys.modules[name], "__path__")
            index[name] = time, size, package, len(out), len(compiled) - _HEAD
            out += compiled[_HEAD:]
        out[_START] = len(out).to_bytes(4, "little")
        out += dumps((__version__, index))
        out[_MAGIC], out[_DIGEST] = MAGIC_NUMBER, _digest(out)
        return bytes(out)

    def _code(self, entry: Entry) -> memoryview:
        """The bytes from which the code of a module is made."""
        start, length = entry[3:]
        return self._whole[start : start + length]


def _digest(pack: bytes | bytearray) -> bytes:
    """What tells a whole pack from a damaged one."""
    return source_hash(_HEAD, memoryview(pack)[_START.start :])


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def _written(source: str) -> tuple[int, int]:
    """Time and size of *source*, as a ``.pyc`` has them."""
    try:
        stat = os.stat(source)
    except OSError:
        return -1, -1
    return int(stat.st_mtime) & 0xFFFFFFFF, stat.st_size & 0xFFFFFFFF


class _Loader(SourceFileLoader):
    """Runs a module as ever, with its *code* from the pack."""

    def __init__(self, name: str, source: str, code: memoryview) -> None:
        super().__init__(name, source)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        """The code of the module, as it would be compiled from its source."""
        code: CodeType = loads(self._code)
        _fix_co_filename(code, self.path)  # where the package was moved
        return code
