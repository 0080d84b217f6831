"""Foreign text reaches a terminal literally and harmlessly."""

import re

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from loopguard_console import render
from loopguard_console.render import collapse_frames, cut, pad, preview, safe, signature_label

OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
anything = st.text(alphabet=st.characters(codec=None), max_size=60)


@given(anything, st.none() | st.integers(0, 40), st.booleans())
def test_nothing_that_a_terminal_obeys_is_left(text: str, width: int | None, lines: bool) -> None:
    shown = safe(text, width, lines=lines)
    assert not OBEYED.search(shown)
    assert "\t" not in shown and (lines or "\n" not in shown)
    if width is not None:
        assert all(cell_len(line) <= width for line in shown.split("\n"))
    shown.encode("utf-8")


@given(
    st.dictionaries(anything, anything | st.none() | st.integers()) | anything, st.integers(0, 60)
)
def test_previews_are_as_safe(args: object, width: int) -> None:
    for shown in (preview(args, width), signature_label("t\x1b[2J", args, width)):
        assert not OBEYED.search(shown) and "\n" not in shown
        assert cell_len(shown) <= max(width, 0)


def test_escape_sequences_are_shown_and_markup_is_text() -> None:
    assert safe("before\x1b[2J\x1b]52;c;cHduZWQ=\x07\x9b31m\0") == (
        "before\\x1b[2J\\x1b]52;c;cHduZWQ=\\x07\\x9b31m\\0"
    )
    hostile = "[bold] [/] [@click=app.approve('R1')]x[/] [=14629,state=CLOSED]"
    assert safe(hostile) == hostile


def test_bidi_invisible_and_tag_characters_are_named() -> None:
    assert (
        safe("rm\u202e -rf\u200b \ud800 \U000e0041") == "rm\\u202e -rf\\u200b \\ud800 \\U000e0041"
    )
    assert safe("rm\u200d -rf") == "rm\\u200d -rf"
    assert safe("rm\u200d -rf", lines=True) == "rm\\u200d -rf"


def test_wide_text_keeps_columns_aligned() -> None:
    assert cell_len(pad(safe("検索ログイン失敗"), 9)) == 9
    assert cut("検索ログ", 4) == "検 …"
    assert safe("👩\u200d👩\u200d👧 1\ufe0f\u20e3 👍🏽") == "👩👩👧 1 👍"


def test_progress_frames_collapse_in_results_and_stay_visible_in_arguments() -> None:
    bar = "".join(f"\r{n}%" for n in range(101)) + "\ndone"
    assert collapse_frames(bar) == "(101 frames) 100%\ndone"
    assert collapse_frames("a\r\nb\r\nc\r\nd") == "a\r\nb\r\nc\r\nd".replace("\r", "")
    assert collapse_frames("x" * 5_000_000) == "x" * 5_000_000
    assert preview({"cmd": "rm -rf /\rls"}) == '"rm -rf /\\rls"'


def test_only_a_text_or_a_lone_value_stands_without_its_name() -> None:
    assert preview({"q": "ufo", "page": 1}) == '"ufo", page=1'
    assert preview({"page": 1, "q": "ufo"}) == 'page=1, q="ufo"'
    assert preview({"n": 1}) == "1"


def test_line_ends_and_tabs() -> None:
    assert safe("a\tb\r\nc") == "a b↵c"
    assert safe("a\tb\r\nc", lines=True) == "a   b\nc"


def test_a_preview_is_bounded_work() -> None:
    assert cell_len(preview({"q": "x" * 5_000_000}, 20)) == 20


def test_times_and_sizes_are_short() -> None:
    assert [render.span(s) for s in (None, 0.0124, 1.44, 59, 125, 11_520, 400_000)] == [
        "", "12ms", "1.4s", "59s", "2:05", "3h12", "4d",
    ]  # fmt: skip
    assert [render.size(n) for n in (812, 3_400, 2_100_000)] == ["812", "3.4k", "2.1M"]


def test_what_is_left_of_a_time_is_told_in_whole_seconds() -> None:
    told = [render.countdown(s) for s in (-1.0, 0.0, 0.3, 4.0, 9.6, 59.2, 125.0)]
    assert told == ["0s", "0s", "1s", "4s", "10s", "1:00", "2:05"]
