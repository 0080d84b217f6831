"""Starting this package's programs as processes of their own, installed or from the tree."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import loopguard_console
import loopguard_core

CONSOLE = [sys.executable, "-m", "loopguard_console"]


def environment(**extra: str) -> dict[str, str]:
    """The environment for such a process: the packages are importable, no session is inherited."""
    roots = [str(Path(m.__path__[0]).parent) for m in (loopguard_core, loopguard_console)]
    env = {k: v for k, v in os.environ.items() if not k.startswith("LOOPGUARD_")}
    env["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(roots))
    env["PYTHONIOENCODING"] = "utf-8"
    return {**env, **extra}


def console(
    *args: str | Path, stdin: str | bytes | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the command line to its end; output as bytes."""
    return subprocess.run(
        [*CONSOLE, *map(str, args)],
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        env=dict(env or environment()),
        timeout=60,
        check=False,
    )
