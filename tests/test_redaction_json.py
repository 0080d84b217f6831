"""What comes out of redaction is JSON, whatever stands around a secret, and it takes no longer than the text is long."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.events import dump
from loopguard_core.redaction.redact import MARK, Redactor
from redacted import SECRETS


@settings(deadline=None)
@given(st.recursive(st.text() | st.integers() | st.none(), lambda v: st.dictionaries(st.text(), v)))
def test_what_comes_out_is_always_json(value: object) -> None:
    for text in (dump(value), json.dumps(value, ensure_ascii=False, separators=(",", ":"))):
        json.loads(Redactor(b"k")(text))


@pytest.mark.parametrize("name", ["cookie", "Authorization", "password", "token", "secret", "pwd"])
@pytest.mark.parametrize("value", [-10, 12345678, 1.5, True, None, [1, 2, 3], {"a": 12345}, ["x"]])
def test_what_comes_out_is_json_whatever_a_name_holds(name: str, value: object) -> None:
    for text in (dump({name: value}), dump([{"x": 1, name: value, "y": dump({name: value})}])):
        json.loads(Redactor(b"k")(text))


@pytest.mark.parametrize(("around", "secret"), SECRETS)
def test_what_comes_out_is_json_wherever_a_text_ends(around: str, secret: str) -> None:
    redactor, text = Redactor(b"k"), around.format(secret)
    for end in range(len(text) + 1):
        for cut in (text[:end], text[end:], text[:end] + '"', text[:end] + "\\", text[:end] + " "):
            for value in (cut, [cut, "next", 5, None], {cut: 1, "k": cut, "z": True}, dump([cut])):
                whole = dump({"a": value})
                clean = json.loads(redactor(whole))
                assert type(clean["a"]) is type(value) and len(clean["a"]) >= len(value) * (
                    type(value) is not str
                )


@settings(deadline=None)
@given(st.text(alphabet="paswordtoken_KEY-=:\"'\\ {}[],.@/1sk\n", max_size=80))
def test_what_comes_out_is_json_also_near_secrets(text: str) -> None:
    whole = json.dumps({"a": text, "token": text, "b": [text]})
    assert json.loads(Redactor(b"k")(whole)).keys() == {"a", "token", "b"}


PIECES = [
    *("curl ", "-b ", "session=", "redis-cli ", "-a ", "mysql ", "-p", "-u ", "zip ", "-P ", "7z ", "sudo ", "-S ", "smbclient ", "-U ", "%"),
    *("echo ", "root:", "| ", "chpasswd", " <<EOF\n", "EOF", "htpasswd ", "-bc ", "--password-stdin", "<<< ", "KEY=", "AUTH=", "_auth="),
    *("{", "}", "[", "]", ",", ":", "\"", "'", "\\", "\n", " ", '"kty"', '"d"', '"k":"', '"cookies":[{', '"value":"', "password", "="),
    *("hooks.slack.com/services/", "hvs.", "dapi", "0123456789abcdef", "a1B2c3D4e5F6g7H8", "_", "-", ".", "ghp_", "sk-", "EAA", "é", "1"),
]  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_what_comes_out_is_json_whatever_pieces_of_secrets_stand_together(text: str) -> None:
    value = {
        "a": text,
        "token": text,
        "b": [text, 5, None],
        text: True,
        "c": dump([text, {"d": text}]),
    }
    for whole in (
        dump(value),
        json.dumps(value, separators=(",", ":")),
        dump({"result": dump(value)}),
    ):
        clean = Redactor(b"k")(whole)
        parsed, before = json.loads(clean), json.loads(whole)
        assert len(parsed) == len(before) or text in ("a", "b", "c", "token")
        assert [type(v) for v in parsed.values()] == [type(v) for v in before.values()]
        assert f"{MARK}[" not in Redactor(b"k")(clean), "a marker stays as it is"


SLOW = [
    *("eyJ", "sk-", "_KEY", "password", "password=", "--password ", "authorization:", "://a:", "-----BEGIN PRIVATE KEY-----"),
    *("token='", "\\", "bearer ", "-u=a", "-u=a:b", "cookie:", "-", "sk-a-", "sk-a1-", '"token":["', '"password","'),
    *("KEY=a1", "AUTH=a", "echo a:b | chpasswd ", "chpasswd <<E\na:b\n", "htpasswd -b a b ", "echo x | sudo -S "),
    *("mysql; -px ", "redis-cli; -a x ", "curl; -b a=b ", "-bsession=a1-b", "-U a%", "-password x "),
    *('{"kty":"x","d":"', '"kty"', '"cookies":[{"value":"', "hooks.slack.com/services/", "hvs.", "dp.st.abc.", "EAA"),
    *("MTIzNDU2Nzg5MDEyMzQ1Njc4.aaaaaa.", "_aaaaaaaaaaaaaaaa", "xoxb-1234567890123456%2F", "dapi", "Q~", "password=a_"),
]  # fmt: skip


@pytest.mark.parametrize("piece", SLOW)
def test_no_text_makes_it_slow(piece: str) -> None:
    text = dump({"result": piece * (100_000 // len(piece))})
    before = time.process_time()
    Redactor(b"k")(text)
    assert (
        time.process_time() - before < 4
    )  # linear takes a tenth of a second at most, quadratic minutes
