"""Does a decision reach an agent that waits? One of each, in processes of their own."""

from __future__ import annotations

import subprocess
import time

from loopguard_console.children import environment, module_command
from loopguard_console.doctor.finding import OK, WRONG, Finding
from loopguard_core import escape
from loopguard_core.store.contract import Request, Store
from loopguard_core.urls import in_full

AREA = "waiting"
_SESSION = "doctor-waits"
_START_SECONDS = 20.0
_PATIENCE = 10.0
#: slower than this, a person notices
_SLOW = 1.0


def wake(store: Store) -> list[Finding]:
    """Whether an approval written to *store* (a temporary one) lets a waiting process go on."""
    with subprocess.Popen(
        module_command("loopguard_console.doctor.waiter", _SESSION, str(_PATIENCE)),
        env=environment(LOOPGUARD_STORE=in_full(store.place)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as waiter:
        try:
            return _decide(store, waiter)
        finally:
            waiter.kill()


def _decide(store: Store, waiter: subprocess.Popen[bytes]) -> list[Finding]:
    request = _request(store, waiter)
    if request is None:
        said = waiter.stderr.read() if waiter.stderr is not None and waiter.poll() else b""
        why = said.decode("utf-8", "replace").strip().rpartition("\n")[2] or "no request came"
        what = f"an agent in a process of its own could not be examined: {why}"
        return [Finding(AREA, WRONG, what, "see that this Python can start the installed package")]
    escape.approve(store, request.request, note="doctor")
    decided = time.time()
    try:
        out, _ = waiter.communicate(timeout=_PATIENCE + 5)
    except subprocess.TimeoutExpired:
        out = b""
    if not out.strip():
        what = f"an approval did not reach the waiting agent within {_PATIENCE:.0f} s"
        mend = "keep the store on a local disk: shared and network file systems lose wake-ups"
        return [Finding(AREA, WRONG, what, mend)]
    took = max(0.0, float(out) - decided)
    what = f"an approval reached the waiting agent after {took * 1000:.1f} ms, and its call ran"
    if took > _SLOW:
        mend = "keep the store on a local disk: shared and network file systems lose wake-ups"
        return [Finding(AREA, WRONG, what, mend)]
    return [Finding(AREA, OK, what)]


def _request(store: Store, waiter: subprocess.Popen[bytes]) -> Request | None:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        ended = waiter.poll() is not None
        for request in store.requests(session=_SESSION):
            return request
        if ended:
            return None
        store.changed(0.05)
    return None
