"""The published guards, verdict by verdict: what their own code said of these calls."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from loopguard_core.events import from_json
from loopguard_core.judging import judge
from loopguard_core.policies.registry import create, names
from shared import SHARED

OURS = Path(__file__).parent / "data" / "vectors"
CODES = {
    "exact_failure": "repeated_exact_failure",
    "same_tool_failure": "same_tool_failure",
    "no_progress": "idempotent_no_progress",
}
ENDINGS = {"warn": "_warning", "block": "_block", "halt": "_halt"}


def vector_files() -> list[Path]:
    """Our own vectors, and the originals' where they are at hand."""
    found = chain(OURS.glob("*.json"), (SHARED / "vectors").glob("*.json"))
    return sorted(path for path in found if path.stem in names())


def mismatches(vectors: dict[str, Any]) -> list[str]:
    """Every place where our verdicts are not those of *vectors*."""
    found: list[str] = []
    for run in vectors["runs"]:
        for case in run["cases"]:
            events = vectors["events"][case["name"]]
            policy = create(vectors["policy"], run["config"])
            rows = {row.at: row.to_json() for row in judge(map(from_json, events), policy)}
            for want in case["expect"]:
                got = rows[want["at"]]
                keys = [k for k in ("before", "after", "count") if k in want]
                keys = [k for k in keys if k != "count" or want["count"] is not None]
                if any(got[k] != want[k] for k in keys):
                    place = f"{run['config_name']}/{case['name']}[{want['at']}]"
                    found.append(f"{place}: {[got[k] for k in keys]} != {[want[k] for k in keys]}")
    return found


@pytest.mark.parametrize("path", vector_files(), ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_every_verdict_is_the_originals(path: Path) -> None:
    vectors = json.loads(path.read_text(encoding="utf-8"))
    wrong = mismatches(vectors)
    assert not wrong, f"{len(wrong)} verdicts differ, the first: " + "; ".join(wrong[:5])
