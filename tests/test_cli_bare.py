"""Where the package was installed without its dependencies, as for an agent, the command says so in one line."""

from __future__ import annotations

import subprocess
import sys

import pytest

from processes import environment


@pytest.mark.parametrize("missing", ["click", "rich", "textual"])
@pytest.mark.parametrize("line", ["sessions", "demo"])
def test_without_its_libraries_the_command_says_what_is_missing(missing: str, line: str) -> None:
    program = (
        f"import sys; sys.modules[{missing!r}] = None; sys.argv[1:] = [{line!r}]\n"
        "from loopguard_console.entry import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(XDG_STATE_HOME="/nonexistent"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if (missing, line) == ("textual", "sessions"):
        assert done.returncode == 0, "a list needs no screen"
        return
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.startswith(f"loopguard-console: {missing} is not installed here")
    assert done.stderr.count("\n") == 1
