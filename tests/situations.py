"""Situations with what a guard should make of them: a loop, or repetition that is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from loopguard_core.events import from_json
from loopguard_core.policies.registry import create
from loopguard_core.recording.judging import judge
from loopguard_core.verdict import Tier

OURS = Path(__file__).parent / "data" / "situations.jsonl"
CALLS = 24
#: the call by which a loop must be caught
LATEST = 16


def situations(path: Path) -> list[dict[str, Any]]:
    """The situations in *path*; none where it is absent."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def events(situation: dict[str, Any]) -> list[dict[str, Any]]:
    """The situation's events; a loop goes on by its ``extend`` until there are 24 calls."""
    found = list(situation["events"])
    if "extend" not in situation:
        return found
    first, end = situation["extend"]
    lap = situation["events"][first:end]
    calls = sum(e["type"] in ("call", "call_start") for e in found)
    number = 0
    while calls < CALLS:
        number += 1
        for event in lap:
            names = {n: f"{event[n]}-{number}" for n in ("call",) if n in event}
            found.append({**event, **names})
            calls += event["type"] in ("call", "call_start")
    return found


def tiers(situation: dict[str, Any]) -> list[Tier]:
    """The strongest verdict on each call."""
    rows = judge([from_json(e) for e in events(situation)], create("progress"))
    return [max((v.tier for v in (r.before, r.after) if v), default=Tier.ALLOW) for r in rows]


def caught(situation: dict[str, Any]) -> int | None:
    """The number of the call at which the needed tier was reached."""
    needed = Tier.of(situation["expect"]["min_tier"])
    return next((n for n, tier in enumerate(tiers(situation), 1) if tier >= needed), None)
