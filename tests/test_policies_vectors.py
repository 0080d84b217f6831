"""The published guards, verdict by verdict: what their own code said of these calls."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from loopguard_core.events import from_json
from loopguard_core.policies.registry import create, names
from loopguard_core.recording.judging import Row, judge
from loopguard_core.verdict import Tier
from shared import SHARED

OURS = Path(__file__).parent / "data" / "vectors"
#: our detectors under the names that Hermes Agent gives them
CODES = {"exact_failure": "repeated_exact_failure", "no_progress": "idempotent_no_progress"}
STAGES = ("before", "after")
COMPARED = (*STAGES, "count", "threshold", "code", "turn_ends")
ENDINGS = {Tier.WARN: "warning", Tier.BLOCK: "block", Tier.HALT: "halt"}


def vector_files() -> list[Path]:
    """Our own vectors, and the originals' where they are at hand."""
    found = chain(OURS.glob("*.json"), (SHARED / "vectors").glob("*.json"))
    return sorted(path for path in found if path.stem in names())


def said(row: Row, ended: bool) -> dict[str, Any]:
    """The row under the names of the vector files. *ended*: the guard has ended this turn."""
    verdict = row.verdict
    if verdict is None:
        return {**row.to_json(), "turn_ends": ended}
    ending = ENDINGS.get(verdict.tier)
    code = CODES.get(verdict.detector, verdict.detector)
    return {
        **row.to_json(),
        "code": f"{code}_{ending}" if ending else "allow",
        "turn_ends": ended or verdict.ends_turn,
    }


def mismatches(vectors: dict[str, Any]) -> list[str]:
    """Every place where our verdicts are not those of *vectors*."""
    found: list[str] = []
    for run in vectors["runs"]:
        for case in run["cases"]:
            events = vectors["events"][case["name"]]
            policy = create(vectors["policy"], run["config"])
            rows = {row.at: row for row in judge(map(from_json, events), policy)}
            ended, last = False, 0
            for want in case["expect"]:
                kinds = {event["type"] for event in events[last : want["at"]]}
                last = want["at"]
                got = said(rows[last], ended and not kinds & {"user_message", "reset"})
                ended = got["turn_ends"]
                keys = [
                    k for k in COMPARED if want.get(k) is not None or (k in want and k in STAGES)
                ]
                if any(got[k] != want[k] for k in keys):
                    place = f"{run['config_name']}/{case['name']}[{last}]"
                    found.append(f"{place}: {[got[k] for k in keys]} != {[want[k] for k in keys]}")
    return found


@pytest.mark.parametrize("path", vector_files(), ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_every_verdict_is_the_originals(path: Path) -> None:
    vectors = json.loads(path.read_text(encoding="utf-8"))
    wrong = mismatches(vectors)
    assert not wrong, f"{len(wrong)} verdicts differ, the first: " + "; ".join(wrong[:5])
