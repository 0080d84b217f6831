"""One agent of many, as a process of its own: it makes calls, now and then one that a human must release.

It says the name of each call once the guard has taken its end. Run by test_fleet_postgres.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from loopguard_core.shim import LoopGuard


def main() -> None:
    session, calls, pause = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    settings: dict[str, Any] = {
        "policy": "graded",
        "unattended_wait_seconds": 0,
        "store_timeout_seconds": 0.25,
    }
    with LoopGuard("fleet", session=session, raise_on_halt=False, **settings) as guard:
        for n in range(calls):
            looping = n % 20 >= 17  # three alike: the third is stopped
            name = f"{session}-{n}"
            began = time.monotonic()
            decision = guard.live.before("work", {"n": 0 if looping else n}, call=name)
            guard.live.after(decision, "done")
            print(
                name,
                f"{time.monotonic() - began:.3f}",
                "run" if decision.run else "stopped",
                flush=True,
            )
            if n % 20 == 19:
                guard.new_turn("go on")
            time.sleep(pause)


if __name__ == "__main__":
    main()
