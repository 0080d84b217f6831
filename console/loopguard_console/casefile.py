"""A loop as a test: a pytest file and a small recording that fail while the guard does not catch it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from loopguard_core.events import Event, EventError, decode, encode
from loopguard_core.verdict import Tier

#: Characters of a result that the recording keeps where its digests stand beside it.
KEPT = 2_000

_TEST = '''"""The guard catches this loop: {title}.

Made from a recording. The settings are those of this folder (loopguard.toml), else the defaults.
"""

from pathlib import Path

from loopguard_core.config import load_config
from loopguard_core.events import decode
from loopguard_core.recording.judging import judge
from loopguard_core.verdict import Tier

HERE = Path(__file__)


def test_{name}() -> None:
    lines = HERE.with_suffix(".jsonl").read_text("utf-8").splitlines()
    config = load_config(str(HERE.parent))
    failed: list[str] = []  # a match function that fails is no guard
    policy = config.make_policy(tell=lambda place, what: failed.append(what))
    rows = judge(map(decode, lines), policy, traits=config.trait_table())
    verdicts = [v for row in rows for v in (row.before, row.after) if v is not None]
    assert not failed, failed
    assert max(v.tier for v in verdicts) >= Tier.{tier}
'''


def name_of(text: str) -> str:
    """A name for files and functions made from what a session is called."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:40] or "loop"


def test_file(name: str, title: str, tier: Tier = Tier.BLOCK) -> str:
    """The pytest file. *title* is for people and stands in its docstring."""
    plain = re.sub(r"[^\w .,:()-]", " ", title, flags=re.ASCII)[:80].strip()
    return _TEST.format(name=name, title=plain, tier=tier.name)


def fixture(events: Iterable[Event]) -> Iterator[str]:
    """The lines of the recording beside it: what the agent and its host did, without verdicts and decisions.

    What would not be read again, since it lacks what it cannot do without, is left out.
    """
    for event in events:
        if event.type in ("call", "call_start", "call_end", "user_message", "turn_start"):
            data = {k: v for k, v in event.data.items() if k != "verdict"}
            result = data.get("result")
            if "ids" in data and isinstance(result, str) and len(result) > KEPT:
                data |= {"result": result[:KEPT], "cut": True}
            line = encode(Event(event.type, event.session, ts=event.ts, data=data))
            try:
                decode(line)
            except EventError:
                continue
            yield line + "\n"
