"""Searching all sessions: what is in the store is found, what was redacted or pruned is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopguard_core.events import Event
from loopguard_core.store.contract import Store
from loopguard_core.store.door import open_store
from loopguard_core.store.search import SearchIndex


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "events.db"))


def call(store: Store, name: str, args: object, result: object, session: str = "s") -> None:
    store.append(
        Event("call_start", session, data={"call": name, "tool": "web_search", "args": args})
    )
    store.append(Event("call_end", session, data={"call": name, "outcome": "ok", "result": result}))


def found(store: Store, words: str, session: str = "") -> list[tuple[str, int]]:
    index = SearchIndex(store)
    while not index.update():
        pass
    hits = index.search(words, session=session)
    index.close()
    return [(hit.session, hit.seq) for hit in hits]


def test_words_are_found_wherever_they_stand(store: Store) -> None:
    call(store, "a", {"q": "Quantum computing", "deep": [{"x": "needle_one"}]}, "nothing here")
    call(store, "b", {"q": "weather"}, {"answer": ["It rains in Zürich"]}, session="t")
    store.append(Event("note", "t", data={"text": "bookmark: look at this"}))
    assert found(store, "quantum") == [("s", 1)]
    assert found(store, "comput quant") == [("s", 1)]
    assert found(store, '"quantum computing"') == [("s", 1)]
    assert found(store, '"computing quantum"') == []
    assert found(store, "needle_one") == [("s", 1)]
    assert found(store, "zurich") == [("t", 2)]
    assert sorted(found(store, "web_search")) == [("s", 1), ("t", 1)]
    assert found(store, "web_search", session="t") == [("t", 1)]
    assert found(store, "bookmark") == [("t", 3)]


@pytest.mark.parametrize(
    "words", ["", "   ", '"', "AND", "a OR b", "x*", "NEAR(", "-:^", "'; --", "(", "*"]
)
def test_any_words_may_be_searched(store: Store, words: str) -> None:
    call(store, "a", {"q": "plain"}, "plain")
    assert found(store, words) == []


def test_what_is_new_is_found_after_the_next_update(store: Store) -> None:
    index = SearchIndex(store)
    for n in range(250):
        call(store, f"c{n}", {"q": f"word{n}"}, "r")
        if n % 100 == 0:
            index.update()
    for _ in range(1_000):
        if index.update(0):
            break
    assert [hit.seq for hit in index.search("word249")] == [499]


def test_repeated_texts_are_indexed_once_and_counted(store: Store) -> None:
    for n in range(30):
        call(store, f"c{n}", {"q": "again and again"}, "the same")
    index = SearchIndex(store)
    index.update(10)
    (hit,) = index.search("again")
    assert (hit.seq, hit.again) == (1, 29)
    assert [text for text, match in hit.parts if match] == ["again", "again"]
    assert "again and again" in hit.text


def test_neither_redacted_nor_pruned_text_is_found(store: Store, tmp_path: Path) -> None:
    call(store, "a", {"cmd": "export API_KEY=sk-test-0123456789abcdef"}, "secretly done")
    call(store, "b", {"cmd": "other"}, "kept", session="t")
    assert found(store, "export") == [("s", 1)]
    assert found(store, "sk-test") == found(store, "0123456789abcdef") == []
    store.forget("s")
    assert found(store, "export") == []
    assert found(store, "kept") == [("t", 2)]
    for file in tmp_path.iterdir():
        assert b"0123456789abcdef" not in file.read_bytes()
        assert file.stat().st_mode & 0o077 == 0


def test_a_damaged_index_is_made_anew(store: Store, tmp_path: Path) -> None:
    call(store, "a", {"q": "hello"}, "r")
    assert found(store, "hello") == [("s", 1)]
    (tmp_path / "events.db-search").write_bytes(b"garbage" * 1_000)
    for suffix in ("-wal", "-shm"):
        (tmp_path / f"events.db-search{suffix}").unlink(missing_ok=True)
    assert found(store, "hello") == [("s", 1)]
