"""Starting our own modules as processes, whatever way this package came to be importable."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import loopguard_console
import loopguard_core


def module_command(module: str, *args: str) -> list[str]:
    """The command line that runs *module* with this interpreter."""
    return [sys.executable, "-m", module, *args]


def environment(**extra: str) -> dict[str, str]:
    """The environment for such a process: our packages are found, no guard's settings are inherited."""
    roots = [str(Path(str(m.__file__)).parents[1]) for m in (loopguard_core, loopguard_console)]
    env = {k: v for k, v in os.environ.items() if not k.startswith("LOOPGUARD_")}
    before = [env["PYTHONPATH"]] if env.get("PYTHONPATH") else []
    env["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*roots, *before]))
    return {**env, **extra}
