"""What ``loopguard-hook --help`` says, to a person who tries the hook by hand."""

from __future__ import annotations

import sys

from loopguard_core.hook.options import AGENTS

_TEXT = """\
Usage: loopguard-hook --agent NAME [--limit SECONDS] [--event NAME] [--store FILE|URL] < EVENT

Judges one hook event of an agent, which is read from stdin as a JSON object, records it, and answers on
stdout as that agent expects it: nothing where the call may run as it is. The agent starts this for each
event; `loopguard-console install AGENT` sets that up.

  --agent NAME      Whose event it is: {agents}.
  --limit SECONDS   After how long the agent gives up on the hook; so long a call waits for you at most.
  --event NAME      The event, where the input does not name it.
  --store FILE|URL  Another event store.
  -h, --help        Say this.

Exit code 0, also where a call is refused; 1 where this command line is wrong; 2 for a refusal that cannot
be written to stdout.
"""


def tell() -> int:
    """Print it; the exit code."""
    if sys.stdout is None:  # closed
        return 1
    try:
        sys.stdout.write(_TEXT.format(agents=", ".join(AGENTS)))
        sys.stdout.flush()
    except OSError:  # nobody reads it
        return 1
    return 0
