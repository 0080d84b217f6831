"""No secret reaches the disk, equal secrets stay equal, and what is no secret stays readable."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from loopguard_core.events import Event, dump, encode
from loopguard_core.redaction.redact import MARK, Redaction, Redactor
from loopguard_core.store.contract import StoreError
from loopguard_core.store.door import open_store
from loopguard_core.store.paths import key_file, machine_key
from redacted import CONTEXTS, SECRETS
from shapes import forget_shapes


@pytest.mark.parametrize(("around", "secret"), SECRETS)
def test_a_secret_never_reaches_the_disk(tmp_path: Path, around: str, secret: str) -> None:
    text = around.format(secret)
    store = open_store(str(tmp_path / "events.db"))
    call = {"call": "c", "tool": "shell", "args": {"cmd": text, "deep": [{"x": text}]}}
    store.append(Event("call_start", "s", data=call))
    end = {"call": "c", "outcome": "error", "result": text, "error": text}
    store.append(Event("call_end", "s", data=end))
    store.append(Event("note", "s", data={"text": text, "note": text}))
    store.append(Event("session_start", "s", data={"cwd": text}))
    events = store.read("s")
    assert all(e.data.get("redacted") for e in events)
    assert MARK in events[0].data["args"]["cmd"]
    body = secret.split("-----")[0].encode()
    store.close()
    for file in tmp_path.iterdir():
        assert body[-8:] not in file.read_bytes()


@pytest.mark.parametrize(("around", "secret"), SECRETS)
@pytest.mark.parametrize("padding", [0, 5_000])
def test_a_secret_is_found_in_a_text_of_any_length(around: str, secret: str, padding: int) -> None:
    text = f"{'word ' * padding}\n{around.format(secret)}\n{'word ' * padding}"
    for whole in (dump({"result": text}), json.dumps({"args": {"a": [text]}}, ensure_ascii=False)):
        clean = Redactor(b"k")(whole)
        assert MARK in clean and json.loads(clean).keys() == json.loads(whole).keys()
        assert secret.split("-----")[0][-8:] not in clean


@pytest.mark.parametrize(("around", "secret"), SECRETS)
def test_a_secret_is_found_in_all_contexts(around: str, secret: str) -> None:
    for where, inside in CONTEXTS.items():
        clean = Redactor(b"k")(inside(around.format(secret)))
        assert MARK in clean and secret.split("-----")[0][-8:] not in clean, where
        assert list(json.loads(clean)) == ["result"], where


@pytest.mark.parametrize(("around", "secret"), SECRETS)
def test_a_secret_is_found_in_the_first_text_of_a_process(around: str, secret: str) -> None:
    forget_shapes()
    clean = Redactor(b"k")(dump(around.format(secret)))
    assert MARK in clean and secret.split("-----")[0][-8:] not in clean


@pytest.mark.parametrize(
    "text",
    [
        "tvly-{}",
        "npm_{}",
        "?sig={}",
        "&sig={}",
        "ya29.{}",
        "$1${}",
        "://x:{}@",
        "AKIA{}",
        "eyJ{}.{}",
        '{{"auth":"{}"}}',
        "mysql -p{}",
        "pwd:{}",
        "token:{}",
        "cookie:{}",
        "authorization:{}",
        "secret:{}",
        "credential:{}",
        "passphrase:{}",
        "bearer {}",
        "FOO_PASS={}",
    ],
)
def test_a_secret_is_found_where_nothing_else_stands(text: str) -> None:
    secret = "123456123456123456"
    clean = Redactor(b"k")(dump(text.format(secret, secret)))
    assert MARK in clean and secret not in clean


def test_of_a_key_in_json_only_the_private_members_go() -> None:
    public = {"kty": "RSA", "kid": "k1", "n": "0vx7agoebGcQSuuPiLJX", "e": "AQAB"}
    private = {name: f"X4cTteJY_gn4FYPsXB8r{name}" for name in ("d", "p", "q", "dp", "dq", "qi")}
    for key in ({**public, **private}, {**private, **public}):
        for text in (
            dump({"keys": [key, public]}),
            dump({"result": json.dumps({"keys": [key]}, indent=2)}),
        ):
            clean = Redactor(b"k")(text)
            assert "X4cTteJY" not in clean and clean.count(MARK) == len(private)
            assert "0vx7agoebGcQSuuPiLJX" in clean and "AQAB" in clean
    assert Redactor(b"k")(dump(private)) == dump(private), "these letters alone say nothing"


def test_secrets_that_stand_side_by_side_all_go() -> None:
    bot = "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"
    text = f"{bot}{bot} token=cookie: session=31d4d96e407aad42"
    clean = Redactor(b"k")(dump({"result": text}))
    assert "TcvCH1vG" not in clean and "31d4d96e" not in clean


@pytest.mark.parametrize(
    "value",
    [
        {"password": "hunter2", "user": "usr"},
        {"password": 12345678},
        {"headers": {"Authorization": "Bearer abcdef"}, "n": {"apiKey": "x1y2"}},
        {"a": '{"token": "abc\\"def", "x": 1}'},
        {"a": "\u0130\u0130 password=hunter2"},
        {"argv": ["mycli", "--api-key", "abc1"]},
        {"headers": {"X-Api-Key": ["abc1", "abc2"], "Set-Cookie": ["sid=abc1; Path=/", "b=2"]}},
        {"fields": [{"name": "Password", "type": "textbox", "ref": "e5", "value": "abc1"}]},
        {"env": [{"name": "HOME", "value": "/"}, {"name": "API_TOKEN", "value": "abc1"}]},
        {"cookies": [{"name": "a", "value": "abc1"}, {"value": "abc12", "name": "b"}], "n": 1},
        {"keys": [{"kty": "EC", "d": "abc1abc1abc1abc1"}, {"kty": "oct", "k": "abc1abc1abc1abc1"}]},
        {"auth": {"user": "usr", "pass": "abc1"}, "n": {"pass": 3, "bypass": "no"}},
        {"env": {"STRIPE_KEY": "abc1", "DB_PASS": "abc1"}, "x": "environment:\n  STRIPE_KEY: abc1"},
        {"headers": [{"name": "Authorization", "value": "Bearer abc1"}]},
        {"password": {"value": "abc1"}, "x": '{"token": {"raw": "abc1"}}'},
        {"access key": "abc1", "x": '{"API key": "abc1"}'},
        {"argv": ["mycli", "--pass", "abc1"], "x": '["--pass", "abc1"]'},
        {"headers": [["x-api-key", "abc1defgh"]], "x": '[["token", "abc1defgh"], ["a", "b"]]'},
        {"env": [["DB_PASSWORD", "abc1defgh"], ["passphrase", "abc1defgh"]]},
        {"headers": [["Cookie", "sid=abc1"], ["Accept", "*"]], "x": '[["Cookie", "sid=abc1"]]'},
        {
            "lines": [
                "-----BEGIN PRIVATE KEY-----",
                "MIIabc1",
                "k3abc1==",
                "-----END PRIVATE KEY-----",
            ]
        },
        {
            "x": '["-----BEGIN EC PRIVATE KEY-----", "MIIabc1", "k3abc1==", "-----END EC PRIVATE KEY-----"]'
        },
    ],
)
def test_fields_are_known_by_their_names_and_the_rest_stays_json(value: object) -> None:
    text = dump(value)
    clean = Redactor(b"k")(text)
    assert MARK in clean
    assert json.loads(clean).keys() == json.loads(text).keys()
    assert "abc1" not in clean


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens=100, total_tokens: 512, token_count=3",
        "token = self.token",
        "token = get_token(user)",
        "def login(password: str = None) -> None",
        "os.environ['API_KEY']",
        "the token was refreshed",
        "task-12345678901234567890 and risk-1234567890abcdefgh",
        "cache_key: page, primary_key=id",
        "https://example.com/a:b/c@d",
        "password=${PASSWORD}",
        "docker run -u 1000:1000 image",
        "git log -u --stat",
        "the password was reset",
        '{"required": ["password", "token"], "tokens": ["a", "b"], "token": ["string"]}',
        '{"name": "password", "type": "string", "description": "value"}',
        '["--token", "--other"]',
        "export PATH=/usr/bin GIT_EXEC_PATH=libexec MAX_PATTERN = 3 bypass=1234 sort(key=len)",
        "cache['raw_password'] = raw_password",
        "self._token: str = token",
        "_core_token = rf'[a-z]+'",
        "client-certificate-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUVwQUlCQUFLQ0FRRUE=",
        "nmap -u target -p 8080",
        "basic authentication-of-users",
        "set the password to something",
        'fetch(url, {credentials: "include"}) and credentials: same-origin',
        '{"tokenizer": "cl100k_base"}',
        "const token = await getToken(user)",
        "SyntaxError: invalid token: unexpected end of input",
        "the API key: see the docs",
        '[["password", "varchar(255)"], ["token", "text"]]',
        '["password", "token", "secret"]',
        "the bearer of this letter, a bearer bond",
    ],
)
def test_what_is_no_secret_stays_readable(text: str) -> None:
    whole = dump({"result": text})
    assert Redactor(b"k")(whole) is whole


def test_a_secret_goes_wherever_else_it_stands_in_the_same_text() -> None:
    clean = Redactor(b"k")
    text = dump(
        {"cmd": "PGPASSWORD=hunter2hunter psql", "tries": ["hunter2hunter", "(hunter2hunter)"]}
    )
    first, *others = json.loads(clean(text))["tries"]
    assert "hunter2" not in clean(text)
    assert first.startswith(MARK) and others == [f"({first})"]
    for around in ("login:\n{}\n", ":{}", "a\tb\\n{}", '"{}"', "\\{}"):
        for said in (around.format("hunter2hunter"), dump([around.format("hunter2hunter")])):
            whole = {"a": said, "PGPASSWORD": "hunter2hunter"}
            assert json.loads(clean(dump(whole))).keys() == whole.keys()
            assert said.startswith(("\\", '["\\')) or "hunter2" not in clean(dump(whole))
    for near in ("xhunter2hunter", "hunter2hunters"):
        assert near in clean(dump(f"PGPASSWORD=hunter2hunter {near}")), "part of another word"
    plain = dump({"cmd": "password=correct", "text": "that is correct"})
    assert "that is correct" in clean(plain), "a word like any other"


def test_a_secret_that_was_found_goes_from_later_texts_too() -> None:
    clean = Redactor(b"k", Redaction(["id-(\\w+)"], ["ssn"]))
    for told in ({"password": "hunter2hunter"}, "id-abc123def456", {"ssn": "987x65y4321"}):
        clean(dump(told))
    echo = ["welcome, hunter2hunter", "abc123def456", "987x65y4321", "hunter2", "welcome"]
    told = json.loads(clean(dump(echo)))
    assert [MARK in each for each in told] == [True, True, True, False, False]
    assert told[0] == f"welcome, {json.loads(clean(dump({'token': 'hunter2hunter'})))['token']}"
    for n in range(100):
        clean(dump(f"API_KEY=secret{n:04}word"))
    assert MARK in clean(dump("secret0099word")) and MARK not in clean(dump("secret0001word"))


def test_equal_secrets_compare_equal_and_only_under_the_same_key() -> None:
    one, two = Redactor(b"1"), Redactor(b"2")
    text = dump({"args": ["password=hunter2", "password=hunter2", "password=hunter3"]})
    first, second, third = json.loads(one(text))["args"]
    assert first == second != third
    assert one(text) == Redactor(b"1")(text) != two(text)
    assert one(one(text)) == one(text)


def test_own_patterns_fields_and_tools(tmp_path: Path) -> None:
    rules = Redaction(
        patterns=[r"EMP-\d+", r'ssn "(\d+)"'], fields=["Iban"], never_store=["vault", "mail_*"]
    )
    store = open_store(str(tmp_path / "events.db"), redaction=rules)
    args = {"q": 'EMP-1234 has ssn "555"', "iban": ["DE", 1], "x": 'iban="DE99"'}
    store.append(Event("call_start", "s", data={"call": "a", "tool": "t", "args": args}))
    for tool in ("vault", "mail_send"):
        data = {"call": tool, "tool": tool, "args": {"path": "plain"}}
        store.append(Event("call_start", "s", data=data))
        data = {"call": tool, "outcome": "ok", "result": "plain"}
        store.append(Event("call_end", "s", data=data))
    stored = [e.data for e in store.read("s")]
    assert stored[0]["args"]["q"].startswith(MARK) and 'ssn "[' in stored[0]["args"]["q"]
    assert str(stored[0]["args"]["iban"]).startswith(MARK)
    assert "DE99" not in stored[0]["args"]["x"]
    for data in stored[1:]:
        payload = data.get("args", data.get("result"))
        assert str(payload).startswith(MARK) and data["redacted"]


def test_a_pattern_that_is_none_is_said_with_its_text() -> None:
    with pytest.raises(ValueError, match=r"\(\["):
        Redaction(patterns=["(["])


def test_the_key_is_made_once_and_belongs_to_its_owner_alone(tmp_path: Path) -> None:
    place = str(tmp_path / "new" / "events.db")
    open_store(place).close()
    key = Path(key_file(place))
    assert key.stat().st_mode & 0o777 == 0o600
    assert Path(place).stat().st_mode & 0o777 == 0o600
    assert key.parent.stat().st_mode & 0o777 == 0o700
    before = key.read_bytes()
    open_store(place).close()
    assert key.read_bytes() == before
    assert before not in Path(place).read_bytes()
    key.write_bytes(b"short")
    with pytest.raises(StoreError, match="damaged"):
        open_store(place)


def test_many_that_make_the_key_at_once_have_the_same_one(tmp_path: Path) -> None:
    for n in range(20):
        place = str(tmp_path / f"{n}" / "events.db")
        keys: list[bytes] = []
        threads = [
            threading.Thread(target=lambda p=place, k=keys: k.append(machine_key(p)))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(keys) == 8 and len(set(keys)) == 1
        assert [f.name for f in Path(place).parent.iterdir()] == ["machine.key"]


def test_a_large_result_is_redacted_also_where_it_is_cut(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "events.db"), limit=5_000)
    secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    text = "x " * 2_490 + secret + " y" * 10_000
    store.append(Event("call_end", "s", data={"call": "c", "outcome": "ok", "result": text}))
    (event,) = store.read("s")
    assert event.data["cut"] == len(text) and event.data["redacted"]
    assert len(event.data["result"]) == 5_000
    assert "16C7e42F" not in event.data["result"]


def test_what_stands_for_a_count_is_looked_through_unless_it_is_one(tmp_path: Path) -> None:
    secret = "ghp_" + "a1" * 18
    store = open_store(str(tmp_path / "events.db"))
    store.append(Event("usage", "s", data={"message": "m", "input": 3, "cost_usd": 0.5}))
    store.append(Event("usage", "s", data={"message": "m", "input": secret}))
    store.append(Event("usage", "s", data={"message": "m", "input": 3, "note": secret}))
    kept = [encode(e) for e in store.read("s")]
    store.close()
    assert [secret in text for text in kept] == [False] * 3
    assert '"input":3,"cost_usd":0.5' in kept[0]
