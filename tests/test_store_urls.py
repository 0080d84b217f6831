"""A store named by a URL: one door, no password on show, nothing imported that is not asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import postgres
from commands import command
from loopguard_core import urls
from loopguard_core.config import Config
from loopguard_core.events import Event
from loopguard_core.session.live import LiveSession
from loopguard_core.store.contract import StoreError
from loopguard_core.store.door import open_store
from loopguard_core.store.paths import default_store, key_file, place_of
from processes import environment

WORD = st.text("abcdefghijk0123456789-_.%", min_size=1, max_size=12)
SECRET = st.text("mnopqrstuvwxyz@:+!", min_size=6, max_size=12)


@given(
    user=WORD,
    secret=SECRET,
    host=WORD,
    database=WORD,
    scheme=st.sampled_from(["postgres", "postgresql"]),
)
def test_a_place_shows_no_password_and_opens_with_it(
    user: str, secret: str, host: str, database: str, scheme: str
) -> None:
    rest = f"{host}:5432/{database}?sslmode=require"
    place = place_of(f"{scheme}://{user}:{secret}@{rest}")
    assert place == f"postgresql://{user}@{rest}"
    assert urls.in_full(place) == f"postgresql://{user}:{secret}@{rest}"
    assert place_of(place) == place
    assert urls.has_secret(place)


@pytest.mark.parametrize(
    ("named", "place"),
    [
        ("postgres:///events", "postgresql:///events"),
        ("postgresql://h/d?password=x&sslmode=require", "postgresql://h/d?sslmode=require"),
        ("postgresql://h/d?sslpassword=x", "postgresql://h/d"),
        ("postgresql://u:p@a:1,b:2/d", "postgresql://u@a:1,b:2/d"),
        ("postgresql://:p@h/d", "postgresql://h/d"),
        ("postgresql:///d?service=team", "postgresql:///d?service=team"),
        ("POSTGRESQL://u:p@h/d", "postgresql://u@h/d"),
        ("postgresql://h/d?pass%77ord=x", "postgresql://h/d"),
        ("postgresql://u:half/of?it@h/d", "postgresql://u@h/d"),
        ("postgresql://u:half?of/it@h", "postgresql://u@h"),
        ("postgresql://u:7/half@h/d", "postgresql://u@h/d"),
        ("postgresql://[::1]:5432,h/d?user=a@b", "postgresql://[::1]:5432,h/d?user=a@b"),
        ("postgresql://h/d@e", "postgresql://h/d@e"),
        (" postgresql://u:p@h/d\r\n", "postgresql://u@h/d"),
        ('"postgresql://u:p@h/d"', "postgresql://u@h/d"),
        ("postgresql://u:p@h:x/d", "postgresql://u@h/d"),
        ("postgresql://u:p", "postgresql://u"),
        ("postgresql://u:p/d", "postgresql://u/d"),
        ("postgresql://h:5/d?PASSWORD=p", "postgresql://h:5/d"),
        ("postgresql://h/d?password =p", "postgresql://h/d"),
        ("postgresql://h/d?pwd=p&user=u", "postgresql://h/d?user=u"),
        ("postgresql://h/d?user=u;password=p", "postgresql://h/d"),
        ("postgresql://h/d?user=u&amp;password=p", "postgresql://h/d?user=u"),
        ("postgresql:///d?host=u:p@h", "postgresql:///d"),
        (
            "postgresql:///d?host=@abstract&passfile=/p",
            "postgresql:///d?host=@abstract&passfile=/p",
        ),
    ],
)
def test_every_spelling_has_one_place(named: str, place: str) -> None:
    assert place_of(named) == place
    assert default_store({"LOOPGUARD_STORE": named}) == place


@pytest.mark.parametrize(
    "named",
    [
        *(
            "postgresql+psycopg://u:hunter2@h/d",
            "postgresqls://u:hunter2@h/d",
            "postgresql:/u:hunter2@h",
        ),
        *(
            "postgresql:u:hunter2@h/d",
            "jdbc:postgresql://h/d?password=hunter2",
            "mysql://u:hunter2@h/d",
        ),
        *("sqlite:///hunter2.db", "host=h password=hunter2", "dbname=hunter2"),
    ],
)
def test_what_is_no_url_that_we_know_becomes_no_file(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert place_of(place_of(named)) == place_of(named)
    with pytest.raises(StoreError, match="neither a path nor a URL that begins with") as told:
        open_store(named)
    said: list[str] = []
    with LiveSession(Config({"store": named}), "s", say=said.append) as live:
        decision = live.before("search", {"q": 1})
        assert decision.run
        live.after(decision, "x")
    monkeypatch.setenv("LOOPGUARD_STORE", named)
    done = [command(None, words) for words in ("doctor", "sessions", "pending", "forward")]
    assert all(
        "neither a path" in text for text in (*(d.out + d.err for d in done), " ".join(said))
    )
    monkeypatch.delenv("LOOPGUARD_STORE")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    for words in (["install", "claude-code"], ["sessions"], ["forward", "a.db", named]):
        done.append(command(None, *(() if named in words else ("--store", named)), *words))
        assert "neither a path" in done[-1].err
    assert not (tmp_path / "claude").exists()
    assert "hunter" not in f"{told.value} {said} {place_of(named)} {done}"
    assert not list(tmp_path.rglob("*hunter*")) + list(tmp_path.rglob("machine.key"))


@pytest.mark.parametrize("named", ["events.db", "a:b.db", "~/x=1.db", "./c:/d.db", "/tmp/user.db"])
def test_a_path_stays_a_path(named: str) -> None:
    assert Path(place_of(named)).is_absolute()


def test_what_belongs_to_a_url_lies_in_the_persons_state_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    one, other = (Path(key_file(place_of(f"postgres://u:{p}@h/d{p}"))) for p in "ab")
    assert one.parent.parent == other.parent.parent == tmp_path / "loopguard" / "stores"
    assert one != other
    assert Path(key_file(place_of("postgres://u:other@h/da"))) == one


def test_a_server_that_is_away_is_one_line_without_the_password() -> None:
    with pytest.raises(StoreError) as told:
        open_store("postgresql://own:hunter2@127.0.0.1:1/events")
    assert str(told.value) == (
        "the event store postgresql://own@127.0.0.1:1/events cannot be reached: nothing listens there; "
        "start it, or see the address"
    )


@postgres.needs
@pytest.mark.parametrize(
    "login",
    ["u:hunter%zz2@h", "u:hunter2@[::1", "u:hunter2/x@h", "u:7/hunter2@h", "u:x?hunter2@h"],
)
def test_a_url_that_nobody_can_read_is_told_without_the_password(login: str) -> None:
    with pytest.raises(StoreError) as told:
        open_store(f"postgresql://{login}/events")
    assert "hunter" not in str(told.value)
    assert ("%2F" in str(told.value)) is (login not in ("u:7/hunter2@h", "u:x?hunter2@h"))


def test_where_psycopg_is_missing_the_line_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from loopguard_core.store.door import open_store\n"
        "try: open_store('postgresql://h/d')\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout == (
        "StoreError a store on PostgreSQL needs psycopg, which is not installed here; "
        "pip install 'psycopg[binary]'\n"
    )


def test_a_store_in_a_file_brings_nothing_of_postgres(tmp_path: Path) -> None:
    code = (
        "import sys; from loopguard_core.store.door import open_store\n"
        "open_store(sys.argv[1]).close()\n"
        "print([m for m in sys.modules if 'psycopg' in m or '.postgres' in m])"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "events.db")]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@postgres.needs
def test_a_process_without_site_packages_finds_the_driver() -> None:
    code = (
        "import sys; sys.path.append(sys.argv[1])\n"
        "from loopguard_core.store.door import open_store\n"
        "from loopguard_core.events import Event\n"
        "print(open_store(sys.argv[2]).append(Event('note', 's')))"
    )
    root = str(Path(urls.__file__).parents[1])
    command = [sys.executable, "-I", "-S", "-c", code, root, postgres.emptied()]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


@postgres.needs
def test_the_environment_names_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    url = postgres.emptied()
    monkeypatch.setenv("LOOPGUARD_STORE", url)
    store = open_store()
    assert store.append(Event("note", "s")) == 1
    assert store.place == url
    store.close()
