"""The file that starts a hook, and what it does where the installation is not whole."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import loopguard_core
from processes import environment


class Installed:
    """A copy of the package, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.package = folder / "lib" / "loopguard_core"
        source = Path(loopguard_core.__file__).parent
        ignored = shutil.ignore_patterns("__pycache__", "importers", "postgres")
        shutil.copytree(source, self.package, ignore=ignored)

    def hook(self) -> subprocess.CompletedProcess[bytes]:
        """Start the hook for a call."""
        data = {
            "session_id": "s",
            "cwd": str(self.folder),
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": "ls"},
            "tool_use_id": "1",
        }
        launcher = str(self.package / "hook_launcher.py")
        return subprocess.run(
            [sys.executable, "-I", "-S", launcher, "--agent", "claude-code"],
            input=json.dumps(data).encode(),
            capture_output=True,
            env=environment(HOME=str(self.folder), LOOPGUARD_STORE=str(self.folder / "s.db")),
            check=False,
            timeout=60,
        )


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    return Installed(tmp_path)


@pytest.mark.parametrize("content", ["", "def", None])
def test_half_an_installation_is_said_in_one_line(
    installed: Installed, content: str | None
) -> None:
    source = installed.package / "agents" / "host.py"
    whole = source.read_text()
    source.unlink()
    if content is not None:
        source.write_text(content)
    done = installed.hook()
    assert done.returncode == 1, "2 would be a denial"
    said = done.stderr.decode()
    assert said.startswith("loopguard: the hook cannot run: ") and said.count("\n") == 1
    source.write_text(whole)
    done = installed.hook()
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_ctrl_c_while_it_starts_leaves_no_traceback(installed: Installed) -> None:
    (installed.package / "agents" / "host.py").write_text("import os; os.kill(os.getpid(), 2)")
    done = installed.hook()
    assert (done.returncode, done.stdout, done.stderr) == (-2, b"", b"")


def test_a_package_that_was_moved_works_where_it_is_now(installed: Installed) -> None:
    assert installed.hook().returncode == 0
    moved = installed.folder / "moved lib"
    installed.package.parent.rename(moved)
    installed.package = moved / "loopguard_core"
    done = installed.hook()
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_hook_leaves_nothing_beside_the_package_but_what_python_keeps(
    installed: Installed,
) -> None:
    before = set(installed.package.rglob("*"))
    assert installed.hook().returncode == 0
    new = {path for path in installed.package.rglob("*") if path not in before}
    assert {path.suffix or path.name for path in new} == {".pyc", "__pycache__"}
