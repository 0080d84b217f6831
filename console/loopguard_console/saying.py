"""What the console says to the person, a line at a time."""

from __future__ import annotations

from textual.app import App

from loopguard_console.render import safe

#: Seconds for which a hint stands, and in which the same one is not said anew.
HINTED = 4.0
HELD = 1.0


class Saying(App[None]):
    """Lines that come and go: hints, and what came of a decision. All text is made safe here."""

    _hinted = ""

    def hint(self, text: str) -> None:
        """One line in place of the hint before: why a key did nothing, or what it did."""
        said = safe(text)
        if any(n.message == said and n.time_left > HINTED - HELD for n in self._notifications):
            return  # a key is held down
        self._take_hint_away()
        self._hinted = said
        self.notify(said, timeout=HINTED, markup=False)

    def say(self, text: str, bad: bool) -> None:
        """One line to the person: what came of a decision."""
        self._take_hint_away()
        self.notify(safe(text), severity="error" if bad else "information", markup=False)

    def _take_hint_away(self) -> None:
        """What was said of a key before is old when there is something new."""
        for hint in [n for n in self._notifications if n.message == self._hinted]:
            self._unnotify(hint)
        self._hinted = ""
