"""The MCP proxy between a client and a server: what passes, what is judged, how it ends."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_client import Client
from processes import console
from sessions import pending

ASK = "unattended_wait_seconds = 60\n"


def test_everything_but_calls_passes_byte_for_byte(tmp_path: Path) -> None:
    down = [
        b'{"jsonrpc": "2.0",   "id":"x", "method":"say/caf\\u00e9/\xc3\xa9", "params": {"n": 1.0e2}}\n',
        b'[{"jsonrpc":"2.0","method":"unheard","id":9},  {"jsonrpc":"2.0","id":3,"result":{}}]\n',
        b"not json at all \xff\n",
        b"\n",
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}\n',
        b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"arguments":{}}}\r\n',
        b'{"big":"' + b"x" * 3_000_000 + b'"}\n',
    ]
    up = [
        '{"jsonrpc":"2.0",  "id": 1, "method":"sampling/createMessage","params":{"a":1.50}}\n',
        '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"\\u00e9"}}\n',
        "no json\n",
        '[{"jsonrpc":"2.0","id":1,"method":"roots/list"}]\n',
        '{"jsonrpc":"2.0","id":99,"result":{}}\n',
        '{"big":"' + "y" * 3_000_000 + '"}\n',
    ]
    with Client(tmp_path) as client:
        for line in down:
            client.send(line)
        client.notify("say", lines=up)
        assert [client.line().decode() for _ in up] == up
        assert client.log.read_bytes().startswith(b"".join(down))
        assert client.end()[0] == 0


def test_a_call_is_warned_blocked_and_halted(tmp_path: Path) -> None:
    with Client(tmp_path) as client:
        client.ask("initialize")
        first, second, third, fourth = [client.call("echo", q=1) for _ in range(4)]
        other = client.call("echo", q="another")
        code, said = client.end()
    echoed = {"type": "text", "text": '{"q": 1}'}
    assert first == {"content": [echoed], "structuredContent": {"args": {"q": 1}}}
    assert second["content"][0] == echoed and second["structuredContent"] == {"args": {"q": 1}}
    assert second["content"][1]["text"].startswith("[loopguard] ")
    assert third["isError"] is True and "not run" in third["content"][0]["text"]
    assert "structuredContent" not in third
    assert "the turn ends here" in fourth["content"][0]["text"]
    assert other["isError"] is True, "a halt holds for every call"
    assert sum(m.get("method") == "tools/call" for m in client.received()) == 2
    assert " approve R1)" in said and code == 0
    assert all("loopguard-console" not in json.dumps(r) for r in (second, third, fourth, other))
    outcomes = [e.data["outcome"] for e in client.events("call_end")]
    assert outcomes == ["ok", "ok", "blocked", "blocked", "blocked"]


def test_the_session_is_named_after_the_server_and_marks_its_process(tmp_path: Path) -> None:
    with Client(tmp_path) as client:
        told = client.ask("initialize")["result"]["serverInfo"]
        assert client.events() == [], "a server that is only asked what it can is no session"
        client.call("echo")
        client.end()
    start, *_, end = client.events()
    assert (start.type, end.type) == ("session_start", "session_end")
    assert start.data["agent"] == "mcp:scripted"
    assert told["session"] == start.session, "a model with a shell in the server cannot decide"


def test_the_servers_annotations_are_traits(tmp_path: Path) -> None:
    with Client(tmp_path) as client:
        client.ask("tools/list")
        client.call("echo")
        client.call("fail")
        client.end()
    traits = [e.data.get("traits") for e in client.events("call_start")]
    assert traits == [{"readOnlyHint": True}, None]


def test_failures_are_recorded_as_such(tmp_path: Path) -> None:
    with Client(tmp_path) as client:
        assert client.call("fail")["isError"] is True
        assert "error" in client.ask("tools/call", name="wrong")
        warned = client.ask("tools/call", name="wrong")["error"]
        client.end()
    assert (warned["code"], warned["message"][:12]) == (-32602, "unknown tool")
    assert "[loopguard]" in warned["message"]
    ends = [(e.data["outcome"], e.data["result"]) for e in client.events("call_end")]
    assert ends[:2] == [("error", "no such file"), ("error", "unknown tool")]


def test_a_human_lets_one_call_run_while_others_go_on(tmp_path: Path) -> None:
    with Client(tmp_path, config=ASK) as client:
        client.call("echo", q=1)
        client.call("echo", q=1)
        waiting = client.request("tools/call", name="echo", arguments={"q": 1})
        request = pending(client.store()).request
        assert "tools" in client.ask("tools/list")["result"]
        client.human("approve", request)
        answer = client.message()
        assert answer["id"] == waiting
        assert answer["result"]["content"][0]["text"] == '{"q": 1}'
        client.request("tools/call", name="echo", arguments={"q": 1})
        request = pending(client.store()).request
        assert "content" in client.call("echo", other="call"), "another call is not held up"
        client.human("modify", request, '{"q": 2}')
        changed = client.message()["result"]["content"]
        client.end()
    assert changed[0]["text"] == '{"q": 2}'
    assert "human changed the arguments" in changed[1]["text"]


def test_a_wait_ends_at_the_limit_and_the_client_is_kept_waiting(tmp_path: Path) -> None:
    with Client(tmp_path, "--limit", "1.5", config=ASK) as client:
        client.call("echo")
        client.call("echo")
        id = client.request("tools/call", name="echo", arguments={}, _meta={"progressToken": "p"})
        told = client.message()
        assert told["method"] == "notifications/progress"
        assert told["params"]["progressToken"] == "p"
        while told.get("id") != id:
            told = client.message()
        client.end()
    assert told["result"]["isError"] is True
    assert told["result"]["resultType"] == "complete"
    (resolved,) = client.events("request_resolved")
    assert resolved.data["resolution"] == "expired"


def test_a_client_takes_a_waiting_call_back(tmp_path: Path) -> None:
    with Client(tmp_path, config=ASK) as client:
        client.call("echo")
        client.call("echo")
        id = client.request("tools/call", name="echo", arguments={})
        pending(client.store())
        client.notify("notifications/cancelled", requestId=id)
        client.ask("tools/list")
        client.end()
    assert [e.data["resolution"] for e in client.events("request_resolved")] == ["cancelled"]
    assert not any(m.get("id") == id for m in client.received())
    assert not any("cancelled" in m["method"] for m in client.received())


def test_a_client_takes_back_a_call_that_the_server_has(tmp_path: Path) -> None:
    with Client(tmp_path) as client:
        id = client.request("tools/call", name="slow", arguments={})
        client.notify("notifications/cancelled", requestId=id)
        client.call("release")
        assert client.message()["result"] == {"content": [{"type": "text", "text": "at last"}]}
        client.end()
    ends = {e.data["call"]: e.data["outcome"] for e in client.events("call_end")}
    assert sorted(ends.values()) == ["cancelled", "ok"]
    assert client.received()[1]["method"] == "notifications/cancelled"


def test_calls_at_the_same_time_are_told_apart(tmp_path: Path) -> None:
    with Client(tmp_path) as client:
        for id in (1, "1", 2):
            client.request("tools/call", id=id, name="slow", arguments={"n": str(id), "id": [id]})
        client.request("tools/call", id=3, name="release", arguments={})
        assert [client.message()["id"] for _ in range(4)] == [3, 1, "1", 2]
        client.end()
    ends = client.events("call_end")
    assert [e.data["outcome"] for e in ends] == ["ok"] * 4
    assert len({e.data["call"] for e in ends}) == 4


def test_a_batch_is_judged_call_by_call_and_answered_as_one(tmp_path: Path) -> None:
    calls = [
        {"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": "echo"}}
        for n in range(3)
    ]
    others = [
        {"jsonrpc": "2.0", "id": "list", "method": "tools/list"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]
    with Client(tmp_path) as client:
        client.send(json.dumps([*calls, *others]).encode() + b"\n")
        answers = {a["id"]: a["result"] for a in client.message()}
        client.ask("tools/list")
        client.end()
    assert set(answers) == {0, 1, 2, "list"}
    assert len(answers[1]["content"]) == 2
    assert answers[2]["isError"] is True
    assert "tools" in answers["list"]
    assert len(client.received()) == 5, "two calls, a listing, a notification; and one listing more"


def test_a_call_that_comes_back_for_input_or_runs_as_a_task_counts_once(tmp_path: Path) -> None:
    with Client(tmp_path) as client:
        asked = client.ask("tools/call", name="ask", arguments={"q": 1})
        assert asked["result"]["resultType"] == "input_required"
        more = {"requestState": "one", "inputResponses": {}}
        done = client.ask("tools/call", name="ask", arguments={"q": 1}, **more)
        assert done["result"]["content"] == [{"type": "text", "text": "thank you"}]
        started = client.ask("tools/call", name="task", arguments={}, task={"ttl": 1})
        assert "content" not in started["result"]
        client.ask("tasks/result", taskId="t1")
        client.end()
    ends = [(e.data["outcome"], e.data["result"]) for e in client.events("call_end")]
    assert ends == [("ok", "thank you"), ("ok", "the task is done")]


def test_a_pause_begins_a_turn(tmp_path: Path) -> None:
    with Client(tmp_path, "--new-turn-after", "0.05") as client:
        for _ in range(4):
            assert "isError" not in client.call("echo")
            time.sleep(0.1)
        client.end()
    assert len(client.events("turn_start")) == 3


def test_a_server_that_dies_ends_it_with_its_code(tmp_path: Path) -> None:
    with Client(tmp_path) as client:
        client.request("tools/call", name="die", arguments={})
        assert client.line() == b""
        assert client.end()[0] == 7
    (end,) = client.events("call_end")
    assert end.data["outcome"] == "error"
    assert client.events()[-1].data["reason"] == "the server ended"


def test_what_a_server_says_last_reaches_a_slow_client(tmp_path: Path) -> None:
    with Client(tmp_path) as client:
        client.request("tools/call", name="shout", arguments={})
        time.sleep(2.5)
        assert len(client.message()["result"]["content"][0]["text"]) == 3_000_000
        assert client.end()[0] == 0


def test_a_process_that_a_server_leaves_behind_keeps_nobody_waiting(tmp_path: Path) -> None:
    with Client(tmp_path) as client:
        assert client.call("leave")["content"][0]["text"] == "bye"
        assert client.process.wait(20) == 0
    assert [e.data["outcome"] for e in client.events("call_end")] == ["ok"]


def test_a_client_that_leaves_ends_it_also_while_a_call_waits(tmp_path: Path) -> None:
    with Client(tmp_path, config=ASK) as client:
        client.call("echo")
        client.call("echo")
        client.request("tools/call", name="echo", arguments={})
        pending(client.store())
        code, _ = client.end()
    assert code == 0
    assert client.log.read_bytes().endswith(b"<end of input>\n")
    assert [e.data["resolution"] for e in client.events("request_resolved")] == ["cancelled"]
    assert client.events()[-1].data["reason"] == "the client left"


def test_a_proxy_that_is_told_to_end_ends_its_server(tmp_path: Path) -> None:
    with Client(tmp_path) as client:
        client.call("echo")
        client.process.terminate()
        assert client.process.wait(30) == 128 + signal.SIGTERM
        assert client.line() == b""


def test_a_server_that_cannot_be_started_is_said_in_one_line(tmp_path: Path) -> None:
    with Client(tmp_path, server="no-such-server") as client:
        code, said = client.end()
    assert (code, said.count("\n")) == (1, 1)
    assert "no-such-server cannot be started: No such file or directory" in said
    assert console("mcp-proxy").returncode == 2


def test_a_store_that_fails_is_said_and_the_guard_goes_on(tmp_path: Path) -> None:
    with Client(tmp_path) as client:
        client.place.mkdir()
        answers = [client.call("echo") for _ in range(3)]
        _, said = client.end()
    assert answers[2]["isError"] is True
    assert "is a directory, not an event store" in said


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=10,
)


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(anything.map(json.dumps) | st.text(max_size=30), max_size=40))
def test_whatever_is_sent_arrives(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    sent = [line.replace("\n", " ").encode("utf-8", "replace") + b"\n" for line in lines]
    with Client(folder) as client:
        for line in sent:
            client.send(line)
        client.ask("tools/list")
        code, said = client.end()
    assert (code, said) == (0, "")
    assert client.log.read_bytes().startswith(b"".join(sent))
