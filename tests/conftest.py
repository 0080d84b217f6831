"""What must not depend on whose machine the tests run on: set before Textual is imported."""

from __future__ import annotations

import os
import time

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
