"""Where reference material beside the checkout lies, for tests that use it and skip without it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("LOOPGUARD_SHARED") or Path(__file__).parents[2] / "shared")


def shared(*parts: str) -> Path:
    """The path of a piece of reference material; skips the test where it is absent."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"needs {'/'.join(parts)} (LOOPGUARD_SHARED names its folder)")
    return path
