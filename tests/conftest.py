"""What must not depend on whose machine the tests run on, nor on how busy it is: set before Textual is imported."""

from __future__ import annotations

import os
import time

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
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")


def pytest_unconfigure() -> None:
    """What the tests started goes with them."""
    postgres.stop()
