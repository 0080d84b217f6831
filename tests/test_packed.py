"""The pack of a hook's modules: made by the first one, used by the next, never older than the source."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import loopguard_core
from loopguard_core.packed import Packed
from processes import environment

PROBE = """
import sys
sys.argv[1:] = sys.argv[2:]
sys.path.append(sys.argv.pop(1))
from loopguard_core.packed import Packed
pack = Packed(sys.argv.pop(1))
sys.meta_path.insert(0, pack)
import loopguard_core.hook as hook
from loopguard_core.policies import registry
names = sorted(n for n in sys.modules if n.startswith("loopguard_core."))
print(sum(type(sys.modules[n].__loader__).__name__ == "_Loader" for n in names), len(names))
print(hook.__file__, registry.__package__, sys.modules["loopguard_core.policies"].__path__)
print(hook.main.__code__.co_filename)
"""


class Installed:
    """A copy of the package, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "lib"
        source = Path(loopguard_core.__file__).parent
        ignored = shutil.ignore_patterns("__pycache__", "importers", "postgres")
        shutil.copytree(source, self.folder / "loopguard_core", ignore=ignored)

    @property
    def package(self) -> Path:
        return self.folder / "loopguard_core"

    @property
    def pack(self) -> Path:
        tag = sys.implementation.cache_tag
        return self.package / "__pycache__" / f"hook_launcher.{tag}.pack"

    def hook(self, *options: str, call: str = "1") -> str:
        """Start the hook for a call; what it said on stderr."""
        data = {
            "session_id": "s",
            "cwd": str(self.folder),
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": "ls"},
            "tool_use_id": call,
        }
        launcher = str(self.package / "hook_launcher.py")
        done = subprocess.run(
            [sys.executable, "-I", "-S", *options, launcher, "--agent", "claude-code"],
            input=json.dumps(data).encode(),
            capture_output=True,
            env=environment(HOME=str(self.folder), LOOPGUARD_STORE=str(self.folder / "s.db")),
            check=True,
            timeout=60,
        )
        assert done.stdout == b""
        return done.stderr.decode()

    def probe(self) -> list[str]:
        """How many modules come from the pack, and of how many; where they say that they are."""
        launcher = str(self.package / "hook_launcher.py")
        argv = [sys.executable, "-I", "-S", "-c", PROBE, "x", str(self.folder), launcher]
        return subprocess.check_output(argv, text=True, timeout=60).splitlines()


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    return Installed(tmp_path)


def test_the_second_hook_finds_what_the_first_imported(installed: Installed) -> None:
    assert installed.probe()[0].startswith("0 ")
    assert installed.hook() == ""
    first = installed.pack.stat()
    assert installed.hook(call="2") == ""
    assert installed.pack.stat().st_ino == first.st_ino, "nothing was missing in it"
    counts, places, code = installed.probe()
    packed, all_of_them = map(int, counts.split())
    assert packed == all_of_them - 1 > 40, "all but the module that reads the pack"
    package = installed.package
    assert places == f"{package}/hook.py loopguard_core.policies ['{package}/policies']"
    assert code == f"{package}/hook.py"
    assert not list(installed.pack.parent.glob("*.pack.*"))


def test_a_changed_source_is_never_served_from_the_pack(installed: Installed) -> None:
    installed.hook()
    source = installed.package / "opening.py"
    source.write_text(source.read_text() + '\nto_stderr("changed")\n')
    assert installed.hook(call="2") == "loopguard: changed\n"
    assert installed.hook(call="3") == "loopguard: changed\n", "now it stands in the pack"
    assert installed.probe()[0].split()[0] == str(int(installed.probe()[0].split()[1]) - 1)
    os.utime(source, (1_000_000_000, 1_000_000_000))
    assert installed.hook(call="4") == "loopguard: changed\n"
    source.unlink()
    with pytest.raises(subprocess.CalledProcessError):
        installed.hook(call="5")  # a module that is gone is gone


@pytest.mark.parametrize("damage", ["empty", "cut", "other", "place", "index", "code", "zeros"])
def test_a_damaged_pack_is_made_anew(installed: Installed, damage: str) -> None:
    installed.hook()
    whole = installed.pack.read_bytes()
    index = int.from_bytes(whole[12:16], "little")
    broken = {
        "empty": b"",
        "cut": whole[: len(whole) // 2],
        "other": b"\0\0\0\0" + whole[4:],
        "place": whole[:12] + (len(whole) - 9).to_bytes(4, "little") + whole[16:],
        "index": whole[:-40] + bytes(20) + whole[-20:],
        "code": whole[:16] + bytes(index - 16) + whole[index:],
        "zeros": bytes(len(whole)),
    }
    installed.pack.write_bytes(broken[damage])
    assert installed.hook(call="2") == ""
    again = installed.pack.read_bytes()
    assert installed.hook(call="3") == ""
    assert installed.pack.read_bytes() == again != broken[damage], "nothing of it is damaged now"
    packed, all_of_them = map(int, installed.probe()[0].split())
    assert packed == all_of_them - 1


def test_no_damage_goes_unnoticed(installed: Installed) -> None:
    """One bit in compiled code may end a process that has a call to refuse, or change what it does."""
    installed.hook()
    launcher = str(installed.package / "hook_launcher.py")
    whole = installed.pack.read_bytes()
    assert Packed(launcher)._index
    places = [*range(24), *range(24, len(whole), len(whole) // 150), *range(-24, 0)]
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        for broken in (damaged, whole[:place]):
            installed.pack.write_bytes(broken)
            assert not Packed(launcher)._index, place
    installed.pack.write_bytes(whole)
    assert Packed(launcher)._index


def test_a_pack_of_another_version_is_not_used(installed: Installed) -> None:
    installed.hook()
    init = installed.package / "__init__.py"
    init.write_text(init.read_text().replace('"0.', '"9.'))
    assert installed.probe()[0].startswith("0 ")
    assert installed.hook(call="2") == ""
    assert not installed.probe()[0].startswith("0 ")


def test_a_package_that_was_moved_takes_its_pack_along(installed: Installed) -> None:
    installed.hook()
    moved = installed.folder.with_name("moved lib")
    installed.folder.rename(moved)
    installed.folder = moved
    counts, places, code = installed.probe()
    assert not counts.startswith("0 ")
    assert places.startswith(f"{moved}/loopguard_core/hook.py") and code in places
    assert installed.hook(call="2") == ""


@pytest.mark.parametrize("content", ["", "def", None])
def test_half_an_installation_is_said_in_one_line(
    installed: Installed, content: str | None
) -> None:
    installed.hook()
    source = installed.package / "agents" / "host.py"
    whole = source.read_text()
    source.unlink()
    if content is not None:
        source.write_text(content)
    with pytest.raises(subprocess.CalledProcessError) as failed:
        installed.hook(call="2")
    assert failed.value.returncode == 1, "2 would be a denial"
    said = failed.value.stderr.decode()
    assert said.startswith("loopguard: the hook cannot run: ") and said.count("\n") == 1
    source.write_text(whole)
    assert installed.hook(call="3") == ""


def test_where_python_imports_in_another_way_the_hook_starts_without_a_pack(
    installed: Installed,
) -> None:
    source = installed.package / "packed.py"
    source.write_text(source.read_text().replace("_fix_co_filename, ", "_other, ", 1))
    assert installed.hook() == ""
    assert not installed.pack.exists()


def test_where_python_knows_sources_by_their_digests_no_hook_writes_anything(
    installed: Installed,
) -> None:
    """As where an image was built with ``SOURCE_DATE_EPOCH``, which gives all files one time."""
    compiling = ["-m", "compileall", "-q", "--invalidation-mode", "checked-hash"]
    subprocess.run([sys.executable, *compiling, str(installed.package)], check=True, timeout=60)
    folder = installed.pack.parent
    assert installed.hook() == ""
    before = folder.stat().st_mtime_ns, sorted(folder.iterdir())
    assert installed.hook(call="2") == ""
    assert (folder.stat().st_mtime_ns, sorted(folder.iterdir())) == before
    assert not list(folder.glob("*.pack*"))


def test_where_python_keeps_nothing_there_is_no_pack(installed: Installed) -> None:
    assert installed.hook("-B") == ""
    assert not installed.pack.exists()
