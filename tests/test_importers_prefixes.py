"""Cut anywhere: what is appended to imports as far as it goes, a single document says that it is cut."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from importing import DATA, calls, opened
from loopguard_core.importers import Unreadable
from shared import SHARED

_REWRITTEN = {"gemini.jsonl"}
APPENDED = sorted(p for p in DATA.glob("*.jsonl") if p.name not in _REWRITTEN)
DOCUMENTS = sorted(p for p in DATA.iterdir() if p.suffix in (".json", ".traj", ".eval"))
REAL = sorted(
    p
    for p in (SHARED / "sessions").rglob("*.jsonl")
    if p.parent.name != "gemini" and "subagents" not in p.parts
)


def identified(path: Path) -> dict[str, list[tuple[str, object]]]:
    """The calls of each session: what they are, without how they ended."""
    return {r.session: [(t, a) for t, a, _ in calls(e)] for r, e in opened(path)}


def check_prefix(whole: Path, cut: int, folder: Path) -> None:
    part = folder / whole.name
    part.write_bytes(whole.read_bytes()[:cut])
    full = {k: v for k, v in opened_once(whole).items() if "agent-" not in k}
    for session, made in identified(part).items():
        same = full.get(session)
        if same is None:  # formats without an id name a session after its first line
            same = next(iter(full.values())) if len(full) == 1 else made
        assert made == same[: len(made)]


_CACHE: dict[Path, dict[str, list[tuple[str, object]]]] = {}


def opened_once(path: Path) -> dict[str, list[tuple[str, object]]]:
    if path not in _CACHE:
        _CACHE[path] = identified(path)
    return _CACHE[path]


@pytest.mark.parametrize("whole", APPENDED, ids=lambda p: p.name)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_prefix_of_what_is_appended_gives_a_prefix_of_the_calls(
    whole: Path, data: st.DataObject, tmp_path: Path
) -> None:
    size = whole.stat().st_size
    check_prefix(whole, data.draw(st.integers(1, size)), tmp_path)


@pytest.mark.parametrize("whole", APPENDED, ids=lambda p: p.name)
def test_a_last_line_that_has_not_ended_counts(whole: Path, tmp_path: Path) -> None:
    part = tmp_path / whole.name
    part.write_bytes(whole.read_bytes().rstrip())
    found, full = identified(part), identified(whole)
    assert any(found.values())
    assert found == {session: full[session] for session in found}


@pytest.mark.skipif(not REAL, reason="needs sessions (LOOPGUARD_SHARED)")
@pytest.mark.parametrize("whole", REAL, ids=lambda p: p.name)
def test_any_prefix_of_a_real_transcript(whole: Path, tmp_path: Path) -> None:
    size = whole.stat().st_size
    for cut in {1, 7, 100, size // 7, size // 3, size // 2 + 1, size - 50, size - 1}:
        check_prefix(whole, cut, tmp_path)


@pytest.mark.parametrize("whole", DOCUMENTS, ids=lambda p: p.name)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_prefix_of_a_document_gives_one_clear_line(
    whole: Path, data: st.DataObject, tmp_path: Path
) -> None:
    raw = whole.read_bytes()
    cut = data.draw(st.integers(0, len(raw.rstrip()) - 1))
    part = tmp_path / whole.name
    part.write_bytes(raw[:cut])
    with pytest.raises(Unreadable) as caught:
        opened(part)
    assert "\n" not in str(caught.value)
    assert str(part) in str(caught.value)


@pytest.mark.parametrize("whole", APPENDED, ids=lambda p: p.name)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_damage_in_the_middle_is_counted_and_never_raises(
    whole: Path, data: st.DataObject, tmp_path: Path
) -> None:
    raw = bytearray(whole.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(raw) - 1))
        raw[place : place + data.draw(st.integers(0, 30))] = data.draw(st.binary(max_size=8))
    part = tmp_path / whole.name
    part.write_bytes(bytes(raw) or b"{")
    try:
        opened(part)
    except Unreadable as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize("whole", DOCUMENTS, ids=lambda p: p.name)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_document_with_other_values_than_expected_never_raises(
    whole: Path, data: st.DataObject, tmp_path: Path
) -> None:
    import json

    if whole.suffix == ".eval":
        return
    document = json.loads(whole.read_text())
    _spoil(document, data)
    part = tmp_path / whole.name
    part.write_text(json.dumps(document))
    try:
        opened(part)
    except Unreadable as error:
        assert "\n" not in str(error)


def _spoil(node: object, data: st.DataObject) -> None:
    """Put a value of another kind somewhere into the document."""
    odd = st.sampled_from(
        [None, 0, -1, 1.5, True, "", "x", [], [None], {}, {"a": 1}, [[1]], "2026"]
    )
    for _ in range(8):
        if not isinstance(node, (dict, list)) or not node:
            return
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = data.draw(st.sampled_from(keys))
        if data.draw(st.integers(0, 3)) == 0:
            node[key] = data.draw(odd)
            return
        node = node[key]
