"""JSON without its package: the same values, the same texts, the same errors, and nothing loaded for it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks import LAUNCHER
from loopguard_core import plain_json

TEXTS = (
    *(
        "",
        " ",
        "{",
        "[1,",
        "nul",
        "NaN",
        "[-Infinity]",
        " 1 ",
        "\ufeff1",
        '"\\ud800"',
        '"a\nb"',
        "{}x",
    ),
    *(
        "1 2",
        "[] \n\t\r",
        '{"a":1,"a":2}',
        "1e999",
        "0123",
        "-",
        '"\\x"',
        "9" * 5000,
        "\xa01",
        "[1,]",
    ),
    *("{'a': 1}", '"' + "x" * 99, "[" * 100_000),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def outcome(read: Any, *given: Any) -> str:
    """What *read* gives, or what it raises."""
    try:
        return repr(read(*given))
    except (ValueError, RecursionError) as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
@pytest.mark.parametrize("encoding", ["", "utf-8", "utf-16", "utf-32-le"])
def test_it_reads_and_refuses_what_the_package_does(text: str, encoding: str) -> None:
    said = text.encode(encoding, "surrogatepass") if encoding else text
    assert outcome(plain_json.loads, said) == outcome(json.loads, said)
    if isinstance(said, str):
        decode = json.JSONDecoder().raw_decode
        assert outcome(plain_json.value_at, said) == outcome(decode, said)


@given(VALUES, st.booleans(), st.booleans())
def test_it_writes_what_the_package_does(value: Any, ascii: bool, sort_keys: bool) -> None:
    write = plain_json.writer(ascii=ascii, sort_keys=sort_keys)
    text = json.dumps(value, ensure_ascii=ascii, sort_keys=sort_keys, separators=(",", ":"))
    assert write(value) == text
    assert repr(plain_json.loads(text)) == repr(json.loads(text))


@pytest.mark.parametrize("value", [object(), {1j: 2}, float("nan"), [b""]])
def test_what_json_lacks_is_refused(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        plain_json.writer(allow_nan=False)(value)
    assert plain_json.writer(default=lambda _: "?")([object()]) == '["?"]'


WITHOUT = """
import sys
sys.path.append(sys.argv[1])
if sys.argv[2]:
    sys.modules["_json"] = None
from loopguard_core import plain_json
from loopguard_core.store import rows
value = {"b": [1, 2.5, None], "a": "\\u00e9"}
print(plain_json.loads(plain_json.writer(sort_keys=True)(value)) == value, "json" in sys.modules)
print(plain_json.dumps(value), *plain_json.encoder()(value, 0), sep="")
for broken in ("{'a': 1}", "[", "", "nul"):
    for read in (plain_json.loads, plain_json.value_at, rows.from_text):
        try:
            read(broken)
        except ValueError as error:
            print(type(error).__name__, error)
"""


def test_without_its_c_part_it_does_the_same_with_the_package() -> None:
    argv = [sys.executable, "-I", "-S", "-c", WITHOUT, str(LAUNCHER.parents[1])]
    quick, slow = (
        subprocess.run([*argv, without], capture_output=True, check=True, timeout=60).stdout
        for without in ("", "x")
    )
    assert quick.startswith(b"True False\n") and slow.startswith(b"True True\n")
    assert quick.splitlines()[1:] == slow.splitlines()[1:]
    assert quick.count(b"JSONDecodeError") == 12
