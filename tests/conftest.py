"""What must not depend on whose machine the tests run on, nor on how busy it is: set before Textual is imported."""

from __future__ import annotations

import os
import signal
import sys
import time
from itertools import count

import pytest
from hypothesis import HealthCheck, settings

import postgres

for _name in (
    "NO_COLOR",
    "FORCE_COLOR",
    "COLORTERM",
    "COLUMNS",
    "LINES",
    "TEXTUAL",
    "TEXTUAL_ANIMATIONS",
    "TEXTUAL_COLOR_SYSTEM",
    "TEXTUAL_DIM_FACTOR",
    "TEXTUAL_DRIVER",
    "TEXTUAL_FPS",
    "TEXTUAL_THEME",
    "LOOPGUARD_CONFIG",
    "LOOPGUARD_SESSION",
    "LOOPGUARD_STORE",
):
    os.environ.pop(_name, None)
os.environ["TZ"] = "UTC"
time.tzset()
# Where this runs in the background of a script, Ctrl-C is ignored, and so it would be in what tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

_homes = count()


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered between runs is each test's own: nothing of the person's, nothing of another test."""
    state = tmp_path_factory.getbasetemp() / f"state-{next(_homes)}"
    monkeypatch.setenv("XDG_STATE_HOME", str(state))


@pytest.fixture(autouse=True)
def whole_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that a test presses in a console has been answered when ``press`` comes back."""
    if "textual.pilot" in sys.modules:
        from textual.pilot import Pilot

        from driving import insist

        monkeypatch.setattr(Pilot, "press", insist(Pilot.press))


def pytest_unconfigure() -> None:
    """What the tests started goes with them."""
    postgres.stop()
