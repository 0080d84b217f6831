"""The agent that waits while ``doctor`` decides: a process of its own.

Asks for the same call until one has waited for a person and run; then prints when it could go on.
"""

from __future__ import annotations

import sys
import time

from loopguard_core.shim import LoopGuard

_TRIES = 10


def main(session: str, patience: str) -> None:
    """Wait for one decision, at most *patience* seconds."""
    with LoopGuard(
        "doctor",
        session=session,
        parent="",
        say=lambda line: None,
        raise_on_halt=False,
        policy="graded",
        policies={},  # whether the person's own can be loaded is examined elsewhere
        mode="ask",
        unattended_wait_seconds=float(patience),
    ) as guard:
        guard.new_turn("examine the waiting")
        for _ in range(_TRIES):
            decision = guard.before_call("examine", {"what": "waiting"})
            reached = time.time()
            if decision.request:
                if decision.run:
                    print(reached, flush=True)
                return
            guard.after_call(decision, "the same")


if __name__ == "__main__":
    main(*sys.argv[1:])
