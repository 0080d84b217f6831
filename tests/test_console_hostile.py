"""Hostile text from agents reaches the terminal as text: tested on the bytes that the console writes."""

from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path
from typing import Any

from hostile import BARS, BIDI, MARKUP, ORDERS, harmless
from loopguard_core.config import Config
from loopguard_core.session.live import LiveSession
from loopguard_core.store.door import open_store
from processes import CONSOLE, environment
from terminal import Terminal


def test_a_recording(tmp_path: Path) -> None:
    hostile = [
        {"type": "session_start", "agent": MARKUP + ORDERS, "session": "s"},
        {"type": "user_message", "text": MARKUP + ORDERS + BIDI, "session": "s"},
    ]
    for text in (MARKUP, ORDERS, BIDI, BARS, "huge " * 400_000):
        call: dict[str, Any] = {
            "tool": f"t{text}"[:200],
            "args": {text[:200]: text},
            "result": text,
            "ok": False,
        }
        hostile += [{"type": "call", "session": "s", **call}] * 3
    path = tmp_path / "hostile\x1b[77m[bold].jsonl"
    path.write_text("\n".join(map(json.dumps, hostile)) + "\n", "ascii")
    env = environment(XDG_STATE_HOME=str(tmp_path), LOOPGUARD_STORE=str(tmp_path / "none.db"))
    with Terminal([*CONSOLE, "open", str(path)], env) as screen:
        screen.see("REPLAY", "t[bold red]x[/]")
        for step in range(1, 15):
            screen.press("]")
            screen.see(f"call {step + 1}/15")
        for keys, sees in (("g", "call 1/15"), ("z", "call 1/15"), ("/OWNED\r", "call 4/15")):
            screen.press(keys)
            screen.see(sees)
        assert "\\x1b]0;OWNED" in screen.text()
        harmless(screen)
        screen.press("q")
        assert screen.wait() == 0


def test_a_live_session_with_its_request_dialogs_and_messages(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "events.db"))
    other = subprocess.Popen(["sleep", "120"])  # the agent must not be the console's own parent
    config = Config({"policy": "graded", "wait_seconds": 60, "unattended_wait_seconds": 60})
    session = LiveSession(config, f"s{ORDERS}", agent=MARKUP + BIDI, store=store, pid=other.pid)
    session.turn(ORDERS + BIDI)
    tool, args = MARKUP + ORDERS, {BIDI: MARKUP + ORDERS}
    for _ in range(2):
        session.after(session.before(tool, args), ORDERS + MARKUP)
    said: list[str] = []
    waits = threading.Thread(target=lambda: said.append(session.before(tool, args).message))
    waits.start()
    env = environment(LOOPGUARD_STORE=str(tmp_path / "events.db"), XDG_STATE_HOME=str(tmp_path))
    try:
        with Terminal(CONSOLE, env) as screen:
            screen.see("[bold red]x[/]", "WHAT YOU CAN DO  R1")
            for keys, sees in (
                ("i", "INBOX"),
                ("\x1b", "CHAIN"),
                ("o", "Override"),
                ("\x1b", "CHAIN"),
            ):
                screen.press(keys)
                screen.see(sees)
            screen.lose("Override")
            screen.see("WHAT YOU CAN DO  R1")
            screen.press("m")
            screen.see("Modify")
            screen.press("\x1b")
            screen.lose("Modify")
            screen.see("WHAT YOU CAN DO  R1")
            screen.press("d")
            screen.see("Deny")
            screen.press("no\r")
            waits.join(20)
            assert said and "no" in said[0]
            harmless(screen)
            screen.press("q")
            assert screen.wait() == 0
    finally:
        other.kill()
        other.wait()
        session.end()
        store.close()


def test_inside_a_guarded_agent_the_console_only_watches(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "events.db"))
    session = LiveSession(Config({"policy": "graded"}), "s", agent="mine", store=store)
    session.after(session.before("search", {}), "found")
    env = environment(LOOPGUARD_STORE=str(tmp_path / "events.db"), XDG_STATE_HOME=str(tmp_path))
    try:
        with Terminal(CONSOLE, env) as screen:
            screen.see("search", "WATCHES ONLY")
            screen.press("x")
            screen.see("runs inside the guarded session")
            screen.lose("whole session")
    finally:
        session.end()
        store.close()
