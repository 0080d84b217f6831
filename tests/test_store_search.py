"""Searching all sessions: what is in the store is found, what was redacted or pruned is not."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import postgres
from loopguard_console.deciding import Decider
from loopguard_core.events import Event
from loopguard_core.store import search
from loopguard_core.store import words as snippet
from loopguard_core.store.contract import Store, StoreError
from loopguard_core.store.door import open_store
from loopguard_core.store.prune import Going, Plan, carry_out
from loopguard_core.store.search import open_index
from processes import environment


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=postgres.needs)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    named = str(tmp_path / "events.db") if request.param == "sqlite" else postgres.emptied()
    made = open_store(named)
    yield made
    made.close()


@pytest.fixture
def file_store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "events.db"))


def call(store: Store, name: str, args: object, result: object, session: str = "s") -> None:
    store.append(
        Event("call_start", session, data={"call": name, "tool": "web_search", "args": args})
    )
    store.append(Event("call_end", session, data={"call": name, "outcome": "ok", "result": result}))


def found(store: Store, words: str, session: str = "") -> list[tuple[str, int]]:
    index = open_index(store)
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
    "words",
    [
        "",
        "   ",
        '"',
        "AND",
        "a OR b",
        "x*",
        "NEAR(",
        "-:^",
        "'; --",
        "(",
        "*",
        "x\0",
        '"x\0y"',
        "\0",
    ],
)
def test_any_words_may_be_searched(store: Store, words: str) -> None:
    call(store, "a", {"q": "plain"}, "plain")
    assert found(store, words) == []


def test_what_is_new_is_found_after_the_next_update(store: Store) -> None:
    index = open_index(store)
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
    index = open_index(store)
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


def test_a_prune_that_is_killed_leaves_no_word_of_what_is_gone(
    file_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("gone", "left"):
        call(file_store, "a", {"cmd": f"zanzibar {name}"}, "", session=name)
    call(file_store, "b", {"cmd": "ordinary"}, "", session="kept")
    assert len(found(file_store, "zanzibar")) == 2
    made = Plan()
    made.going = [Going(s, "", 0) for s in file_store.sessions() if s.session != "kept"]
    made.going.sort(key=lambda going: going.session.session)
    killed = carry_out(file_store, made)
    next(killed)
    monkeypatch.setattr(search, "forget", lambda *_, **__: None)  # nothing runs behind a kill
    monkeypatch.setattr(file_store, "tidy", lambda: None)
    killed.close()
    assert not any(b"zanzibar gone" in f.read_bytes() for f in tmp_path.glob("events.db-search*"))
    assert found(file_store, "zanzibar") == [("left", 1)]
    assert found(file_store, "ordinary") == [("kept", 1)]


@pytest.mark.parametrize("through", ["prune", "left early", "console"])
def test_what_a_person_lets_go_stands_in_no_file_any_more(
    file_store: Store, tmp_path: Path, through: str
) -> None:
    for n in range(30):
        call(file_store, f"a{n}", {"cmd": f"zanzibar{n}"}, "quixotic " * 20, session="gone")
        call(file_store, f"b{n}", {"cmd": f"ordinary{n}"}, "usual", session="kept")
    assert found(file_store, "zanzibar7") and found(file_store, "ordinary7")
    agent = open_store(str(tmp_path / "events.db"))  # one that has the file open
    call(agent, "c", {"cmd": "running"}, "", session="running")
    if through == "console":
        Decider(file_store).delete("gone")
    else:
        made = Plan()
        made.going = [Going(s, "", 0) for s in file_store.sessions() if s.session == "gone"]
        with contextlib.closing(carry_out(file_store, made)) as gone:
            for _ in gone:
                if through == "left early":
                    break
    for file in tmp_path.iterdir():
        content = file.read_bytes()
        assert b"zanzibar" not in content and b"quixotic" not in content, file.name
    assert found(open_store(str(tmp_path / "events.db")), "ordinary7") == [("kept", 15)]


@pytest.mark.parametrize("refused", [errno.EROFS, errno.EACCES])
def test_where_nothing_can_be_written_it_is_searched_all_the_same(
    file_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: int
) -> None:
    call(file_store, "a", {"q": "hello"}, "r")

    def refuse(path: str, *_: object, **__: object) -> int:
        raise OSError(refused, os.strerror(refused), path)

    monkeypatch.setattr("loopguard_core.files.opened", refuse)
    assert found(file_store, "hello") == [("s", 1)]
    assert not (tmp_path / "events.db-search").exists()


def test_a_damaged_index_is_made_anew(file_store: Store, tmp_path: Path) -> None:
    call(file_store, "a", {"q": "hello"}, "r")
    assert found(file_store, "hello") == [("s", 1)]
    (tmp_path / "events.db-search").write_bytes(b"garbage" * 1_000)
    for suffix in ("-wal", "-shm"):
        (tmp_path / f"events.db-search{suffix}").unlink(missing_ok=True)
    assert found(file_store, "hello") == [("s", 1)]


@postgres.needs
def test_an_index_that_cannot_be_made_is_said_in_one_line(file_store: Store) -> None:
    """Where the disk is full, say; here no file may grow."""
    call(file_store, "c", "a word", "x")
    searching = [
        sys.executable,
        "-m",
        "loopguard_console",
        "--store",
        file_store.place,
        "search",
        "word",
    ]
    limited = ["sh", "-c", 'ulimit -f 4; exec "$@"', "sh", *searching]
    done = subprocess.run(limited, capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("loopguard-console: the search index")
    assert "ulimit -f" in done.stderr and "raise that limit" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_index_that_another_holds_is_left_alone(file_store: Store) -> None:
    place = f"{file_store.place}-search"
    holder = sqlite3.connect(place, isolation_level=None)
    holder.execute("CREATE TABLE mine (x)")
    holder.execute("BEGIN EXCLUSIVE")
    before = Path(place).stat().st_ino
    with pytest.raises(StoreError, match="locked"):
        open_index(file_store)
    assert Path(place).stat().st_ino == before
    holder.close()


def test_two_who_index_at_once_index_everything_once() -> None:
    url = postgres.emptied()
    store = open_store(url)
    for n in range(120):
        call(store, f"c{n}", {"q": f"word{n}"}, "the same")

    def index() -> None:
        own = open_store(url)
        made = open_index(own)
        while not made.update(0):
            pass
        made.close()
        own.close()

    threads = [threading.Thread(target=index) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made = open_index(store)
    assert made.update()
    assert [hit.again for hit in made.search("same")] == [119]
    assert [hit.seq for hit in made.search("word77")] == [155]
    made.close()
    store.close()


@postgres.needs
def test_who_may_only_read_finds_what_others_indexed() -> None:
    url = postgres.server().database()
    store = open_store(url)
    call(store, "a", {"q": "early"}, "r")
    assert found(store, "early") == [("s", 1)]
    call(store, "b", {"q": "late"}, "r")
    postgres.server().run(
        "CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA loopguard TO reader;"
        "GRANT SELECT ON ALL TABLES IN SCHEMA loopguard TO reader",
        url.rpartition("/")[2],
    )
    reader = open_store(url.replace(postgres.USER, "reader"), create=False, read_only=True)
    assert found(reader, "early") == [("s", 1)]
    assert found(reader, "late") == []
    reader.close()
    store.close()


@pytest.mark.parametrize(
    ("text", "words", "shown"),
    [
        ("the cat sat", "cat", "the [cat] sat"),
        ("a b c d e f cat g", "cat", "…b c d e f [cat] g"),
        ("cat " + "x " * 30, "CAT", "[cat]" + " x" * 15 + "…"),
        ("cat cattle concat", "cat", "[cat] [cattle] concat"),
        ("the black cat, a black dog", '"black cat"', "the [black] [cat], a black dog"),
        ("Zürich", "zurich", "[Zürich]"),
        ("", "cat", ""),
        ("nothing", "cat", "nothing"),
    ],
)
def test_a_hit_shows_the_words_around_what_was_found(text: str, words: str, shown: str) -> None:
    made = snippet.parts(text, snippet.phrases(words))
    assert "".join(f"[{part}]" if found else part for part, found in made) == shown
