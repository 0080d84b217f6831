"""Which redaction patterns ``doctor`` says would take for ever: those that do, and no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from loopguard_console.doctor.backtracking import takes_for_ever
from loopguard_console.doctor.configuration import configuration

#: each was seen to double its time with every few characters of some text
ENDLESS = [
    r"(a+)+$",
    r"(a*)*b",
    r"((a?)+)+b",
    r"(x+x+)+y",
    r"(?:(a+)+b)*",
    r"(?:a|ab|b)*c",
    r"(?:a{1,3}){1,}b",
    r"(?i:(?:[a-c]B?)+)+c",
    r"(\w+\s?)+$",
    r"(?:\s*\w+\s*)*;",
    r"^(?:.*,)*.*x$",
    r"key=(?:[a-z]+_?)+?;",
    r"(?=(a+)+$)",
    r"(?:[^\"]+\"[^\"]*)*!",
    r"([a-zA-Z0-9])(([\-.]|[_]+)?([a-zA-Z0-9]+))*@x",
]
HARMLESS = [
    r"(a+)+",
    r"(a++)+$",
    r"(?>a+)+$",
    r"(?:a|b)*$",
    r"(?:\w+,)+x",
    r"(\w+-)*\w+@",
    r"key=(\w+)",
    r"(?:a{0,3}b)*c",
    r"(?:[0-9]{4}-?)+x",
    r"(\d{1,3}\.){3}\d{1,3}",
    r"(?:[A-Z][a-z]+ )+x",
    r"(?:\d[^\W\d]+)*!",
    r"(?s)-----BEGIN.*?-----END",
    r"\bsk-[A-Za-z0-9]{20,}\b",
    r"(?P<q>[\"']).*?(?P=q)",
    r"a{1,1000}b",
    r"",
]


@pytest.mark.parametrize("pattern", ENDLESS)
def test_what_doubles_its_time_is_found(pattern: str) -> None:
    assert takes_for_ever(re.compile(pattern))


@pytest.mark.parametrize("pattern", HARMLESS)
def test_what_does_not_is_left_alone(pattern: str) -> None:
    assert not takes_for_ever(re.compile(pattern))


def test_doctor_says_which_it_is_and_what_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written = tmp_path / "loopguard.toml"
    written.write_text("[redaction]\npatterns = ['k=(\\w+)', '(b+)+$']\n")
    finding = configuration()[1]
    assert finding.state == "wrong" and "'(b+)+$' would take for ever" in finding.what
    assert "(a+)+ is a+" in finding.mend
    written.write_text("[redaction]\npatterns = ['k=(\\w+)', 'b+$']\n")
    assert configuration()[1].state == "ok"
