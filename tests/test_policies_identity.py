"""What makes two calls the same: equal JSON is equal, every value has an identity, nothing raises."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopguard_core.identity import EDGE, Digester, ExactScheme, Payload, Scheme, canonical
from loopguard_core.policies.registry import create, names
from loopguard_core.traits import UNKNOWN

SCHEMES: dict[str, Scheme] = {"exact": ExactScheme()} | {
    name: scheme for name in names() for scheme in create(name).schemes
}
WORDS = st.text(alphabet=st.characters(exclude_categories=[]), max_size=6)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=10,
)


def request(scheme: Scheme, args: Any) -> dict[str, Any]:
    return scheme.request("read_file", Payload(args, Digester()), UNKNOWN)


def result(scheme: Scheme, value: Any, ok: bool = True) -> dict[str, Any]:
    args = Payload({}, Digester())
    record = scheme.request("read_file", args, UNKNOWN)
    return scheme.outcome("read_file", args, Payload(value, Digester()), ok, UNKNOWN, record)


def shuffled(value: Any, seed: random.Random) -> Any:
    """The same JSON with the keys of every object in another order."""
    if isinstance(value, dict):
        keys = list(value)
        seed.shuffle(keys)
        return {key: shuffled(value[key], seed) for key in keys}
    return [shuffled(inner, seed) for inner in value] if isinstance(value, list) else value


@given(st.dictionaries(WORDS, VALUES, max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_keys_never_matters_at_any_depth(args: Any, seed: random.Random) -> None:
    other = shuffled(args, seed)
    for scheme in SCHEMES.values():
        assert request(scheme, args) == request(scheme, other)
        assert result(scheme, args) == result(scheme, other)


@given(VALUES)
def test_a_round_trip_through_json_text_keeps_the_identity(args: Any) -> None:
    again = json.loads(json.dumps(args, indent=2))
    for scheme in SCHEMES.values():
        assert request(scheme, args) == request(scheme, again)


@given(st.dictionaries(WORDS, VALUES, max_size=3), st.randoms(use_true_random=False))
def test_raw_text_is_compared_as_json_where_the_original_decodes_it(
    args: Any, seed: random.Random
) -> None:
    spelled = json.dumps(args, ensure_ascii=False)
    other = json.dumps(shuffled(args, seed), indent=3)
    assert request(SCHEMES["graded"], spelled) == request(SCHEMES["graded"], other)
    if "NaN" not in spelled and "Infinity" not in spelled:
        assert request(SCHEMES["nous"], spelled) == request(SCHEMES["nous"], other)


@given(VALUES, VALUES)
def test_different_json_is_different_for_the_exact_identity(one: Any, other: Any) -> None:
    strict = SCHEMES["tool-loop-guard"]
    if request(strict, one) == request(strict, other):
        assert canonical({} if one is None else one) == canonical({} if other is None else other)


class Hostile:
    """An object that refuses to be looked at."""

    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


def cycle() -> Any:
    inner: dict[str, Any] = {}
    inner["self"] = [inner]
    return inner


def deep(levels: int, leaf: Any = 0) -> Any:
    value = leaf
    for level in range(levels):
        value = [value] if level % 2 else {"k": value}
    return value


STRANGE: dict[str, Any] = {
    "nan": math.nan,
    "infinity": {"n": -math.inf},
    "lone surrogate": {"\ud800": "\udfff"},
    "depth 2,000": deep(2_000),
    "deep raw text": "[" * 2_000 + "]" * 2_000,
    "too deep raw text": "[" * 200_000,
    "5,000 digits": {"n": 10**5_000},
    "5,000 digits as text": "1" * 5_000,
    "a float of 5,000 digits": "1" * 5_000 + ".0",
    "cycle": cycle(),
    "foreign": object(),
    "hostile": {"x": Hostile()},
    "bytes": b"\xff\x00",
    "a set": {1, 2},
    "mixed keys": {1: "a", "1": "b", None: "c", (1, 2): "d", b"k": "e"},
    "tuple": (1, (2,)),
    "nothing": None,
    "empty text": "",
    "broken json": '{"a": 1',
    "null byte": "\x00",
    "complex": 1j,
    "generator": (n for n in range(0)),
}


@pytest.mark.parametrize("name", list(STRANGE))
def test_every_value_has_an_identity(name: str) -> None:
    for scheme in SCHEMES.values():
        value = STRANGE[name]
        first = request(scheme, value)
        assert first and first == request(scheme, value)
        for ok in (True, False):
            assert result(scheme, value, ok) == result(scheme, value, ok)


def test_what_differs_only_far_inside_differs() -> None:
    for scheme in SCHEMES.values():
        assert request(scheme, {"d": deep(2_000, 1)}) != request(scheme, {"d": deep(2_000, 2)})
        assert request(scheme, {"n": 10**5_000}) != request(scheme, {"n": 10**5_000 + 1}) or (
            scheme is SCHEMES["dsh"]
        )


def test_a_digest_depends_on_the_key_and_on_every_letter_of_a_long_text() -> None:
    digester, text = Digester(b"key"), "x" * 100_000
    first = digester(text)
    assert digester(str(text)) == first == Digester(b"key")(text)
    assert len({first, Digester()(text), Digester(b"other")(text)}) == 3
    for at in (0, 31, 32, 777, 50_000, 99_999):
        assert digester(text[:at] + "y" + text[at + 1 :]) != first


def test_many_long_texts_keep_their_digests() -> None:
    digester = Digester()
    texts = [f"{n}" * 3_000 for n in range(10, 99)] + ["z" * 9_000_000]
    first = [digester(text) for text in texts]
    assert [digester(text) for text in texts] == first
    assert len(set(first)) == len(texts)


@given(st.text(alphabet="a\u00e9\u4e2d\U0001f600\ud800\n", min_size=1, max_size=40), st.data())
def test_a_long_text_has_one_digest_whatever_was_hashed_before(seed: str, data: Any) -> None:
    text = seed * (40_000 // len(seed) + 1)
    places = data.draw(st.lists(st.integers(0, len(text) - 1), min_size=1, max_size=4))
    others = [f"{text[:at]}z{text[at + 1 :]}" for at in places]
    texts = [text, *others, text, *reversed(others), text[:-1], text + "z"]
    digester = Digester(b"key")
    digests = [digester(str(one)) for one in texts]
    assert digests == [Digester(b"key")(one) for one in texts]
    assert len(set(digests)) == len(set(texts))
    middles = [digester.middle(one) for one in texts]
    assert len(set(middles)) == len({one[EDGE:-EDGE] for one in texts})


class Name(str):
    """A string of a class of its own, which JSON writes as a string."""


@given(st.lists(VALUES, min_size=1, max_size=4), st.randoms())
def test_a_value_has_one_identity_whatever_was_seen_before(values: list[Any], seed: Any) -> None:
    digester = Digester()
    own = [{Name("key"): n} for n in range(3)]
    for value in [
        *values * 4,
        *own * 4,
        *map(str, values),
        {1: 2},
        {"1": 2},
        b"1",
        bytearray(b"1"),
    ]:
        for spelled in (value, shuffled(value, seed)):
            fresh = Payload(spelled, Digester())
            got = Payload(spelled, digester)
            assert (got.digest, got.canonical) == (fresh.digest, fresh.canonical)
            assert got.foreign == fresh.foreign
