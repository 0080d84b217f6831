"""Importing again adds nothing, and keeps what people said of a session in between."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from importing import DATA, imported
from loopguard_core.events import Event, encode
from loopguard_core.store.contract import Store
from loopguard_core.store.door import open_store

FORMATS = [
    "claude_code.jsonl",
    "codex.jsonl",
    "copilot.jsonl",
    "gemini_stream.jsonl",
    "hermes.jsonl",
    "pi.jsonl",
]
WORDS = [
    Event("note", ts=9e9, data={"text": "looked at it", "by": "a person"}),
    Event("label", ts=9e9, data={"call": "c", "label": "loop"}),
    Event("halt", ts=9e9, data={"note": "enough"}),
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(str(tmp_path / "state" / "events.db"))
    yield opened
    opened.close()


def say(store: Store, session: str) -> None:
    for word in WORDS:
        store.append(Event(word.type, session, ts=word.ts, data=dict(word.data)))


@pytest.mark.parametrize("name", FORMATS)
def test_a_word_of_a_person_stays_and_the_transcript_is_known(store: Store, name: str) -> None:
    first = imported(store, DATA / name)
    for session in first.sessions:
        say(store, session)
    before = {s: store.read(s) for s in first.sessions}
    again = imported(store, DATA / name)
    assert (again.added, again.refused, again.known) == (0, {}, first.added)
    assert {s: store.read(s) for s in first.sessions} == before


@pytest.mark.parametrize("name", FORMATS)
def test_a_transcript_that_grew_is_added_to_behind_what_people_said(
    store: Store, tmp_path: Path, name: str
) -> None:
    lines = (DATA / name).read_bytes().splitlines(keepends=True)
    growing = tmp_path / name
    for cut in range(2, len(lines) + 1):
        growing.write_bytes(b"".join(lines[:cut]))
        result = imported(store, growing)
        assert not result.refused
        for session in result.sessions:
            say(store, session)
    other = open_store(str(tmp_path / "at-once" / "events.db"))
    for session in imported(other, growing).sessions:
        said = [e for e in store.read(session) if e.ts == 9e9]
        told = [e for e in store.read(session) if e.ts != 9e9]
        assert len(said) >= len(WORDS)
        assert [(e.type, e.ts, e.data) for e in told] == [
            (e.type, e.ts, e.data) for e in other.read(session)
        ]
    assert imported(store, growing).added == 0
    other.close()


def test_a_recording_with_words_of_its_own_and_an_entry_twice_is_known(
    store: Store, tmp_path: Path
) -> None:
    events = [
        Event("session_start", "s", ts=1.0),
        Event("call_start", "s", ts=2.0, data={"call": "c", "tool": "t"}),
        Event("note", "s", ts=3.0, data={"text": "from elsewhere"}),
        Event("call_end", "s", ts=4.0, data={"call": "c", "outcome": "ok"}),
        Event("call_end", "s", ts=4.0, data={"call": "c", "outcome": "ok"}),
        Event("assistant_text", "s", ts=5.0, data={"text": "done"}),
    ]
    path = tmp_path / "recording.jsonl"
    path.write_text("".join(encode(e) + "\n" for e in events))
    assert imported(store, path).added == len(events) - 1
    say(store, "s")
    again = imported(store, path)
    assert (again.added, again.refused) == (0, {})
    path.write_text(path.read_text() + encode(Event("note", "s", ts=6.0, data={"text": "new"})))
    assert imported(store, path).added == 1
    assert [e.text("text") for e in store.read("s") if e.type == "note"] == [
        "from elsewhere",
        "looked at it",
        "new",
    ]


def test_a_transcript_that_was_changed_in_the_middle_is_left_alone(
    store: Store, tmp_path: Path
) -> None:
    path = tmp_path / "pi.jsonl"
    whole = (DATA / "pi.jsonl").read_bytes()
    path.write_bytes(whole)
    first = imported(store, path)
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2] + lines[3:]))
    again = imported(store, path)
    assert (again.added, list(again.refused)) == (0, sorted(first.sessions))
