"""One percentile for all benchmarks."""

from __future__ import annotations

import math


def percentile(values: list[float], part: float) -> float:
    """The smallest of *values* that at least *part* of them do not exceed (nearest rank)."""
    return sorted(values)[max(0, math.ceil(len(values) * part) - 1)]
