"""Arguments that a human changed: they run, and no secret is lost or told on the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from asking import ask, resolution
from loopguard_core import escape
from loopguard_core.redaction.redact import Redaction
from loopguard_core.store.contract import Store
from loopguard_core.store.door import open_store
from sessions import call, loop, meanwhile, pending, session, store_in


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return store_in(tmp_path)


def test_a_secret_survives_a_change_of_the_other_arguments_and_never_stands_in_the_log(
    tmp_path: Path,
) -> None:
    secret = "sk-" + "a1B2c3D4e5F6g7H8i9J0"
    args = {"url": "https://one", "header": f"Authorization: Bearer {secret}"}
    desk = store_in(tmp_path)

    def change() -> None:
        asked = pending(desk)
        assert isinstance(asked.args, dict)
        assert secret not in str(asked.args)
        escape.modify(desk, asked.request, {**asked.args, "url": "https://two"})

    with session(store_in(tmp_path), unattended_wait_seconds=30) as live:
        for _ in range(2):
            call(live, "fetch", args)
        with meanwhile(change):
            decision = call(live, "fetch", args)
    assert decision.modified
    assert decision.args == {**args, "url": "https://two"}
    files = [p for p in tmp_path.iterdir() if p.is_file()]
    assert all(secret.encode() not in path.read_bytes() for path in files)


def test_named_arguments_are_changed_for_named_ones(store: Store) -> None:
    request, raw = ask(store, args={"q": 1}), ask(store, args="ls -l")
    for args in ([1, 2], "q=2", None):
        with pytest.raises(escape.DecisionError, match=r'as an object, such as \{"q": …\}'):
            escape.modify(store, request, args)
    assert resolution(store, request) == ""
    assert escape.modify(store, raw, "ls").resolution == "modified"


def test_new_arguments_with_a_secret_are_not_sent_through_the_log(store: Store) -> None:
    request = ask(store)
    with pytest.raises(escape.DecisionError, match="looks like a secret"):
        escape.modify(store, request, {"token": "ghp_" + "0123456789abcdefABCDEF0123456789abcd"})
    assert resolution(store, request) == ""


def test_a_marker_that_stands_for_nothing_never_reaches_the_tool(tmp_path: Path) -> None:
    desk = store_in(tmp_path)
    said: list[str] = []
    with session(store_in(tmp_path), unattended_wait_seconds=30, said=said) as live:
        loop(live, 2)
        made_up = {"q": "[redacted:0123456789ab]"}
        with meanwhile(lambda: escape.modify(desk, pending(desk).request, made_up)):
            decision = call(live)
    assert not decision.run
    assert "could not be delivered" in decision.message
    assert any("could not be delivered" in line for line in said)


def test_what_is_never_stored_cannot_be_modified(tmp_path: Path) -> None:
    rules = Redaction(never_store=["vault_*"])
    store = open_store(str(tmp_path / "events.db"), redaction=rules)
    request = ask(store, tool="vault_read", key="word-of-passing")
    with pytest.raises(escape.DecisionError, match="is never stored"):
        escape.modify(open_store(str(tmp_path / "events.db")), request, {"key": "other"})
    assert escape.approve(store, request).resolution == "approved"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), b"x", object()])
def test_what_no_json_says_is_not_sent_changed(store: Store, value: object) -> None:
    request = ask(store, args={"q": 1})
    with pytest.raises(escape.DecisionError, match="no JSON"):
        escape.modify(store, request, {"q": [value]})
    assert resolution(store, request) == ""


@pytest.mark.parametrize("args", [{"q": "x" * 1_500_000}, {"q": [1, "y" * 1_500_000]}])
def test_long_arguments_reach_the_tool_whole(tmp_path: Path, args: dict[str, object]) -> None:
    desk = store_in(tmp_path)
    with session(store_in(tmp_path), unattended_wait_seconds=30) as live:
        loop(live, 2)
        with meanwhile(lambda: escape.modify(desk, pending(desk).request, args)):
            decision = call(live)
    assert decision.run and decision.args == args


def test_a_text_for_arguments_that_have_names_never_reaches_the_tool(tmp_path: Path) -> None:
    """As where they are so long that the log has them cut, as a text."""
    desk, args = store_in(tmp_path), {"q": "x" * 1_500_000}
    with session(store_in(tmp_path), unattended_wait_seconds=30) as live:
        for _ in range(2):
            call(live, "search", args)
        with meanwhile(lambda: escape.modify(desk, pending(desk).request, "{")):
            decision = call(live, "search", args)
    assert not decision.run and "could not be delivered" in decision.message
