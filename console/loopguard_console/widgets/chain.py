"""The chain: every call of a session in order, what repeats and where the guard stepped in."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from rich.segment import Segment

from loopguard_console.inspector.facts import let_run
from loopguard_console.inspector.marks import OUTCOMES, mark_words
from loopguard_console.render import clock, cut, pad, preview, safe, span, tier_letter
from loopguard_console.viewing.folding import Line
from loopguard_console.viewing.view import View
from loopguard_console.widgets.virtual import VirtualList
from loopguard_core.recording.calls import STATES, Row

TIER_STYLES = ("p-allow", "p-warn", "p-block", "p-halt")
PILLS = ("p-allow", "p-warnpill", "p-blockpill", "p-haltpill")
#: Calls of a fold whose tiers are told one by one.
_TOLD = 500


def _numbers(view: View) -> int:
    """Cells for a call's number."""
    return max(3, len(str(len(view.recording))))


def _letter(view: View, index: int) -> tuple[int | None, bool]:
    """The letter of a call that comes again, and whether it is that of the call at the cursor."""
    recording = view.recording
    key = recording.keys[index]
    letter = recording.letters.get(key)
    here = letter is not None and view.cursor >= 0 and recording.keys[view.cursor] == key
    return letter, here


def _clocked(view: View, width: int) -> bool:
    """Whether lines of *width* cells say when: where there is room, and where the recording has times."""
    return width >= 76 and view.recording.row(0).ts is not None


def _close(width: int) -> bool:
    """Whether lines of *width* cells have none to spare for columns that a call does not fill."""
    return width < 70


def _name(width: int) -> int:
    """The most cells for a tool's name in lines of *width* cells."""
    return 14 if width < 90 else 18


def _worst(tiers: bytes | bytearray) -> int:
    return next((tier for tier in (3, 2, 1) if tiers.find(tier) >= 0), 0)


class Chain(VirtualList):
    """The calls of the view on the screen."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view: View | None = None

    def show(self, view: View | None, *, moved: bool = False) -> None:
        """Show *view* as it stands now. *moved*: a person moved in it and wants to see where to."""
        if view is not self.view:
            self.forget()
            self.view = view
        self.update(show_cursor=moved)

    def prepare(self, first: int, last: int) -> None:
        view = self.view
        if view is not None:
            until = min(view.line(last).last, len(view.recording) - 1)
            view.recording.prefetch(view.line(first).first, until)

    def count(self) -> int:
        return 0 if self.view is None else len(self.view.lines)

    def at(self) -> int:
        view = self.view
        return -1 if view is None or view.cursor < 0 else view.lines.line_of(view.cursor)

    def empty(self) -> str:
        view = self.view
        if view is not None and view.filtered and view.hits is not None:
            what = safe(view.hits.query.text, 30)
            if not view.hits.done:
                return f"  Searching for {what}: {view.hits.part:.0%} read…"
            return (
                f"  No call matches {what}. {view.names.of('back_to_chain')} shows all calls again."
            )
        return "  No calls yet. They appear here as the agent makes them."

    def face(self, line: int) -> Hashable:
        view = self.view
        if view is None:
            return None
        what = view.line(line)
        if what.is_mark:
            return what
        first = what.first
        repeats = bool(view.recording.letters)
        marked = _numbers(view), repeats, self._flag(view, what.first, what.last)
        if what.folds:
            calls, tiers = view.calls(what), view.tiers(what)
            letters = tuple(_letter(view, index) for index in calls[: what.period])
            told = len(calls), _worst(tiers), bytes(tiers[:_TOLD])
            return what, view.lines.opened(what.segment), marked, letters, told
        stands = self._stands(view, first), view.recording.tiers[first]
        return first, what.inside, marked, _letter(view, first), self._batch(view, first), stands

    def paint(self, line: int, width: int) -> list[Segment]:
        view = self.view
        if view is None:
            return []
        what = view.line(line)
        if what.is_mark:
            return self._mark(view, what, width)
        if what.folds:
            return self._folded(view, what, width)
        return self._call(view, view.recording.row(what.first), what.inside, width)

    # -- one call ----------------------------------------------------------------------------------

    def _gutter(self, view: View, inside: bool, first: int, last: int) -> list[Segment]:
        letter, same = _letter(view, first)
        bar = "┃" if same else ("│" if inside else " ")
        style = f"l-{(letter or 0) % 8}"
        name = " " if letter is None else chr(65 + letter % 26)
        flag, flag_style = self._flag(view, first, last)
        return [
            Segment(bar, self.style(style if same else "p-dim")),
            Segment(name, self.style(style) + self.style("p-strong")),
            Segment(flag, self.style(flag_style)),
        ]

    def _flag(self, view: View, first: int, last: int) -> tuple[str, str]:
        """What is marked among the calls from *first* to *last*, and its style: a bookmark, a hit."""
        if view.bookmarks and view.bookmarks.between(view.recording, first, last):
            return "◆", "p-accent"
        hits = view.hits
        if hits is not None and not view.filtered and hits.between(first, last):
            return "›", "p-accent"
        return " ", "p-text"

    def _call(self, view: View, row: Row, inside: bool, width: int) -> list[Segment]:
        recording = view.recording
        index = row.number - 1
        out = self._gutter(view, inside, index, index)
        number = pad(str(row.number), _numbers(view), right=True)
        out.append(Segment(number, self.style("p-dim")))
        out.append(Segment(self._batch(view, index), self.style("p-dim")))
        tail = self._tail(view, row, width)
        room = width - sum(s.cell_length for s in out) - sum(s.cell_length for s in tail)
        if _clocked(view, width):
            out.append(Segment(clock(row.ts) + " ", self.style("p-dim")))
            room -= 9
        out += self._what(row.tool, recording.args(index), room, _name(width))
        return out + tail

    def _batch(self, view: View, index: int) -> str:
        """A bracket along the calls of one assistant message."""
        recording = view.recording
        above = recording.together(index)
        below = index + 1 < len(recording) and recording.together(index + 1)
        return ("├" if below else "└") if above else ("┌" if below else " ")

    def _what(self, tool: str, args: object, room: int, most: int) -> list[Segment]:
        if room <= 0:
            return []
        name = safe(tool, most) or "(no name)"
        name = pad(name, min(max(most - 4, len(name)), room)) if room > 24 else cut(name, room)
        left = room - Segment(name).cell_length - 1
        return [
            Segment(name, self.style("p-strong")),
            Segment(" "),
            Segment(pad(preview(args, max(left, 0)), max(left, 0)), self.style("p-text")),
        ]

    def _stands(self, view: View, index: int) -> tuple[str, str]:
        """How a call stands at the cursor, in a word and its style."""
        recording = view.recording
        outcome = STATES[recording.outcomes[index]]
        if view.lost and outcome == "running":
            outcome = "pending"
        word, style = OUTCOMES[outcome]
        asked = recording.asked_at.get(index)
        if asked is not None and ((view.live and not asked.resolved) or asked.waits_at(view.seq)):
            return f"waits {safe(asked.request, 6)}", "p-ask"
        return "released" if outcome == "ok" and let_run(view, index) else word, style

    def _tail(self, view: View, row: Row, width: int) -> list[Segment]:
        """Outcome, duration, count in the window and tier, from the right edge."""
        word, style = self._stands(view, row.number - 1)
        close = _close(width)
        time = span(row.duration)
        more = 0 if time else max(0, len(word) - 9)  # what waits has no duration yet, but a name
        out = [Segment(" "), Segment(word if close else pad(word, 9 + more), self.style(style))]
        if not close:
            out.append(Segment(pad(time, 6 - more, right=True), self.style("p-dim")))
        many = row.count > 1
        if view.recording.letters or not close:
            style = "p-strong" if many else "p-dim"
            count = pad(f"×{row.count}" if many else "", 4, right=True)
            out.append(Segment(count, self.style(style)))
        if not close:
            out.append(Segment(" "))
        out.append(Segment(f" {tier_letter(row.tier)} ", self.style(PILLS[row.tier])))
        return out

    # -- folded calls and marks --------------------------------------------------------------------

    def _folded(self, view: View, line: Line, width: int) -> list[Segment]:
        recording = view.recording
        first, period = line.first, line.period
        calls, stood = view.calls(line), view.tiers(line)
        total = len(calls)
        worst = _worst(stood)
        out = self._gutter(view, False, first, line.last)
        opened = view.lines.opened(line.segment)
        number = pad(str(first + 1), _numbers(view), right=True)
        out.append(Segment(number, self.style("p-dim")))
        out.append(Segment("▼" if opened else "▶", self.style("p-loop")))
        if _clocked(view, width):
            out.append(Segment(clock(recording.row(first).ts) + " ", self.style("p-dim")))
        laps = f"×{total // period}" + (f"+{total % period}" if total % period else "")
        tiers = self._tiers(stood[:_TOLD])
        tail = [
            Segment(" "),
            Segment(f" {laps} ", self.style("p-loop")),
            Segment(" "),
            *tiers,
            Segment(" "),
            Segment(f" {tier_letter(worst)} ", self.style(PILLS[worst])),
        ]
        room = width - sum(s.cell_length for s in out) - sum(s.cell_length for s in tail)
        if period == 1:
            out += self._what(
                recording.tools[recording.keys[first]], recording.args(first), room, _name(width)
            )
        else:
            out += self._cycle(view, calls[:period], room)
        return out + tail

    def _cycle(self, view: View, calls: Sequence[int], room: int) -> list[Segment]:
        recording = view.recording
        out = [Segment("⟳ ", self.style("p-loop"))]
        left = room - 2
        each = max(6, left // len(calls) - 1)
        for index in calls:
            key = recording.keys[index]
            letter = recording.letters.get(key)
            name = f"{chr(65 + letter % 26)} " if letter is not None else ""
            what = f"{safe(recording.tools[key], each)}({preview(recording.args(index), each)})"
            text = pad(name + what, each)
            text = cut(text, max(0, left))
            style = "p-text" if letter is None else f"l-{letter % 8}"
            out += [Segment(text, self.style(style)), Segment(" " if left > len(text) else "")]
            left -= Segment(text).cell_length + 1
        return [*out, Segment(" " * max(0, left))]

    def _tiers(self, tiers: bytes | bytearray) -> list[Segment]:
        """The tiers of a fold in order, equal ones once: ``·WB``."""
        out: list[Segment] = []
        before = -1
        for tier in tiers:
            if tier != before and len(out) < 8:
                out.append(Segment(tier_letter(tier), self.style(TIER_STYLES[tier])))
            before = tier
        return out

    def _mark(self, view: View, line: Line, width: int) -> list[Segment]:
        mark = view.recording.marks[line.mark]
        who, text, style = mark_words(mark.event)
        head = f"   {who} "
        return [
            Segment(head, self.style(style)),
            Segment(safe(text, max(0, width - len(head))), self.style("p-mark")),
        ]
