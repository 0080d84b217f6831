"""Where the command begins: it works, or says what it needs, also where only the agent's side is installed."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line and exit.

    An agent's environment has this package without its dependencies, and the command with it: exit code 1 there.
    """
    _fill_in()
    try:
        from loopguard_console.cli import main as run

        run()
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if not missing or missing.startswith("loopguard_"):
            raise
        sys.exit(
            f"loopguard-console: {missing} is not installed here, so this environment can only run agents; "
            "use the command of one into which loopguard-console was installed with its dependencies"
        )


def _fill_in() -> None:
    """Give the program an empty input and outputs that go nowhere for those that whoever started it closed."""
    for name, mode in (
        ("stdin", "r"),
        ("stdout", "w"),
        ("stderr", "w"),
    ):  # 0, 1 and 2, in this order
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
