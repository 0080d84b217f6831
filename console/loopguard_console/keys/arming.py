"""When a deciding key counts: never before a person can have seen what it would decide.

Pure: the caller brings the clock (seconds, monotonic), for a key the time at which it was pressed: a busy
console hears of it later. A request is armed once it has been on the screen for a moment without a key
being pressed. After a decision the moment is longer, and every press starts it again, so that a key held
down never answers the next request.
"""

from __future__ import annotations

ON_SCREEN = 0.4
AFTER_DECISION = 1.0


class Arming:
    """What is on the screen to be decided, and since when it may be."""

    def __init__(self) -> None:
        self.target = ""
        self._at = 0.0
        self._quiet_until = 0.0

    def see(self, target: str, now: float) -> None:
        """*target* (a request and the digest of what is shown; empty: nothing) is on the screen."""
        if target != self.target:
            self.target = target
            self._at = now + ON_SCREEN

    def armed(self, now: float) -> bool:
        """True where a deciding key would count now."""
        return bool(self.target) and now >= max(self._at, self._quiet_until)

    def wait(self, now: float) -> float:
        """Seconds until the keys count; 0 where they do or nothing is there to decide."""
        return max(0.0, self._at - now, self._quiet_until - now) if self.target else 0.0

    def just_decided(self, now: float) -> bool:
        """True in the longer moment after a decision."""
        return now < self._quiet_until

    def press(self, now: float) -> bool:
        """Any key was pressed; True where a deciding one counts. If not, the moment starts again."""
        if self.armed(now):
            return True
        self._at = max(self._at, now + ON_SCREEN)
        if self._quiet_until > now:
            self._quiet_until = max(self._quiet_until, now + ON_SCREEN)
        return False

    def decided(self, now: float) -> None:
        """A decision was made: the same press must not reach the next request."""
        self._quiet_until = now + AFTER_DECISION
