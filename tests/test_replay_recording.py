"""The read model: what it says at each step is what the guard had at that step."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from loopguard_core.events import Event, expand
from loopguard_core.guard import Guard
from loopguard_core.identity import EXACT, ExactScheme
from loopguard_core.policies.base import Call, Policy
from loopguard_core.recording.replay import Recording
from loopguard_core.verdict import Count, Tier, Verdict


class Ladder(Policy):
    """Cumulative duplicates in a turn: warn on the 2nd, block on the 3rd, halt on the 5th."""

    name = "ladder"

    def __init__(self) -> None:
        super().__init__(ExactScheme())
        self.seen: dict[str, int] = {}

    def signature(self, call: Call) -> str:
        return f"{call.tool}:{call.records[EXACT]['a']}"

    def peek(self, call: Call) -> Verdict:
        signature = self.signature(call)
        count = self.seen.get(signature, 0) + 1
        tier = Tier(sum(count >= at for at in (2, 3, 5)))
        return Verdict(tier, self.name, detector="same call", signature=signature, count=count)

    def start(self, call: Call) -> None:
        signature = self.signature(call)
        self.seen[signature] = self.seen.get(signature, 0) + 1

    refuse = start

    def turn(self, reason: str) -> None:
        self.seen.clear()

    def reset(self, *, tool: str = "", signature: str = "") -> None:
        self.seen.clear()

    def counts(self) -> list[Count]:
        thresholds = {Tier.WARN: 2, Tier.BLOCK: 3, Tier.HALT: 5}
        return [
            Count(s, s.partition(":")[0], n, detector="same call", thresholds=thresholds)
            for s, n in self.seen.items()
        ]


def call(tool: str, args: object = None, **more: object) -> Event:
    return Event("call", data={"tool": tool, "args": args, "result": "r", **more})


def record(events: list[Event]) -> Recording:
    recording = Recording(Guard(Ladder(), mode="observe"))
    recording.append(event for _, event in expand(events))
    return recording


steps = st.lists(
    st.one_of(
        st.builds(call, st.sampled_from("abc"), st.sampled_from([None, {"x": 1}])),
        st.just(Event("user_message", data={"text": "go on"})),
    ),
    max_size=40,
)


@given(steps, st.lists(st.integers(-1, 60), max_size=8))
def test_the_guard_at_a_step_is_the_guard_that_was_there(
    events: list[Event], jumps: list[int]
) -> None:
    whole = record(events)
    plain = [event for _, event in expand(events)]
    for index in (min(jump, len(whole) - 1) for jump in jumps):
        seq = whole.seq_at(index)
        fresh = Guard(Ladder(), mode="observe")
        for event in plain[:seq]:
            fresh.apply(event)
        assert repr(whole.guard_at(seq).counts()) == repr(fresh.counts())


@given(steps, st.integers(1, 10))
def test_appending_in_pieces_gives_the_same_recording(events: list[Event], piece: int) -> None:
    whole = record(events)
    plain = [event for _, event in expand(events)]
    pieces = Recording(Guard(Ladder(), mode="observe"))
    for at in range(0, len(plain), piece):
        pieces.append(plain[at : at + piece])
        pieces.append(plain[:at])  # what is known already changes nothing
    for one, other in zip(whole.rows(), pieces.rows(), strict=True):
        for name in one.__slots__:
            assert getattr(one, name) == getattr(other, name)


def test_rows_say_what_happened_and_where_the_call_stands() -> None:
    recording = record(
        [
            Event("session_start", data={"agent": "demo"}),
            Event("user_message", data={"text": "go"}),
            *[call("search", {"q": "x"}) for _ in range(3)],
            call("read", {"path": "a"}, ok=False),
            call("search", {"q": "x"}),
        ]
    )
    rows = list(recording.rows())
    assert [(r.number, r.tool, r.count, r.tier.word, r.outcome) for r in rows] == [
        (1, "search", 1, "allow", "ok"),
        (2, "search", 2, "warn", "ok"),
        (3, "search", 3, "block", "ok"),
        (4, "read", 1, "allow", "error"),
        (5, "search", 4, "block", "ok"),
    ]
    assert recording.args(3) == {"path": "a"} and recording.result(4) == "r"
    assert list(recording.window_at(4, 3)) == [0, 1, 0]
    assert [recording.next_change(i) for i in (0, 1, 2, 3)] == [1, 2, 3, 4]
    assert recording.next_change(2, -1) == 1 and recording.next_change(4) is None
    assert recording.next_failure(0) == 3
    assert recording.repeats_before(4) == 2 and recording.first_of_streak(4) == 0
    why = recording.why(4)
    assert why is not None and why.count == 4 and why.detector == "same call"
    assert [m.event.type for m in recording.marks] == ["session_start", "user_message"]


def test_recorded_verdicts_win_over_folded_ones() -> None:
    verdict = {"tier": "halt", "policy": "other", "reason": "said so"}
    recording = record([call("a", verdict=verdict)])
    why = recording.why(0)
    assert recording.row(0).tier is Tier.HALT
    assert why is not None and why.reason == "said so"


def test_a_call_that_never_ended_is_not_running_for_ever() -> None:
    recording = Recording(Guard(Ladder(), mode="observe"))
    start = {"call": "1", "tool": "a"}
    recording.append([Event("call_start", "s", seq=1, data=start)])
    assert recording.row(0).outcome == "running"
    recording.append([Event("session_start", "s", seq=2)])
    assert recording.row(0).outcome == "pending"


def test_requests_are_pending_only_while_they_wait() -> None:
    recording = Recording(Guard(Ladder()))
    data = {"request": "R1", "call": "1", "tier": "block"}
    recording.append(
        [
            Event("call_start", "s", seq=1, data={"call": "1", "tool": "a"}),
            Event("request_opened", "s", seq=2, data=data),
            Event("request_resolved", "s", seq=3, data={"request": "R1", "resolution": "denied"}),
        ]
    )
    assert [a.request for a in recording.pending_at(2)] == ["R1"]
    assert recording.pending_at(1) == [] and recording.pending_at(3) == []
    assert recording.requests["R1"].row == 0


def test_a_call_that_ends_long_after_others_began() -> None:
    recording = Recording(Guard(Ladder(), mode="observe"))
    many = 70_000
    start = {"call": "long", "tool": "slow", "args": None}
    recording.append([Event("call_start", "s", seq=1, data=start)])
    texts = (Event("assistant_text", "s", seq=seq, data={}) for seq in range(2, many))
    recording.append(texts)
    end = {"call": "long", "outcome": "ok", "result": "done"}
    recording.append([Event("call_end", "s", seq=many, data=end)])
    row = recording.row(0)
    assert (row.start_seq, row.outcome) == (1, "ok")
    assert recording.result(0) == "done"
