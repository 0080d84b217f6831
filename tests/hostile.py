"""Text of a hostile agent: what a terminal would obey, what a renderer would take for markup."""

from __future__ import annotations

from terminal import Terminal

MARKUP = "[bold red]x[/] [/ [@click=app.quit]y[/] [=14629] \\[z"
ORDERS = (
    "\x1b]0;OWNED\x07\x1b]52;c;b3duZWQ=\x07\x1b]8;;http://owned/\x1b\\\x1b[77;5mA\x9b77mB\x1bcC\0D"
)
BIDI = "abc\u202eowned\u2066\u200b\U000e0041\ud800 検索👩\u200d👩\u200d👧"
BARS = "".join(f"\r{n}%" for n in range(300))
#: What must not be among the bytes: each would be obeyed, or hide something.
OBEYED = (
    b"\x1b]0;OWNED",
    b"\x1b]52",
    b"\x1b]8;;http",
    b"\x1b[77",
    b"\xc2\x9b",
    b"\x9b77",
    b"\x1bcC",
    b"\0",
    "\u202e".encode(),
    "\u2066".encode(),
    "\u200b".encode(),
    "\U000e0041".encode(),
    b"\xed\xa0\x80",
)


def harmless(screen: Terminal) -> None:
    raw = bytes(screen.raw)
    assert [order for order in OBEYED if order in raw] == []
