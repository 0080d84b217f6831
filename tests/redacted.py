"""Where a secret may stand, and what has to hold wherever it does."""

from __future__ import annotations

import json
from collections.abc import Callable

from loopguard_core.events import dump
from loopguard_core.redaction.redact import MARK, Redactor

#: What stands around a text, as an event's fields.
CONTEXTS: dict[str, Callable[[str], str]] = {
    "JSON inside": lambda t: dump({"result": json.dumps({"cmd": t})}),
    "JSON inside JSON inside": lambda t: dump(
        {"result": json.dumps({"x": json.dumps({"cmd": t})})}
    ),
    "a list of words": lambda t: dump({"result": json.dumps(["bash", "-c", t])}),
    "a terminal": lambda t: dump({"result": f"$ {t}\nok\n"}),
    "YAML": lambda t: dump({"result": "run: " + t.replace("\n", "\n  ") + "\n"}),
    "a shell's quotes": lambda t: dump({"result": f'bash -c "{t}"'}),
    "Python": lambda t: dump({"result": repr({"cmd": t})}),
    "lines of Windows": lambda t: dump({"result": t.replace("\n", "\r\n")}),
}


def is_hidden(around: str, secret: str) -> None:
    """*secret* goes from *around*, which stays JSON, whatever stands around it and wherever it is cut."""
    text = around.replace("{}", secret)
    for where, inside in {"alone": dump, "a field": lambda t: dump({"cmd": t}), **CONTEXTS}.items():
        whole = inside(text)
        clean = Redactor(b"k")(whole)
        assert MARK in clean and secret not in clean, (where, clean)
        assert json.loads(clean).__class__ is json.loads(whole).__class__, where
        assert Redactor(b"k")(clean) == clean, where
    for end in range(len(text) + 1):
        for piece in (text[:end], text[end:], text[:end] + "\\", text[:end] + '"'):
            before = {
                "a": piece,
                "b": [piece, 5, None],
                piece: True,
                "c": dump([piece, {piece: 1}]),
            }
            after = json.loads(Redactor(b"k")(dump(before)))
            assert [type(v) for v in after.values()] == [type(v) for v in before.values()]


def is_untouched(text: str) -> None:
    """*text* comes out as it is, the same object."""
    for whole in (dump(text), dump({"result": text}), dump({"result": json.dumps({"x": text})})):
        clean = Redactor(b"k")(whole)
        assert clean == whole
        assert clean is whole
