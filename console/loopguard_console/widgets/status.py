"""The first line: live or replay, who waits, the guard, the store's health."""

from __future__ import annotations

from textual.content import Content

from loopguard_console.desk import Desk
from loopguard_console.render import clock, counted, cut_head, safe
from loopguard_console.widgets.pane import Pane

#: What the guard does about a call in each mode.
DOES = {"observe": "watches", "ask": "asks you", "enforce": "refuses"}


class StatusBar(Pane):
    """What always is to be seen."""

    def show(self, desk: Desk, *, title: str, muted: bool, watches: bool) -> None:
        """Say how *desk* stands; *title* names a recording; *watches*: nothing can be decided
        here."""
        width = self.size.width or 80
        guard = self._guard(desk)
        right = list(guard)
        left = [(" loopguard ", "bold reverse $primary"), (" ", "")]
        if desk.live:
            left += self._live(desk)
        else:
            sessions = len(desk.sessions)
            more = f" · {sessions:,} sessions" if sessions > 1 else ""
            room = width - 21 - len(more) - sum(len(text) for text, _ in right)
            left += [("REPLAY ", "bold $text-accent"), (cut_head(safe(title), max(12, room)), "")]
            if more:
                left.append((more, "$dim"))
        if desk.live:
            right += self._store(desk, muted, width)
            if watches:
                left.append((" WATCHES ONLY ", "bold reverse $text-warning"))
        time = [(f" {clock(desk.now)} ", "$dim")] if desk.live and not desk.error else []
        right += time
        used = sum(len(text) for text, _ in left + right)
        for spare in [*time, *guard[-1:]]:
            if used > width:  # words cut short say less than none
                right.remove(spare)
                used -= len(spare[0])
        gap = max(1, width - used)
        self.put(Content.assemble(*left, (" " * gap, ""), *right))

    def _live(self, desk: Desk) -> list[tuple[str, str]]:
        alive = sum(1 for state in desk.state.values() if state in ("live", "quiet"))
        waiting = sum(1 for r in desk.waiting if not r.resolution)
        parts = [
            ("● ", "$text-success" if not desk.error else "$text-error"),
            ("LIVE ", "bold $text-success" if not desk.error else "bold $text-error"),
            (f" {alive} running · {counted(len(desk.sessions), 'session')}", "$dim"),
        ]
        halted = sum(1 for s in desk.sessions if s.halted and not s.ended)
        if halted:
            parts.append((f" · {halted} halted", "$text-error"))
        if waiting:
            parts += [("  ", ""), (f" {waiting} waiting ", "bold reverse $text-error")]
        return parts

    def _guard(self, desk: Desk) -> list[tuple[str, str]]:
        view = desk.view
        if view is None:
            return []
        guard = view.recording.guard
        parts = [(f"guard {safe(guard.policy.name, 24)} {DOES[guard.mode]} ", "$dim")]
        if view.recording.judges:
            parts = [
                (f"judged with {safe(guard.policy.name, 24)}, not as recorded ", "$text-accent")
            ]
        if view.recording.lost:
            parts.insert(
                0, (f"{counted(view.recording.lost, 'event', short=True)} missing ", "$text-error")
            )
        return parts

    def _behind(self, desk: Desk) -> list[tuple[str, str]]:
        """Machines whose events have not all arrived: what is shown of their sessions is not the latest."""
        if not desk.behind:
            return []
        worst = max(desk.behind, key=lambda machine: machine.behind)
        what = f"{safe(worst.host, 20)} is {counted(worst.behind, 'event', short=True)} behind"
        if len(desk.behind) > 1:
            what = f"{len(desk.behind)} machines behind, {what}"
        return [(f" {what} ", "$text-warning"), (" ", "")]

    def _store(self, desk: Desk, muted: bool, width: int) -> list[tuple[str, str]]:
        if desk.error:
            return [(" store fails ", "bold reverse $text-error")]
        parts = [("· muted ", "$text-warning")] if muted else []
        parts = [*self._behind(desk), *parts]
        if desk.denied:
            parts.append(("you may only look ", "$text-warning"))
        elif width >= 100:
            parts.append(("· store ok ", "$dim"))
        return parts
