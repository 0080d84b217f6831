"""What an answer is wrapped in, and how names are spelled, changes no verdict on a situation."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from loopguard_core.policies.progress.wrapped import inner, without_own_lines
from loopguard_core.verdict import Tier
from situations import LATEST, OURS, caught, events, situations, tiers

Events = list[dict[str, Any]]
ALL = situations(OURS)


def answered(wrap: Callable[[str, bool], Any]) -> Callable[[Events], Events]:
    """The events with each text result wrapped."""

    def change(given: Events) -> Events:
        return [
            {**e, "result": wrap(e["result"], _ok(e))} if isinstance(e.get("result"), str) else e
            for e in given
        ]

    return change


def _ok(event: dict[str, Any]) -> bool:
    return bool(event.get("ok", event.get("outcome", "ok") == "ok"))


def asked(spell: Callable[[str], str]) -> Callable[[Events], Events]:
    """The events with the names of tools and of their arguments spelled otherwise."""

    def change(given: Events) -> Events:
        out = []
        for event in given:
            if "tool" in event:
                event = {**event, "tool": spell(event["tool"])}
            if isinstance(event.get("args"), dict):
                event = {**event, "args": {spell(k): v for k, v in event["args"].items()}}
            out.append(event)
        return out

    return change


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def part(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


WAYS: dict[str, Callable[[Events], Events]] = {
    "parts": answered(lambda text, ok: [part(text)]),
    "mcp": answered(lambda text, ok: {"content": [part(text)], "isError": not ok}),
    "mcp as text": answered(lambda text, ok: json.dumps({"content": [part(text)]})),
    "program": answered(lambda text, ok: json.dumps({"output": text, "exit_code": int(not ok)})),
    "data": answered(lambda text, ok: {"data": text, "success": ok}),
    "colours": answered(lambda text, ok: f"\x1b[1m{text}\x1b[0m" if text else text),
    "tag": answered(lambda text, ok: f"<output>\n{text}\n</output>"),
    "heading": answered(lambda text, ok: f"Output:\n{text}"),
    "line ends": answered(lambda text, ok: text.replace("\n", "\r\n")),
    "camel case": asked(camel),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_wrapper_hides_no_loop_and_makes_none(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("situations.events", lambda situation: WAYS[way](events(situation)))
    first = list(WAYS).index(way) % 3
    for situation in ALL[first::3]:
        expected = situation["expect"]
        if "max_tier" in expected:
            assert max(tiers(situation)) <= Tier.of(expected["max_tier"]), situation["id"]
        else:
            assert (caught(situation) or 99) <= LATEST, situation["id"]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("plain", "plain"),
        ([part("one"), part("two")], "one\ntwo"),
        ([part("one"), {"type": "image", "data": "aGk="}], None),
        ({"content": [part("one")], "isError": False, "_meta": {}}, "one"),
        ({"output": "", "exit_code": 2, "stderr": "gone"}, "gone\nexit code 2"),
        ({"content": "one", "size": 3}, None),
        ('{"result": "one"}', "one"),
        ('{"result": "one"} and more', None),
        ("<output>one</output>", "one"),
        ("<a>one</a><b>two</b>", None),
        ("\x1b[31mred\x1b[0m", "red"),
        ({}, None),
        ([], ""),
    ],
)
def test_the_text_inside_a_wrapper(value: Any, says: str | None) -> None:
    text = value if isinstance(value, str) else json.dumps(value)
    assert inner(value, text) == (text if says is None else says)


def test_a_line_on_the_call_itself_says_nothing() -> None:
    assert without_own_lines("No results\n(took 12ms)\nRequest-Id: 8f3a2b1c9d\n") == "No results"
    assert without_own_lines("3 results\nfirst: 12 apples") == "3 results\nfirst: 12 apples"
    assert without_own_lines("took 3ms") == "took 3ms"
